//! An operation in two pure phases: `needs(input, session)` says what to read, `op(output, input, now)` computes
//! the result.
//!
//! The reads happen in between, on a thread that may block. So a family stays free of I/O although its work depends
//! on the disk, and either phase can run again when a file changed.

use std::fmt;
use std::sync::Arc;

use trellis_protocol::Failure;

use super::SessionContext;
use crate::clock::Now;
use crate::families::need::{Cost, Need, ReadContext};

type PhaseFn<I, O> = dyn Fn(&I, &ReadContext<'_>, &Now) -> Result<O, Failure> + Send + Sync;

/// Two phases, with the type of the read request erased. Cloning shares them.
pub struct TwoPhase<I: ?Sized, O> {
    cost: Cost,
    /// Runs both phases, reading in between.
    run: Arc<PhaseFn<I, O>>,
}

/// Joins the phases.
pub fn two_phase<I, O, L>(
    needs: impl Fn(&I, &SessionContext) -> Result<L, Failure> + Send + Sync + 'static,
    op: impl Fn(L::Output, &I, &Now) -> Result<O, Failure> + Send + Sync + 'static,
) -> TwoPhase<I, O>
where
    I: ?Sized,
    L: Need,
{
    TwoPhase {
        cost: L::COST,
        run: Arc::new(move |input, context, now| match needs(input, context.session)?.fetch(context) {
            Some(seen) => op(seen, input, now),
            None => Err(Failure::internal("it would block")),
        }),
    }
}

impl<I: ?Sized, O> TwoPhase<I, O> {
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Runs both phases, reading in between. What an inline attempt returns after it was refused means nothing.
    pub fn run(&self, input: &I, context: &ReadContext<'_>, now: &Now) -> Result<O, Failure> {
        (self.run)(input, context, now)
    }
}

impl<I: ?Sized, O> Clone for TwoPhase<I, O> {
    fn clone(&self) -> Self {
        Self { cost: self.cost, run: Arc::clone(&self.run) }
    }
}

impl<I: ?Sized, O> fmt::Debug for TwoPhase<I, O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TwoPhase").field("cost", &self.cost).finish_non_exhaustive()
    }
}
