//! `update_context` and `get_context`: whole files, sections, and everything that stays.

use serde_json::{Value, json};

use super::{Todo, check_time};

const OLD: &str = "# Context for T001\n\n## Task Description\nwhy\n\n```\n## Notes\n```\n\n### 調査\nfound\n\n## Created\n2026-01-28T10:30:00Z\n";

#[track_caller]
fn check(old: Option<&str>, arguments: Value, expected: &str) {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n");
    if let Some(old) = old {
        todo.write("context/T001.md", old);
    }
    let mut all = json!({ "task_id": "T001" });
    all.as_object_mut().expect("an object").extend(arguments.as_object().cloned().expect("an object"));
    let answer = todo.call("update_context", all);
    assert_eq!((&answer["task_id"], &answer["file_path"]), (&json!("T001"), &json!(".todo/context/T001.md")));
    check_time(&answer["updated_at"]);
    assert_eq!(todo.text("context/T001.md"), expected);
    let seen = todo.call("get_context", json!({ "task_id": "T001" }));
    assert_eq!(seen["content"], expected, "what was written is what is read");
}

#[test]
fn a_file_is_replaced_or_grows() {
    check(Some(OLD), json!({ "content": "new" }), "new");
    check(Some(OLD), json!({ "content": "a\r\nb\n", "append": false, "section": "" }), "a\r\nb\n");
    check(Some(OLD), json!({ "content": "more", "append": true }), &format!("{OLD}\nmore\n"));
    check(Some("x"), json!({ "content": "more", "append": true }), "x\n\nmore");
    check(Some("x\r\n"), json!({ "content": "a\nb", "append": true }), "x\r\n\r\na\r\nb\r\n");
    check(Some("\u{feff}x\n\n"), json!({ "content": "more", "append": true }), "\u{feff}x\n\nmore\n");
    check(None, json!({ "content": "first", "append": true }), "first");
    check(None, json!({ "content": "first", "section": "S" }), "## S\nfirst\n");
}

#[test]
fn a_section_is_changed_alone() {
    let added = OLD.replace("found\n", "found\nmore\n");
    check(Some(OLD), json!({ "content": "more", "append": true, "section": "調査" }), &added);
    let put = OLD.replace("found\n", "other\nlines\n");
    check(Some(OLD), json!({ "content": "other\nlines", "section": "調査" }), &put);
    let all = OLD.replace("why\n\n```\n## Notes\n```\n\n### 調査\nfound\n", "all\n");
    check(Some(OLD), json!({ "content": "all", "section": "Task Description" }), &all);
    let grown = OLD.replace("found\n", "found\nend\n");
    check(Some(OLD), json!({ "content": "end", "append": true, "section": "Task Description" }), &grown);
    // A heading in code is none, and case matters.
    check(Some(OLD), json!({ "content": "n", "section": "Notes" }), &format!("{OLD}\n## Notes\nn\n"));
    check(
        Some(OLD),
        json!({ "content": "n", "append": true, "section": "created" }),
        &format!("{OLD}\n## created\nn\n"),
    );
}

#[test]
fn nothing_takes_away_only_what_it_replaces() {
    let nothing = |more: Value| {
        let mut arguments = json!({ "content": "" });
        arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        arguments
    };
    // The whole file is emptied; it stays, so that the task still has a context.
    check(Some(OLD), nothing(json!({})), "");
    check(None, nothing(json!({})), "");
    // Appending nothing changes nothing, not even a blank line or a missing line end.
    for old in [OLD, "x", "x\r\n", "\u{feff}x\n\n"] {
        check(Some(old), nothing(json!({ "append": true })), old);
    }
    check(None, nothing(json!({ "append": true })), "");
    check(Some(OLD), nothing(json!({ "append": true, "section": "調査" })), OLD);
    // A section that is missing is added, with nothing in it.
    for append in [true, false] {
        let new = nothing(json!({ "append": append, "section": "Notes" }));
        check(Some(OLD), new.clone(), &format!("{OLD}\n## Notes\n"));
        check(None, new, "## Notes\n");
    }
    // One that is there loses its body and keeps its heading; other sections stay.
    check(Some(OLD), nothing(json!({ "section": "調査" })), &OLD.replace("found\n", ""));
    check(Some("## S\r\n\r\nold\r\n\r\n## U\r\nx"), nothing(json!({ "section": "S" })), "## S\r\n\r\n\r\n## U\r\nx");
    check(Some("a\n## S\nold"), nothing(json!({ "section": "S" })), "a\n## S");
    check(Some("## S\n\n## U\n"), nothing(json!({ "section": "S" })), "## S\n\n## U\n");
}

#[test]
fn appending_nothing_writes_and_tells_nothing() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n");
    todo.write("context/T001.md", "x\n");
    todo.client.request("resources/subscribe", json!({ "uri": "todo:///context/T001.md" }));
    let state =
        |todo: &Todo| std::fs::metadata(todo.path("context/T001.md")).and_then(|file| file.modified()).expect("a time");
    let before = state(&todo);
    todo.call("update_context", json!({ "task_id": "T001", "content": "", "append": true }));
    assert_eq!(state(&todo), before);
    todo.call("update_context", json!({ "task_id": "T001", "content": "y", "append": true }));
    todo.client.tool_names();
    let mut told = 0;
    while let Some(message) = todo.client.message_within(std::time::Duration::ZERO) {
        assert_eq!(message["method"], "notifications/resources/updated", "{message}");
        told += 1;
    }
    assert_eq!(told, 1, "only the second call changed something");
}

#[test]
fn a_context_is_read_whole() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n- [ ] b #T002\n");
    todo.write("context/T001.md", "\u{feff}a\r\n");
    let answer = todo.call("get_context", json!({ "task_id": "T001" }));
    assert_eq!((&answer["content"], &answer["file_path"]), (&json!("\u{feff}a\r\n"), &json!(".todo/context/T001.md")));
    check_time(&answer["updated_at"]);
    let keys: Vec<&String> = answer.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["task_id", "content", "file_path", "updated_at", "hash"]);
    todo.check_refused("get_context", json!({ "task_id": "T002" }), "FILE_NOT_FOUND");
    todo.check_refused("get_context", json!({ "task_id": "T003" }), "TASK_NOT_FOUND");
}

#[test]
fn a_context_belongs_to_a_task() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n");
    todo.check_refused("update_context", json!({ "task_id": "T002", "content": "x" }), "TASK_NOT_FOUND");
    assert!(!todo.exists("context"));
    for (arguments, code) in [
        (json!({ "task_id": "x", "content": "" }), "INVALID_TASK_ID"),
        (json!({ "task_id": "T001" }), "INVALID_INPUT"),
        (json!({ "task_id": "T001", "content": null }), "INVALID_INPUT"),
        (json!({ "task_id": "T001", "content": 7 }), "INVALID_INPUT"),
        (json!({ "task_id": "T001", "content": "漢".repeat(10_001) }), "CONTENT_TOO_LONG"),
        (json!({ "task_id": "T001", "content": "x", "append": "yes" }), "INVALID_INPUT"),
        (json!({ "task_id": "T001", "content": "x", "section": "漢".repeat(51) }), "CONTENT_TOO_LONG"),
        (json!({ "task_id": "T001", "content": "x", "section": "a\nb" }), "INVALID_INPUT"),
        (json!({ "task_id": "T001", "content": "x", "section": " " }), "INVALID_INPUT"),
        (json!({ "task_id": "T002", "content": "x", "section": "a\nb" }), "INVALID_INPUT"),
    ] {
        todo.check_refused("update_context", arguments, code);
    }
    let most = json!({ "task_id": "T001", "content": "漢".repeat(10_000), "section": "節".repeat(50) });
    todo.call("update_context", most.clone());
    let mut more = most;
    more["append"] = json!(true);
    todo.call("update_context", more);
    assert!(todo.text("context/T001.md").chars().count() > 20_000, "the limit is for one call");
}

#[test]
fn a_hash_that_no_longer_holds_is_a_conflict() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n");
    todo.write("context/T001.md", "one");
    let hash = todo.call("get_context", json!({ "task_id": "T001" }))["hash"].clone();
    let write = json!({ "task_id": "T001", "content": "two", "if_match": hash });
    todo.call("update_context", write.clone());
    let error = todo.check_refused("update_context", write, "CONFLICT");
    assert_eq!(error["details"]["path"], ".todo/context/T001.md");
    assert_eq!(error["details"]["actual_hash"], todo.call("get_context", json!({ "task_id": "T001" }))["hash"]);
}
