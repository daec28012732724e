//! What must hold between nodes, in which order it is looked at, and what is said.

use serde_json::json;

use super::{FILE, Plan, blocks};

/// Blocks, and what is said of them.
#[track_caller]
fn check(cases: &[(&[&str], &str)]) {
    let mut plan = Plan::new();
    for (text, expected) in cases {
        assert_eq!(plan.verdict(blocks(text)), *expected, "{text:?}");
    }
}

#[test]
fn references_count_as_tasks() {
    check(&[
        (&["[a] A (complete)"], "Valid — 1 task(s)."),
        (&["ref [a] A (u)"], "Valid — 1 task(s)."),
        (&["[a] A (complete)\n-> b\n-> b\n-> c", "ref [b] B (u)\n-> c", "[c] C (blocked)"], "Valid — 3 task(s)."),
    ]);
}

#[test]
fn unknown_dependencies() {
    check(&[
        (
            &["[a] A (complete)\n-> ghost"],
            "Validation error [valid-dependency-refs]: Task \"a\" references unknown dependency \"ghost\".\n\
             Details: {\"constraint\":\"valid-dependency-refs\",\"taskId\":\"a\",\"missingDep\":\"ghost\"}",
        ),
        (
            &["[a] A (complete)\n-> b", "[b] B (complete)\n-> z\n-> y"],
            "Validation error [valid-dependency-refs]: Task \"b\" references unknown dependency \"z\".\n\
             Details: {\"constraint\":\"valid-dependency-refs\",\"taskId\":\"b\",\"missingDep\":\"z\"}",
        ),
        (
            &["[a] A (complete)\n-> b", "ref [b] B (u)\n-> B"],
            "Validation error [valid-dependency-refs]: Task \"b\" references unknown dependency \"B\".\n\
             Details: {\"constraint\":\"valid-dependency-refs\",\"taskId\":\"b\",\"missingDep\":\"B\"}",
        ),
        (
            &["[a] A (complete)\n-> say \"ü\" \\"],
            "Validation error [valid-dependency-refs]: Task \"a\" references unknown dependency \"say \"ü\" \\\".\n\
             Details: {\"constraint\":\"valid-dependency-refs\",\"taskId\":\"a\",\"missingDep\":\"say \\\"ü\\\" \\\\\"}",
        ),
    ]);
}

#[test]
fn cycles() {
    check(&[
        (
            &["[r] R (complete)\n-> r"],
            "Validation error [no-cycles]: Cycle detected: r → r.\n\
             Details: {\"constraint\":\"no-cycles\",\"cycle\":[\"r\"]}",
        ),
        (
            &["[a] A (complete)\n-> b", "[b] B (complete)\n-> c", "[c] C (complete)\n-> a"],
            "Validation error [no-cycles]: Cycle detected: a → b → c → a.\n\
             Details: {\"constraint\":\"no-cycles\",\"cycle\":[\"a\",\"b\",\"c\"]}",
        ),
        // From the node that was met again on, not from the root.
        (
            &["[a] A (complete)\n-> b", "[b] B (complete)\n-> c", "[c] C (complete)\n-> b"],
            "Validation error [no-cycles]: Cycle detected: b → c → b.\n\
             Details: {\"constraint\":\"no-cycles\",\"cycle\":[\"b\",\"c\"]}",
        ),
        // In the order of the list, which is not the sorted one.
        (
            &["[a] A (complete)\n-> z\n-> b", "[b] B (complete)\n-> a", "[z] Z (complete)\n-> a"],
            "Validation error [no-cycles]: Cycle detected: a → z → a.\n\
             Details: {\"constraint\":\"no-cycles\",\"cycle\":[\"a\",\"z\"]}",
        ),
        // A way already gone is no cycle; references are nodes like others.
        (
            &[
                "[a] A (complete)\n-> b\n-> c",
                "[b] B (complete)\n-> d",
                "[c] C (complete)\n-> d\n-> e",
                "[d] D (complete)",
                "ref [e] E (u)\n-> c",
            ],
            "Validation error [no-cycles]: Cycle detected: c → e → c.\n\
             Details: {\"constraint\":\"no-cycles\",\"cycle\":[\"c\",\"e\"]}",
        ),
        // Also where the root does not reach.
        (
            &["[a] A (complete)", "[b] B (complete)\n-> c", "[c] C (complete)\n-> b"],
            "Validation error [no-cycles]: Cycle detected: b → c → b.\n\
             Details: {\"constraint\":\"no-cycles\",\"cycle\":[\"b\",\"c\"]}",
        ),
    ]);
}

#[test]
fn islands() {
    check(&[
        (
            &["[a] A (complete)", "[b] B (complete)"],
            "Validation error [no-islands]: Found 1 island task(s) not reachable from root: b.\n\
             Details: {\"constraint\":\"no-islands\",\"islandTaskIds\":[\"b\"]}",
        ),
        // To need the root is not to be needed by it.
        (
            &["[a] A (complete)\n-> c", "[z] Z (complete)\n-> a", "[c] C (complete)", "ref [b] B (u)\n-> z"],
            "Validation error [no-islands]: Found 2 island task(s) not reachable from root: z, b.\n\
             Details: {\"constraint\":\"no-islands\",\"islandTaskIds\":[\"z\",\"b\"]}",
        ),
    ]);
}

#[test]
fn the_first_of_several_in_the_order_of_the_rules() {
    let ghost = "-> ghost";
    let mut plan = Plan::new();
    let island = "[i] I (complete)";
    for (text, constraint) in [
        (
            blocks(&["[a] A (complete)\n-> b", "[b] B (complete)\n-> a", &format!("{island}\n{ghost}")]),
            "valid-dependency-refs",
        ),
        (blocks(&["[a] A (complete)\n-> b", "[b] B (complete)\n-> a", island]), "no-cycles"),
        (blocks(&["[a] A (complete)\n-> b", "[b] B (complete)", island]), "no-islands"),
    ] {
        let verdict = plan.verdict(text);
        assert!(verdict.starts_with(&format!("Validation error [{constraint}]: ")), "{verdict}");
    }
}

#[test]
fn no_tool_answers_from_a_plan_that_does_not_hold() {
    let mut plan = Plan::of(blocks(&["[a] A (complete)", "[b] B (complete)"]));
    plan.put("good.vine", blocks(&["[x] X (complete)\n-> r", "ref [r] R (u)"]));
    let expected = "Validation error [no-islands]: Found 1 island task(s) not reachable from root: b.\n\
                    Details: {\"constraint\":\"no-islands\",\"islandTaskIds\":[\"b\"]}";
    for action in ["summary", "list", "task", "context", "descendants", "search", "refs", "validate"] {
        // Also where the arguments are wrong: the file comes first.
        assert_eq!(plan.read_refused(action, json!({})), expected, "{action}");
    }
    for (tool, arguments) in [
        ("vine_next", json!({ "file": FILE })),
        ("vine_expand", json!({ "file": FILE, "ref_id": "a", "child_file": "good" })),
        ("vine_expand", json!({ "file": "good", "ref_id": "nobody", "child_file": FILE })),
    ] {
        assert_eq!(plan.call(tool, arguments), Err(expected.to_owned()), "{tool}");
    }
    assert_eq!(plan.write_refused(json!([{ "op": "update", "id": "a" }])), expected);
    // A write may mend what a hand has broken.
    plan.write(json!([{ "op": "add_dep", "taskId": "a", "depId": "b" }]));
    assert_eq!(plan.read("validate", json!({})), "Valid — 2 task(s).");
}
