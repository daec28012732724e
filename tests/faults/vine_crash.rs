//! A daemon that is killed while tasks become plans of their own: afterwards each child is there and its parent
//! names it, or neither; what was acknowledged is done, and nothing is done twice.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

use super::exclusive::exclusive;
use super::process::{Signal, signal, until_gone};
use super::writes_load::{Rng, leftover_temps};

/// Two at each plan.
const HOSTS: usize = 4;
/// For each host; more than it gets through.
const TASKS: usize = 400;
const KILLS: usize = 40;

/// What a host was told of one extraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallOutcome {
    Done,
    /// The daemon died under it too often.
    Unknown,
}

fn parent(host: usize) -> String {
    format!("plan-{}.vine", host / 2)
}

fn child(host: usize, turn: usize) -> String {
    format!("child-{host}-{turn}.vine")
}

/// A plan with the tasks of two hosts.
fn prepare(home: &Home, plan: usize) {
    let ids = (plan * 2..plan * 2 + 2).flat_map(|host| (0..TASKS).map(move |turn| format!("t{host}-{turn}")));
    let ids: Vec<String> = ids.collect();
    let mut text = "vine 1.2.0\n---\n[r] R (started)\n".to_owned();
    let mut needed = ids.clone();
    needed.sort();
    text.extend(needed.iter().map(|id| format!("-> {id}\n")));
    text.extend(ids.iter().map(|id| format!("---\n[{id}] Task {id} (planning)\nText of {id}.\n> Decided.\n")));
    home.write(&parent(plan * 2), text);
}

/// Extracts one task after the other.
fn extract(mut client: Client, host: usize, stop: &AtomicBool, count: &AtomicUsize) -> Vec<CallOutcome> {
    let mut told = Vec::new();
    for turn in 0..TASKS {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let operations =
            json!([{ "op": "extract_to_ref", "id": format!("t{host}-{turn}"), "vine": child(host, turn) }]);
        let arguments = json!({ "file": parent(host), "operations": operations });
        let answer = client.ask("tools/call", json!({ "name": "vine_write", "arguments": arguments }));
        told.push(match () {
            () if answer["error"]["data"]["code"] == "outcome_unknown" => CallOutcome::Unknown,
            () if answer["result"].is_object() && answer["result"]["isError"] != true => CallOutcome::Done,
            () => panic!("t{host}-{turn} is refused: {answer}"),
        });
        count.fetch_add(1, Ordering::Relaxed);
    }
    assert!(client.close().success());
    told
}

/// Whether an extraction is on the disk; half of one is a failure.
fn is_done(project: &Path, text: &str, host: usize, turn: usize) -> bool {
    let (id, name) = (format!("t{host}-{turn}"), child(host, turn));
    let task = format!("[{id}] Task {id} (planning)\nText of {id}.\n> Decided.\n");
    let as_before = text.contains(&format!("---\n{task}"));
    let as_reference = text.contains(&format!("---\nref [{id}] Task {id} ({name})\n"));
    assert!(as_before != as_reference, "{id}: task {as_before}, reference {as_reference}");
    let made = fs::read_to_string(project.join(&name)).ok();
    let expected = as_reference.then(|| format!("vine 1.2.0\ntitle: Task {id}\n---\n{task}"));
    assert_eq!(made, expected, "{id}: both files or none");
    as_reference
}

#[test]
fn killed_daemons_extract_both_files_or_none() {
    let _turn = exclusive();
    let home = Home::new();
    (0..HOSTS / 2).for_each(|plan| prepare(&home, plan));
    let clients: Vec<Client> = (0..HOSTS).map(|_| home.host(&["--only", "vine"])).collect();
    let (stop, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let began = Instant::now();
    let mut chance = Rng::new();
    let books: Vec<Vec<CallOutcome>> = std::thread::scope(|scope| {
        let (stop, count) = (&stop, &count);
        let start = |(host, client)| scope.spawn(move || extract(client, host, stop, count));
        let hosts: Vec<_> = clients.into_iter().enumerate().map(start).collect();
        for _ in 0..KILLS {
            // Half of them die while they begin, or go through the journal.
            if chance.below(2) == 0 {
                let before = count.load(Ordering::Relaxed);
                wait_until("a host is answered", || {
                    assert!(!hosts.iter().all(std::thread::ScopedJoinHandle::is_finished), "all hosts have ended");
                    (count.load(Ordering::Relaxed) > before).then_some(())
                });
            }
            chance.pause(20, 250);
            let pid = wait_until("a daemon", || home.daemons().first().copied());
            signal(pid, Signal::KILL);
            until_gone(pid);
        }
        stop.store(true, Ordering::Relaxed);
        hosts.into_iter().map(|host| host.join().expect("a host without complaint")).collect()
    });
    // A last look by a tool: what a killed daemon left is settled by now.
    let mut client = home.host(&["--only", "vine"]);
    for plan in 0..HOSTS / 2 {
        let result = client.call("vine_read", json!({ "file": parent(plan * 2), "action": "validate" }));
        assert_eq!(result["content"][0]["text"], Value::from(format!("Valid — {} task(s).", 2 * TASKS + 1)));
    }
    let (mut done, mut unknown) = (0, 0);
    for (host, book) in books.iter().enumerate() {
        let text = fs::read_to_string(home.project().join(parent(host))).expect("the plan");
        for turn in 0..TASKS {
            let is_done = is_done(&home.project(), &text, host, turn);
            match book.get(turn) {
                Some(CallOutcome::Done) => assert!(is_done, "t{host}-{turn} was acknowledged"),
                Some(CallOutcome::Unknown) => unknown += 1,
                None => assert!(!is_done, "t{host}-{turn} was never asked for"),
            }
            done += usize::from(is_done);
        }
    }
    println!("{KILLS} kills, {done} extractions done, {unknown} unknown in {:.1?}", began.elapsed());
    assert!(done > KILLS && unknown < done, "{done} done, {unknown} unknown");
    wait_until("nothing is left lying", || leftover_temps(&home.project()).is_empty().then_some(()));
    assert_eq!(client.close().code(), Some(0));
}
