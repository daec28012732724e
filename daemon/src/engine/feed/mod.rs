//! What was changed, when and by whom, kept in the state directory from one daemon to the next.
//!
//! Changes come in as they happen. All files of one call of ours are one entry, which is on its way to the disk before
//! the call is answered. What others do in one tree within a short time is gathered into one entry. Nothing here
//! touches a user's file.

/// Entries → lines of JSON on the disk.
mod log;

/// Which number is next.
mod numbers;

/// The newest entries in memory, and what took what back.
mod recent;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use log::FeedLog;
pub use log::FeedRetention;
use numbers::ChangeNumbers;
use recent::RecentEntries;

use crate::clock;
use crate::families::feed::{BY_HAND, FeedEntry, FeedFile, FileChange};
use crate::trees::{Change, ChangeKind, ChangeSubscriber, Origin};

/// An outside entry ends when nothing more has happened in its tree for this long.
const ENTRY_QUIET_TIME: Duration = Duration::from_secs(1);
/// And after this long in any case.
const MAX_ENTRY_DURATION: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Feed {
    log: FeedLog,
    numbers: ChangeNumbers,
    recent: RecentEntries,
    open: Mutex<OpenEntries>,
    opened: Condvar,
    /// Comes with the first change by somebody else.
    closer: OnceLock<()>,
    this: Weak<Self>,
}

/// What others did a moment ago, by tree.
#[derive(Debug, Default)]
struct OpenEntries {
    trees: BTreeMap<Arc<Path>, OpenEntry>,
    is_ending: bool,
}

#[derive(Debug)]
struct OpenEntry {
    files: BTreeMap<PathBuf, FileChange>,
    /// Milliseconds of the epoch.
    at: i64,
    first: Instant,
    last: Instant,
}

impl Feed {
    /// The feed in this directory; `numbers` is the file that says which numbers are taken. It does not lie with the
    /// feed, because the journal has the same numbers.
    pub fn new(directory: PathBuf, numbers: PathBuf, retention: FeedRetention) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            log: FeedLog::new(directory, retention),
            numbers: ChangeNumbers::new(numbers),
            recent: RecentEntries::default(),
            open: Mutex::default(),
            opened: Condvar::new(),
            closer: OnceLock::new(),
            this: Weak::clone(this),
        })
    }

    /// Starts the thread that writes entries once they are complete.
    fn start_closer(&self) {
        let Some(feed) = self.this.upgrade() else { return };
        let started = std::thread::Builder::new().name("feed".into()).spawn(move || feed.close_entries());
        if let Err(error) = started {
            tracing::warn!(%error, "what others change is not recorded");
        }
    }

    /// The number of a change that is about to be made. It grows, and nobody gets it again.
    pub fn reserve(&self) -> std::io::Result<ReservedChange<'_>> {
        let number = self.numbers.reserve(|| self.log.next_number())?;
        Ok(ReservedChange { number, feed: self })
    }

    /// The newest entries, newest first, at most so many, of those before this number if there is one.
    pub fn newest(&self, limit: usize, before: Option<u64>) -> Vec<Arc<FeedEntry>> {
        self.recent.newest(&self.log, limit, before)
    }

    /// The change that took another one back and was not taken back itself.
    pub fn undone_by(&self, change: u64) -> Option<u64> {
        self.recent.undone_by(&self.log, change)
    }

    /// Writes what is still being gathered.
    pub fn finish(&self) {
        let mut open = self.open.lock();
        open.is_ending = true;
        std::mem::take(&mut open.trees).into_iter().for_each(|(tree, entry)| self.append(entry.close(&tree)));
        self.numbers.finish();
        self.opened.notify_all();
    }

    /// Writes entries once they are complete, until the feed ends.
    fn close_entries(&self) {
        let mut open = self.open.lock();
        while !open.is_ending {
            let now = Instant::now();
            while let Some(tree) = open.trees.iter().find(|(_, entry)| entry.due() <= now).map(|(tree, _)| tree.clone())
            {
                if let Some(entry) = open.trees.remove(&tree) {
                    self.append(entry.close(&tree));
                }
            }
            match open.trees.values().map(OpenEntry::due).min() {
                Some(due) => drop(self.opened.wait_until(&mut open, due)),
                None => self.opened.wait(&mut open),
            }
        }
    }

    /// What others did gets the number that is next; a call of ours has one.
    fn append(&self, mut entry: FeedEntry) {
        if entry.files.is_empty() {
            return;
        }
        let reserved = if entry.id == 0 { self.reserve().map(Some) } else { Ok(None) };
        let added = reserved.and_then(|reserved| {
            entry.id = reserved.as_ref().map_or(entry.id, |reserved| reserved.number);
            self.recent.load(&self.log);
            self.log.append(&entry, self.numbers.least_outstanding().unwrap_or(entry.id))?;
            self.recent.add(entry);
            Ok(())
        });
        if let Err(error) = added {
            tracing::warn!(%error, "a change could not be added to the feed");
        }
    }

    /// Adds the change of a call of ours. It ends what others did in the same trees before.
    pub fn record(&self, entry: FeedEntry) {
        let mut open = self.open.lock();
        for file in &entry.files {
            let tree = Path::new(&file.tree);
            if let Some(others) = open.trees.remove(tree) {
                self.append(others.close(tree));
            }
        }
        self.append(entry);
    }

    /// Adds the changes of calls that an earlier daemon carried out, as far as they are not there.
    pub fn record_missing(&self, entries: impl Iterator<Item = FeedEntry>) {
        for entry in entries {
            if self.newest(1, Some(entry.id + 1)).first().is_none_or(|newest| newest.id != entry.id) {
                self.append(entry);
            }
        }
    }

    fn record_outside(&self, changes: &[&Change]) {
        self.closer.get_or_init(|| self.start_closer());
        let now = Instant::now();
        let mut open = self.open.lock();
        for change in changes {
            let Some(what) = what(change.kind) else { continue };
            let new = || OpenEntry { files: BTreeMap::new(), at: clock::epoch_millis(), first: now, last: now };
            let entry = open.trees.entry(Arc::clone(&change.tree)).or_insert_with(new);
            entry.last = now;
            entry.add(&change.path, what);
        }
        drop(open);
        self.opened.notify_all();
    }
}

/// The number of a change, for the journal and then for the feed. Dropped, it will not come into the feed any more.
#[derive(Debug)]
pub struct ReservedChange<'a> {
    /// Shown as `c42`.
    pub number: u64,
    feed: &'a Feed,
}

impl Drop for ReservedChange<'_> {
    fn drop(&mut self) {
        self.feed.numbers.release(self.number);
    }
}

impl ChangeSubscriber for Feed {
    fn changed(&self, changes: &[Change]) {
        // A call of ours comes with all that the journal knows of it, by `record`.
        let outside: Vec<&Change> = changes.iter().filter(|change| change.origin == Origin::Outside).collect();
        if !outside.is_empty() {
            self.record_outside(&outside);
        }
    }
}

impl OpenEntry {
    /// A file that came and changed has come; one that came and went was never there.
    fn add(&mut self, path: &Path, what: FileChange) {
        let what = match (self.files.get(path), what) {
            (Some(FileChange::Created), FileChange::Deleted) => {
                self.files.remove(path);
                return;
            }
            (Some(FileChange::Created), _) => FileChange::Created,
            (Some(FileChange::Deleted), FileChange::Created) => FileChange::Changed,
            _ => what,
        };
        self.files.insert(path.to_owned(), what);
    }

    fn due(&self) -> Instant {
        (self.last + ENTRY_QUIET_TIME).min(self.first + MAX_ENTRY_DURATION)
    }

    fn close(self, tree: &Path) -> FeedEntry {
        let files = self.files.into_iter().map(|(path, what)| file(tree, &path, what)).collect();
        FeedEntry { at: self.at, by: BY_HAND.to_owned(), files, ..FeedEntry::default() }
    }
}

fn file(tree: &Path, path: &Path, what: FileChange) -> FeedFile {
    let (tree, path) = (tree.display().to_string(), path.display().to_string());
    FeedFile { tree, path, what, ..FeedFile::default() }
}

fn what(kind: ChangeKind) -> Option<FileChange> {
    match kind {
        ChangeKind::Created => Some(FileChange::Created),
        ChangeKind::Modified => Some(FileChange::Changed),
        ChangeKind::Removed => Some(FileChange::Deleted),
        ChangeKind::MaybeModified => None,
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::disk::journal::RetentionClock;

    fn feed(home: &TempDir) -> Arc<Feed> {
        let clock = Arc::new(RetentionClock::open(home.path(), 0));
        let retention = FeedRetention { age: Duration::MAX, entries: 100, clock };
        Feed::new(home.path().join("feed"), home.path().join("changes"), retention)
    }

    fn change(path: &str, kind: ChangeKind, origin: &Origin) -> Change {
        Change { tree: Path::new("/t").into(), path: path.into(), kind, origin: origin.clone() }
    }

    fn entries(feed: &Feed) -> Vec<(String, Vec<(String, FileChange)>)> {
        let files = |entry: &FeedEntry| entry.files.iter().map(|file| (file.path.clone(), file.what)).collect();
        feed.newest(10, None).iter().rev().map(|entry| (entry.by.clone(), files(entry))).collect()
    }

    #[test]
    fn what_others_do_together_is_one_entry_which_a_call_of_ours_ends() {
        let home = TempDir::new().expect("a directory");
        let feed = feed(&home);
        let outside = |path: &str, kind| feed.changed(&[change(path, kind, &Origin::Outside)]);
        outside("new.md", ChangeKind::Created);
        outside("new.md", ChangeKind::Modified);
        outside("draft.md", ChangeKind::Created);
        outside("draft.md", ChangeKind::Removed);
        outside("same.md", ChangeKind::MaybeModified);
        let written = |path: &str, what| file(Path::new("/t"), Path::new(path), what);
        feed.record(FeedEntry {
            by: "host".to_owned(),
            tool: Some("vibe_update_doc".to_owned()),
            files: vec![written("a.md", FileChange::Changed), written("b.md", FileChange::Created)],
            ..FeedEntry::default()
        });
        feed.changed(&[change("index.md", ChangeKind::Modified, &Origin::Derived)]);
        outside("later.md", ChangeKind::Removed);
        feed.finish();
        let named = |path: &str, what| (path.to_owned(), what);
        assert_eq!(
            entries(&feed),
            [
                (BY_HAND.to_owned(), vec![named("new.md", FileChange::Created)]),
                ("host".to_owned(), vec![named("a.md", FileChange::Changed), named("b.md", FileChange::Created)]),
                (BY_HAND.to_owned(), vec![named("later.md", FileChange::Deleted)]),
            ]
        );
    }

    #[test]
    fn an_entry_is_written_when_it_has_been_quiet() {
        let home = TempDir::new().expect("a directory");
        let feed = feed(&home);
        feed.changed(&[change("a.md", ChangeKind::Created, &Origin::Outside)]);
        assert_eq!(entries(&feed), [], "more may follow");
        let end = Instant::now() + 10 * ENTRY_QUIET_TIME;
        while entries(&feed).is_empty() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(entries(&feed).len(), 1);
    }
}
