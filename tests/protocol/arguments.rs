//! Wrong arguments of every tool, over the real programs: which code and field a value gets, and which of several
//! wrong arguments is reported first.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use trellis_tests::harness::{Client, Home};

/// Calls that are good, as far as the arguments go; most find nothing to do their work on.
fn good_calls(family: &str) -> Value {
    match family {
        "vibe" => json!({
            "search": { "query": "w" },
            "read_doc": { "project": "p", "folder": "references", "filename": "a.md" },
            "list_tasks": {},
            "get_plan": { "project": "p" },
            "create_doc": { "project": "p", "folder": "scratch", "filename": "n.md", "content": "c" },
            "update_doc": { "project": "p", "folder": "references", "filename": "a.md", "content": "c" },
            "create_task": { "project": "p", "title": "t", "objective": "o", "steps": ["s"], "acceptance_criteria": [] },
            "update_task_status": { "project": "p", "task": "1", "status": "done" },
            "create_plan": { "project": "p", "content": "c" },
            "log_session": { "project": "p", "content": "c" },
            "reindex": {},
            "init_project": { "project": "q q" },
        }),
        "todo" => json!({
            "create_task": { "title": "t" },
            "update_task": { "task_id": "T001" },
            "delete_task": { "task_id": "T900" },
            "reorder_task": { "task_id": "T001", "position": "before", "reference_task_id": "T002" },
            "list_tasks": {},
            "search_tasks": { "query": "t" },
            "create_adr": { "title": "t", "context": "c", "decision": "d", "rationale": "r" },
            "update_adr_status": { "adr_number": 1, "status": "Accepted" },
            "list_adrs": {},
            "update_context": { "task_id": "T900", "content": "c" },
            "get_context": { "task_id": "T900" },
            "search_contexts": { "query": "t" },
        }),
        "vine" => json!({
            "vine_read": { "file": "plan", "action": "summary" },
            "vine_next": { "file": "plan" },
            "vine_write": { "file": "plan", "operations": [{ "op": "claim", "id": "a" }] },
            "vine_expand": { "file": "plan", "ref_id": "r", "child_file": "plan" },
        }),
        "vault" => json!({
            "vault_ls": {},
            "vault_create": { "path": "n.md", "content": "c" },
            "vault_read": { "path": "a.md" },
            "vault_scan": { "path": "a.md" },
            "vault_replace": { "path": "a.md", "find": "f", "replace": "r" },
        }),
        _ => json!({
            "vbm_create_task": { "title": "t" },
            "vbm_update_task": { "id": "task-1", "title": "n" },
            "vbm_move_task": { "id": "task-1", "lane": "done" },
            "vbm_delete_task": { "id": "task-1" },
            "vbm_get_task": { "id": "task-1" },
            "vbm_list_tasks": {},
            "vbm_search_tasks": { "query": "t" },
            "vbm_batch_create": { "tasks": [{ "title": "t" }] },
            "vbm_get_board": {},
            "vbm_get_stats": {},
        }),
    }
}

/// Values of every type; few suit any argument.
fn wrong_values() -> Vec<(&'static str, Value)> {
    vec![
        ("null", json!(null)),
        ("5", json!(5)),
        ("-1", json!(-1)),
        ("1.5", json!(1.5)),
        ("true", json!(true)),
        ("empty", json!("")),
        ("blank", json!(" ")),
        ("word", json!("x")),
        ("two lines", json!("a\nb")),
        ("101 letters", json!("x".repeat(101))),
        ("10001 letters", json!("x".repeat(10_001))),
        ("[]", json!([])),
        ("[1]", json!([1])),
        ("[\"a\"]", json!(["a"])),
        ("201 texts", json!(vec!["x"; 201])),
        ("[{}]", json!([{}])),
        ("{}", json!({})),
        ("start_line", json!({ "start_line": "1" })),
        ("max_chars", json!({ "max_chars": "1" })),
        ("related_files", json!({ "related_files": 1 })),
    ]
}

/// `code field`, or `ok`.
fn outcome(client: &mut Client, tool: &str, arguments: &Map<String, Value>) -> (String, Option<String>) {
    let result = client.call(tool, Value::Object(arguments.clone()));
    if result["isError"] != true {
        return ("ok".to_owned(), None);
    }
    let error = &result["structuredContent"]["error"];
    let details = if error["data"].is_object() { &error["data"] } else { &error["details"] };
    let field = details["field"].as_str().map(str::to_owned);
    let code = match &error["code"] {
        // This family answers in words alone, and says where it looked.
        Value::Null => {
            let words = result["content"][0]["text"].as_str().unwrap_or_default();
            let words = words.split(" (resolved to").next().unwrap_or_default().replace('\n', " ");
            words.chars().take(80).collect()
        }
        Value::String(code) => code.clone(),
        code => code.to_string(),
    };
    (format!("{code} {}", field.as_deref().unwrap_or_default()).trim_end().to_owned(), field)
}

fn refusals(family: &str) -> String {
    let home = Home::new();
    let mut client = home.host(&["--only", family]);
    let good = good_calls(family);
    let list = client.request("tools/list", json!({}));
    let mut text = String::new();
    for tool in list["tools"].as_array().expect("an array") {
        let name = tool["name"].as_str().expect("a name");
        let fields: Vec<String> =
            tool["inputSchema"]["properties"].as_object().expect("an object").keys().cloned().collect();
        let good = good[name].as_object().expect("a good call").clone();
        writeln!(text, "{name}").expect("a line");
        for field in &fields {
            let mut outcomes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
            for (word, value) in wrong_values() {
                let mut arguments = good.clone();
                arguments.insert(field.clone(), value);
                outcomes.entry(outcome(&mut client, name, &arguments).0).or_default().push(word);
            }
            writeln!(text, "  {field}").expect("a line");
            for (outcome, words) in outcomes {
                writeln!(text, "    {outcome}: {}", words.join(", ")).expect("a line");
            }
        }
        writeln!(text, "  order: {}", order(&mut client, name, &fields, &good).join(", ")).expect("a line");
    }
    text
}

/// Every argument is wrong at first; the one that is reported is put right, until none is left.
fn order(client: &mut Client, tool: &str, fields: &[String], good: &Map<String, Value>) -> Vec<String> {
    let mut arguments: Map<String, Value> = fields.iter().map(|field| (field.clone(), json!(5.5))).collect();
    let mut order = Vec::new();
    while let (_, Some(field)) = outcome(client, tool, &arguments) {
        if !arguments.contains_key(&field) || order.contains(&field) {
            break;
        }
        match good.get(&field) {
            Some(value) => drop(arguments.insert(field.clone(), value.clone())),
            None => drop(arguments.shift_remove(&field)),
        }
        order.push(field);
    }
    order
}

#[test]
fn the_refusals_of_vibe() {
    insta::assert_snapshot!(refusals("vibe"));
}

#[test]
fn the_refusals_of_todo() {
    insta::assert_snapshot!(refusals("todo"));
}

#[test]
fn the_refusals_of_vine() {
    insta::assert_snapshot!(refusals("vine"));
}

#[test]
fn the_refusals_of_the_vault() {
    insta::assert_snapshot!(refusals("vault"));
}

#[test]
fn the_refusals_of_the_board() {
    insta::assert_snapshot!(refusals("board"));
}
