//! What was done, for whom, from which bytes: exactly once, and undo.
//!
//! An entry is flushed before the renames that it describes. After a crash the entries say which
//! writes to finish and which answers to give again. Each writer has a lane of its own, so that nobody
//! waits for another's flush; old texts lie beside, named by their digest. All of it is bounded.

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

use super::calls::Calls;
use super::{Digest, own};
use crate::clock;

/// Another number means another format: the file is put aside, never guessed at.
const FORMAT: &[u8; 8] = b"TRLSJ\0\0\x01";
/// Lanes are written full of zeros once, so that an entry's flush has no size to update.
const LANE: usize = 256 << 10;
/// So much of a lane stays free for an entry that makes another one void: that must not fail for lack of room.
const ROOM_FOR_A_VOID: usize = 512;
/// More lanes are not held open.
const MOST_FREE: usize = 64;
/// Bytes in front of an entry: its length and the beginning of its digest.
const HEAD: usize = 12;
/// No entry is longer: an answer has a limit, too.
const LONGEST: usize = 128 << 20;

/// One request of one session, across daemons.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallId {
    /// The session's name.
    pub session: String,
    /// The number of the request in it.
    pub sequence: u64,
}

/// One write: what was answered, and what became of which files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Which call it was, if it can come again.
    pub call: Option<CallId>,
    /// The caller's own name for the request, with its arguments.
    pub key: Option<String>,
    /// When, in milliseconds of the epoch.
    pub at: i64,
    /// What was answered.
    pub answer: Recorded,
    /// The files.
    pub files: Vec<EntryFile>,
    /// This write did not happen after all: the one with this temp file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voids: Option<String>,
}

/// An answer as JSON. It is written down more often than it is read, so it stays text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded(pub Arc<str>);

impl Default for Recorded {
    fn default() -> Self {
        Self("null".into())
    }
}

impl Serialize for Recorded {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.0).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Recorded {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Box::<RawValue>::deserialize(deserializer)?.get().into()))
    }
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryFile {
    /// The tree's path.
    pub root: PathBuf,
    /// The file in it.
    pub path: String,
    /// The temp file beside it.
    pub temp: String,
    /// What it held; none if it was not there.
    pub old: Option<Digest>,
    /// What it holds now; of a file that went, what marked its place.
    pub new: Digest,
    /// The file went.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removes: bool,
}

impl Entry {
    /// The write with this temp file did not happen after all.
    pub fn void(temp: &str) -> Self {
        let voids = Some(temp.to_owned());
        let (call, key, answer) = (None, None, Recorded::default());
        Self { call, key, at: clock::milliseconds(), answer, files: Vec::new(), voids }
    }

    /// By which voids know a write; none for a void.
    pub fn name(&self) -> Option<&str> {
        self.files.first().map(|file| file.temp.as_str())
    }
}

/// The journal of a daemon.
#[derive(Debug)]
pub struct Journal {
    directory: PathBuf,
    calls: Arc<dyn Calls>,
    free: Mutex<Vec<Lane>>,
    lanes: AtomicU64,
    run: String,
}

/// An entry and the place that it will have.
#[derive(Debug)]
pub struct Room {
    lane: Lane,
    record: Vec<u8>,
}

/// A file that one writer at a time adds to.
#[derive(Debug)]
struct Lane {
    file: File,
    end: u64,
}

impl Journal {
    /// Opens the journal in its directory. `run` tells this daemon's lanes from those of others.
    pub fn open(directory: &Path, run: &str, calls: Arc<dyn Calls>) -> io::Result<Self> {
        own::make_directory(&directory.join("old"))?;
        Ok(Self {
            directory: directory.to_owned(),
            calls,
            free: Mutex::default(),
            lanes: AtomicU64::new(0),
            run: run.to_owned(),
        })
    }

    /// Adds an entry; it is on the disk when this returns.
    pub fn append(&self, entry: &Entry) -> io::Result<()> {
        self.add(self.make_room(entry)?)
    }

    /// Makes sure of a place for an entry, and for another one that makes it void. Nothing is in the journal yet.
    pub fn make_room(&self, entry: &Entry) -> io::Result<Room> {
        let record = record(entry)?;
        let void = if entry.voids.is_none() { ROOM_FOR_A_VOID } else { 0 };
        let has_room = |lane: &Lane| lane.end + (record.len() + void) as u64 <= LANE as u64;
        let mut free = self.free.lock();
        let found = free.iter().position(has_room).map(|place| free.swap_remove(place));
        drop(free);
        let lane = found.map_or_else(|| self.new_lane(), Ok)?;
        Ok(Room { lane, record })
    }

    /// The second half of [`Self::append`]. If it fails, the entry may be in the journal nevertheless.
    pub fn add(&self, Room { mut lane, record }: Room) -> io::Result<()> {
        // A lane whose write or flush failed is not used again: nobody knows what it holds.
        self.calls.write_at(&lane.file, &record, lane.end)?;
        self.calls.flush_data(&lane.file)?;
        lane.end += record.len() as u64;
        let mut free = self.free.lock();
        free.push(lane);
        if free.len() > MOST_FREE {
            free.remove(0);
        }
        Ok(())
    }

    fn new_lane(&self) -> io::Result<Lane> {
        let number = self.lanes.fetch_add(1, Ordering::Relaxed);
        let name = format!("lane-{}-{number:06}.log", self.run);
        let directory = File::open(&self.directory)?;
        let file = self.calls.create(directory.as_fd(), name.as_ref())?;
        let mut zeros = vec![0; LANE];
        zeros[..FORMAT.len()].copy_from_slice(FORMAT);
        let filled = self.calls.write_at(&file, &zeros, 0).and_then(|()| self.calls.flush(&file));
        if let Err(error) = filled.and_then(|()| self.calls.flush_directory(directory.as_fd())) {
            // Half a lane only takes room, where there is little of it.
            let _ = self.calls.remove(directory.as_fd(), name.as_ref());
            return Err(error);
        }
        Ok(Lane { file, end: FORMAT.len() as u64 })
    }

    /// What earlier daemons wrote and nobody has gone through yet, oldest first.
    pub fn unsettled(&self) -> io::Result<Vec<Entry>> {
        read_all(&self.files("lane-")?)
    }

    /// What was gone through before, since this moment, oldest first.
    pub fn settled(&self, since: SystemTime) -> io::Result<Vec<Entry>> {
        let mut files = self.files("done-")?;
        files.retain(|path| fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|at| at >= since));
        read_all(&files)
    }

    /// Earlier daemons' entries have been gone through. What is left of their lanes is cut off: it is zeros.
    pub fn settle(&self) -> io::Result<()> {
        for path in self.files("lane-")? {
            if let Some(length) = length_of(&fs::read(&path)?) {
                own::shorten(&path, length)?;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().replacen("lane-", "done-", 1);
            own::rename(&path, &self.directory.join(name))?;
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

    /// Where an old text is kept.
    pub fn place_of(&self, digest: Digest) -> PathBuf {
        let name = digest.to_string();
        self.directory.join("old").join(&name[..2]).join(name)
    }

    /// Forgets what is older than `days`, and the oldest beyond `bytes`.
    pub fn prune(&self, now: SystemTime, days: u64, bytes: u64) -> io::Result<()> {
        let mut files = Vec::new();
        for path in self.files("done-")?.into_iter().chain(old_texts(&self.directory.join("old"))?) {
            let Ok(metadata) = fs::metadata(&path) else { continue };
            files.push((metadata.modified()?, metadata.len(), path));
        }
        files.sort();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (modified, size, path) in files {
            let age = now.duration_since(modified).unwrap_or_default();
            if age.as_secs() > days * 24 * 60 * 60 || total > bytes {
                own::remove(&path);
                total -= size;
            }
        }
        Ok(())
    }
}

fn read_all(files: &[PathBuf]) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for path in files {
        entries.extend(entries_in(&fs::read(path)?));
    }
    entries.sort_by_key(|entry| entry.at);
    Ok(entries)
}

fn old_texts(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut texts = Vec::new();
    for shelf in fs::read_dir(directory)? {
        // What is no directory is not ours.
        for text in fs::read_dir(shelf?.path()).into_iter().flatten() {
            texts.push(text?.path());
        }
    }
    Ok(texts)
}

fn record(entry: &Entry) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(entry)?;
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= LONGEST).ok_or(io::ErrorKind::FileTooLarge)?;
    let mut record = Vec::with_capacity(HEAD + body.len());
    record.extend(length.to_le_bytes());
    record.extend(check(&body));
    record.extend(body);
    Ok(record)
}

/// The entries of a lane, up to the first that is not whole.
fn entries_in(bytes: &[u8]) -> Vec<Entry> {
    bodies(bytes).map_while(|body| serde_json::from_slice(body).ok()).collect()
}

/// How much of a lane is used; none for another format.
fn length_of(bytes: &[u8]) -> Option<u64> {
    let used: usize = bodies(bytes).map(|body| HEAD + body.len()).sum();
    bytes.starts_with(FORMAT).then_some((FORMAT.len() + used) as u64)
}

fn bodies(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes.strip_prefix(FORMAT).unwrap_or_default();
    std::iter::from_fn(move || {
        let (head, tail) = rest.split_at_checked(HEAD)?;
        let (length, expected) = head.split_at(4);
        let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
        let (body, tail) = tail.split_at_checked(length).filter(|_| length > 0)?;
        rest = tail;
        (check(body) == expected).then_some(body)
    })
    .fuse()
}

fn check(body: &[u8]) -> [u8; HEAD - 4] {
    let mut check = [0; HEAD - 4];
    check.copy_from_slice(&blake3::hash(body).as_bytes()[..HEAD - 4]);
    check
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::disk::calls::System;

    fn entry(sequence: u64) -> Entry {
        Entry {
            call: Some(CallId { session: "s".into(), sequence }),
            key: None,
            at: sequence as i64,
            answer: Recorded("\"done\"".into()),
            files: Vec::new(),
            voids: None,
        }
    }

    fn journal(directory: &Path, run: &str) -> Journal {
        Journal::open(directory, run, Arc::new(System)).expect("it opens")
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
        assert_eq!(second.unsettled().expect("it reads"), [entry(0), entry(1), entry(2)]);
    }

    #[test]
    fn a_torn_entry_hides_only_itself() {
        let directory = TempDir::new().expect("a directory");
        let first = journal(directory.path(), "a");
        first.append(&entry(1)).expect("it is written");
        first.append(&entry(2)).expect("it is written");
        let lane = first.lanes_of("a");
        let mut bytes = fs::read(&lane).expect("it reads");
        let whole = FORMAT.len() + record(&entry(1)).expect("it fits").len();
        bytes[whole + HEAD + 3] ^= 1;
        own::replace(&lane, &bytes).expect("it is written");
        assert_eq!(journal(directory.path(), "b").unsettled().expect("it reads"), [entry(1)]);
        own::replace(&lane, b"something else").expect("it is written");
        assert_eq!(journal(directory.path(), "b").unsettled().expect("it reads"), []);
    }

    #[test]
    fn in_a_full_lane_there_is_still_room_for_a_void() {
        let directory = TempDir::new().expect("a directory");
        let journal = journal(directory.path(), "a");
        let lanes = || journal.lanes.load(Ordering::Relaxed);
        let long = Entry { answer: Recorded(format!("\"{}\"", "x".repeat(LANE / 8)).into()), ..entry(1) };
        while lanes() < 2 {
            journal.append(&long).expect("it is written");
            let void = Entry::void("temp");
            let free = journal.free.lock();
            assert!(free.iter().all(|lane| lane.end + record(&void).expect("it fits").len() as u64 <= LANE as u64));
        }
        journal.append(&Entry::void("temp")).expect("it is written");
        assert_eq!(lanes(), 2);
    }

    #[test]
    fn what_is_settled_is_short_and_still_there() {
        let directory = TempDir::new().expect("a directory");
        journal(directory.path(), "a").append(&entry(1)).expect("it is written");
        own::replace(&directory.path().join("lane-x-000000.log"), b"another format").expect("it is written");
        let second = journal(directory.path(), "b");
        second.settle().expect("it settles");
        assert_eq!(second.unsettled().expect("it reads"), []);
        assert_eq!(second.settled(SystemTime::UNIX_EPOCH).expect("it reads"), [entry(1)]);
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
        assert_eq!(journal(directory.path(), "b").unsettled().expect("it reads").len(), 200);
    }

    impl Journal {
        fn lanes_of(&self, run: &str) -> PathBuf {
            self.directory.join(format!("lane-{run}-000000.log"))
        }
    }
}
