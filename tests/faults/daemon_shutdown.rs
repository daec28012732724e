//! Shutdown on purpose: a daemon finishes its work, removes its socket, and is replaced only when somebody asks.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use trellis_tests::harness::{Client, Home, programs, wait_until};

use super::exclusive::exclusive;
use super::load::{IN_FLIGHT, Load};
use super::process::{Signal, is_alive, signal, until_gone};
use super::raw_connection::RawConnection;

const TERMS: usize = 10;
/// How long a daemon may take to leave.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Long enough for a proxy that wanted a daemon to have one.
const SHUTDOWN_WAIT: Duration = Duration::from_millis(500);

/// A program that is the daemon and books how each one ended.
fn booking(home: Home) -> Home {
    let (program, book) = (home.path().join("trellisd"), home.path().join("book"));
    let real = programs::daemon();
    let script = format!("#!/bin/sh\n'{}' \"$@\"\necho $? >> '{}'\n", real.display(), book.display());
    fs::write(&program, script).expect("a script");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    home.with("TRELLIS_DAEMON", program)
}

#[test]
fn r22_a_daemon_that_is_told_to_leave_costs_no_answer() {
    let _turn = exclusive();
    let home = booking(Home::new());
    let load = Load::start(&home, (0..3).map(|_| home.host(&["--only", "vault"])).collect());
    let mut times = Vec::new();
    for _ in 0..TERMS {
        load.go_on(2 * IN_FLIGHT as u64);
        let pid = wait_until("a daemon", || home.daemon_pid());
        let told = Instant::now();
        signal(pid, Signal::TERM);
        until_gone(pid);
        times.push(told.elapsed());
        load.go_on(IN_FLIGHT as u64);
    }
    let (_clients, answers) = load.finish();
    times.sort_unstable();
    println!("{TERMS} times told to leave, {answers} answers: gone after at most {:?}", times[TERMS - 1]);
    assert!(times[TERMS - 1] <= SHUTDOWN_TIMEOUT, "{times:?}");
    let book = wait_until("every end is in the book", || {
        let book = fs::read_to_string(home.path().join("book")).ok()?;
        (book.lines().count() >= TERMS).then_some(book)
    });
    assert!(book.lines().all(|status| status == "0"), "{book}");
}

#[test]
fn r22_a_stopped_daemon_comes_back_only_when_a_host_speaks() {
    let home = Home::new();
    let mut clients: Vec<Client> = (0..3).map(|_| home.host(&[])).collect();
    assert!(home.trellisd(&["stop"]).status.success());
    assert!(home.daemons().is_empty());
    assert!(!home.paths().socket.exists() && !home.paths().socket_pointer().exists(), "nothing of it is left");
    let until = Instant::now() + SHUTDOWN_WAIT;
    while Instant::now() < until {
        assert!(home.daemons().is_empty(), "nobody asked for a daemon");
        std::thread::sleep(Duration::from_millis(20));
    }
    for client in &mut clients {
        client.request("ping", json!({}));
    }
    assert_eq!(home.daemons().len(), 1);
}

#[test]
fn r22_stop_without_a_daemon_is_no_error() {
    let home = Home::new();
    assert!(home.trellisd(&["stop"]).status.success());
    assert!(home.daemons().is_empty());
}

/// A daemon in the foreground, ready.
fn by_hand(home: &Home) -> Child {
    by_hand_as(home, &programs::daemon())
}

fn by_hand_as(home: &Home, program: &Path) -> Child {
    let mut command = home.command(program);
    let daemon = command.arg("run").stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("the daemon starts");
    wait_until("the daemon is ready", || home.daemon_pid());
    daemon
}

#[test]
fn r22_signals_end_a_daemon_with_status_0() {
    for told in [Signal::TERM, Signal::INT] {
        let home = Home::new();
        let mut daemon = by_hand(&home);
        let _idle = home.host(&[]);
        let began = Instant::now();
        signal(daemon.id(), told);
        assert_eq!(daemon.wait().expect("it ends").code(), Some(0));
        assert!(began.elapsed() <= SHUTDOWN_TIMEOUT);
        assert!(!home.paths().socket.exists());
    }
}

#[test]
fn r22_a_deaf_client_does_not_keep_a_daemon_that_leaves() {
    let home = Home::new();
    let mut daemon = by_hand(&home);
    let _deaf = RawConnection::stalled(&home);
    let began = Instant::now();
    signal(daemon.id(), Signal::TERM);
    assert_eq!(daemon.wait().expect("it ends").code(), Some(0));
    println!("with a deaf client: gone after {:?}", began.elapsed());
    assert!(began.elapsed() <= SHUTDOWN_TIMEOUT + Duration::from_millis(500), "{:?}", began.elapsed());
}

/// A call that waits for a cue which nobody gives.
fn endless_call(home: &Home, client: &mut Client) -> u64 {
    let id = client.send("tools/call", json!({ "name": "fixture_block_until", "arguments": { "gate": "never" } }));
    let mut other = home.host(&[]);
    wait_until("the call is under way", || {
        let seen = other.call_ok("fixture_gate_state", json!({ "gate": "never" }));
        (seen["waits"]["waiting"].as_u64() > Some(0)).then_some(())
    });
    id
}

#[test]
fn r22_a_call_that_does_not_end_does_not_keep_a_daemon_that_leaves() {
    let home = Home::with_fixtures();
    let mut daemon = by_hand_as(&home, &programs::fixture_daemon());
    let mut client = home.host(&[]);
    let id = endless_call(&home, &mut client);
    let began = Instant::now();
    signal(daemon.id(), Signal::TERM);
    let status = wait_until("it ends", || daemon.try_wait().expect("asked"));
    println!("with an endless call: gone after {:?}", began.elapsed());
    assert_eq!(status.code(), Some(0));
    assert!(began.elapsed() <= SHUTDOWN_TIMEOUT + Duration::from_millis(500), "{:?}", began.elapsed());
    // The next daemon works on it again.
    let mut other = home.host(&[]);
    other.call_ok("fixture_open_gate", json!({ "gate": "never" }));
    assert_eq!(client.answer(id)["result"]["isError"], false);
}

#[test]
fn r22_a_daemon_that_dies_while_it_leaves_costs_no_answer() {
    let home = Home::with_fixtures();
    let mut client = home.host(&[]);
    let old = home.daemon_pid().expect("a daemon");
    let id = endless_call(&home, &mut client);
    signal(old, Signal::TERM);
    wait_until("it has begun to leave", || (!home.paths().socket.exists()).then_some(()));
    signal(old, Signal::KILL);
    let mut other = home.host(&[]);
    other.call_ok("fixture_open_gate", json!({ "gate": "never" }));
    assert_eq!(client.answer(id)["result"]["isError"], false);
}

#[test]
fn r22_a_second_signal_ends_at_once() {
    let home = Home::new();
    let mut daemon = by_hand(&home);
    let _deaf = RawConnection::stalled(&home);
    signal(daemon.id(), Signal::TERM);
    wait_until("it has begun to leave", || (!home.paths().socket.exists()).then_some(()));
    let began = Instant::now();
    signal(daemon.id(), Signal::TERM);
    assert_eq!(daemon.wait().expect("it ends").code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn a_daemon_started_on_demand_leaves_when_nobody_is_left() {
    let home = Home::new().with("TRELLIS_IDLE_SECONDS", "1");
    let mut client = home.host(&[]);
    let pid = home.daemon_pid().expect("a daemon");
    let long = Instant::now() + Duration::from_millis(2_500);
    while Instant::now() < long {
        assert!(is_alive(pid), "it has a client");
        std::thread::sleep(Duration::from_millis(50));
    }
    client.request("ping", json!({}));
    client.close();
    let began = Instant::now();
    wait_until("the daemon leaves", || home.daemons().is_empty().then_some(()));
    assert!(began.elapsed() >= Duration::from_millis(800), "not before its time: {:?}", began.elapsed());
    assert!(!home.paths().socket.exists());
}

#[test]
fn a_daemon_in_the_foreground_stays() {
    let home = Home::new().with("TRELLIS_IDLE_SECONDS", "1");
    let mut daemon = by_hand(&home);
    home.host(&[]).close();
    let long = Instant::now() + Duration::from_millis(2_000);
    while Instant::now() < long {
        assert!(daemon.try_wait().expect("asked").is_none(), "it was started to stay");
        std::thread::sleep(Duration::from_millis(50));
    }
    signal(daemon.id(), Signal::TERM);
    daemon.wait().expect("it ends");
}

/// Somebody removed the socket: clients could not find this daemon, so it makes room for one they can find.
#[test]
fn r7_a_daemon_whose_socket_is_not_its_own_any_more_makes_room() {
    let home = Home::new();
    let mut first = home.host(&[]);
    let old = home.daemon_pid().expect("a daemon");
    let socket = home.paths().socket;
    let aside = socket.with_extension("aside");
    fs::rename(&socket, &aside).expect("moved");
    // Whoever comes lets it notice, if it has not left already.
    let _client = std::os::unix::net::UnixStream::connect(&aside);
    until_gone(old);
    first.request("ping", json!({}));
    assert_eq!(home.daemons().len(), 1);
}
