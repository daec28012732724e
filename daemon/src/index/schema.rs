//! The tantivy schema of a chunk, and how a text becomes its terms.
//!
//! Nothing is stored: words with their positions, variants of words (spellings with accents, stems), names of the
//! file, what its items are called, and four numbers by which a hit finds its document, its item and its boost.

use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer, TokenizerManager};

use super::stems::StemCache;
use super::tokenize::{TextToken, TokenKind, tokenize};

/// Changes whenever what is written changes: another number is another index.
pub(crate) const VERSION: u32 = 3;

#[derive(Debug, Clone)]
pub(crate) struct Fields {
    pub(crate) schema: Schema,
    /// Heading and content, with positions.
    pub(crate) words: Field,
    /// Spellings and stems of those words, without positions.
    pub(crate) shades: Field,
    /// Title and name of the file, with positions.
    pub(crate) names: Field,
    /// What an item is called: title, names and tags, at its first chunk.
    pub(crate) labels: Field,
    /// The document's place in the table.
    pub(crate) slot: Field,
    pub(crate) chunk: Field,
    /// The item's place in the document.
    pub(crate) item: Field,
    pub(crate) boost: Field,
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
        let labels = schema.add_text_field("labels", text("labels", positions, false));
        let slot = schema.add_u64_field("slot", NumericOptions::from(FAST) | INDEXED);
        let chunk = schema.add_u64_field("chunk", FAST);
        let item = schema.add_u64_field("item", FAST);
        let boost = schema.add_f64_field("boost", FAST);
        Self { schema: schema.build(), words, shades, names, labels, slot, chunk, item, boost }
    }
}

/// The analysers of the text fields.
pub(crate) fn tokenizers() -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register("words", TextAnalyzer::from(TantivyTokenizer::<WordTerms>::default()));
    manager.register("shades", TextAnalyzer::from(TantivyTokenizer::<VariantTerms>::default()));
    manager.register("labels", TextAnalyzer::from(TantivyTokenizer::<LabelTerms>::default()));
    manager
}

/// Which terms a piece becomes.
pub(crate) trait TermEmitter: Default + Clone + Send + Sync + 'static {
    fn emit(&mut self, text_token: &TextToken<'_>, each: &mut dyn FnMut(&[&str]));

    /// The one term of a text that is not to be taken apart.
    fn whole<'a>(&self, _: &'a str) -> Option<&'a str> {
        None
    }
}

/// Every piece is a term.
#[derive(Debug, Clone, Default)]
pub(crate) struct WordTerms;

impl TermEmitter for WordTerms {
    fn emit(&mut self, text_token: &TextToken<'_>, each: &mut dyn FnMut(&[&str])) {
        each(&[text_token.folded]);
    }
}

/// The term of a spelling with accents.
pub(crate) const EXACT_SPELLING: &str = "=";
/// The term of a word that was spelt with accents, without them.
pub(crate) const HAS_ACCENTS: &str = "~";
/// The term of an English stem.
pub(crate) const ENGLISH: &str = "e";
/// The term of a Spanish stem.
pub(crate) const SPANISH: &str = "s";

/// Words that were spelt with accents, and stems that differ from their words.
#[derive(Debug, Clone, Default)]
pub(crate) struct VariantTerms(StemCache);

impl TermEmitter for VariantTerms {
    fn emit(&mut self, text_token: &TextToken<'_>, each: &mut dyn FnMut(&[&str])) {
        if text_token.kind != TokenKind::Word {
            return;
        }
        if let Some(spelt) = text_token.spelt {
            each(&[EXACT_SPELLING, spelt]);
            each(&[HAS_ACCENTS, text_token.folded]);
        }
        let stems = self.0.of(text_token.folded);
        if let Some(stem) = &stems.english {
            each(&[ENGLISH, stem]);
        }
        if let Some(stem) = &stems.spanish {
            each(&[SPANISH, stem]);
        }
    }
}

/// Marks the term of a variant in a field that also has the words themselves. No word begins so.
pub(crate) const LABEL_VARIANT: &str = "\u{1}";
/// Marks the term of a whole name.
pub(crate) const EXACT_NAME: &str = "\u{2}";

/// Every piece, and its variants. A text that begins with the mark of a whole name is one term.
#[derive(Debug, Clone, Default)]
pub(crate) struct LabelTerms(VariantTerms);

impl TermEmitter for LabelTerms {
    fn emit(&mut self, text_token: &TextToken<'_>, each: &mut dyn FnMut(&[&str])) {
        emit_label(&mut self.0, text_token, each);
    }

    fn whole<'a>(&self, text: &'a str) -> Option<&'a str> {
        text.starts_with(EXACT_NAME).then_some(text)
    }
}

/// The terms of a piece of a label.
pub(crate) fn emit_label(variants: &mut VariantTerms, text_token: &TextToken<'_>, each: &mut dyn FnMut(&[&str])) {
    each(&[text_token.folded]);
    variants.emit(text_token, &mut |term| {
        let [tag, text] = term else { return };
        each(&[LABEL_VARIANT, tag, text]);
    });
}

/// Our analysis in the shape that tantivy asks for.
#[derive(Debug, Clone, Default)]
struct TantivyTokenizer<M> {
    make: M,
    found: TermBuffer,
}

/// The terms of one text, one after the other.
#[derive(Debug, Clone, Default)]
struct TermBuffer {
    text: String,
    /// Where each term ends in it, and its position.
    terms: Vec<(u32, u32)>,
}

impl<M: TermEmitter> Tokenizer for TantivyTokenizer<M> {
    type TokenStream<'a> = TermStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> TermStream<'a> {
        let Self { make, found } = self;
        found.text.clear();
        found.terms.clear();
        if let Some(term) = make.whole(text) {
            found.text.push_str(term);
            found.terms.push((found.text.len() as u32, 0));
            return TermStream { found, next: 0, start: 0, token: Token::default() };
        }
        tokenize(text, 0, &mut |text_token| {
            make.emit(&text_token, &mut |term| {
                term.iter().for_each(|part| found.text.push_str(part));
                found.terms.push((found.text.len() as u32, text_token.position));
            });
        });
        TermStream { found, next: 0, start: 0, token: Token::default() }
    }
}

struct TermStream<'a> {
    found: &'a TermBuffer,
    next: usize,
    start: usize,
    token: Token,
}

impl TokenStream for TermStream<'_> {
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
