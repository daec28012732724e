//! Claims of all sessions, kept in the state directory from one daemon to the next.
//!
//! Requests come in, one at a time; what is granted is on the disk before anybody hears of it. Sessions that come and
//! go, times that are over and items that vanish end claims. Nobody is kept from anything, and no user's file is
//! touched.

/// Which item is whose.
mod table;

/// What ends claims.
mod ends;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use ends::Agenda;
pub use ends::ConnectionEnd;
use table::{ClaimKey, ClaimTable};

use super::Engine;
use super::notices::Notifier;
use crate::clock;
use crate::families::claim::{ClaimError, ClaimOutcome, ClaimRequest, Claims, ItemAt, ItemClaims};
use crate::families::edit::EditError;
use crate::families::item_set::ItemTreeView;
use crate::families::session::{Caller, CallerLink};
use crate::families::{FamilyDescriptor, address};
use crate::projects::{SessionDirectories, TreeId};
use crate::state_files;

#[derive(Debug)]
pub struct ClaimStore {
    file: PathBuf,
    /// How long a session whose connection broke may take to come back.
    grace: Duration,
    families: Arc<[FamilyDescriptor]>,
    notifier: Arc<Notifier>,
    engine: OnceLock<Weak<Engine>>,
    /// What was last written; taken for a moment only.
    table: Mutex<Arc<ClaimTable>>,
    /// Held over a change and its way to the disk.
    writing: Mutex<WriteAccess>,
    agenda: Mutex<Agenda>,
    has_agenda: Condvar,
    /// Comes with the first claim.
    keeper: OnceLock<()>,
    this: Weak<Self>,
}

/// Whether claims may still be written: another daemon may have the file once we have finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteAccess {
    Open,
    Finished,
}

impl ClaimStore {
    /// Reads what is kept, and says if it could not. Whoever held something has the grace to come back.
    pub(super) fn open(
        file: PathBuf,
        grace: Duration,
        families: Arc<[FamilyDescriptor]>,
        notifier: Arc<Notifier>,
    ) -> (Arc<Self>, Option<String>) {
        let read = state_files::read(&file).map_or(Some(ClaimTable::default()), |text| ClaimTable::parse(&text));
        let warning = read.is_none().then(|| {
            let aside = file.with_extension("json.broken");
            let _ = state_files::rename(&file, &aside);
            format!("the claims could not be read and are now in `{}`", aside.display())
        });
        let table = read.unwrap_or_default();
        let agenda = Agenda::after_restart(&table, Instant::now() + grace);
        let store = Arc::new_cyclic(|this| Self {
            file,
            grace,
            families,
            notifier,
            engine: OnceLock::new(),
            table: Mutex::new(Arc::new(table)),
            writing: Mutex::new(WriteAccess::Open),
            agenda: Mutex::new(agenda),
            has_agenda: Condvar::new(),
            keeper: OnceLock::new(),
            this: Weak::clone(this),
        });
        (store, warning)
    }

    /// From now on items are looked for; claims of an earlier daemon may end.
    pub(super) fn start(&self, engine: &Arc<Engine>) {
        let _ = self.engine.set(Arc::downgrade(engine));
        if !self.current().0.is_empty() {
            self.start_keeper();
        }
    }

    /// Nothing is written any more.
    pub(super) fn finish(&self) {
        *self.writing.lock() = WriteAccess::Finished;
    }

    fn current(&self) -> Arc<ClaimTable> {
        Arc::clone(&self.table.lock())
    }

    /// Puts a changed table on the disk, then in memory.
    fn replace(&self, table: ClaimTable, writing: &MutexGuard<'_, WriteAccess>) -> std::io::Result<()> {
        if **writing == WriteAccess::Finished {
            return Err(std::io::Error::other("the daemon is leaving"));
        }
        state_files::replace(&self.file, table.render().as_bytes())?;
        *self.table.lock() = Arc::new(table);
        Ok(())
    }

    /// Takes claims out; what cannot be written counts nevertheless.
    fn remove(&self, is_over: impl Fn(&ClaimKey, &table::StoredClaim) -> bool) {
        let writing = self.writing.lock();
        let before = self.current();
        let mut after = ClaimTable::clone(&before);
        after.0.retain(|key, stored| !is_over(key, stored));
        if after == *before {
            return;
        }
        let gone: Vec<&ClaimKey> = before.0.keys().filter(|key| !after.0.contains_key(key)).collect();
        if let Err(error) = self.replace(after.clone(), &writing) {
            tracing::warn!(%error, "the end of a claim could not be written");
            *self.table.lock() = Arc::new(after);
        }
        drop(writing);
        gone.into_iter().for_each(|key| self.tell(key));
    }

    /// An item has another place because a call of ours moved it; its claim goes with it.
    pub fn moved(&self, from: &ItemAt, to: &ItemAt) {
        let (from, to) = (ClaimKey::from(from), ClaimKey::from(to));
        let writing = self.writing.lock();
        let mut table = ClaimTable::clone(&self.current());
        let Some(stored) = table.0.remove(&from) else { return };
        table.0.insert(to.clone(), stored);
        if let Err(error) = self.replace(table, &writing) {
            tracing::warn!(%error, "a claim could not follow its item");
        }
        drop(writing);
        [from, to].iter().for_each(|key| self.tell(key));
    }

    /// Tells subscribers of an item that its claim is another one, in every worktree.
    fn tell(&self, key: &ClaimKey) {
        let Some(family) = self.families.iter().find(|family| family.name == key.family) else { return };
        let (Some(face), Some(engine)) = (family.items, self.engine.get().and_then(Weak::upgrade)) else { return };
        if !engine.disks.answers(key.tree.directory()) {
            return;
        }
        let names = engine.projects.names(&SessionDirectories::default());
        for tree in key.tree.trees() {
            let known = names.all().filter(|(_, path)| tree.starts_with(path));
            let name = known.max_by_key(|(_, path)| path.as_os_str().len()).map(|(name, _)| name);
            let spellings = match &key.project {
                Some(project) => vec![project.as_str()],
                None => std::iter::once("").chain(name).collect(),
            };
            let written = |project: &str| address::written(family.name, &face, project, &key.item);
            self.notifier.item_changed(family.name, &tree, spellings.into_iter().map(written).collect());
        }
    }

    /// What was changed before is seen by the thread that ends claims.
    fn wake_keeper(&self) {
        drop(self.agenda.lock());
        self.has_agenda.notify_all();
    }

    fn start_keeper(&self) {
        self.keeper.get_or_init(|| {
            let Some(store) = self.this.upgrade() else { return };
            let thread = std::thread::Builder::new().name("claims".into());
            if let Err(error) = thread.spawn(move || store.keep()) {
                self.notifier.warn(&format!("claims end only by their time: {error}"));
            }
        });
    }
}

impl Claims for ClaimStore {
    fn request(&self, request: &ClaimRequest, caller: &Caller) -> Result<ClaimOutcome, ClaimError> {
        let key = ClaimKey::from(&request.item);
        let writing = self.writing.lock();
        let now = epoch_seconds();
        let mut table = ClaimTable::clone(&self.current());
        let outcome = table.request(&key, request.action, caller, now)?;
        if outcome == (ClaimOutcome::Free { was_held: false }) {
            return Ok(outcome);
        }
        table.0.retain(|_, stored| stored.claim.until > now);
        let written = self.replace(table, &writing);
        drop(writing);
        written.map_err(|error| ClaimError::NotWritten(EditError::of(&error).code().to_owned()))?;
        self.start_keeper();
        if caller.link == CallerLink::Connection {
            self.expect_connection(&caller.session);
        }
        self.wake_keeper();
        self.tell(&key);
        Ok(outcome)
    }

    fn in_force(&self, trees: &[ItemTreeView], caller: Option<&Caller>) -> ItemClaims {
        let (table, mut claims) = (self.current(), ItemClaims::default());
        let mut vanished = Vec::new();
        for tree in trees {
            let mut id: Option<TreeId> = None;
            let mut is_here = |known: &TreeId, root: &Path| {
                known.may_be(root)
                    && (known.repository.is_none() || *id.get_or_insert_with(|| TreeId::of(root)) == *known)
            };
            for (key, stored) in table.in_force(epoch_seconds()) {
                if key.family != tree.family || !is_here(&key.tree, &tree.root) {
                    continue;
                }
                match tree.find(key.project.as_deref(), &key.item) {
                    Some(found) => {
                        let is_mine = caller.is_some_and(|caller| caller.session == stored.claim.session);
                        claims.insert(found.into(), stored.claim.clone(), is_mine);
                    }
                    None => vanished.push(key.clone()),
                }
            }
        }
        self.check_soon(vanished);
        claims
    }
}

fn epoch_seconds() -> i64 {
    clock::epoch_millis().div_euclid(1000)
}
