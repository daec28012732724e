//! How much is shown at once: the defaults, the variables that change them, and values that make no sense.

use serde_json::json;
use trellis_tests::harness::Home;

use super::Vault;

const MAX_CHARS: &str = "HARD_MAX_CHARS";
const DEFAULT_CHUNK: &str = "VAULT_SCAN_DEFAULT_CHUNK_LINES";
const MAX_CHUNK: &str = "VAULT_SCAN_MAX_CHUNK_LINES";

/// With these settings: the most characters, the lines of a chunk that nobody asked for, the largest chunk.
#[track_caller]
fn check(settings: &[(&str, &str)], (chars, default_chunk, max_chunk): (usize, usize, usize)) {
    let home = settings.iter().fold(Home::new(), |home, (name, value)| home.with(name, value));
    let mut vault = Vault::at(home);
    vault.write("line.md", "x".repeat(chars + 1));
    vault.write("lines.md", "\n".repeat(max_chunk + 5));

    let answer = vault.read("line.md", json!({ "full": true }));
    assert_eq!(answer["returned_chars"], chars, "{settings:?}");
    assert_eq!(answer["truncated_reason"], "hard_limit", "{settings:?}");
    let answer = vault.read("line.md", json!({ "full": true, "limits": { "max_chars": chars + 1 } }));
    assert_eq!(answer["returned_chars"], chars, "more is not to be had: {settings:?}");

    let end_of = |answer: serde_json::Value| answer["applied_range"]["end_line"].as_u64();
    assert_eq!(end_of(vault.scan("lines.md", json!({}))), Some(default_chunk as u64), "{settings:?}");
    let largest = vault.scan("lines.md", json!({ "chunk_lines": max_chunk }));
    assert_eq!(end_of(largest), Some(max_chunk as u64), "{settings:?}");
    let larger = json!({ "path": "lines.md", "chunk_lines": max_chunk + 1 });
    vault.check_refused("vault_scan", larger, "invalid_parameter", "lines.md");
}

#[test]
fn there_are_defaults() {
    check(&[], (20_000, 80, 200));
}

#[test]
fn variables_change_them() {
    check(&[(MAX_CHARS, "300"), (DEFAULT_CHUNK, "7"), (MAX_CHUNK, "250")], (300, 7, 250));
    check(&[(MAX_CHARS, "30000"), (MAX_CHUNK, "1000")], (30_000, 80, 1000));
}

#[test]
fn a_default_chunk_is_never_larger_than_the_largest() {
    check(&[(MAX_CHARS, "300"), (MAX_CHUNK, "5")], (300, 5, 5));
}

#[test]
fn nonsense_is_ignored_with_a_line_in_the_log() {
    for nonsense in ["0", "-5", "many", "1.5", "1e3", " "] {
        let settings = [(MAX_CHARS, nonsense), (DEFAULT_CHUNK, nonsense), (MAX_CHUNK, nonsense)];
        check(&settings, (20_000, 80, 200));
    }
    let mut vault = Vault::at(Home::new().with(MAX_CHARS, "many"));
    vault.write("a.md", "text");
    vault.read("a.md", json!({ "full": true }));
    let log = vault.home.log();
    assert!(log.lines().any(|line| line.contains("WARN") && line.contains(MAX_CHARS)), "{log}");
}
