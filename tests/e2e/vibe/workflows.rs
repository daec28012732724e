//! Whole days of work, as the seed tells them: a breakdown into tasks, and solving one.

use serde_json::json;
use trellis_tests::harness::Home;

use super::{Vibe, a_task};

#[test]
fn a_task_breakdown() {
    let mut vibe = Vibe::new();
    vibe.call("init_project", json!({ "project": "nuevo" }));
    assert_eq!(vibe.call("list_tasks", json!({ "project": "nuevo" }))["total"], 0);
    for (number, title) in [("001", "Documentar estructura"), ("002", "Definir formato"), ("003", "Diseñar schema")] {
        let mut task = a_task(title);
        task["project"] = json!("nuevo");
        assert_eq!(vibe.call("create_task", task)["task"]["number"], number);
    }
    let plan = "# Execution Plan — nuevo\n\n## Overview\nTres tareas.\n\n## Current Status\n- **Pending**: 001-003\n";
    assert_eq!(vibe.call("create_plan", json!({ "project": "nuevo", "content": plan }))["action"], "created");
    let parsed = vibe.call("get_plan", json!({ "project": "nuevo" }))["parsed"].clone();
    assert_eq!(
        (&parsed["overview"], &parsed["task_count"], &parsed["pending"]),
        (&json!("Tres tareas."), &json!(3), &json!(3))
    );
    let list = vibe.call("list_tasks", json!({ "project": "nuevo", "status": "pending" }));
    let titles: Vec<&str> =
        list["tasks"].as_array().expect("tasks").iter().filter_map(|task| task["title"].as_str()).collect();
    assert_eq!(titles, ["Documentar estructura", "Definir formato", "Diseñar schema"]);
}

#[test]
fn solving_a_task() {
    let mut vibe = Vibe::at(Home::new().with("TZ", "UTC"));
    let mut task = a_task("Definir interfaz MCP");
    task["steps"] = json!(["Definir resources", "Definir tools"]);
    let filename = vibe.call("create_task", task)["task"]["filename"].as_str().expect("a name").to_owned();
    let read = json!({ "project": "demo", "folder": "tasks", "filename": filename });
    let before = vibe.call("read_doc", read.clone());
    assert_eq!(before["metadata"]["status"], "pending");
    assert_eq!(vibe.set("001", "in-progress")["previous_status"], "pending");
    let text = vibe.call("read_doc", read.clone())["content"].as_str().expect("a text").to_owned();
    assert_eq!(text, before["content"].as_str().expect("a text").replace("Status: pending", "Status: in-progress"));
    let done = text.replace("[ ] Definir resources", "[x] Definir resources");
    let hash = vibe.call("read_doc", read)["hash"].clone();
    let update =
        json!({ "project": "demo", "folder": "tasks", "filename": filename, "content": done, "if_match": hash });
    vibe.call("update_doc", update);
    let briefing = json!({ "name": "project_briefing", "arguments": { "project": "demo" } });
    let briefing = vibe.client.request("prompts/get", briefing)["messages"][0]["content"]["text"].to_string();
    assert!(briefing.contains("001 - Definir interfaz MCP") && briefing.contains("1/2 steps completed"), "{briefing}");
    assert_eq!(vibe.set("001", "done")["new_status"], "done");
    let logged = vibe.call("log_session", json!({ "project": "demo", "content": "- Terminé la interfaz\n" }));
    assert_eq!(logged["session"]["action"], "created");
    // The next task of the day is logged in the same way.
    let again = vibe.call("log_session", json!({ "project": "demo", "content": "- Otra más\n" }));
    assert_eq!(again["session"]["action"], "appended");
    let path = logged["session"]["path"].as_str().expect("a path");
    assert_eq!(vibe.text(path), "- Terminé la interfaz\n\n---\n\n- Otra más\n");
    let project = vibe.resource("vibe://projects")["projects"][0].clone();
    assert_eq!((&project["stats"]["done_tasks"], &project["stats"]["open_tasks"]), (&json!(1), &json!(0)));
    let day = &logged["session"]["filename"].as_str().expect("a name")[..10];
    assert_eq!(project["stats"]["last_session_date"], day);
}
