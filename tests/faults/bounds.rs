//! What stays bounded however long a daemon lives: descriptors and threads after sessions have ended; and the clock,
//! which decides nothing.

use std::fs::{self, FileTimes};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::json;
use trellis_tests::harness::{Home, wait_until};

use super::process::open_files;

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

fn threads(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).expect("it lives").count()
}

#[test]
fn r21_sessions_that_have_ended_leave_no_descriptor_and_no_thread_behind() {
    let home = Home::new();
    let mut stays = home.host(&[]);
    home.write("vault/note.md", "words\n");
    let visit = |home: &Home| {
        let mut client = home.host(&[]);
        client.call_ok("vault_read", json!({ "path": "note.md", "full": true }));
        client.call_ok("vault_replace", json!({ "path": "note.md", "find": "words", "replace": "words words" }));
        client.call_ok("vault_replace", json!({ "path": "note.md", "find": "words words", "replace": "words" }));
        client.close();
    };
    (0..4).for_each(|_| visit(&home));
    let pid = home.daemon_pid().expect("a daemon");
    let settled = || {
        wait_until("nobody else is connected", || {
            (home.status()?["sessions"].as_array()?.len() == 1).then_some((open_files(pid).len(), threads(pid)))
        })
    };
    let (descriptors, before) = settled();
    (0..40).for_each(|_| visit(&home));
    // A displaced file is kept open for a moment, and a thread of the pool waits a while for more work.
    wait_until("what the sessions had is given back", || {
        let (now, threads) = settled();
        (now <= descriptors + 2 && threads <= before.max(34)).then_some(())
    });
    stays.request("ping", json!({}));
}

fn set_time(path: &Path, at: SystemTime) {
    let file = fs::File::options().write(true).open(path).expect("it opens");
    file.set_times(FileTimes::new().set_modified(at).set_accessed(at)).expect("set");
}

/// A checkout, an archive or a machine with a wrong clock leaves files of any age: they are read, found and written as
/// they are, and a later edit is seen though it bears an earlier time.
#[test]
fn r29_files_from_the_future_and_the_past_are_served_like_any_other() {
    let home = Home::new();
    let now = SystemTime::now();
    let ages = [("future", now + YEAR), ("past", now - YEAR), ("epoch", SystemTime::UNIX_EPOCH)];
    let workspace = home.path().join(".vibe/atlas/tasks");
    fs::create_dir_all(&workspace).expect("a workspace");
    for (name, at) in ages {
        let path = home.write(&format!("vault/{name}.md"), format!("{name} one\n"));
        set_time(&path, at);
        let task = workspace.join(format!("001-{name}.md"));
        fs::write(&task, format!("# {name}\n\nStatus: pending\n\nzebra{name}\n")).expect("a file");
        set_time(&task, at);
    }
    let mut client = home.host(&[]);
    for (name, at) in ages {
        let path = home.project().join(format!("vault/{name}.md"));
        let read = |client: &mut trellis_tests::harness::Client| {
            let answer = client.call_ok("vault_read", json!({ "path": format!("{name}.md"), "full": true }));
            answer["text"].as_str().expect("a text").to_owned()
        };
        assert_eq!(read(&mut client), format!("{name} one"));
        // By hand, with a time before the one that was seen.
        fs::write(&path, format!("{name} two\n")).expect("written");
        set_time(&path, at.checked_sub(YEAR).unwrap_or(at));
        assert_eq!(read(&mut client), format!("{name} two"));
        client.call_ok("vault_replace", json!({ "path": format!("{name}.md"), "find": "two", "replace": "three" }));
        assert_eq!(fs::read_to_string(&path).expect("read"), format!("{name} three\n"));
        let found = client.call_ok("vibe_search", json!({ "query": format!("zebra{name}") }));
        assert_eq!(found["total_matches"], 1, "{found}");
    }
}
