//! Nobody answers → one daemon, started once, however many want one. A lock in the state directory lets one proxy
//! start it while the others watch for its socket; the daemon's first line says that it is ready, or why not. The
//! only module that starts programs and creates files.

use std::fs::{DirBuilder, File, OpenOptions};
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
use trellis_protocol::endpoint::{Places, Surroundings};

use crate::connect;
use crate::process;
use crate::refuse::Why;
use crate::surroundings::STARTED_IN;

/// The program to start.
const DAEMON: &str = "trellisd";
/// How long a daemon may take to say ready.
const READY: Duration = Duration::from_secs(10);
/// The longest first line that is read.
const WORD_LIMIT: usize = 4 << 10;
/// Between two looks at the lock and the socket.
const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_millis(20);
/// Between two starts while another daemon is leaving.
const LONGEST: Duration = Duration::from_millis(250);

/// Starts daemons and remembers them, so that none of them stays behind as a zombie.
#[derive(Debug, Default)]
pub struct Launcher {
    directory: Option<PathBuf>,
    children: Vec<Child>,
}

/// What a daemon said first.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    /// It listens there.
    Ready(PathBuf),
    /// It cannot start, and says why.
    Failed(String),
    /// It said nothing: another one has the lock, or it died.
    Nothing,
}

impl Launcher {
    /// Starts daemons on behalf of somebody who works in this directory.
    pub fn for_work_in(directory: Option<PathBuf>) -> Self {
        Self { directory, children: Vec::new() }
    }

    /// A connection to a daemon: somebody's, or one started here.
    pub fn start(&mut self, places: &Places, around: &Surroundings, until: Instant) -> Result<Stream, Why> {
        let program = find(around)?;
        make_directory(&places.state)?;
        let lock = open_lock(&places.start_lock())?;
        let mut pause = SHORT;
        loop {
            if let Ok(stream) = connect::reach(places, around.uid) {
                return Ok(stream);
            }
            match lock.try_lock() {
                Ok(()) => break,
                Err(std::fs::TryLockError::WouldBlock) if Instant::now() < until => {}
                Err(std::fs::TryLockError::WouldBlock) => {
                    return Err(Why::new(
                        "another program is starting the daemon and has not finished",
                        "try again in a moment; if it stays so, run `trellisd status`",
                    ));
                }
                Err(std::fs::TryLockError::Error(error)) => return Err(no_file(&places.start_lock(), &error)),
            }
            sleep(pause);
            pause = (pause * 2).min(LONG);
        }
        // The one who had the lock before may have been successful.
        match connect::reach(places, around.uid) {
            Ok(stream) => Ok(stream),
            Err(_) => self.spawn(&program, places, around.uid),
        }
    }

    /// Collects daemons that have ended.
    pub(crate) fn reap(&mut self) {
        self.children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }

    /// Whether a daemon that was started here has not been seen to end.
    pub(crate) fn has_children(&self) -> bool {
        !self.children.is_empty()
    }

    fn spawn(&mut self, program: &Path, places: &Places, uid: u32) -> Result<Stream, Why> {
        process::keep_from_children();
        let until = Instant::now() + READY;
        let mut pause = LONG;
        loop {
            let mut child = begin(program, places, self.directory.as_deref())?;
            let word = child.stdout.take().map_or(Word::Nothing, |stdout| first_word(stdout, until));
            let found = match word {
                Word::Ready(path) => {
                    match connect::reach(places, uid).or_else(|_| connect::reach_at(&path, uid)) {
                        Ok(stream) => Ok(Some(stream)),
                        // Somebody has ended it already.
                        Err(_) if is_ended(&mut child) && Instant::now() < until => Ok(None),
                        Err(error) => {
                            Err(Why::new(format!("the daemon says it is ready, but {error}"), "run `trellisd status`"))
                        }
                    }
                }
                Word::Failed(reason) => Err(not_started(&reason, places)),
                Word::Nothing => watch(&mut child, places, uid, Instant::now() + pause, until),
            };
            self.children.push(child);
            self.reap();
            if let Some(stream) = found? {
                return Ok(stream);
            }
            pause = (pause * 2).min(LONGEST);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where a proxy starts a program")]
fn begin(program: &Path, places: &Places, directory: Option<&Path>) -> Result<Child, Why> {
    let spawned = Command::new(program)
        .args(["run", "--on-demand"])
        .env(STARTED_IN, directory.unwrap_or(Path::new("/")))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(open_log(&places.log).map_or_else(|_| Stdio::null(), Stdio::from))
        .spawn();
    spawned.map_err(|error| {
        Why::new(
            format!("`{}` cannot be started: {error}", program.display()),
            "reinstall Trellis, or set TRELLIS_DAEMON to the path of `trellisd`",
        )
    })
}

/// Whether somebody ended it; that says nothing about the next one.
fn is_told_to_end(status: ExitStatus) -> bool {
    use rustix::process::Signal;
    let told = [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP];
    status.signal().is_some_and(|signal| told.iter().any(|told| told.as_raw() == signal))
}

fn is_ended(child: &mut Child) -> bool {
    matches!(child.try_wait(), Ok(Some(status)) if is_told_to_end(status) || status.success())
}

/// Waits for the socket of a daemon that did not say ready. None after `soon` if it stepped back: the one that has the
/// lock either listens soon or is about to leave, and then somebody has to take its place.
fn watch(child: &mut Child, places: &Places, uid: u32, soon: Instant, until: Instant) -> Result<Option<Stream>, Why> {
    let mut pause = SHORT;
    loop {
        if let Ok(stream) = connect::reach(places, uid) {
            return Ok(Some(stream));
        }
        let now = Instant::now();
        match child.try_wait() {
            Ok(Some(status)) if is_told_to_end(status) && now < until => return Ok(None),
            Ok(Some(status)) if !status.success() => {
                return Err(not_started(&format!("it ended with {status}"), places));
            }
            Ok(Some(_)) if now >= soon && now < until => return Ok(None),
            _ if now >= until => return Err(not_started("nobody listens on its socket", places)),
            _ => {}
        }
        sleep(pause);
        pause = (pause * 2).min(LONG);
    }
}

fn not_started(reason: &str, places: &Places) -> Why {
    Why::new(
        format!("the daemon did not start: {reason}"),
        format!("run `trellisd run` in a terminal to see why, or look into {}", places.log.display()),
    )
}

/// `TRELLIS_DAEMON`, then beside this program, then in `PATH`.
fn find(around: &Surroundings) -> Result<PathBuf, Why> {
    if let Some(named) = around.variable("TRELLIS_DAEMON").map(PathBuf::from) {
        return if named.is_file() {
            // The daemon is started in another directory than this one.
            Ok(std::path::absolute(&named).unwrap_or(named))
        } else {
            Err(Why::new(
                format!("TRELLIS_DAEMON names `{}`, which is not a file", named.display()),
                "correct TRELLIS_DAEMON or remove it",
            ))
        };
    }
    let beside = std::env::current_exe().ok().and_then(|own| own.parent().map(|place| place.join(DAEMON)));
    let path = around.variable("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(path).filter(|place| place.is_absolute()).map(|place| place.join(DAEMON));
    beside.into_iter().chain(in_path).find(|candidate| candidate.is_file()).ok_or_else(|| {
        Why::new(
            "the program `trellisd` was not found beside this one nor in PATH",
            "install Trellis, or set TRELLIS_DAEMON to the path of `trellisd`",
        )
    })
}

/// The first line of a daemon; its end or the end of patience count as nothing.
fn first_word(mut stdout: ChildStdout, until: Instant) -> Word {
    let mut line = Vec::new();
    let mut piece = [0; 512];
    while line.len() < WORD_LIMIT && !line.contains(&b'\n') {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&stdout, PollFlags::IN)], Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => continue,
            Ok(1..) => {}
            Ok(0) | Err(_) => break,
        }
        match stdout.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(count) => line.extend_from_slice(&piece[..count]),
        }
    }
    word(&line)
}

fn word(bytes: &[u8]) -> Word {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    if let Some(path) = line.strip_prefix(b"ready ") {
        return Word::Ready(Path::new(std::ffi::OsStr::from_bytes(path)).to_owned());
    }
    match line.strip_prefix(b"failed ") {
        Some(reason) => Word::Failed(String::from_utf8_lossy(reason).into_owned()),
        None => Word::Nothing,
    }
}

fn make_directory(path: &Path) -> Result<(), Why> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| {
        Why::new(
            format!("the directory `{}` cannot be made: {error}", path.display()),
            "make it writable for you, or set XDG_STATE_HOME to a directory that is",
        )
    })
}

fn open_lock(path: &Path) -> Result<File, Why> {
    let opened = OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(path);
    opened.map_err(|error| no_file(path, &error))
}

fn no_file(path: &Path, error: &io::Error) -> Why {
    Why::new(
        format!("the file `{}` cannot be used: {error}", path.display()),
        "make its directory writable for you, or free some space on that disk",
    )
}

fn open_log(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: Word) {
        assert_eq!(word(bytes), expected);
    }

    #[test]
    fn the_first_line_of_a_daemon_is_understood() {
        check(b"ready /run/a b.sock\nmore", Word::Ready("/run/a b.sock".into()));
        check(b"failed the disk is full\n", Word::Failed("the disk is full".into()));
        check(b"", Word::Nothing);
        check(b"hello\n", Word::Nothing);
    }

    #[test]
    fn a_named_program_that_is_not_there_is_not_replaced_by_another() {
        let mut around = crate::surroundings::gather();
        around.variables.set("TRELLIS_DAEMON", "/nowhere/trellisd");
        assert!(find(&around).is_err_and(|why| why.message.contains("/nowhere/trellisd")));
        around.variables.set("TRELLIS_DAEMON", "/dev/null");
        assert!(find(&around).is_err(), "not a regular file");
    }
}
