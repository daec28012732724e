//! What goes wrong in every family in the same way: one sentence, one hint and one set of details for each condition.
//!
//! A family gives each condition its code and kind, names its files its own way, and has an enum for what is its own.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Value, json};
use trellis_protocol::{ErrorInfo, FailureKind};

use super::fields::Object;
use crate::disk::ReadError;
use crate::families::edit::EditError;

/// Longer values are shown by their beginning.
pub(crate) const SHOWN_CHARS: usize = 80;

/// What may go wrong in any family.
#[derive(Debug, Clone, PartialEq)]
pub enum CommonError {
    /// One argument of the call is wrong, missing or unknown.
    Argument(Box<ArgumentError>),
    /// A writing tool in a read-only session.
    ReadOnly,
    /// The disk did not show what was needed.
    Read { file: NamedFile, why: ReadError },
    /// The disk did not take it; the file is as it was.
    Write { file: NamedFile, why: EditError },
    /// The file is not the one that the caller has read; it has no hash if it is gone.
    Changed { file: NamedFile, expected: String, actual: Option<String> },
    /// Bytes that are no text, after so many that are.
    NotText { file: NamedFile, at: usize },
    /// Something of that name is there, and is not replaced.
    Exists { file: NamedFile },
    /// The new text would be over the limit, in bytes.
    TooLarge { file: NamedFile, size: usize, limit: u64 },
}

/// A file as its family names it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedFile {
    /// In sentences, backticks included.
    pub shown: String,
    /// What details say of it.
    pub details: Object,
}

impl NamedFile {
    /// With its name in backticks, and in the details under this key.
    pub fn new(key: &str, name: impl Into<String>) -> Self {
        let name = name.into();
        Self { shown: format!("`{name}`"), details: Object::from_iter([(key.to_owned(), name.into())]) }
    }
}

impl std::error::Error for CommonError {}

impl From<ArgumentError> for CommonError {
    fn from(error: ArgumentError) -> Self {
        Self::Argument(Box::new(error))
    }
}

impl CommonError {
    /// With the code and kind that the family has for it.
    pub fn info(&self, (code, kind): (&'static str, FailureKind)) -> ErrorInfo {
        ErrorInfo::new(code, kind, self.details(), self.hint())
    }

    fn details(&self) -> Value {
        let with = |file: &NamedFile, more: Value| {
            let mut details = file.details.clone();
            details.extend(more.as_object().cloned().unwrap_or_default());
            if details.is_empty() { Value::Null } else { Value::Object(details) }
        };
        match self {
            Self::Argument(error) => error.details().into(),
            Self::ReadOnly => Value::Null,
            Self::Read { file, why: ReadError::NoProject(error) } => match error.value() {
                Some(value) if !error.why.nearest().is_empty() => {
                    let nearest = error.why.nearest();
                    with(file, json!({ "field": "project_root", "value": value, "nearest": nearest }))
                }
                Some(value) => with(file, json!({ "field": "project_root", "value": value })),
                None => with(file, json!({ "field": "project_root" })),
            },
            Self::Read { file, why: ReadError::TooLarge { size, limit } } => {
                with(file, json!({ "size": size, "limit": limit }))
            }
            Self::Read { file, .. } | Self::Exists { file } => with(file, Value::Null),
            Self::Write { file, why } => with(file, json!({ "reason": why.code() })),
            Self::Changed { file, expected, actual } => {
                with(file, json!({ "expected_hash": expected, "actual_hash": actual }))
            }
            Self::NotText { file, at } => with(file, json!({ "offset": at })),
            Self::TooLarge { file, size, limit } => with(file, json!({ "size": size, "limit": limit })),
        }
    }

    fn hint(&self) -> Cow<'static, str> {
        let hint = match self {
            Self::Argument(error) => error.advice(),
            Self::ReadOnly => "start the session without `--read-only`",
            Self::Read { why, .. } => match why {
                ReadError::NoProject(error) => error.hint(),
                ReadError::TreeMissing | ReadError::Missing => "check the path",
                ReadError::IsDirectory | ReadError::IsFile | ReadError::NotRegular => "put a regular file in its place",
                ReadError::TreeOutsideProject => "put the directory itself there instead of a link",
                ReadError::SymlinkRefused | ReadError::OutsideTree => "put the file itself there instead of a link",
                ReadError::PermissionDenied => "give the daemon's user the right to read it",
                ReadError::TooLarge { .. } => "split the file, or choose another one",
                ReadError::Io(_) => "try again, and look into the daemon's log if it stays so",
            },
            Self::Write { why, .. } => why.hint(),
            Self::Changed { .. } => "read it again and repeat the call with its new hash",
            Self::NotText { .. } => "open it with a program for files of its kind, or convert it to UTF-8",
            Self::Exists { .. } => "choose another name",
            Self::TooLarge { .. } => "split the file",
        };
        hint.into()
    }
}

impl fmt::Display for CommonError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(error) => write!(formatter, "`{}` {}", error.field, error.issue()),
            Self::ReadOnly => formatter.write_str("this session is read-only"),
            Self::Read { file, why } | Self::Write { file, why: EditError::Read(why) } => {
                formatter.write_str(&read_error_message(&file.shown, why))
            }
            Self::Write { file, why } => formatter.write_str(&why.message(&file.shown)),
            Self::Changed { file, actual: Some(actual), .. } => {
                write!(formatter, "{} has changed: its hash is now `{actual}`", file.shown)
            }
            Self::Changed { file, actual: None, .. } => write!(formatter, "{} has changed: it is gone", file.shown),
            Self::NotText { file, at } => {
                write!(formatter, "{} is not UTF-8 text: the byte at offset {at} does not belong there", file.shown)
            }
            Self::Exists { file } => write!(formatter, "{} exists already", file.shown),
            Self::TooLarge { file, size, limit } => {
                write!(formatter, "{} would have {size} bytes, over the limit of {limit}", file.shown)
            }
        }
    }
}

fn read_error_message(file: &str, why: &ReadError) -> String {
    match why {
        ReadError::NoProject(error) => error.message(),
        ReadError::TreeMissing | ReadError::Missing => format!("{file} is not there"),
        ReadError::IsDirectory => format!("{file} is a directory, not a file"),
        ReadError::IsFile => format!("{file} is a file, not a directory"),
        ReadError::NotRegular => format!("{file} is neither a file nor a directory"),
        ReadError::TreeOutsideProject => format!("{file} is in a tree that is a link out of its project"),
        ReadError::SymlinkRefused => format!("{file} is or passes a symbolic link"),
        ReadError::OutsideTree => format!("{file} leads out of the directory that it belongs to"),
        ReadError::PermissionDenied => format!("the system denies access to {file}"),
        ReadError::TooLarge { size, limit } => format!("{file} has {size} bytes or more, over the limit of {limit}"),
        ReadError::Io(words) => format!("{file} could not be read: {words}"),
    }
}

/// One argument that is not what it must be.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentError {
    /// As in `range.start_line` or `tasks[3].title`.
    pub field: String,
    pub problem: Problem,
    /// None if it is missing, or not looked at.
    pub value: Option<Value>,
    /// The family's own code for this rule, if it has one.
    pub code: Option<&'static str>,
    /// The family's own advice for this rule, if it has one.
    pub hint: Option<&'static str>,
    /// What the schema says about its limits.
    pub limits: Box<Object>,
    /// Whether everything else is reported before it.
    is_late: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Follows "must be".
    MustBe(Cow<'static, str>),
    /// Follows the argument's name.
    Is(Cow<'static, str>),
    /// No table has it.
    Unknown { nearest: Option<String>, arguments: Vec<String> },
}

impl ArgumentError {
    pub fn new(problem: Problem) -> Self {
        let limits = Box::default();
        Self { field: String::new(), problem, value: None, code: None, hint: None, limits, is_late: false }
    }

    pub fn must_be(wanted: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Problem::MustBe(wanted.into()))
    }

    pub fn is(words: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Problem::Is(words.into()))
    }

    #[must_use]
    pub fn of(mut self, field: impl Into<String>) -> Self {
        self.field = field.into();
        self
    }

    /// With this code, unless it has one.
    #[must_use]
    pub fn code(mut self, code: &'static str) -> Self {
        self.code.get_or_insert(code);
        self
    }

    /// With this advice, unless it has one.
    #[must_use]
    pub fn hint(mut self, hint: &'static str) -> Self {
        self.hint.get_or_insert(hint);
        self
    }

    /// With this value, unless it has one.
    #[must_use]
    pub fn value(mut self, value: impl Into<Value>) -> Self {
        self.value.get_or_insert(value.into());
        self
    }

    /// Reported only if nothing else is wrong.
    #[must_use]
    pub fn late(mut self) -> Self {
        self.is_late = true;
        self
    }

    pub(crate) fn is_late(&self) -> bool {
        self.is_late
    }

    /// What is wrong; follows the argument's name.
    pub fn issue(&self) -> String {
        match (&self.problem, &self.value) {
            (Problem::Is(words), _) => words.clone().into_owned(),
            (Problem::MustBe(wanted), None) => format!("is missing: it must be {wanted}"),
            (Problem::MustBe(wanted), Some(value)) => {
                format!("must be {wanted}, not `{}`", shortened(&text_of(value), SHOWN_CHARS))
            }
            (Problem::Unknown { nearest, arguments }, _) => {
                let meant = nearest.as_ref().map(|nearest| format!(", but `{nearest}` is")).unwrap_or_default();
                let arguments: Vec<String> = arguments.iter().map(|name| format!("`{name}`")).collect();
                match arguments.as_slice() {
                    [] => "is no argument: there are none".to_owned(),
                    all => format!("is no argument{meant}: there are {}", all.join(", ")),
                }
            }
        }
    }

    /// What to do about it.
    fn advice(&self) -> &'static str {
        match self.problem {
            Problem::Unknown { .. } => "call again with these arguments alone",
            Problem::MustBe(_) | Problem::Is(_) => self.hint.unwrap_or("correct the argument and call again"),
        }
    }

    /// For programs: `field` and `value`, or what there is instead of an argument that nobody knows.
    pub fn details(&self) -> Object {
        let mut details = Object::from_iter([("field".to_owned(), self.field.as_str().into())]);
        match &self.problem {
            Problem::Unknown { nearest, arguments } => {
                details.extend(nearest.as_ref().map(|nearest| ("nearest".to_owned(), nearest.as_str().into())));
                details.insert("arguments".to_owned(), arguments.as_slice().into());
            }
            Problem::MustBe(_) | Problem::Is(_) => {
                details.extend(self.value.as_ref().map(|value| ("value".to_owned(), cut(value))));
            }
        }
        details
    }

    /// Inside of an object or a list with this name.
    #[must_use]
    pub(crate) fn below(mut self, outer: &str) -> Self {
        let path = |inner: &str| match inner {
            "" => outer.to_owned(),
            inner if inner.starts_with('[') => format!("{outer}{inner}"),
            inner => format!("{outer}.{inner}"),
        };
        self.field = path(&self.field);
        if let Problem::Unknown { nearest, arguments } = &mut self.problem {
            nearest.iter_mut().chain(arguments).for_each(|name| *name = path(name));
        }
        self
    }
}

/// A value as it came, unless it is long: nobody needs a megabyte back to see which argument was wrong.
fn cut(value: &Value) -> Value {
    match shortened(&text_of(value), SHOWN_CHARS) {
        Cow::Borrowed(_) => value.clone(),
        Cow::Owned(beginning) => beginning.into(),
    }
}

/// A text without its quotes, anything else as JSON.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    value.as_str().map_or_else(|| value.to_string().into(), Cow::Borrowed)
}

/// No more than so many characters of it.
pub(crate) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}
