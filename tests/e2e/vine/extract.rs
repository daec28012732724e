//! `extract_to_ref`: a task becomes a plan of its own, and a reference stays. Both files, or neither.

use std::fs;

use serde_json::{Value, json};

use super::{FILE, Plan, blocks, ids};

const BEFORE: &[&str] = &[
    "[r] R (started)\n-> t\n-> u",
    "[t] The (big) task (planning) @k(v) @a()\nText.\n\nMore.\n-> f\n-> u\n> one\n> two\n@artifact m a\n@file m f",
    "[u] U (complete)",
    "ref [f] F (u.vine)",
];

fn extract(id: &str, vine: &str) -> Value {
    json!({ "op": "extract_to_ref", "id": id, "vine": vine })
}

#[test]
fn a_task_becomes_a_file() {
    let head = "vine 0.3.1\nowner: ana\nprefix: p\ntitle: Parent\n---\n";
    let text = blocks(BEFORE).replace("vine 1.2.0\n---\n", head);
    let mut plan = Plan::of(&text);
    let answer = plan.write(json!([extract("t", "t.vine")]));
    assert_eq!(
        plan.text("t.vine"),
        "vine 0.3.1\ntitle: The (big) task\n---\n[t] The (big) task (planning) @a() @k(v)\nText.\n\nMore.\n> one\n> two\n@artifact m a\n@file m f\n"
    );
    let reference = "ref [t] The (big) task (t.vine) @a() @k(v)\n-> f\n-> u";
    assert_eq!(
        plan.text(FILE),
        blocks(&[BEFORE[0], reference, BEFORE[2], BEFORE[3]]).replace("vine 1.2.0\n---\n", head)
    );
    assert_eq!(answer["summary"], "1 operation(s) applied: extracted \"t\" to ref (t.vine).");
    let keys: Vec<&String> = answer.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["summary", "progress", "ready_to_start", "ready_to_complete", "blocked", "needs_expansion"]);
    assert_eq!(ids(&answer["needs_expansion"]), ["f"], "the new one waits for its own dependencies");
    assert_eq!(plan.tree(), [FILE, "t.vine"]);
}

#[test]
fn the_reference_may_have_another_name_and_its_uri_is_kept_as_given() {
    let mut plan = Plan::of(blocks(BEFORE));
    let mut operation = extract("u", "./sub/../u2");
    operation["refName"] = "Elsewhere".into();
    plan.write(json!([operation]));
    assert!(plan.text(FILE).contains("\nref [u] Elsewhere (./sub/../u2)\n"), "{}", plan.text(FILE));
    assert_eq!(plan.text("u2.vine"), "vine 1.2.0\ntitle: U\n---\n[u] U (complete)\n");
    let absolute = plan.absolute("abs.vine");
    plan.write(json!([extract("t", &absolute)]));
    assert!(plan.path("abs.vine").exists());
    assert!(plan.text(FILE).contains(&format!("({absolute})")));
}

#[test]
fn a_child_goes_to_the_working_directory_not_beside_its_parent() {
    let mut plan = Plan::new();
    plan.put("sub/plan.vine", blocks(BEFORE));
    let arguments = json!({ "file": "sub/plan.vine", "operations": [extract("t", "t.vine")] });
    plan.call("vine_write", arguments).expect("it is written");
    assert_eq!(plan.tree(), ["sub", "sub/plan.vine", "t.vine"]);
}

#[test]
fn it_runs_before_the_other_operations() {
    let mut plan = Plan::of(blocks(BEFORE));
    let answer = plan.write(json!([
        { "op": "update", "id": "t", "description": "Of the reference.", "decisions": ["three"] },
        { "op": "claim", "id": "r" },
        extract("t", "t.vine"),
        { "op": "update_ref_uri", "id": "t", "uri": "moved.vine" },
    ]));
    assert!(plan.text("t.vine").contains("Text.\n\nMore.\n> one\n> two\n"), "the child is what was on the disk");
    assert!(
        plan.text(FILE)
            .contains("ref [t] The (big) task (moved.vine) @a() @k(v)\nOf the reference.\n-> f\n-> u\n> three\n")
    );
    assert!(answer.get("claimed").is_none(), "an extraction shows no claims");
    assert!(plan.text(FILE).contains("[r] R (started)"));
}

#[test]
fn what_is_refused_leaves_no_child() {
    let mut plan = Plan::of(blocks(BEFORE));
    plan.put("there.vine", "anything");
    fs::create_dir(plan.path("dir.vine")).expect("a directory");
    std::os::unix::fs::symlink("nowhere", plan.path("link.vine")).expect("a link");
    let exists = |plan: &Plan, name: &str| format!("File already exists: {}", plan.absolute(name));
    let cases = [
        (json!([extract("x", "new.vine")]), "Task not found: x".to_owned()),
        (json!([extract("r", "new.vine")]), "Cannot extract the root task to a ref.".to_owned()),
        (json!([extract("f", "new.vine")]), "Task \"f\" is already a reference node.".to_owned()),
        (json!([extract("t", "there.vine")]), exists(&plan, "there.vine")),
        (json!([extract("t", "there")]), exists(&plan, "there.vine")),
        (json!([extract("t", "dir.vine")]), exists(&plan, "dir.vine")),
        (json!([extract("t", "link.vine")]), exists(&plan, "link.vine")),
        (json!([extract("t", FILE)]), exists(&plan, FILE)),
        // In the order of the checks.
        (json!([extract("x", "there.vine")]), "Task not found: x".to_owned()),
        (json!([extract("r", "there.vine")]), "Cannot extract the root task to a ref.".to_owned()),
        // A task of the same call is not on the disk yet.
        (json!([{ "op": "add_task", "id": "n", "name": "N" }, { "op": "add_dep", "taskId": "r", "depId": "n" }, extract("n", "new.vine")]), "Task not found: n".to_owned()),
        // What comes later fails: a reference by then.
        (json!([extract("t", "new.vine"), { "op": "set_status", "id": "t", "status": "complete" }]), "Cannot set status on reference node \"t\".".to_owned()),
        (json!([{ "op": "claim", "id": "t" }, extract("t", "new.vine")]), "Cannot claim reference node \"t\".".to_owned()),
        (json!([extract("t", "new.vine"), { "op": "claim", "id": "nobody" }]), "Task not found: nobody".to_owned()),
        (json!([extract("t", "new.vine"), { "op": "create" }]), "The \"create\" operation must be the first operation and is handled at the server level.".to_owned()),
        (
            json!([extract("t", "new.vine"), { "op": "add_task", "id": "n", "name": "N" }]),
            "Validation error [no-islands]: Found 1 island task(s) not reachable from root: n.\nDetails: {\"constraint\":\"no-islands\",\"islandTaskIds\":[\"n\"]}".to_owned(),
        ),
    ];
    for (operations, expected) in cases {
        assert_eq!(plan.write_refused(operations.clone()), expected, "{operations}");
        assert_eq!(plan.tree(), ["dir.vine", "link.vine", FILE, "there.vine"], "{operations}: no child");
    }
    assert_eq!(plan.text("there.vine"), "anything");
    plan.write(json!([extract("t", "new.vine")]));
    assert!(plan.path("new.vine").exists(), "after all those refusals it still goes");
}

#[test]
fn an_empty_or_impossible_uri_makes_nothing() {
    let mut plan = Plan::of(blocks(BEFORE));
    for vine in ["", "a b.vine", "a\nb.vine", "new.md", "new.", "plan.vine/x.vine"] {
        plan.write_refused(json!([extract("t", vine)]));
        assert_eq!(plan.tree(), [FILE], "{vine:?}");
    }
}

#[test]
fn out_and_back_again() {
    let mut plan = Plan::of(blocks(BEFORE));
    plan.write(json!([extract("t", "t.vine")]));
    let answer = plan.call("vine_expand", json!({ "file": FILE, "ref_id": "t", "child_file": "t.vine" }));
    assert_eq!(answer.as_deref(), Ok("Ref \"t\" expanded."));
    let expected = blocks(BEFORE).replace("@k(v) @a()", "@a() @k(v)");
    assert_eq!(plan.text(FILE), expected);
}
