//! What is told about the daemon, at any time; and what never is: arguments and the text of files.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

#[test]
fn status_is_answered_from_memory_during_long_calls() {
    let home = Home::with_fixtures();
    let (mut busy, mut other) = (home.host(&["--only", "fixture"]), home.host(&[]));
    let ids: Vec<u64> = (0..20)
        .map(|_| busy.send("tools/call", json!({ "name": "block_until", "arguments": { "gate": "status" } })))
        .collect();
    let working = |home: &Home| {
        let status = home.status().expect("a daemon");
        let session = status["sessions"].as_array().expect("sessions").iter().find(|s| s["pid"] == busy.pid()).cloned();
        session.filter(|session| session["in_flight"] == ids.len()).map(|session| (status, session))
    };
    let (status, session) = wait_until("the calls are being worked on", || working(&home));
    assert_eq!(session["client"], "test 1");
    assert_eq!(session["directory"], home.project().display().to_string());
    assert_eq!(status["sessions"].as_array().map(Vec::len), Some(2));
    assert_eq!(status["counters"]["sessions"], 2);
    assert_eq!(status["build"], env!("CARGO_PKG_VERSION"));
    assert!(status["families"].as_array().is_some_and(|families| families.len() >= 3));
    wait_until("a status within 50 milliseconds", || {
        let begin = Instant::now();
        home.status().expect("a daemon");
        (begin.elapsed() <= Duration::from_millis(50)).then_some(())
    });
    other.call_ok("fixture_open_gate", json!({ "gate": "status" }));
    for id in &ids {
        busy.answer(*id);
    }
    wait_until("the calls are counted", || {
        let status = home.status().expect("a daemon");
        (status["counters"]["calls"] == ids.len() + 1).then_some(())
    });
}

#[test]
fn a_host_is_known_by_its_name_in_both_eras() {
    let home = Home::new();
    let names = || -> Vec<Value> {
        let status = home.status().expect("a daemon");
        status["sessions"].as_array().expect("sessions").iter().map(|session| session["client"].clone()).collect()
    };
    let mut modern = home.connect(&[]);
    modern.go_modern();
    modern.tool_names();
    assert_eq!(names(), ["test 1"]);
    let _legacy = home.host(&[]);
    let pid = home.daemon_pid().expect("a daemon");
    home.kill(pid);
    modern.tool_names();
    wait_until("both are known to the next daemon too", || (names() == ["test 1", "test 1"]).then_some(()));
}

#[test]
fn a_session_that_ends_is_gone() {
    let home = Home::new();
    let mut client = home.host(&[]);
    assert_eq!(home.status().expect("a daemon")["sessions"].as_array().map(Vec::len), Some(1));
    assert!(client.close().success());
    wait_until("no sessions", || {
        let status = home.status().expect("a daemon");
        status["sessions"].as_array().is_some_and(Vec::is_empty).then_some(())
    });
}

/// A word that is in arguments and files of this test, and must be nowhere else.
const SECRET: &str = "xyzzy-4711";

#[test]
fn neither_arguments_nor_texts_reach_a_log() {
    let home = Home::with_fixtures();
    home.write("vault/a.md", format!("text {SECRET}"));
    let stderr = home.path().join("stderr");
    let mut command = home.proxy(&[]);
    command.stderr(fs::File::create(&stderr).expect("a file"));
    let mut client = Client::start(command);
    client.initialize("2025-11-25");
    client.call_ok("vault_read", json!({ "path": "a.md", "full": true }));
    client.call_err("vault_read", json!({ "path": SECRET, "full": true }));
    client.call_err("fixture_get_line", json!({ "play": SECRET }));
    client.call_err("fixture_panic_inline", json!({ "line": SECRET }));
    client.call_err("fixture_panic_blocking", json!({ "line": SECRET }));
    client.call_ok("fixture_notify_change", json!({ "play": "hamlet", "text": SECRET }));
    client.ask("tools/call", json!({ "name": SECRET }));
    client.ask("resources/read", json!({ "uri": format!("fixture://plays/{SECRET}") }));
    client.ask("resources/list", json!({ "cursor": SECRET }));
    client.ask("prompts/get", json!({ "name": "audition", "arguments": { "play": SECRET } }));
    client.ask(SECRET, json!({}));
    client.notify("notifications/cancelled", json!({ "requestId": 1, "reason": SECRET }));
    client.send_line(SECRET);
    client.request("ping", json!({}));
    assert!(client.close().success());
    assert!(home.trellisd(&["stop"]).status.success());
    assert!(home.log().contains("ready"), "there is a log");
    for (name, text) in [("daemon.log", home.log()), ("stderr", fs::read_to_string(&stderr).expect("a file"))] {
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(SECRET)).collect();
        assert!(lines.is_empty(), "in {name}: {lines:#?}");
    }
}
