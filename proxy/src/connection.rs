//! A connection to a daemon that has welcomed the session: envelopes out, messages in, nothing blocks.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use interprocess::local_socket::Stream;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use trellis_protocol::codec;
use trellis_protocol::envelope::{CloseReason, Envelope};

use crate::connect;
use crate::receiver::FrameReceiver;

/// A connection that lasted this long was a good one.
const STABLE_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    since: Instant,
    pub(crate) receiver: FrameReceiver,
    pub(crate) has_answered: bool,
    /// An envelope that the socket has taken up to `sent`.
    unsent: Vec<u8>,
    sent: usize,
    /// Nothing more can be sent. What the daemon sent before is still read.
    is_broken: bool,
}

impl Connection {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            stream,
            since: Instant::now(),
            receiver: FrameReceiver::default(),
            has_answered: false,
            unsent: Vec::new(),
            sent: 0,
            is_broken: false,
        }
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        connect::descriptor(&self.stream)
    }

    /// What to wait for; nothing if neither something is to be sent nor anything may be received.
    pub(crate) fn interest(&self, may_receive: bool) -> PollFlags {
        let flag = |flag, is_wanted| if is_wanted { flag } else { PollFlags::empty() };
        flag(PollFlags::IN, may_receive) | flag(PollFlags::OUT, self.is_sending())
    }

    /// Receives what is there. False if the daemon has closed its side.
    pub(crate) fn receive(&mut self) -> bool {
        let socket = connect::descriptor(&self.stream);
        match rustix::net::recv(socket, self.receiver.room(), RecvFlags::DONTWAIT) {
            Ok((count, _)) => {
                self.receiver.add(count);
                count > 0
            }
            Err(error) => matches!(error, Errno::INTR | Errno::AGAIN),
        }
    }

    /// Whether the socket has not yet taken all of the last envelope.
    pub(crate) fn is_sending(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends the rest of the last envelope, as far as that is possible now. True if another one may follow.
    pub(crate) fn flush(&mut self) -> bool {
        while self.sent < self.unsent.len() {
            match rustix::net::send(self.descriptor(), &self.unsent[self.sent..], SendFlags::DONTWAIT) {
                Ok(count) => self.sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return false,
                Err(_) => {
                    self.is_broken = true;
                    // So that reading comes to an end, too.
                    let _ = rustix::net::shutdown(self.descriptor(), Shutdown::Both);
                    break;
                }
            }
        }
        (self.unsent, self.sent) = (Vec::new(), 0);
        !self.is_broken
    }

    /// Sends an envelope; the one before must have been sent.
    pub(crate) fn send(&mut self, envelope: Vec<u8>) {
        self.unsent = envelope;
        self.flush();
    }

    /// The daemon notices the end of a connection anyway, so nothing is waited for.
    pub(crate) fn say_goodbye(&mut self) {
        if let Ok(envelope) = codec::encode(&Envelope::Close(CloseReason::Done))
            && self.flush()
        {
            self.send(envelope);
        }
    }

    /// Whether another connection is likely to be of more use than this one was.
    pub(crate) fn was_useful(&self) -> bool {
        self.has_answered || self.since.elapsed() >= STABLE_AFTER
    }
}
