//! `vault_replace`: literally, from the top, as often as asked, with the line ends of the file.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use serde_json::{Value, json};

use super::Vault;

/// The file holds `before`; the call is done `count` times and leaves `after`.
#[track_caller]
fn check(before: &str, find: &str, replace: &str, most: Value, (after, count): (&str, u64)) {
    let mut vault = Vault::with_file("a.md", before);
    check_in(&mut vault, before, find, replace, most, (after, count));
}

#[track_caller]
fn check_in(vault: &mut Vault, before: &str, find: &str, replace: &str, most: Value, (after, count): (&str, u64)) {
    vault.write("a.md", before);
    let done = vault.replace("a.md", find, replace, json!({ "max_replacements": most }));
    assert_eq!((vault.text("a.md").as_str(), done), (after, count), "{before:?} {find:?} {replace:?}");
}

fn replacing(path: impl Into<Value>) -> Value {
    json!({ "path": path.into(), "find": "old", "replace": "new" })
}

#[test]
fn an_answer_says_where_and_how_often() {
    let mut vault = Vault::with_file("a/b.md", "x x");
    let answer = vault.call("vault_replace", json!({ "path": "./a//b.md", "find": "x", "replace": "y" }));
    assert_eq!(answer.to_string(), r#"{"written_path":"a/b.md","replacements":1}"#);
    assert_eq!(vault.text("a/b.md"), "y x");
    assert_eq!(vault.read("a/b.md", json!({ "full": true }))["text"], "y x");
    assert_eq!(vault.host().call_ok("vault_scan", json!({ "path": "a/b.md" }))["text"], "y x");
}

#[test]
fn a_text_is_found_literally_from_the_top() {
    let mut vault = Vault::new();
    let mut check = |before, find, replace, most, after| check_in(&mut vault, before, find, replace, most, after);
    check("aaaaa", "aa", "aaa", json!(9), ("aaaaaaa", 2));
    check("aXbXc", "X", "-", json!(null), ("a-bXc", 1));
    check("aXbXc", "X", "-", json!(1), ("a-bXc", 1));
    check("aXbXc", "X", "-", json!(2), ("a-b-c", 2));
    check("aXbXc", "X", "", json!(9), ("abc", 2));
    check("aXbXc", "x", "-", json!(9), ("aXbXc", 0));
    check("a.c abc", "a.c", "$0\\1&", json!(9), ("$0\\1& abc", 1));
    check("one\ntwo\nthree", "one\ntwo", "1", json!(1), ("1\nthree", 1));
    check("あいうい", "い", "🦀", json!(1), ("あ🦀うい", 1));
    check("cafe\u{301} caf\u{e9}", "caf\u{e9}", "x", json!(9), ("cafe\u{301} x", 1));
    check("x", "x", "xx", json!(9), ("xx", 1));
    check("ab", "ab", "", json!(1), ("", 1));
    check("a\0b", "\0", "-", json!(1), ("a-b", 1));
}

#[test]
fn a_number_of_replacements_may_be_anything_from_nothing() {
    let mut vault = Vault::new();
    let mut check = |most, after| check_in(&mut vault, "x x x", "x", "y", most, after);
    check(json!(0), ("x x x", 0));
    check(json!(null), ("y x x", 1));
    check(json!(3), ("y y y", 3));
    check(json!(2.0), ("y y x", 2));
    check(json!(-0.0), ("x x x", 0));
    check(json!(u64::MAX), ("y y y", 3));
    check(serde_json::from_str("99999999999999999999").expect("a number"), ("y y y", 3));
}

#[test]
fn a_wrong_number_is_told_after_existence() {
    let mut vault = Vault::with_file("a.md", "old");
    vault.write("d/x.md", "old");
    for wrong in [
        json!(-1),
        json!(1.5),
        json!(-1.0),
        json!(true),
        json!("1"),
        json!([1]),
        json!({}),
        serde_json::from_str("-99999999999999999999").expect("a number"),
    ] {
        let with = |path: &str| json!({ "path": path, "find": "old", "replace": "new", "max_replacements": wrong });
        let error = vault.refused("vault_replace", with("a.md"));
        assert_eq!(
            (&error["code"], &error["details"]["field"]),
            (&json!("invalid_parameter"), &json!("max_replacements"))
        );
        assert_eq!((&error["details"]["path"], &error["details"]["value"]), (&json!("a.md"), &wrong));
        vault.check_refused("vault_replace", with("none.md"), "not_found", "none.md");
        vault.check_refused("vault_replace", with("d"), "not_found", "d");
        vault.check_refused("vault_replace", with(".system/x"), "forbidden", ".system/x");
        assert_eq!(vault.text("a.md"), "old");
    }
}

#[test]
fn the_first_fault_in_order_is_told() {
    let mut vault = Vault::with_file("a.md", "old");
    let mut check = |arguments: Value, code: &str, field: Option<&str>| {
        let error = vault.refused("vault_replace", arguments.clone());
        assert_eq!(error["code"], code, "{arguments}: {error}");
        assert_eq!(error["details"]["field"].as_str(), field, "{arguments}: {error}");
    };
    for wrong in [json!(""), json!(null), json!(5), json!(false), json!(["x"]), json!({})] {
        check(json!({ "path": "../x", "find": wrong, "replace": 5 }), "invalid_parameter", Some("find"));
        if wrong != "" {
            check(json!({ "path": "../x", "find": "x", "replace": wrong }), "invalid_parameter", Some("replace"));
        }
    }
    check(json!({}), "invalid_parameter", Some("find"));
    check(json!({ "path": "a.md", "find": "old" }), "invalid_parameter", Some("replace"));
    check(replacing("../x"), "invalid_path", Some("path"));
    check(replacing(5), "invalid_path", Some("path"));
    check(json!({ "find": "old", "replace": "new" }), "invalid_path", Some("path"));
    check(replacing(".system/../x"), "invalid_path", Some("path"));
    check(replacing("daily/none.md"), "forbidden", None);
    check(replacing("none.md"), "not_found", None);
    check(replacing("a.md/x"), "not_found", None);
    assert_eq!(vault.text("a.md"), "old");
}

#[test]
fn without_a_vault_nothing_is_found() {
    let home = trellis_tests::harness::Home::new();
    let client = home.host(&["--only", "vault"]);
    let mut vault = Vault { home, client };
    assert_eq!(vault.refused("vault_replace", replacing("a.md"))["code"], "not_found");
    assert!(!vault.path("").exists(), "and none is made");
}

#[test]
fn line_ends_of_the_file_stay() {
    let mut vault = Vault::new();
    let mut check = |before, find, replace, after| check_in(&mut vault, before, find, replace, json!(9), (after, 1));
    check("a\r\nb\r\n", "a", "x", "x\r\nb\r\n");
    check("a\r\nb\r\n", "a\nb", "x\ny", "x\r\ny\r\n");
    check("a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n");
    check("a\r\nb", "b", "b\nc", "a\r\nb\nc");
    check("a\r\nb\r\nc", "\nb\n", "\n", "a\r\nc");
    check("a\nb\n", "a\nb", "x\r\ny", "x\r\ny\n");
    // Where both kinds stand, a text is first taken as it is, then with the file's other kind.
    check("a\nb\r\nc", "a\nb", "z\nz", "z\nz\r\nc");
    check("a\nb\r\nc", "b\nc", "z\nz", "a\nz\r\nz");
}

#[test]
fn a_byte_order_mark_and_the_final_newline_stay() {
    let mut vault = Vault::new();
    let mut check = |before, find, replace, after| check_in(&mut vault, before, find, replace, json!(9), (after, 1));
    check("\u{feff}a\r\nb", "a", "x", "\u{feff}x\r\nb");
    check("\u{feff}a\n", "a\n", "x\n", "\u{feff}x\n");
    check("\u{feff}a", "\u{feff}a", "a", "a");
    check("a\n", "a", "x", "x\n");
    check("a", "a", "x", "x");
    check("a\n\n\n", "a", "x", "x\n\n\n");
}

#[test]
fn a_file_that_is_not_changed_is_not_touched() {
    let mut vault = Vault::with_file("a.md", "text\n");
    let state = |vault: &Vault| {
        let found = fs::metadata(vault.path("a.md")).expect("the file");
        (found.ino(), found.mtime_nsec(), found.mtime(), found.ctime(), found.ctime_nsec(), found.nlink())
    };
    let before = state(&vault);
    for (find, replace, most, count) in [
        ("none", "x", json!(null), 0),
        ("text", "x", json!(0), 0),
        ("text", "text", json!(null), 1),
        ("t", "t", json!(9), 2),
    ] {
        let done = vault.replace("a.md", find, replace, json!({ "max_replacements": most }));
        assert_eq!(done, count, "{find}");
        assert_eq!(state(&vault), before, "{find}");
    }
    for arguments in [json!({ "path": "a.md", "find": "", "replace": "x" }), json!({ "path": "a.md", "find": "x" })] {
        vault.refused("vault_replace", arguments);
        assert_eq!(state(&vault), before);
    }
}

#[test]
fn a_replacement_may_span_the_whole_file() {
    let long = "line of some length\n".repeat(50_000);
    check(&long, &long, "short", json!(null), ("short", 1));
    check("short", "short", &long, json!(null), (&long, 1));
}
