//! Facts in, hits out: the search index of all families' documents.
//!
//! What families say about files comes in with their trees; searches come out with chunks, best first. The main
//! index is in the cache directory and can be deleted at any time; what was just written is in an in-memory overlay
//! and can be found at once. It knows no family, and never changes a user's file. Until a tree with documents is
//! used, nothing of it exists but an empty handle.

/// What a family says about its files.
mod source;

/// What is kept of an item.
mod items;

/// Text → tokens.
mod tokenize;

/// Stems of English and Spanish words.
pub mod stems;

/// What the index knows of a chunk.
mod schema;

/// What was typed → what is looked for.
pub mod query;

/// A string interner.
mod symbols;

/// What is kept of a document.
mod document;

/// Documents that are not in the main index yet.
mod overlay;

/// The main index, as a search sees it.
mod main_index;

/// Query → matchers and their weights.
mod plan;

/// Postings of a matcher in one segment.
mod cursor;

/// What a hit is worth.
mod rank;

/// Executes a query.
mod execute;

/// Where in a text a query may match.
mod prefilter;

/// What a hit shows.
pub mod snippet;

/// A cache of chunk texts.
mod chunk_text;

/// The log of documents beside the tantivy index.
mod document_log;

/// The tantivy store.
mod write;

/// Opens the index, or creates a new one.
mod open;

/// The shared state.
mod state;

/// Changes that cannot be found yet.
mod backlog;

/// Files → documents in the overlay.
mod overlay_writer;

/// The index thread.
mod thread;

/// Trees are made equal to the disk.
mod catch_up;

/// Writes the main index.
mod fold;

/// A search, from its words to its hits.
mod search;

/// One search over the items of many trees.
mod recall;

/// Carries out recalls.
mod recall_needs;

/// Comparing with the disk, on request.
mod reindex;

/// Carries out search and reindex requests.
mod needs;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use parking_lot::Mutex;
use trellis_protocol::control::Progress;

use document::TreeId;
use overlay_writer::OverlayWriter;
use reindex::ReindexCommand;
use search::IndexSearch;
use source::IndexSource;
use thread::IndexThread;

use crate::families::FamilyDescriptor;
use crate::families::facts::SearchError;
use crate::trees::{Change, ChangeSubscriber, Origin, Trees};

/// A command to the index thread.
#[derive(Debug)]
pub(crate) enum IndexCommand {
    /// Somebody works with this tree.
    Want(&'static str, PathBuf, IndexSource),
    /// Somebody lists the files of this tree, which is not watched.
    Adopt(&'static str, PathBuf, IndexSource),
    /// Files are not what they were.
    Changed(Vec<Change>),
    /// Documents were added to the overlay.
    OverlayChanged,
    /// Answered when every change up to now is searchable.
    Wait(Sender<()>),
    Reindex(ReindexCommand),
    Rebuild(String),
    /// Fold the overlay, and end.
    Shutdown(Sender<()>),
}

/// An event for the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexEvent {
    /// How far we are with a tree; none when it is done.
    CatchingUp(Option<Progress>),
    /// Something a person should know.
    Warning(String),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexHealth {
    /// Documents in it.
    pub documents: usize,
    /// Of them, those that are not in the main index yet.
    pub fresh: usize,
    pub last_problem: Option<String>,
}

/// The handle of the search index.
pub struct SearchIndex {
    home: PathBuf,
    search: Arc<IndexSearch>,
    overlay: Arc<OverlayWriter>,
    tasks: Sender<IndexCommand>,
    waiting: Mutex<Option<Receiver<IndexCommand>>>,
    /// Some tree is wanted.
    active: AtomicBool,
    sources: HashMap<&'static str, IndexSource>,
    trees: Arc<Trees>,
}

impl SearchIndex {
    /// An index below this directory, of the documents of these families. Nothing is opened yet.
    pub fn new(
        home: PathBuf,
        families: &[FamilyDescriptor],
        trees: Arc<Trees>,
        tell: impl Fn(IndexEvent) + Send + Sync + 'static,
    ) -> Self {
        let (tasks, inbox) = unbounded();
        let sources = families.iter().filter_map(|family| Some((family.name, IndexSource::of(family)?))).collect();
        let search = Arc::new(IndexSearch::default());
        Self {
            home,
            overlay: Arc::new(OverlayWriter::new(
                Arc::clone(&search),
                Arc::clone(trees.disks()),
                tasks.clone(),
                Box::new(tell),
            )),
            search,
            tasks,
            waiting: Mutex::new(Some(inbox)),
            active: AtomicBool::new(false),
            sources,
            trees,
        }
    }

    /// Whether a family has documents.
    pub fn has(&self, family: &str) -> bool {
        self.sources.contains_key(family)
    }

    /// The thread comes with the first tree.
    fn start(&self) {
        if let Some(inbox) = self.waiting.lock().take() {
            let (overlay, trees) = (Arc::clone(&self.overlay), Arc::clone(&self.trees));
            let home = self.home.clone();
            let thread = std::thread::Builder::new().name("index".into());
            if let Err(error) = thread.spawn(move || IndexThread::run(home, overlay, trees, &inbox)) {
                let warning = format!("search cannot work: no thread can be started: {error}");
                self.overlay.send_event(IndexEvent::Warning(warning));
            }
        }
        self.active.store(true, Ordering::Release);
    }

    /// Waits until every change up to now is searchable, at most so long; whether it is.
    pub fn sync_barrier(&self, timeout: Duration) -> bool {
        if !self.active.load(Ordering::Acquire) {
            return true;
        }
        let (done, wait) = bounded(1);
        self.send(IndexCommand::Wait(done));
        wait.recv_timeout(timeout).is_ok()
    }

    /// Waits until a tree is known, which somebody may be the first to want. How far we are, if that takes too long.
    pub fn wait_for(
        &self,
        family: &'static str,
        root: &Path,
    ) -> Result<(Option<TreeId>, search::CatchUpProgress), SearchError> {
        if !self.has(family) {
            return Err(SearchError::Index(format!("`{family}` has no documents")));
        }
        // It stays watched for the grace: whoever looked once looks again.
        let _lease = self.trees.lease(family, root);
        Ok(self.overlay.wait_for(family, root))
    }

    /// How the index is; none if nobody needs it.
    pub fn health(&self) -> Option<IndexHealth> {
        if !self.active.load(Ordering::Acquire) {
            return None;
        }
        let index_state = self.overlay.index_state.lock();
        let (documents, fresh) = (index_state.documents(), index_state.overlay.len());
        drop(index_state);
        Some(IndexHealth { documents, fresh, last_problem: self.overlay.last_problem.lock().clone() })
    }

    /// Root, family and number of documents of every tree in the index.
    pub fn documents_per_tree(&self) -> Vec<(PathBuf, Arc<str>, usize)> {
        self.overlay.index_state.lock().documents_per_tree()
    }

    /// Folds the overlay, so that the next start has less to do; at most so long.
    pub fn finish(&self, timeout: Duration) {
        if self.active.load(Ordering::Acquire) {
            let (done, wait) = bounded(1);
            self.send(IndexCommand::Shutdown(done));
            let _ = wait.recv_timeout(timeout);
        }
    }

    fn send(&self, task: IndexCommand) {
        let _ = self.tasks.send(task);
    }
}

impl ChangeSubscriber for SearchIndex {
    /// A few files are read at once and can be found when this returns; more are left to the index thread, and stay in
    /// the backlog until then.
    fn changed(&self, changes: &[Change]) {
        if !self.active.load(Ordering::Acquire) || changes.is_empty() {
            return;
        }
        let is_outside = changes.iter().all(|change| change.origin == Origin::Outside);
        if is_outside && changes.len() > thread::BULK_WRITE_THRESHOLD {
            self.overlay.backlog.report(changes);
            return self.send(IndexCommand::Changed(changes.to_vec()));
        }
        let _ = self.overlay.rebuild_on_error(|| {
            self.overlay.follow(changes);
            Ok(())
        });
    }

    fn tree_added(&self, family: &'static str, tree: &Path) {
        if let Some(source) = self.sources.get(family) {
            self.start();
            self.send(IndexCommand::Want(family, tree.to_owned(), *source));
        }
    }
}

impl std::fmt::Debug for SearchIndex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SearchIndex").field("home", &self.home).finish_non_exhaustive()
    }
}
