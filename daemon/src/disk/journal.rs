//! The write-ahead journal: which call wrote which files from which bytes, for exactly-once answers and undo.
//!
//! A record is synced before the renames that it describes. After a crash the records say which writes to finish
//! and which answers to repeat. Each writer has a log segment of its own, so that nobody waits for another's fsync;
//! displaced texts are kept beside it, named by their digest. All of it is bounded.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Digest;
use super::staging::StagedIn;
use super::syscalls::WriteSyscalls;
use crate::clock;
use crate::state_files;

/// Another number means another format: the file is put aside, never guessed at.
const FORMAT: &[u8; 8] = b"TRLSJ\0\0\x01";
/// Segments are filled with zeros once, so that syncing a record has no file size to update.
const LOG_SEGMENT_BYTES: usize = 256 << 10;
/// So much of a segment stays free for an abort record: that must not fail for lack of space.
const ABORT_RESERVE_BYTES: usize = 512;
const MAX_IDLE_SEGMENTS: usize = 64;
/// Bytes in front of a record: its length and the beginning of its digest.
const RECORD_HEADER_BYTES: usize = 12;
/// No record is longer: an answer has a limit, too.
const MAX_RECORD_BYTES: usize = 128 << 20;

/// One request of one session, across daemons.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallId {
    /// The session's name.
    pub session: String,
    /// The number of the request in it.
    pub sequence: u64,
}

/// One write: what was answered, and what happened to which files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalRecord {
    /// Which call it was, if it can come again.
    pub call: Option<CallId>,
    /// The caller's own name for the request, with its arguments.
    pub key: Option<String>,
    /// When, in milliseconds of the epoch.
    pub at: i64,
    /// What was answered.
    pub answer: RecordedAnswer,
    pub files: Vec<JournalFile>,
    /// This record aborts an earlier write: the one with this temp file.
    #[serde(rename = "voids", default, skip_serializing_if = "Option::is_none")]
    pub aborts: Option<String>,
}

/// An answer as JSON text: it is written far more often than it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedAnswer(pub Arc<str>);

impl Default for RecordedAnswer {
    fn default() -> Self {
        Self("null".into())
    }
}

impl Serialize for RecordedAnswer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.0).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RecordedAnswer {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Box::<RawValue>::deserialize(deserializer)?.get().into()))
    }
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalFile {
    /// The tree's path.
    pub root: PathBuf,
    /// The file in it.
    pub path: String,
    /// The name of its temp file.
    pub temp: String,
    /// Where that lies; its name was on the disk before this record. Unknown in records of old: then beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged_in: Option<StagedIn>,
    /// What it held; none if it was not there.
    pub old: Option<Digest>,
    /// What it holds now; of a file that went, what marked its place.
    pub new: Digest,
    /// The file went.
    #[serde(rename = "removes", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_removal: bool,
}

impl JournalRecord {
    /// Records that the write with this temp file did not happen.
    pub fn abort(temp: &str) -> Self {
        let aborts = Some(temp.to_owned());
        let (call, key, answer) = (None, None, RecordedAnswer::default());
        Self { call, key, at: clock::epoch_millis(), answer, files: Vec::new(), aborts }
    }

    /// By which an abort refers to a write; none for an abort.
    pub fn write_name(&self) -> Option<&str> {
        self.files.first().map(|file| file.temp.as_str())
    }
}

/// The journal of a daemon.
#[derive(Debug)]
pub struct Journal {
    directory: PathBuf,
    syscalls: Arc<dyn WriteSyscalls>,
    free: Mutex<Vec<LogSegment>>,
    segments: AtomicU64,
    run: String,
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
        })
    }

    /// Appends a record; it is on the disk when this returns.
    pub fn append(&self, entry: &JournalRecord) -> io::Result<()> {
        self.write_reserved(self.reserve(entry)?)
    }

    /// Reserves space for a record, and for one that aborts it. Nothing is in the journal yet.
    pub fn reserve(&self, entry: &JournalRecord) -> io::Result<ReservedRecord> {
        let record = encode(entry)?;
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
        zeros[..FORMAT.len()].copy_from_slice(FORMAT);
        let filled = self.syscalls.write_at(&file, &zeros, 0).and_then(|()| self.syscalls.fsync(&file));
        if let Err(error) = filled.and_then(|()| self.syscalls.fsync_directory(directory.as_fd())) {
            // Half a segment only takes room, where there is little of it.
            let _ = self.syscalls.remove(directory.as_fd(), name.as_ref());
            return Err(error);
        }
        Ok(LogSegment { file, end: FORMAT.len() as u64 })
    }

    /// Records of earlier daemons that recovery has not gone through yet, oldest first.
    pub fn unrecovered(&self) -> io::Result<Vec<JournalRecord>> {
        read_all(&self.files("lane-")?)
    }

    /// Records that recovery has gone through, since this time, oldest first.
    pub fn recovered(&self, since: SystemTime) -> io::Result<Vec<JournalRecord>> {
        let mut files = self.files("done-")?;
        files.retain(|path| fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|at| at >= since));
        read_all(&files)
    }

    /// Marks the records of earlier daemons as recovered, and truncates their segments.
    pub fn mark_recovered(&self) -> io::Result<()> {
        for path in self.files("lane-")? {
            if let Some(length) = length_of(&fs::read(&path)?) {
                state_files::truncate(&path, length)?;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().replacen("lane-", "done-", 1);
            state_files::rename(&path, &self.directory.join(name))?;
        }
        Ok(())
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

fn read_all(files: &[PathBuf]) -> io::Result<Vec<JournalRecord>> {
    let mut entries = Vec::new();
    for path in files {
        entries.extend(records_in(&fs::read(path)?));
    }
    entries.sort_by_key(|entry| entry.at);
    Ok(entries)
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

fn encode(entry: &JournalRecord) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(entry)?;
    let length =
        u32::try_from(body.len()).ok().filter(|_| body.len() <= MAX_RECORD_BYTES).ok_or(io::ErrorKind::FileTooLarge)?;
    let mut record = Vec::with_capacity(RECORD_HEADER_BYTES + body.len());
    record.extend(length.to_le_bytes());
    record.extend(checksum(&body));
    record.extend(body);
    Ok(record)
}

/// The records of a segment, up to the first that is not whole.
fn records_in(bytes: &[u8]) -> Vec<JournalRecord> {
    record_bodies(bytes).map_while(|body| serde_json::from_slice(body).ok()).collect()
}

/// Used bytes of a segment; none for another format.
fn length_of(bytes: &[u8]) -> Option<u64> {
    let used: usize = record_bodies(bytes).map(|body| RECORD_HEADER_BYTES + body.len()).sum();
    bytes.starts_with(FORMAT).then_some((FORMAT.len() + used) as u64)
}

fn record_bodies(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes.strip_prefix(FORMAT).unwrap_or_default();
    std::iter::from_fn(move || {
        let (head, tail) = rest.split_at_checked(RECORD_HEADER_BYTES)?;
        let (length, expected) = head.split_at(4);
        let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
        let (body, tail) = tail.split_at_checked(length).filter(|_| length > 0)?;
        rest = tail;
        (checksum(body) == expected).then_some(body)
    })
    .fuse()
}

fn checksum(body: &[u8]) -> [u8; RECORD_HEADER_BYTES - 4] {
    let mut check = [0; RECORD_HEADER_BYTES - 4];
    check.copy_from_slice(&blake3::hash(body).as_bytes()[..RECORD_HEADER_BYTES - 4]);
    check
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

    #[test]
    fn a_torn_entry_hides_only_itself() {
        let directory = TempDir::new().expect("a directory");
        let first = journal(directory.path(), "a");
        first.append(&entry(1)).expect("it is written");
        first.append(&entry(2)).expect("it is written");
        let segment = first.lanes_of("a");
        let mut bytes = fs::read(&segment).expect("it reads");
        let whole = FORMAT.len() + encode(&entry(1)).expect("it fits").len();
        bytes[whole + RECORD_HEADER_BYTES + 3] ^= 1;
        state_files::replace(&segment, &bytes).expect("it is written");
        assert_eq!(journal(directory.path(), "b").unrecovered().expect("it reads"), [entry(1)]);
        state_files::replace(&segment, b"something else").expect("it is written");
        assert_eq!(journal(directory.path(), "b").unrecovered().expect("it reads"), []);
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
                    .all(|segment| segment.end + encode(&abort).expect("it fits").len() as u64
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
        state_files::replace(&directory.path().join("lane-x-000000.log"), b"another format").expect("it is written");
        let second = journal(directory.path(), "b");
        second.mark_recovered().expect("it settles");
        assert_eq!(second.unrecovered().expect("it reads"), []);
        assert_eq!(second.recovered(SystemTime::UNIX_EPOCH).expect("it reads"), [entry(1)]);
        let bytes = |name: &str| fs::read(directory.path().join(name)).expect("it reads");
        assert!(bytes("done-a-000000.log").len() < 1000);
        assert_eq!(bytes("done-x-000000.log"), b"another format", "never guessed at");
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
