//! One tool call, from name and arguments to answer or failure.
//!
//! What is in memory is answered inline; work that may block runs on the blocking pool. A panic becomes an internal
//! failure of that one call; a call that takes too long gets a timeout as its answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use trellis_protocol::{Failure, FailureKind};

use super::ClientSession;
use crate::clock::Now;
use crate::disk::journal::CallId;
use crate::disk::{Digest, DiskWork, InlineAttempt, ReadMode, SLOW_CALL_TIME};
use crate::engine::Engine;
use crate::engine::commit::{Committed, WriteCall};
use crate::engine::recovery::unless_refused;
use crate::families::catalogue::ambiguous;
use crate::families::need::Cost;
use crate::families::session::Caller;
use crate::families::{
    Answer, ErrorFormat, FamilyDescriptor, FoundTool, ProgressReporter, SessionContext, ToolLookup, ToolRun, TwoPhase,
};
use crate::trees::Author;

/// No call is waited for longer than this.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Other sessions wait while a call is answered inline: a session whose last one took longer than this goes to the
/// blocking pool.
const INLINE_BUDGET: Duration = Duration::from_millis(2);

/// Characters of a host's name that are kept.
const MAX_HOST_NAME: usize = 60;
const UNKNOWN_HOST: &str = "unknown";

/// Calls of one session that may block at once.
pub const MAX_BLOCKING_CALLS: usize = 4;

/// A call of a tool that was found.
#[derive(Debug, Default)]
pub struct ToolCall {
    pub arguments: Map<String, Value>,
    /// The session's number of this request, if it can come again.
    pub sequence: Option<u64>,
    /// The caller's own name for it: the same name and arguments give the same answer.
    pub key: Option<String>,
    /// The host's own name.
    pub by: Option<String>,
    /// What the credentials of a caller are called that has no session.
    pub credentials: Option<String>,
    /// To whom a long call tells how far it has come.
    pub reporter: ProgressReporter,
}

/// What the credentials of a request are called, for calls that come in it.
#[derive(Debug, Clone)]
pub struct CredentialsName(pub String);

/// A failure and the error format of its family.
#[derive(Debug)]
pub struct ToolError {
    /// What went wrong.
    pub failure: Failure,
    /// How to show it.
    pub error_format: ErrorFormat,
}

impl ClientSession {
    /// The tool of this name, or why it may not run. `None`: there is none.
    pub fn find_tool(&self, name: &str) -> Option<Result<FoundTool, ToolError>> {
        let refused = |failure, error_format| Some(Err(ToolError { failure, error_format }));
        match self.catalogue.find(name) {
            ToolLookup::Tool(found) => Some(Ok(found)),
            ToolLookup::ReadOnly(family) => refused((family.read_only)(), family.error_format),
            ToolLookup::Ambiguous(candidates) => refused(ambiguous(name, &candidates), ErrorFormat::Error),
            ToolLookup::Unknown => None,
        }
    }

    pub async fn call_tool(self: &Arc<Self>, found: FoundTool, call: ToolCall) -> Result<Answer, ToolError> {
        let family = found.clone();
        let outcome = match &found.tool().run {
            ToolRun::Read(two_phase) => {
                let caller = Some(self.caller(&call));
                self.run_for(caller, two_phase, call.arguments, call.reporter).await
            }
            ToolRun::Write(_) => self.write(found, call).await,
        };
        self.engine.count(|counters| &counters.calls);
        outcome.map_err(|failure| self.error_of(family.family(), failure))
    }

    /// A failure of a family's tool, in the words of this surface.
    fn error_of(&self, family: &FamilyDescriptor, failure: Failure) -> ToolError {
        let hint = failure.hint.as_deref().map(|hint| self.catalogue.speak(family, hint).into_owned().into());
        ToolError { failure: Failure { hint, ..failure }, error_format: family.error_format }
    }

    /// Whether a call depends on the host's roots, although the session's directory says what is worked on.
    pub fn needs_roots(&self, found: &FoundTool, arguments: Option<&Map<String, Value>>) -> bool {
        let family = found.family();
        !self.context.has_explicit_directory && arguments.is_some_and(|arguments| (family.needs_roots)(arguments))
    }

    /// Runs an operation: inline if nothing blocks, else on the blocking pool.
    pub async fn run_two_phase<I, O>(
        self: &Arc<Self>,
        two_phase: &TwoPhase<I, O>,
        input: I,
        reporter: ProgressReporter,
    ) -> Result<O, Failure>
    where
        I: Send + 'static,
        O: Send + 'static,
    {
        self.run_for(None, two_phase, input, reporter).await
    }

    /// The same on behalf of somebody.
    async fn run_for<I, O>(
        self: &Arc<Self>,
        caller: Option<Caller>,
        two_phase: &TwoPhase<I, O>,
        input: I,
        reporter: ProgressReporter,
    ) -> Result<O, Failure>
    where
        I: Send + 'static,
        O: Send + 'static,
    {
        let is_inline = match two_phase.cost() {
            Cost::Free => true,
            Cost::TryInline => !self.skip_inline.load(Ordering::Relaxed),
            Cost::Blocks => false,
        };
        if is_inline {
            let inline = InlineAttempt::default();
            let outcome = self.run(caller.as_ref(), two_phase, &input, &reporter, (ReadMode::Inline(&inline), None));
            if !inline.is_refused() {
                return outcome;
            }
        }
        let (this, two_phase) = (Arc::clone(self), two_phase.clone());
        let work = move |work: &DiskWork| {
            this.run(caller.as_ref(), &two_phase, &input, &reporter, (ReadMode::Blocking, Some(work)))
        };
        self.run_blocking(work, timeout_failure, Patience::UntilSilent).await
    }

    fn run<I, O>(
        &self,
        caller: Option<&Caller>,
        two_phase: &TwoPhase<I, O>,
        input: &I,
        reporter: &ProgressReporter,
        (mode, work): (ReadMode<'_>, Option<&DiskWork>),
    ) -> Result<O, Failure> {
        let began = Instant::now();
        let context = self.engine.read_context(&self.context, reporter).with_mode(mode);
        let context = match work {
            Some(work) => context.with_work(work),
            None => context,
        };
        let context = match caller {
            Some(caller) => context.with_caller(caller),
            None => context,
        };
        let now = Now::read(&self.context.zone.0);
        let outcome = catch_panic(&self.engine, reporter, || two_phase.run(input, &context, &now));
        let outcome = unless_refused(&context.disk, outcome);
        self.skip_inline.store(began.elapsed() > INLINE_BUDGET, Ordering::Relaxed);
        outcome
    }

    async fn write(self: &Arc<Self>, found: FoundTool, call: ToolCall) -> Result<Answer, Failure> {
        let this = Arc::clone(self);
        let work = move |disk_work: &DiskWork| {
            let (family, context) = (found.family(), &this.context);
            let ToolRun::Write(two_phase) = &found.tool().run else {
                return Err(Failure::internal("a tool does not change"));
            };
            let Caller { by, .. } = this.caller(&call);
            let author = Author {
                change: 0,
                family: family.name,
                by,
                session: context.public_name(),
                key: None,
                tool: found.tool().name.to_owned(),
            };
            let id = context.key.clone().zip(call.sequence);
            let write_call = WriteCall {
                family,
                two_phase,
                arguments: &call.arguments,
                call: id.map(|(session, sequence)| CallId { session, sequence }),
                key: call.key.as_deref().map(|key| request_key_hash(key, &found, &call.arguments, context)),
                author: Arc::new(author),
            };
            let commit = || this.engine.commit(&write_call, context, &call.reporter, disk_work);
            let Committed { answer, item_trees } = catch_panic(&this.engine, &call.reporter, commit)?;
            this.engine.schedule_derived_files(family, context, &call.arguments);
            this.engine.schedule_derived_files_of(&item_trees, family, context);
            Ok(answer)
        };
        self.run_blocking(work, outcome_unknown_failure, Patience::UntilTimeout).await
    }

    async fn run_blocking<O: Send + 'static>(
        &self,
        work: impl FnOnce(&DiskWork) -> Result<O, Failure> + Send + 'static,
        too_late: fn() -> Failure,
        patience: Patience,
    ) -> Result<O, Failure> {
        let turn = Arc::new(Mutex::new(Arc::clone(&self.blocking_permits).acquire_owned().await.ok()));
        let disk_work = Arc::new(DiskWork::new(&self.engine.disks));
        let (its_turn, watched) = (Arc::clone(&turn), Arc::clone(&disk_work));
        let work = move || {
            let _turn = its_turn;
            let outcome = work(&disk_work);
            if disk_work.is_refused() { Err(not_answering_failure()) } else { outcome }
        };
        let falls_silent = async {
            falls_silent(&watched).await;
            // The session's other calls need not wait for a disk that is not theirs.
            turn.lock().take();
            if patience == Patience::UntilTimeout {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            ended = tokio::task::spawn_blocking(work) => ended.unwrap_or_else(|_| {
                Err(Failure::new("draining", FailureKind::Unavailable, "Trellis is leaving; nothing was done"))
            }),
            () = falls_silent => Err(not_answering_failure()),
            () = tokio::time::sleep(CALL_TIMEOUT) => Err(too_late()),
        }
    }
}

/// How long a call is waited for whose disk has fallen silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// Nothing depends on how it ends.
    UntilSilent,
    /// It may still be carried out.
    UntilTimeout,
}

/// Ends when a disk does not answer on which a call has been working for long.
async fn falls_silent(work: &DiskWork) {
    loop {
        tokio::time::sleep(SLOW_CALL_TIME).await;
        if work.ask() {
            return;
        }
    }
}

fn not_answering_failure() -> Failure {
    Failure::new("unavailable", FailureKind::Unavailable, "the disk that this is on does not answer; nothing was done")
        .with_hint("try again when it is back: `trellisd status` names it, and it is used again as soon as it answers")
        .with_details(json!({ "reason": "not_answering" }))
}

/// The same key with other arguments is another request, and so is one from where other files are meant.
fn request_key_hash(key: &str, found: &FoundTool, arguments: &Map<String, Value>, session: &SessionContext) -> String {
    // A path that is no text cannot be JSON.
    let text = |path: &PathBuf| path.to_str().map_or_else(|| format!("{path:?}"), str::to_owned);
    let roots: Vec<String> = session.roots().iter().map(text).collect();
    let place = json!([session.directory.as_ref().map(text), session.environment, roots]);
    let mut name = json!([key, found.name, arguments, place]);
    name.sort_all_objects();
    Digest::of(name.to_string().as_bytes()).to_string()
}

/// A host's name as people see it: short, and without anything that could disturb a terminal.
pub(super) fn host_name(name: Option<&str>) -> String {
    let name: String =
        name.unwrap_or_default().chars().filter(|letter| !letter.is_control()).take(MAX_HOST_NAME).collect();
    if name.trim().is_empty() { UNKNOWN_HOST.to_owned() } else { name }
}

/// Catches a panic, and does not begin a call that was cancelled in the queue.
fn catch_panic<O>(
    engine: &Engine,
    reporter: &ProgressReporter,
    work: impl FnOnce() -> Result<O, Failure>,
) -> Result<O, Failure> {
    if reporter.is_cancelled() {
        return Err(Failure::new("not_applied", FailureKind::Unavailable, "taken back; nothing was done"));
    }
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        engine.count(|counters| &counters.panics);
        Err(Failure::internal("this call failed because of a fault in Trellis; others are not affected"))
    })
}

fn timeout_failure() -> Failure {
    let seconds = CALL_TIMEOUT.as_secs();
    Failure::new("timeout", FailureKind::Unavailable, format!("no answer within {seconds} seconds"))
        .with_hint("the disk may be busy or gone: try again, or look at `trellisd status`")
        .with_details(json!({ "seconds": seconds }))
}

fn outcome_unknown_failure() -> Failure {
    let seconds = CALL_TIMEOUT.as_secs();
    Failure::new(
        "outcome_unknown",
        FailureKind::Unavailable,
        format!("the write has not ended within {seconds} seconds"),
    )
    .with_hint("it may still happen: read the file before you write again")
    .with_details(json!({ "seconds": seconds }))
}
