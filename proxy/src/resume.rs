//! Keeps a daemon at the other end, for as long as the host lives: finds or starts one, greets it with what the
//! session had before, and does so again when it goes. The whole life of the second thread.

use std::ffi::OsString;
use std::io::{self, BufReader, Write};
use std::os::unix::ffi::OsStringExt as _;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use interprocess::local_socket::{Stream, prelude::*};
use trellis_protocol::codec;
use trellis_protocol::control::Order;
use trellis_protocol::endpoint::Surroundings;
use trellis_protocol::envelope::{Caller, Envelope, Hello, Reason, Refused, Reply, Welcome};
use trellis_protocol::version::{self, Meeting};

use crate::connect::{self, Answered, ConnectError};
use crate::launch::Launcher;
use crate::note;
use crate::pump::{self, Delivery, Opened};
use crate::refuse::Why;
use crate::session::{End, Session};

/// How long requests wait for a daemon before they are refused.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same while the host's first message waits behind it.
const FIRST_PATIENCE: Duration = Duration::from_secs(1);
/// The host had been answered no opening when the first greeting was made.
const FIRST_GREETING: u32 = 0;
/// A connection that lasted this long was a good one.
const GOOD: Duration = Duration::from_secs(1);
/// Between two looks whether a daemon that was asked to leave is gone.
const LEAVING: Duration = Duration::from_millis(20);

/// Why an attempt failed.
#[derive(Debug)]
struct Trouble {
    why: Why,
    /// Whether trying again at once is useless.
    lasting: bool,
}

/// What a daemon made of a greeting.
enum Greeted {
    /// The session is served.
    Welcome,
    /// It speaks only an older protocol.
    Older(u16),
    /// The greeting was out of date; greet again.
    Again,
}

/// The second thread's own state.
#[derive(Debug)]
pub(crate) struct Keeper {
    session: Arc<Session>,
    around: Surroundings,
    hello: Hello,
    launcher: Launcher,
    /// The words to greet in.
    number: u16,
    /// An older daemon has been asked to make room once; the next one is taken as it is.
    asked_to_leave: bool,
    /// The last notice that was passed on.
    notice: Option<String>,
}

impl Keeper {
    pub(crate) fn new(session: Arc<Session>, around: Surroundings, hello: Hello) -> Self {
        let number = version::CURRENT;
        let launcher = Launcher::for_work_in(Some(OsString::from_vec(hello.directory.clone()).into()));
        Self { session, around, hello, launcher, number, asked_to_leave: false, notice: None }
    }

    /// Greets a daemon that is there, without waiting for its reply.
    pub(crate) fn hail(&self, stream: Stream) -> Option<Arc<Stream>> {
        let stream = Arc::new(stream);
        connect::hail(&stream, self.number, &self.hello, FIRST_PATIENCE).ok()?;
        self.session.hailed(&stream);
        Some(stream)
    }

    /// Whether the daemon that was hailed serves the session, and soon.
    pub(crate) fn is_welcome(&mut self, stream: &Arc<Stream>) -> bool {
        let answered = connect::answered(stream, FIRST_PATIENCE);
        let welcome = matches!(self.greeted(stream, answered, FIRST_GREETING), Ok(Greeted::Welcome));
        if !welcome {
            self.session.unheard();
        }
        welcome
    }

    /// Serves the session, over one daemon after the other. Never returns.
    pub(crate) fn keep(mut self, opened: Opened) {
        let mut first = match opened {
            Opened::Welcome(stream, delivery) => Some((stream, delivery)),
            Opened::Hailed(stream) if self.is_welcome(&stream) => Some((stream, Delivery::default())),
            Opened::Hailed(_) | Opened::Not => None,
        };
        let mut backoff = Backoff::default();
        let mut since = Instant::now();
        let mut refusing = false;
        loop {
            let attempt = match first.take() {
                Some(first) => Ok(first),
                None => {
                    let until = if refusing { Instant::now() + PATIENCE } else { since + PATIENCE };
                    self.attempt(until).map(|stream| (stream, Delivery::default()))
                }
            };
            self.launcher.reap();
            match attempt {
                Ok((stream, delivery)) => {
                    if std::mem::take(&mut refusing) {
                        self.say("connected to the daemon");
                    }
                    let began = Instant::now();
                    let end = pump::to_host(&self.session, &stream, delivery);
                    self.ended(end);
                    since = Instant::now();
                    if began.elapsed() >= GOOD || end != End::Fruitless {
                        backoff = Backoff::default();
                    } else {
                        sleep(backoff.next(refusing));
                    }
                }
                Err(trouble) => {
                    if trouble.lasting || refusing || since.elapsed() >= PATIENCE {
                        let line = format!("{}; {}", trouble.why.message, trouble.why.hint);
                        if self.session.refuse(trouble.why) {
                            self.say(&line);
                        }
                        refusing = true;
                    }
                    sleep(backoff.next(refusing));
                }
            }
        }
    }

    /// A connection is over: settles what the session does next, and sleeps while that is nothing.
    fn ended(&mut self, end: End) {
        self.number = version::CURRENT;
        self.session.lost(end);
        if self.session.is_resting() {
            self.reap_soon();
            self.session.wait_until_wanted();
        } else if end != End::Draining {
            self.say("lost the daemon, connecting again");
        }
    }

    /// A daemon that was started here and leaves would stay in the process table until it is collected.
    fn reap_soon(&mut self) {
        let until = Instant::now() + PATIENCE;
        while self.launcher.has_children() && self.session.is_resting() && Instant::now() < until {
            sleep(LEAVING);
            self.launcher.reap();
        }
    }

    /// Finds or starts a daemon and greets it.
    fn attempt(&mut self, until: Instant) -> Result<Arc<Stream>, Trouble> {
        loop {
            let stream = match connect::reach(&self.session.places, self.around.uid) {
                Ok(stream) => stream,
                Err(ConnectError::Nobody) => {
                    self.launcher.start(&self.session.places, &self.around, until).map_err(lasting)?
                }
                Err(error) => return Err(unreachable_socket(&error)),
            };
            let stream = Arc::new(stream);
            match self.greet(&stream, until.saturating_duration_since(Instant::now()).max(FIRST_PATIENCE))? {
                Greeted::Welcome => return Ok(stream),
                Greeted::Older(number) => self.make_room(number, until)?,
                Greeted::Again => {}
            }
        }
    }

    fn greet(&mut self, stream: &Arc<Stream>, patience: Duration) -> Result<Greeted, Trouble> {
        let (resume, openings) = self.session.resume();
        self.hello.resume = resume;
        let answered = connect::greet(stream, self.number, &self.hello, patience);
        self.hello.resume = None;
        self.greeted(stream, answered, openings)
    }

    /// What became of a greeting that was made when so many openings had been answered.
    fn greeted(
        &mut self,
        stream: &Arc<Stream>,
        answered: io::Result<Answered>,
        openings: u32,
    ) -> Result<Greeted, Trouble> {
        let answered = answered.map_err(|error| passing(format!("the daemon does not answer: {error}")))?;
        match answered.reply {
            Some(Reply::Welcome(welcome)) => {
                let fresh = self.session.connected(stream, welcome.session, openings);
                self.pass_on(welcome);
                Ok(if fresh { Greeted::Welcome } else { Greeted::Again })
            }
            Some(Reply::Refused(Refused { reason: Reason::Version, .. })) | None => self.mismatch(answered.number),
            Some(Reply::Refused(refused)) => Err(Trouble {
                lasting: refused.reason == Reason::Surface,
                why: Why::new(refused.message, refused.hint),
            }),
        }
    }

    /// The daemon does not read our words, or we do not read its.
    fn mismatch(&mut self, theirs: u16) -> Result<Greeted, Trouble> {
        match version::meet(version::CURRENT, theirs) {
            Meeting::Talk(number) if theirs < self.number => Ok(Greeted::Older(number)),
            _ => Err(lasting(different_versions(version::CURRENT, theirs))),
        }
    }

    /// Asks an older daemon to leave, so that a newer one can follow. If it comes back, it is spoken to in its words.
    fn make_room(&mut self, number: u16, until: Instant) -> Result<(), Trouble> {
        if std::mem::replace(&mut self.asked_to_leave, true) {
            self.number = number;
            return Ok(());
        }
        self.say("the running daemon is older than this program, asking it to hand over");
        let hello = Hello { caller: Caller::CommandLine, ..self.hello.clone() };
        if let Ok(stream) = connect::reach(&self.session.places, self.around.uid)
            && let Ok(Answered { reply: Some(Reply::Welcome(_)), .. }) =
                connect::greet(&stream, number, &hello, FIRST_PATIENCE)
        {
            order_hand_over(&stream);
            while Instant::now() < until
                && !matches!(connect::reach(&self.session.places, self.around.uid), Err(ConnectError::Nobody))
            {
                sleep(LEAVING);
            }
        }
        Ok(())
    }

    fn pass_on(&mut self, welcome: Welcome) {
        if welcome.notice.is_some() && welcome.notice != self.notice {
            self.say(welcome.notice.as_deref().unwrap_or_default());
            self.notice = welcome.notice;
        }
    }

    fn say(&self, text: &str) {
        note(self.session.program, text);
    }
}

/// Whatever the daemon reports, its socket tells when it is gone.
fn order_hand_over(stream: &Stream) {
    let Ok(bytes) = codec::encode(&Envelope::Order(Order::HandOver)) else { return };
    let mut wire = stream;
    if wire.write_all(&bytes).is_ok() && stream.set_recv_timeout(Some(FIRST_PATIENCE)).is_ok() {
        let _ = pump::next(&mut BufReader::new(stream), Vec::new());
    }
}

fn lasting(why: Why) -> Trouble {
    Trouble { why, lasting: true }
}

fn passing(message: String) -> Trouble {
    Trouble { why: Why::new(message, "try again in a moment; if it stays so, run `trellisd status`"), lasting: false }
}

fn unreachable_socket(error: &ConnectError) -> Trouble {
    let hint = match error {
        ConnectError::PathTooLong(_) => "set TRELLIS_SOCKET to a shorter path, for the daemon too",
        ConnectError::Foreign { .. } => "set TRELLIS_SOCKET to a path in a directory of your own",
        ConnectError::Nobody | ConnectError::System(..) => "run `trellisd status`",
    };
    let is_lasting = match error {
        ConnectError::PathTooLong(_) | ConnectError::Foreign { .. } => true,
        ConnectError::System(_, error) => error.kind() == std::io::ErrorKind::PermissionDenied,
        ConnectError::Nobody => false,
    };
    Trouble { why: Why::new(error.to_string(), hint), lasting: is_lasting }
}

fn different_versions(ours: u16, theirs: u16) -> Why {
    let message = format!("this program speaks protocol {ours}, the running daemon protocol {theirs}");
    if theirs > ours {
        Why::new(message, "update `trellis-mcp` to the daemon's version and restart this host")
    } else {
        Why::new(message, "run `trellisd stop`, update `trellisd`, and try again")
    }
}

/// How long to wait before the next attempt.
#[derive(Debug, Default)]
struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Up to a quarter is added, another part in each process, so that many proxies do not come at once.
    fn next(&mut self, refusing: bool) -> Duration {
        let step = self.step(refusing);
        let part = (std::process::id() + self.failures).wrapping_mul(0x9e37_79b1) >> 24;
        step + step * part / 1024
    }

    /// 20 ms, doubled up to a second; up to five while requests are refused anyway.
    fn step(&mut self, refusing: bool) -> Duration {
        let cap = if refusing { Duration::from_secs(5) } else { Duration::from_secs(1) };
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
