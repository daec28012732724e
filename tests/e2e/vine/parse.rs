//! The magic line, the preamble, blocks and body lines: what is read, what is refused, and at which line.

use serde_json::json;

use super::{Plan, at_line};

/// A number of nodes, or the line and the message of a parse error.
type Verdict<'a> = Result<usize, (usize, &'a str)>;

/// Texts, and what is said of each.
#[track_caller]
fn check(cases: &[(&str, Verdict<'_>)]) {
    let mut plan = Plan::new();
    for (text, expected) in cases {
        let expected = match expected {
            Ok(nodes) => format!("Valid — {nodes} task(s)."),
            Err((line, message)) => at_line(*line, message),
        };
        assert_eq!(plan.verdict(text), expected, "{text:?}");
    }
}

#[test]
fn the_magic_line() {
    let body = "\n---\n[a] A (complete)\n";
    let mut plan = Plan::new();
    for version in ["1.2.0", "0.0.1", "9.12.345", "01.2.0", "1.0.0", "99999999999999999999999.0.0"] {
        assert_eq!(plan.verdict(format!("vine {version}{body}")), "Valid — 1 task(s).", "{version}");
    }
    for blanks in ["\t", "   ", " \t ", "\u{a0}", "\u{3000}", "\u{feff}"] {
        assert_eq!(plan.verdict(format!("vine{blanks}1.2.0{body}")), "Valid — 1 task(s).", "{blanks:?}");
    }
    for line in [
        "",
        " vine 1.2.0",
        "vine 1.2.0 ",
        "vine 1.2.0\t",
        "Vine 1.2.0",
        "VINE 1.2.0",
        "vine1.2.0",
        "vine",
        "vine ",
        "vine 1.2",
        "vine 1.2.0.0",
        "vine v1.2.0",
        "vine 1.2.x",
        "vine 1.2.0-beta",
        "vine -1.2.0",
        "vine 1..0",
        "vine １.2.0",
        "vine\u{85}1.2.0",
        "\u{feff}vine 1.2.0",
        "vine 1.2.0\u{feff}",
        "hello",
        "---",
    ] {
        let message = format!("Invalid magic line: expected \"vine <version>\", got \"{line}\"");
        assert_eq!(plan.verdict(format!("{line}{body}")), at_line(1, &message), "{line:?}");
    }
}

#[test]
fn nothing_and_next_to_nothing() {
    check(&[
        ("", Err((1, "Empty input — missing magic line"))),
        ("\n", Err((1, "Invalid magic line: expected \"vine <version>\", got \"\""))),
        ("\r\n", Err((1, "Invalid magic line: expected \"vine <version>\", got \"\""))),
        ("\n\n", Err((1, "Invalid magic line: expected \"vine <version>\", got \"\""))),
    ]);
}

#[test]
fn the_preamble_ends_with_its_terminator() {
    check(&[
        ("vine 1.2.0", Err((1, "Missing preamble terminator \"---\""))),
        ("vine 1.2.0\n", Err((1, "Missing preamble terminator \"---\""))),
        ("vine 1.2.0\n\n", Err((2, "Missing preamble terminator \"---\""))),
        ("vine 1.2.0\ntitle: x\n[a] A (complete)\n", Err((3, "Missing preamble terminator \"---\""))),
        ("vine 1.2.0\n--- \n----\n ---\n", Err((4, "Missing preamble terminator \"---\""))),
        ("vine 1.2.0\ndelimiter: ===\n===\n[a] A (complete)\n", Err((4, "Missing preamble terminator \"---\""))),
        ("vine 1.2.0\ndelimiter: ===\n---\n[a] A (complete)\n", Ok(1)),
        ("vine 1.2.0\n\nno colon\n: no key\nunknown: x\nTITLE : a:b\n---\n[a] A (complete)\n", Ok(1)),
        ("vine 1.2.0\n--- : x\n---\n[a] A (complete)\n", Ok(1)),
    ]);
}

#[test]
fn blocks_begin_and_end_at_exact_delimiters() {
    check(&[
        ("vine 1.2.0\n---", Err((3, "Empty input — no task blocks found"))),
        ("vine 1.2.0\n---\n", Err((3, "Empty input — no task blocks found"))),
        ("vine 1.2.0\ntitle: x\n---\n---\n---\n", Err((4, "Empty input — no task blocks found"))),
        ("vine 1.2.0\n---\n\n", Err((3, "Empty block — no header found"))),
        ("vine 1.2.0\n---\n[a] A (complete)\n---\n", Ok(1)),
        ("vine 1.2.0\n---\n[a] A (complete)\n---", Ok(1)),
        ("vine 1.2.0\n---\n[a] A (complete)\n---\n\n", Err((5, "Empty block — no header found"))),
        ("vine 1.2.0\n---\n[a] A (complete)\n---\n \t\n\u{3000}\n---\n", Err((5, "Empty block — no header found"))),
        ("vine 1.2.0\n---\n---\n---\n[a] A (complete)\n-> b\n---\n---\n[b] B (complete)\n---\n---\n", Ok(2)),
        // Not exactly the delimiter: description.
        ("vine 1.2.0\n---\n[a] A (complete)\n--- \n ---\n----\n", Ok(1)),
        ("vine 1.2.0\ndelimiter: ==\n---\n[a] A (complete)\n---\n-> b\n==\n[b] B (complete)\n", Ok(2)),
        // The empty line as delimiter.
        ("vine 1.2.0\ndelimiter:\n---\n[a] A (complete)\n-> b\n\n\n[b] B (complete)\n", Ok(2)),
        ("vine 1.2.0\ndelimiter:\n---\n[a] A (complete)\n---\n-> b\n\n[b] B (complete)\n", Ok(2)),
        // A delimiter with blanks in it; the last of two counts.
        ("vine 1.2.0\ndelimiter: x\ndelimiter:  + + \n---\n[a] A (complete)\nx\n-> b\n+ +\n[b] B (complete)\n", Ok(2)),
    ]);
}

#[test]
fn blank_lines_before_a_header_count_as_lines() {
    check(&[
        ("vine 1.2.0\n---\n\n \n  [a] A (complete)  \n", Ok(1)),
        ("vine 1.2.0\n---\n\n\nnonsense\n", Err((5, "Invalid task header: \"nonsense\""))),
        ("vine 1.2.0\n---\n\n\n \t ref nonsense \n", Err((5, "Invalid reference header: \"ref nonsense\""))),
        ("vine 1.2.0\n---\n[a] A (complete)\n---\n\n\n[a] Again (complete)\n", Err((5, "Duplicate task id \"a\""))),
    ]);
}

#[test]
fn an_id_is_there_once() {
    check(&[
        ("vine 1.2.0\n---\n[a] A (complete)\n---\n[a] B (complete)\n", Err((5, "Duplicate task id \"a\""))),
        ("vine 1.2.0\n---\n[a] A (complete)\n---\nref [a] B (b.vine)\n", Err((5, "Duplicate task id \"a\""))),
        ("vine 1.2.0\n---\n[a] A (complete)\n-> A\n---\n[A] B (complete)\n", Ok(2)),
        // The block's own lines come first, then its id.
        (
            "vine 1.2.0\n---\n[a] A (complete)\n---\n[a] B (complete)\n@file x\n",
            Err((6, "Invalid attachment: expected \"@file <mime> <uri>\", got \"@file x\"")),
        ),
        // The first problem in the file counts, and parsing comes before validation.
        (
            "vine 1.2.0\n---\n[a] A (complete)\n-> ghost\n---\n[b] B (done)\n---\n[a] C (complete)\n",
            Err((6, "Invalid task header: \"[b] B (done)\"")),
        ),
        (
            "vine 1.2.0\n---\n[a] A (complete)\n---\n[a] C (complete)\n---\n[b] B (done)\n",
            Err((5, "Duplicate task id \"a\"")),
        ),
    ]);
}

#[test]
fn attachments() {
    let mut plan = Plan::new();
    for class in ["artifact", "guidance", "file"] {
        for (rest, good) in [
            (" text/plain a.txt", true),
            (" text/plain  a b ", true),
            ("  a.txt", true),
            (" text/plain", false),
            (" text/plain ", false),
            ("  ", false),
            (" ", false),
        ] {
            let verdict = plan.verdict(format!("vine 1.2.0\n---\n[a] A (complete)\ntext\n@{class}{rest}\n"));
            // The one blank behind the class belongs to the mark.
            let expected = match good {
                true => "Valid — 1 task(s).".to_owned(),
                false => {
                    let got = format!("@{class} {}", &rest[1..]);
                    at_line(5, &format!("Invalid attachment: expected \"@{class} <mime> <uri>\", got \"{got}\""))
                }
            };
            assert_eq!(verdict, expected, "@{class}{rest}");
        }
        for rest in [" text/plain a.txt", " nonsense", " "] {
            let verdict = plan.verdict(format!(
                "vine 1.2.0\n---\n[a] A (complete)\n-> r\n---\n\nref [r] R (r.vine)\ntext\n@{class}{rest}\n"
            ));
            assert_eq!(verdict, at_line(9, "Attachments are not allowed on reference nodes"), "@{class}{rest}");
        }
    }
    let others = "vine 1.2.0\n---\n[a] A (complete)\n-> r\n---\nref [r] R (r.vine)\n@file\n@note text/plain x\n @file x\n@File a b\n";
    assert_eq!(plan.verdict(others), "Valid — 2 task(s).", "other lines are text, also on a reference");
}

#[test]
fn a_cut_attachment_keeps_its_blanks() {
    let mut plan = Plan::of("vine 1.2.0\n---\n[a] A (complete)\n@file m  u v \n@artifact  u\n@guidance \tx y\n");
    let task = plan.json("task", json!({ "id": "a" }));
    assert_eq!(
        task["attachments"],
        json!([
            { "class": "file", "mime": "m", "uri": " u v " },
            { "class": "artifact", "mime": "", "uri": "u" },
            { "class": "guidance", "mime": "\tx", "uri": "y" },
        ])
    );
}

/// What one line of a body becomes: the task's description, dependencies, decisions.
#[test]
fn body_lines() {
    let mut plan = Plan::new();
    let cases: &[(&str, &str, &[&str], &[&str])] = &[
        ("text", "text", &[], &[]),
        ("  text  ", "  text  ", &[], &[]),
        ("-> b", "", &["b"], &[]),
        ("->   b  ", "", &["b"], &[]),
        ("-> b\n-> b", "", &["b", "b"], &[]),
        ("-> \u{a0}b\u{3000}", "", &["b"], &[]),
        ("->b", "->b", &[], &[]),
        ("->", "->", &[], &[]),
        ("->\tb", "->\tb", &[], &[]),
        ("  -> b", "  -> b", &[], &[]),
        ("> yes", "", &[], &["yes"]),
        (">   yes  ", "", &[], &["yes"]),
        ("> ", "", &[], &[""]),
        ("> > yes", "", &[], &["> yes"]),
        (">", ">", &[], &[]),
        (">yes", ">yes", &[], &[]),
        (" > yes", " > yes", &[], &[]),
        ("@note x y", "@note x y", &[], &[]),
        ("@artifact", "@artifact", &[], &[]),
        ("@filex a b", "@filex a b", &[], &[]),
        ("[b] B (complete)", "[b] B (complete)", &[], &[]),
        ("", "", &[], &[]),
        ("\n", "\n", &[], &[]),
        (" \t ", "", &[], &[]),
        ("one\n\n", "one\n\n", &[], &[]),
        ("one\n> d\n\n-> b\n two", "one\n\n two", &["b"], &["d"]),
        ("one\n   \ntwo", "one\n\ntwo", &[], &[]),
        ("one\r\n\r\ntwo\rthree", "one\n\ntwo\rthree", &[], &[]),
    ];
    for (lines, description, dependencies, decisions) in cases {
        let island = if dependencies.is_empty() { "-> b\n" } else { "" };
        plan.put(
            super::FILE,
            format!("vine 1.2.0\n---\n[a] A (complete)\n-> t\n{island}---\n[t] T (started)\n{lines}\n---\n[b] B (complete)\n"),
        );
        let task = plan.json("task", json!({ "id": "t" }));
        let seen = (&task["description"], &task["dependencies"], &task["decisions"]);
        assert_eq!(seen, (&json!(description), &json!(dependencies), &json!(decisions)), "{lines:?}");
    }
}

#[test]
fn a_dependency_may_be_empty_and_is_unknown_then() {
    let mut plan = Plan::new();
    let verdict = plan.verdict("vine 1.2.0\n---\n[a] A (complete)\n-> \n");
    let expected = "Validation error [valid-dependency-refs]: Task \"a\" references unknown dependency \"\".";
    assert!(verdict.starts_with(expected), "{verdict}");
}

#[test]
fn a_blank_line_before_the_next_delimiter_survives_a_write() {
    let mut plan = Plan::of("vine 1.2.0\n---\n[a] A (complete)\ntext\n\n-> b\n---\n[b] B (started)\n\n\n");
    assert_eq!(plan.json("task", json!({ "id": "a" }))["description"], "text\n");
    assert_eq!(plan.json("task", json!({ "id": "b" }))["description"], "\n");
    plan.write(json!([{ "op": "update", "id": "a" }]));
    assert_eq!(plan.text(super::FILE), "vine 1.2.0\n---\n[a] A (complete)\ntext\n\n-> b\n---\n[b] B (started)\n\n\n");
    plan.put(super::FILE, "vine 1.2.0\n---\n[a] A (complete)\n\n");
    plan.write(json!([{ "op": "update", "id": "a" }]));
    assert_eq!(plan.text(super::FILE), "vine 1.2.0\n---\n[a] A (complete)\n", "one lone blank line is no text");
}
