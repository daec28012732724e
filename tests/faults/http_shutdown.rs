//! A gateway whose daemon leaves: what is in flight is answered, streams end, and nothing hangs.

use std::time::{Duration, Instant};

use serde_json::json;
use trellis_tests::harness::{Home, wait_until};

#[test]
fn what_is_in_flight_is_answered_before_the_daemon_leaves() {
    let home = Home::new();
    home.write("vault/a.md", "one\n");
    let (home, web) = home.gateway(&[]);
    let (session, _) = web.initialize("/mcp", "2025-11-25");
    let listening = session.with("Accept", "text/event-stream");
    let mut stream = listening.open();
    stream.write(&listening.bytes("GET", "/mcp", None));
    assert_eq!(stream.head().status, 200);
    let mut idle = web.open();
    let mut lines: Vec<_> = (0..16).map(|_| web.open()).collect();
    let json = web.with("Content-Type", "application/json");
    for (number, line) in lines.iter_mut().enumerate() {
        let body = json!({ "path": format!("n{number}.md"), "content": "x" }).to_string();
        line.write(&json.bytes("POST", "/tools/vault_create", Some(body.as_bytes())));
    }
    // One thread serves: once this is answered, it has read what came before.
    assert!(home.trellisd(&["status"]).status.success());
    let began = Instant::now();
    assert!(home.trellisd(&["stop"]).status.success());
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    let mut written = 0;
    for line in &mut lines {
        let reply = line.reply();
        match reply.status {
            200 => written += 1,
            503 => {}
            other => panic!("{other}: {}", reply.text()),
        }
    }
    let there = std::fs::read_dir(home.project().join("vault")).expect("a vault").count() - 1;
    assert_eq!(written, there, "what was acknowledged was done, and nothing else");
    assert!(stream.is_closed() && idle.is_closed());
    idle.try_write(b"x").ok();
    wait_until("the port is free", || std::net::TcpListener::bind(web.address).ok());
}

#[test]
fn the_next_daemon_listens_at_the_same_place() {
    let home = Home::new();
    home.write("vault/a.md", "one\n");
    let (home, web) = home.gateway(&[]);
    assert_eq!(web.get("/tools").status, 200);
    home.kill(home.daemon_pid().expect("a daemon"));
    let mut host = wait_until("a host gets a daemon", || Some(home.host(&[])));
    host.tool_names();
    assert_eq!(web.get("/tools").status, 200);
}
