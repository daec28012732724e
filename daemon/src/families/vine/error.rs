//! What can go wrong with plans, with its codes and words.
//!
//! The words are fixed by what callers of such servers know, so most of them carry no hint: it would become part of
//! the text.

use std::borrow::Cow;

use serde_json::{Value, json};
use trellis_protocol::{Coded, ErrorInfo, FailureKind};

use super::parse::ParseError;
use super::validate::GraphError;
use crate::disk::{ReadError, RelativePath};
use crate::families::edit::EditError;
use crate::families::error::{ArgumentError, Problem};
use crate::families::fields::FamilyError;

/// Everything that a tool may answer instead of a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VineError {
    #[error("{field} must be {wanted}.")]
    Argument { field: String, wanted: Cow<'static, str> },
    #[error("Parse error (line {}): {}", .0.line, .0)]
    Parse(#[from] ParseError),
    /// The plan is not sound.
    #[error("Validation error [{}]: {}\nDetails: {}", .0.constraint(), .0, .0.details())]
    Invalid(#[from] GraphError),
    /// What was asked for cannot be done.
    #[error("{0}")]
    Operation(String),
    #[error("Task not found: {0}")]
    NoTask(String),
    /// Something is where a new file shall be.
    #[error("File already exists: {0}")]
    Exists(String),
    /// A file that does not look like a plan; nothing of it is shown.
    #[error("Not a .vine file: {0}")]
    NotVine(String),
    /// A file whose bytes would not survive a write.
    #[error("File is not valid UTF-8: {0}")]
    NotText(String),
    /// A relative path, and nothing that it could be relative to.
    #[error("No working directory: \"{0}\" must be an absolute path.")]
    NoDirectory(String),
    /// The file that the caller named could not be read. `resolved` is where that is, if it says more; `is_nowhere` tells
    /// of a relative name in a session that was started nowhere in particular.
    #[error("{}", read_error_message(.file, .resolved.as_deref(), .why))]
    Read { file: String, resolved: Option<String>, why: ReadError, lacks_base: bool },
    /// The file is not the one that the caller has read.
    #[error("File has changed: {file} (its hash is now {actual})")]
    Changed { file: String, expected: String, actual: String },
    /// What would be written would not read back as what was meant.
    #[error("Nothing was written: {what} could not be read back: {why}.")]
    Lost { what: String, why: String },
    /// A writing tool in a read-only session.
    #[error("Read-only session.")]
    ReadOnly,
    /// The disk did not take it; the file is as it was.
    #[error("{}", write_failure(.path, .why))]
    Write { path: RelativePath, why: EditError },
}

impl From<ArgumentError> for VineError {
    fn from(error: ArgumentError) -> Self {
        match error.problem {
            Problem::MustBe(wanted) => Self::Argument { field: error.field, wanted },
            Problem::Is(words) => Self::Operation(words.into_owned()),
            Problem::Unknown { .. } => Self::Operation(format!("{} is no argument.", error.field)),
        }
    }
}

impl FamilyError for VineError {
    fn is_open(_: &str) -> bool {
        true
    }
}

impl Coded for VineError {
    fn info(&self) -> ErrorInfo {
        const OPERATION: &str = "OPERATION_ERROR";
        let row = ErrorInfo::without_hint;
        match self {
            Self::Argument { field, .. } => row(OPERATION, FailureKind::Input, json!({ "field": field })),
            Self::Parse(ParseError { line, message }) => {
                row("PARSE_ERROR", FailureKind::Unreadable, json!({ "line": line, "message": message }))
            }
            Self::Invalid(invalid) => row("VALIDATION_ERROR", FailureKind::Unreadable, invalid.details()),
            Self::Operation(_) | Self::Lost { .. } => row(OPERATION, FailureKind::Input, Value::Null),
            Self::NoTask(id) => row(OPERATION, FailureKind::Missing, json!({ "id": id })),
            Self::Exists(file) => row(OPERATION, FailureKind::Conflict, json!({ "file": file })),
            Self::NotVine(file) => row(OPERATION, FailureKind::Refused, json!({ "file": file })),
            Self::NotText(file) => row("IO_ERROR", FailureKind::Unreadable, json!({ "file": file })),
            Self::NoDirectory(file) => row(OPERATION, FailureKind::Input, json!({ "file": file })),
            Self::ReadOnly => row("PERMISSION_DENIED", FailureKind::Refused, Value::Null),
            Self::Changed { file, expected, actual } => {
                let details = json!({ "file": file, "expected_hash": expected, "actual_hash": actual });
                let hint = "read the plan again and repeat the call with its new hash";
                ErrorInfo::new("CONFLICT", FailureKind::Conflict, details, hint)
            }
            Self::Read { file, resolved, why, lacks_base } => {
                let (code, kind) = unseen_code(why);
                let info = row(code, kind, json!({ "file": file, "resolved": resolved.as_ref().unwrap_or(file) }));
                match *lacks_base && code == "FILE_NOT_FOUND" {
                    true => info.with_hint(
                        "pass the absolute path of the plan, or have the host start this server in the project, with \
                         `--cwd DIR` in its args",
                    ),
                    false => info,
                }
            }
            Self::Write { path, why } => {
                let details = json!({ "file": path.as_str(), "reason": why.code() });
                match why {
                    why if is_denied(why) => row("PERMISSION_DENIED", FailureKind::Refused, details),
                    EditError::Busy => ErrorInfo::new("IO_ERROR", FailureKind::Conflict, details, why.hint()),
                    why => ErrorInfo::new("IO_ERROR", FailureKind::Unavailable, details, why.hint()),
                }
            }
        }
    }
}

fn unseen_code(why: &ReadError) -> (&'static str, FailureKind) {
    match why {
        ReadError::Missing | ReadError::TreeMissing | ReadError::NoProject(_) => {
            ("FILE_NOT_FOUND", FailureKind::Missing)
        }
        ReadError::PermissionDenied
        | ReadError::SymlinkRefused
        | ReadError::OutsideTree
        | ReadError::TreeOutsideProject => ("PERMISSION_DENIED", FailureKind::Refused),
        // What was named is no file that could be a plan.
        ReadError::IsDirectory | ReadError::NotRegular | ReadError::TooLarge { .. } => ("IO_ERROR", FailureKind::Input),
        ReadError::IsFile | ReadError::Io(_) => ("IO_ERROR", FailureKind::Unavailable),
    }
}

fn read_error_message(file: &str, resolved: Option<&str>, why: &ReadError) -> String {
    let shown = match resolved {
        Some(resolved) => format!("{file} (resolved to {resolved})"),
        None => file.to_owned(),
    };
    match (unseen_code(why).0, why) {
        ("FILE_NOT_FOUND", _) => format!("File not found: {shown}"),
        ("PERMISSION_DENIED", _) => format!("Permission denied: {shown}"),
        (_, ReadError::IsDirectory) => format!("Is a directory: {shown}"),
        (_, ReadError::IsFile) => format!("Not a directory on the way to: {shown}"),
        (_, ReadError::NotRegular) => format!("Not a regular file: {shown}"),
        (_, ReadError::TooLarge { size, limit }) => {
            format!("File too large: {shown} has {size} bytes, the limit is {limit}")
        }
        (_, ReadError::Io(words)) => format!("Cannot read {shown}: {words}"),
        _ => format!("Cannot read {shown}"),
    }
}

/// A tree or file that is missing where something was to be written is no missing plan, but a way that cannot be gone.
fn is_denied(why: &EditError) -> bool {
    match why {
        EditError::Read(read_error) => unseen_code(read_error).0 == "PERMISSION_DENIED",
        other => *other == EditError::Denied,
    }
}

fn write_failure(path: &RelativePath, why: &EditError) -> String {
    if is_denied(why) { format!("Permission denied: {path}") } else { why.message(&format!("`{path}`")) }
}

#[cfg(test)]
mod tests {
    use trellis_protocol::Failure;

    use super::*;

    fn check(error: VineError, code: &str, kind: FailureKind, text: &str) {
        let failure = Failure::from(error);
        assert_eq!((failure.code.as_ref(), failure.kind, failure.message.as_str()), (code, kind, text));
    }

    #[test]
    fn texts_are_exact_and_carry_no_hint() {
        let parse = ParseError { line: 3, message: "Duplicate task id \"a\"".to_owned() };
        check(
            parse.into(),
            "PARSE_ERROR",
            FailureKind::Unreadable,
            "Parse error (line 3): Line 3: Duplicate task id \"a\"",
        );
        let text = "Validation error [no-cycles]: Cycle detected: a → b → a.\nDetails: {\"constraint\":\"no-cycles\",\"cycle\":[\"a\",\"b\"]}";
        check(
            GraphError::Cycle(vec!["a".into(), "b".into()]).into(),
            "VALIDATION_ERROR",
            FailureKind::Unreadable,
            text,
        );
        let read_error = |resolved: Option<&str>, why| VineError::Read {
            file: "plan".into(),
            resolved: resolved.map(str::to_owned),
            why,
            lacks_base: false,
        };
        let text = "File not found: plan (resolved to /srv/plan)";
        check(read_error(Some("/srv/plan"), ReadError::Missing), "FILE_NOT_FOUND", FailureKind::Missing, text);
        check(read_error(None, ReadError::TreeMissing), "FILE_NOT_FOUND", FailureKind::Missing, "File not found: plan");
        check(
            read_error(None, ReadError::PermissionDenied),
            "PERMISSION_DENIED",
            FailureKind::Refused,
            "Permission denied: plan",
        );
        check(read_error(None, ReadError::IsDirectory), "IO_ERROR", FailureKind::Input, "Is a directory: plan");
        check(VineError::ReadOnly, "PERMISSION_DENIED", FailureKind::Refused, "Read-only session.");
        check(VineError::NoTask("x".into()), "OPERATION_ERROR", FailureKind::Missing, "Task not found: x");
        let path = RelativePath::parse("plan.vine").expect("a path");
        let denied = VineError::Write { path: path.clone(), why: EditError::Denied };
        check(denied, "PERMISSION_DENIED", FailureKind::Refused, "Permission denied: plan.vine");
        for error in [read_error(None, ReadError::Missing), VineError::ReadOnly, VineError::NoTask(String::new())] {
            assert_eq!(Failure::from(error).hint, None);
        }
        for why in [EditError::DiskFull, EditError::Read(ReadError::TreeMissing)] {
            let failure = Failure::from(VineError::Write { path: path.clone(), why });
            assert_eq!((failure.code.as_ref(), failure.hint.is_some()), ("IO_ERROR", true));
        }
    }
}
