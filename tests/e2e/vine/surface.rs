//! Which tools there are, alone and beside other families, and what a session that only reads may do.

use serde_json::{Value, json};
use trellis_tests::harness::Home;

use super::{FILE, Plan, blocks, said};

const TOOLS: [&str; 4] = ["vine_read", "vine_next", "vine_write", "vine_expand"];

#[test]
fn four_tools_by_their_own_names() {
    let home = Home::new();
    assert_eq!(home.host(&["--only", "vine"]).tool_names(), TOOLS);
    let union: Vec<String> = home.host(&[]).tool_names().into_iter().filter(|name| name.starts_with("vine")).collect();
    assert_eq!(union, TOOLS);
}

#[test]
fn the_parameters_are_those_of_the_contract() {
    let home = Home::new();
    let list = home.host(&["--only", "vine"]).request("tools/list", json!({}));
    for (tool, all, required) in [
        ("vine_read", &["file", "action", "id", "status", "query"][..], &["file", "action"][..]),
        ("vine_next", &["file"], &["file"]),
        ("vine_write", &["file", "operations", "if_match"], &["file", "operations"]),
        ("vine_expand", &["file", "ref_id", "child_file", "if_match"], &["file", "ref_id", "child_file"]),
    ] {
        let found = list["tools"].as_array().expect("tools").iter().find(|entry| entry["name"] == tool).expect(tool);
        let schema = &found["inputSchema"];
        let mut names: Vec<&String> = schema["properties"].as_object().expect("properties").keys().collect();
        names.sort();
        let mut expected = all.to_vec();
        expected.sort_unstable();
        assert_eq!(names, expected, "{tool}");
        let mut needed: Vec<&str> =
            schema["required"].as_array().expect("required").iter().filter_map(Value::as_str).collect();
        needed.sort_unstable();
        let mut expected = required.to_vec();
        expected.sort_unstable();
        assert_eq!(needed, expected, "{tool}");
        let reads = matches!(tool, "vine_read" | "vine_next");
        assert_eq!(found["annotations"]["readOnlyHint"], reads, "{tool}");
        assert!(
            found["description"].as_str().is_some_and(|text| text.len() > 20) && found["title"].is_string(),
            "{tool}"
        );
    }
    let schema = list.to_string();
    for action in ["summary", "list", "task", "context", "descendants", "search", "refs", "validate"] {
        assert!(schema.contains(&format!("\"{action}\"")), "{action} is among the actions");
    }
    assert!(schema.contains("\"minItems\":1"), "at least one operation");
}

#[test]
fn the_same_answers_beside_other_families_and_in_both_eras() {
    let plan = Plan::of(blocks(&["[r] R (started)\n-> t", "[t] T (notstarted)"]));
    let mut modern = plan.home.connect(&["--only", "vine"]);
    modern.go_modern();
    let mut hosts = [plan.host(), plan.home.host(&[]), modern];
    for (tool, arguments) in [
        ("vine_read", json!({ "file": "plan", "action": "summary" })),
        ("vine_read", json!({ "file": "plan", "action": "list" })),
        ("vine_read", json!({ "file": "plan", "action": "context", "id": "t" })),
        ("vine_read", json!({ "file": "plan", "action": "task", "id": "x" })),
        ("vine_next", json!({ "file": "plan" })),
        ("vine_next", json!({ "file": "none" })),
        ("vine_write", json!({ "file": "plan", "operations": [{ "op": "claim", "id": "t" }] })),
        ("vine_write", json!({ "file": "plan", "operations": [{ "op": "remove_task", "id": "r" }] })),
    ] {
        let answers = hosts.each_mut().map(|host| said(&host.call(tool, arguments.clone())));
        assert_eq!(answers[0], answers[1], "{tool} {arguments}: beside others");
        assert_eq!(answers[0], answers[2], "{tool} {arguments}: without a handshake");
    }
    assert_eq!(plan.text(FILE), blocks(&["[r] R (started)\n-> t", "[t] T (started)"]));
    hosts.iter_mut().for_each(|host| assert!(host.close().success()));
}

#[test]
fn a_read_only_session_writes_nothing() {
    let text = blocks(&["[r] R (started)\n-> f", "ref [f] F (c.vine)"]);
    let plan = Plan::of(&text);
    plan.put("c.vine", blocks(&["[c] C (started)"]));
    for flags in [&["--only", "vine", "--read-only"][..], &["--read-only"]] {
        let mut client = plan.home.host(flags);
        let names: Vec<String> = client.tool_names().into_iter().filter(|name| name.starts_with("vine")).collect();
        assert_eq!(names, ["vine_read", "vine_next"]);
        for (tool, arguments) in [
            ("vine_write", json!({ "file": FILE, "operations": [{ "op": "claim", "id": "r" }] })),
            (
                "vine_write",
                json!({ "file": "new", "operations": [{ "op": "create" }, { "op": "add_task", "id": "a", "name": "A" }] }),
            ),
            ("vine_expand", json!({ "file": FILE, "ref_id": "f", "child_file": "c" })),
        ] {
            assert_eq!(said(&client.call(tool, arguments)), Err("Read-only session.".to_owned()), "{tool}");
        }
        let verdict = said(&client.call("vine_read", json!({ "file": FILE, "action": "validate" })));
        assert_eq!(verdict.as_deref(), Ok("Valid — 2 task(s)."));
        said(&client.call("vine_next", json!({ "file": FILE }))).expect("a frontier");
        client.close();
    }
    assert_eq!((plan.text(FILE), plan.tree()), (text, vec!["c.vine".to_owned(), FILE.to_owned()]));
}
