//! Short numbers for words that come again and again: projects, folders, kinds, headings.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

/// The number of a word.
pub type Name = u32;

/// All words that were ever named. They are few, and stay.
#[derive(Debug, Default)]
pub struct Names(RwLock<Inner>);

#[derive(Debug, Default)]
struct Inner {
    numbers: HashMap<Arc<str>, Name>,
    words: Vec<Arc<str>>,
}

impl Names {
    /// The number of a word, a new one if it has none yet.
    pub fn name(&self, word: &str) -> Name {
        if let Some(name) = self.find(word) {
            return name;
        }
        let mut inner = self.0.write();
        if let Some(name) = inner.numbers.get(word) {
            return *name;
        }
        let (word, name) = (Arc::<str>::from(word), inner.words.len() as Name);
        inner.words.push(Arc::clone(&word));
        inner.numbers.insert(word, name);
        name
    }

    /// The number of a word, if it has one.
    pub fn find(&self, word: &str) -> Option<Name> {
        self.0.read().numbers.get(word).copied()
    }

    /// The word of a number.
    pub fn word(&self, name: Name) -> Option<Arc<str>> {
        self.0.read().words.get(name as usize).cloned()
    }

    /// The words of several numbers at one moment.
    pub fn words<const N: usize>(&self, names: [Option<Name>; N]) -> [Option<Arc<str>>; N] {
        let inner = self.0.read();
        names.map(|name| inner.words.get(name? as usize).cloned())
    }

    /// All words from a number on, in order.
    pub fn from(&self, first: usize) -> Vec<Arc<str>> {
        self.0.read().words.get(first..).unwrap_or_default().to_vec()
    }

    /// Forgets everything; whoever still holds a number holds nothing.
    pub fn replace_all(&self, words: Vec<Arc<str>>) {
        let numbers = words.iter().enumerate().map(|(name, word)| (Arc::clone(word), name as Name)).collect();
        *self.0.write() = Inner { numbers, words };
    }
}
