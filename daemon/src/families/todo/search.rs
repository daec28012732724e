//! Words in, the tasks or contexts that hold all of them out, best first. Plain substrings of folded text, never a
//! pattern: Japanese needs no tokenizer that way.

use std::ops::Range;

use super::fold::{Folded, fold_for_search};

/// An excerpt has so many characters at most.
const EXCERPT_CHARS: usize = 200;

/// What is looked for.
#[derive(Debug)]
pub struct Query {
    whole: String,
    terms: Vec<QueryWord>,
}

#[derive(Debug)]
struct QueryWord {
    folded: String,
    chars: usize,
}

/// A text in which something may be found, and what a hit in it is worth.
#[derive(Debug, Clone, Copy)]
pub struct SearchField<'a> {
    pub text: &'a Folded,
    /// From 0 to 1.
    pub memory_bytes: f64,
    /// Whether the whole query, if it is the whole text, counts fully.
    pub whole: bool,
}

/// A document that holds all terms.
#[derive(Debug, PartialEq)]
pub struct TextMatch<T> {
    pub of: T,
    /// Above 0, at most 1, rounded to four places.
    pub score: f64,
    /// The field with the best hit.
    pub field: usize,
}

impl Query {
    /// Splits a query at white space; none if nothing is left.
    pub fn of(query: &str) -> Option<Self> {
        let term = |word: &str| {
            let folded = fold_for_search(word);
            QueryWord { chars: folded.chars().count(), folded }
        };
        let terms: Vec<QueryWord> = query.split_whitespace().map(term).filter(|term| term.chars > 0).collect();
        (!terms.is_empty()).then(|| Self { whole: fold_for_search(query.trim()), terms })
    }

    /// Whether every term is somewhere in the fields, and how well it fits.
    pub fn matches<T>(&self, of: T, fields: &[SearchField<'_>]) -> Option<TextMatch<T>> {
        let (mut sum, mut best) = (0.0, (0.0, 0));
        for term in &self.terms {
            let mut best_of_term = 0.0_f64;
            for (number, field) in
                fields.iter().enumerate().filter(|(_, field)| field.text.folded().contains(&term.folded))
            {
                let share = term.chars as f64 / field.text.chars.max(1) as f64;
                let score = field.memory_bytes * (0.7 + 0.3 * share);
                best_of_term = best_of_term.max(score);
                if score > best.0 {
                    best = (score, number);
                }
            }
            if best_of_term == 0.0 {
                return None;
            }
            sum += best_of_term;
        }
        let whole = |field: &SearchField<'_>| field.whole && field.text.folded().trim() == self.whole;
        let mean = if fields.iter().any(whole) { 1.0 } else { sum / self.terms.len() as f64 };
        Some(TextMatch { of, score: (mean * 10_000.0).round() / 10_000.0, field: best.1 })
    }

    /// The text around the first hit in it, in its own spelling, on one line.
    pub fn excerpt(&self, text: &Folded) -> String {
        let hits = self.terms.iter().filter_map(|term| {
            let at = text.folded().find(&term.folded)?;
            Some(at..at + term.folded.len())
        });
        let first = hits.min_by_key(|hit| hit.start).unwrap_or(0..0);
        around(&text.original, &text.unfolded(&first))
    }
}

/// Sorts by score; equal ones stay in their order. The best so many, and how many there were.
pub fn best<T>(mut matches: Vec<TextMatch<T>>, limit: usize) -> (Vec<TextMatch<T>>, usize) {
    let total = matches.len();
    matches.sort_by(|a, b| b.score.total_cmp(&a.score));
    matches.truncate(limit);
    (matches, total)
}

/// The hit with as much around it as fits, and `…` where something was cut off.
fn around(text: &str, hit: &Range<usize>) -> String {
    // More than an excerpt on either side is not even looked at.
    let begin = text[..hit.start].char_indices().rev().nth(2 * EXCERPT_CHARS).map_or(0, |(at, _)| at);
    let end = text[hit.end..].char_indices().nth(2 * EXCERPT_CHARS).map_or(text.len(), |(at, _)| hit.end + at);
    let before = one_line(&text[begin..hit.start]);
    let middle = one_line(&text[hit.clone()]);
    let after = one_line(&text[hit.end..end]);
    let room = EXCERPT_CHARS.saturating_sub(middle.len());
    // What one side does not need, the other one may take.
    let left = before.len().min((room / 2).max(room.saturating_sub(after.len())));
    let right = after.len().min(room - left);
    let (cut_left, cut_right) = (left < before.len(), right < after.len());
    // The dots take the place of a letter, if there is one to spare.
    let before = &before[before.len() - left + usize::from(cut_left && left > 0)..];
    let after = &after[..right - usize::from(cut_right && right > 0)];
    let ellipsis = |is_cut: bool| is_cut.then_some('…').into_iter();
    let shown = before.iter().chain(&middle).chain(after).copied();
    ellipsis(cut_left).chain(shown).chain(ellipsis(cut_right)).collect()
}

/// A line break is one space, however it is made.
fn one_line(text: &str) -> Vec<char> {
    text.replace("\r\n", " ").chars().map(|letter| if matches!(letter, '\n' | '\r') { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> Folded {
        Folded::of(text.to_owned())
    }

    fn check(query: &str, title: &str, content: &str, expected: Option<f64>) {
        let (title, content) = (folded(title), folded(content));
        let fields = [
            SearchField { text: &title, memory_bytes: 1.0, whole: true },
            SearchField { text: &content, memory_bytes: 0.7, whole: false },
        ];
        let query = Query::of(query).expect("a query");
        assert_eq!(query.matches((), &fields).map(|found| found.score), expected);
    }

    #[test]
    fn scores_are_the_contract_s() {
        check("abc", "abc", "", Some(1.0));
        check("ABC", "ａｂｃ", "", Some(1.0));
        check("ab", "abcd", "", Some(0.85));
        check("ab", "x", "abcd", Some(0.595));
        // Equal to the whole title, though each word alone is only a part of it.
        check("ab cd", "AB CD", "", Some(1.0));
        check("cd ab", "ab cd", "", Some(0.82));
        check("ab　x", "ab", "x", Some(0.85));
        check("ab y", "ab", "x", None);
        check("a.c", "abc", "", None);
        check("認証", "認証方式", "", Some(0.85));
    }

    #[test]
    fn a_query_of_space_is_none() {
        assert!(Query::of(" 　\n").is_none());
    }

    fn check_excerpt(text: &str, query: &str, expected: &str) {
        assert_eq!(Query::of(query).expect("a query").excerpt(&folded(text)), expected);
    }

    #[test]
    fn excerpts_hold_the_hit_in_its_own_spelling() {
        check_excerpt("Ｔｅｓｔ\r\nof\nit", "test", "Ｔｅｓｔ of it");
        check_excerpt("b a", "a b", "b a");
        let long = format!("{}NEEDLE{}", "あ".repeat(300), "い".repeat(300));
        let excerpt = Query::of("needle").expect("a query").excerpt(&folded(&long));
        assert_eq!(excerpt.chars().count(), 200);
        assert!(excerpt.contains("あNEEDLEい") && excerpt.starts_with("…あ") && excerpt.ends_with("い…"), "{excerpt}");
        let end = format!("{}x", "a".repeat(300));
        check_excerpt(&end, "x", &format!("…{}x", "a".repeat(198)));
        let begin = format!("x{}", "a".repeat(300));
        check_excerpt(&begin, "x", &format!("x{}…", "a".repeat(198)));
        let all = "z".repeat(200);
        check_excerpt(&format!("{all}a"), &all, &format!("{all}…"));
    }

    #[test]
    fn equal_scores_stay_in_order() {
        let of = |of: u8, score: f64| TextMatch { of, score, field: 0 };
        let (found, total) = best(vec![of(1, 0.5), of(2, 0.9), of(3, 0.5)], 2);
        assert_eq!((found.iter().map(|found| found.of).collect::<Vec<_>>(), total), (vec![2, 1], 3));
    }
}
