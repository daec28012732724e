//! Counts what the items of a snapshot have of a query: which terms, what they are worth, and in which chunk most of it
//! is.

use std::io;

use super::weight;
use crate::index::cursor::{PostingCursor, ScoredChunk};
use crate::index::document::TreeId;
use crate::index::execute::ChunkLocation;
use crate::index::items::{ItemNumber, NO_ITEM};
use crate::index::main_index::{DELETED, IndexSnapshot};
use crate::index::overlay::TextField;
use crate::index::plan::Matcher;
use crate::index::rank::Statistics;
use crate::index::symbols::Symbol;

/// The terms that an item has, one bit for each.
pub(super) type TermSet = u128;

/// What is not to be found; behind the bits of terms.
pub(super) const EXCLUDED: TermSet = 1 << 127;
/// The whole query is a name of the item.
pub(super) const EXACT: TermSet = 1 << 126;
/// The words of the query stand side by side.
pub(super) const PHRASE: TermSet = 1 << 125;
/// The last word is the beginning of one.
pub(super) const BEGINNING: TermSet = 1 << 124;

/// Which documents may be seen: their tree, and their project if the tree is narrowed to one.
#[derive(Debug, Default)]
pub(super) struct RecallScope {
    /// By tree: whether it may be seen, and which of its projects, if not all.
    pub(super) trees: Vec<Option<ProjectScope>>,
}

#[derive(Debug, Clone)]
pub(super) enum ProjectScope {
    All,
    Only(Vec<Symbol>),
}

impl RecallScope {
    fn has(&self, tree: TreeId, project: Symbol) -> bool {
        match self.trees.get(tree as usize) {
            Some(Some(ProjectScope::All)) => true,
            Some(Some(ProjectScope::Only(only))) => only.contains(&project),
            _ => false,
        }
    }
}

/// What is counted of one item.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ItemTally {
    /// Another number than the tally's: nothing has been counted.
    round: u32,
    /// The group that counted last.
    group: u32,
    pub(super) found: TermSet,
    pub(super) weight: f32,
    in_text: f32,
    in_labels: f32,
    group_chunk: u64,
    chunk_weight: f32,
    chunk: u64,
}

/// What has been counted of all items. Kept for the next query, for its memory.
#[derive(Debug, Default)]
pub(super) struct Tally {
    round: u32,
    group: u32,
    items: Vec<ItemTally>,
    /// Items of which anything has been counted.
    pub(super) touched: Vec<ItemNumber>,
    in_group: Vec<ItemNumber>,
    found: Vec<ScoredChunk>,
}

/// What a count looks at.
pub(super) struct Counting<'a> {
    pub(super) snapshot: &'a IndexSnapshot,
    statistics: Statistics,
    /// The first item of each document; of an item that belongs to another one, that one.
    bases: Vec<ItemNumber>,
    /// Items that may be seen.
    pub(super) visible: usize,
}

impl<'a> Counting<'a> {
    pub(super) fn new(snapshot: &'a IndexSnapshot, scope: &RecallScope, merges_owned: bool) -> Self {
        let table = snapshot.items();
        let starts = table.starts();
        let slots = table.slots();
        let mut bases = vec![NO_ITEM; starts.len() - 1];
        let mut visible = 0;
        for (number, base) in bases.iter_mut().enumerate() {
            let is_visible = match number.checked_sub(slots) {
                None => {
                    let filter = &snapshot.main.filters[number];
                    scope.has(filter.tree, filter.project)
                }
                Some(number) => {
                    let entry = &snapshot.overlay[number].entry;
                    scope.has(entry.tree, entry.project)
                }
            };
            let count = starts[number + 1] - starts[number];
            if is_visible && count > 0 {
                *base = starts[number];
                visible += count as usize;
            }
        }
        if merges_owned {
            for (number, owner) in table.owners() {
                let base = &mut bases[*number as usize];
                if *base != NO_ITEM {
                    *base = *owner;
                    visible -= 1;
                }
            }
        }
        let overlay = |count: fn(&crate::index::overlay::OverlayDocument) -> u64| {
            snapshot.overlay.iter().map(|overlay| count(overlay)).sum::<u64>()
        };
        let chunks = snapshot.main.chunks + overlay(|overlay| overlay.norms.len() as u64);
        let tokens = snapshot.main.token_count + overlay(|overlay| overlay.token_count);
        let statistics = Statistics::with_shortest(chunks, tokens, MIN_CHUNK_LENGTH);
        Self { snapshot, statistics, bases, visible }
    }

    /// The item of a chunk.
    fn item(&self, unit: usize, doc: u32) -> ItemNumber {
        let segments = &self.snapshot.main.segments;
        let (document, place) = match segments.get(unit) {
            Some(segment) => {
                let columns = segment.chunk_columns[doc as usize];
                if columns.slot == DELETED {
                    return NO_ITEM;
                }
                (columns.slot as usize, columns.item)
            }
            None => {
                let number = unit - segments.len();
                let document = &self.snapshot.overlay[number].document;
                (self.snapshot.items().slots() + number, document.item_of(doc as usize))
            }
        };
        match self.bases.get(document) {
            Some(base) if *base != NO_ITEM => base + place,
            _ => NO_ITEM,
        }
    }
}

/// Texts that are shorter count as this long, in words: whether a line says `done` or `in progress` must not decide.
const MIN_CHUNK_LENGTH: u32 = 32;

impl Tally {
    /// Forgets the last query.
    pub(super) fn clear(&mut self, items: usize) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 || self.items.len() > 4 * items + 1024 {
            self.items.clear();
            self.round = 1;
        }
        self.items.resize(items.max(self.items.len()), ItemTally::default());
        self.touched.clear();
        self.group = 0;
    }

    pub(super) fn of(&self, item: ItemNumber) -> ItemTally {
        match self.items.get(item as usize) {
            Some(tally) if tally.round == self.round => *tally,
            _ => ItemTally::default(),
        }
    }

    /// Counts a term; returns how many items have it, and how telling it is.
    pub(super) fn count(
        &mut self,
        counting: &Counting<'_>,
        matchers: &[Matcher],
        text: &str,
        bit: TermSet,
    ) -> io::Result<(usize, f32)> {
        self.collect(counting, matchers, |_| true)?;
        let items = self.in_group.len();
        let idf = weight::idf_of(text, items, counting.visible);
        self.add_group(bit, idf);
        Ok((items, idf))
    }

    /// Marks items that have any of these, and may have it.
    pub(super) fn mark(
        &mut self,
        counting: &Counting<'_>,
        matchers: &[Matcher],
        bit: TermSet,
        may: impl Fn(&ItemTally) -> bool,
    ) -> io::Result<()> {
        self.collect(counting, matchers, may)?;
        self.add_group(bit, 0.0);
        Ok(())
    }

    /// Finds the best chunk of every item that has any of these.
    fn collect(
        &mut self,
        counting: &Counting<'_>,
        matchers: &[Matcher],
        may: impl Fn(&ItemTally) -> bool,
    ) -> io::Result<()> {
        let snapshot = counting.snapshot;
        let segments = snapshot.main.segments.len();
        self.group += 1;
        self.in_group.clear();
        let mut found = std::mem::take(&mut self.found);
        for unit in 0..segments + snapshot.overlay.len() {
            for matcher in matchers {
                let cursor = match snapshot.main.segments.get(unit) {
                    Some(segment) => PostingCursor::open(matcher, unit, segment, &counting.statistics)?,
                    None => {
                        let overlay = &snapshot.overlay[unit - segments];
                        PostingCursor::in_overlay(matcher, overlay, &counting.statistics)
                    }
                };
                let Some(cursor) = cursor else { continue };
                found.clear();
                let is_seen = |doc| {
                    let item = counting.item(unit, doc);
                    item != NO_ITEM && may(&self.of(item))
                };
                cursor.collect(&is_seen, &mut found);
                for (doc, score, _) in &found {
                    let item = counting.item(unit, *doc);
                    if item != NO_ITEM {
                        self.note(item, *score, matcher.place, chunk_id(unit, *doc), &may);
                    }
                }
            }
        }
        self.found = found;
        Ok(())
    }

    #[inline]
    fn note(&mut self, item: ItemNumber, score: f32, place: TextField, chunk: u64, may: &impl Fn(&ItemTally) -> bool) {
        let (round, group) = (self.round, self.group);
        let tally = &mut self.items[item as usize];
        if tally.round != round {
            *tally = ItemTally { round, ..ItemTally::default() };
            if !may(tally) {
                return;
            }
            self.touched.push(item);
        }
        if tally.group != group {
            if !may(tally) {
                return;
            }
            (tally.group, tally.in_text, tally.in_labels) = (group, 0.0, 0.0);
            tally.group_chunk = chunk;
            self.in_group.push(item);
        }
        if place == TextField::Labels {
            tally.in_labels = tally.in_labels.max(score);
        } else if score > tally.in_text {
            tally.in_text = score;
            tally.group_chunk = chunk;
        }
    }

    /// Adds what the group is worth, and keeps the chunk with most of it.
    fn add_group(&mut self, bit: TermSet, idf: f32) {
        for item in &self.in_group {
            let tally = &mut self.items[*item as usize];
            // A term that was found as it is is not found once more as something else.
            if bit != PHRASE && tally.found & bit != 0 {
                continue;
            }
            tally.found |= bit;
            tally.weight += idf * (tally.in_text + tally.in_labels);
            let weight = if bit == PHRASE { f32::MAX } else { idf * tally.in_text };
            if tally.in_text > 0.0 && tally.group_chunk == tally.chunk {
                tally.chunk_weight += weight;
            } else if weight > tally.chunk_weight || tally.chunk_weight == 0.0 {
                (tally.chunk, tally.chunk_weight) = (tally.group_chunk, weight);
            }
        }
    }
}

impl ItemTally {
    /// The chunk in which most of it is.
    pub(super) fn chunk(&self, segments: usize) -> ChunkLocation {
        let (unit, doc) = ((self.chunk >> 32) as usize, self.chunk as u32);
        match unit.checked_sub(segments) {
            None => ChunkLocation::Main(unit as u32, doc),
            Some(number) => ChunkLocation::Overlay(number as u32, doc),
        }
    }

    /// Whether it is in the text of that chunk, not only in what the item is called.
    pub(super) fn is_in_text(&self) -> bool {
        self.chunk_weight > 0.0
    }
}

fn chunk_id(unit: usize, doc: u32) -> u64 {
    (unit as u64) << 32 | u64::from(doc)
}
