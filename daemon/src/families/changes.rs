//! Entries of the feed meet items: which changes a caller asks for, and what they are about, by the addresses of today.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::address::{self, AddressedItem};
use super::feed::{ChangeRequest, FeedEntry, FeedFile, FileChange, History, PastChange, entries};
use super::item::{ItemKey, TreeOwner};
use super::item_set::{ItemScope, ItemSet, ItemTreeView, ItemsError, ItemsRequest};
use super::need::{Need, ReadContext, no_items};
use crate::clock::Now;
use crate::disk::journal::ChangedItem;

/// More items of one change are only counted.
pub const MAX_ITEMS: usize = 5;

/// An item that a change is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchedItem {
    pub uri: String,
    pub title: String,
}

impl TouchedItem {
    pub fn shown(&self) -> Value {
        json!({ "uri": self.uri, "title": self.title })
    }
}

/// The tree in which a file of a change is, if this session sees its items.
pub fn tree_of<'a>(file: &FeedFile, set: &'a ItemSet) -> Option<&'a ItemTreeView> {
    set.trees.iter().find(|tree| {
        tree.root.to_str() == Some(&file.tree)
            && match &file.family {
                Some(family) => family == tree.family,
                None => tree.face.holds_items(&file.path),
            }
    })
}

/// Whether a caller who asked for some projects asked for this file.
pub fn is_wanted(file: &FeedFile, set: &ItemSet) -> bool {
    tree_of(file, set).is_some_and(|tree| {
        let is_in = |project: &String| file.path.split_once('/').is_some_and(|(first, _)| first == project);
        tree.is_wanted && tree.wanted_projects.as_ref().is_none_or(|wanted| wanted.iter().any(is_in))
    })
}

/// The items that a change is about, each once.
pub fn touched_items(entry: &FeedEntry, set: &ItemSet) -> Vec<TouchedItem> {
    let mut touched: Vec<TouchedItem> = Vec::new();
    for file in &entry.files {
        for item in tree_of(file, set).map(|tree| items_of(file, tree)).unwrap_or_default() {
            if !touched.contains(&item) {
                touched.push(item);
            }
        }
    }
    touched
}

/// What stands for a file of which nobody knows which items changed: its first.
fn items_of(file: &FeedFile, tree: &ItemTreeView) -> Vec<TouchedItem> {
    let item = |project: Option<&str>, key: &ItemKey, title: &str| {
        let today = tree.find(project, key).map(|found| found.title().to_owned());
        TouchedItem { uri: tree.address(project, key), title: today.unwrap_or_else(|| title.to_owned()) }
    };
    if !file.items.is_empty() {
        let key = |path: &str, fragment: &Option<String>| ItemKey { path: path.to_owned(), fragment: fragment.clone() };
        let each = file.items.iter();
        return each
            .map(|known| item(known.project.as_deref(), &key(&known.path, &known.fragment), &known.title))
            .collect();
    }
    // Nobody has looked into it: its first item stands for the file.
    let today = tree.files.get(file.path.as_str()).and_then(|file| file.items.items.first().cloned());
    let first = today.or_else(|| (tree.face.items)(&file.path, b"").items.into_iter().next());
    first.iter().map(|first| item(first.project.as_deref(), &first.key, &first.title)).collect()
}

/// What a change did, in one word.
pub fn what(entry: &FeedEntry) -> &'static str {
    let all = |what| entry.files.iter().all(|file| file.what == what);
    match () {
        () if entry.files.iter().any(|file| file.what == FileChange::Moved) => "moved",
        () if all(FileChange::Created) => "created",
        () if all(FileChange::Deleted) => "deleted",
        () => "changed",
    }
}

/// From when on, as a caller says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    At(Timestamp),
    /// So many seconds ago.
    Ago(i64),
    /// After this change.
    Change(u64),
}

impl Since {
    fn takes(self, entry: &FeedEntry, now: Timestamp) -> bool {
        match self {
            Self::At(at) => entry.at >= at.as_millisecond(),
            Self::Ago(seconds) => entry.at >= now.as_millisecond().saturating_sub(seconds.saturating_mul(1000)),
            Self::Change(change) => entry.id > change,
        }
    }
}

/// Asks for changes, newest first.
#[derive(Debug, Clone)]
pub struct RecentRequest {
    pub scope: ItemScope,
    /// Only changes of this item.
    pub uri: Option<String>,
    pub since: Option<Since>,
    pub by: Option<String>,
    /// Only this one.
    pub change: Option<u64>,
    /// Those before this one.
    pub before: Option<u64>,
    pub limit: usize,
    /// With the texts of their files.
    pub with_texts: bool,
}

#[derive(Debug, Clone)]
pub struct RecentChanges {
    pub set: ItemSet,
    pub changes: Vec<RecentChange>,
    /// Whether there are more.
    pub has_more: bool,
}

#[derive(Debug, Clone)]
pub struct RecentChange {
    pub entry: Arc<FeedEntry>,
    pub undone_by: Option<u64>,
    /// Whether every old text can be had.
    pub is_kept: bool,
    /// Of each file: before and after, if both can be had.
    pub texts: Vec<Option<(Vec<u8>, Vec<u8>)>>,
}

impl Need for RecentRequest {
    type Output = Result<RecentChanges, ItemsError>;

    fn fetch(self, context: &ReadContext<'_>) -> Option<Self::Output> {
        Some(self.find(context))
    }
}

impl RecentRequest {
    fn find(self, context: &ReadContext<'_>) -> Result<RecentChanges, ItemsError> {
        let items = context.items.ok_or_else(no_items)?;
        let set = items.items(&ItemsRequest { scope: self.scope.clone() }, context)?;
        let mut item = self.uri.as_deref().map(|uri| TrackedItem::of(uri, &set)).transpose()?;
        let Some(history) = context.history else {
            return Ok(RecentChanges { set, changes: Vec::new(), has_more: false });
        };
        let now = Now::read(&context.session.zone.0).at;
        let is_late_enough = |entry: &Arc<FeedEntry>| match self.since {
            // Numbers and times grow together, nearly: what others did is numbered when it is over.
            Some(Since::Change(change)) => entry.id > change,
            Some(since) => since.takes(entry, now - MAX_GATHERING),
            None => true,
        };
        let mut found = Vec::new();
        for entry in entries(history, self.change.and_then(|change| change.checked_add(1))).take_while(is_late_enough) {
            if self.change.is_some_and(|change| entry.id != change) {
                break;
            }
            // Followed from the newest on, also through what is not shown.
            let is_about = item.as_mut().is_none_or(|item| item.is_in(&entry, &set));
            let is_wanted = is_about
                && self.before.is_none_or(|before| entry.id < before)
                && self.by.as_ref().is_none_or(|by| *by == entry.by)
                && self.since.is_none_or(|since| since.takes(&entry, now))
                && entry.files.iter().any(|file| is_wanted(file, &set));
            if is_wanted {
                found.push(entry);
            }
            if found.len() > self.limit {
                break;
            }
        }
        let has_more = found.len() > self.limit;
        found.truncate(self.limit);
        let changes = found.into_iter().map(|entry| self.change_of(entry, history, context)).collect();
        Ok(RecentChanges { set, changes, has_more })
    }

    fn change_of(&self, entry: Arc<FeedEntry>, history: &dyn History, context: &ReadContext<'_>) -> RecentChange {
        let is_kept = |file: &FeedFile| file.old.is_none_or(|old| history.has_text(old));
        let texts = if self.with_texts { texts(&entry, history, context) } else { Vec::new() };
        RecentChange { undone_by: history.undone_by(entry.id), is_kept: entry.files.iter().all(is_kept), texts, entry }
    }
}

/// What others do within this time may be one change.
const MAX_GATHERING: jiff::SignedDuration = jiff::SignedDuration::from_secs(61);

fn texts(entry: &FeedEntry, history: &dyn History, context: &ReadContext<'_>) -> Vec<Option<(Vec<u8>, Vec<u8>)>> {
    let Some(Some(PastChange { files, .. })) = (ChangeRequest { change: Some(entry.id) }).fetch(context) else {
        return Vec::new();
    };
    let text = |(file, past): (&FeedFile, super::feed::PastFile)| {
        let before = file.old.map_or(Some(Vec::new()), |_| past.old)?;
        let now = past.now.ok().flatten().map(|content| content.bytes);
        let after = match file.new {
            None => Vec::new(),
            Some(new) => now.filter(|now| crate::disk::Digest::of(now) == new).or_else(|| history.text(new))?,
        };
        (!entry.is_by_hand()).then_some((before, after))
    };
    entry.files.iter().zip(files).map(text).collect()
}

/// An item that is followed back through our own moves.
struct TrackedItem {
    tree: String,
    family: &'static str,
    project: Option<String>,
    key: ItemKey,
    /// Its file, if it has one of its own.
    file: Option<String>,
}

impl TrackedItem {
    fn of(uri: &str, set: &ItemSet) -> Result<Self, ItemsError> {
        let address = address::parse(uri, &set.families).ok_or(ItemsError::InvalidAddress)?;
        let AddressedItem::Item { key, .. } = &address.target else { return Err(ItemsError::InvalidAddress) };
        let name = &address.project;
        let is_its = |tree: &&ItemTreeView| {
            tree.family == address.family
                && match (tree.owner, name.as_str()) {
                    (TreeOwner::Workspace, _) => true,
                    (_, "") => tree.is_own,
                    (_, name) => set.names.find(name).ok().and_then(|path| set.names.name(path)) == Some(&tree.project),
                }
        };
        let tree = set.trees.iter().find(is_its).ok_or_else(|| match set.names.find(name) {
            Err(error) => ItemsError::name(name, error, &set.names),
            Ok(_) => ItemsError::Read(crate::disk::ReadError::TreeMissing),
        })?;
        let project = (tree.owner == TreeOwner::Workspace).then(|| name.clone());
        let file = match (tree.face.home)(key) {
            Some(super::item::ItemHome::File(path)) if key.fragment.is_none() => {
                let path = project.as_ref().map_or_else(|| path.clone(), |project| format!("{project}/{path}"));
                let is_whole =
                    matches!((tree.face.items)(&path, b"x\n").items.as_slice(), [item] if item.span == (0..2));
                is_whole.then_some(path)
            }
            _ => None,
        };
        let tree_path = tree.root.to_string_lossy().into_owned();
        Ok(Self { tree: tree_path, family: tree.family, project, key: key.clone(), file })
    }

    /// Whether an entry is about it. From a move on back, it has its old name.
    fn is_in(&mut self, entry: &FeedEntry, set: &ItemSet) -> bool {
        let is_it = |item: &ChangedItem| {
            item.project == self.project && item.path == self.key.path && item.fragment == self.key.fragment
        };
        let of_tree = |file: &&FeedFile| {
            file.tree == self.tree && tree_of(file, set).is_some_and(|tree| tree.family == self.family)
        };
        let is_about = |file: &&FeedFile| match &self.file {
            Some(path) => file.path == *path,
            None => file.items.iter().any(is_it),
        };
        let Some(file) = entry.files.iter().filter(of_tree).find(is_about) else { return false };
        if let (Some(from), Some(path)) = (&file.from, &mut self.file) {
            path.clone_from(from);
        }
        true
    }
}
