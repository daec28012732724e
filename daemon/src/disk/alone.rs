//! The moment of renames, alone in a tree: other daemons on the same files wait for it to pass.
//!
//! The lock is advisory, lies on the tree's own directory and leaves no file. It is held for the renames
//! and the looks around them, never for a flush. Who does not get it in time goes on: what was displaced
//! is looked at anyway.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::Root;

/// Longer than any moment of renames; somebody who holds the lock longer has other things in mind.
const PATIENCE: Duration = Duration::from_millis(250);
/// Between two attempts.
const BLINK: Duration = Duration::from_micros(50);

/// Locks on trees, held until this is dropped.
#[derive(Debug)]
pub(super) struct Alone {
    _held: Vec<OwnedFd>,
}

impl Alone {
    /// Waits for all of these trees, always in the same order.
    pub(super) fn in_trees<'a>(roots: impl IntoIterator<Item = &'a Root>) -> Self {
        let number = |root: &'a Root| root.number().ok().map(|number| (number, root));
        let mut roots: Vec<((u64, u64), &Root)> = roots.into_iter().filter_map(number).collect();
        roots.sort_by_key(|(number, _)| *number);
        roots.dedup_by_key(|(number, _)| *number);
        let end = Instant::now() + PATIENCE;
        Self { _held: roots.into_iter().filter_map(|(_, root)| hold(root, end)).collect() }
    }
}

/// None if somebody else holds it for too long, or if the file system has no such locks.
fn hold(root: &Root, end: Instant) -> Option<OwnedFd> {
    let directory = root.handle().ok()?;
    loop {
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(directory),
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < end => std::thread::sleep(BLINK),
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn one_at_a_time_and_nobody_waits_for_ever() {
        let home = TempDir::new().expect("a temporary directory");
        let root = Root::open(home.path()).expect("a root");
        let inside = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let alone = Alone::in_trees([&root, &root]);
                        assert_eq!(alone._held.len(), 1);
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        let first = Alone::in_trees([&root]);
        assert_eq!(Alone::in_trees([&root])._held.len(), 0, "it goes on without");
        drop(first);
        assert_eq!(Alone::in_trees([&root])._held.len(), 1);
    }
}
