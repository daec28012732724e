//! Messages both ways, once a daemon is there. [`Host`] is the first thread: stdin lines → frames. [`to_host`] is what
//! the second one does while connected: frames → stdout lines. Bodies are never looked into.

use std::io::{self, PipeReader};
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use interprocess::local_socket::Stream;
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown};
use rustix::stdio::stdin;
use trellis_protocol::codec::{self, LENGTH_BYTES};
use trellis_protocol::envelope::{Bye, Envelope, Part};
use trellis_protocol::message::Fault;

use crate::connect;
use crate::lines::{Line, Lines};
use crate::parts::Parts;
use crate::session::{End, Session};
use crate::vigil::{Event, Over, Vigil};

/// How much is read from the socket at once. Longer messages are read past this buffer, straight to their place.
const READ: usize = 2 << 10;
/// A buffer beyond this is given back after use.
const LARGE: usize = 64 << 10;

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

    /// Takes what the host has said already.
    pub(crate) fn hear(&mut self) -> Result<(), Over> {
        if self.vigil.has_input() { self.read() } else { Ok(()) }
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

/// Brings what the daemon sends to the host, until the connection is over.
pub(crate) fn to_host(session: &Session, stream: &Arc<Stream>) -> End {
    let end = deliver(session, stream);
    // The first thread may be waiting for room in this socket.
    hang_up(stream);
    end
}

fn deliver(session: &Session, stream: &Stream) -> End {
    let mut reader = BufReader::with_capacity(READ, stream);
    let mut body = Vec::new();
    let mut parts = Parts::default();
    let mut end = End::Fruitless;
    loop {
        let frame = match next(&mut reader, &mut body) {
            Ok(Envelope::Frame(frame)) => frame,
            Ok(Envelope::Bye(Bye::Draining)) => return End::Draining,
            Ok(Envelope::Bye(_) | Envelope::Order(_) | Envelope::Report(_)) | Err(_) => return end,
        };
        if frame.part == Part::Answer {
            end = End::Broken;
        }
        let whole = frame.part != Part::More;
        match parts.join(frame) {
            Ok(Some(frame)) => session.arrived(&frame),
            Ok(None) => {}
            Err(_) => return end,
        }
        if whole && body.capacity() > LARGE {
            body = Vec::new();
        }
    }
}

/// The next envelope. `body` is only lent, so that small messages need no memory of their own.
pub(crate) fn next(reader: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<Envelope> {
    let mut prefix = [0; LENGTH_BYTES];
    reader.read_exact(&mut prefix)?;
    let length = codec::envelope_length(prefix).map_err(io::Error::other)?;
    body.clear();
    // Grows with what comes, not with what was announced.
    if reader.take(length as u64).read_to_end(body)? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    codec::decode(body).map_err(io::Error::other)
}

fn hang_up(stream: &Stream) {
    let _ = rustix::net::shutdown(connect::descriptor(stream), Shutdown::Both);
}
