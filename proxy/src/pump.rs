//! Messages both ways, once a daemon is there. [`Host`] is the first thread: stdin lines → frames. [`to_host`] is what
//! the second one does while connected: frames → stdout lines. Bodies are never looked into.

use std::io::{self, PipeReader};
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::time::{Duration, Instant};

use interprocess::local_socket::Stream;
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown};
use rustix::stdio::stdin;
use trellis_protocol::codec::{self, LENGTH_BYTES, PART_LIMIT};
use trellis_protocol::envelope::{Bye, Envelope, Part};
use trellis_protocol::message::Fault;

use crate::connect;
use crate::lines::{Line, Lines};
use crate::parts::Parts;
use crate::process;
use crate::resume::Keeper;
use crate::session::{End, Session};
use crate::vigil::{Event, First, Over, Vigil};

/// How much is read from the socket at once. Longer messages are read past this buffer, straight to their place.
const READ: usize = 2 << 10;
/// A first answer that takes longer than this is left to the second thread.
const AT_ONCE: Duration = Duration::from_millis(20);
/// What a buffer beyond this took is given back when nothing comes for a while.
const LARGE: usize = 8 << 10;
const A_WHILE: Duration = Duration::from_millis(200);

/// The host's side: what it says, and whether it says anything more.
#[derive(Debug)]
pub(crate) struct Host<'a> {
    session: &'a Session,
    vigil: Vigil,
    lines: Lines,
    /// stdin has ended.
    ended: bool,
}

impl<'a> Host<'a> {
    pub(crate) fn new(session: &'a Session, wake: PipeReader) -> Self {
        Self { session, vigil: Vigil::new(wake), lines: Lines::new(), ended: false }
    }

    /// Takes what the host says and brings it its first answer, if that comes at once; else it is left to the second
    /// thread.
    pub(crate) fn open(&mut self, keeper: &mut Keeper, hailed: Option<Arc<Stream>>) -> Result<Opened, Over> {
        let Some(stream) = hailed else { return Ok(Opened::Not) };
        let until = Instant::now() + AT_ONCE;
        let mut welcome = false;
        while !self.ended {
            match self.vigil.first(connect::descriptor(&stream), until)? {
                First::Host => self.read()?,
                First::Daemon if welcome => {
                    let mut delivery = Delivery::default();
                    if delivery.next(self.session, &mut BufReader::with_capacity(0, &*stream)).is_err() {
                        // Whatever is wrong with it, the second thread finds it ended.
                        hang_up(&stream);
                    }
                    return Ok(Opened::Welcome(stream, delivery));
                }
                First::Daemon if keeper.is_welcome(&stream) => {
                    welcome = true;
                    send_what_waits(self.session, &self.vigil)?;
                }
                First::Daemon => return Ok(Opened::Not),
                First::Nobody => break,
            }
        }
        Ok(if welcome { Opened::Welcome(stream, Delivery::default()) } else { Opened::Hailed(stream) })
    }

    /// Serves the host until it leaves.
    pub(crate) fn serve(&mut self) -> Result<(), Over> {
        loop {
            send_what_waits(self.session, &self.vigil)?;
            if self.ended && !self.session.close() {
                break;
            }
            match self.vigil.next() {
                Event::Over if self.ended => break,
                Event::Over => return Err(Over),
                Event::Woken => self.session.awake(),
                Event::Input => self.read()?,
            }
        }
        say_goodbye(self.session);
        Ok(())
    }

    fn read(&mut self) -> Result<(), Over> {
        self.ended = !read_input(self.session, &self.vigil, &mut self.lines)?;
        Ok(())
    }
}

/// Reads once; false when stdin has ended.
fn read_input(session: &Session, vigil: &Vigil, lines: &mut Lines) -> Result<bool, Over> {
    let count = match rustix::io::read(stdin(), lines.room()) {
        Ok(count) => count,
        Err(Errno::INTR | Errno::AGAIN) => return Ok(true),
        Err(_) => 0,
    };
    lines.add(count);
    while let Some(line) = lines.next() {
        match line {
            Line::Whole(line) => take(session, vigil, line)?,
            Line::TooLong => session.outlet.write_watched(&Fault::TooLong.answer(), vigil)?,
        }
    }
    if count == 0 {
        vigil.input_ended();
        if let Some(line) = lines.rest() {
            take(session, vigil, line)?;
        }
    }
    Ok(count > 0)
}

fn take(session: &Session, vigil: &Vigil, line: &[u8]) -> Result<(), Over> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    match session.take(line) {
        Some(answer) => session.outlet.write_watched(&answer, vigil),
        None => send_what_waits(session, vigil),
    }
}

fn send_what_waits(session: &Session, vigil: &Vigil) -> Result<(), Over> {
    while let Some((stream, bytes)) = session.next_to_send() {
        if !send(&stream, &bytes, vigil)? {
            session.broke(&stream);
            hang_up(&stream);
        }
    }
    Ok(())
}

/// Sends all the bytes; false when the connection is over. Never blocks in a way that would miss the host's end.
fn send(stream: &Stream, mut bytes: &[u8], vigil: &Vigil) -> Result<bool, Over> {
    let socket = connect::descriptor(stream);
    while !bytes.is_empty() {
        match rustix::net::send(socket, bytes, SendFlags::DONTWAIT) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => vigil.writable(socket)?,
            Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

/// The daemon notices the end of the connection anyway, so this is not waited for.
fn say_goodbye(session: &Session) {
    if let (Some(stream), Ok(bytes)) = (session.leave(), codec::encode(&Envelope::Bye(Bye::Done))) {
        let _ = rustix::net::send(connect::descriptor(&stream), &bytes, SendFlags::DONTWAIT);
    }
}

/// How far the first connection has come when the second thread takes over.
#[derive(Debug)]
pub(crate) enum Opened {
    Not,
    /// Greeted, without a reply so far.
    Hailed(Arc<Stream>),
    Welcome(Arc<Stream>, Delivery),
}

/// Brings what the daemon sends to the host, until the connection is over.
pub(crate) fn to_host(session: &Session, stream: &Arc<Stream>, mut delivery: Delivery) -> End {
    let mut reader = BufReader::with_capacity(READ, &**stream);
    let end = loop {
        if delivery.is_swollen && reader.buffer().is_empty() && !connect::speaks_within(stream, A_WHILE) {
            delivery.shrink();
        }
        if let Err(end) = delivery.next(session, &mut reader) {
            break end;
        }
    };
    // The first thread may be waiting for room in this socket.
    hang_up(stream);
    end
}

/// What came of a connection so far.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    body: Vec<u8>,
    parts: Parts,
    answered: bool,
    /// Something large went through.
    is_swollen: bool,
}

impl Delivery {
    /// Brings the next frame to the host; an error when the connection is over.
    fn next(&mut self, session: &Session, reader: &mut impl BufRead) -> Result<(), End> {
        let end = if self.answered { End::Broken } else { End::Fruitless };
        let frame = match next(reader, std::mem::take(&mut self.body)) {
            Ok(Envelope::Frame(frame)) => frame,
            Ok(Envelope::Bye(Bye::Draining)) => return Err(End::Draining),
            Ok(Envelope::Bye(_) | Envelope::Order(_) | Envelope::Report(_)) | Err(_) => return Err(end),
        };
        self.answered |= frame.part == Part::Answer;
        match self.parts.join(frame) {
            Ok(Some(frame)) => {
                session.arrived(&frame);
                self.body = frame.payload.0;
                self.is_swollen |= self.body.capacity() > LARGE;
            }
            Ok(None) => {}
            Err(_) => return Err(end),
        }
        Ok(())
    }

    /// Gives back what large messages took.
    fn shrink(&mut self) {
        self.is_swollen = false;
        self.body = Vec::new();
        process::give_back();
    }
}

/// The next envelope, in memory that it may take.
pub(crate) fn next(reader: &mut impl BufRead, mut body: Vec<u8>) -> io::Result<Envelope> {
    let mut prefix = [0; LENGTH_BYTES];
    reader.read_exact(&mut prefix)?;
    let length = codec::envelope_length(prefix).map_err(io::Error::other)?;
    body.truncate(length);
    let mut read = 0;
    while read < length {
        // A part in one piece; beyond that it grows with what comes, not with what was announced.
        let end = length.min(read + PART_LIMIT);
        body.reserve_exact(end.saturating_sub(body.len()));
        body.resize(end, 0);
        reader.read_exact(&mut body[read..])?;
        read = end;
    }
    codec::decode(body).map_err(io::Error::other)
}

fn hang_up(stream: &Stream) {
    let _ = rustix::net::shutdown(connect::descriptor(stream), Shutdown::Both);
}
