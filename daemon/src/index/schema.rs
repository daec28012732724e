//! What the index knows of a chunk, and how a text becomes its terms.
//!
//! Nothing is stored: words with their positions, shades of words (spellings with accents, stems), names of the
//! file, and three numbers by which a hit finds its document and its worth.

use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer, TokenizerManager};

use super::analyse::{Piece, Sort, analyse};
use super::stems::Stems;

/// Changes whenever what is written changes: another number is another index.
pub const VERSION: u32 = 1;

/// The fields.
#[derive(Debug, Clone)]
pub struct Fields {
    /// All of them.
    pub schema: Schema,
    /// Heading and content, with positions.
    pub words: Field,
    /// Spellings and stems of those words, without positions.
    pub shades: Field,
    /// Title and name of the file, with positions.
    pub names: Field,
    /// The document's place in the table.
    pub slot: Field,
    /// Which of its chunks.
    pub chunk: Field,
    /// What the chunk is worth.
    pub boost: Field,
}

impl Default for Fields {
    fn default() -> Self {
        let mut schema = Schema::builder();
        let text = |tokenizer: &str, option, norms| {
            let indexing = TextFieldIndexing::default();
            let indexing = indexing.set_tokenizer(tokenizer).set_index_option(option).set_fieldnorms(norms);
            TextOptions::default().set_indexing_options(indexing)
        };
        let positions = IndexRecordOption::WithFreqsAndPositions;
        let words = schema.add_text_field("words", text("words", positions, true));
        let shades = schema.add_text_field("shades", text("shades", IndexRecordOption::WithFreqs, false));
        let names = schema.add_text_field("names", text("words", positions, false));
        let slot = schema.add_u64_field("slot", NumericOptions::from(FAST) | INDEXED);
        let chunk = schema.add_u64_field("chunk", FAST);
        let boost = schema.add_f64_field("boost", FAST);
        Self { schema: schema.build(), words, shades, names, slot, chunk, boost }
    }
}

/// The analysers of the text fields.
pub fn tokenizers() -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register("words", TextAnalyzer::from(Terms::<Words>::default()));
    manager.register("shades", TextAnalyzer::from(Terms::<Shades>::default()));
    manager
}

/// Which terms a piece becomes.
pub trait Make: Default + Clone + Send + Sync + 'static {
    /// Tells each term.
    fn make(&mut self, piece: &Piece<'_>, each: &mut dyn FnMut(&[&str]));
}

/// Every piece is a term.
#[derive(Debug, Clone, Default)]
pub struct Words;

impl Make for Words {
    fn make(&mut self, piece: &Piece<'_>, each: &mut dyn FnMut(&[&str])) {
        each(&[piece.folded]);
    }
}

/// The term of a spelling with accents.
pub const SPELT: &str = "=";
/// The term of a word that was spelt with accents, without them.
pub const ACCENTED: &str = "~";
/// The term of an English stem.
pub const ENGLISH: &str = "e";
/// The term of a Spanish stem.
pub const SPANISH: &str = "s";

/// Words that were spelt with accents, and stems that differ from their words.
#[derive(Debug, Clone, Default)]
pub struct Shades(Stems);

impl Make for Shades {
    fn make(&mut self, piece: &Piece<'_>, each: &mut dyn FnMut(&[&str])) {
        if piece.sort != Sort::Word {
            return;
        }
        if let Some(spelt) = piece.spelt {
            each(&[SPELT, spelt]);
            each(&[ACCENTED, piece.folded]);
        }
        let stems = self.0.of(piece.folded);
        if let Some(stem) = &stems.english {
            each(&[ENGLISH, stem]);
        }
        if let Some(stem) = &stems.spanish {
            each(&[SPANISH, stem]);
        }
    }
}

/// Our analysis in the shape that tantivy asks for.
#[derive(Debug, Clone, Default)]
struct Terms<M> {
    make: M,
    found: Found,
}

/// The terms of one text, one after the other.
#[derive(Debug, Clone, Default)]
struct Found {
    text: String,
    /// Where each term ends in it, and its position.
    terms: Vec<(u32, u32)>,
}

impl<M: Make> Tokenizer for Terms<M> {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        let Self { make, found } = self;
        found.text.clear();
        found.terms.clear();
        analyse(text, 0, &mut |piece| {
            make.make(&piece, &mut |term| {
                term.iter().for_each(|part| found.text.push_str(part));
                found.terms.push((found.text.len() as u32, piece.position));
            });
        });
        Stream { found, next: 0, start: 0, token: Token::default() }
    }
}

struct Stream<'a> {
    found: &'a Found,
    next: usize,
    start: usize,
    token: Token,
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        let Some((end, position)) = self.found.terms.get(self.next) else { return false };
        self.token.text.clear();
        self.token.text.push_str(&self.found.text[self.start..*end as usize]);
        self.token.position = *position as usize;
        self.start = *end as usize;
        self.next += 1;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
