//! The all-or-nothing writer of users' files: fsync temp files → fsync journal → rename → fsync directories. Only
//! then may a write be acknowledged.
//!
//! Several files are written all or not at all: if one of them is not what was expected, those that were already
//! renamed are renamed back. Only then the journal records the abort, and only then the temp files are removed:
//! whenever we are interrupted, what is on the disk says how far the write had come.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use dashmap::{DashMap, DashSet};
use parking_lot::Mutex;
use rayon::{ThreadPool, ThreadPoolBuilder};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::displaced::{ConflictCallback, DisplacedArchiver, DisplacedFile, FinishedMark};
use super::journal::{CallId, ChangeRecord, Journal, JournalRecord, JournalRetention, RecordTicket, RecordedAnswer};
use super::staged_file::{StagedFile, WriteError, WriteTarget};
use super::staging::StagingArea;
use super::syscalls::WriteSyscalls;
use super::target_directory::{CreatedDirectories, make_directories, remove_created};
use super::{DaemonId, Digest, Expected, FileStamp, RootDir, TempName};
use crate::{clock, state_files};

/// A file younger than this may be half-written by an editor that truncates and writes.
const HALF_WRITTEN_AGE: Duration = Duration::from_millis(30);
/// How long we wait before we look at it again, and how often.
const EDITOR_WAIT_STEP: Duration = Duration::from_millis(10);
const EDITOR_WAIT_STEPS: u32 = 5;
/// Entries of the table of our own recent writes.
const MAX_OWN_WRITES: usize = 4096;

/// The file with the ids of the daemons that used this journal.
const DAEMON_IDS_FILE: &str = "daemons";
const MAX_DAEMON_IDS: usize = 1000;
/// Attempts to record an abort, each in another log segment.
const ABORT_ATTEMPTS: usize = 3;

/// One file to write.
#[derive(Debug)]
pub struct FileWrite<'a> {
    pub target: WriteTarget,
    /// The path of the target's tree.
    pub tree: PathBuf,
    /// What was seen there.
    pub old: Expected,
    /// In which state it was then, if that is known.
    pub expected_stamp: Option<FileStamp>,
    /// What was seen, if it is in memory.
    pub expected_bytes: Option<Bytes>,
    /// What shall be there; none if the file goes.
    pub new: Option<&'a [u8]>,
    /// Its permissions then, if they are not to follow from what is there.
    pub mode: Option<u32>,
}

/// Stamp and digest of a file after its write.
pub(crate) type WrittenFile = (FileStamp, Digest);

/// The result of a write.
#[derive(Debug)]
pub struct WriteReceipt {
    /// How each file was left, as far as it is ours.
    pub left: Vec<Option<WrittenFile>>,
    /// What the journal has.
    pub record: Option<JournalRecord>,
}

/// What the journal keeps of a call besides its files.
#[derive(Debug, Clone, Default)]
pub struct CallRecord {
    /// Which call it was, if it can come again.
    pub call: Option<CallId>,
    /// The caller's own name for the request, with its arguments.
    pub key: Option<String>,
    /// Which change it is, and whose.
    pub change: Option<ChangeRecord>,
    /// What is answered.
    pub answer: RecordedAnswer,
}

/// Writes users' files: stage, journal, rename, fsync.
#[derive(Debug)]
pub struct AtomicWriter {
    syscalls: Arc<dyn WriteSyscalls>,
    id: DaemonId,
    journal: Arc<Journal>,
    archiver: DisplacedArchiver,
    ours: DashMap<(u64, u64), FileStamp>,
    kept_for_recovery: DashSet<String>,
    directory: PathBuf,
    /// Our own id is among those of the daemons that used this journal.
    is_registered: Mutex<bool>,
    pub(super) staging: Arc<StagingArea>,
    /// Writes that the next record says are finished.
    finished: Arc<Mutex<Vec<String>>>,
}

impl AtomicWriter {
    /// A writer whose journal is in this directory.
    pub fn new(
        directory: &Path,
        id: DaemonId,
        syscalls: Arc<dyn WriteSyscalls>,
        on_conflict: Arc<ConflictCallback>,
    ) -> io::Result<Self> {
        let journal = Arc::new(Journal::open(directory, &id.to_string(), Arc::clone(&syscalls))?);
        let archiver = DisplacedArchiver::start(Arc::clone(&journal), Arc::clone(&syscalls), on_conflict)?;
        let directory = directory.to_owned();
        let staging = Arc::new(StagingArea::open(&directory, id, Arc::clone(&syscalls))?);
        let (ours, kept_for_recovery, is_registered) = (DashMap::new(), DashSet::new(), Mutex::default());
        let finished = Arc::default();
        Ok(Self {
            syscalls,
            id,
            journal,
            archiver,
            ours,
            kept_for_recovery,
            directory,
            is_registered,
            staging,
            finished,
        })
    }

    /// Whether a temp file is one of an earlier daemon of this journal.
    pub fn is_of_earlier_daemon(&self, temp: &TempName) -> bool {
        let daemons = state_files::read(&self.directory.join(DAEMON_IDS_FILE)).unwrap_or_default();
        !temp.is_from(self.id) && daemons.lines().any(|id| temp.as_str().contains(&format!("-{id}-")))
    }

    /// Whether a displaced text is on its way into the journal.
    pub fn is_being_archived(&self, digest: Digest) -> bool {
        self.archiver.has(digest)
    }

    /// What was done before, and for whom.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// From now on the journal keeps no more than this.
    pub fn start_retention(&self, limits: JournalRetention) {
        self.journal.start_retention(limits);
    }

    /// Which daemon's temp files are ours.
    pub fn id(&self) -> DaemonId {
        self.id
    }

    /// Temp files of a write whose outcome is unknown: the sweep must keep them.
    pub fn keep_for_recovery(&self, entry: &JournalRecord) {
        for file in &entry.files {
            self.kept_for_recovery.insert(file.temp.clone());
        }
    }

    /// Whether a sweep must not touch it.
    pub fn is_kept_for_recovery(&self, temp: &TempName) -> bool {
        self.kept_for_recovery.contains(temp.as_str())
    }

    /// Writes all of the files, or none. The directories are there afterwards, too. [`WriteError::Changed`]: one of the
    /// files is not what was seen. What is to be remembered is computed while the disk works. What nobody will ask for
    /// again is not remembered: a crash leaves the old text or the new one, and nobody to tell which.
    pub fn write(
        &self,
        files: &[FileWrite],
        directories: &[WriteTarget],
        remember: Option<&(dyn Fn() -> CallRecord + Sync)>,
        umask: u32,
    ) -> Result<WriteReceipt, WriteError> {
        // A rename from the staging directory that fails is tried once for each tree; then its files are staged beside
        // their targets.
        for _ in files {
            match self.try_to_write(files, directories, remember, umask) {
                Err(WriteError::Io(error)) if error.kind() == io::ErrorKind::CrossesDevices => {}
                done => return done,
            }
        }
        self.try_to_write(files, directories, remember, umask)
    }

    fn try_to_write(
        &self,
        files: &[FileWrite],
        directories: &[WriteTarget],
        remember: Option<&(dyn Fn() -> CallRecord + Sync)>,
        umask: u32,
    ) -> Result<WriteReceipt, WriteError> {
        self.journal.with_room(|| self.register()).map_err(WriteError::Unrecorded)?;
        for file_write in files {
            self.wait_for_truncating_editor(&file_write.target, file_write.old);
        }
        let mut created = CreatedDirectoriesGuard { syscalls: self.syscalls.as_ref(), created: Vec::new() };
        for directory in directories {
            created.created.extend(make_directories(self.syscalls.as_ref(), directory, umask)?);
        }
        let mut all = StagedBatch(Vec::with_capacity(files.len()));
        for file_write in files {
            all.0.push(StagedFile::create(&self.staging, file_write, umask)?);
        }
        let digests =
            || files.iter().zip(&all.0).map(|(file_write, staged)| staged.digest_of(file_write.new)).collect();
        let flushed = || all.0.iter().try_for_each(StagedFile::sync);
        let size = size(files);
        let call_record = || remember.map(|remember| remember());
        let (call_record, (digests, flushed)): (_, (Vec<Digest>, _)) =
            run_both(size, call_record, || run_both(size, digests, flushed));
        flushed?;
        all.0.iter_mut().zip(digests).for_each(|(staged, digest)| staged.note_digest(digest));
        let record = call_record.as_ref().map(|call_record| self.record(files, &all.0, call_record));
        let reserved = record.as_ref().map(|record| self.journal.reserve(record)).transpose();
        let reserved = reserved.inspect_err(|_| self.note_unrecorded(&record)).map_err(WriteError::Unrecorded)?;
        let written = reserved.map(|reserved| self.journal.write_reserved(reserved)).transpose();
        let written = written.inspect_err(|_| self.note_unrecorded(&record)).map_err(WriteError::Unrecorded);
        let (ticket, written) = written.map_or_else(|why| (None, Err(why)), |ticket| (ticket, Ok(())));
        let mark = record.as_ref().and_then(JournalRecord::write_name).map(|name| self.mark(name, ticket));
        match written.and_then(|()| install_all(files, &mut all.0)) {
            Ok(displaced) => {
                created.created.clear();
                displaced.into_iter().for_each(|displaced| self.enqueue(displaced, &mark));
                let left = files.iter().zip(&all.0);
                let left =
                    left.map(|(file_write, staged)| Some((self.remember_own_write(file_write)?, staged.digest())));
                Ok(WriteReceipt { left: left.collect(), record })
            }
            Err(why) => Err(self.roll_back_all(all, why, mark)),
        }
    }

    fn record(&self, files: &[FileWrite], staged: &[StagedFile], call_record: &CallRecord) -> JournalRecord {
        let each = files.iter().zip(staged);
        JournalRecord {
            call: call_record.call.clone(),
            key: call_record.key.clone(),
            at: clock::epoch_millis(),
            change: call_record.change.clone(),
            answer: call_record.answer.clone(),
            files: each.map(|(file_write, staged)| staged.record(&file_write.target, &file_write.tree)).collect(),
            aborts: None,
            finished: std::mem::take(&mut *self.finished.lock()),
        }
    }

    /// What a record said that is perhaps not in the journal is said again by the next.
    fn note_unrecorded(&self, record: &Option<JournalRecord>) {
        self.finished.lock().extend(record.iter().flat_map(|record| &record.finished).cloned());
    }

    /// A mark for a write with a record of this name.
    pub(super) fn mark(&self, name: &str, ticket: Option<RecordTicket>) -> Arc<FinishedMark> {
        FinishedMark::new(name, &self.finished, ticket)
    }

    fn enqueue(&self, displaced: DisplacedFile, mark: &Option<Arc<FinishedMark>>) {
        self.archiver.enqueue(DisplacedFile { mark: mark.clone(), ..displaced });
    }

    /// Rolls everything back. A journal that has the record, or may have it although its fsync failed, must have
    /// the abort before the temp files are gone: else the write would look done.
    fn roll_back_all(&self, mut all: StagedBatch, why: WriteError, mark: Option<Arc<FinishedMark>>) -> WriteError {
        all.0.iter_mut().rev().for_each(StagedFile::roll_back);
        let abort = all.0.first().map(|first| JournalRecord::abort(first.temp_name()));
        let is_recorded_as_aborted = || {
            mark.is_none()
                || abort.is_some_and(|abort| (0..ABORT_ATTEMPTS).any(|_| self.journal.append(&abort).is_ok()))
        };
        if !all.0.iter().all(StagedFile::is_undone) || !is_recorded_as_aborted() {
            tracing::error!("a write could neither be finished nor taken back; the next start decides");
            all.0.iter_mut().for_each(StagedFile::leave_to_recovery);
            mark.iter().for_each(|mark| mark.void());
            return WriteError::OutcomeUnknown;
        }
        while let Some(staged) = all.0.pop() {
            staged.into_displaced().into_iter().for_each(|displaced| self.enqueue(displaced, &mark));
        }
        why
    }

    /// Finishes what is still in our charge; nothing is written afterwards.
    pub fn finish(&self) {
        self.archiver.drain();
        self.staging.close();
        let finished = std::mem::take(&mut *self.finished.lock());
        // Without it the next daemon looks at these writes for nothing.
        if !finished.is_empty() {
            let _ = self.journal.append_finished(finished);
        }
        self.journal.close();
    }

    /// Before our first temp file, our id is noted: the sweep after a crash must know whose it is.
    fn register(&self) -> io::Result<()> {
        let mut is_registered = self.is_registered.lock();
        if !*is_registered {
            remember_daemon(&self.directory, self.id)?;
            *is_registered = true;
        }
        Ok(())
    }

    /// Whether a file is in the state in which we left it.
    pub(super) fn is_own(&self, stamp: FileStamp) -> bool {
        self.ours.get(&(stamp.device, stamp.inode)).is_some_and(|ours| *ours == stamp)
    }

    /// Some editors empty a file and then write it. One that is empty or very young, and not our own
    /// work, gets a moment.
    pub fn wait_for_truncating_editor(&self, target: &WriteTarget, old: Expected) {
        if old == Expected::Absent {
            return;
        }
        for _ in 0..EDITOR_WAIT_STEPS {
            let Ok(file) = target.root.open_file(&target.path, target.links) else { return };
            let stamp = file.stamp();
            if self.is_own(stamp) || (stamp.size > 0 && file.age() >= HALF_WRITTEN_AGE) {
                return;
            }
            std::thread::sleep(EDITOR_WAIT_STEP);
        }
    }

    fn remember_own_write(&self, file_write: &FileWrite) -> Option<FileStamp> {
        if self.ours.len() > MAX_OWN_WRITES {
            self.ours.clear();
        }
        file_write.new?;
        let stamp = file_write.target.root.open_file(&file_write.target.path, file_write.target.links).ok()?.stamp();
        self.ours.insert((stamp.device, stamp.inode), stamp);
        Some(stamp)
    }
}

/// Removes the directories again, unless the write completes.
struct CreatedDirectoriesGuard<'a> {
    syscalls: &'a dyn WriteSyscalls,
    created: CreatedDirectories,
}

impl Drop for CreatedDirectoriesGuard<'_> {
    fn drop(&mut self) {
        remove_created(&self.created, self.syscalls);
    }
}

/// The prepared texts of one write. Dropped innermost first, so that directories made on the way are empty
/// when it is their turn.
#[derive(Debug)]
struct StagedBatch(Vec<StagedFile>);

impl Drop for StagedBatch {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

fn check_unchanged(staged: &[StagedFile]) -> Result<(), WriteError> {
    for staged in staged {
        if !staged.target_is_unchanged()? {
            return Err(WriteError::Changed);
        }
    }
    Ok(())
}

/// All renames, then all flushes; and a last look whether it is still the user's tree in which we wrote.
fn install_all(files: &[FileWrite], staged: &mut [StagedFile]) -> Result<Vec<DisplacedFile>, WriteError> {
    {
        let _alone = TreeLock::acquire(files.iter().map(|file_write| file_write.target.root.as_ref()));
        check_unchanged(staged)?;
        staged.iter_mut().try_for_each(StagedFile::install)?;
    }
    let staged = &*staged;
    let displaced = || {
        let each = files.iter().zip(staged);
        each.filter_map(|(file_write, staged)| staged.displaced(file_write.expected_bytes.as_deref()).transpose())
            .collect()
    };
    let flushed = || {
        for (FileWrite { target, tree, .. }, staged) in files.iter().zip(staged) {
            staged.sync_directory()?;
            if !target.root.is_still_at(tree).unwrap_or(false)
                || !staged.directory_is_still_there(target).unwrap_or(false)
            {
                return Err(WriteError::Changed);
            }
        }
        Ok(())
    };
    let (displaced, flushed): (Result<_, _>, _) = run_both(size(files), displaced, flushed);
    let displaced = displaced?;
    flushed.map(|()| displaced)
}

/// How many bytes are written.
fn size(files: &[FileWrite]) -> usize {
    files.iter().filter_map(|file_write| file_write.new).map(<[u8]>::len).sum()
}

/// Daemons are known by their ids: temp files of earlier ones may be removed at once.
fn remember_daemon(directory: &Path, id: DaemonId) -> io::Result<()> {
    let path = directory.join(DAEMON_IDS_FILE);
    let known = state_files::read(&path).unwrap_or_default();
    let mut ids: Vec<String> = known.lines().map(str::to_owned).chain([id.to_string()]).collect();
    let old = ids.len().saturating_sub(MAX_DAEMON_IDS);
    ids.drain(..old);
    state_files::replace(&path, ids.join("\n").as_bytes())
}

/// Longer than any set of renames; whoever holds the lock longer has other things in mind.
const TREE_LOCK_TIMEOUT: Duration = Duration::from_millis(250);
const TREE_LOCK_RETRY_DELAY: Duration = Duration::from_micros(50);

/// Locks on trees against other daemons, held until this is dropped: a `flock` on the directory itself, so it leaves no
/// file. It is held for the renames and the checks around them, never for an fsync. Whoever does not get it in time
/// goes on without: a displaced file is compared anyway.
#[derive(Debug)]
pub(super) struct TreeLock {
    _held: Vec<OwnedFd>,
}

impl TreeLock {
    /// Waits for all of these trees, always in the same order.
    pub(super) fn acquire<'a>(roots: impl IntoIterator<Item = &'a RootDir>) -> Self {
        let number = |root: &'a RootDir| root.directory_id().ok().map(|number| (number, root));
        let mut roots: Vec<((u64, u64), &RootDir)> = roots.into_iter().filter_map(number).collect();
        roots.sort_by_key(|(number, _)| *number);
        roots.dedup_by_key(|(number, _)| *number);
        let end = Instant::now() + TREE_LOCK_TIMEOUT;
        Self { _held: roots.into_iter().filter_map(|(_, root)| flock_until(root, end)).collect() }
    }
}

/// None if somebody else holds it for too long, or if the file system has no such locks.
fn flock_until(root: &RootDir, end: Instant) -> Option<OwnedFd> {
    let directory = root.handle().ok()?;
    loop {
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(directory),
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < end => std::thread::sleep(TREE_LOCK_RETRY_DELAY),
            Err(_) => return None,
        }
    }
}

/// With less than this, another thread costs more than it gains.
const MIN_PARALLEL_BYTES: usize = 64 << 10;
const PARALLEL_WORKERS: usize = 4;

static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let named = |number: usize| format!("parallel-{number}");
    ThreadPoolBuilder::new().num_threads(PARALLEL_WORKERS).thread_name(named).build().ok()
});

static BUSY_WORKERS: AtomicUsize = AtomicUsize::new(0);

struct WorkerSlot(&'static ThreadPool);

impl WorkerSlot {
    fn acquire() -> Option<Self> {
        let pool = POOL.as_ref()?;
        let one_more = |at_work: usize| (at_work < PARALLEL_WORKERS).then_some(at_work + 1);
        BUSY_WORKERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok().map(|_| Self(pool))
    }
}

impl Drop for WorkerSlot {
    fn drop(&mut self) {
        BUSY_WORKERS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs a closure on a worker, or here if there is none.
pub(super) fn run_in_background(work: impl FnOnce() + Send + 'static) {
    match POOL.as_ref() {
        Some(pool) => pool.spawn(work),
        None => work(),
    }
}

/// Runs two closures that handle so many bytes: the first on a worker while the second runs here; one after the
/// other if the bytes are few or no worker is free.
pub(super) fn run_both<A: Send, B>(
    bytes: usize,
    first: impl Fn() -> A + Send + Sync,
    second: impl FnOnce() -> B,
) -> (A, B) {
    let Some(helper) = (bytes >= MIN_PARALLEL_BYTES).then(WorkerSlot::acquire).flatten() else {
        return (first(), second());
    };
    let mut found = None;
    let done = helper.0.in_place_scope(|scope| {
        scope.spawn(|_| found = Some(first()));
        second()
    });
    (found.unwrap_or_else(first), done)
}

#[cfg(test)]
mod lock_tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn one_at_a_time_and_nobody_waits_for_ever() {
        let home = TempDir::new().expect("a temporary directory");
        let root = RootDir::open(home.path()).expect("a root");
        let inside = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let alone = TreeLock::acquire([&root, &root]);
                        assert_eq!(alone._held.len(), 1);
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        let first = TreeLock::acquire([&root]);
        assert_eq!(TreeLock::acquire([&root])._held.len(), 0, "it goes on without");
        drop(first);
        assert_eq!(TreeLock::acquire([&root])._held.len(), 1);
    }
}

#[cfg(test)]
mod parallel_tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    use super::*;

    /// Helpers are the process's, and so is the test of them: one for all.
    #[test]
    fn both_are_done_whoever_is_there_to_help() {
        let (here, id) = (thread::current().id(), || thread::current().id());
        let check = |bytes: usize, alone: bool| {
            let (first, second) = run_both(bytes, id, id);
            assert_eq!((first != here, second), (alone, here), "{bytes}");
        };
        check(0, false);
        check(MIN_PARALLEL_BYTES - 1, false);
        check(MIN_PARALLEL_BYTES, true);
        let all: Vec<WorkerSlot> = std::iter::from_fn(WorkerSlot::acquire).collect();
        assert_eq!(all.len(), PARALLEL_WORKERS);
        check(MIN_PARALLEL_BYTES, false);
        drop(all);
        for _ in 0..2 * PARALLEL_WORKERS {
            let panics = || -> () { panic!("first") };
            assert!(catch_unwind(AssertUnwindSafe(|| run_both(MIN_PARALLEL_BYTES, panics, || ()))).is_err());
        }
        check(MIN_PARALLEL_BYTES, true);
    }
}
