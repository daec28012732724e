//! What a board is: lanes of tasks, each task with everything that its writer put into it.
//!
//! Known fields are read from a task when somebody asks; what is unknown is carried along untouched. Nothing here
//! decides what a tool may do.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::json;

/// Larger bridge files are neither read nor written.
pub const FILE_LIMIT: u64 = 16 * 1024 * 1024;

/// The lanes, in the order in which they are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Not planned yet.
    Backlog,
    Todo,
    /// Being worked on.
    InProgress,
    /// Being looked at.
    CodeReview,
    Done,
    Recovery,
}

impl Lane {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Backlog, Self::Todo, Self::InProgress, Self::CodeReview, Self::Done, Self::Recovery];

    /// As files and answers spell it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Backlog => "backlog",
            Self::Todo => "todo",
            Self::InProgress => "in_progress",
            Self::CodeReview => "code_review",
            Self::Done => "done",
            Self::Recovery => "recovery",
        }
    }

    /// The lane of this name, in whatever letter case.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| lane.word().eq_ignore_ascii_case(word))
    }
}

/// How much a task matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    Low,
    /// What a task has when nobody says.
    Medium,
    High,
    Critical,
}

impl Priority {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Critical];

    /// As files and answers spell it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// The priority of this name, in whatever letter case.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|priority| priority.word().eq_ignore_ascii_case(word))
    }
}

/// Members of an object in their order, as they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawMembers(Vec<RawMember>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct RawMember {
    name: String,
    /// With its quotes and escapes.
    key: Box<str>,
    value: Box<str>,
}

impl RawMembers {
    /// The members of an object; none if it is something else.
    pub fn of(object: &str) -> Option<Self> {
        let field = |(key, value): (&str, &str)| RawMember {
            name: json::text(key).unwrap_or_default(),
            key: key.into(),
            value: value.into(),
        };
        Some(Self(json::members(object)?.into_iter().map(field).collect()))
    }

    /// The value of a field as it was written. Of several with one name the last counts, as for most readers.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rfind(|field| field.name == name).map(|field| &*field.value)
    }

    /// Where a field stands.
    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.0.iter().rposition(|field| field.name == name)
    }

    /// Sets a field where it stands, or at the end.
    pub fn set(&mut self, name: &str, value: impl Into<Box<str>>) {
        match self.place_of(name) {
            Some(place) => self.0[place].value = value.into(),
            None => self.insert(self.0.len(), name, value),
        }
    }

    /// Puts a new field at a place.
    pub fn insert(&mut self, place: usize, name: &str, value: impl Into<Box<str>>) {
        let key = Value::from(name).to_string().into();
        self.0.insert(place, RawMember { name: name.to_owned(), key, value: value.into() });
    }

    /// Takes a field away; what it held.
    pub fn remove(&mut self, name: &str) -> Option<Box<str>> {
        let place = self.place_of(name)?;
        Some(self.0.remove(place).value)
    }

    /// Keys in their quotes, names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.0.iter().map(|field| (&*field.key, field.name.as_str(), &*field.value))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn memory_bytes(&self) -> usize {
        self.0.iter().map(|field| size_of::<RawMember>() + field.name.len() + field.key.len() + field.value.len()).sum()
    }
}

/// A task, as it stands in the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task(pub RawMembers);

/// The fields that every task is shown with, in their order.
const SHOWN: [&str; 12] = [
    "id",
    "title",
    "description",
    "lane",
    "priority",
    "status",
    "estimatedHours",
    "tags",
    "assignee",
    "comments",
    "createdAt",
    "updatedAt",
];

impl Task {
    /// A field that is text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).and_then(json::text)
    }

    /// Its priority; none if the file says something that is none.
    pub fn priority(&self) -> Option<Priority> {
        match self.0.get("priority") {
            None | Some("null") => Some(Priority::Medium),
            Some(value) => json::text(value).as_deref().and_then(Priority::named),
        }
    }

    /// Its tags, as far as they are texts.
    pub fn tags(&self) -> Vec<String> {
        let items = self.0.get("tags").and_then(json::items).unwrap_or_default();
        items.into_iter().filter_map(json::text).collect()
    }

    /// How long it takes, if somebody said so.
    pub fn hours(&self) -> Option<f64> {
        json::shown(self.0.get("estimatedHours")?).as_f64()
    }

    /// As answers show it: the known fields first, with their defaults, then all others. The list in which it
    /// stands decides its lane.
    pub fn shown(&self, lane: Lane) -> Map<String, Value> {
        let known = |name: &str| {
            let stored = self.0.get(name).map(json::shown).filter(|value| !value.is_null());
            match name {
                "lane" | "status" => json!(lane.word()),
                "priority" => match self.priority() {
                    Some(priority) => json!(priority.word()),
                    None => stored.unwrap_or_default(),
                },
                "description" => stored.unwrap_or_else(|| json!("")),
                "tags" | "comments" => stored.unwrap_or_else(|| json!([])),
                _ => stored.unwrap_or_default(),
            }
        };
        let mut shown: Map<String, Value> = SHOWN.iter().map(|name| ((*name).to_owned(), known(name))).collect();
        for (_, name, value) in self.0.iter().filter(|(_, name, _)| !SHOWN.contains(name)) {
            shown.insert(name.to_owned(), json::shown(value));
        }
        shown
    }
}

/// What stands in a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardEntry {
    Task(Arc<Task>),
    /// Something else that somebody put there; kept, shown to nobody.
    Other(Box<str>),
}

/// A lane of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// One that we know, with what stands in it.
    Known(Lane, Vec<BoardEntry>),
    /// One that we do not: its key in quotes, and its value as it was written.
    Unknown(Box<str>, Box<str>),
}

/// A board, as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    /// Everything beside the lanes.
    pub top: RawMembers,
    /// So many of those stand before the lanes.
    pub before: usize,
    /// The lanes in the file's order. Every lane that we know is among them, once.
    pub columns: Vec<Column>,
    /// Whether the file begins with a byte order mark; it stays.
    pub marked: bool,
    /// Whether the file ends with a line break; so it will.
    pub ended: bool,
    /// SHA-256 of the file; none if there is no file.
    pub hash: Option<String>,
}

impl Default for Board {
    /// The board of a file that is not there.
    fn default() -> Self {
        let columns = Lane::ALL.into_iter().map(|lane| Column::Known(lane, Vec::new())).collect();
        Self { top: RawMembers::default(), before: 0, columns, marked: false, ended: true, hash: None }
    }
}

impl Board {
    /// What stands in a lane.
    pub fn lane(&self, lane: Lane) -> &[BoardEntry] {
        let entries = self.columns.iter().find_map(|column| match column {
            Column::Known(known, entries) if *known == lane => Some(entries),
            _ => None,
        });
        entries.map_or(&[], Vec::as_slice)
    }

    /// The same, to be changed.
    pub fn lane_mut(&mut self, lane: Lane) -> &mut Vec<BoardEntry> {
        let known = |column: &Column| matches!(column, Column::Known(known, _) if *known == lane);
        let place = self.columns.iter().position(known).unwrap_or_else(|| {
            self.columns.push(Column::Known(lane, Vec::new()));
            self.columns.len() - 1
        });
        match &mut self.columns[place] {
            Column::Known(_, entries) => entries,
            Column::Unknown(..) => unreachable!("the place is that of a known lane"),
        }
    }

    /// All tasks that are shown: lanes in their order, in a lane as they stand.
    pub fn tasks(&self) -> impl Iterator<Item = (Lane, &Arc<Task>)> {
        Lane::ALL.into_iter().flat_map(|lane| {
            self.lane(lane).iter().filter_map(move |entry| match entry {
                BoardEntry::Task(task) => Some((lane, task)),
                BoardEntry::Other(_) => None,
            })
        })
    }

    /// Where the first task with this id stands.
    pub fn find(&self, id: &str) -> Option<(Lane, usize, Arc<Task>)> {
        Lane::ALL.into_iter().find_map(|lane| {
            self.lane(lane).iter().enumerate().find_map(|(place, entry)| match entry {
                BoardEntry::Task(task) if task.text("id").as_deref() == Some(id) => {
                    Some((lane, place, Arc::clone(task)))
                }
                _ => None,
            })
        })
    }

    /// The ids of all tasks that are shown.
    pub fn ids(&self) -> HashSet<String> {
        self.tasks().filter_map(|(_, task)| task.text("id")).collect()
    }

    /// Whether a lane that is not shown may hold this id.
    pub fn hides(&self, id: &str) -> bool {
        let quoted = format!("\"{id}\"");
        let holds = |column: &Column| matches!(column, Column::Unknown(_, value) if value.contains(&quoted));
        self.columns.iter().any(holds)
    }

    /// How much memory it takes, about.
    pub fn size(&self) -> usize {
        let entry = |entry: &BoardEntry| match entry {
            BoardEntry::Task(task) => size_of::<BoardEntry>() + size_of::<Task>() + task.0.memory_bytes(),
            BoardEntry::Other(text) => size_of::<BoardEntry>() + text.len(),
        };
        let column = |column: &Column| match column {
            Column::Known(_, entries) => entries.iter().map(entry).sum(),
            Column::Unknown(key, value) => key.len() + value.len(),
        };
        size_of::<Self>() + self.top.memory_bytes() + self.columns.iter().map(column).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(text: &str) -> Task {
        Task(RawMembers::of(text).expect("an object"))
    }

    #[test]
    fn words_are_matched_in_whatever_letter_case() {
        assert_eq!(Lane::named("In_Progress"), Some(Lane::InProgress));
        assert_eq!(Priority::named("CRITICAL"), Some(Priority::Critical));
        for wrong in ["", "in-progress", " done", "review"] {
            assert_eq!(Lane::named(wrong), None, "{wrong}");
            assert_eq!(Priority::named(wrong), None, "{wrong}");
        }
        assert!(Lane::ALL.into_iter().all(|lane| Lane::named(lane.word()) == Some(lane)));
    }

    #[test]
    fn a_task_is_shown_with_every_field() {
        let shown = Value::from(task(r#"{"custom":{"n":1.10},"id":"task-1","lane":"done"}"#).shown(Lane::Todo));
        let expected = r#"{"id":"task-1","title":null,"description":"","lane":"todo","priority":"medium","status":"todo","estimatedHours":null,"tags":[],"assignee":null,"comments":[],"createdAt":null,"updatedAt":null,"custom":{"n":1.1}}"#;
        assert_eq!(shown.to_string(), expected);
        let odd = task(r#"{"title":5,"priority":"Urgent","tags":["a",3],"estimatedHours":"2"}"#);
        let shown = odd.shown(Lane::Done);
        assert_eq!(
            (&shown["title"], &shown["priority"], &shown["tags"]),
            (&json!(5), &json!("Urgent"), &json!(["a", 3]))
        );
        assert_eq!((odd.priority(), odd.tags(), odd.hours()), (None, vec!["a".to_owned()], None));
        assert_eq!(task(r#"{"priority":"HIGH"}"#).shown(Lane::Done)["priority"], "high");
    }

    #[test]
    fn fields_are_set_where_they_stand() {
        let mut fields = RawMembers::of(r#"{"a":1,"\u0062":2,"a":3}"#).expect("an object");
        assert_eq!((fields.get("a"), fields.get("b")), (Some("3"), Some("2")));
        fields.set("b", "4");
        fields.set("c\"", "5");
        fields.insert(0, "z", "0");
        let written: Vec<_> = fields.iter().map(|(key, _, value)| format!("{key}:{value}")).collect();
        assert_eq!(written, [r#""z":0"#, r#""a":1"#, r#""\u0062":4"#, r#""a":3"#, r#""c\"":5"#]);
        assert_eq!(fields.remove("a").as_deref(), Some("3"));
        assert_eq!(fields.get("a"), Some("1"));
    }

    #[test]
    fn ids_are_looked_for_everywhere() {
        let mut board = Board::default();
        board.lane_mut(Lane::Done).push(BoardEntry::Other("3".into()));
        board.lane_mut(Lane::Done).push(BoardEntry::Task(Arc::new(task(r#"{"id":"task-1"}"#))));
        board.columns.push(Column::Unknown("\"x\"".into(), r#"[{"id":"task-2"}]"#.into()));
        assert_eq!(board.find("task-1").map(|(lane, place, _)| (lane, place)), Some((Lane::Done, 1)));
        assert!(board.find("task-2").is_none());
        assert_eq!(board.ids(), HashSet::from(["task-1".to_owned()]));
        assert!(board.hides("task-2") && !board.hides("task-1") && !board.hides("task-3"));
        assert_eq!(board.tasks().count(), 1);
    }
}
