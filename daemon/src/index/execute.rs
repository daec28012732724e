//! Executes a query on a snapshot: the chunks that match, each with its score.
//!
//! All required terms must be there; if no chunk has all of them, any of them count, each by how rare it is, and runs
//! without blanks fall into pieces. The main index and overlay documents are searched by the same rules.

use std::io;

use super::cursor::{PostingCursor, ScoredChunk};
use super::document::TreeId;
use super::main_index::{ChunkColumns, DELETED, DocumentFilter, IndexSnapshot, Segment};
use super::overlay::OverlayDocument;
use super::plan::{Matcher, Stemming, plan};
use super::query::{Alternatives, Clause, Query};
use super::rank::{Statistics, coverage_factor, recency};
use super::stems::StemCache;
use super::symbols::Symbol;

/// Which documents a search may see.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope {
    pub(crate) tree: TreeId,
    pub(crate) project: Option<Symbol>,
    pub(crate) folder: Option<Symbol>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScoredHit {
    /// Higher is better.
    pub(crate) score: f32,
    pub(crate) at: ChunkLocation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkLocation {
    /// In the main index: segment and chunk in it.
    Main(u32, u32),
    /// Among overlay documents: document and chunk of it.
    Overlay(u32, u32),
}

/// How much of a query must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MatchMode {
    All,
    Any,
}

impl Scope {
    fn has(&self, filter: &DocumentFilter) -> bool {
        filter.tree == self.tree
            && self.project.is_none_or(|project| project == filter.project)
            && self.folder.is_none_or(|folder| folder == filter.folder)
    }
}

/// What a query finds.
#[derive(Debug, Default)]
pub(crate) struct Matches {
    /// In no order.
    pub(crate) hits: Vec<ScoredHit>,
    /// Not all that was looked for is in them.
    pub(crate) is_relaxed: bool,
}

/// Everything that matches.
pub(crate) fn execute(
    snapshot: &IndexSnapshot,
    query: &Query,
    scope: Scope,
    today: i32,
    stems: &mut StemCache,
) -> io::Result<Matches> {
    if query.required.is_empty() {
        return Ok(Matches::default());
    }
    let overlay =
        |count: fn(&OverlayDocument) -> u64| snapshot.overlay.iter().map(|overlay| count(overlay)).sum::<u64>();
    let chunks = snapshot.main.chunks + overlay(|overlay| overlay.norms.len() as u64);
    let statistics = Statistics::new(chunks, snapshot.main.token_count + overlay(|overlay| overlay.token_count));
    let mut required: Vec<Vec<Matcher>> = Vec::with_capacity(query.required.len());
    for group in &query.required {
        required.push(plan(group, Stemming::Related, snapshot, &statistics, stems)?);
    }
    rarest_first(&mut required);
    let excluded = plan(&query.excluded, Stemming::Exact, snapshot, &statistics, stems)?;
    let search =
        Execution { snapshot, scope, today, statistics: &statistics, required: &required, excluded: &excluded };
    let hits = search.run(MatchMode::All)?;
    if !hits.is_empty() {
        return Ok(Matches { hits, is_relaxed: false });
    }
    let mut pieces = Vec::new();
    for (group, is_literal) in query.required.iter().zip(&query.literal) {
        let matchers = plan(group, Stemming::Related, snapshot, &statistics, stems)?;
        match in_pieces(group, *is_literal) {
            Some(clauses) if !search.is_anywhere(&matchers)? => {
                for clause in clauses {
                    pieces.push(plan(&vec![clause], Stemming::Related, snapshot, &statistics, stems)?);
                }
            }
            _ => pieces.push(matchers),
        }
    }
    if pieces.len() < 2 {
        return Ok(Matches::default());
    }
    rarest_first(&mut pieces);
    let hits = Execution { required: &pieces, ..search }.run(MatchMode::Any)?;
    Ok(Matches { is_relaxed: !hits.is_empty(), hits })
}

/// Weights are added up in this order everywhere, so that a score does not depend on where a document is.
fn rarest_first(groups: &mut [Vec<Matcher>]) {
    groups.sort_by_key(|matchers| doc_freq(matchers));
}

fn doc_freq(matchers: &[Matcher]) -> u64 {
    matchers.iter().map(|matcher| matcher.doc_freq).sum()
}

/// What a group falls into if it is nowhere as it is.
pub(crate) fn in_pieces(group: &Alternatives, is_literal: bool) -> Option<Vec<Clause>> {
    match group.as_slice() {
        [only] if !is_literal => only.in_pieces(),
        _ => None,
    }
}

/// What is searched in one go.
#[derive(Clone, Copy)]
enum SearchUnit<'a> {
    Segment(u32, &'a Segment),
    Overlay(u32, &'a OverlayDocument),
}

struct Execution<'a> {
    snapshot: &'a IndexSnapshot,
    scope: Scope,
    today: i32,
    statistics: &'a Statistics,
    required: &'a [Vec<Matcher>],
    excluded: &'a [Matcher],
}

impl Execution<'_> {
    fn run(&self, mode: MatchMode) -> io::Result<Vec<ScoredHit>> {
        let main = &self.snapshot.main;
        let mut matches = Vec::new();
        let wanted: f32 = self.required.iter().map(|matchers| self.idf(matchers)).sum();
        for unit in self.units() {
            let found = match mode {
                MatchMode::All => self.match_all(unit)?,
                MatchMode::Any => self.match_any(unit)?,
            };
            matches.reserve(found.len());
            for (doc, weight, idf) in found {
                let (boost, day, at) = match unit {
                    SearchUnit::Segment(number, segment) => {
                        let ChunkColumns { slot, boost, .. } = segment.chunk_columns[doc as usize];
                        (boost, main.filters[slot as usize].day, ChunkLocation::Main(number, doc))
                    }
                    SearchUnit::Overlay(number, OverlayDocument { entry, .. }) => {
                        (entry.sections[doc as usize].boost, entry.day, ChunkLocation::Overlay(number, doc))
                    }
                };
                let coverage = match mode {
                    MatchMode::All => 1.0,
                    MatchMode::Any => coverage_factor(idf, wanted),
                };
                let score = weight * boost * recency(self.today, day) * coverage;
                matches.push(ScoredHit { score, at });
            }
        }
        Ok(matches)
    }

    /// Every segment, and the overlay documents that may be seen.
    fn units(&self) -> impl Iterator<Item = SearchUnit<'_>> {
        let IndexSnapshot { main, overlay, .. } = self.snapshot;
        let segments = main.segments.iter().enumerate();
        let segments = segments.map(|(number, segment)| SearchUnit::Segment(number as u32, segment));
        let overlay = overlay.iter().enumerate().filter(|(_, it)| self.scope.has(&DocumentFilter::of(&it.entry)));
        segments.chain(overlay.map(|(number, document)| SearchUnit::Overlay(number as u32, document)))
    }

    fn is_visible(&self, unit: SearchUnit<'_>, doc: u32) -> bool {
        let SearchUnit::Segment(_, segment) = unit else { return true };
        let slot = segment.chunk_columns[doc as usize].slot;
        slot != DELETED
            && self.snapshot.main.filters.get(slot as usize).is_some_and(|filter| self.scope.has(filter))
            && !self.snapshot.masked.contains(slot as usize)
    }

    fn cursors<'a>(&'a self, matchers: &'a [Matcher], unit: SearchUnit<'a>) -> io::Result<Vec<PostingCursor<'a>>> {
        let open = |matcher| match unit {
            SearchUnit::Segment(number, segment) => {
                PostingCursor::open(matcher, number as usize, segment, self.statistics)
            }
            SearchUnit::Overlay(_, overlay) => Ok(PostingCursor::in_overlay(matcher, overlay, self.statistics)),
        };
        matchers.iter().map(open).filter_map(io::Result::transpose).collect()
    }

    /// Begins with the group that the fewest chunks have; the others are only asked about those.
    fn match_all(&self, unit: SearchUnit<'_>) -> io::Result<Vec<ScoredChunk>> {
        let mut groups = Vec::with_capacity(self.required.len());
        for matchers in self.required {
            let cursors = self.cursors(matchers, unit)?;
            if cursors.is_empty() {
                return Ok(Vec::new());
            }
            groups.push(cursors);
        }
        let mut groups = groups.into_iter();
        let mut found = self.group(groups.next().unwrap_or_default(), unit);
        for mut cursors in groups {
            found.retain_mut(|(doc, weight, _)| {
                let more = cursors.iter_mut().map(|cursor| cursor.score_at(*doc)).sum::<f32>();
                *weight += more;
                more > 0.0
            });
        }
        self.remove_excluded(found, unit)
    }

    fn match_any(&self, unit: SearchUnit<'_>) -> io::Result<Vec<ScoredChunk>> {
        let mut found: Vec<ScoredChunk> = Vec::new();
        for matchers in self.required {
            let idf = self.idf(matchers);
            let group = self.group(self.cursors(matchers, unit)?, unit);
            found.extend(group.into_iter().map(|(doc, weight, _)| (doc, weight, idf)));
        }
        merge_sorted(&mut found);
        self.remove_excluded(found, unit)
    }

    /// How telling a group is.
    fn idf(&self, matchers: &[Matcher]) -> f32 {
        self.statistics.idf(doc_freq(matchers))
    }

    /// Whether any chunk that may be seen has one of these.
    fn is_anywhere(&self, matchers: &[Matcher]) -> io::Result<bool> {
        for unit in self.units() {
            if !self.group(self.cursors(matchers, unit)?, unit).is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// All chunks of a group that may be seen, in order.
    fn group(&self, cursors: Vec<PostingCursor<'_>>, unit: SearchUnit<'_>) -> Vec<ScoredChunk> {
        let may = |doc| self.is_visible(unit, doc);
        let mut found = Vec::with_capacity(cursors.iter().map(|cursor| cursor.size() as usize).sum());
        let lists = cursors.len();
        cursors.into_iter().for_each(|cursor| cursor.collect(&may, &mut found));
        if lists > 1 {
            merge_sorted(&mut found);
        }
        found.retain(|(doc, ..)| may(*doc));
        found
    }

    fn remove_excluded(&self, mut found: Vec<ScoredChunk>, unit: SearchUnit<'_>) -> io::Result<Vec<ScoredChunk>> {
        for mut cursor in self.cursors(self.excluded, unit)? {
            found.retain(|(doc, ..)| cursor.score_at(*doc) == 0.0);
        }
        Ok(found)
    }
}

/// Several lists in order, one behind the other, become one; what is in more than one of them is added up, first ones
/// first.
fn merge_sorted(found: &mut Vec<ScoredChunk>) {
    found.sort_by_key(|(doc, ..)| *doc);
    found.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            *kept = (kept.0, kept.1 + next.1, kept.2 + next.2);
        }
        same
    });
}
