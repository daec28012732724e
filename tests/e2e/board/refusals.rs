//! How a refusal looks, what a read-only session may do, and the board among the other families.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use trellis_tests::harness::Home;

use super::{Board, TOOLS};

#[test]
fn a_refusal_has_number_name_words_data_and_hint() {
    let mut board = Board::new();
    let error = board.refused("vbm_create_task", json!({ "title": "" }));
    let expected = json!({
        "code": 1001,
        "name": "VALIDATION_ERROR",
        "message": "title is empty",
        "data": { "field": "title", "issue": "is empty", "constraint": { "minLength": 1, "maxLength": 100 } },
        "hint": "Send a title of 1 to 100 characters.",
    });
    assert_eq!(error.to_string(), expected.to_string());
    let error = board.refused("vbm_get_task", json!({ "id": "task-none" }));
    let expected = json!({
        "code": 1002,
        "name": "TASK_NOT_FOUND",
        "message": "there is no task `task-none`",
        "data": { "field": "id", "id": "task-none" },
        "hint": "Find the task with vbm_list_tasks or vbm_search_tasks.",
    });
    assert_eq!(error.to_string(), expected.to_string());
    board.write("{");
    let error = board.refused("vbm_get_board", json!({}));
    assert_eq!((&error["code"], &error["name"]), (&json!(1003), &json!("BRIDGE_ERROR")));
    assert_eq!(error["data"]["file"], ".vibe-kanban-bridge.json");
}

#[test]
fn arguments_that_nobody_knows_are_refused_first() {
    let mut board = Board::new();
    let task = ["title", "description", "priority", "lane", "estimatedHours", "tags", "assignee"];
    let error = board.refused("vbm_create_task", json!({ "title": 7, "asignee": "Ana", "due": "today" }));
    let known = task.into_iter().chain(["project_root"]).collect::<Vec<_>>();
    let data = &error["data"];
    assert_eq!(
        (&error["code"], &data["field"], &data["nearest"]),
        (&json!(1001), &json!("asignee"), &json!("assignee"))
    );
    assert_eq!(data["arguments"], json!(known));
    assert!(known.iter().all(|name| error["message"].as_str().is_some_and(|words| words.contains(name))), "{error}");
    let error = board.refused("vbm_batch_create", json!({ "tasks": [{ "title": "a" }, { "titel": "b" }] }));
    let (data, known) = (&error["data"], task.map(|name| format!("tasks[1].{name}")));
    assert_eq!((&data["field"], &data["nearest"]), (&json!("tasks[1].titel"), &json!("tasks[1].title")), "{error}");
    assert_eq!(data["arguments"], json!(known));
    assert!(!board.path().exists(), "nothing was written");
    for tool in TOOLS {
        let error = board.check_field(tool, json!({ "nonsense": 1 }), "nonsense");
        assert_eq!(error["data"].get("nearest"), None, "{tool}");
    }
    board.call("vbm_create_task", json!({ "title": "a", "toolCallId": 1, "sessionId": 1, "action": 1, "_x": 1 }));
}

#[test]
fn an_unknown_tool_is_an_error_of_the_protocol() {
    let mut board = Board::new();
    for name in ["vbm_create_board", "vibe_create_task", "create_task"] {
        let answer = board.client.ask("tools/call", json!({ "name": name, "arguments": {} }));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert_eq!(board.client.ask("vbm/create", json!({}))["error"]["code"], -32601);
}

#[test]
fn a_read_only_session_reads() {
    let home = Home::new();
    let text = r#"{"lanes":{"todo":[{"id":"task-a","title":"A"}]}}"#;
    let path = home.write(".vibe-kanban-bridge.json", text);
    let mut client = home.host(&["--only", "board", "--read-only"]);
    assert_eq!(
        client.tool_names(),
        ["vbm_get_task", "vbm_list_tasks", "vbm_search_tasks", "vbm_get_board", "vbm_get_stats"]
    );
    for tool in ["vbm_create_task", "vbm_update_task", "vbm_move_task", "vbm_delete_task", "vbm_batch_create"] {
        let arguments = json!({ "id": "task-a", "title": "x", "lane": "done", "tasks": [{ "title": "x" }] });
        let body = client.call_err(tool, arguments);
        let error = &body["error"];
        assert_eq!(
            (&body["success"], &error["code"], &error["name"]),
            (&json!(false), &json!(1001), &json!("VALIDATION_ERROR"))
        );
        assert_eq!(error["message"], "this session is read-only");
        assert!(error["hint"].is_string());
    }
    assert_eq!(client.call_ok("vbm_list_tasks", json!({}))["total"], 1);
    assert_eq!(fs::read_to_string(path).expect("a file"), text);
    client.close();
}

#[test]
fn a_file_that_may_not_be_read_or_written_is_told() {
    let home = Home::new();
    let path = home.write("sub/board.json", r#"{"lanes":{"todo":[{"id":"task-a","title":"A"}]}}"#);
    let directory = path.parent().expect("a directory").to_owned();
    let home = home.with("BRIDGE_FILE_PATH", &path);
    let mode = |path: &std::path::Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    let mut client = home.unprivileged_host(&["--only", "board"]);
    mode(&path, 0o000);
    let error = client.call_err("vbm_list_tasks", json!({}))["error"].clone();
    assert_eq!((&error["code"], &error["data"]["file"]), (&json!(1003), &json!("board.json")), "{error}");
    mode(&path, 0o644);
    let before = fs::read(&path).expect("a file");
    mode(&directory, 0o555);
    for (tool, arguments) in [
        ("vbm_create_task", json!({ "title": "x" })),
        ("vbm_batch_create", json!({ "tasks": [{ "title": "x" }, { "title": "y" }] })),
        ("vbm_move_task", json!({ "id": "task-a", "lane": "done" })),
    ] {
        let error = client.call_err(tool, arguments)["error"].clone();
        assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(1003), &json!("denied")), "{error}");
    }
    assert_eq!(fs::read(&path).expect("a file"), before, "none left behind by a failing write");
    assert_eq!(client.call_ok("vbm_list_tasks", json!({}))["total"], 1);
    mode(&directory, 0o755);
    client.call_ok("vbm_create_task", json!({ "title": "x" }));
    client.close();
}

#[test]
fn the_board_is_in_the_union_under_the_same_names() {
    let home = Home::new();
    let mut client = home.host(&[]);
    let names = client.tool_names();
    let ours: Vec<&String> = names.iter().filter(|name| name.starts_with("vbm_")).collect();
    assert_eq!(ours, TOOLS);
    let task = client.call_ok("vbm_create_task", json!({ "title": "x" }))["task"].clone();
    assert_eq!(client.call_ok("vbm_get_task", json!({ "id": task["id"] }))["task"], task);
    let body = client.call_err("vbm_create_task", json!({}));
    assert_eq!((&body["success"], &body["error"]["code"]), (&json!(false), &json!(1001)));
    client.close();
    let mut alone = home.host(&["--only", "board"]);
    assert_eq!(alone.tool_names(), TOOLS);
    let tools = alone.request("tools/list", json!({}))["tools"].clone();
    let listed: Vec<&Value> = tools.as_array().expect("tools").iter().collect();
    for tool in &listed {
        let hints = &tool["annotations"];
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(hints[hint].is_boolean(), "{tool}");
        }
        assert!(tool["inputSchema"]["properties"]["project_root"].is_object(), "{tool}");
        assert!(tool["description"].as_str().is_some_and(|words| words.len() <= 350), "{tool}");
    }
    let title = &listed[0]["inputSchema"]["properties"]["title"];
    assert_eq!(
        title,
        &json!({ "type": "string", "minLength": 1, "maxLength": 100, "description": "At most 100 characters" })
    );
    assert_eq!(listed[0]["inputSchema"]["required"], json!(["title"]));
    assert!(tools.to_string().len() < 9_000, "{} bytes of ten tools", tools.to_string().len());
    alone.close();
}
