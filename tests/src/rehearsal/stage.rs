//! Who waits for which cue: the one thing in this family that is not pure, so that a test, and not a
//! clock, decides when a long look ends. A wait that is cancelled is counted, and goes on: not every
//! look can stop at once.

use std::collections::HashMap;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use trellisd::disk::Eyes;
use trellisd::disk::reporter::Step;
use trellisd::families::need::Look;

/// Between two looks whether a wait is still wanted.
const GLANCE: Duration = Duration::from_millis(5);

/// The stage of this process.
pub static STAGE: LazyLock<Stage> = LazyLock::new(Stage::default);

/// Every cue that anybody has named.
#[derive(Debug, Default)]
pub struct Stage {
    cues: Mutex<HashMap<String, Cue>>,
    changed: Condvar,
}

/// How one cue stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cue {
    /// It has been given; nobody waits for it any more.
    pub given: bool,
    /// So many have begun to wait for it.
    pub begun: u32,
    /// So many wait for it now.
    pub waiting: u32,
    /// So many have noticed that nobody wants them to wait any more.
    pub cancelled: u32,
}

impl Stage {
    /// How a cue stands.
    pub fn cue(&self, name: &str) -> Cue {
        self.lock().get(name).copied().unwrap_or_default()
    }

    /// Gives a cue.
    pub fn give(&self, name: &str) {
        self.lock().entry(name.to_owned()).or_default().given = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Cue>> {
        self.cues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait for a cue, with some steps before it.
#[derive(Debug, Clone)]
pub struct Wait {
    /// The cue that ends it.
    pub cue: String,
    /// Steps that are reported first.
    pub steps: u64,
}

impl Look for Wait {
    type Seen = ();

    fn look(self, eyes: &Eyes<'_>) {
        let total = Some(self.steps + 1);
        let report = |done, message: &str| eyes.reporter.report(Step { done, total, message: message.to_owned() });
        for done in 1..=self.steps {
            report(done, "in the wings");
        }
        let mut cues = STAGE.lock();
        let cue = cues.entry(self.cue.clone()).or_default();
        cue.begun += 1;
        cue.waiting += 1;
        let mut is_wanted = true;
        loop {
            let cue = cues.entry(self.cue.clone()).or_default();
            if cue.given {
                cue.waiting -= 1;
                return;
            }
            if is_wanted && eyes.reporter.is_cancelled() {
                is_wanted = false;
                // The last word of a wait that nobody wants any more: nobody may hear it.
                report(self.steps + 1, "not wanted");
                cue.cancelled += 1;
            }
            cues = STAGE.changed.wait_timeout(cues, GLANCE).map_or_else(|error| error.into_inner().0, |(cues, _)| cues);
        }
    }
}
