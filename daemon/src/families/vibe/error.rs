//! What can go wrong in a workspace, with its codes and words.
//!
//! Messages name projects and files as the caller knows them, and never where the workspace is.

use std::borrow::Cow;

use serde_json::{Value, json};
use trellis_protocol::{Coded, ErrorInfo, FailureKind};

use super::layout::FOLDERS;
use super::model::STATUSES;
use crate::disk::ReadError;
use crate::families::edit::EditError;
use crate::families::error::{ArgumentError, CommonError, NamedFile, SHOWN_CHARS, shortened, text_of};
use crate::families::fields::{FamilyError, Object};

/// Everything that a tool, resource or prompt of the workspace may answer instead of a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VibeError {
    #[error("{0}")]
    Common(#[from] CommonError),
    #[error("`{}` is not a status", shortened(status, SHOWN_CHARS))]
    InvalidStatus { status: String },
    #[error("the query is blank")]
    InvalidQuery,
    /// A name or path that leads elsewhere.
    #[error("the {field} `{}` cannot be used: {why}", shortened(given, SHOWN_CHARS))]
    InvalidPath { field: &'static str, given: String, why: Cow<'static, str> },
    #[error("`{}` cannot be the name of a project", shortened(project, SHOWN_CHARS))]
    InvalidProjectName { project: String },
    #[error("there is no project `{project}`{}", near(nearest))]
    ProjectNotFound { project: String, nearest: Vec<String> },
    /// With its name as it is on the disk.
    #[error("the project `{project}` exists already")]
    ProjectExists { project: String },
    #[error("`{}` is not a folder of a project", shortened(folder, SHOWN_CHARS))]
    InvalidFolder { folder: String },
    /// The path is below the project.
    #[error("there is no file `{path}` in project `{project}`")]
    FileNotFound { project: String, path: String },
    /// The path is below the project.
    #[error("`{path}` exists already in project `{project}`")]
    FileExists { project: String, path: String, hint: &'static str },
    /// A number that several tasks have.
    #[error("`{task}` may be {} tasks of project `{project}`", candidates.len())]
    AmbiguousTask { project: String, task: String, candidates: Vec<String> },
    /// The index did not answer.
    #[error("the search index cannot answer: {why}")]
    Index { why: String },
}

fn near(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; near are `{}`", nearest.join("`, `")) }
}

impl VibeError {
    /// A name or path that cannot be used.
    pub fn path(field: &'static str, given: &str, why: impl Into<Cow<'static, str>>) -> Self {
        Self::InvalidPath { field, given: given.to_owned(), why: why.into() }
    }

    /// What the disk said about a place that must stay inside the workspace.
    pub fn read_error(path: impl Into<String>, why: ReadError) -> Self {
        let path = path.into();
        match why {
            ReadError::OutsideTree | ReadError::SymlinkRefused => {
                Self::path("path", &path, "a link leads out of the workspace")
            }
            why => Self::Common(CommonError::Read { file: NamedFile::new("path", path), why }),
        }
    }
}

/// A file of a project as errors name it.
pub fn named(project: &str, path: String) -> NamedFile {
    let shown = format!("`{path}` of project `{project}`");
    let details = Object::from_iter([("project".to_owned(), project.into()), ("path".to_owned(), path.into())]);
    NamedFile { shown, details }
}

impl From<ArgumentError> for VibeError {
    fn from(error: ArgumentError) -> Self {
        match (error.code, &error.value) {
            (Some("INVALID_STATUS"), Some(Value::String(status))) => Self::InvalidStatus { status: status.clone() },
            (Some("INVALID_QUERY"), _) => Self::InvalidQuery,
            _ => Self::Common(error.into()),
        }
    }
}

impl FamilyError for VibeError {
    fn is_open(field: &str) -> bool {
        matches!(field, "context")
    }
}

fn code_of(error: &CommonError) -> (&'static str, FailureKind) {
    match error {
        CommonError::Argument(_) | CommonError::TooLarge { .. } => ("INVALID_ARGUMENT", FailureKind::Input),
        CommonError::ReadOnly => ("READ_ONLY", FailureKind::Refused),
        CommonError::Changed { .. } => ("CONFLICT", FailureKind::Conflict),
        CommonError::NotText { .. } => ("FILE_READ_ERROR", FailureKind::Unreadable),
        CommonError::Exists { .. } => ("FILE_EXISTS", FailureKind::Conflict),
        CommonError::Write { why: EditError::Read(ReadError::OutsideTree | ReadError::SymlinkRefused), .. } => {
            ("INVALID_PATH", FailureKind::Input)
        }
        CommonError::Read { .. } | CommonError::Write { .. } => ("FILESYSTEM_ERROR", FailureKind::Internal),
    }
}

/// The details of a condition, where this family says more or less than others.
fn details_of(error: &CommonError) -> Option<Value> {
    let with = |file: &NamedFile, more: Value| {
        let mut details = file.details.clone();
        details.extend(more.as_object().cloned().unwrap_or_default());
        Some(Value::Object(details))
    };
    match error {
        CommonError::Argument(error) => {
            let value = error.value.as_ref()?;
            Some(json!({ "field": error.field, "value": shortened(&text_of(value), SHOWN_CHARS) }))
        }
        CommonError::ReadOnly => Some(json!({})),
        CommonError::NotText { file, .. } => with(file, json!({ "reason": "not_utf8" })),
        CommonError::Read { file, why: ReadError::TooLarge { size, limit } } => {
            with(file, json!({ "reason": "too_large", "size": size, "limit": limit }))
        }
        CommonError::Read { file, .. } => with(file, json!({ "reason": "not_readable" })),
        _ => None,
    }
}

impl Coded for VibeError {
    fn info(&self) -> ErrorInfo {
        let cut = |text: &str| shortened(text, SHOWN_CHARS).into_owned();
        let file = |project: &str, path: &str| json!({ "project": project, "path": path });
        match self {
            Self::Common(error) => {
                let info = error.info(code_of(error));
                let info = ErrorInfo { details: details_of(error).unwrap_or(info.details), ..info };
                match error {
                    CommonError::ReadOnly => {
                        info.with_hint("start the session without `--read-only` and without `VIBE_READ_ONLY`")
                    }
                    _ => info,
                }
            }
            Self::InvalidStatus { status } => {
                let details = json!({ "field": "status", "value": cut(status), "allowed": STATUSES });
                let hint = "use pending, in-progress, done or blocked";
                ErrorInfo::new("INVALID_STATUS", FailureKind::Input, details, hint)
            }
            Self::InvalidQuery => {
                let details = json!({ "field": "query" });
                ErrorInfo::new("INVALID_QUERY", FailureKind::Input, details, "pass a word to look for")
            }
            Self::InvalidPath { field, given, .. } => {
                let details = json!({ "field": field, "value": cut(given) });
                let hint = "pass plain names of things inside the workspace";
                ErrorInfo::new("INVALID_PATH", FailureKind::Input, details, hint)
            }
            Self::InvalidProjectName { project } => {
                let details = json!({ "field": "project", "value": cut(project) });
                let hint = "use letters, digits, `-` and `_`, with `.` only inside";
                ErrorInfo::new("INVALID_PROJECT_NAME", FailureKind::Input, details, hint)
            }
            Self::ProjectNotFound { project, nearest } => {
                let hint = "read `vibe://projects` for the names, or make the project with `init_project`";
                ErrorInfo::new(
                    "PROJECT_NOT_FOUND",
                    FailureKind::Missing,
                    json!({ "project": project, "nearest": nearest }),
                    hint,
                )
            }
            Self::ProjectExists { project } => {
                let hint = "use the project as it is, or choose another name";
                ErrorInfo::new("PROJECT_EXISTS", FailureKind::Conflict, json!({ "project": project }), hint)
            }
            Self::InvalidFolder { folder } => {
                let details = json!({ "folder": cut(folder), "allowed": FOLDERS.map(|(folder, ..)| folder) });
                let hint = "use tasks, plans, sessions, reports, changelog, references, scratch or assets";
                ErrorInfo::new("INVALID_FOLDER", FailureKind::Input, details, hint)
            }
            Self::FileNotFound { project, path } => {
                let hint = "find the name with `search` or `list_tasks`, or make the file with `create_doc`";
                ErrorInfo::new("FILE_NOT_FOUND", FailureKind::Missing, file(project, path), hint)
            }
            Self::FileExists { project, path, hint } => {
                ErrorInfo::new("FILE_EXISTS", FailureKind::Conflict, file(project, path), *hint)
            }
            Self::AmbiguousTask { project, task, candidates } => {
                let details = json!({ "project": project, "task": task, "candidates": candidates });
                let hint = "pass the file name of one of the candidates";
                ErrorInfo::new("AMBIGUOUS_TASK", FailureKind::Conflict, details, hint)
            }
            Self::Index { .. } => {
                let hint = "try again in a moment; `reindex` with `full` rebuilds it";
                ErrorInfo::new("INDEX_ERROR", FailureKind::Internal, json!({}), hint)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: VibeError, code: &str, details: Value) {
        let info = error.info();
        assert_eq!((info.code, info.details), (code, details), "{error}");
        assert!(info.hint.is_some() && error.to_string().chars().count() < 200, "{error}");
    }

    #[test]
    fn values_are_shown_as_texts_and_by_their_beginning() {
        let argument = || ArgumentError::must_be("an integer").of("limit");
        check(argument().into(), "INVALID_ARGUMENT", json!({ "field": "limit" }));
        check(argument().value(true).into(), "INVALID_ARGUMENT", json!({ "field": "limit", "value": "true" }));
        let cut = format!("{}…", "x".repeat(80));
        let status = ArgumentError::is("is none").of("status").code("INVALID_STATUS").value("x".repeat(500));
        let details = json!({ "field": "status", "value": cut, "allowed": STATUSES });
        check(status.into(), "INVALID_STATUS", details);
    }

    #[test]
    fn a_link_out_of_the_workspace_is_a_wrong_path() {
        for why in [ReadError::OutsideTree, ReadError::SymlinkRefused] {
            check(
                VibeError::read_error("p/x", why.clone()),
                "INVALID_PATH",
                json!({ "field": "path", "value": "p/x" }),
            );
            let file = NamedFile::new("path", "p/x");
            let write_failure = CommonError::Write { file, why: EditError::Read(why) };
            check(write_failure.into(), "INVALID_PATH", json!({ "path": "p/x", "reason": "not_reachable" }));
        }
        let details = json!({ "path": "p/x", "reason": "not_readable" });
        check(VibeError::read_error("p/x", ReadError::PermissionDenied), "FILESYSTEM_ERROR", details);
    }
}
