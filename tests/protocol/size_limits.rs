//! Lines and answers of any size: what is within the limits arrives whole, what is over them is refused
//! without being kept.

use serde_json::{Value, json};
use trellis_tests::harness::Home;

const MIB: usize = 1 << 20;

/// The most memory that a process ever had, in bytes.
fn peak(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
}

#[test]
fn a_line_over_the_limit_is_refused_once_and_not_kept() {
    let home = Home::new();
    let mut client = home.host(&[]);
    let piece = vec![b'x'; MIB];
    client.send_bytes(br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":""#);
    for _ in 0..200 {
        client.send_bytes(&piece);
    }
    client.send_bytes(b"\"}}\n");
    let answer = client.next_message();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)), "{answer}");
    assert!(answer["error"]["message"].as_str().is_some_and(|message| message.contains("16 MiB")));
    client.send_line(r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#);
    assert_eq!(client.next_message(), json!({ "jsonrpc": "2.0", "id": 8, "result": {} }), "nothing comes in between");
    let peak = peak(client.pid());
    assert!(peak < 40 * MIB, "the proxy once had {} MiB", peak / MIB);
}

#[test]
fn a_line_within_the_limit_arrives() {
    let home = Home::with_fixtures();
    let mut client = home.host(&["--only", "fixture"]);
    let text = "x".repeat(15 * MIB);
    let answer = client.call_ok("notify_change", json!({ "play": "hamlet", "text": text }));
    assert_eq!(answer["letters"], 15 * MIB);
}

#[test]
fn a_large_answer_arrives_whole() {
    let home = Home::with_fixtures();
    let mut client = home.host(&["--only", "fixture"]);
    let letters = 10 * MIB;
    let answer = client.call_ok("large_answer", json!({ "letters": letters }));
    let text = answer["text"].as_str().expect("a text");
    assert!(text.len() == letters && text.bytes().all(|letter| letter == b'o'));
    assert_eq!(client.request("ping", json!({})), json!({}));
}

#[test]
fn an_answer_over_the_limit_says_its_size() {
    let home = Home::with_fixtures();
    let mut client = home.host(&["--only", "fixture"]);
    let answer = client.ask("tools/call", json!({ "name": "large_answer", "arguments": { "letters": 35 * MIB } }));
    let error = &answer["error"];
    assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32000), &json!("too_large")));
    assert_eq!(error["data"]["limit"], 64 * MIB);
    assert!(error["data"]["size"].as_u64().is_some_and(|size| size > 70 * MIB as u64), "{error}");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("ask for less")), "{error}");
    assert_eq!(client.request("ping", json!({})), json!({}));
}
