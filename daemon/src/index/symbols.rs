//! A string interner: short numbers for words that repeat, such as projects, folders, kinds and headings.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

pub(crate) type Symbol = u32;

/// All words that were ever named. They are few, and stay.
#[derive(Debug, Default)]
pub(crate) struct StringInterner(RwLock<Inner>);

#[derive(Debug, Default)]
struct Inner {
    numbers: HashMap<Arc<str>, Symbol>,
    words: Vec<Arc<str>>,
}

impl StringInterner {
    /// The number of a word, a new one if it has none yet.
    pub(crate) fn intern(&self, word: &str) -> Symbol {
        if let Some(name) = self.find(word) {
            return name;
        }
        let mut inner = self.0.write();
        if let Some(name) = inner.numbers.get(word) {
            return *name;
        }
        let (word, name) = (Arc::<str>::from(word), inner.words.len() as Symbol);
        inner.words.push(Arc::clone(&word));
        inner.numbers.insert(word, name);
        name
    }

    /// The number of a word, if it has one.
    pub(crate) fn find(&self, word: &str) -> Option<Symbol> {
        self.0.read().numbers.get(word).copied()
    }

    /// The words of several numbers at one moment.
    pub(crate) fn texts<const N: usize>(&self, names: [Option<Symbol>; N]) -> [Option<Arc<str>>; N] {
        let inner = self.0.read();
        names.map(|name| inner.words.get(name? as usize).cloned())
    }

    /// All words from a number on, in order.
    pub(crate) fn texts_from(&self, first: usize) -> Vec<Arc<str>> {
        self.0.read().words.get(first..).unwrap_or_default().to_vec()
    }

    /// Forgets everything; whoever still holds a number holds nothing.
    pub(crate) fn replace_all(&self, words: Vec<Arc<str>>) {
        let numbers = words.iter().enumerate().map(|(name, word)| (Arc::clone(word), name as Symbol)).collect();
        *self.0.write() = Inner { numbers, words };
    }
}
