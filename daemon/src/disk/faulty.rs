//! The twin of [`System`] for tests: fails at the N-th call, or stops there as a machine does.
//!
//! After it has stopped nothing works any more, so that no cleaning up can happen: what lies on the disk
//! then is what a crash leaves.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::calls::{Calls, System};

/// What happens at the N-th call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The system says no, once.
    Errno(i32),
    /// The machine stops: neither this call nor any later one has an effect.
    Stop,
}

/// Counts calls; one of them goes wrong.
#[derive(Debug)]
pub struct Faulty {
    fault: Fault,
    at: usize,
    seen: AtomicUsize,
}

impl Faulty {
    /// Goes wrong at this call, counted from 1.
    pub fn new(fault: Fault, at: usize) -> Self {
        Self { fault, at, seen: AtomicUsize::new(0) }
    }

    /// Whether the call that goes wrong was reached.
    pub fn was_reached(&self) -> bool {
        self.seen.load(Ordering::SeqCst) >= self.at
    }

    fn next(&self) -> io::Result<()> {
        self.next_with(|| ())
    }

    /// A call that goes wrong may have done a part of its work; after a stop none does anything.
    fn next_with(&self, part: impl FnOnce()) -> io::Result<()> {
        let now = self.seen.fetch_add(1, Ordering::SeqCst) + 1;
        if now == self.at {
            part();
        }
        match self.fault {
            Fault::Errno(errno) if now == self.at => Err(io::Error::from_raw_os_error(errno)),
            Fault::Stop if now >= self.at => Err(io::Error::other("the machine has stopped")),
            _ => Ok(()),
        }
    }
}

impl Calls for Faulty {
    fn create(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<File> {
        self.next().and_then(|()| System.create(directory, name))
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        let half = || drop(System.write(file, &bytes[..bytes.len() / 2]));
        self.next_with(half).and_then(|()| System.write(file, bytes))
    }

    fn write_at(&self, file: &File, bytes: &[u8], place: u64) -> io::Result<()> {
        let half = || drop(System.write_at(file, &bytes[..bytes.len() / 2], place));
        self.next_with(half).and_then(|()| System.write_at(file, bytes, place))
    }

    fn set_mode(&self, file: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
        self.next().and_then(|()| System.set_mode(file, mode))
    }

    fn flush(&self, file: &File) -> io::Result<()> {
        self.next().and_then(|()| System.flush(file))
    }

    fn flush_data(&self, file: &File) -> io::Result<()> {
        self.next().and_then(|()| System.flush_data(file))
    }

    fn flush_directory(&self, directory: BorrowedFd<'_>) -> io::Result<()> {
        self.next().and_then(|()| System.flush_directory(directory))
    }

    fn exchange(&self, directory: BorrowedFd<'_>, one: &OsStr, other: &OsStr) -> io::Result<()> {
        self.next().and_then(|()| System.exchange(directory, one, other))
    }

    fn place(&self, directory: BorrowedFd<'_>, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.next().and_then(|()| System.place(directory, from, to))
    }

    fn rename(&self, directory: BorrowedFd<'_>, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.next().and_then(|()| System.rename(directory, from, to))
    }

    fn link(&self, directory: BorrowedFd<'_>, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.next().and_then(|()| System.link(directory, from, to))
    }

    fn carry(&self, directory: BorrowedFd<'_>, from: &OsStr, to: &Path) -> io::Result<()> {
        self.next().and_then(|()| System.carry(directory, from, to))
    }

    fn remove(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        self.next().and_then(|()| System.remove(directory, name))
    }

    fn make_directory(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        self.next().and_then(|()| System.make_directory(directory, name))
    }

    fn remove_directory(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        self.next().and_then(|()| System.remove_directory(directory, name))
    }
}
