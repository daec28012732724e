//! Text made comparable: compatibility forms and case folded away. What is found in the folded text is shown as it
//! stands in the original.

use std::ops::Range;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// A letter with more marks than fit into so many bytes is cut in two.
const MAX_FOLDED_BLOCK_BYTES: usize = 256;

/// An original and its folded form.
#[derive(Debug)]
pub struct Folded {
    pub(crate) original: String,
    /// None if nothing is folded in it.
    folded: Option<String>,
    /// Of the folded form.
    pub(crate) chars: usize,
}

impl Folded {
    /// Folds a text.
    pub fn of(original: String) -> Self {
        let folded = fold_for_search(&original);
        let chars = folded.chars().count();
        let folded = (folded != original).then_some(folded);
        Self { original, folded, chars }
    }

    /// As it is compared.
    pub fn folded(&self) -> &str {
        self.folded.as_deref().unwrap_or(&self.original)
    }

    /// About how many bytes of memory it takes.
    pub fn memory_bytes(&self) -> usize {
        self.original.len() + self.folded.as_ref().map_or(0, String::len)
    }

    /// Where the original holds what stands in this range of the folded form. Where several letters fold to one, all
    /// of them belong to it.
    pub fn unfolded(&self, range: &Range<usize>) -> Range<usize> {
        if self.folded.is_none() {
            return range.clone();
        }
        let (mut at, mut found) = (0, 0..self.original.len());
        for piece in pieces(&self.original) {
            let length = folded_len(&self.original[piece.clone()]);
            if at <= range.start {
                found.start = piece.start;
            }
            at += length;
            if at >= range.end {
                found.end = piece.end;
                return found;
            }
        }
        found
    }
}

/// NFKC and lower case, letter by letter: what a letter becomes does not depend on where its word ends.
pub fn fold_for_search(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkc().flat_map(char::to_lowercase).collect()
}

/// How long a piece is when it is folded.
fn folded_len(piece: &str) -> usize {
    let mut letters = piece.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if letter.is_ascii() => 1,
        (Some(letter), None) if begins_always(letter) => letter.to_lowercase().map(char::len_utf8).sum(),
        _ => piece.nfkc().flat_map(char::to_lowercase).map(char::len_utf8).sum(),
    }
}

/// Pieces of a text that fold independently of each other, found as they are asked for.
fn pieces(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let mut letters = text[start..].char_indices();
        letters.next()?;
        // A letter that normalising changes may join what stands before it, or stand alone.
        let begins = |at: usize, letter: char| {
            letter.is_ascii() || begins_always(letter) || stands_alone(&text[start..start + at], letter)
        };
        let end = letters.find(|(at, letter)| begins(*at, *letter)).map_or(text.len(), |(at, _)| start + at);
        let piece = start..end;
        start = end;
        Some(piece)
    })
}

/// A letter that normalising neither changes nor joins to anything before it.
fn begins_always(letter: char) -> bool {
    canonical_combining_class(letter) == 0 && is_nfkc_quick(std::iter::once(letter)) == IsNormalized::Yes
}

fn stands_alone(before: &str, letter: char) -> bool {
    // So many marks on one letter are nobody's writing; nor is it worth the time to be exact about them.
    if before.len() > MAX_FOLDED_BLOCK_BYTES {
        return true;
    }
    let first = std::iter::once(letter).nfkd().next().unwrap_or(letter);
    if canonical_combining_class(first) != 0 {
        return false;
    }
    let joined = before.chars().chain([letter]).nfkc();
    joined.eq(before.nfkc().chain(std::iter::once(letter).nfkc()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Finds the folded needle, and expects what stands there in the original.
    fn check(text: &str, needle: &str, expected: &str) {
        let folded = Folded::of(text.to_owned());
        let needle = fold_for_search(needle);
        let at = folded.folded().find(&needle).expect("it is there");
        assert_eq!(&text[folded.unfolded(&(at..at + needle.len()))], expected, "{text} {needle}");
    }

    #[test]
    fn widths_cases_and_marks_fold() {
        check("Ｔｅｓｔ データ", "test", "Ｔｅｓｔ");
        check("Ｔｅｓｔ データ", "es", "ｅｓ");
        check("ﾃﾞｰﾀ ﾍﾞｰｽ", "データ", "ﾃﾞｰﾀ");
        check("か\u{3099}く", "がく", "か\u{3099}く");
        check("a\u{308}b", "b", "b");
        check("①②③", "2", "②");
        check("ΟΔΟΣ", "οδοσ", "ΟΔΟΣ");
        check("plain", "AI", "ai");
        check("株式会社㈱", "(株)", "㈱");
    }

    #[test]
    fn a_heap_of_marks_takes_no_time() {
        let text = format!("Ａ{}needle", "\u{301}".repeat(200_000));
        check(&text, "needle", "needle");
    }

    proptest! {
        #[test]
        fn pieces_fold_as_the_whole_does(text in "[a-zＡ-Ｚぁ-ゖｦ-ﾟ\u{300}-\u{30f}\u{3099}가-갏ᄀ-하-ᅵㄱ-ㅎ①-⑩ßΣİ㌀-㌏ ]{0,20}") {
            let whole = fold_for_search(&text);
            let apart: String = pieces(&text).map(|piece| fold_for_search(&text[piece])).collect();
            prop_assert_eq!(&whole, &apart);
            let lengths: usize = pieces(&text).map(|piece| folded_len(&text[piece])).sum();
            prop_assert_eq!(whole.len(), lengths);
        }
    }
}
