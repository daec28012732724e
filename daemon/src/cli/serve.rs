//! `trellisd run`: the daemon's life, from its lock to its end.
//!
//! Families, environment and configuration come in; out come a socket that serves and, for whoever started us on demand
//! (a proxy or `trellisd up`), one line on stdout: `ready PATH`, `taken` or `failed WHY`. There are never two daemons
//! with one state directory, and no file is left half-written however we end.

use std::ffi::OsStr;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, geteuid};
use tokio::signal::unix::{SignalKind, signal};
use trellis_protocol::endpoint::{AccountEnvironment, TrellisPaths};
use trellis_protocol::{Failure, FailureKind};
use trellis_proxy::surroundings;
use zeroize::{Zeroize as _, Zeroizing};

use super::{landlock, log};
use crate::clock;
use crate::config::Settings;
use crate::config::http::SECRET_VARIABLES;
use crate::disk::recover::UnfinishedWrites;
use crate::disk::syscalls::{OsSyscalls, WriteSyscalls};
use crate::disk::writer::AtomicWriter;
use crate::disk::{displaced, recover};
use crate::engine::lifecycle::ExitReason;
use crate::engine::{AnswerCache, Engine, GatewayState, ProcessInfo, StartedBy};
use crate::families::FamilyDescriptor;
use crate::families::Registry;
use crate::http::{self, Gateway};
use crate::mcp_over_http::HttpMcp;
use crate::socket::{self, listen};
use crate::state_files::{self, DirectoryError};

/// Threads that serve sockets: one, so that an answer never has to wake another thread on its way. Work that
/// waits has a pool of its own, and long messages are read and written beside it.
const ASYNC_THREADS: usize = 1;
/// Threads that wait for disks; each session and each directory may have a few of them at once. One that waits for a
/// disk that does not answer is lost until it does: there are enough for several such disks.
const BLOCKING_THREADS: usize = 128;
/// Heaps that all threads share. One for each would keep what indexing left behind in it.
const MALLOC_ARENAS: i32 = 2;
/// Pieces of memory from this size on, as indexing takes them, are given back at once.
const MMAP_THRESHOLD_BYTES: i32 = 1 << 20;
/// How long fresh documents may take to get into the index when we leave; what does not is read again.
const INDEX_FLUSH_TIMEOUT: Duration = Duration::from_millis(800);
/// How long calls that nobody waits for any more may go on when we leave.
const FINAL_CALLS_TIMEOUT: Duration = Duration::from_millis(400);

/// Is the daemon until it is time to leave.
pub fn run(families: Vec<FamilyDescriptor>, on_demand: bool) -> Result<(), Failure> {
    let outcome = run_daemon(families, on_demand);
    if let Err(failure) = &outcome
        && on_demand
    {
        tell_starter(failure);
    }
    outcome
}

/// Whoever started us reads this line and passes it on.
pub(super) fn tell_starter(failure: &Failure) {
    let line = crate::present::sentence(failure).replace('\n', " ");
    let _ = writeln!(std::io::stdout(), "failed {line}");
}

fn run_daemon(families: Vec<FamilyDescriptor>, on_demand: bool) -> Result<(), Failure> {
    trellis_proxy::limit_heap(MALLOC_ARENAS, MMAP_THRESHOLD_BYTES);
    if on_demand {
        // Out of the terminal's and the host's process group: their signals are not meant for us.
        let _ = rustix::process::setsid();
    }
    let mut account = surroundings::gather();
    let paths = TrellisPaths::of(&account);
    // A person may keep the configuration elsewhere, and link to it.
    let config = std::fs::read_to_string(&paths.config).ok().map(Zeroizing::new);
    let (settings, mut warnings) = Settings::read(config.as_ref().map(|text| text.as_str()), &account.variables);
    drop(config);
    for secret in SECRET_VARIABLES.iter().flat_map(|name| account.variables.take(name)) {
        secret.into_encoded_bytes().zeroize();
    }
    warnings.extend(check_state_directory(&paths.state)?);
    log::begin(&settings.log_level.value, on_demand.then_some(paths.log.as_path()));
    raise_descriptor_limit();
    // It counts for this thread and those that it starts, so it comes before all others.
    let landlock = landlock::restrict();
    let umask = surroundings::umask();

    let Some(lock) = take_lock(&paths, &account)? else {
        if on_demand {
            let _ = writeln!(std::io::stdout(), "taken");
        } else {
            anstream::eprintln!("another daemon of yours is running already: see `trellisd status`");
        }
        return Ok(());
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(ASYNC_THREADS)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("serve")
        .enable_all()
        .build()
        .map_err(|error| {
            Failure::new("unavailable", FailureKind::Unavailable, format!("cannot start threads: {error}"))
        })?;
    let listener = runtime.block_on(async {
        // The socket that systemd opened for us.
        let inherited = listenfd::ListenFd::from_env().take_unix_listener(0).ok().flatten().map(OwnedFd::from);
        let started_by = match (&inherited, on_demand) {
            (Some(_), _) => StartedBy::Service,
            (None, true) => StartedBy::Demand,
            (None, false) if is_service() => StartedBy::Service,
            (None, false) => StartedBy::Terminal,
        };
        let listener = socket::Listener::open(&paths, lock, inherited)?;
        let socket = listener.path.display().to_string();
        let (gateway, web) = open_gateway(&settings, &paths);
        let process = ProcessInfo {
            since: Instant::now(),
            socket: socket.clone(),
            paths: paths.clone(),
            started_by,
            started_in: surroundings::started_in(&account),
            gateway,
            landlock: landlock.describe(),
        };
        let engine_slot = Arc::new(OnceLock::new());
        let on_conflict = conflict_callback(&engine_slot);
        let (writer, unfinished) = open_journal(&paths, &on_conflict)?;
        let answers = AnswerCache::of(unfinished.known);
        let engine = Engine::start(Registry::new(families), settings, process, writer, answers, warnings);
        let _ = engine_slot.set(Arc::downgrade(&engine));
        engine.recover_in_background(unfinished.groups, &on_conflict);
        match &engine.process.gateway {
            GatewayState::Off => {}
            GatewayState::On(address) => tracing::info!(%address, "the HTTP gateway listens"),
            GatewayState::Failed(why) => engine.warn(&format!("the HTTP gateway is not running: {why}")),
        }
        let lifecycle = Arc::clone(&engine.lifecycle);
        tokio::spawn(async move { lifecycle.run().await });
        // What earlier daemons left lying is removed without making anybody wait, on a disk that may not answer.
        let sweeping = Arc::clone(&engine);
        let sweep = move || recover::sweep(&sweeping.writer, &OsSyscalls);
        let _ = std::thread::Builder::new().name("sweep".into()).spawn(sweep);
        handle_signals(&engine)?;
        ignore_sigxfsz();
        announce_ready(&socket, on_demand);
        tracing::info!(build = env!("CARGO_PKG_VERSION"), pid = std::process::id(), "ready");
        let gateway = web.map(|(address, web)| {
            let gateway = Gateway::new(Arc::clone(&engine), address, account, umask, HttpMcp::endpoint);
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
        engine.finish(INDEX_FLUSH_TIMEOUT);
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
        tracing::info!("left");
        Ok(listener)
    });
    // A call that hangs, on a disk perhaps, does not keep us; every file is safe if it is cut off.
    runtime.shutdown_timeout(FINAL_CALLS_TIMEOUT);
    // Only now may another daemon have the lock.
    listener.map(drop)
}

/// Nothing of ours may lie where another user can reach it. What was open to others is closed, with a warning.
fn check_state_directory(state: &Path) -> Result<Option<String>, Failure> {
    let mut were_open = Vec::new();
    // A person may keep all of it elsewhere, by a link of their own; through the dot it is followed.
    let is_own_link = |metadata: std::fs::Metadata| metadata.is_symlink() && metadata.uid() == geteuid().as_raw();
    let state = if state.symlink_metadata().is_ok_and(is_own_link) { state.join(".") } else { state.to_owned() };
    for directory in [state.clone(), state.join("journal"), state.join("feed")] {
        match state_files::open_private_directory(&directory) {
            Ok((_, true)) => were_open.push(format!("`{}`", directory.display())),
            Ok(_) => {}
            Err(DirectoryError::Foreign(why)) => {
                let message = format!("the directory `{}` {why}", directory.display());
                let hint = "set XDG_STATE_HOME to a directory of your own, or remove this one";
                return Err(Failure::new("denied", FailureKind::Refused, message).with_hint(hint));
            }
            // Whoever needs it says what is wrong with it.
            Err(DirectoryError::Io(_)) => {}
        }
    }
    let names = were_open.join(", ");
    Ok((!names.is_empty()).then(|| format!("{names} could be reached by other users; only you can now")))
}

/// The lock that makes us the only one. A service was set up on purpose: a daemon that was started on
/// demand makes room for it.
fn take_lock(paths: &TrellisPaths, account: &AccountEnvironment) -> Result<Option<listen::DaemonLock>, Failure> {
    let taken = listen::DaemonLock::take(&paths.daemon_lock())?;
    if taken.is_none() && is_service() {
        return super::control::hand_over(paths, account);
    }
    Ok(taken)
}

fn is_service() -> bool {
    std::env::var_os("NOTIFY_SOCKET").is_some() || std::env::var_os("LISTEN_FDS").is_some()
}

/// Opens the gateway's socket if it is asked for. Without it everything else goes on.
fn open_gateway(settings: &Settings, paths: &TrellisPaths) -> (GatewayState, Option<(SocketAddr, TcpListener)>) {
    let keys_made = http::keys::list(&http::keys::path(&paths.state)).is_ok_and(|keys| !keys.is_empty());
    http::listen::open(&settings.http, keys_made)
}

/// Opens the journal and reads what an earlier daemon had begun.
fn open_journal(
    paths: &TrellisPaths,
    on_conflict: &Arc<displaced::ConflictCallback>,
) -> Result<(AtomicWriter, UnfinishedWrites), Failure> {
    let directory = paths.state.join("journal");
    let calls: Arc<dyn WriteSyscalls> = Arc::new(OsSyscalls);
    recover::open(&directory, &calls, on_conflict, clock::epoch_millis()).map_err(|error| {
        let message = format!("the journal in `{}` cannot be used: {error}", directory.display());
        Failure::new("unavailable", FailureKind::Unavailable, message)
            .with_hint("check who owns it and whether it may be written")
    })
}

/// A conflict copy is worth a warning to everybody.
fn conflict_callback(engine: &Arc<OnceLock<Weak<Engine>>>) -> Arc<displaced::ConflictCallback> {
    let engine = Arc::clone(engine);
    Arc::new(move |name: &OsStr, copy: &OsStr| {
        let (name, copy) = (name.display(), copy.display());
        let warning = format!("`{name}` was changed by somebody while it was written; the other text is in `{copy}`");
        match engine.get().and_then(Weak::upgrade) {
            Some(engine) => engine.warn(&warning),
            None => tracing::warn!("{warning}"),
        }
    })
}

/// The ready word goes to whoever waits for it: the starter's pipe, the service manager, or a person.
fn announce_ready(socket: &str, on_demand: bool) {
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
fn handle_signals(engine: &Arc<Engine>) -> Result<(), Failure> {
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
            engine.lifecycle.leave(ExitReason::Signal);
        }
    });
    Ok(())
}

/// A file over the system's limit is an error of that write, not our end: a signal that is heard does not kill.
fn ignore_sigxfsz() {
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

/// Many sessions and roots need many descriptors; the hard limit is ours to use.
fn raise_descriptor_limit() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let _ = rustix::process::setrlimit(Resource::Nofile, raised);
}
