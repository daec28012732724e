//! The index thread: changes and commands in, snapshots out.
//!
//! The first change is applied at once; what arrives meanwhile is batched. A few changed files become overlay
//! documents, many are written in bulk. The overlay is folded into the main index after a quiet second, or when it
//! is large. Only this thread writes the index on disk, and any error of it ends in a rebuild.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::document::TreeId;
use super::fold::Reread;
use super::open::{self, OpenedIndex};
use super::overlay_writer::OverlayWriter;
use super::reindex::ReindexCommand;
use super::source::IndexSource;
use super::write::{IndexCorrupt, TantivyStore};
use super::{IndexCommand, IndexEvent};
use crate::trees::{Change, ChangeKind, Trees};

/// So many changed files are looked at one by one.
pub(crate) const BULK_WRITE_THRESHOLD: usize = 64;
/// So many overlay documents are folded at once.
const OVERLAY_LIMIT: usize = 64;
/// Overlay documents are folded when nothing has happened for this long, or for this long at most.
const FOLD_DELAY: Duration = Duration::from_secs(1);
const FOLD_DEADLINE: Duration = Duration::from_secs(5);
/// So often in a row the index on the disk may fail before it is kept in memory.
const MAX_INDEX_FAILURES: u32 = 3;

const FAULT: &str = "a fault in Trellis";

/// Owns the index on disk.
pub(crate) struct IndexThread {
    home: PathBuf,
    pub(crate) store: TantivyStore,
    pub(crate) overlay: Arc<OverlayWriter>,
    pub(crate) trees: Arc<Trees>,
    /// When overlay documents came first, and last.
    overlay_since: Option<(Instant, Instant)>,
    failures: u32,
    untidy: bool,
}

/// What has been gathered from the channel.
#[derive(Default)]
struct CommandBatch {
    changes: BTreeMap<(PathBuf, PathBuf), bool>,
    /// How many changes of each root there are, to be taken off the backlog.
    followed: HashMap<PathBuf, usize>,
    wants: Vec<(&'static str, PathBuf, IndexSource)>,
    adopts: Vec<(&'static str, PathBuf, IndexSource)>,
    waiting: Vec<Sender<()>>,
    reindexes: Vec<ReindexCommand>,
    rebuild_reason: Option<String>,
    shutdown: Option<Sender<()>>,
}

impl IndexThread {
    /// Lives until the channel ends, or somebody ends it.
    pub(crate) fn run(home: PathBuf, overlay: Arc<OverlayWriter>, trees: Arc<Trees>, inbox: &Receiver<IndexCommand>) {
        let OpenedIndex { store, main, names, trees: records, warning } = open::open(&home);
        overlay.fill(names, records, main);
        let mut service = Self { home, store, overlay, trees, overlay_since: None, failures: 0, untidy: false };
        service.warn(warning);
        while let Some(batch) = service.next_batch(inbox) {
            let ends = batch.shutdown.clone();
            if catch_unwind(AssertUnwindSafe(|| service.apply_batch(batch))).is_err() {
                service.rebuild(FAULT);
            }
            if let Some(done) = ends {
                let _ = done.send(());
                return;
            }
        }
    }

    fn next_batch(&self, inbox: &Receiver<IndexCommand>) -> Option<CommandBatch> {
        let mut batch = CommandBatch::default();
        // When to wake up without anything happening.
        let due = [self.folds_at(), self.overlay.settles_at()].into_iter().flatten().min();
        let first = match due {
            None => inbox.recv().ok()?,
            Some(due) => match inbox.recv_deadline(due) {
                Ok(task) => task,
                Err(RecvTimeoutError::Timeout) => return Some(batch),
                Err(RecvTimeoutError::Disconnected) => return None,
            },
        };
        batch.push(first);
        inbox.try_iter().for_each(|task| batch.push(task));
        Some(batch)
    }

    fn folds_at(&self) -> Option<Instant> {
        self.overlay_since.map(|(first, last)| (last + FOLD_DELAY).min(first + FOLD_DEADLINE))
    }

    fn apply_batch(&mut self, batch: CommandBatch) {
        if let Some(why) = batch.rebuild_reason {
            self.rebuild(&why);
        }
        // A fault leads to a new index, which has the changes, too.
        let applied = catch_unwind(AssertUnwindSafe(|| self.apply_changes(batch.changes)));
        self.overlay.backlog.finish(&batch.followed);
        if applied.is_err() {
            self.rebuild(FAULT);
        }
        for (family, root, source) in batch.wants {
            let tree = self.register(family, &root, source);
            let caught_up = self.catch_up(tree);
            self.check(caught_up);
            self.untidy = true;
        }
        for (family, root, source) in batch.adopts {
            self.register(family, &root, source);
            self.overlay.set_ready(family, &root);
        }
        self.overlay.settle();
        for done in batch.waiting {
            let _ = done.send(());
        }
        for command in batch.reindexes {
            self.answer_reindex(command);
        }
        let now = Instant::now();
        let is_published = self.overlay.published.swap(false, Ordering::AcqRel);
        let (overlay_size, has_overlay) = {
            let index_state = self.overlay.index_state.lock();
            (index_state.overlay.len(), !index_state.overlay.is_empty() || !index_state.gone.is_empty())
        };
        self.overlay_since = has_overlay.then(|| {
            let (first, last) = self.overlay_since.unwrap_or((now, now));
            (first, if is_published { now } else { last })
        });
        if self.folds_at().is_some_and(|at| at <= now)
            || overlay_size >= OVERLAY_LIMIT
            || (batch.shutdown.is_some() && (has_overlay || !self.has_logged_trees()))
        {
            let folded = self.fold_overlay();
            self.check(folded);
            self.overlay_since = None;
        }
        if std::mem::take(&mut self.untidy) && batch.shutdown.is_none() {
            let tidied = self.merge_segments();
            self.check(tidied);
        }
    }

    /// Looks at what changed, in every tree that it belongs to.
    fn apply_changes(&mut self, changes: BTreeMap<(PathBuf, PathBuf), bool>) {
        let mut looks: BTreeMap<TreeId, Vec<Arc<str>>> = BTreeMap::new();
        for ((root, path), is_gone) in changes {
            let Some(path) = path.to_str() else { continue };
            for tree in self.overlay.trees_at(&root, path) {
                match is_gone {
                    true => self.overlay.refresh(tree, &path.into(), true),
                    false => looks.entry(tree).or_default().push(path.into()),
                }
            }
        }
        for (tree, there) in looks {
            if there.len() > BULK_WRITE_THRESHOLD {
                let written = self.write_bulk(tree, &there, Reread::Changed, None);
                self.untidy = true;
                self.check(written.map(drop));
                continue;
            }
            for path in there {
                self.overlay.refresh(tree, &path, false);
            }
        }
    }

    fn check(&mut self, done: Result<(), IndexCorrupt>) {
        match done {
            Ok(()) => self.failures = 0,
            Err(IndexCorrupt(why)) => self.rebuild(&why),
        }
    }

    fn rebuild(&mut self, why: &str) {
        self.failures += 1;
        self.overlay_since = None;
        let in_memory = self.failures >= MAX_INDEX_FAILURES;
        let live = {
            let mut index_state = self.overlay.index_state.lock();
            let live = index_state.forget();
            self.overlay.publish(&index_state);
            live
        };
        let opened = if in_memory { open::in_memory(why) } else { open::create(&self.home, Some(why.to_owned())) };
        self.store = opened.store;
        self.warn(opened.warning);
        for tree in live {
            let caught_up = catch_unwind(AssertUnwindSafe(|| self.catch_up(tree)));
            match caught_up {
                Ok(Ok(())) => {}
                Ok(Err(IndexCorrupt(why))) if !in_memory => return self.rebuild(&why),
                Ok(Err(IndexCorrupt(why))) => return self.warn(Some(format!("search cannot work: {why}"))),
                Err(_) => return self.warn(Some(format!("search cannot work: {FAULT}"))),
            }
        }
    }

    fn warn(&self, warning: Option<String>) {
        if let Some(warning) = warning {
            self.overlay.send_event(IndexEvent::Warning(warning));
        }
    }
}

impl CommandBatch {
    fn push(&mut self, task: IndexCommand) {
        match task {
            IndexCommand::Changed(changes) => {
                for Change { tree, path, kind, .. } in changes {
                    let root = tree.to_path_buf();
                    *self.followed.entry(root.clone()).or_default() += 1;
                    self.changes.insert((root, path), kind == ChangeKind::Removed);
                }
            }
            IndexCommand::Want(family, root, source) => self.wants.push((family, root, source)),
            IndexCommand::Adopt(family, root, source) => self.adopts.push((family, root, source)),
            IndexCommand::Wait(done) => self.waiting.push(done),
            IndexCommand::Reindex(command) => self.reindexes.push(command),
            IndexCommand::OverlayChanged => {}
            IndexCommand::Rebuild(why) => self.rebuild_reason = Some(why),
            IndexCommand::Shutdown(done) => self.shutdown = Some(done),
        }
    }
}
