//! Slow, silent and greedy callers of the gateway harm only themselves.

use std::time::{Duration, Instant};

use serde_json::json;
use trellis_tests::harness::http::HttpConnection;
use trellis_tests::harness::{Home, HttpClient};

use super::exclusive::exclusive;

/// What a quick request may take beside all the others.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(1500);

fn vault() -> (Home, HttpClient) {
    let home = Home::new();
    home.write("vault/a.md", "one\n");
    home.gateway(&[])
}

#[track_caller]
fn check_served(web: &HttpClient) {
    for _ in 0..20 {
        let began = Instant::now();
        assert_eq!(web.post("/tools/vault_ls", &json!({})).status, 200);
        assert!(began.elapsed() < ANSWER_TIMEOUT, "{:?}", began.elapsed());
    }
}

#[test]
fn idle_slow_and_greedy_callers_are_not_noticed_by_others() {
    let _turn = exclusive();
    let (_home, web) = vault();
    let json = web.with("Content-Type", "application/json");
    let idle: Vec<HttpConnection> = (0..64).map(|_| web.open()).collect();
    let mut heads: Vec<HttpConnection> = (0..32).map(|_| web.open()).collect();
    for line in &mut heads {
        line.write(b"POST /tools HTTP/1.1\r\nHost: local");
    }
    let mut bodies: Vec<HttpConnection> = (0..64).map(|_| web.open()).collect();
    for line in &mut bodies {
        line.write(&json.with("Content-Length", "1000").bytes("POST", "/tools/vault_ls", None));
        line.write(b"{");
    }
    let mut greedy: Vec<HttpConnection> = (0..4).map(|_| web.open()).collect();
    for line in &mut greedy {
        line.write(&json.with("Content-Length", &(5 << 20).to_string()).bytes("POST", "/tools/vault_ls", None));
        line.write(&vec![b' '; 1 << 20]);
    }
    check_served(&web);
    drop((idle, heads, bodies, greedy));
    check_served(&web);
}

/// A head has ten seconds, however it trickles in; a body has thirty.
#[test]
fn heads_and_bodies_have_their_time() {
    let _turn = exclusive();
    let (_home, web) = vault();
    let began = Instant::now();
    let mut head = web.open();
    head.write(b"GET /health HTTP/1.1\r\n");
    let mut body = web.open();
    let slow = web.with("Content-Type", "application/json").with("Content-Length", "1000");
    body.write(&slow.bytes("POST", "/tools/vault_ls", None));
    let mut quiet = web.open();
    while began.elapsed() < Duration::from_secs(9) {
        head.write(b"X: y\r\n");
        body.write(b" ");
        std::thread::sleep(Duration::from_millis(500));
    }
    // It may be gone while we write.
    while head.try_write(b"X: y\r\n").is_ok() && began.elapsed() < Duration::from_secs(14) {
        let _ = body.try_write(b" ");
        std::thread::sleep(Duration::from_millis(200));
    }
    let given_up = began.elapsed();
    assert!((9..14).contains(&given_up.as_secs()), "the head was given up after {given_up:?}");
    quiet.write(&web.bytes("GET", "/health", None));
    assert_eq!(quiet.reply().status, 200, "one that was merely quiet is served");
    let late = until_reply(&mut body, began);
    assert_eq!((late.status, late.code()), (408, (-32600).into()));
    assert!((28..36).contains(&began.elapsed().as_secs()), "the body was given up after {:?}", began.elapsed());
}

/// Sends a byte now and then until there is an answer.
fn until_reply(line: &mut HttpConnection, began: Instant) -> trellis_tests::harness::http::HttpResponse {
    while began.elapsed() < Duration::from_secs(29) {
        if line.try_write(b" ").is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    line.reply()
}

/// Whoever holds connections and says nothing makes room for those who have something to say.
#[test]
fn silent_connections_lock_nobody_out() {
    let _turn = exclusive();
    let (_home, web) = vault();
    let mut known = web.open();
    known.write(&web.bytes("GET", "/tools", None));
    assert_eq!(known.reply().status, 200);
    let mut silent: Vec<HttpConnection> = (0..600).map(|_| web.open()).collect();
    for line in &mut silent[300..] {
        // Some may be closed already.
        let _ = line.try_write(b"GET /tools HTTP/1.1\r\nX-API-Key: ");
    }
    check_served(&web);
    assert!(silent[0].is_closed(), "the oldest made room");
    known.write(&web.bytes("GET", "/tools", None));
    assert_eq!(known.reply().status, 200, "a connection that has shown a key is not the one to go");
}

#[test]
fn more_connections_than_there_is_room_for_are_told_so() {
    let _turn = exclusive();
    let (_home, web) = vault();
    let mut lines: Vec<HttpConnection> = (0..512).map(|_| web.open()).collect();
    for line in &mut lines {
        line.write(&web.bytes("GET", "/tools", None));
        assert_eq!(line.reply().status, 200);
    }
    let mut refused = web.open();
    let reply = refused.reply();
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert!(reply.header("x-request-id").is_some());
    let mut last = lines.pop().expect("a line");
    last.write(&web.bytes("GET", "/health", None));
    assert_eq!(last.reply().status, 200, "those who came in time are served");
    drop(lines);
    trellis_tests::harness::wait_until("there is room again", || {
        let mut line = web.open();
        line.try_write(&web.bytes("GET", "/health", None)).ok()?;
        (line.head().status == 200).then_some(())
    });
}
