//! Bytes that are no protocol: they cost their own connection and nobody else's.

use serde_json::json;
use trellis_protocol::codec;
use trellis_protocol::envelope::Caller;
use trellis_protocol::version::CURRENT;
use trellis_tests::harness::{Client, Home};

use super::process::peak_memory;
use super::raw_connection::{self, RawConnection};

/// After each of these the daemon is the same and serves others.
fn check_well(home: &Home, pid: u32, client: &mut Client) {
    client.request("ping", json!({}));
    assert_eq!(home.daemons(), [pid]);
}

#[test]
fn r15_garbled_greetings_cost_only_their_connection() {
    let home = Home::new();
    let mut client = home.host(&[]);
    let pid = home.daemon_pid().expect("a daemon");
    let hello = codec::encode_hello(CURRENT, &raw_connection::hello(Caller::Proxy)).expect("fits");
    let mut lying = hello;
    let length = lying.len();
    lying[length - 9..].fill(0xff);
    let mut huge = CURRENT.to_le_bytes().to_vec();
    huge.extend(u32::MAX.to_le_bytes());
    let garbage: [&[u8]; 6] =
        [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", &[0xff; 64], &[0; 64], b"{\"jsonrpc\":\"2.0\"}\n", &lying, &huge];
    for bytes in garbage {
        let mut line = RawConnection::connect(&home);
        line.send_bytes(bytes);
        check_well(&home, pid, &mut client);
    }
    let before = peak_memory(pid);
    let mut line = RawConnection::connect(&home);
    line.send_bytes(&huge);
    assert!(line.is_closed(), "an announced length over the limit is not waited for");
    assert!(peak_memory(pid) < before + (16 << 10), "and nothing is made ready for it");
}

#[test]
fn r15_half_a_greeting_and_silence_hold_up_nobody() {
    let home = Home::new();
    let mut client = home.host(&[]);
    let pid = home.daemon_pid().expect("a daemon");
    let hello = codec::encode_hello(CURRENT, &raw_connection::hello(Caller::Proxy)).expect("fits");
    let mut silent: Vec<RawConnection> = Vec::new();
    for cut in [0, 1, 5, 6, 20, hello.len() - 1] {
        let mut line = RawConnection::connect(&home);
        line.send_bytes(&hello[..cut]);
        silent.push(line);
        check_well(&home, pid, &mut client);
    }
    home.host(&[]).request("ping", json!({}));
    drop(silent);
    check_well(&home, pid, &mut client);
}

#[test]
fn r15_garbled_frames_cost_only_their_connection() {
    let home = Home::new();
    let mut client = home.host(&[]);
    let pid = home.daemon_pid().expect("a daemon");
    let frame = codec::encode(&raw_connection::request(1, "ping", json!({}))).expect("fits");
    let mut garbled = frame.clone();
    garbled[codec::LENGTH_BYTES] = 0xee;
    let ended: [&[u8]; 3] = [&u32::MAX.to_le_bytes(), &garbled, &0_u32.to_le_bytes()];
    for bytes in ended {
        let mut line = RawConnection::connect(&home);
        line.greet(CURRENT, Caller::Proxy);
        line.send_bytes(bytes);
        while line.next().is_some() {}
        check_well(&home, pid, &mut client);
    }
    let mut line = RawConnection::connect(&home);
    line.greet(CURRENT, Caller::Proxy);
    line.send_bytes(&frame[..frame.len() - 1]);
    check_well(&home, pid, &mut client);
}

/// The proxy checks what it passes on; the daemon checks again, because its socket is an input of its own.
#[test]
fn r15_a_frame_that_holds_no_message_is_answered_and_the_session_goes_on() {
    let home = Home::new();
    assert!(home.trellisd(&["up"]).status.success());
    let mut line = RawConnection::connect(&home);
    line.greet(CURRENT, Caller::Proxy);
    line.ask(1, "initialize", raw_connection::opening());
    for (sequence, bytes) in [(2, &b"no json"[..]), (3, b"[]"), (4, b"\xff"), (5, b"{}"), (6, b"")] {
        let payload = trellis_protocol::envelope::Payload(bytes.to_vec());
        let role = trellis_protocol::envelope::FrameRole::Answer;
        line.send(&trellis_protocol::Envelope::Frame(trellis_protocol::Frame { sequence, role, payload }));
    }
    assert_eq!(line.ask(7, "ping", json!({})), json!({}));
}
