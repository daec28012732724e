//! What ends claims: sessions that say goodbye or do not come back, times that are over, items that are gone.
//!
//! Whoever notices such a thing only writes it on the agenda; one thread looks at the disk and takes claims out.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use super::table::{ClaimKey, ClaimTable};
use super::{ClaimStore, epoch_seconds};
use crate::families::claim::ItemAt;
use crate::families::session::CallerLink;
use crate::families::{ProgressReporter, SessionContext};
use crate::trees::{Change, ChangeKind, ChangeSubscriber};

/// An item that seems to be gone is looked for after this long: editors replace a file by removing it first, and a call
/// of ours that moves it says so a moment later.
const VANISHED_DELAY: Duration = Duration::from_millis(300);
/// The wall clock may be set meanwhile, so it is looked at this often.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// How a connection came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// The host has closed its side.
    Goodbye,
    /// Nobody said why; it may come back.
    Broken,
}

/// What is to be done, and when.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    /// How many connections a session has: a new one may be there before the old one has ended.
    connections: HashMap<String, usize>,
    /// When the claims of sessions end that are not connected.
    lost: HashMap<String, Instant>,
    /// When items are looked for that may be gone.
    checks: HashMap<ClaimKey, Instant>,
}

impl Agenda {
    /// Every session that held something has until then to come back.
    pub(super) fn after_restart(table: &ClaimTable, deadline: Instant) -> Self {
        let connected = table.0.values().filter(|stored| stored.link == CallerLink::Connection);
        let lost = connected.map(|stored| (stored.claim.session.clone(), deadline)).collect();
        Self { lost, ..Self::default() }
    }

    fn next(&self) -> Option<Instant> {
        self.lost.values().chain(self.checks.values()).min().copied()
    }

    /// Takes what is due by now: sessions that are gone, and items to look for.
    fn take_due(&mut self, now: Instant) -> (BTreeSet<String>, BTreeSet<ClaimKey>) {
        let sessions = self.lost.extract_if(|_, deadline| *deadline <= now).map(|(session, _)| session).collect();
        let items = self.checks.extract_if(|_, at| *at <= now).map(|(key, _)| key).collect();
        (sessions, items)
    }
}

impl ClaimStore {
    /// A session is here, or here again.
    pub fn session_connected(&self, session: &str) {
        let mut agenda = self.agenda.lock();
        *agenda.connections.entry(session.to_owned()).or_default() += 1;
        agenda.lost.remove(session);
    }

    pub fn session_ended(&self, session: &str, how: ConnectionEnd) {
        let mut agenda = self.agenda.lock();
        let left = agenda.connections.get(session).map_or(0, |count| count.saturating_sub(1));
        if left > 0 {
            agenda.connections.insert(session.to_owned(), left);
            return;
        }
        agenda.connections.remove(session);
        if !self.current().0.values().any(|stored| stored.claim.session == session) {
            return;
        }
        let grace = if how == ConnectionEnd::Goodbye { Duration::ZERO } else { self.grace };
        agenda.lost.insert(session.to_owned(), Instant::now() + grace);
        drop(agenda);
        self.has_agenda.notify_all();
    }

    /// A session whose connection ended while its request was carried out is not here any more.
    pub(super) fn expect_connection(&self, session: &str) {
        let mut agenda = self.agenda.lock();
        if !agenda.connections.contains_key(session) {
            agenda.lost.insert(session.to_owned(), Instant::now() + self.grace);
        }
    }

    /// These items may be gone.
    pub(super) fn check_soon(&self, keys: Vec<ClaimKey>) {
        if keys.is_empty() {
            return;
        }
        let at = Instant::now() + VANISHED_DELAY;
        let mut agenda = self.agenda.lock();
        for key in keys {
            agenda.checks.entry(key).or_insert(at);
        }
        drop(agenda);
        self.has_agenda.notify_all();
    }

    /// Ends claims whenever it is time, for as long as the daemon lives.
    pub(super) fn keep(&self) {
        loop {
            let mut agenda = self.agenda.lock();
            let (sessions, items) = agenda.take_due(Instant::now());
            let first_end = self.current().0.values().map(|stored| stored.claim.until).min();
            let is_over = first_end.is_some_and(|until| until <= epoch_seconds());
            if sessions.is_empty() && items.is_empty() && !is_over {
                let now = Instant::now();
                let of_time = first_end.map(|until| {
                    let seconds = u64::try_from(until - epoch_seconds()).unwrap_or(0);
                    now + Duration::from_secs(seconds).min(MAX_WAIT)
                });
                match agenda.next().into_iter().chain(of_time).min() {
                    Some(next) => drop(self.has_agenda.wait_until(&mut agenda, next)),
                    None => self.has_agenda.wait(&mut agenda),
                }
                continue;
            }
            drop(agenda);
            let gone: BTreeSet<ClaimKey> = items.into_iter().filter(|key| self.is_gone(key)).collect();
            let now = epoch_seconds();
            self.remove(|key, stored| {
                let claim = &stored.claim;
                claim.until <= now || sessions.contains(&claim.session) || gone.contains(key)
            });
        }
    }

    /// Whether no worktree has an item any more. What cannot be told counts as there.
    fn is_gone(&self, key: &ClaimKey) -> bool {
        let family = self.families.iter().find(|family| family.name == key.family);
        let Some((family, engine)) = family.zip(self.engine.get().and_then(std::sync::Weak::upgrade)) else {
            return false;
        };
        if !engine.disks.answers(key.tree.directory()) {
            return false;
        }
        let (session, reporter) = (SessionContext::default(), ProgressReporter::default());
        let context = engine.read_context(&session, &reporter);
        key.tree.trees().into_iter().all(|tree| {
            let item = ItemAt { family: family.name, tree, project: key.project.clone(), key: key.item.clone() };
            engine.disks.answers(&item.tree) && engine.items.holds(&item, &context) == Some(false)
        })
    }
}

impl ChangeSubscriber for ClaimStore {
    fn changed(&self, changes: &[Change]) {
        let table = self.current();
        if table.0.is_empty() {
            return;
        }
        let may_remove = |change: &&Change| matches!(change.kind, ChangeKind::Removed | ChangeKind::Modified);
        let trees: BTreeSet<_> = changes.iter().filter(may_remove).map(|change| &change.tree).collect();
        let is_changed = |key: &&ClaimKey| trees.iter().any(|tree| key.tree.may_be(tree));
        self.check_soon(table.0.keys().filter(is_changed).cloned().collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_and_items_are_due_when_their_time_has_come() {
        let now = Instant::now();
        let later = now + Duration::from_secs(60);
        let mut agenda = Agenda::default();
        agenda.lost.extend([("s1".to_owned(), now), ("s2".to_owned(), later)]);
        assert_eq!(agenda.next(), Some(now));
        assert_eq!(agenda.take_due(now).0, BTreeSet::from(["s1".to_owned()]));
        assert_eq!((agenda.next(), agenda.take_due(now).0.len()), (Some(later), 0));
        assert_eq!(agenda.take_due(later).0.len(), 1);
        assert_eq!(agenda.next(), None);
    }
}
