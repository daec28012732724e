//! How far a call has come, for hosts that ask; and calls that are taken back.

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

fn wait(client: &mut Client, gate: &str, token: Option<Value>) -> u64 {
    let arguments = json!({ "gate": gate, "steps": 3 });
    let mut params = json!({ "name": "block_until", "arguments": arguments });
    if let Some(token) = token {
        params["_meta"]["progressToken"] = token;
    }
    client.send("tools/call", params)
}

#[track_caller]
fn gate_state(client: &mut Client, gate: &str, what: &str) -> u64 {
    client.call_ok("gate_state", json!({ "gate": gate }))["waits"][what].as_u64().expect("a number")
}

fn check_progress(client: &mut Client, gate: &str, token: Value) {
    let id = wait(client, gate, Some(token.clone()));
    for step in 1..=3 {
        let message = client.next_message();
        assert_eq!(message["method"], "notifications/progress", "{message}");
        let params = &message["params"];
        assert_eq!(params["progressToken"], token);
        assert_eq!((&params["progress"], &params["total"]), (&json!(f64::from(step)), &json!(4.0)));
        assert_eq!(params["message"], "waiting");
    }
    client.call_ok("open_gate", json!({ "gate": gate }));
    assert_eq!(client.answer(id)["result"]["isError"], false);
}

#[test]
fn steps_are_told_to_whoever_gave_a_token() {
    let home = Home::with_fixtures();
    let mut legacy = home.host(&["--only", "fixture"]);
    check_progress(&mut legacy, "first", json!("a token"));
    check_progress(&mut legacy, "second", json!(7));
    let mut modern = home.connect(&["--only", "fixture"]);
    modern.go_modern();
    check_progress(&mut modern, "third", json!("t"));
}

#[test]
fn without_a_token_nothing_is_told() {
    let home = Home::with_fixtures();
    let (mut client, mut other) = (home.host(&["--only", "fixture"]), home.host(&["--only", "fixture"]));
    let id = wait(&mut client, "silence", None);
    wait_until("it waits", || (gate_state(&mut other, "silence", "waiting") == 1).then_some(()));
    other.call_ok("open_gate", json!({ "gate": "silence" }));
    assert_eq!(client.next_message()["id"], id, "the answer is the first message");
}

#[test]
fn a_call_that_is_taken_back_ends_in_silence() {
    let home = Home::with_fixtures();
    let mut other = home.host(&["--only", "fixture"]);
    let mut modern = home.connect(&["--only", "fixture"]);
    modern.go_modern();
    for (gate, client) in [("legacy", &mut home.host(&["--only", "fixture"])), ("modern", &mut modern)] {
        let id = wait(client, gate, Some(json!("token")));
        for _ in 0..3 {
            assert_eq!(client.next_message()["method"], "notifications/progress");
        }
        wait_until("it waits", || (gate_state(&mut other, gate, "waiting") == 1).then_some(()));
        client.notify("notifications/cancelled", json!({ "requestId": id, "reason": "never mind" }));
        wait_until("the tool sees it", || (gate_state(&mut other, gate, "cancelled") == 1).then_some(()));
        client.tool_names();
        other.call_ok("open_gate", json!({ "gate": gate }));
        wait_until("the tool ends", || (gate_state(&mut other, gate, "waiting") == 0).then_some(()));
        client.tool_names();
        assert_eq!(client.message_within(std::time::Duration::ZERO), None, "{gate}");
    }
}

#[test]
fn taking_back_what_is_done_or_unknown_does_nothing() {
    let home = Home::with_fixtures();
    let mut client = home.host(&["--only", "fixture"]);
    let id = client.send("ping", json!({}));
    client.answer(id);
    for target in [json!(id), json!(4711), json!("none"), json!(null), json!({})] {
        client.notify("notifications/cancelled", json!({ "requestId": target }));
    }
    assert_eq!(client.request("ping", json!({})), json!({}));
    assert_eq!(client.message_within(std::time::Duration::ZERO), None);
}
