//! Changes that were reported and cannot be found yet, counted by tree: a search waits for those of its own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::trees::Change;

#[derive(Debug, Default)]
pub(crate) struct Backlog {
    trees: Mutex<HashMap<PathBuf, Count>>,
    moved: Condvar,
}

/// Both only grow.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    reported: usize,
    done: usize,
}

impl Backlog {
    pub(crate) fn report(&self, changes: &[Change]) {
        let mut trees = self.trees.lock();
        for Change { tree: root, .. } in changes {
            trees.entry(root.to_path_buf()).or_default().reported += 1;
        }
    }

    pub(crate) fn finish(&self, done: &HashMap<PathBuf, usize>) {
        let mut trees = self.trees.lock();
        for (root, number) in done {
            if let Some(count) = trees.get_mut(root) {
                count.done += number;
            }
        }
        self.moved.notify_all();
    }

    /// How many changes of a tree cannot be found yet.
    pub(crate) fn waiting(&self, root: &Path) -> usize {
        self.trees.lock().get(root).map_or(0, |count| count.reported - count.done)
    }

    /// Waits until everything that has been reported of a tree can be found; returns whether it can.
    pub(crate) fn wait(&self, root: &Path, deadline: Instant) -> bool {
        let mut trees = self.trees.lock();
        let Some(Count { reported, .. }) = trees.get(root).copied() else { return true };
        let is_behind =
            |trees: &mut HashMap<PathBuf, Count>| trees.get(root).is_some_and(|count| count.done < reported);
        self.moved.wait_while_until(&mut trees, is_behind, deadline);
        !is_behind(&mut trees)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::trees::{ChangeKind, Origin};

    #[test]
    fn a_search_waits_for_its_own_tree_only() {
        let backlog = Backlog::default();
        let change = |root: &str| Change {
            tree: Path::new(root).into(),
            path: "a".into(),
            kind: ChangeKind::Removed,
            origin: Origin::Outside,
        };
        backlog.report(&[change("/a"), change("/a"), change("/b")]);
        let soon = || Instant::now() + Duration::from_millis(1);
        assert!(backlog.wait(Path::new("/c"), soon()) && !backlog.wait(Path::new("/a"), soon()));
        backlog.finish(&HashMap::from([("/a".into(), 1), ("/b".into(), 1)]));
        assert!(backlog.wait(Path::new("/b"), soon()) && !backlog.wait(Path::new("/a"), soon()));
        assert_eq!(backlog.waiting(Path::new("/a")), 1);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| backlog.wait(Path::new("/a"), Instant::now() + Duration::from_secs(10)));
            backlog.finish(&HashMap::from([("/a".into(), 1)]));
            assert!(waiter.join().expect("no panic"));
        });
    }
}
