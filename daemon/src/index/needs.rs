//! Carries out search and reindex requests of tools.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::document::day_of;
use super::query::Query;
use super::search::{MissingText, SearchStop, SearchView};
use super::write::IndexCorrupt;
use super::{IndexCommand, SearchIndex};
use crate::clock::Now;
use crate::disk::InlineAttempt;
use crate::families::facts::{Hits, ReindexCounts, ReindexRequest, Search, SearchError, SearchRequest};
use crate::families::need::ReadContext;
use crate::families::recall::{ItemLinks, RecallHits, RecallRequest};
use crate::trees::{Barrier, Waiting};

/// How long a search waits for changes that were made before it; then it answers without them, and says so.
const BARRIER_TIMEOUT: Duration = Duration::from_secs(10);
/// The same on a thread that others need. What takes longer is left to another thread.
const INLINE_BARRIER_TIMEOUT: Duration = Duration::from_millis(1);
/// So often a search begins anew because a file changed since it was indexed.
const MAX_ATTEMPTS: usize = 3;

impl Search for SearchIndex {
    fn search(&self, request: &SearchRequest, context: &ReadContext<'_>) -> Result<Hits, SearchError> {
        // Begun before anything else and waited for at the end, so that its event comes back while we search.
        let barrier = self.trees.begin_barrier();
        let (disk, inline) = (&context.disk, context.disk.inline());
        let root = disk.tree(&request.place).map_err(SearchError::Read)?;
        disk.require_local(&root).map_err(SearchError::Read)?;
        let now = Now::read(&context.session.zone.0);
        let today = day_of(now.at.to_zoned(now.zone).date());
        let (tree, rebuilding) = match inline {
            Some(inline) => {
                // Only in a tree that is wanted and known, and where a search takes only a moment.
                let ready = self.overlay.ready(request.family, &root);
                let tree = ready.filter(|_| self.trees.has(request.family, &root));
                (Some(tree.ok_or_else(|| SearchError::Read(inline.refuse()))?), None)
            }
            None => self.wait_for(request.family, &root)?,
        };
        let Some(tree) = tree else { return Ok(Hits { progress: rebuilding, ..Hits::default() }) };
        let view = SearchView { tree, root: &root, today };
        let hits = self.search_behind(barrier, request, view, inline)?;
        Ok(Hits { progress: rebuilding.or(hits.progress), ..hits })
    }

    fn reindex(&self, request: &ReindexRequest, context: &ReadContext<'_>) -> Result<ReindexCounts, SearchError> {
        let root = context.disk.tree(&request.place).map_err(SearchError::Read)?;
        context.disk.roots.open(&root).map_err(SearchError::Read)?;
        match self.wait_for(request.family, &root)? {
            (Some(tree), None) => self.reindex(request.clone(), tree, context.reporter),
            _ => Err(SearchError::Index("it is still being built: try again in a moment".to_owned())),
        }
    }

    fn recall(&self, request: &RecallRequest, links: &dyn ItemLinks) -> Result<RecallHits, SearchError> {
        self.recall_items(request, links)
    }
}

impl SearchIndex {
    /// Searches, and once more if anything became known meanwhile that was done before the barrier began.
    fn search_behind(
        &self,
        barrier: Barrier,
        asked: &SearchRequest,
        view: SearchView<'_>,
        inline: Option<&InlineAttempt>,
    ) -> Result<Hits, SearchError> {
        let snapshot = self.search.snapshot.load_full();
        // What is known to be behind would have to be searched twice.
        let is_behind = self.trees.is_behind(view.root) || self.overlay.backlog.waiting(view.root) > 0;
        let early = (!is_behind).then(|| self.search_once(asked, view, inline)).transpose()?;
        if inline.is_some_and(InlineAttempt::is_refused) {
            return Ok(Hits::default());
        }
        let (waiting, timeout) = match inline {
            Some(_) => (Waiting::Inline, INLINE_BARRIER_TIMEOUT),
            None => (Waiting::Blocking, BARRIER_TIMEOUT),
        };
        let deadline = Instant::now() + timeout;
        let is_complete = self.trees.wait_for_tree(barrier, view.root, deadline, waiting)
            && self.overlay.backlog.wait(view.root, deadline);
        if let (Some(inline), false) = (inline, is_complete) {
            return Err(SearchError::Read(inline.refuse()));
        }
        let is_same = Arc::ptr_eq(&snapshot, &self.search.snapshot.load());
        let hits = match early.filter(|_| is_same) {
            Some(hits) => hits,
            None => self.search_once(asked, view, inline)?,
        };
        let rebuilding = (!is_complete).then(|| {
            let documents = self.overlay.index_state.lock().documents();
            (documents, documents + self.overlay.backlog.waiting(view.root))
        });
        Ok(Hits { progress: rebuilding, ..hits })
    }

    /// Searches; a file that changed since it was indexed is indexed again first.
    fn search_once(
        &self,
        asked: &SearchRequest,
        view: SearchView<'_>,
        inline: Option<&InlineAttempt>,
    ) -> Result<Hits, SearchError> {
        let query = Query::read(&asked.query);
        let mut attempt = 1;
        loop {
            let missing = if attempt < MAX_ATTEMPTS { MissingText::Stops } else { MissingText::IsEmpty };
            match self.search.search(&query, asked, view, missing, inline) {
                Ok(hits) => return Ok(hits),
                Err(SearchStop::WouldBlock) => return Ok(Hits::default()),
                Err(SearchStop::Stale(tree, path)) => self.overlay.refresh(tree, &path, false),
                Err(SearchStop::Corrupt(IndexCorrupt(why))) => {
                    self.send(IndexCommand::Rebuild(why.clone()));
                    return Err(SearchError::Index(why));
                }
            }
            attempt += 1;
        }
    }
}
