//! What can go wrong in a workspace, with its codes and words.
//!
//! Messages name projects and files as the caller knows them, and never where the workspace is.

use std::borrow::Cow;

use serde_json::{Value, json};
use trellis_protocol::failure::{Coded, Kind};

use crate::families::edit::Unwritable;
use crate::families::need::Unseen;

/// Longer values are shown by their beginning.
const SHOWN_CHARS: usize = 80;

/// Everything that a tool, resource or prompt of the workspace may answer instead of a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VibeError {
    /// An argument is not what it must be.
    #[error("{}", argument(field, wanted, given.as_ref()))]
    Argument {
        /// Its name.
        field: &'static str,
        /// Follows "must be".
        wanted: Cow<'static, str>,
        /// None if it is missing.
        given: Option<Value>,
    },
    /// A status that there is not.
    #[error("`{}` is not a status", shortened(status))]
    InvalidStatus {
        /// As it came.
        status: String,
    },
    /// Nothing to look for.
    #[error("the query is blank")]
    InvalidQuery,
    /// A writing tool in a session that may not write.
    #[error("this session is read-only")]
    ReadOnly,
    /// A name or path that leads elsewhere.
    #[error("the {field} `{}` cannot be used: {why}", shortened(given))]
    InvalidPath {
        /// Which argument.
        field: &'static str,
        /// As it came.
        given: String,
        /// What is wrong with it.
        why: Cow<'static, str>,
    },
    /// A name that no project may have.
    #[error("`{}` cannot be the name of a project", shortened(project))]
    InvalidProjectName {
        /// As it came.
        project: String,
    },
    /// No such project.
    #[error("there is no project `{project}`")]
    ProjectNotFound {
        /// Its name.
        project: String,
    },
    /// There is one already.
    #[error("the project `{project}` exists already")]
    ProjectExists {
        /// Its name, as it is on the disk.
        project: String,
    },
    /// Not one of the eight.
    #[error("`{}` is not a folder of a project", shortened(folder))]
    InvalidFolder {
        /// As it came.
        folder: String,
    },
    /// No such file.
    #[error("there is no file `{path}` in project `{project}`")]
    FileNotFound {
        /// Whose.
        project: String,
        /// Below the project.
        path: String,
    },
    /// There is one already.
    #[error("`{path}` exists already in project `{project}`")]
    FileExists {
        /// Whose.
        project: String,
        /// Below the project.
        path: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// A number that several tasks have.
    #[error("`{task}` may be {} tasks of project `{project}`", candidates.len())]
    AmbiguousTask {
        /// Whose.
        project: String,
        /// As it came.
        task: String,
        /// The names of those files.
        candidates: Vec<String>,
    },
    /// The file is not the one that the caller has read.
    #[error("`{path}` of project `{project}` has changed: its hash is now `{actual}`")]
    Conflict {
        /// Whose.
        project: String,
        /// Below the project.
        path: String,
        /// What the caller has read.
        expected: String,
        /// What is there.
        actual: String,
    },
    /// The new text would be over the limit.
    #[error("`{path}` would have {size} bytes, over the limit of {limit}")]
    TooLarge {
        /// Below the root.
        path: String,
        /// In bytes.
        size: usize,
        /// In bytes.
        limit: u64,
    },
    /// A file that is no document holds other bytes than text.
    #[error("`{path}` of project `{project}` is not UTF-8 text")]
    NotText {
        /// Whose.
        project: String,
        /// Below the project.
        path: String,
    },
    /// The disk did not show what was asked for.
    #[error("`{path}` cannot be read: {}", unseen(why))]
    Unseen {
        /// Below the root.
        path: String,
        /// Why not.
        why: Unseen,
    },
    /// The disk did not take it.
    #[error("{}", unwritten(path, why))]
    Unwritten {
        /// Below the root; the file is as it was.
        path: String,
        /// Why not.
        why: Unwritable,
    },
    /// The index did not answer.
    #[error("the search index cannot answer: {why}")]
    Index {
        /// Without any path.
        why: String,
    },
}

impl VibeError {
    /// An argument that is wrong.
    pub fn argument(field: &'static str, wanted: impl Into<Cow<'static, str>>, given: Option<&Value>) -> Self {
        Self::Argument { field, wanted: wanted.into(), given: given.cloned() }
    }

    /// A name or path that cannot be used.
    pub fn path(field: &'static str, given: &str, why: impl Into<Cow<'static, str>>) -> Self {
        Self::InvalidPath { field, given: given.to_owned(), why: why.into() }
    }

    /// What the disk said about a place that must stay inside the workspace.
    pub fn unseen(path: impl Into<String>, why: Unseen) -> Self {
        let path = path.into();
        match why {
            Unseen::Outside | Unseen::Link => Self::path("path", &path, "a link leads out of the workspace"),
            why => Self::Unseen { path, why },
        }
    }
}

impl Coded for VibeError {
    fn code(&self) -> &'static str {
        match self {
            Self::Argument { .. } | Self::TooLarge { .. } => "INVALID_ARGUMENT",
            Self::InvalidStatus { .. } => "INVALID_STATUS",
            Self::InvalidQuery => "INVALID_QUERY",
            Self::ReadOnly => "READ_ONLY",
            Self::InvalidPath { .. }
            | Self::Unwritten { why: Unwritable::Unseen(Unseen::Outside | Unseen::Link), .. } => "INVALID_PATH",
            Self::InvalidProjectName { .. } => "INVALID_PROJECT_NAME",
            Self::ProjectNotFound { .. } => "PROJECT_NOT_FOUND",
            Self::ProjectExists { .. } => "PROJECT_EXISTS",
            Self::InvalidFolder { .. } => "INVALID_FOLDER",
            Self::FileNotFound { .. } => "FILE_NOT_FOUND",
            Self::FileExists { .. } => "FILE_EXISTS",
            Self::AmbiguousTask { .. } => "AMBIGUOUS_TASK",
            Self::Conflict { .. } => "CONFLICT",
            Self::NotText { .. } => "FILE_READ_ERROR",
            Self::Unseen { .. } | Self::Unwritten { .. } => "FILESYSTEM_ERROR",
            Self::Index { .. } => "INDEX_ERROR",
        }
    }

    fn kind(&self) -> Kind {
        match self.code() {
            "READ_ONLY" => Kind::Refused,
            "PROJECT_NOT_FOUND" | "FILE_NOT_FOUND" => Kind::Missing,
            "PROJECT_EXISTS" | "FILE_EXISTS" | "AMBIGUOUS_TASK" | "CONFLICT" => Kind::Conflict,
            "FILE_READ_ERROR" => Kind::Unreadable,
            "FILESYSTEM_ERROR" | "INDEX_ERROR" => Kind::Internal,
            _ => Kind::Input,
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::Argument { field, given, .. } => match given {
                Some(given) => json!({ "field": field, "value": shown(given) }),
                None => json!({ "field": field }),
            },
            Self::InvalidStatus { status } => {
                json!({ "field": "status", "value": shortened(status), "allowed": super::model::STATUSES })
            }
            Self::InvalidQuery => json!({ "field": "query" }),
            Self::ReadOnly => json!({}),
            Self::InvalidPath { field, given, .. } => json!({ "field": field, "value": shortened(given) }),
            Self::InvalidProjectName { project } => json!({ "field": "project", "value": shortened(project) }),
            Self::ProjectNotFound { project } | Self::ProjectExists { project } => json!({ "project": project }),
            Self::InvalidFolder { folder } => {
                let allowed = super::layout::FOLDERS.map(|(folder, ..)| folder);
                json!({ "folder": shortened(folder), "allowed": allowed })
            }
            Self::FileNotFound { project, path } | Self::FileExists { project, path, .. } => {
                json!({ "project": project, "path": path })
            }
            Self::NotText { project, path } => json!({ "project": project, "path": path, "reason": "not_utf8" }),
            Self::AmbiguousTask { project, task, candidates } => {
                json!({ "project": project, "task": task, "candidates": candidates })
            }
            Self::Conflict { project, path, expected, actual } => {
                json!({ "project": project, "path": path, "expected_hash": expected, "actual_hash": actual })
            }
            Self::TooLarge { path, size, limit } => json!({ "path": path, "size": size, "limit": limit }),
            Self::Unseen { path, why: Unseen::TooLarge { size, limit } } => {
                json!({ "path": path, "reason": "too_large", "size": size, "limit": limit })
            }
            Self::Unseen { path, .. } => json!({ "path": path, "reason": "not_readable" }),
            Self::Unwritten { path, why } => json!({ "path": path, "reason": why.word() }),
            Self::Index { .. } => json!({}),
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            Self::Argument { .. } => "correct the argument and call again",
            Self::InvalidStatus { .. } => "use pending, in-progress, done or blocked",
            Self::InvalidQuery => "pass a word to look for",
            Self::ReadOnly => "start the session without `--read-only` and without `VIBE_READ_ONLY`",
            Self::InvalidPath { .. } => "pass plain names of things inside the workspace",
            Self::InvalidProjectName { .. } => "use letters, digits, `-` and `_`, with `.` only inside",
            Self::ProjectNotFound { .. } => {
                "read `vibe://projects` for the names, or make the project with `init_project`"
            }
            Self::ProjectExists { .. } => "use the project as it is, or choose another name",
            Self::InvalidFolder { .. } => {
                "use tasks, plans, sessions, reports, changelog, references, scratch or assets"
            }
            Self::FileNotFound { .. } => {
                "find the name with `search` or `list_tasks`, or make the file with `create_doc`"
            }
            Self::FileExists { hint, .. } => hint,
            Self::AmbiguousTask { .. } => "pass the file name of one of the candidates",
            Self::Conflict { .. } => "read the file again and repeat the call with its new hash",
            Self::TooLarge { .. } => "split the document",
            Self::NotText { .. } => "open it with a program for files of its kind, or convert it to UTF-8",
            Self::Unseen { .. } => "check the file and its permissions",
            Self::Unwritten { why, .. } => why.hint(),
            Self::Index { .. } => "try again in a moment; `reindex` with `full` rebuilds it",
        };
        Some(hint.into())
    }
}

fn argument(field: &str, wanted: &str, given: Option<&Value>) -> String {
    match given {
        Some(given) => format!("`{field}` must be {wanted}, not `{}`", shown(given)),
        None => format!("`{field}` is missing: it must be {wanted}"),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => shortened(text),
        other => shortened(&other.to_string()),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn unseen(why: &Unseen) -> String {
    match why {
        Unseen::Denied => "the system does not allow it".to_owned(),
        Unseen::TooLarge { size, limit } => format!("it has {size} bytes, over the limit of {limit}"),
        Unseen::IsDirectory => "it is a directory".to_owned(),
        Unseen::IsFile => "it is a file".to_owned(),
        Unseen::Special => "it is neither file nor directory".to_owned(),
        Unseen::Failed(words) => words.clone(),
        Unseen::NoProject(_) | Unseen::NoTree | Unseen::Missing => "it is not there".to_owned(),
        Unseen::Link | Unseen::Outside => "a link leads out of the workspace".to_owned(),
    }
}

fn unwritten(path: &str, why: &Unwritable) -> String {
    match (why, crate::disk::RelativePath::of_names(path)) {
        (Unwritable::Unseen(why), _) => format!("`{path}` cannot be written: {}", unseen(why)),
        (why, Some(path)) => why.sentence(&path),
        (_, None) => format!("`{path}` cannot be written"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_a_code_a_hint_and_details() {
        let text = || "x".to_owned();
        let errors = [
            VibeError::argument("limit", "an integer", Some(&json!("3"))),
            VibeError::InvalidStatus { status: "x".repeat(500) },
            VibeError::InvalidQuery,
            VibeError::ReadOnly,
            VibeError::path("project", "../x", "why"),
            VibeError::InvalidProjectName { project: text() },
            VibeError::ProjectNotFound { project: text() },
            VibeError::ProjectExists { project: text() },
            VibeError::InvalidFolder { folder: text() },
            VibeError::FileNotFound { project: text(), path: text() },
            VibeError::FileExists { project: text(), path: text(), hint: "choose" },
            VibeError::AmbiguousTask { project: text(), task: text(), candidates: vec![text(), text()] },
            VibeError::Conflict { project: text(), path: text(), expected: text(), actual: text() },
            VibeError::NotText { project: text(), path: text() },
            VibeError::unseen("x", Unseen::Denied),
            VibeError::unseen("x", Unseen::Outside),
            VibeError::Unwritten { path: text(), why: Unwritable::DiskFull },
            VibeError::Index { why: text() },
        ];
        let codes: Vec<&str> = errors.iter().map(Coded::code).collect();
        let expected = [
            "INVALID_ARGUMENT",
            "INVALID_STATUS",
            "INVALID_QUERY",
            "READ_ONLY",
            "INVALID_PATH",
            "INVALID_PROJECT_NAME",
            "PROJECT_NOT_FOUND",
            "PROJECT_EXISTS",
            "INVALID_FOLDER",
            "FILE_NOT_FOUND",
            "FILE_EXISTS",
            "AMBIGUOUS_TASK",
            "CONFLICT",
            "FILE_READ_ERROR",
            "FILESYSTEM_ERROR",
            "INVALID_PATH",
            "FILESYSTEM_ERROR",
            "INDEX_ERROR",
        ];
        assert_eq!(codes, expected);
        for error in errors {
            assert!(error.details().is_object() && error.hint().is_some(), "{error:?}");
            assert!(error.to_string().chars().count() < 200, "{error}");
        }
    }
}
