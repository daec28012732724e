//! Compares the documents of a tree with the disk, on request, and counts what changed since the last such request.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use super::document::TreeId;
use super::fold::{Cancelled, Reread};
use super::state::IndexState;
use super::thread::IndexThread;
use super::write::IndexCorrupt;
use super::{IndexCommand, SearchIndex};
use crate::disk::Digest;
use crate::families::ProgressReporter;
use crate::families::facts::{ReindexCounts, ReindexRequest, SearchError};
use crate::trees::Scan;

/// How often whoever waits for an answer looks whether it is still wanted.
const CANCELLATION_POLL: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct ReindexCommand {
    request: ReindexRequest,
    tree: TreeId,
    reporter: ProgressReporter,
    answer: Sender<Result<ReindexCounts, SearchError>>,
}

impl SearchIndex {
    /// Waits for the index thread to compare a tree with the disk.
    pub(crate) fn reindex(
        &self,
        request: ReindexRequest,
        tree: TreeId,
        reporter: &ProgressReporter,
    ) -> Result<ReindexCounts, SearchError> {
        let (answer, counts) = bounded(1);
        self.send(IndexCommand::Reindex(ReindexCommand { request, tree, reporter: reporter.clone(), answer }));
        loop {
            match counts.recv_timeout(CANCELLATION_POLL) {
                Ok(counts) => return counts,
                Err(RecvTimeoutError::Timeout) if reporter.is_cancelled() => return Err(SearchError::Cancelled),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(SearchError::Index("it is being closed".to_owned()));
                }
            }
        }
    }
}

impl IndexThread {
    pub(crate) fn answer_reindex(&mut self, command: ReindexCommand) {
        let ReindexCommand { request, tree, reporter, answer } = command;
        let counts = match reporter.is_cancelled() {
            true => Err(SearchError::Cancelled),
            false => self.reindex(&request, tree, &reporter),
        };
        // Whoever reads the progress sees its end before the answer.
        drop(reporter);
        let _ = answer.send(counts);
    }

    fn reindex(
        &mut self,
        request: &ReindexRequest,
        tree: TreeId,
        reporter: &ProgressReporter,
    ) -> Result<ReindexCounts, SearchError> {
        let project = request.project.as_deref();
        let before = self.last_time(&self.overlay.index_state.lock(), tree, project);
        let which = if request.full { Reread::All } else { Reread::Changed };
        let overlay = Arc::clone(&self.overlay);
        match overlay.rebuild_on_error(|| self.diff_tree(tree, which, Scan::Again, project, Some(reporter))) {
            Ok(Ok(())) => {}
            Ok(Err(Cancelled)) => return Err(SearchError::Cancelled),
            Err(IndexCorrupt(why)) => return Err(SearchError::Index(why)),
        }
        let mut index_state = overlay.index_state.lock();
        let now = self.now(&index_state, tree, project);
        let mut counts = ReindexCounts { scanned: now.len(), ..ReindexCounts::default() };
        for (path, digest) in &now {
            match before.get(path) {
                None => counts.added += 1,
                Some(before) if before == digest => counts.unchanged += 1,
                Some(_) => counts.updated += 1,
            }
        }
        counts.deleted = before.keys().filter(|path| !now.contains_key(*path)).count();
        let since = &mut index_state.trees[tree as usize].digests_at_last_reindex;
        since.retain(|path, _| !now.contains_key(path) && !before.contains_key(path));
        Ok(counts)
    }

    /// What the documents are now.
    fn now(&self, index_state: &IndexState, tree: TreeId, project: Option<&str>) -> HashMap<Arc<str>, Digest> {
        let project = project.map(|project| self.overlay.search.names.intern(project));
        let files = index_state.trees[tree as usize].files.iter();
        let of_project = files.filter(|(_, known)| project.is_none_or(|project| known.entry.project == project));
        of_project.map(|(path, known)| (Arc::clone(path), known.entry.digest)).collect()
    }

    /// What they were when somebody last compared.
    fn last_time(&self, index_state: &IndexState, tree: TreeId, project: Option<&str>) -> HashMap<Arc<str>, Digest> {
        let mut then = self.now(index_state, tree, project);
        let tree = &index_state.trees[tree as usize];
        for (path, digest) in &tree.digests_at_last_reindex {
            // Whose project a document was that is gone, only its family knows.
            let of_file = || tree.source.and_then(|source| source.project(path));
            let is_meant = project.is_none_or(|project| of_file().is_some_and(|its| its == project));
            match digest {
                Some(digest) if is_meant => then.insert(Arc::clone(path), *digest),
                _ => then.remove(path),
            };
        }
        then
    }
}
