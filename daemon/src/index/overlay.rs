//! Documents that are searchable but not in the main index yet: held in memory, as terms.
//!
//! A document comes in; frequencies and positions of its terms go out. The numbers are the same that the main index
//! would give, so that a score does not change when a document is folded.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;

use super::document::{DocumentRecord, ParsedDocument};
use super::schema::{EXACT_NAME, TermEmitter as _, VariantTerms, WordTerms, emit_label};
use super::tokenize::tokenize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TextField {
    /// Heading and content of a chunk.
    Body,
    /// Spellings and stems of those.
    Variants,
    /// Title and name of the file.
    Title,
    /// Title, names and tags of an item, with their spellings and stems.
    Labels,
}

impl TextField {
    /// Where the variants of its words are.
    pub(crate) fn variants(self) -> Self {
        if self == Self::Labels { Self::Labels } else { Self::Variants }
    }
}

#[derive(Debug)]
pub(crate) struct OverlayDocument {
    pub(crate) entry: Arc<DocumentRecord>,
    /// As it was read: until it is in the main index.
    pub(crate) document: ParsedDocument,
    /// Terms, in the order of their hashes.
    terms: Vec<OverlayTerm>,
    /// Where they are: chunk and position.
    places: Vec<(u32, u32)>,
    letters: String,
    /// The length of each chunk, as coarse as the main index remembers it.
    pub(crate) norms: Vec<u8>,
    pub(crate) token_count: u64,
}

#[derive(Debug)]
struct OverlayTerm {
    hash: u64,
    letters: Range<u32>,
    places: Range<u32>,
    place: TextField,
}

/// While it is being read.
struct OverlayToken {
    hash: u64,
    letters: Range<u32>,
    chunk: u32,
    position: u32,
    place: TextField,
}

impl OverlayDocument {
    pub(crate) fn new(document: ParsedDocument, shades: &mut VariantTerms) -> Self {
        let mut letters = String::with_capacity(document.text.len() / 2);
        let mut tokens = Vec::with_capacity(document.text.len() / 4);
        let mut norms = Vec::with_capacity(document.chunks.len());
        let mut token_count = 0;
        for (number, chunk) in document.chunks.iter().enumerate() {
            let content = document.content(&document.entry.sections[number]);
            let texts = chunk.heading.iter().map(String::as_str).chain([content]);
            let (mut position, mut length) = (0, 0);
            for text in texts {
                let end = tokenize(text, position, &mut |text_token| {
                    let mut push = |place: TextField, parts: &[&str]| {
                        tokens.push(token(&mut letters, place, parts, number as u32, text_token.position));
                    };
                    WordTerms.emit(&text_token, &mut |term| {
                        length += 1;
                        push(TextField::Body, term);
                    });
                    shades.emit(&text_token, &mut |term| push(TextField::Variants, term));
                });
                position = end + 1;
            }
            norms.push(FieldNormReader::fieldnorm_to_id(length));
            token_count += u64::from(length);
            let Some(labels) = document.labels_at(number) else { continue };
            let mut position = 0;
            for text in &labels.words {
                let end = tokenize(text, position, &mut |text_token| {
                    emit_label(shades, &text_token, &mut |term| {
                        tokens.push(token(&mut letters, TextField::Labels, term, number as u32, text_token.position));
                    });
                });
                position = end + 1;
            }
            for name in &labels.exact {
                let term = [EXACT_NAME, name];
                tokens.push(token(&mut letters, TextField::Labels, &term, number as u32, position));
            }
        }
        let mut position = 0;
        for text in &document.names {
            let end = tokenize(text, position, &mut |text_token| {
                WordTerms.emit(&text_token, &mut |term| {
                    tokens.push(token(&mut letters, TextField::Title, term, 0, text_token.position));
                });
            });
            position = end + 1;
        }
        tokens.sort_unstable_by_key(|token: &OverlayToken| (token.hash, token.chunk, token.position));
        let mut terms: Vec<OverlayTerm> = Vec::new();
        let mut places = Vec::with_capacity(tokens.len());
        for token in tokens {
            let at = places.len() as u32;
            places.push((token.chunk, token.position));
            match terms.last_mut() {
                Some(term) if term.hash == token.hash => term.places.end = at + 1,
                _ => {
                    let OverlayToken { hash, letters, place, .. } = token;
                    terms.push(OverlayTerm { hash, letters, places: at..at + 1, place });
                }
            }
        }
        let entry = Arc::clone(&document.entry);
        Self { entry, document, terms, places, letters, norms, token_count }
    }

    /// Where a term is: chunks, and positions in them, in order.
    pub(crate) fn places(&self, place: TextField, term: &str) -> &[(u32, u32)] {
        let hash = hash(place, &[term]);
        let at = self.terms.partition_point(|term| term.hash < hash);
        match self.terms.get(at) {
            Some(term) if term.hash == hash && term.place == place => self.of(term),
            _ => &[],
        }
    }

    /// Where a term is, or all terms that begin so.
    pub(crate) fn places_of_part(&self, place: TextField, part: &str, is_prefix: bool) -> Cow<'_, [(u32, u32)]> {
        if !is_prefix {
            return Cow::Borrowed(self.places(place, part));
        }
        let mut all: Vec<(u32, u32)> = self.beginning(place, part).flatten().copied().collect();
        all.sort_unstable();
        Cow::Owned(all)
    }

    /// The places of every term that begins so.
    pub(crate) fn beginning<'a>(&'a self, place: TextField, prefix: &'a str) -> impl Iterator<Item = &'a [(u32, u32)]> {
        let begins = move |term: &&OverlayTerm| {
            let letters = &self.letters[term.letters.start as usize..term.letters.end as usize];
            term.place == place && letters.starts_with(prefix)
        };
        self.terms.iter().filter(begins).map(|term| self.of(term))
    }

    /// Every term that begins so.
    pub(crate) fn terms_beginning<'a>(&'a self, place: TextField, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        let letters = |term: &'a OverlayTerm| &self.letters[term.letters.start as usize..term.letters.end as usize];
        self.terms.iter().filter(move |term| term.place == place).map(letters).filter(move |it| it.starts_with(prefix))
    }

    fn of(&self, term: &OverlayTerm) -> &[(u32, u32)] {
        &self.places[term.places.start as usize..term.places.end as usize]
    }
}

fn token(letters: &mut String, place: TextField, parts: &[&str], chunk: u32, position: u32) -> OverlayToken {
    let start = letters.len() as u32;
    parts.iter().for_each(|part| letters.push_str(part));
    let end = letters.len() as u32;
    OverlayToken { hash: hash(place, parts), letters: start..end, chunk, position, place }
}

/// A number for a term; two terms share one about as often as two users share a password of eleven signs.
fn hash(place: TextField, parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ place as u64;
    for byte in parts.iter().flat_map(|part| part.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // The last letters have not reached every bit yet.
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ hash >> 29
}
