//! Many who want the same item: one gets it. Holders that die let go after a while, and a daemon that dies forgets
//! nothing.

use std::fs;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

use super::exclusive::exclusive;
use super::process::until_gone;

/// Sessions that want the same item at once.
const SESSIONS: usize = 32;
/// How often they do; `TRELLIS_CLAIM_ROUNDS` asks for more.
const ROUNDS: usize = 30;

fn home() -> Home {
    let home = Home::new();
    home.write(".todo/task.md", "- [ ] a #T001\n- [ ] b #T002\n- [ ] c #T003\n");
    home
}

fn host(home: &Home) -> Client {
    home.host(&["--only", "trellis"])
}

fn claim(host: &mut Client, uri: &str) -> Value {
    host.call_ok("claim", json!({ "uri": uri }))["claimed"].clone()
}

/// Who holds an item.
fn holder(host: &mut Client, uri: &str) -> Option<String> {
    let shown = host.call_ok("open", json!({ "uri": uri }));
    shown["claimed"]["session"].as_str().map(str::to_owned)
}

#[test]
fn of_many_at_once_exactly_one_wins() {
    let _turn = exclusive();
    let rounds = std::env::var("TRELLIS_CLAIM_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let home = home();
    let barrier = Barrier::new(SESSIONS);
    let began = Instant::now();
    let wins: Vec<Vec<bool>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..SESSIONS)
            .map(|_| {
                let mut host = host(&home);
                let barrier = &barrier;
                scope.spawn(move || {
                    (0..rounds)
                        .map(|_| {
                            barrier.wait();
                            let result = host.call("claim", json!({ "uri": "T001" }));
                            let answer = &result["structuredContent"];
                            let has_won = answer["claimed"]["mine"] == true;
                            assert!(has_won || answer["error"]["code"] == "CLAIMED", "{result}");
                            assert!(answer.get("renewed").is_none(), "{result}");
                            barrier.wait();
                            if has_won {
                                host.call_ok("claim", json!({ "uri": "T001", "release": true }));
                            }
                            has_won
                        })
                        .collect()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a session")).collect()
    });
    println!("{SESSIONS} sessions, {rounds} rounds: {:?}", began.elapsed());
    for round in 0..rounds {
        assert_eq!(wins.iter().filter(|wins| wins[round]).count(), 1, "round {round}");
    }
}

#[test]
fn a_holder_that_was_killed_lets_go_after_the_grace() {
    let home = home().with("TRELLIS_CLAIM_GRACE_SECONDS", "2");
    let (mut one, mut two) = (host(&home), host(&home));
    let session = claim(&mut one, "T001")["session"].clone();
    claim(&mut two, "T002");
    home.kill(one.pid());
    let killed = Instant::now();
    assert_eq!(holder(&mut two, "T001"), session.as_str().map(str::to_owned), "it may come back");
    wait_until("it is free", || holder(&mut two, "T001").is_none().then_some(()));
    assert!(killed.elapsed() >= Duration::from_secs(2), "{:?}", killed.elapsed());
    assert!(holder(&mut two, "T002").is_some(), "who is here keeps what he has");
}

#[test]
fn a_killed_daemon_forgets_no_claim_and_frees_those_who_do_not_come_back() {
    let home = home().with("TRELLIS_CLAIM_GRACE_SECONDS", "3");
    let (mut one, mut two, mut gone) = (host(&home), host(&home), host(&home));
    let held = claim(&mut one, "T001");
    let lost = claim(&mut gone, "T002");
    assert_ne!(held["session"], lost["session"]);
    for _ in 0..3 {
        let pid = home.daemon_pid().expect("a daemon");
        home.kill(pid);
        until_gone(pid);
        let error = two.call_err("claim", json!({ "uri": "T001" }))["error"].clone();
        assert_eq!((&error["code"], &error["details"]["since"]), (&"CLAIMED".into(), &held["since"]));
        assert_eq!(error["details"]["session"], held["session"], "the same name after a restart");
    }
    // One of the holders dies together with its daemon.
    let pid = home.daemon_pid().expect("a daemon");
    home.kill(gone.pid());
    home.kill(pid);
    until_gone(pid);
    assert_eq!(holder(&mut two, "T002"), lost["session"].as_str().map(str::to_owned), "it may come back");
    wait_until("it is free", || holder(&mut two, "T002").is_none().then_some(()));
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(claim(&mut one, "T001")["since"], held["since"], "who has come back keeps what he had");
}

#[test]
fn a_claim_ends_with_its_time() {
    let home = home();
    let mut one = host(&home);
    claim(&mut one, "T001");
    claim(&mut one, "T002");
    let pid = home.daemon_pid().expect("a daemon");
    home.kill(pid);
    until_gone(pid);
    // A minute is the least that can be asked for; the file may say less.
    let path = home.state().join("claims.json");
    let mut kept: Value = serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
    let soon = jiff::Timestamp::now().as_second() + 4;
    kept["claims"][0]["until"] = soon.into();
    fs::write(&path, kept.to_string()).expect("written");
    assert!(holder(&mut one, "T001").is_some() && holder(&mut one, "T002").is_some());
    wait_until("its time is over", || holder(&mut one, "T001").is_none().then_some(()));
    assert!(jiff::Timestamp::now().as_second() >= soon);
    assert!(holder(&mut one, "T002").is_some());
    wait_until("it is off the disk", || (!fs::read_to_string(&path).expect("a file").contains("T001")).then_some(()));
}

#[test]
fn claims_that_cannot_be_read_are_put_aside() {
    let home = home();
    let path = home.state().join("claims.json");
    fs::create_dir_all(home.state()).expect("a directory");
    fs::write(&path, "{ broken").expect("a file");
    let mut one = host(&home);
    assert_eq!(claim(&mut one, "T001")["mine"], true);
    assert_eq!(fs::read_to_string(path.with_extension("json.broken")).expect("put aside"), "{ broken");
    let status = home.status().expect("a daemon");
    assert!(status["warnings"].to_string().contains("claims.json.broken"), "{status}");
}

#[test]
fn a_claim_that_cannot_be_kept_is_none() {
    let home = home();
    let mut one = home.unprivileged_host(&["--only", "trellis"]);
    one.call_ok("list", json!({}));
    let mode = |mode: u32| {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(home.state(), fs::Permissions::from_mode(mode)).expect("a mode");
    };
    mode(0o500);
    let error = one.call_err("claim", json!({ "uri": "T001" }))["error"].clone();
    assert_eq!((&error["code"], &error["details"]["reason"]), (&"WRITE_FAILED".into(), &"denied".into()), "{error}");
    assert_eq!(holder(&mut one, "T001"), None);
    mode(0o700);
    assert_eq!(claim(&mut one, "T001")["mine"], true);
}
