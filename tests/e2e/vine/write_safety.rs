//! No write makes a plan that cannot be read, or that says something else than was asked for.

use serde_json::{Value, json};

use super::{FILE, Plan, blocks};

const BEFORE: &[&str] = &["[r] R (started)\n-> f\n-> t", "[t] T (started)", "ref [f] F (u)"];

/// Operations that would make such a plan are refused, and leave everything as it was.
#[track_caller]
fn check(cases: &[Value]) {
    let mut plan = Plan::of(blocks(BEFORE));
    for operations in cases {
        let refusal = plan.write_refused(operations.clone());
        assert!(!refusal.is_empty(), "{operations}");
        assert_eq!(plan.tree(), [FILE], "{operations}");
        assert_eq!(plan.read("validate", json!({})), "Valid — 3 task(s).");
    }
}

/// A new task that the root needs.
fn task(id: &str, name: &str) -> Value {
    json!([{ "op": "add_task", "id": id, "name": name }, { "op": "add_dep", "taskId": "r", "depId": id }])
}

fn update(field: &str, value: Value) -> Value {
    let mut operation = json!({ "op": "update", "id": "t" });
    operation[field] = value;
    json!([operation])
}

#[test]
fn ids_that_are_none() {
    let ids = ["bad id!", "", " ", "a b", "a_b", "ä", "a/", "/a", "a//b", "a]", "a\nb", "[a", "a)", "\u{2028}"];
    check(&ids.map(|id| task(id, "Name")));
    check(&ids.map(|id| json!([{ "op": "add_ref", "id": id, "name": "N", "vine": "u" }, { "op": "add_dep", "taskId": "r", "depId": id }])));
}

#[test]
fn names_that_would_be_read_otherwise() {
    check(&["", "a\nb", "\n", "a\rb", "a\u{2028}b"].map(|name| task("n", name)));
    check(&["", "a\nb", "a (complete)\n-> r", "a\u{2029}b"].map(|name| update("name", json!(name))));
    check(&["", "a\nb"].map(|name| json!([{ "op": "update", "id": "f", "name": name }])));
    check(&["", "a\nb"].map(|name| json!([{ "op": "extract_to_ref", "id": "t", "vine": "t.vine", "refName": name }])));
}

#[test]
fn descriptions_with_a_structure_of_their_own() {
    check(
        &["---", "a\n---\nb", "a\n---\n[x] X (complete)", "-> ghost", "a\n-> f", "@file x", "a\n@artifact m"]
            .map(|text| update("description", json!(text))),
    );
    check(
        &["---", "a\n---\nb", "-> ghost", "@file m u", "@file x"]
            .map(|text| json!([{ "op": "update", "id": "f", "description": text }])),
    );
    check(&["---", "-> ghost"].map(|text| {
        json!([{ "op": "add_task", "id": "n", "name": "N", "description": text }, { "op": "add_dep", "taskId": "r", "depId": "n" }])
    }));
}

#[test]
fn annotations_that_are_none() {
    for (key, values) in
        [("a b", json!(["v"])), ("", json!(["v"])), ("1a", json!(["v"])), ("a-b", json!(["v"])), ("ä", json!([]))]
    {
        check(&[update("annotations", json!({ key: values }))]);
    }
    check(&["v)", ")", "a)(b", "a\nb"].map(|value| update("annotations", json!({ "k": [value] }))));
}

#[test]
fn what_would_silently_become_something_else() {
    check(&[
        update("annotations", json!({ "k": ["a,b"] })),
        update("decisions", json!(["first\nsecond"])),
        update("decisions", json!(["fine", "a\n-> f"])),
        update("attachments", json!([{ "class": "file", "mime": "a b", "uri": "u" }])),
    ]);
}

#[test]
fn uris_that_are_none() {
    check(
        &["a b", " ", "a\nb", "\u{3000}", "a\tb"].map(|uri| json!([{ "op": "update_ref_uri", "id": "f", "uri": uri }])),
    );
    check(&["a b", "a\nb"].map(|uri| {
        json!([{ "op": "add_ref", "id": "n", "name": "N", "vine": uri }, { "op": "add_dep", "taskId": "r", "depId": "n" }])
    }));
    check(&["a b.vine", "a\tb.vine", ""].map(|uri| json!([{ "op": "extract_to_ref", "id": "t", "vine": uri }])));
}

#[test]
fn attachments_that_are_none() {
    let attachment = |class: &str, mime: &str, uri: &str| {
        update("attachments", json!([{ "class": class, "mime": mime, "uri": uri }]))
    };
    check(&[
        attachment("file", "m", ""),
        attachment("file", "", ""),
        attachment("file", "m", "a\nb"),
        attachment("file", "a\nb", "u"),
        // A class that nobody knows would not be written at all.
        attachment("note", "m", "u"),
        attachment("File", "m", "u"),
        attachment("", "m", "u"),
    ]);
}

#[test]
fn new_plans_too() {
    let mut plan = Plan::new();
    let add = json!({ "op": "add_task", "id": "a", "name": "A" });
    for operations in [
        json!([{ "op": "create", "version": "two" }, add]),
        json!([{ "op": "create", "version": "" }, add]),
        json!([{ "op": "create", "version": "1.2" }, add]),
        json!([{ "op": "create", "version": "1.2.0\n" }, add]),
        json!([{ "op": "create" }, { "op": "add_task", "id": "bad id!", "name": "A" }]),
        json!([{ "op": "create" }, { "op": "add_task", "id": "a", "name": "" }]),
        json!([{ "op": "create" }, { "op": "add_task", "id": "a", "name": "A", "description": "---\n" }]),
    ] {
        plan.write_refused(operations);
        assert_eq!(plan.tree(), [""; 0]);
    }
}

#[test]
fn a_task_whose_child_would_not_read_back_stays() {
    // With the parent's delimiter the text is fine; the child has the default one.
    let text = "vine 1.2.0\ndelimiter: ==\n---\n[r] R (started)\n-> t\n==\n[t] T (started)\nabove\n---\nbelow\n";
    let mut plan = Plan::of(text);
    plan.write_refused(json!([{ "op": "extract_to_ref", "id": "t", "vine": "t.vine" }]));
    assert_eq!((plan.tree(), plan.text(FILE)), (vec![FILE.to_owned()], text.to_owned()));
}

#[test]
fn text_that_only_reads_back_as_decisions_is_fine() {
    let mut plan = Plan::of(blocks(BEFORE));
    plan.write(update("description", json!("Why:\n> because")));
    let task = plan.json("task", json!({ "id": "t" }));
    assert_eq!((&task["description"], &task["decisions"]), (&json!("Why:"), &json!(["because"])));
    for text in ["->x", "  -> x", ">", "@note a b", "----", " ---", "ref [x] X (y)", "[x] X (complete)", "vine 1.2.0"] {
        plan.write(update("description", json!(text)));
        assert_eq!(plan.json("task", json!({ "id": "t" }))["description"], text);
    }
    for name in ["Fix (all) (started)", "@k(v)", "] x", "-> f", "---", "名前"] {
        plan.write(update("name", json!(name)));
        assert_eq!(plan.json("task", json!({ "id": "t" }))["shortName"], name);
    }
}
