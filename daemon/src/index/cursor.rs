//! Goes through the chunks of a segment that have what a leaf looks for, in order, and says what each is worth.

use std::io;

use tantivy::postings::{Postings as _, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet as _, TERMINATED};

use super::overlay::Where;
use super::plan::{Infos, Leaf, Shade, What};
use super::rank::{Statistics, spelling};
use super::shelf::Segment;

/// One leaf in one segment.
pub struct Cursor<'a> {
    leaf: &'a Leaf,
    segment: &'a Segment,
    statistics: &'a Statistics,
    postings: Kind,
}

enum Kind {
    /// A term, and its shade.
    Term(Box<(SegmentPostings, Option<SegmentPostings>)>),
    /// How often in which chunk, and where we are.
    Any(Vec<(u32, u32)>, usize),
    Phrase(Phrase),
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
                Kind::Term(Box::new((inverted.read_postings_from_terminfo(info, freqs)?, shade)))
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
        Ok(Some(Self { leaf, segment, statistics, postings }))
    }

    /// How many chunks there may be at most.
    pub fn size(&self) -> u32 {
        match &self.postings {
            Kind::Term(term) => term.0.doc_freq(),
            Kind::Any(all, _) => all.len() as u32,
            Kind::Phrase(phrase) => phrase.parts.first().map_or(0, |(terms, _)| having(terms)),
        }
    }

    /// Every chunk that may be looked at, and what it is worth.
    pub fn all(mut self, may: &impl Fn(u32) -> bool) -> Vec<(u32, f32)> {
        let mut found = Vec::with_capacity(self.size() as usize);
        let mut doc = self.here();
        while doc != TERMINATED {
            if may(doc) {
                let worth = self.at(doc);
                if worth > 0.0 {
                    found.push((doc, worth));
                }
            }
            doc = self.after(doc);
        }
        found
    }

    /// The chunk that we have come to, and that may have it.
    fn here(&self) -> u32 {
        match &self.postings {
            Kind::Term(term) => term.0.doc(),
            Kind::Any(all, at) => all.get(*at).map_or(TERMINATED, |(doc, _)| *doc),
            Kind::Phrase(phrase) => phrase.rarest().map(|postings| postings.doc()).min().unwrap_or(TERMINATED),
        }
    }

    /// The next chunk that may have it. One step costs far less than a search for it.
    fn after(&mut self, doc: u32) -> u32 {
        let step = |postings: &mut SegmentPostings| {
            if postings.doc() <= doc {
                postings.advance();
            }
        };
        match &mut self.postings {
            Kind::Term(term) => step(&mut term.0),
            Kind::Any(all, at) => *at += usize::from(all.get(*at).is_some_and(|(here, _)| *here <= doc)),
            Kind::Phrase(phrase) => {
                phrase.parts.first_mut().into_iter().flat_map(|(terms, _)| terms).for_each(step);
            }
        }
        self.here()
    }

    /// What a chunk is worth; nothing if it does not have it. Chunks are asked for in order.
    pub fn at(&mut self, doc: u32) -> f32 {
        let (often, factor) = match &mut self.postings {
            Kind::Term(term) => {
                let (postings, shade) = &mut **term;
                if forward(postings, doc) != doc {
                    return 0.0;
                }
                let often = postings.term_freq();
                let shaded = match shade {
                    Some(shade) => match forward(shade, doc) == doc {
                        true => shade.term_freq(),
                        false => 0,
                    },
                    None => 0,
                };
                (often, shade_factor(&self.leaf.what, often, shaded))
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
        let worth = match self.leaf.place {
            Where::Names => Statistics::worth_in_name(often as f32),
            _ => self.statistics.worth(often as f32, self.segment.norms.fieldnorm_id(doc)),
        };
        self.leaf.worth * worth * factor
    }
}

impl std::fmt::Debug for Cursor<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Cursor").field("leaf", &self.leaf).finish_non_exhaustive()
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
    fn rarest(&self) -> impl Iterator<Item = &SegmentPostings> {
        self.parts.first().into_iter().flat_map(|(terms, _)| terms)
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
    let mut at = 0;
    kept.retain(|value| {
        while other.get(at).is_some_and(|there| there < value) {
            at += 1;
        }
        other.get(at) == Some(value)
    });
}

fn forward(postings: &mut SegmentPostings, doc: u32) -> u32 {
    let here = postings.doc();
    if here >= doc { here } else { postings.seek(doc) }
}
