//! Recovery after a crash: rolls unfinished writes forward or back, then removes stale temp files.
//!
//! The journal says which writes may be unfinished; what lies in their files decides. Writes in different trees are
//! recovered apart, so that a disk that does not answer holds up nobody else.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::displaced::{ConflictCallback, DisplacedFile, DisplacedOwner, archive};
use super::journal::{JournalFile, JournalRecord};
use super::staged_file::{RenameEvidence, StagedFile, TempFile, WriteError};
use super::staging::StagedIn;
use super::syscalls::WriteSyscalls;
use super::writer::{AtomicWriter, TreeLock};
use super::{DaemonId, Digest, EntryKind, ReadError, RelativePath, RootDir, SymlinkPolicy, TempName};
use crate::clock;

/// Temp files of a daemon that we do not know may belong to one that lives; older ones do not.
const FOREIGN_TEMP_AGE: Duration = Duration::from_secs(60);
/// Entries whose answers may still be asked for.
const ANSWER_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// A write that was cut off longer ago than this, and that nobody has asked for again, is not carried out.
const CLAIM_PERIOD: Duration = Duration::from_secs(10 * 60);
/// A write that could not be brought to an end is not tried for ever.
const RECOVERY_RETRY_PERIOD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What became of the writes of earlier daemons, for those who ask again. Oldest first.
#[derive(Debug, Default)]
pub struct Recovered {
    /// They have happened, with the answer that they have.
    pub applied: Vec<JournalRecord>,
    /// Nobody can tell: the files cannot be reached, or say nothing.
    pub unknown: Vec<JournalRecord>,
    /// They were cut off too long ago to be carried out.
    pub rolled_back: Vec<JournalRecord>,
    /// Those of which nothing lies around any more, by their names.
    pub(crate) finished: Vec<String>,
    /// What is still to be done about one of them could not be told to our own journal.
    pub(crate) is_incomplete: bool,
}

/// What earlier daemons have left in the journal.
#[derive(Debug, Default)]
pub struct UnfinishedWrites {
    /// What is known without a look at any tree.
    pub known: Recovered,
    /// Writes whose files must be looked at.
    pub groups: Vec<RecoveryGroup>,
}

/// Cut-off writes in trees that have to do with each other; those of other groups are in other trees. Oldest first.
#[derive(Debug)]
pub struct RecoveryGroup {
    roots: HashSet<PathBuf>,
    writes: Vec<CutOffWrite>,
    /// In milliseconds of the epoch.
    now: i64,
}

#[derive(Debug)]
struct CutOffWrite {
    record: JournalRecord,
    /// A record says that it did not happen.
    is_aborted: bool,
    /// Of each file: whether a later write has found the new text there.
    is_seen: Vec<bool>,
}

/// Opens the journal in a directory, and reads what earlier daemons had begun. No tree is touched.
pub fn open(
    directory: &Path,
    syscalls: &Arc<dyn WriteSyscalls>,
    on_conflict: &Arc<ConflictCallback>,
    now: i64,
) -> io::Result<(AtomicWriter, UnfinishedWrites)> {
    let writer = AtomicWriter::new(directory, DaemonId::random(), Arc::clone(syscalls), Arc::clone(on_conflict))?;
    let unfinished = UnfinishedWrites::read(&writer, now)?;
    Ok((writer, unfinished))
}

/// Opens the journal in a directory and brings to an end what earlier daemons had begun.
pub fn open_and_recover(
    directory: &Path,
    syscalls: &Arc<dyn WriteSyscalls>,
    on_conflict: &Arc<ConflictCallback>,
    now: i64,
) -> io::Result<(AtomicWriter, Recovered)> {
    let (writer, unfinished) = open(directory, syscalls, on_conflict, now)?;
    let mut recovered = unfinished.known;
    for group in unfinished.groups {
        recovered.add(group.recover(&writer, on_conflict.as_ref()));
    }
    finish(&writer, &recovered)?;
    Ok((writer, recovered))
}

/// When all groups are recovered: nobody needs to go through the journals of earlier daemons again.
pub fn finish(writer: &AtomicWriter, recovered: &Recovered) -> io::Result<()> {
    // What could not be told to our own journal must stay in the old one, and the rest with it.
    if recovered.is_incomplete {
        recovered.note_finished(writer);
    } else {
        writer.journal().mark_recovered()?;
    }
    Ok(())
}

impl UnfinishedWrites {
    fn read(writer: &AtomicWriter, now: i64) -> io::Result<Self> {
        let journal = writer.journal();
        let (settled, unsettled) = (journal.recovered(ANSWER_TTL)?, journal.unrecovered()?);
        let all = || settled.iter().chain(&unsettled);
        let aborted: HashSet<String> = all().filter_map(|record| record.aborts.clone()).collect();
        let finished: HashSet<String> = all().flat_map(|record| record.finished.iter().cloned()).collect();
        let seen = last_sightings(&unsettled);
        // One that could not be brought to an end stands in the journal again.
        let again: HashSet<String> =
            unsettled.iter().filter_map(|record| record.write_name().map(str::to_owned)).collect();
        let mut read = Self::default();
        for record in settled {
            let name = record.write_name();
            if name.is_some_and(|name| !aborted.contains(name) && !again.contains(name)) {
                read.known.applied.push(record);
            }
        }
        let mut met = HashSet::new();
        for (place, record) in unsettled.into_iter().enumerate() {
            let Some(name) = record.write_name().map(str::to_owned) else { continue };
            let is_aborted = aborted.contains(&name);
            let is_finished = finished.contains(&name);
            if !met.insert(name) {
                continue;
            }
            match (is_finished, is_aborted) {
                (true, true) => {}
                (true, false) => read.known.applied.push(record),
                (false, _) => {
                    writer.keep_for_recovery(&record);
                    let is_later =
                        |file: &JournalFile| seen.get(&sighting(file, file.new)).is_some_and(|at| *at > place);
                    let is_seen = record.files.iter().map(is_later).collect();
                    read.add(CutOffWrite { record, is_aborted, is_seen }, now);
                }
            }
        }
        Ok(read)
    }

    /// Writes that have a tree in common are in one group.
    fn add(&mut self, write: CutOffWrite, now: i64) {
        let roots = || write.record.files.iter().map(|file| file.root.clone());
        let touches =
            |group: &mut RecoveryGroup| write.record.files.iter().any(|file| group.roots.contains(&file.root));
        let mut met = self.groups.extract_if(.., touches);
        let mut group = met.next().unwrap_or_else(|| RecoveryGroup { roots: HashSet::new(), writes: Vec::new(), now });
        for other in met {
            group.roots.extend(other.roots);
            group.writes.extend(other.writes);
            group.writes.sort_by_key(|write| write.record.at);
        }
        group.roots.extend(roots());
        group.writes.push(write);
        self.groups.push(group);
    }
}

/// A text that a write has found in a file.
type Sighting = (PathBuf, Option<Digest>);

fn sighting(file: &JournalFile, digest: Digest) -> Sighting {
    (file.root.join(&file.path), (!file.is_removal).then_some(digest))
}

/// What each write had found before it changed it, and the place of the last that did.
fn last_sightings(records: &[JournalRecord]) -> HashMap<Sighting, usize> {
    let files =
        records.iter().enumerate().flat_map(|(place, record)| record.files.iter().map(move |file| (place, file)));
    files.map(|(place, file)| ((file.root.join(&file.path), file.old), place)).collect()
}

impl Recovered {
    /// Separates the answers from what the journal needs to know.
    pub fn split(self) -> (Self, Self) {
        let left = Self { finished: self.finished, is_incomplete: self.is_incomplete, ..Self::default() };
        (Self { finished: Vec::new(), ..self }, left)
    }

    /// Tells the next daemon not to look at them again, if it finds their records.
    pub fn note_finished(&self, writer: &AtomicWriter) {
        self.finished.iter().for_each(|name| drop(writer.mark(name, None)));
    }

    /// Takes over what became of other writes.
    pub fn add(&mut self, other: Self) {
        self.applied.extend(other.applied);
        self.unknown.extend(other.unknown);
        self.rolled_back.extend(other.rolled_back);
        self.finished.extend(other.finished);
        self.is_incomplete |= other.is_incomplete;
    }
}

impl RecoveryGroup {
    pub fn records(&self) -> impl Iterator<Item = &JournalRecord> + Clone {
        self.writes.iter().map(|write| &write.record)
    }

    /// Brings all of it to an end.
    pub fn recover(&self, writer: &AtomicWriter, on_conflict: &ConflictCallback) -> Recovered {
        let recovery = Recovery { writer, on_conflict, now: self.now };
        let mut recovered = Recovered::default();
        for write in &self.writes {
            let record = write.record.clone();
            match recovery.recover(write) {
                Ok((outcome, is_tidy)) => {
                    recovered.finished.extend(is_tidy.then(|| record.write_name().map(str::to_owned)).flatten());
                    match outcome {
                        RecoveryOutcome::Applied => recovered.applied.push(record),
                        RecoveryOutcome::NotApplied => {}
                        RecoveryOutcome::RolledBack => recovered.rolled_back.push(record),
                        RecoveryOutcome::Unknown => recovered.unknown.push(record),
                    }
                }
                Err(error) => {
                    tracing::error!(?error, "a write of an earlier daemon could not be brought to an end");
                    recovered.is_incomplete |= writer.journal().append(&record).is_err();
                    recovered.unknown.push(record);
                }
            }
        }
        recovered
    }

    /// Puts it into our own journal, because its disk does not answer: the next daemon goes on with it.
    pub fn carry_over(&self, writer: &AtomicWriter) -> Recovered {
        let mut is_incomplete = false;
        for CutOffWrite { record, is_aborted, .. } in &self.writes {
            let abort = is_aborted.then(|| record.write_name().map(JournalRecord::abort)).flatten();
            let mut records = std::iter::once(record).chain(&abort);
            is_incomplete |= records.any(|record| writer.journal().append(record).is_err());
        }
        Recovered { is_incomplete, ..Recovered::default() }
    }
}

/// How a write ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecoveryOutcome {
    Applied,
    NotApplied,
    /// Not applied, because nobody has asked for it in time.
    RolledBack,
    Unknown,
}

/// What recovery takes.
struct Recovery<'a> {
    writer: &'a AtomicWriter,
    on_conflict: &'a ConflictCallback,
    now: i64,
}

/// A file of a record, and what the disk says about its rename.
struct CutOffFile {
    staged: StagedFile,
    evidence: RenameEvidence,
}

impl Recovery<'_> {
    /// The outcome, and whether nothing is left to be done. An error means that the next daemon may try again.
    fn recover(&self, write: &CutOffWrite) -> Result<(RecoveryOutcome, bool), WriteError> {
        let CutOffWrite { record, is_aborted, is_seen } = write;
        let is_older_than = |age: Duration| record.at < self.now - age.as_millis() as i64;
        let (mut files, mut missing) = (Vec::new(), Vec::new());
        for (file, is_seen) in record.files.iter().zip(is_seen) {
            let reopened = StagedFile::reopen(&self.writer.staging, file);
            match reopened.and_then(|staged| CutOffFile::new(staged, *is_seen)) {
                Ok(file) => files.push(file),
                Err(WriteError::Read(ReadError::Missing | ReadError::TreeMissing)) => missing.push(file),
                Err(_) if is_older_than(RECOVERY_RETRY_PERIOD) => missing.push(file),
                Err(error) => return Err(error),
            }
        }
        let roots: Vec<Arc<RootDir>> = files.iter().map(|file| Arc::clone(&file.staged.root)).collect();
        let _alone = TreeLock::acquire(roots.iter().map(Arc::as_ref));
        let outcome = match () {
            () if *is_aborted => undo_aborted(&files)?,
            () if !missing.is_empty() => self.outcome_without_directory(&mut files, &missing)?,
            () => outcome(&mut files, is_older_than(CLAIM_PERIOD))?,
        };
        let journal = self.writer.journal();
        let name = record.write_name().unwrap_or_default();
        match outcome {
            // The answer will be given again: what it says must last.
            RecoveryOutcome::Applied => files.iter().try_for_each(|file| file.staged.sync_directory())?,
            // The next daemon shall say so, too.
            RecoveryOutcome::Unknown if !is_older_than(ANSWER_TTL) => journal.append(record)?,
            // Told before the temp files go: without them nobody could tell.
            _ if !is_aborted => journal.append(&JournalRecord::abort(name))?,
            _ => {}
        }
        let remains = files.iter().try_for_each(|file| self.archive_remains(&file.staged));
        let put_away = remains.and_then(|()| missing.iter().try_for_each(|file| self.archive_staged(file)));
        match put_away {
            Ok(()) => Ok((outcome, outcome != RecoveryOutcome::Unknown)),
            Err(error) => {
                // The end is the same; what lies under a temp name may be somebody's words and waits for the next daemon.
                tracing::warn!(?error, "an old text could not be put away");
                journal.append(record)?;
                Ok((outcome, false))
            }
        }
    }

    /// A directory of a write is gone, with whatever was in it. New texts that still lie in the staging directory have
    /// never been there: then it did not happen, if the rest can be taken back. Else the other files stay as they are.
    fn outcome_without_directory(
        &self,
        files: &mut [CutOffFile],
        missing: &[&JournalFile],
    ) -> Result<RecoveryOutcome, WriteError> {
        let after = files.iter_mut().filter(|file| file.evidence == RenameEvidence::After);
        let after: Vec<&mut StagedFile> = after.map(|file| &mut file.staged).collect();
        let is_staged =
            |file: &&JournalFile| Ok(self.staged_digest(file)?.is_some_and(|(_, digest)| digest == file.new));
        let all_are_staged = missing.iter().map(is_staged).collect::<Result<Vec<bool>, WriteError>>()?;
        if all_are_staged.iter().all(|is_staged| *is_staged) && take_back(&after)? {
            return Ok(RecoveryOutcome::NotApplied);
        }
        Ok(if after.is_empty() { RecoveryOutcome::Unknown } else { RecoveryOutcome::Applied })
    }

    /// What lies in the staging directory of a file whose own directory is gone.
    fn staged_digest(&self, file: &JournalFile) -> Result<Option<(TempFile, Digest)>, WriteError> {
        let Some(name) = TempName::parse(&file.temp).filter(|_| file.staged_in == Some(StagedIn::Staging)) else {
            return Ok(None);
        };
        let temp = self.writer.staging.staged(name);
        Ok(temp.digest()?.map(|digest| (temp, digest)))
    }

    fn archive_staged(&self, file: &JournalFile) -> Result<(), WriteError> {
        let Some((temp, digest)) = self.staged_digest(file)? else { return Ok(()) };
        let owner = if digest == file.new { DisplacedOwner::Trellis } else { DisplacedOwner::User };
        put_away(self.writer, self.writer.staging.syscalls.as_ref(), temp, (digest, owner))?;
        Ok(())
    }

    fn archive_remains(&self, staged: &StagedFile) -> Result<(), WriteError> {
        let Some(displaced) = staged.remains()? else { return Ok(()) };
        let syscalls = self.writer.staging.syscalls.as_ref();
        Ok(archive(&displaced, self.writer.journal(), syscalls, self.on_conflict)?)
    }
}

impl CutOffFile {
    /// That a later write has found the new text there is as good as finding it.
    fn new(staged: StagedFile, is_seen: bool) -> Result<Self, WriteError> {
        let evidence = match staged.evidence()? {
            RenameEvidence::Unclear if is_seen => RenameEvidence::After,
            evidence => evidence,
        };
        Ok(Self { staged, evidence })
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
/// is there. What has not begun and is `stale` is not begun any more: who asks for it again gets it done anew.
fn outcome(files: &mut [CutOffFile], is_stale: bool) -> Result<RecoveryOutcome, WriteError> {
    let (mut before, mut after, mut is_clear) = (Vec::new(), Vec::new(), true);
    for CutOffFile { staged, evidence } in files {
        match evidence {
            RenameEvidence::Before => before.push(staged),
            RenameEvidence::After => after.push(staged),
            RenameEvidence::Same => {}
            RenameEvidence::Unclear => is_clear = false,
        }
    }
    if before.is_empty() && is_clear {
        return Ok(RecoveryOutcome::Applied);
    }
    if before.is_empty() {
        // Half of it must not stay, whatever became of the rest.
        take_back(&after)?;
        return Ok(RecoveryOutcome::Unknown);
    }
    if is_clear && !is_stale && roll_forward(&mut before)? {
        return Ok(RecoveryOutcome::Applied);
    }
    if take_back(&after)? {
        return Ok(if is_stale { RecoveryOutcome::RolledBack } else { RecoveryOutcome::NotApplied });
    }
    if !is_clear {
        return Ok(RecoveryOutcome::Unknown);
    }
    before.iter_mut().try_for_each(|staged| staged.force_install())?;
    Ok(RecoveryOutcome::Applied)
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
                let mut installed = before[..=place].iter().rev().filter(|staged| staged.is_installed());
                installed.try_for_each(|staged| staged.try_to_roll_back())?;
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

/// The write never happened, and the call runs again on what is there now. False if not all of it can be taken back.
fn take_back(after: &[&mut StagedFile]) -> Result<bool, WriteError> {
    for staged in after {
        if !staged.can_roll_back()? {
            return Ok(false);
        }
    }
    after.iter().try_for_each(|staged| staged.try_to_roll_back())?;
    Ok(true)
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
    for (_, name) in temp_files(staging) {
        if name.is_from(writer.id()) || writer.is_kept_for_recovery(&name) {
            continue;
        }
        let temp = writer.staging.staged(name);
        let Ok(Some(digest)) = temp.digest() else { continue };
        let is_empty_or_mark = [&b""[..], temp.name.as_str().as_bytes()].map(Digest::of).contains(&digest);
        let owner = if is_empty_or_mark { DisplacedOwner::Trellis } else { DisplacedOwner::User };
        if let Err(error) = put_away(writer, syscalls, temp, (digest, owner)) {
            tracing::warn!(%error, "a file of an earlier daemon could not be put away");
        }
    }
}

/// Archives a text of which only the staging directory knows.
fn put_away(
    writer: &AtomicWriter,
    syscalls: &dyn WriteSyscalls,
    temp: TempFile,
    (digest, owner): (Digest, DisplacedOwner),
) -> io::Result<()> {
    let (parent, name) = (Arc::clone(&temp.directory), temp.name.as_os_str().to_owned());
    let displaced = DisplacedFile { temp, parent, name, digest, owner, created: Vec::new(), mark: None };
    archive(&displaced, writer.journal(), syscalls, &|_, _| {})
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
