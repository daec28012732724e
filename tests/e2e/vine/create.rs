//! New plans: the root, what may stand before it, where the file goes, and what is already there.

use std::fs;

use serde_json::{Value, json};

use super::{FILE, Plan, blocks};

fn add(id: &str) -> Value {
    json!({ "op": "add_task", "id": id, "name": id.to_uppercase() })
}

fn dep(task: &str, dependency: &str) -> Value {
    json!({ "op": "add_dep", "taskId": task, "depId": dependency })
}

#[test]
fn the_first_task_is_the_root() {
    let create = json!({ "op": "create" });
    let cases: &[(Value, String)] = &[
        (json!([create, add("a")]), blocks(&["[a] A (notstarted)"])),
        (
            json!([
                create,
                {
                    "op": "add_task", "id": "a", "name": "All", "status": "planning", "description": "Text.",
                    "dependsOn": ["b"], "annotations": { "k": ["v"] },
                },
                add("b"),
            ]),
            blocks(&["[a] All (planning) @k(v)\nText.\n-> b", "[b] B (notstarted)"]),
        ),
        // What stands before it may speak of it.
        (
            json!([create, { "op": "add_ref", "id": "f", "name": "F", "vine": "u" }, dep("a", "f"), { "op": "claim", "id": "a" }, add("a")]),
            blocks(&["[a] A (started)\n-> f", "ref [f] F (u)"]),
        ),
        (
            json!([{ "op": "create", "version": "0.9.1" }, { "op": "set_status", "id": "a", "status": "blocked" }, add("a"), add("b"), dep("a", "b")]),
            blocks(&["[a] A (blocked)\n-> b", "[b] B (notstarted)"]).replace("1.2.0", "0.9.1"),
        ),
    ];
    for (operations, expected) in cases {
        let mut plan = Plan::new();
        let answer = plan.write(operations.clone());
        assert_eq!(plan.text(FILE), *expected, "{operations}");
        assert!(answer.get("claimed").is_none(), "a new plan shows no claims");
        let keys: Vec<&String> = answer.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["summary", "progress", "ready_to_start", "ready_to_complete", "blocked", "needs_expansion"]);
    }
}

#[test]
fn the_answer_counts_every_operation() {
    let mut plan = Plan::new();
    let answer = plan.write(json!([{ "op": "create" }, add("a"), add("b"), dep("a", "b")]));
    let expected = "4 operation(s) applied: created graph; added task \"a\"; added task \"b\"; added dep a → b.";
    assert_eq!(answer["summary"], expected);
    assert_eq!((&answer["progress"]["total"], &answer["progress"]["root_id"]), (&json!(2), &json!("a")));
}

#[test]
fn what_is_refused_makes_no_file() {
    let create = json!({ "op": "create" });
    let no_root = "create requires at least one add_task operation to define the root task.";
    let mut plan = Plan::new();
    for (operations, expected) in [
        (json!([create]), no_root),
        (json!([create, { "op": "add_ref", "id": "f", "name": "F", "vine": "u" }]), no_root),
        (json!([create, { "op": "claim", "id": "x" }]), no_root),
        (json!([create, add("a"), add("a")]), "Task \"a\" already exists."),
        (json!([create, { "op": "claim", "id": "b" }, add("a"), add("b")]), "Task not found: b"),
        (json!([create, add("a"), { "op": "remove_task", "id": "a" }]), "Cannot remove the root task."),
        (
            json!([create, add("a"), create]),
            "The \"create\" operation must be the first operation and is handled at the server level.",
        ),
        (
            json!([create, create, add("a")]),
            "The \"create\" operation must be the first operation and is handled at the server level.",
        ),
        (
            json!([create, add("a"), { "op": "extract_to_ref", "id": "a", "vine": "x.vine" }]),
            "The \"extract_to_ref\" operation is handled at the server level.",
        ),
        (
            json!([create, add("a"), add("b")]),
            "Validation error [no-islands]: Found 1 island task(s) not reachable from root: b.\nDetails: {\"constraint\":\"no-islands\",\"islandTaskIds\":[\"b\"]}",
        ),
    ] {
        assert_eq!(plan.write_refused(operations.clone()), expected, "{operations}");
    }
    assert_eq!(plan.tree(), [""; 0]);
}

#[test]
fn nothing_is_overwritten() {
    let operations = json!([{ "op": "create" }, add("a")]);
    let mut plan = Plan::new();
    for there in ["vine 1.2.0\n---\n[a] A (complete)\n", "broken", ""] {
        plan.put(FILE, there);
        let expected = format!("File already exists: {}", plan.absolute(FILE));
        assert_eq!(plan.write_refused(operations.clone()), expected, "{there:?}");
    }
    // Operations and rules come first.
    assert_eq!(
        plan.write_refused(json!([{ "op": "create" }])),
        "create requires at least one add_task operation to define the root task."
    );
    let refusal = plan.write_refused(json!([{ "op": "create" }, add("a"), dep("a", "a")]));
    assert!(refusal.starts_with("Validation error [no-cycles]: "), "{refusal}");
    // A link that leads nowhere and a directory are something, too.
    fs::remove_file(plan.path(FILE)).expect("a removal");
    std::os::unix::fs::symlink("nowhere.vine", plan.path(FILE)).expect("a link");
    fs::create_dir(plan.path("dir.vine")).expect("a directory");
    for file in [FILE, "dir.vine", "dir"] {
        let refusal = plan.call("vine_write", json!({ "file": file, "operations": operations })).expect_err(file);
        let name = if file == "dir" { "dir.vine" } else { file };
        assert_eq!(refusal, format!("File already exists: {}", plan.absolute(name)), "{file}");
    }
    assert_eq!(plan.tree(), ["dir.vine", FILE], "the link leads nowhere still");
}

#[test]
fn missing_directories_are_made() {
    let mut plan = Plan::new();
    let operations = json!([{ "op": "create" }, add("a")]);
    let absolute = plan.absolute("far/away/c");
    for (file, expected) in [
        ("new", "new.vine"),
        ("sub/deep/b", "sub/deep/b.vine"),
        (&*absolute, "far/away/c.vine"),
        ("./d/../e.vine", "e.vine"),
    ] {
        plan.call("vine_write", json!({ "file": file, "operations": operations })).expect("it is made");
        assert_eq!(plan.text(expected), blocks(&["[a] A (notstarted)"]), "{file}");
    }
}

#[test]
fn a_new_plan_goes_to_the_working_directory_and_is_a_vine_file() {
    let mut plan = Plan::new();
    let operations = json!([{ "op": "create" }, add("a")]);
    for file in ["plan.md", "a.b", "plan.", ".vine.txt", "plan.vine.bak", "plan.VINE"] {
        plan.call("vine_write", json!({ "file": file, "operations": operations })).expect_err(file);
    }
    assert_eq!(plan.tree(), [""; 0]);
    for (file, expected) in [(".hidden", ".hidden.vine"), ("v1.vine", "v1.vine")] {
        plan.call("vine_write", json!({ "file": file, "operations": operations })).expect("it is made");
        assert_eq!(plan.text(expected), blocks(&["[a] A (notstarted)"]), "{file}");
    }
}

#[test]
fn a_missing_file_is_made_by_create_only() {
    let mut plan = Plan::new();
    let expected = format!("File not found: {FILE} (resolved to {})", plan.absolute(FILE));
    assert_eq!(plan.write_refused(json!([add("a")])), expected);
    let behind = json!([add("a"), { "op": "create" }]);
    assert_eq!(plan.write_refused(behind), expected, "a plan is read before its operations are applied");
    assert_eq!(plan.tree(), [""; 0]);
}
