//! `vault_read`: ranges, limits, where a text is cut, and where to go on.

use serde_json::{Value, json};

use super::Vault;

/// The arguments of a read; its text, last line, next line and reason. The first line is the range's.
#[track_caller]
fn check(vault: &mut Vault, arguments: Value, expected: (&str, usize, Option<usize>, &str)) {
    let answer = vault.read("a.md", arguments.clone());
    let (text, last, next, reason) = expected;
    let first = match &arguments["full"] {
        Value::Bool(true) => 1,
        _ => arguments["range"]["start_line"].as_u64().unwrap_or(1),
    };
    assert_eq!(answer["text"], text, "{arguments}");
    assert_eq!(answer["returned_chars"], text.chars().count(), "{arguments}");
    assert_eq!(answer["applied_range"], json!({ "start_line": first, "end_line": last }), "{arguments}");
    assert_eq!(answer["next_offset"], json!({ "start_line": next }), "{arguments}");
    assert_eq!(answer["truncated_reason"], reason, "{arguments}");
    assert_eq!(answer["truncated"], reason != "none", "{arguments}");
}

#[test]
fn a_read_has_its_fields_in_order() {
    let mut vault = Vault::with_file("notes/a.md", "one\ntwo\n");
    let mut answer = vault.read("notes/a.md", json!({ "range": { "end_line": 1 } }));
    answer["hash"] = json!("…");
    let expected = json!({
        "text": "one",
        "truncated": true,
        "returned_chars": 3,
        "applied_range": { "start_line": 1, "end_line": 1 },
        "next_offset": { "start_line": 2 },
        "truncated_reason": "range_end",
        "next_actions": [{ "type": "vault_replace", "confidence": 0.8, "params": { "path": "notes/a.md" } }],
        "hash": "…",
    });
    assert_eq!(answer.to_string(), expected.to_string());
}

#[test]
fn a_range_is_one_based_and_includes_its_end() {
    let mut vault = Vault::with_file("a.md", "1\n2\n3\n4\n5\n");
    let range = |range: Value| json!({ "range": range });
    check(&mut vault, range(json!({})), ("1\n2\n3\n4\n5", 5, None, "none"));
    check(&mut vault, range(json!({ "start_line": 2, "end_line": 3 })), ("2\n3", 3, Some(4), "range_end"));
    check(&mut vault, range(json!({ "start_line": 5, "end_line": 5 })), ("5", 5, None, "none"));
    check(&mut vault, range(json!({ "start_line": 4 })), ("4\n5", 5, None, "none"));
    check(&mut vault, range(json!({ "end_line": 1 })), ("1", 1, Some(2), "range_end"));
    check(&mut vault, range(json!({ "start_line": 4, "end_line": 99 })), ("4\n5", 5, None, "none"));
    check(&mut vault, range(json!({ "end_line": i64::MAX })), ("1\n2\n3\n4\n5", 5, None, "none"));
    check(&mut vault, range(json!({ "end_line": u64::MAX })), ("1\n2\n3\n4\n5", 5, None, "none"));
}

#[test]
fn a_whole_number_may_have_a_point() {
    let mut vault = Vault::with_file("a.md", "one\ntwo\nthree\nfour\n");
    let range = json!({ "start_line": 2.0, "end_line": 3.0, "start_char": 1.0 });
    let answer = vault.read("a.md", json!({ "range": range, "limits": { "max_chars": 100.0 } }));
    assert_eq!((&answer["text"], &answer["next_offset"]), (&json!("wo\nthree"), &json!({ "start_line": 4 })));
    let answer = vault.read("a.md", json!({ "full": true, "limits": { "max_chars": 3.0 } }));
    assert_eq!((&answer["text"], &answer["truncated_reason"]), (&json!("one"), &json!("max_chars")));
    let beyond = json!({ "path": "a.md", "range": { "start_line": 5.0 } });
    let error = vault.refused("vault_read", beyond);
    assert_eq!((&error["code"], &error["details"]["value"]), (&json!("invalid_parameter"), &json!(5.0)));
}

#[test]
fn an_empty_file_has_one_line_for_a_range() {
    let mut vault = Vault::with_file("a.md", "");
    for arguments in [
        json!({ "full": true }),
        json!({ "range": {} }),
        json!({ "range": { "start_line": 1 } }),
        json!({ "range": { "start_line": 1, "end_line": 1 } }),
        json!({ "range": { "end_line": 9 } }),
        json!({ "full": true, "limits": { "max_chars": 1 } }),
    ] {
        check(&mut vault, arguments, ("", 1, None, "none"));
    }
}

#[test]
fn a_cut_leaves_lines_whole() {
    let mut vault = Vault::with_file("a.md", "aaaa\nbbbb\ncccc\n");
    let most = |max_chars: i64| json!({ "full": true, "limits": { "max_chars": max_chars } });
    check(&mut vault, most(14), ("aaaa\nbbbb\ncccc", 3, None, "none"));
    check(&mut vault, most(13), ("aaaa\nbbbb", 2, Some(3), "max_chars"));
    check(&mut vault, most(9), ("aaaa\nbbbb", 2, Some(3), "max_chars"));
    check(&mut vault, most(8), ("aaaa", 1, Some(2), "max_chars"));
    check(&mut vault, most(4), ("aaaa", 1, Some(2), "max_chars"));
    // Only a first line that is too long by itself is cut inside, and the next one follows it.
    check(&mut vault, most(3), ("aaa", 1, Some(2), "max_chars"));
    check(&mut vault, most(i64::MAX), ("aaaa\nbbbb\ncccc", 3, None, "none"));
    let last = json!({ "range": { "start_line": 3 }, "limits": { "max_chars": 2 } });
    check(&mut vault, last, ("cc", 3, None, "max_chars"));
}

#[test]
fn the_limit_comes_before_the_end_of_the_range() {
    let mut vault = Vault::with_file("a.md", "aaaa\nbbbb\ncccc\n");
    let both = |end: u64, max_chars: u64| json!({ "range": { "end_line": end }, "limits": { "max_chars": max_chars } });
    check(&mut vault, both(2, 8), ("aaaa", 1, Some(2), "max_chars"));
    check(&mut vault, both(2, 9), ("aaaa\nbbbb", 2, Some(3), "range_end"));
    check(&mut vault, both(3, 9), ("aaaa\nbbbb", 2, Some(3), "max_chars"));
    check(&mut vault, both(3, 14), ("aaaa\nbbbb\ncccc", 3, None, "none"));
}

#[test]
fn the_hard_limit_has_its_own_name() {
    let lines: Vec<String> = (0..4).map(|number| number.to_string().repeat(7_000)).collect();
    let mut vault = Vault::with_file("a.md", lines.join("\n"));
    let two = lines[..2].join("\n");
    check(&mut vault, json!({ "full": true }), (&two, 2, Some(3), "hard_limit"));
    for asked in [20_000, 20_001, 1_u64 << 40] {
        let arguments = json!({ "full": true, "limits": { "max_chars": asked } });
        check(&mut vault, arguments, (&two, 2, Some(3), "hard_limit"));
    }
    let less = json!({ "full": true, "limits": { "max_chars": 19_999 } });
    check(&mut vault, less, (&two, 2, Some(3), "max_chars"));
    check(&mut vault, json!({ "range": { "start_line": 3 } }), (&lines[2..].join("\n"), 4, None, "none"));
}

#[test]
fn going_on_at_the_next_offset_loses_nothing() {
    let lines: Vec<String> = (0..900).map(|number| format!("line {number} {}", "あ".repeat(number % 90))).collect();
    let mut vault = Vault::with_file("a.md", lines.join("\n") + "\n");
    for max_chars in [98, 99, 5_000, 20_000] {
        let (mut start, mut visited) = (Some(1), Vec::new());
        while let Some(line) = start {
            let arguments = json!({ "range": { "start_line": line }, "limits": { "max_chars": max_chars } });
            let answer = vault.read("a.md", arguments);
            visited.extend(answer["text"].as_str().expect("a text").split('\n').map(str::to_owned));
            start = answer["next_offset"]["start_line"].as_u64();
        }
        assert!(visited == lines, "something is lost or doubled in pieces of {max_chars}");
    }
}

#[test]
fn a_line_beyond_the_limit_is_read_on_by_its_characters() {
    let line: String = (0..45_000).map(|number| char::from(b'a' + (number % 26) as u8)).collect();
    let mut vault = Vault::with_file("a.md", format!("first\n{line}\nlast\n"));
    let mut whole = String::new();
    while whole.len() < line.len() {
        let range = json!({ "start_line": 2, "end_line": 2, "start_char": whole.len() });
        let answer = vault.read("a.md", json!({ "range": range }));
        let text = answer["text"].as_str().expect("a text");
        assert_eq!(answer["applied_range"], json!({ "start_line": 2, "end_line": 2 }));
        assert_eq!(answer["next_offset"], json!({ "start_line": 3 }), "a caller always moves forward");
        let left = line.len() - whole.len();
        assert_eq!(answer["truncated_reason"], if left > 20_000 { "hard_limit" } else { "range_end" });
        whole.push_str(text);
    }
    assert_eq!(whole, line);
    check(&mut vault, json!({ "range": { "start_line": 3, "start_char": 2 } }), ("st", 3, None, "none"));
    check(&mut vault, json!({ "range": { "start_line": 3, "start_char": 99 } }), ("", 3, None, "none"));
}
