//! Tests that need the whole machine take turns, so that their bounds mean something.

use std::sync::{Mutex, MutexGuard, PoisonError};

static TURN: Mutex<()> = Mutex::new(());

/// Waits for the turn of a heavy test. One that failed does not stop the others.
pub(crate) fn heavy() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
