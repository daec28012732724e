//! Wakes the thread that watches: it waits for the system's events and for requests at once.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// The end that wakes.
#[derive(Debug)]
pub struct Bell(UnixStream);

/// The end that is woken.
#[derive(Debug)]
pub struct Ear(UnixStream);

/// Both ends.
pub fn bell() -> io::Result<(Bell, Ear)> {
    let (bell, ear) = UnixStream::pair()?;
    bell.set_nonblocking(true)?;
    ear.set_nonblocking(true)?;
    Ok((Bell(bell), Ear(ear)))
}

impl Bell {
    /// Another one that wakes the same.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Wakes. One that rings already need not ring louder.
    pub fn ring(&self) {
        let _ = (&self.0).write(&[1]);
    }
}

impl Ear {
    /// Everything that rang up to now has been heard.
    pub fn hear(&mut self) {
        let mut rung = [0; 64];
        while self.0.read(&mut rung).is_ok_and(|rung| rung > 0) {}
    }
}

impl AsFd for Ear {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
