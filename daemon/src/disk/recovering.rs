//! Trees that are being recovered: calls that touch one wait for it alone, and nobody waits for the others.
//!
//! A group of cut-off writes is begun before anybody is served, and finished by the thread that recovers it. Whoever
//! asks for one of its trees or calls waits until then, at most until its deadline, after which they are refused at once.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::{Condvar, Mutex, RwLock};

use super::journal::{CallId, JournalRecord};

/// The trees that are being recovered now.
#[derive(Debug, Default)]
pub struct TreeRecoveries {
    /// How many; mostly none, and then nothing else is looked at.
    count: AtomicUsize,
    pending: RwLock<Vec<Arc<PendingRecovery>>>,
}

/// Writes that were cut off in trees that have to do with each other.
#[derive(Debug)]
struct PendingRecovery {
    roots: Vec<PathBuf>,
    files: Vec<PathBuf>,
    calls: Vec<CallId>,
    keys: Vec<String>,
    deadline: Instant,
    is_done: Mutex<bool>,
    done: Condvar,
}

/// Ends the waiting when it is dropped.
#[derive(Debug)]
pub(crate) struct RecoveryGuard {
    recoveries: Arc<TreeRecoveries>,
    pending: Arc<PendingRecovery>,
}

/// A call's view of the trees that are being recovered, and the one that it was refused for.
#[derive(Debug, Clone)]
pub struct RecoveryWait<'a> {
    pub(super) recoveries: &'a TreeRecoveries,
    refused: Arc<OnceLock<PathBuf>>,
}

impl TreeRecoveries {
    /// From now on until the guard is dropped, calls that touch these writes wait.
    pub(crate) fn begin<'a>(
        self: &Arc<Self>,
        records: impl Iterator<Item = &'a JournalRecord> + Clone,
        deadline: Instant,
    ) -> RecoveryGuard {
        let files = || records.clone().flat_map(|record| &record.files);
        let pending = Arc::new(PendingRecovery {
            roots: files().map(|file| file.root.clone()).collect(),
            files: files().map(|file| file.root.join(&file.path)).collect(),
            calls: records.clone().filter_map(|record| record.call.clone()).collect(),
            keys: records.clone().filter_map(|record| record.key.clone()).collect(),
            deadline,
            is_done: Mutex::new(false),
            done: Condvar::new(),
        });
        self.pending.write().push(Arc::clone(&pending));
        self.count.fetch_add(1, Ordering::SeqCst);
        RecoveryGuard { recoveries: Arc::clone(self), pending }
    }

    /// What a call needs to wait for trees; none if none is being recovered.
    pub fn view(&self) -> Option<RecoveryWait<'_>> {
        (self.count.load(Ordering::SeqCst) > 0).then(|| RecoveryWait { recoveries: self, refused: Arc::default() })
    }

    /// Waits until it is known what became of a call with one of these names. Else the tree that does not answer.
    pub fn wait_for_call(&self, call: Option<&CallId>, key: Option<&str>) -> Result<(), PathBuf> {
        let is_meant = |pending: &PendingRecovery| {
            call.is_some_and(|call| pending.calls.contains(call))
                || key.is_some_and(|key| pending.keys.iter().any(|pending| pending == key))
        };
        self.wait(is_meant)
    }

    fn wait(&self, is_meant: impl Fn(&PendingRecovery) -> bool) -> Result<(), PathBuf> {
        if self.count.load(Ordering::SeqCst) == 0 {
            return Ok(());
        }
        let meant: Vec<_> = self.pending.read().iter().filter(|pending| is_meant(pending)).cloned().collect();
        meant.iter().try_for_each(|pending| pending.wait())
    }
}

impl PendingRecovery {
    /// A root may be a directory above the tree, if the write was to make the tree.
    fn touches(&self, tree: &Path) -> bool {
        self.roots.iter().any(|root| root == tree) || self.files.iter().any(|file| file.starts_with(tree))
    }

    fn wait(&self) -> Result<(), PathBuf> {
        let mut is_done = self.is_done.lock();
        while !*is_done {
            if self.done.wait_until(&mut is_done, self.deadline).timed_out() && !*is_done {
                return Err(self.roots.first().cloned().unwrap_or_default());
            }
        }
        Ok(())
    }
}

impl Drop for RecoveryGuard {
    fn drop(&mut self) {
        *self.pending.is_done.lock() = true;
        self.pending.done.notify_all();
        self.recoveries.pending.write().retain(|pending| !Arc::ptr_eq(pending, &self.pending));
        self.recoveries.count.fetch_sub(1, Ordering::SeqCst);
    }
}

impl RecoveryWait<'_> {
    /// Whether a tree is being recovered, without waiting.
    pub fn is_recovering(&self, tree: &Path) -> bool {
        self.recoveries.pending.read().iter().any(|pending| pending.touches(tree))
    }

    /// Waits for a tree; false if it does not answer.
    pub(super) fn wait_for_tree(&self, tree: &Path) -> bool {
        let waited = self.recoveries.wait(|pending| pending.touches(tree));
        waited.map_err(|root| self.refused.set(root)).is_ok()
    }

    /// The tree for which the call was refused.
    pub fn refused(&self) -> Option<&Path> {
        self.refused.get().map(PathBuf::as_path)
    }
}
