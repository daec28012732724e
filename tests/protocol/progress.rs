//! How far a call has come, for hosts that ask; and calls that are taken back.

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, until};

fn wait(client: &mut Client, cue: &str, token: Option<Value>) -> u64 {
    let arguments = json!({ "cue": cue, "steps": 3 });
    let mut params = json!({ "name": "wait", "arguments": arguments });
    if let Some(token) = token {
        params["_meta"]["progressToken"] = token;
    }
    client.send("tools/call", params)
}

#[track_caller]
fn wings(client: &mut Client, cue: &str, what: &str) -> u64 {
    client.call_ok("wings", json!({ "cue": cue }))["waits"][what].as_u64().expect("a number")
}

fn check_progress(client: &mut Client, cue: &str, token: Value) {
    let id = wait(client, cue, Some(token.clone()));
    for step in 1..=3 {
        let message = client.next_message();
        assert_eq!(message["method"], "notifications/progress", "{message}");
        let params = &message["params"];
        assert_eq!(params["progressToken"], token);
        assert_eq!((&params["progress"], &params["total"]), (&json!(f64::from(step)), &json!(4.0)));
        assert_eq!(params["message"], "in the wings");
    }
    client.call_ok("cue", json!({ "cue": cue }));
    assert_eq!(client.answer(id)["result"]["isError"], false);
}

#[test]
fn steps_are_told_to_whoever_gave_a_token() {
    let home = Home::rehearsing();
    let mut legacy = home.host(&["--only", "rehearsal"]);
    check_progress(&mut legacy, "first", json!("a token"));
    check_progress(&mut legacy, "second", json!(7));
    let mut modern = home.connect(&["--only", "rehearsal"]);
    modern.go_modern();
    check_progress(&mut modern, "third", json!("t"));
}

#[test]
fn without_a_token_nothing_is_told() {
    let home = Home::rehearsing();
    let (mut client, mut other) = (home.host(&["--only", "rehearsal"]), home.host(&["--only", "rehearsal"]));
    let id = wait(&mut client, "silence", None);
    until("it waits", || (wings(&mut other, "silence", "waiting") == 1).then_some(()));
    other.call_ok("cue", json!({ "cue": "silence" }));
    assert_eq!(client.next_message()["id"], id, "the answer is the first message");
}

#[test]
fn a_call_that_is_taken_back_ends_in_silence() {
    let home = Home::rehearsing();
    let mut other = home.host(&["--only", "rehearsal"]);
    let mut modern = home.connect(&["--only", "rehearsal"]);
    modern.go_modern();
    for (cue, client) in [("legacy", &mut home.host(&["--only", "rehearsal"])), ("modern", &mut modern)] {
        let id = wait(client, cue, Some(json!("token")));
        for _ in 0..3 {
            assert_eq!(client.next_message()["method"], "notifications/progress");
        }
        until("it waits", || (wings(&mut other, cue, "waiting") == 1).then_some(()));
        client.notify("notifications/cancelled", json!({ "requestId": id, "reason": "never mind" }));
        until("the tool sees it", || (wings(&mut other, cue, "cancelled") == 1).then_some(()));
        client.tool_names();
        other.call_ok("cue", json!({ "cue": cue }));
        until("the tool ends", || (wings(&mut other, cue, "waiting") == 0).then_some(()));
        client.tool_names();
        assert_eq!(client.message_within(std::time::Duration::ZERO), None, "{cue}");
    }
}

#[test]
fn taking_back_what_is_done_or_unknown_does_nothing() {
    let home = Home::rehearsing();
    let mut client = home.host(&["--only", "rehearsal"]);
    let id = client.send("ping", json!({}));
    client.answer(id);
    for target in [json!(id), json!(4711), json!("none"), json!(null), json!({})] {
        client.notify("notifications/cancelled", json!({ "requestId": target }));
    }
    assert_eq!(client.request("ping", json!({})), json!({}));
    assert_eq!(client.message_within(std::time::Duration::ZERO), None);
}
