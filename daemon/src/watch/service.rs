//! The thread that watches: hints and requests in, changes and health out.
//!
//! The first hint acts at once; what comes while we look is gathered and looked at together.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded, unbounded};
use parking_lot::RwLock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use trellis_protocol::control::RootStatus;

use super::bell::{Bell, Ear, bell};
use super::hint::Hints;
use super::native::{self, Native};
use super::root::Root;
use super::tree::Change;

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
    bell: Bell,
    health: Arc<RwLock<Vec<RootStatus>>>,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Request")
    }
}

impl Watch {
    /// Starts watching; nothing yet. A root that nobody wants is let go after the grace.
    pub fn start(observer: Arc<dyn Observer>, grace: Duration) -> std::io::Result<Self> {
        let (requests, inbox) = unbounded();
        let (bell, ear) = bell()?;
        let native = Native::new(bell.try_clone()?);
        let health = Arc::new(RwLock::default());
        let told = Arc::clone(&health);
        let watcher = Watcher { native, ear, roots: BTreeMap::new(), grace, observer, health: told };
        std::thread::Builder::new().name("watch".into()).spawn(move || watcher.live(&inbox))?;
        Ok(Self { requests, bell, health })
    }

    /// Watches a tree for as long as somebody wants it.
    pub fn want(&self, root: PathBuf) {
        self.ask(Request::Want(root));
    }

    /// One of those who wanted it does not any more.
    pub fn release(&self, root: PathBuf) {
        self.ask(Request::Release(root));
    }

    /// Waits until everything that happened up to now has been seen, at most so long; whether it has.
    pub fn barrier(&self, patience: Duration) -> bool {
        let (done, wait) = bounded(1);
        self.ask(Request::Barrier(done));
        wait.recv_timeout(patience).is_ok()
    }

    /// How it goes, answered from memory.
    pub fn health(&self) -> Vec<RootStatus> {
        self.health.read().clone()
    }

    /// What people should know about these trees.
    pub fn warnings(&self, trees: &BTreeSet<PathBuf>) -> Vec<String> {
        let health = self.health.read();
        let warned = health.iter().filter_map(|root| Some((root.warning.as_ref()?, &root.path)));
        let is_theirs = |path: &str| trees.iter().any(|tree| tree.display().to_string() == path);
        warned.filter(|(_, path)| is_theirs(path)).map(|(warning, _)| warning.clone()).collect()
    }

    fn ask(&self, request: Request) {
        let _ = self.requests.send(request);
        self.bell.ring();
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
    ear: Ear,
    roots: BTreeMap<PathBuf, Wanted>,
    grace: Duration,
    observer: Arc<dyn Observer>,
    health: Arc<RwLock<Vec<RootStatus>>>,
}

impl Watcher {
    fn live(mut self, inbox: &Receiver<Request>) {
        loop {
            self.wait();
            // Whoever asks whether everything has been seen asked before we gather what there is to see.
            let mut waiting = Vec::new();
            loop {
                match inbox.try_recv() {
                    Ok(request) => waiting.extend(self.serve(request)),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return,
                }
            }
            self.native.gather();
            if !waiting.is_empty() {
                self.look_where_nobody_tells();
            }
            self.follow();
            self.look_at_what_is_due();
            self.report();
            for done in waiting {
                let _ = done.send(());
            }
        }
    }

    /// Waits for a request, for something to happen, or for a root's time.
    fn wait(&mut self) {
        let patience = match self.native.is_quiet() {
            true => self.next_due().map(|due| due.saturating_duration_since(Instant::now())),
            false => Some(Duration::ZERO),
        };
        let patience = patience.map(|time| Timespec {
            tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        });
        let mut sources = vec![PollFd::new(&self.ear, PollFlags::IN)];
        let queue = self.native.descriptor();
        sources.extend(queue.as_ref().map(|queue| PollFd::new(queue, PollFlags::IN)));
        let _ = poll(&mut sources, patience.as_ref());
        self.ear.hear();
    }

    /// When to wake up without any event.
    fn next_due(&self) -> Option<Instant> {
        let due = |wanted: &Wanted| match wanted.unwanted_since {
            Some(since) => wanted.root.due().min(since + self.grace),
            None => wanted.root.due(),
        };
        self.roots.values().map(due).min()
    }

    /// Somebody who waits for an answer is returned.
    fn serve(&mut self, request: Request) -> Option<Sender<()>> {
        let now = Instant::now();
        match request {
            Request::Want(path) => {
                let wanted = self.roots.entry(path.clone()).or_insert_with(|| Wanted {
                    root: Root::new(path, now),
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
            Request::Barrier(done) => return Some(done),
        }
        None
    }

    /// Looks at what the system has told. What is beside a root is not even asked for.
    fn follow(&mut self) {
        let Hints { places, lost } = self.native.take();
        if let Some(reason) = lost {
            return self.look_at_everything(reason);
        }
        if places.is_empty() {
            return;
        }
        let now = Instant::now();
        let mut changes = Vec::new();
        for wanted in self.roots.values_mut() {
            let path = wanted.root.path().to_owned();
            if path.ancestors().skip(1).any(|above| places.contains(above)) {
                changes.extend(wanted.root.check(&mut self.native, now));
            }
            let from_here = places.range::<Path, _>((Bound::Included(path.as_path()), Bound::Unbounded));
            let below = from_here.take_while(|place| place.starts_with(&path));
            changes.extend(wanted.root.look_at(&mut self.native, below, now));
        }
        self.tell(changes);
    }

    fn look_at_everything(&mut self, reason: &'static str) {
        let now = Instant::now();
        let mut changes = Vec::new();
        for wanted in self.roots.values_mut() {
            changes.extend(wanted.root.rescan(&mut self.native, reason, now));
        }
        self.let_go_of_the_rest();
        self.tell(changes);
    }

    /// Somebody asks whether everything has been seen: of these roots we only know after a look.
    fn look_where_nobody_tells(&mut self) {
        let now = Instant::now();
        for wanted in self.roots.values_mut().filter(|wanted| !native::EXACT || wanted.root.is_polled()) {
            let changes = wanted.root.rescan(&mut self.native, "somebody asked for it", now);
            if !changes.is_empty() {
                self.observer.changed(changes);
            }
        }
    }

    fn look_at_what_is_due(&mut self) {
        let now = Instant::now();
        let before = self.roots.len();
        self.roots.retain(|_, wanted| wanted.unwanted_since.is_none_or(|since| now < since + self.grace));
        let mut is_any_due = self.roots.len() != before;
        let mut changes = Vec::new();
        for wanted in self.roots.values_mut().filter(|wanted| wanted.root.due() <= now) {
            is_any_due = true;
            changes.extend(wanted.root.rescan(&mut self.native, "its time had come", now));
        }
        if is_any_due {
            self.let_go_of_the_rest();
        }
        self.tell(changes);
    }

    /// Watches that no root needs any more: of a root that was let go, or of what disappeared without a word.
    /// Roots in each other, or beside each other, share them.
    fn let_go_of_the_rest(&mut self) {
        let roots = &self.roots;
        self.native.retain(|directory| roots.values().any(|wanted| wanted.root.needs(directory)));
    }

    fn tell(&self, changes: Vec<Change>) {
        if !changes.is_empty() {
            self.observer.changed(changes);
        }
    }

    fn report(&mut self) {
        let now = Instant::now();
        let mut health = Vec::with_capacity(self.roots.len());
        for wanted in self.roots.values_mut() {
            let status = wanted.root.status(now);
            if status.warning != wanted.warned {
                if let Some(warning) = &status.warning {
                    self.observer.warned(warning.clone());
                }
                wanted.warned.clone_from(&status.warning);
            }
            health.push(status);
        }
        *self.health.write() = health;
    }
}
