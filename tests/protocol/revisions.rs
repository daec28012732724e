//! With a handshake, or with the version in each request: both kinds of revisions over one proxy.

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN: &str = "2026-07-28";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Asks with exactly these parameters, and returns the whole answer.
#[track_caller]
fn ask(client: &mut Client, id: u64, method: &str, params: Value) -> Value {
    client.send_line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
    client.answer(id)
}

fn redacted(mut value: Value, info: &str) -> Value {
    let place = value.pointer_mut(info).expect("the server's name and version");
    assert_eq!(place["version"], env!("CARGO_PKG_VERSION"));
    place["version"] = "[version]".into();
    value
}

#[test]
fn every_revision_with_a_handshake_is_echoed_and_any_other_gets_the_newest() {
    let home = Home::new();
    let asked = LEGACY.into_iter().map(|version| (version, version));
    for (asked, expected) in asked.chain([("1999-01-01", "2025-11-25"), ("x", "2025-11-25"), (MODERN, "2025-11-25")]) {
        let mut client = home.connect(&[]);
        let result = client.initialize(asked);
        assert_eq!(result["protocolVersion"], expected, "{asked}");
        assert!(client.tool_names().contains(&"vault_ls".to_owned()), "{asked}");
    }
}

#[test]
fn the_opening() {
    let home = Home::with_fixtures();
    let all = home.connect(&[]).initialize("2025-11-25");
    assert!(all["instructions"].as_str().is_some_and(|text| text.len() < 1536), "{all}");
    let result = home.connect(&["--families", "fixture,clash"]).initialize("2025-11-25");
    insta::assert_json_snapshot!(redacted(result, "/serverInfo"));
}

#[test]
fn discovery_needs_no_message_before_it() {
    let home = Home::with_fixtures();
    let mut client = home.connect(&["--families", "fixture,clash"]);
    client.go_modern();
    let result = client.request("server/discover", json!({}));
    assert!(result["ttlMs"].is_u64());
    insta::assert_json_snapshot!(redacted(result, &format!("/_meta/{}", SERVER_INFO.replace('/', "~1"))));
}

#[test]
fn a_modern_host_lists_and_calls_without_a_handshake() {
    let home = Home::with_fixtures();
    let mut client = home.connect(&["--only", "fixture"]);
    client.go_modern();
    assert_eq!(client.call_ok("get_line", json!({ "play": "hamlet" }))["text"], "Who's there?");
    assert!(client.tool_names().contains(&"get_line".to_owned()));
}

#[test]
fn every_modern_result_is_complete() {
    let home = Home::with_fixtures();
    let mut client = home.connect(&["--only", "fixture"]);
    client.go_modern();
    let reference = json!({ "type": "ref/prompt", "name": "audition" });
    let requests = [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": "get_line", "arguments": { "play": "hamlet" } })),
        ("tools/call", json!({ "name": "get_line", "arguments": { "play": "none" } })),
        ("tools/call", json!({ "name": "text_answer" })),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "fixture://programme" })),
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "audition", "arguments": { "play": "hamlet" } })),
        ("completion/complete", json!({ "ref": reference, "argument": { "name": "play", "value": "" } })),
    ];
    for (method, params) in requests {
        let result = client.request(method, params);
        assert_eq!(result["resultType"], "complete", "{method}: {result}");
    }
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        let result = client.request(method, json!({}));
        assert!(result["ttlMs"].is_u64(), "{method}");
        assert_eq!(result["cacheScope"], "private", "{method}");
    }
}

#[test]
fn a_modern_request_says_its_version_and_what_the_host_can_do() {
    let home = Home::new();
    let mut client = home.connect(&[]);
    let metas = [
        json!({}),
        json!({ VERSION: MODERN }),
        json!({ CAPABILITIES: {} }),
        json!({ VERSION: MODERN, CAPABILITIES: null }),
        json!({ VERSION: MODERN, CAPABILITIES: "all" }),
        json!({ VERSION: 20260728, CAPABILITIES: {} }),
        json!(null),
        json!(7),
    ];
    for (id, meta) in (1..).zip(metas) {
        for (method, id) in [("tools/list", id), ("server/discover", 100 + id)] {
            let error = ask(&mut client, id, method, json!({ "_meta": meta }))["error"].clone();
            assert_eq!(error["code"], -32602, "{method} with {meta}: {error}");
        }
    }
}

#[test]
fn an_unknown_version_is_refused_with_those_that_are_known() {
    let home = Home::new();
    let mut client = home.connect(&[]);
    let meta = json!({ "_meta": { VERSION: "2031-01-01", CAPABILITIES: {} } });
    for (id, method) in (1..).zip(["tools/list", "server/discover", "resources/list"]) {
        let error = ask(&mut client, id, method, meta.clone())["error"].clone();
        assert_eq!(error["code"], -32022, "{method}: {error}");
        assert_eq!(error["data"]["requested"], "2031-01-01");
        let supported = error["data"]["supported"].as_array().expect("an array");
        assert!(LEGACY.iter().chain([&MODERN]).all(|version| supported.contains(&json!(version))), "{error}");
    }
}

#[test]
fn a_session_that_begins_modern_stays_modern() {
    let home = Home::new();
    let mut client = home.connect(&[]);
    let modern = json!({ "_meta": { VERSION: MODERN, CAPABILITIES: {} } });
    assert!(ask(&mut client, 1, "tools/list", modern.clone())["result"]["tools"].is_array());
    assert_eq!(ask(&mut client, 2, "tools/list", json!({}))["error"]["code"], -32602);
    assert!(ask(&mut client, 3, "tools/list", modern)["result"]["tools"].is_array());
}

#[test]
fn a_host_that_only_looked_may_still_shake_hands_and_then_use_both_eras() {
    let home = Home::new();
    let mut client = home.connect(&[]);
    let modern = json!({ "_meta": { VERSION: MODERN, CAPABILITIES: {} } });
    assert!(ask(&mut client, 1001, "server/discover", modern.clone())["result"]["supportedVersions"].is_array());
    assert_eq!(client.initialize("2025-06-18")["protocolVersion"], "2025-06-18");
    let legacy = ask(&mut client, 1002, "tools/list", json!({}))["result"].clone();
    assert!(legacy["tools"].is_array());
    let result = ask(&mut client, 1003, "tools/list", modern)["result"].clone();
    assert_eq!((&result["resultType"], &result["tools"]), (&json!("complete"), &legacy["tools"]));
    assert!(ask(&mut client, 1004, "tools/list", json!({}))["result"]["tools"].is_array());
}

#[test]
fn ping_and_log_levels_belong_to_the_handshake() {
    let home = Home::new();
    let mut legacy = home.host(&[]);
    assert_eq!(legacy.request("ping", json!({})), json!({}));
    assert_eq!(legacy.request("logging/setLevel", json!({ "level": "warning" })), json!({}));
    assert_eq!(legacy.ask("logging/setLevel", json!({ "level": "loud" }))["error"]["code"], -32602);
    let mut modern = home.connect(&[]);
    modern.go_modern();
    for (method, params) in [
        ("ping", json!({})),
        ("logging/setLevel", json!({ "level": "warning" })),
        ("resources/subscribe", json!({ "uri": "a:b" })),
    ] {
        assert_eq!(modern.ask(method, params)["error"]["code"], -32601, "{method}");
    }
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    assert_eq!(legacy.ask("subscriptions/listen", filter)["error"]["code"], -32601);
}

#[test]
fn a_client_that_knows_of_no_opening_is_served_as_if_it_had_said_one() {
    let home = Home::with_fixtures();
    let reference = json!({ "type": "ref/prompt", "name": "audition" });
    for (method, params) in [
        ("ping", json!({})),
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": "get_line", "arguments": { "play": "hamlet" } })),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "fixture://programme" })),
        ("resources/subscribe", json!({ "uri": "fixture://programme" })),
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "audition", "arguments": { "play": "hamlet" } })),
        ("completion/complete", json!({ "ref": reference, "argument": { "name": "play", "value": "" } })),
        ("logging/setLevel", json!({ "level": "warning" })),
        ("server/discover", json!({})),
    ] {
        let mut client = home.connect(&["--only", "fixture"]);
        client.request(method, params);
        assert_eq!(client.call_ok("get_line", json!({ "play": "hamlet" }))["text"], "Who's there?", "{method}");
    }
    let mut client = home.connect(&["--only", "fixture"]);
    client.send_line(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert!(client.answer(1)["result"]["tools"].is_array(), "no parameters at all");
    assert_eq!(client.initialize("2025-06-18")["protocolVersion"], "2025-06-18");
    assert!(!client.tool_names().is_empty());
}

#[test]
fn a_client_without_an_opening_goes_on_after_the_daemon_was_killed() {
    let home = Home::with_fixtures();
    let mut client = home.connect(&["--only", "fixture"]);
    client.call_ok("get_line", json!({ "play": "hamlet" }));
    home.kill(home.daemon_pid().expect("a daemon"));
    assert_eq!(client.call_ok("get_line", json!({ "play": "hamlet" }))["text"], "Who's there?");
}

#[test]
fn the_opening_is_answered_before_everything_that_came_with_it() {
    let home = Home::new();
    for _ in 0..5 {
        let mut client = home.connect(&[]);
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        let lines = [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }),
            json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" }),
        ];
        let all: String = lines.iter().map(|line| format!("{line}\n")).collect();
        client.send_bytes(all.as_bytes());
        assert_eq!(client.next_message()["id"], 1);
        assert_eq!(client.answer(2)["result"], json!({}));
        assert!(client.answer(3)["result"]["tools"].is_array());
    }
}
