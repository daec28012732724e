//! What can go wrong with tasks, contexts and records, with the seed's codes and our words.
//!
//! Messages name files as the caller knows them, from the project on, and never where the project is.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use trellis_protocol::failure::{Coded, Kind};

use super::ids::Full;
use super::model::{NUMBERS, TaskId, in_tree, shown};
use crate::disk::RelativePath;
use crate::families::edit::Unwritable;
use crate::families::need::Unseen;

/// Longer values are shown by their beginning.
const SHOWN_CHARS: usize = 100;

/// More files are only counted.
const SHOWN_FILES: usize = 10;

/// Everything that a tool of this family may answer instead of a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TodoError {
    /// An argument is not what it must be.
    #[error("{}", argument(field, wanted, given.as_ref()))]
    Argument {
        /// Which code it has.
        rule: Rule,
        /// As in `subtasks[2].title`.
        field: Cow<'static, str>,
        /// Follows "must be".
        wanted: Cow<'static, str>,
        /// None if it is missing.
        given: Option<Value>,
    },
    /// No such task.
    #[error("there is no task `{id}`")]
    TaskNotFound {
        /// Which.
        id: TaskId,
    },
    /// No such task to put another beside.
    #[error("there is no task `{id}` to move beside")]
    ReferenceNotFound {
        /// Which.
        id: TaskId,
    },
    /// The task to move beside is elsewhere.
    #[error("`{id}` is in the category `{category}`, not beside the task")]
    OtherCategory {
        /// The task to move beside.
        id: TaskId,
        /// Its category.
        category: String,
    },
    /// No more tasks.
    #[error("{}", full("task", why))]
    TasksFull {
        /// Too many, or numbered too high.
        why: Full,
    },
    /// No such record.
    #[error("there is no decision record with the number `{number}`")]
    AdrNotFound {
        /// Which.
        number: u16,
    },
    /// More than one file has that number.
    #[error("{} files have the number `{number}`", names.len())]
    AdrTwice {
        /// Which.
        number: u16,
        /// Their names.
        names: Vec<String>,
    },
    /// No more records.
    #[error("{}", full("decision record", why))]
    AdrsFull {
        /// Too many, or numbered too high.
        why: Full,
    },
    /// The task has no context file.
    #[error("`{}` is not there", shown(&id.context()))]
    NoContext {
        /// Whose.
        id: TaskId,
    },
    /// The disk did not show what was needed.
    #[error("{}", not_seen(path, why))]
    Unseen {
        /// What.
        path: RelativePath,
        /// Why not.
        why: Unseen,
    },
    /// The file holds other bytes than text.
    #[error("`{}` is not UTF-8 text: the byte at offset {at} does not belong there", shown(path))]
    NotText {
        /// The file.
        path: RelativePath,
        /// So many bytes are good.
        at: usize,
    },
    /// The tree itself is a link.
    #[error("`.todo` is a symbolic link")]
    LinkedTree,
    /// The file is not the one that the caller has read.
    #[error("`{}` has changed: its hash is now `{actual}`", shown(path))]
    Changed {
        /// The file.
        path: RelativePath,
        /// What the caller has read.
        expected: String,
        /// What is there.
        actual: String,
    },
    /// What is to be written would not be a task where it would stand.
    #[error("`{}` cannot take the change: it would not be read as a task there", shown(path))]
    Unplaceable {
        /// The file.
        path: RelativePath,
    },
    /// Another line with the same id would become the task.
    #[error("another line has the id `{id}` and would become the task")]
    Duplicate {
        /// Which.
        id: TaskId,
    },
    /// A writing tool in a read-only session.
    #[error("this session is read-only")]
    ReadOnly,
    /// The disk did not take it.
    #[error("{}", unwritten(path, why))]
    Unwritten {
        /// The file; it is as it was.
        path: RelativePath,
        /// Why not.
        why: Unwritable,
    },
}

/// Which rule an argument breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The shape of a task's id.
    TaskId,
    /// The range of a record's number.
    AdrNumber,
    /// The words for a status.
    Status,
    /// What may name a category.
    Category,
    /// The words for a position, and what belongs to them.
    Position,
    /// A limit of length.
    Length,
    /// Anything else.
    Input,
}

impl Rule {
    fn code(self) -> &'static str {
        match self {
            Self::TaskId => "INVALID_TASK_ID",
            Self::AdrNumber => "INVALID_ADR_NUMBER",
            Self::Status => "INVALID_STATUS",
            Self::Category => "INVALID_CATEGORY",
            Self::Position => "INVALID_POSITION",
            Self::Length => "CONTENT_TOO_LONG",
            Self::Input => "INVALID_INPUT",
        }
    }
}

impl TodoError {
    /// An argument that breaks a rule.
    pub fn argument(
        rule: Rule,
        field: impl Into<Cow<'static, str>>,
        wanted: impl Into<Cow<'static, str>>,
        given: Option<&Value>,
    ) -> Self {
        Self::Argument { rule, field: field.into(), wanted: wanted.into(), given: given.cloned() }
    }
}

impl Coded for TodoError {
    fn code(&self) -> &'static str {
        match self {
            Self::Argument { rule, .. } => rule.code(),
            Self::TaskNotFound { .. } => "TASK_NOT_FOUND",
            Self::ReferenceNotFound { .. } => "REFERENCE_TASK_NOT_FOUND",
            Self::OtherCategory { .. } => "INVALID_POSITION",
            Self::TasksFull { .. } => "TASK_LIMIT_EXCEEDED",
            Self::AdrNotFound { .. } => "ADR_NOT_FOUND",
            Self::AdrTwice { .. } => "INVALID_ADR_NUMBER",
            Self::AdrsFull { .. } => "ADR_LIMIT_EXCEEDED",
            Self::NoContext { .. } => "FILE_NOT_FOUND",
            Self::Unseen { why, .. } => match why {
                Unseen::NoProject(_) => "INVALID_INPUT",
                Unseen::Link | Unseen::Outside | Unseen::Denied => "PERMISSION_DENIED",
                _ => "FILE_READ_ERROR",
            },
            Self::NotText { .. } => "FILE_READ_ERROR",
            Self::LinkedTree | Self::ReadOnly => "PERMISSION_DENIED",
            Self::Changed { .. } => "CONFLICT",
            Self::Unplaceable { .. } | Self::Duplicate { .. } => "FILE_WRITE_ERROR",
            Self::Unwritten { why, .. } => match why {
                Unwritable::Unseen(Unseen::NoProject(_)) => "INVALID_INPUT",
                Unwritable::Unseen(Unseen::Link | Unseen::Outside | Unseen::Denied)
                | Unwritable::Denied
                | Unwritable::ReadOnly => "PERMISSION_DENIED",
                _ => "FILE_WRITE_ERROR",
            },
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Argument { .. } | Self::OtherCategory { .. } | Self::AdrTwice { .. } => Kind::Input,
            Self::TaskNotFound { .. }
            | Self::ReferenceNotFound { .. }
            | Self::AdrNotFound { .. }
            | Self::NoContext { .. } => Kind::Missing,
            Self::TasksFull { .. } | Self::AdrsFull { .. } | Self::Changed { .. } | Self::Duplicate { .. } => {
                Kind::Conflict
            }
            Self::NotText { .. } | Self::Unplaceable { .. } => Kind::Unreadable,
            Self::LinkedTree | Self::ReadOnly => Kind::Refused,
            Self::Unseen { why, .. } => match (self.code(), why) {
                ("INVALID_INPUT", _) => Kind::Input,
                ("PERMISSION_DENIED", _) => Kind::Refused,
                (_, Unseen::Failed(_)) => Kind::Unavailable,
                _ => Kind::Unreadable,
            },
            Self::Unwritten { why, .. } => match (self.code(), why) {
                ("INVALID_INPUT", _) => Kind::Input,
                ("PERMISSION_DENIED", _) => Kind::Refused,
                (_, Unwritable::KeepsMoving) => Kind::Conflict,
                _ => Kind::Unavailable,
            },
        }
    }

    fn details(&self) -> Value {
        let about = |field: &str, value: Value| json!({ "field": field, "value": value });
        let file = |path: &RelativePath| json!({ "path": shown(path) });
        match self {
            Self::Argument { field, given, .. } => {
                let mut details = Map::new();
                details.insert("field".to_owned(), field.as_ref().into());
                details.extend(given.as_ref().map(|given| ("value".to_owned(), cut(given))));
                Value::Object(details)
            }
            Self::TaskNotFound { id } | Self::NoContext { id } | Self::Duplicate { id } => {
                about("task_id", id.to_string().into())
            }
            Self::ReferenceNotFound { id } | Self::OtherCategory { id, .. } => {
                about("reference_task_id", id.to_string().into())
            }
            Self::TasksFull { why: why @ Full::Named(id, files) } => {
                let files: Vec<String> = files.iter().take(SHOWN_FILES).map(shown).collect();
                json!({ "limit": NUMBERS, "reason": reason(why), "task_id": id.to_string(), "files": files })
            }
            Self::TasksFull { why } | Self::AdrsFull { why } => json!({ "limit": NUMBERS, "reason": reason(why) }),
            Self::AdrNotFound { number } => about("adr_number", (*number).into()),
            Self::AdrTwice { number, names } => {
                json!({ "field": "adr_number", "value": number, "files": names })
            }
            Self::Unseen { why: Unseen::NoProject(error), .. } => match error.value() {
                Some(value) => about("project_root", value.into()),
                None => json!({ "field": "project_root" }),
            },
            Self::Unseen { path, .. } | Self::Unplaceable { path } => file(path),
            Self::NotText { path, at } => json!({ "path": shown(path), "offset": at }),
            Self::LinkedTree => json!({ "path": ".todo" }),
            Self::Changed { path, expected, actual } => {
                let expected = cut(&json!(expected));
                json!({ "path": shown(path), "expected_hash": expected, "actual_hash": actual })
            }
            Self::ReadOnly => Value::Null,
            Self::Unwritten { path, why } => json!({ "path": shown(path), "reason": why.word() }),
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            Self::Argument { .. } => "correct the argument and call again",
            Self::TaskNotFound { .. } | Self::ReferenceNotFound { .. } => "`list_tasks` shows the tasks that exist",
            Self::OtherCategory { .. } => "move the task to that category with `update_task` first",
            Self::TasksFull { why: Full::Named(id, _) } => {
                let hint = format!(
                    "remove `{id}` there, or a file that nobody needs; or delete finished tasks with `delete_task`"
                );
                return Some(hint.into());
            }
            Self::TasksFull { .. } => "delete finished tasks with `delete_task`",
            Self::AdrsFull { .. } => "start a new project directory: numbers of records are never reused",
            Self::AdrNotFound { .. } => "`list_adrs` shows the records that exist",
            Self::AdrTwice { .. } => "rename one of the files",
            Self::NoContext { .. } => "`update_context` makes the file",
            Self::NotText { .. } => "convert the file to UTF-8",
            Self::LinkedTree => "make `.todo` a directory of the project",
            Self::Changed { .. } => "read it again and repeat the call with its new hash",
            Self::Unplaceable { .. } => "close the code fence or comment that is still open in the file",
            Self::Duplicate { .. } => "give one of the two lines another id",
            Self::ReadOnly => "start the session without `--read-only`",
            Self::Unwritten { why, .. } => why.hint(),
            Self::Unseen { why, .. } => match why {
                Unseen::NoProject(error) => error.hint(),
                Unseen::Link | Unseen::Outside => "put the file itself there instead of a link",
                Unseen::Denied => "give the daemon's user the right to read it",
                Unseen::TooLarge { .. } => "split the file, or keep it outside of `.todo`",
                Unseen::Failed(_) => "try again, and look into the daemon's log if it stays so",
                _ => "put a regular file in its place",
            },
        };
        Some(hint.into())
    }
}

fn argument(field: &str, wanted: &str, given: Option<&Value>) -> String {
    match given {
        Some(given) => {
            let given = cut(given);
            let given = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
            format!("`{field}` must be {wanted}, not `{given}`")
        }
        None => format!("`{field}` must be {wanted}"),
    }
}

/// A value as it came, unless it is long.
fn cut(value: &Value) -> Value {
    let text = value.as_str().map_or_else(|| value.to_string().into(), Cow::Borrowed);
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => text[..end].into(),
        None => value.clone(),
    }
}

fn reason(why: &Full) -> &'static str {
    match why {
        Full::Existing => "existing",
        Full::Given => "numbers_given",
        Full::Named(..) => "numbers_named",
    }
}

fn full(what: &str, why: &Full) -> String {
    match why {
        Full::Existing => format!("{NUMBERS} {what}s exist already"),
        Full::Given => format!("the last {what} number, {NUMBERS}, was given already"),
        Full::Named(id, files) => {
            let first = files.first().map(shown).unwrap_or_default();
            let others = match files.len() {
                0 | 1 => String::new(),
                2 => " and one other file".to_owned(),
                count => format!(" and {} other files", count - 1),
            };
            format!(
                "no {what} number is free: the lowest without a {what}, `{id}`, is still named by `{first}`{others}"
            )
        }
    }
}

fn unwritten(path: &RelativePath, why: &Unwritable) -> String {
    match why {
        Unwritable::Unseen(unseen) => not_seen(path, unseen),
        other => other.sentence(&in_tree(&shown(path))),
    }
}

fn not_seen(path: &RelativePath, why: &Unseen) -> String {
    let what = shown(path);
    match why {
        Unseen::NoProject(error) => error.sentence(),
        Unseen::NoTree | Unseen::Missing => format!("`{what}` is not there"),
        Unseen::IsDirectory => format!("`{what}` is a directory, not a file"),
        Unseen::IsFile => format!("`{what}` is a file, not a directory"),
        Unseen::Special => format!("`{what}` is neither a file nor a directory"),
        Unseen::Link => format!("`{what}` is or passes a symbolic link"),
        Unseen::Outside => format!("`{what}` leads out of `.todo`"),
        Unseen::Denied => format!("the system denies access to `{what}`"),
        Unseen::TooLarge { size, limit } => format!("`{what}` has {size} bytes or more, over the limit of {limit}"),
        Unseen::Failed(words) => format!("`{what}` could not be read: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::TASK_FILE;
    use super::*;
    use crate::families::project::{Door, NotAProject, ProjectError};

    fn check(error: TodoError, code: &str, kind: Kind, details: Value) {
        assert_eq!((error.code(), error.kind(), error.details()), (code, kind, details), "{error}");
        assert!(error.hint().is_some_and(|hint| !hint.ends_with('.')));
        assert!(!error.to_string().ends_with('.'));
    }

    #[test]
    fn arguments_are_named_with_their_values() {
        let error = TodoError::argument(Rule::Status, "status", "one of them", Some(&json!("finished")));
        assert_eq!(error.to_string(), "`status` must be one of them, not `finished`");
        check(error, "INVALID_STATUS", Kind::Input, json!({ "field": "status", "value": "finished" }));
        let error = TodoError::argument(Rule::Input, "title", "a text", None);
        check(error, "INVALID_INPUT", Kind::Input, json!({ "field": "title" }));
        let error = TodoError::argument(Rule::Length, "title", "short", Some(&json!("あ".repeat(500))));
        assert_eq!(error.details()["value"].as_str().map(|value| value.chars().count()), Some(100));
    }

    #[test]
    fn full_projects_say_what_makes_room() {
        let tasks = |why| TodoError::TasksFull { why };
        check(
            tasks(Full::Existing),
            "TASK_LIMIT_EXCEEDED",
            Kind::Conflict,
            json!({ "limit": 999, "reason": "existing" }),
        );
        let id = TaskId::of(17).expect("an id");
        let files: Vec<RelativePath> = (1..=12).map(|number| in_tree(&format!("notes/{number:02}.md"))).collect();
        let named = tasks(Full::Named(id, files.clone()));
        assert_eq!(
            named.to_string(),
            "no task number is free: the lowest without a task, `T017`, is still named by `.todo/notes/01.md` and 11 other files"
        );
        let details = json!({
            "limit": 999, "reason": "numbers_named", "task_id": "T017",
            "files": files.iter().take(10).map(shown).collect::<Vec<_>>(),
        });
        check(named, "TASK_LIMIT_EXCEEDED", Kind::Conflict, details);
        let alone = tasks(Full::Named(id, vec![id.context()]));
        assert!(alone.to_string().ends_with("named by `.todo/context/T017.md`"), "{alone}");
        let details = json!({ "limit": 999, "reason": "numbers_given" });
        check(TodoError::AdrsFull { why: Full::Given }, "ADR_LIMIT_EXCEEDED", Kind::Conflict, details);
    }

    #[test]
    fn what_the_disk_says_has_a_code() {
        for (why, code, kind) in [
            (Unseen::Link, "PERMISSION_DENIED", Kind::Refused),
            (Unseen::Denied, "PERMISSION_DENIED", Kind::Refused),
            (Unseen::IsDirectory, "FILE_READ_ERROR", Kind::Unreadable),
            (Unseen::TooLarge { size: 2, limit: 1 }, "FILE_READ_ERROR", Kind::Unreadable),
            (Unseen::Failed("x".into()), "FILE_READ_ERROR", Kind::Unavailable),
        ] {
            let error = TodoError::Unseen { path: in_tree(TASK_FILE), why };
            check(error, code, kind, json!({ "path": ".todo/task.md" }));
        }
        let unwritten = |why| TodoError::Unwritten { path: in_tree(TASK_FILE), why };
        let details = |reason: &str| json!({ "path": ".todo/task.md", "reason": reason });
        check(unwritten(Unwritable::DiskFull), "FILE_WRITE_ERROR", Kind::Unavailable, details("disk_full"));
        check(unwritten(Unwritable::Denied), "PERMISSION_DENIED", Kind::Refused, details("denied"));
        check(unwritten(Unwritable::KeepsMoving), "FILE_WRITE_ERROR", Kind::Conflict, details("busy"));
    }

    #[test]
    fn a_project_that_cannot_be_had_is_the_argument_s_fault() {
        for (named, details) in [
            (None, json!({ "field": "project_root" })),
            (Some("/x"), json!({ "field": "project_root", "value": "/x" })),
        ] {
            let named = named.map(Into::into);
            let why = Box::new(ProjectError { door: Door::Stdio, named, why: NotAProject::NotThere });
            let error = TodoError::Unseen { path: in_tree(TASK_FILE), why: Unseen::NoProject(why) };
            assert!(error.to_string().contains("`project_root`"));
            check(error, "INVALID_INPUT", Kind::Input, details);
        }
    }
}
