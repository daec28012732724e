//! A function in two pure halves: `needs(input, session)` says what to look at, `op(seen, input, now)`
//! makes the result.
//!
//! Looking happens between them, on a thread that may wait. So a family stays free of I/O although
//! its work depends on the disk, and either half can run again when something moved.

use std::fmt;
use std::sync::Arc;

use trellis_protocol::Failure;

use super::Session;
use crate::clock::Now;
use crate::disk::Eyes;
use crate::families::need::Look;

type Run<I, O> = dyn Fn(&I, &Eyes<'_>, &Now) -> Result<O, Failure> + Send + Sync;

/// Two halves, with the type of what is looked at forgotten. Cloning shares them.
pub struct Halves<I: ?Sized, O> {
    on_disk: bool,
    glances: bool,
    run: Arc<Run<I, O>>,
}

/// Joins the halves.
pub fn halves<I, O, L>(
    needs: impl Fn(&I, &Session) -> Result<L, Failure> + Send + Sync + 'static,
    op: impl Fn(L::Seen, &I, &Now) -> Result<O, Failure> + Send + Sync + 'static,
) -> Halves<I, O>
where
    I: ?Sized,
    L: Look,
{
    Halves {
        on_disk: L::ON_DISK,
        glances: L::GLANCES,
        run: Arc::new(move |input, eyes, now| {
            let seen = needs(input, eyes.session)?.look(eyes);
            op(seen, input, now)
        }),
    }
}

impl<I: ?Sized, O> Halves<I, O> {
    /// Whether running it may wait for a disk.
    pub fn on_disk(&self) -> bool {
        self.on_disk
    }

    /// Whether a glance may be tried first.
    pub fn glances(&self) -> bool {
        self.glances
    }

    /// Runs both halves, looking in between.
    pub fn run(&self, input: &I, eyes: &Eyes<'_>, now: &Now) -> Result<O, Failure> {
        (self.run)(input, eyes, now)
    }
}

impl<I: ?Sized, O> Clone for Halves<I, O> {
    fn clone(&self) -> Self {
        Self { on_disk: self.on_disk, glances: self.glances, run: Arc::clone(&self.run) }
    }
}

impl<I: ?Sized, O> fmt::Debug for Halves<I, O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Halves").field("on_disk", &self.on_disk).finish_non_exhaustive()
    }
}
