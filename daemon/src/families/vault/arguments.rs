//! What the tools take, checked in the contract's order: types, then the path. Whether values suit
//! the file is for the ops, once the file was seen. Null counts as absent; unknown arguments are
//! ignored.

use std::path::{Path, PathBuf};

use serde_json::{Map, Number, Value, json};
use trellis_protocol::Failure;

use super::error::VaultError;
use super::model::CONTENT_LIMIT;
use super::reserved::{self, Deed};
use crate::disk::RelativePath;
use crate::text::json::whole_number;
use crate::tools::Arguments;

type Object = Map<String, Value>;

/// A whole number of any size, and how the caller wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// The nearest one of 64 bits.
    pub number: i64,
    /// For a refusal.
    pub given: Number,
}

/// For `vault_ls`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LsArgs {
    /// None is the vault itself.
    pub path: Option<RelativePath>,
    /// Whose vault.
    pub project_root: Option<PathBuf>,
}

/// For `vault_read`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadArgs {
    /// The file.
    pub path: RelativePath,
    /// Whose vault.
    pub project_root: Option<PathBuf>,
    /// What of it.
    pub wanted: Wanted,
    /// At most so many characters.
    pub max_chars: Option<Whole>,
}

/// What of a file is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// All of it.
    Full,
    /// Some lines. Each may be absent, and none has been compared with the file yet.
    Lines {
        /// From here.
        start_line: Option<Whole>,
        /// To here.
        end_line: Option<Whole>,
        /// Without so many characters of the first line.
        start_char: Option<Whole>,
    },
    /// The caller did not say.
    Unsaid,
}

/// For `vault_scan`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanArgs {
    /// The file.
    pub path: RelativePath,
    /// Whose vault.
    pub project_root: Option<PathBuf>,
    /// From here, and under which name the caller said so.
    pub start_line: Option<(&'static str, Whole)>,
    /// So many lines.
    pub chunk_lines: Option<Whole>,
    /// At most so many characters.
    pub max_chars: Option<Whole>,
}

/// For `vault_create`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateArgs {
    /// The new file.
    pub path: RelativePath,
    /// All of it.
    pub content: String,
    /// Whose vault.
    pub project_root: Option<PathBuf>,
}

/// For `vault_replace`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplaceArgs {
    /// The file.
    pub path: RelativePath,
    /// What goes.
    pub find: String,
    /// What comes.
    pub replace: String,
    /// At most so often; checked last, as it came.
    pub max_replacements: Option<Value>,
    /// The hash that the caller has read.
    pub if_match: Option<String>,
    /// Whose vault.
    pub project_root: Option<PathBuf>,
}

impl Arguments for LsArgs {
    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Directory relative to the vault; leave out for the vault itself" },
                "project_root": project_root_schema(),
            },
        })
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let project_root = project_root(arguments)?;
        let path = given(arguments, "path").map(|_| path(arguments)).transpose()?;
        Ok(Self { path, project_root })
    }
}

impl Arguments for ReadArgs {
    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": path_schema(),
                "full": { "type": "boolean", "description": "Read from the first line to the last; `range` is ignored (default false)" },
                "range": {
                    "type": "object",
                    "description": "Lines to read, needed unless full; {} is all lines",
                    "properties": {
                        "start_line": { "type": "integer", "minimum": 1, "description": "First line (default 1)" },
                        "end_line": { "type": "integer", "minimum": 1, "description": "Last line, included (default: the file's last)" },
                        "start_char": { "type": "integer", "minimum": 0, "description": "Characters to skip in the first line, to go on in a very long one" },
                    },
                },
                "limits": limits_schema(),
                "project_root": project_root_schema(),
            },
            "required": ["path"],
        })
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let wanted = match (boolean(arguments, "full")?, given(arguments, "range")) {
            (Some(true), _) => Wanted::Full,
            (_, None) => Wanted::Unsaid,
            (_, Some(_)) => {
                let range = object(arguments, "range")?;
                Wanted::Lines {
                    start_line: integer(range, "range.start_line")?,
                    end_line: integer(range, "range.end_line")?,
                    start_char: integer(range, "range.start_char")?,
                }
            }
        };
        let max_chars = max_chars(arguments)?;
        let project_root = project_root(arguments)?;
        Ok(Self { path: path(arguments)?, project_root, wanted, max_chars })
    }
}

impl Arguments for ScanArgs {
    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": path_schema(),
                "cursor": {
                    "type": "object",
                    "description": "next_cursor of the last answer; leave out to begin",
                    "properties": { "start_line": { "type": "integer", "minimum": 1, "description": "First line (default 1)" } },
                },
                "start_line": { "type": "integer", "minimum": 1, "description": "Short for cursor.start_line" },
                "chunk_lines": { "type": "integer", "minimum": 1, "description": "Lines per chunk, at most 200 (default 80)" },
                "limits": limits_schema(),
                "project_root": project_root_schema(),
            },
            "required": ["path"],
        })
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let cursor = integer(object(arguments, "cursor")?, "cursor.start_line")?;
        let start_line = integer(Some(arguments), "start_line")?;
        let start_line =
            start_line.map(|line| ("start_line", line)).or_else(|| cursor.map(|line| ("cursor.start_line", line)));
        let chunk_lines = integer(Some(arguments), "chunk_lines")?;
        let max_chars = max_chars(arguments)?;
        let project_root = project_root(arguments)?;
        Ok(Self { path: path(arguments)?, project_root, start_line, chunk_lines, max_chars })
    }
}

impl Arguments for CreateArgs {
    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": path_schema(),
                "content": { "type": "string", "minLength": 1, "description": "The whole text, written exactly as given" },
                "project_root": project_root_schema(),
            },
            "required": ["path", "content"],
        })
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let content = text(arguments, "content", "a text that is not empty").and_then(not_empty("content"))?;
        if content.len() > CONTENT_LIMIT {
            let wanted = format!("at most {CONTENT_LIMIT} bytes long");
            return Err(VaultError::parameter("content", wanted, content.len()).into());
        }
        let project_root = project_root(arguments)?;
        let path = path(arguments)?;
        reserved::check(&path, Deed::Create).map_err(|why| VaultError::Reserved { path: path.clone(), why })?;
        Ok(Self { path, content, project_root })
    }
}

impl Arguments for ReplaceArgs {
    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": path_schema(),
                "find": { "type": "string", "minLength": 1, "description": "Text to find, literally; may span lines" },
                "replace": { "type": "string", "description": "Text to put in its place; may be empty" },
                "max_replacements": { "type": "integer", "minimum": 0, "description": "At most so many, from the top (default 1)" },
                "if_match": { "type": "string", "description": "Only if the file still has this hash, as vault_read gave it" },
                "project_root": project_root_schema(),
            },
            "required": ["path", "find", "replace"],
        })
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let find = text(arguments, "find", "a text that is not empty").and_then(not_empty("find"))?;
        let replace = text(arguments, "replace", "a text")?;
        let if_match = given(arguments, "if_match").map(|_| text(arguments, "if_match", "a hash")).transpose()?;
        let project_root = project_root(arguments)?;
        let path = path(arguments)?;
        reserved::check(&path, Deed::Replace).map_err(|why| VaultError::Reserved { path: path.clone(), why })?;
        let max_replacements = given(arguments, "max_replacements").cloned();
        Ok(Self { path, find, replace, max_replacements, if_match, project_root })
    }
}

fn text(arguments: &Object, field: &'static str, wanted: &'static str) -> Result<String, VaultError> {
    match given(arguments, field) {
        Some(Value::String(text)) => Ok(text.clone()),
        other => Err(VaultError::Parameter { field, wanted: wanted.into(), given: other.cloned(), path: None }),
    }
}

fn not_empty(field: &'static str) -> impl Fn(String) -> Result<String, VaultError> {
    move |text| match text.is_empty() {
        true => Err(VaultError::parameter(field, "a text that is not empty", text)),
        false => Ok(text),
    }
}

fn path_schema() -> Value {
    json!({ "type": "string", "description": "File relative to the vault, such as notes/a.md" })
}

fn limits_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "max_chars": { "type": "integer", "minimum": 1, "description": "Longest text (default and most: 20000 characters)" },
        },
    })
}

fn project_root_schema() -> Value {
    json!({ "type": "string", "description": "Absolute path of the project, if not the session's own" })
}

fn given<'a>(object: &'a Object, key: &str) -> Option<&'a Value> {
    object.get(key).filter(|value| !value.is_null())
}

fn path(arguments: &Object) -> Result<RelativePath, VaultError> {
    let value = given(arguments, "path");
    match value.and_then(Value::as_str).filter(|text| !text.trim().is_empty()) {
        Some(text) => RelativePath::parse(text).map_err(|why| VaultError::Path { given: text.to_owned(), why }),
        None => Err(VaultError::NoPath { given: value.cloned() }),
    }
}

fn project_root(arguments: &Object) -> Result<Option<PathBuf>, VaultError> {
    let Some(value) = given(arguments, "project_root") else { return Ok(None) };
    let path = value.as_str().map(Path::new).filter(|path| path.is_absolute() && !path.as_os_str().is_empty());
    match path {
        Some(path) => Ok(Some(path.to_owned())),
        None => Err(VaultError::parameter("project_root", "an absolute path", value.clone())),
    }
}

fn max_chars(arguments: &Object) -> Result<Option<Whole>, VaultError> {
    integer(object(arguments, "limits")?, "limits.max_chars")
}

fn object<'a>(arguments: &'a Object, field: &'static str) -> Result<Option<&'a Object>, VaultError> {
    match given(arguments, field) {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(other) => Err(VaultError::parameter(field, "an object", other.clone())),
    }
}

fn boolean(arguments: &Object, field: &'static str) -> Result<Option<bool>, VaultError> {
    match given(arguments, field) {
        None => Ok(None),
        Some(Value::Bool(value)) => Ok(Some(*value)),
        Some(other) => Err(VaultError::parameter(field, "true or false", other.clone())),
    }
}

/// The field is found under what follows its last dot.
fn integer(object: Option<&Object>, field: &'static str) -> Result<Option<Whole>, VaultError> {
    let key = field.rsplit('.').next().unwrap_or(field);
    let Some(value) = object.and_then(|object| given(object, key)) else { return Ok(None) };
    match (value, whole_number(value)) {
        (Value::Number(given), Some(number)) => Ok(Some(Whole { number, given: given.clone() })),
        _ => Err(VaultError::parameter(field, "an integer", value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    fn read(wanted: Wanted, max_chars: Option<Whole>) -> Result<ReadArgs, (&'static str, &'static str)> {
        Ok(ReadArgs { path: path("a.md"), project_root: None, wanted, max_chars })
    }

    /// A number that was written so.
    fn whole(number: i64, given: &str) -> Option<Whole> {
        Some(Whole { number, given: serde_json::from_str(given).expect("JSON") })
    }

    fn lines(start_line: Option<Whole>, end_line: Option<Whole>, start_char: Option<Whole>) -> Wanted {
        Wanted::Lines { start_line, end_line, start_char }
    }

    #[test]
    fn null_counts_as_absent() {
        check(r#"{"path":"a.md"}"#, read(Wanted::Unsaid, None));
        check(
            r#"{"path":"./a.md","full":null,"range":null,"limits":null,"project_root":null}"#,
            read(Wanted::Unsaid, None),
        );
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
        check(r#"{"path":"a.md","full":true,"range":"ignored"}"#, read(Wanted::Full, None));
        check(r#"{"path":"a.md","full":false,"other":1}"#, read(Wanted::Unsaid, None));
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
        let scan = |start_line| ScanArgs {
            path: path("a.md"),
            project_root: None,
            start_line,
            chunk_lines: None,
            max_chars: None,
        };
        check(r#"{"path":"a.md"}"#, Ok(scan(None)));
        check(r#"{"path":"a.md","cursor":{}}"#, Ok(scan(None)));
        let named =
            |field: &'static str, given: &str| whole(given.parse().expect("a number"), given).map(|line| (field, line));
        check(r#"{"path":"a.md","cursor":{"start_line":3}}"#, Ok(scan(named("cursor.start_line", "3"))));
        check(r#"{"path":"a.md","start_line":5,"cursor":{"start_line":3}}"#, Ok(scan(named("start_line", "5"))));
        check(
            r#"{"path":"a.md","start_line":null,"cursor":{"start_line":3}}"#,
            Ok(scan(named("cursor.start_line", "3"))),
        );
        check::<ScanArgs>(
            r#"{"path":"a.md","start_line":5,"cursor":{"start_line":"3"}}"#,
            Err(("invalid_parameter", "cursor.start_line")),
        );
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
            ("project_root", r#"{"project_root":"relative"}"#),
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
