//! One search over the items of many trees: what is asked for, and what the index answers.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::facts::SearchError;
use super::item::{ItemKind, ItemLane, TreeOwner};
use super::item_set::{ItemFiles, ItemRef, ItemScope, ItemSet, ItemTreeView, ItemsError};
use crate::disk::FileStamp;

/// Looks for items of some projects.
#[derive(Debug, Clone)]
pub struct ItemRequest {
    pub scope: ItemScope,
    pub query: String,
    pub kind: Option<ItemKind>,
    pub lane: Option<LaneFilter>,
    pub offset: usize,
    pub limit: usize,
}

/// What was found, with the items that it was found among.
#[derive(Debug)]
pub struct Recalled {
    pub set: ItemSet,
    pub hits: RecallHits,
}

/// Why nothing could be looked for.
#[derive(Debug, Clone, PartialEq)]
pub enum RecallError {
    Items(ItemsError),
    Search(SearchError),
}

/// Looks for items in all these trees at once.
#[derive(Debug, Clone, Default)]
pub struct RecallRequest {
    /// As it was typed.
    pub query: String,
    pub trees: Vec<RecallTree>,
    pub kind: Option<ItemKind>,
    pub lane: Option<LaneFilter>,
    /// So many hits in front are left out.
    pub offset: usize,
    /// At most so many hits.
    pub limit: usize,
}

/// One tree with items.
#[derive(Debug, Clone)]
pub struct RecallTree {
    pub family: &'static str,
    pub root: PathBuf,
    /// All files that hold items. Of a tree that is watched, the index knows them better.
    pub files: Arc<ItemFiles>,
    /// Only items of these projects, where the tree has projects of its own.
    pub projects: Option<Vec<String>>,
    pub own: OwnItems,
    /// Where a repository has several worktrees.
    pub worktree: Option<Worktree>,
}

/// Which items of a tree are the session's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum OwnItems {
    All,
    #[default]
    None,
    /// Those of these projects of the tree.
    Projects(Vec<String>),
}

/// A worktree of a repository, which is known by its main worktree.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Worktree {
    pub repository: PathBuf,
    pub is_main: bool,
}

/// How far the items are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneFilter {
    One(ItemLane),
    /// In some lane, and not done.
    Open,
    /// Items without one.
    None,
}

impl LaneFilter {
    pub fn takes(self, lane: Option<ItemLane>) -> bool {
        match self {
            Self::One(wanted) => lane == Some(wanted),
            Self::Open => lane.is_some_and(|lane| lane != ItemLane::Done),
            Self::None => lane.is_none(),
        }
    }
}

/// Where an item is: the number of its tree in the request, its file, and its place among the items of that file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemPlace {
    pub tree: usize,
    pub path: Arc<str>,
    pub item: usize,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecallHits {
    /// Items on the first rungs that have any, before limit and offset.
    pub total: usize,
    /// The best come first.
    pub hits: Vec<RecallHit>,
    /// Whether more hits follow these.
    pub has_more: bool,
    /// Trees of the request that could not be compared with the disk in time.
    pub stale: Vec<usize>,
    /// The index is not complete yet: so many documents of so many are in it.
    pub progress: Option<(usize, usize)>,
}

/// One item that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallHit {
    pub place: ItemPlace,
    /// Of the section that was found, with its hashes.
    pub heading: Option<Arc<str>>,
    /// Cut from the text around the matches, marked with `**`.
    pub snippet: String,
    /// From 1, which is best, to 5.
    pub rung: u8,
    pub weight: f32,
    /// It no longer holds.
    pub outdated: bool,
    /// In which state its file was read.
    pub stamp: FileStamp,
}

impl RecallHit {
    /// Whether not all words were found as they were typed.
    pub fn is_relaxed(&self) -> bool {
        self.rung >= 4
    }
}

/// What only somebody knows who sees the items of all files.
pub trait ItemLinks: fmt::Debug {
    /// What replaced an item that no longer holds.
    fn replacement(&self, place: &ItemPlace) -> Option<ItemPlace>;

    /// What people call an item.
    fn title(&self, place: &ItemPlace) -> String;

    /// The address of an item, by which equal hits are put in order.
    fn address(&self, place: &ItemPlace) -> String;
}

impl ItemRequest {
    /// The same in these trees.
    pub fn within(&self, set: &ItemSet) -> RecallRequest {
        let tree = |view: &ItemTreeView| {
            let own = match view.owner {
                TreeOwner::Workspace => OwnItems::Projects(view.own_projects.clone()),
                _ if view.is_own => OwnItems::All,
                _ => OwnItems::None,
            };
            let nothing = (!view.is_wanted).then(Vec::new);
            RecallTree {
                family: view.family,
                root: view.root.clone(),
                files: Arc::clone(&view.files),
                projects: nothing.or_else(|| view.wanted_projects.clone()),
                own,
                worktree: view.worktree.clone(),
            }
        };
        RecallRequest {
            query: self.query.clone(),
            trees: set.trees.iter().map(tree).collect(),
            kind: self.kind,
            lane: self.lane,
            offset: self.offset,
            limit: self.limit,
        }
    }
}

impl ItemLinks for ItemSet {
    fn replacement(&self, place: &ItemPlace) -> Option<ItemPlace> {
        self.place(self.replaced_by(self.at(place)?)?)
    }

    fn title(&self, place: &ItemPlace) -> String {
        self.at(place).map(|found| found.title().to_owned()).unwrap_or_default()
    }

    fn address(&self, place: &ItemPlace) -> String {
        self.at(place).map(ItemRef::address).unwrap_or_default()
    }
}

impl ItemSet {
    /// The item at a place.
    pub fn at(&self, place: &ItemPlace) -> Option<ItemRef<'_>> {
        let tree = self.trees.get(place.tree)?;
        let (path, file) = tree.files.get_key_value(&place.path)?;
        Some(ItemRef { tree, path, file, item: file.items.items.get(place.item)? })
    }

    fn place(&self, found: ItemRef<'_>) -> Option<ItemPlace> {
        let tree = self.trees.iter().position(|tree| std::ptr::eq(tree, found.tree))?;
        let item = found.file.items.items.iter().position(|item| std::ptr::eq(item, found.item))?;
        Some(ItemPlace { tree, path: found.path.into(), item })
    }

    /// Whether the hits were found in the files of which these are the items.
    pub fn has_all(&self, hits: &RecallHits) -> bool {
        hits.hits.iter().all(|hit| self.at(&hit.place).is_some_and(|found| found.file.stamp == hit.stamp))
    }
}
