//! Update, move, delete: what is named changes, everything else stays.

use serde_json::{Value, json};

use super::Board;

const OLDER: &str = r#"{
  "version": "0.9",
  "lanes": {
    "todo": [
      { "id": "task-1737000000000-aB_c", "title": "Old", "custom": { "n": 1.10 }, "createdAt": "2025-01-01T00:00:00Z" },
      { "id": "task-b", "title": "B" }
    ],
    "done": [{ "id": "task-c", "title": "C" }]
  }
}"#;
const OLD: &str = "task-1737000000000-aB_c";

#[test]
fn an_update_changes_what_it_names() {
    let mut board = Board::with(OLDER);
    let call = json!({ "id": OLD, "title": " New\n", "estimatedHours": 3, "tags": ["x"], "assignee": "Ana", "priority": "critical", "description": "d" });
    let answer = board.call("vbm_update_task", call);
    assert_eq!(
        answer["updatedFields"],
        json!(["title", "description", "priority", "estimatedHours", "tags", "assignee"])
    );
    let task = &answer["task"];
    assert_eq!((&task["title"], &task["lane"], &task["custom"]), (&json!("New"), &json!("todo"), &json!({ "n": 1.1 })));
    assert_eq!(task["createdAt"], "2025-01-01T00:00:00Z");
    assert!(task["updatedAt"].as_str() > Some("2025-01-01T00:00:00Z"));
    let text = String::from_utf8(board.bytes()).expect("text");
    assert!(text.contains("\"n\": 1.10"), "a number keeps its form: {text}");
    assert_eq!(board.file()["lanes"]["todo"][1], json!({ "id": "task-b", "title": "B" }), "others are as they were");
    assert_eq!(board.file()["version"], "0.9");
    let answer = board.call("vbm_update_task", json!({ "id": OLD, "estimatedHours": null, "assignee": null }));
    assert_eq!(answer["updatedFields"], json!(["estimatedHours", "assignee"]));
    assert_eq!((&answer["task"]["estimatedHours"], &answer["task"]["assignee"]), (&Value::Null, &Value::Null));
    assert_eq!(board.file()["lanes"]["todo"][0]["estimatedHours"], Value::Null);
}

#[test]
fn an_update_can_move() {
    let mut board = Board::with(OLDER);
    let answer = board.call("vbm_update_task", json!({ "id": "task-b", "lane": "done" }));
    assert_eq!((&answer["task"]["lane"], &answer["task"]["status"]), (&json!("done"), &json!("done")));
    assert_eq!(board.titles("vbm_list_tasks", json!({ "lane": "done" })), ["C", "B"]);
    board.call("vbm_update_task", json!({ "id": "task-c", "lane": "done", "title": "D" }));
    assert_eq!(board.titles("vbm_list_tasks", json!({ "lane": "done" })), ["D", "B"], "in its lane it keeps its place");
}

#[test]
fn an_update_of_nothing_is_refused_or_leaves_the_file_alone() {
    let mut board = Board::with(OLDER);
    for nothing in [json!({ "id": OLD }), json!({ "id": OLD, "title": null, "_status": "done" })] {
        let error = board.check_code("vbm_update_task", nothing, 1001);
        assert_eq!(error["message"], "nothing to change was given");
        assert_eq!(error["data"]["fields"][0], "title");
    }
    let before = board.bytes();
    board.call("vbm_update_task", json!({ "id": OLD, "title": "Old", "lane": "todo" }));
    assert_eq!(board.bytes(), before);
    board.check_field("vbm_update_task", json!({ "id": OLD, "title": "x".repeat(101) }), "title");
    board.check_field("vbm_update_task", json!({ "id": OLD, "estimatedHours": 41 }), "estimatedHours");
}

#[test]
fn a_move_goes_to_the_end_with_a_comment() {
    let mut board = Board::with(OLDER);
    let answer = board.call("vbm_move_task", json!({ "id": OLD, "lane": "done", "comment": " tested\n" }));
    let task = &answer["task"];
    assert_eq!(
        (&task["lane"], &task["status"], &task["previousLane"]),
        (&json!("done"), &json!("done"), &json!("todo"))
    );
    let moved = task["movedAt"].as_str().expect("a time");
    assert_eq!(task["comments"], json!([{ "text": "tested", "timestamp": moved }]));
    assert_eq!(task["updatedAt"], moved);
    assert_eq!(board.titles("vbm_list_tasks", json!({ "lane": "done" })), ["C", "Old"]);
    let stored = board.file()["lanes"]["done"][1].clone();
    assert!(stored.get("previousLane").is_none() && stored.get("movedAt").is_none(), "{stored}");
    assert_eq!((&stored["lane"], &stored["status"]), (&json!("done"), &json!("done")));
    let answer = board.call("vbm_move_task", json!({ "id": OLD, "lane": "recovery", "comment": "again" }));
    assert_eq!(answer["task"]["comments"].as_array().map(Vec::len), Some(2));
    assert_eq!(answer["task"]["comments"][0]["text"], "tested");
    let got = board.call("vbm_get_task", json!({ "id": OLD }));
    assert_eq!(got["task"]["comments"], answer["task"]["comments"]);
}

#[test]
fn a_move_to_the_same_lane_changes_nothing() {
    let mut board = Board::with(OLDER);
    let before = board.bytes();
    let answer = board.call("vbm_move_task", json!({ "id": "task-b", "lane": "todo", "comment": "x" }));
    assert_eq!((&answer["task"]["lane"], &answer["task"]["previousLane"]), (&json!("todo"), &json!("todo")));
    assert_eq!(board.bytes(), before);
    board.check_field("vbm_move_task", json!({ "id": "task-b" }), "lane");
    board.check_field("vbm_move_task", json!({ "id": "task-b", "lane": "icebox" }), "lane");
    board.check_field(
        "vbm_move_task",
        json!({ "id": "task-b", "lane": "done", "comment": "あ".repeat(501) }),
        "comment",
    );
    board.call("vbm_move_task", json!({ "id": "task-b", "lane": "done", "comment": "あ".repeat(500) }));
}

#[test]
fn a_deleted_task_is_gone() {
    let mut board = Board::with(OLDER);
    let answer = board.call("vbm_delete_task", json!({ "id": OLD }));
    assert_eq!(answer["message"], format!("Task {OLD} deleted"));
    assert!(answer["deletedAt"].as_str().is_some_and(|time| time.ends_with('Z')));
    assert_eq!((&answer["task"]["title"], &answer["task"]["custom"]), (&json!("Old"), &json!({ "n": 1.1 })));
    assert_eq!(board.titles("vbm_list_tasks", json!({})), ["B", "C"]);
    let error = board.check_code("vbm_delete_task", json!({ "id": OLD }), 1002);
    assert_eq!((&error["message"], &error["data"]["id"]), (&json!(format!("there is no task `{OLD}`")), &json!(OLD)));
}

#[test]
fn ids_that_are_none_are_told_from_ids_of_nobody() {
    let mut board = Board::with(OLDER);
    let calls = |id: Value| {
        [
            ("vbm_get_task", json!({ "id": id })),
            ("vbm_delete_task", json!({ "id": id })),
            ("vbm_move_task", json!({ "id": id, "lane": "done" })),
            ("vbm_update_task", json!({ "id": id, "title": "x" })),
        ]
    };
    let long = format!("task-{}", "x".repeat(46));
    for id in [
        json!(""),
        json!("task-"),
        json!("b"),
        json!("TASK-b"),
        json!("task-b "),
        json!("task-é"),
        json!("task-a/b"),
        json!(long),
        json!(7),
        json!(null),
    ] {
        for (tool, arguments) in calls(id) {
            board.check_field(tool, arguments, "id");
        }
    }
    for id in ["task-zzz", "task-1737000000000-ab_c", &format!("task-{}", "x".repeat(45))] {
        for (tool, arguments) in calls(json!(id)) {
            board.check_code(tool, arguments, 1002);
        }
    }
}

#[test]
fn a_hash_guards_a_change() {
    let mut board = Board::with(OLDER);
    let hash = board.call("vbm_get_board", json!({}))["hash"].clone();
    board.call("vbm_update_task", json!({ "id": "task-b", "title": "B2", "if_match": hash }));
    for (tool, arguments) in [
        ("vbm_update_task", json!({ "id": "task-b", "title": "B3", "if_match": hash })),
        ("vbm_move_task", json!({ "id": "task-b", "lane": "done", "if_match": hash })),
        ("vbm_delete_task", json!({ "id": "task-b", "if_match": hash })),
    ] {
        let error = board.check_code(tool, arguments, 1001);
        let now = board.call("vbm_get_board", json!({}))["hash"].clone();
        assert_eq!(error["data"], json!({ "field": "if_match", "expected_hash": hash, "actual_hash": now }));
        assert!(error["message"].as_str().is_some_and(|message| message.contains(now.as_str().expect("a hash"))));
    }
    let now = board.call("vbm_get_board", json!({}))["hash"].clone();
    board.call("vbm_delete_task", json!({ "id": "task-b", "if_match": now }));
}
