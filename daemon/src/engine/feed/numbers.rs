//! Numbers of changes: growing, and never used twice, also not after a crash.
//!
//! A change gets its number before it is in the journal, and is in the feed only after its files are written. So a
//! block of numbers is taken on the disk before the first of them is used, and a daemon that dies leaves the rest of
//! its block unused.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use parking_lot::Mutex;

use crate::state_files;

/// Numbers that are taken at once; as many are lost by a crash.
const BLOCK_LENGTH: u64 = 1000;

#[derive(Debug)]
pub(super) struct ChangeNumbers {
    file: PathBuf,
    state: Mutex<NumbersState>,
}

#[derive(Debug, Default)]
struct NumbersState {
    /// None before the first one.
    next: Option<u64>,
    /// The first one that is not taken on the disk.
    end: u64,
    /// Those that are neither in the feed nor given up.
    outstanding: BTreeSet<u64>,
}

impl ChangeNumbers {
    pub(super) fn new(file: PathBuf) -> Self {
        Self { file, state: Mutex::default() }
    }

    /// The next number. `least` is asked once: no number below it may be given.
    pub(super) fn reserve(&self, least: impl FnOnce() -> u64) -> io::Result<u64> {
        let mut state = self.state.lock();
        let number = state.next.unwrap_or_else(|| self.taken().unwrap_or(1).max(least()));
        if state.next.is_none() || number == state.end {
            self.take(number + BLOCK_LENGTH)?;
            state.end = number + BLOCK_LENGTH;
        }
        state.next = Some(number + 1);
        state.outstanding.insert(number);
        Ok(number)
    }

    /// This one is in the feed, or never will be.
    pub(super) fn release(&self, number: u64) {
        self.state.lock().outstanding.remove(&number);
    }

    /// No smaller number than this will come into the feed any more.
    pub(super) fn least_outstanding(&self) -> Option<u64> {
        self.state.lock().outstanding.first().copied()
    }

    /// Gives back what was taken and not used.
    pub(super) fn finish(&self) {
        let next = self.state.lock().next.take();
        if let Some(Err(error)) = next.map(|next| self.take(next)) {
            tracing::debug!(%error, "some numbers of changes are left out");
        }
    }

    /// Written twice, so that damage is seen.
    fn take(&self, end: u64) -> io::Result<()> {
        state_files::replace(&self.file, format!("{end} {end}\n").as_bytes())
    }

    fn taken(&self) -> Option<u64> {
        let text = state_files::read(&self.file)?;
        let (one, two) = text.trim().split_once(' ')?;
        one.parse().ok().filter(|_| one == two)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn no_number_is_given_twice_whoever_dies() {
        let home = TempDir::new().expect("a directory");
        let numbers = || ChangeNumbers::new(home.path().join("changes"));
        let first = numbers();
        assert_eq!([first.reserve(|| 1).expect("one"), first.reserve(|| 1).expect("two")], [1, 2]);
        assert_eq!(first.least_outstanding(), Some(1));
        first.release(1);
        assert_eq!(first.least_outstanding(), Some(2));
        let after_crash = numbers();
        let next = after_crash.reserve(|| 3).expect("a number");
        assert_eq!(next, 1 + BLOCK_LENGTH);
        let last = (0..BLOCK_LENGTH).map(|_| after_crash.reserve(|| 1).expect("a number")).last();
        assert_eq!(last, Some(next + BLOCK_LENGTH));
        after_crash.finish();
        assert_eq!(numbers().reserve(|| 1).expect("a number"), next + BLOCK_LENGTH + 1, "an orderly end loses none");
        state_files::replace(&home.path().join("changes"), b"7 8").expect("damaged");
        assert_eq!(numbers().reserve(|| 5000).expect("a number"), 5000, "the feed knows, too");
    }
}
