//! Clients that flood, stall or do not listen: they harm only themselves.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

use super::exclusive::exclusive;
use super::process::{Signal, peak_memory, signal};
use super::raw_connection;

/// What 95 of 100 pings of a normal client may take beside the others, in an unoptimised build on a busy machine.
const PING: Duration = Duration::from_millis(500);
/// The most memory the daemon may have had, in KiB.
const MEMORY: u64 = 200 << 10;

/// A host that asks for more than anybody can answer, and never reads.
struct Flood {
    proxy: Child,
}

impl Flood {
    fn start(home: &Home) -> Self {
        let mut proxy = home.proxy(&[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a proxy");
        let stdin = proxy.stdin.take().expect("piped");
        std::thread::spawn(move || pour(stdin));
        Self { proxy }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

/// Writes until the proxy is gone.
fn pour(mut stdin: ChildStdin) {
    let opening = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": raw_connection::opening() });
    if writeln!(stdin, "{opening}").is_err() {
        return;
    }
    for id in 1_u64.. {
        let params = json!({ "name": "vault_read", "arguments": { "path": "long.md", "full": true } });
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        if writeln!(stdin, "{call}").is_err() {
            return;
        }
    }
}

fn home_with_a_long_file() -> Home {
    let home = Home::new();
    home.write("vault/long.md", "a line of text\n".repeat(1_300));
    home
}

fn counter(home: &Home, name: &str) -> u64 {
    home.status().and_then(|status| status["counters"][name].as_u64()).expect("a daemon")
}

/// Pings until `enough`, and returns how long the slowest of 95 in 100 took.
fn ping_while(client: &mut Client, mut enough: impl FnMut() -> bool) -> Duration {
    let mut times = Vec::new();
    while !enough() {
        let began = Instant::now();
        client.request("ping", json!({}));
        times.push(began.elapsed());
        std::thread::sleep(Duration::from_millis(10));
    }
    times.sort_unstable();
    let most = times[times.len() * 95 / 100];
    println!("{} pings beside others: p50 {:?}, p95 {most:?}", times.len(), times[times.len() / 2]);
    most
}

#[test]
fn r20_floods_and_stalls_harm_only_themselves() {
    let _turn = exclusive();
    let home = home_with_a_long_file();
    let mut normal = home.host(&[]);
    let daemon = home.daemon_pid().expect("a daemon");
    let mut stalled = home.host(&[]);
    signal(stalled.pid(), Signal::STOP);
    let waiting = stalled.send("ping", json!({}));
    let _flood = Flood::start(&home);

    let mut looked = Instant::now();
    let began = Instant::now();
    let most = ping_while(&mut normal, || {
        // Asking costs a process, so it is not done after every ping.
        if looked.elapsed() < Duration::from_millis(500) {
            return false;
        }
        looked = Instant::now();
        counter(&home, "dropped_clients") > 0
    });
    let dropped = began.elapsed();
    println!("the deaf client was dropped after {dropped:?}; peak memory {} KiB", peak_memory(daemon));
    assert!(most <= PING, "{most:?}");
    assert!(dropped >= Duration::from_secs(9), "it had ten seconds: {dropped:?}");
    assert_eq!(counter(&home, "dropped_clients"), 1, "the one that is merely stopped is not dropped");
    assert!(peak_memory(daemon) <= MEMORY, "{} KiB", peak_memory(daemon));

    signal(stalled.pid(), Signal::CONT);
    stalled.answer(waiting);
    assert_eq!(home.daemons(), [daemon]);
}

/// A host that did not read for longer than the write timeout, and then listens, has lost nothing.
#[test]
fn r20_a_client_that_listens_again_gets_every_answer_once() {
    let home = home_with_a_long_file();
    let mut client = home.host(&[]);
    signal(client.pid(), Signal::STOP);
    let params = json!({ "name": "vault_read", "arguments": { "path": "long.md", "full": true } });
    let mut due: Vec<u64> = (0..60).map(|_| client.send("tools/call", params.clone())).collect();
    signal(client.pid(), Signal::CONT);
    wait_until("the daemon works on them", || {
        let status = home.status().expect("a daemon");
        (status["counters"]["calls"].as_u64() > Some(0)).then_some(())
    });
    signal(client.pid(), Signal::STOP);
    wait_until("the stopped client is dropped or done", || {
        let status = home.status().expect("a daemon");
        let done = status["sessions"].as_array().is_some_and(|all| all.iter().all(|one| one["in_flight"] == 0));
        (status["counters"]["dropped_clients"].as_u64() > Some(0) || done).then_some(())
    });
    signal(client.pid(), Signal::CONT);
    while !due.is_empty() {
        let message: Value = client.next_message();
        let place = due.iter().position(|id| message["id"] == *id);
        due.remove(place.unwrap_or_else(|| panic!("answered twice, or never asked: {}", message["id"])));
        assert!(message["result"]["structuredContent"]["text"].is_string(), "{message}");
    }
}

/// Hosts talk over pipes or, as Node does, over sockets. Whatever they read late arrives whole and once.
#[test]
fn answers_that_are_read_late_arrive_whole_over_pipes_and_sockets() {
    const CALLS: u64 = 60;
    let home = home_with_a_long_file();
    let pipes = || {
        let (ours, theirs) = std::io::pipe().expect("a pipe");
        (OwnedFd::from(ours), OwnedFd::from(theirs))
    };
    let sockets = || {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        (OwnedFd::from(ours), OwnedFd::from(theirs))
    };
    for (ours, theirs) in [pipes(), sockets()] {
        let mut proxy = home.proxy(&[]).stdin(Stdio::piped()).stdout(theirs).spawn().expect("a proxy");
        let mut stdin = proxy.stdin.take().expect("piped");
        let opening = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": raw_connection::opening() });
        writeln!(stdin, "{opening}").expect("the proxy reads");
        for id in 1..=CALLS {
            let params = json!({ "name": "vault_read", "arguments": { "path": "long.md", "full": true } });
            let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
            writeln!(stdin, "{call}").expect("the proxy reads");
        }
        wait_until("the daemon is done as far as the proxy listens", || {
            home.status().filter(|status| status["counters"]["calls"].as_u64() > Some(3))
        });
        let mut output = std::fs::File::from(ours);
        let (mut text, mut piece, mut lines) = (Vec::new(), [0; 5_000], 0);
        while lines <= CALLS as usize {
            let count = output.read(&mut piece).expect("more answers");
            assert_ne!(count, 0, "the proxy is still there");
            lines += piece[..count].iter().filter(|byte| **byte == b'\n').count();
            text.extend_from_slice(&piece[..count]);
        }
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let ids = lines.map(|line| {
            let answer: Value = serde_json::from_slice(line).expect("a whole message");
            assert!(answer["result"].is_object(), "{answer}");
            answer["id"].as_u64().expect("a number")
        });
        assert_eq!(ids.collect::<BTreeSet<u64>>(), (0..=CALLS).collect());
        drop(stdin);
        assert!(proxy.wait().expect("it ends").success());
    }
}

/// A host that goes away with answers on the way was not dropped as stalled.
#[test]
fn r20_a_client_that_leaves_is_not_counted_as_dropped() {
    let home = home_with_a_long_file();
    for _ in 0..5 {
        let mut client = home.host(&[]);
        let params = json!({ "name": "vault_read", "arguments": { "path": "long.md", "full": true } });
        for _ in 0..30 {
            client.send("tools/call", params.clone());
        }
        signal(client.pid(), Signal::KILL);
    }
    wait_until("all of them are gone", || {
        home.status().and_then(|status| (status["sessions"] == json!([])).then_some(()))
    });
    assert_eq!(counter(&home, "dropped_clients"), 0);
}
