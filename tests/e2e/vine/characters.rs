//! Line ends, white space, order of characters, and bytes that are no text.

use std::fs;

use serde_json::json;

use super::{FILE, Plan, blocks};

#[test]
fn both_line_ends_are_read_and_one_is_written() {
    let unix = "vine 1.2.0\ntitle: T\n---\n[a] A (started)\nOne.\n\n-> b\n> d\n---\n[b] B (complete)\n@file m u\n";
    let mut plan = Plan::of(unix.replace('\n', "\r\n"));
    plan.write(json!([{ "op": "update", "id": "a" }]));
    assert_eq!(plan.text(FILE), unix);
    // Mixed, and without one at the end.
    plan.put(FILE, "vine 1.2.0\r\n---\n[a] A (started)\r\n-> b\n---\r\n[b] B (complete)");
    plan.write(json!([{ "op": "update", "id": "a" }]));
    assert_eq!(plan.text(FILE), "vine 1.2.0\n---\n[a] A (started)\n-> b\n---\n[b] B (complete)\n");
}

#[test]
fn a_lone_carriage_return_is_a_character() {
    let mut plan = Plan::of("vine 1.2.0\n---\n[a] A (started)\none\rtwo\r\rthree\n");
    assert_eq!(plan.json("task", json!({ "id": "a" }))["description"], "one\rtwo\r\rthree");
    plan.write(json!([{ "op": "set_status", "id": "a", "status": "blocked" }]));
    assert_eq!(plan.text(FILE), "vine 1.2.0\n---\n[a] A (blocked)\none\rtwo\r\rthree\n");
}

const WHITE: [char; 24] = [
    '\t', '\u{b}', '\u{c}', '\r', ' ', '\u{a0}', '\u{1680}', '\u{2000}', '\u{2001}', '\u{2002}', '\u{2003}',
    '\u{2004}', '\u{2005}', '\u{2006}', '\u{2007}', '\u{2008}', '\u{2009}', '\u{200a}', '\u{2028}', '\u{2029}',
    '\u{202f}', '\u{205f}', '\u{3000}', '\u{feff}',
];

#[test]
fn white_space_is_what_the_list_says() {
    let mut plan = Plan::new();
    for white in WHITE {
        plan.put(FILE, format!("vine 1.2.0\n---\n{white}[a]{white}A{white}(started){white}@k(v){white} \n-> {white}b{white} \n{white}{white} \n> {white}d{white} \n---\n[b] B (complete)\n"));
        let task = plan.json("task", json!({ "id": "a" }));
        let seen = (&task["shortName"], &task["dependencies"], &task["decisions"], &task["description"]);
        assert_eq!(seen, (&json!("A"), &json!(["b"]), &json!(["d"]), &json!("")), "{white:?}");
    }
}

#[test]
fn next_line_and_zero_width_space_are_not_white() {
    let mut plan = Plan::new();
    for other in ['\u{85}', '\u{200b}', '\u{180e}', '\u{1c}', '\u{0}'] {
        plan.put(FILE, format!("vine 1.2.0\n---\n[a] {other} (started)\n> {other}d{other}\n{other}\n"));
        let task = plan.json("task", json!({ "id": "a" }));
        assert_eq!(task["shortName"], other.to_string(), "{other:?}");
        assert_eq!(task["decisions"], json!([format!("{other}d{other}")]), "{other:?}");
        assert_eq!(task["description"], other.to_string(), "{other:?}: the line is not blank");
        let verdict = plan.verdict(format!("vine 1.2.0\n---\n[a] A (started)\n-> a{other}\n"));
        assert!(verdict.contains(&format!("unknown dependency \"a{other}\"")), "{other:?}: {verdict}");
        let verdict = plan.verdict(format!("vine 1.2.0\n---\n{other}[a] A (started)\n"));
        assert!(verdict.starts_with("Parse error (line 3): "), "{other:?}: {verdict}");
    }
}

#[test]
fn dependencies_are_sorted_by_their_characters() {
    let names = ["b", "a", "9", "10", "a/b", "a-b", "a0", "aB", "A", "-", "a/b/c", "B"];
    let mut all: Vec<String> =
        vec![format!("[root] R (started)\n{}", names.map(|name| format!("-> {name}")).join("\n"))];
    all.extend(names.map(|name| format!("[{name}] N (complete)")));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut plan = Plan::of(blocks(&all));
    assert_eq!(plan.json("task", json!({ "id": "root" }))["dependencies"], json!(names), "as in the file");
    plan.write(json!([{ "op": "update", "id": "root" }]));
    let sorted = ["-", "10", "9", "A", "B", "a", "a-b", "a/b", "a/b/c", "a0", "aB", "b"];
    assert_eq!(plan.json("task", json!({ "id": "root" }))["dependencies"], json!(sorted));
    let ids: Vec<String> = plan
        .json("list", json!({}))
        .as_array()
        .expect("an array")
        .iter()
        .skip(1)
        .map(|node| node["id"].as_str().expect("an id").to_owned())
        .collect();
    assert_eq!(ids, names, "nodes stay in their order");
}

#[test]
fn bytes_that_are_no_text_are_shown_and_never_written() {
    let mut plan = Plan::new();
    for (bytes, shown) in [
        (&b"caf\xe9"[..], "caf\u{fffd}"),
        (b"\xff\xfe", "\u{fffd}\u{fffd}"),
        (b"\xf0\x9f\x98 \xe2\x82", "\u{fffd} \u{fffd}"),
        (b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}"),
    ] {
        let file = [b"vine 1.2.0\n---\n[a] A (started)\n", bytes, b"\n"].concat();
        plan.put(FILE, &file);
        assert_eq!(plan.json("task", json!({ "id": "a" }))["description"], shown);
        assert_eq!(plan.next()["progress"]["total"], 1);
        let refusal = plan.write_refused(json!([{ "op": "set_status", "id": "a", "status": "complete" }]));
        assert_eq!(refusal, format!("File is not valid UTF-8: {FILE}"));
        assert_eq!(fs::read(plan.path(FILE)).expect("the file"), file, "every byte is still there");
    }
}

#[test]
fn a_plan_with_foreign_bytes_is_not_expanded_either() {
    let bytes = b"vine 1.2.0\n---\n[a] A \xff (started)\n-> r\n---\nref [r] R (c.vine)\n";
    let mut plan = Plan::of(bytes);
    plan.put("c.vine", blocks(&["[c] C (started)"]));
    let refusal = plan.call("vine_expand", json!({ "file": FILE, "ref_id": "r", "child_file": "c" }));
    assert_eq!(refusal, Err(format!("File is not valid UTF-8: {FILE}")));
    let refusal = plan.write_refused(
        json!([{ "op": "extract_to_ref", "id": "a", "vine": "new.vine" }, { "op": "update", "id": "a" }]),
    );
    assert!(!refusal.is_empty());
    assert_eq!(fs::read(plan.path(FILE)).expect("the file"), bytes);
    assert_eq!(plan.tree(), ["c.vine", FILE]);
}
