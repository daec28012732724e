//! How a refusal looks, and which of several comes first: ids, other arguments, existence, limits.

use serde_json::{Value, json};

use super::Todo;

#[track_caller]
fn check(tool: &str, arguments: Value, code: &str, field: &str, value: Value) {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n");
    let error = todo.check_refused(tool, arguments.clone(), code);
    assert_eq!(error["details"]["field"], field, "{tool} {arguments}: {error}");
    assert_eq!(error["details"].get("value").cloned().unwrap_or_default(), value, "{tool} {arguments}: {error}");
}

#[test]
fn ids_come_first() {
    for tool in ["update_task", "delete_task", "reorder_task", "update_context", "get_context"] {
        for id in [json!("T1"), json!("t001"), json!(""), json!(1), json!("T0011"), json!("T００１")] {
            let mut arguments = json!({ "task_id": id, "project_root": 7 });
            for (of, field, wrong) in [
                ("update_task", "status", json!("nonsense")),
                ("update_task", "title", json!("")),
                ("reorder_task", "position", json!("nowhere")),
                ("update_context", "content", json!(7)),
            ] {
                if of == tool {
                    arguments[field] = wrong;
                }
            }
            check(tool, arguments, "INVALID_TASK_ID", "task_id", id);
        }
        check(tool, json!({}), "INVALID_TASK_ID", "task_id", json!(null));
    }
}

#[test]
fn arguments_that_nobody_knows_come_before_ids() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n");
    let known = json!(["task_id", "title", "status", "category", "subtasks", "if_match", "project_root"]);
    for (field, nearest) in
        [("deadline", None), ("state", Some("status")), ("taskId", Some("task_id")), ("sub_tasks", Some("subtasks"))]
    {
        let call = json!({ "task_id": "nonsense", "title": 7, "zzz": 1, field: "T001" });
        let error = todo.check_refused("update_task", call, "INVALID_INPUT");
        let details = &error["details"];
        assert_eq!((&details["field"], &details["arguments"]), (&json!(field), &known), "{error}");
        assert_eq!(details.get("nearest").and_then(Value::as_str), nearest, "{error}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(&format!("`{field}`")) && message.contains("`category`"), "{message}");
    }
    let call = json!({ "task_id": "T001", "subtasks": [{ "title": "a" }, { "titel": "b" }] });
    let error = todo.check_refused("update_task", call, "INVALID_INPUT");
    let inner = json!(["subtasks[1].title", "subtasks[1].status"]);
    let details = json!({ "field": "subtasks[1].titel", "nearest": "subtasks[1].title", "arguments": inner });
    assert_eq!(error["details"], details);
    let tools = todo.client.tool_names();
    assert_eq!(tools.len(), 12);
    for tool in tools {
        let error = todo.check_refused(&tool, json!({ "nonsense": true }), "INVALID_INPUT");
        assert_eq!(error["details"]["field"], "nonsense", "{tool}");
    }
    let added =
        json!({ "title": "b", "toolCallId": 1, "sessionId": 1, "chatInput": 1, "action": 1, "tool": 1, "_x": 1 });
    todo.call("create_task", added);
}

#[test]
fn other_arguments_come_before_existence() {
    for (arguments, code, field, value) in [
        (json!({ "status": "Finito" }), "INVALID_STATUS", "status", json!("Finito")),
        (json!({ "status": true }), "INVALID_STATUS", "status", json!(true)),
        (json!({ "title": " \n " }), "INVALID_INPUT", "title", json!(" \n ")),
        (json!({ "title": 5 }), "INVALID_INPUT", "title", json!(5)),
        (json!({ "category": "  " }), "INVALID_CATEGORY", "category", json!("  ")),
        (json!({ "category": "a\nb" }), "INVALID_CATEGORY", "category", json!("a\nb")),
        (json!({ "category": "# a" }), "INVALID_CATEGORY", "category", json!("# a")),
        (json!({ "category": [] }), "INVALID_CATEGORY", "category", json!([])),
        (json!({ "subtasks": "s" }), "INVALID_INPUT", "subtasks", json!("s")),
        (json!({ "subtasks": ["s"] }), "INVALID_INPUT", "subtasks[0]", json!("s")),
        (json!({ "subtasks": [{ "title": "a" }, {}] }), "INVALID_INPUT", "subtasks[1].title", json!(null)),
        (json!({ "subtasks": [{ "title": "a", "status": "x" }] }), "INVALID_STATUS", "subtasks[0].status", json!("x")),
        (json!({ "subtasks": vec![json!({ "title": "a" }); 201] }), "CONTENT_TOO_LONG", "subtasks", json!(201)),
        (json!({ "project_root": "relative" }), "INVALID_INPUT", "project_root", json!("relative")),
        (json!({ "if_match": 7 }), "INVALID_INPUT", "if_match", json!(7)),
        (json!({}), "TASK_NOT_FOUND", "task_id", json!("T777")),
    ] {
        let mut all = json!({ "task_id": "T777" });
        all.as_object_mut().expect("an object").extend(arguments.as_object().cloned().expect("an object"));
        check("update_task", all, code, field, value);
    }
    for (arguments, code) in [
        (json!({}), "INVALID_INPUT"),
        (json!({ "title": "a", "subtasks": [""] }), "INVALID_INPUT"),
        (json!({ "title": "a", "subtasks": [null] }), "INVALID_INPUT"),
        (json!({ "title": "a", "description": [] }), "INVALID_INPUT"),
    ] {
        Todo::new().check_refused("create_task", arguments, code);
    }
    check("list_tasks", json!({ "status": "blocked" }), "INVALID_STATUS", "status", json!("blocked"));
    check("list_tasks", json!({ "category": " " }), "INVALID_CATEGORY", "category", json!(" "));
}

#[test]
fn a_long_value_is_shown_by_its_beginning() {
    let mut todo = Todo::new();
    let error = todo.refused("create_task", json!({ "title": "あ".repeat(5000) }));
    assert_eq!(error["details"]["value"], "あ".repeat(100));
    assert!(error["message"].as_str().is_some_and(|text| text.chars().count() < 300));
}

#[test]
fn t000_is_well_formed_and_never_given() {
    let mut todo = Todo::with_tasks("- [ ] by hand #T000\n");
    assert_eq!(todo.call("create_task", json!({ "title": "a" }))["task_id"], "T001");
    assert_eq!(
        todo.call("update_task", json!({ "task_id": "T000", "status": "done" }))["updated_fields"],
        json!(["status"])
    );
}
