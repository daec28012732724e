//! What happens to the journal while a daemon runs: segments are settled, and what is too old or too much is forgotten.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::RecvTimeoutError;

use super::retention::RoomFor;
use super::segment::{self, SegmentContent, SegmentRecords};
use super::{
    BROKEN_PREFIX, DONE_PREFIX, Journal, JournalRecord, JournalRetention, LOG_SEGMENT_BYTES, RetentionClock,
    RetiredSegment, file_name,
};
use crate::clock::epoch_millis;
use crate::state_files;

/// Between two looks at what has become too old.
const PRUNE_INTERVAL: Duration = Duration::from_secs(60 * 60);

impl Journal {
    /// A text of so many bytes has come to its place, or would have come if it were not there: it is kept from now on.
    pub fn note_kept(&self, place: &Path, new_bytes: u64) {
        self.retained.add(new_bytes);
        if let Err(error) = self.retained.clock.mark(place) {
            tracing::debug!(%error, "a kept text is counted from when it is seen next");
        }
    }

    /// The clock by which things are kept.
    pub fn clock(&self) -> &Arc<RetentionClock> {
        &self.retained.clock
    }

    /// Keeps to these limits from now on, also without anybody asking: a thread looks after it.
    pub fn start_retention(self: &Arc<Self>, limits: JournalRetention) {
        self.retained.set_limits(limits);
        let (wake, woken) = crossbeam_channel::bounded(1);
        *self.wake.lock() = Some(wake);
        let journal = Arc::downgrade(self);
        let run = move || {
            let mut is_due = true;
            while let Some(journal) = journal.upgrade() {
                let is_closed = journal.is_closed.lock();
                if *is_closed {
                    return;
                }
                if is_due {
                    journal.look_at_clock(epoch_millis());
                } else {
                    journal.make_room(0);
                }
                drop(is_closed);
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

    /// Nothing is settled or forgotten afterwards: the next daemon may read the journal.
    pub fn close(&self) {
        *self.is_closed.lock() = true;
        self.wake.lock().take();
    }

    /// Takes the time, and forgets what has become too old.
    fn look_at_clock(&self, wall: i64) {
        if let Err(error) = self.retained.clock.look(wall) {
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
        self.retained.bytes() + more > self.retained.limits().bytes
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
        self.prune(RoomFor::Others((self.retained.bytes() / 10).max(4 * LOG_SEGMENT_BYTES as u64)))
    }

    fn prune(&self, room: RoomFor) -> bool {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_kept =
            |path: &PathBuf| [DONE_PREFIX, BROKEN_PREFIX].iter().any(|kept| file_name(path).starts_with(kept));
        let (records, others): (Vec<_>, Vec<_>) = entries.partition(is_kept);
        self.retained.prune((&records, &displaced_texts(&self.directory.join("old"))), &others, room)
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

    use super::super::tests::{entry, journal};
    use super::super::{JournalFile, RecordedAnswer};
    use super::*;
    use crate::disk::Digest;

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
    fn r8_on_a_full_disk_texts_are_forgotten_before_answers() {
        let directory = TempDir::new().expect("a directory");
        let first = journal(directory.path(), "a");
        first.append(&entry(1)).expect("it is written");
        first.look_at_clock(epoch_millis());
        let text = keep_text(&first, &"x".repeat(8 * LOG_SEGMENT_BYTES));
        assert!(first.give_way() && !text.exists());
        let second = journal(directory.path(), "b");
        assert_eq!(second.recovered(Duration::MAX).expect("it reads"), [entry(1)], "the text was enough");
        assert!(first.give_way());
        assert_eq!(second.recovered(Duration::MAX).expect("it reads"), [], "a write that is to be made is worth more");
    }

    #[test]
    fn r29_texts_are_kept_from_when_they_came_whatever_the_clock_says() {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        let directory = TempDir::new().expect("a directory");
        let journal = journal(directory.path(), "a");
        let now = epoch_millis();
        let first = keep_text(&journal, "first");
        // Without a mark: it was moved here right before a crash, with the time of the user's file.
        let old = Timestamps {
            last_access: Timespec::default(),
            last_modification: Timespec { tv_sec: now / 1000, tv_nsec: 0 },
        };
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
}
