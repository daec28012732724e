//! Query → matchers, each with its score weight.
//!
//! Document frequencies are counted in the main index and in the overlay together, so that a hit scores the same in
//! both.

use std::io;

use tantivy::postings::TermInfo;

use super::main_index::{IndexSnapshot, Segment};
use super::overlay::{OverlayDocument, TextField};
use super::query::{Alternatives, Clause};
use super::rank::{NAME_WEIGHT, STEM_WEIGHT, Statistics};
use super::schema::{ENGLISH, EXACT_SPELLING, HAS_ACCENTS, SPANISH};
use super::stems::StemCache;

/// A beginning stands for at most so many words.
const MAX_PREFIX_EXPANSION: usize = 256;

/// One thing that makes a chunk a hit.
#[derive(Debug)]
pub(crate) struct Matcher {
    pub(crate) place: TextField,
    pub(crate) what: Pattern,
    /// What finding it once in a text of average length is worth.
    pub(crate) weight: f32,
    /// So many chunks have it at most.
    pub(crate) doc_freq: u64,
    /// Where it is in each segment.
    pub(crate) segment_terms: Vec<SegmentTerms>,
}

#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    /// A term; how it is spelt counts, or not.
    Term(String, Option<(AccentMatch, String)>),
    /// All terms that begin so.
    Beginning(String),
    /// Terms at these distances; the last may be a beginning.
    Phrase(Vec<(u32, String)>, bool),
}

/// How a word is spelt, with the term of its shade.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AccentMatch {
    /// It was typed with accents: occurrences with the same count fully.
    Spelt,
    /// It was typed without: occurrences with any do not.
    Plain,
}

/// Where the terms of a matcher are in one segment.
#[derive(Debug, Default)]
pub(crate) enum SegmentTerms {
    #[default]
    None,
    /// A term, and its shade.
    Term(TermInfo, Option<TermInfo>),
    Any(Vec<TermInfo>),
    /// For each part of a phrase, any of these.
    Phrase(Vec<Vec<TermInfo>>),
}

/// How much of a word's family is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stemming {
    /// Words with the same stem, too.
    Related,
    /// Only the word.
    Exact,
}

/// Plans a group: everything that makes a chunk one of its hits.
pub(crate) fn plan(
    group: &Alternatives,
    stemming: Stemming,
    snapshot: &IndexSnapshot,
    statistics: &Statistics,
    stems: &mut StemCache,
) -> io::Result<Vec<Matcher>> {
    let mut matchers = Vec::new();
    for clause in group {
        matchers_of(clause, stemming, stems, &mut matchers);
    }
    for matcher in &mut matchers {
        let doc_freq = matcher.locate(snapshot)?;
        matcher.weight *= doc_freq.iter().map(|doc_freq| statistics.idf(*doc_freq)).sum::<f32>();
    }
    Ok(matchers)
}

impl Matcher {
    pub(crate) fn new(place: TextField, weight: f32, what: Pattern) -> Self {
        Self { place, what, weight, doc_freq: 0, segment_terms: Vec::new() }
    }

    /// Finds its terms in every segment; in how many chunks each is.
    pub(crate) fn locate(&mut self, snapshot: &IndexSnapshot) -> io::Result<Vec<u64>> {
        let terms = if let Pattern::Phrase(parts, _) = &self.what { parts.len() } else { 1 };
        let mut doc_freq = vec![0; terms];
        for segment in &snapshot.main.segments {
            let segment_terms = self.segment_terms_in(segment, &mut doc_freq)?;
            self.segment_terms.push(segment_terms);
        }
        for overlay in &*snapshot.overlay {
            self.count_in(overlay, &mut doc_freq);
        }
        self.doc_freq = doc_freq.iter().copied().min().unwrap_or(0);
        Ok(doc_freq)
    }
}

fn matchers_of(clause: &Clause, stemming: Stemming, stems: &mut StemCache, matchers: &mut Vec<Matcher>) {
    let mut push = |place, weight, what| matchers.push(Matcher::new(place, weight, what));
    let term = |text: &str| Pattern::Term(text.to_owned(), None);
    match clause {
        Clause::Word { folded, spelt } => {
            let accent = match spelt {
                Some(spelt) => Some((AccentMatch::Spelt, format!("{EXACT_SPELLING}{spelt}"))),
                None if folded.is_ascii() => Some((AccentMatch::Plain, format!("{HAS_ACCENTS}{folded}"))),
                None => None,
            };
            push(TextField::Body, 1.0, Pattern::Term(folded.clone(), accent));
            push(TextField::Title, NAME_WEIGHT, term(folded));
            if stemming == Stemming::Exact || folded.len() < 3 || !folded.bytes().all(|byte| byte.is_ascii_lowercase())
            {
                return;
            }
            let both = stems.of(folded);
            for (tag, stem) in [(ENGLISH, &both.english), (SPANISH, &both.spanish)] {
                let text = stem.as_deref().unwrap_or(folded);
                push(TextField::Variants, STEM_WEIGHT, Pattern::Term(format!("{tag}{text}"), None));
            }
            let (english, spanish) = (both.english.as_deref(), both.spanish.as_deref());
            for stem in english.into_iter().chain(spanish.filter(|spanish| Some(*spanish) != english)) {
                if stem.len() >= 3 {
                    push(TextField::Body, STEM_WEIGHT, term(stem));
                }
            }
        }
        Clause::Prefix(prefix) => {
            push(TextField::Body, 1.0, Pattern::Beginning(prefix.clone()));
            push(TextField::Title, NAME_WEIGHT, Pattern::Beginning(prefix.clone()));
        }
        Clause::Phrase { parts, open, joined } => {
            for (place, weight) in [(TextField::Body, 1.0), (TextField::Title, NAME_WEIGHT)] {
                match parts.as_slice() {
                    [(_, only)] if !open => push(place, weight, term(only)),
                    _ => push(place, weight, Pattern::Phrase(parts.clone(), *open)),
                }
                if let Some(joined) = joined {
                    push(place, weight, term(joined));
                }
            }
        }
    }
}

impl Matcher {
    fn segment_terms_in(&self, segment: &Segment, doc_freq: &mut [u64]) -> io::Result<SegmentTerms> {
        let terms = segment.inverted(self.place).terms();
        let beginning = |prefix: &str| {
            let mut segment_terms = Vec::new();
            let mut stream = terms.range().ge(prefix).into_stream()?;
            while segment_terms.len() < MAX_PREFIX_EXPANSION
                && stream.advance()
                && stream.key().starts_with(prefix.as_bytes())
            {
                segment_terms.push(stream.value().clone());
            }
            Ok::<_, io::Error>(segment_terms)
        };
        let sum = |segment_terms: &[TermInfo]| segment_terms.iter().map(|info| u64::from(info.doc_freq)).sum::<u64>();
        Ok(match &self.what {
            Pattern::Term(term, accent) => match terms.get(term)? {
                None => SegmentTerms::None,
                Some(info) => {
                    doc_freq[0] += u64::from(info.doc_freq);
                    let variants = segment.inverted(self.place.variants()).terms();
                    let accent = accent.as_ref().map(|(_, term)| variants.get(term)).transpose()?;
                    SegmentTerms::Term(info, accent.flatten())
                }
            },
            Pattern::Beginning(prefix) => {
                let segment_terms = beginning(prefix)?;
                doc_freq[0] += sum(&segment_terms);
                if segment_terms.is_empty() { SegmentTerms::None } else { SegmentTerms::Any(segment_terms) }
            }
            Pattern::Phrase(parts, open) => {
                let mut all = Vec::with_capacity(parts.len());
                for (place, (_, part)) in parts.iter().enumerate() {
                    let segment_terms = match *open && place + 1 == parts.len() {
                        true => beginning(part)?,
                        false => terms.get(part)?.into_iter().collect(),
                    };
                    doc_freq[place] += sum(&segment_terms);
                    all.push(segment_terms);
                }
                if all.iter().any(Vec::is_empty) { SegmentTerms::None } else { SegmentTerms::Phrase(all) }
            }
        })
    }

    fn count_in(&self, overlay: &OverlayDocument, doc_freq: &mut [u64]) {
        // A name is a name of all chunks.
        let chunks = |places: &[(u32, u32)]| match self.place {
            TextField::Title if !places.is_empty() => overlay.norms.len() as u64,
            _ => places.chunk_by(|a, b| a.0 == b.0).count() as u64,
        };
        let count = |part: &str, is_prefix: bool| match is_prefix {
            true => overlay.beginning(self.place, part).map(chunks).sum(),
            false => chunks(overlay.places(self.place, part)),
        };
        match &self.what {
            Pattern::Term(term, _) => doc_freq[0] += count(term, false),
            Pattern::Beginning(prefix) => doc_freq[0] += count(prefix, true),
            Pattern::Phrase(parts, open) => {
                for (place, (_, part)) in parts.iter().enumerate() {
                    doc_freq[place] += count(part, *open && place + 1 == parts.len());
                }
            }
        }
    }
}
