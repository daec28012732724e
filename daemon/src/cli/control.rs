//! `up`, `stop` and `status`: what is asked of a daemon that runs, over the same socket as everything else.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use interprocess::local_socket::Stream;
use trellis_protocol::codec::{self, LENGTH_BYTES};
use trellis_protocol::control::{ControlReply, ControlRequest, Status};
use trellis_protocol::endpoint::{AccountEnvironment, TrellisPaths};
use trellis_protocol::envelope::{Caller, Envelope, Hello, Reply};
use trellis_protocol::{Failure, FailureKind, Surface, version};
use trellis_proxy::{connect, launch, surroundings};

use crate::present;
use crate::socket::listen::DaemonLock;
use crate::state_files;

/// How long a daemon may take to start or to answer.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(10);
/// A daemon that is well answers within this.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
/// Between two questions whether the daemon has caught up, or is gone.
const POLL_DELAY: Duration = Duration::from_millis(20);
/// After so many pauses a daemon that has not made room is asked again.
const LOCK_POLLS: usize = 50;

/// Starts a daemon if there is none, waits until it has caught up, and says how to connect a host.
pub fn up() -> Result<(), Failure> {
    let (account, paths) = here();
    let stream = match reach(&paths, &account) {
        Ok(stream) => stream,
        Err(failure) if failure.code == NOT_RUNNING => start(&paths, &account)?,
        Err(failure) => return Err(failure),
    };
    let mut line = greet(stream, CONTROL_TIMEOUT)?;
    let status = wait_until_caught_up(&mut line)?;
    anstream::print!("{}", present::text::status(&status));
    anstream::println!("\nConnect an AI host with this command:\n\n  {}\n", host_command());
    Ok(())
}

/// Asks the daemon to leave and waits until it has.
pub fn stop() -> Result<(), Failure> {
    let (account, paths) = here();
    let stream = match reach(&paths, &account) {
        Ok(stream) => stream,
        Err(failure) if failure.code == NOT_RUNNING => {
            anstream::println!("no daemon is running");
            return Ok(());
        }
        Err(failure) => return Err(failure),
    };
    let mut line = greet(stream, CONTROL_TIMEOUT)?;
    let ControlReply::Leaving { pid } = ask(&mut line, ControlRequest::Stop)? else { return Err(unexpected()) };
    let end = ProcessEnd::of(pid);
    let until = Instant::now() + CONTROL_TIMEOUT;
    while Instant::now() < until {
        if end.within(POLL_DELAY) {
            match running(&paths, &account) {
                None => anstream::println!("trellisd (pid {pid}) has left"),
                Some(next) => {
                    anstream::println!("trellisd (pid {pid}) has left; a host that needs one has started pid {next}");
                }
            }
            return Ok(());
        }
    }
    let message = format!("trellisd (pid {pid}) has not left after 10 seconds");
    Err(Failure::new("timeout", FailureKind::Unavailable, message)
        .with_hint("a disk may be hanging; look into the log"))
}

/// Asks a running daemon to make room and takes its lock; none if it does not. A host may start another one
/// in between, so it is asked again.
pub fn hand_over(paths: &TrellisPaths, account: &AccountEnvironment) -> Result<Option<DaemonLock>, Failure> {
    let until = Instant::now() + CONTROL_TIMEOUT;
    while Instant::now() < until {
        // Under socket activation the public path may be our own, where nobody answers yet: the daemon that
        // was there has noticed that, and leaves by itself.
        if let Ok(mut line) = reach(paths, account).and_then(|stream| greet(stream, PROBE_TIMEOUT)) {
            let _ = ask(&mut line, ControlRequest::HandOver);
        }
        for _ in 0..LOCK_POLLS {
            if let Some(lock) = DaemonLock::take(&paths.daemon_lock())? {
                return Ok(Some(lock));
            }
            std::thread::sleep(POLL_DELAY);
        }
    }
    Ok(None)
}

/// Waits for the end of a process, also of one whose parent has not asked for its status yet. Nothing is done to it.
struct ProcessEnd {
    pid: Option<rustix::process::Pid>,
    #[cfg(target_os = "linux")]
    descriptor: Option<std::os::fd::OwnedFd>,
}

impl ProcessEnd {
    fn of(pid: u32) -> Self {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        Self {
            pid,
            #[cfg(target_os = "linux")]
            descriptor: pid.and_then(|pid| rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()),
        }
    }

    /// Whether it has ended, or does so in this time.
    fn within(&self, time: Duration) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(descriptor) = &self.descriptor {
            use rustix::event::{PollFd, PollFlags, Timespec, poll};
            let timeout = Timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
            let has_ended = matches!(poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&timeout)), Ok(1..));
            return has_ended || self.is_over();
        }
        let has_ended = self.pid.is_none_or(|pid| rustix::process::test_kill_process(pid).is_err());
        if !has_ended {
            std::thread::sleep(time);
        }
        has_ended
    }

    /// Whether its first thread has ended. Another one may be in the hands of a disk that does not answer, from which
    /// not even the system can free it; but it holds nothing any more.
    #[cfg(target_os = "linux")]
    fn is_over(&self) -> bool {
        let stat = self.pid.and_then(|pid| state_files::read(Path::new(&format!("/proc/{}/stat", pid.as_raw_pid()))));
        stat.is_some_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('Z')))
    }
}

/// The pid of the daemon that answers.
fn running(paths: &TrellisPaths, account: &AccountEnvironment) -> Option<u32> {
    let mut line = greet(reach(paths, account).ok()?, PROBE_TIMEOUT).ok()?;
    match ask(&mut line, ControlRequest::Status) {
        Ok(ControlReply::Status(status)) => Some(status.pid),
        _ => None,
    }
}

/// How a status is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusForm {
    Screen,
    /// Every setting and where its value comes from.
    Settings,
    Json,
}

/// Shows how the daemon is.
pub fn status(form: StatusForm) -> Result<(), Failure> {
    let (account, paths) = here();
    let mut line = greet(reach(&paths, &account)?, CONTROL_TIMEOUT)?;
    let ControlReply::Status(status) = ask(&mut line, ControlRequest::Status)? else { return Err(unexpected()) };
    let text = match form {
        StatusForm::Json => serde_json::to_string_pretty(&status).map(|text| text + "\n").unwrap_or_default(),
        StatusForm::Settings => present::text::settings(&status),
        StatusForm::Screen => present::text::status(&status),
    };
    let _ = anstream::stdout().write_all(text.as_bytes());
    Ok(())
}

const NOT_RUNNING: &str = "not_running";

fn here() -> (AccountEnvironment, TrellisPaths) {
    let account = surroundings::gather();
    let paths = TrellisPaths::of(&account);
    (account, paths)
}

fn reach(paths: &TrellisPaths, account: &AccountEnvironment) -> Result<Stream, Failure> {
    connect::connect_daemon(paths, account.uid).map_err(|error| match error {
        connect::ConnectError::Nobody => Failure::new(NOT_RUNNING, FailureKind::Unavailable, "no daemon is running")
            .with_hint("start one with `trellisd up`"),
        other => Failure::new("unavailable", FailureKind::Unavailable, other.to_string()),
    })
}

/// Starts a daemon, with a sign of life for whoever waits.
fn start(paths: &TrellisPaths, account: &AccountEnvironment) -> Result<Stream, Failure> {
    let spinner = ProgressBar::new_spinner().with_message("starting trellisd");
    spinner.enable_steady_tick(Duration::from_millis(100));
    let started =
        launch::start(paths, account, std::env::current_dir().ok().as_deref(), Instant::now() + CONTROL_TIMEOUT);
    spinner.finish_and_clear();
    started
        .map_err(|reason| Failure::new("unavailable", FailureKind::Unavailable, reason.message).with_hint(reason.hint))
}

/// Asks until the daemon has caught up with the disk; a bar shows how far it is.
fn wait_until_caught_up(line: &mut Stream) -> Result<Status, Failure> {
    let bar = ProgressBar::hidden();
    bar.set_style(
        ProgressStyle::with_template("catching up {wide_bar} {pos}/{len}").unwrap_or(ProgressStyle::default_bar()),
    );
    loop {
        let ControlReply::Status(status) = ask(line, ControlRequest::Status)? else { return Err(unexpected()) };
        let Some(progress) = status.catching_up else {
            bar.finish_and_clear();
            return Ok(*status);
        };
        if bar.is_hidden() {
            bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        }
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        std::thread::sleep(POLL_DELAY);
    }
}

/// The exact line for a host: absolute, because hosts that are windows have no shell's PATH.
fn host_command() -> String {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("trellisd"));
    let beside = program.with_file_name("trellis-mcp");
    let is_program = rustix::fs::access(&beside, rustix::fs::Access::EXEC_OK).is_ok();
    if is_program { beside.display().to_string() } else { format!("{} mcp", program.display()) }
}

fn greet(stream: Stream, timeout: Duration) -> Result<Stream, Failure> {
    let hello = Hello {
        build: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        caller: Caller::CommandLine,
        directory: Vec::new(),
        surface: Surface::default(),
        environment: Vec::new(),
        time_zone: String::new(),
        umask: 0o077,
        resume: None,
    };
    let answered = connect::greet(&stream, version::CURRENT, &hello, timeout);
    let (number, reply) = answered.map_err(|error| silent(&error))?;
    match reply {
        Some(Reply::Welcome(_)) => Ok(stream),
        Some(Reply::Refused(refused)) => {
            Err(Failure::new("version_mismatch", FailureKind::Unavailable, refused.message).with_hint(refused.hint))
        }
        None => {
            let ours = version::CURRENT.min(number);
            let message = format!("the daemon speaks protocol {number}, this program up to {ours}");
            Err(Failure::new("version_mismatch", FailureKind::Unavailable, message)
                .with_hint("use the trellisd that was installed last"))
        }
    }
}

fn ask(line: &mut Stream, order: ControlRequest) -> Result<ControlReply, Failure> {
    match exchange(line, order) {
        Ok(Envelope::ControlReply(report)) => Ok(report),
        Ok(_) => Err(unexpected()),
        Err(error) => Err(silent(&error)),
    }
}

fn exchange(line: &mut Stream, order: ControlRequest) -> io::Result<Envelope> {
    line.write_all(&codec::encode(&Envelope::ControlRequest(order)).map_err(io::Error::other)?)?;
    let mut prefix = [0; LENGTH_BYTES];
    line.read_exact(&mut prefix)?;
    let mut body = vec![0; codec::envelope_length(prefix).map_err(io::Error::other)?];
    line.read_exact(&mut body)?;
    codec::decode(body).map_err(io::Error::other)
}

fn silent(error: &io::Error) -> Failure {
    Failure::new("unavailable", FailureKind::Unavailable, format!("the daemon does not answer: {error}"))
        .with_hint("it may be leaving: try again, or look into the log")
}

fn unexpected() -> Failure {
    Failure::internal("the daemon answered something else than it was asked")
}
