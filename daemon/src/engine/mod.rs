//! What all sessions share: files, models, index, answers, and how long the daemon stays.
//!
//! Nothing here belongs to one session. What is read and written for a call goes through here; what follows from a
//! write reaches index, sessions and feed through `trees`.

/// When the daemon leaves.
pub mod lifecycle;

/// Edit → disk → acknowledged.
pub mod commit;

/// Files that are regenerated from others.
pub mod derived_files;

/// Changes → notifications to sessions.
pub mod notices;

/// What was changed, when and by whom.
pub mod feed;

/// Past changes and the texts that they displaced.
mod history;

/// Which items a write is about.
mod changed_items;

/// Who is on which item.
pub mod claims;

/// Writes of earlier daemons, brought to an end in the background.
pub mod recovery;

pub mod answers;

/// What `status` shows.
pub mod status;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use dashmap::{DashMap, DashSet};
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use trellis_protocol::SessionKey;
use trellis_protocol::control::Progress;
use trellis_protocol::endpoint::TrellisPaths;

pub use answers::AnswerCache;
use claims::ClaimStore;
use feed::{Feed, FeedRetention};
use lifecycle::{ClientGuard, Lifecycle};
pub use notices::Notification;
use notices::Notifier;

use crate::clock::Now;
use crate::config::Settings;
use crate::disk::journal::JournalRetention;
use crate::disk::writer::AtomicWriter;
use crate::disk::{DiskReader, Disks, FileKey, ModelCache, ReadMode, RootDirCache, TreeRecoveries};
use crate::families::need::ReadContext;
use crate::families::{ProgressReporter, Registry, SessionContext};
use crate::index::{IndexEvent, SearchIndex};
use crate::items::ItemStore;
use crate::locks::KeyedLocks;
use crate::projects::{ProjectRegistry, ProjectStore};
use crate::trees::{ChangeSubscriber, Trees};

/// How long displaced texts may take to get into the journal when we leave.
const WRITER_TIMEOUT: Duration = Duration::from_secs(3);

/// The state, as every thread may use it.
#[derive(Debug)]
pub struct Engine {
    /// Every tool of every family.
    pub registry: Registry,
    /// Directories that are open already.
    pub roots: RootDirCache,
    /// Which disks answer.
    pub disks: Arc<Disks>,
    /// Projects that sessions or the configuration made known.
    pub projects: ProjectRegistry,
    pub models: ModelCache,
    pub trees: Arc<Trees>,
    pub index: Arc<SearchIndex>,
    pub items: Arc<ItemStore>,
    pub writer: AtomicWriter,
    /// Trees in which writes of an earlier daemon are being brought to an end.
    pub recoveries: Arc<TreeRecoveries>,
    pub answers: Mutex<AnswerCache>,
    /// Writing calls that are being carried out.
    pub calls_in_progress: KeyedLocks<answers::AnswerKey>,
    /// Files that are being written.
    pub files_in_progress: KeyedLocks<FileKey>,
    /// Jobs that will regenerate derived files.
    pub derived_files: DashSet<derived_files::DerivedJobKey>,
    /// Sessions that are connected now.
    pub sessions: DashMap<SessionKey, Arc<ClientStatus>>,
    /// Surfaces whose list of tools has been kept for proxies without a daemon.
    pub cached_tool_lists: DashSet<String>,
    /// Things that happened since the start.
    pub counters: EngineCounters,
    /// What was set, and by whom.
    pub settings: Settings,
    /// How this process came to be.
    pub process: ProcessInfo,
    pub lifecycle: Arc<Lifecycle>,
    pub notifier: Arc<Notifier>,
    pub feed: Arc<Feed>,
    pub claims: Arc<ClaimStore>,
    /// Work in the background, if there is any.
    progress: Arc<Mutex<Option<Progress>>>,
}

/// How this process was started, and where it listens.
#[derive(Debug, Clone)]
pub struct ProcessInfo {
    /// When it was ready.
    pub since: Instant,
    /// Where it listens.
    pub socket: String,
    /// Where it keeps its own things.
    pub paths: TrellisPaths,
    /// Who started it.
    pub started_by: StartedBy,
    /// Where it was started, by a person or by the proxy that needed it.
    pub started_in: Option<PathBuf>,
    /// Whether the HTTP gateway runs.
    pub gateway: GatewayState,
    /// What the system forbids this process, for `status`.
    pub landlock: String,
}

/// Whether the HTTP gateway runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatewayState {
    /// Nobody asked for it.
    Off,
    /// It listens here.
    On(SocketAddr),
    /// It was asked for and could not start.
    Failed(String),
}

impl GatewayState {
    /// For `status`: the address, `off`, or why it does not run.
    pub fn describe(&self) -> String {
        match self {
            Self::Off => "off".to_owned(),
            Self::On(address) => format!("http://{address}"),
            Self::Failed(why) => format!("not running: {why}"),
        }
    }
}

impl ProcessInfo {
    /// Whether the daemon leaves when nobody has needed it for a while: whoever calls over HTTP starts none.
    pub fn exits_when_idle(&self) -> bool {
        self.started_by == StartedBy::Demand && !matches!(self.gateway, GatewayState::On(_))
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
    Terminal,
}

/// A connected session, for the status report.
#[derive(Debug, Default)]
pub struct ClientStatus {
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
pub struct EngineCounters {
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
    /// Starts the thread that watches. Whoever serves has to run the lifecycle, too.
    pub fn start(
        registry: Registry,
        settings: Settings,
        process: ProcessInfo,
        writer: AtomicWriter,
        answers: AnswerCache,
        warnings: Vec<String>,
    ) -> Arc<Self> {
        let idle = process.exits_when_idle().then_some(settings.idle_seconds.value);
        let lifecycle = Arc::new(Lifecycle::new(idle.map(Duration::from_secs)));
        let grace = Duration::from_secs(settings.grace_seconds.value);
        let disks = Arc::new(Disks::default());
        let max_directories = settings.max_directories.value;
        let trees = Trees::start(grace, process.paths.cookies.clone(), Arc::clone(&disks), max_directories)
            .expect("a thread can be started at start-up");
        let families = registry.families();
        let notifier = Notifier::new(families, Arc::clone(&trees), Arc::clone(&lifecycle));
        let days = |days: u64| Duration::from_secs(days * 24 * 60 * 60);
        writer.start_retention(JournalRetention {
            age: days(settings.journal_days.value),
            bytes: settings.journal_mib.value << 20,
        });
        let feed_retention = FeedRetention {
            age: days(settings.feed_days.value),
            entries: settings.feed_changes.value,
            clock: Arc::clone(writer.journal().clock()),
        };
        let state = &process.paths.state;
        let feed = Feed::new(state.join("feed"), state.join("journal/changes"), feed_retention);
        let progress = Arc::new(Mutex::new(None));
        let on_event = {
            let (notifier, progress) = (Arc::clone(&notifier), Arc::clone(&progress));
            move |event| match event {
                IndexEvent::CatchingUp(step) => *progress.lock() = step,
                IndexEvent::Warning(warning) => notifier.warn(&warning),
            }
        };
        let home = process.paths.cache.join("index");
        let index = Arc::new(SearchIndex::new(home, families, Arc::clone(&trees), on_event));
        let items = Arc::new(ItemStore::new(registry.shared_families(), Arc::clone(&trees)));
        let claim_grace = Duration::from_secs(settings.claim_grace_seconds.value);
        let (claims, claims_warning) =
            ClaimStore::open(state.join("claims.json"), claim_grace, registry.shared_families(), Arc::clone(&notifier));
        // Items and index first: whoever hears of a change may ask for it.
        let subscribers: [Arc<dyn ChangeSubscriber>; 5] = [
            Arc::clone(&items) as _,
            Arc::clone(&index) as _,
            Arc::clone(&notifier) as _,
            Arc::clone(&feed) as _,
            Arc::clone(&claims) as _,
        ];
        trees.set_subscribers(subscribers.into());
        let (project_store, warning) =
            ProjectStore::open(process.paths.state.join("roots.json"), Now::read(&TimeZone::UTC).at);
        let marks = families.iter().flat_map(|family| family.project_marks).copied().collect();
        let projects = ProjectRegistry::new(std::env::home_dir())
            .recognising(marks, settings.adopt_projects.value)
            .with_store(project_store);
        warnings.iter().chain(&warning).chain(&claims_warning).for_each(|warning| lifecycle.warn(warning));
        let engine = Arc::new(Self {
            registry,
            roots: RootDirCache::default(),
            disks,
            projects,
            models: ModelCache::default(),
            trees,
            index,
            items,
            writer,
            recoveries: Arc::default(),
            answers: Mutex::new(answers),
            calls_in_progress: KeyedLocks::default(),
            files_in_progress: KeyedLocks::default(),
            derived_files: DashSet::new(),
            sessions: DashMap::new(),
            cached_tool_lists: DashSet::new(),
            counters: EngineCounters::default(),
            settings,
            process,
            lifecycle,
            notifier,
            feed,
            claims,
            progress,
        });
        engine.claims.start(&engine);
        engine.add_projects_of_settings();
        engine
    }

    /// Nobody waits for the disks that they are on.
    fn add_projects_of_settings(self: &Arc<Self>) {
        if self.settings.roots.value.is_empty() {
            return;
        }
        let engine = Arc::clone(self);
        let add = move || {
            let (answering, silent): (Vec<&PathBuf>, Vec<&PathBuf>) =
                engine.settings.roots.value.iter().partition(|root| engine.disks.answers(root));
            for root in answering.into_iter().chain(silent) {
                engine.projects.add(root);
            }
        };
        let _ = std::thread::Builder::new().name("roots".into()).spawn(add);
    }

    pub fn read_context<'a>(&'a self, session: &'a SessionContext, reporter: &'a ProgressReporter) -> ReadContext<'a> {
        let disk = DiskReader {
            roots: &self.roots,
            models: &self.models,
            projects: &self.projects,
            session: session.directories(),
            mode: ReadMode::Blocking,
            recovery: self.recoveries.view(),
            disks: &self.disks,
            work: None,
            writer: Some(&self.writer),
        };
        let (search, items) = (Some(self.index.as_ref() as _), Some(self.items.as_ref() as _));
        let claims = Some(self.claims.as_ref() as _);
        ReadContext { disk, search, items, history: Some(self), claims, caller: None, session, reporter }
    }

    /// Warns everybody: the log, `status`, and sessions that asked for log messages.
    pub fn warn(&self, warning: &str) {
        self.notifier.warn(warning);
    }

    /// Counts a client until the guard is dropped: a daemon without clients may leave.
    pub fn count_client(&self) -> ClientGuard {
        self.lifecycle.count_client()
    }

    /// Waits until every change to watched files up to now can be found, at most so long; whether it can.
    pub fn sync_barrier(&self, timeout: Duration) -> bool {
        let began = Instant::now();
        self.trees.barrier(timeout) && self.index.sync_barrier(timeout.saturating_sub(began.elapsed()))
    }

    /// Counts one thing that happened.
    pub fn count(&self, which: impl Fn(&EngineCounters) -> &AtomicU64) {
        which(&self.counters).fetch_add(1, Ordering::Relaxed);
    }

    /// Finishes what is still in memory; nothing is written afterwards. What a disk that does not answer keeps from us
    /// is left to the next start.
    pub fn finish(self: &Arc<Self>, timeout: Duration) {
        let (engine, (done, wait)) = (Arc::clone(self), std::sync::mpsc::channel());
        let finish = move || {
            engine.writer.finish();
            let _ = done.send(());
        };
        if std::thread::Builder::new().name("finish".into()).spawn(finish).is_ok() {
            let _ = wait.recv_timeout(WRITER_TIMEOUT);
        }
        self.feed.finish();
        self.claims.finish();
        self.index.finish(timeout);
        self.trees.finish();
    }
}
