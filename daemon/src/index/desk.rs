//! What is known of every tree, and what of it is where: on the shelf, or fresh.
//!
//! One lock guards it, and it is only held for moments: reading, analysing and writing happen elsewhere. Whatever
//! is put here is in the next snapshot.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entry::{Entry, TreeId};
use super::overlay::Fresh;
use super::shelf::{Mask, Shelf, Snapshot};
use super::table::{Listed, TreeName};
use crate::disk::Digest;
use crate::families::facts::Documents;

/// What is known.
#[derive(Debug, Default)]
pub struct Desk {
    /// The trees, by their numbers.
    pub trees: Vec<Tree>,
    /// The main index, as searches see it.
    pub shelf: Arc<Shelf>,
    masked: Arc<Mask>,
    /// Documents that are not on the shelf yet.
    pub fresh: Vec<Arc<Fresh>>,
    /// Slots on the shelf that do not count any more, and are to be cleared.
    pub gone: Vec<u32>,
    free: Vec<u32>,
    slots: u32,
    /// What was put here since somebody began to write much.
    touched: Option<HashSet<(TreeId, Arc<str>)>>,
}

/// One tree.
#[derive(Debug)]
pub struct Tree {
    /// Whose documents.
    pub family: Arc<str>,
    /// Where it is.
    pub root: PathBuf,
    /// Which files, and what is known of each; none if the family is not there any more.
    pub documents: Option<Documents>,
    /// Its documents.
    pub files: HashMap<Arc<str>, Known>,
    /// How far we are with it.
    pub state: State,
    /// What became of documents since somebody last compared: what they were then.
    pub since: HashMap<Arc<str>, Option<Digest>>,
    /// Somebody has compared: when the daemon first caught up with it.
    pub compared: bool,
}

/// One document.
#[derive(Debug, Clone)]
pub struct Known {
    /// What is kept of it.
    pub entry: Arc<Entry>,
    /// Its slot on the shelf; none if it is fresh.
    pub slot: Option<u32>,
}

/// How far we are with a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// Nobody has looked at it since the start, or for too long.
    #[default]
    Asleep,
    /// So many of so many documents are done.
    CatchingUp(usize, usize),
    /// It is what the disk says.
    Ready,
}

impl Desk {
    /// What the index on the disk knows.
    pub fn fill(&mut self, listed: &Listed, shelf: Shelf) {
        for (number, (family, root)) in listed.trees.iter().enumerate() {
            debug_assert_eq!(number, self.trees.len());
            self.trees.push(Tree::new(Arc::clone(family), root.clone()));
        }
        self.slots = listed.entries.len() as u32;
        for (slot, entry) in listed.entries.iter().enumerate() {
            match entry {
                Some(entry) => {
                    let known = Known { entry: Arc::clone(entry), slot: Some(slot as u32) };
                    self.trees[entry.tree as usize].files.insert(Arc::clone(&entry.path), known);
                }
                None => self.free.push(slot as u32),
            }
        }
        self.shelf = Arc::new(shelf);
    }

    /// Everything is to be read again.
    pub fn forget(&mut self) {
        let trees = std::mem::take(&mut self.trees);
        *self = Self::default();
        self.trees = trees;
        for tree in &mut self.trees {
            let before = std::mem::take(&mut tree.files);
            for (path, known) in before {
                tree.since.entry(path).or_insert(Some(known.entry.digest));
            }
            tree.state = State::Asleep;
        }
    }

    /// The number of a tree, a new one if it has none yet.
    pub fn tree(&mut self, family: &str, root: &Path) -> TreeId {
        let place = self.find(family, root);
        place.unwrap_or_else(|| {
            self.trees.push(Tree::new(family.into(), root.to_owned()));
            (self.trees.len() - 1) as TreeId
        })
    }

    /// The number of a tree, if it has one.
    pub fn find(&self, family: &str, root: &Path) -> Option<TreeId> {
        self.trees.iter().position(|tree| *tree.family == *family && tree.root == root).map(|place| place as TreeId)
    }

    /// The names of all trees.
    pub fn tree_names(&self) -> Vec<TreeName> {
        self.trees.iter().map(|tree| (Arc::clone(&tree.family), tree.root.clone())).collect()
    }

    /// How many documents there are.
    pub fn documents(&self) -> usize {
        self.trees.iter().map(|tree| tree.files.len()).sum()
    }

    /// Every document on the shelf, with its slot.
    pub fn shelved(&self) -> Vec<(u32, Arc<Entry>)> {
        let all = self.shelf.entries.iter().enumerate();
        all.filter_map(|(slot, entry)| Some((slot as u32, Arc::clone(entry.as_ref()?)))).collect()
    }

    /// A document is what was just read, or gone. Whether that is news.
    pub fn put(&mut self, tree: TreeId, path: &Arc<str>, fresh: Option<Arc<Fresh>>) -> bool {
        let before = self.trees[tree as usize].files.get(path).cloned();
        if before.is_none() && fresh.is_none() {
            return false;
        }
        self.let_go(tree, path);
        if let Some(fresh) = fresh {
            let known = Known { entry: Arc::clone(&fresh.entry), slot: None };
            self.trees[tree as usize].files.insert(Arc::clone(path), known);
            self.fresh.push(fresh);
        }
        if let Some(touched) = &mut self.touched {
            touched.insert((tree, Arc::clone(path)));
        }
        true
    }

    fn let_go(&mut self, tree: TreeId, path: &Arc<str>) {
        let tree = &mut self.trees[tree as usize];
        let before = tree.files.remove(path);
        tree.since.entry(Arc::clone(path)).or_insert_with(|| before.as_ref().map(|known| known.entry.digest));
        match before {
            Some(Known { slot: Some(slot), .. }) => self.clear(slot),
            Some(Known { slot: None, entry }) => self.fresh.retain(|fresh| !Arc::ptr_eq(&fresh.entry, &entry)),
            None => {}
        }
    }

    fn clear(&mut self, slot: u32) {
        self.gone.push(slot);
        Arc::make_mut(&mut self.masked).add(slot);
    }

    /// A slot that nobody has.
    pub fn take_slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        })
    }

    /// Slots that were taken for nothing.
    pub fn give_back(&mut self, slots: impl Iterator<Item = u32>) {
        self.free.extend(slots);
    }

    /// Somebody begins to write much, without telling until it is done.
    pub fn begin_much(&mut self) {
        self.touched = Some(HashSet::new());
    }

    /// It is done. What is fresh and was written, and did not move meanwhile, is on the shelf now.
    pub fn shelve_fresh(
        &mut self,
        written: &[(u32, Arc<Entry>)],
        cleared: &[u32],
        shelf: impl FnOnce(Entries) -> Shelf,
    ) {
        let mut entries = self.entries_without(cleared);
        for (slot, entry) in written {
            entries.set(*slot, entry);
            let known = self.trees[entry.tree as usize].files.get_mut(&entry.path);
            match known.filter(|known| Arc::ptr_eq(&known.entry, entry)) {
                Some(known) => {
                    known.slot = Some(*slot);
                    self.fresh.retain(|fresh| !Arc::ptr_eq(&fresh.entry, entry));
                }
                None => self.gone.push(*slot),
            }
        }
        self.free.extend(cleared);
        self.turn_over(shelf(entries));
    }

    /// The same for documents that were read and written in one go, and never were fresh.
    pub fn shelve_much(
        &mut self,
        written: &[(u32, Arc<Entry>)],
        cleared: &[u32],
        shelf: impl FnOnce(Entries) -> Shelf,
    ) {
        let touched = self.touched.take().unwrap_or_default();
        let mut entries = self.entries_without(cleared);
        for (slot, entry) in written {
            entries.set(*slot, entry);
            if touched.contains(&(entry.tree, Arc::clone(&entry.path))) {
                self.gone.push(*slot);
                continue;
            }
            // The document that was there before has been cleared with the same commit; its slot is cleared once
            // more with the next one, and free then.
            self.let_go(entry.tree, &entry.path);
            let known = Known { entry: Arc::clone(entry), slot: Some(*slot) };
            self.trees[entry.tree as usize].files.insert(Arc::clone(&entry.path), known);
        }
        self.turn_over(shelf(entries));
    }

    fn entries_without(&self, cleared: &[u32]) -> Entries {
        let mut entries = self.shelf.entries.clone();
        entries.resize((self.slots as usize).max(entries.len()), None);
        cleared.iter().for_each(|slot| entries[*slot as usize] = None);
        Entries(entries)
    }

    fn turn_over(&mut self, shelf: Shelf) {
        self.shelf = Arc::new(shelf);
        let mut masked = Mask::default();
        self.gone.iter().for_each(|slot| masked.add(*slot));
        self.masked = Arc::new(masked);
    }

    /// The same documents in other segments.
    pub fn exchange_shelf(&mut self, shelf: impl FnOnce(Entries) -> Shelf) {
        let shelf = shelf(Entries(self.shelf.entries.clone()));
        self.shelf = Arc::new(shelf);
    }

    /// Everything that can be found now.
    pub fn snapshot(&self) -> Snapshot {
        let (shelf, masked) = (Arc::clone(&self.shelf), Arc::clone(&self.masked));
        Snapshot { shelf, masked, fresh: self.fresh.as_slice().into() }
    }
}

/// Documents by their slots.
#[derive(Debug)]
pub struct Entries(pub Vec<Option<Arc<Entry>>>);

impl Entries {
    fn set(&mut self, slot: u32, entry: &Arc<Entry>) {
        let slot = slot as usize;
        if self.0.len() <= slot {
            self.0.resize(slot + 1, None);
        }
        self.0[slot] = Some(Arc::clone(entry));
    }
}

impl Tree {
    fn new(family: Arc<str>, root: PathBuf) -> Self {
        Self {
            family,
            root,
            documents: None,
            files: HashMap::new(),
            state: State::Asleep,
            since: HashMap::new(),
            compared: false,
        }
    }

    /// Whether a file is one of its documents, by its path.
    pub fn wants(&self, path: &str) -> bool {
        let is_hidden = || path.split('/').any(|part| part.starts_with('.'));
        self.documents.is_some_and(|documents| (documents.wanted)(path)) && !is_hidden()
    }
}
