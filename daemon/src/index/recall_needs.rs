//! Carries out recalls: trees in which nobody works are brought into the index first, within a bounded time.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::bounded;

use super::document::TreeId;
use super::overlay_writer::OverlayWriter;
use super::recall::RecallView;
use super::search::{MissingText, SearchStop};
use super::state::CatchUpState;
use super::write::IndexCorrupt;
use super::{IndexCommand, SearchIndex};
use crate::families::facts::SearchError;
use crate::families::item_set::{ItemFile, ItemFiles};
use crate::families::recall::{ItemLinks, OwnItems, RecallHits, RecallRequest, RecallTree};

/// Trees in which nobody works are compared with the disk within this time, all together.
const COMPARE_TIMEOUT: Duration = Duration::from_millis(200);
/// The session's own trees are waited for.
const OWN_TIMEOUT: Duration = Duration::from_secs(10);
/// So often a recall begins anew because a file changed since it was indexed.
const MAX_ATTEMPTS: usize = 3;

impl SearchIndex {
    /// Looks for items in all trees of a request. What their files hold is what the request's listings say, and for
    /// watched trees what has been reported.
    pub(crate) fn recall_items(
        &self,
        request: &RecallRequest,
        links: &dyn ItemLinks,
    ) -> Result<RecallHits, SearchError> {
        let began = Instant::now();
        let (mut trees, mut stale, mut progress) = (Vec::with_capacity(request.trees.len()), Vec::new(), None);
        for (number, tree) in request.trees.iter().enumerate() {
            let timeout = if tree.own == OwnItems::None { COMPARE_TIMEOUT } else { OWN_TIMEOUT };
            let deadline = began + timeout;
            let (known, is_fresh) = match self.trees.has(tree.family, &tree.root) {
                true => self.watched_tree(tree, deadline, &mut progress),
                false => self.listed_tree(tree, deadline),
            };
            trees.push(known);
            if !is_fresh {
                stale.push(number);
            }
        }
        let hits = self.recall_once(&self.search.view(request, trees, links))?;
        Ok(RecallHits { stale, progress, ..hits })
    }

    fn recall_once(&self, view: &RecallView<'_>) -> Result<RecallHits, SearchError> {
        let mut attempt = 1;
        loop {
            let missing = if attempt < MAX_ATTEMPTS { MissingText::Stops } else { MissingText::IsEmpty };
            match self.search.recall(view, missing) {
                Ok(hits) => return Ok(hits),
                Err(SearchStop::Stale(tree, path)) => self.overlay.refresh(tree, &path, false),
                Err(SearchStop::WouldBlock) => return Ok(RecallHits::default()),
                Err(SearchStop::Corrupt(IndexCorrupt(why))) => {
                    self.send(IndexCommand::Rebuild(why.clone()));
                    return Err(SearchError::Index(why));
                }
            }
            attempt += 1;
        }
    }

    /// The number of a tree that is watched, and whether it is what the disk says.
    fn watched_tree(
        &self,
        tree: &RecallTree,
        deadline: Instant,
        progress: &mut Option<(usize, usize)>,
    ) -> (Option<TreeId>, bool) {
        // It stays watched for the grace: whoever looked once looks again.
        let _lease = self.trees.lease(tree.family, &tree.root);
        let (known, catching_up) = self.overlay.wait_until(tree.family, &tree.root, deadline);
        if let Some((done, total)) = catching_up {
            let sum = progress.get_or_insert((0, 0));
            (sum.0, sum.1) = (sum.0 + done, sum.1 + total);
        }
        (known, catching_up.is_none() && self.overlay.backlog.wait(&tree.root, deadline))
    }

    /// The number of a tree of which all files are listed, and whether all of them were read in time.
    fn listed_tree(&self, tree: &RecallTree, deadline: Instant) -> (Option<TreeId>, bool) {
        let known = self.overlay.ready_tree(tree.family, &tree.root);
        if known.is_none() && tree.files.is_empty() {
            return (None, true);
        }
        let Some(known) = known.or_else(|| self.adopted(tree.family, &tree.root, deadline)) else {
            return (None, false);
        };
        (Some(known), self.overlay.follow_listing(known, &tree.files, deadline))
    }

    /// Makes a tree known that nobody watches.
    fn adopted(&self, family: &'static str, root: &Path, deadline: Instant) -> Option<TreeId> {
        let source = *self.sources.get(family)?;
        self.start();
        let (done, wait) = bounded(1);
        self.send(IndexCommand::Adopt(family, root.to_owned(), source));
        self.send(IndexCommand::Wait(done));
        wait.recv_deadline(deadline).ok()?;
        self.overlay.ready_tree(family, root)
    }
}

impl OverlayWriter {
    /// There is nothing to compare a tree with.
    pub(crate) fn set_ready(&self, family: &str, root: &Path) {
        let mut index_state = self.index_state.lock();
        if let Some(tree) = index_state.find(family, root) {
            index_state.trees[tree as usize].state = CatchUpState::Ready;
        }
    }

    fn ready_tree(&self, family: &str, root: &Path) -> Option<TreeId> {
        let index_state = self.index_state.lock();
        index_state.find(family, root).filter(|tree| {
            let tree = &index_state.trees[*tree as usize];
            tree.source.is_some() && tree.state == CatchUpState::Ready
        })
    }

    /// Reads what is not as it is known, and forgets what is not listed. Whether the time was enough.
    fn follow_listing(&self, tree: TreeId, files: &ItemFiles, deadline: Instant) -> bool {
        let (changed, gone) = {
            let index_state = self.index_state.lock();
            let known = &index_state.trees[tree as usize].files;
            let is_known = |path: &str, file: &ItemFile| known.get(path).is_some_and(|it| it.entry.stamp == file.stamp);
            let changed = files.iter().filter(|(path, file)| !is_known(path, file));
            let changed: Vec<Arc<str>> = changed.map(|(path, _)| Arc::clone(path)).collect();
            let gone: Vec<Arc<str>> = known.keys().filter(|path| !files.contains_key(*path)).cloned().collect();
            (changed, gone)
        };
        for path in gone {
            self.forget(tree, &path);
        }
        for path in changed {
            if Instant::now() >= deadline {
                return false;
            }
            self.refresh(tree, &path, true);
        }
        true
    }
}
