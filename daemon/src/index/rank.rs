//! Scores: BM25 × the family's boost × how recent the document is.

use tantivy::fieldnorm::FieldNormReader;

/// How fast more of the same word stops counting.
const BM25_K1: f32 = 1.2;
/// How much a long text counts against a word in it.
const BM25_B: f32 = 0.75;
/// What a word in the title or the name of the file is worth, where one in the text is worth 1.
pub(crate) const NAME_WEIGHT: f32 = 0.4;
/// What a word with the same English or Spanish stem is worth, where the word itself is worth 1. Most inflections share
/// both stems and count twice; together they must stay below the word itself with other accents.
pub(crate) const STEM_WEIGHT: f32 = 0.15;
/// What a word loses that is spelt with other accents.
const ACCENT_PENALTY: f32 = 0.4;

/// The statistics of everything that can be found, overlay documents included.
#[derive(Debug, Clone)]
pub(crate) struct Statistics {
    chunk_count: f32,
    /// BM25's length term, by tantivy's field norm id.
    length_norms: Box<[f32; 256]>,
}

impl Statistics {
    /// From the number of chunks and of their tokens.
    pub(crate) fn new(chunk_count: u64, token_count: u64) -> Self {
        Self::with_shortest(chunk_count, token_count, 0)
    }

    /// The same, where chunks with fewer tokens count as if they had so many.
    pub(crate) fn with_shortest(chunk_count: u64, token_count: u64, shortest: u32) -> Self {
        let average = (token_count as f32 / chunk_count.max(1) as f32).max(1.0);
        let length_norm = |norm: usize| {
            let length = FieldNormReader::id_to_fieldnorm(norm as u8).max(shortest) as f32;
            BM25_K1 * (1.0 - BM25_B + BM25_B * length / average)
        };
        Self { chunk_count: chunk_count as f32, length_norms: Box::new(std::array::from_fn(length_norm)) }
    }

    /// How telling a term is that stands in `doc_freq` chunks.
    pub(crate) fn idf(&self, doc_freq: u64) -> f32 {
        let doc_freq = (doc_freq as f32).min(self.chunk_count);
        (1.0 + (self.chunk_count - doc_freq + 0.5) / (doc_freq + 0.5)).ln()
    }

    /// BM25's part for `term_freq` occurrences in a chunk with this field norm id.
    pub(crate) fn tf_score(&self, term_freq: f32, norm: u8) -> f32 {
        term_freq * (BM25_K1 + 1.0) / (term_freq + self.length_norms[norm as usize])
    }

    /// `tf_score` for a field whose length does not count.
    pub(crate) fn tf_score_without_length(term_freq: f32) -> f32 {
        term_freq * (BM25_K1 + 1.0) / (term_freq + BM25_K1)
    }
}

/// What is left of a word's worth, if only some of its occurrences have the accents of the query.
pub(crate) fn spelling_factor(term_freq: u32, as_typed: u32) -> f32 {
    let share = as_typed.min(term_freq) as f32 / term_freq.max(1) as f32;
    1.0 - ACCENT_PENALTY * (1.0 - share)
}

/// What a document that changed on `day` is worth on `today`; both count days from one epoch.
pub(crate) fn recency(today: i32, day: i32) -> f32 {
    match today.saturating_sub(day) {
        ..=1 => 2.0,
        2..=7 => 1.5,
        8..=30 => 1.2,
        31..=90 => 1.0,
        _ => 0.8,
    }
}

/// Rarity is never less: what all have still tells equals apart.
const MIN_RARITY: f32 = 0.02;

/// How telling something is that so many of all have. What most of them have tells next to nothing.
pub(crate) fn rarity(freq: u64, all: u64) -> f32 {
    let (freq, all) = (freq.min(all) as f32, all as f32);
    ((all - freq + 0.5) / (freq + 0.5)).max(1.0).ln().max(MIN_RARITY)
}

/// What is left of a score if only some of what was looked for is there: both are sums of how telling that is.
pub(crate) fn coverage_factor(found: f32, wanted: f32) -> f32 {
    let share = (found / wanted.max(f32::MIN_POSITIVE)).min(1.0);
    share * share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_often_in_short_texts_are_worth_most() {
        let statistics = Statistics::new(1000, 100_000);
        assert!(statistics.idf(1) > statistics.idf(10) && statistics.idf(1000) > 0.0);
        let norm = FieldNormReader::fieldnorm_to_id;
        assert!(statistics.tf_score(2.0, norm(100)) > statistics.tf_score(1.0, norm(100)));
        assert!(statistics.tf_score(1.0, norm(10)) > statistics.tf_score(1.0, norm(1000)));
        let average = statistics.tf_score(1.0, norm(100));
        assert!((average - 1.0).abs() < 0.05, "a text of about average length: {average}");
    }

    #[test]
    fn days_and_spellings() {
        let check = |days: i32, expected: f32| assert_eq!(recency(1000, 1000 - days), expected, "{days}");
        [(-5, 2.0), (1, 2.0), (2, 1.5), (7, 1.5), (30, 1.2), (31, 1.0), (90, 1.0), (91, 0.8)]
            .into_iter()
            .for_each(|(days, expected)| check(days, expected));
        assert_eq!(spelling_factor(2, 2), 1.0);
        assert!(spelling_factor(2, 1) < 1.0 && spelling_factor(2, 0) < spelling_factor(2, 1));
    }
}
