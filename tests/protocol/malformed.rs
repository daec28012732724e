//! Lines that are no good messages: each is answered as JSON-RPC asks, and the session goes on.

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

/// Sends a line, and checks the code of its answer, which knows no id; then the session still works.
#[track_caller]
fn check(client: &mut Client, line: &[u8], code: i32) {
    client.send_bytes(line);
    client.send_bytes(b"\n");
    let answer = client.next_message();
    let shown = String::from_utf8_lossy(&line[..line.len().min(80)]);
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(code)), "{shown}: {answer}");
    assert!(answer.as_object().is_some_and(|answer| answer.contains_key("id")), "{shown}: {answer}");
    assert_eq!(client.request("ping", json!({})), json!({}));
}

#[test]
fn what_is_no_json_is_a_parse_error() {
    let home = Home::new();
    let mut client = home.host(&[]);
    for line in [
        "nonsense",
        "{",
        r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#,
        r#"{'jsonrpc':'2.0'}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":01}}"#,
    ] {
        check(&mut client, line.as_bytes(), -32700);
    }
    check(&mut client, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"\xff\"}}", -32700);
    check(&mut client, b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", -32700);
    check(&mut client, b"\0", -32700);
}

#[test]
fn lone_surrogates_are_no_text() {
    let home = Home::new();
    let mut client = home.host(&[]);
    for params in [
        r#"{"name":"\ud800","arguments":{}}"#,
        r#"{"name":"vault_ls","arguments":{"path":"a\udc00b"}}"#,
        r#"{"name":"vault_ls","arguments":{"\ud83d":1}}"#,
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#);
        check(&mut client, line.as_bytes(), -32700);
    }
    check(&mut client, br#"{"jsonrpc":"2.0","id":7,"method":"\ud800"}"#, -32700);
}

#[test]
fn json_that_is_no_message_is_an_invalid_request() {
    let home = Home::new();
    let mut client = home.host(&[]);
    for line in [
        "[]",
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#,
        "{}",
        "null",
        "7",
        r#""ping""#,
        r#"{"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
    ] {
        check(&mut client, line.as_bytes(), -32600);
    }
}

#[test]
fn an_id_is_a_whole_number_or_a_short_text() {
    let home = Home::new();
    let mut client = home.host(&[]);
    let long = format!("\"{}\"", "x".repeat(1025));
    for id in ["null", "1.5", "true", "{}", "[1]", "1e400", "99999999999999999999", &long] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        check(&mut client, line.as_bytes(), -32600);
    }
    let long = "x".repeat(1024);
    for id in [json!("a \"b\" \u{e9}\u{3042}"), json!(""), json!(-5), json!(i64::MAX), json!(0), json!(long)] {
        client.send_line(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string());
        assert_eq!(client.next_message(), json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
    }
}

#[test]
fn nesting_without_end_is_refused() {
    let home = Home::new();
    let mut client = home.host(&[]);
    for depth in [200, 100_000] {
        let deep = "[".repeat(depth) + &"]".repeat(depth);
        let params = format!(r#"{{"name":"vault_ls","arguments":{{"path":{deep}}}}}"#);
        let line = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#);
        check(&mut client, line.as_bytes(), -32700);
        check(&mut client, deep.as_bytes(), if depth > 128 { -32600 } else { -32700 });
    }
}

#[test]
fn blank_lines_and_windows_ends_of_lines_do_not_matter() {
    let home = Home::new();
    let mut client = home.host(&[]);
    client.send_bytes(b"\n  \n\r\n{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"ping\"}\r\n");
    assert_eq!(client.next_message(), json!({ "jsonrpc": "2.0", "id": 77, "result": {} }));
}

#[test]
fn a_notification_as_the_first_message_is_passed_over() {
    let home = Home::new();
    for line in [
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": 7 }),
        json!({ "jsonrpc": "2.0", "method": "anything", "params": { "a": 1 } }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -1, "message": "no" } }),
    ] {
        let mut client = home.connect(&[]);
        client.send_line(&line.to_string());
        assert_eq!(client.initialize("2025-11-25")["protocolVersion"], "2025-11-25", "{line}");
        assert!(!client.tool_names().is_empty());
    }
}
