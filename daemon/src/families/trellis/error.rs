//! What can go wrong with items, with its codes and words.

use serde_json::{Value, json};
use trellis_protocol::{Coded, ErrorInfo, FailureKind};

use crate::families::claim::{ItemClaim, shown_time};
use crate::families::error::{ArgumentError, CommonError};
use crate::families::facts::SearchError;
use crate::families::feed::shown_change;
use crate::families::fields::FamilyError;
use crate::families::item_set::ItemsError;
use crate::families::recall::RecallError;
use crate::projects::ProjectError;

/// Everything that a tool may answer instead of items.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TrellisError {
    #[error("{0}")]
    Common(#[from] CommonError),
    #[error("`{uri}` is no address: they look like `todo://PROJECT/T001` or `vibe://projects/NAME/PATH`")]
    InvalidUri { uri: String },
    #[error("no project is called `{name}`{}", near(nearest))]
    UnknownProject { name: String, nearest: Vec<String> },
    #[error("this session has no project of its own{}", known(projects))]
    NoOwnProject { projects: Vec<String> },
    #[error("`{name}` may be {}", candidates.join(" or "))]
    AmbiguousProject { name: String, candidates: Vec<String> },
    /// The directory that was named cannot be used.
    #[error("`{}` cannot be used: {}", value(.0), .0.why)]
    Project(Box<ProjectError>),
    #[error("there is no item `{uri}`{}", near(nearest))]
    ItemNotFound { uri: String, nearest: Vec<String> },
    #[error("`{uri}` has no such part")]
    SectionNotFound { uri: String, headings: Vec<String> },
    /// The file changed between two pages.
    #[error("`{uri}` has changed since the first page")]
    Changed { uri: String, expected: String, actual: String },
    #[error("`{uri}` is claimed by {} until {}", claim.by, shown_time(claim.until))]
    Claimed { uri: String, claim: ItemClaim },
    /// Something with an address that is no item.
    #[error("`{uri}` can be read, and nothing else can be done to it")]
    NotAnItem { uri: String },
    /// In the state directory.
    #[error("it could not be written down: {reason}")]
    NotRecorded { reason: String },
    #[error("`{uri}` cannot be read: {reason}")]
    Unreadable { uri: String, reason: String },
    #[error("{}", change.map_or_else(|| "this session has changed nothing that is not undone".to_owned(), |change| format!("there is no change `c{change}`")))]
    ChangeNotFound { change: Option<u64> },
    #[error("`c{change}` cannot be undone: {}", why.sentence())]
    NotUndoable { change: u64, why: NotUndoable },
    #[error("`c{change}` cannot be undone: the old text of `{path}` is not kept any more")]
    Expired { change: u64, path: String },
    #[error("`{path}` was changed after `c{change}`")]
    UndoConflict { change: u64, path: String, later: Vec<String>, diff: String },
}

/// Why a change is not taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotUndoable {
    ByHand,
    Undone,
    NothingToDo,
}

impl NotUndoable {
    pub fn word(self) -> &'static str {
        match self {
            Self::ByHand => "by_hand",
            Self::Undone => "undone",
            Self::NothingToDo => "nothing_to_do",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::ByHand => "it was made by hand, and what was there before is not known",
            Self::Undone => "it is undone already",
            Self::NothingToDo => "its files already are as they were before it",
        }
    }
}

fn near(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; near are `{}`", nearest.join("`, `")) }
}

fn known(projects: &[String]) -> String {
    if projects.is_empty() { String::new() } else { format!("; known are `{}`", projects.join("`, `")) }
}

fn value(error: &ProjectError) -> String {
    error.value().unwrap_or_default()
}

impl From<ArgumentError> for TrellisError {
    fn from(error: ArgumentError) -> Self {
        Self::Common(error.into())
    }
}

impl FamilyError for TrellisError {}

impl TrellisError {
    /// What kept items from being had; `uri` is what was asked for.
    pub fn of(error: ItemsError, uri: &str) -> Self {
        let uri = uri.to_owned();
        match error {
            ItemsError::InvalidAddress => Self::InvalidUri { uri },
            ItemsError::UnknownProject { name, nearest } => Self::UnknownProject { name, nearest },
            ItemsError::AmbiguousProject { name, candidates } => Self::AmbiguousProject { name, candidates },
            ItemsError::NoOwnProject { projects } => Self::NoOwnProject { projects },
            ItemsError::Project(error) => Self::Project(error),
            ItemsError::Read(error) => {
                let file = crate::families::error::NamedFile { shown: "it".to_owned(), ..Default::default() };
                Self::Unreadable { uri, reason: CommonError::Read { file, why: error }.to_string() }
            }
        }
    }
}

impl TrellisError {
    pub fn recall(error: RecallError) -> Self {
        match error {
            RecallError::Items(error) => Self::of(error, ""),
            RecallError::Search(SearchError::Read(error)) => Self::of(ItemsError::Read(error), ""),
            RecallError::Search(SearchError::Index(reason)) => Self::Unreadable { uri: String::new(), reason },
            RecallError::Search(SearchError::Cancelled) => {
                Self::Unreadable { uri: String::new(), reason: "the call was cancelled".to_owned() }
            }
        }
    }
}

impl Coded for TrellisError {
    fn info(&self) -> ErrorInfo {
        match self {
            Self::Common(error) => {
                let code = match error {
                    CommonError::ReadOnly => ("READ_ONLY", FailureKind::Refused),
                    _ => ("INVALID_ARGUMENT", FailureKind::Input),
                };
                let mut info = error.info(code);
                if info.details.is_null() {
                    info.details = json!({});
                }
                info
            }
            Self::InvalidUri { uri } => {
                let hint = "take an address from `list`, or a short form such as `T001` or `ADR-1`";
                ErrorInfo::new("INVALID_URI", FailureKind::Input, json!({ "uri": uri }), hint)
            }
            Self::UnknownProject { name, nearest } => {
                let hint = "name one of them, a path, `~/…`, `.` for this project or `*` for all";
                ErrorInfo::new(
                    "UNKNOWN_PROJECT",
                    FailureKind::Missing,
                    json!({ "value": name, "nearest": nearest }),
                    hint,
                )
            }
            Self::NoOwnProject { projects } => {
                let hint = "write the project's name into the address";
                ErrorInfo::new(
                    "UNKNOWN_PROJECT",
                    FailureKind::Missing,
                    json!({ "nearest": [], "projects": projects }),
                    hint,
                )
            }
            Self::AmbiguousProject { name, candidates } => {
                let details = json!({ "value": name, "candidates": candidates });
                ErrorInfo::new("AMBIGUOUS_PROJECT", FailureKind::Input, details, "use one of these names")
            }
            Self::Project(error) => {
                let details = json!({ "field": "project", "value": error.value(), "nearest": [] });
                ErrorInfo::new(
                    "UNKNOWN_PROJECT",
                    FailureKind::Missing,
                    details,
                    "name another directory or a known project",
                )
            }
            Self::ItemNotFound { uri, nearest } => {
                let hint = "find its address with `list`";
                ErrorInfo::new("ITEM_NOT_FOUND", FailureKind::Missing, json!({ "uri": uri, "nearest": nearest }), hint)
            }
            Self::SectionNotFound { uri, headings } => {
                let hint = "use one of the slugs in `headings`, or leave the part out";
                ErrorInfo::new(
                    "SECTION_NOT_FOUND",
                    FailureKind::Missing,
                    json!({ "uri": uri, "headings": headings }),
                    hint,
                )
            }
            Self::Changed { uri, expected, actual } => {
                let details = json!({ "uri": uri, "expected_hash": expected, "actual_hash": actual });
                ErrorInfo::new("CONFLICT", FailureKind::Conflict, details, "open it again without `cursor`")
            }
            Self::ChangeNotFound { change } => {
                let details = change.map_or_else(|| json!({}), |change| json!({ "change": shown_change(change) }));
                let hint = "look for its id with `recent`";
                ErrorInfo::new("CHANGE_NOT_FOUND", FailureKind::Missing, details, hint)
            }
            Self::NotUndoable { change, why } => {
                let details = json!({ "change": shown_change(*change), "why": why.word() });
                let hint = match why {
                    NotUndoable::ByHand => "ask the person who made it, or write the text again",
                    NotUndoable::Undone => {
                        "undo the undo if you want the change back: its id is `undone_by` in `recent`"
                    }
                    NotUndoable::NothingToDo => "nothing is left to do",
                };
                ErrorInfo::new("NOT_UNDOABLE", FailureKind::Input, details, hint)
            }
            Self::Expired { change, path } => {
                let details = json!({ "change": shown_change(*change), "path": path });
                let hint = "old texts are kept for 30 days; look into a backup, or write the text again";
                ErrorInfo::new("EXPIRED", FailureKind::Missing, details, hint)
            }
            Self::UndoConflict { change, later, diff, .. } => {
                let details = json!({ "change": shown_change(*change), "later": later, "diff": diff });
                let hint = "read the difference; undo the later changes first, or use `force` to put the old text there nevertheless";
                ErrorInfo::new("CONFLICT", FailureKind::Conflict, details, hint)
            }
            Self::Claimed { uri, claim: ItemClaim { by, session, since, until } } => {
                let (since, until) = (shown_time(*since), shown_time(*until));
                let details = json!({ "uri": uri, "by": by, "session": session, "since": since, "until": until });
                let hint = "choose another one with `list`, or wait until it is free";
                ErrorInfo::new("CLAIMED", FailureKind::Conflict, details, hint)
            }
            Self::NotAnItem { uri } => {
                let hint = "name an item: `list` shows them";
                ErrorInfo::new("NOT_ALLOWED", FailureKind::Input, json!({ "uri": uri, "allowed": [] }), hint)
            }
            Self::NotRecorded { reason } => {
                let hint = "make room on the disk of the state directory, and try again";
                ErrorInfo::new("WRITE_FAILED", FailureKind::Internal, json!({ "reason": reason }), hint)
            }
            Self::Unreadable { uri, reason } => {
                let details = json!({ "uri": uri, "reason": reason });
                ErrorInfo::new("UNREADABLE", FailureKind::Unreadable, details, "look at the file itself, and mend it")
            }
        }
    }
}

/// An argument that is wrong, with its value.
pub fn argument(field: &str, issue: &'static str, value: impl Into<Value>) -> TrellisError {
    ArgumentError::is(issue).of(field).value(value).into()
}
