//! The only owner of the state.
//!
//! Everything that happens arrives as an [`Event`] on one channel and is worked off by one thread,
//! which publishes the next [`Snapshot`]. Readers take a snapshot and never wait; what many threads
//! touch independently (sessions, opened roots) stands beside it.

/// All that can wake us, in one enum.
pub mod event;

/// One event → the next state.
pub mod turn;

/// Edit → disk → acknowledged.
pub mod commit;

/// What is made from other files, a moment later.
pub mod afterwards;

/// Changes and writes → the index.
pub mod ingest;

/// Locks by name.
pub mod locks;

/// What was answered to writes.
pub mod answers;

/// The trees that a session works with.
pub mod attend;

/// How we are, for people and for `status`.
pub mod health;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use dashmap::{DashMap, DashSet};
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use trellis_protocol::SessionKey;
use trellis_protocol::endpoint::Places;

pub use answers::Answers;
pub use attend::Attended;
pub use event::Event;
use ingest::Ears;
pub use locks::Locks;
pub use turn::{Snapshot, State, Verdict};

use crate::clock::Now;
use crate::config::Settings;
use crate::disk::known::Memory;
use crate::disk::scribe::Scribe;
use crate::disk::{Eyes, FileName, Models, Reporter, Roots, project};
use crate::http::listen::Standing;
use crate::index::Index;
use crate::tools::{Notice, Registry, Session};
use crate::watch::Watch;

/// When nothing has happened for so long, what sessions and indexing left behind is given back to the system.
const QUIET: Duration = Duration::from_secs(1);

/// Notices that a slow session may fall behind by before it is told that anything may have changed.
const NOTICES_KEPT: usize = 256;

/// The state, as every thread may use it.
#[derive(Debug)]
pub struct Engine {
    /// Every tool of every family.
    pub registry: Registry,
    /// Directories that are open already.
    pub roots: Roots,
    /// Projects that sessions or the configuration made known.
    pub projects: project::Known,
    /// What is known of files already.
    pub models: Models,
    /// What watches the trees that sessions work with.
    pub watch: Arc<Watch>,
    /// What can be found by its words.
    pub index: Arc<Index>,
    /// The only hand that writes.
    pub scribe: Scribe,
    /// What was answered to writes.
    pub answers: Mutex<Answers>,
    /// Writing calls that are being carried out.
    pub calls_in_progress: Locks<answers::Name>,
    /// Files that are being written.
    pub files_in_progress: Locks<FileName>,
    /// What will be made from other files in a moment.
    pub afterwards: DashSet<afterwards::Shared>,
    /// Sessions that are connected now.
    pub sessions: DashMap<SessionKey, Arc<Connected>>,
    /// Surfaces whose list of tools has been kept for proxies without a daemon.
    pub remembered: DashSet<String>,
    /// Things that happened since the start.
    pub counters: Counters,
    /// What was set, and by whom.
    pub settings: Settings,
    /// How this process came to be.
    pub life: Life,
    /// Cancelled when we leave: no new work, finish what is in flight.
    pub leaving: CancellationToken,
    snapshot: ArcSwap<Snapshot>,
    events: Sender<Event>,
    told: broadcast::Sender<Arc<Told>>,
}

/// What sessions may want to hear about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// A family's resources, prompts or tools changed.
    Noticed {
        /// Whose they are.
        family: &'static str,
        /// What changed.
        notices: Vec<Notice>,
    },
    /// Something a person should know.
    Warned(String),
}

/// How this process came to be.
#[derive(Debug, Clone)]
pub struct Life {
    /// When it was ready.
    pub since: Instant,
    /// Where it listens.
    pub socket: String,
    /// Where it keeps its own things.
    pub places: Places,
    /// Who started it.
    pub started_by: StartedBy,
    /// Where it was started, by a person or by the proxy that needed it.
    pub started_in: Option<PathBuf>,
    /// Whether the HTTP gateway runs.
    pub gateway: Standing,
}

impl Life {
    /// Whether the daemon leaves when nobody has needed it for a while: whoever calls over HTTP starts none.
    pub fn idles(&self) -> bool {
        self.started_by == StartedBy::Demand && !matches!(self.gateway, Standing::On(_))
    }
}

/// Who started the daemon; decides whether it leaves when idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartedBy {
    /// A proxy or `trellisd up`, when somebody needed it.
    Demand,
    /// systemd or launchd.
    Service,
    /// A person, in a terminal.
    Hand,
}

/// A session that is connected now.
#[derive(Debug, Default)]
pub struct Connected {
    /// For display only.
    pub pid: u32,
    /// For display only.
    pub directory: String,
    /// The host's name, once it has introduced itself.
    pub client: ArcSwapOption<String>,
    /// Requests being worked on.
    pub in_flight: AtomicU32,
}

/// Things that happened since the start.
#[derive(Debug, Default)]
pub struct Counters {
    /// Connections that were greeted.
    pub sessions: AtomicU64,
    /// Tool calls that were answered.
    pub calls: AtomicU64,
    /// Calls that ended in a panic.
    pub panics: AtomicU64,
    /// Clients dropped because they did not read.
    pub dropped_clients: AtomicU64,
    /// Connections of another user.
    pub refused_peers: AtomicU64,
}

impl Engine {
    /// Starts the thread that owns the state.
    pub fn start(
        registry: Registry,
        settings: Settings,
        life: Life,
        scribe: Scribe,
        answers: Answers,
        mut warnings: Vec<String>,
    ) -> Arc<Self> {
        let (events, inbox) = crossbeam_channel::unbounded();
        let idle = life.idles().then_some(settings.idle_seconds.value);
        let state = State::new(idle.map(Duration::from_secs), Instant::now());
        let told = broadcast::Sender::new(NOTICES_KEPT);
        let ears = Ears { events: events.clone(), told: told.clone(), index: Arc::default() };
        let grace = Duration::from_secs(settings.grace_seconds.value);
        let watch = Watch::start(Arc::new(ears.clone()), grace).expect("a thread can be started at start-up");
        let watch = Arc::new(watch);
        let (home, index) = (life.places.cache.join("index"), Arc::clone(&ears.index));
        let index = index.get_or_init(|| {
            let hear = move |told| ears.hear(told);
            Arc::new(Index::new(home, registry.families(), Arc::clone(&watch), grace, hear))
        });
        let index = Arc::clone(index);
        let (memory, warning) = Memory::open(life.places.state.join("roots.json"), Now::read(&TimeZone::UTC).at);
        warnings.extend(warning);
        let marks = registry.families().iter().flat_map(|family| family.project_marks).copied().collect();
        let projects = project::Known::outside(std::env::home_dir())
            .recognising(marks, settings.adopt_projects.value)
            .remembering(memory);
        for root in &settings.roots.value {
            projects.trust(root);
        }
        let engine = Arc::new(Self {
            registry,
            roots: Roots::default(),
            projects,
            models: Models::default(),
            watch,
            index,
            scribe,
            answers: Mutex::new(answers),
            calls_in_progress: Locks::default(),
            files_in_progress: Locks::default(),
            afterwards: DashSet::new(),
            sessions: DashMap::new(),
            remembered: DashSet::new(),
            counters: Counters::default(),
            settings,
            life,
            leaving: CancellationToken::new(),
            snapshot: ArcSwap::from_pointee(state.snapshot()),
            events,
            told,
        });
        let owner = Arc::clone(&engine);
        thread::Builder::new()
            .name("engine".into())
            .spawn(move || owner.own(state, &inbox))
            .expect("a thread can be started at start-up");
        warnings.into_iter().for_each(|warning| engine.post(Event::Warned(warning)));
        engine
    }

    /// Hands an event to the owner. After the end nobody listens, and nothing is lost by that.
    pub fn post(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// What looking takes, on behalf of a session.
    pub fn eyes<'a>(&'a self, session: &'a Session, reporter: &'a Reporter) -> Eyes<'a> {
        Eyes {
            roots: &self.roots,
            projects: &self.projects,
            models: &self.models,
            index: Some(&self.index),
            session,
            reporter,
            glance: None,
            trust: None,
        }
    }

    /// The newest snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Tells the sessions that asked to hear about it.
    pub fn tell(&self, family: &'static str, notices: Vec<Notice>) {
        if !notices.is_empty() {
            // Nobody listening is no error.
            let _ = self.told.send(Arc::new(Told::Noticed { family, notices }));
        }
    }

    /// Warns everybody: the log, `status`, and sessions that asked for log messages.
    pub fn warn(&self, warning: String) {
        let _ = self.told.send(Arc::new(Told::Warned(warning.clone())));
        self.post(Event::Warned(warning));
    }

    /// From now on, everything that is told.
    pub fn listen(&self) -> broadcast::Receiver<Arc<Told>> {
        self.told.subscribe()
    }

    /// Waits until everything that happened to watched files up to now is part of the snapshot, at most so
    /// long; whether it is.
    pub fn wait_until_seen(&self, patience: Duration) -> bool {
        let began = Instant::now();
        let (done, wait) = crossbeam_channel::bounded(1);
        if !self.watch.barrier(patience) {
            return false;
        }
        // What was seen stands in the index's queue and in our own already, before this.
        if !self.index.wait_until_seen(patience.saturating_sub(began.elapsed())) {
            return false;
        }
        self.post(Event::Asked(done));
        wait.recv_timeout(patience.saturating_sub(began.elapsed())).is_ok()
    }

    /// Counts one thing that happened.
    pub fn count(&self, which: impl Fn(&Counters) -> &AtomicU64) {
        which(&self.counters).fetch_add(1, Ordering::Relaxed);
    }

    /// The owner's whole life: one event after the other, until it is time to leave.
    fn own(&self, mut state: State, inbox: &Receiver<Event>) {
        let mut quiet_at = None;
        loop {
            let event = match state.deadline().into_iter().chain(quiet_at).min() {
                Some(deadline) => match inbox.recv_deadline(deadline) {
                    Ok(event) => event,
                    Err(RecvTimeoutError::Timeout) if quiet_at.take_if(|at| *at <= Instant::now()).is_some() => {
                        trellis_proxy::give_back();
                        continue;
                    }
                    Err(RecvTimeoutError::Timeout) => Event::Idle,
                    Err(RecvTimeoutError::Disconnected) => return,
                },
                None => match inbox.recv() {
                    Ok(event) => event,
                    Err(_) => return,
                },
            };
            quiet_at = Some(Instant::now() + QUIET);
            let asked = if let Event::Asked(done) = &event { Some(done.clone()) } else { None };
            let verdict = state.turn(event, Instant::now());
            self.snapshot.store(Arc::new(state.snapshot()));
            if let Some(done) = asked {
                let _ = done.send(());
            }
            if let Verdict::Leave(why) = verdict {
                tracing::info!(%why, "leaving");
                self.leaving.cancel();
                return;
            }
        }
    }
}
