//! `docs/errors.md` against the sources: every code that they can give stands on the page, with its kind, HTTP status
//! and exit status, and no other. `UPDATE_PAGES=1` writes the tables anew; what a code means stays as it was written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;
use trellis_protocol::{Failure, FailureKind};
use trellisd::families::ErrorFormat;
use trellisd::present::http::{HttpError, error_response};
use trellisd::tools::ToolError;

use super::tree::{self, Source, none, rows, section};

const PAGE: &str = "docs/errors.md";
/// What a new row has until somebody says what its code means.
const UNSAID: &str = "?";
const KINDS: [FailureKind; 7] = [
    FailureKind::Input,
    FailureKind::Refused,
    FailureKind::Missing,
    FailureKind::Conflict,
    FailureKind::Unreadable,
    FailureKind::Unavailable,
    FailureKind::Internal,
];

/// Codes with their kinds, as places in [`KINDS`], by the section of the page.
type Codes = BTreeMap<String, BTreeMap<String, BTreeSet<usize>>>;

/// The section in which codes of a file stand.
fn section_of(path: &str) -> &str {
    let below = |directory: &str| path.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'));
    match below("daemon/src/families").and_then(|rest| rest.split_once('/')) {
        Some((family, _)) => family,
        None if below("proxy/src").is_some() => "The proxy",
        None if below("daemon/src/mcp").is_some() => "JSON-RPC errors",
        None if ["cli", "socket", "http"].iter().any(|module| below(&format!("daemon/src/{module}")).is_some()) => {
            "The command line"
        }
        None => "Every call",
    }
}

/// A text literal at the beginning of some code, or the value of the constant that is named there.
fn literal<'a>(code: &'a str, constants: &BTreeMap<&str, &'a str>) -> Option<&'a str> {
    if let Some(rest) = code.strip_prefix('"') {
        return rest.split('"').next();
    }
    let is_part = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    let end = code.find(|letter| !is_part(letter)).unwrap_or(code.len());
    constants.get(&code[..end]).copied()
}

/// The same at the end.
fn literal_before<'a>(code: &'a str, constants: &BTreeMap<&str, &'a str>) -> Option<&'a str> {
    let code = code.strip_suffix(')').unwrap_or(code);
    match code.strip_suffix('"') {
        Some(rest) => rest.rsplit('"').next(),
        None => constants.get(code.rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?).copied(),
    }
}

/// What follows each place at which a piece of code stands.
fn after<'a>(code: &'a str, piece: &'a str) -> impl Iterator<Item = &'a str> {
    code.match_indices(piece).map(move |(start, _)| &code[start + piece.len()..])
}

/// What one file can give: each code with its kind, if it has one, and the calls whose code cannot be read from here.
fn codes_in(path: &str, shipped: &str) -> (Vec<(String, Option<usize>)>, Vec<String>) {
    let code = shipped.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(");
    let constants: BTreeMap<&str, &str> = after(&code, "const ")
        .filter_map(|rest| {
            let (name, value) = rest.split_once(": &str = \"")?;
            (!name.contains(' ')).then_some((name, value.split('"').next()?))
        })
        .collect();
    let mut found: Vec<(String, Option<usize>)> = Vec::new();
    for (start, mark) in code.match_indices("FailureKind::") {
        let before = code[..start].trim_end_matches("trellis_protocol::");
        let rest = &code[start + mark.len()..];
        let kind = KINDS.iter().position(|kind| rest.starts_with(&format!("{kind:?}")));
        if let Some(word) = before.strip_suffix(", ").and_then(|before| literal_before(before, &constants)) {
            found.push((word.to_owned(), kind));
        }
    }
    let input = KINDS.iter().position(|kind| *kind == FailureKind::Input);
    if path.starts_with("daemon/src/families/") {
        let words = after(&code, ".code(").filter_map(|rest| literal(rest, &constants));
        found.extend(words.map(|word| (word.to_owned(), input)));
    }
    let mut calls = vec!["\"code\": "];
    if path.starts_with("proxy/src/") {
        calls.extend(["error(id, ", "("]);
    }
    for call in calls {
        let is_pair = |rest: &&str| {
            call != "(" || (rest.starts_with('"') && rest.split('"').nth(2).is_some_and(|next| next == ", "))
        };
        let words = after(&code, call).filter(is_pair).filter_map(|rest| literal(rest, &constants));
        found.extend(words.filter(|word| !word.contains(' ')).map(|word| (word.to_owned(), None)));
    }
    let constructors = ["Failure::new(", "ErrorInfo::new(", "ErrorInfo::without_hint("];
    let unread = constructors.into_iter().flat_map(|constructor| after(&code, constructor)).filter(|rest| {
        // What is called `code` comes from a pair with a kind or from a method `code`, which are found where they are.
        let is_passed_on = rest.starts_with("code,") || rest.starts_with("self.code(),");
        literal(rest, &constants).is_none() && !is_passed_on
    });
    let unread = unread.map(|rest| format!("{path}: {}", rest.chars().take(40).collect::<String>())).collect();
    (found, unread)
}

/// What ships, without a module that exists only for tests.
fn shipped_sources() -> impl Iterator<Item = Source> {
    let is_shipped =
        |source: &Source| !source.path.starts_with("tests/") && !source.path.ends_with("/families/codes.rs");
    tree::rust().into_iter().filter(is_shipped)
}

fn codes_in_sources() -> Codes {
    let mut codes = Codes::new();
    let mut unread = Vec::new();
    for source in shipped_sources() {
        let (found, not_found) = codes_in(&source.path, &source.shipped());
        unread.extend(not_found);
        for (code, kind) in found {
            let kinds = codes.entry(section_of(&source.path).to_owned()).or_default().entry(code).or_default();
            kinds.extend(kind);
        }
    }
    none("a failure is made with its code in sight, so that docs/errors.md can be compared", unread);
    codes
}

fn http_status(code: &str, kind: FailureKind) -> u16 {
    let failure =
        Failure { code: code.to_owned().into(), kind, message: String::new(), hint: None, details: Value::Null };
    error_response(&ToolError { failure, error_format: ErrorFormat::Error }).0
}

/// A row of the page for a code.
fn row(section: &str, code: &str, kinds: &BTreeSet<usize>, meaning: &str) -> String {
    let kinds: Vec<FailureKind> = kinds.iter().map(|number| KINDS[*number]).collect();
    let list = |word: &dyn Fn(FailureKind) -> String| {
        let mut words: Vec<String> = kinds.iter().map(|kind| word(*kind)).collect();
        if words.iter().all(|word| *word == words[0]) {
            words.truncate(1);
        }
        words.join(", ")
    };
    let kind = list(&|kind| format!("{kind:?}"));
    let exit = list(&|kind| kind.exit_status().to_string());
    match section {
        "The proxy" | "JSON-RPC errors" => format!("| `{code}` | {meaning} |"),
        "The command line" => format!("| `{code}` | {kind} | {exit} | {meaning} |"),
        _ => format!(
            "| `{code}` | {kind} | {} | {exit} | {meaning} |",
            list(&|kind| http_status(code, kind).to_string())
        ),
    }
}

/// A section with these rows in the place of those of its table.
fn with_rows(text: &str, rows: &[String]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let rule = lines.iter().position(|line| line.starts_with("|--")).expect("a table");
    let (before, rest) = lines.split_at(rule + 1);
    let after = rest.iter().copied().skip_while(|line| line.starts_with('|'));
    let lines = before.iter().copied().chain(rows.iter().map(String::as_str)).chain(after);
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_page_has_every_code() {
    let page = tree::read(PAGE);
    let mut new = page.clone();
    let mut unsaid = Vec::new();
    for (title, codes) in codes_in_sources() {
        let text = section(&page, &title);
        let meanings: BTreeMap<&str, &str> =
            rows(text).into_iter().filter_map(|row| Some((row.first()?.trim_matches('`'), *row.last()?))).collect();
        let meaning = |code: &str| meanings.get(code).copied().unwrap_or(UNSAID);
        unsaid.extend(codes.keys().filter(|code| meaning(code) == UNSAID).map(|code| format!("{title}: {code}")));
        let rows: Vec<String> = codes.iter().map(|(code, kinds)| row(&title, code, kinds, meaning(code))).collect();
        new = new.replacen(&format!("# {title}\n{text}"), &format!("# {title}\n{}", with_rows(text, &rows)), 1);
    }
    if std::env::var_os("UPDATE_PAGES").is_some() {
        fs::write(tree::top().join(PAGE), &new).expect("the page");
    } else {
        let (old, new): (BTreeSet<&str>, BTreeSet<&str>) = (page.lines().collect(), new.lines().collect());
        let gone = old.difference(&new).map(|line| format!("- {line}"));
        let missing = new.difference(&old).map(|line| format!("+ {line}"));
        none("docs/errors.md is out of date: run with UPDATE_PAGES=1", gone.chain(missing).collect());
    }
    none("docs/errors.md says what each code means", unsaid);
}

#[test]
fn the_page_has_no_section_without_codes() {
    let page = tree::read(PAGE);
    let codes = codes_in_sources();
    let titles = section(&page, "Families").lines().filter_map(|line| line.strip_prefix("### "));
    let empty = titles.filter(|title| !codes.contains_key(*title)).map(str::to_owned);
    none("sections of docs/errors.md without a code in the sources", empty.collect());
}

#[test]
fn the_page_has_every_kind() {
    let page = tree::read(PAGE);
    let rows = rows(section(&page, "Kinds"));
    let said: Vec<(&str, bool, &str)> = rows
        .iter()
        .zip(KINDS)
        .map(|(row, kind)| (row[0], tree::names(row[2], &http_status("any", kind).to_string()), row[3]))
        .collect();
    let words = KINDS.map(|kind| (format!("{kind:?}"), kind.exit_status().to_string()));
    let expected: Vec<(&str, bool, &str)> =
        words.iter().map(|(kind, exit)| (kind.as_str(), true, exit.as_str())).collect();
    assert_eq!(said, expected);
}

/// Words that say why a file was not written: what the methods `code` return.
fn reasons_in(shipped: &str) -> Vec<String> {
    let bodies = after(shipped, "fn code(&self) -> &'static str {").filter_map(|rest| rest.split(" fn ").next());
    let words = bodies.flat_map(|body| after(body, "=> \"").filter_map(|rest| rest.split('"').next()));
    words.map(str::to_owned).collect()
}

#[test]
fn the_page_has_every_reason() {
    let reasons: BTreeSet<String> = shipped_sources().flat_map(|source| reasons_in(&source.shipped())).collect();
    let page = tree::read(PAGE);
    let rows = rows(section(&page, "Why a file was not written"));
    let said: BTreeSet<String> =
        rows.iter().filter_map(|row| Some(row.first()?.trim_matches('`').to_owned())).collect();
    assert_eq!(said, reasons);
}

/// Every way in which the gateway itself refuses.
fn http_errors() -> Vec<HttpError> {
    use HttpError as E;
    let all = vec![
        E::NotJson,
        E::request(400, ""),
        E::Parameters(String::new()),
        E::NoTool(String::new()),
        E::NoPath,
        E::NoMethod,
        E::Credentials,
        E::TooManyWrong { seconds: 1 },
        E::Origin,
        E::Host,
        E::Sync(String::new()),
        E::Busy,
        E::Internal,
    ];
    // One that is added to the type does not compile here until it is added above.
    for error in &all {
        match error {
            E::NotJson | E::Request { .. } | E::Parameters(_) | E::NoTool(_) | E::NoPath | E::NoMethod => {}
            E::Credentials | E::TooManyWrong { .. } | E::Origin | E::Host | E::Sync(_) | E::Busy | E::Internal => {}
        }
    }
    all
}

#[test]
fn the_page_has_every_number() {
    let page = tree::read(PAGE);
    let rows = rows(section(&page, "Numbers"));
    let find = |number: i64| rows.iter().find(|row| row.first() == Some(&format!("`{number}`").as_str()));
    let mut findings = Vec::new();
    for error in http_errors() {
        let (number, status) = (error.body()["error"]["code"].as_i64().expect("a number"), error.status());
        if !find(number).is_some_and(|row| row.iter().any(|cell| tree::names(cell, &status.to_string()))) {
            findings.push(format!("{number} with status {status}"));
        }
    }
    let sources: String = shipped_sources().map(|source| source.shipped()).collect();
    let in_sources: BTreeSet<i64> =
        after(&sources, "-32").filter_map(|rest| format!("-32{}", rest.get(..3)?).parse().ok()).collect();
    findings.extend(in_sources.into_iter().filter(|number| find(*number).is_none()).map(|number| number.to_string()));
    none("docs/errors.md has the numbers of JSON-RPC and of the gateway", findings);
}

#[test]
fn codes_are_found() {
    let check = |path: &str, code: &str, expected: &[(&str, Option<usize>)], unread: usize| {
        let (found, not_read) = codes_in(path, code);
        let found: Vec<(&str, Option<usize>)> = found.iter().map(|(code, kind)| (code.as_str(), *kind)).collect();
        assert_eq!((found.as_slice(), not_read.len()), (expected, unread), "{code}");
    };
    let family = "daemon/src/families/vault/error.rs";
    check(family, "=> (\"conflict\",\n FailureKind::Conflict)", &[("conflict", Some(3))], 0);
    check(family, "const A: &str = \"1001\";\nrow(A, FailureKind::Input)", &[("1001", Some(0))], 0);
    check(family, "(error.code.unwrap_or(\"x\"), FailureKind::Input)", &[("x", Some(0))], 0);
    check(family, "error.code(\"x\")", &[("x", Some(0))], 0);
    let long = "Failure::new(\n \"late\",\n trellis_protocol::FailureKind::Missing)";
    check("daemon/src/tools/call.rs", long, &[("late", Some(2))], 0);
    check("daemon/src/tools/call.rs", "Failure::new(word(), kind, \"\")", &[], 1);
    check("daemon/src/mcp/handler.rs", "json!({ \"code\": \"busy\", \"limit\": 1 })", &[("busy", None)], 0);
    check(
        "proxy/src/offline.rs",
        "error(id, \"busy\", m); (\"gone\", \"unknown\", m)",
        &[("busy", None), ("gone", None)],
        0,
    );
    assert_eq!(
        reasons_in("fn code(&self) -> &'static str { match self { A => \"busy\" } } fn b() { c => \"d\" }"),
        ["busy"]
    );
    assert_eq!(section_of("daemon/src/families/vine/error.rs"), "vine");
    assert_eq!(section_of("daemon/src/families/edit.rs"), "Every call");
}
