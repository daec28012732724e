//! `list_tasks`: file order, true priorities, filters, the count before the limit, and what people should know.

use serde_json::{Value, json};

use super::{Todo, all};

const TASKS: &str = "- [ ] zero #T010\n# Task\n## A\n- [x] one #T001\n  - [ ] s\n    - [x] t\n- [ ] two #T002\n## B\n- [-] three #T003\n## A\n- [ ] four #T004\n## 設計 ##\n- [ ] five #T005\n";

#[track_caller]
fn check(arguments: Value, ids: &[&str], total: u64) {
    let mut todo = Todo::with_tasks(TASKS);
    let answer = todo.call("list_tasks", arguments);
    assert_eq!(all(&answer["tasks"], "task_id"), ids);
    assert_eq!(answer["total_count"], total);
}

#[test]
fn tasks_come_in_the_order_of_the_file() {
    check(json!({}), &["T010", "T001", "T002", "T003", "T004", "T005"], 6);
    check(json!({ "status": "todo" }), &["T010", "T002", "T004", "T005"], 4);
    check(json!({ "category": "A" }), &["T001", "T002", "T004"], 3);
    check(json!({ "category": "A", "status": "todo", "limit": 1 }), &["T002"], 2);
    check(json!({ "category": "設計" }), &["T005"], 1);
    check(json!({ "category": "Default" }), &["T010"], 1);
    check(json!({ "category": "" , "limit": 2 }), &["T010", "T001"], 6);
    check(json!({ "category": "a" }), &[], 0);
}

#[test]
fn an_item_has_the_seed_s_fields_and_its_true_priority() {
    let mut todo = Todo::with_tasks(TASKS);
    let answer = todo.call("list_tasks", json!({ "category": "A" }));
    let expected = json!({
        "task_id": "T001", "title": "one", "status": "done", "category": "A", "subtasks_count": 2, "priority": 1,
    });
    assert_eq!(answer["tasks"][0].to_string(), expected.to_string());
    let answer = todo.call("list_tasks", json!({ "category": "A", "status": "todo" }));
    assert_eq!((&answer["tasks"][0]["priority"], &answer["tasks"][1]["priority"]), (&json!(2), &json!(3)));
}

#[test]
fn the_default_limit_is_fifty() {
    let text: String = (1..=60).map(|number| format!("- [ ] t #T{number:03}\n")).collect();
    let mut todo = Todo::with_tasks(text);
    let answer = todo.call("list_tasks", json!({}));
    assert_eq!((answer["tasks"].as_array().map(Vec::len), &answer["total_count"]), (Some(50), &json!(60)));
    for limit in [json!(0), json!(101), json!(101.0), json!(1.5), json!(true), json!("5")] {
        let error = todo.check_refused("list_tasks", json!({ "limit": limit }), "INVALID_INPUT");
        assert_eq!(error["details"]["value"], limit, "as it was given");
    }
    assert_eq!(todo.call("list_tasks", json!({ "limit": 5.0 }))["tasks"].as_array().map(Vec::len), Some(5));
    assert_eq!(todo.call("list_tasks", json!({ "limit": 100 }))["tasks"].as_array().map(Vec::len), Some(60));
}

#[test]
fn the_hash_is_that_of_the_file_and_comes_last() {
    let mut todo = Todo::with_tasks("");
    let answer = todo.call("list_tasks", json!({}));
    assert_eq!(answer["hash"], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_eq!(answer.as_object().and_then(|object| object.keys().next_back()).map(String::as_str), Some("hash"));
}

#[test]
fn doubles_and_orphans_are_told_and_left_alone() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n- [x] again #T001\n- [ ] b #T002\n");
    todo.write("context/T002.md", "x");
    todo.write("context/T009.md", "x");
    let answer = todo.call("list_tasks", json!({}));
    let expected =
        json!(["duplicate id T001", "tasks without a context file: T001", "context files without a task: T009"]);
    assert_eq!(answer["warnings"], expected);
    assert_eq!(all(&answer["tasks"], "title"), ["a", "b"]);
    let answer = todo.call("update_task", json!({ "task_id": "T001", "status": "done" }));
    assert_eq!(answer["warnings"], json!(["duplicate id T001"]));
    assert_eq!(todo.tasks(), "- [x] a #T001\n- [x] again #T001\n- [ ] b #T002\n");
    todo.call("delete_task", json!({ "task_id": "T001" }));
    assert_eq!(todo.tasks(), "- [x] again #T001\n- [ ] b #T002\n", "the other line is the task now");
}

#[test]
fn what_is_not_parsed_is_not_listed() {
    let mut todo = Todo::with_tasks(
        "---\na: 1\n- [ ] front #T001\n---\n<!--\n- [ ] comment #T002\n-->\n~~~\n- [ ] code #T003\n~~~\n- [ ] note\n  - [ ] child #T004\n> - [ ] quote #T005\n- [ ] yes #T006\n",
    );
    assert_eq!(all(&todo.call("list_tasks", json!({}))["tasks"], "task_id"), ["T006"]);
}
