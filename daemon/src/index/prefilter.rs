//! A cheap prefilter for snippets: in which stretches of a text a query may match, judged by how its words begin.
//!
//! Most of a text has nothing to do with a query, and finding that out must be cheap: one look at each letter. When
//! in doubt a stretch is a candidate, so that nothing is missed; the tokenizer decides.

use std::ops::Range;

use super::query::Clause;
use super::stems::StemPair;
use super::tokenize::is_normalized_ideograph;

/// How everything begins that is looked for.
#[derive(Debug)]
pub(crate) struct Prefilter {
    /// The first letters of words.
    firsts: [bool; 128],
    /// What each word has at its beginning, however it ends.
    words: Vec<Box<[u8]>>,
    /// Signs, and what must follow them.
    signs: Vec<(char, Option<char>)>,
    /// Something begins with a letter of another kind: then everything is a candidate.
    others: bool,
}

/// What came before a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PreviousLetter {
    Nothing,
    Small,
    Capital,
}

impl Prefilter {
    /// Of what a query looks for, each with its stems.
    pub(crate) fn of(clauses: &[(&Clause, StemPair)]) -> Self {
        let mut prefilter = Self { firsts: [false; 128], words: Vec::new(), signs: Vec::new(), others: false };
        for (clause, both) in clauses {
            match clause {
                Clause::Word { folded, .. } => prefilter.add(folded, both.shared_prefix_len(folded)),
                Clause::Prefix(prefix) => prefilter.add(prefix, prefix.len()),
                Clause::Phrase { parts, joined, .. } => {
                    parts.iter().map(|(_, part)| part).chain(joined).for_each(|part| prefilter.add(part, part.len()));
                }
            }
        }
        prefilter
    }

    /// Makes a candidate of every stretch.
    #[cfg(test)]
    pub(crate) fn everything() -> Self {
        Self { others: true, ..Self::of(&[]) }
    }

    fn add(&mut self, word: &str, length: usize) {
        let mut chars = word.chars();
        match chars.next() {
            Some(first) if first.is_ascii() => {
                self.firsts[first as usize] = true;
                self.words.push(word.as_bytes()[..length].into());
            }
            Some(first) if is_normalized_ideograph(first) => self.signs.push((first, chars.next())),
            Some(_) => self.others = true,
            None => {}
        }
    }

    /// Goes through the candidates of a text in order; says of each whether letters stand between it and the one
    /// before.
    pub(crate) fn candidates(&self, text: &str, mut each: impl FnMut(Range<usize>, bool)) {
        if self.others {
            return each(0..text.len(), false);
        }
        let bytes = text.as_bytes();
        let (mut start, mut at) = (0, 0);
        let (mut letters, mut sought, mut apart) = (false, false, false);
        let mut before = PreviousLetter::Nothing;
        while let Some(byte) = bytes.get(at) {
            let mut ends = false;
            match byte {
                b' ' | b'\n' | b'\t' | b'\r' => ends = true,
                b'a'..=b'z' | b'0'..=b'9' => {
                    letters = true;
                    sought = sought || before == PreviousLetter::Nothing && self.is_word(&bytes[at..]);
                    before = PreviousLetter::Small;
                    // The rest of the word tells nothing more.
                    while bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase) {
                        at += 1;
                    }
                }
                b'A'..=b'Z' => {
                    letters = true;
                    sought = sought || before != PreviousLetter::Capital && self.is_word(&bytes[at..]);
                    before = PreviousLetter::Capital;
                }
                0..0x80 => before = PreviousLetter::Nothing,
                _ => {
                    let sign = text[at..].chars().next().unwrap_or_default();
                    at += sign.len_utf8() - 1;
                    match sign {
                        '、' | '。' | '\u{3000}' => ends = true,
                        '\u{2013}' | '\u{2014}' | '\u{2018}'..='\u{201d}' | '「' | '」' => {
                            before = PreviousLetter::Nothing;
                        }
                        sign if is_normalized_ideograph(sign) => {
                            letters = true;
                            sought = sought || self.is_sign(sign, &text[at + 1..]);
                            before = PreviousLetter::Nothing;
                        }
                        // A small letter inside a word; whatever begins with an accent may be without one elsewhere.
                        '\u{df}'..='\u{f6}' | '\u{f8}'..='\u{ff}' if before != PreviousLetter::Nothing => {
                            before = PreviousLetter::Small;
                        }
                        _ => {
                            sought = true;
                            before = PreviousLetter::Small;
                        }
                    }
                }
            }
            at += 1;
            if ends || at == bytes.len() {
                if sought {
                    each(start..at, apart);
                }
                apart = !sought && (apart || letters);
                (start, letters, sought, before) = (at, false, false, PreviousLetter::Nothing);
            }
        }
    }

    /// Whether something that is looked for may begin here.
    #[inline]
    fn is_word(&self, text: &[u8]) -> bool {
        self.firsts[text[0].to_ascii_lowercase() as usize] && self.words.iter().any(|word| may_begin(text, word))
    }

    fn is_sign(&self, sign: char, rest: &str) -> bool {
        let next = rest.chars().next();
        let may_follow =
            |wanted: Option<char>| wanted.is_none() || wanted == next || !next.is_some_and(is_normalized_ideograph);
        self.signs.iter().any(|(first, second)| *first == sign && may_follow(*second))
    }
}

/// Whether a text begins with a word, or may do so once it is analysed.
fn may_begin(text: &[u8], word: &[u8]) -> bool {
    for (place, letter) in word.iter().enumerate() {
        match text.get(place) {
            None | Some(b' ' | b'\n' | b'\t' | b'\r') => return false,
            Some(there) if there.is_ascii_alphanumeric() => {
                if there.to_ascii_lowercase() != *letter {
                    return false;
                }
            }
            // A joint, or a letter that is not what it seems.
            Some(_) => return true,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::query::Query;
    use crate::index::snippet::clauses;
    use crate::index::stems::StemCache;

    /// Candidates with a stroke before those that letters part from the one before.
    fn check(query: &str, text: &str, expected: &str) {
        let query = Query::read(query);
        let mut stems = StemCache::default();
        let mut found = Vec::new();
        Prefilter::of(&clauses(&query, &mut stems)).candidates(text, |span, apart| {
            found.push(format!("{}{}", if apart { "|" } else { "" }, text[span].trim()));
        });
        assert_eq!(found.join(" "), expected, "{query:?} in {text:?}");
    }

    #[test]
    fn only_what_may_match_is_a_candidate() {
        check("policy", "retry Policy — x policies — polish poll", "|Policy |policies polish");
        check("policy", "retryPolicy apple e-policy po-licy pony", "retryPolicy |e-policy po-licy");
        check("exito", "Éxito canción exótico", "Éxito |exótico");
        check("検索", "全文、検索 か\u{3099} 検討、検", "|検索 か\u{3099} |検");
        check("й", "a b", "a b");
        check("a", "", "");
    }
}
