//! The one shape of every error, whoever finds it and whoever shows it.
//!
//! A family has an enum of its own that implements [`Coded`]; it becomes a [`Failure`] on the way to
//! `present`, which alone decides how it looks over MCP, HTTP or on a terminal.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

/// What sort of thing went wrong; decides every status and exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The caller can correct its arguments.
    Input,
    /// The caller may not do this.
    Refused,
    /// It is not there.
    Missing,
    /// It is not what the caller thought it was.
    Conflict,
    /// It is there but cannot be understood.
    Unreadable,
    /// Not now.
    Unavailable,
    /// The fault is ours.
    Internal,
}

impl Kind {
    /// The exit status of a command that ended with this.
    pub fn exit_status(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Input => 2,
            Self::Refused => 3,
            Self::Missing => 4,
            Self::Conflict => 5,
            Self::Unreadable => 6,
            Self::Unavailable => 7,
        }
    }
}

/// An error of a family or of the engine, before it takes a face.
pub trait Coded: fmt::Display {
    /// Stable once shipped.
    fn code(&self) -> &'static str;
    /// What sort of thing went wrong.
    fn kind(&self) -> Kind;
    /// The offending values, for programs.
    fn details(&self) -> Value {
        Value::Null
    }
    /// What to do next: an action.
    fn hint(&self) -> Option<Cow<'static, str>> {
        None
    }
}

/// The one shape of every error.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Stable once shipped.
    pub code: Cow<'static, str>,
    /// What sort of thing went wrong.
    pub kind: Kind,
    /// Lower case, no full stop, the offending value in backticks, no machine path.
    pub message: String,
    /// What to do next: an action.
    pub hint: Option<Cow<'static, str>>,
    /// The offending values; null if there are none.
    pub details: Value,
}

impl Failure {
    /// A failure with only a code and a message.
    pub fn new(code: &'static str, kind: Kind, message: impl Into<String>) -> Self {
        Self { code: code.into(), kind, message: message.into(), hint: None, details: Value::Null }
    }

    /// The fault is ours; `what` is for the log and the caller alike, so it names no content.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::new("internal", Kind::Internal, what)
    }

    /// With an action to take.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With the offending values.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl<E: Coded> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            code: error.code().into(),
            kind: error.kind(),
            message: error.to_string(),
            hint: error.hint(),
            details: error.details(),
        }
    }
}
