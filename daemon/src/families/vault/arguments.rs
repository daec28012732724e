//! What the tools take, in the contract's order of checks: types, then the path. Whether values suit the file is for
//! the ops, once the file was seen.

use std::path::PathBuf;

use serde_json::{Number, Value, json};

use super::error::VaultError;
use super::model::CONTENT_LIMIT;
use crate::arguments;
use crate::disk::RelativePath;
use crate::families::error::{ArgumentError, SHOWN_CHARS, shortened};
use crate::families::fields::{Object, object};
use crate::families::shapes::{Shape, boolean, project_root, shape, text};
use crate::text::json::whole_number;

const FILE: &str = "File relative to the vault, such as notes/a.md";
const PROJECT: &str = "Path or name of the project, if not the session's own";

arguments! {
    /// Without a path it is the vault itself.
    pub struct LsArgs else VaultError {
        path: Option<RelativePath> = path().optional().last(),
            "Directory relative to the vault; leave out for the vault itself";
        project_root: Option<PathBuf> = project_root().optional(), PROJECT;
    }
}

arguments! {
    pub struct ReadArgs else VaultError {
        path: RelativePath = path().required().last(), FILE;
        full: Option<bool> = boolean().optional(), "Read from the first line to the last; `range` is ignored";
        range: Option<Lines> = object::<Lines>("an object").optional().ignored_if(is_full),
            "Lines to read; {} is all lines";
        limits: TextLimits = object::<TextLimits>("an object").or(TextLimits::default()), "";
        project_root: Option<PathBuf> = project_root().optional(), PROJECT;
    }
}

arguments! {
    /// None of them has been compared with the file yet.
    pub struct Lines {
        start_line: Option<Whole> = whole(1).optional(), "First line (default 1)";
        end_line: Option<Whole> = whole(1).optional(), "Last line, included (default: the file's last)";
        start_char: Option<Whole> = whole(0).optional(),
            "Characters to skip in the first line, to go on in a very long one";
    }
}

arguments! {
    #[derive(Default)]
    pub struct TextLimits {
        max_chars: Option<Whole> = whole(1).optional(), "Longest text (default and most: 20000 characters)";
    }
}

arguments! {
    pub struct ScanArgs else VaultError {
        path: RelativePath = path().required().last(), FILE;
        cursor: Cursor = object::<Cursor>("an object").or(Cursor::default()),
            "next_cursor of the last answer; leave out to begin";
        start_line: Option<Whole> = whole(1).optional(), "Short for cursor.start_line";
        chunk_lines: Option<Whole> = whole(1).optional(), "Lines per chunk, at most 200 (default 80)";
        limits: TextLimits = object::<TextLimits>("an object").or(TextLimits::default()), "";
        project_root: Option<PathBuf> = project_root().optional(), PROJECT;
    }
}

arguments! {
    #[derive(Default)]
    pub struct Cursor {
        start_line: Option<Whole> = whole(1).optional(), "First line (default 1)";
    }
}

arguments! {
    pub struct CreateArgs else VaultError {
        path: RelativePath = path().required().last(), FILE;
        content: String = some_text().then(fits).required(), "The whole text, written exactly as given";
        project_root: Option<PathBuf> = project_root().optional(), PROJECT;
    }
}

arguments! {
    pub struct ReplaceArgs else VaultError {
        path: RelativePath = path().required().last(), FILE;
        find: String = some_text().required(), "Text to find, literally; may span lines";
        replace: String = text("a text").required(), "Text to put in its place; may be empty";
        max_replacements: Option<Value> = anything().optional(), "At most so many, from the top (default 1)";
        if_match: Option<String> = text("a hash").optional(),
            "Only if the file still has this hash, as vault_read gave it";
        project_root: Option<PathBuf> = project_root().optional(), PROJECT;
    }
}

/// A whole number of any size, and how the caller wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// The nearest one of 64 bits.
    pub number: i64,
    /// For a refusal.
    pub given: Number,
}

impl ScanArgs {
    /// Where to begin, and under which name the caller said so.
    pub fn start(&self) -> Option<(&'static str, &Whole)> {
        let own = self.start_line.as_ref().map(|line| ("start_line", line));
        own.or_else(|| self.cursor.start_line.as_ref().map(|line| ("cursor.start_line", line)))
    }
}

fn path() -> impl Shape<Value = RelativePath> {
    const HINT: &str =
        "pass a path relative to the vault, such as `notes/a.md`; `vault_ls` without a path lists the vault";
    let given = |value: &Value| value.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
    let path = shape(|| json!({ "type": "string" }), "a path below the vault", given).then(|text| {
        RelativePath::parse(&text)
            .map_err(|why| ArgumentError::is(format!("cannot be `{}`: {why}", shortened(&text, SHOWN_CHARS))))
    });
    path.code("invalid_path").hint(HINT)
}

fn whole(least: i64) -> impl Shape<Value = Whole> {
    let whole = |value: &Value| match value {
        Value::Number(given) => Some(Whole { number: whole_number(value)?, given: given.clone() }),
        _ => None,
    };
    shape(move || json!({ "type": "integer", "minimum": least }), "an integer", whole)
}

fn some_text() -> impl Shape<Value = String> {
    let some = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    shape(|| json!({ "type": "string", "minLength": 1 }), "a text that is not empty", some)
}

fn fits(content: String) -> Result<String, ArgumentError> {
    match content.len() {
        size if size > CONTENT_LIMIT => {
            Err(ArgumentError::must_be(format!("at most {CONTENT_LIMIT} bytes long")).value(size))
        }
        _ => Ok(content),
    }
}

/// Checked last of all, once the file was seen.
fn anything() -> impl Shape<Value = Value> {
    shape(|| json!({ "type": "integer", "minimum": 0 }), "an integer of at least 0", |value| Some(value.clone()))
}

fn is_full(arguments: &Object) -> bool {
    arguments.get("full") == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use trellis_protocol::Failure;

    use super::*;
    use crate::families::Arguments;

    /// The expected error is its code and the field in its details.
    fn check<A: Arguments + PartialEq + std::fmt::Debug>(arguments: &str, expected: Result<A, (&str, &str)>) {
        let parsed: Object = serde_json::from_str(arguments).expect("an object");
        let seen = A::parse(&parsed);
        let error =
            |failure: &Failure| (failure.code.to_string(), failure.details["field"].as_str().map(str::to_owned));
        let expected = expected.map_err(|(code, field)| (code.to_owned(), Some(field.to_owned())));
        assert_eq!(seen.as_ref().map_err(error), expected.as_ref().map_err(Clone::clone), "{arguments}");
    }

    fn path(text: &str) -> RelativePath {
        RelativePath::parse(text).expect("a path")
    }

    fn read(range: Option<Lines>, max_chars: Option<Whole>) -> Result<ReadArgs, (&'static str, &'static str)> {
        let limits = TextLimits { max_chars };
        Ok(ReadArgs { path: path("a.md"), full: None, range, limits, project_root: None })
    }

    /// A number that was written so.
    fn whole(number: i64, given: &str) -> Option<Whole> {
        Some(Whole { number, given: serde_json::from_str(given).expect("JSON") })
    }

    fn lines(start_line: Option<Whole>, end_line: Option<Whole>, start_char: Option<Whole>) -> Option<Lines> {
        Some(Lines { start_line, end_line, start_char })
    }

    #[test]
    fn null_counts_as_absent() {
        check(r#"{"path":"a.md"}"#, read(None, None));
        check(r#"{"path":"./a.md","full":null,"range":null,"limits":null,"project_root":null}"#, read(None, None));
        check(r#"{"path":"a.md","range":{},"limits":{}}"#, read(lines(None, None, None), None));
        let nulls = r#"{"path":"a.md","range":{"start_line":null,"end_line":null,"start_char":null},"limits":{"max_chars":null}}"#;
        check(nulls, read(lines(None, None, None), None));
        for nothing in ["{}", r#"{"path":null}"#] {
            check(nothing, Ok(LsArgs { path: None, project_root: None }));
            check::<ReadArgs>(nothing, Err(("invalid_path", "path")));
        }
    }

    #[test]
    fn values_are_taken_as_they_are() {
        let all = r#"{"path":"a.md","range":{"start_line":0,"end_line":-3,"start_char":7},"limits":{"max_chars":0}}"#;
        check(all, read(lines(whole(0, "0"), whole(-3, "-3"), whole(7, "7")), whole(0, "0")));
        let full = read(None, None).map(|args| ReadArgs { full: Some(true), ..args });
        check(r#"{"path":"a.md","full":true,"range":"ignored"}"#, full);
        let not_full = read(None, None).map(|args| ReadArgs { full: Some(false), ..args });
        check(r#"{"path":"a.md","full":false}"#, not_full);
        let large =
            r#"{"path":"a.md","range":{"end_line":99999999999999999999},"limits":{"max_chars":18446744073709551615}}"#;
        let (end_line, max_chars) = ("99999999999999999999", "18446744073709551615");
        check(large, read(lines(None, whole(i64::MAX, end_line), None), whole(i64::MAX, max_chars)));
        let small = r#"{"path":"a.md","range":{"start_line":-99999999999999999999}}"#;
        check(small, read(lines(whole(i64::MIN, "-99999999999999999999"), None, None), None));
        let pointed =
            r#"{"path":"a.md","range":{"start_line":2.0,"end_line":1e1,"start_char":0.0},"limits":{"max_chars":5.0}}"#;
        check(pointed, read(lines(whole(2, "2.0"), whole(10, "1e1"), whole(0, "0.0")), whole(5, "5.0")));
        check(
            r#"{"path":"x","project_root":"/p"}"#,
            Ok(LsArgs { path: Some(path("x")), project_root: Some("/p".into()) }),
        );
    }

    #[test]
    fn a_start_line_of_its_own_wins_over_the_cursor() {
        let start = |arguments: &str, expected: Option<(&str, i64)>| {
            let parsed: Object = serde_json::from_str(arguments).expect("an object");
            let args = ScanArgs::parse(&parsed).expect("arguments");
            assert_eq!(args.start().map(|(field, line)| (field, line.number)), expected, "{arguments}");
        };
        start(r#"{"path":"a.md"}"#, None);
        start(r#"{"path":"a.md","cursor":{}}"#, None);
        start(r#"{"path":"a.md","cursor":{"start_line":3}}"#, Some(("cursor.start_line", 3)));
        start(r#"{"path":"a.md","start_line":5,"cursor":{"start_line":3}}"#, Some(("start_line", 5)));
        start(r#"{"path":"a.md","start_line":null,"cursor":{"start_line":3}}"#, Some(("cursor.start_line", 3)));
        check::<ScanArgs>(
            r#"{"path":"a.md","start_line":5,"cursor":{"start_line":"3"}}"#,
            Err(("invalid_parameter", "cursor.start_line")),
        );
    }

    #[test]
    fn unknown_names_are_refused_before_all_else() {
        for (arguments, field) in [
            (r#"{"zeta":1,"appendix":2,"full":"yes"}"#, "appendix"),
            (r#"{"range":{"start":1},"path":7}"#, "range.start"),
            (r#"{"full":true,"range":{"start":1},"path":"a"}"#, "range.start"),
            (r#"{"limits":{"action":1}}"#, "limits.action"),
        ] {
            check::<ReadArgs>(arguments, Err(("invalid_parameter", field)));
        }
        let added =
            r#"{"path":"a.md","_x":1,"range":{"_y":2},"toolCallId":1,"sessionId":1,"chatInput":1,"action":1,"tool":1}"#;
        check(added, read(lines(None, None, None), None));
    }

    #[test]
    fn wrong_types_are_refused_before_the_path() {
        for wrong in ["true", "\"3\"", "1.5", "15e-1", "[]", "{}"] {
            for (field, shape) in [
                ("range.start_line", r#"{"range":{"start_line":?},"path":1}"#),
                ("range.end_line", r#"{"range":{"end_line":?},"path":""}"#),
                ("range.start_char", r#"{"range":{"start_char":?}}"#),
                ("limits.max_chars", r#"{"limits":{"max_chars":?},"path":"../x"}"#),
            ] {
                check::<ReadArgs>(&shape.replace('?', wrong), Err(("invalid_parameter", field)));
            }
            check::<ScanArgs>(&r#"{"chunk_lines":?}"#.replace('?', wrong), Err(("invalid_parameter", "chunk_lines")));
            check::<ScanArgs>(&r#"{"start_line":?}"#.replace('?', wrong), Err(("invalid_parameter", "start_line")));
        }
        for (field, arguments) in [
            ("full", r#"{"full":"yes"}"#),
            ("full", r#"{"full":1}"#),
            ("range", r#"{"range":[1,2]}"#),
            ("limits", r#"{"limits":20}"#),
            ("project_root", r#"{"project_root":7}"#),
            ("project_root", r#"{"project_root":""}"#),
            ("project_root", r#"{"project_root":""}"#),
        ] {
            check::<ReadArgs>(arguments, Err(("invalid_parameter", field)));
        }
        check::<ScanArgs>(r#"{"cursor":3}"#, Err(("invalid_parameter", "cursor")));
    }

    #[test]
    fn paths_must_stay_below_the_vault() {
        for wrong in [
            "5",
            "true",
            "[]",
            "\"\"",
            "\"  \"",
            "\".\"",
            "\"../x\"",
            "\"/x\"",
            "\"c:/x\"",
            "\"a/../b\"",
            "\"a\\u0000b\"",
        ] {
            let arguments = format!(r#"{{"path":{wrong}}}"#);
            check::<LsArgs>(&arguments, Err(("invalid_path", "path")));
            check::<ReadArgs>(&arguments, Err(("invalid_path", "path")));
            check::<ScanArgs>(&arguments, Err(("invalid_path", "path")));
        }
    }
}
