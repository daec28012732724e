//! One watched root: what is known of it, how it is watched, and how that goes.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trellis_protocol::control::RootStatus;

use super::hint::{Interest, Limit, Unwatched};
use super::native::Native;
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
/// So many places are looked at before the system's queue is emptied again.
const BETWEEN_GATHERING: usize = 256;

/// One watched root.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    /// Device and inode, once it was seen.
    number: Option<(u64, u64)>,
    tree: Tree,
    watches: usize,
    silent: bool,
    limited: Option<Limit>,
    /// Something could not be read for a reason that may pass.
    shaky: bool,
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
    pub fn new(path: PathBuf, now: Instant) -> Self {
        Self {
            path,
            number: None,
            tree: Tree::default(),
            watches: 0,
            silent: false,
            limited: None,
            shaky: false,
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

    /// Whether things can happen in it that nobody tells us.
    pub fn is_polled(&self) -> bool {
        self.silent || self.limited.is_some() || self.shaky
    }

    /// Whether a directory has to be watched for it.
    pub fn needs(&self, directory: &Path) -> bool {
        self.path.starts_with(directory)
            || directory.strip_prefix(&self.path).is_ok_and(|path| self.tree.has_directory(path))
    }

    /// Looks at all of it again.
    pub fn rescan(&mut self, native: &mut Native, reason: &'static str, now: Instant) -> Vec<Change> {
        // Watched first, so that nothing that happens while we look is missed.
        self.watch_above(native);
        let Some(number) = self.number_now() else { return self.absent(native, now) };
        let mut changes = Vec::new();
        if self.number.is_some_and(|before| before != number) {
            // Another directory of the same name: nothing that was known holds.
            changes.extend(self.forget(native));
        }
        self.number = Some(number);
        self.missing_since = None;
        self.emptied = false;
        self.silent = remote::is_silent(&self.path);
        (self.limited, self.shaky) = (None, false);
        let began = Instant::now();
        changes.extend(self.look(native, None).changes);
        self.scan_took = began.elapsed();
        self.scanned = Some(now);
        self.rescans += 1;
        self.reason = reason;
        self.due = now + self.pause();
        changes
    }

    /// Looks again at these places, which come in order: what is below a directory right after it.
    pub fn look_at<'a>(
        &mut self,
        native: &mut Native,
        places: impl Iterator<Item = &'a PathBuf>,
        now: Instant,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut whole: Option<PathBuf> = None;
        for (count, place) in places.enumerate() {
            if count % BETWEEN_GATHERING == BETWEEN_GATHERING - 1 {
                native.gather();
            }
            let Ok(path) = place.strip_prefix(&self.path) else { continue };
            if path.as_os_str().is_empty() || self.number.is_none() || self.missing_since.is_some() {
                let rescans = self.rescans;
                changes.extend(self.check(native, now));
                if self.rescans != rescans || self.missing_since.is_some() {
                    break;
                }
            } else if !whole.as_ref().is_some_and(|above| path.starts_with(above)) {
                let looked = self.look(native, Some(path));
                changes.extend(looked.changes);
                whole = looked.whole.then(|| path.to_owned()).or(whole);
            }
        }
        self.due = self.due.min(now + self.pause());
        changes
    }

    /// Something happened to the root itself, or above it: is it still the same?
    pub fn check(&mut self, native: &mut Native, now: Instant) -> Vec<Change> {
        let number = self.number_now();
        // A new directory may have got the number of one that was removed, but not its watch.
        let is_heard = self.silent || self.limited.is_some() || native.is_watched(&self.path);
        match number {
            Some(_) if number == self.number && self.missing_since.is_none() && is_heard && !self.shaky => Vec::new(),
            Some(_) => self.rescan(native, "the root came or changed", now),
            None => self.absent(native, now),
        }
    }

    fn number_now(&self) -> Option<(u64, u64)> {
        let there = fs::metadata(&self.path).ok().filter(fs::Metadata::is_dir)?;
        Some((there.dev(), there.ino()))
    }

    /// The directories above tell when this one is moved away with them; the nearest, when it comes or goes.
    /// Whether that one can.
    fn watch_above(&self, native: &mut Native) -> bool {
        let mut told = false;
        for above in self.path.ancestors().skip(1) {
            let interest = Interest::above(&self.path, above);
            told |= native.watch(above, interest).is_ok() && interest == Interest::Names;
        }
        told
    }

    fn look(&mut self, native: &mut Native, place: Option<&Path>) -> Looked {
        let Self { path: root, tree, silent, limited, .. } = self;
        let mut watches = 0;
        let mut appears = |directory: &Path| {
            if *silent || limited.is_some() {
                return;
            }
            let watched = match directory.as_os_str().is_empty() {
                true => native.watch(root, Interest::Root),
                false => native.watch(&root.join(directory), Interest::Content),
            };
            match watched {
                Ok(()) => watches += 1,
                Err(Unwatched::Limit(limit)) => *limited = Some(limit),
                Err(Unwatched::Other) => {}
            }
        };
        let found = match place {
            None => tree.rescan(root, &mut appears),
            Some(place) => tree.look_at(root, place, &mut appears),
        };
        let (whole, partly) = (found.whole, self.silent || self.limited.is_some());
        self.shaky |= found.shaky;
        let changes = self.settle(native, found);
        self.watches = match (partly, place) {
            (false, _) => self.tree.directories().len(),
            (true, None) => watches,
            (true, Some(_)) => self.watches,
        };
        Looked { changes, whole }
    }

    fn settle(&mut self, native: &mut Native, found: Found) -> Vec<Change> {
        for directory in &found.vanished {
            native.unwatch(&self.path.join(directory));
        }
        let root = &self.path;
        found.changes.into_iter().map(|(path, kind)| Change { root: root.clone(), path, kind }).collect()
    }

    /// Gone for a moment is nothing; gone for longer empties what is known.
    fn absent(&mut self, native: &mut Native, now: Instant) -> Vec<Change> {
        let since = *self.missing_since.get_or_insert(now);
        let gone_for = now.saturating_duration_since(since);
        // What a link leads to comes back without a word to the directory that the link is in.
        let told = self.watch_above(native) && !fs::symlink_metadata(&self.path).is_ok_and(|there| there.is_symlink());
        self.due = match told {
            // It may have come just before that was watched.
            true if self.number_now().is_some() => now,
            _ if gone_for < ABSENCE => since + ABSENCE,
            true => now + RESCAN,
            false => now + gone_for.clamp(QUICKEST_POLL, SLOWEST_POLL),
        };
        if gone_for < ABSENCE || std::mem::replace(&mut self.emptied, true) {
            return Vec::new();
        }
        self.forget(native)
    }

    /// Lets go of everything that is known and watched.
    fn forget(&mut self, native: &mut Native) -> Vec<Change> {
        self.number = None;
        self.watches = 0;
        let found = self.tree.clear();
        self.settle(native, found)
    }

    fn pause(&self) -> Duration {
        if self.missing_since.is_some() {
            return RESCAN;
        }
        let polled = self.scan_took * POLL_SHARE;
        if self.silent || self.limited.is_some() {
            return polled.clamp(QUICKEST_POLL, SLOWEST_POLL);
        }
        if self.shaky {
            return polled.clamp(SLOWEST_POLL, RESCAN);
        }
        // Spread over three quarters to five quarters, so that many roots do not come at once.
        let spread = self.path.as_os_str().len() as u32 % 5;
        RESCAN * 3 / 4 + RESCAN / 8 * spread
    }

    /// How it goes.
    pub fn status(&self, now: Instant) -> RootStatus {
        let backend = match (self.silent, self.limited) {
            (true, _) => "poll (this disk sends no events)",
            (false, Some(_)) if self.watches == 0 => "poll (the system allows no more watches)",
            (false, Some(_)) => "events and poll (the system allows no more watches)",
            (false, None) => "events",
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
            warning: self.warning(),
        }
    }

    /// What people should know about it, if anything. The same words for as long as nothing changes.
    fn warning(&self) -> Option<String> {
        let path = self.path.display();
        let limited = |what: &str, setting: &str| {
            format!(
                "the system allows no more {what}: `{path}` is looked at every few seconds instead; raise {setting}"
            )
        };
        match (self.silent, self.limited) {
            (true, _) => Some(format!("`{path}` is on a disk that sends no events and is looked at every few seconds")),
            (false, Some(Limit::Watches)) => Some(limited("watches", "fs.inotify.max_user_watches")),
            (false, Some(Limit::Instances)) => Some(limited("watchers", "fs.inotify.max_user_instances")),
            (false, None) => match self.tree.unreadable() {
                0 => None,
                1 => Some(format!("a directory of `{path}` cannot be read and is passed over")),
                many => Some(format!("{many} directories of `{path}` cannot be read and are passed over")),
            },
        }
    }
}

/// What came of looking at a place.
struct Looked {
    changes: Vec<Change>,
    /// A directory, and everything below it as well.
    whole: bool,
}
