//! What can go wrong in the vault, with its codes and words.
//!
//! Messages name paths as the caller knows them, below the vault, and never where the vault is.

use serde_json::{Value, json};
use trellis_protocol::{Coded, ErrorInfo, FailureKind};

use crate::disk::{ReadError, RelativePath};
use crate::families::edit::EditError;
use crate::families::error::{ArgumentError, CommonError, NamedFile};
use crate::families::fields::FamilyError;
use crate::text::file_names::NameError;

/// Everything that a tool of the vault may answer instead of a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VaultError {
    #[error("{0}")]
    Common(#[from] CommonError),
    /// An argument that is wrong for this file.
    #[error("`{}` {}", error.field, error.issue())]
    InFile { path: RelativePath, error: Box<ArgumentError> },
    /// No tool may write there.
    #[error("`{path}`: {why}")]
    Reserved { path: RelativePath, why: Reserved },
    /// A new file's name does not work on every system.
    #[error("`{path}`: {why}")]
    Name { path: RelativePath, why: NameError },
    #[error("`{path}` cannot be created: a file stands where a directory is needed")]
    FileBlocksDirectory { path: RelativePath },
    /// A name that some systems take for the same is there already.
    #[error("`{path}` cannot be created: some systems take it for `{other}`, which is there already")]
    NameCollision { path: RelativePath, other: String },
    /// Something that cannot be listed, nor read.
    #[error("`{path}` is neither a file nor a directory")]
    NoDirectory { path: RelativePath },
}

/// Why no tool may write at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reserved {
    #[error("`.system` is not for tools to write")]
    System,
    #[error("files in `daily` are written once and not changed")]
    Daily,
    #[error("`daily` holds only `daily/YYYY-MM-DD.md` with a date that exists")]
    DailyName,
    /// Hidden files belong to other programs.
    #[error("names that begin with a dot are not for tools to write")]
    Hidden,
}

impl VaultError {
    /// What the disk said about a file; none is the vault itself.
    pub fn read_error(path: Option<&RelativePath>, why: ReadError) -> Self {
        let mut file = path.map_or_else(|| NamedFile { shown: "the vault".to_owned(), ..Default::default() }, named);
        if why == ReadError::TreeMissing {
            file.shown = "the vault directory".to_owned();
        }
        Self::Common(CommonError::Read { file, why })
    }

    /// Bytes that are no text, after so many that are.
    pub fn not_text(path: &RelativePath, at: usize) -> Self {
        Self::Common(CommonError::NotText { file: named(path), at })
    }
}

/// A file of the vault as errors name it.
pub fn named(path: &RelativePath) -> NamedFile {
    NamedFile::new("path", path.as_str())
}

impl From<ArgumentError> for VaultError {
    fn from(error: ArgumentError) -> Self {
        Self::Common(error.into())
    }
}

impl FamilyError for VaultError {}

fn code_of(error: &CommonError) -> (&'static str, FailureKind) {
    match error {
        CommonError::Argument(error) => (error.code.unwrap_or("invalid_parameter"), FailureKind::Input),
        CommonError::ReadOnly => ("forbidden", FailureKind::Refused),
        CommonError::Changed { .. } | CommonError::Exists { .. } => ("conflict", FailureKind::Conflict),
        CommonError::NotText { .. } => ("conflict", FailureKind::Unreadable),
        CommonError::TooLarge { .. } => ("conflict", FailureKind::Input),
        CommonError::Read { why, .. } => match why {
            ReadError::NoProject(_) => ("invalid_parameter", FailureKind::Input),
            ReadError::TreeMissing | ReadError::Missing | ReadError::IsDirectory | ReadError::IsFile => {
                ("not_found", FailureKind::Missing)
            }
            ReadError::SymlinkRefused | ReadError::PermissionDenied | ReadError::TreeOutsideProject => {
                ("forbidden", FailureKind::Refused)
            }
            ReadError::OutsideTree => ("out_of_scope", FailureKind::Refused),
            ReadError::NotRegular | ReadError::TooLarge { .. } => ("conflict", FailureKind::Unreadable),
            ReadError::Io(_) => ("conflict", FailureKind::Unavailable),
        },
        CommonError::Write { why, .. } => match why {
            EditError::Read(
                ReadError::SymlinkRefused | ReadError::PermissionDenied | ReadError::TreeOutsideProject,
            )
            | EditError::Denied => ("forbidden", FailureKind::Refused),
            EditError::Read(ReadError::OutsideTree) => ("out_of_scope", FailureKind::Refused),
            EditError::Busy => ("conflict", FailureKind::Conflict),
            _ => ("conflict", FailureKind::Unavailable),
        },
    }
}

impl Coded for VaultError {
    fn info(&self) -> ErrorInfo {
        let at = |path: &RelativePath| json!({ "path": path.as_str() });
        match self {
            Self::Common(error) => {
                let mut info = error.info(code_of(error));
                if matches!(error, CommonError::Read { .. }) && info.details.is_null() {
                    info.details = json!({});
                }
                match error {
                    CommonError::Read { why: ReadError::TreeMissing, .. } => {
                        info.with_hint("make the directory `vault` in the project, or set `VAULT_ROOT`")
                    }
                    CommonError::Read { why: ReadError::TreeOutsideProject, .. }
                    | CommonError::Write { why: EditError::Read(ReadError::TreeOutsideProject), .. } => info.with_hint(
                        "put the directory itself there, or set `VAULT_ROOT` to the absolute path of the one you mean",
                    ),
                    CommonError::Read {
                        why: ReadError::Missing | ReadError::IsDirectory | ReadError::IsFile, ..
                    } => info.with_hint("find the path with `vault_ls`"),
                    CommonError::Exists { .. } => {
                        info.with_hint("choose another path, or change the file with `vault_replace`")
                    }
                    _ => info,
                }
            }
            Self::InFile { path, error } => {
                let mut info = Self::from((**error).clone()).info();
                if let Value::Object(details) = &mut info.details {
                    details.shift_insert(0, "path".to_owned(), path.as_str().into());
                }
                info
            }
            Self::Reserved { path, why: Reserved::Daily } => {
                let hint = "create another file, or leave the day's file as it is";
                ErrorInfo::new("forbidden", FailureKind::Refused, at(path), hint)
            }
            Self::Reserved { path, .. } => {
                ErrorInfo::new("forbidden", FailureKind::Refused, at(path), "choose another path")
            }
            Self::Name { path, .. } => {
                ErrorInfo::new("invalid_path", FailureKind::Input, at(path), "choose a name without it")
            }
            Self::FileBlocksDirectory { path } => {
                let hint = "choose a path whose directories are directories; `vault_ls` shows them";
                ErrorInfo::new("conflict", FailureKind::Conflict, at(path), hint)
            }
            Self::NameCollision { path, other } => {
                let details = json!({ "path": path.as_str(), "existing_name": other });
                let hint = "choose another name, or change the existing file with `vault_replace`";
                ErrorInfo::new("conflict", FailureKind::Conflict, details, hint)
            }
            Self::NoDirectory { path } => {
                ErrorInfo::new("not_found", FailureKind::Missing, at(path), "find the path with `vault_ls`")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projects::{Interface, NotAProject, ProjectError};

    fn check(error: VaultError, code: &str, kind: FailureKind, message: &str, details: Value) {
        let info = error.info();
        assert_eq!((info.code, info.kind, info.details), (code, kind, details), "{error}");
        assert_eq!(error.to_string(), message);
        assert!(info.hint.is_some_and(|hint| !hint.ends_with('.')));
    }

    fn path() -> RelativePath {
        RelativePath::parse("a/b.md").expect("a path")
    }

    #[test]
    fn an_argument_may_be_wrong_for_a_file() {
        let error = || Box::new(ArgumentError::must_be("an integer").of("range.start_line").value("3"));
        let details = json!({ "field": "range.start_line", "value": "3" });
        let message = "`range.start_line` must be an integer, not `3`";
        check(VaultError::from(*error()), "invalid_parameter", FailureKind::Input, message, details);
        let details = json!({ "path": "a/b.md", "field": "range.start_line", "value": "3" });
        let in_file = VaultError::InFile { path: path(), error: error() };
        check(in_file, "invalid_parameter", FailureKind::Input, message, details);
    }

    #[test]
    fn what_the_disk_says_has_a_code() {
        for (why, code, kind, message) in [
            (ReadError::TreeMissing, "not_found", FailureKind::Missing, "the vault directory is not there"),
            (ReadError::Missing, "not_found", FailureKind::Missing, "`a/b.md` is not there"),
            (ReadError::SymlinkRefused, "forbidden", FailureKind::Refused, "`a/b.md` is or passes a symbolic link"),
            (ReadError::NotRegular, "conflict", FailureKind::Unreadable, "`a/b.md` is neither a file nor a directory"),
        ] {
            check(VaultError::read_error(Some(&path()), why), code, kind, message, json!({ "path": "a/b.md" }));
        }
        let gone = VaultError::read_error(None, ReadError::Missing);
        check(gone, "not_found", FailureKind::Missing, "the vault is not there", json!({}));
    }

    #[test]
    fn a_project_that_cannot_be_had_is_the_argument_s_fault() {
        let no_project = |named: Option<&str>| {
            let named = named.map(Into::into);
            ProjectError { door: Interface::Stdio, named, why: NotAProject::NotThere }
        };
        for (named, details) in [
            (Some("/x"), json!({ "path": "a/b.md", "field": "project_root", "value": "/x" })),
            (None, json!({ "path": "a/b.md", "field": "project_root" })),
        ] {
            let error = VaultError::read_error(Some(&path()), ReadError::NoProject(Box::new(no_project(named))));
            check(error, "invalid_parameter", FailureKind::Input, &no_project(named).message(), details);
        }
    }
}
