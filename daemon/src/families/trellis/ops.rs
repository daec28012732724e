//! Lists of items: filtered, put in order, cut to a page. Items come in, an answer goes out.

use serde_json::{Map, Value, json};

use super::arguments::ListArgs;
use super::error::{TrellisError, argument};
use super::model::{ShownItem, cursor, cursor_place};
use crate::families::address::{self, AddressedItem};
use crate::families::item::{ItemLane, TreeOwner};
use crate::families::item_set::{ItemRef, ItemScope, ItemSet};
use crate::families::{self, Answer};
use crate::text::folding::fold_word;
use crate::text::percent::decoded;

/// More warnings are not shown.
const MAX_WARNINGS: usize = 20;

/// An address up to a whole component, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Below {
    family: &'static str,
    /// Empty is the session's own.
    project: String,
    path: String,
}

impl Below {
    pub fn parse(uri: &str) -> Result<Self, TrellisError> {
        let invalid = || TrellisError::InvalidUri { uri: uri.to_owned() };
        let (scheme, rest) = uri.split_once("://").ok_or_else(invalid)?;
        let (family, face) = families::with_items().find(|(name, _)| *name == scheme).ok_or_else(invalid)?;
        let rest = rest.strip_prefix(face.prefix).ok_or_else(invalid)?;
        let (project, path) = rest.split_once('/').unwrap_or((rest, ""));
        let is_plain = !rest.contains(['?', '#']);
        let decoded = |part: &str| decoded(part).filter(|_| is_plain).ok_or_else(invalid);
        let path = decoded(path.trim_end_matches('/'))?;
        if path.split('/').any(|part| matches!(part, "." | "..")) {
            return Err(invalid());
        }
        Ok(Self { family, project: decoded(project)?, path })
    }

    /// The projects in which its items are.
    pub fn scope(&self) -> ItemScope {
        if self.project.is_empty() { ItemScope::Own } else { ItemScope::Named(self.project.clone()) }
    }

    fn takes(&self, found: ItemRef<'_>, set: &ItemSet) -> bool {
        let is_project = match (&found.item.project, self.project.as_str()) {
            (Some(project), name) => project.eq_ignore_ascii_case(name),
            (None, "") => found.tree.is_own || found.tree.owner == TreeOwner::Session,
            (None, name) => {
                set.names.find(name).ok().and_then(|path| set.names.name(path)) == Some(found.tree.project.as_str())
            }
        };
        let path = found.item.key.path.strip_prefix(&self.path);
        let is_below = self.path.is_empty() || path.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        found.tree.family == self.family && is_project && is_below
    }
}

pub fn list(set: &ItemSet, args: &ListArgs, below: Option<&Below>) -> Result<Answer, TrellisError> {
    let asked = format!("{:?}", ListArgs { cursor: None, limit: 0, budget: 0, ..args.clone() });
    let start = match &args.cursor {
        Some(given) => cursor_place(given, &asked)
            .ok_or_else(|| argument("cursor", "is not from `next_cursor` of this list", given.as_str()))?,
        None => 0,
    };
    let text = args.text.as_deref().map(fold_word);
    let tag = args.tag.as_deref().map(fold_word);
    let is_wanted = |found: &ItemRef<'_>| {
        let item = found.item;
        (args.kinds.is_empty() || args.kinds.contains(&item.kind))
            && args.lane.is_none_or(|lane| lane.takes(item.lane))
            && args.family.is_none_or(|family| family == found.tree.family)
            && args.ready.is_none_or(|ready| !ready || item.ready)
            && args.claimed.is_none_or(|claimed| claimed == set.claims.of(*found).is_some())
            && tag.as_ref().is_none_or(|tag| item.tags.iter().any(|known| fold_word(known) == *tag))
            && below.is_none_or(|below| below.takes(*found, set))
            && text.as_ref().is_none_or(|text| holds(*found, text))
    };
    let trees = set.trees.iter().filter(|tree| tree.is_wanted);
    let mut found: Vec<ItemRef<'_>> =
        trees.flat_map(|tree| tree.items().filter(|found| tree.wants(found.item))).filter(is_wanted).collect();
    if args.sort == Some(true) {
        found.sort_by_key(|found| std::cmp::Reverse(found.file.stamp.modified_ns));
    } else {
        found.sort_by(|one, other| order(*one).cmp(&order(*other)));
    }
    Ok(Answer::object(page(set, &found, start, args, &asked)))
}

/// Lane, own projects first, project, family; the family's own order is that in which items come.
fn order(found: ItemRef<'_>) -> (usize, bool, &str, usize) {
    let lane = match found.item.lane {
        Some(ItemLane::Doing) => 0,
        Some(ItemLane::Review) => 1,
        Some(ItemLane::Blocked) => 2,
        Some(ItemLane::Todo) => 3,
        None => 4,
        Some(ItemLane::Done) => 5,
    };
    let is_own = found.is_own();
    (lane, !is_own, if is_own { "" } else { found.project() }, found.tree.rank)
}

fn holds(found: ItemRef<'_>, text: &str) -> bool {
    let item = found.item;
    let ids = [Some(&item.key.path), item.key.fragment.as_ref()];
    fold_word(found.title()).contains(text)
        || ids.into_iter().flatten().chain(&item.names).chain(&item.tags).any(|word| fold_word(word).contains(text))
}

/// As many items from a place on as the limit and the budget allow; the first stays.
fn page(set: &ItemSet, found: &[ItemRef<'_>], start: usize, args: &ListArgs, asked: &str) -> Value {
    let mut warnings = set.warnings();
    warnings.truncate(MAX_WARNINGS);
    let mut rest = Map::new();
    rest.insert("total".to_owned(), found.len().into());
    let mut after = Map::new();
    if !warnings.is_empty() {
        after.insert("warnings".to_owned(), json!(warnings));
    }
    if !set.stale.is_empty() {
        after.insert("stale".to_owned(), json!(set.stale));
    }
    // With the names, the brackets and the longest cursor.
    let frame = 80 + Value::from(after.clone()).to_string().chars().count();
    let mut left = args.budget.saturating_sub(frame);
    let mut items = Vec::new();
    for found in found.iter().skip(start).take(args.limit) {
        let shown = shown(*found, set);
        let length = shown.to_string().chars().count() + 1;
        if length > left && !items.is_empty() {
            break;
        }
        left = left.saturating_sub(length);
        items.push(shown);
    }
    let end = start + items.len();
    let mut answer = Map::new();
    answer.insert("items".to_owned(), items.into());
    answer.extend(rest);
    if end < found.len() {
        answer.insert("next_cursor".to_owned(), cursor(end, asked).into());
    }
    answer.extend(after);
    answer.into()
}

fn shown(found: ItemRef<'_>, set: &ItemSet) -> Value {
    let mut fields = ShownItem::of(found, set).fields();
    if let Some(hash) = found.file.hash.as_ref().filter(|_| found.item.warning.is_some()) {
        fields.insert("hash".to_owned(), hash.as_str().into());
    }
    if !found.item.excerpt.is_empty() {
        fields.insert("excerpt".to_owned(), json!(found.item.excerpt));
    }
    fields.into()
}

/// Addresses of items whose names are near that of one that is not there.
pub fn nearest(set: &ItemSet, tree: usize, project: Option<&str>, uri: &str) -> Vec<String> {
    let Some(view) = set.trees.get(tree) else { return Vec::new() };
    let wanted = match address::parse(uri, &set.families).map(|address| address.target) {
        Some(AddressedItem::Item { key, .. }) => key.fragment.unwrap_or(key.path),
        _ => return Vec::new(),
    };
    let name = |found: &ItemRef<'_>| found.item.key.fragment.clone().unwrap_or_else(|| found.item.key.path.clone());
    let all: Vec<(String, ItemRef<'_>)> = view
        .items()
        .filter(|found| project.is_none_or(|project| found.item.project.as_deref() == Some(project)))
        .map(|found| (name(&found), found))
        .collect();
    let near = crate::text::nearest::nearest_few(&wanted, all.iter().map(|(name, _)| name.as_str()), 3);
    near.iter().filter_map(|near| Some(all.iter().find(|(name, _)| name == near)?.1.address())).collect()
}
