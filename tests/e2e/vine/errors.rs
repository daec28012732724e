//! How a refusal looks, and what is wrong before a file is even looked at.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{FILE, Plan, blocks, said};

/// Arguments that break the schema: an error as a result, or of the protocol; nothing is written.
#[track_caller]
fn check_schema(plan: &mut Plan, tool: &str, arguments: &Value) {
    let answer = plan.client.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
    match answer.get("error") {
        Some(error) => assert_eq!(error["code"], -32602, "{tool} {arguments}: {answer}"),
        None => assert_eq!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}"),
    }
}

#[test]
fn arguments_that_break_the_schema() {
    let text = blocks(&["[a] A (started)\n-> r", "ref [r] R (u)"]);
    let mut plan = Plan::of(&text);
    let claim = json!([{ "op": "claim", "id": "a" }]);
    for (tool, arguments) in [
        ("vine_read", json!({})),
        ("vine_read", json!({ "file": FILE })),
        ("vine_read", json!({ "action": "summary" })),
        ("vine_read", json!({ "file": FILE, "action": "fly" })),
        ("vine_read", json!({ "file": FILE, "action": "Summary" })),
        ("vine_read", json!({ "file": FILE, "action": null })),
        ("vine_read", json!({ "file": 7, "action": "summary" })),
        ("vine_read", json!({ "file": [FILE], "action": "summary" })),
        ("vine_read", json!({ "file": FILE, "action": "task", "id": 7 })),
        ("vine_read", json!({ "file": FILE, "action": "search", "query": ["a"] })),
        ("vine_next", json!({})),
        ("vine_next", json!({ "file": true })),
        ("vine_write", json!({ "operations": claim })),
        ("vine_write", json!({ "file": FILE })),
        ("vine_write", json!({ "file": FILE, "operations": [] })),
        ("vine_write", json!({ "file": FILE, "operations": null })),
        ("vine_write", json!({ "file": FILE, "operations": {} })),
        ("vine_write", json!({ "file": FILE, "operations": "claim" })),
        ("vine_write", json!({ "file": FILE, "operations": ["claim"] })),
        ("vine_write", json!({ "file": FILE, "operations": [null] })),
        ("vine_write", json!({ "file": FILE, "operations": [claim] })),
        ("vine_expand", json!({ "file": FILE, "ref_id": "r" })),
        ("vine_expand", json!({ "file": FILE, "child_file": "c" })),
        ("vine_expand", json!({ "ref_id": "r", "child_file": "c" })),
        ("vine_expand", json!({ "file": FILE, "ref_id": 7, "child_file": "c" })),
        ("vine_fly", json!({ "file": FILE })),
        ("vine", json!({ "file": FILE })),
    ] {
        check_schema(&mut plan, tool, &arguments);
        assert_eq!(plan.text(FILE), text, "{tool} {arguments}");
    }
}

#[test]
fn further_arguments_are_ignored() {
    let mut plan = Plan::of(blocks(&["[a] A (started)"]));
    let more = json!({ "file": FILE, "action": "validate", "operations": [{ "op": "claim", "id": "a", "x": 1 }], "extra": { "a": [1] }, "": null });
    for tool in ["vine_read", "vine_next", "vine_write"] {
        plan.call(tool, more.clone()).expect(tool);
    }
}

#[test]
fn a_refusal_is_one_text() {
    let mut plan = Plan::of("broken");
    let result = plan.client.call("vine_next", json!({ "file": FILE }));
    assert_eq!(result["isError"], true);
    assert!(result.get("structuredContent").is_none_or(Value::is_null), "{result}");
    let expected = "Parse error (line 1): Line 1: Invalid magic line: expected \"vine <version>\", got \"broken\"";
    assert_eq!(said(&result), Err(expected.to_owned()));
    plan.put(FILE, blocks(&["[a] A (started)"]));
    let result = plan.client.call("vine_next", json!({ "file": FILE }));
    assert_ne!(result["isError"], true);
}

#[test]
fn a_file_that_may_not_be_read() {
    let home = trellis_tests::harness::Home::new();
    let mut client = home.unprivileged_host(&["--only", "vine"]);
    let path = home.write("locked.vine", blocks(&["[a] A (started)"]));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("a mode");
    home.write("plan.vine", blocks(&["[a] A (started)\n-> r", "ref [r] R (locked.vine)"]));
    let resolved = path.display().to_string();
    for (file, expected) in [
        ("locked.vine", format!("Permission denied: locked.vine (resolved to {resolved})")),
        // What is shown is what was found.
        ("locked", format!("Permission denied: locked (resolved to {resolved})")),
        (&*resolved, format!("Permission denied: {resolved}")),
    ] {
        for (tool, arguments) in [
            ("vine_read", json!({ "file": file, "action": "summary" })),
            ("vine_next", json!({ "file": file })),
            ("vine_write", json!({ "file": file, "operations": [{ "op": "claim", "id": "a" }] })),
            ("vine_expand", json!({ "file": file, "ref_id": "r", "child_file": "plan" })),
            ("vine_expand", json!({ "file": "plan", "ref_id": "r", "child_file": file })),
        ] {
            assert_eq!(said(&client.call(tool, arguments)), Err(expected.clone()), "{tool} {file}");
        }
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
    let result = client.call("vine_read", json!({ "file": "locked", "action": "validate" }));
    assert_eq!(said(&result).as_deref(), Ok("Valid — 1 task(s)."), "as soon as it may be");
    client.close();
}

#[test]
fn a_directory_in_which_nobody_may_write() {
    let home = trellis_tests::harness::Home::new();
    let mut client = home.unprivileged_host(&["--only", "vine"]);
    let text = blocks(&["[a] A (started)\n-> b", "[b] B (started)"]);
    let path = home.write("shut/plan.vine", &text);
    let directory = path.parent().expect("a directory").to_owned();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o500)).expect("a mode");
    for operations in [
        json!([{ "op": "set_status", "id": "a", "status": "complete" }]),
        json!([{ "op": "extract_to_ref", "id": "b", "vine": "b.vine" }]),
        json!([{ "op": "extract_to_ref", "id": "b", "vine": "shut/b.vine" }]),
    ] {
        let result = client.call("vine_write", json!({ "file": "shut/plan", "operations": operations }));
        said(&result).expect_err("nobody may write there");
        assert_eq!(fs::read_to_string(&path).expect("text"), text, "{operations}");
        assert!(!home.project().join("b.vine").exists(), "no child is left behind");
    }
    let result = client.call("vine_read", json!({ "file": "shut/plan", "action": "validate" }));
    assert_eq!(said(&result).as_deref(), Ok("Valid — 2 task(s)."), "it can be read");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).expect("a mode");
    client.close();
}
