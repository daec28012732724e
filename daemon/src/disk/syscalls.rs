//! Every system call that changes a user's file, as a trait.
//!
//! [`OsSyscalls`] makes the real calls. An implementation of the tests fails or stops at the N-th call, so that a write
//! is interrupted at every point where a machine can be.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, XattrFlags};

/// A name in an open directory: a single component.
#[derive(Debug, Clone, Copy)]
pub struct NameIn<'a> {
    pub directory: BorrowedFd<'a>,
    pub name: &'a OsStr,
}

impl<'a> NameIn<'a> {
    pub fn new(directory: BorrowedFd<'a>, name: &'a OsStr) -> Self {
        Self { directory, name }
    }
}

/// What a write asks of the system. Names are single components, relative to an open directory.
pub trait WriteSyscalls: fmt::Debug + Send + Sync {
    /// Creates a file that must not exist.
    fn create(&self, directory: BorrowedFd<'_>, name: &OsStr, mode: u32) -> io::Result<File>;
    /// Writes all of it.
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()>;
    /// Writes at a place in a file of ours.
    fn write_at(&self, file: &File, bytes: &[u8], place: u64) -> io::Result<()>;
    /// Gives a new file the permissions it should have.
    fn set_mode(&self, file: BorrowedFd<'_>, mode: u32) -> io::Result<()>;
    /// Content and everything about it is on the disk when this returns.
    fn fsync(&self, file: &File) -> io::Result<()>;
    /// The content is on the disk when this returns.
    fn fdatasync(&self, file: &File) -> io::Result<()>;
    /// Names are on the disk when this returns.
    fn fsync_directory(&self, directory: BorrowedFd<'_>) -> io::Result<()>;
    /// Lets two names change places in one step.
    fn exchange(&self, one: NameIn<'_>, other: NameIn<'_>) -> io::Result<()>;
    /// Gives a file another name, which nobody may have yet.
    fn rename_noreplace(&self, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()>;
    /// Gives a file another name, whoever had it.
    fn rename(&self, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()>;
    /// Gives a file a second name.
    fn link(&self, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()>;
    /// Moves a file out of the tree to a place of ours, whatever was there.
    fn rename_out(&self, directory: BorrowedFd<'_>, from: &OsStr, to: &Path) -> io::Result<()>;
    /// Takes a name away.
    fn remove(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()>;
    /// Makes a directory, for us alone.
    fn make_directory(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()>;
    /// Takes an empty directory away.
    fn remove_directory(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()>;
}

/// Asks the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsSyscalls;

impl WriteSyscalls for OsSyscalls {
    fn create(&self, directory: BorrowedFd<'_>, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(mode))?.into())
    }

    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn write_at(&self, file: &File, bytes: &[u8], place: u64) -> io::Result<()> {
        file.write_all_at(bytes, place)
    }

    fn set_mode(&self, file: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(mode))?)
    }

    fn fsync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn fdatasync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn fsync_directory(&self, directory: BorrowedFd<'_>) -> io::Result<()> {
        Ok(rustix::fs::fsync(directory)?)
    }

    fn exchange(&self, one: NameIn<'_>, other: NameIn<'_>) -> io::Result<()> {
        Ok(rustix::fs::renameat_with(one.directory, one.name, other.directory, other.name, RenameFlags::EXCHANGE)?)
    }

    fn rename_noreplace(&self, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()> {
        Ok(rustix::fs::renameat_with(from.directory, from.name, to.directory, to.name, RenameFlags::NOREPLACE)?)
    }

    fn rename(&self, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()> {
        Ok(rustix::fs::renameat(from.directory, from.name, to.directory, to.name)?)
    }

    fn link(&self, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()> {
        Ok(rustix::fs::linkat(from.directory, from.name, to.directory, to.name, AtFlags::empty())?)
    }

    fn rename_out(&self, directory: BorrowedFd<'_>, from: &OsStr, to: &Path) -> io::Result<()> {
        Ok(rustix::fs::renameat(directory, from, rustix::fs::CWD, to)?)
    }

    fn remove(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(directory, name, AtFlags::empty())?)
    }

    fn make_directory(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(directory, name, Mode::RWXU)?)
    }

    fn remove_directory(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)?)
    }
}

/// The file system does not know this kind of rename.
pub fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(error), Some(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP))
}

/// Gives a file another name, which nobody may have yet, on any file system.
pub fn rename_noreplace_or_link(syscalls: &dyn WriteSyscalls, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()> {
    match syscalls.rename_noreplace(from, to) {
        // No such rename here: a second name, then the first one goes.
        Err(error) if is_unsupported(&error) => {
            syscalls.link(from, to)?;
            syscalls.remove(from.directory, from.name).inspect_err(|_| {
                let _ = syscalls.remove(to.directory, to.name);
            })
        }
        done => done,
    }
}

/// An extended attribute of a file or directory; none if it has none, or none so short as those that are asked for.
pub(super) fn extended_attribute(file: BorrowedFd<'_>, name: &str) -> Option<Vec<u8>> {
    let mut value = [0_u8; 1 << 10];
    rustix::fs::fgetxattr(file, name, &mut value[..]).ok().map(|size| value[..size].to_vec())
}

/// Group and extended attributes follow the content as far as the system lets them; none of it is
/// worth failing a write for.
pub fn copy_attributes(from: &File, to: &File) {
    if let Ok(stat) = rustix::fs::fstat(from)
        && rustix::fs::fstat(to).is_ok_and(|new| new.st_gid != stat.st_gid)
    {
        let _ = rustix::fs::fchown(to, None, Some(rustix::process::Gid::from_raw(stat.st_gid)));
    }
    let mut names = vec![0_u8; 4 << 10];
    let Ok(length) = rustix::fs::flistxattr(from, &mut names[..]) else { return };
    let mut value = vec![0_u8; 64 << 10];
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        if let Ok(size) = rustix::fs::fgetxattr(from, name, &mut value[..]) {
            let _ = rustix::fs::fsetxattr(to, name, &value[..size], XattrFlags::empty());
        }
    }
}
