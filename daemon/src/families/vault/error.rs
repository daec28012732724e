//! What can go wrong in the vault, with its codes and words.
//!
//! Messages name paths as the caller knows them, below the vault, and never where the vault is.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use trellis_protocol::failure::{Coded, Kind};

use crate::disk::RelativePath;
use crate::disk::path::PathError;
use crate::families::edit::Unwritable;
use crate::families::need::Unseen;
use crate::text::names::NameError;

/// Longer values are shown by their beginning.
const SHOWN_CHARS: usize = 80;

/// Everything that a tool of the vault may answer instead of a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VaultError {
    /// An argument other than the path is not what it must be.
    #[error("{}", parameter(field, wanted, given.as_ref()))]
    Parameter {
        /// As in `range.start_line`.
        field: &'static str,
        /// Follows "must be".
        wanted: Cow<'static, str>,
        /// None if it is missing.
        given: Option<Value>,
        /// Once it is known.
        path: Option<RelativePath>,
    },
    /// The path is no text, or blank.
    #[error("{}", parameter("path", "a path below the vault", given.as_ref()))]
    NoPath {
        /// None if it is missing.
        given: Option<Value>,
    },
    /// The path cannot lie below the vault.
    #[error("{why}: `{}`", shortened(given))]
    Path {
        /// As it came.
        given: String,
        /// What is wrong with it.
        why: PathError,
    },
    /// The disk did not show what was asked for.
    #[error("{}", not_seen(path.as_ref(), why))]
    Unseen {
        /// None is the vault itself.
        path: Option<RelativePath>,
        /// What was asked for.
        sought: Sought,
        /// Why not.
        why: Unseen,
    },
    /// The file holds other bytes than text.
    #[error("`{path}` is not UTF-8 text: the byte at offset {at} does not belong there")]
    NotText {
        /// The file.
        path: RelativePath,
        /// So many bytes are good.
        at: usize,
    },
    /// A writing tool in a read-only session.
    #[error("this session is read-only")]
    ReadOnly,
    /// No tool may write there.
    #[error("`{path}`: {why}")]
    Reserved {
        /// Where.
        path: RelativePath,
        /// Why not.
        why: Reserved,
    },
    /// A new file's name does not work on every system.
    #[error("`{path}`: {why}")]
    Name {
        /// The file.
        path: RelativePath,
        /// What is wrong with it.
        why: NameError,
    },
    /// There is something already.
    #[error("`{path}` exists already")]
    Exists {
        /// Where.
        path: RelativePath,
    },
    /// A file stands where a directory is needed.
    #[error("`{path}` cannot be created: a file stands where a directory is needed")]
    FileInTheWay {
        /// The new file.
        path: RelativePath,
    },
    /// A name that some systems take for the same is there already.
    #[error("`{path}` cannot be created: some systems take it for `{other}`, which is there already")]
    Collides {
        /// The new file.
        path: RelativePath,
        /// The name that is there.
        other: String,
    },
    /// The file is not the one that the caller has read.
    #[error("`{path}` has changed: its hash is now `{actual}`")]
    Changed {
        /// The file.
        path: RelativePath,
        /// What the caller has read.
        expected: String,
        /// What is there.
        actual: String,
    },
    /// The new text would be over the limit.
    #[error("`{path}` would have {size} bytes, over the limit of {limit}")]
    WouldBeTooLarge {
        /// The file.
        path: RelativePath,
        /// In bytes.
        size: usize,
        /// In bytes.
        limit: u64,
    },
    /// The disk did not take it.
    #[error("{}", unwritten(path, why))]
    Unwritten {
        /// The file; it is as it was.
        path: RelativePath,
        /// Why not.
        why: Unwritable,
    },
}

/// Why no tool may write at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reserved {
    /// For the vault's own use.
    #[error("`.system` is not for tools to write")]
    System,
    /// Written once.
    #[error("files in `daily` are written once and not changed")]
    Daily,
    /// Another name than a day's.
    #[error("`daily` holds only `daily/YYYY-MM-DD.md` with a date that exists")]
    DailyName,
    /// Hidden files belong to other programs.
    #[error("names that begin with a dot are not for tools to write")]
    Hidden,
}

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sought {
    /// A file, to read.
    File,
    /// A directory, to list.
    Directory,
}

impl VaultError {
    /// An argument that is wrong by itself.
    pub fn parameter(field: &'static str, wanted: impl Into<Cow<'static, str>>, given: impl Into<Value>) -> Self {
        Self::Parameter { field, wanted: wanted.into(), given: Some(given.into()), path: None }
    }

    /// An argument that is wrong for this file.
    #[must_use]
    pub fn about(mut self, about: &RelativePath) -> Self {
        if let Self::Parameter { path, .. } = &mut self {
            *path = Some(about.clone());
        }
        self
    }
}

impl Coded for VaultError {
    fn code(&self) -> &'static str {
        match self {
            Self::Parameter { .. } => "invalid_parameter",
            Self::NoPath { .. } | Self::Path { .. } | Self::Name { .. } => "invalid_path",
            Self::NotText { .. }
            | Self::Exists { .. }
            | Self::FileInTheWay { .. }
            | Self::Collides { .. }
            | Self::Changed { .. }
            | Self::WouldBeTooLarge { .. } => "conflict",
            Self::ReadOnly | Self::Reserved { .. } => "forbidden",
            Self::Unwritten { why, .. } => match why {
                Unwritable::Unseen(Unseen::Link | Unseen::Denied) | Unwritable::Denied => "forbidden",
                Unwritable::Unseen(Unseen::Outside) => "out_of_scope",
                _ => "conflict",
            },
            Self::Unseen { why, sought, .. } => match why {
                Unseen::NoProject(_) => "invalid_parameter",
                Unseen::NoTree | Unseen::Missing | Unseen::IsDirectory | Unseen::IsFile => "not_found",
                Unseen::Special if *sought == Sought::Directory => "not_found",
                Unseen::Link | Unseen::Denied => "forbidden",
                Unseen::Outside => "out_of_scope",
                Unseen::Special | Unseen::TooLarge { .. } | Unseen::Failed(_) => "conflict",
            },
        }
    }

    fn kind(&self) -> Kind {
        match (self.code(), self) {
            ("invalid_parameter" | "invalid_path", _) => Kind::Input,
            ("not_found", _) => Kind::Missing,
            ("forbidden" | "out_of_scope", _) => Kind::Refused,
            (_, Self::NotText { .. }) => Kind::Unreadable,
            (_, Self::Exists { .. } | Self::FileInTheWay { .. } | Self::Collides { .. } | Self::Changed { .. }) => {
                Kind::Conflict
            }
            (_, Self::Unwritten { why: Unwritable::KeepsMoving, .. }) => Kind::Conflict,
            (_, Self::WouldBeTooLarge { .. }) => Kind::Input,
            (_, Self::Unseen { why: Unseen::TooLarge { .. } | Unseen::Special, .. }) => Kind::Unreadable,
            _ => Kind::Unavailable,
        }
    }

    fn details(&self) -> Value {
        let mut details = Map::new();
        let mut tell = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                details.insert(key.to_owned(), value);
            }
        };
        let text = |path: &RelativePath| json!(path.as_str());
        match self {
            Self::Parameter { field, given, path, .. } => {
                tell("path", path.as_ref().map(text));
                tell("field", Some(json!(field)));
                tell("value", given.as_ref().map(shown));
            }
            Self::NoPath { given } => {
                tell("field", Some(json!("path")));
                tell("value", given.as_ref().map(shown));
            }
            Self::Path { given, .. } => {
                tell("field", Some(json!("path")));
                tell("value", Some(json!(shortened(given))));
            }
            Self::Unseen { path, why, .. } => {
                tell("path", path.as_ref().map(text));
                match why {
                    Unseen::NoProject(error) => {
                        tell("field", Some(json!("project_root")));
                        tell("value", error.value().map(Value::from));
                    }
                    Unseen::TooLarge { size, limit } => {
                        tell("size", Some(json!(size)));
                        tell("limit", Some(json!(limit)));
                    }
                    _ => {}
                }
            }
            Self::NotText { path, at } => {
                tell("path", Some(text(path)));
                tell("offset", Some(json!(at)));
            }
            Self::ReadOnly => return Value::Null,
            Self::Reserved { path, .. }
            | Self::Name { path, .. }
            | Self::Exists { path }
            | Self::FileInTheWay { path } => {
                tell("path", Some(text(path)));
            }
            Self::Collides { path, other } => {
                tell("path", Some(text(path)));
                tell("existing_name", Some(json!(other)));
            }
            Self::Changed { path, expected, actual } => {
                tell("path", Some(text(path)));
                tell("expected_hash", Some(json!(expected)));
                tell("actual_hash", Some(json!(actual)));
            }
            Self::WouldBeTooLarge { path, size, limit } => {
                tell("path", Some(text(path)));
                tell("size", Some(json!(size)));
                tell("limit", Some(json!(limit)));
            }
            Self::Unwritten { path, why } => {
                tell("path", Some(text(path)));
                tell("reason", Some(json!(why.word())));
            }
        }
        if details.is_empty() { Value::Null } else { Value::Object(details) }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            Self::Parameter { field: "range", given: None, .. } => "pass `range: {}` for all lines, or `full: true`",
            Self::Parameter { .. } => "correct the argument and call again",
            Self::NoPath { .. } | Self::Path { .. } => {
                "pass a path relative to the vault, such as `notes/a.md`; `vault_ls` without a path lists the vault"
            }
            Self::NotText { .. } => "convert the file to UTF-8, or choose another one",
            Self::ReadOnly => "start the session without `--read-only`",
            Self::Reserved { why: Reserved::Daily, .. } => "create another file, or leave the day's file as it is",
            Self::Reserved { .. } => "choose another path",
            Self::Name { .. } => "choose a name without it",
            Self::Exists { .. } => "choose another path, or change the file with `vault_replace`",
            Self::FileInTheWay { .. } => "choose a path whose directories are directories; `vault_ls` shows them",
            Self::Collides { .. } => "choose another name, or change the existing file with `vault_replace`",
            Self::Changed { .. } => "read the file again and repeat the call with its new hash",
            Self::WouldBeTooLarge { .. } => "split the file",
            Self::Unwritten { why, .. } => why.hint(),
            Self::Unseen { why, .. } => match why {
                Unseen::NoProject(error) => error.hint(),
                Unseen::NoTree => "make the directory `vault` in the project, or set `VAULT_ROOT`",
                Unseen::Missing | Unseen::IsDirectory | Unseen::IsFile => "find the path with `vault_ls`",
                Unseen::Link => "put the file itself into the vault instead of a link",
                Unseen::Denied => "give the daemon's user the right to read it",
                Unseen::Outside => "pass a path that stays inside the vault",
                Unseen::Special => "choose a regular file",
                Unseen::TooLarge { .. } => "split the file, or choose another one",
                Unseen::Failed(_) => "try again, and look into the daemon's log if it stays so",
            },
        };
        Some(hint.into())
    }
}

fn unwritten(path: &RelativePath, why: &Unwritable) -> String {
    match why {
        Unwritable::Unseen(unseen) => not_seen(Some(path), unseen),
        other => other.sentence(path),
    }
}

fn parameter(field: &str, wanted: &str, given: Option<&Value>) -> String {
    match given {
        Some(given) => format!("`{field}` must be {wanted}, not `{}`", shortened(&given.to_string())),
        None => format!("`{field}` must be {wanted}"),
    }
}

/// A value as it came, unless it is long: nobody needs a megabyte back to see which argument was wrong.
fn shown(value: &Value) -> Value {
    let text = value.as_str().map_or_else(|| value.to_string().into(), Cow::Borrowed);
    match shortened(&text) {
        Cow::Borrowed(_) => value.clone(),
        Cow::Owned(beginning) => beginning.into(),
    }
}

fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

fn not_seen(path: Option<&RelativePath>, why: &Unseen) -> String {
    let what = path.map_or_else(|| "the vault".to_owned(), |path| format!("`{path}`"));
    match why {
        Unseen::NoProject(error) => error.sentence(),
        Unseen::NoTree => "there is no vault directory".to_owned(),
        Unseen::Missing => format!("{what} is not there"),
        Unseen::IsDirectory => format!("{what} is a directory, not a file"),
        Unseen::IsFile => format!("{what} is a file, not a directory"),
        Unseen::Special => format!("{what} is neither a file nor a directory"),
        Unseen::Link => format!("{what} is or passes a symbolic link"),
        Unseen::Outside => format!("{what} lies outside the vault"),
        Unseen::Denied => format!("the system denies access to {what}"),
        Unseen::TooLarge { size, limit } => format!("{what} has {size} bytes or more, over the limit of {limit}"),
        Unseen::Failed(words) => format!("{what} could not be read: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::project::{Door, NotAProject, ProjectError};

    fn check(error: VaultError, code: &str, kind: Kind, message: &str, details: Value) {
        assert_eq!((error.code(), error.kind()), (code, kind), "{error}");
        assert_eq!(error.to_string(), message);
        assert_eq!(error.details(), details);
        assert!(error.hint().is_some_and(|hint| !hint.ends_with('.')));
    }

    fn unseen(sought: Sought, why: Unseen) -> VaultError {
        VaultError::Unseen { path: RelativePath::parse("a/b.md").ok(), sought, why }
    }

    #[test]
    fn arguments_are_named_with_their_values() {
        let error = VaultError::parameter("chunk_lines", "an integer", "3");
        let details = json!({ "field": "chunk_lines", "value": "3" });
        check(error, "invalid_parameter", Kind::Input, "`chunk_lines` must be an integer, not `\"3\"`", details);
        let error = VaultError::Path { given: "../x".to_owned(), why: PathError::Parent };
        let details = json!({ "field": "path", "value": "../x" });
        check(error, "invalid_path", Kind::Input, "the path must not contain `..`: `../x`", details);
        let error = VaultError::NoPath { given: None };
        check(error, "invalid_path", Kind::Input, "`path` must be a path below the vault", json!({ "field": "path" }));
        for long in [json!("あ".repeat(500)), json!(vec![1; 500])] {
            let error = VaultError::parameter("limits", "an object", long);
            let (message, value) = (error.to_string(), error.details()["value"].clone());
            assert!(message.chars().count() < 130 && message.ends_with("…`"), "{message}");
            assert!(value.as_str().is_some_and(|value| value.chars().count() == 81), "{value}");
        }
    }

    #[test]
    fn what_the_disk_says_has_a_code() {
        let path = json!({ "path": "a/b.md" });
        for (why, code, kind, message) in [
            (Unseen::NoTree, "not_found", Kind::Missing, "there is no vault directory"),
            (Unseen::Missing, "not_found", Kind::Missing, "`a/b.md` is not there"),
            (Unseen::IsDirectory, "not_found", Kind::Missing, "`a/b.md` is a directory, not a file"),
            (Unseen::Link, "forbidden", Kind::Refused, "`a/b.md` is or passes a symbolic link"),
            (Unseen::Denied, "forbidden", Kind::Refused, "the system denies access to `a/b.md`"),
            (Unseen::Outside, "out_of_scope", Kind::Refused, "`a/b.md` lies outside the vault"),
            (Unseen::Special, "conflict", Kind::Unreadable, "`a/b.md` is neither a file nor a directory"),
            (Unseen::Failed("x".into()), "conflict", Kind::Unavailable, "`a/b.md` could not be read: x"),
        ] {
            check(unseen(Sought::File, why), code, kind, message, path.clone());
        }
        let special = unseen(Sought::Directory, Unseen::Special);
        check(special, "not_found", Kind::Missing, "`a/b.md` is neither a file nor a directory", path.clone());
        let file = unseen(Sought::Directory, Unseen::IsFile);
        check(file, "not_found", Kind::Missing, "`a/b.md` is a file, not a directory", path);
    }

    #[test]
    fn a_project_that_cannot_be_had_is_the_argument_s_fault() {
        let no_project = |named: Option<&str>| {
            let named = named.map(Into::into);
            ProjectError { door: Door::Stdio, named, why: NotAProject::NotThere }
        };
        for (named, details) in [
            (Some("/x"), json!({ "path": "a/b.md", "field": "project_root", "value": "/x" })),
            (None, json!({ "path": "a/b.md", "field": "project_root" })),
        ] {
            let error = unseen(Sought::File, Unseen::NoProject(Box::new(no_project(named))));
            check(error, "invalid_parameter", Kind::Input, &no_project(named).sentence(), details);
        }
    }
}
