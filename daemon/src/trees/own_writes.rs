//! Files that calls of ours are writing, or wrote a moment ago: the event of such a write is not somebody else's change.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::change::{Change, ChangeKind, Origin};
use crate::disk::FileStamp;

/// How long a write is remembered; its event comes much earlier.
const RETENTION: Duration = Duration::from_secs(30);
/// Writes that are remembered before old ones are looked for.
const SWEEP_THRESHOLD: usize = 1024;

/// By absolute path.
#[derive(Debug, Default)]
pub(super) struct OwnWrites(Mutex<HashMap<PathBuf, OwnWrite>>);

#[derive(Debug)]
enum OwnWrite {
    /// What the watcher saw of it meanwhile: what it was taken for, and its state then.
    InProgress(Vec<(Change, Option<FileStamp>)>),
    /// How the file was left; no stamp if it is gone.
    Done(Option<FileStamp>, Instant),
}

impl OwnWrites {
    /// What the watcher sees of this file is held back until [`Self::finish`] or [`Self::cancel`].
    pub(super) fn begin(&self, path: PathBuf) {
        self.0.lock().insert(path, OwnWrite::InProgress(Vec::new()));
    }

    /// The file was left like this. Returns what was seen of it that is not our doing.
    pub(super) fn finish(&self, path: PathBuf, left: Option<FileStamp>) -> Vec<Change> {
        let now = Instant::now();
        let mut writes = self.0.lock();
        if writes.len() > SWEEP_THRESHOLD {
            writes.retain(|_, write| !matches!(write, OwnWrite::Done(_, at) if now.duration_since(*at) > RETENTION));
        }
        match writes.insert(path, OwnWrite::Done(left, now)) {
            Some(OwnWrite::InProgress(seen)) => {
                let foreign = seen.into_iter().filter(|(_, stamp)| !is_same(*stamp, left));
                foreign.map(|(change, _)| change).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Nothing was written. Returns what was seen of the file meanwhile.
    pub(super) fn cancel(&self, path: &Path) -> Vec<Change> {
        match self.0.lock().remove(path) {
            Some(OwnWrite::InProgress(seen)) => seen.into_iter().map(|(change, _)| change).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether a change that the watcher saw, and the state in which it left the file, is somebody else's for all that
    /// is known now.
    pub(super) fn is_foreign(&self, change: &Change, stamp: Option<FileStamp>) -> bool {
        debug_assert_eq!(change.origin, Origin::Outside);
        let mut writes = self.0.lock();
        if writes.is_empty() || change.kind == ChangeKind::MaybeModified {
            return true;
        }
        match writes.get_mut(&change.tree.join(&change.path)) {
            None => true,
            Some(OwnWrite::InProgress(seen)) => {
                // Only the last state can be ours; the trees that a file is in see it one after the other.
                seen.retain(|(before, _)| before.tree != change.tree);
                seen.push((change.clone(), stamp));
                false
            }
            Some(OwnWrite::Done(left, _)) => !is_same(stamp, *left),
        }
    }
}

/// The time of the last change of a file's status may move without any change of its text.
fn is_same(one: Option<FileStamp>, other: Option<FileStamp>) -> bool {
    let content = |stamp: FileStamp| (stamp.device, stamp.inode, stamp.size, stamp.modified_ns);
    one.map(content) == other.map(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(kind: ChangeKind) -> Change {
        Change { tree: Path::new("/t").into(), path: "a.md".into(), kind, origin: Origin::Outside }
    }

    fn stamp(inode: u64) -> Option<FileStamp> {
        Some(FileStamp { device: 1, inode, size: 1, modified_ns: 5, changed_ns: 7 })
    }

    #[test]
    fn the_event_of_a_write_is_ours_whenever_it_is_seen() {
        let (writes, path) = (OwnWrites::default(), PathBuf::from("/t/a.md"));
        writes.begin(path.clone());
        assert!(!writes.is_foreign(&change(ChangeKind::Modified), stamp(2)), "seen before the write has ended");
        assert_eq!(writes.finish(path.clone(), stamp(2)), []);
        assert!(!writes.is_foreign(&change(ChangeKind::Modified), stamp(2)), "seen afterwards");
        assert!(writes.is_foreign(&change(ChangeKind::Modified), stamp(3)), "somebody replaced it");
        assert!(writes.is_foreign(&change(ChangeKind::Removed), None), "somebody removed it");
        writes.begin(path.clone());
        assert_eq!(writes.finish(path, None), []);
        assert!(!writes.is_foreign(&change(ChangeKind::Removed), None), "we removed it");
    }

    #[test]
    fn what_others_do_during_a_write_is_told_after_it() {
        let (writes, path) = (OwnWrites::default(), PathBuf::from("/t/a.md"));
        writes.begin(path.clone());
        assert!(!writes.is_foreign(&change(ChangeKind::Modified), stamp(9)));
        assert_eq!(writes.finish(path.clone(), stamp(2)), [change(ChangeKind::Modified)]);
        writes.begin(path.clone());
        assert!(!writes.is_foreign(&change(ChangeKind::Removed), None));
        assert_eq!(writes.cancel(&path), [change(ChangeKind::Removed)]);
        assert!(writes.is_foreign(&change(ChangeKind::Removed), None), "nothing is remembered of it");
    }
}
