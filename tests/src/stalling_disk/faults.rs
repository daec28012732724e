//! What goes wrong, for whom: an operation and its path come in; it is carried out, refused, delayed or held.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use fuser::Errno;

/// A class of file-system operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Looking at names and states: lookup, stat, statfs, links.
    Look,
    List,
    Open,
    Read,
    /// Changing bytes, or the size, mode or times of a file.
    Write,
    Sync,
    /// Making, moving and removing names.
    Name,
}

impl Operation {
    pub const ALL: [Self; 7] = [Self::Look, Self::List, Self::Open, Self::Read, Self::Write, Self::Sync, Self::Name];
    /// Whatever a read-only disk refuses.
    pub const CHANGING: [Self; 2] = [Self::Write, Self::Name];
}

/// What happens instead of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing, until the disk is healed.
    Hung,
    /// The answer, after this time.
    Slow(Duration),
    InputOutput,
    NoSpace,
    ReadOnly,
    Stale,
}

impl Fault {
    fn errno(self) -> Option<Errno> {
        match self {
            Self::Hung | Self::Slow(_) => None,
            Self::InputOutput => Some(Errno::EIO),
            Self::NoSpace => Some(Errno::ENOSPC),
            Self::ReadOnly => Some(Errno::EROFS),
            Self::Stale => Some(Errno::ESTALE),
        }
    }
}

#[derive(Debug)]
struct Rule {
    below: PathBuf,
    operations: Vec<Operation>,
    fault: Fault,
}

/// An operation that has not been answered. It gets the error with which to answer, if any.
pub(super) type Work = Box<dyn FnOnce(Result<(), Errno>) + Send>;

#[derive(Default)]
pub(super) struct Faults {
    rules: Mutex<Vec<Rule>>,
    held: Mutex<Vec<Work>>,
}

impl Faults {
    pub(super) fn set(&self, below: PathBuf, operations: Vec<Operation>, fault: Fault) {
        self.rules.lock().expect("nobody panics").push(Rule { below, operations, fault });
    }

    pub(super) fn heal(&self) {
        self.rules.lock().expect("nobody panics").clear();
        let held = std::mem::take(&mut *self.held.lock().expect("nobody panics"));
        held.into_iter().for_each(|work| work(Ok(())));
    }

    pub(super) fn hanging(&self) -> usize {
        self.held.lock().expect("nobody panics").len()
    }

    /// Carries out an operation at a path, as the newest rule for it says. Never waits.
    pub(super) fn run(&self, operation: Operation, path: &Path, work: Work) {
        let rules = self.rules.lock().expect("nobody panics");
        let rule =
            rules.iter().rev().find(|rule| path.starts_with(&rule.below) && rule.operations.contains(&operation));
        match rule.map(|rule| rule.fault) {
            None => {
                drop(rules);
                work(Ok(()));
            }
            // Under the lock of the rules: one that is healed just now must not be held.
            Some(Fault::Hung) => self.held.lock().expect("nobody panics").push(work),
            Some(Fault::Slow(time)) => {
                std::thread::spawn(move || {
                    std::thread::sleep(time);
                    work(Ok(()));
                });
            }
            Some(fault) => work(fault.errno().map_or(Ok(()), Err)),
        }
    }
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Faults").field("rules", &self.rules).finish_non_exhaustive()
    }
}
