//! Writes of earlier daemons, brought to an end in the background.
//!
//! Each group of trees has a thread of its own. Calls that touch a tree wait for it until its deadline; one whose disk
//! does not answer by then is left to the next daemon, and refused meanwhile. It comes back by itself.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use trellis_protocol::{Failure, FailureKind};

use super::{Engine, history};
use crate::disk::DiskReader;
use crate::disk::displaced::ConflictCallback;
use crate::disk::journal::JournalRecord;
use crate::disk::recover::{self, Recovered, RecoveryGroup};

/// How long a tree may take; calls that wait for it get an answer before they time out themselves.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(5);

impl Engine {
    /// Begins the recovery of all groups; nobody may be served before this returns.
    pub fn recover_in_background(self: &Arc<Self>, groups: Vec<RecoveryGroup>, on_conflict: &Arc<ConflictCallback>) {
        if groups.is_empty() {
            return self.finish_recovery(&Recovered::default());
        }
        let deadline = Instant::now() + RECOVERY_TIMEOUT;
        let groups: Vec<Arc<RecoveryGroup>> = groups.into_iter().map(Arc::new).collect();
        let (done, outcomes) = channel();
        for (number, group) in groups.iter().enumerate() {
            let guard = self.recoveries.begin(group.records(), deadline);
            let (engine, group, done) = (Arc::clone(self), Arc::clone(group), done.clone());
            let on_conflict = Arc::clone(on_conflict);
            start_thread(move || {
                let recovered = group.recover(&engine.writer, on_conflict.as_ref());
                let left = engine.take_over(recovered);
                drop(guard);
                // After its deadline its records are in our own journal.
                if let Err(error) = done.send((number, left)) {
                    error.0.1.note_finished(&engine.writer);
                }
            });
        }
        let engine = Arc::clone(self);
        start_thread(move || engine.await_recoveries(groups, &outcomes, deadline));
    }

    /// The answers are known from now on. What is left is for the journal.
    fn take_over(&self, recovered: Recovered) -> Recovered {
        let (known, left) = recovered.split();
        self.feed.record_missing(known.applied.iter().filter_map(history::entry_of));
        known.rolled_back.iter().for_each(|record| self.warn(&rolled_back_warning(record)));
        self.answers.lock().add(known);
        left
    }

    fn await_recoveries(
        &self,
        groups: Vec<Arc<RecoveryGroup>>,
        outcomes: &Receiver<(usize, Recovered)>,
        deadline: Instant,
    ) {
        let mut waiting: Vec<Option<Arc<RecoveryGroup>>> = groups.into_iter().map(Some).collect();
        let mut recovered = Recovered::default();
        while waiting.iter().any(Option::is_some) {
            match outcomes.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok((number, outcome)) => {
                    waiting[number] = None;
                    recovered.add(outcome);
                }
                Err(RecvTimeoutError::Timeout) => {
                    for group in waiting.iter_mut().filter_map(Option::take) {
                        let tree = group.records().flat_map(|record| &record.files).next();
                        let tree = tree.map(|file| file.root.display().to_string()).unwrap_or_default();
                        self.warn(&format!("`{tree}` does not answer; writes that were cut off there wait for it"));
                        recovered.add(group.carry_over(&self.writer));
                    }
                }
                // A thread has panicked: its journal stays for the next daemon.
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        self.finish_recovery(&recovered);
    }

    fn finish_recovery(&self, recovered: &Recovered) {
        if let Err(error) = recover::finish(&self.writer, recovered) {
            self.warn(&format!("the journals of earlier daemons could not be put away: {error}"));
        }
    }
}

fn start_thread(work: impl FnOnce() + Send + 'static) {
    let started = std::thread::Builder::new().name("recover".into()).spawn(work);
    started.expect("a thread can be started at start-up");
}

fn rolled_back_warning(record: &JournalRecord) -> String {
    let names: Vec<&str> = record.files.iter().map(|file| file.path.as_str()).collect();
    format!("a write of `{}` was cut off and nobody asked for it again: it was not carried out", names.join("`, `"))
}

/// What is answered while a tree does not answer.
pub fn not_recovered(tree: &Path) -> Failure {
    let message = format!("`{}` does not answer, and a write that was cut off there is not recovered", tree.display());
    Failure::new("unavailable", FailureKind::Unavailable, message)
        .with_hint("check that its disk is mounted and answers, then try again")
}

/// The outcome of a call, or that it was refused because a tree is not recovered.
pub fn unless_refused<T>(disk: &DiskReader<'_>, outcome: Result<T, Failure>) -> Result<T, Failure> {
    let refused = disk.recovery.as_ref().and_then(|recovery| recovery.refused());
    outcome.map_err(|failure| refused.map_or(failure, not_recovered))
}
