//! Nobody wants anything: neither program uses the processor.

use std::time::Duration;

use serde_json::json;
use trellis_tests::harness::{Home, wait_until};

use super::process::ticks;

/// How long nothing happens.
const IDLE_PERIOD: Duration = Duration::from_secs(3);
/// A tick is 10 ms on most systems.
const MAX_CPU_TICKS: u64 = 1;

fn check(pids: &[u32]) {
    // What the last request left to be done is soon over.
    wait_until("both have come to rest", || {
        let used = |pids: &[u32]| pids.iter().map(|pid| ticks(*pid)).collect::<Vec<_>>();
        let before = used(pids);
        std::thread::sleep(Duration::from_millis(200));
        (used(pids) == before).then_some(())
    });
    let before: Vec<u64> = pids.iter().map(|pid| ticks(*pid)).collect();
    std::thread::sleep(IDLE_PERIOD);
    let used: Vec<u64> = pids.iter().zip(before).map(|(pid, before)| ticks(*pid) - before).collect();
    assert!(used.iter().all(|used| *used <= MAX_CPU_TICKS), "ticks in {IDLE_PERIOD:?}: {used:?}");
}

#[test]
fn an_idle_proxy_and_an_idle_daemon_use_no_processor() {
    let home = Home::new();
    let mut client = home.host(&[]);
    client.request("ping", json!({}));
    check(&[client.pid(), home.daemon_pid().expect("a daemon")]);
}

/// A proxy that rests after its daemon was stopped does not look for another one.
#[test]
fn a_proxy_whose_daemon_was_stopped_uses_no_processor() {
    let home = Home::new();
    let client = home.host(&[]);
    assert!(home.trellisd(&["stop"]).status.success());
    check(&[client.pid()]);
}

/// Looking for a daemon that cannot be had costs next to nothing either.
#[test]
fn a_proxy_without_a_daemon_uses_next_to_no_processor() {
    let home = Home::new();
    let home = home.with("TRELLIS_DAEMON", "/nowhere/trellisd");
    let client = home.host(&[]);
    check(&[client.pid()]);
}
