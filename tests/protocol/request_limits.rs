//! More requests at once than the limits allow: some are queued, some are refused, each is answered once.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trellis_protocol::limits::{MAX_QUEUED, MAX_RUNNING};
use trellis_tests::harness::{Client, Home, wait_until};

const FLYING: u64 = MAX_RUNNING as u64;
const WAITING: u64 = MAX_QUEUED as u64;

fn wait_for(client: &mut Client, gate: &str) -> u64 {
    client.send("tools/call", json!({ "name": "block_until", "arguments": { "gate": gate } }))
}

fn waits(client: &mut Client, gate: &str, what: &str) -> u64 {
    client.call_ok("gate_state", json!({ "gate": gate }))["waits"][what].as_u64().expect("a number")
}

/// So many answers, by id; a second answer to one request fails the test.
#[track_caller]
fn answers(client: &mut Client, count: usize) -> BTreeMap<u64, Value> {
    let mut answers = BTreeMap::new();
    while answers.len() < count {
        let message = client.next_message();
        let id = message["id"].as_u64().expect("an answer");
        assert!(answers.insert(id, message).is_none(), "request {id} was answered twice");
    }
    answers
}

#[test]
fn what_is_too_much_at_once_waits_and_cancellations_pass() {
    let home = Home::with_fixtures();
    let mut crowd = home.host(&["--only", "fixture"]);
    let mut other = home.host(&["--only", "fixture"]);
    let begun = wait_for(&mut crowd, "crowd");
    wait_until("the first waits at its gate", || (waits(&mut other, "crowd", "waiting") == 1).then_some(()));
    let ids: Vec<u64> = (1..FLYING + 20).map(|_| wait_for(&mut crowd, "crowd")).collect();
    let taken_back = [begun, ids[FLYING as usize - 10], ids[FLYING as usize + 10]];
    for id in taken_back {
        crowd.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" }));
    }
    wait_until("the one that has begun hears of it", || (waits(&mut other, "crowd", "cancelled") == 1).then_some(()));
    other.call_ok("open_gate", json!({ "gate": "crowd" }));
    let answered = answers(&mut crowd, ids.len() - 2);
    assert!(taken_back.iter().all(|id| !answered.contains_key(id)));
    assert!(answered.values().all(|answer| answer["result"]["isError"] == false), "{answered:?}");
    assert_eq!(crowd.ask("ping", json!({}))["result"], json!({}), "nothing else was said");
    assert!(crowd.message_within(std::time::Duration::ZERO).is_none());
    let begun = waits(&mut other, "crowd", "begun");
    assert_eq!(begun, ids.len() as u64 - 1, "what was taken back in time was not begun");
}

#[test]
fn what_is_far_too_much_is_refused_as_busy() {
    let home = Home::with_fixtures();
    let mut crowd = home.host(&["--only", "fixture"]);
    let mut other = home.host(&["--only", "fixture"]);
    let ids: Vec<u64> = (0..FLYING + WAITING + 30).map(|_| wait_for(&mut crowd, "flood")).collect();
    let refused = answers(&mut crowd, 30);
    for answer in refused.values() {
        assert_eq!((&answer["error"]["code"], &answer["error"]["data"]["code"]), (&json!(-32000), &json!("busy")));
    }
    other.call_ok("open_gate", json!({ "gate": "flood" }));
    let answered = answers(&mut crowd, ids.len() - 30);
    assert!(answered.keys().all(|id| !refused.contains_key(id)));
    assert_eq!(crowd.request("ping", json!({})), json!({}));
}

/// A call that was taken back is worked on for a while, and its bytes are there for as long.
#[test]
fn bytes_of_cancelled_calls_are_counted_until_the_calls_end() {
    let home = Home::with_fixtures();
    let mut greedy = home.host(&["--only", "fixture"]);
    let mut other = home.host(&["--only", "fixture"]);
    let padding = "x".repeat(7 << 20);
    let padded =
        |arguments: Value| json!({ "name": "block_until", "arguments": arguments, "_meta": { "pad": padding } });
    for count in 1..=4 {
        let id = greedy.send("tools/call", padded(json!({ "gate": "greed" })));
        wait_until("it has begun", || (waits(&mut other, "greed", "begun") == count).then_some(()));
        greedy.notify("notifications/cancelled", json!({ "requestId": id }));
        wait_until("it is taken back", || (waits(&mut other, "greed", "cancelled") == count).then_some(()));
    }
    let refused = greedy.ask("tools/call", padded(json!({ "gate": "greed" })));
    assert_eq!(refused["error"]["data"]["code"], "busy", "{refused}");
    assert_eq!(greedy.request("ping", json!({})), json!({}), "what is small still passes");
    other.call_ok("open_gate", json!({ "gate": "greed" }));
    wait_until("there is room again", || {
        let answer = greedy.ask("tools/call", padded(json!({ "gate": "greed" })));
        (answer["result"]["isError"] == false).then_some(())
    });
}

#[test]
fn an_id_is_not_taken_twice_at_the_same_time() {
    let home = Home::with_fixtures();
    let mut client = home.host(&["--only", "fixture"]);
    let id = wait_for(&mut client, "twice");
    client.send_line(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string());
    let answer = client.answer(id);
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    client.call_ok("open_gate", json!({ "gate": "twice" }));
    assert_eq!(client.answer(id)["result"]["isError"], false);
    client.send_line(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string());
    assert_eq!(client.answer(id)["result"], json!({}), "later it is free");
}

#[test]
fn a_fault_in_one_call_is_the_fault_of_that_call_alone() {
    let home = Home::with_fixtures();
    let mut client = home.host(&["--only", "fixture"]);
    let mut other = home.host(&["--only", "fixture"]);
    let id = wait_for(&mut other, "after the fall");
    for tool in ["panic_inline", "panic_blocking"] {
        let error = client.call_err(tool, json!({ "line": "a secret line" }))["error"].clone();
        assert_eq!(error["code"], "internal");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    client.call_ok("open_gate", json!({ "gate": "after the fall" }));
    assert_eq!(other.answer(id)["result"]["isError"], false);
    assert_eq!(home.status().expect("a daemon")["counters"]["panics"], 2);
}
