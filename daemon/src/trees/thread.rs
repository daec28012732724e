//! The watcher thread: events and commands in, changes and health out.
//!
//! The first event is applied at once; those that come meanwhile are collected and applied together. It scans all trees
//! on disks of this machine; others have a thread of their own each, and it never looks at one of them itself.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::apart::{ApartTree, PLACEMENT_TIMEOUT};
use super::events::{EventSource, QUEUE_IS_ORDERED};
use super::queue::EventQueue;
use super::watched_tree::WatchedTree;
use super::{FileList, Shared};

#[derive(Debug)]
pub(super) enum WatcherCommand {
    /// Events were recorded, or other trees are wanted.
    Wake,
    /// Answered when all that was recorded or commanded before has been applied and polled trees were rescanned.
    Sync(Sender<()>),
    /// Answered when this tree was rescanned.
    Rescan(PathBuf, Sender<()>),
    /// Answered when all trees were rescanned.
    RescanAll(Sender<()>),
    /// Answered with the files of this tree; none if it is missing.
    List(PathBuf, Sender<Option<FileList>>),
    /// Nothing speaks against scanning this tree here any more.
    TakeOver(PathBuf, Box<WarnedTree>),
    /// Nobody needs any tree any more.
    Finish,
}

pub(super) struct WatcherThread {
    events: EventSource,
    queue: Arc<EventQueue>,
    shared: Arc<Shared>,
    trees: BTreeMap<PathBuf, WarnedTree>,
    apart: BTreeMap<PathBuf, ApartTree>,
    commands: Sender<WatcherCommand>,
}

#[derive(Debug)]
pub(super) struct WarnedTree {
    pub(super) tree: WatchedTree,
    /// The warning that was sent last.
    pub(super) warned: Option<String>,
}

/// Who waits for an answer, and what has to be rescanned before.
#[derive(Debug, Default)]
struct Waiters {
    answers: Vec<Sender<()>>,
    lists: Vec<(PathBuf, Sender<Option<FileList>>)>,
    /// These want polled trees to be rescanned.
    syncs: bool,
    all: bool,
    trees: BTreeSet<PathBuf>,
}

impl WatcherThread {
    pub(super) fn new(
        queue: Arc<EventQueue>,
        shared: Arc<Shared>,
        cookie_directory: PathBuf,
        commands: Sender<WatcherCommand>,
    ) -> Self {
        let events = EventSource::new(Arc::clone(&queue), cookie_directory);
        Self { events, queue, shared, trees: BTreeMap::new(), apart: BTreeMap::new(), commands }
    }

    pub(super) fn run(mut self, inbox: &Receiver<WatcherCommand>) {
        loop {
            let first = match self.next_due() {
                None => inbox.recv().map_err(RecvTimeoutError::from),
                Some(due) => inbox.recv_deadline(due),
            };
            let mut commands = Vec::new();
            match first {
                Ok(command) => commands.push(command),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            commands.extend(inbox.try_iter());
            if commands.iter().any(|command| matches!(command, WatcherCommand::Finish)) {
                return;
            }
            let has_dropped = self.follow_leases();
            let waiters = self.sort_commands(commands);
            self.check_apart();
            self.events.restore_cookie();
            self.rescan_for(&waiters);
            self.apply_events();
            self.report();
            self.queue.finish_applying();
            if self.rescan_due() || has_dropped {
                self.report();
            }
            for answer in waiters.answers {
                let _ = answer.send(());
            }
            for (root, answer) in waiters.lists {
                let _ = answer.send(self.trees.get(&root).and_then(|warned| warned.tree.files_if_there()));
            }
            self.set_apart();
        }
    }

    /// When to wake up without any event.
    fn next_due(&self) -> Option<Instant> {
        let due = self.trees.values().map(|warned| warned.tree.due()).min();
        let expiry = self.shared.leases.lock().next_expiry();
        let checks = self.apart.values().filter_map(ApartTree::due);
        due.into_iter().chain(expiry).chain(checks).min()
    }

    /// Watches what is wanted now, and nothing else. Returns whether any tree was dropped.
    fn follow_leases(&mut self) -> bool {
        let now = Instant::now();
        let Some(wanted) = self.shared.leases.lock().take_changed(now) else { return false };
        let before = self.trees.len();
        self.trees.retain(|root, _| wanted.contains(root));
        self.apart.retain(|root, _| wanted.contains(root));
        self.shared.retain(&wanted);
        let has_dropped = self.trees.len() != before;
        let is_new = |root: &PathBuf| !self.trees.contains_key(root) && !self.apart.contains_key(root);
        let new: Vec<PathBuf> = wanted.into_iter().filter(is_new).collect();
        self.place(new, now);
        self.events.set_roots(self.trees.keys().map(PathBuf::as_path));
        if has_dropped {
            self.drop_unused_watches();
        }
        has_dropped
    }

    /// Takes the trees that can be looked at without waiting; each of the others gets a thread of its own.
    fn place(&mut self, new: Vec<PathBuf>, now: Instant) {
        let tree = |root: &Path| {
            let tree = WatchedTree::new(root, self.shared.max_directories, now);
            WarnedTree { tree, warned: None }
        };
        let start = |root: PathBuf| {
            let (apart, is_ready) = ApartTree::start(&root, tree(&root), &self.shared, &self.commands);
            (root, apart, is_ready)
        };
        let started: Vec<_> = new.into_iter().map(start).collect();
        let deadline = Instant::now() + PLACEMENT_TIMEOUT;
        for (root, apart, is_ready) in started {
            match is_ready.recv_deadline(deadline) {
                Ok(()) => drop(self.trees.insert(root.clone(), tree(&root))),
                Err(_) => drop(self.apart.insert(root, apart)),
            }
        }
        self.shared.apart.write().clone_from(&self.apart.keys().cloned().collect());
    }

    /// What is asked of trees that are looked at here. What is about others is handed on.
    fn sort_commands(&mut self, commands: Vec<WatcherCommand>) -> Waiters {
        let mut waiters = Waiters::default();
        for command in commands {
            match command {
                WatcherCommand::Rescan(ref root, _) | WatcherCommand::List(ref root, _)
                    if let Some(apart) = self.apart.get(root) =>
                {
                    apart.send(command);
                }
                WatcherCommand::TakeOver(root, tree) => self.take_over(root, *tree),
                command => waiters.push(command),
            }
        }
        waiters
    }

    fn take_over(&mut self, root: PathBuf, mut tree: WarnedTree) {
        if self.apart.remove(&root).is_some() {
            tree.tree.make_due(Instant::now());
            self.trees.insert(root.clone(), tree);
            self.shared.apart.write().remove(&root);
            self.events.set_roots(self.trees.keys().map(PathBuf::as_path));
        }
    }

    /// Trees that have become too large, or are on another disk now, get a thread of their own.
    fn set_apart(&mut self) {
        let moved: Vec<(PathBuf, WarnedTree)> =
            self.trees.extract_if(.., |_, warned| warned.tree.belongs_apart()).collect();
        if moved.is_empty() {
            return;
        }
        for (root, tree) in moved {
            self.shared.apart.write().insert(root.clone());
            let (apart, _) = ApartTree::start(&root, tree, &self.shared, &self.commands);
            self.apart.insert(root, apart);
        }
        self.events.set_roots(self.trees.keys().map(PathBuf::as_path));
        self.drop_unused_watches();
    }

    /// Sees whether the disks answer for which somebody has been waiting.
    fn check_apart(&mut self) {
        let now = Instant::now();
        for (root, apart) in &mut self.apart {
            if apart.check(root, &self.shared, now) {
                self.shared.warn(&not_answering(root));
            }
        }
    }

    fn rescan_for(&mut self, waiters: &Waiters) {
        let is_asked_for = |root: &PathBuf, tree: &WatchedTree| {
            waiters.all
                || waiters.trees.contains(root)
                || waiters.syncs && (!QUEUE_IS_ORDERED || tree.may_miss_changes())
        };
        let now = Instant::now();
        let mut changes = Vec::new();
        for (root, WarnedTree { tree, .. }) in &mut self.trees {
            changes.extend(match is_asked_for(root, tree) {
                true => tree.rescan(&mut self.events, "somebody asked for it", now),
                // Mounting and unmounting causes no events.
                false if waiters.syncs => tree.revalidate_root(&mut self.events, now),
                false => continue,
            });
        }
        self.shared.publish_seen(changes);
    }

    /// Rescans what the recorded events are about.
    fn apply_events(&mut self) {
        let pending = self.events.take_pending();
        if let Some(reason) = pending.overflow {
            self.rescan_all(reason);
        } else if !pending.paths.is_empty() {
            let paths = &pending.paths;
            let now = Instant::now();
            let mut changes = Vec::new();
            for (root, WarnedTree { tree, .. }) in &mut self.trees {
                if root.ancestors().skip(1).any(|above| paths.contains(above)) {
                    changes.extend(tree.revalidate_root(&mut self.events, now));
                }
                let from_here = paths.range::<Path, _>((Bound::Included(root.as_path()), Bound::Unbounded));
                let below = from_here.take_while(|path| path.starts_with(root));
                changes.extend(tree.rescan_paths(&mut self.events, below, now));
            }
            self.shared.publish_seen(changes);
        }
    }

    fn rescan_all(&mut self, reason: &'static str) {
        let now = Instant::now();
        let mut changes = Vec::new();
        for WarnedTree { tree, .. } in self.trees.values_mut() {
            changes.extend(tree.rescan(&mut self.events, reason, now));
        }
        self.drop_unused_watches();
        self.shared.publish_seen(changes);
    }

    /// Returns whether any tree was due.
    fn rescan_due(&mut self) -> bool {
        let now = Instant::now();
        let mut any_is_due = false;
        let mut changes = Vec::new();
        for WarnedTree { tree, .. } in self.trees.values_mut().filter(|warned| warned.tree.due() <= now) {
            any_is_due = true;
            changes.extend(tree.rescan(&mut self.events, "its time had come", now));
        }
        if any_is_due {
            self.drop_unused_watches();
        }
        self.shared.publish_seen(changes);
        any_is_due
    }

    /// Drops watches that no tree needs: of trees that were dropped, and of directories that vanished without an event.
    /// Trees in each other, or beside each other, share watches.
    fn drop_unused_watches(&mut self) {
        let trees = &self.trees;
        self.events.retain(|directory| trees.values().any(|warned| warned.tree.needs(directory)));
    }

    fn report(&mut self) {
        let now = Instant::now();
        for (root, tree) in self.trees.iter_mut().filter(|(_, warned)| warned.tree.is_known()) {
            self.shared.report(root, tree, now);
        }
    }
}

/// What people are told of a tree that does not answer.
pub(super) fn not_answering(root: &Path) -> String {
    format!("the disk with `{}` does not answer: calls to it are refused until it does", root.display())
}

impl Waiters {
    fn push(&mut self, command: WatcherCommand) {
        match command {
            WatcherCommand::Wake | WatcherCommand::TakeOver(..) | WatcherCommand::Finish => {}
            WatcherCommand::Sync(answer) => {
                self.syncs = true;
                self.answers.push(answer);
            }
            WatcherCommand::Rescan(root, answer) => {
                self.trees.insert(root);
                self.answers.push(answer);
            }
            WatcherCommand::RescanAll(answer) => {
                self.all = true;
                self.answers.push(answer);
            }
            WatcherCommand::List(root, answer) => self.lists.push((root, answer)),
        }
    }
}
