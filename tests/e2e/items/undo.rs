//! `undo`: every write of every family is taken back to the byte, and that again.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

use super::filled;

type Files = BTreeMap<String, (Vec<u8>, u32)>;

/// The user's files with their permissions; not those that Trellis makes of others, nor its counters.
fn files(home: &Home) -> Files {
    fn walk(directory: &Path, home: &Path, files: &mut Files) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(home).expect("below").display().to_string();
            if path.is_dir() {
                walk(&path, home, files);
            } else if !name.ends_with(".todo/index.md") && !name.ends_with(".state.json") {
                let mode = entry.metadata().expect("a file").permissions().mode() & 0o7777;
                files.insert(name, (fs::read(&path).expect("bytes"), mode));
            }
        }
    }
    let mut all = Files::new();
    for tree in [".vibe", "project"] {
        walk(&home.path().join(tree), home.path(), &mut all);
    }
    all
}

/// One call of every tool that writes, and what undo says it did.
fn writes() -> Vec<(&'static str, Value, Vec<&'static str>)> {
    let document = json!({ "project": "project", "folder": "tasks", "filename": "001-first.md", "content": "other\n" });
    let new = json!({ "project": "project", "folder": "references", "filename": "new.md", "content": "new\n" });
    let task =
        json!({ "project": "project", "title": "T", "objective": "o", "steps": ["s"], "acceptance_criteria": ["a"] });
    let adr = json!({ "title": "Use it", "context": "c", "decision": "d", "rationale": "r" });
    let plan = |operations: Value| json!({ "file": "plans/launch.vine", "operations": operations });
    vec![
        ("vibe_create_doc", new, vec!["removed"]),
        ("vibe_update_doc", document, vec!["restored"]),
        ("vibe_create_task", task, vec!["removed"]),
        ("vibe_update_task_status", json!({ "project": "project", "task": "001", "status": "done" }), vec!["restored"]),
        ("vibe_create_plan", json!({ "project": "project", "content": "# Plan\n" }), vec!["removed"]),
        ("vibe_log_session", json!({ "project": "project", "content": "done" }), vec!["removed"]),
        ("todo_create_task", json!({ "title": "New one", "category": "API" }), vec!["removed", "restored"]),
        ("todo_update_task", json!({ "task_id": "T003", "status": "done" }), vec!["restored"]),
        ("todo_delete_task", json!({ "task_id": "T001" }), vec!["restored", "recreated"]),
        ("todo_reorder_task", json!({ "task_id": "T003", "position": "first" }), vec!["restored"]),
        ("todo_create_adr", adr, vec!["removed"]),
        ("todo_update_adr_status", json!({ "adr_number": 2, "status": "Deprecated" }), vec!["restored"]),
        ("todo_update_context", json!({ "task_id": "T001", "content": "other" }), vec!["restored"]),
        ("vine_write", plan(json!([{ "op": "set_status", "id": "build", "status": "started" }])), vec!["restored"]),
        ("vault_create", json!({ "path": "notes/new.md", "content": "new" }), vec!["removed"]),
        ("vault_replace", json!({ "path": "notes/idea.md", "find": "Bright", "replace": "Dull" }), vec!["restored"]),
        ("vbm_create_task", json!({ "title": "Card two", "lane": "todo" }), vec!["restored"]),
        ("vbm_update_task", json!({ "id": "task-9", "title": "Other" }), vec!["restored"]),
        ("vbm_move_task", json!({ "id": "task-9", "lane": "done" }), vec!["restored"]),
        ("vbm_delete_task", json!({ "id": "task-9" }), vec!["restored"]),
        ("vbm_batch_create", json!({ "tasks": [{ "title": "One", "lane": "todo" }] }), vec!["restored"]),
    ]
}

fn undo(host: &mut Client, arguments: Value) -> Value {
    host.call_ok("trellis_undo", arguments)
}

fn change_of(host: &mut Client, tool: &str, arguments: Value) -> String {
    let result = host.call(tool, arguments);
    let change = result["_meta"]["trellis/change"].as_str();
    change.unwrap_or_else(|| panic!("{tool} names its change: {result}")).to_owned()
}

fn words(answer: &Value) -> Vec<&str> {
    let files = answer["files"].as_array().expect("files");
    files.iter().map(|file| file["what"].as_str().expect("a word")).collect()
}

/// Every tool in turn: changed, undone, and that undone, with the daemon killed in between if so wished.
fn check_every_tool(kill: bool) {
    let home = filled();
    let private = home.path().join("project/.todo/context/T001.md");
    fs::set_permissions(&private, fs::Permissions::from_mode(0o640)).expect("permissions");
    let mut host = home.host(&[]);
    for (tool, arguments, expected) in writes() {
        let before = files(&home);
        let change = change_of(&mut host, tool, arguments);
        let changed = files(&home);
        assert_ne!(changed, before, "{tool}");
        if kill {
            home.kill(home.daemon_pid().expect("a daemon"));
        }
        let answer = undo(&mut host, json!({}));
        assert_eq!(answer["undoes"], change.as_str(), "{tool}: {answer}");
        assert_eq!(words(&answer), expected, "{tool}");
        assert!(answer["items"][0]["uri"].as_str().is_some_and(|uri| uri.contains("://")), "{tool}: {answer}");
        assert!(files(&home) == before, "{tool} is undone to the byte");
        let undone = answer["change"].as_str().expect("an undo is a change").to_owned();
        undo(&mut host, json!({ "change": undone }));
        assert!(files(&home) == changed, "{tool}: an undo is undone to the byte");
        undo(&mut host, json!({ "change": change }));
        assert!(files(&home) == before, "{tool}: and that again");
    }
}

#[test]
fn every_write_of_every_family_is_undone_to_the_byte() {
    check_every_tool(false);
}

#[test]
fn a_daemon_that_was_killed_in_between_forgets_nothing() {
    check_every_tool(true);
}

#[test]
fn several_files_of_a_new_project_go_together() {
    let home = filled();
    let mut host = home.host(&[]);
    let before = files(&home);
    host.call_ok("vibe_init_project", json!({ "project": "fresh" }));
    assert_ne!(files(&home), before);
    undo(&mut host, json!({}));
    assert!(files(&home) == before);
    assert!(home.path().join(".vibe/fresh").is_dir(), "directories stay");
}

#[test]
fn repeated_calls_walk_back_and_end() {
    let home = filled();
    let (mut host, mut other) = (home.host(&[]), home.host(&[]));
    let before = files(&home);
    for number in 0..3 {
        let text = json!({ "path": "notes/idea.md", "find": "idea", "replace": format!("idea {number}") });
        host.call_ok("vault_replace", text);
    }
    other.call_ok("todo_update_task", json!({ "task_id": "T003", "status": "done" }));
    for _ in 0..3 {
        undo(&mut host, json!({}));
    }
    let error = host.call_err("trellis_undo", json!({}));
    assert_eq!(error["error"]["code"], "CHANGE_NOT_FOUND", "{error}");
    undo(&mut other, json!({}));
    assert!(files(&home) == before);
}

#[test]
fn somebody_elses_later_edit_is_not_overwritten() {
    let home = filled();
    let mut host = home.host(&[]);
    let file = home.path().join("project/vault/notes/idea.md");
    let old = fs::read_to_string(&file).expect("text");
    let edit = |find: &str, with: &str| json!({ "path": "notes/idea.md", "find": find, "replace": with });
    let change = change_of(&mut host, "vault_replace", edit("Bright", "Dull"));
    let later = change_of(&mut host, "vault_replace", edit("idea", "thought"));
    let now = fs::read_to_string(&file).expect("text");
    let error = host.call_err("trellis_undo", json!({ "change": change }));
    let details = &error["error"]["details"];
    assert_eq!((&error["error"]["code"], &details["later"]), (&json!("CONFLICT"), &json!([later])), "{error}");
    let diff =
        "--- now\n+++ after undo\n@@ -1,3 +1,3 @@\n-# Dull thought\n+# Bright idea\n \n See [the plan](other.md).\n";
    assert_eq!(details["diff"], diff);
    assert_eq!(fs::read_to_string(&file).expect("text"), now, "nothing is written");
    let dry = undo(&mut host, json!({ "change": change, "dry_run": true }));
    assert_eq!((&dry["conflict"], &dry["diff"], &dry["dry_run"]), (&json!(true), &json!(diff), &json!(true)));
    assert!(dry.get("change").is_none() && fs::read_to_string(&file).expect("text") == now, "{dry}");
    let forced = undo(&mut host, json!({ "change": change, "force": true }));
    assert_eq!(fs::read_to_string(&file).expect("text"), old);
    undo(&mut host, json!({ "change": forced["change"] }));
    assert_eq!(fs::read_to_string(&file).expect("text"), now, "what force overwrote is not lost");
}

#[test]
fn what_is_there_already_counts_as_done() {
    let home = filled();
    let mut host = home.host(&[]);
    let file = home.path().join("project/vault/notes/idea.md");
    let old = fs::read(&file).expect("text");
    let edit = json!({ "path": "notes/idea.md", "find": "Bright", "replace": "Dull" });
    let change = change_of(&mut host, "vault_replace", edit);
    fs::write(&file, &old).expect("restored by hand");
    let why = |host: &mut Client, change: &str| {
        let error = host.call_err("trellis_undo", json!({ "change": change }));
        (error["error"]["code"].clone(), error["error"]["details"]["why"].clone())
    };
    assert_eq!(why(&mut host, &change), (json!("NOT_UNDOABLE"), json!("nothing_to_do")));
    let change = change_of(&mut host, "vault_create", json!({ "path": "notes/n.md", "content": "n" }));
    undo(&mut host, json!({ "change": change }));
    assert_eq!(why(&mut host, &change), (json!("NOT_UNDOABLE"), json!("undone")));
    let error = host.call_err("trellis_undo", json!({ "change": "c999999" }));
    assert_eq!(error["error"]["code"], "CHANGE_NOT_FOUND");
    let error = host.call_err("trellis_undo", json!({ "change": "42" }));
    assert_eq!(
        (&error["error"]["code"], &error["error"]["details"]["field"]),
        (&json!("INVALID_ARGUMENT"), &json!("change"))
    );
}

#[test]
fn old_texts_that_are_gone_cannot_come_back() {
    let home = filled();
    let mut host = home.host(&[]);
    let edit = json!({ "path": "notes/idea.md", "find": "Bright", "replace": "Dull" });
    let change = change_of(&mut host, "vault_replace", edit);
    // Until it is there.
    undo(&mut host, json!({ "dry_run": true }));
    fs::remove_dir_all(home.state().join("journal/old")).expect("old texts");
    let error = host.call_err("trellis_undo", json!({ "change": change }));
    assert_eq!(error["error"]["code"], "EXPIRED", "{error}");
    let recent = host.call_ok("trellis_recent", json!({ "change": change }));
    assert_eq!((&recent["changes"][0]["undoable"], &recent["changes"][0]["why"]), (&json!(false), &json!("expired")));
}

#[test]
fn a_read_only_session_takes_nothing_back() {
    let home = filled();
    let mut host = home.host(&["--read-only"]);
    assert!(!host.tool_names().contains(&"trellis_undo".to_owned()));
    assert!(host.tool_names().contains(&"trellis_recent".to_owned()));
    let error = host.call_err("trellis_undo", json!({}));
    assert_eq!(error["error"]["code"], "READ_ONLY", "{error}");
}

/// What Trellis makes of other files follows.
#[test]
fn the_index_of_tasks_follows_an_undo() {
    let home = filled();
    let mut host = home.host(&[]);
    let index = || fs::read_to_string(home.path().join("project/.todo/index.md")).unwrap_or_default();
    host.call_ok("todo_create_task", json!({ "title": "Short-lived", "category": "API" }));
    wait_until("the index has it", || index().contains("Short-lived").then_some(()));
    host.call_ok("trellis_undo", json!({}));
    wait_until("the index has lost it", || (!index().contains("Short-lived")).then_some(()));
}
