//! Builds of different age: neighbours work, the rest says what to do.

use std::fs;
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;

use serde_json::json;
use trellis_protocol::codec;
use trellis_protocol::control::{ControlReply, ControlRequest};
use trellis_protocol::envelope::{Caller, RefusalReason, Refused};
use trellis_protocol::version::CURRENT;
use trellis_protocol::{Envelope, Reply};
use trellis_tests::harness::Home;

use super::raw_connection::{self, RawConnection};

/// A home with the real daemon, running.
fn running() -> Home {
    let home = Home::new();
    assert!(home.trellisd(&["up"]).status.success());
    home
}

fn refused(reply: Option<Reply>) -> Refused {
    match reply {
        Some(Reply::Refused(refused)) => refused,
        other => panic!("not refused: {other:?}"),
    }
}

fn check_served(line: &mut RawConnection) {
    assert_eq!(line.ask(1, "initialize", raw_connection::opening())["serverInfo"]["name"], "trellis");
    assert_eq!(line.ask(2, "ping", json!({})), json!({}));
}

#[test]
fn r9_an_older_proxy_is_served_in_its_own_words() {
    let home = running();
    let mut line = RawConnection::connect(&home);
    let (number, reply) = line.greet(CURRENT - 1, Caller::Proxy);
    assert_eq!(number, CURRENT - 1);
    assert!(matches!(reply, Some(Reply::Welcome(_))), "{reply:?}");
    check_served(&mut line);
}

#[test]
fn r9_a_newer_proxy_learns_our_number_and_greets_again() {
    let home = running();
    let mut line = RawConnection::connect(&home);
    line.send_bytes(&(CURRENT + 1).to_le_bytes());
    line.send_bytes(&9_u32.to_le_bytes());
    line.send_bytes(b"\xff new body");
    let (number, reply) = line.reply();
    assert_eq!(number, CURRENT);
    let refused = refused(reply);
    assert_eq!(refused.reason, RefusalReason::Version);
    assert!(refused.hint.contains("hand over"), "{}", refused.hint);
    assert!(line.is_closed());
    let mut line = RawConnection::connect(&home);
    assert!(matches!(line.greet(CURRENT, Caller::Proxy), (CURRENT, Some(Reply::Welcome(_)))));
    check_served(&mut line);
}

#[test]
fn r9_a_proxy_that_is_far_away_is_told_what_to_do() {
    let home = running();
    for number in [CURRENT + 7, u16::MAX] {
        let mut line = RawConnection::connect(&home);
        let (ours, reply) = line.greet(number, Caller::Proxy);
        let refused = refused(reply);
        assert_eq!((ours, refused.reason), (CURRENT, RefusalReason::Version));
        assert!(refused.message.contains(&number.to_string()), "{}", refused.message);
        assert!(refused.message.contains(&CURRENT.to_string()) && !refused.hint.is_empty());
    }
    home.host(&[]).request("ping", json!({}));
}

/// A daemon that is none: every connection is handed to `behave`, one after the other.
fn fake(home: &Home, mut behave: impl FnMut(RawConnection) -> bool + Send + 'static) -> JoinHandle<()> {
    let listener = raw_connection::listen(home);
    let socket = home.paths().socket;
    std::thread::spawn(move || {
        while accepted(&listener).is_some_and(&mut behave) {}
        drop(listener);
        let _ = fs::remove_file(socket);
    })
}

fn accepted(listener: &UnixListener) -> Option<RawConnection> {
    listener.accept().ok().map(|(stream, _)| RawConnection::over(stream))
}

/// Serves one session whose greeting gets its reply in this number.
fn serving_in(number: u16) -> impl FnMut(RawConnection) -> bool + Send {
    move |mut line| {
        line.greeting().expect("a greeting");
        line.answer(number, &raw_connection::welcome());
        raw_connection::serve(&mut line);
        false
    }
}

#[test]
fn r9_a_proxy_works_with_an_older_or_a_newer_daemon() {
    for number in [CURRENT - 1, CURRENT] {
        let home = Home::new();
        let daemon = fake(&home, serving_in(number));
        let mut client = home.connect(&[]);
        assert_eq!(client.initialize("2025-11-25")["served_by"], "fake");
        assert_eq!(client.request("ping", json!({}))["served_by"], "fake");
        assert!(client.close().success());
        daemon.join().expect("the fake has no complaint");
    }
}

#[test]
fn r9_without_a_common_protocol_every_request_gets_one_clear_error() {
    let home = Home::new();
    let _daemon = fake(&home, |mut line| {
        if line.greeting().is_some() {
            line.send_bytes(&codec::encode_reply(CURRENT + 5, &raw_connection::welcome()).expect("fits"));
        }
        true
    });
    let mut client = home.connect(&[]);
    client.initialize("2025-11-25");
    for _ in 0..3 {
        let error = client.call_err("vault_ls", json!({}))["error"].clone();
        assert_eq!(error["code"], "unavailable");
        let message = error["message"].as_str().expect("a message");
        let named = |number: u16| message.contains(&format!("protocol {number}"));
        assert!(named(CURRENT) && named(CURRENT + 5), "{message}");
        assert!(message.contains("update"), "{message}");
    }
    assert_eq!(client.request("ping", json!({})), json!({}));
}

/// The old daemon refuses our words; in its own ones it is asked to leave, and the new one takes the session over.
#[test]
fn r9_an_older_daemon_hands_over() {
    let home = Home::new();
    let (heard, orders) = std::sync::mpsc::channel();
    let daemon = fake(&home, move |mut line| {
        let Some((number, greeting)) = line.greeting() else { return true };
        if number > CURRENT - 1 {
            let refused =
                Refused { reason: RefusalReason::Version, message: "too new".into(), hint: "hand over".into() };
            line.answer(CURRENT - 1, &Reply::Refused(refused));
            return true;
        }
        assert_eq!(greeting.caller, Caller::CommandLine);
        line.answer(CURRENT - 1, &raw_connection::welcome());
        let order = line.next();
        line.send(&Envelope::ControlReply(ControlReply::Leaving { pid: 1 }));
        heard.send(order).expect("the test listens");
        false
    });
    let mut client = home.connect(&[]);
    assert_eq!(client.initialize("2025-11-25")["serverInfo"]["name"], "trellis");
    assert_eq!(orders.recv().expect("it was asked"), Some(Envelope::ControlRequest(ControlRequest::HandOver)));
    daemon.join().expect("the fake has no complaint");
    assert!(client.tool_names().contains(&"vault_read".to_owned()));
    assert_eq!(home.daemons().len(), 1);
}

/// An older daemon that does not leave is spoken to in its own words.
#[test]
fn r9_an_older_daemon_that_stays_is_used_as_it_is() {
    let home = Home::new();
    let _daemon = fake(&home, move |mut line| {
        let Some((number, greeting)) = line.greeting() else { return true };
        if number > CURRENT - 1 {
            let refused =
                Refused { reason: RefusalReason::Version, message: "too new".into(), hint: "hand over".into() };
            line.answer(CURRENT - 1, &Reply::Refused(refused));
            return true;
        }
        if greeting.caller == Caller::CommandLine {
            return true;
        }
        line.answer(CURRENT - 1, &raw_connection::welcome());
        raw_connection::serve(&mut line);
        false
    });
    let mut client = home.connect(&[]);
    assert_eq!(client.initialize("2025-11-25")["served_by"], "fake");
}
