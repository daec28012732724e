//! `recent`: what was changed, by whom, and whether it can be taken back.

use std::fs;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

use super::filled;

fn recent(host: &mut Client, arguments: Value) -> Vec<Value> {
    host.call_ok("trellis_recent", arguments)["changes"].as_array().expect("changes").clone()
}

fn uris(change: &Value) -> Vec<&str> {
    change["items"].as_array().expect("items").iter().map(|item| item["uri"].as_str().expect("an address")).collect()
}

fn ids(changes: &[Value]) -> Vec<&str> {
    changes.iter().map(|change| change["id"].as_str().expect("an id")).collect()
}

fn edit_note(host: &mut Client, find: &str, replace: &str) {
    host.call_ok("vault_replace", json!({ "path": "notes/idea.md", "find": find, "replace": replace }));
}

fn replace(home: &Home, path: &str, text: &str) {
    let new = home.write("new-file", text);
    fs::rename(new, home.path().join(path)).expect("renamed");
}

#[test]
fn every_change_says_who_and_what() {
    let home = filled();
    let mut host = home.host(&[]);
    host.call_ok("todo_update_task", json!({ "task_id": "T003", "status": "done" }));
    host.call_ok("vbm_delete_task", json!({ "id": "task-9" }));
    host.call_ok("vault_create", json!({ "path": "notes/new.md", "content": "# Fresh\n" }));
    host.call_ok("vine_write", json!({ "file": "plans/launch.vine", "operations": [{ "op": "set_status", "id": "build", "status": "started" }] }));
    host.call_ok("todo_delete_task", json!({ "task_id": "T001" }));
    let changes = recent(&mut host, json!({}));
    let seen: Vec<_> = changes.iter().map(|change| (change["what"].as_str().expect("a word"), uris(change))).collect();
    assert_eq!(
        seen,
        [
            ("changed", vec!["todo://project/T001", "todo://project/context/T001"]),
            ("changed", vec!["vine://project/plans/launch.vine", "vine://project/plans/launch.vine#build"]),
            ("created", vec!["vault://project/notes/new.md"]),
            ("changed", vec!["board://project/task-9"]),
            ("changed", vec!["todo://project/T003"]),
        ]
    );
    let titles: Vec<&str> =
        changes.iter().map(|change| change["items"][0]["title"].as_str().expect("a title")).collect();
    assert_eq!(titles, ["Write the parser", "Launch", "Fresh", "Card", "Next thing"], "also of what is gone");
    for change in &changes {
        assert_eq!((&change["by"], &change["undoable"]), (&json!("test"), &json!(true)), "{change}");
        assert!(change["session"].as_str().is_some_and(|name| name.starts_with('s') && name.len() > 6), "{change}");
        assert!(change["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{change}");
    }
}

#[test]
fn one_item_is_followed_and_its_neighbours_are_not() {
    let home = filled();
    let mut host = home.host(&[]);
    host.call_ok("todo_update_task", json!({ "task_id": "T003", "status": "done" }));
    host.call_ok("todo_update_task", json!({ "task_id": "T001", "status": "done" }));
    host.call_ok("todo_delete_task", json!({ "task_id": "T003" }));
    let of_task = recent(&mut host, json!({ "uri": "T003" }));
    assert_eq!(of_task.len(), 2, "{of_task:?}");
    edit_note(&mut host, "Bright", "Dull");
    assert_eq!(recent(&mut host, json!({ "uri": "vault:///notes/idea.md" })).len(), 1);
    assert_eq!(recent(&mut host, json!({ "uri": "vault:///notes/other.md" })).len(), 0);
    let error = host.call_err("trellis_recent", json!({ "uri": "nothing" }));
    assert_eq!(error["error"]["code"], "INVALID_URI");
}

#[test]
fn filters_and_pages() {
    let home = filled();
    let mut host = home.host(&[]);
    for number in 0..5 {
        edit_note(&mut host, "idea", &format!("idea {number}"));
    }
    let all = recent(&mut host, json!({}));
    let all_ids = ids(&all);
    assert_eq!(all_ids.len(), 5);
    let (first, rest) = (host.call_ok("trellis_recent", json!({ "limit": 2 })), json!({ "limit": 2 }));
    let mut paged = first["changes"].as_array().expect("changes").clone();
    let mut next = first["next_cursor"].clone();
    while next.is_string() {
        let mut arguments = rest.clone();
        arguments["cursor"] = next;
        let page = host.call_ok("trellis_recent", arguments);
        paged.extend(page["changes"].as_array().expect("changes").iter().cloned());
        next = page["next_cursor"].clone();
    }
    assert_eq!(ids(&paged), all_ids);
    assert_eq!(ids(&recent(&mut host, json!({ "since": all_ids[2] }))), all_ids[..2]);
    assert_eq!(recent(&mut host, json!({ "since": "2h" })).len(), 5);
    assert_eq!(recent(&mut host, json!({ "since": "2099-01-01T00:00:00Z" })).len(), 0);
    assert_eq!(recent(&mut host, json!({ "by": "nobody" })).len(), 0);
    assert_eq!(recent(&mut host, json!({ "by": "test", "project": "." })).len(), 5);
    assert_eq!(ids(&recent(&mut host, json!({ "change": all_ids[3] }))), [all_ids[3]]);
    for (arguments, field) in [
        (json!({ "since": "yesterday" }), "since"),
        (json!({ "cursor": "1-x" }), "cursor"),
        (json!({ "limit": 101 }), "limit"),
        (json!({ "diff": true }), "diff"),
    ] {
        let error = host.call_err("trellis_recent", arguments);
        assert_eq!(
            (&error["error"]["code"], &error["error"]["details"]["field"]),
            (&json!("INVALID_ARGUMENT"), &json!(field))
        );
    }
    let short = host.call_ok("trellis_recent", json!({ "budget": 500 }));
    assert!(short.to_string().chars().count() <= 500 && short["next_cursor"].is_string(), "{short}");
}

#[test]
fn a_difference_shows_what_a_change_did() {
    let home = filled();
    let mut host = home.host(&[]);
    edit_note(&mut host, "Bright", "Dull");
    edit_note(&mut host, "idea", "thought");
    let changes = recent(&mut host, json!({}));
    let first = recent(&mut host, json!({ "change": changes[1]["id"], "diff": true }));
    let diff = "--- before\n+++ after\n@@ -1,3 +1,3 @@\n-# Bright idea\n+# Dull idea\n \n See [the plan](other.md).\n";
    assert_eq!(first[0]["diff"], diff, "{first:?}");
}

#[test]
fn undone_changes_say_so() {
    let home = filled();
    let mut host = home.host(&[]);
    edit_note(&mut host, "Bright", "Dull");
    let undo = host.call_ok("trellis_undo", json!({}));
    let changes = recent(&mut host, json!({}));
    assert_eq!((&changes[0]["id"], &changes[0]["undoes"]), (&undo["change"], &undo["undoes"]));
    assert_eq!((&changes[1]["undone_by"], &changes[1]["why"]), (&undo["change"], &json!("undone")));
    host.call_ok("trellis_undo", json!({ "change": undo["change"] }));
    let changes = recent(&mut host, json!({}));
    assert_eq!((&changes[2]["undone_by"], &changes[2]["undoable"]), (&Value::Null, &json!(true)), "{changes:?}");
}

#[test]
fn an_edit_by_hand_is_there_and_cannot_be_undone() {
    let home = filled();
    let mut host = home.host(&[]);
    host.call_ok("trellis_list", json!({}));
    edit_note(&mut host, "Bright", "Dull");
    replace(&home, "project/vault/notes/other.md", "# By hand\n");
    let changes = wait_until("it is in the feed", || {
        Some(recent(&mut host, json!({}))).filter(|changes| changes[0]["by"] == "by hand")
    });
    assert_eq!(uris(&changes[0]), ["vault://project/notes/other.md"]);
    assert_eq!(
        (&changes[0]["undoable"], &changes[0]["why"], &changes[0]["tool"]),
        (&json!(false), &json!("by_hand"), &Value::Null)
    );
    let error = host.call_err("trellis_undo", json!({ "change": changes[0]["id"] }));
    assert_eq!(
        (&error["error"]["code"], &error["error"]["details"]["why"]),
        (&json!("NOT_UNDOABLE"), &json!("by_hand"))
    );
}
