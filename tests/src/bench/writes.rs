//! Acknowledged writes through proxy and daemon, beside what the disk itself takes for them: write, flush, rename,
//! flush of the directory, in the same directory and the same minute.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Measurement, Percentiles, ms, percentiles};
use crate::harness::Home;

const WRITES: usize = 400;
/// As large as a note.
const NOTE: usize = 2_000;
/// What we may add to the disk's own time.
const GOAL: f64 = 1.2;

/// All figures of this part.
pub fn measurements() -> Vec<Measurement> {
    let home = Home::new();
    let text = "words ".repeat(NOTE / 6);
    home.write("vault/note.md", format!("{text}|"));
    let mut client = home.host(&["--only", "vault"]);
    let vault = home.project().join("vault");
    fs::create_dir(vault.join("alone")).expect("a directory");
    let (mut over, mut new, mut replaced, mut created) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for turn in 0..WRITES {
        over.push(disk_alone(&vault, "anchor.md", &text));
        new.push(disk_alone(&vault.join("alone"), &format!("{turn}.md"), &text));
        let (find, replace) = if turn % 2 == 0 { ("|", "/") } else { ("/", "|") };
        let arguments = json!({ "path": "note.md", "find": find, "replace": replace });
        let began = Instant::now();
        client.call_ok("vault_replace", arguments);
        replaced.push(began.elapsed());
        let arguments = json!({ "path": format!("new/{turn}.md"), "content": text });
        let began = Instant::now();
        client.call_ok("vault_create", arguments);
        created.push(began.elapsed());
    }
    let [over, new, replaced, created] = [over, new, replaced, created].map(percentiles);
    let both = |percentiles: Percentiles| format!("{:.2} / {:.2} ms", ms(percentiles.p50), ms(percentiles.p95));
    let above = |seen: Percentiles, disk: Percentiles| ms(seen.p50) - ms(disk.p50);
    vec![
        Measurement::note("disk: write, flush, rename over, flush, p50 / p95", both(over)),
        Measurement::note("vault_replace acknowledged, p50 / p95", both(replaced)),
        Measurement::at_most("… above the disk, p50", above(replaced, over), GOAL, "ms"),
        Measurement::note("disk: write, flush, rename to a new name, flush", both(new)),
        Measurement::note("vault_create acknowledged, p50 / p95", both(created)),
        Measurement::at_most("… above the disk, p50", above(created, new), GOAL, "ms"),
    ]
}

/// What the disk takes for a file by itself.
pub(super) fn disk_alone(directory: &Path, name: &str, text: &str) -> Duration {
    let (temp, path) = (directory.join("temp"), directory.join(name));
    let began = Instant::now();
    let mut file = File::create(&temp).expect("a file");
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).expect("it is flushed");
    fs::rename(&temp, &path).expect("it is renamed");
    File::open(directory).and_then(|directory| directory.sync_all()).expect("the directory is flushed");
    began.elapsed()
}
