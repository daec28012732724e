//! Stems of English and Spanish words, remembered, because the same few thousand words make most of a text.

use std::collections::HashMap;

use tantivy::tokenizer::{Language, RawTokenizer, Stemmer, TextAnalyzer};

/// Shorter words are their own stems.
const SHORTEST: usize = 4;
/// So many are remembered while a tree is indexed; then everything is forgotten: it is only there to be quick.
const MOST_REMEMBERED: usize = 20_000;

/// Finds stems. One for each thread.
#[derive(Clone)]
pub struct Stems {
    english: TextAnalyzer,
    spanish: TextAnalyzer,
    known: HashMap<Box<str>, Both>,
    most: usize,
}

/// The stems of a word in both languages, where they differ from the word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Both {
    /// As if it were English.
    pub english: Option<Box<str>>,
    /// As if it were Spanish.
    pub spanish: Option<Box<str>>,
}

impl Both {
    /// How many bytes at its beginning a word has in common with all that share one of its stems: an ending changes at
    /// most the last two letters of a stem.
    pub fn shared(&self, word: &str) -> usize {
        let length = |stem: &Option<Box<str>>| stem.as_deref().unwrap_or(word).len();
        length(&self.english).min(length(&self.spanish)).saturating_sub(2).max(2).min(word.len())
    }
}

impl Default for Stems {
    fn default() -> Self {
        Self::remembering(MOST_REMEMBERED)
    }
}

impl Stems {
    /// Remembers so many words at most.
    pub fn remembering(most: usize) -> Self {
        let analyser = |language| TextAnalyzer::builder(RawTokenizer::default()).filter(Stemmer::new(language)).build();
        Self { english: analyser(Language::English), spanish: analyser(Language::Spanish), known: HashMap::new(), most }
    }

    /// The stems of a folded word.
    pub fn of(&mut self, word: &str) -> &Both {
        if !self.known.contains_key(word) {
            if self.known.len() >= self.most {
                self.known.clear();
            }
            let both = self.find(word);
            self.known.insert(word.into(), both);
        }
        &self.known[word]
    }

    fn find(&mut self, word: &str) -> Both {
        if word.len() < SHORTEST || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return Both::default();
        }
        let stem = |analyser: &mut TextAnalyzer| {
            let mut stream = analyser.token_stream(word);
            let stem = stream.next().map(|token| token.text.as_str())?;
            (stem != word && stem.len() >= 2).then(|| stem.into())
        };
        Both { english: stem(&mut self.english), spanish: stem(&mut self.spanish) }
    }
}

impl std::fmt::Debug for Stems {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Stems").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, english: Option<&str>, spanish: Option<&str>) {
        let expected = Both { english: english.map(Into::into), spanish: spanish.map(Into::into) };
        assert_eq!(*Stems::default().of(word), expected, "{word}");
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
