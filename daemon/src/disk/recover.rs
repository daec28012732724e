//! Recovery after a crash: rolls unfinished writes forward or back, then removes stale temp files.

use std::collections::HashSet;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::displaced::{ConflictCallback, archive};
use super::journal::JournalRecord;
use super::staged_file::{DisplacedFile, DisplacedOwner, RenameEvidence, StagedFile, WriteError};
use super::staging::StagedIn;
use super::syscalls::WriteSyscalls;
use super::writer::{AtomicWriter, TreeLock};
use super::{DaemonId, Digest, EntryKind, ReadError, RelativePath, RootDir, SymlinkPolicy, TempName};
use crate::clock;

/// Temp files of a daemon that we do not know may belong to one that lives; older ones do not.
const FOREIGN_TEMP_AGE: Duration = Duration::from_secs(60);
/// Entries whose answers may still be asked for.
const ANSWER_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// A write that could not be brought to an end is not tried for ever.
const RECOVERY_RETRY_PERIOD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

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
) -> io::Result<(AtomicWriter, Recovered)> {
    let writer = AtomicWriter::new(directory, DaemonId::random(), Arc::clone(syscalls), Arc::clone(on_conflict))?;
    let recovered = recover(&writer, syscalls, on_conflict.as_ref())?;
    Ok((writer, recovered))
}

/// Goes through the journal of earlier daemons.
fn recover(
    writer: &AtomicWriter,
    syscalls: &Arc<dyn WriteSyscalls>,
    on_conflict: &ConflictCallback,
) -> io::Result<Recovered> {
    let journal = writer.journal();
    let settled = journal.recovered(ANSWER_TTL)?;
    let unsettled = journal.unrecovered()?;
    let voids = settled.iter().chain(&unsettled).filter_map(|entry| entry.aborts.clone());
    let void: HashSet<String> = voids.collect();
    let is_void = |entry: &JournalRecord| entry.write_name().is_none_or(|name| void.contains(name));
    // One that could not be brought to an end stands in the journal again.
    let again: HashSet<&str> = unsettled.iter().filter_map(JournalRecord::write_name).collect();
    let is_done =
        |entry: &JournalRecord| !is_void(entry) && entry.write_name().is_none_or(|name| !again.contains(name));
    let mut recovered = Recovered { applied: settled.into_iter().filter(is_done).collect(), ..Recovered::default() };
    let mut recovery = Recovery { writer, syscalls, on_conflict, now: clock::epoch_millis() };
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
    syscalls: &'a Arc<dyn WriteSyscalls>,
    on_conflict: &'a ConflictCallback,
    now: i64,
}

/// A file of a record, and what the disk says about its rename.
struct CutOffFile {
    staged: StagedFile,
    evidence: RenameEvidence,
}

impl Recovery<'_> {
    /// An error means that the next daemon may try again.
    fn recover_record(&mut self, entry: &JournalRecord, is_void: bool) -> Result<RecoveryOutcome, WriteError> {
        let (mut files, mut missing) = (Vec::new(), false);
        for file in &entry.files {
            let reopened = StagedFile::reopen(&self.writer.staging, file);
            match reopened.and_then(|staged| Ok(CutOffFile { evidence: staged.evidence()?, staged })) {
                Ok(file) => files.push(file),
                Err(WriteError::Read(ReadError::Missing | ReadError::TreeMissing)) => missing = true,
                Err(_) if entry.at < self.now - RECOVERY_RETRY_PERIOD.as_millis() as i64 => missing = true,
                Err(error) => return Err(error),
            }
        }
        let roots: Vec<Arc<RootDir>> = files.iter().map(|file| Arc::clone(&file.staged.root)).collect();
        let _alone = TreeLock::acquire(roots.iter().map(Arc::as_ref));
        let end = match () {
            () if is_void => undo_aborted(&files)?,
            () if missing => outcome_without_directory(&files),
            () => outcome(&mut files)?,
        };
        match end {
            // The answer will be given again: what it says must last.
            RecoveryOutcome::Applied => files.iter().try_for_each(|file| file.staged.sync_directory())?,
            // Told before the temp files go: one that is gone would look like a rename.
            RecoveryOutcome::NotApplied | RecoveryOutcome::Unknown if !is_void => {
                self.writer.journal().append(&JournalRecord::abort(entry.write_name().unwrap_or_default()))?;
            }
            RecoveryOutcome::NotApplied | RecoveryOutcome::Unknown => {}
        }
        if let Err(error) = files.iter().try_for_each(|file| self.archive_remains(&file.staged)) {
            // The end is the same; what lies under a temp name may be somebody's words and waits for the next daemon.
            tracing::warn!(?error, "an old text could not be put away");
            self.writer.keep_for_recovery(entry);
            self.writer.journal().append(entry)?;
        }
        Ok(end)
    }

    fn archive_remains(&self, staged: &StagedFile) -> Result<(), WriteError> {
        let Some(displaced) = staged.remains()? else { return Ok(()) };
        Ok(archive(&displaced, self.writer.journal(), self.syscalls.as_ref(), self.on_conflict)?)
    }
}

/// It did not happen. What of it reached the disk although it was taken back goes back now; where no temp file lies any
/// more, whatever is there is somebody else's work.
fn undo_aborted(files: &[CutOffFile]) -> Result<RecoveryOutcome, WriteError> {
    for CutOffFile { staged, evidence } in files {
        if staged.replaces() && *evidence == RenameEvidence::After && staged.can_roll_back()? {
            staged.try_to_roll_back()?;
        }
    }
    Ok(RecoveryOutcome::NotApplied)
}

/// Finishes a write if all of it is as it was seen, else takes it back. What can be neither is rolled forward whoever
/// is there.
fn outcome(files: &mut [CutOffFile]) -> Result<RecoveryOutcome, WriteError> {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for CutOffFile { staged, evidence } in files {
        match evidence {
            RenameEvidence::Before => before.push(staged),
            RenameEvidence::After => after.push(staged),
            RenameEvidence::Same => {}
        }
    }
    let happened = roll_forward(&mut before)? || !undo_renames(&after, &mut before)?;
    Ok(if happened { RecoveryOutcome::Applied } else { RecoveryOutcome::NotApplied })
}

/// Finishes what is before its rename, if all of it is as it was seen. Else nothing of it is done.
fn roll_forward(before: &mut [&mut StagedFile]) -> Result<bool, WriteError> {
    for staged in &*before {
        if !staged.target_is_unchanged()? {
            return Ok(false);
        }
    }
    for place in 0..before.len() {
        let staged = &mut before[place];
        match staged.install().and_then(|()| staged.displaced(None)) {
            Ok(_) => {}
            Err(error) if is_refused(&error) => {
                let installed = before[..=place].iter().rev().filter(|staged| staged.is_installed());
                installed.map(|staged| staged.try_to_roll_back()).collect::<io::Result<()>>()?;
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Somebody else was there first, or no rename leads there any more.
fn is_refused(error: &WriteError) -> bool {
    match error {
        WriteError::Changed => true,
        WriteError::Io(error) => error.kind() == io::ErrorKind::CrossesDevices,
        _ => false,
    }
}

/// Somebody has changed a file since: the write never happened, and the call runs again on what is there now. If it
/// cannot be taken back, it is rolled forward all the same.
fn undo_renames(after: &[&mut StagedFile], before: &mut [&mut StagedFile]) -> Result<bool, WriteError> {
    for staged in after {
        if !staged.can_roll_back()? {
            before.iter_mut().try_for_each(|staged| staged.force_install())?;
            return Ok(false);
        }
    }
    after.iter().try_for_each(|staged| staged.try_to_roll_back())?;
    Ok(true)
}

/// A directory of a write is gone, with whatever was in it: the other files stay as they are.
fn outcome_without_directory(files: &[CutOffFile]) -> RecoveryOutcome {
    if files.iter().any(|file| file.evidence == RenameEvidence::After) {
        RecoveryOutcome::Applied
    } else {
        RecoveryOutcome::Unknown
    }
}

/// Puts away what earlier daemons left: in the staging directory, and in the directories in which they staged beside a
/// target. No tree is walked.
pub fn sweep(writer: &AtomicWriter, syscalls: &dyn WriteSyscalls) {
    if let Ok(staging) = RootDir::open(writer.staging.path()) {
        sweep_staging(&staging, writer, syscalls);
    }
    for directory in writer.staging.beside_directories() {
        let Ok(root) = RootDir::open(&directory) else { continue };
        for (path, temp) in temp_files(&root) {
            if is_stale_temp(&root, &path, &temp, writer)
                && let Ok(directory) = root.handle()
            {
                let _ = syscalls.remove(directory.as_fd(), temp.as_os_str());
            }
        }
    }
}

/// What no record explains may be somebody's text, and is kept with the displaced ones.
fn sweep_staging(staging: &RootDir, writer: &AtomicWriter, syscalls: &dyn WriteSyscalls) {
    let Ok(directory) = staging.handle().map(Arc::new) else { return };
    for (_, name) in temp_files(staging) {
        if name.is_from(writer.id()) || writer.is_kept_for_recovery(&name) {
            continue;
        }
        let temp = writer.staging.locate(name, StagedIn::Staging, &directory);
        let Ok(Some(digest)) = temp.digest() else { continue };
        let is_empty_or_mark = [&b""[..], temp.name.as_str().as_bytes()].map(Digest::of).contains(&digest);
        let owner = if is_empty_or_mark { DisplacedOwner::Trellis } else { DisplacedOwner::User };
        let (parent, name) = (Arc::clone(&directory), temp.name.as_os_str().to_owned());
        let displaced = DisplacedFile { temp, parent, name, digest, owner, created: Vec::new() };
        if let Err(error) = archive(&displaced, writer.journal(), syscalls, &|_, _| {}) {
            tracing::warn!(%error, "a file of an earlier daemon could not be put away");
        }
    }
}

fn temp_files(directory: &RootDir) -> Vec<(RelativePath, TempName)> {
    let entries = directory.list(None, SymlinkPolicy::Refuse).unwrap_or_default();
    let files = entries.into_iter().filter(|entry| entry.kind == EntryKind::File);
    files
        .filter_map(|entry| Some((RelativePath::from_components(&entry.name)?, TempName::parse(&entry.name)?)))
        .collect()
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
