//! Recovery after a crash: rolls unfinished writes forward or back, then removes stale temp files.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::displaced::{ConflictCallback, archive};
use super::journal::{JournalFile, JournalRecord};
use super::syscalls::{self, WriteSyscalls, is_unsupported};

use super::staged_file::{DisplacedFile, DisplacedOwner, WriteError, digest_of};
use super::writer::{AtomicWriter, TreeLock};
use super::{DaemonId, Digest, EntryKind, ReadError, RelativePath, RootDir, SymlinkPolicy, TempName};
use crate::clock;

/// Temp files of a daemon that we do not know may belong to one that lives; older ones do not.
const FOREIGN_TEMP_AGE: Duration = Duration::from_secs(60);
/// A sweep looks at so many directories at most.
const SWEEP_MAX_DIRECTORIES: usize = 20_000;
/// Entries whose answers may still be asked for.
const ANSWER_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// A write that could not be brought to an end is not tried for ever.
const RECOVERY_RETRY_PERIOD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How long the journal remembers.
const JOURNAL_RETENTION_DAYS: u64 = 30;
/// How much it remembers.
const JOURNAL_RETENTION_BYTES: u64 = 256 << 20;

/// What became of the writes of earlier daemons, for those who ask again. Oldest first.
#[derive(Debug, Default)]
pub struct Recovered {
    /// They have happened, with the answer that they have.
    pub applied: Vec<JournalRecord>,
    /// Nobody can tell: the files cannot be reached.
    pub unknown: Vec<JournalRecord>,
}

/// Opens the journal in a directory and brings to an end what earlier daemons had begun.
pub fn open_and_recover(
    directory: &Path,
    syscalls: &Arc<dyn WriteSyscalls>,
    on_conflict: &Arc<ConflictCallback>,
    now: SystemTime,
) -> io::Result<(AtomicWriter, Recovered)> {
    let writer = AtomicWriter::new(directory, DaemonId::random(), Arc::clone(syscalls), Arc::clone(on_conflict))?;
    let recovered = recover(&writer, syscalls.as_ref(), on_conflict.as_ref(), now)?;
    writer.journal().prune(now, JOURNAL_RETENTION_DAYS, JOURNAL_RETENTION_BYTES)?;
    Ok((writer, recovered))
}

/// Goes through the journal of earlier daemons.
fn recover(
    writer: &AtomicWriter,
    syscalls: &dyn WriteSyscalls,
    on_conflict: &ConflictCallback,
    now: SystemTime,
) -> io::Result<Recovered> {
    let journal = writer.journal();
    let since = now.checked_sub(ANSWER_TTL).unwrap_or(std::time::UNIX_EPOCH);
    let settled = journal.recovered(since)?;
    let unsettled = journal.unrecovered()?;
    let voids = settled.iter().chain(&unsettled).filter_map(|entry| entry.aborts.clone());
    let void: HashSet<String> = voids.collect();
    let is_void = |entry: &JournalRecord| entry.write_name().is_none_or(|name| void.contains(name));
    // One that could not be brought to an end stands in the journal again.
    let again: HashSet<&str> = unsettled.iter().filter_map(JournalRecord::write_name).collect();
    let is_done =
        |entry: &JournalRecord| !is_void(entry) && entry.write_name().is_none_or(|name| !again.contains(name));
    let mut recovered = Recovered { applied: settled.into_iter().filter(is_done).collect(), ..Recovered::default() };
    let mut recovery = Recovery { writer, syscalls, on_conflict, now: clock::epoch_millis(), flushed: HashSet::new() };
    let mut may_settle = true;
    for entry in unsettled.iter().filter(|entry| entry.write_name().is_some()) {
        let end = recovery.recover_record(entry, is_void(entry)).unwrap_or_else(|error| {
            tracing::error!(?error, "a write of an earlier daemon could not be brought to an end");
            writer.keep_for_recovery(entry);
            may_settle &= journal.append(entry).is_ok();
            RecoveryOutcome::Unknown
        });
        match end {
            RecoveryOutcome::Applied => recovered.applied.push(entry.clone()),
            RecoveryOutcome::NotApplied => {}
            RecoveryOutcome::Unknown => recovered.unknown.push(entry.clone()),
        }
    }
    // What could not be told to our own journal must stay in the old one; the rest comes to the same end again.
    if may_settle {
        journal.mark_recovered()?;
    }
    Ok(recovered)
}

/// How a write ended.
enum RecoveryOutcome {
    Applied,
    NotApplied,
    Unknown,
}

/// What recovery takes.
struct Recovery<'a> {
    writer: &'a AtomicWriter,
    syscalls: &'a dyn WriteSyscalls,
    on_conflict: &'a ConflictCallback,
    now: i64,
    /// Directories that have been flushed already.
    flushed: HashSet<(u64, u64)>,
}

/// A file of an entry, with the directories on its way open, innermost last.
struct StagedRecord<'a> {
    file: &'a JournalFile,
    root: RootDir,
    temp: TempName,
    way: Vec<Arc<OwnedFd>>,
    name: String,
    state: RecordState,
}

/// How far the write of one file had come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordState {
    /// Its rename has not happened.
    Before,
    /// It has; the old text may lie under the temp name.
    After,
    /// The old and the new text are the same: nobody can tell, and nobody needs to.
    Same,
}

impl<'a> StagedRecord<'a> {
    /// [`ReadError::Missing`]: there is no such directory any more, so nothing can lie in it.
    fn new(file: &'a JournalFile) -> Result<Self, WriteError> {
        let path = RelativePath::from_components(&file.path).ok_or(ReadError::Missing)?;
        let temp = TempName::parse(&file.temp).ok_or(ReadError::Missing)?;
        let (steps, name) = path.split_parent();
        let root = RootDir::open(&file.root)?;
        let mut way = vec![Arc::new(root.handle()?)];
        for step in steps {
            let next = super::confine::open_subdirectory(way[way.len() - 1].as_fd(), OsStr::new(step))?;
            way.push(Arc::new(next));
        }
        let mut open = Self { file, root, temp, way, name: name.to_owned(), state: RecordState::Same };
        open.state = open.state()?;
        Ok(open)
    }

    fn directory(&self) -> &Arc<OwnedFd> {
        &self.way[self.way.len() - 1]
    }

    fn beside(&self) -> Result<Option<Digest>, WriteError> {
        digest_of(self.directory(), self.temp.as_os_str())
    }

    fn there(&self) -> Result<Option<Digest>, WriteError> {
        digest_of(self.directory(), OsStr::new(&self.name))
    }

    fn state(&self) -> Result<RecordState, WriteError> {
        if self.file.old == Some(self.file.new) {
            return Ok(RecordState::Same);
        }
        let is_before = self.beside()? == Some(self.file.new) && !self.is_linked();
        Ok(if is_before { RecordState::Before } else { RecordState::After })
    }

    /// Where a new file cannot be renamed into place it gets a second name, and then loses the first.
    fn is_linked(&self) -> bool {
        let number = |name: &OsStr| {
            let file = super::confine::open_entry(self.directory().as_fd(), name).ok()?;
            let metadata = std::fs::File::from(file).metadata().ok()?;
            Some((metadata.dev(), metadata.ino()))
        };
        let there = number(OsStr::new(&self.name));
        there.is_some() && there == number(self.temp.as_os_str())
    }

    fn is_as_expected(&self) -> Result<bool, WriteError> {
        Ok(self.there()? == self.file.old)
    }

    /// Whether it could change back as if nothing had happened.
    fn can_roll_back(&self) -> Result<bool, WriteError> {
        let (beside, there) = (self.beside()?, self.there()?);
        if self.file.is_removal {
            return Ok(there.is_none() && beside == self.file.old);
        }
        Ok(there == Some(self.file.new) && (beside == self.file.old || self.is_linked()))
    }

    /// Puts the new text in place. With `Ok(false)` somebody else was there first, and is there still.
    fn finish(&self, syscalls: &dyn WriteSyscalls) -> Result<bool, WriteError> {
        let (directory, temp, name) = (self.directory().as_fd(), self.temp.as_os_str(), OsStr::new(&self.name));
        let Some(old) = self.file.old else {
            return match syscalls::rename_noreplace_or_link(syscalls, directory, temp, name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                done => Ok(done.map(|()| true)?),
            };
        };
        let done = if self.file.is_removal {
            syscalls.rename(directory, name, temp)
        } else {
            syscalls.exchange(directory, temp, name)
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) if is_unsupported(&error) => {
                // The old file stays under another name of ours, for the sweep.
                syscalls.link(directory, name, self.temp.sibling().as_os_str())?;
                return Ok(syscalls.rename(directory, temp, name).map(|()| true)?);
            }
            done => done?,
        }
        if matches!(self.beside(), Ok(Some(digest)) if digest == old) {
            return Ok(true);
        }
        self.roll_back(syscalls)?;
        Ok(false)
    }

    /// The same, whoever is there: what is displaced becomes a conflict copy.
    fn force_install(&self, syscalls: &dyn WriteSyscalls) -> Result<(), WriteError> {
        let (directory, temp, name) = (self.directory().as_fd(), self.temp.as_os_str(), OsStr::new(&self.name));
        match self.there()? {
            // What marks the place is swept.
            None if self.file.is_removal => {}
            Some(_) if self.file.is_removal => syscalls.rename(directory, name, temp)?,
            None => syscalls::rename_noreplace_or_link(syscalls, directory, temp, name)?,
            Some(_) => syscalls.exchange(directory, temp, name)?,
        }
        Ok(())
    }

    fn roll_back(&self, syscalls: &dyn WriteSyscalls) -> Result<(), WriteError> {
        let (directory, temp, name) = (self.directory().as_fd(), self.temp.as_os_str(), OsStr::new(&self.name));
        match self.file.old {
            Some(_) if self.file.is_removal => syscalls::rename_noreplace_or_link(syscalls, directory, temp, name)?,
            Some(_) => syscalls.exchange(directory, temp, name)?,
            None => syscalls.rename(directory, name, temp)?,
        }
        Ok(())
    }

    /// What lies under the temp name in the end goes where it belongs.
    fn archive_remains(&self, recovery: &Recovery<'_>) -> Result<(), WriteError> {
        let (digest, owner) = match (self.beside()?, self.file.old) {
            (None, _) => return Ok(()),
            (Some(beside), Some(old)) if beside == old => (old, DisplacedOwner::User),
            // Anything but the new text is somebody's words.
            _ => (self.file.new, DisplacedOwner::Trellis),
        };
        let (parent, temp, name) = (Arc::clone(self.directory()), self.temp.clone(), self.name.clone().into());
        let displaced = DisplacedFile { parent, temp, name, digest, owner, created: Vec::new() };
        Ok(archive(&displaced, recovery.writer.journal(), recovery.syscalls, recovery.on_conflict)?)
    }
}

impl Recovery<'_> {
    /// An error means that the next daemon may try again.
    fn recover_record(&mut self, entry: &JournalRecord, is_void: bool) -> Result<RecoveryOutcome, WriteError> {
        let (mut files, mut missing) = (Vec::new(), false);
        for file in &entry.files {
            match StagedRecord::new(file) {
                Ok(open) => files.push(open),
                Err(WriteError::Read(ReadError::Missing | ReadError::TreeMissing)) => missing = true,
                Err(_) if entry.at < self.now - RECOVERY_RETRY_PERIOD.as_millis() as i64 => missing = true,
                Err(error) => return Err(error),
            }
        }
        let _alone = TreeLock::acquire(files.iter().map(|file| &file.root));
        let end = match () {
            () if is_void => self.undo_aborted(&files)?,
            () if missing => outcome_without_directory(&files),
            () => self.outcome(&files)?,
        };
        match end {
            RecoveryOutcome::Applied => self.flush(&files)?,
            // Told before the temp files go: one that is gone would look like a rename.
            RecoveryOutcome::NotApplied | RecoveryOutcome::Unknown if !is_void => {
                self.writer.journal().append(&JournalRecord::abort(entry.write_name().unwrap_or_default()))?;
            }
            RecoveryOutcome::NotApplied | RecoveryOutcome::Unknown => {}
        }
        if let Err(error) = files.iter().try_for_each(|file| file.archive_remains(self)) {
            // The end is the same; what lies under a temp name may be somebody's words and waits for the next daemon.
            tracing::warn!(?error, "an old text could not be put away");
            self.writer.keep_for_recovery(entry);
            self.writer.journal().append(entry)?;
        }
        Ok(end)
    }

    /// It did not happen. What of it reached the disk although it was taken back goes back now; where no temp
    /// file lies any more, whatever is there is somebody else's work.
    fn undo_aborted(&self, files: &[StagedRecord<'_>]) -> Result<RecoveryOutcome, WriteError> {
        for file in files {
            if file.file.old.is_some() && file.state == RecordState::After && file.can_roll_back()? {
                file.roll_back(self.syscalls)?;
            }
        }
        Ok(RecoveryOutcome::NotApplied)
    }

    fn outcome(&self, files: &[StagedRecord<'_>]) -> Result<RecoveryOutcome, WriteError> {
        let (before, others): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.state == RecordState::Before);
        let after: Vec<&StagedRecord<'_>> =
            others.into_iter().filter(|file| file.state == RecordState::After).collect();
        let happened = self.roll_forward(&before)? || !self.undo_renames(&after, &before)?;
        Ok(if happened { RecoveryOutcome::Applied } else { RecoveryOutcome::NotApplied })
    }

    /// Finishes what is before its rename, if all of it is as it was seen. Else nothing of it is done.
    fn roll_forward(&self, before: &[&StagedRecord<'_>]) -> Result<bool, WriteError> {
        for file in before {
            if !file.is_as_expected()? {
                return Ok(false);
            }
        }
        for (place, file) in before.iter().enumerate() {
            if !file.finish(self.syscalls)? {
                for done in &before[..place] {
                    done.roll_back(self.syscalls)?;
                }
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Somebody has changed a file since: the write never happened, and the call runs again on what is there
    /// now. If it cannot be taken back, it is rolled forward all the same.
    fn undo_renames(&self, after: &[&StagedRecord<'_>], before: &[&StagedRecord<'_>]) -> Result<bool, WriteError> {
        for file in after {
            if !file.can_roll_back()? {
                before.iter().try_for_each(|file| file.force_install(self.syscalls))?;
                return Ok(false);
            }
        }
        after.iter().try_for_each(|file| file.roll_back(self.syscalls))?;
        Ok(true)
    }

    /// The answer will be given again: what it says must last.
    fn flush(&mut self, files: &[StagedRecord<'_>]) -> Result<(), WriteError> {
        for directory in files.iter().flat_map(|file| &file.way).rev() {
            let stat = rustix::fs::fstat(directory).map_err(io::Error::from)?;
            if self.flushed.insert((stat.st_dev, stat.st_ino)) {
                self.syscalls.fsync_directory(directory.as_fd())?;
            }
        }
        Ok(())
    }
}

/// A directory of a write is gone, with whatever was in it: the other files stay as they are.
fn outcome_without_directory(files: &[StagedRecord<'_>]) -> RecoveryOutcome {
    if files.iter().any(|file| file.state == RecordState::After) {
        RecoveryOutcome::Applied
    } else {
        RecoveryOutcome::Unknown
    }
}

/// Removes temp files of earlier daemons wherever something was ever written.
pub fn sweep(writer: &AtomicWriter, syscalls: &dyn WriteSyscalls) {
    for tree in writer.trees() {
        if let Ok(root) = RootDir::open(&tree) {
            sweep_tree(&root, writer, syscalls);
        }
    }
}

fn sweep_tree(root: &RootDir, writer: &AtomicWriter, syscalls: &dyn WriteSyscalls) {
    let mut waiting: Vec<Option<RelativePath>> = vec![None];
    let mut looked = 0;
    while let Some(path) = waiting.pop() {
        looked += 1;
        if looked > SWEEP_MAX_DIRECTORIES {
            return;
        }
        let Ok(entries) = root.list(path.as_ref(), SymlinkPolicy::Refuse) else { continue };
        for entry in entries {
            let below =
                path.as_ref().map_or_else(|| RelativePath::from_components(&entry.name), |path| path.join(&entry.name));
            match (entry.kind, below, TempName::parse(&entry.name)) {
                (EntryKind::Directory, Some(below), _) => waiting.push(Some(below)),
                (EntryKind::File, Some(below), Some(temp)) if is_stale_temp(root, &below, &temp, writer) => {
                    remove(root, path.as_ref(), &temp, syscalls);
                }
                _ => {}
            }
        }
    }
}

fn is_stale_temp(root: &RootDir, path: &RelativePath, temp: &TempName, writer: &AtomicWriter) -> bool {
    if temp.is_from(writer.id()) || writer.is_kept_for_recovery(temp) {
        return false;
    }
    // Since its last rename: a displaced text is as old as it was under its own name.
    let now = i128::from(clock::epoch_millis()) * 1_000_000;
    let since = now - FOREIGN_TEMP_AGE.as_nanos() as i128;
    let is_old = || root.open_file(path, SymlinkPolicy::Refuse).is_ok_and(|file| file.stamp().changed_ns < since);
    writer.is_of_earlier_daemon(temp) || is_old()
}

fn remove(root: &RootDir, directory: Option<&RelativePath>, temp: &TempName, syscalls: &dyn WriteSyscalls) {
    if let Ok(directory) = root.open_directory(directory.into_iter().flat_map(RelativePath::parts)) {
        let _ = syscalls.remove(directory.as_fd(), temp.as_os_str());
    }
}
