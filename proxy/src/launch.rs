//! Nobody answers → one daemon, started once, however many want one. A lock in the state directory lets one proxy
//! start it while the others watch for its socket; the daemon's first line says that it is ready, or why not. What is
//! started leaves at once and the daemon stays behind, so that it is nobody's child: some hosts signal every descendant
//! when they end. The only module of the proxy that starts programs and creates files.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use interprocess::local_socket::Stream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use trellis_protocol::endpoint::{AccountEnvironment, TrellisPaths};

use crate::connect;
use crate::offline::UnavailableReason;
use crate::process;
use crate::surroundings::{self, STARTED_IN};

/// Nobody's link leads us to another file.
const NO_LINKS: i32 = OFlags::NOFOLLOW.bits() as i32;
const DAEMON_PROGRAM: &str = "trellisd";
/// How long a daemon may take to say that it is ready.
const READY_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_READY_LINE_BYTES: usize = 4 << 10;
/// Between two looks at the lock and the socket, doubled from the one to the other.
const MIN_POLL_DELAY: Duration = Duration::from_millis(2);
const MAX_POLL_DELAY: Duration = Duration::from_millis(20);
/// Between two starts while another daemon is leaving, doubled from [`MAX_POLL_DELAY`] to this.
const MAX_RESPAWN_DELAY: Duration = Duration::from_millis(250);
/// How many daemons may end without a word before it counts as a fault of theirs: a host may have ended one or two.
const MAX_SILENT_ENDS: usize = 5;
/// Room for a thread that does nothing but wait.
const WAIT_STACK_BYTES: usize = 32 << 10;

/// The first line that a daemon writes to its stdout.
#[derive(Debug, PartialEq, Eq)]
enum ReadyLine {
    /// It listens there.
    Ready(PathBuf),
    /// It cannot start, and says why.
    Failed(String),
    /// Another one has the lock.
    Taken,
    /// It said nothing and died, or takes too long.
    Missing,
}

/// A connection to a daemon: somebody's, or one started here on behalf of somebody who works in this directory.
pub fn start(
    paths: &TrellisPaths,
    account: &AccountEnvironment,
    directory: Option<&Path>,
    until: Instant,
) -> Result<Stream, UnavailableReason> {
    let program = find(account)?;
    make_directory(&paths.state).map_err(|error| {
        let message = format!("the directory `{}` cannot be made: {error}", paths.state.display());
        UnavailableReason::new(message, "make it writable for you, or set XDG_STATE_HOME to a directory that is")
    })?;
    let path = paths.start_lock();
    let lock = OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(NO_LINKS).open(&path);
    // A lock on a disk that cannot be written: the file that is there will do, or the directory above ours, in
    // which the daemon has its own.
    let above = || File::open(paths.state.parent().unwrap_or(&paths.state));
    let lock = lock.or_else(|error| File::open(&path).or_else(|_| above()).map_err(|_| error));
    let lock = lock.map_err(|error| no_file(&path, &error))?;
    let mut delay = MIN_POLL_DELAY;
    loop {
        if let Ok(stream) = connect::connect_daemon(paths, account.uid) {
            return Ok(stream);
        }
        match lock.try_lock() {
            // The one who had the lock before may have been successful.
            Ok(()) => {
                let connected = connect::connect_daemon(paths, account.uid);
                return connected.or_else(|_| spawn(&program, paths, account, directory));
            }
            Err(TryLockError::WouldBlock) if Instant::now() < until => {}
            Err(TryLockError::WouldBlock) => {
                let hint = "try again in a moment; if it stays so, run `trellisd status`";
                return Err(UnavailableReason::new(
                    "another program is starting the daemon and has not finished",
                    hint,
                ));
            }
            Err(TryLockError::Error(error)) => return Err(no_file(&path, &error)),
        }
        sleep(delay);
        delay = (delay * 2).min(MAX_POLL_DELAY);
    }
}

fn spawn(
    program: &Path,
    paths: &TrellisPaths,
    account: &AccountEnvironment,
    directory: Option<&Path>,
) -> Result<Stream, UnavailableReason> {
    process::set_cloexec_on_all();
    let until = Instant::now() + READY_TIMEOUT;
    let mut delay = MAX_POLL_DELAY;
    let mut silent_ends = 0;
    loop {
        let mut child = spawn_once(program, paths, account, directory)?;
        let line = child.stdout.take().map_or(ReadyLine::Missing, |stdout| read_ready_line(stdout, until));
        match &line {
            // One that is not to be reached has been ended by somebody already.
            ReadyLine::Ready(path) => {
                let connected = connect::connect_daemon(paths, account.uid);
                if let Ok(stream) = connected.or_else(|_| connect::connect_to(path, account.uid)) {
                    reap(child);
                    return Ok(stream);
                }
            }
            ReadyLine::Failed(reason) => {
                reap(child);
                return Err(not_started(reason, paths));
            }
            ReadyLine::Taken => {}
            ReadyLine::Missing => silent_ends += 1,
        }
        // The one that has the lock either listens soon or is about to leave, and then somebody has to take its place.
        if let Some(stream) = wait_for_socket(paths, account.uid, Instant::now() + delay) {
            reap(child);
            return Ok(stream);
        }
        let failed = child.try_wait().ok().flatten().filter(|status| !status.success() && !was_signalled(*status));
        reap(child);
        if line == ReadyLine::Missing {
            if let Some(status) = failed {
                return Err(not_started(&format!("it ended with {status}"), paths));
            }
            if silent_ends > MAX_SILENT_ENDS {
                return Err(not_started("it ended without a word", paths));
            }
        }
        if Instant::now() >= until {
            return Err(not_started("nobody listens on its socket", paths));
        }
        delay = (delay * 2).min(MAX_RESPAWN_DELAY);
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where a proxy starts a program")]
fn spawn_once(
    program: &Path,
    paths: &TrellisPaths,
    account: &AccountEnvironment,
    directory: Option<&Path>,
) -> Result<Child, UnavailableReason> {
    let spawned = Command::new(program)
        .args(["run", "--on-demand"])
        .env_clear()
        .envs(surroundings::daemon_environment(account))
        .env(STARTED_IN, directory.unwrap_or(Path::new("/")))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(open_log(&paths.log).map_or_else(|_| Stdio::null(), Stdio::from))
        .spawn();
    spawned.map_err(|error| {
        let message = format!("`{}` cannot be started: {error}", program.display());
        UnavailableReason::new(message, "reinstall Trellis, or set TRELLIS_DAEMON to the path of `trellisd`")
    })
}

/// A child stays in the process table until somebody has asked for its exit status. Ours has left or is about to;
/// the thread is for one that does not.
fn reap(mut child: Child) {
    if !matches!(child.try_wait(), Ok(Some(_))) {
        let _ = std::thread::Builder::new().stack_size(WAIT_STACK_BYTES).spawn(move || child.wait());
    }
}

/// Whether somebody ended it; that says nothing about the next one.
fn was_signalled(status: ExitStatus) -> bool {
    use rustix::process::Signal;
    let ending = [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP];
    status.signal().is_some_and(|signal| ending.iter().any(|ending| ending.as_raw() == signal))
}

/// A connection to whoever listens until then.
fn wait_for_socket(paths: &TrellisPaths, uid: u32, until: Instant) -> Option<Stream> {
    let mut delay = MIN_POLL_DELAY;
    loop {
        if let Ok(stream) = connect::connect_daemon(paths, uid) {
            return Some(stream);
        }
        if Instant::now() >= until {
            return None;
        }
        sleep(delay);
        delay = (delay * 2).min(MAX_POLL_DELAY);
    }
}

fn not_started(reason: &str, paths: &TrellisPaths) -> UnavailableReason {
    let hint = format!("run `trellisd run` in a terminal to see why, or look into {}", paths.log.display());
    UnavailableReason::new(format!("the daemon did not start: {reason}"), hint)
}

/// `TRELLIS_DAEMON`, then beside this program, then in `PATH`.
fn find(account: &AccountEnvironment) -> Result<PathBuf, UnavailableReason> {
    if let Some(named) = account.variable("TRELLIS_DAEMON").map(PathBuf::from) {
        if !named.is_file() {
            let message = format!("TRELLIS_DAEMON names `{}`, which is not a file", named.display());
            return Err(UnavailableReason::new(message, "correct TRELLIS_DAEMON or remove it"));
        }
        // The daemon is started in another directory than this one.
        return Ok(std::path::absolute(&named).unwrap_or(named));
    }
    let beside = std::env::current_exe().ok().and_then(|own| own.parent().map(|place| place.join(DAEMON_PROGRAM)));
    let path = account.variable("PATH").unwrap_or_default();
    let in_path =
        std::env::split_paths(path).filter(|place| place.is_absolute()).map(|place| place.join(DAEMON_PROGRAM));
    beside.into_iter().chain(in_path).find(|candidate| candidate.is_file()).ok_or_else(|| {
        let hint = "install Trellis, or set TRELLIS_DAEMON to the path of `trellisd`";
        UnavailableReason::new("the program `trellisd` was not found beside this one nor in PATH", hint)
    })
}

/// The first line of a daemon; its end or the timeout counts as a missing one.
fn read_ready_line(mut stdout: ChildStdout, until: Instant) -> ReadyLine {
    let mut line = Vec::new();
    let mut piece = [0; 512];
    while line.len() < MAX_READY_LINE_BYTES && !line.contains(&b'\n') {
        let timeout = Timespec::try_from(until.saturating_duration_since(Instant::now())).ok();
        match poll(&mut [PollFd::new(&stdout, PollFlags::IN)], timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => continue,
            Ok(1..) => {}
            Ok(0) | Err(_) => break,
        }
        match stdout.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(count) => line.extend_from_slice(&piece[..count]),
        }
    }
    parse_ready_line(&line)
}

fn parse_ready_line(bytes: &[u8]) -> ReadyLine {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    if let Some(path) = line.strip_prefix(b"ready ") {
        return ReadyLine::Ready(Path::new(std::ffi::OsStr::from_bytes(path)).to_owned());
    }
    match line.strip_prefix(b"failed ") {
        Some(reason) => ReadyLine::Failed(String::from_utf8_lossy(reason).into_owned()),
        None if line == b"taken" => ReadyLine::Taken,
        None => ReadyLine::Missing,
    }
}

fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn no_file(path: &Path, error: &io::Error) -> UnavailableReason {
    let message = format!("the file `{}` cannot be used: {error}", path.display());
    UnavailableReason::new(message, "make its directory writable for you, or free some space on that disk")
}

fn open_log(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        make_directory(directory)?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(NO_LINKS).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: ReadyLine) {
        assert_eq!(parse_ready_line(bytes), expected);
    }

    #[test]
    fn the_first_line_of_a_daemon_is_understood() {
        check(b"ready /run/a b.sock\nmore", ReadyLine::Ready("/run/a b.sock".into()));
        check(b"failed the disk is full\n", ReadyLine::Failed("the disk is full".into()));
        check(b"taken\n", ReadyLine::Taken);
        check(b"", ReadyLine::Missing);
        check(b"hello\n", ReadyLine::Missing);
    }

    #[test]
    fn a_named_program_that_is_not_there_is_not_replaced_by_another() {
        let mut account = crate::surroundings::gather();
        account.variables.set("TRELLIS_DAEMON", "/nowhere/trellisd");
        assert!(find(&account).is_err_and(|reason| reason.message.contains("/nowhere/trellisd")));
        account.variables.set("TRELLIS_DAEMON", "/dev/null");
        assert!(find(&account).is_err(), "not a regular file");
    }
}
