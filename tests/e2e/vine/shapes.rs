//! Operations of a wrong form: all are looked at before the file is, and the first wrong one is named.

use serde_json::{Value, json};

use super::{FILE, Plan, blocks};

/// Operations, and what is said of them. The file does not even exist: form comes first.
#[track_caller]
fn check(cases: &[(Value, &str)]) {
    let mut plan = Plan::new();
    for (operation, expected) in cases {
        assert_eq!(plan.write_refused(json!([operation])), *expected, "{operation}");
        // Behind good ones it has its place in the message.
        let good = json!({ "op": "claim", "id": "a" });
        let second = expected.replacen("Operation 0:", "Operation 2:", 1);
        assert_eq!(plan.write_refused(json!([good, good, operation, {}])), second, "{operation}");
    }
    assert_eq!(plan.tree(), [""; 0], "nothing was made");
}

#[test]
fn the_name_of_an_operation() {
    check(&[
        (json!({}), "Operation 0: missing \"op\" field."),
        (json!({ "id": "a" }), "Operation 0: missing \"op\" field."),
        (json!({ "op": null }), "Operation 0: missing \"op\" field."),
        (json!({ "op": 7 }), "Operation 0: missing \"op\" field."),
        (json!({ "op": ["claim"] }), "Operation 0: missing \"op\" field."),
        (json!({ "op": "" }), "Operation 0: unknown op \"\"."),
        (json!({ "op": "fly" }), "Operation 0: unknown op \"fly\"."),
        (json!({ "op": "Claim", "id": "a" }), "Operation 0: unknown op \"Claim\"."),
        (json!({ "op": "claim ", "id": "a" }), "Operation 0: unknown op \"claim \"."),
    ]);
}

#[test]
fn required_fields_in_their_order() {
    let mut cases = Vec::new();
    for (op, fields) in [
        ("add_task", &["id", "name"][..]),
        ("remove_task", &["id"]),
        ("set_status", &["id", "status"]),
        ("claim", &["id"]),
        ("update", &["id"]),
        ("add_dep", &["taskId", "depId"]),
        ("remove_dep", &["taskId", "depId"]),
        ("add_ref", &["id", "name", "vine"]),
        ("update_ref_uri", &["id", "uri"]),
        ("extract_to_ref", &["id", "vine"]),
    ] {
        let mut operation = json!({ "op": op });
        for field in fields {
            let message = format!("Operation 0: {op} requires \"{field}\".");
            cases.push((operation.clone(), message.clone()));
            for wrong in [json!(null), json!(7), json!(true), json!(["a"]), json!({ "a": "b" })] {
                operation[field] = wrong;
                cases.push((operation.clone(), message.clone()));
            }
            operation[field] = "complete".into();
        }
    }
    let cases: Vec<(Value, &str)> = cases.iter().map(|(operation, message)| (operation.clone(), &**message)).collect();
    check(&cases);
}

#[test]
fn statuses() {
    let valid = "Valid: complete, started, reviewing, planning, notstarted, blocked";
    let of = |status: &str| format!("Operation 0: invalid status \"{status}\". {valid}");
    let add = |status: Value| json!({ "op": "add_task", "id": "a", "name": "A", "status": status });
    let set = |status: &str| json!({ "op": "set_status", "id": "a", "status": status });
    check(&[
        (set(""), &of("")),
        (set("done"), &of("done")),
        (set("Complete"), &of("Complete")),
        (add(json!("")), &of("")),
        (add(json!("done")), &of("done")),
        (add(json!(null)), "Operation 0: status must be a string."),
        (add(json!(1)), "Operation 0: status must be a string."),
        (add(json!(["complete"])), "Operation 0: status must be a string."),
    ]);
}

#[test]
fn arrays_of_strings() {
    let mut cases = Vec::new();
    for (op, field, more) in [
        ("add_task", "dependsOn", json!({ "name": "A" })),
        ("add_ref", "dependsOn", json!({ "name": "A", "vine": "u" })),
        ("add_ref", "decisions", json!({ "name": "A", "vine": "u" })),
        ("update", "decisions", json!({})),
    ] {
        for wrong in [json!([1]), json!(["a", null]), json!([["a"]]), json!([{}])] {
            let mut operation = more.clone();
            operation["op"] = op.into();
            operation["id"] = "a".into();
            operation[field] = wrong;
            cases.push((operation, format!("Operation 0: {op} \"{field}\" must be an array of strings.")));
        }
    }
    let cases: Vec<(Value, &str)> = cases.iter().map(|(operation, message)| (operation.clone(), &**message)).collect();
    check(&cases);
}

#[test]
fn annotations() {
    let mut cases = Vec::new();
    for op in ["add_task", "update"] {
        for (wrong, message) in [
            (json!(null), "must be an object mapping keys to string arrays."),
            (json!(7), "must be an object mapping keys to string arrays."),
            (json!("a"), "must be an object mapping keys to string arrays."),
            (json!(false), "must be an object mapping keys to string arrays."),
            (json!([]), "must be an object."),
            (json!(["a"]), "must be an object."),
            (json!({ "k": "v" }), "values must be arrays of strings."),
            (json!({ "k": ["v"], "l": null }), "values must be arrays of strings."),
            (json!({ "k": ["v", 1] }), "values must be arrays of strings."),
            (json!({ "k": {} }), "values must be arrays of strings."),
        ] {
            let operation = json!({ "op": op, "id": "a", "name": "A", "annotations": wrong });
            cases.push((operation, format!("Operation 0: {op} \"annotations\" {message}")));
        }
    }
    let cases: Vec<(Value, &str)> = cases.iter().map(|(operation, message)| (operation.clone(), &**message)).collect();
    check(&cases);
}

#[test]
fn attachments() {
    let message = "Operation 0: update \"attachments\" elements must have class, mime, and uri as strings.";
    let of = |wrong: Value| (json!({ "op": "update", "id": "a", "attachments": [wrong] }), message);
    check(&[
        of(json!({})),
        of(json!(null)),
        of(json!("file")),
        of(json!(["file", "m", "u"])),
        of(json!({ "class": "file", "mime": "m" })),
        of(json!({ "class": "file", "uri": "u" })),
        of(json!({ "mime": "m", "uri": "u" })),
        of(json!({ "class": "file", "mime": "m", "uri": 7 })),
        of(json!({ "class": null, "mime": "m", "uri": "u" })),
    ]);
}

#[test]
fn optional_fields_are_looked_at_in_their_order() {
    let (status, annotations) = (json!(7), json!(null));
    check(&[
        (
            json!({ "op": "add_task", "id": "a", "name": "A", "annotations": annotations, "dependsOn": [1], "status": status }),
            "Operation 0: status must be a string.",
        ),
        (
            json!({ "op": "add_task", "id": "a", "name": "A", "annotations": annotations, "dependsOn": [1] }),
            "Operation 0: add_task \"dependsOn\" must be an array of strings.",
        ),
        (
            json!({ "op": "update", "id": "a", "annotations": null, "attachments": [1], "decisions": [1] }),
            "Operation 0: update \"decisions\" must be an array of strings.",
        ),
        (
            json!({ "op": "update", "id": "a", "annotations": null, "attachments": [1] }),
            "Operation 0: update \"attachments\" elements must have class, mime, and uri as strings.",
        ),
        (
            json!({ "op": "add_ref", "id": "a", "name": "A", "vine": "u", "decisions": [1], "dependsOn": [1] }),
            "Operation 0: add_ref \"dependsOn\" must be an array of strings.",
        ),
    ]);
}

#[test]
fn everything_else_of_a_wrong_type_is_as_good_as_absent() {
    let before = blocks(&["[r] R (started) @k(v)\nText.\n-> a\n> d\n@file m u", "[a] A (started)"]);
    let mut plan = Plan::of(&before);
    for operation in [
        json!({ "op": "update", "id": "r", "name": 7, "description": null, "decisions": "d", "attachments": {}, "status": "complete" }),
        json!({ "op": "update", "id": "r", "name": null, "description": ["x"], "decisions": null, "attachments": null, "dependsOn": ["x"] }),
        json!({ "op": "set_status", "id": "r", "status": "started", "name": "X", "version": 3 }),
    ] {
        plan.write(json!([operation]));
        assert_eq!(plan.text(FILE), before, "{operation}");
    }
    plan.write(json!([
        {
            "op": "add_task", "id": "n", "name": "N", "description": 7, "dependsOn": "a", "decisions": ["x"],
            "attachments": [{ "class": "file", "mime": "m", "uri": "u" }], "unknown": true,
        },
        { "op": "add_ref", "id": "f", "name": "F", "vine": "u", "description": false, "dependsOn": {}, "decisions": 7, "annotations": { "k": ["v"] }, "status": "complete" },
        { "op": "update", "id": "r", "description": "", "decisions": [], "attachments": [], "annotations": {} },
        { "op": "add_dep", "taskId": "r", "depId": "n" },
        { "op": "add_dep", "taskId": "r", "depId": "f" },
    ]));
    let after =
        blocks(&["[r] R (started)\n-> a\n-> f\n-> n", "[a] A (started)", "[n] N (notstarted)", "ref [f] F (u)"]);
    assert_eq!(plan.text(FILE), after);
    plan.write(json!([{ "op": "extract_to_ref", "id": "n", "vine": "n.vine", "refName": 7 }]));
    assert!(plan.text(FILE).ends_with("ref [n] N (n.vine)\n---\nref [f] F (u)\n"), "{}", plan.text(FILE));
    let arguments = json!({ "file": "new", "operations": [{ "op": "create", "version": 7 }, { "op": "add_task", "id": "a", "name": "A" }] });
    plan.call("vine_write", arguments).expect("it is made");
    assert_eq!(plan.text("new.vine"), "vine 1.2.0\n---\n[a] A (notstarted)\n");
}

#[test]
fn form_comes_before_the_rules_for_a_batch() {
    let mut plan = Plan::of(blocks(&["[r] R (started)"]));
    let extract = json!({ "op": "extract_to_ref", "id": "r", "vine": "x.vine" });
    for first in [json!({ "op": "create" }), extract.clone()] {
        let refusal = plan.write_refused(json!([first, extract, { "op": "claim" }]));
        assert_eq!(refusal, "Operation 2: claim requires \"id\".");
    }
    let refusal = plan.write_refused(json!([{ "op": "claim", "id": "nobody" }, extract, extract]));
    assert_eq!(refusal, "At most one extract_to_ref operation is allowed per batch.");
    // Also where there is no file.
    let arguments = json!({ "file": "nothing", "operations": [extract, extract] });
    let expected = "At most one extract_to_ref operation is allowed per batch.".to_owned();
    assert_eq!(plan.call("vine_write", arguments), Err(expected));
}
