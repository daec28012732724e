//! Which stretches of a text a query may match in, told by the letters with which its words begin.
//!
//! Most of a text has nothing to do with a query, and finding that out must be cheap: one look at each letter. What
//! this is not sure about counts as a candidate, so that nothing is missed; analysis has the last word.

use std::ops::Range;

use super::analyse::is_plain_sign;
use super::query::{Clause, Query};

/// The letters and signs with which something that is looked for begins.
#[derive(Debug)]
pub struct Leads {
    ascii: [bool; 128],
    signs: Vec<char>,
    /// Something begins with a letter of another kind: then everything is a candidate.
    others: bool,
}

/// What stands between two blanks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// No letter.
    Empty,
    /// Letters, but nothing that is looked for.
    Other,
    /// Perhaps something that is looked for.
    Candidate,
}

/// What came before a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Small,
    Capital,
}

impl Leads {
    /// Of a query.
    pub fn of(query: &Query) -> Self {
        let mut leads = Self { ascii: [false; 128], signs: Vec::new(), others: false };
        for clause in query.clauses() {
            match clause {
                Clause::Word { folded, .. } => leads.add(folded),
                Clause::Prefix(prefix) => leads.add(prefix),
                Clause::Phrase { parts, joined, .. } => {
                    parts.iter().for_each(|(_, part)| leads.add(part));
                    joined.iter().for_each(|joined| leads.add(joined));
                }
            }
        }
        leads
    }

    /// Makes a candidate of every stretch.
    #[cfg(test)]
    pub fn everything() -> Self {
        Self { ascii: [false; 128], signs: Vec::new(), others: true }
    }

    fn add(&mut self, word: &str) {
        match word.chars().next() {
            Some(first) if first.is_ascii() => self.ascii[first as usize] = true,
            Some(first) if is_plain_sign(first) => self.signs.push(first),
            Some(_) => self.others = true,
            None => {}
        }
    }

    /// Goes through the stretches of a text in order.
    pub fn runs(&self, text: &str, each: &mut dyn FnMut(Range<usize>, Run)) {
        if self.others {
            return each(0..text.len(), Run::Candidate);
        }
        let bytes = text.as_bytes();
        let (mut start, mut at) = (0, 0);
        let (mut run, mut before) = (Run::Empty, Before::Nothing);
        while let Some(byte) = bytes.get(at) {
            let mut ends = false;
            match byte {
                b' ' | b'\n' | b'\t' | b'\r' => ends = true,
                b'a'..=b'z' | b'0'..=b'9' => {
                    run = self.letter(*byte, before == Before::Nothing, run);
                    before = Before::Small;
                    // The rest of the word tells nothing more.
                    while bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase) {
                        at += 1;
                    }
                }
                b'A'..=b'Z' => {
                    run = self.letter(byte.to_ascii_lowercase(), before != Before::Capital, run);
                    before = Before::Capital;
                }
                0..0x80 => before = Before::Nothing,
                _ => {
                    let sign = text[at..].chars().next().unwrap_or_default();
                    at += sign.len_utf8() - 1;
                    match sign {
                        '、' | '。' | '\u{3000}' => ends = true,
                        '\u{2013}' | '\u{2014}' | '\u{2018}'..='\u{201d}' | '「' | '」' => before = Before::Nothing,
                        sign if is_plain_sign(sign) => {
                            let is_sought = self.signs.contains(&sign);
                            run = if is_sought { Run::Candidate } else { run.with_letters() };
                            before = Before::Nothing;
                        }
                        // A small letter inside a word; whatever begins with an accent may be without one elsewhere.
                        '\u{df}'..='\u{f6}' | '\u{f8}'..='\u{ff}' if before != Before::Nothing => {
                            before = Before::Small;
                        }
                        _ => {
                            run = Run::Candidate;
                            before = Before::Small;
                        }
                    }
                }
            }
            at += 1;
            if ends {
                each(start..at, run);
                (start, run, before) = (at, Run::Empty, Before::Nothing);
            }
        }
        each(start..at, run);
    }

    #[inline]
    fn letter(&self, low: u8, begins: bool, run: Run) -> Run {
        if begins && self.ascii[low as usize] { Run::Candidate } else { run.with_letters() }
    }
}

impl Run {
    #[inline]
    fn with_letters(self) -> Self {
        if self == Self::Empty { Self::Other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, text: &str, expected: &[(&str, Run)]) {
        let mut found = Vec::new();
        Leads::of(&Query::read(query)).runs(text, &mut |span, run| found.push((text[span].trim(), run)));
        found.retain(|(text, _)| !text.is_empty());
        assert_eq!(found, expected, "{query:?} in {text:?}");
    }

    #[test]
    fn only_what_may_match_is_a_candidate() {
        use Run::{Candidate, Empty, Other};
        check("policy", "retry Policy — x", &[("retry", Other), ("Policy", Candidate), ("—", Empty), ("x", Other)]);
        check(
            "policy",
            "retryPolicy apple e-policy",
            &[("retryPolicy", Candidate), ("apple", Other), ("e-policy", Candidate)],
        );
        check("exito", "Éxito canción", &[("Éxito", Candidate), ("canción", Other)]);
        check("検索", "全文、検索 か\u{3099}", &[("全文、", Other), ("検索", Candidate), ("か\u{3099}", Candidate)]);
        check("й", "a b", &[("a b", Candidate)]);
    }
}
