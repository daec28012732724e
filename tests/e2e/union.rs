//! All families at once: what a host pays for the list, and whose tool a bare name means.

use serde_json::json;
use trellis_tests::harness::Home;

/// What the list of all tools may cost a model, in bytes of JSON.
const MOST: usize = 36 << 10;

#[test]
fn the_list_of_all_tools_is_affordable_and_complete() {
    let home = Home::new();
    let mut host = home.host(&[]);
    let list = host.request("tools/list", json!({}));
    let size = list.to_string().len();
    println!("{size} bytes for {} tools", list["tools"].as_array().map_or(0, Vec::len));
    assert!(size <= MOST, "{size}");
    for tool in list["tools"].as_array().expect("tools") {
        let hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
        assert!(hints.iter().all(|hint| tool["annotations"][hint].is_boolean()), "{tool}");
        assert!(tool["title"].is_string() && tool["description"].is_string(), "{tool}");
    }
    let names = host.tool_names();
    let count = |prefix: &str| names.iter().filter(|name| name.starts_with(prefix)).count();
    let counts = ["vibe_", "todo_", "vine_", "vault_", "vbm_"].map(count);
    assert_eq!(counts, [12, 12, 4, 5, 10], "{names:?}");
    assert_eq!(names.len(), 43);
}

#[test]
fn a_name_that_two_families_have_is_refused_with_both() {
    let home = Home::new();
    let mut host = home.host(&[]);
    for name in ["create_task", "list_tasks"] {
        let error = host.call_err(name, json!({ "title": "x" }))["error"].clone();
        assert_eq!(error["code"], "AMBIGUOUS_TOOL", "{error}");
        assert_eq!(error["details"]["candidates"], json!([format!("vibe_{name}"), format!("todo_{name}")]));
    }
    let created = host.call_ok("todo_create_task", json!({ "title": "by its whole name" }));
    let context = host.call_ok("get_context", json!({ "task_id": created["task_id"] }));
    assert!(context["content"].as_str().is_some_and(|text| text.starts_with("# Context for T001")), "{context}");
}
