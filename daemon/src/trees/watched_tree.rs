//! One watched tree: paths to rescan come in, changes go out, and its status says how it is watched.
//!
//! Watches are added before anything is listed. A root may be missing, and come back. Nothing is written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use trellis_protocol::control::RootStatus;

use super::FileList;
use super::change::{Change, Origin};
use super::events::{DirectoryId, EventSource, WatchError, WatchLimit, WatchRole};
use super::state::{ScanDelta, TreeState};
use crate::disk::FileStamp;
use crate::disk::filesystem::lacks_events;

/// A root that is missing for less is not taken for removed: editors and checkouts swap directories.
const MISSING_ROOT_GRACE: Duration = Duration::from_secs(2);
/// Between two scans of a tree without events.
const MIN_POLL_INTERVAL: Duration = Duration::from_secs(2);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(30);
/// Polling takes at most one part in this many of the time.
const POLL_INTERVAL_PER_SCAN_TIME: u32 = 20;
/// Every tree is rescanned after this, give or take a quarter.
const RESCAN_INTERVAL: Duration = Duration::from_secs(30 * 60);

/// A change, and the state in which the file is now.
pub(crate) type SeenChange = (Change, Option<FileStamp>);

#[derive(Debug)]
pub(crate) struct WatchedTree {
    path: Arc<Path>,
    /// None until the root was there once.
    id: Option<DirectoryId>,
    state: TreeState,
    watches: usize,
    lacks_events: bool,
    /// So many directories may be looked at.
    max_directories: usize,
    /// There are more.
    is_truncated: bool,
    watch_limit: Option<WatchLimit>,
    /// Something could not be read for a reason that may go away without an event.
    retry_scan: bool,
    missing_since: Option<Instant>,
    /// Nothing is known of it, because it was missing for long or has not been scanned yet.
    was_cleared: bool,
    scan_took: Duration,
    scanned: Option<Instant>,
    rescans: BTreeMap<&'static str, u64>,
    reason: &'static str,
    due: Instant,
}

impl WatchedTree {
    /// Due for its first scan at once.
    pub(crate) fn new(path: &Path, max_directories: usize, now: Instant) -> Self {
        Self {
            path: path.into(),
            id: None,
            state: TreeState::default(),
            watches: 0,
            lacks_events: false,
            max_directories,
            is_truncated: false,
            watch_limit: None,
            retry_scan: false,
            missing_since: None,
            was_cleared: true,
            scan_took: Duration::ZERO,
            scanned: None,
            rescans: BTreeMap::new(),
            reason: "",
            due: now,
        }
    }

    pub(crate) fn id(&self) -> Option<DirectoryId> {
        self.id
    }

    /// When it is rescanned without any event.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Whether anything is known of it, and be it that it is missing.
    pub(crate) fn is_known(&self) -> bool {
        self.scanned.is_some() || self.missing_since.is_some()
    }

    /// Has it scanned as soon as there is time.
    pub(crate) fn make_due(&mut self, now: Instant) {
        self.due = now;
    }

    /// Whether there may be changes in it that only a scan finds.
    pub(crate) fn may_miss_changes(&self) -> bool {
        self.is_polled() || self.retry_scan
    }

    fn rescans(&self) -> u64 {
        self.rescans.values().sum()
    }

    fn is_polled(&self) -> bool {
        self.belongs_apart() || self.watch_limit.is_some()
    }

    /// Whether it is on a disk that sends no events, as far as is known.
    pub(crate) fn lacks_events(&self) -> bool {
        self.lacks_events
    }

    /// Whether looking at it may take so long that nobody else must wait for it: it is on a disk that may not answer,
    /// or too large.
    pub(crate) fn belongs_apart(&self) -> bool {
        self.lacks_events || self.is_truncated
    }

    /// How long a scan takes, if it is scanned again and again instead of waiting for events.
    pub(crate) fn polled_scan_time(&self) -> Option<Duration> {
        self.is_polled().then_some(self.scan_took)
    }

    /// Whether a directory has to be watched for it.
    pub(crate) fn needs(&self, directory: &Path) -> bool {
        self.path.starts_with(directory)
            || directory.strip_prefix(&self.path).is_ok_and(|path| self.state.has_directory(path))
    }

    /// Its files, each with its path from the root; none if it was not there when it was scanned last.
    pub(crate) fn files_if_there(&self) -> Option<FileList> {
        let is_there = self.scanned.is_some() && self.missing_since.is_none();
        is_there.then(|| self.state.files().iter().map(|(path, stamp)| (path.clone(), *stamp)).collect())
    }

    /// Scans all of it. The first time, nothing that is there is a change.
    pub(crate) fn rescan(&mut self, events: &mut EventSource, reason: &'static str, now: Instant) -> Vec<SeenChange> {
        // Watched first, so that nothing that happens during the scan is missed.
        self.watch_ancestors(events);
        let Some(id) = DirectoryId::of_path(&self.path) else { return self.handle_missing(events, now) };
        let is_first = !self.is_known();
        let mut changes = Vec::new();
        if self.id.is_some_and(|before| before != id) {
            // Another directory of the same name: nothing that was known holds.
            changes.extend(self.clear(events));
        }
        self.id = Some(id);
        self.missing_since = None;
        self.was_cleared = false;
        self.lacks_events = lacks_events(&self.path);
        (self.watch_limit, self.retry_scan, self.is_truncated) = (None, false, false);
        let began = Instant::now();
        changes.extend(self.scan(events, None).0);
        self.scan_took = began.elapsed();
        self.scanned = Some(now);
        *self.rescans.entry(reason).or_default() += 1;
        self.reason = reason;
        self.due = now + self.next_scan_delay();
        if is_first { Vec::new() } else { changes }
    }

    /// Rescans these paths, which come in order: what is below a directory right after it.
    pub(crate) fn rescan_paths<'a>(
        &mut self,
        events: &mut EventSource,
        paths: impl Iterator<Item = &'a PathBuf>,
        now: Instant,
    ) -> Vec<SeenChange> {
        let mut changes = Vec::new();
        let mut covered: Option<PathBuf> = None;
        for path in paths {
            let Ok(path) = path.strip_prefix(&self.path) else { continue };
            if path.as_os_str().is_empty() || self.id.is_none() || self.missing_since.is_some() {
                let rescans = self.rescans();
                changes.extend(self.revalidate_root(events, now));
                if self.rescans() != rescans || self.missing_since.is_some() {
                    break;
                }
            } else if !covered.as_ref().is_some_and(|above| path.starts_with(above)) {
                let (found, covers_subtree) = self.scan(events, Some(path));
                changes.extend(found);
                covered = covers_subtree.then(|| path.to_owned()).or(covered);
            }
        }
        self.due = self.due.min(now + self.next_scan_delay());
        changes
    }

    /// Something happened to the root itself, or above it: rescans unless it is still the same.
    pub(crate) fn revalidate_root(&mut self, events: &mut EventSource, now: Instant) -> Vec<SeenChange> {
        let id = DirectoryId::of_path(&self.path);
        // A new directory may have got the inode of one that was removed, but not its watch.
        let is_watched = self.is_polled() || events.is_watched(&self.path);
        let is_known = id == self.id && self.missing_since.is_none() && is_watched && !self.retry_scan;
        match id {
            Some(_) if is_known => Vec::new(),
            Some(_) => self.rescan(events, "the root came or changed", now),
            None => self.handle_missing(events, now),
        }
    }

    /// The directories above report when the root is moved away with them; the nearest, when it comes or goes.
    /// Returns whether that one is watched.
    fn watch_ancestors(&self, events: &mut EventSource) -> bool {
        let mut parent_is_watched = false;
        for (distance, above) in self.path.ancestors().skip(1).enumerate() {
            let role = if distance == 0 { WatchRole::Parent } else { WatchRole::Ancestor };
            parent_is_watched |= events.watch(above, role).is_ok() && role == WatchRole::Parent;
        }
        parent_is_watched
    }

    /// Scans one path, or everything; also returns whether everything below the path was scanned.
    fn scan(&mut self, events: &mut EventSource, path: Option<&Path>) -> (Vec<SeenChange>, bool) {
        let Self { path: root, state, lacks_events, watch_limit, max_directories, .. } = self;
        let mut watches = 0;
        let mut appears = |directory: &Path| {
            if *lacks_events || watch_limit.is_some() {
                return;
            }
            let watched = match directory.as_os_str().is_empty() {
                true => events.watch(root, WatchRole::Root),
                false => events.watch(&root.join(directory), WatchRole::Inside),
            };
            match watched {
                Ok(()) => watches += 1,
                Err(WatchError::Limit(limit)) => *watch_limit = Some(limit),
                Err(WatchError::Unavailable) => {}
            }
        };
        let delta = match path {
            None => state.rescan_up_to(*max_directories, root, &mut appears),
            Some(path) => state.rescan_path_up_to(*max_directories, root, path, &mut appears),
        };
        self.is_truncated |= delta.is_truncated || self.state.directories().len() > self.max_directories;
        let covers_subtree = delta.covers_subtree;
        self.retry_scan |= delta.needs_retry;
        let changes = self.commit_scan(events, delta);
        self.watches = match (self.is_polled(), path) {
            (false, _) => self.state.directories().len(),
            (true, None) => watches,
            (true, Some(_)) => self.watches,
        };
        (changes, covers_subtree)
    }

    fn commit_scan(&mut self, events: &mut EventSource, delta: ScanDelta) -> Vec<SeenChange> {
        for directory in &delta.vanished {
            events.unwatch(&self.path.join(directory));
        }
        let seen = |(path, kind): (PathBuf, _)| {
            let stamp = self.state.files().get(&path).copied();
            (Change { tree: Arc::clone(&self.path), path, kind, origin: Origin::Outside }, stamp)
        };
        delta.changes.into_iter().map(seen).collect()
    }

    /// A root that is missing for a moment changes nothing; after the grace, what is known is cleared.
    fn handle_missing(&mut self, events: &mut EventSource, now: Instant) -> Vec<SeenChange> {
        let since = *self.missing_since.get_or_insert(now);
        let missing_for = now.saturating_duration_since(since);
        // What a link leads to comes back without an event in the directory that the link is in.
        let is_link = fs::symlink_metadata(&self.path).is_ok_and(|metadata| metadata.is_symlink());
        let return_is_reported = self.watch_ancestors(events) && !is_link;
        self.due = match return_is_reported {
            // It may have come just before that was watched.
            true if DirectoryId::of_path(&self.path).is_some() => now,
            _ if missing_for < MISSING_ROOT_GRACE => since + MISSING_ROOT_GRACE,
            true => now + RESCAN_INTERVAL,
            false => now + missing_for.clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL),
        };
        if missing_for < MISSING_ROOT_GRACE || std::mem::replace(&mut self.was_cleared, true) {
            return Vec::new();
        }
        self.clear(events)
    }

    fn clear(&mut self, events: &mut EventSource) -> Vec<SeenChange> {
        self.id = None;
        self.watches = 0;
        let delta = self.state.clear();
        self.commit_scan(events, delta)
    }

    fn next_scan_delay(&self) -> Duration {
        if self.missing_since.is_some() {
            return RESCAN_INTERVAL;
        }
        let interval = self.scan_took * POLL_INTERVAL_PER_SCAN_TIME;
        if self.is_polled() {
            return interval.clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL);
        }
        if self.retry_scan {
            return interval.clamp(MAX_POLL_INTERVAL, RESCAN_INTERVAL);
        }
        // Spread over three quarters to five quarters, so that many trees are not due at once.
        let spread = self.path.as_os_str().len() as u32 % 5;
        RESCAN_INTERVAL * 3 / 4 + RESCAN_INTERVAL / 8 * spread
    }

    pub(crate) fn status(&self, now: Instant) -> RootStatus {
        let backend = match (self.lacks_events, self.watch_limit) {
            (true, _) => "poll (this disk sends no events)",
            (false, _) if self.is_truncated => "poll (it has too many directories)",
            (false, Some(_)) if self.watches == 0 => "poll (the system allows no more watches)",
            (false, Some(_)) => "events and poll (the system allows no more watches)",
            (false, None) => "events",
        };
        RootStatus {
            path: self.path.display().to_string(),
            state: if self.missing_since.is_some() { "missing" } else { "watched" }.to_owned(),
            backend: backend.to_owned(),
            files: self.state.files().len() as u64,
            watches: self.watches as u64,
            fingerprint: format!("{:016x}", self.state.fingerprint()),
            documents: 0,
            rescans: self.rescans(),
            rescans_by_reason: self.rescans.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect(),
            rescan_reason: self.reason.to_owned(),
            last_scan_seconds: self.scanned.map(|at| now.saturating_duration_since(at).as_secs()),
            scan_milliseconds: self.scan_took.as_millis() as u64,
            warning: self.warning(),
        }
    }

    /// For people. The same words for as long as nothing changes.
    fn warning(&self) -> Option<String> {
        let path = self.path.display();
        let limited = |what: &str, setting: &str| {
            format!(
                "the system allows no more {what}: `{path}` is looked at every few seconds instead; raise {setting}"
            )
        };
        match (self.lacks_events, self.watch_limit) {
            _ if self.is_truncated => Some(format!(
                "`{path}` has more than {} directories: only so many are searched, and looked at every few seconds; \
                 raise `max_directories`, or choose a smaller directory",
                self.max_directories
            )),
            (true, _) => Some(format!("`{path}` is on a disk that sends no events and is looked at every few seconds")),
            (false, Some(WatchLimit::Watches)) => Some(limited("watches", "fs.inotify.max_user_watches")),
            (false, Some(WatchLimit::Instances)) => Some(limited("watchers", "fs.inotify.max_user_instances")),
            (false, None) => match self.state.unreadable() {
                0 => None,
                1 => Some(format!("a directory of `{path}` cannot be read and is passed over")),
                many => Some(format!("{many} directories of `{path}` cannot be read and are passed over")),
            },
        }
    }
}
