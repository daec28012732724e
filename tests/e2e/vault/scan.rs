//! `vault_scan`: chunks, cursors, the end; and that every line comes once, whatever the text.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::Vault;

fn numbered(lines: usize) -> String {
    (1..=lines).map(|number| format!("{number}\n")).collect()
}

/// The arguments of a scan; its first, last and next line, and the reason.
#[track_caller]
fn check(vault: &mut Vault, arguments: Value, expected: (usize, usize, Option<usize>, &str)) {
    let answer = vault.scan("a.md", arguments.clone());
    let (first, last, next, reason) = expected;
    assert_eq!(answer["applied_range"], json!({ "start_line": first, "end_line": last }), "{arguments}");
    assert_eq!(answer["next_cursor"], json!({ "start_line": next }), "{arguments}");
    assert_eq!(answer["eof"], next.is_none(), "{arguments}");
    assert_eq!(answer["truncated_reason"], reason, "{arguments}");
    assert_eq!(answer["truncated"], reason != "none", "{arguments}");
}

#[test]
fn a_scan_has_its_fields_in_order() {
    let mut vault = Vault::with_file("notes/a.md", "one\ntwo\nthree\n");
    let asked = json!({ "chunk_lines": 2, "limits": { "max_chars": 99 } });
    let mut answer = vault.scan("./notes/a.md", asked);
    answer["hash"] = json!("…");
    let params = json!({
        "path": "notes/a.md",
        "cursor": { "start_line": 3 },
        "chunk_lines": 2,
        "limits": { "max_chars": 99 },
    });
    let expected = json!({
        "text": "one\ntwo",
        "applied_range": { "start_line": 1, "end_line": 2 },
        "next_cursor": { "start_line": 3 },
        "eof": false,
        "truncated": true,
        "truncated_reason": "chunk_end",
        "next_actions": [{ "type": "vault_scan", "confidence": 0.8, "params": params }],
        "hash": "…",
    });
    assert_eq!(answer.to_string(), expected.to_string());
}

#[test]
fn a_whole_number_may_have_a_point() {
    let mut vault = Vault::with_file("a.md", numbered(9));
    let asked = json!({ "cursor": { "start_line": 2.0 }, "chunk_lines": 3.0, "limits": { "max_chars": 99.0 } });
    check(&mut vault, asked.clone(), (2, 4, Some(5), "chunk_end"));
    let action = vault.scan("a.md", asked)["next_actions"][0].clone();
    assert_eq!(action["params"]["limits"], json!({ "max_chars": 99 }));
    check(&mut vault, json!({ "start_line": 9.0, "chunk_lines": 3.0 }), (9, 9, None, "none"));
    let error = vault.refused("vault_scan", json!({ "path": "a.md", "chunk_lines": 201.0 }));
    assert_eq!((&error["code"], &error["details"]["value"]), (&json!("invalid_parameter"), &json!(201.0)));
}

#[test]
fn the_next_action_is_a_call_that_goes_on() {
    let mut vault = Vault::with_file("a.md", numbered(100));
    let first = vault.scan("a.md", json!({}));
    let action = &first["next_actions"][0];
    let params = json!({ "path": "a.md", "cursor": { "start_line": 81 }, "chunk_lines": 80 });
    assert_eq!(*action, json!({ "type": "vault_scan", "confidence": 0.8, "params": params }));
    let second = vault.call("vault_scan", action["params"].clone());
    assert_eq!((&second["applied_range"]["start_line"], &second["eof"]), (&json!(81), &json!(true)));
    let stop = json!([{ "type": "stop", "confidence": 0.9, "params": null }]);
    assert_eq!((&second["next_actions"], &second["next_cursor"]), (&stop, &json!({ "start_line": null })));
}

#[test]
fn the_end_is_told_with_the_last_line() {
    let mut vault = Vault::with_file("a.md", numbered(80));
    check(&mut vault, json!({}), (1, 80, None, "none"));
    vault.write("a.md", numbered(80).trim_end());
    check(&mut vault, json!({}), (1, 80, None, "none"));
    vault.write("a.md", numbered(81));
    check(&mut vault, json!({}), (1, 80, Some(81), "chunk_end"));
    check(&mut vault, json!({ "cursor": { "start_line": 81 } }), (81, 81, None, "none"));
    vault.write("a.md", "");
    check(&mut vault, json!({}), (1, 1, None, "none"));
    check(&mut vault, json!({ "cursor": { "start_line": 1 } }), (1, 1, None, "none"));
}

#[test]
fn chunks_have_the_size_that_was_asked_for() {
    let mut vault = Vault::with_file("a.md", numbered(450));
    check(&mut vault, json!({}), (1, 80, Some(81), "chunk_end"));
    check(&mut vault, json!({ "chunk_lines": 1 }), (1, 1, Some(2), "chunk_end"));
    check(&mut vault, json!({ "chunk_lines": 200 }), (1, 200, Some(201), "chunk_end"));
    check(&mut vault, json!({ "chunk_lines": 200, "cursor": { "start_line": 251 } }), (251, 450, None, "none"));
    check(&mut vault, json!({ "chunk_lines": 200, "cursor": { "start_line": 450 } }), (450, 450, None, "none"));
}

#[test]
fn a_start_line_of_its_own_wins_over_the_cursor() {
    let mut vault = Vault::with_file("a.md", numbered(9));
    check(&mut vault, json!({ "start_line": 3, "chunk_lines": 2 }), (3, 4, Some(5), "chunk_end"));
    check(&mut vault, json!({ "start_line": 8, "cursor": { "start_line": 2 } }), (8, 9, None, "none"));
    check(&mut vault, json!({ "start_line": null, "cursor": { "start_line": 2 } }), (2, 9, None, "none"));
}

#[test]
fn a_limit_cuts_a_chunk_between_lines() {
    let mut vault = Vault::with_file("a.md", "aaaa\nbbbb\ncccc\ndd\n");
    let most = |max_chars: u64| json!({ "limits": { "max_chars": max_chars } });
    check(&mut vault, most(17), (1, 4, None, "none"));
    check(&mut vault, most(16), (1, 3, Some(4), "max_chars"));
    check(&mut vault, most(3), (1, 1, Some(2), "max_chars"));
    let chunk = json!({ "chunk_lines": 2, "limits": { "max_chars": 9 } });
    check(&mut vault, chunk, (1, 2, Some(3), "chunk_end"));
    // The last line has been delivered as far as it can be: that is the end, and it says what is missing.
    check(&mut vault, json!({ "start_line": 4, "limits": { "max_chars": 1 } }), (4, 4, None, "max_chars"));
    vault.write("a.md", format!("{}\nend", "x".repeat(20_001)));
    check(&mut vault, json!({}), (1, 1, Some(2), "hard_limit"));
    check(&mut vault, json!({ "limits": { "max_chars": 50_000 } }), (1, 1, Some(2), "hard_limit"));
}

#[derive(Debug, Clone)]
struct Scanned {
    content: String,
    chunk_lines: usize,
    max_chars: usize,
}

fn any_scan() -> impl Strategy<Value = Scanned> {
    let letters = prop::sample::select(vec!["a", "あ", "🦀", " ", "\r", "\u{c}", "\u{85}", "\u{2028}", "e\u{301}"]);
    let line = prop::collection::vec(letters, 0..12).prop_map(|letters| letters.concat());
    let ending = prop::sample::select(vec!["\n", "\r\n"]);
    let lines = prop::collection::vec((line.clone(), ending), 0..60);
    (lines, line, 1_usize..70, 1_usize..60).prop_map(|(lines, open, chunk_lines, max_chars)| {
        let content =
            lines.into_iter().flat_map(|(line, ending)| [line, ending.to_owned()]).collect::<String>() + &open;
        Scanned { content, chunk_lines, max_chars }
    })
}

/// Lines as the contract defines them, told in other words than the program's.
fn lines_of(content: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = content.split('\n').collect();
    let open = lines.pop().filter(|open| !open.is_empty());
    let mut lines: Vec<&str> = lines.into_iter().map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    lines.extend(open);
    if lines.is_empty() {
        lines.push("");
    }
    lines
}

#[test]
fn every_line_comes_once_whatever_the_text() {
    let vault = RefCell::new(Vault::new());
    let config = Config { cases: 96, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&any_scan(), |scanned| {
        let mut vault = vault.borrow_mut();
        vault.write("a.md", &scanned.content);
        let expected = lines_of(&scanned.content);
        let (mut next, mut visited) = (Some(1), 0);
        while let Some(line) = next {
            let limits = json!({ "max_chars": scanned.max_chars });
            let arguments =
                json!({ "cursor": { "start_line": line }, "chunk_lines": scanned.chunk_lines, "limits": limits });
            let answer = vault.scan("a.md", arguments);
            let range = &answer["applied_range"];
            let (first, last) = (range["start_line"].as_u64(), range["end_line"].as_u64());
            prop_assert_eq!(first, Some(visited as u64 + 1));
            let last = last.expect("a line") as usize;
            prop_assert!(last - visited <= scanned.chunk_lines);
            let text = answer["text"].as_str().expect("a text");
            prop_assert!(text.chars().count() <= scanned.max_chars);
            let whole = expected[visited..last].join("\n");
            if text != whole {
                // Only a single line that is too long by itself may be shortened.
                prop_assert_eq!(last, visited + 1);
                prop_assert_eq!(text.to_owned(), whole.chars().take(scanned.max_chars).collect::<String>());
                prop_assert_eq!(&answer["truncated_reason"], "max_chars");
            }
            visited = last;
            next = answer["next_cursor"]["start_line"].as_u64();
            prop_assert_eq!(&answer["eof"], next.is_none());
            prop_assert!(next.is_none_or(|next| next as usize == visited + 1));
        }
        prop_assert_eq!(visited, expected.len());
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
