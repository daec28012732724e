//! One call, from name and arguments to answer or failure.
//!
//! What a glance can answer is answered at once; work that may wait for a disk runs on the blocking pool. A panic
//! becomes an internal failure of that one call; a call that takes too long is answered, not waited for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use trellis_protocol::{Failure, Kind};

use super::catalogue::ambiguous;
use super::{Answer, Catalogue, Found, Halves, Run, Session};
use crate::clock::Now;
use crate::disk::journal::CallId;
use crate::disk::{Digest, Eyes, Glance, Reporter};
use crate::engine::Engine;
use crate::engine::commit::Writing;
use crate::families::Envelope;

/// No call is waited for longer than this.
const DEADLINE: Duration = Duration::from_secs(30);

/// Others wait while a call is answered at once: a session whose last one took longer than this gets another thread.
const A_MOMENT: Duration = Duration::from_millis(2);

/// Calls of one session that may wait for disks at once.
pub const TURNS: usize = 4;

/// Who calls, on which surface.
#[derive(Debug, Clone)]
pub struct Call {
    /// The state.
    pub engine: Arc<Engine>,
    /// What the session may see.
    pub catalogue: Arc<Catalogue>,
    /// Who is calling.
    pub session: Arc<Session>,
    /// How many of its calls may wait for disks at once, so that one session's crowd does not hold up another's.
    pub turns: Arc<Semaphore>,
    /// Whether its last call took longer than a moment.
    pub slow: Arc<AtomicBool>,
}

/// What is called.
#[derive(Debug, Default)]
pub struct Request {
    /// The tool, by the name it is shown under.
    pub tool: String,
    /// What it is given.
    pub arguments: Map<String, Value>,
    /// The session's number of this request, if it can come again.
    pub sequence: Option<u64>,
    /// The caller's own name for it: the same name and arguments give the same answer.
    pub key: Option<String>,
    /// To whom a long call tells how far it has come.
    pub reporter: Reporter,
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
    pub async fn tool(&self, request: Request) -> Option<Result<Answer, Caught>> {
        let caught = |failure, envelope| Some(Err(Caught { failure, envelope }));
        let (family, tool) = match self.catalogue.find(&request.tool) {
            Found::Tool(family, tool) => (family, tool),
            Found::ReadOnly(family) => return caught((family.read_only)(), family.envelope),
            Found::Ambiguous(candidates) => {
                return caught(ambiguous(&request.tool, &candidates), Envelope::Error);
            }
            Found::Unknown => return None,
        };
        let outcome = match &tool.run {
            Run::Read(halves) => self.carry_out(halves, request.arguments, request.reporter).await,
            Run::Write(_) => self.write(request).await,
        };
        self.engine.count(|counters| &counters.calls);
        match outcome {
            Ok(mut answer) => {
                self.engine.tell(family.name, std::mem::take(&mut answer.notices));
                Some(Ok(answer))
            }
            Err(failure) => caught(failure, family.envelope),
        }
    }

    /// Whether a call depends on the host's roots, although the session's directory says what is worked on.
    pub fn needs_roots(&self, tool: &str, arguments: Option<&Map<String, Value>>) -> bool {
        let Found::Tool(family, _) = self.catalogue.find(tool) else { return false };
        !self.session.is_told && arguments.is_some_and(|arguments| (family.needs_roots)(arguments))
    }

    /// Runs two halves of anything: here and now if nothing has to be waited for, else on the blocking pool.
    pub async fn carry_out<I, O>(&self, halves: &Halves<I, O>, input: I, reporter: Reporter) -> Result<O, Failure>
    where
        I: Send + 'static,
        O: Send + 'static,
    {
        if (halves.glances() && !self.slow.load(Ordering::Relaxed)) || !halves.on_disk() {
            let glance = Glance::default();
            let outcome = self.run(halves, &input, &reporter, Some(&glance));
            if !glance.is_refused() {
                return outcome;
            }
        }
        let (this, halves) = (self.clone(), halves.clone());
        self.waited_for(move || this.run(&halves, &input, &reporter, None), too_slow).await
    }

    fn run<I, O>(
        &self,
        halves: &Halves<I, O>,
        input: &I,
        reporter: &Reporter,
        glance: Option<&Glance>,
    ) -> Result<O, Failure> {
        let began = Instant::now();
        let eyes = Eyes { glance, ..self.engine.eyes(&self.session, reporter) };
        let now = Now::read(&self.session.zone.0);
        let outcome = guarded(&self.engine, reporter, || halves.run(input, &eyes, &now));
        self.slow.store(began.elapsed() > A_MOMENT, Ordering::Relaxed);
        outcome
    }

    /// Carries out a writing call.
    async fn write(&self, request: Request) -> Result<Answer, Failure> {
        let this = self.clone();
        let work = move || {
            let Found::Tool(family, tool) = this.catalogue.find(&request.tool) else {
                return Err(Failure::internal("a catalogue does not change"));
            };
            let Run::Write(halves) = &tool.run else { return Err(Failure::internal("a tool does not change")) };
            let writing = Writing {
                family,
                halves,
                arguments: &request.arguments,
                call: this
                    .session
                    .key
                    .clone()
                    .zip(request.sequence)
                    .map(|(session, sequence)| CallId { session, sequence }),
                key: request.key.as_deref().map(|key| named(key, &request, &this.session)),
            };
            let answer = guarded(&this.engine, &request.reporter, || {
                this.engine.commit(&writing, &this.session, &request.reporter)
            })?;
            this.engine.see_to_afterwards(family, &this.session, &request.arguments);
            Ok(answer)
        };
        self.waited_for(work, unknown).await
    }

    async fn waited_for<O: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<O, Failure> + Send + 'static,
        too_late: fn() -> Failure,
    ) -> Result<O, Failure> {
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let work = move || {
            let _turn = turn;
            work()
        };
        match tokio::time::timeout(DEADLINE, tokio::task::spawn_blocking(work)).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(Failure::new("draining", Kind::Unavailable, "Trellis is leaving; nothing was done")),
            Err(_) => Err(too_late()),
        }
    }
}

/// The same key with other arguments is another request, and so is one from where other files are meant.
fn named(key: &str, request: &Request, session: &Session) -> String {
    let place = json!([session.directory, session.environment, *session.roots()]);
    let mut name = json!([key, request.tool, request.arguments, place]);
    name.sort_all_objects();
    Digest::of(name.to_string().as_bytes()).to_string()
}

/// A panic stays in its call, and a call that was taken back before its turn came is not begun.
fn guarded<O>(engine: &Engine, reporter: &Reporter, work: impl FnOnce() -> Result<O, Failure>) -> Result<O, Failure> {
    if reporter.is_cancelled() {
        return Err(Failure::new("not_applied", Kind::Unavailable, "taken back; nothing was done"));
    }
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        engine.count(|counters| &counters.panics);
        Err(Failure::internal("this call failed because of a fault in Trellis; others are not affected"))
    })
}

fn too_slow() -> Failure {
    let seconds = DEADLINE.as_secs();
    Failure::new("timeout", Kind::Unavailable, format!("no answer within {seconds} seconds"))
        .with_hint("the disk may be busy or gone: try again, or look at `trellisd status`")
        .with_details(json!({ "seconds": seconds }))
}

fn unknown() -> Failure {
    let seconds = DEADLINE.as_secs();
    Failure::new("outcome_unknown", Kind::Unavailable, format!("the write has not ended within {seconds} seconds"))
        .with_hint("it may still happen: read the file before you write again")
        .with_details(json!({ "seconds": seconds }))
}
