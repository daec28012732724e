//! `vine_expand`: a reference becomes the plan it names.

use serde_json::{Value, json};

use super::{FILE, Plan, blocks};

const PARENT: &[&str] = &[
    "[house] Build (notstarted)\n-> kitchen",
    "ref [kitchen] The kitchen (kitchen.vine) @floor(0)\nSketched.\n-> walls\n> The stove stays.",
    "[walls] Walls (complete)",
];

fn expanding(reference: &str, child: &str) -> Value {
    json!({ "file": FILE, "ref_id": reference, "child_file": child })
}

/// A project with the parent and this child.
fn with_child(text: &str) -> Plan {
    let plan = Plan::of(blocks(PARENT));
    plan.put("c.vine", text);
    plan
}

/// The child, and the blocks of the parent afterwards.
#[track_caller]
fn check(child: &str, expected: &[&str]) {
    let mut plan = with_child(child);
    let answer = plan.call("vine_expand", expanding("kitchen", "c.vine"));
    assert_eq!(answer.as_deref(), Ok("Ref \"kitchen\" expanded."), "{child}");
    assert_eq!(plan.text(FILE), blocks(expected), "{child}");
    assert_eq!(plan.text("c.vine"), child, "the child stays as it is");
}

#[test]
fn the_reference_takes_the_root_of_the_child() {
    check(
        &blocks(&["[any] Fit it (planning) @z(1) @b()\nOak.\n\nOiled.\n> No units.\n@file m f\n@artifact m a"]),
        &[
            PARENT[0],
            "[kitchen] Fit it (planning) @b() @z(1)\nOak.\n\nOiled.\n-> walls\n> No units.\n> The stove stays.\n@artifact m a\n@file m f",
            PARENT[2],
        ],
    );
}

#[test]
fn ids_get_the_id_of_the_reference_or_the_prefix_of_the_child() {
    let child = |head: &str| {
        blocks(&[
            "[root] Fit it (notstarted)\n-> pipes\n-> pipes\n-> walls",
            "[pipes] Pipes (planning) @k(v)\nDeep.\n-> more\n> d\n@guidance m g",
            "ref [more] More (more.vine) @k(v)\nText.\n-> walls\n> e",
            "[walls] Inner walls (blocked)",
        ])
        .replace("vine 1.2.0\n", &format!("vine 9.9.9\n{head}"))
    };
    let expected = |prefix: &str| {
        [
            PARENT[0].to_owned(),
            format!(
                "[kitchen] Fit it (notstarted)\n-> {prefix}/pipes\n-> {prefix}/walls\n-> walls\n> The stove stays."
            ),
            format!("[{prefix}/pipes] Pipes (planning) @k(v)\nDeep.\n-> {prefix}/more\n> d\n@guidance m g"),
            format!("ref [{prefix}/more] More (more.vine) @k(v)\nText.\n-> {prefix}/walls\n> e"),
            format!("[{prefix}/walls] Inner walls (blocked)"),
            PARENT[2].to_owned(),
        ]
    };
    for (head, prefix) in
        [("", "kitchen"), ("title: T\n", "kitchen"), ("prefix: k\n", "k"), ("prefix: a/b-1\ndelimiter: ---\n", "a/b-1")]
    {
        let expected = expected(prefix);
        check(&child(head), &expected.each_ref().map(|block| block.as_str()));
    }
}

#[test]
fn an_empty_prefix_is_none() {
    check(
        "vine 1.2.0\nprefix:\n---\n[root] Fit it (notstarted)\n-> pipes\n---\n[pipes] Pipes (planning)\n",
        &[
            PARENT[0],
            "[kitchen] Fit it (notstarted)\n-> pipes\n-> walls\n> The stove stays.",
            "[pipes] Pipes (planning)",
            PARENT[2],
        ],
    );
}

#[test]
fn doubles_among_dependencies_are_dropped_and_those_of_the_child_come_first() {
    let parent =
        blocks(&["[h] H (started)\n-> k", "ref [k] K (u)\n-> x\n-> a", "[a] A (complete)", "[x] X (complete)"]);
    let mut plan = Plan::of(parent);
    // With an empty prefix the child's own ids may not meet the parent's; its root may.
    plan.put(
        "c.vine",
        "vine 1.2.0\n---\n[r] R (notstarted)\n-> z\n-> y\n-> z\n---\n[y] Y (complete)\n---\n[z] Z (complete)\n",
    );
    plan.call("vine_expand", expanding("k", "c")).expect("it is expanded");
    let expected = blocks(&[
        "[h] H (started)\n-> k",
        "[k] R (notstarted)\n-> a\n-> k/y\n-> k/z\n-> x",
        "[k/y] Y (complete)",
        "[k/z] Z (complete)",
        "[a] A (complete)",
        "[x] X (complete)",
    ]);
    assert_eq!(plan.text(FILE), expected);
}

#[test]
fn the_head_of_the_parent_stays() {
    let head = "vine 1.0.0\ndelimiter: ==\nprefix: p\ntitle: Parent\nx: y\n---\n";
    let mut plan = Plan::of(format!("{head}{}\n", PARENT.join("\n==\n")));
    plan.put("c.vine", "vine 3.0.0\ntitle: Child\ndelimiter: +\nprefix: q\nw: v\n---\n[r] R (started)\n---\nis text\n-> s\n+\n[s] S (started)\n");
    plan.call("vine_expand", expanding("kitchen", "c")).expect("it is expanded");
    assert_eq!(
        plan.text(FILE),
        format!(
            "{head}[house] Build (notstarted)\n-> kitchen\n==\n[kitchen] R (started)\n---\nis text\n-> q/s\n-> walls\n> The stove stays.\n==\n[q/s] S (started)\n==\n[walls] Walls (complete)\n"
        )
    );
}

#[test]
fn the_root_of_the_parent_may_be_the_reference() {
    let mut plan = Plan::of(blocks(&["ref [top] Top (u)\n-> a", "[a] A (complete)"]));
    plan.put("c.vine", blocks(&["[r] R (reviewing)\n-> s", "[s] S (complete)"]));
    plan.call("vine_expand", expanding("top", "c")).expect("it is expanded");
    let expected = blocks(&["[top] R (reviewing)\n-> a\n-> top/s", "[top/s] S (complete)", "[a] A (complete)"]);
    assert_eq!(plan.text(FILE), expected);
    assert_eq!(plan.next()["ready_to_complete"][0]["id"], "top");
}

#[test]
fn an_id_that_is_taken_is_named() {
    for (parent, head, child, id) in [
        (PARENT, "prefix:\n", "walls", "walls"),
        (PARENT, "prefix:\n", "kitchen", "kitchen"),
        (PARENT, "prefix:\n", "house", "house"),
        (
            &["[house] H (started)\n-> kitchen\n-> kitchen/x", "ref [kitchen] K (u)", "[kitchen/x] X (started)"],
            "",
            "x",
            "kitchen/x",
        ),
        (
            &["[house] H (started)\n-> kitchen\n-> p/x", "ref [kitchen] K (u)", "[p/x] X (started)"],
            "prefix: p\n",
            "x",
            "p/x",
        ),
    ] {
        let mut plan = Plan::of(blocks(parent));
        let text = format!(
            "vine 1.2.0\n{head}---\n[root] R (started)\n-> {child}\n-> fine\n---\n[fine] F (started)\n---\n[{child}] C (started)\n"
        );
        plan.put("c.vine", text);
        let before = plan.text(FILE);
        let refusal = plan.call("vine_expand", expanding("kitchen", "c"));
        assert_eq!(refusal, Err(format!("ID collision: \"{id}\" already exists in the parent graph.")), "{child}");
        assert_eq!(plan.text(FILE), before);
    }
    // The child's root never collides.
    let mut plan = with_child(&blocks(&["[walls] W (started)"]));
    plan.call("vine_expand", expanding("kitchen", "c")).expect("it is expanded");
}

#[test]
fn refusals_in_their_order() {
    let mut plan = with_child(&blocks(&["[root] R (started)"]));
    plan.put("broken.vine", "broken");
    plan.put("reference.vine", "vine 1.2.0\nprefix:\n---\nref [root] R (u)\n-> walls\n---\n[walls] W (started)\n");
    plan.put("only-reference.vine", blocks(&["ref [root] R (u)"]));
    let missing = |plan: &Plan, name: &str| format!("File not found: {name} (resolved to {})", plan.absolute(name));
    let broken = "Parse error (line 1): Line 1: Invalid magic line: expected \"vine <version>\", got \"broken\"";
    let no_child = missing(&plan, "no-child.vine");
    let no_parent = missing(&plan, "no-parent.vine");
    for (file, reference, child, expected) in [
        ("no-parent.vine", "x", "no-child.vine", &*no_parent),
        ("broken.vine", "x", "no-child.vine", broken),
        (FILE, "x", "no-child.vine", &*no_child),
        (FILE, "x", "broken.vine", broken),
        (FILE, "x", "c.vine", "Task \"x\" does not exist in the parent graph."),
        (FILE, "", "c.vine", "Task \"\" does not exist in the parent graph."),
        (FILE, "walls", "c.vine", "Task \"walls\" is not a reference node."),
        (FILE, "house", "c.vine", "Task \"house\" is not a reference node."),
        (FILE, "kitchen", "reference.vine", "ID collision: \"walls\" already exists in the parent graph."),
        (FILE, "kitchen", "only-reference.vine", "Child graph root must be a concrete task."),
    ] {
        let before = plan.text(FILE);
        let arguments = json!({ "file": file, "ref_id": reference, "child_file": child });
        assert_eq!(plan.call("vine_expand", arguments), Err(expected.to_owned()), "{file} {reference} {child}");
        assert_eq!(plan.text(FILE), before);
    }
}

#[test]
fn a_child_that_would_not_read_back_is_refused() {
    // Its text holds the parent's delimiter, or its prefix makes no id.
    for child in [
        "vine 1.2.0\ndelimiter: +\n---\n[r] R (started)\nabove\n---\nbelow\n",
        "vine 1.2.0\nprefix: a b\n---\n[r] R (started)\n-> s\n---\n[s] S (started)\n",
        "vine 1.2.0\nprefix: /\n---\n[r] R (started)\n-> s\n---\n[s] S (started)\n",
    ] {
        let mut plan = with_child(child);
        plan.call("vine_expand", expanding("kitchen", "c")).expect_err(child);
        assert_eq!(plan.text(FILE), blocks(PARENT), "{child}");
    }
}

#[test]
fn a_plan_may_hold_itself_once_more() {
    let mut plan = Plan::of(blocks(&["[a] A (started)\n-> b", "ref [b] B (plan.vine)"]));
    plan.call("vine_expand", expanding("b", FILE)).expect("it is expanded");
    assert_eq!(
        plan.text(FILE),
        blocks(&["[a] A (started)\n-> b", "[b] A (started)\n-> b/b", "ref [b/b] B (plan.vine)"])
    );
}

#[test]
fn a_child_beside_its_parent_is_found_at_last() {
    let mut plan = Plan::new();
    plan.put("sub/plan.vine", blocks(PARENT));
    plan.put("sub/kitchen.vine", blocks(&["[r] Beside (started)"]));
    for child in ["kitchen.vine", "kitchen"] {
        plan.put("sub/plan.vine", blocks(PARENT));
        let arguments = json!({ "file": "sub/plan", "ref_id": "kitchen", "child_file": child });
        plan.call("vine_expand", arguments.clone()).expect("it is found beside its parent");
        assert!(plan.text("sub/plan.vine").contains("[kitchen] Beside (started)"));
    }
    // One in the working directory comes first.
    plan.put("kitchen.vine", blocks(&["[r] Here (started)"]));
    plan.put("sub/plan.vine", blocks(PARENT));
    plan.call("vine_expand", json!({ "file": "sub/plan", "ref_id": "kitchen", "child_file": "kitchen.vine" }))
        .expect("it is found");
    assert!(plan.text("sub/plan.vine").contains("[kitchen] Here (started)"));
    // Found nowhere: the message speaks of the working directory.
    let refusal = plan.call("vine_expand", json!({ "file": "sub/plan", "ref_id": "kitchen", "child_file": "none" }));
    assert_eq!(refusal, Err(format!("File not found: none (resolved to {})", plan.absolute("none"))));
}
