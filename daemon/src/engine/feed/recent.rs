//! The newest entries in memory, and what took what back. Loaded from the log once, then kept up with it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;

use super::log::FeedLog;
use crate::families::feed::FeedEntry;

/// So many entries stay in memory; older ones are read from the disk.
const MAX_IN_MEMORY: usize = 2000;

#[derive(Debug, Default)]
pub(super) struct RecentEntries(Mutex<Option<Loaded>>);

#[derive(Debug, Default)]
struct Loaded {
    /// By their numbers, the oldest first.
    entries: VecDeque<Arc<FeedEntry>>,
    /// Whether there are older ones on the disk.
    is_cut: bool,
    /// By the change that was taken back: the newest that did so.
    undone: HashMap<u64, u64>,
}

impl RecentEntries {
    /// Reads the log, if that has not been done.
    pub(super) fn load(&self, log: &FeedLog) {
        self.with(log, |_| ());
    }

    fn with<T>(&self, log: &FeedLog, work: impl FnOnce(&mut Loaded) -> T) -> T {
        let mut loaded = self.0.lock();
        work(loaded.get_or_insert_with(|| {
            let mut loaded = Loaded::default();
            log.newest(usize::MAX, None).into_iter().rev().for_each(|entry| loaded.add(entry));
            loaded
        }))
    }

    /// An entry that is in the log from now on.
    pub(super) fn add(&self, entry: FeedEntry) {
        if let Some(loaded) = self.0.lock().as_mut() {
            loaded.add(entry);
        }
    }

    pub(super) fn newest(&self, log: &FeedLog, limit: usize, before: Option<u64>) -> Vec<Arc<FeedEntry>> {
        let is_wanted = |entry: &&Arc<FeedEntry>| before.is_none_or(|before| entry.id < before);
        let (found, is_cut): (Vec<_>, _) = self.with(log, |loaded| {
            (loaded.entries.iter().rev().filter(is_wanted).take(limit).cloned().collect(), loaded.is_cut)
        });
        if found.len() == limit || !is_cut {
            return found;
        }
        log.newest(limit, before).into_iter().map(Arc::new).collect()
    }

    /// An undo that was taken back itself is not in force.
    pub(super) fn undone_by(&self, log: &FeedLog, change: u64) -> Option<u64> {
        self.with(log, |loaded| {
            let undo = *loaded.undone.get(&change)?;
            let is_in_force = |undo: u64| match loaded.undone.get(&undo) {
                None => true,
                // Taken back, and that again: in force if the last word says so.
                Some(first) => {
                    let (mut next, mut depth) = (*first, 1_usize);
                    while let Some(later) = loaded.undone.get(&next) {
                        (next, depth) = (*later, depth + 1);
                    }
                    depth % 2 == 0
                }
            };
            is_in_force(undo).then_some(undo)
        })
    }
}

impl Loaded {
    /// Entries come nearly in the order of their numbers.
    fn add(&mut self, entry: FeedEntry) {
        if let Some(undone) = entry.undoes {
            let newest = self.undone.entry(undone).or_insert(entry.id);
            *newest = entry.id.max(*newest);
        }
        let place = self.entries.iter().rposition(|known| known.id < entry.id).map_or(0, |before| before + 1);
        self.entries.insert(place, Arc::new(entry));
        if self.entries.len() > MAX_IN_MEMORY {
            self.entries.pop_front();
            self.is_cut = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(undoes: &[(u64, u64)]) -> RecentEntries {
        let mut loaded = Loaded::default();
        for (id, undone) in undoes {
            loaded.add(FeedEntry { id: *id, undoes: Some(*undone), ..FeedEntry::default() });
        }
        RecentEntries(Mutex::new(Some(loaded)))
    }

    #[test]
    fn an_undo_that_was_undone_is_not_in_force() {
        let log = FeedLog::for_tests();
        let undone_by = |undoes: &[(u64, u64)]| loaded(undoes).undone_by(&log, 1);
        assert_eq!(undone_by(&[]), None);
        assert_eq!(undone_by(&[(2, 1)]), Some(2));
        assert_eq!(undone_by(&[(2, 1), (3, 2)]), None);
        assert_eq!(undone_by(&[(2, 1), (3, 2), (4, 3)]), Some(2));
        assert_eq!(undone_by(&[(2, 1), (3, 2), (5, 1)]), Some(5));
    }

    #[test]
    fn entries_are_in_the_order_of_their_numbers() {
        let entries = RecentEntries(Mutex::new(Some(Loaded::default())));
        for id in [1, 3, 2, 5, 4] {
            entries.add(FeedEntry { id, ..FeedEntry::default() });
        }
        let ids = |limit, before| {
            let newest = entries.newest(&FeedLog::for_tests(), limit, before);
            newest.iter().map(|entry| entry.id).collect::<Vec<_>>()
        };
        assert_eq!((ids(10, None), ids(2, Some(4))), (vec![5, 4, 3, 2, 1], vec![3, 2]));
    }
}
