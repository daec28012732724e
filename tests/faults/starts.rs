//! However many proxies start at one instant, over whatever is left of dead daemons: one daemon, and an answer for all.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::process::Command;
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use serde_json::json;
use trellis_tests::harness::{Client, Home, programs, wait_until};

use super::exclusive::exclusive;
use super::load::fill_vault;
use super::process::{Signal, signal, until_gone};
use super::raw_connection::{self, RawConnection};

/// Proxies that start at one instant.
const MANY: usize = 50;

/// What 95 of 100 hosts may wait for their first answer.
fn bound() -> Duration {
    let strict = std::env::var_os("TRELLIS_STRICT").is_some_and(|value| value == "1");
    Duration::from_millis(if strict { 1_500 } else { 5_000 })
}

/// Starts all proxies at once; every one is answered, in time, by the same daemon.
fn storm(name: &str, home: &Home, commands: Vec<Command>) -> Vec<Client> {
    let start = Barrier::new(commands.len());
    let began = OnceLock::new();
    let (clients, mut times): (Vec<Client>, Vec<Duration>) = std::thread::scope(|scope| {
        let begin = |command| {
            let (start, began) = (&start, &began);
            scope.spawn(move || {
                start.wait();
                let began = began.get_or_init(Instant::now);
                let mut client = Client::start(command);
                let result = client.initialize("2025-11-25");
                assert_eq!(result["serverInfo"]["name"], "trellis");
                assert!(!result["instructions"].to_string().contains("not available"), "{result}");
                (client, began.elapsed())
            })
        };
        let threads: Vec<_> = commands.into_iter().map(begin).collect();
        threads.into_iter().map(|thread| thread.join().expect("an answer")).unzip()
    });
    times.sort_unstable();
    let (half, most) = (times[times.len() / 2], times[times.len() * 95 / 100]);
    println!("{name}: first answer p50 {half:?}, p95 {most:?}, of {}", times.len());
    assert!(most <= bound(), "{name}: p95 {most:?}");
    let daemons = wait_until("the daemons that were too many have left", || {
        let daemons = home.daemons();
        (daemons.len() <= 1).then_some(daemons)
    });
    let status = home.status().expect("a daemon");
    assert_eq!(daemons, [status["pid"].as_u64().expect("a pid") as u32]);
    assert_eq!(status["sessions"].as_array().map(Vec::len), Some(clients.len()));
    clients
}

fn storm_of_many(name: &str, home: &Home) -> Vec<Client> {
    let _turn = exclusive();
    programs::proxy();
    storm(name, home, (0..MANY).map(|_| home.proxy(&[])).collect())
}

#[test]
fn r7_fifty_proxies_at_once_make_one_daemon() {
    storm_of_many("cold", &Home::new());
}

#[test]
fn r7_the_socket_of_a_dead_process_is_replaced() {
    let home = Home::new();
    drop(raw_connection::listen(&home));
    assert!(fs::symlink_metadata(home.paths().socket).is_ok(), "the leftover is there");
    storm_of_many("stale socket", &home);
}

#[test]
fn r7_a_file_in_place_of_the_socket_is_replaced() {
    let home = Home::new();
    drop(raw_connection::listen(&home));
    let socket = home.paths().socket;
    fs::remove_file(&socket).expect("removed");
    fs::write(&socket, "no socket").expect("a file");
    home.host(&[]).request("ping", json!({}));
    assert_eq!(home.daemons().len(), 1);
}

#[test]
fn r7_a_link_to_nowhere_in_place_of_the_socket_is_replaced() {
    let home = Home::new();
    drop(raw_connection::listen(&home));
    let socket = home.paths().socket;
    fs::remove_file(&socket).expect("removed");
    let elsewhere = home.path().join("nowhere");
    symlink(&elsewhere, &socket).expect("a link");
    home.host(&[]).request("ping", json!({}));
    assert_eq!(home.daemons().len(), 1);
    assert!(!elsewhere.exists(), "the link is replaced, not followed");
}

#[test]
fn r7_what_a_killed_daemon_leaves_does_not_hinder_the_next() {
    let home = Home::new();
    home.host(&[]).request("ping", json!({}));
    let pid = home.daemon_pid().expect("a daemon");
    home.kill(pid);
    until_gone(pid);
    let places = home.paths();
    for left in [&places.socket, &places.daemon_lock(), &places.start_lock(), &places.socket_pointer()] {
        assert!(fs::symlink_metadata(left).is_ok(), "{} is left", left.display());
    }
    storm_of_many("after a kill", &home);
}

#[test]
fn r7_locks_and_notes_are_believed_only_if_somebody_holds_them() {
    let home = Home::new();
    let places = home.paths();
    fs::create_dir_all(&places.state).expect("a directory");
    fs::write(places.daemon_lock(), "1\n").expect("a lock with a pid that lives");
    fs::write(places.start_lock(), "1\n").expect("a lock with a pid that lives");
    fs::write(places.socket_pointer(), "/nowhere/daemon.sock\n").expect("a note");
    let mut client = home.host(&[]);
    client.request("ping", json!({}));
    fs::write(places.socket_pointer(), b"\xff\0 no path").expect("a note");
    home.host(&[]).request("ping", json!({}));
    assert_eq!(home.daemons().len(), 1);
}

#[test]
fn r7_hosts_with_different_runtime_directories_meet() {
    let _turn = exclusive();
    let home = Home::new();
    programs::proxy();
    let runtime = ["a", "b"].map(|name| home.path().join(name));
    for directory in &runtime {
        fs::DirBuilder::new().mode(0o700).create(directory).expect("a directory");
    }
    let commands = (0..MANY).map(|number| {
        let mut command = home.proxy(&[]);
        if let Some(directory) = runtime.get(number % 3) {
            command.env("XDG_RUNTIME_DIR", directory);
        }
        command
    });
    storm("different runtime directories", &home, commands.collect());
}

/// A client that asks for much and reads nothing makes its daemon take long to leave.
#[test]
fn r7_a_daemon_is_started_while_another_one_drains() {
    let _turn = exclusive();
    let home = Home::new();
    fill_vault(&home);
    let mut first = home.host(&[]);
    let old = home.daemon_pid().expect("a daemon");
    let deaf = RawConnection::stalled(&home);
    signal(old, Signal::TERM);
    wait_until("the old daemon does not listen any more", || {
        fs::symlink_metadata(home.paths().socket).is_err().then_some(())
    });
    let began = Instant::now();
    let commands = (0..10).map(|_| home.proxy(&[])).collect();
    let waiting = first.send("tools/call", json!({ "name": "vault_ls", "arguments": {} }));
    let clients = all_at_once(commands);
    assert!(first.answer(waiting)["result"]["structuredContent"]["items"].is_array());
    println!("beside a draining daemon: all answered after {:?}", began.elapsed());
    until_gone(old);
    assert_eq!(home.daemons().len(), 1);
    drop((clients, deaf));
}

fn all_at_once(commands: Vec<Command>) -> Vec<Client> {
    let mut clients: Vec<Client> = commands.into_iter().map(Client::start).collect();
    for client in &mut clients {
        let result = client.initialize("2025-11-25");
        assert!(!result["instructions"].to_string().contains("not available"), "{result}");
    }
    clients
}
