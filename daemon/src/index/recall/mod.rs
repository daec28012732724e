//! A recall: one query over the items of many trees, on the rungs of the contract.
//!
//! Every item gets what it has of the query; the rungs decide what is an answer, weights put it in order. Words that are
//! nowhere are relaxed only when too few items have all words as they were typed.

/// What words are worth.
mod weight;

/// Words that somebody may have meant.
mod typos;

/// What is looked for.
mod terms;

/// What items have of it.
mod tally;

/// Rungs, order and pages.
mod order;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::io;

use super::document::{DocumentRecord, TreeId};
use super::execute::ChunkLocation;
use super::items::{ItemNumber, ItemRecord, exact_name};
use super::main_index::IndexSnapshot;
use super::query::Query;
use super::search::{IndexSearch, MissingText, STEMS, SearchStop, document_at};
use super::snippet::Highlighter;
use super::symbols::Symbol;
use super::write::{IndexCorrupt, catch_corruption};
use crate::families::recall::{ItemLinks, ItemPlace, OwnItems, RecallHit, RecallHits, RecallRequest};
use order::{AnswerPage, Candidate};
use tally::{BEGINNING, Counting, EXACT, EXCLUDED, PHRASE, ProjectScope, RecallScope, Tally, TermSet};
use terms::{MAX_TERMS, Relaxation, Term, TermPlanner};
use weight::idf_of;

/// A snippet has so many characters at most.
const SNIPPET_CHARS: usize = 200;
/// So many hits are answered, if later rungs have them.
const FEW_HITS: usize = 3;

thread_local! {
    static TALLY: RefCell<Tally> = RefCell::default();
}

/// Who asks, and which trees of the index that means.
#[derive(Debug)]
pub(crate) struct RecallView<'a> {
    pub(crate) request: &'a RecallRequest,
    /// For each tree of the request, its number in the index; none if it is not there yet.
    pub(crate) trees: Vec<Option<TreeId>>,
    /// For each tree of the request, the projects of it that are the session's own.
    own_projects: Vec<Vec<Symbol>>,
    pub(crate) links: &'a dyn ItemLinks,
}

impl RecallView<'_> {
    fn place_in_request(&self, tree: TreeId) -> Option<usize> {
        self.trees.iter().position(|known| *known == Some(tree))
    }
}

/// What a query found, before it is put in order.
struct Findings {
    /// The rungs of the query as it was typed.
    strict: Vec<Candidate>,
    /// Rungs 4 and 5, if they were asked for.
    relaxed: Vec<Candidate>,
    /// Everything that may be marked in a snippet.
    shown: Query,
}

impl IndexSearch {
    /// Whom a request means, whose trees have these numbers.
    pub(crate) fn view<'a>(
        &self,
        request: &'a RecallRequest,
        trees: Vec<Option<TreeId>>,
        links: &'a dyn ItemLinks,
    ) -> RecallView<'a> {
        let own_projects = request.trees.iter().map(|tree| match &tree.own {
            OwnItems::Projects(projects) => self.symbols(projects),
            _ => Vec::new(),
        });
        RecallView { request, trees, own_projects: own_projects.collect(), links }
    }

    fn symbols(&self, names: &[String]) -> Vec<Symbol> {
        names.iter().filter_map(|name| self.names.find(name)).collect()
    }

    pub(crate) fn recall(&self, view: &RecallView<'_>, missing: MissingText) -> Result<RecallHits, SearchStop> {
        let snapshot = self.snapshot.load_full();
        let findings =
            catch_corruption(|| self.find_items(&snapshot, view).map_err(|error| IndexCorrupt(error.to_string())));
        let Findings { strict, relaxed, shown } = findings.map_err(SearchStop::Corrupt)?;
        let request = view.request;
        let AnswerPage { total, page, has_more } =
            order::answer(&snapshot, view, strict, relaxed, FEW_HITS.min(request.limit.max(1)));
        STEMS.with_borrow_mut(|stems| {
            let mut marker = Highlighter::new(&shown, stems);
            let mut hits = Vec::with_capacity(page.len());
            for candidate in page {
                hits.extend(self.recall_hit(&snapshot, view, &candidate, &mut marker, missing)?);
            }
            Ok(RecallHits { total, hits, has_more, ..RecallHits::default() })
        })
    }

    fn scope(&self, view: &RecallView<'_>) -> RecallScope {
        let mut scope = RecallScope::default();
        for (tree, known) in view.request.trees.iter().zip(&view.trees) {
            let Some(known) = known else { continue };
            let only = match &tree.projects {
                None => Some(ProjectScope::All),
                Some(projects) => Some(ProjectScope::Only(self.symbols(projects))),
            };
            let place = *known as usize;
            scope.trees.resize(scope.trees.len().max(place + 1), None);
            scope.trees[place] = only;
        }
        scope
    }

    fn find_items(&self, snapshot: &IndexSnapshot, view: &RecallView<'_>) -> io::Result<Findings> {
        let request = view.request;
        let query = Query::read(&request.query);
        let merges_owned = request.kind != Some(crate::families::item::ItemKind::Context);
        let counting = Counting::new(snapshot, &self.scope(view), merges_owned);
        STEMS.with_borrow_mut(|stems| {
            TALLY.with_borrow_mut(|tally| {
                tally.clear(snapshot.items().count);
                let planner = TermPlanner { snapshot, stems };
                Recall { view, query, counting, planner, tally }.run()
            })
        })
    }

    fn recall_hit(
        &self,
        snapshot: &IndexSnapshot,
        view: &RecallView<'_>,
        candidate: &Candidate,
        marker: &mut Highlighter<'_>,
        missing: MissingText,
    ) -> Result<Option<RecallHit>, SearchStop> {
        let (entry, _, item) = item_at(snapshot, candidate.item);
        let Some(tree) = view.place_in_request(entry.tree) else { return Ok(None) };
        let Some((source, chunk)) = document_at(snapshot, candidate.chunk) else { return Ok(None) };
        let Some(section) = source.sections.get(chunk as usize) else { return Ok(None) };
        let [heading] = self.names.texts([section.heading]);
        let place = ItemPlace { tree, path: entry.path.clone(), item };
        let cut = |marker: &mut Highlighter<'_>, content: &str| match &heading {
            // Of an item that is no more than its name, that is shown.
            None if content.trim().is_empty() => marker.short_snippet(&view.links.title(&place), None, SNIPPET_CHARS),
            heading => marker.short_snippet(content, heading.as_deref(), SNIPPET_CHARS),
        };
        let snippet = match candidate.chunk {
            ChunkLocation::Overlay(number, _) => {
                cut(marker, snapshot.overlay[number as usize].document.content(section))
            }
            ChunkLocation::Main(..) => {
                let root = self.roots.open(&view.request.trees[tree].root).ok();
                match root.and_then(|root| self.texts.content(source, chunk, &root, false)) {
                    Some(content) => cut(marker, &content),
                    None if missing == MissingText::IsEmpty => String::new(),
                    None => return Err(SearchStop::Stale(source.tree, source.path.clone())),
                }
            }
        };
        let heading = heading.filter(|_| candidate.is_in_text);
        let Candidate { rung, weight, .. } = *candidate;
        let outdated = entry.items[item].outdated;
        Ok(Some(RecallHit { place, heading, snippet, rung, weight, outdated, stamp: entry.stamp }))
    }
}

/// The document of an item, its number, and the item's place in it.
fn item_at(snapshot: &IndexSnapshot, item: ItemNumber) -> (&DocumentRecord, usize, usize) {
    let table = snapshot.items();
    let (document, place) = table.place_of(item);
    let entry = match document.checked_sub(table.slots()) {
        None => snapshot.main.entries[document].as_ref().expect("a document with items"),
        Some(number) => &snapshot.overlay[number].entry,
    };
    (entry, document, place)
}

fn record_of(snapshot: &IndexSnapshot, item: ItemNumber) -> ItemRecord {
    let (entry, _, place) = item_at(snapshot, item);
    entry.items[place]
}

/// One query while it is answered.
struct Recall<'a> {
    view: &'a RecallView<'a>,
    query: Query,
    counting: Counting<'a>,
    planner: TermPlanner<'a>,
    tally: &'a mut Tally,
}

impl Recall<'_> {
    fn run(mut self) -> io::Result<Findings> {
        let terms = self.planner.terms(&self.query)?;
        let mut frequencies = Vec::with_capacity(terms.len());
        let (mut all, mut literal): (TermSet, TermSet) = (0, 0);
        for (number, term) in terms.iter().enumerate() {
            let bit = 1 << number;
            frequencies.push(self.tally.count(&self.counting, &term.matchers, &term.text, bit)?);
            all |= bit;
            literal |= if term.is_literal { bit } else { 0 };
        }
        for clause in self.query.excluded.clone() {
            let term = self.planner.term(vec![clause], true)?;
            self.tally.mark(&self.counting, &term.matchers, EXCLUDED, |_| true)?;
        }
        let typed = self.view.request.query.trim();
        let exact = self.planner.exact_name(&exact_name(typed))?;
        self.tally.mark(&self.counting, &[exact], EXACT, |_| true)?;
        if self.query.excluded.is_empty() {
            let phrase = self.planner.side_by_side(typed)?;
            self.tally.mark(&self.counting, &phrase, PHRASE, |tally| all != 0 && tally.found & all == all)?;
        }
        let mut shown = Query::default();
        terms.iter().for_each(|term| shown.required.push(term.clauses.clone()));
        let strict = self.candidates(|found| match found {
            _ if found & EXACT != 0 => Some(1),
            _ if all == 0 || found & all != all => None,
            _ if found & PHRASE != 0 => Some(2),
            _ => Some(3),
        });
        if strict.len() >= FEW_HITS.min(self.view.request.limit.max(1)) || all == 0 {
            return Ok(Findings { strict, relaxed: Vec::new(), shown });
        }
        let relaxed = self.relax(terms, &frequencies, literal, &mut shown)?;
        let known: std::collections::HashSet<ItemNumber> = strict.iter().map(|candidate| candidate.item).collect();
        let relaxed = relaxed.into_iter().filter(|candidate| !known.contains(&candidate.item)).collect();
        Ok(Findings { strict, relaxed, shown })
    }

    /// Rungs 4 and 5.
    fn relax(
        &mut self,
        terms: Vec<Term>,
        frequencies: &[(usize, f32)],
        literal: TermSet,
        shown: &mut Query,
    ) -> io::Result<Vec<Candidate>> {
        // What each bit is worth, and the bits that all words need.
        let mut worth: Vec<f32> = frequencies.iter().map(|(_, idf)| *idf).collect();
        let mut needed: TermSet = 0;
        let last = terms.len() - 1;
        let mut last_bit = 0;
        for (number, mut term) in terms.into_iter().enumerate() {
            let bit = 1 << number;
            let (mut items, _) = frequencies[number];
            needed |= bit;
            if items == 0 && !term.is_literal {
                self.planner.add_split(&mut term)?;
                (items, worth[number]) = self.tally.count(&self.counting, &term.matchers, &term.text, bit)?;
            }
            for relaxation in self.planner.relaxations(&term, items, number == last)? {
                match relaxation {
                    Relaxation::Instead(other) => {
                        let (_, idf) = self.tally.count(&self.counting, &other.matchers, &term.text, bit)?;
                        worth[number] = idf;
                        shown.required.push(other.clauses);
                    }
                    Relaxation::Beginning(other) => {
                        self.tally.mark(&self.counting, &other.matchers, BEGINNING, |_| true)?;
                        shown.required.push(other.clauses);
                        last_bit = bit;
                    }
                    Relaxation::Pieces(pieces) => {
                        needed &= !bit;
                        worth[number] = 0.0;
                        for piece in pieces {
                            self.count_piece(piece, &mut worth, &mut needed, shown)?;
                        }
                    }
                }
            }
        }
        let wanted: f32 = worth.iter().sum();
        let any: TermSet = (1 << worth.len()) - 1;
        let mut candidates = self.candidates(|found| {
            let with_last = if found & BEGINNING != 0 { found | last_bit } else { found };
            match found {
                _ if found & literal != literal => None,
                _ if with_last & needed == needed => Some(4),
                _ if found & any != 0 => Some(5),
                _ => None,
            }
        });
        for candidate in candidates.iter_mut().filter(|candidate| candidate.rung == 5) {
            let found = self.tally.of(candidate.item).found;
            let has: f32 = worth.iter().enumerate().filter(|(bit, _)| found & 1 << bit != 0).map(|(_, idf)| idf).sum();
            candidate.weight *= super::rank::coverage_factor(has, wanted);
        }
        Ok(candidates)
    }

    fn count_piece(
        &mut self,
        piece: Term,
        worth: &mut Vec<f32>,
        needed: &mut TermSet,
        shown: &mut Query,
    ) -> io::Result<()> {
        if worth.len() >= MAX_TERMS {
            return Ok(());
        }
        let bit = 1 << worth.len();
        let (items, mut idf) = self.tally.count(&self.counting, &piece.matchers, &piece.text, bit)?;
        shown.required.push(piece.clauses.clone());
        if items == 0
            && let Some(other) = self.planner.typos(&piece.text)?
        {
            (_, idf) = self.tally.count(&self.counting, &other.matchers, &piece.text, bit)?;
            shown.required.push(other.clauses);
        } else if items == 0 {
            idf = idf_of(&piece.text, 0, self.counting.visible);
        }
        *needed |= bit;
        worth.push(idf);
        Ok(())
    }

    /// Every item on some rung that the request wants to see.
    fn candidates(&self, rung: impl Fn(TermSet) -> Option<u8>) -> Vec<Candidate> {
        let request = self.view.request;
        let snapshot = self.counting.snapshot;
        let segments = snapshot.main.segments.len();
        let mut candidates = Vec::new();
        for item in &self.tally.touched {
            let tally = self.tally.of(*item);
            if tally.found & EXCLUDED != 0 {
                continue;
            }
            let Some(rung) = rung(tally.found) else { continue };
            let record = record_of(snapshot, *item);
            let is_wanted = request.kind.is_none_or(|kind| kind == record.kind)
                && request.lane.is_none_or(|lane| lane.takes(record.lane));
            if is_wanted {
                candidates.push(Candidate {
                    item: *item,
                    rung,
                    weight: tally.weight,
                    chunk: tally.chunk(segments),
                    is_in_text: tally.is_in_text(),
                });
            }
        }
        candidates
    }
}
