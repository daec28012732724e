//! Which tools there are, and what they take: the seed's names and arguments, alone and beside other families.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trellis_tests::harness::Home;

use super::Vibe;

const NAMES: [&str; 12] = [
    "search",
    "read_doc",
    "list_tasks",
    "get_plan",
    "create_doc",
    "update_doc",
    "create_task",
    "update_task_status",
    "create_plan",
    "log_session",
    "reindex",
    "init_project",
];

#[test]
fn alone_the_tools_have_the_seed_s_names() {
    assert_eq!(Vibe::new().client.tool_names(), NAMES);
}

#[test]
fn beside_other_families_they_have_a_prefix_and_the_own_names_still_work() {
    let vibe = Vibe::with("demo/plans/x.md", "x\n");
    let mut union = vibe.home.host(&[]);
    let names = union.tool_names();
    let ours: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix("vibe_")).collect();
    assert_eq!(ours, NAMES);
    let arguments = json!({ "project": "demo", "folder": "plans", "filename": "x.md" });
    let prefixed = union.call_ok("vibe_read_doc", arguments.clone());
    assert_eq!(prefixed["content"], "x\n");
    assert_eq!(union.call_ok("read_doc", arguments), prefixed);
}

#[test]
fn the_arguments_are_the_seed_s() {
    let mut vibe = Vibe::new();
    let list = vibe.client.request("tools/list", json!({}));
    let tools = list["tools"].as_array().expect("tools");
    let seen: BTreeMap<&str, (Vec<&str>, Vec<&str>)> = tools
        .iter()
        .map(|tool| {
            let schema = &tool["inputSchema"];
            let properties = schema["properties"].as_object().expect("properties").keys().map(String::as_str).collect();
            let required = schema["required"].as_array().map(|names| names.iter().filter_map(Value::as_str).collect());
            (tool["name"].as_str().expect("a name"), (properties, required.unwrap_or_default()))
        })
        .collect();
    let expected: BTreeMap<&str, (Vec<&str>, Vec<&str>)> = [
        ("search", vec!["query", "project", "folder", "limit"], 1),
        ("read_doc", vec!["project", "folder", "filename"], 3),
        ("list_tasks", vec!["project", "status", "include_content"], 0),
        ("get_plan", vec!["project", "filename"], 1),
        ("create_doc", vec!["project", "folder", "filename", "content", "frontmatter"], 4),
        ("update_doc", vec!["project", "folder", "filename", "content", "frontmatter", "if_match"], 4),
        (
            "create_task",
            vec!["project", "title", "objective", "steps", "acceptance_criteria", "context", "notes", "status", "tags"],
            5,
        ),
        ("update_task_status", vec!["project", "task", "status", "if_match"], 3),
        ("create_plan", vec!["project", "content", "filename", "if_match"], 2),
        ("log_session", vec!["project", "content", "suffix", "append", "if_match"], 2),
        ("reindex", vec!["project", "full"], 0),
        ("init_project", vec!["project"], 1),
    ]
    .into_iter()
    .map(|(name, all, required)| (name, (all.clone(), all[..required].to_vec())))
    .collect();
    assert_eq!(seen, expected);
    assert!(list["tools"].to_string().len() < 9 * 1024, "{} bytes", list["tools"].to_string().len());
}

#[test]
fn a_read_only_session_has_no_writing_tools() {
    let vibe = Vibe::new();
    let mut client = vibe.home.host(&["--only", "vibe", "--read-only"]);
    assert_eq!(client.tool_names(), ["search", "read_doc", "list_tasks", "get_plan", "reindex"]);
    for name in NAMES {
        if !client.tool_names().iter().any(|known| known == name) {
            let error = client.call_err(name, json!({}));
            assert_eq!(error["error"]["code"], "READ_ONLY", "{name}");
            assert_eq!(error["success"], false);
        }
    }
}

#[test]
fn a_host_can_forbid_writing_by_its_environment() {
    for value in ["1", "true", "YES"] {
        let home = Home::new().with("VIBE_READ_ONLY", value);
        let mut vibe = Vibe::at(home);
        let before = vibe.tree();
        let task = super::a_task("x");
        vibe.check_refused("create_task", task.clone(), "READ_ONLY");
        let document = json!({ "project": "none", "folder": "nowhere", "filename": "../x", "content": "" });
        vibe.check_refused("create_doc", document.clone(), "READ_ONLY");
        vibe.check_refused("update_doc", document, "READ_ONLY");
        vibe.check_refused("create_plan", json!({ "project": "demo", "content": "" }), "READ_ONLY");
        vibe.check_refused("log_session", json!({ "project": "demo", "content": "" }), "READ_ONLY");
        vibe.check_refused("init_project", json!({ "project": "new" }), "READ_ONLY");
        let status = json!({ "project": "demo", "task": "1", "status": "done" });
        vibe.check_refused("update_task_status", status, "READ_ONLY");
        // Arguments come first.
        vibe.check_refused("create_task", json!({ "project": "demo" }), "INVALID_ARGUMENT");
        vibe.check_refused(
            "update_task_status",
            json!({ "project": "demo", "task": "1", "status": "x" }),
            "INVALID_STATUS",
        );
        vibe.call("list_tasks", json!({}));
        assert_eq!(vibe.tree(), before);
    }
    let mut vibe = Vibe::at(Home::new().with("VIBE_READ_ONLY", "no"));
    vibe.task("allowed");
}
