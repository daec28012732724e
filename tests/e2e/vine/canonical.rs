//! The form in which a plan is written, byte for byte.

use serde_json::json;

use super::{FILE, Plan};

/// What a text becomes by a write that changes nothing.
#[track_caller]
fn check(cases: &[(&str, &str)]) {
    let mut plan = Plan::new();
    for (read, written) in cases {
        plan.put(FILE, read);
        plan.write(json!([{ "op": "update", "id": "a" }]));
        assert_eq!(plan.text(FILE), *written, "{read:?}");
        plan.write(json!([{ "op": "update", "id": "a" }]));
        assert_eq!(plan.text(FILE), *written, "the form is stable");
    }
}

#[test]
fn the_preamble() {
    check(&[
        ("vine\t 1.2.0\n---\n[a] A (complete)\n", "vine 1.2.0\n---\n[a] A (complete)\n"),
        ("vine 01.0.7\n---\n[a] A (complete)\n", "vine 01.0.7\n---\n[a] A (complete)\n"),
        (
            "vine 1.2.0\n\nignored\nTitle : a: b \nPREFIX:p q\nDelimiter:===\n---\n[a] A (complete)\n-> b\n===\n[b] B (complete)\n",
            "vine 1.2.0\ndelimiter: ===\nprefix: p q\ntitle: a: b\n---\n[a] A (complete)\n-> b\n===\n[b] B (complete)\n",
        ),
        (
            "vine 1.2.0\ntitle:\nprefix:\n---\n[a] A (complete)\n",
            "vine 1.2.0\nprefix: \ntitle: \n---\n[a] A (complete)\n",
        ),
        (
            "vine 1.2.0\ntitle: one\ntitle: two\n---\n[a] A (complete)\n",
            "vine 1.2.0\ntitle: two\n---\n[a] A (complete)\n",
        ),
        ("vine 1.2.0\ntitle: one\ntitle:\n---\n[a] A (complete)\n", "vine 1.2.0\ntitle: \n---\n[a] A (complete)\n"),
        ("vine 1.2.0\ndelimiter: ---\n---\n[a] A (complete)\n", "vine 1.2.0\n---\n[a] A (complete)\n"),
        (
            "vine 1.2.0\ndelimiter:\n---\n[a] A (complete)\n-> b\n\n[b] B (complete)\n",
            "vine 1.2.0\ndelimiter: \n---\n[a] A (complete)\n-> b\n\n[b] B (complete)\n",
        ),
    ]);
}

#[test]
fn other_metadata_stays_in_the_order_of_the_alphabet() {
    check(&[
        (
            "vine 1.2.0\nzeta: 1\ntitle: T\nalpha: a: b\nowner:  ana  \nprefix: p\n---\n[a] A (complete)\n",
            "vine 1.2.0\nalpha: a: b\nowner: ana\nprefix: p\ntitle: T\nzeta: 1\n---\n[a] A (complete)\n",
        ),
        (
            "vine 1.2.0\nx-note: 名\ndelimiter: +\n---\n[a] A (complete)\n-> b\n+\n[b] B (complete)\n",
            "vine 1.2.0\ndelimiter: +\nx-note: 名\n---\n[a] A (complete)\n-> b\n+\n[b] B (complete)\n",
        ),
        // By UTF-16 code units: the pair of a leaf comes before a wide tilde.
        (
            "vine 1.2.0\n\u{ff5e}: 1\n\u{1f33f}: 2\n---\n[a] A (complete)\n",
            "vine 1.2.0\n\u{1f33f}: 2\n\u{ff5e}: 1\n---\n[a] A (complete)\n",
        ),
    ]);
}

#[test]
fn a_block() {
    check(&[(
        "vine 1.2.0\n---\n---\n\n  [a]\t All  of it   (started)  @z( 1, 2 ,)\t@b()  \n\
         @file m f1\n-> c\nFirst.\n> one\n@artifact m a1\n  indented \n-> b\n@guidance  g\n>  \n\n@artifact m a2\n-> b\nLast.\n@file m f2\n\
         ---\n---\nref   [b]  R  (./b.vine)  @k(v)\n> d\nText.\n-> c\n---\n[c] C (reviewing)\n---\n",
        "vine 1.2.0\n---\n[a] All  of it (started) @b() @z(1,2)\n\
         First.\n  indented \n\nLast.\n-> b\n-> b\n-> c\n> one\n> \n@artifact m a1\n@artifact m a2\n@guidance  g\n@file m f1\n@file m f2\n\
         ---\nref [b] R (./b.vine) @k(v)\nText.\n-> c\n> d\n---\n[c] C (reviewing)\n",
    )]);
}

#[test]
fn every_write_tidies_the_whole_file() {
    let untidy = "vine 1.2.0\r\n---\r\n[a] A (complete)\r\n-> c\r\n-> b\r\n---\r\n[b] B   (complete)\r\n---\r\n[c] C (started)\r\n---\r\n";
    let tidy = "vine 1.2.0\n---\n[a] A (complete)\n-> b\n-> c\n---\n[b] B (complete)\n---\n[c] C (started)\n";
    for operation in [
        json!({ "op": "set_status", "id": "c", "status": "started" }),
        json!({ "op": "claim", "id": "c" }),
        json!({ "op": "update", "id": "b", "name": "B" }),
    ] {
        let mut plan = Plan::of(untidy);
        plan.write(json!([operation]));
        assert_eq!(plan.text(FILE), tidy, "{operation}");
    }
    let mut plan = Plan::of(untidy);
    plan.write_refused(json!([{ "op": "set_status", "id": "nobody", "status": "started" }]));
    assert_eq!(plan.text(FILE), untidy, "not even a tidy-up");
}

#[test]
fn metadata_of_a_parent_survives_every_kind_of_write() {
    let text =
        "vine 1.0.3\ndelimiter: ==\nowner: ana\nprefix: p\ntitle: T\n---\n[a] A (started)\n-> b\n==\n[b] B (started)\n";
    let mut plan = Plan::of(text);
    let head = "vine 1.0.3\ndelimiter: ==\nowner: ana\nprefix: p\ntitle: T\n---\n";
    plan.write(json!([{ "op": "extract_to_ref", "id": "b", "vine": "b.vine" }]));
    assert_eq!(plan.text(FILE), format!("{head}[a] A (started)\n-> b\n==\nref [b] B (b.vine)\n"));
    assert_eq!(plan.text("b.vine"), "vine 1.0.3\ntitle: B\n---\n[b] B (started)\n");
    let answer = plan.call("vine_expand", json!({ "file": FILE, "ref_id": "b", "child_file": "b" }));
    assert_eq!(answer.as_deref(), Ok("Ref \"b\" expanded."));
    assert_eq!(plan.text(FILE), text);
}
