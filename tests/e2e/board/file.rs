//! What a bridge file may hold: both shapes, other programs' keys and lanes, and what is no board at all.

use std::fs;

use serde_json::{Value, json};
use trellis_tests::harness::Home;

use super::{Board, TOOLS};

#[test]
fn a_missing_or_empty_file_is_an_empty_board() {
    for content in [None, Some("")] {
        let mut board = Board::new();
        if let Some(content) = content {
            board.write(content);
        }
        assert_eq!(board.call("vbm_list_tasks", json!({}))["total"], 0);
        let id = board.id_of_new("first");
        assert_eq!(board.call("vbm_get_task", json!({ "id": id }))["task"]["title"], "first");
        let keys: Vec<String> = board.file().as_object().expect("an object").keys().cloned().collect();
        assert_eq!(keys, ["version", "lastSync", "lanes"]);
    }
}

#[test]
fn a_flat_list_is_read_and_converted_by_the_next_write() {
    let flat = r#"{
      "version": "2.0",
      "tasks": [
        { "id": "task-a", "title": "A", "lane": "todo", "extra": [1, 2] },
        { "id": "task-b", "title": "B" },
        { "id": "task-c", "title": "C", "status": "done" },
        { "id": "task-d", "title": "D", "lane": "Todo" },
        { "id": "task-e", "title": "E", "lane": "icebox" }
      ],
      "metadata": { "generated": "by another program", "big": 123456789012345678901234567890 }
    }"#;
    let mut board = Board::with(flat);
    assert_eq!(board.titles("vbm_list_tasks", json!({})), ["B", "A", "D", "C"]);
    assert_eq!(board.call("vbm_get_task", json!({ "id": "task-a" }))["task"]["extra"], json!([1, 2]));
    assert_eq!(board.bytes(), flat.as_bytes(), "looking converts nothing");
    board.call("vbm_update_task", json!({ "id": "task-b", "title": "B2" }));
    let file = board.file();
    assert!(file.get("tasks").is_none());
    assert_eq!(file["version"], "2.0");
    assert_eq!(file["metadata"]["generated"], "by another program");
    assert!(String::from_utf8(board.bytes()).expect("text").contains("\"big\": 123456789012345678901234567890"));
    let todo = json!([{ "id": "task-a", "title": "A", "lane": "todo", "extra": [1, 2] }, { "id": "task-d", "title": "D", "lane": "Todo" }]);
    assert_eq!(file["lanes"]["todo"], todo, "what was not touched is as it was");
    assert_eq!(file["lanes"]["icebox"], json!([{ "id": "task-e", "title": "E", "lane": "icebox" }]));
    assert_eq!(board.titles("vbm_list_tasks", json!({})), ["B2", "A", "D", "C"]);
}

#[test]
fn keys_and_lanes_of_others_survive_every_write() {
    let text = r#"{
  "schema": { "by": "another program", "precise": 0.10000000000000000001 },
  "lanes": {
    "icebox": [{ "id": "task-x", "title": "frozen", "deep": { "a": [1, { "b": null }] } }],
    "todo": [{ "zeta": 1E5, "id": "task-a", "title": "A", "half": "\ud83d", "alpha": 9007199254740993 }, "a note", { "id": "task-b", "title": "B" }],
    "Done": "not ours"
  },
  "after": true
}"#;
    let mut board = Board::with(text);
    assert_eq!(board.titles("vbm_list_tasks", json!({})), ["A", "B"], "lanes that are not known are not shown");
    board.check_code("vbm_get_task", json!({ "id": "task-x" }), 1002);
    let shown = board.call("vbm_get_task", json!({ "id": "task-a" }))["task"].clone();
    assert_eq!((&shown["alpha"], &shown["half"]), (&json!(9_007_199_254_740_993_u64), &json!("\u{fffd}")));

    let id = board.id_of_new("new");
    board.call("vbm_update_task", json!({ "id": "task-a", "priority": "high" }));
    board.call("vbm_move_task", json!({ "id": "task-b", "lane": "done" }));
    board.call("vbm_batch_create", json!({ "tasks": [{ "title": "x", "lane": "recovery" }] }));
    board.call("vbm_delete_task", json!({ "id": id }));
    let written = String::from_utf8(board.bytes()).expect("text");
    for kept in [
        "\"precise\": 0.10000000000000000001",
        "\"zeta\": 1E5",
        "\"half\": \"\\ud83d\"",
        "\"alpha\": 9007199254740993",
        "\"a note\"",
        "\"Done\": \"not ours\"",
        "\"after\": true",
    ] {
        assert!(written.contains(kept), "{kept} is gone: {written}");
    }
    let file: Value = serde_json::from_str(&written.replace("\\ud83d", "")).expect("JSON");
    assert_eq!(
        file["lanes"]["icebox"],
        json!([{ "id": "task-x", "title": "frozen", "deep": { "a": [1, { "b": null }] } }])
    );
    let keys: Vec<&String> = file.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["version", "schema", "lastSync", "lanes", "after"]);
    let task: Vec<&String> = file["lanes"]["todo"][0].as_object().expect("a task").keys().collect();
    assert_eq!(task, ["zeta", "id", "title", "half", "alpha", "priority", "lane", "status", "updatedAt"]);
}

#[test]
fn the_list_decides_the_lane() {
    let text = r#"{"lanes":{"todo":[{"id":"task-a","title":"A","lane":"done","status":"recovery"}]}}"#;
    let mut board = Board::with(text);
    let task = board.call("vbm_get_task", json!({ "id": "task-a" }))["task"].clone();
    assert_eq!((&task["lane"], &task["status"]), (&json!("todo"), &json!("todo")));
    assert_eq!(board.titles("vbm_list_tasks", json!({ "lane": "done" })), [""; 0]);
    assert_eq!(board.titles("vbm_list_tasks", json!({ "status": "todo" })), ["A"]);
    board.call("vbm_update_task", json!({ "id": "task-a", "title": "B" }));
    let stored = &board.file()["lanes"]["todo"][0];
    assert_eq!((&stored["lane"], &stored["status"]), (&json!("todo"), &json!("todo")));
}

#[test]
fn what_is_no_board_is_never_overwritten() {
    let broken: [&[u8]; 12] = [
        b"{\"lanes\": {\"todo\": [}",
        b"{\"lanes\": {}",
        b"not JSON",
        b" \n",
        b"{\"lanes\": {}} {}",
        b"[]",
        b"null",
        b"{\"lanes\": []}",
        b"{\"lanes\": null}",
        b"{\"lanes\": {\"todo\": {\"id\": \"task-a\"}}}",
        b"{\"tasks\": {}}",
        b"{\"lanes\": {}, \"x\": \"\xff\"}",
    ];
    let mut board = Board::new();
    board.id_of_new("known before");
    for content in broken {
        board.write(content);
        for tool in TOOLS {
            let arguments = match tool {
                "vbm_create_task" => json!({ "title": "x" }),
                "vbm_update_task" => json!({ "id": "task-a", "title": "x" }),
                "vbm_move_task" => json!({ "id": "task-a", "lane": "done" }),
                "vbm_delete_task" | "vbm_get_task" => json!({ "id": "task-a" }),
                "vbm_search_tasks" => json!({ "query": "x" }),
                "vbm_batch_create" => json!({ "tasks": [{ "title": "x" }] }),
                _ => json!({}),
            };
            let error = board.check_code(tool, arguments, 1003);
            assert!(
                error["message"].as_str().is_some_and(|words| words.contains(".vibe-kanban-bridge.json")),
                "{error}"
            );
            assert!(
                error["data"]["issue"].is_string()
                    && error["hint"].as_str().is_some_and(|hint| hint.contains("Repair"))
            );
        }
        assert_eq!(board.bytes(), content);
    }
    board.write(r#"{"lanes":{"todo":[{"id":"task-r","title":"repaired"}]}}"#);
    assert_eq!(board.titles("vbm_list_tasks", json!({})), ["repaired"]);
    board.id_of_new("and writable");
}

#[test]
fn marks_and_line_ends_at_the_edges_stay() {
    for (before, after) in [("\u{feff}", "\n"), ("", ""), ("", "\n")] {
        let mut board = Board::with(format!("{before}{{\"lanes\":{{}}}}{after}"));
        board.id_of_new("x");
        let text = String::from_utf8(board.bytes()).expect("text");
        assert_eq!(text.starts_with('\u{feff}'), !before.is_empty());
        assert_eq!(text.ends_with("}\n"), !after.is_empty());
    }
}

#[test]
fn a_file_beyond_measure_is_refused() {
    let mut board = Board::new();
    let padding = "x".repeat(16 * 1024 * 1024);
    board.write(format!("{{\"pad\":\"{padding}\",\"lanes\":{{}}}}"));
    let error = board.check_code("vbm_get_stats", json!({}), 1003);
    assert_eq!(error["data"]["limit"], 16 * 1024 * 1024);
    board.write(format!("{{\"pad\":\"{}\",\"lanes\":{{}}}}", &padding[100..]));
    board.call("vbm_get_stats", json!({}));
    board.check_code("vbm_create_task", json!({ "title": "one too many" }), 1003);
}

#[test]
fn deep_values_do_no_harm() {
    let deep = format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000));
    let mut board = Board::with(format!(r#"{{"lanes":{{"todo":[{{"id":"task-a","title":"A","deep":{deep}}}]}}}}"#));
    assert_eq!(board.titles("vbm_list_tasks", json!({})), ["A"]);
    board.call("vbm_update_task", json!({ "id": "task-a", "title": "B" }));
    let text: String = String::from_utf8(board.bytes()).expect("text").split_whitespace().collect();
    assert!(text.contains(&deep));
}

#[test]
fn the_mode_of_the_file_stays() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut board = Board::at(Home::new());
    board.write("{}");
    fs::set_permissions(board.path(), fs::Permissions::from_mode(0o640)).expect("a mode");
    board.id_of_new("x");
    assert_eq!(fs::metadata(board.path()).expect("a file").permissions().mode() & 0o777, 0o640);
}
