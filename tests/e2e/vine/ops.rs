//! What each operation does to a plan, and when it is refused.

use serde_json::{Value, json};

use super::{FILE, Plan, blocks};

/// A root that needs a task and a reference.
const BEFORE: &[&str] = &[
    "[r] R (started)\n-> f\n-> t",
    "[t] T (planning) @k(v)\nText.\n-> f\n> d\n@file m u",
    "ref [f] F (u) @k(v)\nText.\n> d",
];

/// Operations that are done, and the blocks that come of them.
#[track_caller]
fn check(cases: &[(Value, &[&str])]) {
    let mut plan = Plan::new();
    for (operations, expected) in cases {
        plan.put(FILE, blocks(BEFORE));
        plan.write(operations.clone());
        assert_eq!(plan.text(FILE), blocks(expected), "{operations}");
    }
}

/// Operations that are refused, and what is said.
#[track_caller]
fn check_refused(cases: &[(Value, &str)]) {
    let mut plan = Plan::of(blocks(BEFORE));
    for (operation, expected) in cases {
        assert_eq!(plan.write_refused(json!([operation])), *expected, "{operation}");
        let behind = json!([{ "op": "set_status", "id": "t", "status": "complete" }, operation]);
        assert_eq!(plan.write_refused(behind), *expected, "{operation} behind a good one");
    }
    assert_eq!(plan.tree(), [FILE]);
}

#[test]
fn add_task() {
    check(&[
        (
            json!([{ "op": "add_task", "id": "n/1", "name": "New one" }, { "op": "add_dep", "taskId": "r", "depId": "n/1" }]),
            &["[r] R (started)\n-> f\n-> n/1\n-> t", BEFORE[1], BEFORE[2], "[n/1] New one (notstarted)"],
        ),
        (
            json!([
                {
                    "op": "add_task", "id": "n", "name": "N (b)", "status": "reviewing", "description": "One.\n\nTwo.",
                    "dependsOn": ["t", "f", "later"], "annotations": { "z": ["1", "2 3"], "a": [] },
                },
                { "op": "add_task", "id": "later", "name": "L" },
                { "op": "add_dep", "taskId": "t", "depId": "later" },
                { "op": "add_dep", "taskId": "r", "depId": "n" },
            ]),
            &[
                "[r] R (started)\n-> f\n-> n\n-> t",
                "[t] T (planning) @k(v)\nText.\n-> f\n-> later\n> d\n@file m u",
                BEFORE[2],
                "[n] N (b) (reviewing) @a() @z(1,2 3)\nOne.\n\nTwo.\n-> f\n-> later\n-> t",
                "[later] L (notstarted)",
            ],
        ),
    ]);
    check_refused(&[
        (json!({ "op": "add_task", "id": "t", "name": "Again" }), "Task \"t\" already exists."),
        (json!({ "op": "add_task", "id": "f", "name": "Again" }), "Task \"f\" already exists."),
        (
            json!({ "op": "add_task", "id": "n", "name": "Alone" }),
            "Validation error [no-islands]: Found 1 island task(s) not reachable from root: n.\nDetails: {\"constraint\":\"no-islands\",\"islandTaskIds\":[\"n\"]}",
        ),
        (
            json!({ "op": "add_task", "id": "n", "name": "N", "dependsOn": ["ghost"] }),
            "Validation error [valid-dependency-refs]: Task \"n\" references unknown dependency \"ghost\".\nDetails: {\"constraint\":\"valid-dependency-refs\",\"taskId\":\"n\",\"missingDep\":\"ghost\"}",
        ),
    ]);
}

#[test]
fn add_ref() {
    check(&[(
        json!([
            { "op": "add_ref", "id": "n", "name": "N", "vine": "./n(1).vine", "description": "One.", "dependsOn": ["t", "f"], "decisions": ["b", "a"] },
            { "op": "add_dep", "taskId": "r", "depId": "n" },
        ]),
        &[
            "[r] R (started)\n-> f\n-> n\n-> t",
            BEFORE[1],
            BEFORE[2],
            "ref [n] N (./n(1).vine)\nOne.\n-> f\n-> t\n> b\n> a",
        ],
    )]);
    check_refused(&[
        (json!({ "op": "add_ref", "id": "t", "name": "N", "vine": "" }), "Task \"t\" already exists."),
        (json!({ "op": "add_ref", "id": "n", "name": "N", "vine": "" }), "Ref node must have a non-empty vine URI"),
    ]);
}

#[test]
fn remove_task() {
    check(&[
        (
            json!([{ "op": "remove_task", "id": "f" }]),
            &["[r] R (started)\n-> t", "[t] T (planning) @k(v)\nText.\n> d\n@file m u"],
        ),
        (json!([{ "op": "remove_task", "id": "t" }]), &["[r] R (started)\n-> f", BEFORE[2]]),
    ]);
    check_refused(&[
        (json!({ "op": "remove_task", "id": "x" }), "Task not found: x"),
        (json!({ "op": "remove_task", "id": "" }), "Task not found: "),
        (json!({ "op": "remove_task", "id": "r" }), "Cannot remove the root task."),
    ]);
    let mut plan = Plan::of(blocks(&["[r] R (started)\n-> a\n-> a", "[a] A (started)\n-> b", "[b] B (started)"]));
    let refusal = plan.write_refused(json!([{ "op": "remove_task", "id": "a" }]));
    assert!(refusal.starts_with("Validation error [no-islands]: Found 1 island task(s) not reachable from root: b."));
    plan.write(json!([{ "op": "remove_task", "id": "a" }, { "op": "remove_task", "id": "b" }]));
    assert_eq!(plan.text(FILE), blocks(&["[r] R (started)"]));
}

#[test]
fn set_status_and_claim_ask_for_no_order() {
    let mut plan = Plan::new();
    let all = ["complete", "started", "reviewing", "planning", "notstarted", "blocked"];
    for from in all {
        for to in all {
            plan.put(FILE, blocks(&[&format!("[r] R ({from})\n-> t"), "[t] T (notstarted)"]));
            plan.write(json!([{ "op": "set_status", "id": "r", "status": to }]));
            assert_eq!(plan.text(FILE), blocks(&[&format!("[r] R ({to})\n-> t"), "[t] T (notstarted)"]));
        }
        plan.put(FILE, blocks(&[&format!("[r] R ({from})\n-> t"), "[t] T (notstarted)"]));
        plan.write(json!([{ "op": "claim", "id": "r" }]));
        assert_eq!(plan.text(FILE), blocks(&["[r] R (started)\n-> t", "[t] T (notstarted)"]));
    }
    check_refused(&[
        (json!({ "op": "set_status", "id": "x", "status": "complete" }), "Task not found: x"),
        (json!({ "op": "set_status", "id": "f", "status": "complete" }), "Cannot set status on reference node \"f\"."),
        (json!({ "op": "claim", "id": "x" }), "Task not found: x"),
        (json!({ "op": "claim", "id": "f" }), "Cannot claim reference node \"f\"."),
    ]);
}

#[test]
fn update_replaces_what_is_given() {
    let task = |header: &str, rest: &str| format!("[t] {header}\n{rest}");
    let cases = [
        (json!({}), BEFORE[1].to_owned()),
        (json!({ "name": "New (name)" }), task("New (name) (planning) @k(v)", "Text.\n-> f\n> d\n@file m u")),
        (json!({ "description": "a\n b\n" }), task("T (planning) @k(v)", "a\n b\n\n-> f\n> d\n@file m u")),
        (json!({ "description": "" }), task("T (planning) @k(v)", "-> f\n> d\n@file m u")),
        (
            json!({ "decisions": ["z", "> y", ""] }),
            task("T (planning) @k(v)", "Text.\n-> f\n> z\n> > y\n> \n@file m u"),
        ),
        (json!({ "decisions": [] }), task("T (planning) @k(v)", "Text.\n-> f\n@file m u")),
        (
            json!({ "attachments": [
                { "class": "file", "mime": "m2", "uri": "f 1" },
                { "class": "artifact", "mime": "", "uri": "a" },
                { "class": "guidance", "mime": "m3", "uri": "g" },
                { "class": "artifact", "mime": "m4", "uri": "b" },
            ] }),
            task("T (planning) @k(v)", "Text.\n-> f\n> d\n@artifact  a\n@artifact m4 b\n@guidance m3 g\n@file m2 f 1"),
        ),
        (json!({ "attachments": [] }), task("T (planning) @k(v)", "Text.\n-> f\n> d")),
        (
            json!({ "annotations": { "b": ["x"], "A": [] } }),
            task("T (planning) @A() @b(x)", "Text.\n-> f\n> d\n@file m u"),
        ),
        (json!({ "annotations": {} }), task("T (planning)", "Text.\n-> f\n> d\n@file m u")),
    ];
    let mut plan = Plan::new();
    for (mut operation, expected) in cases {
        plan.put(FILE, blocks(BEFORE));
        operation["op"] = "update".into();
        operation["id"] = "t".into();
        plan.write(json!([operation]));
        assert_eq!(plan.text(FILE), blocks(&[BEFORE[0], &expected, BEFORE[2]]), "{operation}");
    }
}

#[test]
fn update_of_a_reference() {
    check(&[(
        json!([{ "op": "update", "id": "f", "name": "G", "description": "Other.", "decisions": ["e"], "annotations": { "l": ["w"] } }]),
        &[BEFORE[0], BEFORE[1], "ref [f] G (u) @l(w)\nOther.\n> e"],
    )]);
    let attachment = json!({ "class": "file", "mime": "m", "uri": "u" });
    check_refused(&[
        (json!({ "op": "update", "id": "x", "name": "X" }), "Task not found: x"),
        (
            json!({ "op": "update", "id": "f", "attachments": [attachment] }),
            "Cannot set attachments on reference node \"f\".",
        ),
        (
            json!({ "op": "update", "id": "f", "name": "G", "attachments": [] }),
            "Cannot set attachments on reference node \"f\".",
        ),
    ]);
}

#[test]
fn update_ref_uri() {
    check(&[(
        json!([{ "op": "update_ref_uri", "id": "f", "uri": "other/(x).vine" }]),
        &[BEFORE[0], BEFORE[1], "ref [f] F (other/(x).vine) @k(v)\nText.\n> d"],
    )]);
    check_refused(&[
        (json!({ "op": "update_ref_uri", "id": "x", "uri": "" }), "Task not found: x"),
        (json!({ "op": "update_ref_uri", "id": "t", "uri": "" }), "updateRefUri can only be called on ref nodes"),
        (json!({ "op": "update_ref_uri", "id": "f", "uri": "" }), "Ref URI must be a non-empty string"),
    ]);
}

#[test]
fn dependencies_come_and_go() {
    check(&[
        (
            json!([{ "op": "remove_dep", "taskId": "r", "depId": "f" }]),
            &["[r] R (started)\n-> t", BEFORE[1], BEFORE[2]],
        ),
        (
            json!([
                { "op": "remove_dep", "taskId": "t", "depId": "f" },
                { "op": "add_dep", "taskId": "f", "depId": "t" },
                { "op": "remove_dep", "taskId": "r", "depId": "t" },
            ]),
            &[
                "[r] R (started)\n-> f",
                "[t] T (planning) @k(v)\nText.\n> d\n@file m u",
                "ref [f] F (u) @k(v)\nText.\n-> t\n> d",
            ],
        ),
    ]);
    check_refused(&[
        (json!({ "op": "add_dep", "taskId": "x", "depId": "y" }), "Task not found: x"),
        (json!({ "op": "add_dep", "taskId": "r", "depId": "y" }), "Task not found: y"),
        (json!({ "op": "add_dep", "taskId": "r", "depId": "t" }), "Task \"r\" already depends on \"t\"."),
        (json!({ "op": "remove_dep", "taskId": "x", "depId": "y" }), "Task not found: x"),
        (json!({ "op": "remove_dep", "taskId": "r", "depId": "y" }), "Task not found: y"),
        (json!({ "op": "remove_dep", "taskId": "f", "depId": "t" }), "Task \"f\" does not depend on \"t\"."),
        (
            json!({ "op": "add_dep", "taskId": "f", "depId": "r" }),
            "Validation error [no-cycles]: Cycle detected: r → f → r.\nDetails: {\"constraint\":\"no-cycles\",\"cycle\":[\"r\",\"f\"]}",
        ),
        (
            json!({ "op": "add_dep", "taskId": "t", "depId": "t" }),
            "Validation error [no-cycles]: Cycle detected: t → t.\nDetails: {\"constraint\":\"no-cycles\",\"cycle\":[\"t\"]}",
        ),
    ]);
    let mut plan = Plan::of(blocks(&["[r] R (started)\n-> a\n-> b\n-> a", "[a] A (started)", "[b] B (started)\n-> a"]));
    plan.write(json!([{ "op": "remove_dep", "taskId": "r", "depId": "a" }]));
    assert_eq!(
        plan.text(FILE),
        blocks(&["[r] R (started)\n-> b", "[a] A (started)", "[b] B (started)\n-> a"]),
        "every copy"
    );
}

#[test]
fn what_is_handled_elsewhere_has_its_place() {
    let mut plan = Plan::of(blocks(BEFORE));
    let refusal = plan.write_refused(json!([{ "op": "update", "id": "t" }, { "op": "create" }]));
    assert_eq!(refusal, "The \"create\" operation must be the first operation and is handled at the server level.");
}
