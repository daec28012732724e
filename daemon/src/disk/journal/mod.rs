//! The write-ahead journal: which call wrote which files from which bytes, for exactly-once answers and undo.
//!
//! A record is synced before the renames that it describes. After a crash the records say which writes to finish
//! and which answers to repeat. Each writer has a log segment of its own, so that nobody waits for another's fsync;
//! displaced texts are kept beside it, named by their digest. All of it is bounded. A file that cannot be read costs
//! what it held, and nothing else.

mod record;

/// Records ↔ bytes.
mod segment;

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use parking_lot::Mutex;

pub use record::{CallId, JournalFile, JournalRecord, RecordedAnswer};
use segment::{SEGMENT_HEADER_BYTES, SegmentContent, SegmentRecords};

use super::Digest;
use super::syscalls::WriteSyscalls;
use crate::state_files;

/// Segments are filled with zeros once, so that syncing a record has no file size to update.
const LOG_SEGMENT_BYTES: usize = 256 << 10;
/// So much of a segment stays free for an abort record: that must not fail for lack of space.
const ABORT_RESERVE_BYTES: usize = 512;
const MAX_IDLE_SEGMENTS: usize = 64;
/// In front of the name of a file that nothing can be made of.
const BROKEN_PREFIX: &str = "broken-";
/// The journal of a daemon.
#[derive(Debug)]
pub struct Journal {
    directory: PathBuf,
    syscalls: Arc<dyn WriteSyscalls>,
    free: Mutex<Vec<LogSegment>>,
    segments: AtomicU64,
    run: String,
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
    end: u64,
}

impl Journal {
    /// Opens the journal in its directory. `run` tells this daemon's segments from those of others.
    pub fn open(directory: &Path, run: &str, syscalls: Arc<dyn WriteSyscalls>) -> io::Result<Self> {
        state_files::make_directory(&directory.join("old"))?;
        Ok(Self {
            directory: directory.to_owned(),
            syscalls,
            free: Mutex::default(),
            segments: AtomicU64::new(0),
            run: run.to_owned(),
            problems: Mutex::default(),
        })
    }

    /// Appends a record; it is on the disk when this returns.
    pub fn append(&self, entry: &JournalRecord) -> io::Result<()> {
        self.write_reserved(self.reserve(entry)?)
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

    /// The second part of [`Self::append`]. If it fails, the record may be in the journal nevertheless.
    pub fn write_reserved(&self, ReservedRecord { mut segment, record }: ReservedRecord) -> io::Result<()> {
        // A segment whose write or flush failed is not used again: nobody knows what it holds.
        self.syscalls.write_at(&segment.file, &record, segment.end)?;
        self.syscalls.fdatasync(&segment.file)?;
        segment.end += record.len() as u64;
        let mut free = self.free.lock();
        free.push(segment);
        if free.len() > MAX_IDLE_SEGMENTS {
            free.remove(0);
        }
        Ok(())
    }

    fn new_segment(&self) -> io::Result<LogSegment> {
        let number = self.segments.fetch_add(1, Ordering::Relaxed);
        let name = format!("lane-{}-{number:06}.log", self.run);
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
        Ok(LogSegment { file, end: SEGMENT_HEADER_BYTES as u64 })
    }

    /// Records of earlier daemons that recovery has not gone through yet, oldest first.
    pub fn unrecovered(&self) -> io::Result<Vec<JournalRecord>> {
        Ok(self.read_all(&self.files("lane-")?))
    }

    /// Records that recovery has gone through, since this time, oldest first.
    pub fn recovered(&self, since: SystemTime) -> io::Result<Vec<JournalRecord>> {
        let mut files = self.files("done-")?;
        files.retain(|path| fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|at| at >= since));
        Ok(self.read_all(&files))
    }

    /// Marks the records of earlier daemons as recovered, and truncates their segments.
    pub fn mark_recovered(&self) -> io::Result<()> {
        for path in self.files("lane-")? {
            // What could not be read has been named before.
            let Ok(bytes) = state_files::read_bytes(&path) else { continue };
            match segment::decode(&bytes) {
                SegmentContent::Records(SegmentRecords { used_bytes, .. }) => {
                    state_files::truncate(&path, used_bytes)?;
                    let name = file_name(&path).replacen("lane-", "done-", 1);
                    state_files::rename(&path, &self.directory.join(name))?;
                }
                SegmentContent::Unused => state_files::remove(&path),
                SegmentContent::OtherFormat | SegmentContent::Garbage => {}
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
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(prefix) && !name.starts_with(&ours) {
                files.push(entry.path());
            }
        }
        files.sort();
        Ok(files)
    }

    /// Where a displaced text is kept.
    pub fn displaced_text_path(&self, digest: Digest) -> PathBuf {
        let name = digest.to_string();
        self.directory.join("old").join(&name[..2]).join(name)
    }

    /// Forgets what is older than `days`, and the oldest beyond `bytes`.
    pub fn prune(&self, now: SystemTime, days: u64, bytes: u64) -> io::Result<()> {
        let mut files = Vec::new();
        for path in self.files("done-")?.into_iter().chain(displaced_texts(&self.directory.join("old"))?) {
            let Ok(metadata) = fs::metadata(&path) else { continue };
            files.push((metadata.modified()?, metadata.len(), path));
        }
        files.sort();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (modified, size, path) in files {
            let age = now.duration_since(modified).unwrap_or_default();
            if age.as_secs() > days * 24 * 60 * 60 || total > bytes {
                state_files::remove(&path);
                total -= size;
            }
        }
        Ok(())
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn displaced_texts(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut texts = Vec::new();
    for shelf in fs::read_dir(directory)? {
        // What is no directory is not ours.
        for text in fs::read_dir(shelf?.path()).into_iter().flatten() {
            texts.push(text?.path());
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::disk::syscalls::OsSyscalls;

    fn entry(sequence: u64) -> JournalRecord {
        JournalRecord {
            call: Some(CallId { session: "s".into(), sequence }),
            key: None,
            at: sequence as i64,
            answer: RecordedAnswer("\"done\"".into()),
            files: Vec::new(),
            aborts: None,
            finished: Vec::new(),
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
        let recovered = journal(directory.path(), "c").recovered(SystemTime::UNIX_EPOCH);
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
        assert_eq!(second.recovered(SystemTime::UNIX_EPOCH).expect("it reads"), [entry(1)]);
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
            assert!(free.iter().all(|segment| segment.end + segment::encode(&abort).expect("it fits").len() as u64
                <= LOG_SEGMENT_BYTES as u64));
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
        assert_eq!(second.recovered(SystemTime::UNIX_EPOCH).expect("it reads"), [entry(1)]);
        let bytes = |name: &str| fs::read(directory.path().join(name)).expect("it reads");
        assert!(bytes("done-a-000000.log").len() < 1000);
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
