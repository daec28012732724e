//! Good messages with bad parameters: wrong for the protocol is an error, wrong for a tool a result.

use serde_json::{Value, json};
use trellis_tests::harness::Home;

#[test]
fn unknown_methods_are_told_from_known_ones_with_bad_parameters() {
    let home = Home::with_fixtures();
    let mut client = home.host(&["--only", "fixture"]);
    let mut check = |method: &str, params: Value, code: i32| {
        let shown = format!("{method} {params}");
        let answer = client.ask(method, params);
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
    };
    for method in ["no/such", "tasks/get", "sampling/createMessage", "roots/list", "", "TOOLS/LIST", "tools/list "] {
        check(method, json!({}), -32601);
    }
    check("tools/call", json!({}), -32602);
    check("tools/call", json!({ "arguments": {} }), -32602);
    check("tools/call", json!({ "name": 7 }), -32602);
    check("tools/call", json!({ "name": null }), -32602);
    for arguments in [json!([]), json!("x"), json!(7), json!(true)] {
        check("tools/call", json!({ "name": "get_line", "arguments": arguments }), -32602);
    }
    check("tools/list", json!({ "cursor": 7 }), -32602);
    check("resources/read", json!({}), -32602);
    check("resources/read", json!({ "uri": 7 }), -32602);
    check("resources/subscribe", json!({}), -32602);
    check("prompts/get", json!({}), -32602);
    check("prompts/get", json!({ "name": "audition", "arguments": 7 }), -32602);
    check("completion/complete", json!({}), -32602);
    check(
        "completion/complete",
        json!({ "ref": { "type": "ref/none" }, "argument": { "name": "a", "value": "" } }),
        -32602,
    );
}

#[test]
fn wrong_arguments_have_the_code_of_the_family() {
    let home = Home::with_fixtures();
    let mut client = home.host(&[]);
    for arguments in [
        json!({}),
        json!({ "play": 7 }),
        json!({ "play": null }),
        json!({ "play": [] }),
        json!({ "play": "hamlet", "line": "1" }),
        json!({ "play": "hamlet", "line": -1 }),
        json!({ "play": "hamlet", "line": 1.5 }),
    ] {
        let answer = client.call_err("fixture_get_line", arguments.clone());
        assert_eq!(answer["error"]["code"], "BAD_ARGUMENT", "{arguments}");
    }
    for arguments in [json!({}), json!({ "path": 7 }), json!({ "path": "a", "full": "yes" })] {
        let answer = client.call_err("vault_read", arguments.clone());
        let code = answer["error"]["code"].as_str().expect("a code");
        assert!(code.starts_with("invalid_"), "{arguments}: {code}");
    }
}

#[test]
fn no_arguments_do_not_matter_but_more_than_there_are_do() {
    let home = Home::with_fixtures();
    let mut client = home.host(&["--only", "fixture"]);
    for params in [json!({ "name": "text_answer" }), json!({ "name": "text_answer", "arguments": null })] {
        assert_eq!(client.request("tools/call", params)["content"][0]["text"], "(text)");
    }
    let answer = client.call_ok("get_line", json!({ "play": "hamlet", "line": null, "_loudly": 1, "sessionId": 1 }));
    assert_eq!(answer["line"], 1);
    let answer = client.call_err("get_line", json!({ "line": 0, "play": 7, "lines": { "very": [1] } }));
    let details = json!({ "field": "lines", "nearest": "line", "arguments": ["play", "line"] });
    assert_eq!((&answer["error"]["code"], &answer["error"]["details"]), (&json!("BAD_ARGUMENT"), &details));
    let answer = client.call_err("text_answer", json!({ "deeply": true }));
    assert_eq!(answer["error"]["details"], json!({ "field": "deeply", "arguments": [] }));
}
