//! Whatever is typed, there is an answer.

use serde_json::json;

use super::NotesFixture;

#[test]
fn odd_queries_are_answered() {
    let shelves = NotesFixture::with(&[("a.md", "# C++ and \"quotes\"\nfoo(bar) a:b [x] ^y {z} 100% it's\n")]);
    let mut host = shelves.host();
    let odd = [
        "",
        " ",
        "\"",
        "\"\"",
        "\"foo",
        "foo\"",
        "(",
        ")",
        "()",
        "foo(",
        "a:b",
        "title:",
        "[",
        "]",
        "{",
        "^",
        "~",
        "foo~2",
        "*",
        "**",
        "*foo",
        "f*o",
        "-",
        "--",
        "-foo",
        "- foo",
        "NOT",
        "NOT foo",
        "OR",
        "foo OR",
        "OR OR",
        "AND",
        "foo AND",
        "NEAR(foo bar)",
        "foo NEAR/2 bar",
        "\\",
        "foo\\",
        "foo^2",
        "+foo",
        "a AND (b OR",
        "<b>",
        "&amp;",
        "%",
        "_",
        "__",
        "\u{0}",
        "\u{feff}",
        "\u{200b}",
        "🙂",
        "é",
        "\u{301}",
        "ﾞ",
        "が",
        "。",
        "　",
        "C++",
        "it's",
        "100%",
        "--foo--",
        "'; DROP TABLE docs; --",
        "-\"foo bar\"",
        "foo -",
        "\"a\" \"",
        "“foo”",
        "x/y/z/../..",
        "....",
        "a\tb\nc",
    ];
    for query in odd {
        let found = host.call_ok("find", json!({ "query": query }));
        assert!(found["total"].is_u64(), "{query:?}: {found}");
    }
    let long = [
        "word ".repeat(5000),
        "\"".repeat(999),
        "(".repeat(3000),
        "a".repeat(20_000),
        "検".repeat(5000),
        "-x ".repeat(2000),
        "a* ".repeat(500),
        "OR ".repeat(500),
        "a-".repeat(4000),
    ];
    for query in long {
        let found = host.call_ok("find", json!({ "query": query }));
        assert!(found["total"].is_u64(), "{} signs", query.len());
    }
    for query in ["C++", "quotes", "foo", "bar", "a:b", "it's", "100%"] {
        assert_eq!(host.call_ok("find", json!({ "query": query }))["total"], 1, "{query}");
    }
    assert_eq!(host.call_ok("find", json!({ "query": "***" }))["total"], 0, "nothing to look for");
}
