//! The directory of a file to be written: opened without links, and made for a new file where it is missing.
//!
//! What was made is remembered, so that a write that does not happen leaves no directory behind.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use parking_lot::Mutex;

use super::staged_file::{WriteError, WriteTarget};
use super::syscalls::WriteSyscalls;
use super::{Expected, ReadError, RootDir};

/// Directories that were made, each with the one in which it is; outermost first.
pub(super) type CreatedDirectories = Vec<(Arc<OwnedFd>, OsString)>;

/// Directories that some write of ours is making or has made, and whose names may not be on the disk yet: device and
/// inode of the one above, and the name. Whoever writes below one in the meantime flushes its name, too: its maker may
/// be later, or never come to it.
static UNSYNCED: Mutex<BTreeSet<(u64, u64, OsString)>> = Mutex::new(BTreeSet::new());

/// The directory of a target, and those that had to be created on the way to it.
#[derive(Debug)]
pub(super) struct TargetDirectory {
    pub(super) parent: Arc<OwnedFd>,
    /// After a crash nobody knows which were created: then it is the whole way.
    pub(super) created: CreatedDirectories,
    /// Directories on the way that others have made just now.
    made_by_others: CreatedDirectories,
}

impl TargetDirectory {
    fn at(root: &RootDir) -> Result<Self, ReadError> {
        Ok(Self { parent: Arc::new(root.handle()?), created: Vec::new(), made_by_others: Vec::new() })
    }

    /// Opens the directory of a target; for a new file, missing directories are made.
    pub(super) fn open_or_create<'a>(
        syscalls: &dyn WriteSyscalls,
        root: &RootDir,
        names: impl Iterator<Item = &'a str>,
        old: Expected,
        umask: u32,
    ) -> Result<Self, WriteError> {
        let mut target_directory = Self::at(root)?;
        for name in names {
            match target_directory.step(syscalls, OsStr::new(name), old, umask) {
                Ok(()) => {}
                Err(error) => {
                    remove_created(&target_directory.created, syscalls);
                    return Err(error);
                }
            }
        }
        Ok(target_directory)
    }

    /// Opens the directory of a target whose write was begun by an earlier daemon. [`ReadError::Missing`]: there is
    /// none any more.
    pub(super) fn reopen<'a>(root: &RootDir, names: impl Iterator<Item = &'a str>) -> Result<Self, ReadError> {
        let mut reopened = Self::at(root)?;
        for name in names {
            let next = super::confine::open_subdirectory(reopened.parent.as_fd(), OsStr::new(name))?;
            let above = std::mem::replace(&mut reopened.parent, Arc::new(next));
            reopened.created.push((above, name.into()));
        }
        Ok(reopened)
    }

    /// The names in it, and those of the directories that were created, are on the disk when this returns.
    pub(super) fn sync(&self, syscalls: &dyn WriteSyscalls) -> io::Result<()> {
        syscalls.fsync_directory(self.parent.as_fd())?;
        self.sync_made(syscalls)
    }

    fn sync_made(&self, syscalls: &dyn WriteSyscalls) -> io::Result<()> {
        for (parent, name) in self.created.iter().chain(&self.made_by_others) {
            syscalls.fsync_directory(parent.as_fd())?;
            forget_unsynced(parent, name);
        }
        Ok(())
    }

    fn step(
        &mut self,
        syscalls: &dyn WriteSyscalls,
        name: &OsStr,
        old: Expected,
        umask: u32,
    ) -> Result<(), WriteError> {
        let next = match super::confine::open_subdirectory(self.parent.as_fd(), name) {
            Err(ReadError::Missing) if old == Expected::Absent => self.make(syscalls, name, umask)?,
            // It was there when the file was seen.
            Err(ReadError::Missing) => return Err(WriteError::Changed),
            opened => {
                let opened = opened?;
                if unsynced_name(&self.parent, name).is_some_and(|unsynced| UNSYNCED.lock().contains(&unsynced)) {
                    self.made_by_others.push((Arc::clone(&self.parent), name.to_owned()));
                }
                opened
            }
        };
        self.parent = Arc::new(next);
        Ok(())
    }

    fn make(&mut self, syscalls: &dyn WriteSyscalls, name: &OsStr, umask: u32) -> Result<OwnedFd, WriteError> {
        // Before it is there: whoever finds it must know.
        let stat = rustix::fs::fstat(&self.parent).map_err(io::Error::from)?;
        UNSYNCED.lock().insert((stat.st_dev, stat.st_ino, name.to_owned()));
        let is_ours = match syscalls.make_directory(self.parent.as_fd(), name) {
            Ok(()) => true,
            // Somebody else made it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => {
                forget_unsynced(&self.parent, name);
                return Err(match error.kind() {
                    // Somebody took away the one above it.
                    io::ErrorKind::NotFound => WriteError::Changed,
                    _ => error.into(),
                });
            }
        };
        let made = if is_ours { &mut self.created } else { &mut self.made_by_others };
        made.push((Arc::clone(&self.parent), name.to_owned()));
        let created = super::confine::open_subdirectory(self.parent.as_fd(), name)?;
        if is_ours {
            // A directory in one that hands its group down hands it down, too.
            let group = rustix::fs::fstat(&created).map_or(0, |stat| stat.st_mode & 0o2000);
            syscalls.set_mode(created.as_fd(), (0o777 & !umask) | group)?;
        }
        Ok(created)
    }
}

/// Removes directories that were created on the way, innermost first; one that somebody has used meanwhile stays.
pub(super) fn remove_created(created: &CreatedDirectories, syscalls: &dyn WriteSyscalls) {
    for (parent, name) in created.iter().rev() {
        if syscalls.remove_directory(parent.as_fd(), name).is_ok() {
            forget_unsynced(parent, name);
        }
    }
}

/// How a directory stands in [`UNSYNCED`]; none if nothing does.
fn unsynced_name(parent: &OwnedFd, name: &OsStr) -> Option<(u64, u64, OsString)> {
    if UNSYNCED.lock().is_empty() {
        return None;
    }
    let stat = rustix::fs::fstat(parent).ok()?;
    Some((stat.st_dev, stat.st_ino, name.to_owned()))
}

fn forget_unsynced(parent: &OwnedFd, name: &OsStr) {
    if let Some(unsynced) = unsynced_name(parent, name) {
        UNSYNCED.lock().remove(&unsynced);
    }
}

/// Makes a directory and those above it; which of them were not there.
pub(super) fn make_directories(
    syscalls: &dyn WriteSyscalls,
    target: &WriteTarget,
    umask: u32,
) -> Result<CreatedDirectories, WriteError> {
    let target_directory =
        TargetDirectory::open_or_create(syscalls, &target.root, target.path.parts(), Expected::Absent, umask)?;
    if let Err(error) = target_directory.sync_made(syscalls) {
        remove_created(&target_directory.created, syscalls);
        return Err(error.into());
    }
    Ok(target_directory.created)
}
