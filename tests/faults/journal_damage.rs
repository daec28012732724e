//! A journal with bad blocks, foreign files and files that nobody may read: what is whole counts, and everything
//! else serves.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

use super::process::until_gone;

fn segments(home: &Home) -> Vec<PathBuf> {
    let files = fs::read_dir(home.state().join("journal")).expect("a journal").flatten().map(|entry| entry.path());
    let is_segment = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("lane-"));
    files.filter(is_segment).collect()
}

fn create_by_key(client: &mut Client, path: &str) -> Value {
    let arguments = json!({ "path": path, "content": "x" });
    let meta = json!({ "trellis/requestKey": path });
    client.request("tools/call", json!({ "name": "vault_create", "arguments": arguments, "_meta": meta }))
}

fn kill(home: &Home) {
    let pid = home.daemon_pid().expect("a daemon");
    home.kill(pid);
    until_gone(pid);
}

fn warnings(home: &Home) -> String {
    home.status().expect("a daemon")["warnings"].to_string()
}

#[test]
fn r8_a_keyed_request_does_not_run_twice_behind_a_damaged_record() {
    let home = Home::new();
    home.write("vault/note.md", "one\n");
    let mut client = home.host(&["--only", "vault"]);
    let answers = ["a.md", "b.md", "c.md"].map(|path| create_by_key(&mut client, path));
    client.close();
    kill(&home);
    let [segment] = &segments(&home)[..] else { panic!("one writer has one segment") };
    let mut bytes = fs::read(segment).expect("a segment");
    let place = bytes.windows(4).position(|four| four == b"a.md").expect("the first record");
    bytes[place] ^= 1;
    fs::write(segment, bytes).expect("damaged");
    let mut client = home.host(&["--only", "vault"]);
    assert_eq!(create_by_key(&mut client, "b.md"), answers[1]);
    assert_eq!(create_by_key(&mut client, "c.md"), answers[2]);
    assert!(warnings(&home).contains("damaged"), "{}", warnings(&home));
    // The next daemon after that finds them as well.
    client.close();
    kill(&home);
    let mut client = home.host(&["--only", "vault"]);
    assert_eq!(create_by_key(&mut client, "b.md"), answers[1]);
}

#[test]
fn r9_a_journal_file_that_nobody_can_read_is_put_aside_and_everything_else_serves() {
    let home = Home::new();
    home.write("vault/note.md", "one\n");
    let mut client = home.unprivileged_host(&["--only", "vault"]);
    let answer = create_by_key(&mut client, "a.md");
    client.close();
    kill(&home);
    let journal = home.state().join("journal");
    for name in ["lane-0-000000.log", "done-0-000000.log"] {
        fs::write(journal.join(name), "x").expect("a file");
        fs::set_permissions(journal.join(name), fs::Permissions::from_mode(0o000)).expect("closed");
    }
    let newer = b"TRLSJ\0\0\x09 what this build does not know";
    fs::write(journal.join("lane-9-000000.log"), newer).expect("a file");
    fs::write(journal.join("lane-8-000000.log"), "no journal at all").expect("a file");
    fs::create_dir(journal.join("lane-7-000000.log")).expect("a directory");
    let mut client = home.unprivileged_host(&["--only", "vault"]);
    assert_eq!(create_by_key(&mut client, "a.md"), answer, "what can be read counts");
    client.call_ok("vault_read", json!({ "path": "note.md", "full": true }));
    client.call_ok("vault_create", json!({ "path": "b.md", "content": "x" }));
    let warnings = warnings(&home);
    for name in ["lane-0", "done-0", "lane-9", "lane-8", "lane-7"] {
        assert!(warnings.contains(&format!("{name}-000000.log")), "{name}: {warnings}");
    }
    assert_eq!(fs::read(journal.join("lane-9-000000.log")).expect("it stays"), newer);
    assert!(journal.join("broken-lane-0-000000.log").exists() && !journal.join("lane-0-000000.log").exists());
}
