//! The system's events, as places to look at again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::Sender;
use notify::event::{AccessKind, AccessMode};
use notify::{ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// What the system tells us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// Something happened there.
    At(PathBuf),
    /// Events were lost: anything may have happened.
    Lost(&'static str),
}

/// Why a directory is not watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwatched {
    /// The system allows no more watches.
    Limit,
    /// It is gone, or may not be read.
    Other,
}

/// The system's watcher. Directories are watched one by one: we walk the tree ourselves.
#[derive(Debug)]
pub struct Native {
    /// None if the system allows no more of them; then everything is looked at again and again.
    watcher: Option<RecommendedWatcher>,
}

impl Native {
    /// Hints go into the channel; when it is full, that they were lost is remembered in `overflowed`.
    pub fn new(hints: Sender<Hint>, overflowed: Arc<AtomicBool>) -> Self {
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            for hint in hints_of(event) {
                if hints.try_send(hint).is_err() {
                    overflowed.store(true, Ordering::Release);
                }
            }
        });
        Self { watcher: watcher.ok() }
    }

    /// Watches one directory.
    pub fn watch(&mut self, directory: &Path) -> Result<(), Unwatched> {
        let watcher = self.watcher.as_mut().ok_or(Unwatched::Limit)?;
        let watched = watcher.watch(directory, RecursiveMode::NonRecursive);
        watched.map_err(|error| match error.kind {
            ErrorKind::MaxFilesWatch => Unwatched::Limit,
            ErrorKind::Io(error) if matches!(error.raw_os_error(), Some(24 | 28)) => Unwatched::Limit,
            _ => Unwatched::Other,
        })
    }

    /// Stops watching one directory; one that is gone is not watched anyway.
    pub fn unwatch(&mut self, directory: &Path) {
        if let Some(watcher) = &mut self.watcher {
            let _ = watcher.unwatch(directory);
        }
    }
}

fn hints_of(event: notify::Result<notify::Event>) -> Vec<Hint> {
    let event = match event {
        Ok(event) => event,
        Err(_) => return vec![Hint::Lost("the watcher failed")],
    };
    if event.need_rescan() {
        return vec![Hint::Lost("events were lost")];
    }
    match event.kind {
        // Our own reading must not wake us.
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
        EventKind::Access(_) => return Vec::new(),
        _ => {}
    }
    event.paths.into_iter().map(Hint::At).collect()
}
