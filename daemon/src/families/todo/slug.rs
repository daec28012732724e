//! A title → the part of a file name that says what the record is about, in whatever script it is written.

use unicode_normalization::UnicodeNormalization;

const MAX_SLUG_CHARS: usize = 60;
const MAX_SLUG_BYTES: usize = 180;

/// Letters and digits of any script, joined by `-`; nothing in it can leave a directory.
pub fn slug(title: &str) -> String {
    let folded: String = title.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    let words: Vec<&str> =
        folded.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let slug: String = words.join("-").chars().take(MAX_SLUG_CHARS).collect();
    let slug = slug[..slug.floor_char_boundary(MAX_SLUG_BYTES)].trim_end_matches('-');
    if slug.is_empty() { "untitled".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(title: &str, expected: &str) {
        assert_eq!(slug(title), expected, "{title}");
    }

    #[test]
    fn every_script_keeps_its_letters() {
        check("Use PostgreSQL 16", "use-postgresql-16");
        check("認証方式: トークン（署名）を選ぶ", "認証方式-トークン-署名-を選ぶ");
        check("Ｆｕｌｌ　Ｗｉｄｔｈ", "full-width");
        check("Straße & Ñandú", "straße-ñandú");
        check("हिन्दी", "हिन-दी");
    }

    #[test]
    fn nothing_leads_out_of_a_directory() {
        check("../../etc/passwd", "etc-passwd");
        check("a/b\\c:d.e", "a-b-c-d-e");
        check("..", "untitled");
        check(" 。！? ", "untitled");
        check("a\0b", "a-b");
    }

    #[test]
    fn a_slug_has_its_limits() {
        check(&"x".repeat(99), &"x".repeat(60));
        check(&"あ".repeat(99), &"あ".repeat(60));
        check(&"𠮷".repeat(99), &"𠮷".repeat(45));
        check(&format!("{} b", "x".repeat(59)), &"x".repeat(59));
    }
}
