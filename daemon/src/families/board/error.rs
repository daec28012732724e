//! What can go wrong on the board, with its numbers and words.
//!
//! The contract gives numbers for codes; `present` knows their names. No message says where on the machine a
//! board is.

use serde_json::{Value, json};
use trellis_protocol::{Coded, ErrorInfo, FailureKind};

use super::parse::InvalidBoard;
use crate::disk::ReadError;
use crate::families::edit::EditError;
use crate::families::error::{ArgumentError, CommonError, NamedFile, Problem};
use crate::families::fields::{FamilyError, Object};

const VALIDATION: &str = "1001";
const TASK_NOT_FOUND: &str = "1002";
const BRIDGE: &str = "1003";

/// Everything that a tool of the board may answer instead of a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BoardError {
    #[error("{0}")]
    Common(#[from] CommonError),
    #[error("{} {}", .0.field, issue(.0))]
    Argument(Box<ArgumentError>),
    /// An update of nothing, with what could have been given.
    #[error("nothing to change was given")]
    NothingGiven { fields: &'static [&'static str] },
    #[error("there is no task `{id}`")]
    NoTask { id: String },
    /// The file holds no board.
    #[error("the bridge file `{file}` cannot be understood: {why}")]
    Broken { file: String, why: InvalidBoard },
}

impl BoardError {
    pub fn read_error(file: &str, why: ReadError) -> Self {
        Self::Common(CommonError::Read { file: named(file), why })
    }

    /// The board is not the one that the caller has read; none is there if its file is gone.
    pub fn changed(expected: &str, actual: Option<String>) -> Self {
        let details = Object::from_iter([("field".to_owned(), "if_match".into())]);
        let file = NamedFile { shown: "the board".to_owned(), details };
        Self::Common(CommonError::Changed { file, expected: expected.to_owned(), actual })
    }
}

/// The bridge file as errors name it.
pub fn named(file: &str) -> NamedFile {
    NamedFile { shown: format!("the bridge file `{file}`"), ..NamedFile::new("file", file) }
}

impl From<ArgumentError> for BoardError {
    fn from(error: ArgumentError) -> Self {
        Self::Argument(Box::new(error))
    }
}

impl FamilyError for BoardError {}

/// What is wrong with an argument.
fn issue(error: &ArgumentError) -> String {
    match (&error.problem, &error.value) {
        (Problem::MustBe(_), None) => "is required".to_owned(),
        _ => error.issue(),
    }
}

fn code_of(error: &CommonError) -> (&'static str, FailureKind) {
    match error {
        CommonError::Argument(_) => (VALIDATION, FailureKind::Input),
        CommonError::ReadOnly => (VALIDATION, FailureKind::Refused),
        CommonError::Changed { .. } => (VALIDATION, FailureKind::Conflict),
        CommonError::Read { why: ReadError::NoProject(_), .. } => (VALIDATION, FailureKind::Input),
        CommonError::Read { why: ReadError::Io(_), .. } => (BRIDGE, FailureKind::Unavailable),
        CommonError::Write { why: EditError::Busy, .. } => (BRIDGE, FailureKind::Conflict),
        CommonError::Write { .. } => (BRIDGE, FailureKind::Unavailable),
        _ => (BRIDGE, FailureKind::Unreadable),
    }
}

/// The next step, where only this family knows it.
fn hint_of(error: &CommonError) -> Option<&'static str> {
    match error {
        CommonError::Changed { .. } => {
            Some("read the board again with vbm_get_board and repeat the call with its new hash")
        }
        CommonError::TooLarge { .. } => Some("delete finished tasks first"),
        CommonError::Read { why, .. } => match why {
            ReadError::SymlinkRefused | ReadError::OutsideTree => {
                Some("set BRIDGE_FILE_PATH to the file that the link leads to")
            }
            ReadError::TooLarge { .. } => Some("move finished tasks out of the bridge file"),
            ReadError::IsDirectory
            | ReadError::IsFile
            | ReadError::NotRegular
            | ReadError::TreeMissing
            | ReadError::Missing => Some("put a regular file there, or set BRIDGE_FILE_PATH to another one"),
            _ => None,
        },
        _ => None,
    }
}

impl Coded for BoardError {
    fn info(&self) -> ErrorInfo {
        match self {
            Self::Common(error) => {
                let mut info = error.info(code_of(error));
                match error {
                    CommonError::ReadOnly => info.details = json!({ "issue": error.to_string() }),
                    CommonError::Read { why: ReadError::NoProject(_), .. } => {
                        info.details = json!({ "field": "project_root", "issue": error.to_string() });
                    }
                    _ => {}
                }
                let hint = hint_of(error).map_or(info.hint.clone().unwrap_or_default(), Into::into);
                info.with_hint(sentence(&hint))
            }
            Self::Argument(error) => {
                let mut info = CommonError::Argument(error.clone()).info((VALIDATION, FailureKind::Input));
                if let Value::Object(details) = &mut info.details {
                    details.shift_remove("value");
                    details.shift_insert(1, "issue".to_owned(), issue(error).into());
                    let limits = Some(&*error.limits).filter(|limits| !limits.is_empty());
                    details.extend(limits.map(|limits| ("constraint".to_owned(), Value::Object(limits.clone()))));
                }
                let hint = sentence(&info.hint.clone().unwrap_or_default());
                info.with_hint(hint)
            }
            Self::NothingGiven { fields } => {
                let details = json!({ "issue": self.to_string(), "fields": fields });
                let hint = format!("Send at least one of {}.", fields.join(", "));
                ErrorInfo::new(VALIDATION, FailureKind::Input, details, hint)
            }
            Self::NoTask { id } => {
                let hint = "Find the task with vbm_list_tasks or vbm_search_tasks.";
                ErrorInfo::new(TASK_NOT_FOUND, FailureKind::Missing, json!({ "field": "id", "id": id }), hint)
            }
            Self::Broken { file, why } => {
                let details = json!({ "file": file, "issue": why.to_string() });
                let hint = "Repair the bridge file by hand, or move it away to begin with an empty board; it is left \
                            as it is.";
                ErrorInfo::new(BRIDGE, FailureKind::Unreadable, details, hint)
            }
        }
    }
}

/// Hints of this family are whole sentences.
fn sentence(hint: &str) -> String {
    let mut letters = hint.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projects::{Interface, NotAProject, ProjectError};

    #[track_caller]
    fn check(error: BoardError, code: &str, kind: FailureKind, message: &str, details: Value) {
        let info = error.info();
        assert_eq!((info.code, info.kind, info.details), (code, kind, details), "{error}");
        assert_eq!(error.to_string(), message);
        let hint = info.hint.expect("an action");
        assert!(hint.starts_with(char::is_uppercase) && hint.ends_with('.') && !hint.ends_with(".."), "{hint}");
    }

    #[test]
    fn arguments_are_named_with_their_limits() {
        let limits = || Box::new(Object::from_iter([("maxLength".to_owned(), json!(100))]));
        let argument = |mut error: ArgumentError| {
            error.limits = limits();
            BoardError::from(error)
        };
        let details =
            |field: &str, issue: &str| json!({ "field": field, "issue": issue, "constraint": { "maxLength": 100 } });
        let error = argument(ArgumentError::is("is empty").of("tasks[3].title").value(""));
        let expected = details("tasks[3].title", "is empty");
        check(error, "1001", FailureKind::Input, "tasks[3].title is empty", expected);
        let error = argument(ArgumentError::must_be("a text").of("id"));
        check(error, "1001", FailureKind::Input, "id is required", details("id", "is required"));
        let error = BoardError::NothingGiven { fields: &["title"] };
        let details = json!({ "issue": "nothing to change was given", "fields": ["title"] });
        check(error, "1001", FailureKind::Input, "nothing to change was given", details);
    }

    #[test]
    fn what_the_disk_says_has_a_number() {
        for named in [None, Some("/x".into())] {
            let why = ProjectError { door: Interface::Http, named, why: NotAProject::NotThere };
            let message = why.message();
            let details = json!({ "field": "project_root", "issue": message });
            let error = BoardError::read_error("b.json", ReadError::NoProject(Box::new(why)));
            check(error, "1001", FailureKind::Input, &message, details);
        }
        for (why, kind, message) in [
            (ReadError::IsDirectory, FailureKind::Unreadable, "the bridge file `b.json` is a directory, not a file"),
            (
                ReadError::PermissionDenied,
                FailureKind::Unreadable,
                "the system denies access to the bridge file `b.json`",
            ),
            (ReadError::Io("x".into()), FailureKind::Unavailable, "the bridge file `b.json` could not be read: x"),
        ] {
            check(BoardError::read_error("b.json", why), "1003", kind, message, json!({ "file": "b.json" }));
        }
        let why = InvalidBoard::NotText { at: 3 };
        let message = "the bridge file `b.json` cannot be understood: it is not UTF-8 text: the byte at offset 3 does not belong there";
        let details = json!({ "file": "b.json", "issue": why.to_string() });
        check(BoardError::Broken { file: "b.json".to_owned(), why }, "1003", FailureKind::Unreadable, message, details);
    }

    #[test]
    fn a_changed_board_tells_its_hash() {
        let details = json!({ "field": "if_match", "expected_hash": "a", "actual_hash": "b" });
        let error = BoardError::changed("a", Some("b".to_owned()));
        check(error, "1001", FailureKind::Conflict, "the board has changed: its hash is now `b`", details);
        let details = json!({ "field": "if_match", "expected_hash": "a", "actual_hash": null });
        check(
            BoardError::changed("a", None),
            "1001",
            FailureKind::Conflict,
            "the board has changed: it is gone",
            details,
        );
    }
}
