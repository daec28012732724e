//! Opens what stands below a directory, and nothing else.
//!
//! A directory handle and a relative path come in, a handle of whatever is there goes out: file,
//! directory or special file. No link is ever followed and opening never waits, so a component that
//! is swapped at any moment leads nowhere, and a FIFO does not hold us up.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
#[cfg(target_os = "linux")]
use std::sync::OnceLock;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};
#[cfg(target_os = "linux")]
use rustix::fs::{ResolveFlags, openat2};
use rustix::io::Errno;

use super::RelativePath;
use crate::families::need::Unseen;

/// How often we try again while somebody keeps renaming on the way.
const ATTEMPTS: usize = 32;

/// The way in which the rule is kept; all ways give the same answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Confinement {
    /// The kernel resolves the whole path in one call.
    #[cfg(target_os = "linux")]
    Kernel,
    /// We go name by name, each relative to the handle before.
    Walk,
}

impl Confinement {
    /// The best way that this system has. Asked once: old kernels do not know the call, and some
    /// sandboxes forbid it.
    #[cfg(target_os = "linux")]
    pub(super) fn here(directory: BorrowedFd<'_>) -> Self {
        static KERNEL: OnceLock<bool> = OnceLock::new();
        let works = KERNEL.get_or_init(|| {
            let tried = openat2(directory, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::BENEATH);
            !matches!(tried, Err(Errno::NOSYS | Errno::PERM))
        });
        if *works { Self::Kernel } else { Self::Walk }
    }

    /// The best way that this system has.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn here(_: BorrowedFd<'_>) -> Self {
        Self::Walk
    }

    /// Opens for reading; a link is refused, whatever it leads to.
    pub(super) fn open(self, root: BorrowedFd<'_>, path: &RelativePath) -> Result<OwnedFd, Unseen> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Kernel => resolve(root, path),
            Self::Walk => walk(root, path),
        }
    }
}

fn reading() -> OFlags {
    OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY
}

#[cfg(target_os = "linux")]
fn resolve(root: BorrowedFd<'_>, path: &RelativePath) -> Result<OwnedFd, Unseen> {
    let confined = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    persist(|| openat2(root, path.as_path(), reading(), Mode::empty(), confined))
}

fn walk(root: BorrowedFd<'_>, path: &RelativePath) -> Result<OwnedFd, Unseen> {
    let (way, name) = path.way_and_name();
    let mut parent: Option<OwnedFd> = None;
    for directory in way {
        parent = Some(step(parent.as_ref().map_or(root, AsFd::as_fd), directory)?);
    }
    persist(|| openat(parent.as_ref().map_or(root, AsFd::as_fd), name, reading(), Mode::empty()))
}

/// Opens one directory on the way.
fn step(parent: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Unseen> {
    // Going through a directory takes less permission than reading it.
    #[cfg(target_os = "linux")]
    let access = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let access = OFlags::RDONLY;
    let flags = access | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    persist(|| told_apart(parent, name.as_ref(), openat(parent, name, flags, Mode::empty())))
}

/// The system says of a link, as of a file, only that it is no directory; so we look which of them it is.
fn told_apart(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    opened: rustix::io::Result<OwnedFd>,
) -> rustix::io::Result<OwnedFd> {
    let Err(Errno::NOTDIR) = opened else { return opened };
    let there = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Err(match FileType::from_raw_mode(there.st_mode) {
        FileType::Symlink => Errno::LOOP,
        // A directory now: it was swapped between the two calls.
        FileType::Directory => Errno::AGAIN,
        _ => Errno::NOTDIR,
    })
}

/// Opens one directory so that it can be listed and flushed; a link is refused.
pub(super) fn step_into(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Unseen> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    persist(|| told_apart(parent, name, openat(parent, name, flags, Mode::empty())))
}

/// Opens a file in an open directory for reading; a link is refused.
pub(super) fn open_here(directory: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Unseen> {
    persist(|| openat(directory, name, reading(), Mode::empty()))
}

fn persist(open: impl Fn() -> rustix::io::Result<OwnedFd>) -> Result<OwnedFd, Unseen> {
    for _ in 0..ATTEMPTS {
        match open() {
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return opened.map_err(unseen),
        }
    }
    Err(Unseen::Failed("it kept moving while it was opened".to_owned()))
}

/// What an error of the system means for something below a root.
pub(super) fn unseen(errno: Errno) -> Unseen {
    match errno {
        // Some systems say `MLINK` for a link that must not be followed.
        Errno::LOOP | Errno::MLINK => Unseen::Link,
        // Where a file stands in place of a directory, or a name is too long, nothing can be.
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Unseen::Missing,
        Errno::ACCESS | Errno::PERM => Unseen::Denied,
        Errno::XDEV => Unseen::Outside,
        // Sockets, and devices without a driver.
        Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => Unseen::Special,
        other => Unseen::Failed(words(&io::Error::from(other))),
    }
}

/// The same for an error that came through the standard library.
pub(super) fn unseen_io(error: &io::Error) -> Unseen {
    Errno::from_io_error(error).map_or_else(|| Unseen::Failed(words(error)), unseen)
}

/// The system's words without its number, lower case as all our messages.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
impl Confinement {
    /// Every way that this system has.
    pub(super) fn every() -> Vec<Self> {
        vec![
            #[cfg(target_os = "linux")]
            Self::Kernel,
            Self::Walk,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(errno: Errno, expected: Unseen) {
        assert_eq!(unseen(errno), expected);
        assert_eq!(unseen_io(&io::Error::from(errno)), expected);
    }

    #[test]
    fn errors_of_the_system_have_a_meaning() {
        check(Errno::LOOP, Unseen::Link);
        check(Errno::NOENT, Unseen::Missing);
        check(Errno::NOTDIR, Unseen::Missing);
        check(Errno::NAMETOOLONG, Unseen::Missing);
        check(Errno::ACCESS, Unseen::Denied);
        check(Errno::PERM, Unseen::Denied);
        check(Errno::XDEV, Unseen::Outside);
        check(Errno::NXIO, Unseen::Special);
        check(Errno::MFILE, Unseen::Failed("too many open files".to_owned()));
    }
}
