//! `delete_task` and `reorder_task`: blocks go and move with their notes; headings, prose and blank lines stay.

use serde_json::{Value, json};

use super::{Todo, check_time};

const OLD: &str = "top\n\n## A\n- [ ] a #T001\n  - [ ] sub\n\n  note\n\n- [ ] b #T002\nprose\n- [ ] c #T003\n## B\n- [ ] d #T004\n## A\n- [ ] e #T005";

#[test]
fn a_task_goes_with_its_block_and_its_context() {
    let mut todo = Todo::with_tasks(OLD);
    todo.write("context/T001.md", "context");
    let answer = todo.call("delete_task", json!({ "task_id": "T001" }));
    assert_eq!(answer["deleted_files"], json!([".todo/context/T001.md"]));
    check_time(&answer["deleted_at"]);
    assert_eq!(todo.tasks(), OLD.replace("- [ ] a #T001\n  - [ ] sub\n\n  note\n", ""));
    assert!(!todo.exists("context/T001.md"));
    assert_eq!(todo.call("delete_task", json!({ "task_id": "T004" }))["deleted_files"], json!([]));
    assert!(todo.tasks().contains("## B\n## A\n"), "an emptied section keeps its heading");
    todo.call("delete_task", json!({ "task_id": "T005" }));
    assert!(todo.tasks().ends_with("## B\n## A"), "a file without a final line end keeps having none");
    todo.check_refused("delete_task", json!({ "task_id": "T001" }), "TASK_NOT_FOUND");
}

#[track_caller]
fn check(arguments: Value, (old, new): (u64, u64), expected: &str) {
    let answer = Todo::check_edit(OLD, "reorder_task", arguments, expected);
    assert_eq!((&answer["old_position"], &answer["new_position"]), (&json!(old), &json!(new)));
    check_time(&answer["updated_at"]);
}

#[test]
fn blocks_move_within_their_category() {
    let block = "- [ ] a #T001\n  - [ ] sub\n\n  note\n";
    let without = OLD.replace(block, "");
    let last = format!("{without}\n{}", block.trim_end());
    check(json!({ "task_id": "T001", "position": "last" }), (1, 4), &last);
    let after = without.replace("b #T002\n", &format!("b #T002\n{block}"));
    check(json!({ "task_id": "T001", "position": "after", "reference_task_id": "T002" }), (1, 2), &after);
    let before = without.replace("- [ ] c", &format!("{block}- [ ] c"));
    check(json!({ "task_id": "T001", "position": "before", "reference_task_id": "T003" }), (1, 2), &before);
    let first = OLD.replace("- [ ] c #T003\n", "").replace("## A\n- [ ] a", "## A\n- [ ] c #T003\n- [ ] a");
    check(json!({ "task_id": "T003", "position": "first", "reference_task_id": "nonsense" }), (3, 1), &first);
    let from_the_end = OLD.replace("\n- [ ] e #T005", "").replace("- [ ] b", "- [ ] e #T005\n- [ ] b");
    check(json!({ "task_id": "T005", "position": "before", "reference_task_id": "T002" }), (4, 2), &from_the_end);
}

#[test]
fn who_is_there_already_stays() {
    for (arguments, at) in [
        (json!({ "task_id": "T001", "position": "first" }), 1),
        (json!({ "task_id": "T005", "position": "last" }), 4),
        (json!({ "task_id": "T002", "position": "after", "reference_task_id": "T001" }), 2),
        (json!({ "task_id": "T002", "position": "before", "reference_task_id": "T003" }), 2),
        (json!({ "task_id": "T004", "position": "last" }), 1),
    ] {
        check(arguments, (at, at), OLD);
    }
}

#[test]
fn a_position_must_make_sense() {
    let mut todo = Todo::with_tasks(OLD);
    for (arguments, code) in [
        (json!({ "task_id": "T009", "position": "first" }), "TASK_NOT_FOUND"),
        (json!({ "task_id": "T001", "position": "middle" }), "INVALID_POSITION"),
        (json!({ "task_id": "T001" }), "INVALID_POSITION"),
        (json!({ "task_id": "T001", "position": 1 }), "INVALID_POSITION"),
        (json!({ "task_id": "T001", "position": "before" }), "INVALID_POSITION"),
        (json!({ "task_id": "T001", "position": "after", "reference_task_id": "T001" }), "INVALID_POSITION"),
        (json!({ "task_id": "T001", "position": "after", "reference_task_id": "T4" }), "INVALID_TASK_ID"),
        (json!({ "task_id": "T001", "position": "after", "reference_task_id": "T009" }), "REFERENCE_TASK_NOT_FOUND"),
        (json!({ "task_id": "T009", "position": "after", "reference_task_id": "T008" }), "TASK_NOT_FOUND"),
    ] {
        todo.check_refused("reorder_task", arguments, code);
    }
    let elsewhere = json!({ "task_id": "T001", "position": "after", "reference_task_id": "T004" });
    let error = todo.check_refused("reorder_task", elsewhere, "INVALID_POSITION");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("update_task")), "{error}");
}

#[test]
fn a_task_does_not_change_places_with_its_double() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n- [ ] double #T001\n- [ ] b #T002\n");
    let error =
        todo.check_refused("reorder_task", json!({ "task_id": "T001", "position": "last" }), "FILE_WRITE_ERROR");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("another id")), "{error}");
    let answer = todo.call("reorder_task", json!({ "task_id": "T002", "position": "first" }));
    assert_eq!(answer["warnings"], json!(["duplicate id T001"]));
    assert_eq!(todo.tasks(), "- [ ] b #T002\n- [ ] a #T001\n- [ ] double #T001\n");
}

#[test]
fn a_task_stays_itself_beside_a_line_with_its_id() {
    let old = "- [ ] one #T003\n  note\n- [ ] two #T001\n- [ ] again #T003\n";
    let new = "- [ ] two #T001\n- [ ] one #T003\n  note\n- [ ] again #T003\n";
    Todo::check_edit(old, "reorder_task", json!({ "task_id": "T003", "position": "last" }), new);
}
