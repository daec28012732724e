//! Other systems' events, as places to look at again: FSEvents on macOS.
//!
//! There a root is watched with all that is below it, so watching a directory of its tree is nothing to do.
//! Events come late and in no order across directories, so that nothing is ever known to have been heard.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use parking_lot::Mutex;

use super::bell::Bell;
use super::hint::{Hints, Interest, Limit, Unwatched};

/// Whether everything that happened before has been heard once there is nothing more to gather.
pub const EXACT: bool = false;

/// The system's watcher.
#[derive(Debug)]
pub struct Native {
    /// None if there is none; then everything is looked at again and again.
    watcher: Option<RecommendedWatcher>,
    roots: BTreeSet<PathBuf>,
    hints: Arc<Mutex<Hints>>,
}

impl Native {
    /// Watches nothing yet; rings when something was told.
    pub fn new(bell: Bell) -> Self {
        let hints = Arc::new(Mutex::new(Hints::default()));
        let told = Arc::clone(&hints);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            take_note(event, &mut told.lock());
            bell.ring();
        });
        Self { watcher: watcher.ok(), roots: BTreeSet::new(), hints }
    }

    /// Nothing becomes readable: the bell rings.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Watches one directory.
    pub fn watch(&mut self, directory: &Path, interest: Interest) -> Result<(), Unwatched> {
        let watcher = self.watcher.as_mut().ok_or(Unwatched::Limit(Limit::Instances))?;
        let mode = match interest {
            Interest::Root => RecursiveMode::Recursive,
            Interest::Names => RecursiveMode::NonRecursive,
            Interest::Content | Interest::Itself => return Ok(()),
        };
        if self.roots.contains(directory) {
            return Ok(());
        }
        watcher.watch(directory, mode).map_err(|_| Unwatched::Other)?;
        self.roots.insert(directory.to_owned());
        Ok(())
    }

    /// Whether a directory is watched under this name.
    pub fn is_watched(&self, directory: &Path) -> bool {
        self.roots.iter().any(|root| directory.starts_with(root))
    }

    /// Stops watching one directory under this name.
    pub fn unwatch(&mut self, directory: &Path) {
        if self.roots.remove(directory)
            && let Some(watcher) = &mut self.watcher
        {
            let _ = watcher.unwatch(directory);
        }
    }

    /// Stops watching all but these.
    pub fn retain(&mut self, is_needed: impl Fn(&Path) -> bool) {
        let needless: Vec<PathBuf> = self.roots.iter().filter(|root| !is_needed(root)).cloned().collect();
        needless.iter().for_each(|root| self.unwatch(root));
    }

    /// Events come by themselves.
    pub fn gather(&mut self) {}

    /// Whether nothing has been gathered.
    pub fn is_quiet(&self) -> bool {
        self.hints.lock().is_empty()
    }

    /// What has been gathered.
    pub fn take(&mut self) -> Hints {
        std::mem::take(&mut self.hints.lock())
    }
}

fn take_note(event: notify::Result<notify::Event>, hints: &mut Hints) {
    let event = match event {
        Ok(event) => event,
        Err(_) => return hints.lose("the watcher failed"),
    };
    if event.need_rescan() {
        return hints.lose("events were lost");
    }
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
        // Our own reading must not wake us.
        EventKind::Access(_) => return,
        _ => {}
    }
    event.paths.into_iter().for_each(|place| hints.add(place));
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use tempfile::TempDir;

    use super::super::bell::bell;
    use super::*;

    #[test]
    fn a_root_is_told_with_all_that_is_below_it() {
        let home = TempDir::new().expect("a directory");
        let root = fs::canonicalize(home.path()).expect("its own path");
        fs::create_dir_all(root.join("a/b")).expect("directories");
        let (bell, _ear) = bell().expect("a bell");
        let mut native = Native::new(bell);
        native.watch(&root, Interest::Root).expect("a watch");
        assert!(native.is_watched(&root.join("a/b")));
        let file = root.join("a/b/file");
        fs::write(&file, "text").expect("a file");
        let end = Instant::now() + Duration::from_secs(10);
        while !native.take().places.contains(&file) {
            assert!(Instant::now() < end, "nothing was told");
            std::thread::sleep(Duration::from_millis(5));
        }
        native.retain(|_| false);
        assert!(!native.is_watched(&root));
    }
}
