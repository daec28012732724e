//! Candidates → one page of an answer: what holds first, by rung and weight, then what later rungs add, then what no
//! longer holds.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::Path;

use super::{RecallView, item_at, record_of};
use crate::families::item::ItemLane;
use crate::families::recall::{ItemPlace, OwnItems, Worktree};
use crate::index::execute::ChunkLocation;
use crate::index::items::ItemNumber;
use crate::index::main_index::IndexSnapshot;

/// So many outdated hits are asked for what replaced them.
const MAX_REPLACEMENTS: usize = 50;

/// An item that was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) item: ItemNumber,
    /// From 1, which is best, to 5.
    pub(super) rung: u8,
    pub(super) weight: f32,
    /// Where most of it was found.
    pub(super) chunk: ChunkLocation,
    /// Whether that is in its text, not only in what it is called.
    pub(super) is_in_text: bool,
}

/// One page of an answer.
pub(super) struct AnswerPage {
    pub(super) total: usize,
    pub(super) page: Vec<Candidate>,
    pub(super) has_more: bool,
}

/// What decides between hits with equal text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Standing {
    is_done: bool,
    is_foreign: bool,
    /// Seconds, the newest first.
    age: i64,
}

pub(super) fn answer(
    snapshot: &IndexSnapshot,
    view: &RecallView<'_>,
    strict: Vec<Candidate>,
    relaxed: Vec<Candidate>,
    few: usize,
) -> AnswerPage {
    let order = Order { snapshot, view };
    let is_outdated = |candidate: &Candidate| record_of(snapshot, candidate.item).outdated;
    let strict = order.without_copies(strict);
    let (mut outdated, mut first): (Vec<Candidate>, Vec<Candidate>) = strict.into_iter().partition(is_outdated);
    order.replace(&outdated, &mut first);
    // Of what no longer holds, later rungs show only what replaced it.
    let relaxed = order.without_copies(relaxed);
    let (left_out, mut relaxed): (Vec<Candidate>, Vec<Candidate>) = relaxed.into_iter().partition(is_outdated);
    order.replace(&left_out, &mut relaxed);
    relaxed.retain(|candidate| !first.iter().any(|it| it.item == candidate.item));
    if first.is_empty() && outdated.is_empty() {
        let rung = relaxed.iter().map(|candidate| candidate.rung).min().unwrap_or(0);
        (first, relaxed) = relaxed.into_iter().partition(|candidate| candidate.rung == rung);
    }
    let total = first.len() + outdated.len();
    let request = view.request;
    let end = request.offset + request.limit;
    order.sort(&mut first, end);
    let added = few.saturating_sub(total);
    order.sort(&mut relaxed, added);
    relaxed.truncate(added);
    order.sort(&mut outdated, end);
    let all: Vec<Candidate> = first.into_iter().chain(relaxed).chain(outdated).collect();
    let page = all.iter().skip(request.offset).take(request.limit).copied().collect();
    AnswerPage { total, page, has_more: all.len() > end }
}

struct Order<'a> {
    snapshot: &'a IndexSnapshot,
    view: &'a RecallView<'a>,
}

impl Order<'_> {
    fn place(&self, item: ItemNumber) -> Option<ItemPlace> {
        let (entry, _, item) = item_at(self.snapshot, item);
        Some(ItemPlace { tree: self.view.place_in_request(entry.tree)?, path: entry.path.clone(), item })
    }

    fn is_own(&self, item: ItemNumber) -> bool {
        let (entry, ..) = item_at(self.snapshot, item);
        let Some(tree) = self.view.place_in_request(entry.tree) else { return false };
        match &self.view.request.trees[tree].own {
            OwnItems::All => true,
            OwnItems::None => false,
            OwnItems::Projects(_) => self.view.own_projects[tree].contains(&entry.project),
        }
    }

    fn standing(&self, item: ItemNumber) -> Standing {
        let (entry, _, place) = item_at(self.snapshot, item);
        let age = -i64::try_from(entry.stamp.modified_ns / 1_000_000_000).unwrap_or(0);
        Standing { is_done: entry.items[place].lane == Some(ItemLane::Done), is_foreign: !self.is_own(item), age }
    }

    /// Puts the first `count` in order; the others follow in none.
    fn sort(&self, candidates: &mut [Candidate], count: usize) {
        let by_text = |a: &Candidate, b: &Candidate| a.rung.cmp(&b.rung).then_with(|| b.weight.total_cmp(&a.weight));
        let by_standing = |a: &Candidate, b: &Candidate| {
            by_text(a, b).then_with(|| self.standing(a.item).cmp(&self.standing(b.item)))
        };
        candidates.sort_unstable_by(by_standing);
        // An address costs far more than a comparison: only equal ones on the pages that are asked for have theirs made.
        let mut start = 0;
        for equal in candidates.chunk_by_mut(|a, b| by_standing(a, b) == Ordering::Equal) {
            if start >= count {
                break;
            }
            start += equal.len();
            if equal.len() > 1 {
                let address = |candidate: &Candidate| self.place(candidate.item).map(|it| self.view.links.address(&it));
                equal.sort_by_cached_key(address);
            }
        }
    }

    /// Of items with equal text in worktrees of one repository: the session's own, else the main worktree's.
    fn without_copies(&self, candidates: Vec<Candidate>) -> Vec<Candidate> {
        let trees = &self.view.request.trees;
        if trees.iter().all(|tree| tree.worktree.is_none()) {
            return candidates;
        }
        let mut kept: Vec<Candidate> = Vec::with_capacity(candidates.len());
        let mut copies: HashMap<(&Path, &str, u64, u64), usize> = HashMap::new();
        let rank = |item: ItemNumber, worktree: &Worktree| (!self.is_own(item), !worktree.is_main);
        for candidate in candidates {
            let (entry, _, place) = item_at(self.snapshot, candidate.item);
            let tree = self.view.place_in_request(entry.tree).map(|tree| &trees[tree]);
            let Some((tree, worktree)) = tree.and_then(|tree| Some((tree, tree.worktree.as_ref()?))) else {
                kept.push(candidate);
                continue;
            };
            let record = entry.items[place];
            match copies.entry((worktree.repository.as_path(), tree.family, record.key, record.text)) {
                std::collections::hash_map::Entry::Vacant(vacant) => {
                    vacant.insert(kept.len());
                    kept.push(candidate);
                }
                std::collections::hash_map::Entry::Occupied(occupied) => {
                    let other = &mut kept[*occupied.get()];
                    let (other_entry, ..) = item_at(self.snapshot, other.item);
                    let other_tree = self.view.place_in_request(other_entry.tree).map(|tree| &trees[tree]);
                    let other_worktree = other_tree.and_then(|tree| tree.worktree.as_ref()).unwrap_or(worktree);
                    if rank(candidate.item, worktree) < rank(other.item, other_worktree) {
                        *other = candidate;
                    }
                }
            }
        }
        kept
    }

    /// What replaced an outdated item stands where that one would have stood, if it does not stand better.
    fn replace(&self, outdated: &[Candidate], first: &mut Vec<Candidate>) {
        for old in outdated.iter().take(MAX_REPLACEMENTS) {
            let place = self.place(old.item).and_then(|place| self.view.links.replacement(&place));
            let Some(item) = place.and_then(|place| self.number(&place)) else { continue };
            let record = record_of(self.snapshot, item);
            let request = self.view.request;
            let is_wanted = !record.outdated
                && request.kind.is_none_or(|kind| kind == record.kind)
                && request.lane.is_none_or(|lane| lane.takes(record.lane));
            if !is_wanted {
                continue;
            }
            match first.iter_mut().find(|candidate| candidate.item == item) {
                Some(new) if (new.rung, -new.weight) > (old.rung, -old.weight) => {
                    (new.rung, new.weight) = (old.rung, old.weight);
                }
                Some(_) => {}
                None => {
                    let Some(chunk) = self.first_chunk(item) else { continue };
                    first.push(Candidate { item, chunk, is_in_text: false, ..*old });
                }
            }
        }
    }

    fn number(&self, place: &ItemPlace) -> Option<ItemNumber> {
        let tree = (*self.view.trees.get(place.tree)?)?;
        let table = self.snapshot.items();
        let is_it = |entry: &crate::index::document::DocumentRecord| entry.tree == tree && entry.path == place.path;
        let overlay = self.snapshot.overlay.iter().position(|overlay| is_it(&overlay.entry));
        let document = overlay.map(|number| table.slots() + number).or_else(|| {
            let main = self.snapshot.main.entries.iter().enumerate();
            let mut live = main.filter(|(slot, _)| !self.snapshot.masked.contains(*slot));
            live.find(|(_, entry)| entry.as_deref().is_some_and(is_it)).map(|(slot, _)| slot)
        })?;
        let (start, end) = (table.starts()[document], table.starts()[document + 1]);
        Some(start + place.item as ItemNumber).filter(|item| *item < end)
    }

    /// Where the text of an item begins.
    fn first_chunk(&self, item: ItemNumber) -> Option<ChunkLocation> {
        let table = self.snapshot.items();
        let (document, place) = table.place_of(item);
        let (entry, ..) = item_at(self.snapshot, item);
        let chunk = entry.items[place].first_chunk;
        if let Some(number) = document.checked_sub(table.slots()) {
            return Some(ChunkLocation::Overlay(number as u32, chunk));
        }
        let segments = self.snapshot.main.segments.iter().enumerate();
        segments.into_iter().find_map(|(number, segment)| {
            let doc =
                segment.chunk_columns.iter().enumerate().position(|(doc, columns)| {
                    columns.slot as usize == document && segment.chunk(doc as u32) == chunk
                })?;
            Some(ChunkLocation::Main(number as u32, doc as u32))
        })
    }
}
