//! A query → the terms by which it is answered, each with what it is worth.
//!
//! How many chunks have a term is counted in the main index and among fresh documents together, so that a hit is
//! worth the same in both.

use std::io;

use tantivy::postings::TermInfo;

use super::overlay::{Fresh, Where, hash};
use super::query::{Clause, Group};
use super::rank::{NAME_WEIGHT, STEM_WEIGHT, Statistics};
use super::schema::{ACCENTED, ENGLISH, SPANISH, SPELT};
use super::shelf::{Segment, Snapshot};
use super::stems::Stems;

/// A beginning stands for at most so many words.
const MOST_WORDS: usize = 256;

/// One thing that makes a chunk a hit.
#[derive(Debug)]
pub struct Leaf {
    /// Where it is looked for.
    pub place: Where,
    /// What is looked for.
    pub what: What,
    /// What finding it once in a text of average length is worth.
    pub worth: f32,
    /// Where it is in each segment.
    pub infos: Vec<Infos>,
}

/// What is looked for.
#[derive(Debug)]
pub enum What {
    /// A term; how it is spelt counts, or not.
    Term(String, Option<Shade>),
    /// All terms that begin so.
    Beginning(String),
    /// Terms at these distances; the last may be a beginning.
    Phrase(Vec<(u32, String)>, bool),
}

/// How a word is spelt.
#[derive(Debug)]
pub enum Shade {
    /// It was typed with accents: occurrences with the same count fully.
    Spelt(String),
    /// It was typed without: occurrences with any do not.
    Plain(String),
}

/// Where a leaf is in one segment.
#[derive(Debug, Default)]
pub enum Infos {
    /// Nowhere.
    #[default]
    None,
    /// A term, and its shade.
    Term(TermInfo, Option<TermInfo>),
    /// Any of these.
    Any(Vec<TermInfo>),
    /// For each part of a phrase, any of these.
    Phrase(Vec<Vec<TermInfo>>),
}

/// How much of a word's family is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Words with the same stem, too.
    Related,
    /// Only the word.
    Exact,
}

/// Plans a group: everything that makes a chunk one of its hits.
pub fn plan(
    group: &Group,
    reach: Reach,
    snapshot: &Snapshot,
    statistics: &Statistics,
    stems: &mut Stems,
) -> io::Result<Vec<Leaf>> {
    let mut leaves = Vec::new();
    for clause in group {
        leaves_of(clause, reach, stems, &mut leaves);
    }
    for leaf in &mut leaves {
        let mut having = vec![0; leaf.terms()];
        for segment in &snapshot.shelf.segments {
            let infos = leaf.infos_in(segment, &mut having)?;
            leaf.infos.push(infos);
        }
        for fresh in &*snapshot.fresh {
            leaf.count_in(fresh, &mut having);
        }
        leaf.worth *= having.iter().map(|having| statistics.telling(*having)).sum::<f32>();
    }
    Ok(leaves)
}

fn leaves_of(clause: &Clause, reach: Reach, stems: &mut Stems, leaves: &mut Vec<Leaf>) {
    let mut push = |place, weight, what| leaves.push(Leaf { place, what, worth: weight, infos: Vec::new() });
    let term = |text: &str| What::Term(text.to_owned(), None);
    match clause {
        Clause::Word { folded, spelt } => {
            let shade = match spelt {
                Some(spelt) => Some(Shade::Spelt(format!("{SPELT}{spelt}"))),
                None if folded.is_ascii() => Some(Shade::Plain(format!("{ACCENTED}{folded}"))),
                None => None,
            };
            push(Where::Words, 1.0, What::Term(folded.clone(), shade));
            push(Where::Names, NAME_WEIGHT, term(folded));
            if reach == Reach::Exact || folded.len() < 3 || !folded.bytes().all(|byte| byte.is_ascii_lowercase()) {
                return;
            }
            let both = stems.of(folded);
            for (tag, stem) in [(ENGLISH, &both.english), (SPANISH, &both.spanish)] {
                let text = stem.as_deref().unwrap_or(folded);
                push(Where::Shades, STEM_WEIGHT, What::Term(format!("{tag}{text}"), None));
            }
            let (english, spanish) = (both.english.as_deref(), both.spanish.as_deref());
            for stem in english.into_iter().chain(spanish.filter(|spanish| Some(*spanish) != english)) {
                if stem.len() >= 3 {
                    push(Where::Words, STEM_WEIGHT, term(stem));
                }
            }
        }
        Clause::Prefix(prefix) => {
            push(Where::Words, 1.0, What::Beginning(prefix.clone()));
            push(Where::Names, NAME_WEIGHT, What::Beginning(prefix.clone()));
        }
        Clause::Phrase { parts, open, joined } => {
            for (place, weight) in [(Where::Words, 1.0), (Where::Names, NAME_WEIGHT)] {
                match parts.as_slice() {
                    [(_, only)] if !open => push(place, weight, term(only)),
                    _ => push(place, weight, What::Phrase(parts.clone(), *open)),
                }
                if let Some(joined) = joined {
                    push(place, weight, term(joined));
                }
            }
        }
    }
}

impl Leaf {
    /// How many terms are counted for it.
    fn terms(&self) -> usize {
        if let What::Phrase(parts, _) = &self.what { parts.len() } else { 1 }
    }

    fn infos_in(&self, segment: &Segment, having: &mut [u64]) -> io::Result<Infos> {
        let terms = segment.inverted(self.place).terms();
        let beginning = |prefix: &str| {
            let mut infos = Vec::new();
            let mut stream = terms.range().ge(prefix).into_stream()?;
            while infos.len() < MOST_WORDS && stream.advance() && stream.key().starts_with(prefix.as_bytes()) {
                infos.push(stream.value().clone());
            }
            Ok::<_, io::Error>(infos)
        };
        let sum = |infos: &[TermInfo]| infos.iter().map(|info| u64::from(info.doc_freq)).sum::<u64>();
        Ok(match &self.what {
            What::Term(term, shade) => match terms.get(term)? {
                None => Infos::None,
                Some(info) => {
                    having[0] += u64::from(info.doc_freq);
                    let shade = match shade {
                        Some(Shade::Spelt(term) | Shade::Plain(term)) => {
                            segment.inverted(Where::Shades).terms().get(term)?
                        }
                        None => None,
                    };
                    Infos::Term(info, shade)
                }
            },
            What::Beginning(prefix) => {
                let infos = beginning(prefix)?;
                having[0] += sum(&infos);
                if infos.is_empty() { Infos::None } else { Infos::Any(infos) }
            }
            What::Phrase(parts, open) => {
                let mut all = Vec::with_capacity(parts.len());
                for (place, (_, part)) in parts.iter().enumerate() {
                    let infos = match *open && place + 1 == parts.len() {
                        true => beginning(part)?,
                        false => terms.get(part)?.into_iter().collect(),
                    };
                    having[place] += sum(&infos);
                    all.push(infos);
                }
                if all.iter().any(Vec::is_empty) { Infos::None } else { Infos::Phrase(all) }
            }
        })
    }

    fn count_in(&self, fresh: &Fresh, having: &mut [u64]) {
        // A name is a name of all chunks.
        let chunks = |places: &[(u32, u32)]| match self.place {
            Where::Names if !places.is_empty() => fresh.chunks() as u64,
            _ => places.chunk_by(|a, b| a.0 == b.0).count() as u64,
        };
        match &self.what {
            What::Term(term, _) => having[0] += chunks(fresh.places(self.place, hash(self.place, &[term]))),
            What::Beginning(prefix) => having[0] += fresh.beginning(self.place, prefix).map(chunks).sum::<u64>(),
            What::Phrase(parts, open) => {
                for (place, (_, part)) in parts.iter().enumerate() {
                    having[place] += match *open && place + 1 == parts.len() {
                        true => fresh.beginning(self.place, part).map(chunks).sum(),
                        false => chunks(fresh.places(self.place, hash(self.place, &[part]))),
                    };
                }
            }
        }
    }
}
