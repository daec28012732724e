//! A daemon that dies at work: every request is answered once, and no host notices anything but time.

use std::time::{Duration, Instant};

use serde_json::json;
use trellis_tests::harness::{Client, Home, wait_until};

use super::exclusive::exclusive;
use super::load::{IN_FLIGHT, Load};
use super::process::until_gone;

const KILLS: usize = 20;
/// What a host may wait at most because its daemon died.
const RECOVERY: Duration = Duration::from_secs(10);

fn legacy(home: &Home) -> Client {
    home.host(&["--only", "vault"])
}

fn modern(home: &Home) -> Client {
    let mut client = home.connect(&["--families", "vault"]);
    client.go_modern();
    client
}

#[test]
fn r8_a_killed_daemon_costs_no_answer() {
    let _turn = exclusive();
    let home = Home::new();
    let load = Load::start(&home, vec![legacy(&home), modern(&home), legacy(&home), modern(&home)]);
    let mut times: Vec<Duration> = (0..KILLS)
        .map(|_| {
            load.go_on(2 * IN_FLIGHT as u64);
            let pid = wait_until("a daemon", || home.daemon_pid());
            home.kill(pid);
            let killed = Instant::now();
            load.go_on(IN_FLIGHT as u64);
            killed.elapsed()
        })
        .collect();
    let (clients, answers) = load.finish();
    times.sort_unstable();
    println!(
        "{KILLS} kills, {answers} answers: every host goes on after p50 {:?}, p95 {:?}, at most {:?}",
        times[KILLS / 2],
        times[KILLS * 95 / 100],
        times[KILLS - 1]
    );
    assert!(times[KILLS - 1] <= RECOVERY, "{times:?}");
    assert_eq!(wait_until("one daemon", || Some(home.daemons()).filter(|found| found.len() == 1)).len(), 1);
    for mut client in clients {
        assert!(client.tool_names().contains(&"vault_read".to_owned()));
        assert!(client.close().success());
    }
}

#[test]
fn r9_an_idle_session_goes_on_with_the_next_daemon() {
    let home = Home::new();
    let (mut old, mut new) = (legacy(&home), modern(&home));
    let tools = (old.tool_names(), new.tool_names());
    let pid = home.daemon_pid().expect("a daemon");
    home.kill(pid);
    until_gone(pid);
    assert_eq!((old.tool_names(), new.tool_names()), tools, "the lists are the same");
    assert_ne!(home.daemon_pid(), Some(pid));
    old.request("ping", json!({}));
    assert!(old.message_within(Duration::ZERO).is_none(), "nothing else was said");
}

/// Requests that come while there is no daemon wait for the next one.
#[test]
fn r8_what_is_said_into_the_gap_is_answered_by_the_next_daemon() {
    let home = Home::new();
    let mut client = legacy(&home);
    let list = client.request("tools/list", json!({}));
    for _ in 0..3 {
        let pid = wait_until("a daemon", || home.daemon_pid());
        home.kill(pid);
        let ids: Vec<u64> = (0..20).map(|_| client.send("tools/list", json!({}))).collect();
        for id in ids {
            assert_eq!(client.answer(id)["result"], list);
        }
    }
}

/// A subscription without a handshake goes on under its name, and is acknowledged once.
#[test]
fn r9_a_subscription_is_renewed_without_the_host_knowing() {
    let home = Home::with_fixtures();
    let (mut reader, mut writer) = (home.connect(&[]), home.host(&[]));
    reader.go_modern();
    let filter = json!({ "resourceSubscriptions": ["fixture://plays/hamlet"] });
    let id = reader.send("subscriptions/listen", json!({ "notifications": filter }));
    assert_eq!(reader.next_message()["method"], "notifications/subscriptions/acknowledged");
    for kill in 0..6 {
        let pid = wait_until("a daemon", || home.daemon_pid());
        home.kill(pid);
        let sessions = || home.status().filter(|status| status["pid"] != pid)?["sessions"].as_array().map(Vec::len);
        writer.request("ping", json!({}));
        wait_until("both sessions are back", || (sessions() == Some(2)).then_some(()));
        // A session is back a moment before its subscription is.
        let told = wait_until("the subscription is back", || {
            writer.call_ok("fixture_notify_change", json!({ "play": "hamlet", "text": format!("{kill}") }));
            reader.message_within(Duration::from_millis(100))
        });
        assert_eq!(told["method"], "notifications/resources/updated", "{told}");
        assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{told}");
        reader.tool_names();
        while reader.message_within(Duration::ZERO).is_some() {}
    }
}

/// A call that was under way with several daemons in a row when they died may be the cause: it is given up, and says
/// so.
#[test]
fn r8_a_call_that_kills_every_daemon_is_given_up() {
    let home = Home::with_fixtures();
    let (mut caller, mut other) = (home.host(&[]), home.host(&[]));
    let call = json!({ "name": "fixture_block_until", "arguments": { "gate": "never" } });
    let id = caller.send("tools/call", call);
    let waits = |other: &mut Client| {
        let seen = other.call_ok("fixture_gate_state", json!({ "gate": "never" }));
        (seen["waits"]["waiting"].as_u64() > Some(0)).then_some(())
    };
    for _ in 0..10 {
        wait_until("the call is under way", || waits(&mut other));
        home.kill(wait_until("a daemon", || home.daemon_pid()));
    }
    let answer = caller.answer(id);
    assert_eq!(answer["error"]["data"]["code"], "outcome_unknown", "{answer}");
    caller.request("ping", json!({}));
}
