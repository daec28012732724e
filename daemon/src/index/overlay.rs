//! Documents that are searchable already and not in the main index yet: held in memory, as terms.
//!
//! A document comes in; how often, and where, a term is in its chunks goes out. The numbers are the same that
//! the main index would give, so that a score does not change when a document moves there.

use std::ops::Range;
use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;

use super::analyse::analyse;
use super::entry::{Document, Entry};
use super::schema::{Make as _, Shades, Words};

/// Which words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Where {
    /// Heading and content of a chunk.
    Words,
    /// Spellings and stems of those.
    Shades,
    /// Title and name of the file.
    Names,
}

/// A fresh document.
#[derive(Debug)]
pub struct Fresh {
    /// What is kept of it.
    pub entry: Arc<Entry>,
    /// As it was read: until it is in the main index.
    pub document: Document,
    /// Terms, in the order of their hashes.
    terms: Vec<Term>,
    /// Where they are: chunk and position.
    places: Vec<(u32, u32)>,
    letters: String,
    /// The length of each chunk, as coarse as the main index remembers it.
    norms: Vec<u8>,
    /// Pieces in all chunks.
    pub pieces: u64,
}

#[derive(Debug)]
struct Term {
    hash: u64,
    letters: Range<u32>,
    places: Range<u32>,
    place: Where,
}

/// While it is being read.
struct Token {
    hash: u64,
    letters: Range<u32>,
    chunk: u32,
    position: u32,
    place: Where,
}

impl Fresh {
    /// Analyses a document.
    pub fn new(document: Document, shades: &mut Shades) -> Self {
        let mut letters = String::with_capacity(document.text.len() / 2);
        let mut tokens = Vec::with_capacity(document.text.len() / 4);
        let mut norms = Vec::with_capacity(document.facts.chunks.len());
        let mut pieces = 0;
        for (number, chunk) in document.facts.chunks.iter().enumerate() {
            let content = document.content(&document.entry.sections[number]);
            let texts = chunk.heading.iter().map(String::as_str).chain([content]);
            let (mut position, mut length) = (0, 0);
            for text in texts {
                let end = analyse(text, position, &mut |piece| {
                    let mut push = |place: Where, parts: &[&str]| {
                        tokens.push(token(&mut letters, place, parts, number as u32, piece.position));
                    };
                    Words.make(&piece, &mut |term| {
                        length += 1;
                        push(Where::Words, term);
                    });
                    shades.make(&piece, &mut |term| push(Where::Shades, term));
                });
                position = end + 1;
            }
            norms.push(FieldNormReader::fieldnorm_to_id(length));
            pieces += u64::from(length);
        }
        let mut position = 0;
        for text in [&document.facts.title, &document.facts.stem] {
            let end = analyse(text, position, &mut |piece| {
                Words.make(&piece, &mut |term| {
                    tokens.push(token(&mut letters, Where::Names, term, 0, piece.position));
                });
            });
            position = end + 1;
        }
        tokens.sort_unstable_by_key(|token: &Token| (token.hash, token.chunk, token.position));
        let mut terms: Vec<Term> = Vec::new();
        let mut places = Vec::with_capacity(tokens.len());
        for token in tokens {
            let at = places.len() as u32;
            places.push((token.chunk, token.position));
            match terms.last_mut() {
                Some(term) if term.hash == token.hash => term.places.end = at + 1,
                _ => {
                    let Token { hash, letters, place, .. } = token;
                    terms.push(Term { hash, letters, places: at..at + 1, place });
                }
            }
        }
        let entry = Arc::clone(&document.entry);
        Self { entry, document, terms, places, letters, norms, pieces }
    }

    /// How many chunks it has.
    pub fn chunks(&self) -> usize {
        self.norms.len()
    }

    /// The length of a chunk, as coarse as the main index remembers it.
    pub fn norm(&self, chunk: usize) -> u8 {
        self.norms[chunk]
    }

    /// Where a term is: chunks, and positions in them, in order.
    pub fn places(&self, place: Where, hash: u64) -> &[(u32, u32)] {
        let at = self.terms.partition_point(|term| term.hash < hash);
        match self.terms.get(at) {
            Some(term) if term.hash == hash && term.place == place => self.of(term),
            _ => &[],
        }
    }

    /// The places of every term that begins so.
    pub fn beginning<'a>(&'a self, place: Where, prefix: &'a str) -> impl Iterator<Item = &'a [(u32, u32)]> {
        let begins = move |term: &&Term| {
            let letters = &self.letters[term.letters.start as usize..term.letters.end as usize];
            term.place == place && letters.starts_with(prefix)
        };
        self.terms.iter().filter(begins).map(|term| self.of(term))
    }

    fn of(&self, term: &Term) -> &[(u32, u32)] {
        &self.places[term.places.start as usize..term.places.end as usize]
    }
}

fn token(letters: &mut String, place: Where, parts: &[&str], chunk: u32, position: u32) -> Token {
    let start = letters.len() as u32;
    parts.iter().for_each(|part| letters.push_str(part));
    let end = letters.len() as u32;
    Token { hash: hash(place, parts), letters: start..end, chunk, position, place }
}

/// A number for a term; two terms share one about as often as two users share a password of eleven signs.
pub fn hash(place: Where, parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ place as u64;
    for byte in parts.iter().flat_map(|part| part.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // The last letters have not reached every bit yet.
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ hash >> 29
}
