//! Progress of a long read, and whether its result is still wanted.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// One step of a long piece of work.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressStep {
    pub done: u64,
    /// Steps in all, if known.
    pub total: Option<u64>,
    /// What is being done, for people.
    pub message: String,
}

/// Passed to whoever works; telling never waits.
#[derive(Debug, Clone, Default)]
pub struct ProgressReporter {
    steps: Option<mpsc::UnboundedSender<ProgressStep>>,
    cancelled: CancellationToken,
}

impl ProgressReporter {
    /// A reporter whose steps somebody listens to.
    pub fn new(steps: Option<mpsc::UnboundedSender<ProgressStep>>, cancelled: CancellationToken) -> Self {
        Self { steps, cancelled }
    }

    /// Tells how far the work has come.
    pub fn report(&self, step: ProgressStep) {
        if let Some(steps) = &self.steps {
            // Nobody listening any more is no error.
            let _ = steps.send(step);
        }
    }

    /// Whether the result is not wanted any more.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }
}
