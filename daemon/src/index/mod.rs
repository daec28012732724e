//! Facts in, hits out: the index of all families' documents.
//!
//! What families say about files comes in with their trees; searches come out with chunks, best first. The main
//! index lies in the cache and can be deleted at any time; what was just written is fresh in memory and can be found
//! at once. It knows no family, and never changes a user's file. Until a tree with documents is wanted, nothing of
//! it exists but an empty handle.

/// Text → pieces that can be found.
pub mod analyse;

/// Stems of English and Spanish words.
pub mod stems;

/// What the index knows of a chunk.
pub mod schema;

/// What was typed → what is looked for.
pub mod query;

/// Words that come again and again.
pub mod names;

/// What is kept of a document.
pub mod entry;

/// Documents that are not in the main index yet.
pub mod overlay;

/// The main index, as a search sees it.
pub mod shelf;

/// A query → terms and what they are worth.
pub mod plan;

/// Goes through a segment.
pub mod cursor;

/// What a hit is worth.
pub mod rank;

/// Everything that matches.
pub mod find;

/// Which stretches of a text a query may match in.
pub mod leads;

/// What a hit shows.
pub mod snippet;

/// Texts that were shown lately.
pub mod texts;

/// The list of documents beside the index.
pub mod table;

/// The main index on the disk.
pub mod write;

/// Opens it, or begins a new one.
pub mod heal;

/// What is known of every tree.
pub mod desk;

/// Keeps it all in step.
pub mod keeper;

/// The thread that does.
pub mod service;

/// A search, from its words to its hits.
pub mod search;

/// Comparing with the disk, on request.
pub mod reindex;

/// Carries out what a tool needs to find.
mod look;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use parking_lot::Mutex;
use trellis_protocol::control::Progress;

use entry::TreeId;
use keeper::Keeper;
use service::Service;

use crate::families::Registered;
use crate::families::facts::{Documents, NoAnswer};
use crate::watch::{Change, Watch};

/// What is asked of the thread that keeps the index.
#[derive(Debug)]
pub enum Task {
    /// Somebody works with this tree.
    Want(&'static str, PathBuf, Documents),
    /// Files are not what they were.
    Changed(Vec<Change>),
    /// Fresh documents were put on the desk.
    Published,
    /// Everything that was told up to now is searchable when this is answered.
    Wait(Sender<()>),
    /// The index cannot be read.
    Ill(String),
    /// Fold what is fresh, and end.
    End(Sender<()>),
}

/// What the engine hears from us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// How far we are with a tree; none when it is done.
    CatchingUp(Option<Progress>),
    /// Something a person should know.
    Warned(String),
}

/// How the index is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// Documents in it.
    pub documents: usize,
    /// Of them, those that are not in the main index yet.
    pub fresh: usize,
    /// The last trouble it was in.
    pub trouble: Option<String>,
}

/// The handle of the index.
#[derive(Debug)]
pub struct Index {
    keeper: Arc<Keeper>,
    tasks: Sender<Task>,
    inbox: OnceLock<()>,
    waiting: Mutex<Option<Receiver<Task>>>,
    /// Some tree is wanted.
    active: AtomicBool,
    wants: Mutex<HashMap<(&'static str, PathBuf), Wanted>>,
    documents: HashMap<&'static str, Documents>,
    watch: Arc<Watch>,
    /// Half of the time for which a tree stays watched that nobody wants.
    grace: Duration,
}

/// Who wants a tree.
#[derive(Debug, Default)]
struct Wanted {
    count: usize,
    unwanted_since: Option<Instant>,
}

impl Index {
    /// An index below this directory, of the documents of these families. Nothing is opened yet.
    pub fn new(
        home: PathBuf,
        families: &[Registered],
        watch: Arc<Watch>,
        grace: Duration,
        tell: impl Fn(Told) + Send + Sync + 'static,
    ) -> Self {
        let (tasks, inbox) = unbounded();
        let documents = families.iter().filter_map(|family| Some((family.name, family.documents?))).collect();
        Self {
            keeper: Arc::new(Keeper::new(home, tasks.clone(), Arc::clone(&watch), Box::new(tell))),
            tasks,
            inbox: OnceLock::new(),
            waiting: Mutex::new(Some(inbox)),
            active: AtomicBool::new(false),
            wants: Mutex::default(),
            documents,
            watch,
            grace: grace / 2,
        }
    }

    /// Whether a family has documents.
    pub fn has(&self, family: &str) -> bool {
        self.documents.contains_key(family)
    }

    /// Somebody works with a tree of a family, which is watched already. Waits for nothing.
    pub fn want(&self, family: &'static str, root: &Path) {
        let Some(documents) = self.documents.get(family) else { return };
        let mut wants = self.wants.lock();
        let wanted = wants.entry((family, root.to_owned())).or_default();
        wanted.count += 1;
        let is_still_watched = wanted.unwanted_since.take().is_some_and(|since| since.elapsed() < self.grace);
        if wanted.count > 1 || is_still_watched {
            return;
        }
        drop(wants);
        self.start();
        self.send(Task::Want(family, root.to_owned(), *documents));
    }

    /// One of those who wanted it does not any more.
    pub fn release(&self, family: &'static str, root: &Path) {
        if let Some(wanted) = self.wants.lock().get_mut(&(family, root.to_owned())) {
            wanted.count = wanted.count.saturating_sub(1);
            if wanted.count == 0 {
                wanted.unwanted_since = Some(Instant::now());
            }
        }
    }

    /// The thread comes with the first tree.
    fn start(&self) {
        self.inbox.get_or_init(|| {
            if let Some(inbox) = self.waiting.lock().take() {
                let keeper = Arc::clone(&self.keeper);
                let thread = std::thread::Builder::new().name("index".into());
                let started = thread.spawn(move || Service::live(keeper, &inbox));
                if let Err(error) = started {
                    self.keeper.told(Told::Warned(format!("search cannot work: no thread can be started: {error}")));
                }
            }
        });
        self.active.store(true, Ordering::Release);
    }

    /// Files are not what they were.
    pub fn changed(&self, changes: &[Change]) {
        if self.active.load(Ordering::Acquire) && !changes.is_empty() {
            self.send(Task::Changed(changes.to_vec()));
        }
    }

    /// A file of ours was written or removed: what it says now can be found when this returns.
    pub fn written(&self, root: &Path, path: &str) {
        if self.active.load(Ordering::Acquire) {
            self.keeper.written(root, path);
        }
    }

    /// Waits until everything that was told up to now can be found, at most so long; whether it can.
    pub fn wait_until_seen(&self, patience: Duration) -> bool {
        if !self.active.load(Ordering::Acquire) {
            return true;
        }
        let (done, wait) = bounded(1);
        self.send(Task::Wait(done));
        wait.recv_timeout(patience).is_ok()
    }

    /// Waits until a tree is known, which somebody may be the first to want. How far we are, if that takes too long.
    pub fn wait_for(&self, family: &'static str, root: &Path) -> Result<(Option<TreeId>, search::HowFar), NoAnswer> {
        if !self.has(family) {
            return Err(NoAnswer::Index(format!("`{family}` has no documents")));
        }
        if !self.is_wanted(family, root) {
            // It stays wanted: whoever looked once looks again.
            self.watch.want(root.to_owned());
            self.want(family, root);
        }
        Ok(self.keeper.wait_for(family, root))
    }

    /// A tree that somebody wants and that is known, without waiting, if a search in it takes only a moment.
    pub fn known(&self, family: &'static str, root: &Path) -> Option<TreeId> {
        self.keeper.ready(family, root).filter(|_| self.is_wanted(family, root))
    }

    fn is_wanted(&self, family: &'static str, root: &Path) -> bool {
        self.wants.lock().get(&(family, root.to_owned())).is_some_and(|wanted| wanted.count > 0)
    }

    /// What does the work.
    pub fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// How the index is; none if nobody needs it.
    pub fn health(&self) -> Option<Health> {
        if !self.active.load(Ordering::Acquire) {
            return None;
        }
        let desk = self.keeper.desk.lock();
        let (documents, fresh) = (desk.documents(), desk.fresh.len());
        drop(desk);
        Some(Health { documents, fresh, trouble: self.keeper.trouble.lock().clone() })
    }

    /// Folds what is fresh, so that the next start has less to do; at most so long.
    pub fn finish(&self, patience: Duration) {
        if self.active.load(Ordering::Acquire) {
            let (done, wait) = bounded(1);
            self.send(Task::End(done));
            let _ = wait.recv_timeout(patience);
        }
    }

    fn send(&self, task: Task) {
        let _ = self.tasks.send(task);
    }
}
