//! Mutexes by key: whoever writes a file holds its lock; writers of other files do not wait.
//!
//! Several are acquired in sorted order, so that two writers cannot deadlock.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use dashmap::DashMap;
use parking_lot::{ArcMutexGuard, Mutex, RawMutex};

/// Locks that exist while somebody holds or wants them.
#[derive(Debug)]
pub struct KeyedLocks<K: Eq + Hash> {
    held: DashMap<K, Arc<Mutex<()>>>,
}

impl<K: Eq + Hash> Default for KeyedLocks<K> {
    fn default() -> Self {
        Self { held: DashMap::new() }
    }
}

/// Some locks, held until this is dropped.
pub struct KeyedGuard<'a, K: Eq + Hash + Ord + Clone> {
    locks: &'a KeyedLocks<K>,
    names: Vec<K>,
    guards: Vec<ArcMutexGuard<RawMutex, ()>>,
    was_contended: bool,
}

impl<K: Eq + Hash + Ord + Clone> KeyedLocks<K> {
    /// Waits for all of them.
    pub fn take(&self, names: impl IntoIterator<Item = K>) -> KeyedGuard<'_, K> {
        let mut names: Vec<K> = names.into_iter().collect();
        names.sort();
        names.dedup();
        let mut waited = false;
        let lock = |name: &K| {
            // The map's own lock is let go before the wait.
            let lock = Arc::clone(&self.held.entry(name.clone()).or_default());
            Mutex::try_lock_arc(&lock).unwrap_or_else(|| {
                waited = true;
                Mutex::lock_arc(&lock)
            })
        };
        let guards = names.iter().map(lock).collect();
        KeyedGuard { locks: self, names, guards, was_contended: waited }
    }
}

impl<K: Eq + Hash + Ord + Clone + fmt::Debug> fmt::Debug for KeyedGuard<'_, K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("KeyedGuard").field(&self.names).finish()
    }
}

impl<K: Eq + Hash + Ord + Clone> KeyedGuard<'_, K> {
    /// Whether somebody else had one of them just before.
    pub fn was_contended(&self) -> bool {
        self.was_contended
    }

    /// Whether these names, and perhaps others, are held.
    pub fn holds_all(&self, names: &[K]) -> bool {
        names.iter().all(|name| self.names.contains(name))
    }
}

impl<K: Eq + Hash + Ord + Clone> Drop for KeyedGuard<'_, K> {
    /// A lock that nobody else wants is forgotten.
    fn drop(&mut self) {
        self.guards.clear();
        for name in &self.names {
            self.locks.held.remove_if(name, |_, lock| Arc::strong_count(lock) == 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn one_at_a_time_and_nothing_left_over() {
        let locks = KeyedLocks::default();
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for turn in 0..4 {
                let (locks, inside, most) = (&locks, &inside, &most);
                scope.spawn(move || {
                    for _ in 0..200 {
                        let names = if turn % 2 == 0 { ["a", "b"] } else { ["b", "a"] };
                        let held = locks.take(names);
                        assert!(held.holds_all(&["a"]) && !held.holds_all(&["c"]));
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 1);
        assert!(locks.held.is_empty());
    }
}
