//! How much the journal keeps, and for how long: counts what it holds, and forgets the oldest.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::clock::RetentionClock;
use crate::state_files;

/// What is pruned for its size is pruned down to so many percent of the bound, so that it is seldom done.
const PRUNED_PERCENT: u64 = 90;

/// How long and how much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalRetention {
    pub age: Duration,
    pub bytes: u64,
}

impl Default for JournalRetention {
    fn default() -> Self {
        Self { age: Duration::from_secs(30 * 24 * 60 * 60), bytes: 512 << 20 }
    }
}

/// Why something has to go besides what is too old.
#[derive(Debug, Clone, Copy)]
pub(super) enum RoomFor {
    /// So many bytes more must fit into the bound.
    More(u64),
    /// The disk is full: so many bytes are wanted whatever the bound is.
    Others(u64),
}

#[derive(Debug)]
pub(super) struct RetainedFiles {
    pub(super) clock: Arc<RetentionClock>,
    limits: Mutex<JournalRetention>,
    /// Of everything in the journal's directory; it may be too high, until somebody counts again.
    bytes: AtomicI64,
    pruning: Mutex<()>,
}

impl RetainedFiles {
    pub(super) fn new(directory: &Path, wall: i64) -> Self {
        let clock = Arc::new(RetentionClock::open(directory, wall));
        Self { clock, limits: Mutex::default(), bytes: AtomicI64::new(0), pruning: Mutex::default() }
    }

    pub(super) fn set_limits(&self, limits: JournalRetention) {
        *self.limits.lock() = limits;
    }

    pub(super) fn limits(&self) -> JournalRetention {
        *self.limits.lock()
    }

    pub(super) fn bytes(&self) -> u64 {
        u64::try_from(self.bytes.load(Ordering::Relaxed)).unwrap_or_default()
    }

    pub(super) fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes.cast_signed(), Ordering::Relaxed);
    }

    /// Forgets what is too old, and then the oldest until there is room. `others` take room and must stay. For others'
    /// sake texts go before records: without its record a write whose answer was lost would be done twice. Whether
    /// anything went.
    pub(super) fn prune(&self, (records, texts): (&[PathBuf], &[PathBuf]), others: &[PathBuf], room: RoomFor) -> bool {
        let _one = self.pruning.lock();
        let counted = self.bytes.load(Ordering::Relaxed);
        let (limits, now) = (self.limits(), self.clock.now());
        let size = |path: &PathBuf| fs::symlink_metadata(path).map_or(0, |metadata| metadata.len());
        let go_last = matches!(room, RoomFor::Others(_));
        let files = records.iter().map(|path| (go_last, path)).chain(texts.iter().map(|path| (false, path)));
        let kept = files.filter_map(|(goes_last, path)| {
            self.clock.kept_since(path).map(|(since, size)| (goes_last, since, size, path))
        });
        let mut kept: Vec<(bool, Duration, u64, &PathBuf)> = kept.collect();
        kept.sort();
        let before = others.iter().map(size).sum::<u64>() + kept.iter().map(|(_, _, size, _)| size).sum::<u64>();
        let target = match room {
            RoomFor::More(more) if before + more > limits.bytes => {
                (limits.bytes / 100 * PRUNED_PERCENT).saturating_sub(more)
            }
            RoomFor::More(_) => limits.bytes,
            RoomFor::Others(wanted) => before.saturating_sub(wanted),
        };
        let mut total = before;
        for (_, since, size, path) in kept {
            if now.saturating_sub(since) > limits.age || total > target {
                state_files::remove(path);
                total -= size;
            }
        }
        // What came meanwhile counts as well.
        self.bytes.fetch_add(total.cast_signed() - counted, Ordering::Relaxed);
        total < before
    }
}
