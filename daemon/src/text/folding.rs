//! Words without case and accents, for comparing: `Decisión` and `DECISION` are one name. Marks of other scripts than
//! Latin stay, because there they make another letter.

use unicode_normalization::UnicodeNormalization as _;

/// Without accents, outer blanks and case.
pub fn fold_word(text: &str) -> String {
    without_accents(text.trim()).to_lowercase()
}

/// Compatible forms joined, accents dropped; kana keep their marks.
pub fn without_accents(text: &str) -> String {
    text.nfkd().filter(|character| !matches!(character, '\u{300}'..='\u{36f}')).nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(fold_word(text), expected, "{text:?}");
    }

    #[test]
    fn accents_and_case_go_and_kana_stay() {
        check(" Decisión ", "decision");
        check("AÑO", "ano");
        check("ガ", "ガ");
        check("か\u{3099}", "が");
        check("ﾊﾟ", "パ");
        check("", "");
    }
}
