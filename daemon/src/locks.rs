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
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    const KEYS: usize = 6;

    /// Adds one in two steps, with time between them: whoever is not alone loses some.
    fn add_one(counter: &AtomicU32, turn: usize) {
        let seen = counter.load(Ordering::Relaxed);
        if turn.is_multiple_of(3) {
            thread::yield_now();
        }
        counter.store(seen + 1, Ordering::Relaxed);
    }

    /// Every thread takes its sets of keys in turn, in the order in which they are written, and counts under each.
    fn check(plans: &[Vec<Vec<usize>>], rounds: usize) {
        let locks = KeyedLocks::default();
        let counters: [AtomicU32; KEYS] = Default::default();
        thread::scope(|scope| {
            for plan in plans {
                let (locks, counters) = (&locks, &counters);
                scope.spawn(move || {
                    for (turn, keys) in plan.iter().cycle().take(plan.len() * rounds).enumerate() {
                        let held = locks.take(keys.iter().copied());
                        assert!(held.holds_all(keys));
                        (0..KEYS).filter(|key| keys.contains(key)).for_each(|key| add_one(&counters[key], turn));
                    }
                });
            }
        });
        for (key, counter) in counters.iter().enumerate() {
            let wanted = plans.iter().flatten().filter(|keys| keys.contains(&key)).count() * rounds;
            assert_eq!(counter.load(Ordering::Relaxed) as usize, wanted, "somebody was not alone with {key}");
        }
        assert!(locks.held.is_empty(), "nothing is left over: {locks:?}");
    }

    #[test]
    fn many_threads_with_crossing_sets_neither_lose_nor_deadlock() {
        let crossing = |thread: usize| -> Vec<Vec<usize>> {
            (0..KEYS).map(|step| vec![(thread + step) % KEYS, (thread * 5 + step * 3 + 1) % KEYS, thread % 2]).collect()
        };
        let plans: Vec<_> = (0..8).map(crossing).collect();
        check(&plans, 400);
        check(&[vec![vec![0, 1]], vec![vec![1, 0]], vec![vec![0]], vec![vec![1, 1]]], 3000);
    }

    /// Waits until so many others hold or want a lock.
    fn wait_for_others(locks: &KeyedLocks<&str>, name: &str, count: usize) {
        let end = Instant::now() + Duration::from_secs(10);
        // The map's own handle is one more.
        while locks.held.get(name).is_none_or(|lock| Arc::strong_count(&lock) <= count) {
            assert!(Instant::now() < end, "nobody comes for {name}");
            thread::yield_now();
        }
    }

    #[test]
    fn only_who_wants_the_same_waits_and_knows_that_it_did() {
        let locks = KeyedLocks::default();
        let held = locks.take(["b", "a"]);
        assert!(!held.was_contended());
        thread::scope(|scope| {
            let late = scope.spawn(|| locks.take(["c", "b"]).was_contended());
            wait_for_others(&locks, "b", 2);
            assert!(!locks.take(["d"]).was_contended(), "another one does not wait");
            drop(held);
            assert!(late.join().expect("it gets its turn"));
        });
        assert!(!locks.take(["b"]).was_contended(), "the wait is over");
        assert!(locks.held.is_empty());
    }

    #[test]
    fn a_holder_that_panics_lets_go() {
        let locks = KeyedLocks::default();
        for _ in 0..100 {
            let fell = catch_unwind(AssertUnwindSafe(|| {
                let _held = locks.take(["a", "b"]);
                std::panic::resume_unwind(Box::new("a fault"));
            }));
            assert!(fell.is_err() && locks.held.is_empty());
            assert!(!locks.take(["b"]).was_contended());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_sets_of_keys_are_held_alone(
            plans in proptest::collection::vec(
                proptest::collection::vec(proptest::collection::vec(0..KEYS, 0..4), 1..6), 2..6)
        ) {
            check(&plans, 20);
        }
    }
}
