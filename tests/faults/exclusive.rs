//! A lock for tests that need the whole machine, so that their time limits mean something.

use std::sync::{Mutex, MutexGuard, PoisonError};

static EXCLUSIVE: Mutex<()> = Mutex::new(());

/// Waits for its turn. A test that failed does not stop the others.
pub(crate) fn exclusive() -> MutexGuard<'static, ()> {
    EXCLUSIVE.lock().unwrap_or_else(PoisonError::into_inner)
}
