//! The write-ahead journal: which call wrote which files from which bytes, for exactly-once answers and undo.
//!
//! A record is synced before the renames that it describes. After a crash the records say which writes to finish
//! and which answers to repeat. Each writer has a log segment of its own, so that nobody waits for another's fsync;
//! displaced texts are kept beside it, named by their digest. All of it is bounded. A file that cannot be read costs
//! what it held, and nothing else.

/// How old what is kept is.
mod clock;

mod record;

/// How much is kept.
mod retention;

/// Records ↔ bytes.
mod segment;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender};
use parking_lot::Mutex;

pub use clock::RetentionClock;
pub use record::{CallId, ChangeRecord, JournalFile, JournalRecord, RecordedAnswer};
pub use retention::JournalRetention;
use retention::{Keeper, RoomFor};
use segment::{SEGMENT_HEADER_BYTES, SegmentContent, SegmentRecords};

use super::Digest;
use super::syscalls::WriteSyscalls;
use crate::clock::epoch_millis;
use crate::state_files;

/// Segments are filled with zeros once, so that syncing a record has no file size to update.
const LOG_SEGMENT_BYTES: usize = 256 << 10;
/// So much of a segment stays free for an abort record: that must not fail for lack of space.
const ABORT_RESERVE_BYTES: usize = 512;
const MAX_IDLE_SEGMENTS: usize = 64;
/// A segment with less room than this is not used any more.
const MIN_FREE_BYTES: usize = 4 << 10;
/// Between two looks at what has become too old.
const PRUNE_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// In front of the name of a file that nothing can be made of.
const BROKEN_PREFIX: &str = "broken-";
/// In front of the name of a segment that needs no recovery.
const DONE_PREFIX: &str = "done-";
/// The journal of a daemon.
#[derive(Debug)]
pub struct Journal {
    directory: PathBuf,
    syscalls: Arc<dyn WriteSyscalls>,
    free: Mutex<Vec<LogSegment>>,
    retired: Mutex<Vec<RetiredSegment>>,
    segments: AtomicU64,
    run: String,
    keeper: Keeper,
    /// Writes that were aborted, by the name of their first temp file, until their segment is settled.
    aborted: Mutex<HashSet<String>>,
    /// Wakes the thread that forgets.
    wake: Mutex<Option<Sender<()>>>,
    /// Files that a person should know about.
    problems: Mutex<Vec<String>>,
}

/// An encoded record and the segment it will be written to.
#[derive(Debug)]
pub struct ReservedRecord {
    segment: LogSegment,
    record: Vec<u8>,
}

/// A preallocated log file that one writer at a time appends to.
#[derive(Debug)]
struct LogSegment {
    file: File,
    name: String,
    end: u64,
    open_writes: RecordTicket,
}

/// A segment that takes no more records.
#[derive(Debug)]
struct RetiredSegment {
    name: String,
    end: u64,
    open_writes: RecordTicket,
}

/// Stands for a record whose write has not come to its end: while a ticket lives, the record is where recovery looks
/// for it.
#[derive(Debug, Clone, Default)]
pub struct RecordTicket(Arc<()>);

impl RecordTicket {
    /// The next daemon decides about the write.
    pub fn leave_open(self) {
        std::mem::forget(self.0);
    }
}

impl Journal {
    /// Opens the journal in its directory. `run` tells this daemon's segments from those of others.
    pub fn open(directory: &Path, run: &str, syscalls: Arc<dyn WriteSyscalls>) -> io::Result<Self> {
        // A disk that cannot be written is the next write's trouble: what was recorded can still be read.
        let _ = state_files::make_directory(&directory.join("old"));
        Ok(Self {
            directory: directory.to_owned(),
            syscalls,
            free: Mutex::default(),
            retired: Mutex::default(),
            segments: AtomicU64::new(0),
            run: run.to_owned(),
            keeper: Keeper::new(directory, epoch_millis()),
            aborted: Mutex::default(),
            wake: Mutex::default(),
            problems: Mutex::default(),
        })
    }

    /// Appends an abort, or a write that the next daemon must bring to an end; it is on the disk when this returns.
    pub fn append(&self, entry: &JournalRecord) -> io::Result<()> {
        let ticket = self.write_reserved(self.reserve(entry)?)?;
        match &entry.aborts {
            Some(name) => drop(self.aborted.lock().insert(name.clone())),
            None => ticket.leave_open(),
        }
        Ok(())
    }

    /// Reserves space for a record, and for one that aborts it. Nothing is in the journal yet.
    pub fn reserve(&self, entry: &JournalRecord) -> io::Result<ReservedRecord> {
        let record = segment::encode(entry)?;
        let abort = if entry.aborts.is_none() { ABORT_RESERVE_BYTES } else { 0 };
        let fits = |segment: &LogSegment| segment.end + (record.len() + abort) as u64 <= LOG_SEGMENT_BYTES as u64;
        let mut free = self.free.lock();
        let found = free.iter().position(fits).map(|place| free.swap_remove(place));
        drop(free);
        let segment = found.map_or_else(|| self.new_segment(), Ok)?;
        Ok(ReservedRecord { segment, record })
    }

    /// Writes a record and syncs it. If it fails, the record may be in the journal nevertheless.
    pub fn write_reserved(&self, ReservedRecord { mut segment, record }: ReservedRecord) -> io::Result<RecordTicket> {
        // A segment whose write or flush failed is not used again: nobody knows what it holds.
        self.syscalls.write_at(&segment.file, &record, segment.end)?;
        self.syscalls.fdatasync(&segment.file)?;
        segment.end += record.len() as u64;
        self.keeper.add(segment.end.saturating_sub(LOG_SEGMENT_BYTES as u64));
        let ticket = segment.open_writes.clone();
        if segment.end + MIN_FREE_BYTES as u64 > LOG_SEGMENT_BYTES as u64 {
            self.retire(segment);
            return Ok(ticket);
        }
        let mut free = self.free.lock();
        free.push(segment);
        let oldest = (free.len() > MAX_IDLE_SEGMENTS).then(|| free.remove(0));
        drop(free);
        oldest.into_iter().for_each(|segment| self.retire(segment));
        Ok(ticket)
    }

    fn retire(&self, LogSegment { name, end, open_writes, .. }: LogSegment) {
        self.retired.lock().push(RetiredSegment { name, end, open_writes });
    }

    /// A new segment; if the disk is full, the journal makes room for it.
    fn new_segment(&self) -> io::Result<LogSegment> {
        let made = self.with_room(|| self.try_new_segment())?;
        self.keeper.add(LOG_SEGMENT_BYTES as u64);
        let bound = self.keeper.limits().bytes;
        match self.keeper.bytes() {
            bytes if bytes > bound + bound / 20 => self.make_room(0),
            bytes if bytes > bound => {
                // One that is awake already sees it, too.
                let _ = self.wake.lock().as_ref().map(|wake| wake.try_send(()));
            }
            _ => {}
        }
        Ok(made)
    }

    fn try_new_segment(&self) -> io::Result<LogSegment> {
        let number = self.segments.fetch_add(1, Ordering::Relaxed);
        let name = format!("lane-{}-{number:06}.log", self.run);
        state_files::make_directory(&self.directory)?;
        let directory = File::open(&self.directory)?;
        let file = self.syscalls.create(directory.as_fd(), name.as_ref(), 0o600)?;
        let mut zeros = vec![0; LOG_SEGMENT_BYTES];
        zeros[..SEGMENT_HEADER_BYTES].copy_from_slice(&segment::segment_header());
        let filled = self.syscalls.write_at(&file, &zeros, 0).and_then(|()| self.syscalls.fsync(&file));
        if let Err(error) = filled.and_then(|()| self.syscalls.fsync_directory(directory.as_fd())) {
            // Half a segment only takes room, where there is little of it.
            let _ = self.syscalls.remove(directory.as_fd(), name.as_ref());
            return Err(error);
        }
        Ok(LogSegment { file, name, end: SEGMENT_HEADER_BYTES as u64, open_writes: RecordTicket::default() })
    }

    /// Records of earlier daemons that recovery has not gone through yet, oldest first.
    pub fn unrecovered(&self) -> io::Result<Vec<JournalRecord>> {
        Ok(self.read_all(&self.files("lane-")?))
    }

    /// Records that recovery has gone through, no older than this, oldest first.
    pub fn recovered(&self, age: Duration) -> io::Result<Vec<JournalRecord>> {
        let mut files = self.files("done-")?;
        files.retain(|path| self.keeper.clock.age(path) <= age);
        Ok(self.read_all(&files))
    }

    /// Marks the records of earlier daemons as recovered, and truncates their segments.
    pub fn mark_recovered(&self) -> io::Result<()> {
        for path in self.files("lane-")? {
            // What could not be read has been named before.
            let Ok(bytes) = state_files::read_bytes(&path) else { continue };
            let settled = match segment::decode(&bytes) {
                SegmentContent::Records(SegmentRecords { used_bytes, .. }) => {
                    state_files::truncate(&path, used_bytes).and_then(|()| self.rename_settled(&file_name(&path)))
                }
                SegmentContent::Unused => {
                    state_files::remove(&path);
                    Ok(())
                }
                SegmentContent::OtherFormat | SegmentContent::Garbage => Ok(()),
            };
            if let Err(error) = settled {
                // The next daemon comes to the same end.
                self.report(format!("the journal cannot be written: {error}"));
                break;
            }
        }
        Ok(())
    }

    /// What is wrong with files of the journal, for people.
    pub fn problems(&self) -> Vec<String> {
        self.problems.lock().clone()
    }

    fn read_all(&self, files: &[PathBuf]) -> Vec<JournalRecord> {
        let mut entries = Vec::new();
        for path in files {
            entries.extend(self.read_segment(path));
        }
        entries.sort_by_key(|entry| entry.at);
        entries
    }

    /// The records of a segment. One that is not what it should be is named, and put aside if nothing can be made of
    /// it.
    fn read_segment(&self, path: &Path) -> Vec<JournalRecord> {
        let name = file_name(path);
        match state_files::read_bytes(path).map(|bytes| segment::decode(&bytes)) {
            Ok(SegmentContent::Records(SegmentRecords { records, damaged, .. })) => {
                if damaged > 0 {
                    self.report(format!("the journal's file `{name}` is damaged in {damaged} places; the rest counts"));
                }
                records
            }
            Ok(SegmentContent::Unused) => Vec::new(),
            Ok(SegmentContent::OtherFormat) => {
                self.report(format!("the journal's file `{name}` is of another version of Trellis and left to it"));
                Vec::new()
            }
            Ok(SegmentContent::Garbage) => self.put_aside(path, "holds no records"),
            Err(error) => self.put_aside(path, &format!("cannot be read: {error}")),
        }
    }

    fn put_aside(&self, path: &Path, why: &str) -> Vec<JournalRecord> {
        let name = file_name(path);
        let aside = format!("{BROKEN_PREFIX}{name}");
        let moved = match state_files::rename(path, &self.directory.join(&aside)) {
            Ok(()) => format!("it is now `{aside}`"),
            Err(_) => "it is left there".to_owned(),
        };
        self.report(format!("the journal's file `{name}` {why}; {moved}, and what it recorded is not known"));
        Vec::new()
    }

    fn report(&self, problem: String) {
        tracing::warn!("{problem}");
        let mut problems = self.problems.lock();
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    /// Files of earlier daemons.
    fn files(&self, prefix: &str) -> io::Result<Vec<PathBuf>> {
        let ours = format!("lane-{}-", self.run);
        let mut files = Vec::new();
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(prefix) && !name.starts_with(&ours) {
                files.push(entry.path());
            }
        }
        files.sort();
        Ok(files)
    }

    fn rename_settled(&self, name: &str) -> io::Result<()> {
        let settled = self.directory.join(name.replacen("lane-", "done-", 1));
        state_files::rename(&self.directory.join(name), &settled)?;
        self.keeper.clock.mark(&settled)
    }

    /// Where a displaced text is kept.
    pub fn displaced_text_path(&self, digest: Digest) -> PathBuf {
        let name = digest.to_string();
        self.directory.join("old").join(&name[..2]).join(name)
    }

    /// A text of so many bytes has come to its place, or would have come if it were not there: it is kept from now on.
    pub fn note_kept(&self, place: &Path, new_bytes: u64) {
        self.keeper.add(new_bytes);
        if let Err(error) = self.keeper.clock.mark(place) {
            tracing::debug!(%error, "a kept text is counted from when it is seen next");
        }
    }

    /// The clock by which things are kept.
    pub fn clock(&self) -> &Arc<RetentionClock> {
        &self.keeper.clock
    }

    /// Keeps to these limits from now on, also without anybody asking: a thread looks after it.
    pub fn start_retention(self: &Arc<Self>, limits: JournalRetention) {
        self.keeper.set_limits(limits);
        let (wake, woken) = crossbeam_channel::bounded(1);
        *self.wake.lock() = Some(wake);
        let journal = Arc::downgrade(self);
        let run = move || {
            let mut is_due = true;
            while let Some(journal) = journal.upgrade() {
                if is_due {
                    journal.look_at_clock(epoch_millis());
                } else {
                    journal.make_room(0);
                }
                drop(journal);
                is_due = match woken.recv_timeout(PRUNE_INTERVAL) {
                    Ok(()) => false,
                    Err(RecvTimeoutError::Timeout) => true,
                    Err(RecvTimeoutError::Disconnected) => return,
                };
            }
        };
        if let Err(error) = std::thread::Builder::new().name("journal".into()).spawn(run) {
            tracing::warn!(%error, "the journal is pruned only when it is full");
        }
    }

    /// Takes the time, and forgets what has become too old.
    fn look_at_clock(&self, wall: i64) {
        if let Err(error) = self.keeper.clock.look(wall) {
            tracing::debug!(%error, "the journal's clock could not be kept");
        }
        self.retire_idle();
        self.make_room(0);
    }

    /// Makes room for so many bytes more.
    pub fn make_room(&self, more: u64) {
        self.settle_retired();
        self.prune(RoomFor::More(more));
    }

    /// Whether so many bytes more would be too much; cheap.
    pub fn is_full_with(&self, more: u64) -> bool {
        self.keeper.bytes() + more > self.keeper.limits().bytes
    }

    /// Does something that takes room on the journal's disk. If there is none, the journal makes some, once.
    pub fn with_room<T>(&self, work: impl Fn() -> io::Result<T>) -> io::Result<T> {
        match work() {
            Err(error) if is_full(&error) && self.give_way() => work(),
            done => done,
        }
    }

    /// The disk is full: forgets a tenth, and at least what a few segments take. Whether anything went.
    fn give_way(&self) -> bool {
        self.retire_idle();
        self.settle_retired();
        self.prune(RoomFor::Others((self.keeper.bytes() / 10).max(4 * LOG_SEGMENT_BYTES as u64)))
    }

    fn prune(&self, room: RoomFor) -> bool {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_kept = |path: &PathBuf| [DONE_PREFIX, BROKEN_PREFIX].iter().any(|kept| file_name(path).starts_with(kept));
        let (mut kept, others): (Vec<_>, Vec<_>) = entries.partition(is_kept);
        kept.extend(displaced_texts(&self.directory.join("old")));
        self.keeper.prune(&kept, &others, room)
    }

    fn retire_idle(&self) {
        let idle = std::mem::take(&mut *self.free.lock());
        idle.into_iter().for_each(|segment| self.retire(segment));
    }

    /// Segments of our own all of whose writes have come to an end need no recovery.
    fn settle_retired(&self) {
        let is_over = |segment: &mut RetiredSegment| Arc::strong_count(&segment.open_writes.0) == 1;
        let over: Vec<RetiredSegment> = self.retired.lock().extract_if(.., is_over).collect();
        for segment in over {
            if let Err(error) = self.settle(&segment) {
                tracing::warn!(%error, "a segment of the journal could not be put away");
            }
        }
    }

    /// A write that was aborted is left out: the record that says so may be forgotten earlier.
    fn settle(&self, RetiredSegment { name, end, .. }: &RetiredSegment) -> io::Result<()> {
        let path = self.directory.join(name);
        if !self.aborted.lock().is_empty()
            && let SegmentContent::Records(SegmentRecords { records, .. }) =
                segment::decode(&state_files::read_bytes(&path)?)
        {
            let mut aborted = self.aborted.lock();
            let is_aborted = |record: &JournalRecord| record.write_name().is_some_and(|name| aborted.contains(name));
            let (void, valid): (Vec<_>, Vec<_>) = records.into_iter().partition(is_aborted);
            aborted.retain(|name| !void.iter().any(|record| record.write_name() == Some(name)));
            drop(aborted);
            if !void.is_empty() {
                let frames = valid.iter().map(segment::encode).collect::<io::Result<Vec<_>>>()?;
                let bytes = [segment::segment_header().to_vec(), frames.concat()].concat();
                state_files::replace(&path, &bytes)?;
                return self.rename_settled(name);
            }
        }
        state_files::truncate(&path, *end)?;
        self.rename_settled(name)
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// What is no directory is not ours.
fn displaced_texts(directory: &Path) -> Vec<PathBuf> {
    let entries = |directory: &Path| fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    entries(directory).flat_map(|shelf| entries(&shelf).collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Timespec, Timestamps};
    use tempfile::TempDir;

    use super::*;
    use crate::disk::syscalls::OsSyscalls;

    fn entry(sequence: u64) -> JournalRecord {
        JournalRecord {
            call: Some(CallId { session: "s".into(), sequence }),
            key: None,
            at: sequence as i64,
            change: None,
            answer: RecordedAnswer("\"done\"".into()),
            files: Vec::new(),
            aborts: None,
        }
    }

    fn journal(directory: &Path, run: &str) -> Journal {
        Journal::open(directory, run, Arc::new(OsSyscalls)).expect("it opens")
    }

    #[test]
    fn the_next_daemon_reads_what_this_one_wrote() {
        let directory = TempDir::new().expect("a directory");
        let first = journal(directory.path(), "a");
        for sequence in 0..3 {
            first.append(&entry(sequence)).expect("it is written");
        }
        let second = journal(directory.path(), "b");
        second.append(&entry(9)).expect("it is written");
        assert_eq!(second.unrecovered().expect("it reads"), [entry(0), entry(1), entry(2)]);
    }

    fn check_damaged(damage: impl Fn(&mut Vec<u8>), expected: &[JournalRecord]) -> Vec<String> {
        let directory = TempDir::new().expect("a directory");
        let first = journal(directory.path(), "a");
        (1..=3).for_each(|sequence| first.append(&entry(sequence)).expect("it is written"));
        let segment = first.lanes_of("a");
        let mut bytes = fs::read(&segment).expect("it reads");
        damage(&mut bytes);
        state_files::replace(&segment, &bytes).expect("it is written");
        let second = journal(directory.path(), "b");
        assert_eq!(second.unrecovered().expect("it reads"), expected);
        second.mark_recovered().expect("it settles");
        assert_eq!(second.unrecovered().expect("it reads"), []);
        let recovered = journal(directory.path(), "c").recovered(Duration::MAX);
        assert_eq!(recovered.expect("it reads"), expected, "nothing is cut off");
        second.problems()
    }

    /// Where the second of three records begins.
    fn second_record() -> usize {
        SEGMENT_HEADER_BYTES + segment::encode(&entry(1)).expect("it fits").len()
    }

    #[test]
    fn r8_damage_hides_only_the_record_that_it_hit() {
        let others = [entry(1), entry(3)];
        for place in [0, 1, 2, 3, 4, 11, 12, 15] {
            let problems = check_damaged(|bytes| bytes[second_record() + place] ^= 0x41, &others);
            assert!(problems.len() == 1 && problems[0].contains("lane-a-000000.log"), "{place}: {problems:?}");
        }
        let problems = check_damaged(|bytes| bytes[second_record()..second_record() + 60].fill(0), &others);
        assert_eq!(problems.len(), 1, "{problems:?}");
        check_damaged(|bytes| bytes[..4].fill(b'x'), &[entry(1), entry(2), entry(3)]);
    }

    #[test]
    fn a_torn_last_entry_is_passed_over_without_a_word() {
        let third = 2 * second_record() - SEGMENT_HEADER_BYTES;
        let problems = check_damaged(|bytes| bytes[third + 20..].fill(0), &[entry(1), entry(2)]);
        assert_eq!(problems, [""; 0]);
        assert_eq!(check_damaged(|bytes| bytes[SEGMENT_HEADER_BYTES..].fill(0), &[]), [""; 0]);
    }

    #[test]
    fn a_file_of_which_nothing_can_be_made_is_put_aside_and_a_newer_one_left_alone() {
        let directory = TempDir::new().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        journal(directory.path(), "a").append(&entry(1)).expect("it is written");
        state_files::replace(&path("lane-newer-000000.log"), b"TRLSJ\0\0\x02...").expect("it is written");
        state_files::replace(&path("lane-torn-000000.log"), b"not a journal").expect("it is written");
        state_files::replace(&path("lane-new-000000.log"), b"").expect("it is written");
        // A directory cannot be read as a file.
        state_files::make_directory(&path("lane-odd-000000.log")).expect("a directory");
        state_files::make_directory(&path("done-odd-000000.log")).expect("a directory");
        let second = journal(directory.path(), "b");
        assert_eq!(second.unrecovered().expect("it reads"), [entry(1)]);
        second.mark_recovered().expect("it settles");
        assert_eq!(second.recovered(Duration::MAX).expect("it reads"), [entry(1)]);
        let mut names: Vec<String> =
            fs::read_dir(directory.path()).expect("listed").flatten().map(|entry| file_name(&entry.path())).collect();
        names.sort();
        let expected = [
            "broken-done-odd-000000.log",
            "broken-lane-odd-000000.log",
            "broken-lane-torn-000000.log",
            "done-a-000000.log",
            "lane-newer-000000.log",
            "old",
        ];
        assert_eq!(names, expected);
        let problems = second.problems().join("\n");
        for name in ["lane-newer", "lane-torn", "lane-odd", "done-odd"] {
            assert!(problems.contains(name), "{problems}");
        }
    }

    #[test]
    fn in_a_full_lane_there_is_still_room_for_a_void() {
        let directory = TempDir::new().expect("a directory");
        let journal = journal(directory.path(), "a");
        let segments = || journal.segments.load(Ordering::Relaxed);
        let long = JournalRecord {
            answer: RecordedAnswer(format!("\"{}\"", "x".repeat(LOG_SEGMENT_BYTES / 8)).into()),
            ..entry(1)
        };
        while segments() < 2 {
            journal.append(&long).expect("it is written");
            let abort = JournalRecord::abort("temp");
            let free = journal.free.lock();
            assert!(
                free.iter()
                    .all(|segment| segment.end + segment::encode(&abort).expect("it fits").len() as u64
                        <= LOG_SEGMENT_BYTES as u64)
            );
        }
        journal.append(&JournalRecord::abort("temp")).expect("it is written");
        assert_eq!(segments(), 2);
    }

    #[test]
    fn what_is_settled_is_short_and_still_there() {
        let directory = TempDir::new().expect("a directory");
        journal(directory.path(), "a").append(&entry(1)).expect("it is written");
        let second = journal(directory.path(), "b");
        second.mark_recovered().expect("it settles");
        assert_eq!(second.unrecovered().expect("it reads"), []);
        assert_eq!(second.recovered(Duration::MAX).expect("it reads"), [entry(1)]);
        let bytes = |name: &str| fs::read(directory.path().join(name)).expect("it reads");
        assert!(bytes("done-a-000000.log").len() < 1000);
    }

    fn directory_bytes(directory: &Path) -> u64 {
        let entries = fs::read_dir(directory).expect("listed").flatten();
        let size = |entry: fs::DirEntry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => directory_bytes(&entry.path()),
            metadata => metadata.map_or(0, |metadata| metadata.len()),
        };
        entries.map(size).sum()
    }

    fn long_entry(sequence: u64, bytes: usize) -> JournalRecord {
        JournalRecord { answer: RecordedAnswer(format!("\"{}\"", "x".repeat(bytes)).into()), ..entry(sequence) }
    }

    fn keep_text(journal: &Journal, text: &str) -> PathBuf {
        let place = journal.displaced_text_path(Digest::of(text.as_bytes()));
        if journal.is_full_with(text.len() as u64) {
            journal.make_room(text.len() as u64);
        }
        state_files::make_directory(place.parent().expect("a shelf")).expect("a directory");
        state_files::replace_unflushed(&place, text.as_bytes()).expect("it is written");
        journal.note_kept(&place, text.len() as u64);
        place
    }

    #[test]
    fn r21_the_bound_is_held_at_every_moment() {
        const BOUND: u64 = 4 << 20;
        let directory = TempDir::new().expect("a directory");
        let journal = Arc::new(journal(directory.path(), "a"));
        journal.start_retention(JournalRetention { bytes: BOUND, ..JournalRetention::default() });
        for sequence in 0..400 {
            let reserved = journal.reserve(&long_entry(sequence, 20_000)).expect("there is room");
            drop(journal.write_reserved(reserved).expect("it is written"));
            keep_text(&journal, &format!("{sequence}{}", "y".repeat(30_000)));
            let bytes = directory_bytes(directory.path());
            assert!(bytes <= BOUND / 10 * 11, "{bytes} bytes after {sequence}");
        }
        let bytes = directory_bytes(directory.path());
        assert!(bytes > BOUND / 2, "no more goes than must: {bytes}");
    }

    #[test]
    fn r29_texts_are_kept_from_when_they_came_whatever_the_clock_says() {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        let directory = TempDir::new().expect("a directory");
        let journal = journal(directory.path(), "a");
        let now = epoch_millis();
        let first = keep_text(&journal, "first");
        // Without a mark: it was moved here right before a crash, with the time of the user's file.
        let old = Timestamps { last_access: Timespec::default(), last_modification: Timespec { tv_sec: now / 1000, tv_nsec: 0 } };
        let unmarked = keep_text(&journal, "unmarked");
        rustix::fs::utimensat(rustix::fs::CWD, &unmarked, &old, rustix::fs::AtFlags::empty()).expect("its own time");
        for wall in [now + 365 * DAY, now - 365 * DAY, now] {
            journal.look_at_clock(wall);
            assert!(first.exists() && unmarked.exists());
        }
        (1..20).for_each(|day| journal.look_at_clock(now + day * DAY));
        let second = keep_text(&journal, "second");
        (20..35).for_each(|day| journal.look_at_clock(now + day * DAY));
        assert!(!first.exists() && !unmarked.exists() && second.exists());
    }

    #[test]
    fn a_segment_is_settled_when_its_writes_are_over_and_without_what_was_aborted() {
        let file = |temp: &str| JournalFile {
            root: "/t".into(),
            path: "a".into(),
            temp: temp.into(),
            staged_in: None,
            old: None,
            old_mode: None,
            new: Digest::default(),
            is_removal: false,
        };
        let directory = TempDir::new().expect("a directory");
        let first = journal(directory.path(), "a");
        let write = |sequence: u64, temp: &str| {
            let entry = JournalRecord { files: vec![file(temp)], ..entry(sequence) };
            let reserved = first.reserve(&entry).expect("there is room");
            first.write_reserved(reserved).expect("it is written")
        };
        let (one, two) = (write(1, "one"), write(2, "two"));
        first.append(&JournalRecord::abort("one")).expect("it is written");
        drop(one);
        first.look_at_clock(epoch_millis());
        let second = journal(directory.path(), "b");
        assert_eq!(second.recovered(Duration::MAX).expect("it reads"), [], "one of its writes goes on");
        drop(two);
        first.look_at_clock(epoch_millis());
        let settled = second.recovered(Duration::MAX).expect("it reads");
        let names: Vec<_> = settled.iter().filter_map(JournalRecord::write_name).collect();
        assert_eq!((names, second.unrecovered().expect("it reads").len()), (vec!["two"], 0));
        write(3, "three").leave_open();
        first.look_at_clock(epoch_millis());
        assert_eq!(second.unrecovered().expect("it reads").len(), 1, "the next daemon decides");
    }

    #[test]
    fn writers_at_the_same_time_use_different_lanes() {
        let directory = TempDir::new().expect("a directory");
        let shared = journal(directory.path(), "a");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let shared = &shared;
                scope.spawn(move || {
                    for sequence in 0..50 {
                        shared.append(&entry(writer * 100 + sequence)).expect("it is written");
                    }
                });
            }
        });
        assert_eq!(journal(directory.path(), "b").unrecovered().expect("it reads").len(), 200);
    }

    impl Journal {
        fn lanes_of(&self, run: &str) -> PathBuf {
            self.directory.join(format!("lane-{run}-000000.log"))
        }
    }
}
