//! The watcher thread: events and commands in, changes and health out.
//!
//! The first event is applied at once; those that come meanwhile are collected and applied together. One thread does
//! all scans, so that nobody else waits for one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::change::Change;
use super::events::{EventSource, QUEUE_IS_ORDERED};
use super::queue::EventQueue;
use super::watched_tree::{SeenChange, WatchedTree};
use super::{FileList, Shared, TreeSummary};

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
}

pub(super) struct WatcherThread {
    events: EventSource,
    queue: Arc<EventQueue>,
    shared: Arc<Shared>,
    trees: BTreeMap<PathBuf, WarnedTree>,
}

struct WarnedTree {
    tree: WatchedTree,
    /// The warning that was sent last.
    warned: Option<String>,
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
    pub(super) fn new(queue: Arc<EventQueue>, shared: Arc<Shared>, cookie_directory: PathBuf) -> Self {
        let events = EventSource::new(Arc::clone(&queue), cookie_directory);
        Self { events, queue, shared, trees: BTreeMap::new() }
    }

    pub(super) fn run(mut self, inbox: &Receiver<WatcherCommand>) {
        loop {
            let first = match self.next_due() {
                None => inbox.recv().map_err(RecvTimeoutError::from),
                Some(due) => inbox.recv_deadline(due),
            };
            let mut waiters = Waiters::default();
            match first {
                Ok(command) => waiters.push(command),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            inbox.try_iter().for_each(|command| waiters.push(command));
            let has_dropped = self.follow_leases();
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
                let tree = self.trees.get(&root).map(|warned| &warned.tree).filter(|tree| tree.is_there());
                let _ = answer.send(tree.map(WatchedTree::files));
            }
        }
    }

    /// When to wake up without any event.
    fn next_due(&self) -> Option<Instant> {
        let due = self.trees.values().map(|warned| warned.tree.due()).min();
        let expiry = self.shared.leases.lock().next_expiry();
        due.into_iter().chain(expiry).min()
    }

    /// Watches what is wanted now, and nothing else. Returns whether any tree was dropped.
    fn follow_leases(&mut self) -> bool {
        let now = Instant::now();
        let Some(wanted) = self.shared.leases.lock().take_changed(now) else { return false };
        let before = self.trees.len();
        self.trees.retain(|root, _| wanted.contains(root));
        let has_dropped = self.trees.len() != before;
        for root in wanted {
            let new = || WarnedTree { tree: WatchedTree::new(&root, now), warned: None };
            self.trees.entry(root.clone()).or_insert_with(new);
        }
        self.events.set_roots(self.trees.keys().map(PathBuf::as_path));
        if has_dropped {
            self.drop_unused_watches();
        }
        has_dropped
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
        self.publish(changes);
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
            self.publish(changes);
        }
    }

    fn rescan_all(&mut self, reason: &'static str) {
        let now = Instant::now();
        let mut changes = Vec::new();
        for WarnedTree { tree, .. } in self.trees.values_mut() {
            changes.extend(tree.rescan(&mut self.events, reason, now));
        }
        self.drop_unused_watches();
        self.publish(changes);
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
        self.publish(changes);
        any_is_due
    }

    /// Drops watches that no tree needs: of trees that were dropped, and of directories that vanished without an event.
    /// Trees in each other, or beside each other, share watches.
    fn drop_unused_watches(&mut self) {
        let trees = &self.trees;
        self.events.retain(|directory| trees.values().any(|warned| warned.tree.needs(directory)));
    }

    /// Hands on what others did; whoever writes for a call of ours does so for it.
    fn publish(&self, seen: Vec<SeenChange>) {
        let foreign = seen.into_iter().filter(|(change, stamp)| self.shared.own_writes.is_foreign(change, *stamp));
        let changes: Vec<Change> = foreign.map(|(change, _)| change).collect();
        self.shared.publish(&changes);
    }

    fn report(&mut self) {
        let now = Instant::now();
        let mut health = Vec::with_capacity(self.trees.len());
        let mut summaries = HashMap::with_capacity(self.trees.len());
        for (root, WarnedTree { tree, warned }) in self.trees.iter_mut().filter(|(_, warned)| warned.tree.is_known()) {
            let status = tree.status(now);
            if status.warning != *warned {
                if let Some(warning) = &status.warning {
                    self.shared.subscribers().iter().for_each(|subscriber| subscriber.warned(warning));
                }
                warned.clone_from(&status.warning);
            }
            let summary = TreeSummary { id: tree.id(), polled_scan_time: tree.polled_scan_time() };
            summaries.insert(root.clone(), summary);
            health.push(status);
        }
        *self.shared.health.write() = health;
        *self.shared.summaries.write() = summaries;
    }
}

impl Waiters {
    fn push(&mut self, command: WatcherCommand) {
        match command {
            WatcherCommand::Wake => {}
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
