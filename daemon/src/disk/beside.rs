//! What can be done beside something else: thinking and comparing while the disk works.
//!
//! A few threads wait for it. Whoever finds all of them at work does one thing after the other: nobody waits for what
//! somebody else thinks about, or looks at on a disk that does not answer.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// With less than this, another thread costs more than it gains.
const WORTH_A_THREAD: usize = 64 << 10;
/// Threads that wait for work.
const THREADS: usize = 4;

static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let named = |number: usize| format!("beside-{number}");
    ThreadPoolBuilder::new().num_threads(THREADS).thread_name(named).build().ok()
});

/// How many of them are at work.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// A thread that is there for nobody else.
struct Helper(&'static ThreadPool);

impl Helper {
    fn find() -> Option<Self> {
        let pool = POOL.as_ref()?;
        let one_more = |at_work: usize| (at_work < THREADS).then_some(at_work + 1);
        AT_WORK.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok().map(|_| Self(pool))
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Does two things that have to do with so many bytes: the first on another thread while the second is done here; one
/// after the other if they are few, or if there is no thread to be had.
pub(super) fn beside<A: Send, B>(
    bytes: usize,
    first: impl Fn() -> A + Send + Sync,
    second: impl FnOnce() -> B,
) -> (A, B) {
    let Some(helper) = (bytes >= WORTH_A_THREAD).then(Helper::find).flatten() else { return (first(), second()) };
    let mut found = None;
    let done = helper.0.in_place_scope(|scope| {
        scope.spawn(|_| found = Some(first()));
        second()
    });
    (found.unwrap_or_else(first), done)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    use super::*;

    /// Helpers are the process's, and so is the test of them: one for all.
    #[test]
    fn both_are_done_whoever_is_there_to_help() {
        let (here, id) = (thread::current().id(), || thread::current().id());
        let check = |bytes: usize, alone: bool| {
            let (first, second) = beside(bytes, id, id);
            assert_eq!((first != here, second), (alone, here), "{bytes}");
        };
        check(0, false);
        check(WORTH_A_THREAD - 1, false);
        check(WORTH_A_THREAD, true);
        let all: Vec<Helper> = std::iter::from_fn(Helper::find).collect();
        assert_eq!(all.len(), THREADS);
        check(WORTH_A_THREAD, false);
        drop(all);
        for _ in 0..2 * THREADS {
            let panics = || -> () { panic!("first") };
            assert!(catch_unwind(AssertUnwindSafe(|| beside(WORTH_A_THREAD, panics, || ()))).is_err());
        }
        check(WORTH_A_THREAD, true);
    }
}
