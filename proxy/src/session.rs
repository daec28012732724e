//! What the two threads share: the table of requests, where the session stands, and the way to wake each other. Every
//! change of state happens here, under one lock that is never held while a host or a daemon is waited for.

use std::io::{PipeReader, PipeWriter, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use interprocess::local_socket::Stream;
use trellis_protocol::Surface;
use trellis_protocol::endpoint::Places;
use trellis_protocol::envelope::{Frame, Part, Resume, SessionKey};
use trellis_protocol::message::{self, Peek};

use crate::outlet::Outlet;
use crate::pending::{Pending, Taken};
use crate::refuse::{self, Why};

/// Where the session stands.
#[derive(Debug)]
enum Phase {
    /// A daemon is looked for; requests wait.
    Away,
    /// A daemon has been greeted and not replied yet; only the opening may go to it.
    Hailed(Arc<Stream>),
    /// A daemon is there.
    Up(Arc<Stream>),
    /// The daemon was told to leave and nobody needs another before the host speaks again.
    Resting,
    /// None is to be had; requests are answered here.
    Refusing(Arc<Refusal>),
    /// The host has left; what happens to the connection now concerns nobody.
    Over,
}

/// What requests are answered with while there is no daemon.
#[derive(Debug)]
struct Refusal {
    why: Why,
    /// The last list of tools that a daemon gave to a session like this one.
    tools: Option<String>,
}

impl Refusal {
    fn answer(&self, peek: &Peek<'_>, sent: bool) -> Option<Vec<u8>> {
        refuse::answer(peek, &self.why, sent, self.tools.as_deref())
    }
}

/// Why a connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It broke.
    Broken,
    /// It broke before anything was answered: another one may fare no better.
    Fruitless,
    /// The daemon leaves on purpose.
    Draining,
}

#[derive(Debug)]
struct State {
    pending: Pending,
    phase: Phase,
    /// Under which name the daemons know the session.
    key: Option<SessionKey>,
    /// There is a byte in the pipe already.
    woken: bool,
    /// stdin has ended.
    closing: bool,
    /// The host has a list that we made up.
    misled: bool,
    /// The second thread has an answer in hand that is no longer pending and not yet written.
    writing: bool,
}

impl State {
    fn is_resting(&self) -> bool {
        matches!(self.phase, Phase::Resting | Phase::Over)
    }

    /// A request is answered here, not by a daemon.
    fn refused(&mut self, peek: &Peek<'_>, bytes: &[u8]) {
        let Peek::Request { method, .. } = peek else { return };
        if method == "initialize" {
            self.pending.opened(bytes.to_vec());
        }
        self.misled |= method == "initialize" || method == "tools/list";
    }
}

/// One host's session, from its first byte to its last.
#[derive(Debug)]
pub(crate) struct Session {
    /// The name in messages to people.
    pub(crate) program: &'static str,
    /// Where this user's Trellis is.
    pub(crate) places: Places,
    /// The way to the host.
    pub(crate) outlet: Outlet,
    surface_key: String,
    state: Mutex<State>,
    wanted: Condvar,
    wake: PipeWriter,
}

impl Session {
    /// The session and the end of the pipe that wakes the first thread.
    pub(crate) fn new(program: &'static str, surface: &Surface, places: Places) -> std::io::Result<(Self, PipeReader)> {
        let (reader, wake) = std::io::pipe()?;
        let state = State {
            pending: Pending::default(),
            phase: Phase::Away,
            key: None,
            woken: false,
            closing: false,
            misled: false,
            writing: false,
        };
        let session = Self {
            program,
            places,
            outlet: Outlet::default(),
            surface_key: surface.key(),
            state: Mutex::new(state),
            wanted: Condvar::new(),
            wake,
        };
        Ok((session, reader))
    }

    /// Takes a line of the host. Returns what to answer at once, if anything.
    pub(crate) fn take(&self, line: &[u8]) -> Option<Vec<u8>> {
        let peek = match message::peek(line) {
            Ok(peek) => peek,
            Err(fault) => return Some(fault.answer()),
        };
        let mut state = self.lock();
        if let Phase::Refusing(refusal) = &state.phase {
            let refusal = Arc::clone(refusal);
            state.refused(&peek, line);
            drop(state);
            return refusal.answer(&peek, false);
        }
        if matches!(state.phase, Phase::Resting) {
            state.phase = Phase::Away;
            self.wanted.notify_one();
        }
        let connected = matches!(state.phase, Phase::Up(_));
        match (state.pending.take(&peek, line, connected), peek) {
            (Taken::Busy, Peek::Request { id, .. }) => Some(refuse::busy(id)),
            _ => None,
        }
    }

    /// The next envelope for the daemon, and the way to it.
    pub(crate) fn next_to_send(&self) -> Option<(Arc<Stream>, Vec<u8>)> {
        let mut state = self.lock();
        let State { phase, pending, .. } = &mut *state;
        match phase {
            Phase::Up(stream) => Some((Arc::clone(stream), pending.next_to_send()?)),
            Phase::Hailed(stream) => Some((Arc::clone(stream), pending.opening_to_send()?)),
            Phase::Away | Phase::Resting | Phase::Refusing(_) | Phase::Over => None,
        }
    }

    /// The host has left. Returns the way to the daemon, if there is one, for a last word.
    pub(crate) fn leave(&self) -> Option<Arc<Stream>> {
        match std::mem::replace(&mut self.lock().phase, Phase::Over) {
            Phase::Up(stream) => Some(stream),
            _ => None,
        }
    }

    /// Writing failed: nothing more goes this way.
    pub(crate) fn broke(&self, stream: &Arc<Stream>) {
        let mut state = self.lock();
        if matches!(&state.phase, Phase::Up(known) | Phase::Hailed(known) if Arc::ptr_eq(known, stream)) {
            state.phase = Phase::Away;
        }
    }

    /// The first thread has seen the byte in the pipe.
    pub(crate) fn awake(&self) {
        self.lock().woken = false;
    }

    /// stdin has ended; true if answers are still due.
    pub(crate) fn close(&self) -> bool {
        let mut state = self.lock();
        state.closing = true;
        state.pending.is_due() || state.writing
    }

    /// Sleeps while nobody needs a daemon.
    pub(crate) fn wait_until_wanted(&self) {
        let state = self.lock();
        let resting = |state: &mut State| state.is_resting();
        drop(self.wanted.wait_while(state, resting).unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether nobody needs a daemon.
    pub(crate) fn is_resting(&self) -> bool {
        self.lock().is_resting()
    }

    /// What to tell the next daemon, and the number to hand to [`Self::connected`].
    pub(crate) fn resume(&self) -> (Option<Resume>, u32) {
        let state = self.lock();
        (state.pending.resume(state.key), state.pending.openings())
    }

    /// A daemon has been greeted. The host's opening may follow at once, so that nobody waits for the reply.
    pub(crate) fn hailed(&self, stream: &Arc<Stream>) {
        self.lock().phase = Phase::Hailed(Arc::clone(stream));
    }

    /// The greeting was not welcome: what followed it has been heard by nobody.
    pub(crate) fn unheard(&self) {
        let mut state = self.lock();
        state.pending.unheard();
        if matches!(state.phase, Phase::Hailed(_)) {
            state.phase = Phase::Away;
        }
    }

    /// A daemon has welcomed us. False when the greeting had become out of date meanwhile.
    pub(crate) fn connected(&self, stream: &Arc<Stream>, key: SessionKey, openings: u32) -> bool {
        let mut state = self.lock();
        if state.pending.openings() != openings {
            return false;
        }
        state.key = Some(key);
        state.phase = Phase::Up(Arc::clone(stream));
        let tell = std::mem::take(&mut state.misled) && state.pending.is_open();
        if state.closing || state.pending.has_sendable() {
            self.wake(&mut state);
        }
        drop(state);
        if tell {
            self.outlet.write(refuse::LIST_CHANGED);
        }
        true
    }

    /// Something whole came from the daemon: settles what it answers, and gives it to the host if that waits for it.
    pub(crate) fn arrived(&self, frame: &Frame) {
        let mut state = self.lock();
        let wanted = match frame.part {
            Part::Answer => state.pending.retire(frame.sequence, &frame.payload.0),
            Part::Aside => {
                state.pending.aside(frame.sequence, &frame.payload.0);
                true
            }
            Part::More => false,
        };
        if state.pending.has_sendable() {
            self.wake(&mut state);
        }
        self.write(state, wanted.then_some(&frame.payload.0).into_iter());
    }

    /// The connection is over.
    pub(crate) fn lost(&self, end: End) {
        let mut state = self.lock();
        let given_up = state.pending.lost();
        let rests = end == End::Draining && !state.pending.needs_daemon();
        if !matches!(state.phase, Phase::Over) {
            state.phase = if rests { Phase::Resting } else { Phase::Away };
        }
        let answers = given_up.iter().filter_map(|orphan| match message::peek(&orphan.bytes) {
            Ok(Peek::Request { id, .. }) => Some(refuse::outcome_unknown(id)),
            _ => None,
        });
        self.write(state, answers);
    }

    /// There is no daemon to be had: answers what waits, and from now on everything. False if that is known already.
    pub(crate) fn refuse(&self, why: Why) -> bool {
        let tools = std::fs::read_to_string(self.places.remembered_tools(&self.surface_key)).ok();
        let refusal = Arc::new(Refusal { why, tools });
        let mut state = self.lock();
        let first = !matches!(state.phase, Phase::Refusing(_));
        let orphans = state.pending.orphans();
        for orphan in &orphans {
            if let Ok(peek) = message::peek(&orphan.bytes) {
                state.refused(&peek, &orphan.bytes);
            }
        }
        state.phase = Phase::Refusing(Arc::clone(&refusal));
        let answers = orphans.iter().filter_map(|orphan| {
            let peek = message::peek(&orphan.bytes).ok()?;
            refusal.answer(&peek, orphan.sent)
        });
        self.write(state, answers);
        first
    }

    /// Gives messages to the host. The first thread does not leave before they are written, although nothing pending
    /// tells of them any more.
    fn write(&self, mut state: MutexGuard<'_, State>, messages: impl Iterator<Item = impl AsRef<[u8]>>) {
        state.writing = true;
        drop(state);
        for message in messages {
            self.outlet.write(message.as_ref());
        }
        let mut state = self.lock();
        state.writing = false;
        if state.closing {
            self.wake(&mut state);
        }
    }

    fn wake(&self, state: &mut State) {
        if !std::mem::replace(&mut state.woken, true) {
            // One byte always fits, since the first thread takes it out before it clears the mark.
            let _ = (&self.wake).write_all(&[1]);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
