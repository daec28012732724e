//! Messages → stdout, one line each. Nothing here blocks: what a slow host does not take is kept, and the caller
//! stops reading from whoever would add to it.

use std::borrow::Cow;
use std::io::IoSlice;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags};
use rustix::stdio::stdout;

/// What a pipe that has any room takes without blocking.
const PIPE_WRITE_BYTES: usize = 4096;

/// Nobody is left to serve: that is how hosts end a server.
#[derive(Debug)]
pub(crate) struct HostGone;

#[derive(Debug)]
pub(crate) struct HostOutput {
    /// Lines that stdout had no room for, from `written` on.
    backlog: Vec<u8>,
    written: usize,
    is_socket: bool,
}

impl HostOutput {
    pub(crate) fn new() -> Self {
        let is_socket = rustix::net::sockopt::socket_type(stdout()).is_ok();
        Self { backlog: Vec::new(), written: 0, is_socket }
    }

    pub(crate) fn has_backlog(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// Writes one message, or keeps what does not fit.
    pub(crate) fn write(&mut self, message: &[u8]) -> Result<(), HostGone> {
        let line = one_line(message);
        let written = if self.has_backlog() { 0 } else { self.write_some(&line, b"\n")? };
        if written <= line.len() {
            self.backlog.extend_from_slice(&line[written..]);
            self.backlog.push(b'\n');
        }
        Ok(())
    }

    /// Writes more of what was kept.
    pub(crate) fn flush(&mut self) -> Result<(), HostGone> {
        self.written += self.write_some(&self.backlog[self.written..], b"")?;
        if self.written == self.backlog.len() {
            (self.backlog, self.written) = (Vec::new(), 0);
        }
        Ok(())
    }

    /// Writes as much as stdout takes without blocking, and returns how much that was.
    fn write_some(&self, text: &[u8], newline: &[u8]) -> Result<usize, HostGone> {
        let mut written = 0;
        while written < text.len() + newline.len() {
            let text = text.get(written..).unwrap_or_default();
            match self.write_once(text, newline) {
                Err(Errno::AGAIN) => break,
                Ok(count) => written += count,
                Err(Errno::INTR) => {}
                Err(_) => return Err(HostGone),
            }
        }
        Ok(written)
    }

    /// stdout may be shared with other processes, so it is not switched to non-blocking: a socket is told with each
    /// call, and of a pipe is known what it takes.
    fn write_once(&self, text: &[u8], newline: &[u8]) -> Result<usize, Errno> {
        let both = [IoSlice::new(text), IoSlice::new(newline)];
        if self.is_socket {
            return rustix::net::sendmsg(stdout(), &both, &mut SendAncillaryBuffer::default(), SendFlags::DONTWAIT);
        }
        let room = pipe_room()?;
        if text.len() < room { rustix::io::writev(stdout(), &both) } else { rustix::io::write(stdout(), &text[..room]) }
    }
}

/// How many bytes stdout takes without blocking if it is no socket; an error if none.
fn pipe_room() -> Result<usize, Errno> {
    #[cfg(target_os = "linux")]
    if rustix::io::ioctl_fionread(stdout()) == Ok(0)
        && let Ok(capacity) = rustix::pipe::fcntl_getpipe_size(stdout())
    {
        return Ok(capacity);
    }
    let mut waited = [PollFd::from_borrowed_fd(stdout(), PollFlags::OUT)];
    if poll(&mut waited, Some(&Timespec::default()))? == 0 { Err(Errno::AGAIN) } else { Ok(PIPE_WRITE_BYTES) }
}

/// A newline can stand only between the tokens of JSON, where a space means the same.
fn one_line(message: &[u8]) -> Cow<'_, [u8]> {
    if message.contains(&b'\n') {
        Cow::Owned(message.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect())
    } else {
        Cow::Borrowed(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(one_line(b"{\"a\":\n1}"), &b"{\"a\": 1}"[..]);
        assert!(matches!(one_line(b"{}"), Cow::Borrowed(_)));
    }
}
