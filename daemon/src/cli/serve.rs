//! `trellisd run`: lock → socket → ready → serve → leave.

use std::ffi::OsStr;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit};
use tokio::signal::unix::{SignalKind, signal};
use trellis_protocol::endpoint::{Places, Surroundings};
use trellis_protocol::{Failure, Kind};
use trellis_proxy::surroundings;

use super::log;
use crate::clock;
use crate::config::Settings;
use crate::disk::calls::{Calls, System};
use crate::disk::scribe::Scribe;
use crate::disk::{keeper, own, recover};
use crate::engine::event::Why;
use crate::engine::{Answers, Engine, Event, Life, StartedBy};
use crate::families::Registered;
use crate::http::listen::Standing;
use crate::http::{self, Gateway};
use crate::socket::{self, listen};
use crate::tools::Registry;

/// Threads that serve sockets: one, so that an answer never has to wake another thread on its way. Work that
/// waits has a pool of its own, and long messages are read and written beside it.
const SERVING_THREADS: usize = 1;
/// Threads that wait for disks; each session may have a few of them at once.
const WAITING_THREADS: usize = 32;
/// Heaps that all threads share. One for each would keep what indexing left behind in it.
const HEAPS: i32 = 2;
/// Pieces of memory from this size on, as indexing takes them, are given back at once.
const LARGE_PIECE: i32 = 1 << 20;
/// How long fresh documents may take to get into the index when we leave; what does not is read again.
const LAST_FOLD: Duration = Duration::from_millis(800);
/// How long calls that nobody waits for any more may go on when we leave.
const LAST_CALLS: Duration = Duration::from_millis(400);

/// Is the daemon until it is time to leave.
pub fn run(families: Vec<Registered>, on_demand: bool) -> Result<(), Failure> {
    let outcome = live(families, on_demand);
    if let Err(failure) = &outcome
        && on_demand
    {
        // Whoever started us reads this line and passes it on.
        let line = crate::present::sentence(failure).replace('\n', " ");
        let _ = writeln!(std::io::stdout(), "failed {line}");
    }
    outcome
}

fn live(families: Vec<Registered>, on_demand: bool) -> Result<(), Failure> {
    trellis_proxy::keep_heap_small(HEAPS, LARGE_PIECE);
    if on_demand {
        // Out of the terminal's and the host's process group: their signals are not meant for us.
        let _ = rustix::process::setsid();
    }
    let around = surroundings::gather();
    let places = Places::of(&around);
    let (settings, warnings) = Settings::read(own::read(&places.config).as_deref(), &around.variables);
    log::begin(&settings.log_level.value, on_demand.then_some(places.log.as_path()));
    raise_descriptor_limit();
    let umask = surroundings::umask();

    let Some(lock) = take_lock(&places, &around)? else {
        if !on_demand {
            anstream::eprintln!("another daemon of yours is running already: see `trellisd status`");
        }
        return Ok(());
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(SERVING_THREADS)
        .max_blocking_threads(WAITING_THREADS)
        .thread_name("serve")
        .enable_all()
        .build()
        .map_err(|error| Failure::new("unavailable", Kind::Unavailable, format!("cannot start threads: {error}")))?;
    let lived = runtime.block_on(async {
        let inherited = inherited_socket();
        let started_by = match (&inherited, on_demand) {
            (Some(_), _) => StartedBy::Service,
            (None, true) => StartedBy::Demand,
            (None, false) if is_service() => StartedBy::Service,
            (None, false) => StartedBy::Hand,
        };
        let listener = socket::Listener::open(&places, lock, inherited)?;
        let socket = listener.path.display().to_string();
        let (gateway, web) = open_gateway(&settings, &places);
        let life = Life {
            since: Instant::now(),
            socket: socket.clone(),
            places: places.clone(),
            started_by,
            started_in: surroundings::started_in(&around),
            gateway,
        };
        let conflicts = Arc::new(OnceLock::new());
        let (scribe, answers) = take_up_the_pen(&places, &conflicts)?;
        let engine = Engine::start(Registry::new(families), settings, life, scribe, answers, warnings);
        let _ = conflicts.set(Arc::downgrade(&engine));
        match &engine.life.gateway {
            Standing::Off => {}
            Standing::On(address) => tracing::info!(%address, "the HTTP gateway listens"),
            Standing::Failed(why) => engine.warn(format!("the HTTP gateway is not running: {why}")),
        }
        sweep(&engine);
        leave_on_signals(&engine)?;
        outlive_large_files();
        say_ready(&socket, on_demand);
        tracing::info!(build = env!("CARGO_PKG_VERSION"), pid = std::process::id(), "ready");
        let gateway = web.map(|(address, web)| {
            let gateway = Gateway::new(Arc::clone(&engine), address, around, umask);
            tokio::spawn(http::serve::serve(gateway, web))
        });
        let serving = Arc::clone(&engine);
        // Not on this thread: what a worker accepts it can greet at once, without waking another one.
        let accepting = tokio::spawn(async move {
            socket::serve(serving, &listener).await;
            listener
        });
        let listener = accepting.await.map_err(|error| Failure::internal(format!("cannot serve: {error}")))?;
        if let Some(gateway) = gateway {
            let _ = gateway.await;
        }
        engine.scribe.finish();
        engine.index.finish(LAST_FOLD);
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
        tracing::info!("left");
        Ok(listener)
    });
    // A call that hangs, on a disk perhaps, does not keep us; every file is safe if it is cut off.
    runtime.shutdown_timeout(LAST_CALLS);
    // Only now may another daemon have the lock.
    lived.map(drop)
}

/// The lock that makes us the only one. A service was set up on purpose: a daemon that was started on
/// demand makes room for it.
fn take_lock(places: &Places, around: &Surroundings) -> Result<Option<listen::Lock>, Failure> {
    let taken = listen::Lock::take(&places.daemon_lock())?;
    if taken.is_none() && is_service() {
        return super::control::hand_over(places, around);
    }
    Ok(taken)
}

fn is_service() -> bool {
    std::env::var_os("NOTIFY_SOCKET").is_some() || std::env::var_os("LISTEN_FDS").is_some()
}

/// Opens the gateway's socket if it is asked for. Without it everything else goes on.
fn open_gateway(settings: &Settings, places: &Places) -> (Standing, Option<(SocketAddr, TcpListener)>) {
    let keys_made = http::keys::made(&http::keys::place(&places.state)).is_ok_and(|keys| !keys.is_empty());
    let (standing, listener) = http::listen::open(&settings.http, keys_made);
    let web = match (&standing, listener) {
        (Standing::On(address), Some(listener)) => Some((*address, listener)),
        _ => None,
    };
    (standing, web)
}

/// Opens the journal and finishes what an earlier daemon had begun, before anybody can ask for it again.
fn take_up_the_pen(places: &Places, engine: &Arc<OnceLock<Weak<Engine>>>) -> Result<(Scribe, Answers), Failure> {
    let directory = places.state.join("journal");
    let engine = Arc::clone(engine);
    let told = move |name: &OsStr, copy: &OsStr| {
        let (name, copy) = (name.display(), copy.display());
        let warning = format!("`{name}` was changed by somebody while it was written; the other text is in `{copy}`");
        match engine.get().and_then(Weak::upgrade) {
            Some(engine) => engine.warn(warning),
            None => tracing::warn!("{warning}"),
        }
    };
    let told: Arc<keeper::Told> = Arc::new(told);
    let calls: Arc<dyn Calls> = Arc::new(System);
    let recovered = recover::take_up(&directory, &calls, &told, clock::system_time());
    let recovered = recovered.map(|(scribe, recovered)| (scribe, Answers::of(recovered)));
    recovered.map_err(|error| {
        let message = format!("the journal in `{}` cannot be used: {error}", directory.display());
        Failure::new("unavailable", Kind::Unavailable, message)
            .with_hint("check who owns it and whether it may be written")
    })
}

/// Removes what earlier daemons left lying, without making anybody wait.
fn sweep(engine: &Arc<Engine>) {
    let engine = Arc::clone(engine);
    tokio::task::spawn_blocking(move || recover::sweep(&engine.scribe, &System));
}

/// The socket that systemd opened for us.
fn inherited_socket() -> Option<OwnedFd> {
    let mut inherited = listenfd::ListenFd::from_env();
    inherited.take_unix_listener(0).ok().flatten().map(OwnedFd::from)
}

/// The ready word goes to whoever waits for it: the starter's pipe, the service manager, or a person.
fn say_ready(socket: &str, on_demand: bool) {
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
    if on_demand {
        let mut stdout = std::io::stdout();
        let _ = writeln!(stdout, "ready {socket}").and_then(|()| stdout.flush());
        // The starter must not wait for an end that comes only with ours.
        if let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
            let _ = rustix::stdio::dup2_stdout(null);
        }
    } else if std::env::var_os("NOTIFY_SOCKET").is_none() {
        anstream::eprintln!("trellisd is ready at {socket}; Ctrl-C ends it");
    }
}

/// The first signal lets us finish; the second ends us at once, which is safe for every file.
fn leave_on_signals(engine: &Arc<Engine>) -> Result<(), Failure> {
    let cannot = |error| Failure::internal(format!("cannot listen for signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    let engine = Arc::clone(engine);
    tokio::spawn(async move {
        for leaving in [false, true] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if leaving {
                std::process::exit(0);
            }
            engine.post(Event::Leave(Why::Signal));
        }
    });
    Ok(())
}

/// A file over the system's limit is an error of that write, not our end: a signal that is heard does not kill.
fn outlive_large_files() {
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

/// Many sessions and roots need many descriptors; the hard limit is ours to use.
fn raise_descriptor_limit() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let _ = rustix::process::setrlimit(Resource::Nofile, raised);
}
