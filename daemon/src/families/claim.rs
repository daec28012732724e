//! Who is on which item: what is asked of whoever keeps claims, and what comes back. Nothing is kept here.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::item::ItemKey;
use super::item_set::{ItemRef, ItemTreeView};
use super::need::{Need, ReadContext};
use super::session::Caller;

/// A claim as everybody may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemClaim {
    /// The host of the session that holds it.
    pub by: String,
    /// The session's name that people see.
    pub session: String,
    /// Seconds of the epoch.
    pub since: i64,
    pub until: i64,
}

/// An item by the tree it is in, which is what a claim is kept by: its address may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemAt {
    pub family: &'static str,
    pub tree: PathBuf,
    /// The project in the workspace; none where the tree is a project's.
    pub project: Option<String>,
    pub key: ItemKey,
}

impl From<ItemRef<'_>> for ItemAt {
    fn from(found: ItemRef<'_>) -> Self {
        let (tree, item) = (found.tree, found.item);
        Self { family: tree.family, tree: tree.root.clone(), project: item.project.clone(), key: item.key.clone() }
    }
}

/// Asks for a claim, or gives one back.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    pub item: ItemAt,
    pub action: ClaimAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimAction {
    Take { minutes: u16 },
    Release,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// It is the caller's; `renewed` if it was before.
    Held { claim: ItemClaim, renewed: bool },
    /// Nobody holds it; whether the caller did.
    Free { was_held: bool },
}

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimError {
    /// Another session holds it.
    Held(ItemClaim),
    /// The session has so many claims already.
    TooMany(usize),
    /// It could not be made to last.
    NotWritten(String),
}

/// Keeps the claims of all sessions.
pub trait Claims: fmt::Debug {
    /// What is granted is on the disk when this returns.
    fn request(&self, request: &ClaimRequest, caller: &Caller) -> Result<ClaimOutcome, ClaimError>;

    /// Those in force on items of these trees.
    fn in_force(&self, trees: &[ItemTreeView], caller: Option<&Caller>) -> ItemClaims;
}

impl Need for ClaimRequest {
    type Output = Result<ClaimOutcome, ClaimError>;

    fn fetch(self, context: &ReadContext<'_>) -> Option<Self::Output> {
        let kept = context.claims.zip(context.caller);
        let nowhere = || ClaimError::NotWritten("no claims are kept here".to_owned());
        Some(kept.ok_or_else(nowhere).and_then(|(claims, caller)| claims.request(&self, caller)))
    }
}

/// The claims in force on the items of some trees at one moment.
#[derive(Debug, Clone, Default)]
pub struct ItemClaims {
    by_key: HashMap<ItemKey, Vec<PlacedClaim>>,
}

#[derive(Debug, Clone)]
struct PlacedClaim {
    item: ItemAt,
    claim: ItemClaim,
    is_mine: bool,
}

impl ItemClaims {
    pub fn insert(&mut self, item: ItemAt, claim: ItemClaim, is_mine: bool) {
        self.by_key.entry(item.key.clone()).or_default().push(PlacedClaim { item, claim, is_mine });
    }

    /// The claim on an item, and whether it is the caller's own.
    pub fn of(&self, found: ItemRef<'_>) -> Option<(&ItemClaim, bool)> {
        let is_it = |placed: &&PlacedClaim| {
            placed.item.project == found.item.project
                && placed.item.family == found.tree.family
                && placed.item.tree == found.tree.root
        };
        let placed = self.by_key.get(&found.item.key)?.iter().find(is_it)?;
        Some((&placed.claim, placed.is_mine))
    }
}

impl ItemAt {
    /// The same item in another worktree.
    #[must_use]
    pub fn in_tree(&self, tree: &Path) -> Self {
        Self { tree: tree.to_owned(), ..self.clone() }
    }
}

/// A time of the epoch as answers show it: UTC, to the second.
pub fn shown_time(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
