//! One staged file: written under a temp name, synced, renamed into place, synced. A file always holds its whole old or
//! its whole new bytes.
//!
//! [`StagedFile`] is the rename machine, for a write that makes one and for recovery that reopens one from a record of
//! the journal. Once [`StagedFile::sync`] has returned and the journal is synced, [`StagedFile::install`] renames it into
//! place, and [`StagedFile::displaced`] checks what had been there. A failed write or fsync is final for its temp
//! file: it is removed and reported, never retried.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use super::displaced::{DisplacedFile, DisplacedOwner};
use super::journal::JournalFile;
use super::staging::{NewTempFile, StagedIn, StagingArea};
use super::syscalls::{self, NameIn, WriteSyscalls, copy_attributes, is_unsupported};
use super::target_directory::{TargetDirectory, remove_created};
use super::writer::FileWrite;
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
    /// The write cannot be recorded: nothing was begun.
    Unrecorded(io::Error),
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

/// A file of ours that waits for its rename, or that a rename has displaced.
#[derive(Debug, Clone)]
pub struct TempFile {
    /// In which it lies.
    pub directory: Arc<OwnedFd>,
    pub name: TempName,
    pub staged_in: StagedIn,
}

impl TempFile {
    /// For the system.
    pub fn as_name(&self) -> NameIn<'_> {
        NameIn::new(self.directory.as_fd(), self.name.as_os_str())
    }

    pub(super) fn digest(&self) -> Result<Option<Digest>, WriteError> {
        digest_of(self.as_name())
    }
}

/// New content under a temp name. Dropped before it was installed, it leaves nothing behind; one that was reopened
/// stays as it is.
#[derive(Debug)]
pub(super) struct StagedFile {
    syscalls: Arc<dyn WriteSyscalls>,
    staging: Arc<StagingArea>,
    pub(super) root: Arc<RootDir>,
    target_directory: TargetDirectory,
    name: OsString,
    temp: TempFile,
    /// Open as long as it is being written.
    file: Option<File>,
    /// The name of the temp file is on the disk.
    name_is_synced: bool,
    /// Its mode and ACL come from its directory.
    inherits_mode: bool,
    /// Where the old file has its second name, on file systems that cannot exchange.
    backup_link: Option<TempName>,
    old: Expected,
    /// The state in which the old file was seen.
    expected_stamp: Option<FileStamp>,
    /// The permissions of the old file.
    old_mode: Option<u32>,
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

/// What the disk says about the rename of a file whose write was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RenameEvidence {
    /// It has not happened.
    Before,
    /// It has; the old text may lie under the temp name.
    After,
    /// The old and the new text are the same: nobody can tell, and nobody needs to.
    Same,
    /// Neither can be told: the temp file is gone, and the target does not hold the new text.
    Unclear,
}

impl StagedFile {
    /// Writes a text into a temp file. To remove a file, no text: then the temp file holds its own name, so that it
    /// is told apart from whatever comes to lie there.
    pub(super) fn create(staging: &Arc<StagingArea>, file_write: &FileWrite, umask: u32) -> Result<Self, WriteError> {
        let FileWrite { target, tree, old, expected_stamp, new, mode, .. } = file_write;
        let syscalls = &staging.syscalls;
        let (names, name) = target.path.split_parent();
        let target_directory = TargetDirectory::open_or_create(syscalls.as_ref(), &target.root, names, *old, umask)?;
        let path = tree.join(target.path.as_str());
        let parent = (&target_directory.parent, path.parent().unwrap_or(tree));
        let NewTempFile { temp, file, name_is_synced, inherits_mode } = staging
            .new_file(&target.root, parent, *old == Expected::Absent)
            .inspect_err(|_| remove_created(&target_directory.created, syscalls.as_ref()))?;
        let mut staged = Self {
            syscalls: Arc::clone(syscalls),
            root: Arc::clone(&target.root),
            staging: Arc::clone(staging),
            target_directory,
            name: name.into(),
            temp,
            file: Some(file),
            name_is_synced,
            inherits_mode,
            backup_link: None,
            old: *old,
            expected_stamp: *expected_stamp,
            old_mode: None,
            new: Digest::default(),
            is_removal: new.is_none(),
            state: StagedState::Staged,
        };
        staged.old_mode = staged.fill(staged.text(*new), umask, *mode)?;
        Ok(staged)
    }

    /// Takes up what an earlier daemon had begun. [`ReadError::Missing`]: there is no such directory any more.
    pub(super) fn reopen(staging: &Arc<StagingArea>, file: &JournalFile) -> Result<Self, WriteError> {
        let path = RelativePath::from_components(&file.path).ok_or(ReadError::Missing)?;
        let temp = TempName::parse(&file.temp).ok_or(ReadError::Missing)?;
        let (names, name) = path.split_parent();
        let root = Arc::new(RootDir::open(&file.root)?);
        let target_directory = TargetDirectory::reopen(&root, names)?;
        let temp = staging.locate(temp, file.staged_in.unwrap_or(StagedIn::Beside), &target_directory.parent);
        Ok(Self {
            syscalls: Arc::clone(&staging.syscalls),
            staging: Arc::clone(staging),
            root,
            target_directory,
            name: name.into(),
            temp,
            file: None,
            name_is_synced: file.staged_in.is_some(),
            inherits_mode: false,
            backup_link: None,
            old: file.old.map_or(Expected::Absent, Expected::Content),
            expected_stamp: None,
            old_mode: file.old_mode,
            new: file.new,
            is_removal: file.is_removal,
            state: StagedState::Undecided,
        })
    }

    fn text<'a>(&'a self, new: Option<&'a [u8]>) -> &'a [u8] {
        new.unwrap_or(self.temp.name.as_str().as_bytes())
    }

    /// The digest of what the temp file holds, from the same text.
    pub(super) fn digest_of(&self, new: Option<&[u8]>) -> Digest {
        Digest::of(self.text(new))
    }

    /// Takes note of that digest.
    pub(super) fn note_digest(&mut self, digest: Digest) {
        self.new = digest;
    }

    /// What the journal says about it.
    pub(super) fn record(&self, target: &WriteTarget, tree: &Path) -> JournalFile {
        JournalFile {
            root: tree.to_owned(),
            path: target.path.as_str().to_owned(),
            temp: self.temp.name.as_str().to_owned(),
            staged_in: Some(self.temp.staged_in),
            old: self.old_digest(),
            old_mode: self.old_mode,
            new: self.new,
            is_removal: self.is_removal,
        }
    }

    /// By which the journal knows it.
    pub(super) fn temp_name(&self) -> &str {
        self.temp.name.as_str()
    }

    /// What it holds.
    pub(super) fn digest(&self) -> Digest {
        self.new
    }

    fn old_digest(&self) -> Option<Digest> {
        match self.old {
            Expected::Absent => None,
            Expected::Content(digest) => Some(digest),
        }
    }

    /// Its place under its own name.
    fn target(&self) -> NameIn<'_> {
        NameIn::new(self.target_directory.parent.as_fd(), &self.name)
    }

    /// The permissions of the old file, which a new text takes over unless it has its own.
    fn fill(&self, new: &[u8], umask: u32, new_mode: Option<u32>) -> Result<Option<u32>, WriteError> {
        let Some(file) = &self.file else { return Ok(None) };
        self.syscalls.write(file, new)?;
        if self.old == Expected::Absent {
            if let Some(mode) = new_mode.or((!self.inherits_mode).then_some(0o666 & !umask)) {
                self.syscalls.set_mode(file.as_fd(), mode)?;
            }
            return Ok(None);
        }
        let current = open(self.target())?.ok_or(WriteError::Changed)?;
        let mode = current.metadata()?.permissions().mode() & 0o7777;
        if !self.is_removal {
            self.syscalls.set_mode(file.as_fd(), new_mode.unwrap_or(mode))?;
            copy_attributes(&current, file);
        }
        Ok(Some(mode))
    }

    /// The content and the temp name are on the disk when this returns: a record that names them may follow.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| self.syscalls.fsync(file))?;
        if self.name_is_synced { Ok(()) } else { self.syscalls.fsync_directory(self.temp.directory.as_fd()) }
    }

    /// Whether the target still holds what was seen. Asked last, right before it is replaced. In the state in which
    /// it was seen it does, unless somebody changed it within one tick of the clock: what is displaced will tell.
    pub(super) fn target_is_unchanged(&self) -> Result<bool, WriteError> {
        if let Some(expected_stamp) = self.expected_stamp
            && open(self.target())?.is_some_and(|file| is_in(&file, expected_stamp))
        {
            return Ok(true);
        }
        Ok(digest_of(self.target())? == self.old_digest())
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
        let is_expected = || match expected_bytes {
            Some(expected_bytes) => holds(self.temp.as_name(), expected_bytes),
            None => Ok(self.temp.digest()? == Some(expected)),
        };
        // A backup link was looked at before.
        if self.backup_link.is_none() && !is_expected()? {
            return Err(WriteError::Changed);
        }
        Ok(Some(self.displaced_file(self.displaced_temp(), expected, DisplacedOwner::User)))
    }

    fn install_new(&mut self) -> Result<(), WriteError> {
        match syscalls::rename_noreplace_or_link(self.syscalls.as_ref(), self.temp.as_name(), self.target()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(WriteError::Changed),
            renamed => self.note_installed(renamed),
        }
    }

    /// The file takes the place of the temp file, and is looked at there.
    fn install_removal(&mut self) -> Result<(), WriteError> {
        let renamed = self.syscalls.rename(self.target(), self.temp.as_name());
        self.note_installed(renamed)
    }

    /// The two names change places.
    fn install_by_exchange(&mut self, expected: Digest) -> Result<(), WriteError> {
        match self.syscalls.exchange(self.temp.as_name(), self.target()) {
            Err(error) if is_unsupported(&error) => self.install_by_rename(expected),
            exchanged => self.note_installed(exchanged),
        }
    }

    fn note_installed(&mut self, renamed: io::Result<()>) -> Result<(), WriteError> {
        match renamed {
            Ok(()) => {
                self.state = StagedState::Installed;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(WriteError::Changed),
            Err(error) => {
                if error.kind() == io::ErrorKind::CrossesDevices {
                    self.staging.refuse(&self.root, &self.target_directory.parent);
                }
                Err(error.into())
            }
        }
    }

    /// Without exchange: the old file gets a second name first, so that it is not lost with the first one.
    fn install_by_rename(&mut self, expected: Digest) -> Result<(), WriteError> {
        let backup_link = TempFile { name: self.temp.name.sibling(), ..self.temp.clone() };
        self.syscalls.link(self.target(), backup_link.as_name())?;
        let replaced = match backup_link.digest() {
            Ok(Some(digest)) if digest == expected => {
                self.syscalls.rename(self.temp.as_name(), self.target()).map_err(WriteError::from)
            }
            Ok(_) => Err(WriteError::Changed),
            Err(error) => Err(error),
        };
        match replaced {
            Ok(()) => {
                self.state = StagedState::Installed;
                self.backup_link = Some(backup_link.name);
                Ok(())
            }
            Err(error) => {
                let _ = self.syscalls.remove(backup_link.directory.as_fd(), backup_link.name.as_os_str());
                Err(error)
            }
        }
    }

    /// Under which name the old file is found after the rename.
    fn displaced_temp(&self) -> TempFile {
        let name = self.backup_link.as_ref().unwrap_or(&self.temp.name).clone();
        TempFile { name, ..self.temp.clone() }
    }

    fn displaced_file(&self, temp: TempFile, digest: Digest, owner: DisplacedOwner) -> DisplacedFile {
        let (parent, name, created) = (Arc::clone(&self.target_directory.parent), self.name.clone(), Vec::new());
        DisplacedFile { temp, parent, name, digest, owner, created, mark: None }
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

    /// One attempt to undo [`Self::install`], whoever has installed it.
    pub(super) fn try_to_roll_back(&self) -> io::Result<()> {
        let (temp, target) = (self.temp.as_name(), self.target());
        match (self.old, &self.backup_link) {
            (Expected::Absent, _) => self.syscalls.rename(target, temp),
            (Expected::Content(_), _) if self.is_removal => {
                match syscalls::rename_noreplace_or_link(self.syscalls.as_ref(), temp, target) {
                    // Somebody has made another one: that is the one that is meant now.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                    done => done,
                }
            }
            (Expected::Content(_), None) => self.syscalls.exchange(temp, target),
            (Expected::Content(_), Some(_)) => {
                let _ = self.syscalls.link(target, temp);
                self.syscalls.rename(self.displaced_temp().as_name(), target)
            }
        }
    }

    /// Whether nothing of it is in place, as far as we know.
    pub(super) fn is_undone(&self) -> bool {
        matches!(self.state, StagedState::Staged | StagedState::RolledBack)
    }

    pub(super) fn is_installed(&self) -> bool {
        self.state == StagedState::Installed
    }

    /// Its outcome is unknown: everything stays as it is, for recovery to decide.
    pub(super) fn leave_to_recovery(&mut self) {
        self.state = StagedState::Undecided;
    }

    /// What was rolled back, for the archiver.
    pub(super) fn into_displaced(mut self) -> Option<DisplacedFile> {
        if self.state != StagedState::RolledBack {
            return None;
        }
        let created = std::mem::take(&mut self.target_directory.created);
        let displaced = self.displaced_file(self.temp.clone(), self.new, DisplacedOwner::Trellis);
        Some(DisplacedFile { created, ..displaced })
    }

    /// The new names are on the disk when this returns. Of the staging directory's, only the place to which a file
    /// went must be: everything else can be told from the target.
    pub(super) fn sync_directory(&self) -> io::Result<()> {
        if self.is_removal && self.temp.staged_in == StagedIn::Staging {
            self.syscalls.fsync_directory(self.temp.directory.as_fd())?;
        }
        self.target_directory.sync(self.syscalls.as_ref())
    }

    /// Whether the way to the target still leads to the directory in which we wrote.
    pub(super) fn directory_is_still_there(&self, target: &WriteTarget) -> Result<bool, ReadError> {
        let here = target.root.open_directory(target.path.split_parent().0)?;
        let number = |directory: &OwnedFd| rustix::fs::fstat(directory).map(|stat| (stat.st_dev, stat.st_ino));
        Ok(number(&here).is_ok_and(|here| number(&self.target_directory.parent).is_ok_and(|parent| here == parent)))
    }
}

/// What recovery asks of a file that it has reopened.
impl StagedFile {
    /// Whether the rename has happened.
    pub(super) fn evidence(&self) -> Result<RenameEvidence, WriteError> {
        if self.old_digest() == Some(self.new) {
            return Ok(RenameEvidence::Same);
        }
        match self.temp.digest()? {
            Some(digest) if digest == self.new && !self.is_linked() => Ok(RenameEvidence::Before),
            // What lies there was displaced.
            Some(_) => Ok(RenameEvidence::After),
            None => self.evidence_of_target(),
        }
    }

    /// A temp file that is gone proves nothing: the target tells. Text of somebody else came after ours if the name of
    /// the temp file is known to have been on the disk.
    fn evidence_of_target(&self) -> Result<RenameEvidence, WriteError> {
        let is_others = match digest_of(self.target()) {
            Err(WriteError::Read(ReadError::SymlinkRefused | ReadError::NotRegular | ReadError::IsDirectory)) => true,
            Err(WriteError::Io(error)) if error.kind() == io::ErrorKind::IsADirectory => true,
            Err(error) => return Err(error),
            Ok(there) if there == (!self.is_removal).then_some(self.new) => return Ok(RenameEvidence::After),
            Ok(there) => there != self.old_digest(),
        };
        let is_after = is_others && self.name_is_synced;
        Ok(if is_after { RenameEvidence::After } else { RenameEvidence::Unclear })
    }

    /// Where a new file cannot be renamed into place it gets a second name, and then loses the first.
    fn is_linked(&self) -> bool {
        let number = |name: NameIn<'_>| {
            let metadata = open(name).ok()??.metadata().ok()?;
            Some((metadata.dev(), metadata.ino()))
        };
        let there = number(self.target());
        there.is_some() && there == number(self.temp.as_name())
    }

    /// Whether it could change back as if nothing had happened.
    pub(super) fn can_roll_back(&self) -> Result<bool, WriteError> {
        let (temp, target) = (self.temp.digest()?, digest_of(self.target())?);
        if self.is_removal {
            return Ok(target.is_none() && temp == self.old_digest());
        }
        let is_new_twice = || !self.replaces() && self.is_linked();
        Ok(target == Some(self.new) && (temp == self.old_digest() || is_new_twice()))
    }

    /// Whether there was a text before.
    pub(super) fn replaces(&self) -> bool {
        self.old != Expected::Absent
    }

    /// Puts the new text in place, whoever is there: what is displaced becomes a conflict copy.
    pub(super) fn force_install(&mut self) -> Result<(), WriteError> {
        let (temp, target) = (self.temp.as_name(), self.target());
        match digest_of(target)? {
            // What marks the place is swept.
            None if self.is_removal => {}
            Some(_) if self.is_removal => self.syscalls.rename(target, temp)?,
            None => syscalls::rename_noreplace_or_link(self.syscalls.as_ref(), temp, target)?,
            Some(_) => self.syscalls.exchange(temp, target)?,
        }
        Ok(())
    }

    /// What lies under the temp name in the end, for the archive.
    pub(super) fn remains(&self) -> Result<Option<DisplacedFile>, WriteError> {
        let temp = self.displaced_temp();
        let (digest, owner) = match (temp.digest()?, self.old_digest()) {
            (None, _) => return Ok(None),
            (Some(there), Some(old)) if there == old => (old, DisplacedOwner::User),
            // Anything but the new text is somebody's words.
            _ => (self.new, DisplacedOwner::Trellis),
        };
        Ok(Some(self.displaced_file(temp, digest, owner)))
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if self.state == StagedState::Staged {
            let _ = self.syscalls.remove(self.temp.directory.as_fd(), self.temp.name.as_os_str());
            remove_created(&self.target_directory.created, self.syscalls.as_ref());
        }
    }
}

/// A regular file for reading; none if there is nothing.
fn open(place: NameIn<'_>) -> Result<Option<File>, WriteError> {
    match super::confine::open_entry(place.directory, place.name) {
        Ok(file) => Ok(Some(File::from(file))),
        Err(ReadError::Missing) => Ok(None),
        Err(read_error) => Err(read_error.into()),
    }
}

fn is_in(file: &File, state: FileStamp) -> bool {
    file.metadata().is_ok_and(|metadata| FileStamp::of(&metadata) == state)
}

/// Whether a file holds exactly these bytes.
fn holds(place: NameIn<'_>, bytes: &[u8]) -> Result<bool, WriteError> {
    let Some(mut file) = open(place)? else { return Ok(false) };
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
fn digest_of(place: NameIn<'_>) -> Result<Option<Digest>, WriteError> {
    let Some(mut file) = open(place)? else { return Ok(None) };
    Ok(Some(Digest::read(&mut file)?))
}
