//! What a hit is worth: bm25 × what the family says × how recent it is.

use tantivy::fieldnorm::FieldNormReader;

/// How fast more of the same word stops to count.
const K1: f32 = 1.2;
/// How much a long text counts against a word in it.
const B: f32 = 0.75;
/// A word in the title or the name of the file, against one in the text.
pub const NAME_WEIGHT: f32 = 0.4;
/// A word with the same stem in one of the two languages, against the word itself. Most relatives share it in both
/// and count twice; that must stay below the word itself in another spelling.
pub const STEM_WEIGHT: f32 = 0.15;
/// What a word loses that is spelt with other accents.
const MISSPELT: f32 = 0.4;

/// The statistics of everything that can be found, fresh documents included.
#[derive(Debug, Clone)]
pub struct Statistics {
    chunks: f32,
    /// What a length means for a word, by the coarse length.
    lengths: Box<[f32; 256]>,
}

impl Statistics {
    /// From the number of chunks and of their pieces.
    pub fn new(chunks: u64, pieces: u64) -> Self {
        let average = (pieces as f32 / chunks.max(1) as f32).max(1.0);
        let length = |norm: usize| {
            let length = FieldNormReader::id_to_fieldnorm(norm as u8) as f32;
            K1 * (1.0 - B + B * length / average)
        };
        Self { chunks: chunks as f32, lengths: Box::new(std::array::from_fn(length)) }
    }

    /// How telling a term is that so many chunks have.
    pub fn telling(&self, having: u64) -> f32 {
        let having = (having as f32).min(self.chunks);
        (1.0 + (self.chunks - having + 0.5) / (having + 0.5)).ln()
    }

    /// What a term is worth that is so often in a chunk of this coarse length.
    pub fn worth(&self, often: f32, norm: u8) -> f32 {
        often * (K1 + 1.0) / (often + self.lengths[norm as usize])
    }

    /// The same where length does not count.
    pub fn worth_in_name(often: f32) -> f32 {
        often * (K1 + 1.0) / (often + K1)
    }
}

/// What is left of a word's worth, if only some of its occurrences are spelt as they were typed.
pub fn spelling(often: u32, as_typed: u32) -> f32 {
    let share = as_typed.min(often) as f32 / often.max(1) as f32;
    1.0 - MISSPELT * (1.0 - share)
}

/// What a document of that day is worth today.
pub fn recency(today: i32, day: i32) -> f32 {
    match today.saturating_sub(day) {
        ..=1 => 2.0,
        2..=7 => 1.5,
        8..=30 => 1.2,
        31..=90 => 1.0,
        _ => 0.8,
    }
}

/// What is left of a score if only some of the things that were looked for are there.
pub fn completeness(found: usize, wanted: usize) -> f32 {
    let share = found as f32 / wanted.max(1) as f32;
    share * share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_often_in_short_texts_are_worth_most() {
        let statistics = Statistics::new(1000, 100_000);
        assert!(statistics.telling(1) > statistics.telling(10) && statistics.telling(1000) > 0.0);
        let norm = FieldNormReader::fieldnorm_to_id;
        assert!(statistics.worth(2.0, norm(100)) > statistics.worth(1.0, norm(100)));
        assert!(statistics.worth(1.0, norm(10)) > statistics.worth(1.0, norm(1000)));
        let average = statistics.worth(1.0, norm(100));
        assert!((average - 1.0).abs() < 0.05, "a text of about average length: {average}");
    }

    #[test]
    fn days_and_spellings() {
        let check = |days: i32, expected: f32| assert_eq!(recency(1000, 1000 - days), expected, "{days}");
        [(-5, 2.0), (1, 2.0), (2, 1.5), (7, 1.5), (30, 1.2), (31, 1.0), (90, 1.0), (91, 0.8)]
            .into_iter()
            .for_each(|(days, expected)| check(days, expected));
        assert_eq!(spelling(2, 2), 1.0);
        assert!(spelling(2, 1) < 1.0 && spelling(2, 0) < spelling(2, 1));
    }
}
