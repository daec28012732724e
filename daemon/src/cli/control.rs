//! `up`, `stop` and `status`: what is asked of a daemon that runs, over the same socket as everything else.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use interprocess::local_socket::Stream;
use trellis_protocol::codec::{self, LENGTH_BYTES};
use trellis_protocol::control::{Order, Report, Status};
use trellis_protocol::endpoint::{Places, Surroundings};
use trellis_protocol::envelope::{Caller, Envelope, Hello, Reply};
use trellis_protocol::{Failure, Kind, Surface, version};
use trellis_proxy::{connect, launch, surroundings};

use crate::present;
use crate::socket::listen::Lock;

/// How long a daemon may take to start or to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A daemon that is well answers within this.
const SOON: Duration = Duration::from_millis(500);
/// Between two questions whether the daemon has caught up, or is gone.
const PAUSE: Duration = Duration::from_millis(20);
/// After so many pauses a daemon that has not made room is asked again.
const ASK_AGAIN: usize = 50;

/// Starts a daemon if there is none, waits until it has caught up, and says how to connect a host.
pub fn up() -> Result<(), Failure> {
    let (around, places) = here();
    let stream = match reach(&places, &around) {
        Ok(stream) => stream,
        Err(failure) if failure.code == NOT_RUNNING => start(&places, &around)?,
        Err(failure) => return Err(failure),
    };
    let mut line = greet(stream, PATIENCE)?;
    let status = caught_up(&mut line)?;
    anstream::print!("{}", present::text::status(&status));
    anstream::println!("\nConnect an AI host with this command:\n\n  {}\n", host_command());
    Ok(())
}

/// Asks the daemon to leave and waits until it has.
pub fn stop() -> Result<(), Failure> {
    let (around, places) = here();
    let stream = match reach(&places, &around) {
        Ok(stream) => stream,
        Err(failure) if failure.code == NOT_RUNNING => {
            anstream::println!("no daemon is running");
            return Ok(());
        }
        Err(failure) => return Err(failure),
    };
    let mut line = greet(stream, PATIENCE)?;
    let Report::Leaving { pid } = ask(&mut line, Order::Stop)? else { return Err(unexpected()) };
    let end = ProcessEnd::of(pid);
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if end.within(PAUSE) {
            match running(&places, &around) {
                None => anstream::println!("trellisd (pid {pid}) has left"),
                Some(next) => {
                    anstream::println!("trellisd (pid {pid}) has left; a host that needs one has started pid {next}");
                }
            }
            return Ok(());
        }
    }
    Err(Failure::new("timeout", Kind::Unavailable, format!("trellisd (pid {pid}) has not left after 10 seconds"))
        .with_hint("a disk may be hanging; look into the log"))
}

/// Asks a running daemon to make room and takes its lock; none if it does not. A host may start another one
/// in between, so it is asked again.
pub fn hand_over(places: &Places, around: &Surroundings) -> Result<Option<Lock>, Failure> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        // Under socket activation the public path may be our own, where nobody answers yet: the daemon that
        // was there has noticed that, and leaves by itself.
        if let Ok(mut line) = reach(places, around).and_then(|stream| greet(stream, SOON)) {
            let _ = ask(&mut line, Order::HandOver);
        }
        for _ in 0..ASK_AGAIN {
            if let Some(lock) = Lock::take(&places.daemon_lock())? {
                return Ok(Some(lock));
            }
            std::thread::sleep(PAUSE);
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
            return matches!(poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&timeout)), Ok(1..));
        }
        let has_ended = self.pid.is_none_or(|pid| rustix::process::test_kill_process(pid).is_err());
        if !has_ended {
            std::thread::sleep(time);
        }
        has_ended
    }
}

/// The pid of the daemon that answers.
fn running(places: &Places, around: &Surroundings) -> Option<u32> {
    let mut line = greet(reach(places, around).ok()?, SOON).ok()?;
    match ask(&mut line, Order::Status) {
        Ok(Report::Status(status)) => Some(status.pid),
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
    let (around, places) = here();
    let mut line = greet(reach(&places, &around)?, PATIENCE)?;
    let Report::Status(status) = ask(&mut line, Order::Status)? else { return Err(unexpected()) };
    let text = match form {
        StatusForm::Json => serde_json::to_string_pretty(&status).map(|text| text + "\n").unwrap_or_default(),
        StatusForm::Settings => present::text::settings(&status),
        StatusForm::Screen => present::text::status(&status),
    };
    let _ = anstream::stdout().write_all(text.as_bytes());
    Ok(())
}

const NOT_RUNNING: &str = "not_running";

fn here() -> (Surroundings, Places) {
    let around = surroundings::gather();
    let places = Places::of(&around);
    (around, places)
}

fn reach(places: &Places, around: &Surroundings) -> Result<Stream, Failure> {
    connect::reach(places, around.uid).map_err(|error| match error {
        connect::ConnectError::Nobody => Failure::new(NOT_RUNNING, Kind::Unavailable, "no daemon is running")
            .with_hint("start one with `trellisd up`"),
        other => Failure::new("unavailable", Kind::Unavailable, other.to_string()),
    })
}

/// Starts a daemon, with a sign of life for whoever waits.
fn start(places: &Places, around: &Surroundings) -> Result<Stream, Failure> {
    let spinner = ProgressBar::new_spinner().with_message("starting trellisd");
    spinner.enable_steady_tick(Duration::from_millis(100));
    let started =
        launch::Launcher::for_work_in(std::env::current_dir().ok()).start(places, around, Instant::now() + PATIENCE);
    spinner.finish_and_clear();
    started.map_err(|why| Failure::new("unavailable", Kind::Unavailable, why.message).with_hint(why.hint))
}

/// Asks until the daemon has caught up with the disk; a bar shows how far it is.
fn caught_up(line: &mut Stream) -> Result<Status, Failure> {
    let bar = ProgressBar::hidden();
    bar.set_style(
        ProgressStyle::with_template("catching up {wide_bar} {pos}/{len}").unwrap_or(ProgressStyle::default_bar()),
    );
    loop {
        let Report::Status(status) = ask(line, Order::Status)? else { return Err(unexpected()) };
        let Some(progress) = status.catching_up else {
            bar.finish_and_clear();
            return Ok(*status);
        };
        if bar.is_hidden() {
            bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        }
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        std::thread::sleep(PAUSE);
    }
}

/// The exact line for a host: absolute, because hosts that are windows have no shell's PATH.
fn host_command() -> String {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("trellisd"));
    let beside = program.with_file_name("trellis-mcp");
    if is_program(&beside) { beside.display().to_string() } else { format!("{} mcp", program.display()) }
}

fn is_program(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

fn greet(stream: Stream, patience: Duration) -> Result<Stream, Failure> {
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
    let mut number = version::CURRENT;
    let answered = connect::greet(&stream, number, &hello, patience).map_err(|error| silent(&error))?;
    number = number.min(answered.number);
    match answered.reply {
        Some(Reply::Welcome(_)) => Ok(stream),
        Some(Reply::Refused(refused)) => {
            Err(Failure::new("version_mismatch", Kind::Unavailable, refused.message).with_hint(refused.hint))
        }
        None => Err(Failure::new(
            "version_mismatch",
            Kind::Unavailable,
            format!("the daemon speaks protocol {}, this program up to {number}", answered.number),
        )
        .with_hint("use the trellisd that was installed last")),
    }
}

fn ask(line: &mut Stream, order: Order) -> Result<Report, Failure> {
    match exchange(line, order) {
        Ok(Envelope::Report(report)) => Ok(report),
        Ok(_) => Err(unexpected()),
        Err(error) => Err(silent(&error)),
    }
}

fn exchange(line: &mut Stream, order: Order) -> io::Result<Envelope> {
    line.write_all(&codec::encode(&Envelope::Order(order)).map_err(io::Error::other)?)?;
    let mut prefix = [0; LENGTH_BYTES];
    line.read_exact(&mut prefix)?;
    let mut body = vec![0; codec::envelope_length(prefix).map_err(io::Error::other)?];
    line.read_exact(&mut body)?;
    codec::decode(body).map_err(io::Error::other)
}

fn silent(error: &io::Error) -> Failure {
    Failure::new("unavailable", Kind::Unavailable, format!("the daemon does not answer: {error}"))
        .with_hint("it may be leaving: try again, or look into the log")
}

fn unexpected() -> Failure {
    Failure::internal("the daemon answered something else than it was asked")
}
