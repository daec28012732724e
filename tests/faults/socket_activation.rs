//! A socket that a service manager opened: used as it is, and left where it is.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use trellis_tests::harness::{Home, programs, wait_until};

use super::process::{Signal, signal, until_gone};
use super::raw_connection;

/// Starts the daemon as systemd does: the listener is descriptor 3, and the variables say so.
fn activated(home: &Home, listener: OwnedFd) -> Child {
    let script = "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" run 3<&0 0</dev/null";
    let mut command = home.command("/bin/sh".as_ref());
    command.args(["-c", script]).arg(programs::daemon());
    command.stdin(Stdio::from(listener)).stderr(Stdio::null()).spawn().expect("the daemon starts")
}

#[test]
fn r7_an_inherited_socket_is_served_and_left_alone() {
    let home = Home::new().with("TRELLIS_IDLE_SECONDS", "1");
    let socket = home.paths().socket;
    let listener = raw_connection::listen(&home);
    let inode = fs::metadata(&socket).expect("a socket").ino();
    // The manager starts its service because somebody has connected; that client must be served too.
    let mut early = home.connect(&[]);
    let opening = early.send("initialize", raw_connection::opening());
    let mut daemon = activated(&home, listener.try_clone().expect("a copy").into());
    assert_eq!(early.answer(opening)["result"]["serverInfo"]["name"], "trellis");
    assert_eq!(home.daemons(), [daemon.id()], "the proxy has started no other");
    assert_eq!(home.status().expect("a daemon")["started_by"], "as a service");
    early.close();

    let long = Instant::now() + Duration::from_millis(2_000);
    while Instant::now() < long {
        assert!(daemon.try_wait().expect("asked").is_none(), "a service stays without clients");
        std::thread::sleep(Duration::from_millis(50));
    }
    signal(daemon.id(), Signal::TERM);
    assert_eq!(daemon.wait().expect("it ends").code(), Some(0));
    assert_eq!(fs::metadata(&socket).expect("the socket is still there").ino(), inode);

    // The manager goes on listening, and the next daemon serves who has come meanwhile.
    let mut next = home.connect(&[]);
    let opening = next.send("initialize", raw_connection::opening());
    let mut daemon = activated(&home, listener.into());
    assert_eq!(next.answer(opening)["result"]["serverInfo"]["name"], "trellis");
    next.request("ping", json!({}));
    signal(daemon.id(), Signal::TERM);
    daemon.wait().expect("it ends");
}

#[test]
fn r7_an_inherited_socket_elsewhere_is_found_by_its_note() {
    let home = Home::new();
    let elsewhere = home.path().join("manager.sock");
    let listener = std::os::unix::net::UnixListener::bind(&elsewhere).expect("bind");
    let mut daemon = activated(&home, listener.into());
    wait_until("the daemon is ready", || home.daemon_pid());
    home.host(&[]).request("ping", json!({}));
    assert_eq!(home.daemons(), [daemon.id()]);
    signal(daemon.id(), Signal::TERM);
    daemon.wait().expect("it ends");
    assert!(elsewhere.exists());
}

/// A service was set up on purpose: the daemon that was started on demand makes room, and no session ends.
#[test]
fn r7_a_service_takes_over_from_a_daemon_started_on_demand() {
    let home = Home::new();
    let mut client = home.host(&[]);
    let old = home.daemon_pid().expect("a daemon");
    let elsewhere = home.path().join("manager.sock");
    let listener = std::os::unix::net::UnixListener::bind(&elsewhere).expect("bind");
    let mut service = activated(&home, listener.into());
    until_gone(old);
    wait_until("the service is ready", || home.daemon_pid().filter(|pid| *pid == service.id()));
    client.request("ping", json!({}));
    assert_eq!(home.daemons(), [service.id()]);
    signal(service.id(), Signal::TERM);
    service.wait().expect("it ends");
}

/// The manager listens where the daemon did: nobody can reach the old one there any more, not even to say so.
#[test]
fn r7_a_service_takes_over_at_the_same_place() {
    let home = Home::new();
    let mut client = home.host(&[]);
    let old = home.daemon_pid().expect("a daemon");
    fs::remove_file(home.paths().socket).expect("removed");
    let listener = raw_connection::listen(&home);
    let mut early = home.connect(&[]);
    let opening = early.send("initialize", raw_connection::opening());
    let mut service = activated(&home, listener.into());
    assert_eq!(early.answer(opening)["result"]["serverInfo"]["name"], "trellis");
    until_gone(old);
    client.request("ping", json!({}));
    assert_eq!(home.daemons(), [service.id()]);
    signal(service.id(), Signal::TERM);
    service.wait().expect("it ends");
}

#[test]
fn r28_the_units_are_understood_by_systemd() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../systemd");
    let units: Vec<_> = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let is_unit = |path: &&std::path::PathBuf| path.extension().is_some_and(|end| end == "service" || end == "socket");
    let units: Vec<_> = units.iter().filter(is_unit).collect();
    let there = Command::new("systemd-analyze").arg("--version").output().is_ok();
    if units.is_empty() || !there {
        println!("skipped: no units, or nobody to check them");
        return;
    }
    // The program that the unit starts is looked for, so it is put where the unit says below another root.
    let output = Command::new("systemd-analyze")
        .args(["--user", "verify", "--man=no"])
        .args(&units)
        .output()
        .expect("systemd-analyze runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let about_us = |line: &&str| line.contains("trellis") && !line.contains("is not executable");
    let complaints: Vec<&str> = said.lines().filter(about_us).collect();
    assert!(complaints.is_empty(), "{said}");
}
