//! Past changes and the texts that they displaced: the feed knows what happened, the journal keeps what was there.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Engine;
use crate::disk::Digest;
use crate::disk::journal::{ChangeRecord, JournalFile, JournalRecord};
use crate::families::feed::{FeedEntry, FeedFile, FileChange, History};
use crate::state_files;

/// A text that was displaced a moment ago comes into the journal within this time.
const ARCHIVE_TIMEOUT: Duration = Duration::from_secs(2);
const ARCHIVE_POLL_INTERVAL: Duration = Duration::from_millis(5);

impl History for Engine {
    fn newest(&self, limit: usize, before: Option<u64>) -> Vec<Arc<FeedEntry>> {
        self.feed.newest(limit, before)
    }

    fn undone_by(&self, change: u64) -> Option<u64> {
        self.feed.undone_by(change)
    }

    fn has_text(&self, digest: Digest) -> bool {
        self.writer.journal().displaced_text_path(digest).exists() || self.writer.is_being_archived(digest)
    }

    fn text(&self, digest: Digest) -> Option<Vec<u8>> {
        let deadline = Instant::now() + ARCHIVE_TIMEOUT;
        loop {
            // Asked first: what is archived in between is found below.
            let is_on_its_way = self.writer.is_being_archived(digest);
            let bytes = state_files::read_bytes(&self.writer.journal().displaced_text_path(digest)).ok();
            match bytes.filter(|bytes| Digest::of(bytes) == digest) {
                Some(bytes) => return Some(bytes),
                None if is_on_its_way && Instant::now() < deadline => std::thread::sleep(ARCHIVE_POLL_INTERVAL),
                None => return None,
            }
        }
    }
}

/// The entry of the feed for a write that the journal has; none if it is about no item's file.
pub(super) fn entry_of(record: &JournalRecord) -> Option<FeedEntry> {
    let ChangeRecord { id, by, session, key, tool, undoes, files } = record.change.clone()?;
    let is_origin = |file: &JournalFile, tree: &Path| {
        files.iter().flatten().any(|moved| {
            moved.from.as_ref().is_some_and(|from| moved.tree == tree && tree.join(from) == file.root.join(&file.path))
        })
    };
    let mut entries = Vec::with_capacity(files.len());
    for (file, changed) in record.files.iter().zip(&files) {
        let Some(changed) = changed else { continue };
        let absolute = file.root.join(&file.path);
        let Ok(path) = absolute.strip_prefix(&changed.tree) else { continue };
        if file.is_removal && is_origin(file, &changed.tree) {
            continue;
        }
        let what = match (file.old, file.is_removal) {
            _ if changed.from.is_some() => FileChange::Moved,
            (_, true) => FileChange::Deleted,
            (None, false) => FileChange::Created,
            (Some(_), false) => FileChange::Changed,
        };
        // Of a moved file, what lay at its old place.
        let origin = changed.from.as_ref().map(|from| changed.tree.join(from));
        let before = match &origin {
            Some(origin) => record.files.iter().find(|other| other.root.join(&other.path) == *origin),
            None => Some(file),
        };
        entries.push(FeedFile {
            tree: changed.tree.display().to_string(),
            path: path.display().to_string(),
            family: Some(changed.family.clone()),
            what,
            from: changed.from.clone(),
            old: before.and_then(|before| before.old),
            old_mode: before.and_then(|before| before.old_mode),
            new: (!file.is_removal).then_some(file.new),
            items: changed.items.clone(),
        });
    }
    let (at, tool) = (record.at, Some(tool));
    (!entries.is_empty()).then_some(FeedEntry { id, at, by, session, key, tool, files: entries, undoes })
}
