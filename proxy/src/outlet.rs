//! Messages → stdout, one at a time and whole. Both threads write here; nothing else does. A host that has closed its
//! side has left, and so do we.

use std::borrow::Cow;
use std::io::IoSlice;
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::stdout;

use crate::vigil::{Over, Vigil};

/// What a pipe that has any room takes without blocking.
const PIECE: usize = 4096;
/// How long the first thread waits before it looks again whether the other one has finished its message.
const TURN: Duration = Duration::from_millis(5);

/// The way to the host.
#[derive(Debug, Default)]
pub(crate) struct Outlet {
    turn: Mutex<()>,
}

impl Outlet {
    /// Writes one message, waiting for the host for as long as it takes.
    pub(crate) fn write(&self, message: &[u8]) {
        let line = one_line(message);
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut text, mut newline): (&[u8], &[u8]) = (&line, b"\n");
        while !newline.is_empty() {
            let count = match rustix::io::writev(stdout(), &[IoSlice::new(text), IoSlice::new(newline)]) {
                Ok(count) => count,
                Err(Errno::INTR) => 0,
                Err(Errno::AGAIN) => wait_for_room(),
                Err(_) => leave(),
            };
            let from_text = count.min(text.len());
            text = &text[from_text..];
            newline = &newline[count - from_text..];
        }
    }

    /// The same, but stops waiting when the host leaves.
    pub(crate) fn write_watched(&self, message: &[u8], vigil: &Vigil) -> Result<(), Over> {
        let mut line = one_line(message).into_owned();
        line.push(b'\n');
        let _turn = loop {
            match self.turn.try_lock() {
                Ok(turn) => break turn,
                Err(TryLockError::Poisoned(turn)) => break turn.into_inner(),
                Err(TryLockError::WouldBlock) => vigil.pause(TURN)?,
            }
        };
        let mut left = &line[..];
        while !left.is_empty() {
            vigil.writable(stdout())?;
            match rustix::io::write(stdout(), &left[..left.len().min(PIECE)]) {
                Ok(count) => left = &left[count..],
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => leave(),
            }
        }
        Ok(())
    }
}

/// A newline can stand only between the tokens of JSON, where a space means the same.
fn one_line(message: &[u8]) -> Cow<'_, [u8]> {
    if message.contains(&b'\n') {
        Cow::Owned(message.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect())
    } else {
        Cow::Borrowed(message)
    }
}

fn wait_for_room() -> usize {
    let stdout = stdout();
    // Whatever it finds, the next write will tell.
    let _ = poll(&mut [PollFd::from_borrowed_fd(stdout, PollFlags::OUT)], None);
    0
}

/// The host does not want to hear any more; that is how hosts end a server.
fn leave() -> ! {
    std::process::exit(0);
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
