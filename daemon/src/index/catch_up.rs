//! Makes what is known of a tree equal to the disk, by comparing every file with its stamp.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::IndexEvent;
use super::document::TreeId;
use super::fold::{Cancelled, Reread};
use super::source::IndexSource;
use super::state::CatchUpState;
use super::thread::{BULK_WRITE_THRESHOLD, IndexThread};
use super::write::IndexCorrupt;
use crate::families::ProgressReporter;
use crate::trees::Scan;

/// How long the watcher may take to scan a tree.
const SCAN_TIMEOUT: Duration = Duration::from_secs(30);

impl IndexThread {
    /// Registers a tree with its family's rules. It must be caught up with.
    pub(crate) fn register(&self, family: &str, root: &Path, source: IndexSource) -> TreeId {
        let mut index_state = self.overlay.index_state.lock();
        let tree = index_state.tree(family, root);
        let state = &mut index_state.trees[tree as usize];
        state.source = Some(source);
        state.state = CatchUpState::CatchingUp(0, 0);
        tree
    }

    /// Makes what is known of a tree equal to the disk.
    pub(crate) fn catch_up(&mut self, tree: TreeId) -> Result<(), IndexCorrupt> {
        let root = self.overlay.index_state.lock().trees[tree as usize].root.clone();
        let compared = self.diff_tree(tree, Reread::Changed, Scan::Known, None, None);
        let mut index_state = self.overlay.index_state.lock();
        let state = &mut index_state.trees[tree as usize];
        // One that does not answer is announced again when it does.
        if compared.is_ok() && !self.trees.disks().is_silent(&root) {
            state.state = CatchUpState::Ready;
            if !std::mem::replace(&mut state.compared, true) {
                state.digests_at_last_reindex.clear();
            }
        }
        drop(index_state);
        self.overlay.state_changed.notify_all();
        self.overlay.send_event(IndexEvent::CatchingUp(None));
        compared.map(drop)
    }

    /// Looks at a whole tree, or at what one project has in it.
    pub(crate) fn diff_tree(
        &mut self,
        tree: TreeId,
        which: Reread,
        scan: Scan,
        project: Option<&str>,
        reporter: Option<&ProgressReporter>,
    ) -> Result<Result<(), Cancelled>, IndexCorrupt> {
        let root = self.overlay.index_state.lock().trees[tree as usize].root.clone();
        if !self.trees.disks().answers(&root) {
            return Ok(Ok(()));
        }
        let (mut there, mut changed) = (HashSet::new(), Vec::new());
        // From here on, every change is told.
        if let Some(files) = self.trees.list(&root, scan, SCAN_TIMEOUT) {
            let index_state = self.overlay.index_state.lock();
            let state = &index_state.trees[tree as usize];
            let project = project.map(|project| self.overlay.search.names.find(project));
            for (path, stamp) in files {
                let Some(path) = path.to_str().filter(|path| state.wants(path)) else { continue };
                let path = Arc::<str>::from(path);
                let known = state.files.get(&path).map(|known| &known.entry);
                let is_same = known.is_some_and(|entry| entry.stamp == stamp);
                // Whether it belongs to the project, as far as is known.
                let is_meant = project.is_none_or(|project| known.is_none_or(|entry| Some(entry.project) == project));
                if which == Reread::All && is_meant || !is_same {
                    changed.push(Arc::clone(&path));
                }
                there.insert(path);
            }
        }
        if self.trees.disks().is_silent(&root) {
            return Ok(Ok(()));
        }
        let gone: Vec<Arc<str>> = {
            let index_state = self.overlay.index_state.lock();
            let files = index_state.trees[tree as usize].files.keys();
            files.filter(|path| !there.contains(*path)).cloned().collect()
        };
        for path in &gone {
            self.overlay.refresh(tree, path, true);
        }
        if changed.len() > BULK_WRITE_THRESHOLD || which == Reread::All {
            return self.write_bulk(tree, &changed, which, reporter);
        }
        for path in &changed {
            self.overlay.refresh(tree, path, false);
        }
        Ok(Ok(()))
    }
}
