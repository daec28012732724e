//! No daemon to be had: everything is answered all the same, says what to do, and heals without a new session.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, programs, wait_until};

/// How long a host may wait for an answer without a daemon.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(3);

/// Asks everything a host asks at its start; `cause` is named in what it learns.
fn check_refusals(client: &mut Client, cause: &str) {
    let began = Instant::now();
    let opened = client.initialize("2025-06-18");
    assert_eq!(opened["protocolVersion"], "2025-06-18");
    assert!(opened["instructions"].to_string().contains(cause), "{opened}");
    assert!(client.request("server/discover", json!({}))["supportedVersions"].is_array());
    assert_eq!(client.request("ping", json!({})), json!({}));
    assert_eq!(client.tool_names(), ["trellis_status"]);
    check_failed_call(client, cause);
    assert_eq!(client.request("prompts/list", json!({}))["prompts"], json!([]));
    let other = client.ask("resources/read", json!({ "uri": "x:y" }));
    assert_eq!(other["error"]["data"]["code"], "unavailable", "{other}");
    println!("without a daemon ({cause}): all answered after {:?}", began.elapsed());
    assert!(began.elapsed() < REFUSAL_TIMEOUT, "{:?}", began.elapsed());
}

fn check_failed_call(client: &mut Client, cause: &str) {
    let error = client.call_err("vault_read", json!({ "path": "a.md", "full": true }))["error"].clone();
    assert_eq!(error["code"], "unavailable");
    assert!(error["message"].to_string().contains(cause), "{error}");
    assert!(error["details"]["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{error}");
}

/// The session goes on with the daemon that can be had now, and the host hears that its list is old.
fn check_recovery(client: &mut Client) {
    let began = Instant::now();
    wait_until("the host is told of the tools", || {
        let told: Value = client.message_within(Duration::from_millis(100))?;
        assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
        Some(())
    });
    println!("a daemon is there: the host is told after {:?}", began.elapsed());
    assert!(client.tool_names().contains(&"vault_read".to_owned()));
    client.request("ping", json!({}));
}

#[test]
fn r9_a_missing_daemon_is_named_and_used_once_it_is_there() {
    let home = Home::new();
    let missing = home.path().join("trellisd");
    let home = home.with("TRELLIS_DAEMON", &missing);
    let mut client = home.connect(&[]);
    check_refusals(&mut client, "TRELLIS_DAEMON");
    symlink(programs::daemon(), &missing).expect("a link");
    check_recovery(&mut client);
}

#[test]
fn r9_a_daemon_that_fails_is_refused_and_tried_again() {
    let home = Home::new();
    let program = home.path().join("trellisd");
    symlink("/bin/false", &program).expect("a link");
    let home = home.with("TRELLIS_DAEMON", &program);
    let mut client = home.connect(&[]);
    check_refusals(&mut client, "did not start");
    fs::remove_file(&program).expect("removed");
    symlink(programs::daemon(), &program).expect("a link");
    check_recovery(&mut client);
}

#[test]
fn r9_a_state_directory_that_cannot_be_used_is_named() {
    let home = Home::new();
    fs::create_dir_all(home.state().parent().expect("a directory")).expect("directories");
    fs::write(home.state(), "in the way").expect("a file");
    let mut client = home.connect(&[]);
    check_refusals(&mut client, &home.state().display().to_string());
    fs::remove_file(home.state()).expect("removed");
    check_recovery(&mut client);
}

/// The daemon itself cannot listen: its own words reach the host.
#[test]
fn r9_what_a_failing_daemon_says_reaches_the_host() {
    let home = Home::new();
    let real = home.path().join("elsewhere");
    fs::create_dir(&real).expect("a directory");
    let link = home.path().join("link");
    symlink(&real, &link).expect("a link");
    let home = home.with("TRELLIS_SOCKET", link.join("daemon.sock"));
    let mut client = home.connect(&[]);
    client.initialize("2025-11-25");
    check_failed_call(&mut client, "the socket's directory");
}

#[test]
fn a_list_that_a_daemon_once_gave_is_remembered() {
    let home = Home::new();
    let flags = ["--only", "vault"];
    let tools = home.host(&flags).request("tools/list", json!({}))["tools"].clone();
    assert!(home.trellisd(&["stop"]).status.success());
    let missing = home.path().join("trellisd");
    let home = home.with("TRELLIS_DAEMON", &missing);
    let mut client = home.connect(&flags);
    client.initialize("2025-11-25");
    assert_eq!(client.request("tools/list", json!({}))["tools"], tools);
    check_failed_call(&mut client, "TRELLIS_DAEMON");
    let mut other = home.connect(&["--read-only"]);
    other.initialize("2025-11-25");
    assert_eq!(other.tool_names(), ["trellis_status"], "another surface has its own list");
    symlink(programs::daemon(), &missing).expect("a link");
    check_recovery(&mut client);
}

/// The revision without a handshake needs none to be refused either.
#[test]
fn a_modern_host_is_answered_without_a_daemon() {
    let home = Home::new();
    let missing = home.path().join("trellisd");
    let home = home.with("TRELLIS_DAEMON", &missing);
    let mut client = home.connect(&[]);
    client.go_modern();
    let found = client.request("server/discover", json!({}));
    assert_eq!(found["resultType"], "complete");
    assert_eq!(found["ttlMs"], 0, "nothing of it is to be kept");
    check_failed_call(&mut client, "TRELLIS_DAEMON");
    symlink(programs::daemon(), &missing).expect("a link");
    wait_until("the session is served", || client.tool_names().contains(&"vault_read".to_owned()).then_some(()));
}
