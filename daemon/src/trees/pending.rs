//! Events that were recorded and not yet applied: paths to rescan, collected until the watcher thread has time.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::{Path, PathBuf};

/// Beyond this many paths everything is rescanned.
const MAX_PENDING_PATHS: usize = 65_536;

#[derive(Debug, Default)]
pub(crate) struct PendingEvents {
    /// Something happened at each of them.
    pub(crate) paths: BTreeSet<PathBuf>,
    /// Those of them that were moved away or removed. What is below them is no longer watched under its name.
    pub(crate) moved_away: BTreeSet<PathBuf>,
    /// Why events are missing, if any are: then anything may have happened.
    pub(crate) overflow: Option<&'static str>,
}

impl PendingEvents {
    pub(crate) fn add(&mut self, path: PathBuf) {
        if self.paths.len() < MAX_PENDING_PATHS {
            self.paths.insert(path);
        } else {
            self.mark_overflow("too many events at once");
        }
    }

    pub(crate) fn add_moved_away(&mut self, path: PathBuf) {
        if self.paths.len() < MAX_PENDING_PATHS {
            self.moved_away.insert(path.clone());
        }
        self.add(path);
    }

    pub(crate) fn mark_overflow(&mut self, reason: &'static str) {
        self.overflow = Some(reason);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.overflow.is_none()
    }

    /// Whether anything may have happened in a tree, to its root, or above it.
    pub(crate) fn concerns(&self, root: &Path) -> bool {
        let from_here = (Bound::Included(root), Bound::Unbounded);
        let below = || self.paths.range::<Path, _>(from_here).next().is_some_and(|path| path.starts_with(root));
        self.overflow.is_some() || below() || root.ancestors().skip(1).any(|above| self.paths.contains(above))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_paths_than_the_limit_are_an_overflow() {
        let mut pending = PendingEvents::default();
        (0..MAX_PENDING_PATHS).for_each(|number| pending.add(number.to_string().into()));
        assert_eq!(pending.overflow, None);
        pending.add("one more".into());
        assert_eq!((pending.overflow, pending.paths.len()), (Some("too many events at once"), MAX_PENDING_PATHS));
    }

    #[track_caller]
    fn check(event: &str, root: &str, expected: bool) {
        let mut pending = PendingEvents::default();
        pending.add(event.into());
        pending.add("/z".into());
        assert_eq!(pending.concerns(Path::new(root)), expected, "{event} for {root}");
    }

    #[test]
    fn an_event_concerns_the_trees_it_is_in_or_above() {
        check("/a/tree/file", "/a/tree", true);
        check("/a/tree", "/a/tree", true);
        check("/a", "/a/tree", true);
        check("/a/tree2/file", "/a/tree", false);
        check("/a/file", "/a/tree", false);
        let mut pending = PendingEvents::default();
        assert!(pending.is_empty() && !pending.concerns(Path::new("/a")));
        pending.mark_overflow("events were lost");
        assert!(pending.concerns(Path::new("/a")));
    }
}
