//! One host's session, from its first byte to its last: a loop that waits for stdin, stdout, the daemon's socket and
//! the host's own end, and blocks on none of them. Lines of the host become frames for the daemon, frames become
//! lines. While there is no daemon requests wait for one, and after a while they are answered here.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::{stdin, stdout};
use trellis_protocol::envelope::{CloseReason, FrameRole, SessionKey};
use trellis_protocol::message::{self, MalformedMessage, MessageHead};

use crate::connection::Connection;
use crate::daemon_link::{Attempt, Backoff, ConnectFailure, DaemonLink, Served, transient};
use crate::host_output::{HostGone, HostOutput};
use crate::lines::{Line, Lines};
use crate::note;
use crate::offline::{self, OfflineAnswers, UnavailableReason};
use crate::parent::Parent;
use crate::pending::{PendingRequests, QueueFull};
use crate::process;
use crate::receiver::Received;

/// How long requests wait for a daemon before they are answered without one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long answers are waited for after stdin has ended.
const STDIN_CLOSED_GRACE: Duration = Duration::from_secs(1);

/// Where the session stands with its daemon.
#[derive(Debug)]
enum Phase {
    /// One is looked for. The number is [`PendingRequests::initialize_count`] from when that began.
    Connecting(Attempt, u32),
    /// The next attempt begins then.
    Waiting(Instant),
    Connected(Connection),
    /// The daemon has left on purpose, and nobody needs another before the host speaks again.
    Idle,
}

#[derive(Debug)]
pub(crate) struct ProxySession {
    program: &'static str,
    tool_list_cache: PathBuf,
    parent: Parent,
    input: Lines,
    input_ended: bool,
    /// Set once the host has closed its side of stdin.
    exit_at: Option<Instant>,
    output: HostOutput,
    /// An answer of ours waits for the host to read; it is not heard before that.
    owes_own_answer: bool,
    requests: PendingRequests,
    /// The name that daemons know the session by.
    key: Option<SessionKey>,
    link: Arc<Mutex<DaemonLink>>,
    phase: Phase,
    /// Since when a daemon is wanted and none is there.
    searching_since: Instant,
    backoff: Backoff,
    /// Set while no daemon is to be had.
    offline: Option<OfflineAnswers>,
    /// The host has instructions or a list of tools that did not come from a daemon.
    sent_offline_list: bool,
}

impl ProxySession {
    /// A session that begins; `served` if a daemon is there already.
    pub(crate) fn new(
        program: &'static str,
        tool_list_cache: PathBuf,
        link: DaemonLink,
        served: Option<Served>,
    ) -> Self {
        let now = Instant::now();
        Self {
            program,
            tool_list_cache,
            parent: Parent::find(),
            input: Lines::default(),
            input_ended: false,
            exit_at: None,
            output: HostOutput::new(),
            owes_own_answer: false,
            requests: PendingRequests::default(),
            key: served.as_ref().map(|served| served.session),
            link: Arc::new(Mutex::new(link)),
            phase: served.map_or(Phase::Waiting(now), |served| Phase::Connected(Connection::new(served.stream))),
            searching_since: now,
            backoff: Backoff::default(),
            offline: None,
            sent_offline_list: false,
        }
    }

    /// Serves the host until it leaves.
    pub(crate) fn run(mut self) {
        // However the host leaves, it owes us nothing.
        let (Ok(()) | Err(HostGone)) = self.serve();
        if let Phase::Connected(connection) = &mut self.phase {
            connection.say_goodbye();
        }
    }

    fn serve(&mut self) -> Result<(), HostGone> {
        loop {
            self.accept_lines()?;
            self.deliver_messages()?;
            self.send_requests();
            if self.input_ended && !self.requests.is_due() && !self.output.has_backlog() {
                return Ok(());
            }
            if matches!(self.phase, Phase::Waiting(until) if until <= Instant::now()) {
                self.start_attempt()?;
            }
            self.wait()?;
        }
    }

    /// Waits until something can be done without blocking, and does it.
    fn wait(&mut self) -> Result<(), HostGone> {
        let is_paused = self.is_input_paused();
        // Without flags it is still reported when the host closes its side.
        let input = match (self.input_ended, is_paused) {
            (false, false) => Some(PollFlags::IN),
            (false, true) if self.exit_at.is_none() => Some(PollFlags::empty()),
            _ => None,
        };
        let has_backlog = self.output.has_backlog();
        let (daemon, attempt) = match &self.phase {
            Phase::Connected(connection) => (Some((connection.descriptor(), connection.interest(!has_backlog))), None),
            Phase::Connecting(attempt, _) => (None, Some((attempt.descriptor(), PollFlags::IN))),
            Phase::Waiting(_) | Phase::Idle => (None, None),
        };
        let wanted = [
            self.parent.descriptor().map(|parent| (parent, PollFlags::IN)),
            input.map(|flags| (stdin(), flags)),
            has_backlog.then(|| (stdout(), PollFlags::OUT)),
            daemon.filter(|(_, flags)| !flags.is_empty()),
            attempt,
        ];
        let polled = wanted.iter().flatten().map(|(descriptor, flags)| PollFd::from_borrowed_fd(*descriptor, *flags));
        let mut polled: Vec<PollFd<'_>> = polled.collect();
        let found = poll(&mut polled, self.timeout().as_ref());
        let mut results = polled.iter().map(|polled| !polled.revents().is_empty());
        let [parent, input, output, daemon, attempt] =
            wanted.map(|wanted| wanted.is_some() && results.next().unwrap_or_default());
        match found {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Err(HostGone),
        }
        if input && is_paused {
            self.host_left();
        }
        if parent || self.parent.is_gone() || self.exit_at.is_some_and(|at| at <= Instant::now()) {
            return Err(HostGone);
        }
        if output {
            self.output.flush()?;
            self.owes_own_answer &= self.output.has_backlog();
        }
        if input && !is_paused {
            self.read_input();
        }
        if daemon {
            self.receive()?;
        }
        if attempt {
            self.finish_attempt()?;
        }
        Ok(())
    }

    /// How long to wait at most.
    fn timeout(&self) -> Option<Timespec> {
        let retry_at = if let Phase::Waiting(until) = self.phase { Some(until) } else { None };
        let now = Instant::now();
        let times = [self.exit_at, retry_at].into_iter().flatten().map(|at| at.saturating_duration_since(now));
        Timespec::try_from(times.chain(self.parent.poll_interval()).min()?).ok()
    }

    /// The host must read, or the daemon must take, what is there before more is accepted.
    fn is_input_paused(&self) -> bool {
        self.owes_own_answer || matches!(&self.phase, Phase::Connected(connection) if connection.is_sending())
    }

    fn host_left(&mut self) {
        self.exit_at.get_or_insert_with(|| Instant::now() + STDIN_CLOSED_GRACE);
    }

    fn read_input(&mut self) {
        match rustix::io::read(stdin(), self.input.room()) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(0) | Err(_) => {
                self.input_ended = true;
                self.host_left();
            }
            Ok(count) => self.input.add(count),
        }
    }

    fn accept_lines(&mut self) -> Result<(), HostGone> {
        let mut input = std::mem::take(&mut self.input);
        while !self.is_input_paused() {
            match input.next() {
                Some(Line::Whole(line)) => self.accept(line)?,
                Some(Line::TooLong) => self.answer_here(&MalformedMessage::TooLong.answer())?,
                None if self.input_ended => match input.rest() {
                    Some(line) => self.accept(line)?,
                    None => break,
                },
                None => break,
            }
        }
        self.input = input;
        Ok(())
    }

    /// Takes a line of the host.
    fn accept(&mut self, line: &[u8]) -> Result<(), HostGone> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let head = match message::read_head(line) {
            Ok(head) => head,
            Err(malformed) => return self.answer_here(&malformed.answer()),
        };
        if self.offline.is_some() {
            return self.answer_offline(&head, line, false);
        }
        if matches!(self.phase, Phase::Idle) {
            self.searching_since = Instant::now();
            self.phase = Phase::Waiting(self.searching_since);
        }
        let is_connected = matches!(self.phase, Phase::Connected(_));
        match (self.requests.accept(&head, line, is_connected), head) {
            (Err(QueueFull), MessageHead::Request { id, .. }) => self.answer_here(&offline::busy(id)),
            _ => {
                self.send_requests();
                Ok(())
            }
        }
    }

    /// Answers the host without a daemon.
    fn answer_here(&mut self, answer: &[u8]) -> Result<(), HostGone> {
        self.output.write(answer)?;
        self.owes_own_answer = self.output.has_backlog();
        Ok(())
    }

    /// Answers a request because there is no daemon. `sent` tells that one had it before.
    fn answer_offline(&mut self, head: &MessageHead<'_>, bytes: &[u8], sent: bool) -> Result<(), HostGone> {
        if let MessageHead::Request { method, .. } = head {
            if method == "initialize" {
                self.requests.initialized(bytes.to_vec());
            }
            self.sent_offline_list |= method == "initialize" || method == "tools/list";
        }
        match self.offline.as_ref().and_then(|offline| offline.answer(head, sent)) {
            Some(answer) => self.answer_here(&answer),
            None => Ok(()),
        }
    }

    fn send_requests(&mut self) {
        let Phase::Connected(connection) = &mut self.phase else { return };
        while connection.flush()
            && let Some(envelope) = self.requests.next_to_send()
        {
            connection.send(envelope);
        }
    }

    fn receive(&mut self) -> Result<(), HostGone> {
        let Phase::Connected(connection) = &mut self.phase else { return Ok(()) };
        if self.output.has_backlog() || connection.receive() {
            return Ok(());
        }
        self.disconnected(CloseReason::Dropped)
    }

    /// Gives the host what has come from the daemon, as far as it reads.
    fn deliver_messages(&mut self) -> Result<(), HostGone> {
        while let Phase::Connected(connection) = &mut self.phase
            && !self.output.has_backlog()
        {
            match connection.receiver.next() {
                Ok(Received::Incomplete) => break,
                Ok(Received::Continued) => {}
                Ok(Received::Message { sequence, role: FrameRole::Answer, payload }) => {
                    if self.requests.complete(sequence, &payload) {
                        self.output.write(&payload)?;
                    }
                    if !std::mem::replace(&mut connection.has_answered, true) {
                        // What was needed to get here is not needed again.
                        process::trim_heap();
                    }
                }
                Ok(Received::Message { sequence, payload, .. }) => {
                    self.requests.acknowledge(sequence, &payload);
                    self.output.write(&payload)?;
                }
                Ok(Received::Closing(reason)) => self.disconnected(reason)?,
                Err(_) => self.disconnected(CloseReason::Dropped)?,
            }
        }
        Ok(())
    }

    fn disconnected(&mut self, reason: CloseReason) -> Result<(), HostGone> {
        self.searching_since = Instant::now();
        let phase = std::mem::replace(&mut self.phase, Phase::Waiting(self.searching_since));
        for request in self.requests.disconnected() {
            if let Ok(MessageHead::Request { id, .. }) = message::read_head(&request.bytes) {
                self.output.write(&offline::outcome_unknown(id))?;
            }
        }
        if reason == CloseReason::Draining {
            self.backoff = Backoff::default();
            if !self.requests.needs_daemon() {
                self.phase = Phase::Idle;
            }
            return Ok(());
        }
        note(self.program, "lost the daemon, connecting again");
        if matches!(phase, Phase::Connected(connection) if connection.was_useful()) {
            self.backoff = Backoff::default();
        } else {
            self.phase = Phase::Waiting(self.searching_since + self.backoff.next(self.offline.is_some()));
        }
        Ok(())
    }

    fn start_attempt(&mut self) -> Result<(), HostGone> {
        let since = if self.offline.is_some() { Instant::now() } else { self.searching_since };
        match Attempt::start(&self.link, self.requests.resume(self.key), since + CONNECT_TIMEOUT) {
            Ok(attempt) => self.phase = Phase::Connecting(attempt, self.requests.initialize_count),
            Err(error) => self.connect_failed(transient(format!("cannot start a thread: {error}")))?,
        }
        Ok(())
    }

    fn finish_attempt(&mut self) -> Result<(), HostGone> {
        let phase = std::mem::replace(&mut self.phase, Phase::Waiting(Instant::now()));
        let Phase::Connecting(attempt, initialize_count) = phase else { return Ok(()) };
        match attempt.result() {
            // The daemon does not know of an `initialize` that was answered here meanwhile: it is greeted again.
            Ok(_) if initialize_count != self.requests.initialize_count => Ok(()),
            Ok(served) => self.connected(served),
            Err(failure) => self.connect_failed(failure),
        }
    }

    fn connected(&mut self, served: Served) -> Result<(), HostGone> {
        self.key = Some(served.session);
        self.phase = Phase::Connected(Connection::new(served.stream));
        if self.offline.take().is_some() {
            note(self.program, "connected to the daemon");
        }
        if std::mem::take(&mut self.sent_offline_list) && self.requests.initialize_count > 0 {
            self.output.write(offline::LIST_CHANGED)?;
        }
        Ok(())
    }

    fn connect_failed(&mut self, failure: ConnectFailure) -> Result<(), HostGone> {
        let in_vain = self.offline.is_some() || self.searching_since.elapsed() >= CONNECT_TIMEOUT;
        if failure.is_permanent || in_vain {
            self.go_offline(failure.reason)?;
        }
        self.phase = Phase::Waiting(Instant::now() + self.backoff.next(self.offline.is_some()));
        Ok(())
    }

    /// Answers what waits, and from now on everything.
    fn go_offline(&mut self, reason: UnavailableReason) -> Result<(), HostGone> {
        if self.offline.is_none() {
            note(self.program, &format!("{}; {}", reason.message, reason.hint));
        }
        let tools = std::fs::read_to_string(&self.tool_list_cache).ok();
        self.offline = Some(OfflineAnswers { reason, tools });
        for request in self.requests.abandon_all() {
            if let Ok(head) = message::read_head(&request.bytes) {
                self.answer_offline(&head, &request.bytes, request.sent)?;
            }
        }
        Ok(())
    }
}
