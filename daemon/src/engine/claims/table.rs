//! Which item is whose: requests and the time come in, what became of them goes out. Pure, and its own text on the disk.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::families::claim::{ClaimAction, ClaimError, ClaimOutcome, ItemAt, ItemClaim};
use crate::families::item::ItemKey;
use crate::families::session::{Caller, CallerLink};
use crate::projects::TreeId;

/// So many items one session may hold.
const MAX_CLAIMS: usize = 100;

/// An item, wherever in the worktrees of its repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ClaimKey {
    pub(super) family: String,
    pub(super) tree: TreeId,
    pub(super) project: Option<String>,
    pub(super) item: ItemKey,
}

impl From<&ItemAt> for ClaimKey {
    /// Looks at the disk for the repository that the tree is in.
    fn from(item: &ItemAt) -> Self {
        let (tree, project) = (TreeId::of(&item.tree), item.project.clone());
        Self { family: item.family.to_owned(), tree, project, item: item.key.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredClaim {
    pub(super) claim: ItemClaim,
    pub(super) link: CallerLink,
}

/// All claims that were made and have not been taken out since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ClaimTable(pub(super) BTreeMap<ClaimKey, StoredClaim>);

impl ClaimTable {
    /// Those in force at a time in seconds of the epoch.
    pub(super) fn in_force(&self, now: i64) -> impl Iterator<Item = (&ClaimKey, &StoredClaim)> {
        self.0.iter().filter(move |(_, stored)| stored.claim.until > now)
    }

    pub(super) fn request(
        &mut self,
        key: &ClaimKey,
        action: ClaimAction,
        caller: &Caller,
        now: i64,
    ) -> Result<ClaimOutcome, ClaimError> {
        let held = self.0.get(key).map(|stored| &stored.claim).filter(|claim| claim.until > now);
        if let Some(claim) = held.filter(|claim| claim.session != caller.session) {
            return Err(ClaimError::Held(claim.clone()));
        }
        let since = held.map(|claim| claim.since);
        let ClaimAction::Take { minutes } = action else {
            self.0.remove(key);
            return Ok(ClaimOutcome::Free { was_held: since.is_some() });
        };
        let count = || self.in_force(now).filter(|(_, stored)| stored.claim.session == caller.session).count();
        if since.is_none() && count() >= MAX_CLAIMS {
            return Err(ClaimError::TooMany(MAX_CLAIMS));
        }
        let Caller { by, session, link } = caller.clone();
        let claim = ItemClaim { by, session, since: since.unwrap_or(now), until: now + 60 * i64::from(minutes) };
        self.0.insert(key.clone(), StoredClaim { claim: claim.clone(), link });
        Ok(ClaimOutcome::Held { claim, renewed: since.is_some() })
    }

    /// The text that is kept; none of a path that is no text.
    pub(super) fn render(&self) -> String {
        let claims = self.0.iter().filter_map(|(key, stored)| ClaimRow::of(key, stored)).collect();
        serde_json::to_string_pretty(&ClaimFile { claims }).unwrap_or_default() + "\n"
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let file: ClaimFile = serde_json::from_str(text).ok()?;
        Some(Self(file.claims.into_iter().map(ClaimRow::read).collect()))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct ClaimFile {
    claims: Vec<ClaimRow>,
}

/// One claim on the disk. Times are seconds of the epoch.
#[derive(Debug, Serialize, Deserialize)]
struct ClaimRow {
    family: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    tree: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fragment: Option<String>,
    by: String,
    session: String,
    since: i64,
    until: i64,
    /// Only its time ends it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    http: bool,
}

impl ClaimRow {
    fn of(key: &ClaimKey, stored: &StoredClaim) -> Option<Self> {
        let repository = match &key.tree.repository {
            Some(repository) => Some(repository.to_str()?.to_owned()),
            None => None,
        };
        let (ClaimKey { family, project, item, .. }, ItemClaim { by, session, since, until }) =
            (key.clone(), stored.claim.clone());
        let (ItemKey { path, fragment }, http) = (item, stored.link == CallerLink::Http);
        let tree = key.tree.path.to_str()?.to_owned();
        Some(Self { family, repository, tree, project, path, fragment, by, session, since, until, http })
    }

    fn read(self) -> (ClaimKey, StoredClaim) {
        let Self { family, repository, tree, project, path, fragment, by, session, since, until, http } = self;
        let tree = TreeId { repository: repository.map(PathBuf::from), path: tree.into() };
        let key = ClaimKey { family, tree, project, item: ItemKey { path, fragment } };
        let link = if http { CallerLink::Http } else { CallerLink::Connection };
        (key, StoredClaim { claim: ItemClaim { by, session, since, until }, link })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(session: &str) -> Caller {
        Caller { by: format!("host of {session}"), session: session.to_owned(), link: CallerLink::Connection }
    }

    fn key(id: &str) -> ClaimKey {
        let tree = TreeId { repository: Some("/r/.git".into()), path: ".todo".into() };
        ClaimKey { family: "todo".to_owned(), tree, project: None, item: ItemKey::path(id) }
    }

    const HOUR: ClaimAction = ClaimAction::Take { minutes: 60 };

    fn taken(table: &mut ClaimTable, id: &str, session: &str, action: ClaimAction, now: i64) -> (i64, i64, bool) {
        match table.request(&key(id), action, &caller(session), now).expect("it is taken") {
            ClaimOutcome::Held { claim, renewed } => (claim.since, claim.until, renewed),
            ClaimOutcome::Free { .. } => unreachable!("it was taken"),
        }
    }

    #[test]
    fn one_session_holds_an_item_until_its_time_is_over() {
        let mut table = ClaimTable::default();
        assert_eq!(taken(&mut table, "T001", "s1", HOUR, 1000), (1000, 4600, false));
        let refused = table.request(&key("T001"), HOUR, &caller("s2"), 4599);
        assert!(matches!(refused, Err(ClaimError::Held(claim)) if claim.session == "s1" && claim.since == 1000));
        assert!(table.request(&key("T001"), ClaimAction::Release, &caller("s2"), 4599).is_err());
        assert_eq!(taken(&mut table, "T002", "s2", HOUR, 1000), (1000, 4600, false));
        let minute = ClaimAction::Take { minutes: 1 };
        assert_eq!(taken(&mut table, "T001", "s1", minute, 1010), (1000, 1070, true), "earlier than before");
        assert_eq!(table.in_force(1069).count(), 2);
        assert_eq!(taken(&mut table, "T001", "s2", HOUR, 1070), (1070, 4670, false), "its time is over");
    }

    #[test]
    fn what_is_given_back_is_free() {
        let mut table = ClaimTable::default();
        taken(&mut table, "T001", "s1", HOUR, 0);
        let release = |table: &mut ClaimTable| table.request(&key("T001"), ClaimAction::Release, &caller("s1"), 1);
        assert_eq!(release(&mut table), Ok(ClaimOutcome::Free { was_held: true }));
        assert_eq!(release(&mut table), Ok(ClaimOutcome::Free { was_held: false }));
        taken(&mut table, "T001", "s1", HOUR, 0);
        let late = table.request(&key("T001"), ClaimAction::Release, &caller("s1"), 3600);
        assert_eq!(late, Ok(ClaimOutcome::Free { was_held: false }));
    }

    #[test]
    fn a_session_holds_a_hundred_and_renews_each() {
        let mut table = ClaimTable::default();
        for number in 0..100 {
            taken(&mut table, &format!("T{number}"), "s1", HOUR, 0);
        }
        assert_eq!(table.request(&key("more"), HOUR, &caller("s1"), 1), Err(ClaimError::TooMany(100)));
        assert!(taken(&mut table, "T7", "s1", HOUR, 1).2);
        taken(&mut table, "more", "s2", HOUR, 1);
        taken(&mut table, "later", "s1", HOUR, 3600);
    }

    #[test]
    fn claims_are_read_as_they_were_written() {
        let mut table = ClaimTable::default();
        taken(&mut table, "T001", "s1", HOUR, 5);
        let tree = TreeId { repository: None, path: "/w".into() };
        let node = ItemKey::within("a.vine", "b");
        let key = ClaimKey { family: "vibe".to_owned(), tree, project: Some("p".to_owned()), item: node };
        let web = Caller { link: CallerLink::Http, ..caller("s3") };
        table.request(&key, HOUR, &web, 6).expect("it is taken");
        assert_eq!(ClaimTable::parse(&table.render()), Some(table));
        for broken in ["", "[]", "{}", r#"{"claims":[{"family":"todo"}]}"#] {
            assert_eq!(ClaimTable::parse(broken), None, "{broken}");
        }
    }
}
