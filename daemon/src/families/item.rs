//! What all families share: an item is whatever a person would name, be it a whole file or some lines of one.
//!
//! A family says which files hold items, and reads them off the bytes. Nothing here knows a project's name or another
//! file: an address is made where items of all files meet, and so is everything that needs two files at once.

use std::ops::Range;
use std::path::Path;

use jiff::civil::Date;
use serde_json::Value;

use super::facts::Chunk;
use super::item_set::OpenedFile;
use super::{AddressTemplate, SessionContext};
use crate::clock::Now;
use crate::disk::TreeLocation;
use crate::text::headings::headings;

/// What a family says about items.
#[derive(Debug, Clone, Copy)]
pub struct ItemFace {
    /// Where the items of a project are; without one, of the session's own.
    pub tree: fn(&SessionContext, Option<&Path>) -> ItemTree,
    /// Whether a file of the tree may hold items, by its path in it. Paths with a part that begins with a dot never do,
    /// unless the tree names its files.
    pub wanted: fn(&str) -> bool,
    /// The items of a file, from its path in the tree and its bytes.
    pub items: fn(&str, &[u8]) -> FileItems,
    /// What stands in an address between `FAMILY://` and the project.
    pub prefix: &'static str,
    /// Another beginning of its addresses, behind which comes a path in the session's own project.
    pub alias: Option<&'static str>,
    /// How its addresses look, in the order in which they are listed.
    pub templates: &'static [AddressTemplate],
    /// What an address of the family names, by project, path and fragment; none if it is no address.
    pub target: fn(&str, &str, Option<&str>) -> Option<AddressTarget>,
    /// What a short form names in the session's own project: `T001`.
    pub short_form: fn(&str) -> Option<ItemKey>,
    /// In which file an item is, by its key; none if no item has such a key.
    pub home: fn(&ItemKey) -> Option<ItemHome>,
    /// Another item of the same tree that is shown with one: a task's context.
    pub companion: fn(&ItemKey) -> Option<ItemKey>,
    /// What a resource shows of an item, where that is not its text.
    pub resource: fn(&OpenedFile, &Item, &Now) -> Option<String>,
    /// What is shown of an item beside its text when it is opened alone, from its file's path and bytes.
    pub details: fn(&str, &[u8], &Item) -> ItemDetails,
    /// Larger files hold none, in bytes.
    pub size_limit: u64,
}

impl ItemFace {
    /// Whether a file of its tree may hold items, by its path in it.
    pub fn holds_items(&self, path: &str) -> bool {
        !path.split('/').any(|part| part.starts_with('.')) && (self.wanted)(path)
    }
}

/// What an address names, before it is known whether that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressTarget {
    /// An item, and the part of it that a fragment names.
    Item(ItemKey, Option<String>),
    /// A resource of the family that is no item.
    Resource,
}

impl AddressTarget {
    /// A file as a whole, or a part of it.
    pub fn file(path: &str, fragment: Option<&str>) -> Option<Self> {
        (!path.is_empty()).then(|| Self::Item(ItemKey::path(path), fragment.map(str::to_owned)))
    }
}

/// Where the items of one project are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemTree {
    pub place: TreeLocation,
    /// Whether the tree itself may be a symbolic link.
    pub may_be_link: bool,
    pub owner: TreeOwner,
    pub files: TreeFiles,
}

/// To whom a tree belongs, which decides how its items are addressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeOwner {
    /// The project that was asked for.
    Project,
    /// Nobody in particular: a setting of the session names it.
    Session,
    /// It holds projects of its own; each item says in which it is.
    Workspace,
}

/// How the files of a tree are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeFiles {
    /// The tree is watched.
    Watched,
    /// They lie anywhere in a project that is not watched: found by a walk, then looked at one by one.
    Walked,
    /// The first of these that is there.
    FirstOf(Vec<String>),
}

impl TreeFiles {
    /// Whether a file may hold items, by its path in the tree.
    pub fn hold_items(&self, face: &ItemFace, path: &str) -> bool {
        match self {
            Self::FirstOf(names) => names.iter().any(|name| name == path),
            _ => face.holds_items(path),
        }
    }
}

/// In which file an item is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemHome {
    /// Its path in the tree.
    File(String),
    /// The first file of this directory, in order, whose name begins so and that may hold items.
    Named { directory: &'static str, prefix: String },
    /// Any file of the tree.
    Anywhere,
}

/// What is in one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileItems {
    /// In the file's own order.
    pub items: Vec<Item>,
    /// What is wrong with the file as a whole, or with several items of it.
    pub warnings: Vec<String>,
}

/// One item, as its own file shows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Item {
    pub key: ItemKey,
    /// The project in the workspace; none where the tree is a project's.
    pub project: Option<String>,
    pub kind: ItemKind,
    pub title: String,
    /// The family's own word.
    pub status: Option<String>,
    pub lane: Option<ItemLane>,
    pub tags: Vec<String>,
    /// Where it is in the text of the file (bytes that are no text are U+FFFD there), in bytes.
    pub span: Range<usize>,
    /// The official date, if it has one; else the file's own time counts.
    pub updated: Option<Date>,
    /// Whether work on it can start, as far as its own file can tell.
    pub ready: bool,
    /// It no longer holds.
    pub outdated: bool,
    /// What replaced it, as it is written there, the most reliable first.
    pub superseded_by: Vec<String>,
    /// What it replaced, as it is written there.
    pub supersedes: Vec<String>,
    /// The item that it belongs to, and whose title it has: a context's task.
    pub of: Option<ItemKey>,
    /// What its text points to.
    pub links: Vec<ItemLink>,
    /// What is wrong with it.
    pub warning: Option<String>,
    /// Other names that people know it by: its id, its file's name with and without number and extension.
    pub names: Vec<String>,
    /// What the whole item is worth in a search, whatever is looked for; 1 is usual.
    pub boost: f32,
    /// Its pieces, in order, with places in the text of the file.
    pub sections: Vec<Chunk>,
    /// The first lines, for kinds whose text is shown in lists.
    pub excerpt: Vec<String>,
}

/// What is shown of an item that is opened alone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ItemDetails {
    /// Why its text is shown to nobody.
    pub unreadable: Option<&'static str>,
    /// Its text, where that is no part of the file's.
    pub text: Option<String>,
    /// In this order.
    pub fields: Vec<(&'static str, ItemDetail)>,
}

/// One field of an item that is opened alone.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemDetail {
    Value(Value),
    /// Other items of the same tree, by their addresses.
    Addresses(Vec<ItemKey>),
    /// The same, with title and status.
    Related(Vec<RelatedItem>),
    /// The whole text of another item, in what the budget leaves.
    Text(ItemKey),
}

/// An item, as another one shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelatedItem {
    pub key: ItemKey,
    pub title: String,
    pub status: Option<String>,
}

/// The part of an address behind the project, unescaped.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemKey {
    /// `T001`, `adr/1`, `tasks/001-x.md`, `plans/a.vine`.
    pub path: String,
    /// A node of a plan, or the line of a task without id: `L12`.
    pub fragment: Option<String>,
}

impl ItemKey {
    pub fn path(path: impl Into<String>) -> Self {
        Self { path: path.into(), fragment: None }
    }

    pub fn within(path: impl Into<String>, fragment: impl Into<String>) -> Self {
        Self { path: path.into(), fragment: Some(fragment.into()) }
    }
}

/// Something that a text points to, before it is known whether it exists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemLink {
    /// As it is written.
    Address(String),
    /// `T001`, `ADR-1`: an item of the same project.
    ShortForm(String),
    /// A relative link, as a path in the same tree.
    File(String),
}

/// What an item is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum ItemKind {
    #[default]
    Document,
    Task,
    Decision,
    Context,
    Session,
    Plan,
    Node,
    File,
    Card,
}

impl ItemKind {
    pub const ALL: [Self; 9] = [
        Self::Document,
        Self::Task,
        Self::Decision,
        Self::Context,
        Self::Session,
        Self::Plan,
        Self::Node,
        Self::File,
        Self::Card,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Task => "task",
            Self::Decision => "decision",
            Self::Context => "context",
            Self::Session => "session",
            Self::Plan => "plan",
            Self::Node => "node",
            Self::File => "file",
            Self::Card => "card",
        }
    }

    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// How far an item is, in words that all families share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum ItemLane {
    Todo,
    Doing,
    Review,
    Blocked,
    Done,
}

impl ItemLane {
    pub const ALL: [Self; 5] = [Self::Todo, Self::Doing, Self::Review, Self::Blocked, Self::Done];

    pub fn word(self) -> &'static str {
        match self {
            Self::Todo => "todo",
            Self::Doing => "doing",
            Self::Review => "review",
            Self::Blocked => "blocked",
            Self::Done => "done",
        }
    }

    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| lane.word() == word)
    }
}

/// Lines of an excerpt, and characters of each.
const EXCERPT: (usize, usize) = (6, 160);

/// The first lines of a text that are not blank, without their hashes.
pub fn excerpt(body: &str) -> Vec<String> {
    let shown = |line: &str| cut(line.trim_start_matches('#').trim(), EXCERPT.1);
    body.lines().map(shown).filter(|line| !line.is_empty()).take(EXCERPT.0).collect()
}

/// The sections of a text from a place on: one for each heading, and what stands before the first.
pub fn sections(text: &str, from: usize) -> Vec<Chunk> {
    let mut sections = Vec::new();
    let (mut heading, mut start) = (None, from);
    for next in headings(&text[from..]) {
        let title = Some(format!("{} {}", "#".repeat(next.level), next.text));
        let content = start..from + next.start;
        sections.push(Chunk { heading: std::mem::replace(&mut heading, title), content, boost: 1.0 });
        start = from + next.end;
    }
    sections.push(Chunk { heading, content: start..text.len(), boost: 1.0 });
    sections.retain(|section| section.heading.is_some() || !text[section.content.clone()].trim().is_empty());
    sections
}

/// A title is one line of at most so many characters.
const MAX_TITLE_CHARACTERS: usize = 200;

/// A title as items show it: one line, cut with `…`.
pub fn one_line(title: &str) -> String {
    let line = title.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line, MAX_TITLE_CHARACTERS)
}

/// At most so many characters, then `…`.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_what_they_say() {
        for kind in ItemKind::ALL {
            assert_eq!(ItemKind::named(kind.word()), Some(kind));
        }
        for lane in ItemLane::ALL {
            assert_eq!(ItemLane::named(lane.word()), Some(lane));
        }
        assert_eq!(ItemKind::named("Task"), None);
    }

    #[test]
    fn a_title_is_one_line_of_a_bounded_length() {
        assert_eq!(one_line(" a\n b\tc "), "a b c");
        assert_eq!(one_line(&"é".repeat(200)), "é".repeat(200));
        assert_eq!(one_line(&"é".repeat(201)), format!("{}…", "é".repeat(200)));
    }
}
