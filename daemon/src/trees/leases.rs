//! Which trees are wanted, by whom, and how long they stay after that: the only count of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Trees;

/// A tree is watched for as long as one of its leases lives, and for a grace after the last.
#[derive(Debug)]
pub struct TreeLease {
    trees: Arc<Trees>,
    tree: PathBuf,
}

impl TreeLease {
    pub(super) fn new(trees: Arc<Trees>, tree: PathBuf) -> Self {
        Self { trees, tree }
    }

    pub fn tree(&self) -> &Path {
        &self.tree
    }
}

impl Drop for TreeLease {
    fn drop(&mut self) {
        self.trees.release(&self.tree);
    }
}

#[derive(Debug)]
pub(super) struct Leases {
    trees: BTreeMap<PathBuf, LeasedTree>,
    /// Whether trees came or went that the watcher has not heard of.
    is_changed: bool,
    grace: Duration,
}

#[derive(Debug, Default)]
struct LeasedTree {
    /// Whose files are in it.
    families: BTreeSet<&'static str>,
    count: usize,
    idle_since: Option<Instant>,
}

impl Leases {
    pub(super) fn new(grace: Duration) -> Self {
        Self { trees: BTreeMap::new(), is_changed: false, grace }
    }

    /// Returns whether the family did not have this tree before.
    pub(super) fn acquire(&mut self, family: &'static str, tree: &Path) -> bool {
        let before = self.trees.len();
        let leased = self.trees.entry(tree.to_owned()).or_default();
        leased.count += 1;
        leased.idle_since = None;
        let is_new = leased.families.insert(family);
        self.is_changed |= self.trees.len() != before;
        is_new
    }

    /// Returns whether it was the last lease, from which the grace counts.
    pub(super) fn release(&mut self, tree: &Path, now: Instant) -> bool {
        let Some(leased) = self.trees.get_mut(tree) else { return false };
        leased.count = leased.count.saturating_sub(1);
        if leased.count == 0 {
            leased.idle_since = Some(now);
        }
        leased.count == 0
    }

    /// Whether the watcher has not heard of all trees.
    pub(super) fn is_changed(&self) -> bool {
        self.is_changed
    }

    pub(super) fn has(&self, family: &str, tree: &Path) -> bool {
        self.trees.get(tree).is_some_and(|leased| leased.families.contains(family))
    }

    pub(super) fn families(&self, tree: &Path) -> Vec<&'static str> {
        self.trees.get(tree).map(|leased| leased.families.iter().copied().collect()).unwrap_or_default()
    }

    /// The trees that an absolute path is in.
    pub(super) fn containing(&self, path: &Path) -> Vec<PathBuf> {
        path.ancestors().skip(1).filter(|above| self.trees.contains_key(*above)).map(Path::to_owned).collect()
    }

    /// When the next tree has been idle for the grace.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.trees.values().filter_map(|leased| leased.idle_since).min().map(|since| since + self.grace)
    }

    /// Drops trees that have been idle for the grace. Returns all that are left, if they are others than the last time.
    pub(super) fn take_changed(&mut self, now: Instant) -> Option<BTreeSet<PathBuf>> {
        let (before, grace) = (self.trees.len(), self.grace);
        self.trees.retain(|_, leased| leased.idle_since.is_none_or(|since| now < since + grace));
        let is_changed = std::mem::take(&mut self.is_changed) || self.trees.len() != before;
        is_changed.then(|| self.trees.keys().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_stays_for_the_grace_after_its_last_lease() {
        let (grace, start) = (Duration::from_secs(60), Instant::now());
        let mut leases = Leases::new(grace);
        let tree = Path::new("/a");
        assert!(leases.acquire("vibe", tree) && !leases.acquire("vibe", tree), "known after the first time");
        assert!(leases.acquire("todo", tree), "another family's files");
        leases.release(tree, start);
        leases.release(tree, start);
        assert_eq!(leases.next_expiry(), None, "somebody still wants it");
        leases.release(tree, start);
        assert_eq!(leases.take_changed(start + grace / 2), Some(BTreeSet::from([tree.to_owned()])));
        assert_eq!(leases.take_changed(start + grace / 2), None, "nothing new");
        assert!(leases.has("vibe", tree) && !leases.acquire("vibe", tree), "it is still watched");
        leases.release(tree, start + grace);
        assert_eq!(leases.take_changed(start + 2 * grace), Some(BTreeSet::new()));
        assert!(!leases.has("vibe", tree) && leases.acquire("vibe", tree), "it is new again");
    }

    #[test]
    fn a_file_is_in_all_trees_above_it() {
        let mut leases = Leases::new(Duration::ZERO);
        for tree in ["/a", "/a/b", "/ab"] {
            leases.acquire("vibe", Path::new(tree));
        }
        assert_eq!(leases.containing(Path::new("/a/b/c.md")), [Path::new("/a/b"), Path::new("/a")]);
        assert_eq!(leases.containing(Path::new("/a")), [] as [PathBuf; 0], "the root itself is no file in it");
    }
}
