//! One watched root: what is known of it, how it is watched, and how that goes.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trellis_protocol::control::RootStatus;

use super::native::{Native, Unwatched};
use super::remote;
use super::tree::{Change, Found, Tree};

/// A root that is gone for this long is taken for gone; editors and checkouts swap directories.
const ABSENCE: Duration = Duration::from_secs(2);
/// A root without events is looked at at least, and at most, so often.
const QUICKEST_POLL: Duration = Duration::from_secs(2);
const SLOWEST_POLL: Duration = Duration::from_secs(30);
/// A full look costs at most this share of the time.
const POLL_SHARE: u32 = 20;
/// Every root is looked at again after this, more or less a quarter.
const RESCAN: Duration = Duration::from_secs(30 * 60);

/// One watched root.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    /// Whether the directory above tells when this one comes or goes.
    told_by_parent: bool,
    number: Option<(u64, u64)>,
    tree: Tree,
    watches: usize,
    silent: bool,
    limited: bool,
    missing_since: Option<Instant>,
    emptied: bool,
    scan_took: Duration,
    scanned: Option<Instant>,
    rescans: u64,
    reason: &'static str,
    due: Instant,
}

impl Root {
    /// A root that has not been looked at yet.
    pub fn new(path: PathBuf, told_by_parent: bool, now: Instant) -> Self {
        Self {
            path,
            told_by_parent,
            number: None,
            tree: Tree::default(),
            watches: 0,
            silent: false,
            limited: false,
            missing_since: None,
            emptied: true,
            scan_took: Duration::ZERO,
            scanned: None,
            rescans: 0,
            reason: "",
            due: now,
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// When it is to be looked at again without any event.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Looks at all of it again.
    pub fn rescan(&mut self, native: &mut Native, reason: &'static str, now: Instant) -> Vec<Change> {
        let there = std::fs::metadata(&self.path).ok().filter(std::fs::Metadata::is_dir);
        let Some(there) = there else { return self.absent(native, now) };
        let number = Some((there.dev(), there.ino()));
        let mut changes = Vec::new();
        if self.number != number && self.number.is_some() {
            // Another directory of the same name: nothing that was known holds.
            changes.extend(self.forget(native));
        }
        self.number = number;
        self.missing_since = None;
        self.emptied = false;
        self.silent = remote::is_silent(&self.path);
        self.limited = false;
        let began = Instant::now();
        let found = self.look(native, None);
        changes.extend(found);
        self.scan_took = began.elapsed();
        self.scanned = Some(now);
        self.rescans += 1;
        self.reason = reason;
        self.due = now + self.pause();
        changes
    }

    /// Looks at one place again.
    pub fn look_at(&mut self, native: &mut Native, place: &Path, now: Instant) -> Vec<Change> {
        let Ok(path) = place.strip_prefix(&self.path) else { return Vec::new() };
        if path.as_os_str().is_empty() || self.number.is_none() {
            return self.check(native, now);
        }
        let path = path.to_owned();
        self.look(native, Some(&path))
    }

    /// Something happened to the root itself, or beside it: is it still the same?
    pub fn check(&mut self, native: &mut Native, now: Instant) -> Vec<Change> {
        let there = std::fs::metadata(&self.path).ok().filter(std::fs::Metadata::is_dir);
        match there.map(|there| (there.dev(), there.ino())) {
            Some(number) if self.number == Some(number) && self.missing_since.is_none() => Vec::new(),
            Some(_) => self.rescan(native, "the root came or changed", now),
            None => self.absent(native, now),
        }
    }

    fn look(&mut self, native: &mut Native, place: Option<&Path>) -> Vec<Change> {
        let Self { path, tree, watches, silent, limited, .. } = self;
        let mut appears = |directory: &Path| {
            if *silent || *limited {
                return;
            }
            match native.watch(&path.join(directory)) {
                Ok(()) => *watches += 1,
                Err(Unwatched::Limit) => *limited = true,
                Err(Unwatched::Other) => {}
            }
        };
        let found = match place {
            None => tree.rescan(path, &mut appears),
            Some(place) => tree.look_at(path, place, &mut appears),
        };
        let renamed = !found.vanished.is_empty() && !found.appeared.is_empty();
        let appeared = found.appeared.clone();
        let mut changes = self.settle(native, found);
        if renamed {
            // A directory that was renamed has lost its watch with its old name: watch and look once more.
            for directory in appeared {
                let _ = native.watch(&self.path.join(&directory));
                let again = self.tree.look_at(&self.path, &directory, &mut |_| {});
                changes.extend(self.settle(native, again));
            }
        }
        changes
    }

    fn settle(&mut self, native: &mut Native, found: Found) -> Vec<Change> {
        for directory in &found.vanished {
            native.unwatch(&self.path.join(directory));
        }
        self.watches = if self.silent { 0 } else { self.tree.directories().count() };
        let root = &self.path;
        found.changes.into_iter().map(|(path, kind)| Change { root: root.clone(), path, kind }).collect()
    }

    /// Gone for a moment is nothing; gone for longer empties what is known.
    fn absent(&mut self, native: &mut Native, now: Instant) -> Vec<Change> {
        let since = *self.missing_since.get_or_insert(now);
        let gone_for = now.saturating_duration_since(since);
        if gone_for < ABSENCE {
            self.due = since + ABSENCE;
            return Vec::new();
        }
        let parent_is_there = self.path.parent().is_some_and(Path::is_dir);
        self.due = match self.told_by_parent && parent_is_there {
            true => now + RESCAN,
            false => now + gone_for.clamp(QUICKEST_POLL, SLOWEST_POLL),
        };
        if std::mem::replace(&mut self.emptied, true) { Vec::new() } else { self.forget(native) }
    }

    /// Lets go of everything that is known and watched.
    pub fn forget(&mut self, native: &mut Native) -> Vec<Change> {
        self.number = None;
        let found = self.tree.clear();
        self.settle(native, found)
    }

    fn pause(&self) -> Duration {
        if self.silent || self.limited {
            return (self.scan_took * POLL_SHARE).clamp(QUICKEST_POLL, SLOWEST_POLL);
        }
        // Spread over three quarters to five quarters, so that many roots do not come at once.
        let spread = self.path.as_os_str().len() as u32 % 5;
        RESCAN * 3 / 4 + RESCAN / 8 * spread
    }

    /// How it goes.
    pub fn status(&self, now: Instant) -> RootStatus {
        let backend = match (self.silent, self.limited) {
            (true, _) => "poll (this disk sends no events)",
            (false, true) => "events and poll (the system allows no more watches)",
            (false, false) => "events",
        };
        RootStatus {
            path: self.path.display().to_string(),
            state: if self.missing_since.is_some() { "missing" } else { "watched" }.to_owned(),
            backend: backend.to_owned(),
            files: self.tree.files() as u64,
            watches: self.watches as u64,
            fingerprint: format!("{:016x}", self.tree.fingerprint()),
            rescans: self.rescans,
            rescan_reason: self.reason.to_owned(),
            last_scan_seconds: self.scanned.map(|at| now.saturating_duration_since(at).as_secs()),
            scan_milliseconds: self.scan_took.as_millis() as u64,
        }
    }

    /// What people should know about it, if anything.
    pub fn warning(&self) -> Option<String> {
        let path = self.path.display();
        match (self.limited, self.silent) {
            (true, _) => Some(format!(
                "the system allows no more watches: `{path}` is looked at every {} s instead; raise fs.inotify.max_user_watches",
                self.pause().as_secs()
            )),
            (false, true) => {
                Some(format!("`{path}` is on a disk that sends no events and is looked at again and again"))
            }
            (false, false) => None,
        }
    }
}
