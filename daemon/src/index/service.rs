//! The thread that keeps the index: changes and requests in, snapshots out.
//!
//! The first change acts at once; what comes meanwhile is gathered. Few changed files become fresh documents, many
//! are written at once. Fresh documents are folded into the main index when it is quiet, or when they are many.
//! Whatever goes wrong with the index on the disk ends in a new one.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::entry::TreeId;
use super::keeper::{Ill, Keeper, Which};
use super::{Task, Told};
use crate::families::facts::Documents;
use crate::watch::{Change, ChangeKind};

/// So many changed files are looked at one by one.
pub const FEW: usize = 64;
/// So many fresh documents are folded at once.
const MANY_FRESH: usize = 64;
/// Fresh documents are folded when nothing has happened for this long, or for this long at most.
const QUIET: Duration = Duration::from_secs(1);
const NOT_LATER: Duration = Duration::from_secs(5);
/// Times of files are coarse: one that was changed a moment before it was read is read again after this.
const SETTLED: Duration = Duration::from_millis(30);
/// So often in a row the index on the disk may fail before it is kept in memory.
const PATIENCE: u32 = 3;

/// The thread's own state.
#[derive(Debug)]
pub struct Service {
    keeper: Arc<Keeper>,
    /// When fresh documents came first, and last.
    fresh_since: Option<(Instant, Instant)>,
    /// Files that may have changed once more within the same moment.
    unsettled: BTreeMap<(TreeId, Arc<str>), Instant>,
    failures: u32,
    untidy: bool,
}

/// What has been gathered from the channel.
#[derive(Debug, Default)]
struct Gathered {
    changes: BTreeMap<(PathBuf, PathBuf), bool>,
    wants: Vec<(&'static str, PathBuf, Documents)>,
    waiting: Vec<Sender<()>>,
    is_ill: Option<String>,
    ends: Option<Sender<()>>,
}

impl Service {
    /// Lives until the channel ends.
    pub fn live(keeper: Arc<Keeper>, inbox: &Receiver<Task>) {
        let (fresh_since, unsettled) = (None, BTreeMap::new());
        let mut service = Self { keeper, fresh_since, unsettled, failures: 0, untidy: false };
        let opening = catch_unwind(AssertUnwindSafe(|| service.keeper.open()));
        if opening.is_err() {
            service.heal("it could not be opened");
        }
        loop {
            let gathered = match service.gather(inbox) {
                Some(gathered) => gathered,
                None => return,
            };
            let ends = gathered.ends.clone();
            if catch_unwind(AssertUnwindSafe(|| service.turn(gathered))).is_err() {
                service.heal("a fault in Trellis");
            }
            if let Some(done) = ends {
                let _ = done.send(());
                return;
            }
        }
    }

    fn gather(&self, inbox: &Receiver<Task>) -> Option<Gathered> {
        let mut gathered = Gathered::default();
        let first = match self.due() {
            None => inbox.recv().ok()?,
            Some(due) => match inbox.recv_deadline(due) {
                Ok(task) => task,
                Err(RecvTimeoutError::Timeout) => return Some(gathered),
                Err(RecvTimeoutError::Disconnected) => return None,
            },
        };
        gathered.take(first);
        inbox.try_iter().for_each(|task| gathered.take(task));
        Some(gathered)
    }

    /// When to wake up without anything happening.
    fn due(&self) -> Option<Instant> {
        let fold = self.fresh_since.map(|(first, last)| (last + QUIET).min(first + NOT_LATER));
        let settled = self.unsettled.values().min().copied();
        [fold, settled].into_iter().flatten().min()
    }

    fn turn(&mut self, gathered: Gathered) {
        if let Some(why) = gathered.is_ill {
            self.heal(&why);
        }
        self.follow(gathered.changes);
        for (family, root, documents) in gathered.wants {
            let tree = self.keeper.register(family, &root, documents);
            let caught_up = self.keeper.catch_up(tree);
            self.check(caught_up);
            self.untidy = true;
        }
        self.settle();
        for done in gathered.waiting {
            let _ = done.send(());
        }
        let now = Instant::now();
        if self.keeper.has_news() {
            let (first, last) = self.fresh_since.unwrap_or((now, now));
            let last = if self.keeper.take_published() { now } else { last };
            self.fresh_since = Some((first, last));
        } else {
            self.fresh_since = None;
        }
        let is_due = self.fresh_since.is_some_and(|(first, last)| now >= (last + QUIET).min(first + NOT_LATER));
        if is_due || self.keeper.fresh() >= MANY_FRESH || (gathered.ends.is_some() && self.keeper.has_news()) {
            let folded = self.keeper.fold();
            self.check(folded);
            self.fresh_since = None;
        }
        if std::mem::take(&mut self.untidy) && gathered.ends.is_none() {
            let tidied = self.keeper.tidy();
            self.check(tidied);
        }
    }

    /// Looks at what changed, in every tree that it belongs to.
    fn follow(&mut self, changes: BTreeMap<(PathBuf, PathBuf), bool>) {
        if changes.is_empty() {
            return;
        }
        let mut looks: BTreeMap<TreeId, Vec<(Arc<str>, bool)>> = BTreeMap::new();
        for ((root, path), is_gone) in changes {
            let Some(path) = path.to_str() else { continue };
            for tree in self.keeper.trees_at(&root, path) {
                looks.entry(tree).or_default().push((path.into(), is_gone));
            }
        }
        for (tree, paths) in looks {
            let (gone, there): (Vec<_>, Vec<_>) = paths.into_iter().partition(|(_, is_gone)| *is_gone);
            for (path, _) in gone {
                self.keeper.refresh(tree, &path, true);
            }
            let there = self.keeper.really_changed(tree, there.into_iter().map(|(path, _)| path).collect());
            if there.len() > FEW {
                let written = self.keeper.write_much(tree, &there, Which::Changed, None);
                self.untidy = true;
                self.check(written.map(drop));
                continue;
            }
            for path in there {
                if self.keeper.refresh(tree, &path, false) {
                    self.unsettled.insert((tree, path), Instant::now() + SETTLED);
                }
            }
        }
    }

    /// Files whose times were too coarse to tell whether they changed once more.
    fn settle(&mut self) {
        let now = Instant::now();
        let due: Vec<_> = self.unsettled.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()).collect();
        for (tree, path) in due {
            self.unsettled.remove(&(tree, Arc::clone(&path)));
            self.keeper.read_again(tree, &path);
        }
    }

    fn check(&mut self, done: Result<(), Ill>) {
        match done {
            Ok(()) => self.failures = 0,
            Err(Ill(why)) => self.heal(&why),
        }
    }

    fn heal(&mut self, why: &str) {
        self.failures += 1;
        self.fresh_since = None;
        let in_memory = self.failures >= PATIENCE;
        let live = self.keeper.begin_anew(why, in_memory);
        for tree in live {
            let caught_up = catch_unwind(AssertUnwindSafe(|| self.keeper.catch_up(tree)));
            match caught_up {
                Ok(Ok(())) => {}
                Ok(Err(Ill(why))) if !in_memory => return self.heal(&why),
                Ok(Err(Ill(why))) => return self.keeper.told(Told::Warned(format!("search cannot work: {why}"))),
                Err(_) => return self.keeper.told(Told::Warned("search cannot work: a fault in Trellis".to_owned())),
            }
        }
    }
}

impl Gathered {
    fn take(&mut self, task: Task) {
        match task {
            Task::Changed(changes) => {
                for Change { root, path, kind } in changes {
                    self.changes.insert((root, path), kind == ChangeKind::Gone);
                }
            }
            Task::Want(family, root, documents) => self.wants.push((family, root, documents)),
            Task::Wait(done) => self.waiting.push(done),
            Task::Published => {}
            Task::Ill(why) => self.is_ill = Some(why),
            Task::End(done) => self.ends = Some(done),
        }
    }
}
