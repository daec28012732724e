//! The system's events: inotify, as places to look at again.
//!
//! Directories are watched one by one: we walk the tree ourselves. The system watches a directory, not its
//! name, so one watch may have several names: those of roots that reach it over different links, and for a
//! moment the old and the new name of one that was moved. Reading the queue is up to us, so when it is empty
//! everything that happened before has been heard.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::hint::{Hints, Interest, Limit, Unwatched};

/// Whether everything that happened before has been heard once there is nothing more to gather.
pub const EXACT: bool = true;

/// Room for some hundred events.
const BUFFER_BYTES: usize = 16 * 1024;
/// More events than this at one go, and we would never get to looking.
const MOST_AT_ONCE: usize = 65_536;

/// The system's number of a watch.
type Number = i32;

/// The system's watcher.
#[derive(Debug)]
pub struct Native {
    /// None if the system allows no more of them; then everything is looked at again and again.
    queue: Option<OwnedFd>,
    /// The names under which a directory is watched.
    names: HashMap<Number, Vec<PathBuf>>,
    /// Which directory a name stood for when it was watched last. Exactly the inverse of `names`.
    numbers: HashMap<PathBuf, Number>,
    hints: Hints,
}

impl Native {
    /// Watches nothing yet.
    pub fn new(_: super::bell::Bell) -> Self {
        let mut native = Self { queue: None, names: HashMap::new(), numbers: HashMap::new(), hints: Hints::default() };
        let _ = native.open();
        native
    }

    /// The queue; one that could not be had before may be had now.
    fn open(&mut self) -> Result<&OwnedFd, Unwatched> {
        if self.queue.is_none() {
            self.queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        }
        self.queue.as_ref().ok_or(Unwatched::Limit(Limit::Instances))
    }

    /// What becomes readable when there is something to gather.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.queue.as_ref().map(|queue| queue.as_fd())
    }

    /// Watches one directory, as well as it may be watched already.
    pub fn watch(&mut self, directory: &Path, interest: Interest) -> Result<(), Unwatched> {
        // A long walk must not let the system's queue run full.
        self.gather();
        let added = inotify::add_watch(self.open()?, directory, flags(interest));
        let number = added.map_err(|errno| match errno {
            Errno::NOSPC => Unwatched::Limit(Limit::Watches),
            _ => Unwatched::Other,
        })?;
        if self.numbers.get(directory) != Some(&number) {
            self.unwatch(directory);
            self.numbers.insert(directory.to_owned(), number);
            self.names.entry(number).or_default().push(directory.to_owned());
        }
        Ok(())
    }

    /// Whether a directory is watched under this name.
    pub fn is_watched(&self, directory: &Path) -> bool {
        self.numbers.contains_key(directory)
    }

    /// Stops watching one directory under this name.
    pub fn unwatch(&mut self, directory: &Path) {
        let Some(number) = self.numbers.remove(directory) else { return };
        let Some(names) = self.names.get_mut(&number) else { return };
        names.retain(|name| name != directory);
        if names.is_empty() {
            self.names.remove(&number);
            if let Some(queue) = &self.queue {
                // One that is gone is not watched anyway.
                let _ = inotify::remove_watch(queue, number);
            }
        }
    }

    /// Stops watching all but these.
    pub fn retain(&mut self, is_needed: impl Fn(&Path) -> bool) {
        let needless: Vec<PathBuf> = self.numbers.keys().filter(|name| !is_needed(name)).cloned().collect();
        needless.iter().for_each(|name| self.unwatch(name));
    }

    /// Takes in everything that has happened up to now.
    pub fn gather(&mut self) {
        let Some(queue) = &self.queue else { return };
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
        let mut reader = Reader::new(queue, &mut buffer);
        for _ in 0..MOST_AT_ONCE {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(_) => return self.hints.lose("the watcher failed"),
            };
            let (number, what) = (event.wd(), event.events());
            if what.contains(ReadFlags::QUEUE_OVERFLOW) {
                self.hints.lose("events were lost");
                continue;
            }
            if what.contains(ReadFlags::IGNORED) {
                // The system watches this directory no more: it is gone, or we said so ourselves.
                for name in self.names.remove(&number).unwrap_or_default() {
                    self.numbers.remove(&name);
                }
                continue;
            }
            let inside = event.file_name().map(|name| Path::new(OsStr::from_bytes(name.to_bytes())));
            for name in self.names.get(&number).into_iter().flatten() {
                self.hints.add(inside.map_or_else(|| name.clone(), |inside| name.join(inside)));
            }
        }
        self.hints.lose("too many events at once");
    }

    /// Whether nothing has been gathered.
    pub fn is_quiet(&self) -> bool {
        self.hints.is_empty()
    }

    /// What has been gathered.
    pub fn take(&mut self) -> Hints {
        std::mem::take(&mut self.hints)
    }
}

/// Reading is never told: our own must not wake us.
fn flags(interest: Interest) -> WatchFlags {
    let itself = WatchFlags::MOVE_SELF | WatchFlags::DELETE_SELF;
    let names = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO;
    let content = names | WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE | WatchFlags::ATTRIB;
    let wanted = match interest {
        Interest::Content => content,
        Interest::Root => content | itself,
        Interest::Names => names | itself,
        Interest::Itself => itself,
    };
    // What others want to be told of the same directory stays.
    wanted | WatchFlags::MASK_ADD | WatchFlags::ONLYDIR | WatchFlags::EXCL_UNLINK
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn native() -> Native {
        Native::new(super::super::bell::bell().expect("a bell").0)
    }

    /// What is told after something was done, relative to a directory.
    fn told(native: &mut Native, home: &Path) -> Vec<String> {
        native.gather();
        let relative = |place: &PathBuf| place.strip_prefix(home).expect("below").display().to_string();
        native.take().places.iter().map(relative).collect()
    }

    #[test]
    fn what_happened_has_been_heard_at_once_and_reading_is_not_told() {
        let home = TempDir::new().expect("a directory");
        let mut native = native();
        native.watch(home.path(), Interest::Content).expect("a watch");
        fs::write(home.path().join("file"), "text").expect("a file");
        assert_eq!(told(&mut native, home.path()), ["file"]);
        fs::read(home.path().join("file")).expect("its text");
        fs::read_dir(home.path()).expect("a listing").for_each(drop);
        assert_eq!(told(&mut native, home.path()), [""; 0]);
    }

    #[test]
    fn a_directory_that_moved_is_told_under_its_new_name_whatever_is_let_go_first() {
        let home = TempDir::new().expect("a directory");
        let at = |name: &str| home.path().join(name);
        let mut native = native();
        fs::create_dir(at("a")).expect("a directory");
        native.watch(&at("a"), Interest::Content).expect("a watch");
        fs::rename(at("a"), at("z")).expect("a rename");
        native.watch(&at("z"), Interest::Content).expect("a watch");
        native.unwatch(&at("a"));
        fs::write(at("z/file"), "text").expect("a file");
        assert_eq!(told(&mut native, home.path()), ["z/file"]);
        // Another directory under the old name.
        fs::create_dir(at("a")).expect("a directory");
        native.watch(&at("a"), Interest::Content).expect("a watch");
        fs::write(at("a/file"), "text").expect("a file");
        fs::write(at("z/file"), "text").expect("a file");
        assert_eq!(told(&mut native, home.path()), ["a/file", "z/file"]);
    }

    #[test]
    fn one_directory_is_told_under_all_its_names() {
        let home = TempDir::new().expect("a directory");
        let at = |name: &str| home.path().join(name);
        let mut native = native();
        fs::create_dir(at("real")).expect("a directory");
        std::os::unix::fs::symlink("real", at("link")).expect("a link");
        native.watch(&at("real"), Interest::Content).expect("a watch");
        native.watch(&at("link"), Interest::Root).expect("a watch");
        fs::write(at("real/file"), "text").expect("a file");
        assert_eq!(told(&mut native, home.path()), ["link/file", "real/file"]);
        native.unwatch(&at("link"));
        fs::write(at("real/file"), "text").expect("a file");
        assert_eq!(told(&mut native, home.path()), ["real/file"]);
    }

    #[test]
    fn what_is_gone_or_let_go_is_not_watched() {
        let home = TempDir::new().expect("a directory");
        let at = |name: &str| home.path().join(name);
        let mut native = native();
        for name in ["a", "b"] {
            fs::create_dir(at(name)).expect("a directory");
            native.watch(&at(name), Interest::Content).expect("a watch");
        }
        fs::remove_dir(at("a")).expect("a removal");
        native.gather();
        assert!(!native.is_watched(&at("a")) && native.is_watched(&at("b")));
        native.retain(|_| false);
        native.gather();
        assert!(native.names.is_empty() && native.numbers.is_empty());
        assert_eq!(native.watch(&at("a"), Interest::Content), Err(Unwatched::Other));
    }
}
