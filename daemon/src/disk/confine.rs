//! Opens what stands below a directory, and nothing else.
//!
//! A directory handle and a relative path come in, a handle of whatever is there goes out: file,
//! directory or special file. No link is ever followed and opening never waits, so a component that
//! is swapped at any moment leads to no place outside, and a FIFO does not hold us up.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
#[cfg(target_os = "linux")]
use std::sync::OnceLock;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};
#[cfg(target_os = "linux")]
use rustix::fs::{ResolveFlags, openat2};
use rustix::io::Errno;

use super::{ReadError, RelativePath};

/// How often we try again while somebody keeps renaming what the path names.
const MAX_OPEN_RETRIES: usize = 32;

/// How opening without following links is enforced; all methods give the same answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Confinement {
    /// The kernel resolves the whole path in one call.
    #[cfg(target_os = "linux")]
    Kernel,
    /// We go name by name, each relative to the handle before.
    Walk,
}

impl Confinement {
    /// The best method that this system has. Tried once: old kernels do not know `openat2`, and some
    /// sandboxes forbid it.
    #[cfg(target_os = "linux")]
    pub(super) fn detect(directory: BorrowedFd<'_>) -> Self {
        static HAS_OPENAT2: OnceLock<bool> = OnceLock::new();
        let works = HAS_OPENAT2.get_or_init(|| {
            let tried = openat2(directory, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::BENEATH);
            !matches!(tried, Err(Errno::NOSYS | Errno::PERM))
        });
        if *works { Self::Kernel } else { Self::Walk }
    }

    /// The best method that this system has.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn detect(_: BorrowedFd<'_>) -> Self {
        Self::Walk
    }

    /// Opens for reading; a link is refused, whatever it leads to.
    pub(super) fn open(self, root: BorrowedFd<'_>, path: &RelativePath) -> Result<OwnedFd, ReadError> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Kernel => resolve(root, path),
            Self::Walk => walk(root, path),
        }
    }
}

fn read_flags() -> OFlags {
    OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY
}

#[cfg(target_os = "linux")]
fn resolve(root: BorrowedFd<'_>, path: &RelativePath) -> Result<OwnedFd, ReadError> {
    let confined = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    retry_open(|| openat2(root, path.as_path(), read_flags(), Mode::empty(), confined))
}

fn walk(root: BorrowedFd<'_>, path: &RelativePath) -> Result<OwnedFd, ReadError> {
    let (parents, name) = path.split_parent();
    let mut parent: Option<OwnedFd> = None;
    for directory in parents {
        parent = Some(open_intermediate(parent.as_ref().map_or(root, AsFd::as_fd), directory)?);
    }
    retry_open(|| openat(parent.as_ref().map_or(root, AsFd::as_fd), name, read_flags(), Mode::empty()))
}

/// Opens a directory that is only passed through.
fn open_intermediate(parent: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, ReadError> {
    // Going through a directory takes less permission than reading it.
    #[cfg(target_os = "linux")]
    let access = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let access = OFlags::RDONLY;
    let flags = access | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    retry_open(|| distinguish_symlink(parent, name.as_ref(), openat(parent, name, flags, Mode::empty())))
}

/// With `DIRECTORY` and `NOFOLLOW` the system says `NOTDIR` of a link as of a file; a stat tells them apart.
fn distinguish_symlink(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    opened: rustix::io::Result<OwnedFd>,
) -> rustix::io::Result<OwnedFd> {
    let Err(Errno::NOTDIR) = opened else { return opened };
    let metadata = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Err(match FileType::from_raw_mode(metadata.st_mode) {
        FileType::Symlink => Errno::LOOP,
        // A directory now: it was swapped between the two calls.
        FileType::Directory => Errno::AGAIN,
        _ => Errno::NOTDIR,
    })
}

/// Opens one directory so that it can be listed and flushed; a link is refused.
pub(super) fn open_subdirectory(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, ReadError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    retry_open(|| distinguish_symlink(parent, name, openat(parent, name, flags, Mode::empty())))
}

/// Opens whatever has this name in an open directory for reading; a link is refused.
pub(super) fn open_entry(directory: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, ReadError> {
    retry_open(|| openat(directory, name, read_flags(), Mode::empty()))
}

fn retry_open(open: impl Fn() -> rustix::io::Result<OwnedFd>) -> Result<OwnedFd, ReadError> {
    for _ in 0..MAX_OPEN_RETRIES {
        match open() {
            // `XDEV`: the kernel had found it below the root, and when it looked once more somebody had renamed it out of
            // there, as our own writer does with a file that it replaces. A link would have been `LOOP`.
            Err(Errno::AGAIN | Errno::INTR | Errno::XDEV) => {}
            opened => return opened.map_err(read_error),
        }
    }
    Err(ReadError::Io("the path kept changing while it was opened".to_owned()))
}

/// What an error of the system means for something below a root.
pub(super) fn read_error(errno: Errno) -> ReadError {
    match errno {
        // Some systems say `MLINK` for a link that must not be followed.
        Errno::LOOP | Errno::MLINK => ReadError::SymlinkRefused,
        // Where a file stands in place of a directory, or a name is too long, nothing can exist.
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => ReadError::Missing,
        Errno::ACCESS | Errno::PERM => ReadError::PermissionDenied,
        // Sockets, and devices without a driver.
        Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => ReadError::NotRegular,
        other => ReadError::Io(os_error_text(&io::Error::from(other))),
    }
}

/// `read_error` for an error that came through the standard library.
pub(super) fn read_error_from_io(error: &io::Error) -> ReadError {
    Errno::from_io_error(error).map_or_else(|| ReadError::Io(os_error_text(error)), read_error)
}

/// The system's words without its number, beginning in lower case like all our messages.
fn os_error_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
impl Confinement {
    /// Every method that this system has.
    pub(super) fn all() -> Vec<Self> {
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

    fn check(errno: Errno, expected: ReadError) {
        assert_eq!(read_error(errno), expected);
        assert_eq!(read_error_from_io(&io::Error::from(errno)), expected);
    }

    #[test]
    fn errors_of_the_system_have_a_meaning() {
        check(Errno::LOOP, ReadError::SymlinkRefused);
        check(Errno::NOENT, ReadError::Missing);
        check(Errno::NOTDIR, ReadError::Missing);
        check(Errno::NAMETOOLONG, ReadError::Missing);
        check(Errno::ACCESS, ReadError::PermissionDenied);
        check(Errno::PERM, ReadError::PermissionDenied);
        check(Errno::NXIO, ReadError::NotRegular);
        check(Errno::MFILE, ReadError::Io("too many open files".to_owned()));
    }

    /// The writer does so with every file that it replaces, if its temp files lie elsewhere.
    #[cfg(target_os = "linux")]
    #[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
    #[test]
    fn a_file_that_is_exchanged_for_one_outside_is_there_all_the_time() {
        use std::fs::{self, File};
        use std::sync::atomic::{AtomicBool, Ordering};
        use std::time::{Duration, Instant};

        use rustix::fs::{CWD, RenameFlags, renameat_with};

        let home = tempfile::TempDir::new().expect("a directory");
        let at = |name: &str| home.path().join(name);
        fs::create_dir(at("tree")).expect("a directory");
        let (inside, outside) = (at("tree/file.md"), at("other"));
        for path in [&inside, &outside] {
            fs::write(path, "").expect("a file");
        }
        let (root, path) = (File::open(at("tree")).expect("a root"), RelativePath::parse("file.md").expect("a path"));
        let over = AtomicBool::new(false);
        let refused = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    renameat_with(CWD, &inside, CWD, &outside, RenameFlags::EXCHANGE).expect("an exchange");
                }
            });
            let refused = Confinement::all().into_iter().find_map(|confinement| {
                let end = Instant::now() + Duration::from_millis(500);
                let opened = || (Instant::now() < end).then(|| confinement.open(root.as_fd(), &path));
                std::iter::from_fn(opened).find_map(Result::err).map(|read_error| (confinement, read_error))
            });
            over.store(true, Ordering::Relaxed);
            refused
        });
        assert_eq!(refused, None);
    }
}
