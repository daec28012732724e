//! What can go wrong in a rehearsal, with its codes and words.

use std::borrow::Cow;

use serde_json::{Value, json};
use trellis_protocol::failure::{Coded, Kind};

/// Everything that may come instead of an answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RehearsalError {
    /// An argument is not what it must be.
    #[error("`{field}` must be {wanted}")]
    Argument {
        /// Its name.
        field: &'static str,
        /// Follows "must be".
        wanted: &'static str,
        /// Null if it is missing.
        given: Value,
    },
    /// Nobody has written it yet.
    #[error("there is no play `{name}`")]
    NoSuchPlay {
        /// As it came.
        name: String,
    },
    /// The play is shorter.
    #[error("`{name}` has {lines} lines, not `{line}`")]
    NoSuchLine {
        /// The play.
        name: &'static str,
        /// As it came.
        line: u64,
        /// So many there are.
        lines: usize,
    },
    /// No purse is there, or it holds no number.
    #[error("there is no purse `{path}`")]
    NoSuchPurse {
        /// As it came.
        path: String,
    },
    /// A new purse would take the place of another.
    #[error("there is a purse `{path}` already")]
    PurseExists {
        /// As it came.
        path: String,
    },
    /// A writing tool in a read-only session.
    #[error("this session is read-only")]
    ReadOnly,
}

impl Coded for RehearsalError {
    fn code(&self) -> &'static str {
        match self {
            Self::Argument { .. } => "BAD_ARGUMENT",
            Self::NoSuchPlay { .. } => "NO_SUCH_PLAY",
            Self::NoSuchLine { .. } => "NO_SUCH_LINE",
            Self::NoSuchPurse { .. } => "NO_SUCH_PURSE",
            Self::PurseExists { .. } => "PURSE_EXISTS",
            Self::ReadOnly => "READ_ONLY",
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Argument { .. } => Kind::Input,
            Self::NoSuchPlay { .. } | Self::NoSuchLine { .. } | Self::NoSuchPurse { .. } => Kind::Missing,
            Self::PurseExists { .. } => Kind::Conflict,
            Self::ReadOnly => Kind::Refused,
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::Argument { field, given, .. } => json!({ "field": field, "value": given }),
            Self::NoSuchPlay { name } => json!({ "field": "play", "value": name }),
            Self::NoSuchLine { line, .. } => json!({ "field": "line", "value": line }),
            Self::NoSuchPurse { path } | Self::PurseExists { path } => json!({ "path": path }),
            Self::ReadOnly => Value::Null,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            Self::Argument { .. } => "correct the argument and call again",
            Self::NoSuchPlay { .. } => "choose one from resources/list",
            Self::NoSuchLine { .. } => "choose an earlier line",
            Self::NoSuchPurse { .. } => "make one with `purse_pair`",
            Self::PurseExists { .. } => "choose another name",
            Self::ReadOnly => "start the session without `--read-only`",
        };
        Some(hint.into())
    }
}
