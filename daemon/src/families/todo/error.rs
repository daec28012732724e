//! What can go wrong with tasks, contexts and records, with the seed's codes and our words.
//!
//! Messages name files as the caller knows them, from the project on, and never where the project is.

use serde_json::{Value, json};
use trellis_protocol::{Coded, ErrorInfo, FailureKind};

use super::ids::IdsExhausted;
use super::model::{MAX_NUMBER, TaskId, shown};
use crate::disk::{ReadError, RelativePath};
use crate::families::edit::EditError;
use crate::families::error::{ArgumentError, CommonError, NamedFile, text_of};
use crate::families::fields::FamilyError;

/// Longer values are cut.
const SHOWN_CHARS: usize = 100;

/// More files are only counted.
const SHOWN_FILES: usize = 10;

/// Everything that a tool of this family may answer instead of a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TodoError {
    #[error("{0}")]
    Common(CommonError),
    #[error("there is no task `{id}`")]
    TaskNotFound { id: TaskId },
    #[error("there is no task `{id}` to move beside")]
    ReferenceNotFound { id: TaskId },
    /// The task to move beside is in this category.
    #[error("`{id}` is in the category `{category}`, not beside the task")]
    WrongCategory { id: TaskId, category: String },
    #[error("{}", full("task", why))]
    TaskIdsExhausted { why: IdsExhausted },
    #[error("there is no decision record with the number `{number}`")]
    AdrNotFound { number: u16 },
    /// More than one file has that number.
    #[error("{} files have the number `{number}`", names.len())]
    DuplicateAdrNumber { number: u16, names: Vec<String> },
    #[error("{}", full("decision record", why))]
    AdrsFull { why: IdsExhausted },
    /// The task has no context file.
    #[error("`{}` is not there", shown(&id.context()))]
    NoContext { id: TaskId },
    #[error("`.todo` is a symbolic link")]
    LinkedTree,
    /// What is to be written would not be a task where it would stand.
    #[error("`{}` cannot take the change: it would not be read as a task there", shown(path))]
    NotReparsable { path: RelativePath },
    /// Another line with the same id would become the task.
    #[error("another line has the id `{id}` and would become the task")]
    Duplicate { id: TaskId },
}

impl TodoError {
    pub fn read_error(path: &RelativePath, why: ReadError) -> Self {
        // It is the project that is missing, whatever file was looked for in it.
        let file = if matches!(why, ReadError::NoProject(_)) { NamedFile::default() } else { named(path) };
        Self::Common(CommonError::Read { file, why })
    }

    /// Bytes that are no text, after so many that are.
    pub fn not_text(path: &RelativePath, at: usize) -> Self {
        Self::Common(CommonError::NotText { file: named(path), at })
    }

    pub fn changed(path: &RelativePath, expected: &str, actual: &str) -> Self {
        let (expected, actual) = (expected.chars().take(SHOWN_CHARS).collect(), Some(actual.to_owned()));
        Self::Common(CommonError::Changed { file: named(path), expected, actual })
    }
}

/// A file of the tree as errors name it.
pub fn named(path: &RelativePath) -> NamedFile {
    NamedFile::new("path", shown(path))
}

impl From<ArgumentError> for TodoError {
    fn from(error: ArgumentError) -> Self {
        Self::Common(error.into())
    }
}

impl FamilyError for TodoError {}

fn code_of(error: &CommonError) -> (&'static str, FailureKind) {
    match error {
        CommonError::Argument(error) => (error.code.unwrap_or("INVALID_INPUT"), FailureKind::Input),
        CommonError::ReadOnly => ("PERMISSION_DENIED", FailureKind::Refused),
        CommonError::Changed { .. } => ("CONFLICT", FailureKind::Conflict),
        CommonError::NotText { .. } => ("FILE_READ_ERROR", FailureKind::Unreadable),
        CommonError::Exists { .. } => ("FILE_WRITE_ERROR", FailureKind::Conflict),
        CommonError::TooLarge { .. } => ("FILE_WRITE_ERROR", FailureKind::Input),
        CommonError::Read { why, .. } => match why {
            ReadError::NoProject(_) => ("INVALID_INPUT", FailureKind::Input),
            ReadError::SymlinkRefused
            | ReadError::OutsideTree
            | ReadError::TreeOutsideProject
            | ReadError::PermissionDenied => ("PERMISSION_DENIED", FailureKind::Refused),
            ReadError::Io(_) => ("FILE_READ_ERROR", FailureKind::Unavailable),
            _ => ("FILE_READ_ERROR", FailureKind::Unreadable),
        },
        CommonError::Write { why, .. } => match why {
            EditError::Read(ReadError::NoProject(_)) => ("INVALID_INPUT", FailureKind::Input),
            EditError::Read(
                ReadError::SymlinkRefused
                | ReadError::OutsideTree
                | ReadError::TreeOutsideProject
                | ReadError::PermissionDenied,
            )
            | EditError::Denied
            | EditError::ReadOnly => ("PERMISSION_DENIED", FailureKind::Refused),
            EditError::Busy => ("FILE_WRITE_ERROR", FailureKind::Conflict),
            _ => ("FILE_WRITE_ERROR", FailureKind::Unavailable),
        },
    }
}

impl Coded for TodoError {
    fn info(&self) -> ErrorInfo {
        let about = |field: &str, value: Value| json!({ "field": field, "value": value });
        let of_task = |id: &TaskId| about("task_id", id.to_string().into());
        let of_reference = |id: &TaskId| about("reference_task_id", id.to_string().into());
        match self {
            Self::Common(error) => {
                let mut info = error.info(code_of(error));
                match (error, &mut info.details) {
                    (CommonError::Argument(error), Value::Object(details)) => {
                        details.extend(error.value.as_ref().map(|value| ("value".to_owned(), cut(value))));
                    }
                    (CommonError::Read { why: ReadError::TooLarge { .. }, .. }, Value::Object(details)) => {
                        details.retain(|key, _| key == "path");
                    }
                    _ => {}
                }
                info
            }
            Self::TaskNotFound { id } => {
                let hint = "`list_tasks` shows the tasks that exist";
                ErrorInfo::new("TASK_NOT_FOUND", FailureKind::Missing, of_task(id), hint)
            }
            Self::ReferenceNotFound { id } => {
                let hint = "`list_tasks` shows the tasks that exist";
                ErrorInfo::new("REFERENCE_TASK_NOT_FOUND", FailureKind::Missing, of_reference(id), hint)
            }
            Self::WrongCategory { id, .. } => {
                let hint = "move the task to that category with `update_task` first";
                ErrorInfo::new("INVALID_POSITION", FailureKind::Input, of_reference(id), hint)
            }
            Self::TaskIdsExhausted { why: why @ IdsExhausted::Named(id, files) } => {
                let files: Vec<String> = files.iter().take(SHOWN_FILES).map(shown).collect();
                let details =
                    json!({ "limit": MAX_NUMBER, "reason": reason(why), "task_id": id.to_string(), "files": files });
                let hint = format!(
                    "remove `{id}` there, or a file that nobody needs; or delete finished tasks with `delete_task`"
                );
                ErrorInfo::new("TASK_LIMIT_EXCEEDED", FailureKind::Conflict, details, hint)
            }
            Self::TaskIdsExhausted { why } => {
                let details = json!({ "limit": MAX_NUMBER, "reason": reason(why) });
                let hint = "delete finished tasks with `delete_task`";
                ErrorInfo::new("TASK_LIMIT_EXCEEDED", FailureKind::Conflict, details, hint)
            }
            Self::AdrsFull { why } => {
                let details = json!({ "limit": MAX_NUMBER, "reason": reason(why) });
                let hint = "start a new project directory: numbers of records are never reused";
                ErrorInfo::new("ADR_LIMIT_EXCEEDED", FailureKind::Conflict, details, hint)
            }
            Self::AdrNotFound { number } => {
                let hint = "`list_adrs` shows the records that exist";
                ErrorInfo::new("ADR_NOT_FOUND", FailureKind::Missing, about("adr_number", (*number).into()), hint)
            }
            Self::DuplicateAdrNumber { number, names } => {
                let details = json!({ "field": "adr_number", "value": number, "files": names });
                ErrorInfo::new("INVALID_ADR_NUMBER", FailureKind::Input, details, "rename one of the files")
            }
            Self::NoContext { id } => {
                ErrorInfo::new("FILE_NOT_FOUND", FailureKind::Missing, of_task(id), "`update_context` makes the file")
            }
            Self::LinkedTree => {
                let hint = "make `.todo` a directory of the project";
                ErrorInfo::new("PERMISSION_DENIED", FailureKind::Refused, json!({ "path": ".todo" }), hint)
            }
            Self::NotReparsable { path } => {
                let hint = "close the code fence or comment that is still open in the file";
                ErrorInfo::new("FILE_WRITE_ERROR", FailureKind::Unreadable, json!({ "path": shown(path) }), hint)
            }
            Self::Duplicate { id } => {
                let hint = "give one of the two lines another id";
                ErrorInfo::new("FILE_WRITE_ERROR", FailureKind::Conflict, of_task(id), hint)
            }
        }
    }
}

/// A value as it came, unless it is long.
fn cut(value: &Value) -> Value {
    let text = text_of(value);
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => text[..end].into(),
        None => value.clone(),
    }
}

fn reason(why: &IdsExhausted) -> &'static str {
    match why {
        IdsExhausted::Existing => "existing",
        IdsExhausted::Given => "numbers_given",
        IdsExhausted::Named(..) => "numbers_named",
    }
}

fn full(what: &str, why: &IdsExhausted) -> String {
    match why {
        IdsExhausted::Existing => format!("{MAX_NUMBER} {what}s exist already"),
        IdsExhausted::Given => format!("the last {what} number, {MAX_NUMBER}, was given already"),
        IdsExhausted::Named(id, files) => {
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

#[cfg(test)]
mod tests {
    use super::super::model::{TASK_FILE, in_tree};
    use super::*;
    use crate::projects::{Interface, NotAProject, ProjectError};

    fn check(error: TodoError, code: &str, kind: FailureKind, details: Value) {
        let info = error.info();
        assert_eq!((info.code, info.kind, info.details), (code, kind, details), "{error}");
        assert!(info.hint.is_some_and(|hint| !hint.ends_with('.')));
        assert!(!error.to_string().ends_with('.'));
    }

    #[test]
    fn arguments_are_named_with_their_values() {
        let argument = || ArgumentError::must_be("one of them").of("status");
        let error = TodoError::from(argument().code("INVALID_STATUS").value("finished"));
        assert_eq!(error.to_string(), "`status` must be one of them, not `finished`");
        check(error, "INVALID_STATUS", FailureKind::Input, json!({ "field": "status", "value": "finished" }));
        check(argument().into(), "INVALID_INPUT", FailureKind::Input, json!({ "field": "status" }));
        let long = TodoError::from(argument().value("あ".repeat(500)));
        assert_eq!(long.info().details["value"].as_str().map(|value| value.chars().count()), Some(100));
    }

    #[test]
    fn full_projects_say_what_makes_room() {
        let tasks = |why| TodoError::TaskIdsExhausted { why };
        check(
            tasks(IdsExhausted::Existing),
            "TASK_LIMIT_EXCEEDED",
            FailureKind::Conflict,
            json!({ "limit": 999, "reason": "existing" }),
        );
        let id = TaskId::of(17).expect("an id");
        let files: Vec<RelativePath> = (1..=12).map(|number| in_tree(&format!("notes/{number:02}.md"))).collect();
        let named = tasks(IdsExhausted::Named(id, files.clone()));
        assert_eq!(
            named.to_string(),
            "no task number is free: the lowest without a task, `T017`, is still named by `.todo/notes/01.md` and 11 other files"
        );
        let details = json!({
            "limit": 999, "reason": "numbers_named", "task_id": "T017",
            "files": files.iter().take(10).map(shown).collect::<Vec<_>>(),
        });
        check(named, "TASK_LIMIT_EXCEEDED", FailureKind::Conflict, details);
        let alone = tasks(IdsExhausted::Named(id, vec![id.context()]));
        assert!(alone.to_string().ends_with("named by `.todo/context/T017.md`"), "{alone}");
        let details = json!({ "limit": 999, "reason": "numbers_given" });
        check(TodoError::AdrsFull { why: IdsExhausted::Given }, "ADR_LIMIT_EXCEEDED", FailureKind::Conflict, details);
    }

    #[test]
    fn what_the_disk_says_has_a_code() {
        for (why, code, kind) in [
            (ReadError::SymlinkRefused, "PERMISSION_DENIED", FailureKind::Refused),
            (ReadError::PermissionDenied, "PERMISSION_DENIED", FailureKind::Refused),
            (ReadError::IsDirectory, "FILE_READ_ERROR", FailureKind::Unreadable),
            (ReadError::TooLarge { size: 2, limit: 1 }, "FILE_READ_ERROR", FailureKind::Unreadable),
            (ReadError::Io("x".into()), "FILE_READ_ERROR", FailureKind::Unavailable),
        ] {
            let error = TodoError::read_error(&in_tree(TASK_FILE), why);
            check(error, code, kind, json!({ "path": ".todo/task.md" }));
        }
        let file = || named(&in_tree(TASK_FILE));
        let write_failure = |why| TodoError::Common(CommonError::Write { file: file(), why });
        let details = |reason: &str| json!({ "path": ".todo/task.md", "reason": reason });
        check(write_failure(EditError::DiskFull), "FILE_WRITE_ERROR", FailureKind::Unavailable, details("disk_full"));
        check(write_failure(EditError::Denied), "PERMISSION_DENIED", FailureKind::Refused, details("denied"));
        check(write_failure(EditError::Busy), "FILE_WRITE_ERROR", FailureKind::Conflict, details("busy"));
    }

    #[test]
    fn a_project_that_cannot_be_had_is_the_argument_s_fault() {
        for (named, details) in [
            (None, json!({ "field": "project_root" })),
            (Some("/x"), json!({ "field": "project_root", "value": "/x" })),
        ] {
            let named = named.map(Into::into);
            let why = Box::new(ProjectError { door: Interface::Stdio, named, why: NotAProject::NotThere });
            let error = TodoError::read_error(&in_tree(TASK_FILE), ReadError::NoProject(why));
            assert!(error.to_string().contains("`project_root`"));
            check(error, "INVALID_INPUT", FailureKind::Input, details);
        }
    }
}
