//! Write beside, flush, exchange, flush: a file holds its whole old or its whole new bytes, always.
//!
//! [`Prepared`] is a new text beside its target. Once [`Prepared::make_safe`] has flushed it and the journal is flushed,
//! [`Prepared::apply`] puts it in place, and [`Prepared::displaced`] looks at what had been there. A failed write or
//! flush is final for its temp file: it is removed and reported, never tried again.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use super::calls::{self, Calls, copy_attributes, is_unsupported};
use super::temp::TempName;
use super::{Digest, Identity, RelativePath, Root};
use crate::families::edit::Old;
use crate::families::need::{Links, Unseen};

/// So much is compared at once.
const PIECE: usize = 64 << 10;
/// How often a rename that takes something back is tried: half an edit must not stay.
const TAKE_BACKS: usize = 3;

/// Why a file could not be written. Its old bytes are untouched, unless it says otherwise.
#[derive(Debug)]
pub enum Unwritten {
    /// It does not hold what was seen: look again.
    Moved,
    /// The way to it cannot be gone.
    Unseen(Unseen),
    /// The system says no.
    Failed(io::Error),
    /// It could neither be finished nor taken back. What lies beside it tells the next daemon.
    Unknown,
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

/// A new text beside its target. Dropped before anybody could see it in its place, it
/// leaves nothing behind.
#[derive(Debug)]
pub struct Prepared {
    calls: Arc<dyn Calls>,
    way: Way,
    name: OsString,
    temp: TempName,
    file: File,
    /// Where the old file has its second name, on file systems that cannot exchange.
    kept: Option<TempName>,
    old: Old,
    /// The state in which the old file was seen.
    seen: Option<Identity>,
    /// What the temp file holds.
    new: Digest,
    /// The temp file only marks the place to which the old one goes.
    removes: bool,
    stage: Stage,
}

/// How far a prepared text has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Beside its target, where nobody knows it.
    Beside,
    /// In its place.
    Applied,
    /// It was in its place. Somebody may have it open, or have put another one there meanwhile.
    TakenBack,
    /// Nobody knows; it stays where it is, and what lies there tells the next daemon.
    Left,
}

/// The directory of a target, and those that had to be made on the way to it.
#[derive(Debug)]
struct Way {
    parent: Arc<OwnedFd>,
    made: Made,
}

/// Directories that were made, each with the one in which it is; outermost first.
pub type Made = Vec<(Arc<OwnedFd>, OsString)>;

/// What lies under a temp name after a rename, and is looked after for a moment.
#[derive(Debug)]
pub struct Displaced {
    /// Where it lies.
    pub parent: Arc<OwnedFd>,
    /// Under which name.
    pub temp: TempName,
    /// Whose place it had.
    pub name: OsString,
    /// What it held then.
    pub digest: Digest,
    /// Whose text it is.
    pub whose: Whose,
    /// Directories that nobody needs any more if they are empty.
    pub made: Made,
}

/// Whose text was displaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The user's: it is kept in the journal.
    Old,
    /// Our own new one, which was taken back: nobody needs it.
    Ours,
}

impl Prepared {
    /// Writes a text beside its target. To remove a file, no text: then the temp file holds its own name, so that it
    /// is told apart from whatever comes to lie there.
    pub fn new(
        calls: &Arc<dyn Calls>,
        target: &Target,
        (old, seen): (Old, Option<Identity>),
        new: Option<&[u8]>,
        temp: TempName,
        umask: u32,
    ) -> Result<Self, Unwritten> {
        let (names, name) = target.path.way_and_name();
        let way = Way::along(calls.as_ref(), &target.root, names, old, umask)?;
        let created = calls.create(way.parent.as_fd(), temp.as_os_str());
        let file = created.inspect_err(|_| unmake(&way.made, calls.as_ref())).map_err(|error| match error.kind() {
            // The directory was taken away since we opened it, perhaps by whoever had made it.
            io::ErrorKind::NotFound => Unwritten::Moved,
            _ => error.into(),
        })?;
        let (calls, name, removes) = (Arc::clone(calls), name.into(), new.is_none());
        let (kept, digest, stage) = (None, Digest::default(), Stage::Beside);
        let prepared = Self { calls, way, name, temp, file, kept, old, seen, new: digest, removes, stage };
        prepared.fill(prepared.text(new), umask)?;
        Ok(prepared)
    }

    fn text<'a>(&'a self, new: Option<&'a [u8]>) -> &'a [u8] {
        new.unwrap_or(self.temp.as_str().as_bytes())
    }

    /// The digest of what the temp file holds, from the same text.
    pub fn digest_of(&self, new: Option<&[u8]>) -> Digest {
        Digest::of(self.text(new))
    }

    /// Takes note of that digest.
    pub fn note_digest(&mut self, digest: Digest) {
        self.new = digest;
    }

    /// The name of the temp file.
    pub fn temp(&self) -> &TempName {
        &self.temp
    }

    /// What it holds.
    pub fn digest(&self) -> Digest {
        self.new
    }

    fn fill(&self, new: &[u8], umask: u32) -> Result<(), Unwritten> {
        self.calls.write(&self.file, new)?;
        match self.old {
            Old::Absent => self.calls.set_mode(self.file.as_fd(), 0o666 & !umask)?,
            Old::Content(_) if self.removes => {}
            Old::Content(_) => {
                let current = open(&self.way.parent, &self.name)?.ok_or(Unwritten::Moved)?;
                self.calls.set_mode(self.file.as_fd(), current.metadata()?.permissions().mode() & 0o7777)?;
                copy_attributes(&current, &self.file);
            }
        }
        Ok(())
    }

    /// The text is on the disk when this returns.
    pub fn make_safe(&self) -> io::Result<()> {
        self.calls.flush(&self.file)
    }

    /// Whether the target still holds what was seen. Asked last, right before it is replaced. In the state in which
    /// it was seen it does, unless somebody changed it within one tick of the clock: what is displaced will tell.
    pub fn is_expected(&self) -> Result<bool, Unwritten> {
        if let Some(seen) = self.seen
            && open(&self.way.parent, &self.name)?.is_some_and(|file| is_in(&file, seen))
        {
            return Ok(true);
        }
        let there = digest_of(&self.way.parent, &self.name)?;
        Ok(match self.old {
            Old::Absent => there.is_none(),
            Old::Content(digest) => there == Some(digest),
        })
    }

    /// Whether the file goes.
    pub fn removes(&self) -> bool {
        self.removes
    }

    /// Puts the new text in place.
    pub fn apply(&mut self) -> Result<(), Unwritten> {
        match self.old {
            Old::Absent => self.appear(),
            Old::Content(_) if self.removes => self.vanish(),
            Old::Content(digest) => self.exchange(digest),
        }
    }

    /// What had been there; if it is not what was seen or cannot be read, this must be taken back. To compare it with
    /// what was seen, if that is in memory, costs less than its digest.
    pub fn displaced(&self, held: Option<&[u8]>) -> Result<Option<Displaced>, Unwritten> {
        let Old::Content(expected) = self.old else { return Ok(None) };
        let (directory, temp) = (&self.way.parent, self.temp.as_os_str());
        let is_expected = || match held {
            Some(held) => holds(directory, temp, held),
            None => Ok(digest_of(directory, temp)? == Some(expected)),
        };
        let temp = match &self.kept {
            // It was looked at before.
            Some(kept) => kept,
            None if is_expected()? => &self.temp,
            None => return Err(Unwritten::Moved),
        };
        Ok(Some(self.left_under(temp.clone(), expected, Whose::Old)))
    }

    fn appear(&mut self) -> Result<(), Unwritten> {
        match calls::appear(self.calls.as_ref(), self.way.parent.as_fd(), self.temp.as_os_str(), &self.name) {
            Ok(()) => {
                self.stage = Stage::Applied;
                Ok(())
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {
                Err(Unwritten::Moved)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The file takes the place of the temp file, and is looked at there.
    fn vanish(&mut self) -> Result<(), Unwritten> {
        let renamed = self.calls.rename(self.way.parent.as_fd(), &self.name, self.temp.as_os_str());
        self.applied(renamed)
    }

    /// The two names change places.
    fn exchange(&mut self, expected: Digest) -> Result<(), Unwritten> {
        match self.calls.exchange(self.way.parent.as_fd(), self.temp.as_os_str(), &self.name) {
            Err(error) if is_unsupported(&error) => self.replace(expected),
            exchanged => self.applied(exchanged),
        }
    }

    /// What a rename in the place of a file that was there came to.
    fn applied(&mut self, renamed: io::Result<()>) -> Result<(), Unwritten> {
        match renamed {
            Ok(()) => {
                self.stage = Stage::Applied;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Unwritten::Moved),
            Err(error) => Err(error.into()),
        }
    }

    /// Without exchange: the old file gets a second name first, so that it is not lost with the first one.
    fn replace(&mut self, expected: Digest) -> Result<(), Unwritten> {
        let kept = self.temp.twin();
        self.calls.link(self.way.parent.as_fd(), &self.name, kept.as_os_str())?;
        let replaced = match digest_of(&self.way.parent, kept.as_os_str()) {
            Ok(Some(digest)) if digest == expected => {
                self.calls.rename(self.way.parent.as_fd(), self.temp.as_os_str(), &self.name).map_err(Unwritten::from)
            }
            Ok(_) => Err(Unwritten::Moved),
            Err(error) => Err(error),
        };
        match replaced {
            Ok(()) => {
                self.stage = Stage::Applied;
                self.kept = Some(kept);
                Ok(())
            }
            Err(error) => {
                let _ = self.calls.remove(self.way.parent.as_fd(), kept.as_os_str());
                Err(error)
            }
        }
    }

    fn left_under(&self, temp: TempName, digest: Digest, whose: Whose) -> Displaced {
        let (parent, name, made) = (Arc::clone(&self.way.parent), self.name.clone(), Vec::new());
        Displaced { parent, temp, name, digest, whose, made }
    }

    /// Undoes [`Self::apply`]. Whoever opened the new text meanwhile may still write to it, and whoever put
    /// another file in its place means that one: so what comes back under the temp name is looked after.
    pub fn take_back(&mut self) {
        if self.stage != Stage::Applied {
            return;
        }
        for _ in 0..TAKE_BACKS {
            match self.try_to_take_back() {
                // Somebody has removed the new text: there is nothing to take back.
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::error!(%error, "a file could not be changed back");
                }
                _ => {
                    self.stage = Stage::TakenBack;
                    // As far as the disk lets us; the answer is a failure anyway.
                    let _ = self.calls.flush_directory(self.way.parent.as_fd());
                    return;
                }
            }
        }
        self.stage = Stage::Left;
    }

    fn try_to_take_back(&self) -> io::Result<()> {
        let (directory, temp) = (self.way.parent.as_fd(), self.temp.as_os_str());
        match (self.old, &self.kept) {
            (Old::Absent, _) => self.calls.rename(directory, &self.name, temp),
            (Old::Content(_), _) if self.removes => {
                match calls::appear(self.calls.as_ref(), directory, temp, &self.name) {
                    // Somebody has made another one: that is the one that is meant now.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                    done => done,
                }
            }
            (Old::Content(_), None) => self.calls.exchange(directory, temp, &self.name),
            (Old::Content(_), Some(kept)) => {
                let _ = self.calls.link(directory, &self.name, temp);
                self.calls.rename(directory, kept.as_os_str(), &self.name)
            }
        }
    }

    /// Whether nothing of it is in place, as far as we know.
    pub fn is_undone(&self) -> bool {
        matches!(self.stage, Stage::Beside | Stage::TakenBack)
    }

    /// Nobody knows whether it will be in place: everything stays as it is, for the next daemon to judge.
    pub fn leave(&mut self) {
        self.stage = Stage::Left;
    }

    /// What was taken back, for the keeper.
    pub fn taken_back(mut self) -> Option<Displaced> {
        let made = std::mem::take(&mut self.way.made);
        match self.stage {
            Stage::TakenBack => Some(Displaced { made, ..self.left_under(self.temp.clone(), self.new, Whose::Ours) }),
            _ => {
                self.way.made = made;
                None
            }
        }
    }

    /// The new names are on the disk when this returns.
    pub fn flush(&self) -> io::Result<()> {
        self.calls.flush_directory(self.way.parent.as_fd())?;
        self.way.made.iter().try_for_each(|(parent, _)| self.calls.flush_directory(parent.as_fd()))
    }

    /// Whether the way to the target still leads to the directory in which we wrote.
    pub fn is_on_the_way(&self, target: &Target) -> Result<bool, Unseen> {
        let (names, _) = target.path.way_and_name();
        let mut here = target.root.handle()?;
        for name in names {
            here = super::confine::step_into(here.as_fd(), OsStr::new(name))?;
        }
        let number = |directory: &OwnedFd| rustix::fs::fstat(directory).map(|stat| (stat.st_dev, stat.st_ino));
        Ok(number(&here).is_ok_and(|here| number(&self.way.parent).is_ok_and(|parent| here == parent)))
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if self.stage == Stage::Beside {
            let _ = self.calls.remove(self.way.parent.as_fd(), self.temp.as_os_str());
            unmake(&self.way.made, self.calls.as_ref());
        }
    }
}

/// Takes back directories that were made on the way, innermost first; what somebody has used meanwhile stays.
pub(super) fn unmake(made: &Made, calls: &dyn Calls) {
    for (parent, name) in made.iter().rev() {
        let _ = calls.remove_directory(parent.as_fd(), name);
    }
}

/// Makes a directory and those above it; which of them were not there.
pub fn make_directories(calls: &dyn Calls, target: &Target, umask: u32) -> Result<Made, Unwritten> {
    let way = Way::along(calls, &target.root, target.path.parts(), Old::Absent, umask)?;
    for (parent, _) in &way.made {
        if let Err(error) = calls.flush_directory(parent.as_fd()) {
            unmake(&way.made, calls);
            return Err(error.into());
        }
    }
    Ok(way.made)
}

impl Way {
    /// Opens the directory of a target; for a new file, missing directories are made.
    fn along<'a>(
        calls: &dyn Calls,
        root: &Root,
        names: impl Iterator<Item = &'a str>,
        old: Old,
        umask: u32,
    ) -> Result<Self, Unwritten> {
        let mut way = Self { parent: Arc::new(root.handle()?), made: Vec::new() };
        for name in names {
            match way.step(calls, OsStr::new(name), old, umask) {
                Ok(()) => {}
                Err(error) => {
                    unmake(&way.made, calls);
                    return Err(error);
                }
            }
        }
        Ok(way)
    }

    fn step(&mut self, calls: &dyn Calls, name: &OsStr, old: Old, umask: u32) -> Result<(), Unwritten> {
        let next = match super::confine::step_into(self.parent.as_fd(), name) {
            Err(Unseen::Missing) if old == Old::Absent => self.make(calls, name, umask)?,
            // It was there when the file was seen.
            Err(Unseen::Missing) => return Err(Unwritten::Moved),
            opened => opened?,
        };
        self.parent = Arc::new(next);
        Ok(())
    }

    fn make(&mut self, calls: &dyn Calls, name: &OsStr, umask: u32) -> Result<OwnedFd, Unwritten> {
        let is_ours = match calls.make_directory(self.parent.as_fd(), name) {
            Ok(()) => true,
            // Somebody else made it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            // Somebody took away the one above it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Unwritten::Moved),
            Err(error) => return Err(error.into()),
        };
        if is_ours {
            self.made.push((Arc::clone(&self.parent), name.to_owned()));
        }
        let made = super::confine::step_into(self.parent.as_fd(), name)?;
        if is_ours {
            // A directory in one that hands its group down hands it down, too.
            let group = rustix::fs::fstat(&made).map_or(0, |stat| stat.st_mode & 0o2000);
            calls.set_mode(made.as_fd(), (0o777 & !umask) | group)?;
        }
        Ok(made)
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

fn is_in(file: &File, state: Identity) -> bool {
    file.metadata().is_ok_and(|metadata| Identity::of(&metadata) == state)
}

/// Whether a file holds exactly these bytes.
fn holds(directory: &OwnedFd, name: &OsStr, bytes: &[u8]) -> Result<bool, Unwritten> {
    let Some(mut file) = open(directory, name)? else { return Ok(false) };
    let mut piece = vec![0; PIECE.min(bytes.len() + 1)];
    let mut rest = bytes;
    loop {
        let count = match file.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            count => count?,
        };
        match rest.split_at_checked(count) {
            Some((these, others)) if *these == piece[..count] => rest = others,
            _ => return Ok(false),
        }
        if count == 0 {
            return Ok(rest.is_empty());
        }
    }
}

/// What a file holds; none if there is nothing.
pub(super) fn digest_of(directory: &OwnedFd, name: &OsStr) -> Result<Option<Digest>, Unwritten> {
    let Some(mut file) = open(directory, name)? else { return Ok(None) };
    Ok(Some(Digest::read(&mut file)?))
}
