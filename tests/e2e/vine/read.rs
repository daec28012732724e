//! `vine_read`: every action, in the exact words of its answer.

use serde_json::{Value, json};

use super::{FILE, Plan, blocks, ids};

const SHOP: &str = "vine 1.2.0
title: Shop
---
[shop] Open the shop (notstarted)
-> pay
-> pages
-> move
---
[pay] Basket and payment (blocked) @owner(ana)
Waits for keys.

Asked twice.
-> model
> Prices in cents.
> \"Thirty\" days.
@guidance text/markdown docs/pay.md
@file text/plain a b.txt
---
[pages] Product pages (reviewing)
-> model
-> model
@artifact text/html out.html
---
[model] Products (complete)
> No price, no page.
@artifact application/sql m.sql
---
ref [move] Move orders (plans/move.vine)
Later.
-> model
> Numbers stay.
---
[old] Straße (planning)
---
[last] Σίσυφος ΟΔΥΣΣΕΥΣ (started)
-> old
";

/// The shop with everything needed by its root.
fn shop() -> Plan {
    Plan::of(SHOP.replace("-> move\n---\n[pay]", "-> move\n-> last\n---\n[pay]"))
}

#[test]
fn summary() {
    let mut plan = shop();
    let expected = "Root: Open the shop (shop)\nTotal tasks: 7\nLeaf tasks: 2\n\nStatus breakdown:\n  complete: 1\n  started: 1\n  reviewing: 1\n  planning: 1\n  notstarted: 1\n  blocked: 1";
    assert_eq!(plan.read("summary", json!({})), expected);
    plan.put("ref.vine", "vine 1.2.0\n---\nref [r] Only (u.vine)\n");
    let expected = "Root: Only (r)\nTotal tasks: 1\nLeaf tasks: 1\n\nStatus breakdown:\n  complete: 0\n  started: 0\n  reviewing: 0\n  planning: 0\n  notstarted: 0\n  blocked: 0";
    assert_eq!(plan.read("summary", json!({ "file": "ref.vine" })), expected);
}

#[test]
fn a_task_in_its_exact_words() {
    let mut plan = shop();
    let expected = r#"{
  "id": "pay",
  "kind": "task",
  "shortName": "Basket and payment",
  "description": "Waits for keys.\n\nAsked twice.",
  "dependencies": [
    "model"
  ],
  "decisions": [
    "Prices in cents.",
    "\"Thirty\" days."
  ],
  "status": "blocked",
  "attachments": [
    {
      "class": "guidance",
      "mime": "text/markdown",
      "uri": "docs/pay.md"
    },
    {
      "class": "file",
      "mime": "text/plain",
      "uri": "a b.txt"
    }
  ]
}"#;
    assert_eq!(plan.read("task", json!({ "id": "pay" })), expected);
    let expected = r#"{
  "id": "move",
  "kind": "ref",
  "shortName": "Move orders",
  "description": "Later.",
  "dependencies": [
    "model"
  ],
  "decisions": [
    "Numbers stay."
  ],
  "vine": "plans/move.vine"
}"#;
    assert_eq!(plan.read("task", json!({ "id": "move" })), expected);
    let expected = "{\n  \"id\": \"old\",\n  \"kind\": \"task\",\n  \"shortName\": \"Straße\",\n  \"description\": \"\",\n  \"dependencies\": [],\n  \"decisions\": [],\n  \"status\": \"planning\",\n  \"attachments\": []\n}";
    assert_eq!(plan.read("task", json!({ "id": "old" })), expected, "nothing is left out, no letter is escaped");
}

#[test]
fn control_characters_are_escaped_in_lower_case() {
    let mut plan = Plan::of("vine 1.2.0\n---\n[a] A (started)\n\u{1}\u{8}\t\u{c}\u{1f}\u{7f}/\u{2028}x\n");
    let text = plan.read("task", json!({ "id": "a" }));
    assert!(text.contains("\"description\": \"\\u0001\\b\\t\\f\\u001f\u{7f}/\u{2028}x\""), "{text}");
}

#[test]
fn the_context_of_a_task() {
    let mut plan = shop();
    let mut expected: Value = plan.json("task", json!({ "id": "pages" }));
    let model = json!({
        "id": "model", "shortName": "Products", "kind": "task", "status": "complete",
        "decisions": ["No price, no page."],
        "attachments": [{ "class": "artifact", "mime": "application/sql", "uri": "m.sql" }],
    });
    expected["resolved_dependencies"] = json!([model, model]);
    expected["dependant_tasks"] =
        json!([{ "id": "shop", "shortName": "Open the shop", "kind": "task", "status": "notstarted" }]);
    let text = plan.read("context", json!({ "id": "pages" }));
    assert_eq!(text, serde_json::to_string_pretty(&expected).expect("JSON"), "a double dependency is shown twice");

    let mut expected: Value = plan.json("task", json!({ "id": "model" }));
    expected["resolved_dependencies"] = json!([]);
    expected["dependant_tasks"] = json!([
        { "id": "pay", "shortName": "Basket and payment", "kind": "task", "status": "blocked" },
        { "id": "pages", "shortName": "Product pages", "kind": "task", "status": "reviewing" },
        { "id": "move", "shortName": "Move orders", "kind": "ref" },
    ]);
    let text = plan.read("context", json!({ "id": "model" }));
    assert_eq!(text, serde_json::to_string_pretty(&expected).expect("JSON"), "dependants once each, in order");

    let context = plan.json("context", json!({ "id": "shop" }));
    let seen = &context["resolved_dependencies"];
    assert_eq!(ids(seen), ["pay", "pages", "move", "last"], "in the order of the list");
    let reference = json!({
        "id": "move", "shortName": "Move orders", "kind": "ref", "vine": "plans/move.vine", "decisions": ["Numbers stay."],
    });
    assert_eq!(seen[2].to_string(), reference.to_string());
    assert_eq!(context["dependant_tasks"], json!([]));
    let context = plan.read("context", json!({ "id": "move" }));
    let keys = ["\"vine\"", "\"resolved_dependencies\"", "\"dependant_tasks\""].map(|key| context.find(key));
    assert!(keys.is_sorted() && keys.iter().all(Option::is_some), "{context}");
}

#[test]
fn descendants_are_who_needs_it() {
    let mut plan = shop();
    for (id, expected) in [
        ("shop", &[][..]),
        ("pay", &["shop"]),
        ("model", &["shop", "pay", "pages", "move"]),
        ("old", &["shop", "last"]),
    ] {
        assert_eq!(ids(&plan.json("descendants", json!({ "id": id }))), expected, "{id}");
    }
    let expected = "[\n  {\n    \"id\": \"shop\",\n    \"shortName\": \"Open the shop\"\n  }\n]";
    assert_eq!(plan.read("descendants", json!({ "id": "pay" })), expected);
    assert_eq!(plan.read("descendants", json!({ "id": "shop" })), "[]");
}

#[test]
fn refs() {
    let mut plan = shop();
    let expected = r#"[
  {
    "id": "move",
    "shortName": "Move orders",
    "vine": "plans/move.vine",
    "dependencies": [
      "model"
    ]
  }
]"#;
    assert_eq!(plan.read("refs", json!({})), expected);
    plan.put(FILE, blocks(&["[a] A (complete)"]));
    assert_eq!(plan.read("refs", json!({})), "[]");
    plan.put(FILE, blocks(&["ref [a] A (u)\n-> c\n-> b", "ref [b] B (v)", "ref [c] C (w)"]));
    assert_eq!(ids(&plan.json("refs", json!({}))), ["a", "b", "c"]);
}

#[test]
fn list_by_status_or_query() {
    let mut plan = shop();
    let all = ["shop", "pay", "pages", "model", "move", "old", "last"];
    for (arguments, expected) in [
        (json!({}), &all[..]),
        (json!({ "query": "" }), &all),
        (json!({ "query": "PAY" }), &["pay"]),
        (json!({ "query": "no such" }), &[]),
        (json!({ "status": "complete" }), &["model"]),
        (json!({ "status": "reviewing" }), &["pages"]),
        (json!({ "status": "blocked", "query": "shop" }), &["pay"]),
        (json!({ "status": "started", "id": "ignored", "unknown": 7 }), &["last"]),
    ] {
        assert_eq!(ids(&plan.json("list", arguments.clone())), expected, "{arguments}");
    }
    let list = plan.json("list", json!({}));
    for (node, id) in list.as_array().expect("an array").iter().zip(all) {
        assert_eq!(node.to_string(), plan.json("task", json!({ "id": id })).to_string(), "the same object");
    }
    assert_eq!(plan.read("list", json!({ "query": "no such" })), "[]");
    for status in ["", "done", "Complete", "ref", " started"] {
        let expected = format!(
            "Invalid status \"{status}\". Valid values: complete, started, reviewing, planning, notstarted, blocked"
        );
        assert_eq!(plan.read_refused("list", json!({ "status": status, "query": "shop" })), expected);
    }
    plan.put(FILE, blocks(&["[a] A (started)"]));
    assert_eq!(plan.read("list", json!({ "status": "complete" })), "[]");
}

#[test]
fn search_looks_in_ids_names_and_descriptions() {
    let mut plan = shop();
    for (query, expected) in [
        ("shop", &["shop"][..]),
        ("P", &["shop", "pay", "pages", "model"]),
        ("MODEL", &["model"]),
        ("waits for KEYS", &["pay"]),
        // The description is one text.
        ("keys.\n\nasked", &["pay"]),
        ("later", &["move"]),
        // Nothing else is searched.
        ("cents", &[]),
        ("docs/pay.md", &[]),
        ("plans/move", &[]),
        ("ana", &[]),
        ("reviewing", &[]),
        // Lower case, not folding: the sharp s is no double s.
        ("STRASSE", &[]),
        ("STRAßE", &["old"]),
        ("straße", &["old"]),
        ("οδυσσευς", &["last"]),
        ("ΣΊΣΥΦΟΣ", &["last"]),
        (" ", &["shop", "pay", "pages", "move", "last"]),
    ] {
        let found = plan.json("search", json!({ "query": query }));
        assert_eq!(ids(&found), expected, "{query:?}");
        assert_eq!(plan.json("list", json!({ "query": query })), found, "{query:?}: as a list with a query");
    }
    plan.put(FILE, blocks(&["[a] İstanbul (started)"]));
    assert_eq!(ids(&plan.json("search", json!({ "query": "i\u{307}st" }))), ["a"]);
    assert_eq!(ids(&plan.json("search", json!({ "query": "istanbul" }))), [""; 0], "no normalisation");
}

#[test]
fn arguments_that_an_action_needs() {
    let mut plan = shop();
    for action in ["task", "context", "descendants"] {
        for arguments in [json!({}), json!({ "id": "" })] {
            let expected = format!("id is required for action \"{action}\".");
            assert_eq!(plan.read_refused(action, arguments), expected);
        }
        for id in ["nobody", "Shop", "shop ", "a\nb"] {
            assert_eq!(plan.read_refused(action, json!({ "id": id })), format!("Task not found: {id}"));
        }
    }
    for arguments in [json!({}), json!({ "query": "" }), json!({ "status": "complete", "id": "shop" })] {
        assert_eq!(plan.read_refused("search", arguments), "query is required for action \"search\".");
    }
    assert_eq!(plan.read("validate", json!({ "id": "nobody" })), "Valid — 7 task(s).");
}

#[test]
fn reading_changes_nothing() {
    let untidy = SHOP.replace("-> move\n---\n[pay]", "-> move\n-> last\n---\n[pay]").replace('\n', "\r\n");
    let mut plan = Plan::of(&untidy);
    for action in ["summary", "list", "task", "context", "descendants", "search", "refs", "validate"] {
        plan.read(action, json!({ "id": "pay", "query": "x" }));
    }
    plan.next();
    assert_eq!(plan.text(FILE), untidy);
    assert_eq!(plan.tree(), [FILE]);
}
