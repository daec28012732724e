//! Goes through the chunks of a segment that have what a leaf looks for, in order, and says what each is worth.

use std::io;

use tantivy::postings::{BlockSegmentPostings, Postings as _, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet as _, TERMINATED};

use super::overlay::Where;
use super::plan::{Infos, Leaf, Shade, What};
use super::rank::{Statistics, spelling};
use super::shelf::Segment;

/// One leaf in one segment.
pub struct Cursor<'a> {
    worth: Worth<'a>,
    postings: Kind,
}

/// A chunk, what it is worth so far, and how many groups it has.
pub type Found = (u32, f32, u32);

enum Kind {
    Term(Box<Term>),
    /// How often in which chunk, and where we are.
    Any(Vec<(u32, u32)>, usize),
    Phrase(Phrase),
}

/// The chunks of a term, block by block, and those of its shade.
struct Term {
    block: BlockSegmentPostings,
    at: usize,
    shade: Option<SegmentPostings>,
}

struct Phrase {
    /// For each part, its terms and how far it is from the end of the phrase; what the fewest chunks have comes first.
    parts: Vec<(Vec<SegmentPostings>, u32)>,
    found: Vec<u32>,
    other: Vec<u32>,
}

impl<'a> Cursor<'a> {
    /// Opens a leaf in a segment; none if it is not there.
    pub fn open(
        leaf: &'a Leaf,
        number: usize,
        segment: &'a Segment,
        statistics: &'a Statistics,
    ) -> io::Result<Option<Self>> {
        let inverted = segment.inverted(leaf.place);
        let freqs = IndexRecordOption::WithFreqs;
        let postings = match &leaf.infos[number] {
            Infos::None => return Ok(None),
            Infos::Term(info, shade) => {
                let shades = segment.inverted(Where::Shades);
                let shade = shade.as_ref().map(|info| shades.read_postings_from_terminfo(info, freqs)).transpose()?;
                let block = inverted.read_block_postings_from_terminfo(info, freqs)?;
                Kind::Term(Box::new(Term { block, at: 0, shade }))
            }
            Infos::Any(infos) => {
                let mut all = Vec::new();
                for info in infos {
                    let mut postings = inverted.read_postings_from_terminfo(info, freqs)?;
                    while postings.doc() != TERMINATED {
                        all.push((postings.doc(), postings.term_freq()));
                        postings.advance();
                    }
                }
                all.sort_unstable();
                all.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    kept.1 += if same { next.1 } else { 0 };
                    same
                });
                Kind::Any(all, 0)
            }
            Infos::Phrase(all) => {
                let What::Phrase(distances, _) = &leaf.what else { return Ok(None) };
                let last = distances.iter().map(|(distance, _)| *distance).max().unwrap_or(0);
                let mut parts = Vec::with_capacity(all.len());
                for (infos, (distance, _)) in all.iter().zip(distances) {
                    let positions = IndexRecordOption::WithFreqsAndPositions;
                    let read = infos.iter().map(|info| inverted.read_postings_from_terminfo(info, positions));
                    parts.push((read.collect::<io::Result<Vec<_>>>()?, last - distance));
                }
                parts.sort_by_key(|(terms, _)| having(terms));
                Kind::Phrase(Phrase { parts, found: Vec::new(), other: Vec::new() })
            }
        };
        Ok(Some(Self { worth: Worth { leaf, segment, statistics }, postings }))
    }

    /// How many chunks there may be at most.
    pub fn size(&self) -> u32 {
        match &self.postings {
            Kind::Term(term) => term.block.doc_freq(),
            Kind::Any(all, _) => all.len() as u32,
            Kind::Phrase(phrase) => phrase.parts.first().map_or(0, |(terms, _)| having(terms)),
        }
    }

    /// Every chunk that has it, in order, and what it is worth. What takes long is asked only of those that may be seen.
    pub fn all(self, may: &impl Fn(u32) -> bool, found: &mut Vec<Found>) {
        let Self { worth, postings } = self;
        match postings {
            Kind::Term(term) => {
                let Term { mut block, mut shade, .. } = *term;
                while !block.docs().is_empty() {
                    for (doc, often) in block.docs().iter().zip(block.freqs()) {
                        let shaded = shade.as_mut().map_or(0, |shade| often_in(shade, *doc));
                        let factor = shade_factor(&worth.leaf.what, *often, shaded);
                        found.push((*doc, worth.of(*doc, *often) * factor, 1));
                    }
                    block.advance();
                }
            }
            Kind::Any(all, _) => found.extend(all.iter().map(|(doc, often)| (*doc, worth.of(*doc, *often), 1))),
            Kind::Phrase(mut phrase) => {
                while let Some(doc) = phrase.next() {
                    let often = if may(doc) { phrase.often(doc) } else { 0 };
                    if often > 0 {
                        found.push((doc, worth.of(doc, often), 1));
                    }
                    phrase.pass(doc);
                }
            }
        }
    }

    /// What a chunk is worth; nothing if it does not have it. Chunks are asked for in order.
    pub fn at(&mut self, doc: u32) -> f32 {
        let (often, factor) = match &mut self.postings {
            Kind::Term(term) => {
                let Term { block, at, shade } = &mut **term;
                if block.doc(*at) < doc {
                    *at = block.seek(doc);
                }
                if block.doc(*at) != doc {
                    return 0.0;
                }
                let often = block.freq(*at);
                let shaded = shade.as_mut().map_or(0, |shade| often_in(shade, doc));
                (often, shade_factor(&self.worth.leaf.what, often, shaded))
            }
            Kind::Any(all, at) => {
                *at += all[*at..].partition_point(|(other, _)| *other < doc);
                match all.get(*at) {
                    Some((other, often)) if *other == doc => (*often, 1.0),
                    _ => return 0.0,
                }
            }
            Kind::Phrase(phrase) => (phrase.often(doc), 1.0),
        };
        if often == 0 {
            return 0.0;
        }
        self.worth.of(doc, often) * factor
    }
}

/// What finding a leaf in a chunk is worth.
struct Worth<'a> {
    leaf: &'a Leaf,
    segment: &'a Segment,
    statistics: &'a Statistics,
}

impl Worth<'_> {
    #[inline]
    fn of(&self, doc: u32, often: u32) -> f32 {
        self.leaf.worth
            * match self.leaf.place {
                Where::Names => Statistics::worth_in_name(often as f32),
                _ => self.statistics.worth(often as f32, self.segment.norms.fieldnorm_id(doc)),
            }
    }
}

impl std::fmt::Debug for Cursor<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Cursor").field("leaf", &self.worth.leaf).finish_non_exhaustive()
    }
}

/// What is left of a term's worth for its spelling, where its shade is so often.
pub fn shade_factor(what: &What, often: u32, shaded: u32) -> f32 {
    match what {
        What::Term(_, Some(Shade::Spelt(_))) => spelling(often, shaded),
        What::Term(_, Some(Shade::Plain(_))) => spelling(often, often.saturating_sub(shaded)),
        _ => 1.0,
    }
}

impl Phrase {
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
    fn often(&mut self, doc: u32) -> u32 {
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

fn having(terms: &[SegmentPostings]) -> u32 {
    terms.iter().map(SegmentPostings::doc_freq).sum()
}

/// Keeps of the first what is also in the second; both are in order.
pub fn intersect(kept: &mut Vec<u32>, other: &[u32]) {
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

fn often_in(postings: &mut SegmentPostings, doc: u32) -> u32 {
    if forward(postings, doc) == doc { postings.term_freq() } else { 0 }
}

fn forward(postings: &mut SegmentPostings, doc: u32) -> u32 {
    let here = postings.doc();
    if here >= doc { here } else { postings.seek(doc) }
}
