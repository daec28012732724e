//! When the daemon leaves: told to, or without clients for long enough. Also keeps the newest warnings.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How many warnings are kept for `status`.
const MAX_STATUS_WARNINGS: usize = 20;
/// When nothing has happened for this long, free heap memory is returned to the system.
const HEAP_TRIM_DELAY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Lifecycle {
    clients: Mutex<ClientCount>,
    warnings: Mutex<VecDeque<String>>,
    activity: Notify,
    leaving: CancellationToken,
}

/// How many clients there are, and since when none.
#[derive(Debug)]
struct ClientCount {
    clients: usize,
    /// How long we stay without clients; none is for ever.
    idle_timeout: Option<Duration>,
    alone_since: Option<Instant>,
}

/// Why we leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// SIGTERM or SIGINT.
    Signal,
    /// Asked for with `trellisd stop`.
    Asked,
    /// A newer program takes over.
    HandOver,
    Idle,
    /// Our socket or lock is not ours any more.
    Displaced,
}

impl Lifecycle {
    pub(super) fn new(idle_timeout: Option<Duration>) -> Self {
        Self {
            clients: Mutex::new(ClientCount { clients: 0, idle_timeout, alone_since: Some(Instant::now()) }),
            warnings: Mutex::default(),
            activity: Notify::new(),
            leaving: CancellationToken::new(),
        }
    }

    /// Leaves when there have been no clients for long enough, and trims the heap when it is quiet. Ends when we leave.
    pub async fn run(&self) {
        let mut trim_at = None;
        loop {
            let idle_exit = self.clients.lock().idle_exit();
            let wake_at = idle_exit.into_iter().chain(trim_at).min();
            let timer = async {
                match wake_at {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.activity.notified() => trim_at = Some(Instant::now() + HEAP_TRIM_DELAY),
                () = timer => {
                    let now = Instant::now();
                    if self.clients.lock().idle_exit().is_some_and(|at| at <= now) {
                        self.leave(ExitReason::Idle);
                    }
                    if trim_at.take_if(|at| *at <= now).is_some() {
                        trellis_proxy::trim_heap();
                    }
                }
                () = self.leaving.cancelled() => return,
            }
        }
    }

    /// Counts a client until the guard is dropped.
    pub(super) fn count_client(self: &Arc<Self>) -> ClientGuard {
        self.clients.lock().opened();
        self.touch();
        ClientGuard(Arc::clone(self))
    }

    /// Something has happened.
    pub(super) fn touch(&self) {
        self.activity.notify_one();
    }

    pub(super) fn warn(&self, warning: &str) {
        tracing::warn!("{warning}");
        let mut warnings = self.warnings.lock();
        if warnings.len() == MAX_STATUS_WARNINGS {
            warnings.pop_front();
        }
        warnings.push_back(warning.to_owned());
    }

    /// The newest warnings, oldest first.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().iter().cloned().collect()
    }

    /// No new work from now on; what is in flight is finished.
    pub fn leave(&self, why: ExitReason) {
        if !self.leaving.is_cancelled() {
            tracing::info!(%why, "leaving");
            self.leaving.cancel();
        }
    }

    /// Cancelled when we leave.
    pub fn leaving(&self) -> &CancellationToken {
        &self.leaving
    }
}

/// A client that is counted.
#[derive(Debug)]
pub struct ClientGuard(Arc<Lifecycle>);

impl Drop for ClientGuard {
    fn drop(&mut self) {
        self.0.clients.lock().closed(Instant::now());
        self.0.touch();
    }
}

impl ClientCount {
    fn opened(&mut self) {
        self.clients += 1;
        self.alone_since = None;
    }

    fn closed(&mut self, now: Instant) {
        self.clients = self.clients.saturating_sub(1);
        if self.clients == 0 {
            self.alone_since = Some(now);
        }
    }

    /// When we leave if nobody comes.
    fn idle_exit(&self) -> Option<Instant> {
        Some(self.alone_since? + self.idle_timeout?)
    }
}

impl fmt::Display for ExitReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Signal => "told by a signal",
            Self::Asked => "told by the command line",
            Self::HandOver => "a newer program takes over",
            Self::Idle => "no clients for long enough",
            Self::Displaced => "the socket or the lock is not ours any more",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn an_on_demand_daemon_leaves_when_alone_for_long_enough() {
        let start = Instant::now();
        let mut clients = ClientCount { clients: 0, idle_timeout: Some(MINUTE), alone_since: Some(start) };
        assert_eq!(clients.idle_exit(), Some(start + MINUTE));
        clients.opened();
        clients.opened();
        assert_eq!(clients.idle_exit(), None, "with clients there is nothing to wait for");
        clients.closed(start);
        assert_eq!(clients.idle_exit(), None);
        clients.closed(start + MINUTE);
        assert_eq!(clients.idle_exit(), Some(start + 2 * MINUTE));
    }

    #[test]
    fn a_service_stays() {
        let clients = ClientCount { clients: 0, idle_timeout: None, alone_since: Some(Instant::now()) };
        assert_eq!(clients.idle_exit(), None);
    }

    #[test]
    fn only_the_newest_warnings_are_kept() {
        let lifecycle = Lifecycle::new(None);
        (0..25).for_each(|number| lifecycle.warn(&number.to_string()));
        let warnings = lifecycle.warnings();
        assert_eq!(warnings.len(), MAX_STATUS_WARNINGS);
        assert_eq!(warnings.last().map(String::as_str), Some("24"));
    }
}
