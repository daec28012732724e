//! What a project's `.todo` holds, in types: ids, statuses, paths, limits. The session's settings become a place;
//! whether anything is at that place is for the disk to say.

use std::fmt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::disk::{RelativePath, SymlinkPolicy, TreeLocation};
use crate::projects::ProjectSelector;

/// The tree below a project.
pub const TREE: &str = ".todo";

pub const TASK_FILE: &str = "task.md";

/// What people and agents find their way with.
pub const INDEX_FILE: &str = "index.md";

/// The highest numbers that were ever given.
pub const STATE_FILE: &str = ".state.json";

/// One file per main task.
pub const CONTEXTS: &str = "context";

/// One file per decision record.
pub const ADRS: &str = "adr";

/// Larger files are neither read nor changed.
pub const FILE_LIMIT: u64 = 8 * 1024 * 1024;

/// No more tasks, and no more records, and no higher numbers.
pub const MAX_NUMBER: u16 = 999;

/// The category of a task without one.
pub const DEFAULT_CATEGORY: &str = "Default";

/// The id of a task: `T` and three digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(u16);

impl TaskId {
    /// `T001`; nothing else is one.
    pub fn parse(text: &str) -> Option<Self> {
        number(text.strip_prefix('T')?).map(Self)
    }

    /// The id with this number, if it has three digits.
    pub fn of(number: u16) -> Option<Self> {
        (number <= MAX_NUMBER).then_some(Self(number))
    }

    /// The id of the task to which a file in `context` belongs, by its name.
    pub fn of_context(name: &str) -> Option<Self> {
        Self::parse(name.strip_suffix(".md")?)
    }

    pub fn number(self) -> u16 {
        self.0
    }

    /// Its context file in the tree.
    pub fn context(self) -> RelativePath {
        in_tree(&format!("{CONTEXTS}/{self}.md"))
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "T{:03}", self.0)
    }
}

/// Three ASCII digits.
fn number(text: &str) -> Option<u16> {
    (text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// The number of a record, by the name of its file: `adr-001-some-slug.md`.
pub fn adr_number(name: &str) -> Option<u16> {
    let (digits, slug) = name.strip_suffix(".md")?.strip_prefix("adr-")?.split_at_checked(3)?;
    number(digits).filter(|number| *number > 0 && slug.starts_with('-'))
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Todo,
    /// Being worked on.
    InProgress,
    Done,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Todo, Self::InProgress, Self::Done];

    /// As tools spell it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Todo => "todo",
            Self::InProgress => "in_progress",
            Self::Done => "done",
        }
    }

    /// By its word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.word() == word)
    }

    /// What stands in the box.
    pub fn mark(self) -> char {
        match self {
            Self::Todo => ' ',
            Self::InProgress => '-',
            Self::Done => 'x',
        }
    }

    /// By what stands in the box; a mark of somebody's own says nothing.
    pub fn marked(mark: char) -> Self {
        match mark {
            '-' => Self::InProgress,
            'x' | 'X' => Self::Done,
            _ => Self::Todo,
        }
    }
}

/// How far a decision is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdrStatus {
    Proposed,
    Accepted,
    /// No longer so.
    Deprecated,
}

impl AdrStatus {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Proposed, Self::Accepted, Self::Deprecated];

    /// As tools and files spell it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Proposed => "Proposed",
            Self::Accepted => "Accepted",
            Self::Deprecated => "Deprecated",
        }
    }

    /// By its word, exactly.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.word() == word)
    }
}

/// Where the tasks of a call are.
pub fn place(project_root: Option<&Path>) -> TreeLocation {
    let project = project_root.map_or(ProjectSelector::Session, |path| ProjectSelector::Named(path.to_owned()));
    TreeLocation::InProject { unless: None, project, below: PathBuf::from(TREE), links: SymlinkPolicy::Refuse }
}

/// One of our own fixed paths, or one made of names that were checked.
pub fn in_tree(path: &str) -> RelativePath {
    RelativePath::from_components(path).unwrap_or_else(|| unreachable!("`{path}` is made of plain names"))
}

/// A path of the tree as callers know it: from the project on.
pub fn shown(path: &RelativePath) -> String {
    format!("{TREE}/{path}")
}

/// A moment as our answers and files spell it: UTC, whole seconds.
pub fn written(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The same for a file's own time.
pub fn written_ns(nanoseconds: i128) -> String {
    written(Timestamp::from_nanosecond(nanoseconds).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<u16>) {
        assert_eq!(TaskId::parse(text).map(TaskId::number), expected, "{text}");
        assert_eq!(TaskId::of_context(&format!("{text}.md")).map(TaskId::number), expected, "{text}");
        if let Some(number) = expected {
            assert_eq!(TaskId::of(number).map(|id| id.to_string()).as_deref(), Some(text));
        }
    }

    #[test]
    fn an_id_is_t_and_three_digits() {
        check("T001", Some(1));
        check("T000", Some(0));
        check("T999", Some(999));
        for wrong in ["", "T", "T1", "T0001", "t001", "T00x", "T+01", "T００１", " T001", "#T001", "T-01"] {
            check(wrong, None);
        }
        assert_eq!(TaskId::of(1000), None);
    }

    #[test]
    fn a_record_has_its_number_in_its_name() {
        for (name, expected) in [
            ("adr-001-a.md", Some(1)),
            ("adr-999-認証.md", Some(999)),
            ("adr-001-.md", Some(1)),
            ("adr-000-a.md", None),
            ("adr-001.md", None),
            ("adr-1-a.md", None),
            ("adr-0001-a.md", None),
            ("adr-001-a.txt", None),
            ("adr-é1-a.md", None),
        ] {
            assert_eq!(adr_number(name), expected, "{name}");
        }
    }

    #[test]
    fn marks_are_read_leniently_and_written_one_way() {
        for status in Status::ALL {
            assert_eq!(Status::marked(status.mark()), status);
            assert_eq!(Status::named(status.word()), Some(status));
        }
        assert_eq!(Status::marked('X'), Status::Done);
        assert_eq!(Status::marked('?'), Status::Todo);
        assert_eq!(Status::named("Done"), None);
        assert_eq!(AdrStatus::named("accepted"), None);
    }

    #[test]
    fn times_are_whole_seconds_of_utc() {
        assert_eq!(written_ns(1_769_596_200_999_000_000), "2026-01-28T10:30:00Z");
    }
}
