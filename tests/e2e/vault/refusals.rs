//! How a refusal looks, and which of several comes first: types, path, existence, range, limits.

use serde_json::{Value, json};

use super::Vault;

/// The vault holds `a.md` with two lines. The expected details are the field and its value.
#[track_caller]
fn check_parameter(vault: &mut Vault, tool: &str, arguments: &Value, field: &str, value: Value) {
    let error = vault.refused(tool, arguments.clone());
    assert_eq!(error["code"], "invalid_parameter", "{tool} {arguments}: {error}");
    assert_eq!(error["details"]["field"], field, "{tool} {arguments}: {error}");
    assert_eq!(error["details"]["value"], value, "{tool} {arguments}: {error}");
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains(&format!("`{field}`")), "the argument is named: {message}");
}

fn vault() -> Vault {
    Vault::with_file("a.md", "one\ntwo\n")
}

/// What is no integer.
fn no_integers() -> [Value; 8] {
    [json!(true), json!(false), json!("1"), json!("1.0"), json!(1.5), json!([1]), json!({}), json!("")]
}

#[test]
fn a_refusal_has_one_form() {
    let mut vault = vault();
    let error = vault.refused("vault_read", json!({ "path": "./none.md", "full": true }));
    let fields: Vec<&String> = error.as_object().expect("an object").keys().collect();
    assert_eq!(fields, ["code", "message", "details"]);
    assert_eq!((&error["code"], &error["details"]), (&json!("not_found"), &json!({ "path": "none.md" })));
    let result = vault.client.call("vault_read", json!({ "path": "none.md", "full": true }));
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1));
    assert_eq!(result["content"][0]["type"], "text");
}

#[test]
fn a_refusal_has_the_same_form_in_both_eras() {
    let vault = vault();
    let mut modern = vault.home.connect(&["--only", "vault"]);
    modern.go_modern();
    let answer = modern.call_err("vault_read", json!({ "path": "none.md", "full": true }));
    assert_eq!((&answer["code"], &answer["error"]["code"]), (&json!("not_found"), &json!("not_found")));
    assert_eq!(modern.call_ok("vault_read", json!({ "path": "a.md", "full": true }))["text"], "one\ntwo");
}

#[test]
fn wrong_types_of_a_read_are_parameters() {
    let mut vault = vault();
    for wrong in no_integers() {
        for field in ["start_line", "end_line", "start_char"] {
            let arguments = json!({ "path": "a.md", "range": { field: wrong } });
            check_parameter(&mut vault, "vault_read", &arguments, &format!("range.{field}"), wrong.clone());
        }
        let arguments = json!({ "path": "a.md", "full": true, "limits": { "max_chars": wrong } });
        check_parameter(&mut vault, "vault_read", &arguments, "limits.max_chars", wrong.clone());
    }
    for wrong in [json!("true"), json!(1), json!(0), json!([]), json!({})] {
        check_parameter(&mut vault, "vault_read", &json!({ "path": "a.md", "full": wrong }), "full", wrong.clone());
    }
    for wrong in [json!("1-2"), json!(1), json!([1, 2]), json!(true)] {
        check_parameter(&mut vault, "vault_read", &json!({ "path": "a.md", "range": wrong }), "range", wrong.clone());
        let arguments = json!({ "path": "a.md", "full": true, "limits": wrong });
        check_parameter(&mut vault, "vault_read", &arguments, "limits", wrong.clone());
    }
}

#[test]
fn wrong_types_of_a_scan_are_parameters() {
    let mut vault = vault();
    for wrong in no_integers() {
        let arguments = json!({ "path": "a.md", "cursor": { "start_line": wrong } });
        check_parameter(&mut vault, "vault_scan", &arguments, "cursor.start_line", wrong.clone());
        for field in ["start_line", "chunk_lines"] {
            check_parameter(&mut vault, "vault_scan", &json!({ "path": "a.md", field: wrong }), field, wrong.clone());
        }
        let arguments = json!({ "path": "a.md", "limits": { "max_chars": wrong } });
        check_parameter(&mut vault, "vault_scan", &arguments, "limits.max_chars", wrong.clone());
    }
    for wrong in [json!(1), json!("1"), json!([]), json!(false)] {
        check_parameter(&mut vault, "vault_scan", &json!({ "path": "a.md", "cursor": wrong }), "cursor", wrong.clone());
    }
}

#[test]
fn wrong_values_are_parameters() {
    let mut vault = vault();
    for (range, field, value) in [
        (json!({ "start_line": 0 }), "range.start_line", json!(0)),
        (json!({ "start_line": -1 }), "range.start_line", json!(-1)),
        (json!({ "start_line": 3 }), "range.start_line", json!(3)),
        (json!({ "end_line": 0 }), "range.end_line", json!(0)),
        (json!({ "end_line": -7 }), "range.end_line", json!(-7)),
        (json!({ "start_line": 2, "end_line": 1 }), "range.end_line", json!(1)),
        (json!({ "start_char": -1 }), "range.start_char", json!(-1)),
    ] {
        check_parameter(&mut vault, "vault_read", &json!({ "path": "a.md", "range": range }), field, value);
    }
    for wrong in [0, -1, i64::MIN] {
        for tool in ["vault_read", "vault_scan"] {
            let mut arguments = json!({ "path": "a.md", "limits": { "max_chars": wrong } });
            if tool == "vault_read" {
                arguments["full"] = json!(true);
            }
            check_parameter(&mut vault, tool, &arguments, "limits.max_chars", json!(wrong));
        }
    }
    for wrong in [0, -1, 201, i64::MAX] {
        let arguments = json!({ "path": "a.md", "chunk_lines": wrong });
        check_parameter(&mut vault, "vault_scan", &arguments, "chunk_lines", json!(wrong));
    }
    for wrong in [0, -1, 3, i64::MAX] {
        let arguments = json!({ "path": "a.md", "cursor": { "start_line": wrong } });
        check_parameter(&mut vault, "vault_scan", &arguments, "cursor.start_line", json!(wrong));
        check_parameter(
            &mut vault,
            "vault_scan",
            &json!({ "path": "a.md", "start_line": wrong }),
            "start_line",
            json!(wrong),
        );
    }
}

#[test]
fn a_read_says_what_it_wants() {
    let mut vault = vault();
    for arguments in
        [json!({}), json!({ "full": false }), json!({ "full": null, "range": null }), json!({ "limits": {} })]
    {
        let arguments = super::with_path("a.md", arguments);
        check_parameter(&mut vault, "vault_read", &arguments, "range", Value::Null);
    }
}

#[test]
fn null_counts_as_absent() {
    let mut vault = vault();
    let nulls = json!({ "full": true, "range": null, "limits": null, "project_root": null });
    assert_eq!(vault.read("a.md", nulls)["text"], "one\ntwo");
    let range = json!({ "start_line": null, "end_line": null, "start_char": null });
    let nulls = json!({ "full": null, "range": range, "limits": { "max_chars": null } });
    assert_eq!(vault.read("a.md", nulls)["text"], "one\ntwo");
    let nulls =
        json!({ "cursor": null, "start_line": null, "chunk_lines": null, "limits": null, "project_root": null });
    assert_eq!(vault.scan("a.md", nulls)["text"], "one\ntwo");
    let nulls = json!({ "cursor": { "start_line": null }, "limits": { "max_chars": null } });
    assert_eq!(vault.scan("a.md", nulls)["text"], "one\ntwo");
    assert_eq!(vault.ls(json!({ "path": null, "project_root": null })), ["a.md"]);
}

#[test]
fn arguments_that_nobody_knows_are_refused_first() {
    let mut vault = vault();
    let mut check = |tool: &str, arguments: Value, field: &str, nearest: Value, known: Value| {
        let error = vault.refused(tool, arguments);
        let mut details = json!({ "field": field, "nearest": nearest, "arguments": known });
        if nearest.is_null() {
            details.as_object_mut().expect("an object").remove("nearest");
        }
        assert_eq!((&error["code"], &error["details"]), (&json!("invalid_parameter"), &details), "{tool}: {error}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(&format!("`{field}`")), "{message}");
        for name in known.as_array().expect("names").iter().chain(Some(&nearest)).filter_map(Value::as_str) {
            assert!(message.contains(&format!("`{name}`")), "{name}: {message}");
        }
    };
    let read = json!(["path", "full", "range", "limits", "project_root"]);
    check("vault_read", json!({ "path": 7, "encoding": "latin-1" }), "encoding", json!(null), read.clone());
    check("vault_read", json!({ "zeta": 1, "Path": "a.md" }), "Path", json!("path"), read);
    let range = json!(["range.start_line", "range.end_line", "range.start_char"]);
    check("vault_read", json!({ "range": { "start": 1 } }), "range.start", json!("range.start_line"), range);
    let limits = json!({ "path": "a.md", "full": true, "limits": { "maxChars": 1 } });
    check("vault_read", limits, "limits.maxChars", json!("limits.max_chars"), json!(["limits.max_chars"]));
    let cursor = json!({ "path": "a.md", "cursor": { "offset": 3 } });
    check("vault_scan", cursor, "cursor.offset", json!(null), json!(["cursor.start_line"]));
    check("vault_ls", json!({ "recursive": true }), "recursive", json!(null), json!(["path", "project_root"]));
    let create = json!({ "path": "new.md", "content": "x", "overwrite": true });
    check("vault_create", create, "overwrite", json!(null), json!(["path", "content", "project_root"]));
    let replace = json!(["path", "find", "replace", "max_replacements", "if_match", "project_root"]);
    let regex = json!({ "path": "a.md", "find": "one", "replace": "1", "replacement": "2" });
    check("vault_replace", regex, "replacement", json!("replace"), replace);
    assert_eq!((vault.tree(), vault.text("a.md")), (vec!["a.md".to_owned()], "one\ntwo\n".to_owned()));
}

#[test]
fn what_hosts_add_to_every_call_is_ignored() {
    let mut vault = vault();
    let added =
        json!({ "full": true, "toolCallId": "1", "sessionId": 2, "chatInput": "hi", "action": "x", "tool": {} });
    assert_eq!(vault.read("a.md", added)["text"], "one\ntwo");
    assert_eq!(vault.read("a.md", json!({ "_meta": 1, "range": { "_x": 1 } }))["text"], "one\ntwo");
}

#[test]
fn a_full_read_ignores_its_range() {
    let mut vault = vault();
    for range in [json!({ "start_line": 2 }), json!({ "start_line": 9 }), json!({ "start_line": 2, "end_line": 1 })] {
        let answer = vault.read("a.md", json!({ "full": true, "range": range }));
        assert_eq!((&answer["text"], &answer["truncated_reason"]), (&json!("one\ntwo"), &json!("none")));
    }
}

#[test]
fn the_first_fault_in_order_is_told() {
    let mut vault = vault();
    vault.write("broken.md", b"\xff");
    let mut check = |tool: &str, arguments: Value, code: &str| {
        assert_eq!(vault.refused(tool, arguments.clone())["code"], code, "{tool} {arguments}");
    };
    let at = |tool: &str, path: &str| match tool {
        "vault_read" => json!({ "path": path, "range": { "start_line": 0 }, "limits": { "max_chars": 0 } }),
        _ => json!({ "path": path, "chunk_lines": 0, "limits": { "max_chars": 0 } }),
    };
    for (tool, field) in [("vault_read", "range"), ("vault_scan", "chunk_lines")] {
        // Types before the path.
        check(tool, json!({ "path": "../x", field: "1" }), "invalid_parameter");
        check(tool, json!({ "path": 5, "limits": { "max_chars": "1" } }), "invalid_parameter");
        // The path before existence, existence before values.
        check(tool, at(tool, "../x"), "invalid_path");
        check(tool, at(tool, "none.md"), "not_found");
        check(tool, at(tool, "broken.md"), "conflict");
        check(tool, at(tool, "a.md"), "invalid_parameter");
    }
    // The range before the limits.
    let error = vault.refused("vault_read", at("vault_read", "a.md"));
    assert_eq!(error["details"]["field"], "range.start_line");
}

#[test]
fn a_call_without_arguments_is_refused_by_the_tool() {
    let mut vault = vault();
    for (tool, code) in [("vault_read", "invalid_path"), ("vault_scan", "invalid_path")] {
        let result = vault.client.request("tools/call", json!({ "name": tool }));
        assert_eq!((&result["isError"], &result["structuredContent"]["code"]), (&json!(true), &json!(code)));
    }
    let result = vault.client.request("tools/call", json!({ "name": "vault_ls" }));
    assert_eq!(result["structuredContent"]["items"][0]["path"], "a.md");
}

#[test]
fn a_huge_argument_does_not_come_back_whole() {
    let mut vault = vault();
    let huge = "x".repeat(1 << 20);
    for (tool, arguments) in [
        ("vault_read", json!({ "path": huge, "full": true })),
        ("vault_read", json!({ "path": "a.md", "full": huge })),
        ("vault_scan", json!({ "path": "a.md", "chunk_lines": [huge] })),
        ("vault_ls", json!({ "path": { "path": huge } })),
        ("vault_ls", json!({ "project_root": huge })),
    ] {
        let error = vault.refused(tool, arguments);
        assert!(error.to_string().len() < 4096, "{} bytes", error.to_string().len());
    }
}
