//! What is done for a session besides answering it: it counts as a client, and the trees that it works with are
//! found and watched for as long as it lasts. Nobody waits for it, and the session's first answer goes before it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::{Engine, Event};
use crate::clock::Now;
use crate::disk::Reporter;
use crate::tools::{Call, Catalogue, Session};

/// Waking other threads would delay a session's first answer; they are woken after it.
const FIRST_ANSWER: Duration = Duration::from_millis(20);

/// A session that counts as a client, and its trees.
#[derive(Debug)]
pub struct Attended {
    engine: Arc<Engine>,
    catalogue: Arc<Catalogue>,
    session: Arc<Session>,
    trees: Mutex<BTreeSet<PathBuf>>,
    /// Those of them that have documents, and whose they are.
    searched: Mutex<BTreeSet<(&'static str, PathBuf)>>,
    /// Held by whoever looks, so that the last look has the last word; nobody else waits for a disk.
    looking: Mutex<()>,
    /// Warnings about them that the session has heard.
    heard: Mutex<BTreeSet<String>>,
    /// Whether it has been counted.
    counted: AtomicBool,
    /// Whether its trees have been looked for.
    looked: OnceCell<()>,
}

impl Attended {
    /// Begins to attend to a session.
    pub fn begin(call: &Call) -> Arc<Self> {
        let this = Arc::new(Self {
            engine: Arc::clone(&call.engine),
            catalogue: Arc::clone(&call.catalogue),
            session: Arc::clone(&call.session),
            trees: Mutex::default(),
            searched: Mutex::default(),
            looking: Mutex::default(),
            heard: Mutex::default(),
            counted: AtomicBool::new(false),
            looked: OnceCell::new(),
        });
        let later = Arc::downgrade(&this);
        tokio::spawn(async move {
            tokio::time::sleep(FIRST_ANSWER).await;
            if let Some(this) = later.upgrade() {
                this.counted.store(true, Ordering::Release);
                this.engine.post(Event::Opened);
                this.looked().await;
            }
        });
        this
    }

    /// Before a session's first call its projects are known to others; later this costs nothing.
    pub async fn looked(self: &Arc<Self>) {
        self.looked
            .get_or_init(|| async {
                let this = Arc::clone(self);
                let _ = tokio::task::spawn_blocking(move || this.find()).await;
            })
            .await;
    }

    /// The session's roots may lead to other trees than before.
    pub fn look_again(self: &Arc<Self>) {
        let this = Arc::clone(self);
        tokio::task::spawn_blocking(move || this.find());
    }

    /// Other sessions may name the projects this one works in, and its trees are watched.
    fn find(&self) {
        let _last = self.looking.lock();
        let Self { engine, session, .. } = self;
        let now = Now::read(&session.zone.0).at;
        session.directory.iter().chain(session.roots().iter()).for_each(|place| engine.projects.learn(place, now));
        let reporter = Reporter::default();
        let eyes = engine.eyes(session, &reporter);
        let places = self
            .catalogue
            .families()
            .flat_map(|family| (family.trees)(session).into_iter().map(|it| (family.name, it)));
        let found: BTreeSet<(&'static str, PathBuf)> =
            places.filter_map(|(family, place)| Some((family, place.tree(&eyes).ok()?))).collect();
        let with_documents = found.iter().filter(|(family, _)| engine.index.has(family)).cloned().collect();
        let found: BTreeSet<PathBuf> = found.into_iter().map(|(_, tree)| tree).collect();
        let mut trees = self.trees.lock();
        found.difference(&trees).for_each(|tree| engine.watch.want(tree.clone()));
        trees.difference(&found).for_each(|tree| engine.watch.release(tree.clone()));
        *trees = found;
        drop(trees);
        // Watched first, so that nothing that happens after the index has looked is missed.
        let mut searched = self.searched.lock();
        let before = std::mem::replace(&mut *searched, with_documents);
        searched.difference(&before).for_each(|(family, tree)| engine.index.want(family, tree));
        before.difference(&searched).for_each(|(family, tree)| engine.index.release(family, tree));
    }

    /// What the session should know about its trees and has not heard yet.
    pub fn news(&self) -> Vec<String> {
        let warnings = self.engine.watch.warnings(&self.trees.lock());
        let mut heard = self.heard.lock();
        warnings.into_iter().filter(|warning| heard.insert(warning.clone())).collect()
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        if *self.counted.get_mut() {
            self.engine.post(Event::Closed);
        }
        let searched = std::mem::take(self.searched.get_mut());
        searched.into_iter().for_each(|(family, tree)| self.engine.index.release(family, &tree));
        std::mem::take(self.trees.get_mut()).into_iter().for_each(|tree| self.engine.watch.release(tree));
    }
}
