//! A connected client: who it is, what it may see, and the trees it works with, which are watched while it is here.
//! Its first answer does not wait for them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{OnceCell, Semaphore};
use tokio_util::sync::CancellationToken;

use super::call::{ToolCall, host_name};
use crate::clock::Now;
use crate::disk::DiskWork;
use crate::engine::lifecycle::ClientGuard;
use crate::engine::{ClientStatus, Engine};
use crate::families::session::{Caller, CallerLink, ShownFamilies, public_name};
use crate::families::{Catalogue, ProgressReporter, SessionContext};
use crate::projects::Interface;
use crate::trees::TreeLease;

/// Waking other threads would delay a client's first answer; its trees are looked up after it.
const TREE_LOOKUP_DELAY: Duration = Duration::from_millis(20);
/// A client whose directory does not answer waits no longer for its trees: it may call for others.
const TREE_LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);
/// When trees are looked up again that did not answer.
const TREE_LOOKUP_RETRY_DELAY: Duration = Duration::from_secs(2);
/// How long a subscription waits for its trees to be scanned.
const FIRST_SCAN_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct ClientSession {
    pub engine: Arc<Engine>,
    /// What it may see.
    pub catalogue: Arc<Catalogue>,
    pub context: Arc<SessionContext>,
    /// How it is seen in `status`.
    pub status: Arc<ClientStatus>,
    /// How many of its calls may block at once, so that one client's load does not hold up another's.
    pub(super) blocking_permits: Arc<Semaphore>,
    /// Whether its last call exceeded the inline budget.
    pub(super) skip_inline: AtomicBool,
    /// The trees it works with, and whose they are.
    leases: Mutex<Vec<(&'static str, TreeLease)>>,
    /// Held by whoever looks trees up, so that the last look has the last word; nobody else waits for a disk.
    tree_lookup: Mutex<()>,
    /// When the first look began; others share it.
    first_tree_lookup: OnceCell<Instant>,
    first_tree_lookup_ended: CancellationToken,
    watched: OnceCell<()>,
    /// Warnings that were sent already.
    sent_warnings: Mutex<BTreeSet<String>>,
    counted: OnceCell<ClientGuard>,
}

impl ClientSession {
    /// A client of which so many calls may block at once. Its trees are looked up in a moment.
    pub fn start(
        engine: Arc<Engine>,
        catalogue: Arc<Catalogue>,
        context: Arc<SessionContext>,
        status: Arc<ClientStatus>,
        max_blocking_calls: usize,
    ) -> Arc<Self> {
        let shown = ShownFamilies { with_items: catalogue.item_families(), is_alone: catalogue.is_alone() };
        let _ = context.surface.set(shown);
        let session = Arc::new(Self {
            engine,
            catalogue,
            context,
            status,
            blocking_permits: Arc::new(Semaphore::new(max_blocking_calls)),
            skip_inline: AtomicBool::new(false),
            leases: Mutex::default(),
            tree_lookup: Mutex::default(),
            first_tree_lookup: OnceCell::new(),
            first_tree_lookup_ended: CancellationToken::new(),
            watched: OnceCell::new(),
            sent_warnings: Mutex::default(),
            counted: OnceCell::new(),
        });
        let later = Arc::downgrade(&session);
        tokio::spawn(async move {
            tokio::time::sleep(TREE_LOOKUP_DELAY).await;
            if let Some(session) = later.upgrade() {
                let _ = session.counted.set(session.engine.count_client());
                session.wait_for_trees().await;
            }
        });
        session
    }

    /// Waits until the trees were looked up for the first time, if their disks answer; later this costs nothing.
    pub async fn wait_for_trees(self: &Arc<Self>) {
        if self.first_tree_lookup_ended.is_cancelled() {
            return;
        }
        let lookup = || async {
            let session = Arc::clone(self);
            tokio::task::spawn_blocking(move || {
                session.look_up_trees();
                session.first_tree_lookup_ended.cancel();
            });
            Instant::now()
        };
        let began = *self.first_tree_lookup.get_or_init(lookup).await;
        let ended = self.first_tree_lookup_ended.cancelled();
        let _ = tokio::time::timeout_at((began + TREE_LOOKUP_TIMEOUT).into(), ended).await;
    }

    /// Waits until every change in its trees from now on is seen; later this costs nothing.
    pub async fn wait_until_watched(self: &Arc<Self>) {
        let watched = || async {
            self.wait_for_trees().await;
            let trees = Arc::clone(&self.engine.trees);
            let _ = tokio::task::spawn_blocking(move || trees.barrier(FIRST_SCAN_TIMEOUT)).await;
        };
        self.watched.get_or_init(watched).await;
    }

    /// The session's roots may lead to other trees than before.
    pub fn refresh_trees(self: &Arc<Self>) {
        let session = Arc::clone(self);
        tokio::task::spawn_blocking(move || session.look_up_trees());
    }

    /// Other sessions may name the projects this one works in, and its trees are watched.
    fn look_up_trees(self: &Arc<Self>) {
        let _last = self.tree_lookup.lock();
        let Self { engine, context, .. } = &**self;
        let now = Now::read(&context.zone.0).at;
        let (reporter, work) = (ProgressReporter::default(), DiskWork::new(&engine.disks));
        let read_context = engine.read_context(context, &reporter).with_work(&work);
        for place in context.directory.iter().chain(context.roots().iter()) {
            if engine.disks.answers(place) {
                engine.projects.remember(place, now);
            }
        }
        let of_family = |family: &'static str, place| Some((family, read_context.disk.tree(&place).ok()?));
        let families = self.catalogue.families();
        let trees: BTreeSet<(&'static str, PathBuf)> = families
            .flat_map(|family| (family.trees)(context).into_iter().filter_map(|place| of_family(family.name, place)))
            .collect();
        // Leased before the old ones are released, so that none is dropped in between.
        let leases = trees.iter().map(|(family, tree)| (*family, engine.trees.lease(family, tree))).collect();
        drop(std::mem::replace(&mut *self.leases.lock(), leases));
        if work.is_refused() {
            self.retry_tree_lookup();
        }
    }

    fn retry_tree_lookup(self: &Arc<Self>) {
        let later = Arc::downgrade(self);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            tokio::time::sleep(TREE_LOOKUP_RETRY_DELAY).await;
            if let Some(session) = later.upgrade() {
                session.refresh_trees();
            }
        });
    }

    /// Whether it works with a tree of a family that it can see.
    pub fn works_with(&self, family: &'static str, tree: &Path) -> bool {
        self.leases.lock().iter().any(|(owner, lease)| *owner == family && lease.tree() == tree)
    }

    /// Warnings about its trees that the client has not got yet.
    pub fn unsent_warnings(&self) -> Vec<String> {
        let trees = self.leases.lock().iter().map(|(_, lease)| lease.tree().to_owned()).collect();
        let warnings = self.engine.trees.warnings(&trees);
        let mut sent = self.sent_warnings.lock();
        warnings.into_iter().filter(|warning| sent.insert(warning.clone())).collect()
    }

    /// On whose behalf a call is made. Over HTTP without a session it is whoever has the same credentials.
    pub(super) fn caller(&self, call: &ToolCall) -> Caller {
        let is_web = self.context.door == Interface::Http;
        let session = match (&self.context.key, &call.credentials) {
            (None, Some(credentials)) => public_name(&format!("http {credentials}")),
            _ => self.context.public_name().unwrap_or_default(),
        };
        let link = if is_web { CallerLink::Http } else { CallerLink::Connection };
        Caller { by: host_name(call.by.as_deref()), session, link }
    }
}
