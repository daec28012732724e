//! Good messages with bad parameters: wrong for the protocol is an error, wrong for a tool a result.

use serde_json::{Value, json};
use trellis_tests::harness::Home;

#[test]
fn unknown_methods_are_told_from_known_ones_with_bad_parameters() {
    let home = Home::rehearsing();
    let mut client = home.host(&["--only", "rehearsal"]);
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
        check("tools/call", json!({ "name": "recite", "arguments": arguments }), -32602);
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
    let home = Home::rehearsing();
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
        let answer = client.call_err("rehearsal_recite", arguments.clone());
        assert_eq!(answer["error"]["code"], "BAD_ARGUMENT", "{arguments}");
    }
    for arguments in [json!({}), json!({ "path": 7 }), json!({ "path": "a", "full": "yes" })] {
        let answer = client.call_err("vault_read", arguments.clone());
        let code = answer["error"]["code"].as_str().expect("a code");
        assert!(code.starts_with("invalid_"), "{arguments}: {code}");
    }
}

#[test]
fn no_arguments_and_more_arguments_than_there_are_do_not_matter() {
    let home = Home::rehearsing();
    let mut client = home.host(&["--only", "rehearsal"]);
    for params in [json!({ "name": "bow" }), json!({ "name": "bow", "arguments": null })] {
        assert_eq!(client.request("tools/call", params)["content"][0]["text"], "(bows)");
    }
    let answer = client.call_ok("recite", json!({ "play": "hamlet", "line": null, "loudly": { "very": [1] } }));
    assert_eq!(answer["line"], 1);
}
