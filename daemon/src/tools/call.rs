//! One call, from name and arguments to answer or failure.
//!
//! Work that may wait for a disk runs on the blocking pool, everything else at once. A panic becomes
//! an internal failure of that one call; a call that takes too long is answered, not waited for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use trellis_protocol::{Failure, Kind};

use super::catalogue::ambiguous;
use super::{Answer, Catalogue, Found, Halves, Session};
use crate::clock::Now;
use crate::disk::{Eyes, Reporter};
use crate::engine::Engine;
use crate::families::Envelope;

/// No call is waited for longer than this.
const DEADLINE: Duration = Duration::from_secs(30);

/// Who calls what, on which surface.
#[derive(Debug, Clone)]
pub struct Call {
    /// The state.
    pub engine: Arc<Engine>,
    /// What the session may see.
    pub catalogue: Arc<Catalogue>,
    /// Who is calling.
    pub session: Arc<Session>,
}

/// A failure and the form in which its family shows failures.
#[derive(Debug)]
pub struct Caught {
    /// What went wrong.
    pub failure: Failure,
    /// How to show it.
    pub envelope: Envelope,
}

impl Call {
    /// Runs a tool. `None`: there is no tool of that name.
    pub async fn tool(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        reporter: Reporter,
    ) -> Option<Result<Answer, Caught>> {
        let caught = |failure, envelope| Some(Err(Caught { failure, envelope }));
        let (family, tool) = match self.catalogue.find(name) {
            Found::Tool(family, tool) => (family, tool),
            Found::ReadOnly(family) => return caught((family.read_only)(), family.envelope),
            Found::Ambiguous(candidates) => return caught(ambiguous(name, &candidates), Envelope::Error),
            Found::Unknown => return None,
        };
        let outcome = self.carry_out(&tool.run, arguments, reporter).await;
        self.engine.count(|counters| &counters.calls);
        match outcome {
            Ok(mut answer) => {
                self.engine.tell(family.name, std::mem::take(&mut answer.notices));
                Some(Ok(answer))
            }
            Err(failure) => caught(failure, family.envelope),
        }
    }

    /// Runs two halves of anything: on the blocking pool if they may wait, otherwise here and now.
    pub async fn carry_out<I, O>(&self, halves: &Halves<I, O>, input: I, reporter: Reporter) -> Result<O, Failure>
    where
        I: Send + 'static,
        O: Send + 'static,
    {
        let (engine, session) = (Arc::clone(&self.engine), Arc::clone(&self.session));
        let (halves, on_disk) = (halves.clone(), halves.on_disk());
        let guarded = move || {
            let eyes =
                Eyes { roots: &engine.roots, projects: &engine.projects, session: &session, reporter: &reporter };
            let now = Now::read(&session.zone.0);
            catch_unwind(AssertUnwindSafe(|| halves.run(&input, &eyes, &now))).unwrap_or_else(|_| {
                engine.count(|counters| &counters.panics);
                Err(Failure::internal("this call failed because of a fault in Trellis; others are not affected"))
            })
        };
        if !on_disk {
            return guarded();
        }
        match tokio::time::timeout(DEADLINE, tokio::task::spawn_blocking(guarded)).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(Failure::new("draining", Kind::Unavailable, "Trellis is leaving; nothing was done")),
            Err(_) => Err(too_slow()),
        }
    }
}

fn too_slow() -> Failure {
    let seconds = DEADLINE.as_secs();
    Failure::new("timeout", Kind::Unavailable, format!("no answer within {seconds} seconds"))
        .with_hint("the disk may be busy or gone: try again, or look at `trellisd status`")
        .with_details(json!({ "seconds": seconds }))
}
