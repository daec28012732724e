//! The feed on the disk: each entry goes to the end of a file as one line of JSON.
//!
//! A feed is a row of such files; the oldest is dropped when it holds nothing that must be kept. A line that was cut off
//! by a crash is passed over.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::disk::journal::RetentionClock;
use crate::families::feed::FeedEntry;
use crate::state_files;

/// A file holds a tenth of what is kept, within these limits.
const MAX_ENTRIES_PER_FILE: u64 = 10_000;
const MIN_ENTRIES_PER_FILE: u64 = 100;

/// How long and how many changes are kept. Whole files are dropped, so up to a tenth more is there.
#[derive(Debug, Clone)]
pub struct FeedRetention {
    pub age: Duration,
    pub entries: u64,
    /// By which the age of a file is counted.
    pub clock: Arc<RetentionClock>,
}

#[derive(Debug)]
pub(super) struct FeedLog {
    directory: PathBuf,
    retention: FeedRetention,
    tail: Mutex<Option<Tail>>,
}

/// The file that is being written.
#[derive(Debug)]
struct Tail {
    entries: u64,
    path: PathBuf,
    file: File,
}

impl FeedLog {
    /// Nothing is read or made before the first entry.
    pub(super) fn new(directory: PathBuf, retention: FeedRetention) -> Self {
        Self { directory, retention, tail: Mutex::default() }
    }

    /// A number above all that are here. A torn last line may have had one behind the last whole one.
    pub(super) fn next_number(&self) -> u64 {
        let newest = files(&self.directory).last().copied();
        let last = |first: u64| entries(&file_path(&self.directory, first)).iter().map(|entry| entry.id).max();
        newest.map_or(1, |first| last(first).unwrap_or(first).max(first) + 2)
    }

    /// Adds an entry. It is in the file when this returns, so a daemon that is killed afterwards has lost nothing.
    /// Entries come nearly in the order of their numbers; none below `least` comes later.
    pub(super) fn append(&self, entry: &FeedEntry, least: u64) -> io::Result<()> {
        let mut slot = self.tail.lock();
        let per_file = (self.retention.entries / 10).clamp(MIN_ENTRIES_PER_FILE, MAX_ENTRIES_PER_FILE);
        let has_room = |tail: &Tail| tail.entries < per_file;
        let mut tail = match slot.take().filter(has_room) {
            Some(tail) => tail,
            None => {
                let path = file_path(&self.directory, least.min(entry.id));
                let file = state_files::open_append(&path)?;
                self.prune(entry.id);
                Tail { entries: 0, path, file }
            }
        };
        tail.entries += 1;
        let mut line = serde_json::to_vec(entry).map_err(io::Error::other)?;
        line.push(b'\n');
        // After a line that was cut off the next one goes to another file.
        if let Err(error) = tail.file.write_all(&line) {
            if tail.entries == 1 {
                // A full disk shall not fill up with empty files.
                state_files::remove(&tail.path);
            }
            return Err(error);
        }
        *slot = Some(tail);
        Ok(())
    }

    /// The newest changes, newest first, at most so many, of those before this number if there is one.
    pub(super) fn newest(&self, limit: usize, before: Option<u64>) -> Vec<FeedEntry> {
        let mut newest: Vec<FeedEntry> = Vec::new();
        let is_wanted = |id: u64| before.is_none_or(|before| id < before);
        // A file is named by the least number in it.
        for first in files(&self.directory).into_iter().rev().filter(|first| is_wanted(*first)) {
            // The file before may have a few numbers between those of this one.
            let is_enough = newest.len() >= limit;
            newest.extend(entries(&file_path(&self.directory, first)).into_iter().filter(|entry| is_wanted(entry.id)));
            if is_enough {
                break;
            }
        }
        newest.sort_by_key(|entry| std::cmp::Reverse(entry.id));
        newest.truncate(limit);
        newest
    }

    /// Drops files of which no change must be kept; a file counts from when the one after it was begun.
    fn prune(&self, newest: u64) {
        let files = files(&self.directory);
        for pair in files.windows(2) {
            let (path, next) = (file_path(&self.directory, pair[0]), pair[1]);
            let is_beyond = newest.saturating_sub(next) >= self.retention.entries;
            if is_beyond || self.retention.clock.age(&path) > self.retention.age {
                state_files::remove(&path);
            }
        }
    }
}

fn file_path(directory: &Path, first: u64) -> PathBuf {
    directory.join(format!("{first:012}.jsonl"))
}

/// The files of a feed by the number of their first change, oldest first.
fn files(directory: &Path) -> Vec<u64> {
    let names = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let number = |name: std::ffi::OsString| name.to_str()?.strip_suffix(".jsonl")?.parse().ok();
    let mut files: Vec<u64> = names.filter_map(number).collect();
    files.sort_unstable();
    files
}

/// The changes in a file; lines that cannot be read are passed over.
fn entries(path: &Path) -> Vec<FeedEntry> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
    lines.filter_map(|line| serde_json::from_slice(&line).ok()).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::families::feed::FeedFile;

    impl FeedLog {
        /// A log without entries.
        pub(in super::super) fn for_tests() -> Self {
            open("/nonexistent/feed".into())
        }
    }

    fn open(directory: PathBuf) -> FeedLog {
        let clock = Arc::new(RetentionClock::open(&directory.with_extension("clock"), 0));
        FeedLog::new(directory, FeedRetention { age: Duration::from_secs(30 * DAY), entries: 100, clock })
    }

    const DAY: u64 = 24 * 60 * 60;

    fn entry(by: &str) -> FeedEntry {
        let file = FeedFile { tree: "/t".into(), path: "a.md".into(), ..FeedFile::default() };
        FeedEntry { at: 0, by: by.to_owned(), files: vec![file], ..FeedEntry::default() }
    }

    fn names(feed: &FeedLog, limit: usize, before: Option<u64>) -> Vec<(u64, String)> {
        feed.newest(limit, before).into_iter().map(|entry| (entry.id, entry.by)).collect()
    }

    #[test]
    fn a_torn_line_is_passed_over_and_its_number_is_not_free() {
        let home = TempDir::new().expect("a directory");
        let feed = open(home.path().join("feed"));
        let append = |feed: &FeedLog, id: u64, least: u64, by: &str| {
            feed.append(&FeedEntry { id, ..entry(by) }, least).expect("written");
        };
        assert_eq!(feed.next_number(), 1);
        append(&feed, 2, 1, "two");
        append(&feed, 1, 1, "one");
        drop(feed);
        let file = home.path().join("feed/000000000001.jsonl");
        let text = fs::read_to_string(&file).expect("a file");
        fs::write(&file, format!("{text}{{\"id\":3,\"at\"")).expect("torn");
        let feed = open(home.path().join("feed"));
        assert!(feed.next_number() > 3, "a number that may have been given is not given again");
        append(&feed, 5, 4, "five");
        append(&feed, 4, 4, "four");
        let seen: Vec<String> = names(&feed, 10, None).into_iter().map(|(_, by)| by).collect();
        assert_eq!(seen, ["five", "four", "two", "one"]);
        assert_eq!(names(&feed, 1, None), [(5, "five".to_owned())]);
        assert_eq!(names(&feed, 10, Some(2)), [(1, "one".to_owned())]);
    }

    #[test]
    fn what_is_not_known_is_absent() {
        let text = serde_json::to_string(&entry("by hand")).expect("JSON");
        for absent in ["session", "key", "tool", "undoes", "from", "items", "old", "new", "family"] {
            assert!(!text.contains(absent), "{text}");
        }
        assert!(text.contains(r#""what":"changed""#), "{text}");
    }

    #[test]
    fn r29_old_files_go_by_evidence_and_the_newest_stays() {
        let home = TempDir::new().expect("a directory");
        let feed = open(home.path().join("feed"));
        let look = |day: u64| feed.retention.clock.look(day as i64 * DAY as i64 * 1000).expect("it is kept");
        let begin = |id: u64| {
            let line = serde_json::to_string(&FeedEntry { id, ..entry("x") }).expect("JSON");
            fs::write(file_path(&feed.directory, id), line + "\n").expect("a file");
            feed.prune(id);
        };
        fs::create_dir(&feed.directory).expect("a directory");
        begin(1);
        begin(2);
        // The clock jumps by a year and back, twice: that makes two days.
        [365, 0, 365, 0].into_iter().for_each(look);
        begin(3);
        assert_eq!(files(&feed.directory), [1, 2, 3]);
        (1..=29).for_each(look);
        begin(4);
        assert_eq!(files(&feed.directory), [2, 3, 4], "a file counts from when the next one was begun");
        begin(104);
        assert_eq!(files(&feed.directory), [4, 104], "what is beyond the number that is kept goes");
    }
}
