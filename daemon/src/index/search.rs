//! One search in a snapshot: executes a query, ranks what it finds, and cuts snippets from the files.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::chunk_text::ChunkTextCache;
use super::document::{DocumentRecord, TreeId, date_of};
use super::execute::{ChunkLocation, Matches, Scope, ScoredHit, execute};
use super::main_index::IndexSnapshot;
use super::query::Query;
use super::snippet::Highlighter;
use super::stems::StemCache;
use super::symbols::StringInterner;
use super::write::{IndexCorrupt, catch_corruption};
use crate::disk::{InlineAttempt, RelativePath, RootDirCache};
use crate::families::facts::{Hit, Hits, SearchRequest};

thread_local! {
    /// Queries of a day are about the same words.
    pub(crate) static STEMS: RefCell<StemCache> = RefCell::new(StemCache::with_capacity(2_000));
}

/// So many documents of so many are known; none if all are.
pub(crate) type CatchUpProgress = Option<(usize, usize)>;

/// Who may see what, and which day it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchView<'a> {
    pub(crate) tree: TreeId,
    pub(crate) root: &'a Path,
    /// Today, where the session is.
    pub(crate) today: i32,
}

/// What a search needs: everything that can be found, the words behind symbols, and texts for snippets.
#[derive(Default)]
pub(crate) struct IndexSearch {
    pub(crate) snapshot: ArcSwap<IndexSnapshot>,
    pub(crate) names: StringInterner,
    pub(crate) roots: RootDirCache,
    pub(crate) texts: ChunkTextCache,
}

/// What is shown of a hit whose text cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingText {
    /// The search stops, so that the file is indexed again.
    Stops,
    /// An empty snippet.
    IsEmpty,
}

/// Why a search has no hits to show.
#[derive(Debug)]
pub(crate) enum SearchStop {
    /// A text is not in memory, and must not be waited for.
    WouldBlock,
    /// This file is not what it was when it was indexed.
    Stale(TreeId, Arc<str>),
    Corrupt(IndexCorrupt),
}

impl IndexSearch {
    /// Searches in a tree. An inline attempt sees only texts that are in memory.
    pub(crate) fn search(
        &self,
        query: &Query,
        asked: &SearchRequest,
        view: SearchView<'_>,
        missing: MissingText,
        inline: Option<&InlineAttempt>,
    ) -> Result<Hits, SearchStop> {
        STEMS.with_borrow_mut(|stems| {
            let snapshot = self.snapshot.load_full();
            let found = catch_corruption(|| self.find(&snapshot, query, asked, view, stems));
            let Matches { hits: mut matches, is_relaxed } = found.map_err(SearchStop::Corrupt)?;
            let total = matches.len();
            let best = top_hits(&mut matches, asked.limit, &snapshot);
            let shown = if is_relaxed { query.with_pieces() } else { query.clone() };
            let mut marker = Highlighter::new(&shown, stems);
            let hits = self.build_hits(&snapshot, &mut marker, best, view, missing, inline)?;
            Ok(Hits { total, hits, is_relaxed, progress: None })
        })
    }

    fn find(
        &self,
        snapshot: &IndexSnapshot,
        query: &Query,
        asked: &SearchRequest,
        view: SearchView<'_>,
        stems: &mut StemCache,
    ) -> Result<Matches, IndexCorrupt> {
        let symbol = |word: &Option<String>| word.as_ref().map(|word| self.names.find(word));
        let (project, folder) = (symbol(&asked.project), symbol(&asked.folder));
        if project == Some(None) || folder == Some(None) {
            return Ok(Matches::default());
        }
        let scope = Scope { tree: view.tree, project: project.flatten(), folder: folder.flatten() };
        execute(snapshot, query, scope, view.today, stems).map_err(|error| IndexCorrupt(error.to_string()))
    }

    fn build_hits(
        &self,
        snapshot: &IndexSnapshot,
        marker: &mut Highlighter<'_>,
        best: &[ScoredHit],
        view: SearchView<'_>,
        missing: MissingText,
        inline: Option<&InlineAttempt>,
    ) -> Result<Vec<Hit>, SearchStop> {
        let mut opened = None;
        let mut hits = Vec::with_capacity(best.len());
        for ScoredHit { score, at } in best {
            let Some((entry, chunk)) = document_at(snapshot, *at) else { continue };
            let Some(section) = entry.sections.get(chunk as usize) else { continue };
            let Some(path) = RelativePath::from_components(&entry.path) else { continue };
            let names = [section.heading, Some(entry.project), Some(entry.folder), entry.kind, entry.status];
            let [heading, project, folder, kind, status] = self.names.texts(names);
            let snippet = match at {
                ChunkLocation::Overlay(number, _) => {
                    let content = snapshot.overlay[*number as usize].document.content(section);
                    marker.snippet(content, heading.as_deref())
                }
                ChunkLocation::Main(..) => {
                    let root = opened.get_or_insert_with(|| self.roots.open(view.root)).as_ref().ok();
                    match root.and_then(|root| self.texts.content(entry, chunk, root, inline.is_some())) {
                        Some(content) => marker.snippet(&content, heading.as_deref()),
                        None if let Some(inline) = inline => {
                            inline.refuse();
                            return Err(SearchStop::WouldBlock);
                        }
                        None if missing == MissingText::IsEmpty => String::new(),
                        None => return Err(SearchStop::Stale(entry.tree, Arc::clone(&entry.path))),
                    }
                }
            };
            hits.push(Hit {
                path,
                project: project.unwrap_or_default(),
                folder: folder.unwrap_or_default(),
                heading,
                snippet,
                score: f64::from(*score),
                kind,
                status,
                updated: date_of(entry.day),
            });
        }
        Ok(hits)
    }
}

pub(crate) fn document_at(snapshot: &IndexSnapshot, at: ChunkLocation) -> Option<(&Arc<DocumentRecord>, u32)> {
    match at {
        ChunkLocation::Main(segment, doc) => snapshot.main.entry(segment, doc),
        ChunkLocation::Overlay(number, chunk) => Some((&snapshot.overlay[number as usize].entry, chunk)),
    }
}

/// The best of all matches, best first; equal ones by path, then by their order in the file.
fn top_hits<'a>(matches: &'a mut [ScoredHit], limit: usize, snapshot: &IndexSnapshot) -> &'a [ScoredHit] {
    let place = |found: &ScoredHit| document_at(snapshot, found.at).map(|(entry, chunk)| (&*entry.path, chunk));
    let by_score = |a: &ScoredHit, b: &ScoredHit| b.score.total_cmp(&a.score);
    let by_place = |a: &ScoredHit, b: &ScoredHit| place(a).cmp(&place(b));
    let limit = limit.min(matches.len());
    if limit == 0 {
        return &[];
    }
    if limit < matches.len() {
        // Looking up a path costs far more than comparing numbers: only those that are as good as the last one are
        // asked.
        let last = matches.select_nth_unstable_by(limit - 1, by_score).1.score;
        let ahead = partition_in_place(matches, |found| found.score.total_cmp(&last) == Ordering::Greater);
        let equal = partition_in_place(&mut matches[ahead..], |found| found.score.total_cmp(&last) == Ordering::Equal);
        let equals = &mut matches[ahead..ahead + equal];
        let wanted = limit - ahead;
        if wanted < equal {
            let mut places: Vec<_> = equals.iter().map(|found| (place(found), *found)).collect();
            places.select_nth_unstable_by(wanted - 1, |(a, _), (b, _)| a.cmp(b));
            equals.iter_mut().zip(places).take(wanted).for_each(|(kept, (_, found))| *kept = found);
        }
    }
    let best = &mut matches[..limit];
    best.sort_unstable_by(|a, b| by_score(a, b).then_with(|| by_place(a, b)));
    best
}

/// Puts those that are so in front; how many they are.
fn partition_in_place<T>(all: &mut [T], is_so: impl Fn(&T) -> bool) -> usize {
    let mut front = 0;
    for at in 0..all.len() {
        if is_so(&all[at]) {
            all.swap(front, at);
            front += 1;
        }
    }
    front
}
