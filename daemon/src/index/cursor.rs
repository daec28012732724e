//! Iterates over the chunks of a segment or an overlay document that have what a matcher looks for, in order, and
//! scores each.

use std::io;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{BlockSegmentPostings, Postings as _, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet as _, TERMINATED};

use super::main_index::Segment;
use super::overlay::{OverlayDocument, TextField};
use super::plan::{AccentMatch, Matcher, Pattern, SegmentTerms};
use super::rank::{Statistics, spelling_factor};

/// The postings of one matcher in one segment, or in one overlay document.
pub(crate) struct PostingCursor<'a> {
    weight: MatcherScorer<'a>,
    postings: CursorKind,
}

/// A chunk, what it is worth so far, and the summed IDF of the groups that it has, where that is asked for.
pub(crate) type ScoredChunk = (u32, f32, f32);

enum CursorKind {
    Term(Box<TermPostings>),
    /// How often in which chunk, what is left of its worth for the spelling, and where we are.
    Any(Vec<(u32, u32, f32)>, usize),
    Phrase(PhrasePostings),
}

/// The chunks of a term, block by block, and those of its shade.
struct TermPostings {
    block: BlockSegmentPostings,
    at: usize,
    accent: Option<SegmentPostings>,
}

struct PhrasePostings {
    /// For each part, its terms and how far it is from the end of the phrase; what the fewest chunks have comes first.
    parts: Vec<(Vec<SegmentPostings>, u32)>,
    found: Vec<u32>,
    other: Vec<u32>,
}

impl<'a> PostingCursor<'a> {
    /// None if the segment has none of its terms.
    pub(crate) fn open(
        matcher: &'a Matcher,
        number: usize,
        segment: &'a Segment,
        statistics: &'a Statistics,
    ) -> io::Result<Option<Self>> {
        let inverted = segment.inverted(matcher.place);
        let freqs = IndexRecordOption::WithFreqs;
        let postings = match &matcher.segment_terms[number] {
            SegmentTerms::None => return Ok(None),
            SegmentTerms::Term(info, accent) => {
                let shades = segment.inverted(matcher.place.variants());
                let accent = accent.as_ref().map(|info| shades.read_postings_from_terminfo(info, freqs)).transpose()?;
                let block = inverted.read_block_postings_from_terminfo(info, freqs)?;
                CursorKind::Term(Box::new(TermPostings { block, at: 0, accent }))
            }
            SegmentTerms::Any(segment_terms) => {
                let mut all = Vec::new();
                for info in segment_terms {
                    let mut postings = inverted.read_postings_from_terminfo(info, freqs)?;
                    while postings.doc() != TERMINATED {
                        all.push((postings.doc(), postings.term_freq(), 1.0));
                        postings.advance();
                    }
                }
                all.sort_unstable_by_key(|(doc, ..)| *doc);
                all.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    kept.1 += if same { next.1 } else { 0 };
                    same
                });
                CursorKind::Any(all, 0)
            }
            SegmentTerms::Phrase(all) => {
                let Pattern::Phrase(distances, _) = &matcher.what else { return Ok(None) };
                let last = distances.iter().map(|(distance, _)| *distance).max().unwrap_or(0);
                let mut parts = Vec::with_capacity(all.len());
                for (segment_terms, (distance, _)) in all.iter().zip(distances) {
                    let positions = IndexRecordOption::WithFreqsAndPositions;
                    let read = segment_terms.iter().map(|info| inverted.read_postings_from_terminfo(info, positions));
                    parts.push((read.collect::<io::Result<Vec<_>>>()?, last - distance));
                }
                parts.sort_by_key(|(terms, _)| doc_freq(terms));
                CursorKind::Phrase(PhrasePostings { parts, found: Vec::new(), other: Vec::new() })
            }
        };
        let lengths = ChunkLengths::Segment(&segment.norms);
        Ok(Some(Self { weight: MatcherScorer { matcher, lengths, statistics }, postings }))
    }

    /// None if the document has none of its terms.
    pub(crate) fn in_overlay(
        matcher: &'a Matcher,
        overlay: &'a OverlayDocument,
        statistics: &'a Statistics,
    ) -> Option<Self> {
        let field = matcher.place;
        let places = match &matcher.what {
            Pattern::Term(term, _) => overlay.places_of_part(field, term, false),
            Pattern::Beginning(prefix) => overlay.places_of_part(field, prefix, true),
            Pattern::Phrase(parts, open) => phrase_places(overlay, field, parts, *open).into(),
        };
        let accents = match &matcher.what {
            Pattern::Term(_, Some((_, term))) => overlay.places(field.variants(), term),
            _ => &[],
        };
        let posting = |here: &[(u32, u32)]| {
            let (chunk, term_freq) = (here[0].0, here.len() as u32);
            let accented = accents.iter().filter(|(there, _)| *there == chunk).count() as u32;
            (chunk, term_freq, accent_factor(&matcher.what, term_freq, accented))
        };
        let mut all: Vec<(u32, u32, f32)> = places.chunk_by(|a, b| a.0 == b.0).map(posting).collect();
        let first = *all.first()?;
        if field == TextField::Title {
            // A title is the title of every chunk.
            all = (0..overlay.norms.len() as u32).map(|chunk| (chunk, first.1, first.2)).collect();
        }
        let lengths = ChunkLengths::Overlay(&overlay.norms);
        let weight = MatcherScorer { matcher, lengths, statistics };
        Some(Self { weight, postings: CursorKind::Any(all, 0) })
    }

    /// How many chunks there may be at most.
    pub(crate) fn size(&self) -> u32 {
        match &self.postings {
            CursorKind::Term(term) => term.block.doc_freq(),
            CursorKind::Any(all, _) => all.len() as u32,
            CursorKind::Phrase(phrase) => phrase.parts.first().map_or(0, |(terms, _)| doc_freq(terms)),
        }
    }

    /// Every chunk that has it, in order, and what it is worth. What takes long is asked only of those that may be
    /// seen.
    pub(crate) fn collect(self, may: &impl Fn(u32) -> bool, found: &mut Vec<ScoredChunk>) {
        let Self { weight, postings } = self;
        match postings {
            CursorKind::Term(term) => {
                let TermPostings { mut block, mut accent, .. } = *term;
                while !block.docs().is_empty() {
                    for (doc, term_freq) in block.docs().iter().zip(block.freqs()) {
                        let accented = accent.as_mut().map_or(0, |accent| term_freq_in(accent, *doc));
                        let factor = accent_factor(&weight.matcher.what, *term_freq, accented);
                        found.push((*doc, weight.of(*doc, *term_freq) * factor, 0.0));
                    }
                    block.advance();
                }
            }
            CursorKind::Any(all, _) => {
                let score =
                    |(doc, term_freq, factor): &(u32, u32, f32)| (*doc, weight.of(*doc, *term_freq) * factor, 0.0);
                found.extend(all.iter().map(score));
            }
            CursorKind::Phrase(mut phrase) => {
                while let Some(doc) = phrase.next() {
                    let term_freq = if may(doc) { phrase.term_freq(doc) } else { 0 };
                    if term_freq > 0 {
                        found.push((doc, weight.of(doc, term_freq), 0.0));
                    }
                    phrase.pass(doc);
                }
            }
        }
    }

    /// What a chunk is worth; nothing if it does not have it. Chunks are asked for in order.
    pub(crate) fn score_at(&mut self, doc: u32) -> f32 {
        let (term_freq, factor) = match &mut self.postings {
            CursorKind::Term(term) => {
                let TermPostings { block, at, accent } = &mut **term;
                if block.doc(*at) < doc {
                    *at = block.seek(doc);
                }
                if block.doc(*at) != doc {
                    return 0.0;
                }
                let term_freq = block.freq(*at);
                let accented = accent.as_mut().map_or(0, |accent| term_freq_in(accent, doc));
                (term_freq, accent_factor(&self.weight.matcher.what, term_freq, accented))
            }
            CursorKind::Any(all, at) => {
                *at += all[*at..].partition_point(|(other, ..)| *other < doc);
                match all.get(*at) {
                    Some((other, term_freq, factor)) if *other == doc => (*term_freq, *factor),
                    _ => return 0.0,
                }
            }
            CursorKind::Phrase(phrase) => (phrase.term_freq(doc), 1.0),
        };
        if term_freq == 0 {
            return 0.0;
        }
        self.weight.of(doc, term_freq) * factor
    }
}

/// Scores a matcher in a chunk.
struct MatcherScorer<'a> {
    matcher: &'a Matcher,
    lengths: ChunkLengths<'a>,
    statistics: &'a Statistics,
}

/// The coarse lengths of chunks.
enum ChunkLengths<'a> {
    Segment(&'a FieldNormReader),
    Overlay(&'a [u8]),
}

impl ChunkLengths<'_> {
    #[inline]
    fn norm(&self, doc: u32) -> u8 {
        match self {
            Self::Segment(norms) => norms.fieldnorm_id(doc),
            Self::Overlay(norms) => norms[doc as usize],
        }
    }
}

impl MatcherScorer<'_> {
    #[inline]
    fn of(&self, doc: u32, term_freq: u32) -> f32 {
        self.matcher.weight
            * match self.matcher.place {
                TextField::Title | TextField::Labels => Statistics::tf_score_without_length(term_freq as f32),
                _ => self.statistics.tf_score(term_freq as f32, self.lengths.norm(doc)),
            }
    }
}

/// What is left of a term's worth for its spelling, where its shade is so often.
fn accent_factor(what: &Pattern, term_freq: u32, accented: u32) -> f32 {
    match what {
        Pattern::Term(_, Some((AccentMatch::Spelt, _))) => spelling_factor(term_freq, accented),
        Pattern::Term(_, Some((AccentMatch::Plain, _))) => {
            spelling_factor(term_freq, term_freq.saturating_sub(accented))
        }
        _ => 1.0,
    }
}

impl PhrasePostings {
    /// The next chunk that may have it: one that has its rarest part.
    fn next(&self) -> Option<u32> {
        let (rarest, _) = self.parts.first()?;
        rarest.iter().map(|postings| postings.doc()).min().filter(|doc| *doc != TERMINATED)
    }

    /// Goes on behind a chunk. One step costs far less than a search for it.
    fn pass(&mut self, doc: u32) {
        let rarest = self.parts.first_mut().into_iter().flat_map(|(terms, _)| terms);
        for postings in rarest.filter(|postings| postings.doc() <= doc) {
            postings.advance();
        }
    }

    /// How often the phrase is in a chunk.
    fn term_freq(&mut self, doc: u32) -> u32 {
        let Self { parts, found, other, .. } = self;
        for (terms, _) in parts.iter_mut() {
            // Not only until one is there: the positions of all of them are wanted.
            let there = terms.iter_mut().fold(false, |there, postings| there | (forward(postings, doc) == doc));
            if !there {
                return 0;
            }
        }
        for (place, (terms, shift)) in parts.iter_mut().enumerate() {
            let into = if place == 0 { &mut *found } else { &mut *other };
            into.clear();
            let here = terms.iter_mut().filter(|postings| postings.doc() == doc);
            let count = here.map(|postings| postings.append_positions_with_offset(*shift, into)).count();
            if count > 1 {
                into.sort_unstable();
            }
            if place > 0 {
                intersect(found, other);
                if found.is_empty() {
                    return 0;
                }
            }
        }
        found.len() as u32
    }
}

/// Where a phrase is in an overlay document, by the place of its last part.
fn phrase_places(overlay: &OverlayDocument, field: TextField, parts: &[(u32, String)], open: bool) -> Vec<(u32, u32)> {
    let last = parts.iter().map(|(distance, _)| *distance).max().unwrap_or(0);
    let mut found = Vec::new();
    for (number, (distance, part)) in parts.iter().enumerate() {
        let places = overlay.places_of_part(field, part, open && number + 1 == parts.len());
        let here: Vec<(u32, u32)> = places.iter().map(|(chunk, at)| (*chunk, at + last - distance)).collect();
        if number == 0 { found = here } else { intersect(&mut found, &here) }
    }
    found
}

fn doc_freq(terms: &[SegmentPostings]) -> u32 {
    terms.iter().map(SegmentPostings::doc_freq).sum()
}

/// Keeps of the first what is also in the second; both are in order.
fn intersect<T: Ord + Copy>(kept: &mut Vec<T>, other: &[T]) {
    let (mut at, mut count) = (0, 0);
    for place in 0..kept.len() {
        let value = kept[place];
        while other.get(at).is_some_and(|there| *there < value) {
            at += 1;
        }
        match other.get(at) {
            Some(there) if *there == value => {
                kept[count] = value;
                count += 1;
            }
            Some(_) => {}
            None => break,
        }
    }
    kept.truncate(count);
}

fn term_freq_in(postings: &mut SegmentPostings, doc: u32) -> u32 {
    if forward(postings, doc) == doc { postings.term_freq() } else { 0 }
}

fn forward(postings: &mut SegmentPostings, doc: u32) -> u32 {
    let here = postings.doc();
    if here >= doc { here } else { postings.seek(doc) }
}
