//! Writes the main index: folds of the overlay, bulk writes past it, and merges of segments.
//!
//! A document that changes while it is being written is in the overlay, and stays there: what was written of it is
//! masked, and deleted by the next fold.

use std::collections::HashSet;
use std::sync::Arc;

use trellis_protocol::control::Progress;

use super::IndexEvent;
use super::document::{DocumentRecord, TreeId};
use super::document_log::DocumentLogBatch;
use super::main_index::Segment;
use super::overlay::OverlayDocument;
use super::overlay_writer::today;
use super::state::CatchUpState;
use super::thread::IndexThread;
use super::write::{BatchSize, IndexCorrupt, WriteBatch};
use crate::disk::ReadError;
use crate::families::{ProgressReporter, ProgressStep};

/// So many documents are written before what is there is published.
const DOCUMENTS_PER_COMMIT: usize = 20_000;
/// Progress is reported, and cancellation noticed, after so many documents.
const DOCUMENTS_PER_PROGRESS: usize = 200;

/// Which of the files that are named are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reread {
    /// Those whose stamp is another one.
    Changed,
    All,
}

/// The work was cancelled by whoever asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cancelled;

impl IndexThread {
    /// Moves overlay documents into the main index.
    pub(crate) fn fold_overlay(&mut self) -> Result<(), IndexCorrupt> {
        let (overlay, cleared) = {
            let mut index_state = self.overlay.index_state.lock();
            let overlay: Vec<Arc<OverlayDocument>> = index_state.overlay.clone();
            let overlay: Vec<(u32, Arc<OverlayDocument>)> =
                overlay.into_iter().map(|overlay| (index_state.take_slot(), overlay)).collect();
            (overlay, std::mem::take(&mut index_state.gone))
        };
        let batch = self.store.begin_batch(BatchSize::Small)?;
        for (slot, overlay) in &overlay {
            batch.add(*slot, &overlay.document)?;
        }
        let taken: Vec<(u32, Arc<DocumentRecord>)> =
            overlay.into_iter().map(|(slot, overlay)| (slot, Arc::clone(&overlay.entry))).collect();
        let segments = self.commit(batch, &taken, &cleared)?;
        let mut index_state = self.overlay.index_state.lock();
        index_state.finish_fold(&taken, &cleared, segments);
        self.overlay.publish(&index_state);
        Ok(())
    }

    /// Commits a batch, deletes what is in the cleared slots, and returns the segments that there are then.
    fn commit(
        &mut self,
        batch: WriteBatch,
        taken: &[(u32, Arc<DocumentRecord>)],
        cleared: &[u32],
    ) -> Result<Vec<Arc<Segment>>, IndexCorrupt> {
        cleared.iter().for_each(|slot| batch.remove(*slot));
        let (trees, documents) = {
            let index_state = self.overlay.index_state.lock();
            (index_state.tree_records(today()), index_state.documents())
        };
        let news = DocumentLogBatch { trees: &trees, gone: cleared, taken };
        let all = || self.overlay.index_state.lock().main_documents();
        self.store.commit(batch, &news, &self.overlay.search.names, &all, documents)?;
        Ok(self.store.segments()?)
    }

    /// Whether the log knows every tree, and that it is used today.
    pub(crate) fn has_logged_trees(&self) -> bool {
        self.store.table.trees == self.overlay.index_state.lock().tree_records(today())
    }

    /// Makes one segment of many.
    pub(crate) fn merge_segments(&mut self) -> Result<(), IndexCorrupt> {
        if self.store.merge_segments()? {
            let segments = self.store.segments()?;
            let mut index_state = self.overlay.index_state.lock();
            index_state.replace_segments(segments);
            self.overlay.publish(&index_state);
        }
        Ok(())
    }

    /// Writes many documents at once, past the overlay.
    pub(crate) fn write_bulk(
        &mut self,
        tree: TreeId,
        paths: &[Arc<str>],
        which: Reread,
        reporter: Option<&ProgressReporter>,
    ) -> Result<Result<(), Cancelled>, IndexCorrupt> {
        let total = paths.len();
        let mut done = 0;
        for batch in paths.chunks(DOCUMENTS_PER_COMMIT) {
            if self.write_batch(tree, batch, which, reporter, (done, total))? == Err(Cancelled) {
                return Ok(Err(Cancelled));
            }
            done += batch.len();
        }
        Ok(Ok(()))
    }

    fn write_batch(
        &mut self,
        tree: TreeId,
        paths: &[Arc<str>],
        which: Reread,
        reporter: Option<&ProgressReporter>,
        (before, total): (usize, usize),
    ) -> Result<Result<(), Cancelled>, IndexCorrupt> {
        // Changes from now on are remembered until the bulk write is done.
        self.overlay.index_state.lock().changed_during_bulk = Some(HashSet::new());
        let batch = self.store.begin_batch(BatchSize::Bulk)?;
        let mut taken: Vec<(u32, Arc<DocumentRecord>)> = Vec::with_capacity(paths.len());
        let (mut cleared, mut vanished) = (Vec::new(), Vec::new());
        for (number, path) in paths.iter().enumerate() {
            if number % DOCUMENTS_PER_PROGRESS == 0 {
                self.progress(tree, before + number, total, reporter);
                if reporter.is_some_and(ProgressReporter::is_cancelled) {
                    self.overlay.index_state.lock().cancel_bulk(taken.iter().map(|(slot, _)| *slot));
                    return Ok(Err(Cancelled));
                }
            }
            let Some((root, source, known)) = self.overlay.known(tree, path) else { continue };
            let known_stamp = known.as_ref().map(|known| known.stamp).filter(|_| which == Reread::Changed);
            match self.overlay.read_unless_known(&root, path, known_stamp) {
                Ok(None) => {}
                Ok(Some(seen)) => {
                    self.overlay.note_age(tree, path, &seen.stamp);
                    let document = self.overlay.parse(tree, path, seen, source);
                    let slot = {
                        let mut index_state = self.overlay.index_state.lock();
                        let old = index_state.trees[tree as usize].files.get(path).and_then(|known| known.slot);
                        cleared.extend(old);
                        index_state.take_slot()
                    };
                    batch.add(slot, &document)?;
                    taken.push((slot, document.entry));
                }
                Err(ReadError::TreeMissing | ReadError::Io(_)) => {}
                Err(_) => vanished.push(path),
            }
        }
        if taken.is_empty() {
            self.overlay.index_state.lock().cancel_bulk(std::iter::empty());
        } else {
            let segments = self.commit(batch, &taken, &cleared)?;
            let mut index_state = self.overlay.index_state.lock();
            index_state.finish_bulk(&taken, &cleared, segments);
            self.overlay.publish(&index_state);
        }
        for path in vanished {
            self.overlay.refresh(tree, path, true);
        }
        self.progress(tree, before + paths.len(), total, reporter);
        Ok(Ok(()))
    }

    fn progress(&self, tree: TreeId, done: usize, total: usize, reporter: Option<&ProgressReporter>) {
        if let Some(reporter) = reporter {
            let message = "reading documents".to_owned();
            reporter.report(ProgressStep { done: done as u64, total: Some(total as u64), message });
        }
        let mut index_state = self.overlay.index_state.lock();
        if let CatchUpState::CatchingUp(..) = index_state.trees[tree as usize].state {
            index_state.trees[tree as usize].state = CatchUpState::CatchingUp(done, total);
            drop(index_state);
            self.overlay.send_event(IndexEvent::CatchingUp(Some(Progress { done: done as u64, total: total as u64 })));
        }
    }
}
