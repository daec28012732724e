//! The system's events, through notify: directories to watch come in, recorded events go out through [`EventQueue`].
//!
//! Where the system watches single directories, we walk the tree ourselves and watch one by one; where it watches
//! whole trees, a root is enough. Notify knows one path for each watched directory and forgets it, with all that it
//! watches below, when that path is moved or removed. A directory may have several names for us: those of trees that
//! reach it over different links, and for a moment the old and the new name of one that was moved.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::Bound;
use std::os::unix::fs::MetadataExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::cookie::Cookie;
use super::pending::PendingEvents;
use super::queue::EventQueue;
use crate::state_files;

/// Whether events of different directories come in the order in which things happened. Without it a cookie proves
/// nothing, and barriers rescan.
pub(crate) const QUEUE_IS_ORDERED: bool = cfg!(target_os = "linux");

/// How much one watch covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coverage {
    Directory,
    Subtree,
}

const COVERAGE: Coverage = if cfg!(target_os = "linux") { Coverage::Directory } else { Coverage::Subtree };

/// Why a directory is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchRole {
    /// It is the root of a tree.
    Root,
    /// It is in a tree, below the root.
    Inside,
    /// A root is in it, and may come and go.
    Parent,
    /// It is further above a root, and may be moved away with it.
    Ancestor,
}

/// Why a directory is not watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchError {
    Limit(WatchLimit),
    /// It is gone, or must not be read.
    Unavailable,
}

/// What the system allows no more of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchLimit {
    Watches,
    /// Programs that watch.
    Instances,
}

/// Device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct DirectoryId(u64, u64);

impl DirectoryId {
    /// The directory to which a path leads now.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_dir)?;
        Some(Self(metadata.dev(), metadata.ino()))
    }
}

#[derive(Debug)]
pub(crate) struct EventSource {
    /// None if the system allows no more watchers; then everything is polled.
    watcher: Option<RecommendedWatcher>,
    /// Nothing is ever watched.
    is_off: bool,
    queue: Arc<EventQueue>,
    coverage: Coverage,
    directories: HashMap<DirectoryId, WatchedDirectory>,
    /// Which directory a name led to when it was watched last. Exactly the inverse of the names in `directories`.
    ids: BTreeMap<PathBuf, DirectoryId>,
    cookie_directory: PathBuf,
    cookies_made: u64,
}

#[derive(Debug)]
struct WatchedDirectory {
    /// The path that notify knows.
    registered: PathBuf,
    mode: RecursiveMode,
    /// Each with whether its entries matter.
    names: Vec<(PathBuf, bool)>,
}

impl EventSource {
    /// Watches nothing yet. Cookies will be made in a directory that is only for them.
    pub(crate) fn new(queue: Arc<EventQueue>, cookie_directory: PathBuf) -> Self {
        Self::with_coverage(queue, cookie_directory, COVERAGE)
    }

    /// Never watches anything: the system itself would wait for a disk that does not answer, and nobody would get an
    /// event any more.
    pub(crate) fn none() -> Self {
        let queue = Arc::new(EventQueue::new(Box::new(|| {})));
        Self { is_off: true, ..Self::with_coverage(queue, PathBuf::new(), COVERAGE) }
    }

    fn with_coverage(queue: Arc<EventQueue>, cookie_directory: PathBuf, coverage: Coverage) -> Self {
        queue.set_interest(|interest| interest.covers_subtrees = coverage == Coverage::Subtree);
        let (directories, ids) = (HashMap::new(), BTreeMap::new());
        Self { watcher: None, is_off: false, queue, coverage, directories, ids, cookie_directory, cookies_made: 0 }
    }

    /// Calls notify, whose watcher is created if there is none: one that could not be had before may be had now.
    /// Notify panics when its thread has ended; then everything is watched anew.
    fn call<T>(&mut self, call: impl FnOnce(&mut RecommendedWatcher) -> notify::Result<T>) -> Result<T, WatchError> {
        if self.watcher.is_none() {
            let queue = Arc::clone(&self.queue);
            self.watcher = notify::recommended_watcher(move |event| queue.record(event)).ok();
        }
        let watcher = self.watcher.as_mut().ok_or(WatchError::Limit(WatchLimit::Instances))?;
        match catch_unwind(AssertUnwindSafe(|| call(watcher))) {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) if matches!(error.kind, ErrorKind::MaxFilesWatch) => {
                Err(WatchError::Limit(WatchLimit::Watches))
            }
            Ok(Err(_)) => Err(WatchError::Unavailable),
            Err(_) => {
                // Its destructor may panic as well.
                let broken = self.watcher.take();
                let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
                self.directories.clear();
                self.ids.clear();
                self.queue.set_interest(|interest| interest.directories.clear());
                self.queue.mark_overflow("the watcher failed");
                Err(WatchError::Unavailable)
            }
        }
    }

    /// Watches a directory under this name. It is safe to repeat, and repeating it heals a watch that notify dropped.
    pub(crate) fn watch(&mut self, directory: &Path, role: WatchRole) -> Result<(), WatchError> {
        if self.is_off {
            return Err(WatchError::Unavailable);
        }
        let mode = match (self.coverage, role) {
            (Coverage::Directory, _) | (Coverage::Subtree, WatchRole::Parent) => RecursiveMode::NonRecursive,
            (Coverage::Subtree, WatchRole::Root) => RecursiveMode::Recursive,
            // Covered by the root, or not to be had.
            (Coverage::Subtree, WatchRole::Inside | WatchRole::Ancestor) => return Ok(()),
        };
        let id = DirectoryId::of_path(directory).ok_or(WatchError::Unavailable)?;
        if self.ids.get(directory).is_some_and(|known| *known != id) {
            self.unwatch(directory);
        }
        self.drop_stale_names(id, directory);
        let (registered, mode) = match self.directories.get(&id) {
            Some(known) if known.mode == RecursiveMode::Recursive => (known.registered.clone(), known.mode),
            Some(known) => (known.registered.clone(), mode),
            None => (self.path_to_register(directory), mode),
        };
        // Adding a subtree again is costly, and no subtree is dropped unnoticed.
        let is_covered =
            self.coverage == Coverage::Subtree && self.directories.get(&id).is_some_and(|known| known.mode == mode);
        if !is_covered && let Err(error) = self.call(|watcher| watcher.watch(&registered, mode)) {
            self.unwatch(directory);
            return Err(error);
        }
        let entries_matter = matches!(role, WatchRole::Root | WatchRole::Inside);
        let known =
            self.directories.entry(id).or_insert_with(|| WatchedDirectory { registered, mode, names: Vec::new() });
        known.mode = mode;
        match known.names.iter_mut().find(|(name, _)| name == directory) {
            Some((_, matter)) if *matter || !entries_matter => return Ok(()),
            Some((_, matter)) => *matter = true,
            None => known.names.push((directory.to_owned(), entries_matter)),
        }
        self.ids.insert(directory.to_owned(), id);
        self.publish_interest(id);
        Ok(())
    }

    /// Names that led to this directory and do not any more would make notify drop its watch later.
    fn drop_stale_names(&mut self, id: DirectoryId, current: &Path) {
        let names = self.directories.get(&id).into_iter().flat_map(|known| &known.names).map(|(name, _)| name);
        let others = names.filter(|name| *name != current);
        let stale: Vec<PathBuf> = others.filter(|name| DirectoryId::of_path(name) != Some(id)).cloned().collect();
        stale.iter().for_each(|name| self.unwatch(name));
    }

    /// Systems that watch whole trees report real paths.
    fn path_to_register(&self, directory: &Path) -> PathBuf {
        match self.coverage {
            Coverage::Directory => directory.to_owned(),
            Coverage::Subtree => real_path(directory),
        }
    }

    fn publish_interest(&self, id: DirectoryId) {
        let Some(WatchedDirectory { registered, names, .. }) = self.directories.get(&id) else { return };
        let others: Vec<PathBuf> =
            names.iter().map(|(name, _)| name).filter(|name| *name != registered).cloned().collect();
        // A parent or ancestor under another name is of interest only under that one, which its paths do not show.
        let is_wanted = !others.is_empty() || names.iter().any(|(_, entries_matter)| *entries_matter);
        self.queue.set_interest(|interest| {
            match is_wanted {
                true => interest.directories.insert(registered.clone(), others),
                false => interest.directories.remove(registered),
            };
        });
    }

    /// Whether a directory is watched under this name.
    pub(crate) fn is_watched(&self, directory: &Path) -> bool {
        match self.coverage {
            Coverage::Directory => self.ids.contains_key(directory),
            Coverage::Subtree => directory.ancestors().any(|above| self.ids.contains_key(above)),
        }
    }

    /// Stops watching a directory under this name.
    pub(crate) fn unwatch(&mut self, name: &Path) {
        let Some(id) = self.ids.remove(name) else { return };
        let Some(known) = self.directories.get_mut(&id) else { return };
        known.names.retain(|(other, _)| other != name);
        let (registered, mode) = (known.registered.clone(), known.mode);
        let next = known.names.first().map(|(name, _)| name.clone());
        match next {
            Some(_) if registered != name => {}
            Some(next) => {
                let next = self.path_to_register(&next);
                self.drop_registered(&registered);
                let _ = self.call(|watcher| watcher.watch(&next, mode));
                if let Some(known) = self.directories.get_mut(&id) {
                    known.registered = next;
                }
            }
            None => {
                self.directories.remove(&id);
                self.drop_registered(&registered);
            }
        }
        self.publish_interest(id);
    }

    fn drop_registered(&mut self, registered: &Path) {
        self.queue.set_interest(|interest| drop(interest.directories.remove(registered)));
        // Notify may have dropped it by itself.
        let _ = self.call(|watcher| watcher.unwatch(registered));
    }

    /// Stops watching all but these.
    pub(crate) fn retain(&mut self, is_needed: impl Fn(&Path) -> bool) {
        let unused: Vec<PathBuf> = self.ids.keys().filter(|name| !is_needed(name)).cloned().collect();
        unused.iter().for_each(|name| self.unwatch(name));
    }

    /// Events that matter whether or not there is such a directory: those of roots and of all directories above them.
    pub(crate) fn set_roots<'a>(&self, roots: impl Iterator<Item = &'a Path>) {
        let paths = roots.flat_map(Path::ancestors).map(Path::to_owned).collect();
        self.queue.set_interest(|interest| interest.paths = paths);
    }

    /// Takes what has been recorded. Watches of what was moved away or removed are dropped, as notify has done already.
    pub(crate) fn take_pending(&mut self) -> Arc<PendingEvents> {
        let pending = self.queue.take_pending();
        for path in &pending.moved_away {
            let from_here = (Bound::Included(path.as_path()), Bound::Unbounded);
            let below = self.ids.range::<Path, _>(from_here).map(|(name, _)| name);
            let dropped: Vec<PathBuf> = below.take_while(|name| name.starts_with(path)).cloned().collect();
            dropped.iter().for_each(|name| self.unwatch(name));
        }
        pending
    }

    /// Makes a new cookie if there is none.
    pub(crate) fn restore_cookie(&mut self) {
        if !QUEUE_IS_ORDERED || !self.queue.cookie_is_lost() {
            return;
        }
        let directory = self.cookie_directory.clone();
        if self.cookies_made == 0 {
            // What an earlier daemon left there.
            state_files::remove_directory(&directory);
        }
        self.cookies_made += 1;
        let Ok(cookie) = Cookie::create(&directory, self.cookies_made) else { return };
        if self.call(|watcher| watcher.watch(&directory, RecursiveMode::NonRecursive)).is_ok() {
            self.queue.set_cookie(cookie);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a name for events, never a path to open")]
fn real_path(directory: &Path) -> PathBuf {
    fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are watched")]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::{Duration, Instant};

    use tempfile::TempDir;

    use super::*;

    struct Fixture {
        home: TempDir,
        queue: Arc<EventQueue>,
        source: EventSource,
    }

    impl Fixture {
        fn new(coverage: Coverage) -> Self {
            let home = TempDir::new().expect("a directory");
            let queue = Arc::new(EventQueue::new(Box::new(|| {})));
            let cookies = home.path().join("cookies");
            let source = EventSource::with_coverage(Arc::clone(&queue), cookies, coverage);
            Self { home, queue, source }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.home.path().join(name)
        }

        fn directory(&self, name: &str) -> PathBuf {
            fs::create_dir(self.path(name)).expect("a directory");
            self.path(name)
        }

        fn watch(&mut self, name: &str, role: WatchRole) {
            let path = self.path(name);
            self.source.watch(&path, role).expect("a watch");
        }

        fn write(&self, name: &str) {
            fs::write(self.path(name), "text").expect("a file");
        }

        /// Whatever has happened up to now is recorded when this returns.
        #[track_caller]
        fn sync(&mut self) {
            self.source.restore_cookie();
            let round = self.queue.begin_round().expect("a cookie");
            let deadline = Instant::now() + Duration::from_secs(10);
            self.queue.wait_for_round(round, deadline).expect("its event comes back");
        }

        /// What is reported of whatever has happened up to now.
        #[track_caller]
        fn check(&mut self, expected: &[&str]) {
            self.sync();
            let pending = self.source.take_pending();
            let relative = |path: &PathBuf| path.strip_prefix(self.home.path()).expect("below").display().to_string();
            assert_eq!(pending.paths.iter().map(relative).collect::<Vec<_>>(), expected);
            assert_eq!(pending.overflow, None);
        }
    }

    #[test]
    fn what_happened_is_recorded_at_once_and_reading_is_not() {
        let mut fixture = Fixture::new(Coverage::Directory);
        fixture.directory("a");
        fixture.watch("a", WatchRole::Root);
        for _ in 0..1000 {
            fixture.write("a/file");
            fixture.check(&["a/file"]);
        }
        fs::read(fixture.path("a/file")).expect("its text");
        fs::read_dir(fixture.path("a")).expect("a listing").for_each(drop);
        fixture.check(&[]);
    }

    #[test]
    fn above_a_root_only_the_way_to_it_matters() {
        let mut fixture = Fixture::new(Coverage::Directory);
        fixture.directory("a");
        let root = fixture.path("a/root");
        fixture.source.set_roots([root.as_path()].into_iter());
        fixture.watch("", WatchRole::Ancestor);
        fixture.watch("a", WatchRole::Parent);
        fixture.write("noise");
        fixture.write("a/noise");
        fixture.check(&[]);
        fixture.directory("a/root");
        fixture.check(&["a/root"]);
        fs::rename(fixture.path("a"), fixture.path("b")).expect("a rename");
        fixture.check(&["a"]);
        assert!(!fixture.source.is_watched(&fixture.path("a")));
    }

    #[test]
    fn a_directory_that_moved_is_reported_under_its_new_name_whatever_is_dropped_first() {
        let mut fixture = Fixture::new(Coverage::Directory);
        fixture.directory("a");
        fixture.watch("a", WatchRole::Inside);
        let (a, z) = (fixture.path("a"), fixture.path("z"));
        fs::rename(&a, &z).expect("a rename");
        fixture.watch("z", WatchRole::Inside);
        fixture.source.unwatch(&a);
        fixture.sync();
        fixture.source.take_pending();
        fixture.watch("z", WatchRole::Inside);
        fixture.write("z/file");
        fixture.check(&["z/file"]);
        // Another directory under the old name comes and goes.
        fixture.directory("a");
        fixture.watch("a", WatchRole::Inside);
        fixture.write("a/file");
        fixture.write("z/file");
        fixture.check(&["a/file", "z/file"]);
        fs::remove_dir_all(&a).expect("a removal");
        fixture.sync();
        fixture.source.take_pending();
        fixture.write("z/file");
        fixture.check(&["z/file"]);
    }

    #[test]
    fn one_directory_is_reported_under_all_its_names() {
        let mut fixture = Fixture::new(Coverage::Directory);
        fixture.directory("real");
        symlink("real", fixture.path("link")).expect("a link");
        fixture.watch("real", WatchRole::Inside);
        fixture.watch("link", WatchRole::Root);
        fixture.write("real/file");
        fixture.check(&["link/file", "real/file"]);
        for (dropped, left) in [("real", "link"), ("link", "real")] {
            let dropped = fixture.path(dropped);
            fixture.source.unwatch(&dropped);
            fixture.write("real/file");
            fixture.sync();
            assert!(fixture.source.take_pending().paths.contains(&fixture.path(left).join("file")));
            fixture.watch("real", WatchRole::Inside);
            fixture.watch("link", WatchRole::Root);
        }
    }

    #[test]
    fn what_is_gone_or_dropped_is_not_watched() {
        let mut fixture = Fixture::new(Coverage::Directory);
        for name in ["a", "b"] {
            fixture.directory(name);
            fixture.watch(name, WatchRole::Inside);
        }
        let (a, b) = (fixture.path("a"), fixture.path("b"));
        fs::remove_dir(&a).expect("a removal");
        fixture.check(&["a"]);
        assert!(!fixture.source.is_watched(&a) && fixture.source.is_watched(&b));
        assert_eq!(fixture.source.watch(&a, WatchRole::Inside), Err(WatchError::Unavailable));
        fixture.source.retain(|_| false);
        assert!(fixture.source.directories.is_empty() && fixture.source.ids.is_empty());
        fixture.write("b/file");
        fixture.check(&[]);
    }

    #[test]
    fn a_watched_subtree_is_reported_under_the_name_of_its_root() {
        let mut fixture = Fixture::new(Coverage::Subtree);
        fs::create_dir_all(fixture.path("real/a/b")).expect("directories");
        symlink("real", fixture.path("link")).expect("a link");
        fixture.watch("link", WatchRole::Root);
        fixture.watch("link/a", WatchRole::Inside);
        assert!(fixture.source.is_watched(&fixture.path("link/a/b")));
        fixture.write("real/a/b/file");
        fixture.check(&["link/a/b/file", "real/a/b/file"]);
        fixture.source.retain(|_| false);
        fixture.write("real/a/b/file");
        fixture.check(&[]);
    }

    #[test]
    fn a_watcher_that_failed_is_replaced() {
        let mut fixture = Fixture::new(Coverage::Directory);
        fixture.directory("a");
        fixture.watch("a", WatchRole::Root);
        let failed = fixture.source.call(|_| -> notify::Result<()> { panic!("as notify does without its thread") });
        assert_eq!(failed, Err(WatchError::Unavailable));
        assert!(!fixture.source.is_watched(&fixture.path("a")) && fixture.queue.cookie_is_lost());
        assert_eq!(fixture.source.take_pending().overflow, Some("the watcher failed"));
        fixture.watch("a", WatchRole::Root);
        fixture.write("a/file");
        fixture.check(&["a/file"]);
    }

    #[test]
    fn a_cookie_that_was_lost_is_made_anew() {
        let mut fixture = Fixture::new(Coverage::Directory);
        fixture.directory("a");
        fixture.watch("a", WatchRole::Root);
        fixture.sync();
        for _ in 0..20 {
            fs::remove_dir_all(fixture.path("cookies")).expect("a removal");
            let end = Instant::now() + Duration::from_secs(10);
            while !fixture.queue.cookie_is_lost() {
                assert!(Instant::now() < end, "its removal was not noticed");
                std::thread::yield_now();
            }
            fixture.write("a/file");
            // Events of the removal that come late take the new one away as well.
            let end = Instant::now() + Duration::from_secs(10);
            let deadline = || Instant::now() + Duration::from_secs(2);
            loop {
                fixture.source.restore_cookie();
                let begun = fixture.queue.begin_round();
                match begun.and_then(|round| fixture.queue.wait_for_round(round, deadline())) {
                    Ok(()) => break,
                    Err(_) => assert!(Instant::now() < end, "there is no cookie that stays"),
                }
            }
            assert!(fixture.source.take_pending().paths.contains(&fixture.path("a/file")));
        }
    }

    #[test]
    fn many_threads_share_rounds_and_none_misses_what_it_did() {
        let mut fixture = Fixture::new(Coverage::Directory);
        fixture.directory("a");
        fixture.watch("a", WatchRole::Root);
        fixture.sync();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (queue, directory) = (&fixture.queue, fixture.path("a"));
                scope.spawn(move || {
                    for number in 0..500 {
                        let path = directory.join(format!("{thread}-{number}"));
                        fs::write(&path, "text").expect("a file");
                        let round = queue.begin_round().expect("a cookie");
                        let deadline = Instant::now() + Duration::from_secs(10);
                        queue.wait_for_round(round, deadline).expect("its event comes back");
                        assert!(!queue.wait_until_applied(&path, Instant::now()), "{} is not pending", path.display());
                    }
                });
            }
        });
        assert_eq!(fixture.source.take_pending().paths.len(), 2000);
        fixture.queue.finish_applying();
        assert!(fixture.queue.wait_until_applied(&fixture.path("a"), Instant::now()));
    }
}
