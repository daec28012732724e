//! `update_task`: only what is given changes, in the smallest span of lines.

use serde_json::{Value, json};

use super::{Todo, check_time};

const OLD: &str = "# 計画\n\nintro  \n\n## A\n*  [ ]  one   #T001  \n\n  a note\n  - [ ] s\n    deeper\n\t- [x] t\n- [ ] mine\n  - [ ] child\n\n## B\nprose\n- [-] two #T002";

#[track_caller]
fn check(arguments: Value, fields: &[&str], expected: &str) {
    let answer = Todo::check_edit(OLD, "update_task", arguments, expected);
    assert_eq!(answer["updated_fields"], json!(fields));
    check_time(&answer["updated_at"]);
}

#[test]
fn one_line_changes_for_a_status_or_a_title() {
    check(json!({ "task_id": "T001", "status": "done" }), &["status"], &OLD.replace("*  [ ]", "*  [x]"));
    check(json!({ "task_id": "T002", "status": "todo" }), &["status"], &OLD.replace("[-]", "[ ]"));
    check(json!({ "task_id": "T001", "title": " 新 #T003 " }), &["title"], &OLD.replace("one ", "新 #T003 "));
    let both = OLD.replace("*  [ ]  one", "*  [-]  x");
    check(json!({ "status": "in_progress", "title": "x", "task_id": "T001" }), &["title", "status"], &both);
}

#[test]
fn sub_tasks_are_replaced_and_notes_stay() {
    let subtasks = json!([{ "title": "s", "status": "done" }, { "title": "t", "status": "done" }]);
    check(json!({ "task_id": "T001", "subtasks": subtasks }), &["subtasks"], &OLD.replace("- [ ] s", "- [x] s"));
    let new = OLD.replace("  - [ ] s\n    deeper\n\t- [x] t\n", "  - [ ] n\n  - [-] m\n    deeper\n");
    let subtasks = json!([{ "title": "n" }, { "title": "m", "status": "in_progress" }]);
    check(json!({ "task_id": "T001", "subtasks": subtasks }), &["subtasks"], &new);
    let none = OLD.replace("  - [ ] s\n    deeper\n\t- [x] t\n", "    deeper\n");
    check(json!({ "task_id": "T001", "subtasks": [] }), &["subtasks"], &none);
    check(json!({ "task_id": "T002", "subtasks": [{ "title": "n" }] }), &["subtasks"], &format!("{OLD}\n  - [ ] n"));
}

#[test]
fn two_hundred_sub_tasks_may_be_given() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n  - [ ] s\nend\n");
    let subtasks: Vec<Value> = (1..=200).map(|number| json!({ "title": format!("step {number}") })).collect();
    let answer = todo.call("update_task", json!({ "task_id": "T001", "subtasks": subtasks }));
    assert_eq!(answer["updated_fields"], json!(["subtasks"]));
    let lines: String = (1..=200).map(|number| format!("  - [ ] step {number}\n")).collect();
    assert_eq!(todo.tasks(), format!("- [ ] a #T001\n{lines}end\n"));
    assert_eq!(todo.call("list_tasks", json!({}))["tasks"][0]["subtasks_count"], 200);
    let mut more = subtasks;
    more.push(json!({ "title": "too many" }));
    let error = todo.check_refused("update_task", json!({ "task_id": "T001", "subtasks": more }), "CONTENT_TOO_LONG");
    assert_eq!(error["details"], json!({ "field": "subtasks", "value": 201 }));
    assert!(error["message"].as_str().is_some_and(|text| text.contains("at most 200")), "{error}");
}

#[test]
fn another_category_takes_the_whole_block() {
    let block = "*  [ ]  one   #T001  \n\n  a note\n  - [ ] s\n    deeper\n\t- [x] t\n";
    let without = OLD.replace(block, "");
    check(json!({ "task_id": "T001", "category": "B" }), &["category"], &format!("{without}\n{}", block.trim_end()));
    let heading = format!("{without}\n\n## 新しい\n{}", block.trim_end());
    check(json!({ "task_id": "T001", "category": "新しい" }), &["category"], &heading);
    let all = json!({ "task_id": "T001", "category": "B", "title": "x", "status": "done", "subtasks": [] });
    let moved = format!("{without}\n*  [x]  x   #T001  \n\n  a note\n    deeper");
    check(all, &["title", "status", "category", "subtasks"], &moved);
}

#[test]
fn what_does_not_differ_is_not_written() {
    let mut todo = Todo::with_tasks(OLD);
    let before = std::fs::metadata(todo.path("task.md")).and_then(|file| file.modified()).expect("a time");
    let subtasks = json!([{ "title": "s" }, { "title": "t", "status": "done" }]);
    for arguments in [
        json!({ "task_id": "T001" }),
        json!({ "task_id": "T001", "title": null, "status": null, "category": "", "subtasks": null, "_unknown": 1 }),
        json!({ "task_id": "T001", "title": "one", "status": "todo", "category": "A", "subtasks": subtasks }),
    ] {
        assert_eq!(todo.call("update_task", arguments)["updated_fields"], json!([]));
    }
    assert_eq!(todo.tasks(), OLD);
    let after = std::fs::metadata(todo.path("task.md")).and_then(|file| file.modified()).expect("a time");
    assert_eq!(before, after);
}

#[test]
fn marks_of_people_stay_until_the_status_changes() {
    let mut todo = Todo::with_tasks("- [X] a #T001\n- [?] b #T002\n");
    for (id, status) in [("T001", "done"), ("T002", "todo")] {
        let answer = todo.call("update_task", json!({ "task_id": id, "status": status }));
        assert_eq!(answer["updated_fields"], json!([]));
    }
    assert_eq!(todo.tasks(), "- [X] a #T001\n- [?] b #T002\n");
    todo.call("update_task", json!({ "task_id": "T002", "status": "in_progress" }));
    assert_eq!(todo.tasks(), "- [X] a #T001\n- [-] b #T002\n");
}

#[test]
fn finishing_a_task_leaves_its_sub_tasks() {
    let old = "- [ ] a #T001\n  - [ ] b\n";
    Todo::check_edit(old, "update_task", json!({ "task_id": "T001", "status": "done" }), "- [x] a #T001\n  - [ ] b\n");
}

#[test]
fn an_edit_of_a_person_is_seen_by_the_next_call() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n");
    assert_eq!(todo.call("list_tasks", json!({}))["tasks"][0]["title"], "a");
    // The same size, a moment later.
    todo.write("task.md", "- [ ] b #T001\n");
    assert_eq!(todo.call("list_tasks", json!({}))["tasks"][0]["title"], "b");
    todo.write("task.md", "mine\n- [ ] b #T001\n");
    todo.call("update_task", json!({ "task_id": "T001", "status": "done" }));
    assert_eq!(todo.tasks(), "mine\n- [x] b #T001\n");
}

#[test]
fn a_hash_that_no_longer_holds_is_a_conflict() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n- [ ] b #T002\n");
    let hash = todo.call("list_tasks", json!({}))["hash"].clone();
    let good = json!({ "task_id": "T001", "status": "done", "if_match": hash });
    todo.call("update_task", good.clone());
    for (tool, mut arguments) in [
        ("update_task", good),
        ("delete_task", json!({ "task_id": "T001" })),
        ("reorder_task", json!({ "task_id": "T001", "position": "last" })),
    ] {
        arguments["if_match"] = hash.clone();
        let error = todo.check_refused(tool, arguments, "CONFLICT");
        let actual = todo.call("list_tasks", json!({}))["hash"].clone();
        assert_eq!(error["details"], json!({ "path": ".todo/task.md", "expected_hash": hash, "actual_hash": actual }));
    }
}
