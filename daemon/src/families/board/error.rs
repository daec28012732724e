//! What can go wrong on the board, with its numbers and words.
//!
//! The contract gives numbers for codes; `present` knows their names. No message says where on the machine a
//! board is.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use trellis_protocol::failure::{Coded, Kind};

use super::parse::Broken;
use super::rules::Rule;
use crate::families::edit::Unwritable;
use crate::families::need::Unseen;

/// Longer values are shown by their beginning.
const SHOWN_CHARS: usize = 80;

const VALIDATION: &str = "1001";
const TASK_NOT_FOUND: &str = "1002";
const BRIDGE: &str = "1003";

/// Everything that a tool of the board may answer instead of a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BoardError {
    /// An argument is not what it must be.
    #[error("{field} {issue}")]
    Argument {
        /// As in `tasks[3].title`.
        field: String,
        /// What is wrong with it.
        issue: String,
        /// What it must be.
        rule: Rule,
    },
    /// An update of nothing.
    #[error("nothing to change was given")]
    NothingGiven {
        /// What could have been.
        fields: &'static [&'static str],
    },
    /// No such task.
    #[error("there is no task `{id}`")]
    NoTask {
        /// As it came.
        id: String,
    },
    /// The board is not the one that the caller has read.
    #[error("the board has changed: its hash is now {}", actual.as_ref().map_or_else(|| "none, the file is gone".to_owned(), |hash| format!("`{hash}`")))]
    Changed {
        /// What the caller has read.
        expected: String,
        /// What is there; none if there is no file.
        actual: Option<String>,
    },
    /// A writing tool in a read-only session.
    #[error("this session is read-only")]
    ReadOnly,
    /// The file holds no board.
    #[error("the bridge file `{file}` cannot be understood: {why}")]
    Broken {
        /// Its name.
        file: String,
        /// What is wrong with it.
        why: Broken,
    },
    /// The disk did not show the file.
    #[error("{}", not_seen(file, why))]
    Unseen {
        /// Its name.
        file: String,
        /// Why not.
        why: Unseen,
    },
    /// The board would be too large to read again.
    #[error("the bridge file `{file}` would have {size} bytes, over the limit of {limit}")]
    WouldBeTooLarge {
        /// Its name.
        file: String,
        /// In bytes.
        size: usize,
        /// In bytes.
        limit: u64,
    },
    /// The disk did not take it.
    #[error("{}", not_written(file, why))]
    Unwritten {
        /// Its name.
        file: String,
        /// Why not.
        why: Unwritable,
    },
}

impl BoardError {
    /// An argument that breaks its rule in some way.
    pub fn argument(field: impl Into<String>, rule: Rule, issue: impl Into<String>) -> Self {
        Self::Argument { field: field.into(), issue: issue.into(), rule }
    }

    /// An argument of the wrong type, or with a value that is none of the possible ones; none was missing.
    pub fn wrong(field: impl Into<String>, rule: Rule, given: Option<&Value>) -> Self {
        let issue = match given {
            None => "is required".to_owned(),
            Some(value) => format!("must be {}, not `{}`", rule.wanted(), shortened(value)),
        };
        Self::argument(field, rule, issue)
    }
}

impl Coded for BoardError {
    fn code(&self) -> &'static str {
        match self {
            Self::Argument { .. } | Self::NothingGiven { .. } | Self::Changed { .. } | Self::ReadOnly => VALIDATION,
            Self::Unseen { why: Unseen::NoProject(_), .. } => VALIDATION,
            Self::NoTask { .. } => TASK_NOT_FOUND,
            Self::Broken { .. } | Self::Unseen { .. } | Self::WouldBeTooLarge { .. } | Self::Unwritten { .. } => BRIDGE,
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Argument { .. } | Self::NothingGiven { .. } => Kind::Input,
            Self::NoTask { .. } => Kind::Missing,
            Self::Changed { .. } => Kind::Conflict,
            Self::ReadOnly => Kind::Refused,
            Self::Broken { .. } => Kind::Unreadable,
            Self::Unseen { why: Unseen::NoProject(_), .. } => Kind::Input,
            Self::Unseen { why: Unseen::Failed(_), .. } => Kind::Unavailable,
            Self::Unseen { .. } | Self::WouldBeTooLarge { .. } => Kind::Unreadable,
            Self::Unwritten { why: Unwritable::KeepsMoving, .. } => Kind::Conflict,
            Self::Unwritten { .. } => Kind::Unavailable,
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::Argument { field, issue, rule } => {
                let mut details = Map::from_iter([("field".into(), json!(field)), ("issue".into(), json!(issue))]);
                let constraint = rule.constraint();
                if !constraint.is_empty() {
                    details.insert("constraint".into(), Value::Object(constraint));
                }
                Value::Object(details)
            }
            Self::NothingGiven { fields } => json!({ "issue": "nothing to change was given", "fields": fields }),
            Self::NoTask { id } => json!({ "field": "id", "id": id }),
            Self::Changed { expected, actual } => {
                json!({ "field": "if_match", "expected_hash": expected, "actual_hash": actual })
            }
            Self::ReadOnly => json!({ "issue": "this session is read-only" }),
            Self::Broken { file, why } => json!({ "file": file, "issue": why.to_string() }),
            Self::Unseen { why: Unseen::NoProject(error), .. } => {
                json!({ "field": "project_root", "issue": error.sentence() })
            }
            Self::Unseen { file, why: Unseen::TooLarge { size, limit } } => {
                json!({ "file": file, "size": size, "limit": limit })
            }
            Self::WouldBeTooLarge { file, size, limit } => json!({ "file": file, "size": size, "limit": limit }),
            Self::Unseen { file, .. } => json!({ "file": file }),
            Self::Unwritten { file, why } => json!({ "file": file, "reason": why.word() }),
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            Self::Argument { rule, .. } => rule.hint(),
            Self::NothingGiven { .. } => {
                "Send at least one of title, description, priority, lane, estimatedHours, tags, assignee."
            }
            Self::NoTask { .. } => "Find the task with vbm_list_tasks or vbm_search_tasks.",
            Self::Changed { .. } => "Read the board again with vbm_get_board and repeat the call with its new hash.",
            Self::ReadOnly => "Start the session without --read-only.",
            Self::Broken { .. } => {
                "Repair the bridge file by hand, or move it away to begin with an empty board; it is left as it is."
            }
            Self::Unseen { why, .. } => match why {
                Unseen::NoProject(_) => "Send the project_root of a project, or do one of the other things first.",
                Unseen::Link | Unseen::Outside => "Set BRIDGE_FILE_PATH to the file that the link leads to.",
                Unseen::Denied => "Give your user the right to read the bridge file and its directory.",
                Unseen::TooLarge { .. } => "Move finished tasks out of the bridge file.",
                Unseen::IsDirectory | Unseen::IsFile | Unseen::Special | Unseen::NoTree | Unseen::Missing => {
                    "Put a regular file there, or set BRIDGE_FILE_PATH to another one."
                }
                Unseen::Failed(_) => "Try again, and look into the daemon's log if it stays so.",
            },
            Self::WouldBeTooLarge { .. } => "Delete finished tasks first.",
            Self::Unwritten { why, .. } => match why {
                Unwritable::KeepsMoving => "Repeat the call; another program is writing the bridge file.",
                Unwritable::DiskFull => "Free some disk space and repeat the call.",
                Unwritable::ReadOnly | Unwritable::Denied | Unwritable::Unseen(_) => {
                    "Check the owner and permissions of the bridge file and its directory."
                }
                _ => "Look at the disk and repeat the call; the bridge file is as it was.",
            },
        };
        Some(hint.into())
    }
}

fn not_seen(file: &str, why: &Unseen) -> String {
    match why {
        Unseen::NoProject(error) => error.sentence(),
        Unseen::NoTree | Unseen::Missing => format!("the bridge file `{file}` is not there"),
        Unseen::IsDirectory => format!("the bridge file `{file}` is a directory"),
        Unseen::IsFile => format!("a file stands where the directory of the bridge file `{file}` is needed"),
        Unseen::Special => format!("the bridge file `{file}` is no regular file"),
        Unseen::Link => format!("the bridge file `{file}` is or passes a symbolic link"),
        Unseen::Outside => format!("the bridge file `{file}` is a link that leaves the project"),
        Unseen::Denied => format!("the system denies access to the bridge file `{file}`"),
        Unseen::TooLarge { size, limit } => {
            format!("the bridge file `{file}` has {size} bytes, over the limit of {limit}")
        }
        Unseen::Failed(words) => format!("the bridge file `{file}` could not be read: {words}"),
    }
}

fn not_written(file: &str, why: &Unwritable) -> String {
    match why {
        Unwritable::Unseen(unseen) => not_seen(file, unseen),
        Unwritable::KeepsMoving => format!("the bridge file `{file}` is being changed by somebody else"),
        Unwritable::DiskFull => format!("no room is left to write the bridge file `{file}`"),
        Unwritable::ReadOnly => format!("the bridge file `{file}` is on a file system that cannot be written"),
        Unwritable::Denied => format!("the bridge file `{file}` may not be written"),
        Unwritable::TooLarge => format!("the bridge file `{file}` would be larger than the system allows"),
        Unwritable::TooManyFiles => format!("too many files are open to write the bridge file `{file}`"),
        Unwritable::Failed(words) => format!("the bridge file `{file}` could not be written: {words}"),
    }
}

/// A value as it was given, or its beginning; texts without their quotes.
fn shortened(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::project::{Door, NotAProject, ProjectError};

    #[track_caller]
    fn check(error: BoardError, code: &str, kind: Kind, message: &str, details: Value) {
        assert_eq!((error.code(), error.kind()), (code, kind), "{error}");
        assert_eq!(error.to_string(), message);
        assert_eq!(error.details(), details);
        assert!(error.hint().is_some_and(|hint| hint.ends_with('.')), "an action: {error}");
    }

    #[test]
    fn arguments_are_named_with_their_rule() {
        let error = BoardError::argument("tasks[3].title", Rule::Title, "is empty");
        let constraint = json!({ "minLength": 1, "maxLength": 100 });
        let details = json!({ "field": "tasks[3].title", "issue": "is empty", "constraint": constraint });
        check(error, "1001", Kind::Input, "tasks[3].title is empty", details);
        let long = json!("あ".repeat(200));
        let message = BoardError::wrong("lane", Rule::Lane, Some(&long)).to_string();
        assert!(message.starts_with("lane must be one of `backlog`") && message.ends_with("…`"), "{message}");
        assert_eq!(BoardError::wrong("id", Rule::Id, None).to_string(), "id is required");
        let error = BoardError::NothingGiven { fields: &["title"] };
        let details = json!({ "issue": "nothing to change was given", "fields": ["title"] });
        check(error, "1001", Kind::Input, "nothing to change was given", details);
    }

    #[test]
    fn what_the_disk_says_has_a_number() {
        let file = || "b.json".to_owned();
        for named in [None, Some("/x".into())] {
            let why = ProjectError { door: Door::Http, named, why: NotAProject::NotThere };
            let message = why.sentence();
            let details = json!({ "field": "project_root", "issue": message });
            let error = BoardError::Unseen { file: file(), why: Unseen::NoProject(Box::new(why)) };
            check(error, "1001", Kind::Input, &message, details);
        }
        for (why, kind, message) in [
            (Unseen::IsDirectory, Kind::Unreadable, "the bridge file `b.json` is a directory"),
            (Unseen::Outside, Kind::Unreadable, "the bridge file `b.json` is a link that leaves the project"),
            (Unseen::Denied, Kind::Unreadable, "the system denies access to the bridge file `b.json`"),
            (Unseen::Failed("x".into()), Kind::Unavailable, "the bridge file `b.json` could not be read: x"),
        ] {
            check(BoardError::Unseen { file: file(), why }, "1003", kind, message, json!({ "file": "b.json" }));
        }
        let error = BoardError::Unwritten { file: file(), why: Unwritable::DiskFull };
        let details = json!({ "file": "b.json", "reason": "disk_full" });
        check(error, "1003", Kind::Unavailable, "no room is left to write the bridge file `b.json`", details);
        let why = Broken::NotText { at: 3 };
        let message = "the bridge file `b.json` cannot be understood: it is not UTF-8 text: the byte at offset 3 does not belong there";
        let details = json!({ "file": "b.json", "issue": why.to_string() });
        check(BoardError::Broken { file: file(), why }, "1003", Kind::Unreadable, message, details);
    }

    #[test]
    fn the_others_have_theirs() {
        let error = BoardError::NoTask { id: "task-1".to_owned() };
        check(error, "1002", Kind::Missing, "there is no task `task-1`", json!({ "field": "id", "id": "task-1" }));
        let error = BoardError::Changed { expected: "a".to_owned(), actual: Some("b".to_owned()) };
        let details = json!({ "field": "if_match", "expected_hash": "a", "actual_hash": "b" });
        check(error, "1001", Kind::Conflict, "the board has changed: its hash is now `b`", details);
        check(
            BoardError::ReadOnly,
            "1001",
            Kind::Refused,
            "this session is read-only",
            json!({ "issue": "this session is read-only" }),
        );
        let error = BoardError::WouldBeTooLarge { file: "b".to_owned(), size: 3, limit: 2 };
        let details = json!({ "file": "b", "size": 3, "limit": 2 });
        check(error, "1003", Kind::Unreadable, "the bridge file `b` would have 3 bytes, over the limit of 2", details);
    }
}
