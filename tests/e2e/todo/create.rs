//! `create_task`: ids, places in the file, the context template, limits.

use std::fs;

use serde_json::json;

use super::{Todo, check_time};

#[test]
fn a_first_task_makes_what_it_needs() {
    let mut todo = Todo::new();
    let answer = todo.call("create_task", json!({ "title": "受入条件を書く", "description": "なぜ\n必要か" }));
    assert_eq!((&answer["task_id"], &answer["file_path"]), (&json!("T001"), &json!(".todo/context/T001.md")));
    check_time(&answer["created_at"]);
    assert_eq!(answer.as_object().map(|object| object.len()), Some(3), "{answer}");
    assert_eq!(todo.tasks(), "# Task\n\n## Default\n- [ ] 受入条件を書く #T001\n");
    let created = answer["created_at"].as_str().expect("a time");
    let context = format!("# Context for T001\n\n## Task Description\nなぜ\n必要か\n\n## Created\n{created}\n");
    assert_eq!(todo.text("context/T001.md"), context);
    assert_eq!(todo.text(".state.json"), "{\"last_task_number\":1,\"last_adr_number\":0}\n");
}

#[test]
fn a_read_creates_nothing() {
    let mut todo = Todo::new();
    assert_eq!(todo.call("list_tasks", json!({}))["total_count"], 0);
    assert_eq!(todo.call("list_adrs", json!({}))["total_count"], 0);
    assert_eq!(todo.call("search_tasks", json!({ "query": "a", "search_in": ["context"] }))["total_matches"], 0);
    assert_eq!(todo.call("search_contexts", json!({ "query": "a" }))["total_matches"], 0);
    assert!(!todo.exists(""));
}

#[test]
fn a_new_task_is_the_last_of_its_category() {
    let old = "# 計画\n\nprose \n\n## A\n* [x] one #T001\n  - [ ] sub\n\n  a note\n\n| table |\n\n## B\n\nwords\n## A\n- [ ] two #T002\n\nend";
    let new = |category: &str| json!({ "title": "neu", "category": category, "subtasks": ["s", "t"] });
    let block = "- [ ] neu #T003\n  - [ ] s\n  - [ ] t\n";
    Todo::check_edit(old, "create_task", new("A"), &old.replace("two #T002\n", &format!("two #T002\n{block}")));
    Todo::check_edit(old, "create_task", new("B"), &old.replace("## B\n\n", &format!("## B\n\n{block}")));
    let bare = block.trim_end();
    Todo::check_edit(old, "create_task", new("C"), &format!("{old}\n\n## C\n{bare}"));
    Todo::check_edit(old, "create_task", new(""), &format!("{old}\n\n## Default\n{bare}"));
}

#[test]
fn line_ends_and_the_byte_order_mark_stay() {
    let old = "\u{feff}# Task\r\n\r\n## A\r\n- [ ] one #T001\r\n";
    let new = json!({ "title": "two", "category": "A", "subtasks": ["s"] });
    Todo::check_edit(old, "create_task", new, &format!("{old}- [ ] two #T002\r\n  - [ ] s\r\n"));
}

#[test]
fn a_number_is_never_given_twice() {
    let mut todo = Todo::with_tasks("- [ ] by hand #T007\n");
    todo.call("delete_task", json!({ "task_id": "T007" }));
    assert_eq!(todo.call("create_task", json!({ "title": "a" }))["task_id"], "T008");
    todo.call("delete_task", json!({ "task_id": "T008" }));
    assert_eq!(todo.call("create_task", json!({ "title": "b" }))["task_id"], "T009");
    // Lines and contexts that people remove do not free a number either.
    fs::remove_file(todo.path("context/T009.md")).expect("a removal");
    todo.write("task.md", "");
    assert_eq!(todo.call("create_task", json!({ "title": "c" }))["task_id"], "T010");
    // An orphan keeps its number, an id in code does not count, and broken memory is made anew.
    todo.write("context/T020.md", "orphan");
    todo.write("task.md", "```\n- [ ] x #T900\n```\n");
    todo.write(".state.json", "not JSON");
    assert_eq!(todo.call("create_task", json!({ "title": "d" }))["task_id"], "T021");
    assert_eq!(todo.text("context/T020.md"), "orphan");
    assert_eq!(todo.text(".state.json"), "{\"last_task_number\":21,\"last_adr_number\":0}\n");
}

#[test]
fn titles_cannot_break_out_of_their_line() {
    let mut todo = Todo::new();
    let hostile = ["a\n## B\n- [x] c #T050", "```", "<!--", "x #T099", "---", "- [ ] y", "\t tab \t"];
    for title in hostile {
        todo.call("create_task", json!({ "title": title, "category": "A", "subtasks": [title] }));
    }
    let answer = todo.call("list_tasks", json!({}));
    assert_eq!(answer["total_count"], hostile.len(), "{answer}");
    assert_eq!(answer["tasks"][0]["title"], "a ## B - [x] c #T050");
    assert_eq!(answer["tasks"][3]["title"], "x #T099");
    assert_eq!(answer["tasks"][6]["title"], "tab");
    for (number, task) in answer["tasks"].as_array().expect("tasks").iter().enumerate() {
        assert_eq!((&task["category"], &task["subtasks_count"]), (&json!("A"), &json!(1)), "{task}");
        assert_eq!(task["priority"], number + 1);
    }
}

#[test]
fn lengths_count_characters() {
    let mut todo = Todo::new();
    let long = |count: usize| "漢".repeat(count);
    let full = json!({
        "title": long(100), "category": long(50), "description": long(500),
        "subtasks": vec![long(100); 20],
    });
    todo.call("create_task", full);
    for (arguments, code) in [
        (json!({ "title": long(101) }), "CONTENT_TOO_LONG"),
        (json!({ "title": "a", "category": long(51) }), "INVALID_CATEGORY"),
        (json!({ "title": "a", "description": long(501) }), "CONTENT_TOO_LONG"),
        (json!({ "title": "a", "subtasks": [long(101)] }), "CONTENT_TOO_LONG"),
        (json!({ "title": "a", "subtasks": vec!["s"; 21] }), "CONTENT_TOO_LONG"),
    ] {
        todo.check_refused("create_task", arguments, code);
    }
}

#[test]
fn a_file_that_ends_in_open_code_is_not_written_into() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n\n```\nnever closed\n");
    let error = todo.check_refused("create_task", json!({ "title": "b", "category": "New" }), "FILE_WRITE_ERROR");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("code fence")), "{error}");
    assert_eq!(
        todo.call("create_task", json!({ "title": "b" }))["task_id"],
        "T002",
        "beside the other task it is fine"
    );
}

#[test]
fn an_existing_file_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut todo = Todo::with_tasks("- [ ] a #T001\n");
    fs::set_permissions(todo.path("task.md"), fs::Permissions::from_mode(0o640)).expect("a mode");
    todo.call("create_task", json!({ "title": "b" }));
    let mode = |path: &str| fs::metadata(todo.path(path)).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode("task.md"), 0o640);
    assert_eq!(mode("context/T002.md") & 0o600, 0o600);
}
