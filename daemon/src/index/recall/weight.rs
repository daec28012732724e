//! What words and pairs of signs are worth in a recall: BM25 with IDF over items, where words of the language itself,
//! question words, particles and endings decide nothing.

use crate::index::rank::rarity;
use crate::index::tokenize::is_unsegmented;

/// A word in the title, the names or the tags, where one in the text is worth 1.
pub(super) const LABEL_WEIGHT: f32 = 1.6;
/// A word with the same stem.
pub(super) const STEM_WEIGHT: f32 = 0.3;
/// Two words for a joined one, and the other way round.
pub(super) const JOINED_WEIGHT: f32 = 0.8;
/// What is left of a word that only begins as it was typed, or was typed with one or two faults.
pub(super) const PREFIX_WEIGHT: f32 = 0.5;
pub(super) const TYPO_WEIGHTS: [f32; 2] = [0.7, 0.5];
/// Words of the language itself and endings are worth so much at most.
const MAX_FUNCTION_WORD_IDF: f32 = 0.1;
/// A pair of which one sign is hiragana is mostly grammar.
const MIXED_PAIR_FACTOR: f32 = 0.5;

/// Words that ask, join or point, in English and Spanish, without accents, in order.
const FUNCTION_WORDS: &[&str] = &[
    "a", "about", "again", "al", "algo", "algun", "alguna", "alli", "am", "an", "and", "any", "aqui", "are", "as",
    "asi", "at", "aun", "be", "because", "been", "being", "but", "by", "can", "como", "con", "could", "cual", "cuales",
    "cuando", "cuanta", "cuantas", "cuanto", "cuantos", "cuyo", "de", "del", "desde", "did", "do", "does", "doing",
    "don", "donde", "el", "ella", "ellos", "en", "entre", "era", "es", "esa", "ese", "eso", "esta", "estaba", "estado",
    "estamos", "estan", "este", "esto", "for", "from", "fue", "get", "hace", "hacer", "hacia", "had", "han", "has",
    "hasta", "have", "hay", "he", "her", "here", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just",
    "know", "la", "las", "le", "les", "lo", "los", "mas", "may", "me", "mi", "might", "much", "mucho", "must", "muy",
    "my", "need", "no", "nos", "nosotros", "not", "nuestra", "nuestro", "o", "of", "on", "only", "or", "our", "out",
    "para", "pero", "por", "porque", "pues", "que", "quien", "quienes", "s", "se", "sea", "ser", "shall", "she",
    "should", "si", "sin", "so", "sobre", "solo", "some", "son", "su", "supposed", "sus", "t", "tambien", "tenemos",
    "tengo", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "tiene",
    "tienen", "to", "too", "un", "una", "unas", "uno", "unos", "us", "use", "used", "was", "we", "were", "what",
    "when", "where", "whether", "which", "while", "who", "whom", "whose", "why", "will", "with", "would", "y", "ya",
    "yo", "you", "your",
];

/// How telling a word or a pair of signs is that so many of so many items have, by what it is.
pub(super) fn idf_of(text: &str, item_freq: usize, items: usize) -> f32 {
    let idf = rarity(item_freq as u64, items as u64);
    let signs = text.chars().filter(|sign| is_unsegmented(*sign)).count();
    let hiragana = text.chars().filter(|sign| is_hiragana(*sign)).count();
    match signs {
        0 if is_function_word(text) => idf.min(MAX_FUNCTION_WORD_IDF),
        0 => idf,
        _ if hiragana == signs => idf.min(MAX_FUNCTION_WORD_IDF),
        _ if hiragana > 0 => idf * MIXED_PAIR_FACTOR,
        _ => idf,
    }
}

pub(super) fn is_function_word(folded: &str) -> bool {
    FUNCTION_WORDS.binary_search(&folded).is_ok()
}

fn is_hiragana(sign: char) -> bool {
    matches!(sign, '\u{3041}'..='\u{309f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_words_are_in_order() {
        assert!(FUNCTION_WORDS.is_sorted());
        assert!(is_function_word("how") && is_function_word("donde") && !is_function_word("retry"));
    }

    #[test]
    fn one_rare_word_outweighs_what_most_items_have() {
        for items in [4, 12, 100, 10_000] {
            assert!(rarity(1, items) > 10.0 * rarity(items * 2 / 3, items), "{items}");
        }
        assert!(idf_of("where", 1, 1000) < idf_of("retry", 500, 2000));
        assert!(idf_of("です", 1, 1000) < idf_of("索が", 1, 1000) && idf_of("索が", 1, 1000) < idf_of("検索", 1, 1000));
    }
}
