//! One search over the items of many trees: what is asked for, and what the index answers.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::item::{ItemKind, ItemLane};
use crate::disk::FileStamp;

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
    pub files: KnownFiles,
    /// Only items of this project, where the tree has projects of its own.
    pub project: Option<String>,
    pub own: OwnItems,
    /// The worktrees of one repository have the same number.
    pub repository: Option<Worktree>,
}

/// How the files of a tree are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownFiles {
    /// The tree is watched, from the first call on.
    Watched,
    /// These are all.
    Listed(Vec<(String, FileStamp)>),
}

/// Which items of a tree are the session's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum OwnItems {
    All,
    #[default]
    None,
    /// Those of this project of the tree.
    Project(String),
}

/// A worktree of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worktree {
    pub repository: u32,
    pub is_main: bool,
}

/// How far the items are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneFilter {
    Is(ItemLane),
    /// In some lane, and not done.
    Open,
}

impl LaneFilter {
    pub fn has(self, lane: Option<ItemLane>) -> bool {
        match self {
            Self::Is(wanted) => lane == Some(wanted),
            Self::Open => lane.is_some_and(|lane| lane != ItemLane::Done),
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
    /// Best first.
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
