//! A cache of English and Spanish stems, because the same few thousand words make most of a text.

use std::collections::HashMap;

use tantivy::tokenizer::{Language, RawTokenizer, Stemmer, TextAnalyzer};

/// Shorter words are their own stems.
const MIN_STEM_CHARS: usize = 4;
/// So many are remembered while a tree is indexed; then everything is forgotten: it is only there to be quick.
const MAX_CACHED_STEMS: usize = 20_000;

/// Finds stems. One for each thread.
#[derive(Clone)]
pub struct StemCache {
    english: TextAnalyzer,
    spanish: TextAnalyzer,
    known: HashMap<Box<str>, StemPair>,
    most: usize,
}

/// The stems of a word in both languages, where they differ from the word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StemPair {
    pub(crate) english: Option<Box<str>>,
    pub(crate) spanish: Option<Box<str>>,
}

impl StemPair {
    /// How many bytes at its beginning a word has in common with all that share one of its stems: an ending changes at
    /// most the last two letters of a stem.
    pub(crate) fn shared_prefix_len(&self, word: &str) -> usize {
        let length = |stem: &Option<Box<str>>| stem.as_deref().unwrap_or(word).len();
        length(&self.english).min(length(&self.spanish)).saturating_sub(2).max(2).min(word.len())
    }
}

impl Default for StemCache {
    fn default() -> Self {
        Self::with_capacity(MAX_CACHED_STEMS)
    }
}

impl StemCache {
    /// Remembers so many words at most.
    pub(crate) fn with_capacity(most: usize) -> Self {
        let analyser = |language| TextAnalyzer::builder(RawTokenizer::default()).filter(Stemmer::new(language)).build();
        Self { english: analyser(Language::English), spanish: analyser(Language::Spanish), known: HashMap::new(), most }
    }

    /// The stems of a folded word.
    pub(crate) fn of(&mut self, word: &str) -> &StemPair {
        if !self.known.contains_key(word) {
            if self.known.len() >= self.most {
                self.known.clear();
            }
            let both = self.find(word);
            self.known.insert(word.into(), both);
        }
        &self.known[word]
    }

    fn find(&mut self, word: &str) -> StemPair {
        if word.len() < MIN_STEM_CHARS || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return StemPair::default();
        }
        let stem = |analyser: &mut TextAnalyzer| {
            let mut stream = analyser.token_stream(word);
            let stem = stream.next().map(|token| token.text.as_str())?;
            (stem != word && stem.len() >= 2).then(|| stem.into())
        };
        StemPair { english: stem(&mut self.english), spanish: stem(&mut self.spanish) }
    }
}

impl std::fmt::Debug for StemCache {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StemCache").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, english: Option<&str>, spanish: Option<&str>) {
        let expected = StemPair { english: english.map(Into::into), spanish: spanish.map(Into::into) };
        assert_eq!(*StemCache::default().of(word), expected, "{word}");
    }

    #[test]
    fn both_languages_have_their_say() {
        check("running", Some("run"), None);
        check("canciones", Some("cancion"), Some("cancion"));
        check("run", None, None);
        check("v1", None, None);
        check("検索検索", None, None);
    }
}
