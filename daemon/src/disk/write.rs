//! Write beside, flush, exchange, flush: a file holds its whole old or its whole new bytes, always.
//!
//! [`Prepared`] is a new text that is safe on the disk beside its target; [`Prepared::apply`] puts it in
//! place and looks at what it displaced. Between the two the journal is flushed. A failed write or
//! flush is final for its temp file: it is removed and reported, never tried again.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use super::calls::{Calls, copy_attributes};
use super::temp::TempName;
use super::{Digest, RelativePath, Root};
use crate::families::edit::Old;
use crate::families::need::{Links, Unseen};

/// Why a file could not be written. Its old bytes are untouched.
#[derive(Debug)]
pub enum Unwritten {
    /// It does not hold what was seen: look again.
    Moved,
    /// The way to it cannot be gone.
    Unseen(Unseen),
    /// The system says no.
    Failed(io::Error),
}

impl From<Unseen> for Unwritten {
    fn from(unseen: Unseen) -> Self {
        Self::Unseen(unseen)
    }
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Where a file is to be written.
#[derive(Debug, Clone)]
pub struct Target {
    /// The tree.
    pub root: Arc<Root>,
    /// The file in it.
    pub path: RelativePath,
    /// What may stand on the way.
    pub links: Links,
}

/// A new text, safe on the disk beside its target. Dropped before it is applied, it leaves nothing behind.
#[derive(Debug)]
pub struct Prepared {
    calls: Arc<dyn Calls>,
    way: Way,
    name: OsString,
    temp: TempName,
    old: Old,
    applied: bool,
}

/// The directory of a target, and those that had to be made on the way to it.
#[derive(Debug)]
struct Way {
    parent: Arc<OwnedFd>,
    made: Vec<(Arc<OwnedFd>, OsString)>,
}

/// What stood in the target's place before, now under a temp name.
#[derive(Debug)]
pub struct Displaced {
    /// Where it lies.
    pub parent: Arc<OwnedFd>,
    /// Under which name.
    pub temp: TempName,
    /// Whose place was taken.
    pub name: OsString,
    /// What it held when it was displaced.
    pub digest: Digest,
}

impl Prepared {
    /// Writes a text beside its target and flushes it.
    pub fn new(
        calls: &Arc<dyn Calls>,
        target: &Target,
        old: Old,
        new: &[u8],
        temp: TempName,
        umask: u32,
    ) -> Result<Self, Unwritten> {
        let (_, name) = target.path.way_and_name();
        let way = Way::to(calls.as_ref(), target, old, umask)?;
        let prepared = Self { calls: Arc::clone(calls), way, name: name.into(), temp, old, applied: false };
        prepared.fill(new, umask)?;
        Ok(prepared)
    }

    /// The name of the temp file.
    pub fn temp(&self) -> &TempName {
        &self.temp
    }

    fn fill(&self, new: &[u8], umask: u32) -> Result<(), Unwritten> {
        let file = self.calls.create(self.way.parent.as_fd(), self.temp.as_os_str())?;
        self.calls.write(&file, new)?;
        match self.old {
            Old::Absent => self.calls.set_mode(file.as_fd(), 0o666 & !umask)?,
            Old::Content(_) => {
                let current = open(&self.way.parent, &self.name)?.ok_or(Unwritten::Moved)?;
                self.calls.set_mode(file.as_fd(), current.metadata()?.permissions().mode() & 0o7777)?;
                copy_attributes(&current, &file);
            }
        }
        Ok(self.calls.flush(&file)?)
    }

    /// Whether the target still holds what was seen. Asked last, right before it is replaced.
    pub fn is_expected(&self) -> Result<bool, Unwritten> {
        let there = digest_of(&self.way.parent, &self.name)?;
        Ok(match self.old {
            Old::Absent => there.is_none(),
            Old::Content(digest) => there == Some(digest),
        })
    }

    /// Puts the new text in place, unless something else than expected is there.
    pub fn apply(&mut self) -> Result<Option<Displaced>, Unwritten> {
        let displaced = match self.old {
            Old::Absent => self.appear().map(|()| None),
            Old::Content(digest) => self.exchange(digest).map(Some),
        }?;
        self.applied = true;
        Ok(displaced)
    }

    fn appear(&self) -> Result<(), Unwritten> {
        let (directory, temp) = (self.way.parent.as_fd(), self.temp.as_os_str());
        match self.calls.place(directory, temp, &self.name) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Unwritten::Moved),
            // No such rename on this file system: a second name, then the first one goes.
            Err(error) if is_unsupported(&error) => match self.calls.link(directory, temp, &self.name) {
                Ok(()) => Ok(self.calls.remove(directory, temp)?),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Unwritten::Moved),
                Err(error) => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// The two names change places, and what was displaced is looked at: if it is not what was seen,
    /// they change back.
    fn exchange(&self, expected: Digest) -> Result<Displaced, Unwritten> {
        let (directory, temp) = (self.way.parent.as_fd(), self.temp.as_os_str());
        match self.calls.exchange(directory, temp, &self.name) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Unwritten::Moved),
            Err(error) if is_unsupported(&error) => return self.replace(expected),
            Err(error) => return Err(error.into()),
        }
        if digest_of(&self.way.parent, temp)? == Some(expected) {
            return Ok(self.displaced(self.temp.clone(), expected));
        }
        self.calls.exchange(directory, temp, &self.name)?;
        Err(Unwritten::Moved)
    }

    /// Without exchange: the old file gets a second name first, so that it is not lost with the first one.
    fn replace(&self, expected: Digest) -> Result<Displaced, Unwritten> {
        let (directory, kept) = (self.way.parent.as_fd(), self.temp.twin());
        self.calls.link(directory, &self.name, kept.as_os_str())?;
        let replaced = match digest_of(&self.way.parent, kept.as_os_str()) {
            Ok(Some(digest)) if digest == expected => {
                self.calls.rename(directory, self.temp.as_os_str(), &self.name).map_err(Unwritten::from)
            }
            Ok(_) => Err(Unwritten::Moved),
            Err(error) => Err(error),
        };
        match replaced {
            Ok(()) => Ok(self.displaced(kept, expected)),
            Err(error) => {
                let _ = self.calls.remove(directory, kept.as_os_str());
                Err(error)
            }
        }
    }

    fn displaced(&self, temp: TempName, digest: Digest) -> Displaced {
        Displaced { parent: Arc::clone(&self.way.parent), temp, name: self.name.clone(), digest }
    }

    /// Undoes [`Self::apply`], because another file of the same edit could not be written.
    pub fn take_back(&mut self) {
        let (directory, temp) = (self.way.parent.as_fd(), self.temp.as_os_str());
        let taken = match self.old {
            Old::Absent => self.calls.rename(directory, &self.name, temp),
            Old::Content(_) => self.calls.exchange(directory, temp, &self.name),
        };
        match taken {
            // Dropping removes the temp file, which holds the new text again.
            Ok(()) => self.applied = false,
            Err(error) => tracing::error!(%error, "a file could not be changed back"),
        }
    }

    /// The new names are on the disk when this returns.
    pub fn flush(&self) -> io::Result<()> {
        self.calls.flush_directory(self.way.parent.as_fd())?;
        self.way.made.iter().try_for_each(|(parent, _)| self.calls.flush_directory(parent.as_fd()))
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if !self.applied {
            let _ = self.calls.remove(self.way.parent.as_fd(), self.temp.as_os_str());
            self.way.unmake(self.calls.as_ref());
        }
    }
}

impl Way {
    /// Opens the directory of a target; for a new file, missing directories are made.
    fn to(calls: &dyn Calls, target: &Target, old: Old, umask: u32) -> Result<Self, Unwritten> {
        let (names, _) = target.path.way_and_name();
        let mut way = Self { parent: Arc::new(target.root.handle()?), made: Vec::new() };
        for name in names {
            match way.step(calls, OsStr::new(name), old, umask) {
                Ok(()) => {}
                Err(error) => {
                    way.unmake(calls);
                    return Err(error);
                }
            }
        }
        Ok(way)
    }

    fn step(&mut self, calls: &dyn Calls, name: &OsStr, old: Old, umask: u32) -> Result<(), Unwritten> {
        let next = match super::confine::step_into(self.parent.as_fd(), name) {
            Err(Unseen::Missing) if old == Old::Absent => {
                match calls.make_directory(self.parent.as_fd(), name) {
                    Ok(()) => self.made.push((Arc::clone(&self.parent), name.to_owned())),
                    // Somebody else made it meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error.into()),
                }
                let made = super::confine::step_into(self.parent.as_fd(), name)?;
                if self.made.last().is_some_and(|(_, last)| last == name) {
                    calls.set_mode(made.as_fd(), 0o777 & !umask)?;
                }
                made
            }
            opened => opened?,
        };
        self.parent = Arc::new(next);
        Ok(())
    }

    /// Takes back what was made on the way, innermost first; what somebody has used meanwhile stays.
    fn unmake(&self, calls: &dyn Calls) {
        for (parent, name) in self.made.iter().rev() {
            let _ = calls.remove_directory(parent.as_fd(), name);
        }
    }
}

/// A regular file for reading; none if there is nothing.
fn open(directory: &OwnedFd, name: &OsStr) -> Result<Option<File>, Unwritten> {
    match super::confine::open_here(directory.as_fd(), name) {
        Ok(file) => Ok(Some(File::from(file))),
        Err(Unseen::Missing) => Ok(None),
        Err(unseen) => Err(unseen.into()),
    }
}

/// What a file holds; none if there is nothing.
pub(super) fn digest_of(directory: &OwnedFd, name: &OsStr) -> Result<Option<Digest>, Unwritten> {
    let Some(mut file) = open(directory, name)? else { return Ok(None) };
    Ok(Some(Digest::read(&mut file)?))
}

/// The file system does not know this kind of rename.
fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(error), Some(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP))
}
