//! Waiting for a reason, never for a time.

use std::time::{Duration, Instant};

/// How long anything may take before a test gives up on it; generous, because machines are busy.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

/// Asks until there is an answer. `reason` is what the test says when it gives up.
#[track_caller]
pub fn wait_until<T>(reason: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + WAIT_TIMEOUT;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "gave up waiting: {reason}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
