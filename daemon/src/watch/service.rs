//! The thread that watches: hints and requests in, changes and health out.
//!
//! The first hint acts at once; what comes while we look is gathered and looked at together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, select, unbounded};
use parking_lot::RwLock;
use trellis_protocol::control::RootStatus;

use super::native::{Hint, Native};
use super::root::Root;
use super::tree::Change;

/// Hints that wait at most; beyond it everything is looked at again.
const MOST_HINTS: usize = 65_536;
/// A root that nobody wants is let go after this.
const GRACE: Duration = Duration::from_secs(10 * 60);
/// Nothing to wait for but hints: look at the clock this often.
const LONG: Duration = Duration::from_secs(60 * 60);

/// Whoever hears of changes and trouble.
pub trait Observer: Send + Sync {
    /// Files are not what they were.
    fn changed(&self, changes: Vec<Change>);
    /// Something a person should know.
    fn warned(&self, warning: String);
}

/// What is asked of the watching thread.
enum Request {
    /// Somebody works with this tree.
    Want(PathBuf),
    /// Somebody does not any more.
    Release(PathBuf),
    /// Everything that happened up to now has been seen when this is answered.
    Barrier(Sender<()>),
}

/// The handle of the watching thread.
#[derive(Debug)]
pub struct Watch {
    requests: Sender<Request>,
    health: Arc<RwLock<Vec<RootStatus>>>,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Request")
    }
}

impl Watch {
    /// Starts watching; nothing yet.
    pub fn start(observer: Arc<dyn Observer>) -> std::io::Result<Self> {
        let (requests, inbox) = unbounded();
        let (hints, hinted) = bounded(MOST_HINTS);
        let overflowed = Arc::new(AtomicBool::new(false));
        let native = Native::new(hints, Arc::clone(&overflowed));
        let health = Arc::new(RwLock::default());
        let watcher = Watcher {
            native,
            roots: BTreeMap::new(),
            parents: BTreeSet::new(),
            observer,
            overflowed,
            health: Arc::clone(&health),
        };
        std::thread::Builder::new().name("watch".into()).spawn(move || watcher.live(&inbox, &hinted))?;
        Ok(Self { requests, health })
    }

    /// Watches a tree for as long as somebody wants it.
    pub fn want(&self, root: PathBuf) {
        let _ = self.requests.send(Request::Want(root));
    }

    /// One of those who wanted it does not any more.
    pub fn release(&self, root: PathBuf) {
        let _ = self.requests.send(Request::Release(root));
    }

    /// Waits until everything that happened up to now has been seen, at most so long.
    pub fn barrier(&self, patience: Duration) -> bool {
        let (done, wait) = bounded(1);
        self.requests.send(Request::Barrier(done)).is_ok() && wait.recv_timeout(patience).is_ok()
    }

    /// How it goes, answered from memory.
    pub fn health(&self) -> Vec<RootStatus> {
        self.health.read().clone()
    }
}

/// A root and those who want it.
#[derive(Debug)]
struct Wanted {
    root: Root,
    wanted: usize,
    unwanted_since: Option<Instant>,
    warned: Option<String>,
}

struct Watcher {
    native: Native,
    roots: BTreeMap<PathBuf, Wanted>,
    parents: BTreeSet<PathBuf>,
    observer: Arc<dyn Observer>,
    overflowed: Arc<AtomicBool>,
    health: Arc<RwLock<Vec<RootStatus>>>,
}

impl Watcher {
    fn live(mut self, inbox: &Receiver<Request>, hinted: &Receiver<Hint>) {
        loop {
            let patience = self.next_due().saturating_duration_since(Instant::now());
            select! {
                recv(inbox) -> request => match request {
                    Ok(request) => self.serve(request, hinted),
                    Err(_) => return,
                },
                recv(hinted) -> hint => match hint {
                    Ok(hint) => self.follow(hint, hinted),
                    Err(_) => return,
                },
                default(patience) => {}
            }
            self.look_at_what_is_due();
            self.report();
        }
    }

    fn next_due(&self) -> Instant {
        let roots = self.roots.values().map(|wanted| match wanted.unwanted_since {
            Some(since) => wanted.root.due().min(since + GRACE),
            None => wanted.root.due(),
        });
        roots.min().unwrap_or_else(|| Instant::now() + LONG)
    }

    fn serve(&mut self, request: Request, hinted: &Receiver<Hint>) {
        let now = Instant::now();
        match request {
            Request::Want(path) => {
                let told_by_parent = self.watch_parent(&path);
                let wanted = self.roots.entry(path.clone()).or_insert_with(|| Wanted {
                    root: Root::new(path.clone(), told_by_parent, now),
                    wanted: 0,
                    unwanted_since: None,
                    warned: None,
                });
                wanted.wanted += 1;
                wanted.unwanted_since = None;
            }
            Request::Release(path) => {
                if let Some(wanted) = self.roots.get_mut(&path) {
                    wanted.wanted = wanted.wanted.saturating_sub(1);
                    if wanted.wanted == 0 {
                        wanted.unwanted_since = Some(now);
                    }
                }
            }
            Request::Barrier(done) => {
                while let Ok(hint) = hinted.try_recv() {
                    self.follow(hint, hinted);
                }
                self.look_at_what_is_due();
                self.report();
                let _ = done.send(());
            }
        }
    }

    /// The directory above tells when a root is moved away, replaced or made.
    fn watch_parent(&mut self, path: &Path) -> bool {
        let Some(parent) = path.parent() else { return false };
        if self.parents.contains(parent) {
            return true;
        }
        let watched = self.native.watch(parent).is_ok();
        if watched {
            self.parents.insert(parent.to_owned());
        }
        watched
    }

    fn follow(&mut self, first: Hint, hinted: &Receiver<Hint>) {
        let mut places = BTreeSet::new();
        let mut lost = self.overflowed.swap(false, Ordering::AcqRel).then_some("too many events at once");
        for hint in std::iter::once(first).chain(hinted.try_iter()) {
            match hint {
                Hint::At(place) => {
                    places.insert(place);
                }
                Hint::Lost(reason) => lost = Some(reason),
            }
        }
        let now = Instant::now();
        let mut changes = Vec::new();
        if let Some(reason) = lost {
            for wanted in self.roots.values_mut() {
                changes.extend(wanted.root.rescan(&mut self.native, reason, now));
            }
        } else {
            // What is gone first: a directory under a new name must not lose its watch with the old name.
            let (there, gone): (Vec<_>, Vec<_>) = places.iter().partition(|place| place.symlink_metadata().is_ok());
            for place in gone.into_iter().chain(there) {
                for wanted in self.roots.values_mut() {
                    if place.starts_with(wanted.root.path()) {
                        changes.extend(wanted.root.look_at(&mut self.native, place, now));
                    } else if wanted.root.path().parent() == Some(place.as_path()) {
                        changes.extend(wanted.root.check(&mut self.native, now));
                    }
                }
            }
        }
        self.tell(changes);
    }

    fn look_at_what_is_due(&mut self) {
        let now = Instant::now();
        let forgotten: Vec<PathBuf> = self
            .roots
            .iter()
            .filter(|(_, wanted)| wanted.unwanted_since.is_some_and(|since| now >= since + GRACE))
            .map(|(path, _)| path.clone())
            .collect();
        for path in forgotten {
            if let Some(mut wanted) = self.roots.remove(&path) {
                wanted.root.forget(&mut self.native);
            }
        }
        let mut changes = Vec::new();
        for wanted in self.roots.values_mut().filter(|wanted| wanted.root.due() <= now) {
            changes.extend(wanted.root.rescan(&mut self.native, "its time had come", now));
        }
        self.tell(changes);
    }

    fn tell(&self, changes: Vec<Change>) {
        if !changes.is_empty() {
            self.observer.changed(changes);
        }
    }

    fn report(&mut self) {
        let now = Instant::now();
        for wanted in self.roots.values_mut() {
            let warning = wanted.root.warning();
            if warning != wanted.warned {
                if let Some(warning) = &warning {
                    self.observer.warned(warning.clone());
                }
                wanted.warned = warning;
            }
        }
        *self.health.write() = self.roots.values().map(|wanted| wanted.root.status(now)).collect();
    }
}
