//! What a character is, and a line: nothing but LF ends one, and a CR before it belongs to the ending.

use serde_json::json;

use super::Vault;

/// A whole file, as its lines are shown.
#[track_caller]
fn check(vault: &mut Vault, content: &str, lines: &[&str]) {
    vault.write("a.md", content);
    let (text, last) = (lines.join("\n"), lines.len().max(1));
    let answer = vault.read("a.md", json!({ "full": true }));
    assert_eq!(answer["text"], text, "{content:?}");
    assert_eq!(answer["returned_chars"], text.chars().count(), "{content:?}");
    assert_eq!(answer["applied_range"], json!({ "start_line": 1, "end_line": last }), "{content:?}");
    assert_eq!(answer["next_offset"], json!({ "start_line": null }), "{content:?}");
    assert_eq!((&answer["truncated"], &answer["truncated_reason"]), (&json!(false), &json!("none")), "{content:?}");
    assert_eq!(vault.read("a.md", json!({ "range": {} }))["text"], text, "{content:?}");
    let scanned = vault.scan("a.md", json!({}));
    assert_eq!((&scanned["text"], &scanned["eof"]), (&json!(text), &json!(true)), "{content:?}");
    // One line more than there are.
    let beyond = json!({ "path": "a.md", "range": { "start_line": last + 1 } });
    vault.check_refused("vault_read", beyond, "invalid_parameter", "a.md");
    vault.check_refused("vault_scan", json!({ "path": "a.md", "start_line": last + 1 }), "invalid_parameter", "a.md");
}

#[test]
fn lines_end_at_line_feeds_and_nowhere_else() {
    let mut vault = Vault::new();
    check(&mut vault, "", &[]);
    check(&mut vault, "\n", &[""]);
    check(&mut vault, "a\nb\n", &["a", "b"]);
    check(&mut vault, "a\nb", &["a", "b"]);
    check(&mut vault, "a\n\n", &["a", ""]);
    check(&mut vault, "a\r\nb\r\n", &["a", "b"]);
    check(&mut vault, "a\r\nb\n\r\nc", &["a", "b", "", "c"]);
    check(&mut vault, "a\rb\r", &["a\rb\r"]);
    check(&mut vault, "a\r\r\nb", &["a\r", "b"]);
    for separator in ["\u{b}", "\u{c}", "\u{1c}", "\u{85}", "\u{2028}", "\u{2029}"] {
        let line = format!("a{separator}b");
        check(&mut vault, &line, &[&line]);
        check(&mut vault, &format!("{line}\n{line}\n"), &[&line, &line]);
    }
}

#[test]
fn a_byte_order_mark_is_the_first_character() {
    check(&mut Vault::new(), "\u{feff}a\n", &["\u{feff}a"]);
}

#[test]
fn a_nul_is_a_character_like_others() {
    check(&mut Vault::new(), "a\0b\n", &["a\0b"]);
}

#[test]
fn characters_are_neither_bytes_nor_utf_16_units() {
    let mut vault = Vault::with_file("a.md", "あ🦀é\u{301}あ");
    let answer = vault.read("a.md", json!({ "full": true, "limits": { "max_chars": 2 } }));
    assert_eq!((&answer["text"], &answer["returned_chars"]), (&json!("あ🦀"), &json!(2)));
    let answer = vault.read("a.md", json!({ "full": true, "limits": { "max_chars": 3 } }));
    assert_eq!(answer["text"], "あ🦀é", "a combining mark is a character of its own");
    let answer = vault.read("a.md", json!({ "full": true, "limits": { "max_chars": 5 } }));
    assert_eq!((&answer["text"], &answer["truncated"]), (&json!("あ🦀é\u{301}あ"), &json!(false)));
    let answer = vault.read("a.md", json!({ "range": { "start_char": 1 } }));
    assert_eq!(answer["text"], "🦀é\u{301}あ");
}

#[test]
fn the_hard_limit_counts_characters() {
    let mut vault = Vault::with_file("a.md", "🦀".repeat(20_000));
    let answer = vault.read("a.md", json!({ "full": true }));
    assert_eq!((&answer["returned_chars"], &answer["truncated"]), (&json!(20_000), &json!(false)));
    vault.write("a.md", "🦀".repeat(20_001));
    let answer = vault.read("a.md", json!({ "full": true }));
    assert_eq!((&answer["returned_chars"], &answer["truncated_reason"]), (&json!(20_000), &json!("hard_limit")));
}
