//! The shared state of the index: every tree and its documents, and whether each is in the main index or in the
//! overlay.
//!
//! One lock guards it, held only briefly: reading, tokenizing and writing happen elsewhere. Whatever is set here is
//! in the next snapshot.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bit_set::BitSet;

use super::document::{DocumentRecord, TreeId};
use super::document_log::TreeRecord;
use super::main_index::{IndexSnapshot, MainIndex, Segment};
use super::overlay::OverlayDocument;
use super::source::IndexSource;
use crate::disk::Digest;

#[derive(Default)]
pub(crate) struct IndexState {
    pub(crate) trees: Vec<IndexedTree>,
    /// The main index, as searches see it.
    pub(crate) main: Arc<MainIndex>,
    masked: Arc<BitSet>,
    /// Documents that are not in the main index yet.
    pub(crate) overlay: Vec<Arc<OverlayDocument>>,
    /// Slots of the main index whose documents are obsolete, to be deleted by the next fold.
    pub(crate) gone: Vec<u32>,
    free: Vec<u32>,
    slots: u32,
    /// Documents that were set since a bulk write began.
    pub(crate) changed_during_bulk: Option<HashSet<(TreeId, Arc<str>)>>,
}

#[derive(Debug, Default)]
pub(crate) struct IndexedTree {
    pub(crate) family: Arc<str>,
    pub(crate) root: PathBuf,
    /// The day on which somebody worked with it last.
    pub(crate) last_used: i32,
    /// Which files, and what is known of each; none if the family is not there any more.
    pub(crate) source: Option<IndexSource>,
    pub(crate) files: HashMap<Arc<str>, IndexedFile>,
    /// How far we are with it.
    pub(crate) state: CatchUpState,
    /// Documents that changed since the last reindex request, with their digests then.
    pub(crate) digests_at_last_reindex: HashMap<Arc<str>, Option<Digest>>,
    /// Whether a reindex request was made since the start.
    pub(crate) compared: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct IndexedFile {
    pub(crate) entry: Arc<DocumentRecord>,
    /// Its slot in the main index; none if it is in the overlay.
    pub(crate) slot: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum CatchUpState {
    /// Not compared with the disk since the start, or for too long.
    #[default]
    Dormant,
    /// So many of so many documents are done.
    CatchingUp(usize, usize),
    /// It is what the disk says.
    Ready,
}

impl IndexState {
    /// Takes over an index that was opened; documents whose tree is not in the list are to be deleted.
    pub(crate) fn fill(&mut self, trees: Vec<TreeRecord>, main: MainIndex) {
        for TreeRecord { family, root, last_used } in trees {
            self.trees.push(IndexedTree { family, root: root.into(), last_used, ..IndexedTree::default() });
        }
        self.slots = main.entries.len() as u32;
        for (slot, entry) in main.entries.iter().enumerate() {
            let slot = slot as u32;
            match entry {
                Some(entry) if self.trees[entry.tree as usize].is_free() => self.clear(slot),
                Some(entry) => {
                    let known = IndexedFile { entry: Arc::clone(entry), slot: Some(slot) };
                    self.trees[entry.tree as usize].files.insert(Arc::clone(&entry.path), known);
                }
                None => self.free.push(slot),
            }
        }
        self.main = Arc::new(main);
    }

    /// Forgets all documents; returns the trees that were in use, and must be caught up with.
    pub(crate) fn forget(&mut self) -> Vec<TreeId> {
        *self = Self { trees: std::mem::take(&mut self.trees), ..Self::default() };
        let mut live = Vec::new();
        for (number, tree) in self.trees.iter_mut().enumerate() {
            for (path, known) in std::mem::take(&mut tree.files) {
                tree.digests_at_last_reindex.entry(path).or_insert(Some(known.entry.digest));
            }
            if tree.state != CatchUpState::Dormant {
                tree.state = CatchUpState::CatchingUp(0, 0);
                live.push(number as TreeId);
            }
        }
        live
    }

    /// The number of a tree, which it gets now if it has none yet.
    pub(crate) fn tree(&mut self, family: &str, root: &Path) -> TreeId {
        let number = self.find(family, root);
        number.unwrap_or_else(|| {
            let tree = IndexedTree { family: family.into(), root: root.to_owned(), ..IndexedTree::default() };
            let free = self.trees.iter().position(IndexedTree::is_free).unwrap_or(self.trees.len());
            match self.trees.get_mut(free) {
                Some(place) => *place = tree,
                None => self.trees.push(tree),
            }
            free as TreeId
        })
    }

    /// The number of a tree, if it has one.
    pub(crate) fn find(&self, family: &str, root: &Path) -> Option<TreeId> {
        self.trees.iter().position(|tree| *tree.family == *family && tree.root == root).map(|place| place as TreeId)
    }

    /// Every tree, for the document log. Those that somebody has worked with since the start count as used today.
    pub(crate) fn tree_records(&self, today: i32) -> Vec<TreeRecord> {
        let record = |tree: &IndexedTree| TreeRecord {
            family: Arc::clone(&tree.family),
            root: tree.root.clone().into(),
            last_used: if tree.source.is_some() { today } else { tree.last_used },
        };
        self.trees.iter().map(record).collect()
    }

    pub(crate) fn documents(&self) -> usize {
        self.trees.iter().map(|tree| tree.files.len()).sum()
    }

    pub(crate) fn documents_per_tree(&self) -> Vec<(PathBuf, Arc<str>, usize)> {
        let trees = self.trees.iter().filter(|tree| !tree.is_free());
        trees.map(|tree| (tree.root.clone(), Arc::clone(&tree.family), tree.files.len())).collect()
    }

    /// Every document in the main index, with its slot.
    pub(crate) fn main_documents(&self) -> Vec<(u32, Arc<DocumentRecord>)> {
        let all = self.main.entries.iter().enumerate();
        all.filter_map(|(slot, entry)| Some((slot as u32, Arc::clone(entry.as_ref()?)))).collect()
    }

    /// Sets or removes a document. Whether that changes anything.
    pub(crate) fn set_document(
        &mut self,
        tree: TreeId,
        path: &Arc<str>,
        overlay: Option<Arc<OverlayDocument>>,
    ) -> bool {
        let before = self.trees[tree as usize].files.get(path).cloned();
        if before.is_none() && overlay.is_none() {
            return false;
        }
        self.remove_document(tree, path);
        if let Some(overlay) = overlay {
            let known = IndexedFile { entry: Arc::clone(&overlay.entry), slot: None };
            self.trees[tree as usize].files.insert(Arc::clone(path), known);
            self.overlay.push(overlay);
        }
        if let Some(touched) = &mut self.changed_during_bulk {
            touched.insert((tree, Arc::clone(path)));
        }
        true
    }

    fn remove_document(&mut self, tree: TreeId, path: &Arc<str>) {
        let tree = &mut self.trees[tree as usize];
        let before = tree.files.remove(path);
        tree.digests_at_last_reindex
            .entry(Arc::clone(path))
            .or_insert_with(|| before.as_ref().map(|known| known.entry.digest));
        match before {
            Some(IndexedFile { slot: Some(slot), .. }) => self.clear(slot),
            Some(IndexedFile { slot: None, entry }) => {
                self.overlay.retain(|overlay| !Arc::ptr_eq(&overlay.entry, &entry));
            }
            None => {}
        }
    }

    fn clear(&mut self, slot: u32) {
        self.gone.push(slot);
        Arc::make_mut(&mut self.masked).insert(slot as usize);
    }

    pub(crate) fn take_slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        })
    }

    /// The bulk write is given up, and with it the slots that were taken for it.
    pub(crate) fn cancel_bulk(&mut self, slots: impl Iterator<Item = u32>) {
        self.free.extend(slots);
        self.changed_during_bulk = None;
    }

    /// The fold is done. Overlay documents that were written, and did not change meanwhile, are in the main index
    /// now.
    pub(crate) fn finish_fold(
        &mut self,
        written: &[(u32, Arc<DocumentRecord>)],
        cleared: &[u32],
        segments: Vec<Arc<Segment>>,
    ) {
        let mut entries = self.entries_without(cleared);
        for (slot, entry) in written {
            entries[*slot as usize] = Some(Arc::clone(entry));
            let known = self.trees[entry.tree as usize].files.get_mut(&entry.path);
            match known.filter(|known| Arc::ptr_eq(&known.entry, entry)) {
                Some(known) => {
                    known.slot = Some(*slot);
                    self.overlay.retain(|overlay| !Arc::ptr_eq(&overlay.entry, entry));
                }
                None => self.gone.push(*slot),
            }
        }
        self.free.extend(cleared);
        self.replace_main(MainIndex::new(entries, segments));
    }

    /// The bulk write is done: documents that were never in the overlay are in the main index now.
    pub(crate) fn finish_bulk(
        &mut self,
        written: &[(u32, Arc<DocumentRecord>)],
        cleared: &[u32],
        segments: Vec<Arc<Segment>>,
    ) {
        let touched = self.changed_during_bulk.take().unwrap_or_default();
        let mut entries = self.entries_without(cleared);
        for (slot, entry) in written {
            entries[*slot as usize] = Some(Arc::clone(entry));
            if touched.contains(&(entry.tree, Arc::clone(&entry.path))) {
                self.gone.push(*slot);
                continue;
            }
            // The document that was there before has been cleared with the same commit; its slot is cleared once
            // more with the next one, and free then.
            self.remove_document(entry.tree, &entry.path);
            let known = IndexedFile { entry: Arc::clone(entry), slot: Some(*slot) };
            self.trees[entry.tree as usize].files.insert(Arc::clone(&entry.path), known);
        }
        self.replace_main(MainIndex::new(entries, segments));
    }

    /// The documents of the main index by their slots, with room for every slot that was taken.
    fn entries_without(&self, cleared: &[u32]) -> Vec<Option<Arc<DocumentRecord>>> {
        let mut entries = self.main.entries.clone();
        entries.resize((self.slots as usize).max(entries.len()), None);
        cleared.iter().for_each(|slot| entries[*slot as usize] = None);
        entries
    }

    fn replace_main(&mut self, main: MainIndex) {
        self.main = Arc::new(main);
        self.masked = Arc::new(self.gone.iter().map(|slot| *slot as usize).collect());
    }

    /// The same documents in other segments.
    pub(crate) fn replace_segments(&mut self, segments: Vec<Arc<Segment>>) {
        self.main = Arc::new(MainIndex::new(self.main.entries.clone(), segments));
    }

    /// Everything that can be found now.
    pub(crate) fn snapshot(&self) -> IndexSnapshot {
        let (main, masked) = (Arc::clone(&self.main), Arc::clone(&self.masked));
        IndexSnapshot::new(main, masked, self.overlay.as_slice().into())
    }
}

impl IndexedTree {
    /// Whether its number may be given to another tree.
    fn is_free(&self) -> bool {
        self.root.as_os_str().is_empty()
    }

    /// Whether a file is one of its documents, by its path.
    pub(crate) fn wants(&self, path: &str) -> bool {
        let is_hidden = || path.split('/').any(|part| part.starts_with('.'));
        self.source.is_some_and(|source| source.wants(path)) && !is_hidden()
    }
}
