//! A guarded stream between a connection and the HTTP parser.
//!
//! Bytes pass both ways. On the way in they are followed, so that a head that takes too long or whose end is
//! ambiguous is noticed; on the way out a response that the parser makes by itself gets the body and the headers
//! that every response has, and a client that does not read is dropped.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::answer;
use super::serve::HttpCaller;
use crate::present::http::HttpError;

/// How long a head may take from its first byte to its last.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client may leave an answer unread.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct GuardedStream {
    stream: TcpStream,
    caller: Arc<HttpCaller>,
    head_time: Option<Pin<Box<Sleep>>>,
    unread_time: Option<Pin<Box<Sleep>>>,
    /// What is unwritten of an answer of ours that goes out in place of the parser's.
    instead: Option<Bytes>,
}

impl GuardedStream {
    /// Follows a connection; the caller's framing tells others what was seen.
    pub fn new(stream: TcpStream, caller: Arc<HttpCaller>) -> Self {
        Self { stream, caller, head_time: None, unread_time: None, instead: None }
    }

    fn follow(&mut self, bytes: &[u8]) {
        let mut framing = self.caller.framing.lock();
        framing.take(bytes);
        if !framing.is_in_head() {
            self.head_time = None;
        } else if self.head_time.is_none() {
            self.head_time = Some(Box::pin(sleep(HEAD_TIMEOUT)));
        }
    }

    fn poll_instead(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(instead) = &mut self.instead
            && !instead.is_empty()
        {
            match ready!(Pin::new(&mut self.stream).poll_write(context, instead))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => instead.advance(count),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Waiting for the client to read has an end.
    fn patient<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.unread_time = None;
            return written;
        }
        let clock = self.unread_time.get_or_insert_with(|| Box::pin(sleep(STALL_TIMEOUT)));
        clock.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// The status of an answer that the parser gives by itself: ours all have an id, and no text of ours has bare
/// line ends, so nothing else looks like it.
fn bare_status(bytes: &[u8]) -> Option<u16> {
    let head = bytes.strip_prefix(b"HTTP/1.1 4").filter(|_| bytes.ends_with(b"\r\n\r\n"))?;
    let text = std::str::from_utf8(head).ok()?.to_ascii_lowercase();
    let bare = text.contains("\r\ncontent-length: 0\r\n") && !text.contains("x-request-id");
    bare.then(|| text.get(..2)?.parse::<u16>().ok().map(|rest| 400 + rest)).flatten()
}

fn rewritten(status: u16) -> Vec<u8> {
    let message = match status {
        431 => "the header lines are too long or too many",
        414 => "the path is too long",
        _ => "this is not an HTTP request",
    };
    answer::raw_response(&HttpError::request(status, message))
}

impl AsyncRead for GuardedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if let Poll::Ready(Ok(())) = &read {
            self.follow(&buffer.filled()[before..]);
        }
        if let Some(clock) = &mut self.head_time
            && clock.as_mut().poll(context).is_ready()
        {
            // Nobody waits for this to arrive: a client that cannot send a head in time may not read either.
            let _ = self
                .stream
                .try_write(&answer::raw_response(&HttpError::request(408, "the header lines took too long")));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl AsyncWrite for GuardedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.instead.is_none()
            && let Some(status) = bare_status(bytes)
        {
            self.instead = Some(rewritten(status).into());
        }
        let written = if self.instead.is_some() {
            // The parser's last words were taken; nothing follows them.
            self.poll_instead(context).map_ok(|()| bytes.len())
        } else {
            Pin::new(&mut self.stream).poll_write(context, bytes)
        };
        self.patient(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.patient(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_parser_s_own_answers_are_rewritten() {
        let bare = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\ndate: x\r\n\r\n";
        assert_eq!(bare_status(bare.as_bytes()), Some(400));
        assert_eq!(bare_status(bare.replace("400", "431").as_bytes()), Some(431));
        assert_eq!(bare_status(bare.replace("400", "200").as_bytes()), None);
        assert_eq!(bare_status(bare.replace("date", "X-Request-ID").as_bytes()), None);
        assert_eq!(bare_status(format!("{bare}more").as_bytes()), None);
        assert_eq!(bare_status(b"HTTP/1.1 400 in a text"), None);
        let text = String::from_utf8(rewritten(431)).expect("text");
        assert!(text.starts_with("HTTP/1.1 431 ") && text.contains("x-request-id: ") && text.ends_with("}}"), "{text}");
    }
}
