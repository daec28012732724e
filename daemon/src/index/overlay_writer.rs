//! Writes documents into the overlay, on whatever thread learns of a change: a file in, a snapshot with its
//! document out.
//!
//! All files are read through `disk`; a file is read by one thread at a time, so that the newest content is the
//! last to reach the overlay. The main index is written by the index thread alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use parking_lot::{Condvar, Mutex};

use super::backlog::Backlog;
use super::document::{DocumentRecord, ParsedDocument, TreeId};
use super::document_log::TreeRecord;
use super::main_index::MainIndex;
use super::overlay::OverlayDocument;
use super::schema::VariantTerms;
use super::search::{CatchUpProgress, IndexSearch};
use super::source::IndexSource;
use super::state::{CatchUpState, IndexState};
use super::write::{IndexCorrupt, catch_corruption};
use super::{IndexCommand, IndexEvent};
use crate::clock;
use crate::disk::{Digest, Disks, FileContent, FileStamp, ReadError, RelativePath, RootDir, SymlinkPolicy};
use crate::locks::KeyedLocks;
use crate::trees::{Change, ChangeKind};

/// Larger files are not read.
pub(crate) const MAX_DOCUMENT_BYTES: u64 = 16 << 20;
/// A file whose times could hide another change when it was read is read again after this.
const SETTLED: Duration = Duration::from_millis(30);
/// A search in more chunks than this is left to another thread.
const MAX_INLINE_CHUNKS: u64 = 100_000;
/// How long a search waits for a tree that is being caught up with.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(10);

/// A tree whose root is gone is forgotten when nobody has used it for so long.
const MAX_UNUSED_DAYS: i32 = 30;

pub(crate) struct OverlayWriter {
    pub(crate) search: Arc<IndexSearch>,
    pub(crate) index_state: Mutex<IndexState>,
    /// Notified when a tree is ready.
    pub(crate) state_changed: Condvar,
    pub(crate) backlog: Backlog,
    pub(crate) last_problem: Mutex<Option<String>>,
    disks: Arc<Disks>,
    reading: KeyedLocks<(TreeId, Arc<str>)>,
    /// Files that may have changed again within the same tick of their times, and when to read them again.
    unsettled: Mutex<BTreeMap<(TreeId, Arc<str>), Instant>>,
    variant_emitters: Mutex<Vec<VariantTerms>>,
    /// Set when anything is published, until the index thread has seen it.
    pub(crate) published: AtomicBool,
    tasks: Sender<IndexCommand>,
    on_event: Box<dyn Fn(IndexEvent) + Send + Sync>,
}

impl OverlayWriter {
    pub(crate) fn new(
        search: Arc<IndexSearch>,
        disks: Arc<Disks>,
        tasks: Sender<IndexCommand>,
        on_event: Box<dyn Fn(IndexEvent) + Send + Sync>,
    ) -> Self {
        Self {
            search,
            disks,
            index_state: Mutex::default(),
            state_changed: Condvar::new(),
            backlog: Backlog::default(),
            last_problem: Mutex::default(),
            reading: KeyedLocks::default(),
            unsettled: Mutex::default(),
            variant_emitters: Mutex::default(),
            published: AtomicBool::new(false),
            tasks,
            on_event,
        }
    }

    /// Takes over an index that was opened, without trees that are gone and that nobody has used for long.
    pub(crate) fn fill(&self, names: Vec<Arc<str>>, mut trees: Vec<TreeRecord>, main: MainIndex) {
        let oldest = today() - MAX_UNUSED_DAYS;
        for tree in trees.iter_mut().filter(|tree| tree.last_used < oldest) {
            let root = tree.root.clone();
            let opened = self.disks.run_bounded(Path::new(&*tree.root), move || RootDir::open(Path::new(&root)));
            if matches!(opened, Some(Err(ReadError::TreeMissing))) {
                *tree = TreeRecord::default();
            }
        }
        self.search.names.replace_all(names);
        let mut index_state = self.index_state.lock();
        index_state.fill(trees, main);
        self.publish(&index_state);
    }

    pub(crate) fn send_event(&self, told: IndexEvent) {
        if let IndexEvent::Warning(warning) = &told {
            *self.last_problem.lock() = Some(warning.clone());
        }
        (self.on_event)(told);
    }

    /// Waits until a tree is known; how far we are with it, if that takes too long.
    pub(crate) fn wait_for(&self, family: &str, root: &Path) -> (Option<TreeId>, CatchUpProgress) {
        self.wait_until(family, root, Instant::now() + CATCH_UP_TIMEOUT)
    }

    /// The same, until a moment.
    pub(crate) fn wait_until(&self, family: &str, root: &Path, end: Instant) -> (Option<TreeId>, CatchUpProgress) {
        let mut index_state = self.index_state.lock();
        loop {
            let tree = index_state.find(family, root);
            let state = tree.map(|tree| index_state.trees[tree as usize].state);
            let progress = match state {
                Some(CatchUpState::Ready) => return (tree, None),
                Some(CatchUpState::CatchingUp(done, total)) => (done, total),
                _ => (0, 0),
            };
            if self.state_changed.wait_until(&mut index_state, end).timed_out() {
                return (tree, Some(progress));
            }
        }
    }

    /// A tree that is known, without waiting, if a search in it takes only a moment.
    pub(crate) fn ready(&self, family: &str, root: &Path) -> Option<TreeId> {
        if self.search.snapshot.load().main.chunks > MAX_INLINE_CHUNKS {
            return None;
        }
        let index_state = self.index_state.try_lock()?;
        index_state
            .find(family, root)
            .filter(|tree| matches!(index_state.trees[*tree as usize].state, CatchUpState::Ready))
    }

    /// The trees with this root of which a file is a document.
    pub(crate) fn trees_at(&self, root: &Path, path: &str) -> Vec<TreeId> {
        let index_state = self.index_state.lock();
        let trees = index_state.trees.iter().enumerate();
        let here = trees.filter(|(_, tree)| tree.root == root && tree.wants(path));
        here.map(|(number, _)| number as TreeId).collect()
    }

    /// Reads a file if its stamp changed, and adds it to the overlay. Whether it is so recent that it must be
    /// checked again.
    pub(crate) fn refresh(&self, tree: TreeId, path: &Arc<str>, is_gone: bool) {
        let key = (tree, Arc::clone(path));
        let _alone = self.reading.take([key.clone()]);
        let is_settled = !self.unsettled.lock().contains_key(&key);
        if let Some(stamp) = self.update_document(tree, path, is_settled, is_gone) {
            self.note_age(tree, path, &stamp);
        }
    }

    /// A file that looks as it is known to is read all the same unless it is settled. The identity of what was read is
    /// returned.
    fn update_document(&self, tree: TreeId, path: &Arc<str>, is_settled: bool, is_gone: bool) -> Option<FileStamp> {
        let (root, source, known) = self.known(tree, path)?;
        let known = known.as_deref();
        let known_stamp = known.map(|entry| entry.stamp).filter(|_| is_settled);
        match self.read_unless_known(&root, path, known_stamp) {
            Ok(None) => None,
            Ok(Some(seen)) => {
                let stamp = seen.stamp;
                let is_same = |entry: &DocumentRecord| entry.stamp == stamp && entry.digest == Digest::of(&seen.bytes);
                if !known.is_some_and(is_same) {
                    self.add_to_overlay(tree, path, seen, source);
                }
                Some(stamp)
            }
            // A tree that is away for a moment keeps its documents until somebody says that they are gone.
            Err(ReadError::TreeMissing | ReadError::Io(_)) if !is_gone || self.disks.is_silent(&root) => None,
            // What cannot be read cannot be found.
            Err(_) => {
                self.forget(tree, path);
                None
            }
        }
    }

    /// A file is no document any more.
    pub(crate) fn forget(&self, tree: TreeId, path: &Arc<str>) {
        let mut index_state = self.index_state.lock();
        if index_state.set_document(tree, path, None) {
            self.publish_overlay(&index_state);
        }
    }

    /// Looks at files that changed, one by one.
    pub(crate) fn follow(&self, changes: &[Change]) {
        for Change { tree: root, path, kind, .. } in changes {
            let Some(path) = path.to_str() else { continue };
            for tree in self.trees_at(root, path) {
                self.refresh(tree, &path.into(), *kind == ChangeKind::Removed);
            }
        }
    }

    /// A file was read just now, with this identity.
    pub(crate) fn note_age(&self, tree: TreeId, path: &Arc<str>, stamp: &FileStamp) {
        let key = (tree, Arc::clone(path));
        let mut unsettled = self.unsettled.lock();
        match stamp.may_hide_a_change(clock::epoch_nanos()) {
            true => unsettled.insert(key, Instant::now() + SETTLED),
            false => unsettled.remove(&key),
        };
    }

    /// When files that may have changed again are to be read again.
    pub(crate) fn settles_at(&self) -> Option<Instant> {
        self.unsettled.lock().values().min().copied()
    }

    /// Reads files again for which it is time; once, whatever their times say then.
    pub(crate) fn settle(&self) {
        let now = Instant::now();
        let mut unsettled = self.unsettled.lock();
        let due: Vec<(TreeId, Arc<str>)> =
            unsettled.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()).collect();
        unsettled.retain(|_, at| *at > now);
        drop(unsettled);
        for (tree, path) in due {
            let _alone = self.reading.take([(tree, Arc::clone(&path))]);
            self.update_document(tree, &path, false, false);
        }
    }

    pub(crate) fn known(
        &self,
        tree: TreeId,
        path: &Arc<str>,
    ) -> Option<(PathBuf, IndexSource, Option<Arc<DocumentRecord>>)> {
        let index_state = self.index_state.lock();
        let tree = &index_state.trees[tree as usize];
        let known = tree.files.get(path).map(|known| Arc::clone(&known.entry));
        Some((tree.root.clone(), tree.source?, known))
    }

    /// Reads a file, unless its state is a known one. Nobody waits for a disk that does not answer.
    pub(crate) fn read_unless_known(
        &self,
        root: &Path,
        path: &str,
        known: Option<FileStamp>,
    ) -> Result<Option<FileContent>, ReadError> {
        let way = RelativePath::from_components(path).ok_or(ReadError::Missing)?;
        let (search, directory) = (Arc::clone(&self.search), root.to_owned());
        let read = move || {
            let file = search.roots.open(&directory)?.open_file(&way, SymlinkPolicy::Refuse)?;
            if known == Some(file.stamp()) {
                return Ok(None);
            }
            file.read(MAX_DOCUMENT_BYTES).map(Some)
        };
        let read = self.disks.run_bounded(root, read);
        read.unwrap_or_else(|| Err(ReadError::Io("its disk does not answer".to_owned())))
    }

    /// What a file says, now that it was read. That something is wrong with it is told once for each text.
    pub(crate) fn parse(
        &self,
        tree: TreeId,
        path: &Arc<str>,
        seen: FileContent,
        source: IndexSource,
    ) -> ParsedDocument {
        let document = ParsedDocument::read(tree, path, seen, source, &self.search.names);
        if let Some(problem) = document.problem {
            let index_state = self.index_state.lock();
            let tree = &index_state.trees[tree as usize];
            let is_new = tree.files.get(path).is_none_or(|known| known.entry.digest != document.entry.digest);
            let warning = format!("{} `{path}` {problem}", tree.family);
            drop(index_state);
            if is_new {
                (self.on_event)(IndexEvent::Warning(warning));
            }
        }
        document
    }

    fn add_to_overlay(&self, tree: TreeId, path: &Arc<str>, seen: FileContent, source: IndexSource) {
        let document = self.parse(tree, path, seen, source);
        let mut shades = self.variant_emitters.lock().pop().unwrap_or_default();
        let overlay = Arc::new(OverlayDocument::new(document, &mut shades));
        self.variant_emitters.lock().push(shades);
        let mut index_state = self.index_state.lock();
        index_state.set_document(tree, path, Some(overlay));
        self.publish_overlay(&index_state);
    }

    fn publish_overlay(&self, index_state: &IndexState) {
        self.publish(index_state);
        if !self.published.swap(true, Ordering::AcqRel) {
            let _ = self.tasks.send(IndexCommand::OverlayChanged);
        }
    }

    pub(crate) fn publish(&self, index_state: &IndexState) {
        self.search.snapshot.store(Arc::new(index_state.snapshot()));
    }

    /// Carries out something with the index that may fail in ways of its own; then there will be a new one.
    pub(crate) fn rebuild_on_error<T>(
        &self,
        work: impl FnOnce() -> Result<T, IndexCorrupt>,
    ) -> Result<T, IndexCorrupt> {
        let done = catch_corruption(work);
        if let Err(IndexCorrupt(why)) = &done {
            let _ = self.tasks.send(IndexCommand::Rebuild(why.clone()));
        }
        done
    }
}

/// Days since the epoch.
pub(crate) fn today() -> i32 {
    (clock::epoch_millis() / Duration::from_hours(24).as_millis() as i64) as i32
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::super::document_log::tests::entry;
    use super::*;

    #[test]
    fn trees_that_are_gone_and_unused_leave_the_index() {
        let home = TempDir::new().expect("a directory");
        let there = home.path().to_owned();
        let tree = |root: PathBuf, days: i32| TreeRecord {
            family: "vibe".into(),
            root: root.into(),
            last_used: today() - days,
        };
        let gone = there.join("gone");
        let trees = vec![tree(gone.clone(), 31), tree(gone.clone(), 30), tree(there.clone(), 1000)];
        let document = |tree: TreeId| Some(Arc::new(DocumentRecord { tree, ..(*entry("a.md")).clone() }));
        let main = MainIndex::new((0..3).map(document).collect(), Vec::new());
        let (tasks, _) = crossbeam_channel::unbounded();
        let writer = OverlayWriter::new(Arc::default(), Arc::default(), tasks, Box::new(|_| {}));
        writer.fill(Vec::new(), trees, main);
        let mut index_state = writer.index_state.lock();
        assert_eq!(index_state.documents_per_tree(), [(gone, "vibe".into(), 1), (there, "vibe".into(), 1)]);
        assert_eq!((index_state.gone.as_slice(), index_state.documents()), ([0].as_slice(), 2));
        assert!(index_state.snapshot().masked.contains(0) && !index_state.snapshot().masked.contains(1));
        assert_eq!(index_state.tree("todo", Path::new("/new")), 0, "its number is free");
    }
}
