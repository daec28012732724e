//! The write-ahead journal: which call wrote which files from which bytes, for exactly-once answers and undo.
//!
//! A record is synced before the renames that it describes. After a crash the records say which writes to finish
//! and which answers to repeat. Each writer has a log segment of its own, so that nobody waits for another's fsync;
//! displaced texts are kept beside it, named by their digest, and all of it is bounded.

/// How old what is kept is.
mod clock;

mod record;

/// Files of earlier daemons → records.
mod reading;

/// How much is kept.
mod retention;

/// Records ↔ bytes.
mod segment;

/// Settling and forgetting, while the daemon runs.
mod upkeep;

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::Sender;
use parking_lot::Mutex;

pub use clock::RetentionClock;
pub use record::{CallId, ChangeRecord, ChangedFile, ChangedItem, JournalFile, JournalRecord, RecordedAnswer};
pub use retention::JournalRetention;
use retention::RetainedFiles;
use segment::SEGMENT_HEADER_BYTES;

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
    retained: RetainedFiles,
    /// Writes that were aborted, by the name of their first temp file, until their segment is settled.
    aborted: Mutex<HashSet<String>>,
    /// Held while the thread that forgets is at work.
    is_closed: Mutex<bool>,
    /// Wakes that thread.
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
            retained: RetainedFiles::new(directory, epoch_millis()),
            aborted: Mutex::default(),
            is_closed: Mutex::default(),
            wake: Mutex::default(),
            problems: Mutex::default(),
        })
    }

    /// Appends an abort, or a write that the next daemon must bring to an end; it is on the disk when this returns.
    pub fn append(&self, entry: &JournalRecord) -> io::Result<()> {
        let ticket = self.write_reserved(self.reserve(entry)?)?;
        match &entry.aborts {
            Some(name) => drop(self.aborted.lock().insert(name.clone())),
            None if entry.write_name().is_some() => ticket.leave_open(),
            None => {}
        }
        Ok(())
    }

    /// Says that nothing of these writes lies around any more. That only saves the next daemon a look at them, so nothing
    /// is forgotten to make room for it.
    pub fn append_finished(&self, names: Vec<String>) -> io::Result<()> {
        let reserved = self.reserve_in(&JournalRecord::of_finished(names), || self.try_new_segment())?;
        self.write_reserved(reserved).map(drop)
    }

    /// Reserves space for a record, and for one that aborts it. Nothing is in the journal yet.
    pub fn reserve(&self, entry: &JournalRecord) -> io::Result<ReservedRecord> {
        self.reserve_in(entry, || self.new_segment())
    }

    /// The same, in a segment that is in use or in a new one.
    fn reserve_in(
        &self,
        entry: &JournalRecord,
        new_segment: impl FnOnce() -> io::Result<LogSegment>,
    ) -> io::Result<ReservedRecord> {
        let record = segment::encode(entry)?;
        let abort = if entry.aborts.is_none() { ABORT_RESERVE_BYTES } else { 0 };
        let fits = |segment: &LogSegment| segment.end + (record.len() + abort) as u64 <= LOG_SEGMENT_BYTES as u64;
        let mut free = self.free.lock();
        let found = free.iter().position(fits).map(|place| free.swap_remove(place));
        drop(free);
        let segment = found.map_or_else(new_segment, Ok)?;
        Ok(ReservedRecord { segment, record })
    }

    /// Writes a record and syncs it. If it fails, the record may be in the journal nevertheless.
    pub fn write_reserved(&self, ReservedRecord { mut segment, record }: ReservedRecord) -> io::Result<RecordTicket> {
        // A segment whose write or flush failed is not used again: nobody knows what it holds.
        self.syscalls.write_at(&segment.file, &record, segment.end)?;
        self.syscalls.fdatasync(&segment.file)?;
        segment.end += record.len() as u64;
        self.retained.add(segment.end.saturating_sub(LOG_SEGMENT_BYTES as u64));
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
        self.retained.add(LOG_SEGMENT_BYTES as u64);
        let bound = self.retained.limits().bytes;
        match self.retained.bytes() {
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

    /// Where a displaced text is kept.
    pub fn displaced_text_path(&self, digest: Digest) -> PathBuf {
        let name = digest.to_string();
        self.directory.join("old").join(&name[..2]).join(name)
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::disk::syscalls::OsSyscalls;

    pub(super) fn entry(sequence: u64) -> JournalRecord {
        JournalRecord {
            call: Some(CallId { session: "s".into(), sequence }),
            key: None,
            at: sequence as i64,
            change: None,
            answer: RecordedAnswer("\"done\"".into()),
            files: Vec::new(),
            aborts: None,
            finished: Vec::new(),
        }
    }

    pub(super) fn journal(directory: &Path, run: &str) -> Journal {
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
            assert!(free.iter().all(|segment| segment.end + segment::encode(&abort).expect("it fits").len() as u64
                <= LOG_SEGMENT_BYTES as u64));
        }
        journal.append(&JournalRecord::abort("temp")).expect("it is written");
        assert_eq!(segments(), 2);
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
        pub(super) fn lanes_of(&self, run: &str) -> PathBuf {
            self.directory.join(format!("lane-{run}-000000.log"))
        }
    }
}
