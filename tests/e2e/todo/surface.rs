//! Names alone and beside other families; sessions that may not write.

use serde_json::json;
use trellis_tests::harness::Home;

const NAMES: [&str; 12] = [
    "create_task",
    "update_task",
    "delete_task",
    "reorder_task",
    "list_tasks",
    "search_tasks",
    "create_adr",
    "update_adr_status",
    "list_adrs",
    "update_context",
    "get_context",
    "search_contexts",
];

#[test]
fn alone_the_tools_have_the_seed_s_names() {
    let home = Home::new();
    assert_eq!(home.host(&["--only", "todo"]).tool_names(), NAMES);
}

#[test]
fn beside_others_they_carry_the_family_s() {
    let home = Home::new();
    let mut client = home.host(&["--families", "todo,vault"]);
    let names = client.tool_names();
    for name in NAMES {
        assert!(names.contains(&format!("todo_{name}")), "{names:?}");
        assert!(!names.contains(&name.to_owned()), "{names:?}");
    }
    client.call_ok("todo_create_task", json!({ "title": "a" }));
    // A name that only one family has works as it is.
    assert_eq!(client.call_ok("get_context", json!({ "task_id": "T001" }))["task_id"], "T001");
    let mut union = home.host(&[]);
    assert_eq!(union.call_ok("get_context", json!({ "task_id": "T001" }))["task_id"], "T001");
    assert_eq!(union.call_ok("todo_list_tasks", json!({}))["total_count"], 1);
}

#[test]
fn schemas_declare_the_limits() {
    let home = Home::new();
    let list = home.host(&["--only", "todo"]).request("tools/list", json!({}));
    assert!(list.to_string().len() < 12_000, "{} bytes", list.to_string().len());
    let tool = |name: &str| {
        let tools = list["tools"].as_array().expect("tools");
        tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{name}")).clone()
    };
    let create = tool("create_task");
    let properties = &create["inputSchema"]["properties"];
    assert_eq!((&properties["title"]["minLength"], &properties["title"]["maxLength"]), (&json!(1), &json!(100)));
    assert_eq!(properties["category"]["maxLength"], 50);
    assert_eq!(properties["description"]["maxLength"], 500);
    assert_eq!(
        (&properties["subtasks"]["maxItems"], &properties["subtasks"]["items"]["maxLength"]),
        (&json!(20), &json!(100))
    );
    assert_eq!(create["inputSchema"]["required"], json!(["title"]));
    let update = &tool("update_task")["inputSchema"]["properties"];
    assert_eq!(update["task_id"]["pattern"], "^T[0-9]{3}$");
    assert_eq!(update["subtasks"]["maxItems"], 200);
    assert_eq!(update["status"]["enum"], json!(["todo", "in_progress", "done"]));
    let list_tasks = &tool("list_tasks")["inputSchema"]["properties"]["limit"];
    assert_eq!((&list_tasks["maximum"], &list_tasks["default"]), (&json!(100), &json!(50)));
    assert_eq!(tool("search_tasks")["inputSchema"]["properties"]["query"]["maxLength"], 200);
    let content = &tool("update_context")["inputSchema"]["properties"]["content"];
    assert_eq!((&content["maxLength"], content.get("minLength")), (&json!(10_000), None));
    assert_eq!(tool("create_adr")["inputSchema"]["required"], json!(["title", "context", "decision", "rationale"]));
    for name in NAMES {
        assert!(tool(name)["inputSchema"]["properties"].get("project_root").is_some(), "{name}");
    }
    assert_eq!(tool("list_tasks")["annotations"]["readOnlyHint"], true);
    assert_eq!(tool("delete_task")["annotations"]["destructiveHint"], true);
}

#[test]
fn a_read_only_session_writes_nothing() {
    let home = Home::new();
    home.write(".todo/task.md", "- [ ] a #T001\n");
    let mut client = home.host(&["--only", "todo", "--read-only"]);
    let reading = ["list_tasks", "search_tasks", "list_adrs", "get_context", "search_contexts"];
    assert_eq!(client.tool_names(), reading);
    for name in NAMES.iter().filter(|name| !reading.contains(name)) {
        let error = client.call_err(name, json!({ "task_id": "T001", "status": "done" }));
        assert_eq!(error["error"]["code"], "PERMISSION_DENIED", "{name}");
    }
    assert_eq!(client.call_ok("list_tasks", json!({}))["total_count"], 1);
    let read = client.request("resources/read", json!({ "uri": "todo:///index.md" }));
    assert!(read["contents"][0]["text"].as_str().is_some_and(|text| text.contains("[T001]")));
    assert!(!home.project().join(".todo/index.md").exists());
    assert_eq!(std::fs::read_to_string(home.project().join(".todo/task.md")).expect("a file"), "- [ ] a #T001\n");
}
