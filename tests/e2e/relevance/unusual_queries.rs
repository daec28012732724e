//! Queries that nobody would call queries: none is an error, but for one that says nothing at all.

use serde_json::json;

use super::{RelevanceFixture, hits_of, snippets};

/// Whatever they find, they find it without complaint.
const ODD: &[&str] = &[
    "\"",
    "\"\"",
    "\"\"\"",
    "\"unbalanced",
    "unbalanced\"",
    "\"a\" \"b\" \"",
    "“curly quotes” and ‘others’",
    "AND",
    "OR",
    "NOT",
    "OR OR OR",
    "NOT NOT NOT",
    "AND OR NOT",
    "a OR",
    "OR a",
    "a OR OR b",
    "a NOT",
    "a AND NOT",
    "NOT probe",
    "-probe -pool -drain",
    "--probe",
    "probe --pool",
    "- probe",
    "-\"graceful shutdown\"",
    "NEAR(probe, 3)",
    "probe NEAR/2 listener",
    "(",
    ")",
    "(((probe",
    "probe)))",
    "[probe]",
    "{probe}",
    "[1 TO 5]",
    "{a TO *}",
    "<probe>",
    "^probe",
    "probe^2",
    "probe^2.5 OR pool^",
    "probe~",
    "probe~2",
    "title:probe",
    "body:\"probe\"",
    "nosuchfield:probe",
    "content:*",
    ":probe",
    "probe:",
    "*",
    "**",
    "*probe",
    "pro*be",
    "\"pro*\"",
    "p*",
    "?",
    "prob?",
    "\\",
    "\\\"",
    "probe\\",
    "/probe.*/",
    "/(/",
    "+probe",
    "+probe -pool",
    "probe && pool",
    "probe || pool",
    "!probe",
    "C++",
    "C#",
    ".NET",
    "don't",
    "it's",
    "50%",
    "$HOME",
    "a@b.example",
    "https://example.org/a?b=c&d=e#f",
    "'; DROP TABLE documents; --",
    "<script>alert(1)</script>",
    "%s%n%x",
    "${probe}",
    "../../etc/passwd",
    "\u{0}",
    "probe\u{0}pool",
    "\u{1}\u{2}\u{7f}",
    "probe\tpool\nring\r\n",
    "\u{feff}probe",
    "pro\u{ad}be",
    "pro\u{200b}be",
    "\u{202e}eborp",
    "\u{301}",
    "\u{3099}",
    "か\u{3099}\u{3099}\u{3099}",
    "🦀",
    "🦀 probe",
    "👩‍👩‍👧‍👦",
    "🏴‍☠️*",
    "\"🦀\"",
    "-🦀",
    "probe -🦀",
    "ﷺ",
    "ǅ ß ſ ŉ İ",
    "\u{10ffff}",
    "१२३",
    "ไทย",
    "한국어",
    "мир",
    "مرحبا",
    "𠮷野家",
    "ｱ",
    "ー",
    "々",
    "。",
    "、。「」",
    "！？",
    "—",
    "___",
    "-",
    "--",
    "---",
    ".",
    "...",
    "/",
    "a/",
    "/a",
    "a-",
    "-a",
    "a_",
    "_a",
    "0",
    "-1",
    "1e999",
    "null",
    "undefined",
    "true",
];

/// Nothing in them can be looked for.
const NOTHING: &[&str] = &[
    "\"",
    "\"\"",
    "(",
    "()",
    "[]{}",
    "*",
    "**",
    "-",
    "---",
    "...",
    "!?",
    "¿¡",
    "、。「」",
    "^",
    "~",
    "\\",
    "🦀",
    "👩‍👩‍👧‍👦",
    "\u{1}",
    "- -",
    "\"*\"",
    "—…·",
];

#[test]
fn no_query_is_an_error() {
    let mut library = RelevanceFixture::new();
    for query in ODD {
        let answer = library.search(json!({ "query": query }));
        assert_eq!(answer["query"], *query, "it comes back as it was");
        for hit in hits_of(&answer) {
            snippets::is_sound(&library, &hit);
        }
    }
    // The one that answered all of them still knows everything.
    assert_eq!(library.hits("jitter").len(), 2);
}

#[test]
fn long_queries_are_answered() {
    let mut library = RelevanceFixture::new();
    let prose = library.text("harbor/references/http-headers.md");
    let long = [
        prose.repeat(5)[..4096].to_owned(),
        "x".repeat(4096),
        "probe ".repeat(700),
        "probe OR ".repeat(450),
        "\"".repeat(4096),
        "(".repeat(4096),
        "-probe ".repeat(600),
        "p* ".repeat(1400),
        "a*".repeat(2048),
        "図書館の".repeat(400),
        "🦀".repeat(1024),
        "é".repeat(2048),
        "a\u{301}".repeat(1400),
        "a-".repeat(2048),
        "a/b.c_d:".repeat(512),
        (0..800).map(|number| format!("w{number} ")).collect(),
    ];
    for query in long {
        let answer = library.search(json!({ "query": query }));
        for hit in hits_of(&answer) {
            snippets::is_sound(&library, &hit);
        }
    }
    // A page that was pasted in finds where it came from.
    let first = library.hits(&prose[..1000]).into_iter().next().expect("a hit");
    assert_eq!(first.path, "harbor/references/http-headers.md");
}

#[test]
fn what_cannot_be_looked_for_is_not_found() {
    let mut library = RelevanceFixture::new();
    for query in NOTHING {
        let answer = library.search(json!({ "query": query }));
        assert_eq!(answer, json!({ "query": query, "total_matches": 0, "results": [] }), "{query:?}");
    }
}

#[test]
fn a_blank_query_is_refused() {
    let mut library = RelevanceFixture::new();
    for query in ["", " ", "\t\n", "\u{3000}"] {
        let answer = library.client.call_err("search", json!({ "query": query }));
        assert_eq!(
            (&answer["success"], &answer["error"]["code"]),
            (&json!(false), &json!("INVALID_QUERY")),
            "{query:?}"
        );
        assert!(answer["error"]["details"].is_object(), "{answer}");
    }
}
