//! What the journal says of a change: enough to show it and to take it back.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};
use trellisd::disk::journal::{Journal, JournalRecord};
use trellisd::disk::syscalls::OsSyscalls;

/// Every record, of daemons that live and those that do not, oldest first.
fn records(home: &Home) -> Vec<JournalRecord> {
    let journal = Journal::open(&home.state().join("journal"), "reader", Arc::new(OsSyscalls)).expect("a journal");
    let mut records = journal.recovered(std::time::Duration::MAX).expect("it reads");
    records.extend(journal.unrecovered().expect("it reads"));
    records.retain(|record| record.aborts.is_none());
    records.sort_by_key(|record| record.change.as_ref().map(|change| change.id));
    records
}

fn feed(home: &Home) -> Vec<Value> {
    let files = fs::read_dir(home.state().join("feed")).into_iter().flatten().flatten();
    let text: String = files.map(|file| fs::read_to_string(file.path()).expect("a file")).collect();
    let mut entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    entries.sort_by_key(|entry| entry["id"].as_u64());
    entries
}

fn kill(home: &Home) {
    let pid = home.daemon_pid().expect("a daemon");
    home.kill(pid);
    wait_until("it is gone", || home.daemons().is_empty().then_some(()));
}

#[test]
fn a_record_names_its_change_its_author_and_the_old_mode() {
    let home = Home::new();
    let note = home.write("vault/note.md", "one\n");
    fs::set_permissions(&note, fs::Permissions::from_mode(0o640)).expect("its mode");
    let mut client = home.host(&["--only", "vault"]);
    client.call_ok("vault_create", json!({ "path": "new.md", "content": "x" }));
    client.call_ok("vault_replace", json!({ "path": "note.md", "find": "one", "replace": "two" }));
    let (records, feed) = (records(&home), feed(&home));
    assert_eq!((records.len(), feed.len()), (2, 2));
    for (record, entry) in records.iter().zip(&feed) {
        let change = record.change.as_ref().expect("a change");
        assert_eq!(json!(change.id), entry["id"]);
        assert_eq!((json!(change.by), json!(change.tool)), (entry["by"].clone(), entry["tool"].clone()));
        assert_eq!(json!(change.session), entry["session"]);
        assert!(change.session.as_ref().is_some_and(|session| session.starts_with('s')), "{change:?}");
    }
    assert_eq!(records[0].change.as_ref().map(|change| change.tool.as_str()), Some("vault_create"));
    assert_eq!((records[0].files[0].old_mode, records[1].files[0].old_mode), (None, Some(0o640)));
}

#[test]
fn numbers_of_changes_grow_across_kills_and_lost_feeds() {
    let home = Home::new();
    home.write("vault/note.md", "one\n");
    let mut seen = BTreeSet::new();
    let mut last = 0;
    for round in 0..4 {
        let mut clients: Vec<Client> = (0..3).map(|_| home.host(&["--only", "vault"])).collect();
        for number in 0..4 {
            for (host, client) in clients.iter_mut().enumerate() {
                let path = format!("{round}-{number}-{host}.md");
                client.call_ok("vault_create", json!({ "path": path, "content": "x" }));
            }
        }
        drop(clients);
        match round {
            0 => kill(&home),
            // Without a feed the journal still has its numbers.
            1 => {
                kill(&home);
                fs::remove_dir_all(home.state().join("feed")).expect("a removal");
            }
            _ => {
                assert!(home.trellisd(&["stop"]).status.success());
                wait_until("it is gone", || home.daemons().is_empty().then_some(()));
            }
        }
        let ids: Vec<u64> = records(&home).iter().filter_map(|record| Some(record.change.as_ref()?.id)).collect();
        let new: Vec<u64> = ids.iter().copied().filter(|id| !seen.contains(id)).collect();
        assert_eq!((ids.len(), new.len()), (12 * (round + 1), 12), "none is used twice: {ids:?}");
        assert!(new.iter().all(|id| *id > last), "{new:?} after {last}");
        last = *new.iter().max().expect("a number");
        seen.extend(new);
    }
}

#[test]
fn r17_a_project_whose_path_is_no_text_is_written_and_recovered() {
    let home = Home::new();
    let project = home.path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir_all(project.join("vault")).expect("a vault");
    let session = || {
        let mut proxy = home.proxy(&["--only", "vault"]);
        proxy.current_dir(&project);
        let mut client = Client::start(proxy);
        client.initialize("2025-11-25");
        client
    };
    let create = |client: &mut Client| {
        let arguments = json!({ "path": "a.md", "content": "x" });
        let meta = json!({ "trellis/requestKey": "once" });
        client.request("tools/call", json!({ "name": "vault_create", "arguments": arguments, "_meta": meta }))
    };
    let answer = create(&mut session());
    assert_eq!(answer["isError"], false, "{answer}");
    assert_eq!(fs::read_to_string(project.join("vault/a.md")).expect("it is written"), "x");
    kill(&home);
    assert_eq!(create(&mut session()), answer, "the next daemon knows it by the same path");
    let roots: Vec<_> = records(&home).iter().map(|record| record.files[0].root.clone()).collect();
    assert_eq!(roots, [project.join("vault")]);
}
