//! The one shape of every error, whoever finds it and whoever shows it.
//!
//! A family has an enum of its own that implements [`Coded`]; it becomes a [`Failure`] on the way to
//! `present`, which alone decides how it looks over MCP, HTTP or on a terminal.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

/// What sort of thing went wrong; decides every status and exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
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
    Unavailable,
    /// The fault is ours.
    Internal,
}

impl FailureKind {
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

/// An error of a family, before it takes a face. Its words come from `Display`.
pub trait Coded: fmt::Display {
    /// All that it says besides its words.
    fn info(&self) -> ErrorInfo;
}

/// What an error says besides its words.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorInfo {
    /// Stable once shipped.
    pub code: &'static str,
    pub kind: FailureKind,
    /// The offending values, for programs; null if there are none.
    pub details: Value,
    /// What to do next: an action.
    pub hint: Option<Cow<'static, str>>,
}

impl ErrorInfo {
    /// An error with an action to take.
    pub fn new(code: &'static str, kind: FailureKind, details: Value, hint: impl Into<Cow<'static, str>>) -> Self {
        Self { code, kind, details, hint: Some(hint.into()) }
    }

    /// An error whose words say all.
    pub fn without_hint(code: &'static str, kind: FailureKind, details: Value) -> Self {
        Self { code, kind, details, hint: None }
    }

    /// With another action.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<Cow<'static, str>>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// The one shape of every error.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Stable once shipped.
    pub code: Cow<'static, str>,
    /// What sort of thing went wrong.
    pub kind: FailureKind,
    /// Lower case, no full stop, the offending value in backticks, no machine path.
    pub message: String,
    /// What to do next: an action.
    pub hint: Option<Cow<'static, str>>,
    /// The offending values; null if there are none.
    pub details: Value,
}

impl Failure {
    /// A failure with only a code and a message.
    pub fn new(code: &'static str, kind: FailureKind, message: impl Into<String>) -> Self {
        Self { code: code.into(), kind, message: message.into(), hint: None, details: Value::Null }
    }

    /// The fault is ours; `what` is for the log and the caller alike, so it names no content.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::new("internal", FailureKind::Internal, what)
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
        let ErrorInfo { code, kind, details, hint } = error.info();
        Self { code: code.into(), kind, message: error.to_string(), hint, details }
    }
}
