//! A title as part of a file's name: lower case, words joined by hyphens, letters of every script kept.

use super::folding::without_accents;

/// At most so many bytes, cut at the end of a word if there is one; empty if the title has no letter or digit.
pub fn slug(title: &str, longest: usize) -> String {
    let mut slug = String::new();
    for character in without_accents(title).to_lowercase().chars() {
        if character.is_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.len() <= longest {
        return slug.to_owned();
    }
    let end = slug.floor_char_boundary(longest);
    let cut = &slug[..end];
    match cut.rfind('-') {
        // What follows the cut begins a word, so the last word is whole.
        _ if slug[end..].starts_with('-') => cut.to_owned(),
        Some(word) => cut[..word].to_owned(),
        None => cut.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(title: &str, longest: usize, expected: &str) {
        assert_eq!(slug(title, longest), expected, "{title:?}");
    }

    #[test]
    fn words_are_joined_and_cut_where_they_end() {
        check("Diseñar schema SQLite", 80, "disenar-schema-sqlite");
        check("Migración: (fase 3) — ¿cuándo?", 80, "migracion-fase-3-cuando");
        check("設定画面を直す", 80, "設定画面を直す");
        check("ガイドを読む！", 80, "ガイドを読む");
        check("ＡＢＣ①", 80, "abc1");
        check("  --  ", 80, "");
        check("🦀", 80, "");
        check("one two three", 7, "one-two");
        check("one two three", 8, "one-two");
        check("one two three", 6, "one");
        check("uninterrupted", 5, "unint");
        check("設定画面", 7, "設定");
    }
}
