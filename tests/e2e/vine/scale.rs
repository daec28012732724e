//! Large plans and hostile lines: time grows with the size of a plan, never faster.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{FILE, Plan, at_line};

/// Each task needs the next one.
fn chain(length: usize, last: &str) -> String {
    let mut text = "vine 1.2.0\n".to_owned();
    for number in 0..length {
        let needs = if number + 1 < length { format!("-> t{}\n", number + 1) } else { last.to_owned() };
        let _ = write!(text, "---\n[t{number}] T (notstarted)\n{needs}");
    }
    text
}

/// A root that needs so many tasks of one status.
fn fan(length: usize, status: &str) -> String {
    let mut text = "vine 1.2.0\n---\n[r] R (started)\n".to_owned();
    text.extend((0..length).map(|number| format!("-> t{number}\n")));
    text.extend((0..length).map(|number| format!("---\n[t{number}] T ({status})\n")));
    text
}

#[test]
fn a_chain_of_a_hundred_thousand_is_a_plan() {
    let mut plan = Plan::of(chain(100_000, ""));
    assert_eq!(plan.read("validate", json!({})), "Valid — 100000 task(s).");
    let next = plan.next();
    assert_eq!(super::ids(&next["ready_to_start"]), ["t99999"]);
    let last = plan.json("context", json!({ "id": "t99999" }));
    assert_eq!(super::ids(&last["dependant_tasks"]), ["t99998"]);
}

#[test]
fn a_long_cycle_is_found_and_named() {
    let mut plan = Plan::new();
    let verdict = plan.verdict(chain(20_000, "-> t10000\n"));
    assert!(
        verdict.starts_with("Validation error [no-cycles]: Cycle detected: t10000 → t10001 → "),
        "{}",
        &verdict[..120]
    );
    assert!(
        verdict
            .contains(" → t19999 → t10000.\nDetails: {\"constraint\":\"no-cycles\",\"cycle\":[\"t10000\",\"t10001\",")
    );
    assert!(verdict.ends_with(",\"t19999\"]}"));
}

#[test]
fn descendants_of_a_long_chain() {
    let mut plan = Plan::of(chain(20_000, ""));
    let descendants = plan.json("descendants", json!({ "id": "t19999" }));
    let ids = super::ids(&descendants);
    assert_eq!((ids.len(), ids[0], ids[19_998]), (19_999, "t0", "t19998"));
}

#[test]
fn work_under_review_costs_no_more_than_work_to_do() {
    let time = |status: &str| {
        let mut plan = Plan::of(fan(16_000, status));
        plan.next();
        let fastest = (0..3).map(|_| {
            let began = Instant::now();
            plan.next();
            began.elapsed()
        });
        fastest.min().expect("three")
    };
    let (to_do, reviewing) = (time("notstarted"), time("reviewing"));
    assert!(reviewing < to_do * 4 + Duration::from_millis(500), "{reviewing:?} against {to_do:?}");
}

#[test]
fn hostile_headers_are_refused_in_no_time() {
    let mut plan = Plan::new();
    let many = 20_000;
    for header in [
        format!("[a]{}x", " ".repeat(many)),
        format!("[a] x{}y", " ".repeat(many)),
        format!("[a] x (started){}y", " ".repeat(many)),
        format!("[a] {}", "x (started) ".repeat(many / 10) + "y"),
        format!("[a] x (started){}", " @k(v)".repeat(many / 6) + " y"),
        format!("[{}] x (started", "a/".repeat(many / 2) + "a"),
        format!("[a] {}", "(".repeat(many)),
    ] {
        let verdict = plan.verdict(format!("vine 1.2.0\n---\n{header}\n"));
        assert_eq!(verdict, at_line(3, &format!("Invalid task header: \"{header}\"")));
    }
    for header in [format!("ref [a]{}x", " ".repeat(many)), format!("ref [a] {}y", "x (u) ".repeat(many / 6))] {
        let verdict = plan.verdict(format!("vine 1.2.0\n---\n{header}\n"));
        assert_eq!(verdict, at_line(3, &format!("Invalid reference header: \"{header}\"")));
    }
    let name = "x ".repeat(many);
    plan.put(FILE, format!("vine 1.2.0\n---\n[a] {name}(started)\n"));
    assert_eq!(plan.json("task", json!({ "id": "a" }))["shortName"], name.trim_end());
}

#[test]
fn one_write_in_a_large_plan_changes_one_line() {
    let mut plan = Plan::of(fan(5_000, "notstarted"));
    plan.write(json!([{ "op": "update", "id": "r" }]));
    let before = plan.text(FILE);
    let answer = plan.write(json!([{ "op": "set_status", "id": "t2500", "status": "complete" }]));
    assert_eq!((&answer["progress"]["complete"], &answer["progress"]["total"]), (&json!(1), &json!(5_001)));
    assert_eq!(plan.text(FILE), before.replace("[t2500] T (notstarted)", "[t2500] T (complete)"));
}
