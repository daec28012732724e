//! All families at once: the size of the tool list, and which tool a name without its family means.

use serde_json::json;
use trellis_tests::harness::Home;

/// What the list of all tools may cost a model, in bytes of JSON.
const MAX_TOOL_LIST_BYTES: usize = 48 << 10;

#[test]
fn the_list_of_all_tools_is_affordable_and_complete() {
    let home = Home::new();
    let mut host = home.host(&[]);
    let list = host.request("tools/list", json!({}));
    let size = list.to_string().len();
    println!("{size} bytes for {} tools", list["tools"].as_array().map_or(0, Vec::len));
    assert!(size <= MAX_TOOL_LIST_BYTES, "{size}");
    for tool in list["tools"].as_array().expect("tools") {
        let hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
        assert!(hints.iter().all(|hint| tool["annotations"][hint].is_boolean()), "{tool}");
        assert!(tool["title"].is_string() && tool["description"].is_string(), "{tool}");
    }
    let names = host.tool_names();
    let count = |prefix: &str| names.iter().filter(|name| name.starts_with(prefix)).count();
    let counts = ["vibe_", "todo_", "vine_", "vault_", "vbm_"].map(count);
    assert_eq!(counts, [12, 12, 4, 5, 10], "{names:?}");
    assert_eq!(names.len(), 43 + count("trellis_"));
}

#[test]
fn whole_numbers_are_counted_as_json_schema_counts_them() {
    let home = Home::new();
    home.write("vault/a.md", (1..=20).map(|line| format!("{line}\n")).collect::<String>());
    let mut host = home.host(&[]);
    let mut id = 1000;
    // As it is written, which the client's own JSON would not keep.
    let mut call = |tool: &str, arguments: &str| {
        id += 1;
        host.send_line(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        ));
        host.answer(id)["result"].clone()
    };
    for number in ["10", "10.0", "1e1", "1.0E+1", "100e-1"] {
        for (tool, arguments) in [
            ("vibe_search", r#"{"query":"x","limit":?}"#),
            ("todo_list_tasks", r#"{"limit":?}"#),
            ("todo_search_tasks", r#"{"query":"x","limit":?}"#),
            ("todo_list_adrs", r#"{"limit":?}"#),
            (
                "vault_read",
                r#"{"path":"a.md","range":{"start_line":?,"end_line":?,"start_char":?},"limits":{"max_chars":?}}"#,
            ),
            ("vault_scan", r#"{"path":"a.md","cursor":{"start_line":?},"chunk_lines":?}"#),
            ("vbm_list_tasks", r#"{"limit":?}"#),
        ] {
            let result = call(tool, &arguments.replace('?', number));
            assert_ne!(result["isError"], true, "{tool} {number}: {result}");
        }
    }
    for number in ["10.5", "105e-1", "true", "\"10\"", "\"10.0\""] {
        for (tool, arguments, code) in [
            ("vibe_search", r#"{"query":"x","limit":?}"#, json!("INVALID_ARGUMENT")),
            ("todo_list_tasks", r#"{"limit":?}"#, json!("INVALID_INPUT")),
            ("todo_update_adr_status", r#"{"adr_number":?,"status":"Accepted"}"#, json!("INVALID_ADR_NUMBER")),
            ("vault_scan", r#"{"path":"a.md","chunk_lines":?}"#, json!("invalid_parameter")),
            ("vbm_list_tasks", r#"{"limit":?}"#, json!(1001)),
        ] {
            let result = call(tool, &arguments.replace('?', number));
            assert_eq!(result["structuredContent"]["error"]["code"], code, "{tool} {number}: {result}");
        }
    }
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
