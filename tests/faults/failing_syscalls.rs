//! An implementation of [`WriteSyscalls`] for tests: fails at the N-th call, or stops there as a crash does.
//!
//! After it has stopped no call has any effect, so that no cleanup can happen: what is on the disk then is what a
//! crash leaves.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use trellisd::disk::syscalls::{NameIn, OsSyscalls, WriteSyscalls};

/// What happens at the N-th call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InjectedFault {
    /// The system says no, once.
    Errno(i32),
    /// The machine stops: neither this call nor any later one has an effect.
    Stop,
    /// It stops before the first exchange, whatever its number is.
    StopAtExchange,
}

/// Counts calls; one of them goes wrong.
#[derive(Debug)]
pub(crate) struct FailingSyscalls {
    fault: InjectedFault,
    at: usize,
    seen: AtomicUsize,
    /// Every directory is on a device of its own, and so many renames were refused for that.
    crossings: Option<AtomicUsize>,
    has_stopped: AtomicBool,
}

impl FailingSyscalls {
    /// Goes wrong at this call, counted from 1.
    pub(crate) fn new(fault: InjectedFault, at: usize) -> Self {
        Self { fault, at, seen: AtomicUsize::new(0), crossings: None, has_stopped: AtomicBool::new(false) }
    }

    /// No rename leads from one directory to another, although both say that they are on the same device.
    pub(crate) fn with_two_devices(mut self) -> Self {
        self.crossings = Some(AtomicUsize::new(0));
        self
    }

    /// How many renames were refused because they would cross devices.
    pub(crate) fn crossings(&self) -> usize {
        self.crossings.as_ref().map_or(0, |crossings| crossings.load(Ordering::SeqCst))
    }

    fn next_between(&self, one: NameIn<'_>, other: NameIn<'_>) -> io::Result<()> {
        self.next()?;
        let Some(crossings) = &self.crossings else { return Ok(()) };
        let number = |directory| rustix::fs::fstat(directory).map(|stat| stat.st_ino);
        if number(one.directory)? == number(other.directory)? {
            return Ok(());
        }
        crossings.fetch_add(1, Ordering::SeqCst);
        Err(rustix::io::Errno::XDEV.into())
    }

    /// Whether the call that goes wrong was reached.
    pub(crate) fn was_reached(&self) -> bool {
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
            InjectedFault::Errno(errno) if now == self.at => Err(io::Error::from_raw_os_error(errno)),
            InjectedFault::StopAtExchange if self.has_stopped.load(Ordering::SeqCst) => {
                Err(io::Error::other("the machine has stopped"))
            }
            InjectedFault::Stop if now >= self.at => Err(io::Error::other("the machine has stopped")),
            _ => Ok(()),
        }
    }
}

impl WriteSyscalls for FailingSyscalls {
    fn create(&self, directory: BorrowedFd<'_>, name: &OsStr, mode: u32) -> io::Result<File> {
        self.next().and_then(|()| OsSyscalls.create(directory, name, mode))
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        let half = || drop(OsSyscalls.write(file, &bytes[..bytes.len() / 2]));
        self.next_with(half).and_then(|()| OsSyscalls.write(file, bytes))
    }

    fn write_at(&self, file: &File, bytes: &[u8], place: u64) -> io::Result<()> {
        let half = || drop(OsSyscalls.write_at(file, &bytes[..bytes.len() / 2], place));
        self.next_with(half).and_then(|()| OsSyscalls.write_at(file, bytes, place))
    }

    fn set_mode(&self, file: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
        self.next().and_then(|()| OsSyscalls.set_mode(file, mode))
    }

    fn fsync(&self, file: &File) -> io::Result<()> {
        self.next().and_then(|()| OsSyscalls.fsync(file))
    }

    fn fdatasync(&self, file: &File) -> io::Result<()> {
        self.next().and_then(|()| OsSyscalls.fdatasync(file))
    }

    fn fsync_directory(&self, directory: BorrowedFd<'_>) -> io::Result<()> {
        self.next().and_then(|()| OsSyscalls.fsync_directory(directory))
    }

    fn exchange(&self, one: NameIn<'_>, other: NameIn<'_>) -> io::Result<()> {
        self.has_stopped.fetch_or(self.fault == InjectedFault::StopAtExchange, Ordering::SeqCst);
        self.next_between(one, other).and_then(|()| OsSyscalls.exchange(one, other))
    }

    fn rename_noreplace(&self, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()> {
        self.next_between(from, to).and_then(|()| OsSyscalls.rename_noreplace(from, to))
    }

    fn rename(&self, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()> {
        self.next_between(from, to).and_then(|()| OsSyscalls.rename(from, to))
    }

    fn link(&self, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()> {
        self.next_between(from, to).and_then(|()| OsSyscalls.link(from, to))
    }

    fn rename_out(&self, directory: BorrowedFd<'_>, from: &OsStr, to: &Path) -> io::Result<()> {
        self.next().and_then(|()| OsSyscalls.rename_out(directory, from, to))
    }

    fn remove(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        self.next().and_then(|()| OsSyscalls.remove(directory, name))
    }

    fn make_directory(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        self.next().and_then(|()| OsSyscalls.make_directory(directory, name))
    }

    fn remove_directory(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        self.next().and_then(|()| OsSyscalls.remove_directory(directory, name))
    }
}
