//! What the processor does while the disk works.

use std::panic::resume_unwind;
use std::thread::{Builder, scope};

/// With less than this, a thread costs more than it gains.
const WORTH_A_THREAD: usize = 64 << 10;

/// Does two things that have to do with so many bytes: the first on a thread of its own while the second is done here,
/// or one after the other if they are few or there is no thread to be had.
pub(super) fn beside<A: Send, B>(bytes: usize, first: impl Fn() -> A + Sync, second: impl FnOnce() -> B) -> (A, B) {
    if bytes < WORTH_A_THREAD {
        return (first(), second());
    }
    scope(|scope| match Builder::new().name("beside".to_owned()).spawn_scoped(scope, &first) {
        Ok(thread) => {
            let done = second();
            (thread.join().unwrap_or_else(|panic| resume_unwind(panic)), done)
        }
        Err(_) => (first(), second()),
    })
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    use super::*;

    #[test]
    fn both_are_done_and_only_much_work_gets_a_thread() {
        let here = thread::current().id();
        for (bytes, alone) in [(0, false), (WORTH_A_THREAD - 1, false), (WORTH_A_THREAD, true)] {
            let (first, second) = beside(bytes, || thread::current().id(), || thread::current().id());
            assert_eq!((first != here, second), (alone, here), "{bytes}");
        }
    }

    #[test]
    fn a_panic_is_the_caller_s() {
        let panics = || beside(WORTH_A_THREAD, || panic!("first"), || ());
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    }
}
