//! A tree that has a thread of its own, because looking at it may take long or never end: one on a disk that may not
//! answer, one that is too large, and every new one until it is known to be neither.
//!
//! It is polled, and causes no events. Commands for it are handed on by the watcher thread, which takes it over as soon
//! as nothing speaks against it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use parking_lot::Mutex;

use super::Shared;
use super::events::EventSource;
use super::state::has_more_directories;
use super::thread::{WarnedTree, WatcherCommand};
use crate::disk::filesystem::lacks_events;
use crate::disk::{PROBE_TIMEOUT, SLOW_CALL_TIME};

/// How long the watcher thread waits for a new tree to be known as one that it can have.
pub(super) const PLACEMENT_TIMEOUT: Duration = Duration::from_millis(20);

/// What the watcher thread has of it. The thread ends when this is dropped.
#[derive(Debug)]
pub(super) struct ApartTree {
    commands: Sender<WatcherCommand>,
    activity: Arc<Activity>,
    checked: Instant,
}

/// What its thread is doing.
#[derive(Debug, Default)]
struct Activity {
    /// Since when it has been looking at the disk, if it is.
    since: Mutex<Option<Instant>>,
    /// The disk did not answer meanwhile.
    was_silent: AtomicBool,
}

struct ApartThread {
    root: PathBuf,
    tree: WarnedTree,
    shared: Arc<Shared>,
    activity: Arc<Activity>,
    watcher: Sender<WatcherCommand>,
}

impl ApartTree {
    /// Starts a thread for a tree. The message comes if the watcher thread can have it at once; later it gets a command.
    pub(super) fn start(
        root: &Path,
        tree: WarnedTree,
        shared: &Arc<Shared>,
        watcher: &Sender<WatcherCommand>,
    ) -> (Self, Receiver<()>) {
        let ((commands, inbox), (ready, is_ready)) = (unbounded(), bounded(0));
        let activity = Arc::new(Activity::default());
        *activity.since.lock() = Some(Instant::now());
        let (shared, watcher) = (Arc::clone(shared), watcher.clone());
        let thread = ApartThread { root: root.to_owned(), tree, shared, activity: Arc::clone(&activity), watcher };
        let started = std::thread::Builder::new().name("apart".into()).spawn(move || thread.run(&inbox, &ready));
        if let Err(error) = started {
            tracing::error!(%error, "a tree cannot be looked at: no thread can be started");
        }
        (Self { commands, activity, checked: Instant::now() }, is_ready)
    }

    pub(super) fn send(&self, command: WatcherCommand) {
        let _ = self.commands.send(command);
    }

    /// When somebody has to see whether its disk answers.
    pub(super) fn due(&self) -> Option<Instant> {
        self.activity.since.lock().map(|since| (since + SLOW_CALL_TIME).max(self.checked + PROBE_TIMEOUT))
    }

    /// Has its disk asked if that is due. Returns whether it has just been found not to answer.
    pub(super) fn check(&mut self, root: &Path, shared: &Shared, now: Instant) -> bool {
        if self.due().is_none_or(|due| due > now) {
            return false;
        }
        self.checked = now;
        shared.disks.ask(root);
        shared.disks.is_silent(root) && !self.activity.was_silent.swap(true, Ordering::Relaxed)
    }
}

impl ApartThread {
    fn run(mut self, inbox: &Receiver<WatcherCommand>, ready: &Sender<()>) {
        // This may take for ever, and so may everything else here that looks at the tree.
        let is_local = !lacks_events(&self.root);
        if is_local && !self.is_known() && !has_more_directories(self.shared.max_directories, &self.root) {
            return match ready.send(()) {
                Ok(()) => {}
                Err(_) => self.hand_over(inbox),
            };
        }
        let mut commands = Vec::new();
        loop {
            let is_asked = commands.iter().any(|command| matches!(command, WatcherCommand::Rescan(..)));
            if is_asked || self.tree.tree.due() <= Instant::now() {
                self.rescan(if is_asked { "somebody asked for it" } else { "its time had come" });
            }
            // Nobody wants it any more, or another thread has it.
            if Arc::strong_count(&self.activity) == 1 {
                return;
            }
            for command in commands {
                match command {
                    WatcherCommand::Rescan(_, answer) => drop(answer.send(())),
                    WatcherCommand::List(_, answer) => drop(answer.send(self.tree.tree.files_if_there())),
                    _ => {}
                }
            }
            if !self.tree.tree.belongs_apart() {
                return self.hand_over(inbox);
            }
            commands = match inbox.recv_deadline(self.tree.tree.due()) {
                Ok(command) => std::iter::once(command).chain(inbox.try_iter()).collect(),
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
        }
    }

    fn is_known(&self) -> bool {
        self.tree.tree.is_known()
    }

    fn rescan(&mut self, reason: &'static str) {
        let now = Instant::now();
        *self.activity.since.lock() = Some(now);
        let changes = self.tree.tree.rescan(&mut EventSource::none(), reason, now);
        *self.activity.since.lock() = None;
        if Arc::strong_count(&self.activity) == 1 {
            return;
        }
        self.shared.publish_seen(changes);
        self.shared.report(&self.root, &mut self.tree, now);
        if self.activity.was_silent.swap(false, Ordering::Relaxed) {
            // Whoever wanted to look at it meanwhile has given up.
            self.shared.announce(&self.root);
        }
    }

    /// The watcher thread takes it over; what still comes goes there.
    fn hand_over(self, inbox: &Receiver<WatcherCommand>) {
        *self.activity.since.lock() = None;
        let _ = self.watcher.send(WatcherCommand::TakeOver(self.root, Box::new(self.tree)));
        for command in inbox {
            let _ = self.watcher.send(command);
        }
    }
}
