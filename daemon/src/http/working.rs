//! How many requests are being worked on, so that leaving can wait for them.

use std::sync::Arc;

use tokio::sync::watch;

/// Counts.
#[derive(Debug)]
pub struct Working(Arc<watch::Sender<usize>>);

/// One request that is being worked on, until this is dropped.
#[derive(Debug)]
pub struct Work(Arc<watch::Sender<usize>>);

impl Default for Working {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }
}

impl Working {
    /// Begins to work on one.
    pub fn begin(&self) -> Work {
        self.0.send_modify(|count| *count += 1);
        Work(Arc::clone(&self.0))
    }

    /// Waits until nothing is being worked on.
    pub async fn done(&self) {
        let mut count = self.0.subscribe();
        // The sender is ours, so this cannot end in any other way.
        let _ = count.wait_for(|count| *count == 0).await;
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
