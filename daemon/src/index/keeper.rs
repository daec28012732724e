//! Keeps desk, store and snapshot in step: files in, documents on the desk, folds and catch-ups in the store.
//!
//! Everything that is read is read through `disk`; of one file only one reading happens at a time, so that the
//! newest is the last to be put on the desk.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use crossbeam_channel::Sender;
use parking_lot::{Condvar, Mutex};
use trellis_protocol::control::Progress;

use super::desk::{Desk, State};
use super::entry::{Document, Entry, TreeId};
use super::heal;
use super::names::Names;
use super::overlay::Fresh;
use super::schema::Shades;
use super::shelf::Snapshot;
use super::table::News;
use super::texts::Texts;
use super::write::{Amount, Store};
use super::{Task, Told};
use crate::clock;
use crate::disk::reporter::Step;
use crate::disk::{Identity, RelativePath, Reporter, Roots};
use crate::engine::Locks;
use crate::families::facts::Documents;
use crate::families::need::{FileSeen, Links, Unseen};
use crate::watch::{ChangeKind, Tree as Walk, Watch};

/// Larger files are not read.
pub const LARGEST: u64 = 16 << 20;
/// So many documents are written before what is there is published.
const BATCH: usize = 20_000;
/// Between two words about how far we are.
const STEPS: usize = 200;
/// A file younger than this may change again without showing it.
const TICK_NS: i128 = 20_000_000;
/// How long the watcher may take to see a tree for the first time.
const FIRST_LOOK: Duration = Duration::from_secs(30);

/// Something is wrong with the index itself.
#[derive(Debug)]
pub struct Ill(pub String);

impl From<tantivy::TantivyError> for Ill {
    fn from(error: tantivy::TantivyError) -> Self {
        Self(error.to_string())
    }
}

/// Which of the files that are named are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Those whose state is another one.
    Changed,
    /// All.
    All,
}

/// What was taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

/// Keeps everything in step.
pub struct Keeper {
    home: PathBuf,
    /// Words that come again and again.
    pub names: Names,
    /// What is known.
    pub desk: Mutex<Desk>,
    /// A tree is ready, or further than before.
    pub moved: Condvar,
    /// Everything that can be found.
    pub snapshot: ArcSwap<Snapshot>,
    /// Texts that were shown lately.
    pub texts: Texts,
    /// The user's trees.
    pub roots: Roots,
    store: Mutex<Option<Store>>,
    reading: Locks<(TreeId, Arc<str>)>,
    shades: Mutex<Vec<Shades>>,
    published: AtomicBool,
    /// The trouble that we are in.
    pub trouble: Mutex<Option<String>>,
    tasks: Sender<Task>,
    watch: Arc<Watch>,
    tell: Box<dyn Fn(Told) + Send + Sync>,
}

impl Keeper {
    /// Keeps an index below this directory. Nothing is opened yet.
    pub fn new(home: PathBuf, tasks: Sender<Task>, watch: Arc<Watch>, tell: Box<dyn Fn(Told) + Send + Sync>) -> Self {
        Self {
            home,
            names: Names::default(),
            desk: Mutex::default(),
            moved: Condvar::new(),
            snapshot: ArcSwap::default(),
            texts: Texts::default(),
            roots: Roots::default(),
            store: Mutex::default(),
            reading: Locks::default(),
            shades: Mutex::default(),
            published: AtomicBool::new(false),
            trouble: Mutex::default(),
            tasks,
            watch,
            tell,
        }
    }

    /// Tells the engine.
    pub fn told(&self, told: Told) {
        if let Told::Warned(warning) = &told {
            *self.trouble.lock() = Some(warning.clone());
        }
        (self.tell)(told);
    }

    /// Opens what is on the disk.
    pub fn open(&self) {
        self.take_up(heal::open(&self.home));
    }

    /// Begins a new index; the trees that must be caught up with are returned.
    pub fn begin_anew(&self, why: &str, in_memory: bool) -> Vec<TreeId> {
        let mut store = self.store.lock();
        *store = None;
        drop(store);
        let live: Vec<TreeId> = {
            let mut desk = self.desk.lock();
            let live =
                |(number, tree): (usize, &super::desk::Tree)| (tree.state != State::Asleep).then_some(number as TreeId);
            let live = desk.trees.iter().enumerate().filter_map(live).collect();
            desk.forget();
            for tree in &live {
                let tree: &TreeId = tree;
                desk.trees[*tree as usize].state = State::CatchingUp(0, 0);
            }
            self.publish(&desk);
            live
        };
        let opened = if in_memory { heal::in_memory(why) } else { heal::begin(&self.home, Some(why.to_owned())) };
        self.take_up(opened);
        live
    }

    fn take_up(&self, opened: heal::Opened) {
        let heal::Opened { mut store, listed, warning } = opened;
        if let Some(warning) = warning {
            self.told(Told::Warned(warning));
        }
        let shelf = store.shelf(listed.entries.clone()).unwrap_or_default();
        let mut desk = self.desk.lock();
        if desk.trees.is_empty() {
            self.names.replace_all(listed.names.clone());
            desk.fill(&listed, shelf);
            self.publish(&desk);
        }
        drop(desk);
        *self.store.lock() = Some(store);
    }

    /// Registers a tree with its family's rules. It must be caught up with.
    pub fn register(&self, family: &str, root: &Path, documents: Documents) -> TreeId {
        let mut desk = self.desk.lock();
        let tree = desk.tree(family, root);
        let state = &mut desk.trees[tree as usize];
        state.documents = Some(documents);
        state.state = State::CatchingUp(0, 0);
        tree
    }

    /// The trees with this root of which a file is a document.
    pub fn trees_at(&self, root: &Path, path: &str) -> Vec<TreeId> {
        let desk = self.desk.lock();
        let trees = desk.trees.iter().enumerate();
        let here = trees.filter(|(_, tree)| tree.root == root && tree.wants(path));
        here.map(|(number, _)| number as TreeId).collect()
    }

    /// Of many files, those that are not known to be as they are: the watcher tells of every file when it sees a
    /// tree for the first time.
    pub fn really_changed(&self, tree: TreeId, mut paths: Vec<Arc<str>>) -> Vec<Arc<str>> {
        if paths.len() > super::service::FEW {
            let (root, known): (PathBuf, Vec<Option<Identity>>) = {
                let desk = self.desk.lock();
                let tree = &desk.trees[tree as usize];
                let known = |path: &Arc<str>| tree.files.get(path).map(|known| known.entry.identity);
                (tree.root.clone(), paths.iter().map(known).collect())
            };
            let mut known = known.into_iter();
            paths.retain(|path| match known.next().flatten() {
                Some(known) => identity(&root.join(&**path)) != Some(known),
                None => true,
            });
        }
        paths
    }

    /// A file of ours was written, wherever its tree begins: searchable when this returns.
    pub fn written(&self, root: &Path, path: &str) {
        let whole = root.join(path);
        let trees: Vec<(TreeId, Arc<str>)> = {
            let desk = self.desk.lock();
            let here = |(number, tree): (usize, &super::desk::Tree)| {
                let path = whole.strip_prefix(&tree.root).ok()?.to_str()?;
                tree.wants(path).then(|| (number as TreeId, path.into()))
            };
            desk.trees.iter().enumerate().filter_map(here).collect()
        };
        for (tree, path) in trees {
            self.refresh(tree, &path, false);
        }
    }

    /// Looks at a file; if it is not what is known of it, it is put on the desk. Whether it is so young that it
    /// may change without showing it.
    pub fn refresh(&self, tree: TreeId, path: &Arc<str>, is_gone: bool) -> bool {
        let _alone = self.reading.take([(tree, Arc::clone(path))]);
        let Some((root, documents, known)) = self.known(tree, path) else { return false };
        let seen = self.look(&root, path, |identity| known.as_ref().map(|entry| entry.identity) == Some(identity));
        match seen {
            Ok(None) => false,
            Ok(Some(seen)) => {
                let is_young = is_young(&seen.identity);
                self.put(tree, path, seen, documents);
                is_young
            }
            Err(unseen) => {
                self.unseen(tree, path, &unseen, is_gone);
                false
            }
        }
    }

    /// Reads a file whatever its times say, and puts it on the desk if its bytes are others.
    pub fn read_again(&self, tree: TreeId, path: &Arc<str>) {
        let _alone = self.reading.take([(tree, Arc::clone(path))]);
        let Some((root, documents, known)) = self.known(tree, path) else { return };
        if let Ok(Some(seen)) = self.look(&root, path, |_| false) {
            let digest = crate::disk::Digest::of(&seen.bytes);
            if known.is_none_or(|entry| entry.digest != digest || entry.identity != seen.identity) {
                self.put(tree, path, seen, documents);
            }
        }
    }

    fn known(&self, tree: TreeId, path: &Arc<str>) -> Option<(PathBuf, Documents, Option<Arc<Entry>>)> {
        let desk = self.desk.lock();
        let tree = &desk.trees[tree as usize];
        let known = tree.files.get(path).map(|known| Arc::clone(&known.entry));
        Some((tree.root.clone(), tree.documents?, known))
    }

    /// Reads a file, unless its state is a known one.
    fn look(&self, root: &Path, path: &str, is_known: impl Fn(Identity) -> bool) -> Result<Option<FileSeen>, Unseen> {
        let way = RelativePath::of_names(path).ok_or(Unseen::Missing)?;
        let file = self.roots.open(root)?.open_file(&way, Links::Never)?;
        if is_known(file.identity()) {
            return Ok(None);
        }
        file.read(LARGEST).map(Some)
    }

    fn put(&self, tree: TreeId, path: &Arc<str>, seen: FileSeen, documents: Documents) {
        let document = Document::read(tree, path, seen, documents, &self.names);
        let mut shades = self.shades.lock().pop().unwrap_or_default();
        let fresh = Arc::new(Fresh::new(document, &mut shades));
        self.shades.lock().push(shades);
        let mut desk = self.desk.lock();
        desk.put(tree, path, Some(fresh));
        self.publish_news(&desk);
    }

    /// What cannot be read cannot be found. A tree that is away for a moment keeps its documents until somebody
    /// says that they are gone.
    fn unseen(&self, tree: TreeId, path: &Arc<str>, unseen: &Unseen, is_gone: bool) {
        let is_doubtful = matches!(unseen, Unseen::NoTree | Unseen::Failed(_));
        if is_doubtful && !is_gone {
            return;
        }
        let mut desk = self.desk.lock();
        if desk.put(tree, path, None) {
            self.publish_news(&desk);
        }
    }

    fn publish_news(&self, desk: &Desk) {
        self.publish(desk);
        if !self.published.swap(true, Ordering::AcqRel) {
            let _ = self.tasks.send(Task::Published);
        }
    }

    fn publish(&self, desk: &Desk) {
        self.snapshot.store(Arc::new(desk.snapshot()));
    }

    /// Whether anything was published since the last question.
    pub fn take_published(&self) -> bool {
        self.published.swap(false, Ordering::AcqRel)
    }

    /// Whether there is something to fold.
    pub fn has_news(&self) -> bool {
        let desk = self.desk.lock();
        !desk.fresh.is_empty() || !desk.gone.is_empty()
    }

    /// How many fresh documents there are.
    pub fn fresh(&self) -> usize {
        self.desk.lock().fresh.len()
    }

    /// Moves fresh documents into the main index.
    pub fn fold(&self) -> Result<(), Ill> {
        let mut guard = self.store.lock();
        let Some(store) = guard.as_mut() else { return Ok(()) };
        let (fresh, cleared, trees, documents) = {
            let mut desk = self.desk.lock();
            let fresh: Vec<Arc<Fresh>> = desk.fresh.clone();
            let fresh: Vec<(u32, Arc<Fresh>)> = fresh.into_iter().map(|fresh| (desk.take_slot(), fresh)).collect();
            (fresh, std::mem::take(&mut desk.gone), desk.tree_names(), desk.documents())
        };
        if fresh.is_empty() && cleared.is_empty() {
            return Ok(());
        }
        let pen = store.pen(Amount::Little)?;
        cleared.iter().for_each(|slot| pen.remove(*slot));
        for (slot, fresh) in &fresh {
            pen.add(*slot, &fresh.document)?;
        }
        let taken: Vec<(u32, Arc<Entry>)> =
            fresh.into_iter().map(|(slot, fresh)| (slot, Arc::clone(&fresh.entry))).collect();
        let news = News { trees: &trees, gone: &cleared, taken: &taken };
        store.commit(pen, &news, &self.names, &|| self.desk.lock().shelved(), documents)?;
        let segments = store.segments()?;
        let (searcher, fields) = (store.reader.searcher(), &store.fields);
        let shelf = |entries: super::desk::Entries| super::shelf::Shelf::new(&searcher, fields, entries.0, segments);
        let mut desk = self.desk.lock();
        let mut failed = None;
        desk.shelve_fresh(&taken, &cleared, |entries| {
            shelf(entries).unwrap_or_else(|error| {
                failed = Some(error);
                super::shelf::Shelf::default()
            })
        });
        self.publish(&desk);
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Makes one segment of many.
    pub fn tidy(&self) -> Result<(), Ill> {
        let mut guard = self.store.lock();
        let Some(store) = guard.as_mut() else { return Ok(()) };
        if !store.tidy()? {
            return Ok(());
        }
        let segments = store.segments()?;
        let (searcher, fields) = (store.reader.searcher(), &store.fields);
        let mut desk = self.desk.lock();
        let mut failed = None;
        desk.exchange_shelf(|entries| {
            super::shelf::Shelf::new(&searcher, fields, entries.0, segments).unwrap_or_else(|error| {
                failed = Some(error);
                super::shelf::Shelf::default()
            })
        });
        self.publish(&desk);
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Writes many documents at once, past the overlay.
    pub fn write_much(
        &self,
        tree: TreeId,
        paths: &[Arc<str>],
        which: Which,
        reporter: Option<&Reporter>,
    ) -> Result<Result<(), Cancelled>, Ill> {
        let total = paths.len();
        let mut done = 0;
        for batch in paths.chunks(BATCH) {
            if self.write_batch(tree, batch, which, reporter, (done, total))? == Err(Cancelled) {
                return Ok(Err(Cancelled));
            }
            done += batch.len();
        }
        Ok(Ok(()))
    }

    fn write_batch(
        &self,
        tree: TreeId,
        paths: &[Arc<str>],
        which: Which,
        reporter: Option<&Reporter>,
        (before, total): (usize, usize),
    ) -> Result<Result<(), Cancelled>, Ill> {
        let mut guard = self.store.lock();
        let Some(store) = guard.as_mut() else { return Err(Ill("it is not open".to_owned())) };
        self.desk.lock().begin_much();
        let pen = store.pen(Amount::Much)?;
        let mut taken: Vec<(u32, Arc<Entry>)> = Vec::with_capacity(paths.len());
        let (mut cleared, mut vanished) = (Vec::new(), Vec::new());
        for (number, path) in paths.iter().enumerate() {
            if number % STEPS == 0 {
                self.progress(tree, before + number, total, reporter);
                if reporter.is_some_and(Reporter::is_cancelled) {
                    self.desk.lock().give_back(taken.iter().map(|(slot, _)| *slot));
                    return Ok(Err(Cancelled));
                }
            }
            let Some((root, documents, known)) = self.known(tree, path) else { continue };
            let is_known = |identity| which == Which::Changed && known.as_ref().map(|it| it.identity) == Some(identity);
            match self.look(&root, path, is_known) {
                Ok(None) => {}
                Ok(Some(seen)) => {
                    let document = Document::read(tree, path, seen, documents, &self.names);
                    let slot = {
                        let mut desk = self.desk.lock();
                        let old = desk.trees[tree as usize].files.get(path).and_then(|known| known.slot);
                        cleared.extend(old);
                        desk.take_slot()
                    };
                    pen.add(slot, &document)?;
                    taken.push((slot, document.entry));
                }
                Err(Unseen::NoTree | Unseen::Failed(_)) => {}
                Err(_) => vanished.push(path),
            }
        }
        if !taken.is_empty() {
            cleared.iter().for_each(|slot| pen.remove(*slot));
            let (trees, documents) = {
                let desk = self.desk.lock();
                (desk.tree_names(), desk.documents())
            };
            let news = News { trees: &trees, gone: &cleared, taken: &taken };
            store.commit(pen, &news, &self.names, &|| self.desk.lock().shelved(), documents)?;
            let segments = store.segments()?;
            let (searcher, fields) = (store.reader.searcher(), &store.fields);
            let mut desk = self.desk.lock();
            let mut failed = None;
            desk.shelve_much(&taken, &cleared, |entries| {
                super::shelf::Shelf::new(&searcher, fields, entries.0, segments).unwrap_or_else(|error| {
                    failed = Some(error);
                    super::shelf::Shelf::default()
                })
            });
            self.publish(&desk);
            if let Some(error) = failed {
                return Err(error.into());
            }
        }
        for path in vanished {
            self.refresh(tree, path, true);
        }
        self.progress(tree, before + paths.len(), total, reporter);
        Ok(Ok(()))
    }

    fn progress(&self, tree: TreeId, done: usize, total: usize, reporter: Option<&Reporter>) {
        if let Some(reporter) = reporter {
            let message = "reading documents".to_owned();
            reporter.report(Step { done: done as u64, total: Some(total as u64), message });
        }
        let mut desk = self.desk.lock();
        if let State::CatchingUp(..) = desk.trees[tree as usize].state {
            desk.trees[tree as usize].state = State::CatchingUp(done, total);
            drop(desk);
            self.told(Told::CatchingUp(Some(Progress { done: done as u64, total: total as u64 })));
        }
    }

    /// Makes what is known of a tree equal to the disk.
    pub fn catch_up(&self, tree: TreeId) -> Result<(), Ill> {
        // From here on, the watcher tells of every change.
        self.watch.barrier(FIRST_LOOK);
        let compared = self.compare(tree, Which::Changed, None, None);
        let mut desk = self.desk.lock();
        let state = &mut desk.trees[tree as usize];
        if compared.is_ok() {
            state.state = State::Ready;
            if !std::mem::replace(&mut state.compared, true) {
                state.since.clear();
            }
        }
        drop(desk);
        self.moved.notify_all();
        self.told(Told::CatchingUp(None));
        compared.map(drop)
    }

    /// Looks at a whole tree, or at what one project has in it.
    pub fn compare(
        &self,
        tree: TreeId,
        which: Which,
        project: Option<&str>,
        reporter: Option<&Reporter>,
    ) -> Result<Result<(), Cancelled>, Ill> {
        let root = self.desk.lock().trees[tree as usize].root.clone();
        let (mut there, mut changed) = (HashSet::new(), Vec::new());
        if self.roots.open(&root).is_ok() {
            let found = Walk::default().rescan(&root, &mut |_| {});
            let desk = self.desk.lock();
            let state = &desk.trees[tree as usize];
            for (path, kind) in found.changes {
                let Some(path) = path.to_str().filter(|path| state.wants(path)) else { continue };
                let (path, ChangeKind::There(identity)) = (Arc::<str>::from(path), kind) else { continue };
                let is_same = state.files.get(&path).is_some_and(|known| known.entry.identity == identity);
                if which == Which::All && self.is_of(state, &path, project) || !is_same {
                    changed.push(Arc::clone(&path));
                }
                there.insert(path);
            }
        }
        let gone: Vec<Arc<str>> = {
            let desk = self.desk.lock();
            let files = desk.trees[tree as usize].files.keys();
            files.filter(|path| !there.contains(*path)).cloned().collect()
        };
        for path in &gone {
            self.refresh(tree, path, true);
        }
        if changed.len() > super::service::FEW || which == Which::All {
            return self.write_much(tree, &changed, which, reporter);
        }
        for path in &changed {
            self.refresh(tree, path, false);
        }
        Ok(Ok(()))
    }

    /// Whether a file belongs to a project, as far as is known.
    fn is_of(&self, tree: &super::desk::Tree, path: &Arc<str>, project: Option<&str>) -> bool {
        let Some(project) = project else { return true };
        let known = tree.files.get(path).and_then(|known| self.names.word(known.entry.project));
        known.is_none_or(|known| *known == *project)
    }

    /// Carries out something with the index that may fail in ways of its own; then there will be a new one.
    pub fn guarded<T>(&self, work: impl FnOnce() -> Result<T, Ill>) -> Result<T, Ill> {
        let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Ill("it cannot be read".to_owned())));
        if let Err(Ill(why)) = &done {
            let _ = self.tasks.send(Task::Ill(why.clone()));
        }
        done
    }
}

fn is_young(identity: &Identity) -> bool {
    identity.changed_ns.max(identity.modified_ns) + TICK_NS > clock::nanoseconds()
}

fn identity(path: &Path) -> Option<Identity> {
    std::fs::symlink_metadata(path).ok().filter(std::fs::Metadata::is_file).map(|there| Identity::of(&there))
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Keeper").field("home", &self.home).finish_non_exhaustive()
    }
}
