//! Changes → notifications to sessions: families turn a changed file into the addresses that show it.
//!
//! What our calls changed is told at once. So is what others change after a pause; what follows within a moment is told
//! together, so that a checkout of a thousand files does not become a thousand messages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::broadcast;

use super::lifecycle::Lifecycle;
use crate::families::{FamilyDescriptor, Notice};
use crate::trees::{Change, ChangeKind, ChangeSubscriber, Origin, Trees};

/// Notifications that a slow session may fall behind by before it is told that anything may have changed.
const NOTIFICATION_BACKLOG: usize = 256;
/// More addresses at once are not told one by one.
const MAX_NOTICES: usize = 1000;

/// Between two notifications of what others change.
const COALESCING_PERIOD: Duration = Duration::from_millis(25);

/// What is broadcast to all sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notification {
    /// Resources of a family changed; of interest to sessions that work with the tree.
    Changed { family: &'static str, tree: PathBuf, notices: Vec<Notice> },
    /// So many of them that any may have changed.
    ManyChanged { family: &'static str, tree: PathBuf },
    /// Something a person should know.
    Warning(String),
}

impl Notification {
    /// The family and the tree it is about, if it is about files.
    pub fn subject(&self) -> Option<(&'static str, &Path)> {
        match self {
            Self::Changed { family, tree, .. } | Self::ManyChanged { family, tree } => Some((family, tree)),
            Self::Warning(_) => None,
        }
    }
}

type FamilyNotices = fn(&Path, ChangeKind) -> Vec<Notice>;

#[derive(Debug)]
pub struct Notifier {
    families: Vec<(&'static str, FamilyNotices)>,
    trees: Arc<Trees>,
    lifecycle: Arc<Lifecycle>,
    sender: broadcast::Sender<Arc<Notification>>,
    outside: Mutex<OutsideNotices>,
    has_outside: Condvar,
    /// Comes with the first change by somebody else.
    teller: OnceLock<()>,
    this: Weak<Self>,
}

/// What is to be told of changes by others, by family and tree.
#[derive(Debug, Default)]
struct OutsideNotices {
    waiting: NoticesByTree,
    told_at: Option<Instant>,
}

type NoticesByTree = BTreeMap<(&'static str, PathBuf), BTreeSet<Notice>>;

impl Notifier {
    pub(super) fn new(families: &[FamilyDescriptor], trees: Arc<Trees>, lifecycle: Arc<Lifecycle>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            families: families.iter().map(|family| (family.name, family.notices)).collect(),
            trees,
            lifecycle,
            sender: broadcast::Sender::new(NOTIFICATION_BACKLOG),
            outside: Mutex::default(),
            has_outside: Condvar::new(),
            teller: OnceLock::new(),
            this: Weak::clone(this),
        })
    }

    /// Starts the thread that tells what was held back for a moment.
    fn start_teller(&self) {
        let Some(notifier) = self.this.upgrade() else { return };
        let thread = std::thread::Builder::new().name("notices".into());
        let started = thread.spawn(move || {
            loop {
                notifier.tell_outside();
            }
        });
        if let Err(error) = started {
            self.warn(&format!("subscribers do not hear of other programs' edits: {error}"));
        }
    }

    /// Waits for something to tell, and until it may be told.
    fn tell_outside(&self) {
        let mut outside = self.outside.lock();
        while outside.waiting.is_empty() {
            self.has_outside.wait(&mut outside);
        }
        if let Some(next) = outside.told_at.map(|at| at + COALESCING_PERIOD).filter(|next| *next > Instant::now()) {
            drop(outside);
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            outside = self.outside.lock();
        }
        outside.told_at = Some(Instant::now());
        let waiting = std::mem::take(&mut outside.waiting);
        drop(outside);
        self.tell(waiting);
    }

    fn tell(&self, notices: NoticesByTree) {
        for ((family, tree), notices) in notices {
            self.send(match notices.len() {
                0..=MAX_NOTICES => Notification::Changed { family, tree, notices: notices.into_iter().collect() },
                _ => Notification::ManyChanged { family, tree },
            });
        }
    }

    /// Every notification from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Notification>> {
        self.sender.subscribe()
    }

    /// Warns everybody: the log, `status`, and sessions that asked for log messages.
    pub fn warn(&self, warning: &str) {
        self.lifecycle.warn(warning);
        self.send(Notification::Warning(warning.to_owned()));
    }

    fn send(&self, notification: Notification) {
        // Nobody listening is no error.
        let _ = self.sender.send(Arc::new(notification));
    }

    /// Tells subscribers of one item that something about it is another, although its file is what it was.
    pub(super) fn item_changed(&self, family: &'static str, tree: &Path, addresses: Vec<String>) {
        let notices = addresses.into_iter().map(Notice::Updated).collect();
        self.send(Notification::Changed { family, tree: tree.to_owned(), notices });
    }

    /// Adds what a family tells of a change.
    fn add(&self, family: &'static str, change: &Change, all: &mut NoticesByTree) {
        let Some((_, notices)) = self.families.iter().find(|(name, _)| *name == family) else { return };
        let notices = notices(&change.path, change.kind);
        if !notices.is_empty() {
            let of_tree = all.entry((family, change.tree.to_path_buf())).or_default();
            // Beyond the limit they are not told one by one.
            if of_tree.len() <= MAX_NOTICES {
                of_tree.extend(notices);
            }
        }
    }
}

impl ChangeSubscriber for Notifier {
    fn changed(&self, changes: &[Change]) {
        self.lifecycle.touch();
        let (mut ours, mut others) = (NoticesByTree::new(), NoticesByTree::new());
        let mut families: BTreeMap<&Path, BTreeSet<&'static str>> = BTreeMap::new();
        for change in changes.iter().filter(|change| change.kind != ChangeKind::MaybeModified) {
            let tree = change.tree.as_ref();
            let families = families.entry(tree).or_insert_with(|| self.trees.families(tree).into_iter().collect());
            let all = match &change.origin {
                Origin::Derived => continue,
                Origin::Call(author) => {
                    families.insert(author.family);
                    &mut ours
                }
                Origin::Outside => &mut others,
            };
            families.iter().for_each(|family| self.add(family, change, all));
        }
        self.tell(ours);
        if !others.is_empty() {
            self.teller.get_or_init(|| self.start_teller());
            let mut outside = self.outside.lock();
            for (subject, notices) in others {
                outside.waiting.entry(subject).or_default().extend(notices);
            }
            self.has_outside.notify_one();
        }
    }

    fn warned(&self, warning: &str) {
        self.warn(warning);
    }
}
