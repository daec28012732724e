//! The headings of a text and the sections below them. Only headings with hashes count, and none in code.

use std::ops::Range;

use super::code_fences::lines;
use super::folding::fold_word;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading<'a> {
    /// From 1 to 6.
    pub level: usize,
    /// Without the leading hashes.
    pub text: &'a str,
    /// Where its line begins, in bytes.
    pub start: usize,
    /// Where the next line begins.
    pub end: usize,
}

/// All headings, in order.
pub fn headings(text: &str) -> impl Iterator<Item = Heading<'_>> {
    lines(text).filter(|line| !line.is_code).filter_map(|line| {
        let (level, text) = heading(line.text)?;
        Some(Heading { level, text, start: line.start, end: line.end })
    })
}

/// Level and text of a line that is a heading.
pub fn heading(line: &str) -> Option<(usize, &str)> {
    let indented = line.trim_start_matches(' ');
    let rest = indented.trim_start_matches('#');
    let level = indented.len() - rest.len();
    let is_heading = line.len() - indented.len() <= 3 && (1..=6).contains(&level);
    if !is_heading || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let text = rest.trim();
    let bare = text.trim_end_matches('#');
    // Hashes at the end close a heading if a blank stands before them.
    let text = if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim_end() } else { text };
    Some((level, text))
}

/// The first section of the second level with one of these names, the first name that there is: its lines up to the
/// next heading of the same or a higher level, without blank lines around them. Names are compared without case and
/// accents.
pub fn section<'a>(text: &'a str, names: &[&str]) -> Option<&'a str> {
    let all: Vec<Heading<'_>> = headings(text).collect();
    names.iter().find_map(|name| {
        let name = fold_word(name);
        let place = all.iter().position(|heading| heading.level == 2 && fold_word(heading.text) == name)?;
        let after = all[place + 1..].iter().find(|heading| heading.level <= 2);
        let range = all[place].end..after.map_or(text.len(), |heading| heading.start);
        Some(&text[without_blank_lines(text, range)])
    })
}

/// The same range without blank lines at its beginning and without blanks at its end.
pub fn without_blank_lines(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let kept = part.trim_end();
    let inner = kept.trim_start();
    // The first line keeps its indentation: it may be code, or an item of a list.
    let skipped = kept.len() - inner.len();
    let skipped = kept[..skipped].rfind('\n').map_or(0, |end| end + 1);
    range.start + skipped..range.start + kept.len().max(skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(usize, &str)]) {
        let seen: Vec<(usize, &str)> = headings(text).map(|heading| (heading.level, heading.text)).collect();
        assert_eq!(seen, expected, "{text:?}");
    }

    #[test]
    fn headings_lose_their_hashes() {
        for (line, expected) in [
            ("## SPEC", Some((2, "SPEC"))),
            ("##  受入 条件  ##", Some((2, "受入 条件"))),
            ("   ## a", Some((2, "a"))),
            ("    ## a", None),
            ("## C#", Some((2, "C#"))),
            ("## a # b #", Some((2, "a # b"))),
            ("##", Some((2, ""))),
            ("## ##", Some((2, ""))),
            ("##a", None),
            ("####### a", None),
            ("#\ta", Some((1, "a"))),
        ] {
            assert_eq!(heading(line), expected, "{line}");
        }
    }

    #[test]
    fn headings_have_hashes_and_are_no_code() {
        check("# A\n## B ##\n###\n#C\n####### D\n", &[(1, "A"), (2, "B"), (3, "")]);
        check("   # A\n    # B\n#\tC#\n", &[(1, "A"), (1, "C#")]);
        check("```\n# no\n```\n# yes\r\n", &[(1, "yes")]);
        check("# #\n## 目的", &[(1, ""), (2, "目的")]);
    }

    fn check_section(text: &str, names: &[&str], expected: Option<&str>) {
        assert_eq!(section(text, names), expected, "{text:?} {names:?}");
    }

    #[test]
    fn a_section_ends_at_the_next_of_its_level() {
        let text = "# T\n\n## Objective\n\n  one\n### deeper\ntwo\n\n## Decisión\nthree\n# U\nfour";
        check_section(text, &["objective"], Some("  one\n### deeper\ntwo"));
        check_section(text, &["none", "DECISION"], Some("three"));
        check_section(text, &["deeper"], None);
        check_section(text, &["T"], None);
        check_section("## A\n\n\n## B", &["A"], Some(""));
        check_section("## A\n```\n## B\n```\nx\n", &["a"], Some("```\n## B\n```\nx"));
        check_section("## A\r\none\r\ntwo\r\n\r\n## B", &["A"], Some("one\r\ntwo"));
        check_section("## 目的\n直す\n", &["Objective", "Objetivo", "目的"], Some("直す"));
    }
}
