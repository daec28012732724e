//! How far a plan is: totals, percentages, the root, the counts by status.

use std::fmt::Write as _;

use serde_json::json;

use super::{FILE, Plan, blocks};

/// A root in progress that needs all others, of which so many are complete.
fn of(complete: usize, total: usize) -> String {
    let mut text = "vine 1.2.0\n---\n[r] R (started)\n".to_owned();
    for number in 1..total {
        let _ = writeln!(text, "-> t{number}");
    }
    for number in 1..total {
        let status = if number <= complete { "complete" } else { "notstarted" };
        let _ = writeln!(text, "---\n[t{number}] T ({status})");
    }
    text
}

#[test]
fn percentages_are_rounded_as_the_contract_counts() {
    let mut plan = Plan::new();
    for (complete, total, percentage) in [
        (0, 1, 0),
        (1, 2, 50),
        (1, 3, 33),
        (2, 3, 67),
        (1, 8, 13),
        (3, 8, 38),
        (23, 40, 57),
        (29, 200, 14),
        (57, 200, 28),
        (1, 200, 1),
        (199, 200, 100),
        (1, 201, 0),
    ] {
        plan.put(FILE, of(complete, total));
        let progress = &plan.next()["progress"];
        let seen = (&progress["complete"], &progress["total"], &progress["percentage"]);
        assert_eq!(seen, (&json!(complete), &json!(total), &json!(percentage)), "{complete}/{total}");
        assert!(progress["percentage"].is_u64(), "a whole number, written as one");
    }
}

#[test]
fn references_are_in_the_total_and_nowhere_else() {
    let mut plan = Plan::of(blocks(&[
        "ref [r] R (u)\n-> a\n-> b\n-> c\n-> d\n-> e\n-> f\n-> x",
        "[a] A (complete)",
        "[b] B (notstarted)",
        "[c] C (planning)",
        "[d] D (blocked)",
        "[e] E (started)",
        "[f] F (reviewing)",
        "ref [x] X (v)",
    ]));
    let expected = json!({
        "total": 8, "complete": 1, "percentage": 13, "ready_count": 2, "root_id": "r", "root_status": "ref",
        "by_status": { "complete": 1, "notstarted": 1, "planning": 1, "blocked": 1, "started": 1, "reviewing": 1 },
    });
    let next = plan.next();
    assert_eq!(next["progress"].to_string(), expected.to_string(), "also in the order of its keys");
}

#[test]
fn the_status_of_the_root() {
    let mut plan = Plan::new();
    for status in ["complete", "started", "reviewing", "planning", "notstarted", "blocked"] {
        plan.put(FILE, blocks(&[&format!("[x/y] R ({status})")]));
        let progress = &plan.next()["progress"];
        assert_eq!((&progress["root_id"], &progress["root_status"]), (&json!("x/y"), &json!(status)));
        assert_eq!(progress["by_status"][status], 1);
    }
}
