//! What can go wrong with plans, with its codes and words.
//!
//! The words are fixed by what callers of such servers know, so most of them carry no hint: it would become part of
//! the text.

use std::borrow::Cow;

use serde_json::{Value, json};
use trellis_protocol::failure::{Coded, Kind};

use super::parse::ParseError;
use super::validate::Invalid;
use crate::disk::RelativePath;
use crate::families::edit::Unwritable;
use crate::families::need::Unseen;

/// Everything that a tool may answer instead of a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VineError {
    /// An argument is not what it must be.
    #[error("{field} must be {wanted}.")]
    Argument {
        /// Its name.
        field: &'static str,
        /// Follows "must be".
        wanted: &'static str,
    },
    /// The text is no plan.
    #[error("Parse error (line {}): {}", .0.line, .0)]
    Parse(ParseError),
    /// The plan is not sound.
    #[error("Validation error [{}]: {}\nDetails: {}", .0.constraint(), .0, .0.details())]
    Invalid(Invalid),
    /// What was asked for cannot be done.
    #[error("{0}")]
    Operation(String),
    /// No node has this id.
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
    /// The file could not be read.
    #[error("{}", not_seen(.file, .resolved.as_deref(), .why))]
    Unseen {
        /// As the caller named it.
        file: String,
        /// Where that is, if it says more.
        resolved: Option<String>,
        /// Why not.
        why: Unseen,
        /// A relative name in a session that was started nowhere in particular.
        is_nowhere: bool,
    },
    /// The file is not the one that the caller has read.
    #[error("File has changed: {file} (its hash is now {actual})")]
    Changed {
        /// As the caller named it.
        file: String,
        /// What the caller has read.
        expected: String,
        /// What is there.
        actual: String,
    },
    /// What would be written would not read back as what was meant.
    #[error("Nothing was written: {what} could not be read back: {why}.")]
    Lost {
        /// Which part.
        what: String,
        /// What would happen to it.
        why: String,
    },
    /// A writing tool in a read-only session.
    #[error("Read-only session.")]
    ReadOnly,
    /// The disk did not take it.
    #[error("{}", unwritten(.path, .why))]
    Unwritten {
        /// The file; it is as it was.
        path: RelativePath,
        /// Why not.
        why: Unwritable,
    },
}

impl From<ParseError> for VineError {
    fn from(error: ParseError) -> Self {
        Self::Parse(error)
    }
}

impl From<Invalid> for VineError {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

impl Coded for VineError {
    fn code(&self) -> &'static str {
        match self {
            Self::Parse(_) => "PARSE_ERROR",
            Self::Invalid(_) => "VALIDATION_ERROR",
            Self::Argument { .. }
            | Self::Operation(_)
            | Self::NoTask(_)
            | Self::Exists(_)
            | Self::NotVine(_)
            | Self::NoDirectory(_)
            | Self::Lost { .. } => "OPERATION_ERROR",
            Self::Changed { .. } => "CONFLICT",
            Self::ReadOnly => "PERMISSION_DENIED",
            Self::NotText(_) => "IO_ERROR",
            Self::Unseen { why, .. } => unseen_code(why),
            Self::Unwritten { why, .. } if is_denied(why) => "PERMISSION_DENIED",
            Self::Unwritten { .. } => "IO_ERROR",
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Argument { .. } | Self::Operation(_) | Self::NoDirectory(_) | Self::Lost { .. } => Kind::Input,
            Self::Parse(_) | Self::Invalid(_) | Self::NotText(_) => Kind::Unreadable,
            Self::NoTask(_) => Kind::Missing,
            Self::Exists(_) | Self::Changed { .. } => Kind::Conflict,
            Self::NotVine(_) | Self::ReadOnly => Kind::Refused,
            Self::Unwritten { why: Unwritable::KeepsMoving, .. } => Kind::Conflict,
            // What was named is no file that could be a plan.
            Self::Unseen { why: Unseen::IsDirectory | Unseen::Special | Unseen::TooLarge { .. }, .. } => Kind::Input,
            Self::Unseen { .. } | Self::Unwritten { .. } => match self.code() {
                "FILE_NOT_FOUND" => Kind::Missing,
                "PERMISSION_DENIED" => Kind::Refused,
                _ => Kind::Unavailable,
            },
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::Argument { field, .. } => json!({ "field": field }),
            Self::Parse(ParseError { line, message }) => json!({ "line": line, "message": message }),
            Self::Invalid(invalid) => invalid.details(),
            Self::NoTask(id) => json!({ "id": id }),
            Self::Exists(file) | Self::NotVine(file) | Self::NotText(file) | Self::NoDirectory(file) => {
                json!({ "file": file })
            }
            Self::Unseen { file, resolved, .. } => {
                json!({ "file": file, "resolved": resolved.as_ref().unwrap_or(file) })
            }
            Self::Changed { file, expected, actual } => {
                json!({ "file": file, "expected_hash": expected, "actual_hash": actual })
            }
            Self::Unwritten { path, why } => json!({ "file": path.as_str(), "reason": why.word() }),
            Self::Operation(_) | Self::Lost { .. } | Self::ReadOnly => Value::Null,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Changed { .. } => Some("read the plan again and repeat the call with its new hash".into()),
            Self::Unwritten { why, .. } if self.code() == "IO_ERROR" => Some(why.hint().into()),
            Self::Unseen { is_nowhere: true, .. } if self.code() == "FILE_NOT_FOUND" => Some(
                "pass the absolute path of the plan, or have the host start this server in the project, with \
                 `--cwd DIR` in its args"
                    .into(),
            ),
            _ => None,
        }
    }
}

fn unseen_code(why: &Unseen) -> &'static str {
    match why {
        Unseen::Missing | Unseen::NoTree | Unseen::NoProject(_) => "FILE_NOT_FOUND",
        Unseen::Denied | Unseen::Link | Unseen::Outside => "PERMISSION_DENIED",
        Unseen::IsDirectory | Unseen::IsFile | Unseen::Special | Unseen::TooLarge { .. } | Unseen::Failed(_) => {
            "IO_ERROR"
        }
    }
}

fn not_seen(file: &str, resolved: Option<&str>, why: &Unseen) -> String {
    let shown = match resolved {
        Some(resolved) => format!("{file} (resolved to {resolved})"),
        None => file.to_owned(),
    };
    match (unseen_code(why), why) {
        ("FILE_NOT_FOUND", _) => format!("File not found: {shown}"),
        ("PERMISSION_DENIED", _) => format!("Permission denied: {shown}"),
        (_, Unseen::IsDirectory) => format!("Is a directory: {shown}"),
        (_, Unseen::IsFile) => format!("Not a directory on the way to: {shown}"),
        (_, Unseen::Special) => format!("Not a regular file: {shown}"),
        (_, Unseen::TooLarge { size, limit }) => {
            format!("File too large: {shown} has {size} bytes, the limit is {limit}")
        }
        (_, Unseen::Failed(words)) => format!("Cannot read {shown}: {words}"),
        _ => format!("Cannot read {shown}"),
    }
}

/// A tree or file that is missing where something was to be written is no missing plan, but a way that cannot be gone.
fn is_denied(why: &Unwritable) -> bool {
    match why {
        Unwritable::Unseen(unseen) => unseen_code(unseen) == "PERMISSION_DENIED",
        other => *other == Unwritable::Denied,
    }
}

fn unwritten(path: &RelativePath, why: &Unwritable) -> String {
    if is_denied(why) { format!("Permission denied: {path}") } else { why.sentence(path) }
}

#[cfg(test)]
mod tests {
    use trellis_protocol::Failure;

    use super::*;

    fn check(error: VineError, code: &str, kind: Kind, text: &str) {
        let failure = Failure::from(error);
        assert_eq!((failure.code.as_ref(), failure.kind, failure.message.as_str()), (code, kind, text));
    }

    #[test]
    fn texts_are_exact_and_carry_no_hint() {
        let parse = ParseError { line: 3, message: "Duplicate task id \"a\"".to_owned() };
        check(parse.into(), "PARSE_ERROR", Kind::Unreadable, "Parse error (line 3): Line 3: Duplicate task id \"a\"");
        let text = "Validation error [no-cycles]: Cycle detected: a → b → a.\nDetails: {\"constraint\":\"no-cycles\",\"cycle\":[\"a\",\"b\"]}";
        check(Invalid::Cycle(vec!["a".into(), "b".into()]).into(), "VALIDATION_ERROR", Kind::Unreadable, text);
        let unseen = |resolved: Option<&str>, why| VineError::Unseen {
            file: "plan".into(),
            resolved: resolved.map(str::to_owned),
            why,
            is_nowhere: false,
        };
        let text = "File not found: plan (resolved to /srv/plan)";
        check(unseen(Some("/srv/plan"), Unseen::Missing), "FILE_NOT_FOUND", Kind::Missing, text);
        check(unseen(None, Unseen::NoTree), "FILE_NOT_FOUND", Kind::Missing, "File not found: plan");
        check(unseen(None, Unseen::Denied), "PERMISSION_DENIED", Kind::Refused, "Permission denied: plan");
        check(unseen(None, Unseen::IsDirectory), "IO_ERROR", Kind::Input, "Is a directory: plan");
        check(VineError::ReadOnly, "PERMISSION_DENIED", Kind::Refused, "Read-only session.");
        check(VineError::NoTask("x".into()), "OPERATION_ERROR", Kind::Missing, "Task not found: x");
        let path = RelativePath::parse("plan.vine").expect("a path");
        let denied = VineError::Unwritten { path: path.clone(), why: Unwritable::Denied };
        check(denied, "PERMISSION_DENIED", Kind::Refused, "Permission denied: plan.vine");
        for error in [unseen(None, Unseen::Missing), VineError::ReadOnly, VineError::NoTask(String::new())] {
            assert_eq!(Failure::from(error).hint, None);
        }
        for why in [Unwritable::DiskFull, Unwritable::Unseen(Unseen::NoTree)] {
            let failure = Failure::from(VineError::Unwritten { path: path.clone(), why });
            assert_eq!((failure.code.as_ref(), failure.hint.is_some()), ("IO_ERROR", true));
        }
    }
}
