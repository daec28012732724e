//! Requests wait in the proxy, not in the daemon; a peer that has no queue is refused what is too much.

use std::time::Duration;

use serde_json::{Value, json};
use trellis_protocol::envelope::{Caller, Frame, FrameRole, Payload};
use trellis_protocol::limits::MAX_RUNNING;
use trellis_protocol::version::CURRENT;
use trellis_protocol::{Envelope, Reply};
use trellis_tests::harness::{Client, Home, wait_until};

use super::raw_connection::{self, RawConnection};

/// A host with a daemon that the test speaks for.
fn host_and_daemon(home: &Home) -> (Client, RawConnection) {
    let listener = raw_connection::listen(home);
    let host = home.connect(&[]);
    let mut daemon = RawConnection::over(listener.accept().expect("the proxy comes").0);
    daemon.greeting().expect("a greeting");
    daemon.answer(CURRENT, &raw_connection::welcome());
    (host, daemon)
}

/// The sequence and the method of the next message for the daemon.
fn next(daemon: &mut RawConnection) -> (u64, String) {
    match daemon.next() {
        Some(Envelope::Frame(frame)) => {
            let message: Value = serde_json::from_slice(&frame.payload.0).expect("JSON");
            (frame.sequence, message["method"].as_str().expect("a method").to_owned())
        }
        other => panic!("not a message: {other:?}"),
    }
}

fn answer(daemon: &mut RawConnection, sequence: u64, id: u64) {
    let answer = json!({ "jsonrpc": "2.0", "id": id, "result": {} });
    let payload = Payload(answer.to_string().into_bytes());
    daemon.send(&Envelope::Frame(Frame { sequence, role: FrameRole::Answer, payload }));
}

#[test]
fn what_follows_initialize_is_sent_when_that_is_answered() {
    let home = Home::new();
    let (mut host, mut daemon) = host_and_daemon(&home);
    let opening = host.send("initialize", raw_connection::opening());
    let ping = host.send("ping", json!({}));
    host.notify("notifications/initialized", json!({}));
    assert_eq!(next(&mut daemon), (1, "initialize".to_owned()));
    assert_eq!(next(&mut daemon), (3, "notifications/initialized".to_owned()), "only requests wait");
    assert!(daemon.is_silent_for(Duration::from_millis(200)));
    answer(&mut daemon, 1, opening);
    assert_eq!(next(&mut daemon), (2, "ping".to_owned()));
    answer(&mut daemon, 2, ping);
    assert_eq!(host.next_message()["id"], opening);
    assert_eq!(host.next_message()["id"], ping);
}

#[test]
fn what_is_too_much_for_the_daemon_waits_in_the_proxy() {
    let home = Home::new();
    let (mut host, mut daemon) = host_and_daemon(&home);
    let ids: Vec<u64> = (0..MAX_RUNNING + 2).map(|_| host.send("ping", json!({}))).collect();
    for sequence in 1..=MAX_RUNNING as u64 {
        assert_eq!(next(&mut daemon), (sequence, "ping".to_owned()));
    }
    host.notify("notifications/cancelled", json!({ "requestId": ids[MAX_RUNNING] }));
    assert!(daemon.is_silent_for(Duration::from_millis(200)), "it never heard of that request");
    answer(&mut daemon, 1, ids[0]);
    assert_eq!(next(&mut daemon), (MAX_RUNNING as u64 + 2, "ping".to_owned()));
    assert_eq!(host.next_message()["id"], ids[0]);
}

#[test]
fn r15_a_peer_that_sends_too_much_at_once_is_told_that_the_daemon_is_busy() {
    let home = Home::with_fixtures();
    let mut other = home.host(&["--only", "fixture"]);
    let mut peer = RawConnection::connect(&home);
    assert!(matches!(peer.greet(CURRENT, Caller::Proxy), (_, Some(Reply::Welcome(_)))));
    peer.ask(1, "initialize", raw_connection::opening());
    let wait = |sequence| {
        raw_connection::request(
            sequence,
            "tools/call",
            json!({ "name": "fixture_block_until", "arguments": { "gate": "peer" } }),
        )
    };
    let most = MAX_RUNNING as u64;
    for sequence in 2..2 + most {
        peer.send(&wait(sequence));
    }
    peer.send(&wait(2 + most));
    let (sequence, refused) = answered(&mut peer);
    assert_eq!((sequence, &refused["error"]["data"]["code"]), (2 + most, &json!("busy")), "{refused}");
    // A request that is taken back makes room.
    let taken_back = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    let payload = Payload(taken_back.to_string().into_bytes());
    peer.send(&Envelope::Frame(Frame { sequence: 3 + most, role: FrameRole::Answer, payload }));
    peer.send(&wait(4 + most));
    let waits = |other: &mut Client| {
        other.call_ok("gate_state", json!({ "gate": "peer" }))["waits"]["begun"].as_u64() > Some(0)
    };
    wait_until("the peer's calls have begun", || waits(&mut other).then_some(()));
    other.call_ok("open_gate", json!({ "gate": "peer" }));
    // And so does every answer, before it can have been read.
    for extra in 0..most {
        let (_, served) = answered(&mut peer);
        assert!(served["result"].is_object(), "{served}");
        peer.send(&raw_connection::request(5 + most + extra, "ping", json!({})));
    }
    for _ in 0..most {
        let (_, served) = answered(&mut peer);
        assert!(served["result"].is_object(), "{served}");
    }
}

/// The next answer and its number.
fn answered(peer: &mut RawConnection) -> (u64, Value) {
    loop {
        match peer.next() {
            Some(Envelope::Frame(frame)) if frame.role == FrameRole::Answer => {
                return (frame.sequence, serde_json::from_slice(&frame.payload.0).expect("JSON"));
            }
            Some(_) => {}
            None => panic!("the daemon has closed"),
        }
    }
}
