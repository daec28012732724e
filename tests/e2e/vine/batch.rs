//! Several operations in one call: only the end must hold. What the answer says of them.

use serde_json::json;

use super::{FILE, Plan, blocks, ids};

#[test]
fn a_plan_may_be_broken_between_two_operations() {
    let mut plan = Plan::of(blocks(&["[r] R (started)\n-> a", "[a] A (started)\n-> b", "[b] B (started)"]));
    // Turned around: for a moment a cycle, then an island.
    plan.write(json!([
        { "op": "add_dep", "taskId": "b", "depId": "a" },
        { "op": "remove_dep", "taskId": "a", "depId": "b" },
        { "op": "remove_dep", "taskId": "r", "depId": "a" },
        { "op": "add_dep", "taskId": "r", "depId": "b" },
    ]));
    assert_eq!(plan.text(FILE), blocks(&["[r] R (started)\n-> b", "[a] A (started)", "[b] B (started)\n-> a"]));
    // An unknown dependency that is known at the end.
    plan.write(json!([
        { "op": "add_task", "id": "c", "name": "C", "dependsOn": ["d"] },
        { "op": "add_dep", "taskId": "a", "depId": "c" },
        { "op": "add_task", "id": "d", "name": "D" },
    ]));
    assert_eq!(plan.read("validate", json!({})), "Valid — 5 task(s).");
}

#[test]
fn all_or_nothing() {
    let mut plan = Plan::of(blocks(&["[r] R (started)\n-> a", "[a] A (started)"]));
    let refusal = plan.write_refused(json!([
        { "op": "set_status", "id": "a", "status": "complete" },
        { "op": "add_task", "id": "n", "name": "N" },
        { "op": "claim", "id": "nobody" },
    ]));
    assert_eq!(refusal, "Task not found: nobody");
    assert_eq!(plan.next()["progress"]["complete"], 0);
}

#[test]
fn removed_and_added_again_it_stands_at_the_end() {
    let mut plan = Plan::of(blocks(&["[r] R (started)\n-> a\n-> b", "[a] A (complete)\nOld.", "[b] B (started)"]));
    plan.write(json!([
        { "op": "remove_task", "id": "a" },
        { "op": "add_task", "id": "a", "name": "New" },
        { "op": "add_dep", "taskId": "b", "depId": "a" },
    ]));
    assert_eq!(plan.text(FILE), blocks(&["[r] R (started)\n-> b", "[b] B (started)\n-> a", "[a] New (notstarted)"]));
}

#[test]
fn later_operations_see_earlier_ones() {
    let mut plan = Plan::of(blocks(&["[r] R (started)"]));
    plan.write(json!([
        { "op": "add_task", "id": "n", "name": "N" },
        { "op": "set_status", "id": "n", "status": "blocked" },
        { "op": "update", "id": "n", "description": "One." },
        { "op": "update", "id": "n", "description": "Two." },
        { "op": "add_dep", "taskId": "r", "depId": "n" },
        { "op": "add_ref", "id": "f", "name": "F", "vine": "u" },
        { "op": "update_ref_uri", "id": "f", "uri": "v" },
        { "op": "add_dep", "taskId": "n", "depId": "f" },
    ]));
    assert_eq!(plan.text(FILE), blocks(&["[r] R (started)\n-> n", "[n] N (blocked)\nTwo.\n-> f", "ref [f] F (v)"]));
    let refusal = plan.write_refused(json!([{ "op": "remove_task", "id": "f" }, { "op": "remove_task", "id": "f" }]));
    assert_eq!(refusal, "Task not found: f");
}

#[test]
fn one_phrase_for_each_operation() {
    let mut plan = Plan::of(blocks(&["[r] R (started)\n-> a", "[a] A (planning)"]));
    let answer = plan.write(json!([{ "op": "set_status", "id": "a", "status": "blocked" }]));
    assert_eq!(answer["summary"], "1 operation(s) applied: set \"a\" → blocked.");
    let answer = plan.write(json!([
        { "op": "add_task", "id": "n", "name": "N" },
        { "op": "add_ref", "id": "f", "name": "F", "vine": "u" },
        { "op": "add_dep", "taskId": "r", "depId": "n" },
        { "op": "add_dep", "taskId": "n", "depId": "f" },
        { "op": "update_ref_uri", "id": "f", "uri": "v" },
        { "op": "claim", "id": "n" },
        { "op": "update", "id": "n", "name": "M" },
        { "op": "remove_dep", "taskId": "n", "depId": "f" },
        { "op": "remove_task", "id": "f" },
    ]));
    assert_eq!(
        answer["summary"],
        "9 operation(s) applied: added task \"n\"; added ref \"f\"; added dep r → n; added dep n → f; \
         updated ref URI for \"f\"; claimed \"n\"; updated \"n\"; removed dep n → f; removed task \"f\"."
    );
    let answer = plan.write(json!([
        { "op": "claim", "id": "r" },
        { "op": "extract_to_ref", "id": "n", "vine": "n.vine" },
        { "op": "update", "id": "n", "name": "O" },
    ]));
    assert_eq!(
        answer["summary"], "3 operation(s) applied: claimed \"r\"; extracted \"n\" to ref (n.vine); updated \"n\".",
        "in the order given, whatever ran first"
    );
}

#[test]
fn a_claimed_task_comes_with_what_it_builds_on() {
    let mut plan = Plan::of(blocks(&[
        "[r] R (notstarted)\n-> a\n-> t",
        "[t] T (notstarted)\nText.\n-> c\n-> a\n-> f",
        "[a] A (complete)\n> One.\n@artifact m a.txt",
        "[c] C (planning)",
        "ref [f] F (u)\n> Two.",
    ]));
    let answer = plan.write(json!([{ "op": "claim", "id": "t" }]));
    let expected = json!([{
        "id": "t", "kind": "task", "shortName": "T", "description": "Text.", "dependencies": ["c", "a", "f"],
        "decisions": [], "status": "started", "attachments": [],
        "resolved_dependencies": [
            { "id": "c", "shortName": "C", "kind": "task", "status": "planning", "decisions": [], "attachments": [] },
            {
                "id": "a", "shortName": "A", "kind": "task", "status": "complete", "decisions": ["One."],
                "attachments": [{ "class": "artifact", "mime": "m", "uri": "a.txt" }],
            },
            { "id": "f", "shortName": "F", "kind": "ref", "vine": "u", "decisions": ["Two."] },
        ],
    }]);
    assert_eq!(answer["claimed"].to_string(), expected.to_string());
    let keys: Vec<&String> = answer.as_object().expect("an object").keys().collect();
    let order = ["summary", "progress", "ready_to_start", "ready_to_complete", "blocked", "needs_expansion", "claimed"];
    assert_eq!(keys, order);
}

#[test]
fn claimed_shows_the_end_of_the_batch_once_for_each_claim() {
    let mut plan = Plan::of(blocks(&["[r] R (notstarted)\n-> a\n-> b", "[a] A (notstarted)", "[b] B (complete)"]));
    let answer = plan.write(json!([
        { "op": "claim", "id": "b" },
        { "op": "claim", "id": "a" },
        { "op": "set_status", "id": "a", "status": "reviewing" },
        { "op": "claim", "id": "b" },
        { "op": "update", "id": "b", "name": "Later" },
    ]));
    let claimed = answer["claimed"].as_array().expect("an array");
    assert_eq!(ids(&answer["claimed"]), ["b", "a", "b"]);
    assert_eq!((&claimed[0]["shortName"], &claimed[1]["status"]), (&json!("Later"), &json!("reviewing")));
    let answer = plan.write(json!([{ "op": "set_status", "id": "a", "status": "started" }]));
    assert!(answer.get("claimed").is_none(), "nothing was claimed");
}

#[test]
fn a_claimed_task_that_is_removed_is_left_out() {
    let mut plan = Plan::of(blocks(&["[r] R (notstarted)\n-> a\n-> b", "[a] A (notstarted)", "[b] B (notstarted)"]));
    let answer = plan
        .write(json!([{ "op": "claim", "id": "a" }, { "op": "claim", "id": "b" }, { "op": "remove_task", "id": "a" }]));
    assert_eq!(ids(&answer["claimed"]), ["b"]);
    assert_eq!(plan.text(FILE), blocks(&["[r] R (notstarted)\n-> b", "[b] B (started)"]));
    let answer = plan.write(json!([{ "op": "claim", "id": "b" }, { "op": "remove_task", "id": "b" }]));
    assert!(answer.get("claimed").is_none_or(|claimed| *claimed == json!([])), "{answer}");
    assert_eq!(plan.text(FILE), blocks(&["[r] R (notstarted)"]));
    // Removed and added again: claimed as a reference it cannot be shown as a task.
    let answer = plan.write(json!([
        { "op": "add_task", "id": "x", "name": "X" },
        { "op": "claim", "id": "x" },
        { "op": "remove_task", "id": "x" },
        { "op": "add_ref", "id": "x", "name": "X", "vine": "u" },
        { "op": "add_dep", "taskId": "r", "depId": "x" },
    ]));
    assert!(answer["summary"].as_str().is_some_and(|summary| summary.starts_with("5 operation(s) applied: ")));
}

#[test]
fn the_answer_shows_lists_as_they_were_given() {
    let mut plan = Plan::of(blocks(&["[r] R (notstarted)\n-> b\n-> a", "[a] A (complete)", "[b] B (complete)"]));
    let attachments = json!([
        { "class": "file", "mime": "m", "uri": "1" },
        { "class": "artifact", "mime": "m", "uri": "2" },
        { "class": "guidance", "mime": "m", "uri": "3" },
    ]);
    let answer = plan.write(json!([
        { "op": "add_task", "id": "n", "name": "N", "dependsOn": ["b", "a"] },
        { "op": "update", "id": "n", "attachments": attachments },
        { "op": "add_dep", "taskId": "r", "depId": "n" },
    ]));
    let shown = &answer["ready_to_start"][0];
    assert_eq!((&shown["dependencies"], &shown["attachments"]), (&json!(["b", "a"]), &attachments));
    let next = plan.next();
    let shown = &next["ready_to_start"][0];
    let uris: Vec<&str> =
        shown["attachments"].as_array().expect("an array").iter().filter_map(|one| one["uri"].as_str()).collect();
    assert_eq!(
        (&shown["dependencies"], uris),
        (&json!(["a", "b"]), vec!["2", "3", "1"]),
        "the file has an order of its own"
    );
    assert_eq!(plan.json("task", json!({ "id": "r" }))["dependencies"], json!(["a", "b", "n"]));
}
