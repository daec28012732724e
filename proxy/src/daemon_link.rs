//! How a session comes to a daemon: finds or starts one and greets it with what the session had before. An older
//! daemon is asked once to hand over to a newer one. Everything here may block; after the first try it runs beside
//! the session, see [`Attempt`].

use std::ffi::OsStr;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use interprocess::local_socket::{Stream, prelude::*};
use trellis_protocol::codec;
use trellis_protocol::control::ControlRequest;
use trellis_protocol::endpoint::{AccountEnvironment, TrellisPaths};
use trellis_protocol::envelope::{Caller, Envelope, Hello, RefusalReason, Refused, Reply, Resume, SessionKey};
use trellis_protocol::version::{self, Meeting};

use crate::connect::{self, ConnectError};
use crate::launch;
use crate::note;
use crate::offline::UnavailableReason;

/// How long a daemon that is there may take to answer.
const REPLY_TIMEOUT: Duration = Duration::from_secs(1);
/// Between two looks whether a daemon that was asked to leave is gone.
const EXIT_POLL_DELAY: Duration = Duration::from_millis(20);
/// Room for the thread of an attempt: it recurses nowhere and keeps its buffers on the heap.
const ATTEMPT_STACK_BYTES: usize = 256 << 10;

/// A connection to a daemon that serves the session, and the name it knows the session by.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) stream: Stream,
    pub(crate) session: SessionKey,
}

#[derive(Debug)]
pub(crate) struct ConnectFailure {
    pub(crate) reason: UnavailableReason,
    /// Whether trying again at once is useless.
    pub(crate) is_permanent: bool,
}

enum HandshakeResult {
    Welcome(SessionKey),
    /// It speaks only this older protocol.
    Older(u16),
}

#[derive(Debug)]
pub(crate) struct DaemonLink {
    program: &'static str,
    paths: TrellisPaths,
    account: AccountEnvironment,
    hello: Hello,
    /// An older daemon has been asked to leave once; the next one is taken as it is.
    asked_to_leave: bool,
    /// The last notice that was printed.
    notice: Option<String>,
}

impl DaemonLink {
    pub(crate) fn new(program: &'static str, paths: TrellisPaths, account: AccountEnvironment, hello: Hello) -> Self {
        Self { program, paths, account, hello, asked_to_leave: false, notice: None }
    }

    /// Greets a daemon that runs, for a session that begins; none if it does not serve it.
    pub(crate) fn greet_running(&mut self, stream: Stream) -> Option<Served> {
        let hello = self.hello.clone();
        match self.greet(&stream, version::CURRENT, &hello, REPLY_TIMEOUT) {
            Ok(HandshakeResult::Welcome(session)) => Some(Served { stream, session }),
            _ => None,
        }
    }

    /// Finds or starts a daemon that serves the session from where `resume` says it was.
    fn connect(&mut self, resume: Option<Resume>, until: Instant) -> Result<Served, ConnectFailure> {
        let hello = Hello { resume, ..self.hello.clone() };
        let mut number = version::CURRENT;
        loop {
            let stream = match connect::connect_daemon(&self.paths, self.account.uid) {
                Ok(stream) => stream,
                Err(ConnectError::Nobody) => {
                    let directory = Path::new(OsStr::from_bytes(&self.hello.directory));
                    launch::start(&self.paths, &self.account, Some(directory), until).map_err(permanent)?
                }
                Err(error) => return Err(unreachable_socket(&error)),
            };
            let timeout = until.saturating_duration_since(Instant::now()).max(REPLY_TIMEOUT);
            match self.greet(&stream, number, &hello, timeout)? {
                HandshakeResult::Welcome(session) => return Ok(Served { stream, session }),
                HandshakeResult::Older(older) if self.asked_to_leave => number = older,
                HandshakeResult::Older(older) => self.request_handover(older, until),
            }
        }
    }

    fn greet(
        &mut self,
        stream: &Stream,
        number: u16,
        hello: &Hello,
        timeout: Duration,
    ) -> Result<HandshakeResult, ConnectFailure> {
        let (theirs, reply) = connect::greet(stream, number, hello, timeout)
            .map_err(|error| transient(format!("the daemon does not answer: {error}")))?;
        match reply {
            Some(Reply::Welcome(welcome)) => {
                if let Some(notice) = welcome.notice.as_deref().filter(|notice| self.notice.as_deref() != Some(notice))
                {
                    note(self.program, notice);
                    self.notice = Some(notice.to_owned());
                }
                Ok(HandshakeResult::Welcome(welcome.session))
            }
            // The daemon does not read our words, or we do not read its.
            Some(Reply::Refused(Refused { reason: RefusalReason::Version, .. })) | None => {
                match version::meet(version::CURRENT, theirs) {
                    Meeting::Talk(older) if theirs < number => Ok(HandshakeResult::Older(older)),
                    _ => Err(permanent(different_versions(version::CURRENT, theirs))),
                }
            }
            Some(Reply::Refused(refused)) => Err(ConnectFailure {
                is_permanent: refused.reason == RefusalReason::Surface,
                reason: UnavailableReason::new(refused.message, refused.hint),
            }),
        }
    }

    /// Asks an older daemon to leave, so that a newer one can follow. If it comes back, it is spoken to in its words.
    fn request_handover(&mut self, number: u16, until: Instant) {
        self.asked_to_leave = true;
        note(self.program, "the running daemon is older than this program, asking it to hand over");
        let hello = Hello { caller: Caller::CommandLine, ..self.hello.clone() };
        let connect = || connect::connect_daemon(&self.paths, self.account.uid);
        if let Ok(mut stream) = connect()
            && let Ok((_, Some(Reply::Welcome(_)))) = connect::greet(&stream, number, &hello, REPLY_TIMEOUT)
            && let Ok(request) = codec::encode(&Envelope::ControlRequest(ControlRequest::HandOver))
            && stream.write_all(&request).is_ok()
        {
            // Whatever it reports, its socket tells when it is gone.
            let _ = stream.set_recv_timeout(Some(REPLY_TIMEOUT)).and_then(|()| stream.read(&mut [0]));
            while Instant::now() < until && !matches!(connect(), Err(ConnectError::Nobody)) {
                sleep(EXIT_POLL_DELAY);
            }
        }
    }
}

/// A try to reach a daemon, in a thread of its own: starting one takes a while, and the host is heard meanwhile.
#[derive(Debug)]
pub(crate) struct Attempt {
    thread: JoinHandle<Result<Served, ConnectFailure>>,
    /// Hung up by the thread when it ends.
    finished: PipeReader,
}

impl Attempt {
    pub(crate) fn start(link: &Arc<Mutex<DaemonLink>>, resume: Option<Resume>, until: Instant) -> io::Result<Self> {
        let (finished, running) = io::pipe()?;
        let link = Arc::clone(link);
        let thread = std::thread::Builder::new().stack_size(ATTEMPT_STACK_BYTES).spawn(move || {
            let _running = running;
            link.lock().unwrap_or_else(PoisonError::into_inner).connect(resume, until)
        })?;
        Ok(Self { thread, finished })
    }

    /// Becomes readable when there is a result.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.finished.as_fd()
    }

    pub(crate) fn result(self) -> Result<Served, ConnectFailure> {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn permanent(reason: UnavailableReason) -> ConnectFailure {
    ConnectFailure { reason, is_permanent: true }
}

pub(crate) fn transient(message: String) -> ConnectFailure {
    let hint = "try again in a moment; if it stays so, run `trellisd status`";
    ConnectFailure { reason: UnavailableReason::new(message, hint), is_permanent: false }
}

fn unreachable_socket(error: &ConnectError) -> ConnectFailure {
    let (hint, is_permanent) = match error {
        ConnectError::PathTooLong(_) => ("set TRELLIS_SOCKET to a shorter path, for the daemon too", true),
        ConnectError::Foreign { .. } => ("set TRELLIS_SOCKET to a path in a directory of your own", true),
        ConnectError::System(_, error) => ("run `trellisd status`", error.kind() == io::ErrorKind::PermissionDenied),
        ConnectError::Nobody => ("run `trellisd status`", false),
    };
    ConnectFailure { reason: UnavailableReason::new(error.to_string(), hint), is_permanent }
}

fn different_versions(ours: u16, theirs: u16) -> UnavailableReason {
    let message = format!("this program speaks protocol {ours}, the running daemon protocol {theirs}");
    let hint = match theirs > ours {
        true => "update `trellis-mcp` to the daemon's version and restart this host",
        false => "run `trellisd stop`, update `trellisd`, and try again",
    };
    UnavailableReason::new(message, hint)
}

/// How long to wait before the next attempt.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Up to a quarter is added, another part in each process, so that many proxies do not come at once.
    pub(crate) fn next(&mut self, offline: bool) -> Duration {
        let step = self.step(offline);
        let part = (std::process::id() + self.failures).wrapping_mul(0x9e37_79b1) >> 24;
        step + step * part / 1024
    }

    /// 20 ms, doubled up to a second; up to five while requests are answered without a daemon anyway.
    fn step(&mut self, offline: bool) -> Duration {
        let cap = if offline { Duration::from_secs(5) } else { Duration::from_secs(1) };
        let step = Duration::from_millis(20) * (1 << self.failures.min(10));
        self.failures += 1;
        step.min(cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_their_cap() {
        let mut backoff = Backoff::default();
        let steps: Vec<u128> = (0..8).map(|_| backoff.step(false).as_millis()).collect();
        assert_eq!(steps, [20, 40, 80, 160, 320, 640, 1000, 1000]);
        assert_eq!((0..9).map(|_| backoff.step(true).as_millis()).last(), Some(5000));
        assert!(backoff.next(true) <= Duration::from_millis(6250));
    }

    #[test]
    fn the_older_side_is_told_to_update() {
        assert!(different_versions(1, 3).hint.contains("trellis-mcp"));
        assert!(different_versions(3, 1).hint.contains("trellisd"));
    }
}
