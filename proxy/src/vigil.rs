//! Waiting without missing the host's end: for input, for a word of the other thread, or for room to write. The end
//! is the parent's death, which counts at once, or the end of stdin, after which a second is left for answers.

use std::cell::Cell;
use std::io::PipeReader;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::stdin;

use crate::parent::Parent;

/// How long answers are waited for after stdin has ended.
const GRACE: Duration = Duration::from_secs(1);

/// What the wait ended with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// There is something on stdin, perhaps its end.
    Input,
    /// The other thread has something to look at.
    Woken,
    /// Nobody is left to serve.
    Over,
}

/// Who spoke first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum First {
    Host,
    Daemon,
    Nobody,
}

/// Nobody is left to serve.
#[derive(Debug)]
pub(crate) struct Over;

/// Everything that the first thread waits for.
#[derive(Debug)]
pub(crate) struct Vigil {
    parent: Parent,
    wake: PipeReader,
    /// Set once the host has closed its side of stdin.
    deadline: Cell<Option<Instant>>,
    /// Nothing is left to read on stdin.
    exhausted: Cell<bool>,
}

impl Vigil {
    pub(crate) fn new(wake: PipeReader) -> Self {
        Self { parent: Parent::find(), wake, deadline: Cell::new(None), exhausted: Cell::new(false) }
    }

    /// Waits for the next thing to do.
    pub(crate) fn next(&self) -> Event {
        loop {
            let input = if self.exhausted.get() { None } else { Some(PollFlags::IN) };
            match self.wait(self.wake.as_fd(), PollFlags::IN, input, None) {
                Err(Over) => return Event::Over,
                Ok(seen) if seen.one => {
                    let _ = rustix::io::read(&self.wake, &mut [0; 16]);
                    return Event::Woken;
                }
                Ok(seen) if seen.input => return Event::Input,
                Ok(_) => {}
            }
        }
    }

    /// Waits for the host or for `daemon`, whoever speaks first, but no longer than until then; the host is heard
    /// first if both do.
    pub(crate) fn first(&self, daemon: BorrowedFd<'_>, until: Instant) -> Result<First, Over> {
        loop {
            let seen = self.wait(daemon, PollFlags::IN, Some(PollFlags::IN), Some(until))?;
            match () {
                () if seen.input => return Ok(First::Host),
                () if seen.one => return Ok(First::Daemon),
                () if Instant::now() >= until => return Ok(First::Nobody),
                () => {}
            }
        }
    }

    /// Waits until `descriptor` takes bytes.
    pub(crate) fn writable(&self, descriptor: BorrowedFd<'_>) -> Result<(), Over> {
        while !self.wait_aside(descriptor, PollFlags::OUT, None)? {}
        Ok(())
    }

    /// Waits a moment for something that no descriptor tells.
    pub(crate) fn pause(&self, moment: Duration) -> Result<(), Over> {
        let until = Instant::now() + moment;
        while Instant::now() < until {
            self.wait_aside(self.wake.as_fd(), PollFlags::empty(), Some(until))?;
        }
        Ok(())
    }

    /// stdin has been read to its end.
    pub(crate) fn input_ended(&self) {
        self.exhausted.set(true);
        self.host_left();
    }

    fn host_left(&self) {
        if self.deadline.get().is_none() {
            self.deadline.set(Some(Instant::now() + GRACE));
        }
    }

    /// Waits for something else than input, and still sees when stdin is closed: that is reported unasked.
    fn wait_aside(&self, one: BorrowedFd<'_>, wanted: PollFlags, until: Option<Instant>) -> Result<bool, Over> {
        let input = if self.deadline.get().is_none() { Some(PollFlags::empty()) } else { None };
        let seen = self.wait(one, wanted, input, until)?;
        if seen.input {
            self.host_left();
        }
        Ok(seen.one)
    }

    /// Sees nothing when the time is up.
    fn wait(
        &self,
        one: BorrowedFd<'_>,
        wanted: PollFlags,
        input: Option<PollFlags>,
        until: Option<Instant>,
    ) -> Result<Seen, Over> {
        let now = Instant::now();
        let ends = [self.deadline.get(), until].into_iter().flatten();
        let patience = ends.map(|end| end.saturating_duration_since(now)).chain(self.parent.patience()).min();
        let (parent, parent_flags) = match self.parent.descriptor() {
            Some(descriptor) => (descriptor, PollFlags::IN),
            None => (one, PollFlags::empty()),
        };
        let mut waited = [
            PollFd::from_borrowed_fd(one, wanted),
            PollFd::from_borrowed_fd(parent, parent_flags),
            PollFd::from_borrowed_fd(stdin(), input.unwrap_or(PollFlags::empty())),
        ];
        let count = if input.is_some() { 3 } else { 2 };
        let found = poll(&mut waited[..count], patience.map(timespec).as_ref());
        let happened = |place: usize| !waited[place].revents().is_empty();
        let orphaned = if parent_flags.is_empty() { self.parent.is_gone() } else { happened(1) };
        if orphaned || self.deadline.get().is_some_and(|deadline| deadline <= Instant::now()) {
            return Err(Over);
        }
        match found {
            Ok(_) => Ok(Seen { one: happened(0), input: happened(2) }),
            Err(rustix::io::Errno::INTR) => Ok(Seen { one: false, input: false }),
            Err(_) => Err(Over),
        }
    }
}

/// What a wait saw.
struct Seen {
    one: bool,
    input: bool,
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs().cast_signed(), tv_nsec: duration.subsec_nanos().into() }
}
