//! Somebody edits by hand what hosts read, with an editor that empties a file and then writes it.

use std::fs::{self, File};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trellis_tests::harness::Home;

use super::exclusive::exclusive;

/// What an editor needs between emptying a file and writing it.
const PAUSE: Duration = Duration::from_millis(4);
const READS: usize = 150;

#[test]
fn r4_a_read_waits_for_an_editor_that_empties_and_writes() {
    let _alone = exclusive();
    let home = Home::new();
    let text = |number: usize| format!("# Title {number}\n\nthe end\n");
    let path = home.write("vault/note.md", text(0));
    let mut client = home.host(&["--only", "vault"]);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..1000 {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let mut file = File::create(&path).expect("emptied");
                std::thread::sleep(PAUSE);
                file.write_all(text(number).as_bytes()).expect("written");
                drop(file);
                std::thread::sleep(Duration::from_millis(35));
            }
        });
        let mut read = || client.call("vault_read", json!({ "path": "note.md", "full": true }));
        let is_whole =
            |seen: &Value| seen["structuredContent"]["text"].as_str().is_some_and(|text| text.ends_with("the end"));
        let half = (0..READS).map(|_| read()).find(|seen| !is_whole(seen));
        over.store(true, Ordering::Relaxed);
        assert_eq!(half, None);
    });
}

/// Nobody waits for an editor that is not there.
#[test]
fn r4_reads_of_our_own_and_of_old_files_do_not_wait() {
    let _alone = exclusive();
    let home = Home::new();
    home.write("vault/empty.md", "");
    let mut client = home.host(&["--only", "vault"]);
    std::thread::sleep(Duration::from_millis(60));
    let read = |path: &str| json!({ "path": path, "full": true });
    client.call_ok("vault_read", read("empty.md"));
    let mut times = Vec::new();
    for number in 0..20 {
        let path = format!("{number}.md");
        client.call_ok("vault_create", json!({ "path": path, "content": "ours" }));
        for path in [path.as_str(), "empty.md"] {
            let began = Instant::now();
            client.call_ok("vault_read", read(path));
            times.push(began.elapsed());
        }
    }
    times.sort();
    println!("reads took {:?} to {:?}", times[0], times[39]);
    // Whoever waits at all waits for longer.
    assert!(times[20] < Duration::from_millis(8), "{times:?}");
    // A genuinely new, empty file is as empty after the moment.
    fs::write(home.project().join("vault/new.md"), "").expect("a file");
    let began = Instant::now();
    assert_eq!(client.call_ok("vault_read", read("new.md"))["text"], "");
    assert!(began.elapsed() < Duration::from_millis(200), "{:?}", began.elapsed());
}
