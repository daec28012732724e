//! One staged file: written beside its target, synced, renamed into place, synced. A file always holds its whole
//! old or its whole new bytes.
//!
//! [`StagedFile`] is new content in a temp file. Once [`StagedFile::sync`] has returned and the journal is synced,
//! [`StagedFile::install`] renames it into place, and [`StagedFile::displaced`] checks what had been there. A failed
//! write or fsync is final for its temp file: it is removed and reported, never retried.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use super::syscalls::{self, WriteSyscalls, copy_attributes, is_unsupported};
use super::{Digest, Expected, FileStamp, ReadError, RelativePath, RootDir, SymlinkPolicy, TempName};

const COMPARE_BUFFER_BYTES: usize = 64 << 10;
/// Attempts to rename a file back: half an edit must not stay.
const ROLLBACK_ATTEMPTS: usize = 3;

/// Why a file could not be written. Its old bytes are untouched, unless the variant says otherwise.
#[derive(Debug)]
pub enum WriteError {
    /// It does not hold what was expected: read again.
    Changed,
    /// Its directory cannot be opened.
    Read(ReadError),
    /// The system says no.
    Io(io::Error),
    /// It could neither be finished nor rolled back. What is on the disk tells recovery.
    OutcomeUnknown,
}

impl From<ReadError> for WriteError {
    fn from(read_error: ReadError) -> Self {
        Self::Read(read_error)
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Where a file is to be written.
#[derive(Debug, Clone)]
pub struct WriteTarget {
    pub root: Arc<RootDir>,
    /// The file in it.
    pub path: RelativePath,
    /// What may stand on the way.
    pub links: SymlinkPolicy,
}

/// New content staged beside its target. Dropped before it was installed, it leaves nothing behind.
#[derive(Debug)]
pub(super) struct StagedFile {
    syscalls: Arc<dyn WriteSyscalls>,
    target_directory: TargetDirectory,
    name: OsString,
    temp: TempName,
    file: File,
    /// Where the old file has its second name, on file systems that cannot exchange.
    backup_link: Option<TempName>,
    old: Expected,
    /// The state in which the old file was seen.
    expected_stamp: Option<FileStamp>,
    /// What the temp file holds.
    new: Digest,
    /// The temp file only marks the place to which the old one goes.
    is_removal: bool,
    state: StagedState,
}

/// How far a staged file has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StagedState {
    /// In its temp file.
    Staged,
    Installed,
    /// It was installed for a moment. Somebody may have it open, or have replaced it meanwhile.
    RolledBack,
    /// Unknown; it stays where it is, and recovery decides.
    Undecided,
}

/// The directory of a target, and those that had to be created on the way to it.
#[derive(Debug)]
struct TargetDirectory {
    parent: Arc<OwnedFd>,
    created: CreatedDirectories,
}

/// Directories that were made, each with the one in which it is; outermost first.
pub(super) type CreatedDirectories = Vec<(Arc<OwnedFd>, OsString)>;

/// What a rename displaced; it is kept under a temp name for a grace period.
#[derive(Debug)]
pub struct DisplacedFile {
    /// Where it lies.
    pub parent: Arc<OwnedFd>,
    /// Under which name.
    pub temp: TempName,
    /// Whose place it had.
    pub name: OsString,
    /// What it held then.
    pub digest: Digest,
    /// Whose text it is.
    pub owner: DisplacedOwner,
    /// Directories that nobody needs any more if they are empty.
    pub created: CreatedDirectories,
}

/// Whose text was displaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisplacedOwner {
    /// The user's: it is kept in the journal.
    User,
    /// Our own new one, which was taken back: nobody needs it.
    Trellis,
}

impl StagedFile {
    /// Writes a text beside its target. To remove a file, no text: then the temp file holds its own name, so that it
    /// is told apart from whatever comes to lie there.
    pub(super) fn new(
        syscalls: &Arc<dyn WriteSyscalls>,
        target: &WriteTarget,
        (old, expected_stamp): (Expected, Option<FileStamp>),
        new: Option<&[u8]>,
        temp: TempName,
        umask: u32,
    ) -> Result<Self, WriteError> {
        let (names, name) = target.path.split_parent();
        let target_directory = TargetDirectory::open_or_create(syscalls.as_ref(), &target.root, names, old, umask)?;
        let created = syscalls.create(target_directory.parent.as_fd(), temp.as_os_str());
        let file =
            created.inspect_err(|_| remove_created(&target_directory.created, syscalls.as_ref())).map_err(|error| {
                match error.kind() {
                    // The directory was taken away since we opened it, perhaps by whoever had made it.
                    io::ErrorKind::NotFound => WriteError::Changed,
                    _ => error.into(),
                }
            })?;
        let (syscalls, name, is_removal) = (Arc::clone(syscalls), name.into(), new.is_none());
        let (backup_link, digest, state) = (None, Digest::default(), StagedState::Staged);
        let staged = Self {
            syscalls,
            target_directory,
            name,
            temp,
            file,
            backup_link,
            old,
            expected_stamp,
            new: digest,
            is_removal,
            state,
        };
        staged.fill(staged.text(new), umask)?;
        Ok(staged)
    }

    fn text<'a>(&'a self, new: Option<&'a [u8]>) -> &'a [u8] {
        new.unwrap_or(self.temp.as_str().as_bytes())
    }

    /// The digest of what the temp file holds, from the same text.
    pub(super) fn digest_of(&self, new: Option<&[u8]>) -> Digest {
        Digest::of(self.text(new))
    }

    /// Takes note of that digest.
    pub(super) fn note_digest(&mut self, digest: Digest) {
        self.new = digest;
    }

    /// The name of the temp file.
    pub(super) fn temp(&self) -> &TempName {
        &self.temp
    }

    /// What it holds.
    pub(super) fn digest(&self) -> Digest {
        self.new
    }

    fn fill(&self, new: &[u8], umask: u32) -> Result<(), WriteError> {
        self.syscalls.write(&self.file, new)?;
        match self.old {
            Expected::Absent => self.syscalls.set_mode(self.file.as_fd(), 0o666 & !umask)?,
            Expected::Content(_) if self.is_removal => {}
            Expected::Content(_) => {
                let current = open(&self.target_directory.parent, &self.name)?.ok_or(WriteError::Changed)?;
                self.syscalls.set_mode(self.file.as_fd(), current.metadata()?.permissions().mode() & 0o7777)?;
                copy_attributes(&current, &self.file);
            }
        }
        Ok(())
    }

    /// The content is on the disk when this returns.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.syscalls.fsync(&self.file)
    }

    /// Whether the target still holds what was seen. Asked last, right before it is replaced. In the state in which
    /// it was seen it does, unless somebody changed it within one tick of the clock: what is displaced will tell.
    pub(super) fn target_is_unchanged(&self) -> Result<bool, WriteError> {
        if let Some(expected_stamp) = self.expected_stamp
            && open(&self.target_directory.parent, &self.name)?.is_some_and(|file| is_in(&file, expected_stamp))
        {
            return Ok(true);
        }
        let there = digest_of(&self.target_directory.parent, &self.name)?;
        Ok(match self.old {
            Expected::Absent => there.is_none(),
            Expected::Content(digest) => there == Some(digest),
        })
    }

    /// Whether the file goes.
    pub(super) fn is_removal(&self) -> bool {
        self.is_removal
    }

    /// Puts the new text in place.
    pub(super) fn install(&mut self) -> Result<(), WriteError> {
        match self.old {
            Expected::Absent => self.install_new(),
            Expected::Content(_) if self.is_removal => self.install_removal(),
            Expected::Content(digest) => self.install_by_exchange(digest),
        }
    }

    /// What had been there; if it is not what was seen or cannot be read, this must be taken back. To compare it with
    /// what was seen, if that is in memory, costs less than its digest.
    pub(super) fn displaced(&self, expected_bytes: Option<&[u8]>) -> Result<Option<DisplacedFile>, WriteError> {
        let Expected::Content(expected) = self.old else { return Ok(None) };
        let (directory, temp) = (&self.target_directory.parent, self.temp.as_os_str());
        let is_expected = || match expected_bytes {
            Some(expected_bytes) => holds(directory, temp, expected_bytes),
            None => Ok(digest_of(directory, temp)? == Some(expected)),
        };
        let temp = match &self.backup_link {
            // It was looked at before.
            Some(backup_link) => backup_link,
            None if is_expected()? => &self.temp,
            None => return Err(WriteError::Changed),
        };
        Ok(Some(self.displaced_file(temp.clone(), expected, DisplacedOwner::User)))
    }

    fn install_new(&mut self) -> Result<(), WriteError> {
        match syscalls::rename_noreplace_or_link(
            self.syscalls.as_ref(),
            self.target_directory.parent.as_fd(),
            self.temp.as_os_str(),
            &self.name,
        ) {
            Ok(()) => {
                self.state = StagedState::Installed;
                Ok(())
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {
                Err(WriteError::Changed)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The file takes the place of the temp file, and is looked at there.
    fn install_removal(&mut self) -> Result<(), WriteError> {
        let renamed = self.syscalls.rename(self.target_directory.parent.as_fd(), &self.name, self.temp.as_os_str());
        self.note_installed(renamed)
    }

    /// The two names change places.
    fn install_by_exchange(&mut self, expected: Digest) -> Result<(), WriteError> {
        match self.syscalls.exchange(self.target_directory.parent.as_fd(), self.temp.as_os_str(), &self.name) {
            Err(error) if is_unsupported(&error) => self.install_by_rename(expected),
            exchanged => self.note_installed(exchanged),
        }
    }

    /// What a rename in the place of a file that was there came to.
    fn note_installed(&mut self, renamed: io::Result<()>) -> Result<(), WriteError> {
        match renamed {
            Ok(()) => {
                self.state = StagedState::Installed;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(WriteError::Changed),
            Err(error) => Err(error.into()),
        }
    }

    /// Without exchange: the old file gets a second name first, so that it is not lost with the first one.
    fn install_by_rename(&mut self, expected: Digest) -> Result<(), WriteError> {
        let backup_link = self.temp.sibling();
        self.syscalls.link(self.target_directory.parent.as_fd(), &self.name, backup_link.as_os_str())?;
        let replaced = match digest_of(&self.target_directory.parent, backup_link.as_os_str()) {
            Ok(Some(digest)) if digest == expected => self
                .syscalls
                .rename(self.target_directory.parent.as_fd(), self.temp.as_os_str(), &self.name)
                .map_err(WriteError::from),
            Ok(_) => Err(WriteError::Changed),
            Err(error) => Err(error),
        };
        match replaced {
            Ok(()) => {
                self.state = StagedState::Installed;
                self.backup_link = Some(backup_link);
                Ok(())
            }
            Err(error) => {
                let _ = self.syscalls.remove(self.target_directory.parent.as_fd(), backup_link.as_os_str());
                Err(error)
            }
        }
    }

    fn displaced_file(&self, temp: TempName, digest: Digest, owner: DisplacedOwner) -> DisplacedFile {
        let (parent, name, created) = (Arc::clone(&self.target_directory.parent), self.name.clone(), Vec::new());
        DisplacedFile { parent, temp, name, digest, owner, created }
    }

    /// Undoes [`Self::install`]. Whoever opened the new text meanwhile may still write to it, and whoever put
    /// another file in its place means that one: so what comes back under the temp name is looked after.
    pub(super) fn roll_back(&mut self) {
        if self.state != StagedState::Installed {
            return;
        }
        for _ in 0..ROLLBACK_ATTEMPTS {
            match self.try_to_roll_back() {
                // Somebody has removed the new text: there is nothing to take back.
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::error!(%error, "a file could not be changed back");
                }
                _ => {
                    self.state = StagedState::RolledBack;
                    // As far as the disk lets us; the answer is a failure anyway.
                    let _ = self.syscalls.fsync_directory(self.target_directory.parent.as_fd());
                    return;
                }
            }
        }
        self.state = StagedState::Undecided;
    }

    fn try_to_roll_back(&self) -> io::Result<()> {
        let (directory, temp) = (self.target_directory.parent.as_fd(), self.temp.as_os_str());
        match (self.old, &self.backup_link) {
            (Expected::Absent, _) => self.syscalls.rename(directory, &self.name, temp),
            (Expected::Content(_), _) if self.is_removal => {
                match syscalls::rename_noreplace_or_link(self.syscalls.as_ref(), directory, temp, &self.name) {
                    // Somebody has made another one: that is the one that is meant now.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                    done => done,
                }
            }
            (Expected::Content(_), None) => self.syscalls.exchange(directory, temp, &self.name),
            (Expected::Content(_), Some(backup_link)) => {
                let _ = self.syscalls.link(directory, &self.name, temp);
                self.syscalls.rename(directory, backup_link.as_os_str(), &self.name)
            }
        }
    }

    /// Whether nothing of it is in place, as far as we know.
    pub(super) fn is_undone(&self) -> bool {
        matches!(self.state, StagedState::Staged | StagedState::RolledBack)
    }

    /// Its outcome is unknown: everything stays as it is, for recovery to decide.
    pub(super) fn leave_to_recovery(&mut self) {
        self.state = StagedState::Undecided;
    }

    /// What was rolled back, for the archiver.
    pub(super) fn into_displaced(mut self) -> Option<DisplacedFile> {
        let created = std::mem::take(&mut self.target_directory.created);
        match self.state {
            StagedState::RolledBack => Some(DisplacedFile {
                created,
                ..self.displaced_file(self.temp.clone(), self.new, DisplacedOwner::Trellis)
            }),
            _ => {
                self.target_directory.created = created;
                None
            }
        }
    }

    /// The new names are on the disk when this returns.
    pub(super) fn sync_directory(&self) -> io::Result<()> {
        self.syscalls.fsync_directory(self.target_directory.parent.as_fd())?;
        self.target_directory.created.iter().try_for_each(|(parent, _)| self.syscalls.fsync_directory(parent.as_fd()))
    }

    /// Whether the way to the target still leads to the directory in which we wrote.
    pub(super) fn directory_is_still_there(&self, target: &WriteTarget) -> Result<bool, ReadError> {
        let here = target.root.open_directory(target.path.split_parent().0)?;
        let number = |directory: &OwnedFd| rustix::fs::fstat(directory).map(|stat| (stat.st_dev, stat.st_ino));
        Ok(number(&here).is_ok_and(|here| number(&self.target_directory.parent).is_ok_and(|parent| here == parent)))
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if self.state == StagedState::Staged {
            let _ = self.syscalls.remove(self.target_directory.parent.as_fd(), self.temp.as_os_str());
            remove_created(&self.target_directory.created, self.syscalls.as_ref());
        }
    }
}

/// Removes directories that were created on the way, innermost first; one that somebody has used meanwhile stays.
pub(super) fn remove_created(created: &CreatedDirectories, syscalls: &dyn WriteSyscalls) {
    for (parent, name) in created.iter().rev() {
        let _ = syscalls.remove_directory(parent.as_fd(), name);
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
    for (parent, _) in &target_directory.created {
        if let Err(error) = syscalls.fsync_directory(parent.as_fd()) {
            remove_created(&target_directory.created, syscalls);
            return Err(error.into());
        }
    }
    Ok(target_directory.created)
}

impl TargetDirectory {
    /// Opens the directory of a target; for a new file, missing directories are made.
    fn open_or_create<'a>(
        syscalls: &dyn WriteSyscalls,
        root: &RootDir,
        names: impl Iterator<Item = &'a str>,
        old: Expected,
        umask: u32,
    ) -> Result<Self, WriteError> {
        let mut target_directory = Self { parent: Arc::new(root.handle()?), created: Vec::new() };
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
            opened => opened?,
        };
        self.parent = Arc::new(next);
        Ok(())
    }

    fn make(&mut self, syscalls: &dyn WriteSyscalls, name: &OsStr, umask: u32) -> Result<OwnedFd, WriteError> {
        let is_ours = match syscalls.make_directory(self.parent.as_fd(), name) {
            Ok(()) => true,
            // Somebody else made it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            // Somebody took away the one above it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(WriteError::Changed),
            Err(error) => return Err(error.into()),
        };
        if is_ours {
            self.created.push((Arc::clone(&self.parent), name.to_owned()));
        }
        let created = super::confine::open_subdirectory(self.parent.as_fd(), name)?;
        if is_ours {
            // A directory in one that hands its group down hands it down, too.
            let group = rustix::fs::fstat(&created).map_or(0, |stat| stat.st_mode & 0o2000);
            syscalls.set_mode(created.as_fd(), (0o777 & !umask) | group)?;
        }
        Ok(created)
    }
}

/// A regular file for reading; none if there is nothing.
fn open(directory: &OwnedFd, name: &OsStr) -> Result<Option<File>, WriteError> {
    match super::confine::open_entry(directory.as_fd(), name) {
        Ok(file) => Ok(Some(File::from(file))),
        Err(ReadError::Missing) => Ok(None),
        Err(read_error) => Err(read_error.into()),
    }
}

fn is_in(file: &File, state: FileStamp) -> bool {
    file.metadata().is_ok_and(|metadata| FileStamp::of(&metadata) == state)
}

/// Whether a file holds exactly these bytes.
fn holds(directory: &OwnedFd, name: &OsStr, bytes: &[u8]) -> Result<bool, WriteError> {
    let Some(mut file) = open(directory, name)? else { return Ok(false) };
    let mut piece = vec![0; COMPARE_BUFFER_BYTES.min(bytes.len() + 1)];
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
pub(super) fn digest_of(directory: &OwnedFd, name: &OsStr) -> Result<Option<Digest>, WriteError> {
    let Some(mut file) = open(directory, name)? else { return Ok(None) };
    Ok(Some(Digest::read(&mut file)?))
}
