//! What the journal keeps, how long and how much, while a daemon runs and from one to the next.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::json;
use trellis_tests::harness::{Home, wait_until};

use super::process::until_gone;

const MIB: u64 = 1 << 20;

fn bytes_below(directory: &Path) -> u64 {
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        metadata => metadata.map_or(0, |metadata| metadata.len()),
    };
    fs::read_dir(directory).into_iter().flatten().flatten().map(size).sum()
}

fn texts(home: &Home) -> usize {
    let shelves = fs::read_dir(home.state().join("journal/old")).into_iter().flatten().flatten();
    shelves.map(|shelf| fs::read_dir(shelf.path()).map_or(0, Iterator::count)).sum()
}

fn configure(home: &Home, settings: &str) {
    let config = home.path().join(".config/trellis/config.toml");
    fs::create_dir_all(config.parent().expect("a directory")).expect("a directory");
    fs::write(config, settings).expect("settings");
}

#[test]
fn r29_the_text_of_a_file_that_was_old_is_kept_as_long_as_any_other() {
    let home = Home::new();
    let note = home.write("vault/note.md", "old\n");
    let years_ago = SystemTime::now() - Duration::from_secs(2 * 365 * 24 * 60 * 60);
    fs::File::options().write(true).open(&note).expect("a file").set_modified(years_ago).expect("its time");
    let mut client = home.host(&["--only", "vault"]);
    client.call_ok("vault_replace", json!({ "path": "note.md", "find": "old", "replace": "new" }));
    wait_until("the old text is put away", || (texts(&home) == 1).then_some(()));
    client.close();
    for _ in 0..2 {
        let pid = home.daemon_pid().expect("a daemon");
        assert!(home.trellisd(&["stop"]).status.success());
        until_gone(pid);
        let mut client = home.host(&["--only", "vault"]);
        client.call_ok("vault_create", json!({ "path": format!("{pid}.md"), "content": "x" }));
        client.close();
        assert_eq!(texts(&home), 1);
    }
}

#[test]
fn r21_the_journal_keeps_to_its_bound_while_the_daemon_runs() {
    let home = Home::new();
    configure(&home, "journal_mib = 16\n");
    let filler = "x".repeat(MIB as usize);
    home.write("vault/note.md", format!("0 {filler}"));
    let mut client = home.host(&["--only", "vault"]);
    let journal = home.state().join("journal");
    let mut most = 0;
    for number in 0..30 {
        let (find, replace) = (format!("{number} "), format!("{} ", number + 1));
        client.call_ok("vault_replace", json!({ "path": "note.md", "find": find, "replace": replace }));
        most = most.max(bytes_below(&journal));
    }
    wait_until("the last text is put away", || (bytes_below(&journal) > 8 * MIB).then_some(()));
    assert!(most <= 16 * MIB / 10 * 11, "{most} bytes");
    let status = home.trellisd(&["status"]);
    let shown = String::from_utf8(status.stdout).expect("text");
    assert!(shown.contains("16 MiB") && shown.contains("30 days"), "{shown}");
}
