//! Trees that are wanted in, changes of their files out: the one place where a [`Change`] is born.
//!
//! Leases say which trees are wanted. What other programs do in them is found by the watcher, what our own calls write
//! is announced by whoever writes, and both go to the same subscribers. Events of the system are hints that name paths
//! to rescan; what is known always comes from listings and stats. It never changes a user's file.

/// What changed, and who did it.
mod change;

/// Which trees are wanted.
mod leases;

/// Tells the events of our own writes from others.
mod own_writes;

/// What is known of one tree, and what a scan finds.
mod state;

/// Paths with events, until they are rescanned.
mod pending;

/// Puts an event of our own into the system's queue.
mod cookie;

/// From notify's thread to ours.
mod queue;

/// Directories to watch → events.
mod events;

/// One tree: watches, scans, status.
mod watched_tree;

/// A tree for which nobody else must wait.
mod apart;

/// The watcher thread.
mod thread;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use parking_lot::{Mutex, RwLock};
use trellis_protocol::control::RootStatus;

pub use change::{Author, Change, ChangeKind, ChangeSubscriber, Origin};
use events::{DirectoryId, QUEUE_IS_ORDERED};
use leases::Leases;
pub use leases::TreeLease;
use own_writes::OwnWrites;
use queue::{EventQueue, NoRound, Round};
pub use state::TreeState;
use thread::{WarnedTree, WatcherCommand, WatcherThread, not_answering};
use watched_tree::SeenChange;

use crate::disk::{Disks, FileStamp, SLOW_CALL_TIME};

/// A polled tree whose scan takes longer is not scanned for a search; it is as fresh as its last scan.
const MAX_SCAN_PER_SEARCH: Duration = Duration::from_millis(500);

/// All wanted trees, and the handle of the watcher thread.
#[derive(Debug)]
pub struct Trees {
    commands: Sender<WatcherCommand>,
    queue: Arc<EventQueue>,
    shared: Arc<Shared>,
}

/// What everybody shares with the threads that watch.
struct Shared {
    disks: Arc<Disks>,
    /// So many directories of a tree are looked at.
    max_directories: usize,
    leases: Mutex<Leases>,
    own_writes: OwnWrites,
    subscribers: ArcSwap<Vec<Arc<dyn ChangeSubscriber>>>,
    /// Changes since the start.
    changes: AtomicU64,
    /// Written by the thread that watches a tree, and so is the next one.
    health: RwLock<BTreeMap<PathBuf, RootStatus>>,
    summaries: RwLock<HashMap<PathBuf, TreeSummary>>,
    /// Trees with a thread of their own.
    apart: RwLock<BTreeSet<PathBuf>>,
}

/// What a barrier must know of a tree.
#[derive(Debug, Clone, Copy)]
struct TreeSummary {
    id: Option<DirectoryId>,
    /// How long a scan takes, if not all changes cause events.
    polled_scan_time: Option<Duration>,
}

/// A barrier that was begun: what happened before is seen by whoever waits for it.
#[derive(Debug, Clone, Copy)]
pub struct Barrier(Result<Round, NoRound>);

/// Whether the waiting thread may be kept for long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Only for events that are on their way.
    Inline,
    /// Also for scans.
    Blocking,
}

/// A file that a call of ours has written.
#[derive(Debug)]
pub struct OwnWrite {
    /// The tree that the call meant.
    pub tree: PathBuf,
    /// The absolute path of the file.
    pub path: PathBuf,
    pub kind: ChangeKind,
    /// How it was left; none if it is gone, or somebody else's already.
    pub stamp: Option<FileStamp>,
}

/// Files that are being written. What the watcher sees of them is held back until it is known whose doing it is.
#[derive(Debug)]
pub struct WriteInProgress<'a> {
    trees: &'a Trees,
    paths: Vec<PathBuf>,
}

impl Trees {
    /// Starts the watcher thread; no tree is wanted yet. Cookies are made in a directory that is only for them. Of each
    /// tree at most so many directories are looked at.
    pub fn start(
        lease_grace: Duration,
        cookie_directory: PathBuf,
        disks: Arc<Disks>,
        max_directories: usize,
    ) -> std::io::Result<Arc<Self>> {
        let (commands, inbox) = unbounded();
        let wake = commands.clone();
        let queue = Arc::new(EventQueue::new(Box::new(move || drop(wake.send(WatcherCommand::Wake)))));
        let shared = Arc::new(Shared {
            disks,
            max_directories,
            leases: Mutex::new(Leases::new(lease_grace)),
            own_writes: OwnWrites::default(),
            subscribers: ArcSwap::default(),
            changes: AtomicU64::new(0),
            health: RwLock::default(),
            summaries: RwLock::default(),
            apart: RwLock::default(),
        });
        let thread = WatcherThread::new(Arc::clone(&queue), Arc::clone(&shared), cookie_directory, commands.clone());
        std::thread::Builder::new().name("watch".into()).spawn(move || thread.run(&inbox))?;
        Ok(Arc::new(Self { commands, queue, shared }))
    }

    /// Whoever is told of changes, in this order; once, before the first lease.
    pub fn set_subscribers(&self, subscribers: Vec<Arc<dyn ChangeSubscriber>>) {
        self.shared.subscribers.store(Arc::new(subscribers));
    }

    /// Nothing is watched any more, and nobody hears of changes. Subscribers know the trees, too, and the thread can be
    /// sent for by itself: without this, none of them would ever go.
    pub fn finish(&self) {
        self.shared.subscribers.store(Arc::default());
        let _ = self.commands.send(WatcherCommand::Finish);
    }

    /// Has a family's tree watched until the lease is dropped. Waits for nothing.
    pub fn lease(self: &Arc<Self>, family: &'static str, tree: &Path) -> TreeLease {
        let (is_new, is_changed) = {
            let mut leases = self.shared.leases.lock();
            (leases.acquire(family, tree), leases.is_changed())
        };
        if is_changed {
            self.command(WatcherCommand::Wake);
        }
        if is_new {
            self.shared.subscribers().iter().for_each(|subscriber| subscriber.tree_added(family, tree));
        }
        TreeLease::new(Arc::clone(self), tree.to_owned())
    }

    fn release(&self, tree: &Path) {
        if self.shared.leases.lock().release(tree, Instant::now()) {
            self.command(WatcherCommand::Wake);
        }
    }

    /// Whether a family's tree is watched.
    pub fn has(&self, family: &str, tree: &Path) -> bool {
        self.shared.leases.lock().has(family, tree)
    }

    /// The families whose files are in a tree.
    pub fn families(&self, tree: &Path) -> Vec<&'static str> {
        self.shared.leases.lock().families(tree)
    }

    /// Files with these absolute paths are going to be written by a call of ours.
    pub fn begin_write(&self, paths: Vec<PathBuf>) -> WriteInProgress<'_> {
        paths.iter().for_each(|path| self.shared.own_writes.begin(path.clone()));
        WriteInProgress { trees: self, paths }
    }

    /// Which disks answer.
    pub fn disks(&self) -> &Arc<Disks> {
        &self.shared.disks
    }

    /// Waits until everything that happened in any tree up to now has reached the subscribers; returns whether it has.
    /// A tree that does not answer is not waited for.
    pub fn barrier(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let (done, wait) = bounded(1);
        self.command(match self.begin_barrier().0.and_then(|round| self.queue.wait_for_round(round, deadline)) {
            Ok(()) => WatcherCommand::Sync(done),
            Err(NoRound::Lost) => WatcherCommand::RescanAll(done),
            Err(NoRound::Late) => return false,
        });
        if wait.recv_deadline(deadline).is_err() {
            return false;
        }
        let apart = self.shared.apart.read().clone();
        apart.iter().all(|tree| self.rescan(tree, deadline) || self.shared.disks.is_silent(tree))
    }

    /// Begins a barrier, which costs one system call. What matters is what happens before; waiting can come later.
    pub fn begin_barrier(&self) -> Barrier {
        Barrier(self.queue.begin_round())
    }

    /// Waits until everything that happened in one tree before the barrier began has reached the subscribers; returns
    /// whether it has. Large polled trees are as fresh as their last scan.
    pub fn wait_for_tree(&self, barrier: Barrier, tree: &Path, deadline: Instant, waiting: Waiting) -> bool {
        let summary = self.shared.summaries.read().get(tree).copied();
        let polled_scan_time = summary.and_then(|summary| summary.polled_scan_time);
        let needs_scan = match polled_scan_time {
            Some(scan_time) if scan_time > MAX_SCAN_PER_SEARCH => return true,
            Some(_) => true,
            // Events are all that there is.
            None if !QUEUE_IS_ORDERED => false,
            None => match barrier.0.and_then(|round| self.queue.wait_for_round(round, deadline)) {
                // Mounting and unmounting causes no events.
                Ok(()) => summary.is_some_and(|summary| summary.id != DirectoryId::of_path(tree)),
                Err(NoRound::Lost) => true,
                Err(NoRound::Late) => return false,
            },
        };
        match (needs_scan, waiting) {
            (false, _) => self.queue.wait_until_applied(tree, deadline),
            (true, Waiting::Inline) => false,
            (true, Waiting::Blocking) => self.rescan(tree, deadline),
        }
    }

    /// Scans a wanted tree; returns whether that has happened.
    fn rescan(&self, tree: &Path, deadline: Instant) -> bool {
        let (done, wait) = bounded(1);
        self.command(WatcherCommand::Rescan(tree.to_owned(), done));
        self.wait_while_answering(tree, &wait, deadline).is_some()
    }

    /// What a thread answers that looks at a tree; none if it takes too long, or the tree's disk does not answer.
    fn wait_while_answering<T>(&self, tree: &Path, wait: &Receiver<T>, deadline: Instant) -> Option<T> {
        loop {
            match wait.recv_deadline(deadline.min(Instant::now() + SLOW_CALL_TIME)) {
                Ok(answer) => return Some(answer),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if Instant::now() >= deadline || self.shared.disks.is_silent(tree) {
                        return None;
                    }
                }
            }
        }
    }

    /// The files of a wanted tree, as they are now: scanned again, or at least once, within this time. None if it
    /// is not wanted, missing, or the time was too short.
    pub fn list(&self, tree: &Path, scan: Scan, timeout: Duration) -> Option<FileList> {
        let deadline = Instant::now() + timeout;
        if scan == Scan::Again && !self.rescan(tree, deadline) {
            return None;
        }
        let (done, wait) = bounded(1);
        self.command(WatcherCommand::List(tree.to_owned(), done));
        self.wait_while_answering(tree, &wait, deadline).flatten()
    }

    /// Whether events of a tree were recorded that have not reached the subscribers.
    pub fn is_behind(&self, tree: &Path) -> bool {
        self.queue.is_behind(tree)
    }

    /// Changes of files since the start.
    pub fn changes(&self) -> u64 {
        self.shared.changes.load(Ordering::Relaxed)
    }

    /// The most paths with events that ever waited.
    pub fn queue_high_water(&self) -> usize {
        self.queue.high_water()
    }

    /// Answered from memory.
    pub fn health(&self) -> Vec<RootStatus> {
        let mut health = self.shared.health.read().clone();
        for tree in self.shared.apart.read().iter().filter(|tree| self.shared.disks.is_silent(tree)) {
            let status = health.entry(tree.clone()).or_default();
            status.path = tree.display().to_string();
            status.state = "not answering".to_owned();
            status.warning = Some(not_answering(tree));
        }
        health.into_values().collect()
    }

    /// What people should know about these trees.
    pub fn warnings(&self, trees: &BTreeSet<PathBuf>) -> Vec<String> {
        let health = self.shared.health.read();
        let of_tree = |tree: &PathBuf| match self.shared.disks.is_silent(tree) {
            true => Some(not_answering(tree)),
            false => health.get(tree)?.warning.clone(),
        };
        trees.iter().filter_map(of_tree).collect()
    }

    fn command(&self, command: WatcherCommand) {
        let _ = self.commands.send(command);
    }
}

/// Files with their paths from the root of their tree.
pub type FileList = Vec<(PathBuf, FileStamp)>;

/// Whether a listing may be one that is known already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    Known,
    Again,
}

impl WriteInProgress<'_> {
    /// Tells the subscribers what was written.
    pub fn finish(mut self, files: Vec<OwnWrite>, origin: &Origin) {
        self.paths.clear();
        let shared = &self.trees.shared;
        let (mut changes, mut foreign) = (Vec::with_capacity(files.len()), Vec::new());
        for OwnWrite { tree, path, kind, stamp } in files {
            let mut trees = shared.leases.lock().containing(&path);
            if !trees.contains(&tree) {
                trees.push(tree);
            }
            for tree in trees {
                if let Ok(below) = path.strip_prefix(&tree) {
                    let (below, tree) = (below.to_owned(), tree.as_path().into());
                    changes.push(Change { tree, path: below, kind, origin: origin.clone() });
                }
            }
            foreign.extend(shared.own_writes.finish(path, stamp));
        }
        shared.publish(&changes);
        shared.publish(&foreign);
    }
}

impl Drop for WriteInProgress<'_> {
    fn drop(&mut self) {
        let own_writes = &self.trees.shared.own_writes;
        let foreign: Vec<Change> = self.paths.iter().flat_map(|path| own_writes.cancel(path)).collect();
        self.trees.shared.publish(&foreign);
    }
}

impl Shared {
    fn subscribers(&self) -> Arc<Vec<Arc<dyn ChangeSubscriber>>> {
        self.subscribers.load_full()
    }

    /// Hands on what others did; whoever writes for a call of ours does so for it.
    fn publish_seen(&self, seen: Vec<SeenChange>) {
        let foreign = seen.into_iter().filter(|(change, stamp)| self.own_writes.is_foreign(change, *stamp));
        let changes: Vec<Change> = foreign.map(|(change, _)| change).collect();
        self.publish(&changes);
    }

    /// Says how a tree is; a warning, once.
    fn report(&self, root: &Path, tree: &mut WarnedTree, now: Instant) {
        let WarnedTree { tree, warned } = tree;
        self.disks.set_local(root, !tree.lacks_events());
        let status = tree.status(now);
        if status.warning != *warned {
            status.warning.iter().for_each(|warning| self.warn(warning));
            warned.clone_from(&status.warning);
        }
        let summary = TreeSummary { id: tree.id(), polled_scan_time: tree.polled_scan_time() };
        self.summaries.write().insert(root.to_owned(), summary);
        self.health.write().insert(root.to_owned(), status);
    }

    fn warn(&self, warning: &str) {
        self.subscribers().iter().for_each(|subscriber| subscriber.warned(warning));
    }

    /// Forgets how trees are that nobody wants any more.
    fn retain(&self, wanted: &BTreeSet<PathBuf>) {
        self.summaries.write().retain(|root, _| wanted.contains(root));
        self.health.write().retain(|root, _| wanted.contains(root));
    }

    /// Tells the subscribers of a tree as if it were new.
    fn announce(&self, root: &Path) {
        let families = self.leases.lock().families(root);
        for family in families {
            self.subscribers().iter().for_each(|subscriber| subscriber.tree_added(family, root));
        }
    }

    fn publish(&self, changes: &[Change]) {
        if changes.is_empty() {
            return;
        }
        let certain = changes.iter().filter(|change| change.kind != ChangeKind::MaybeModified).count();
        self.changes.fetch_add(certain as u64, Ordering::Relaxed);
        self.subscribers().iter().for_each(|subscriber| subscriber.changed(changes));
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Shared").field("leases", &self.leases).finish_non_exhaustive()
    }
}
