//! White space, lines and order as the format means them, which is how JavaScript means them.
//!
//! Text comes in, parts of it go out. Rust's own trimming differs in U+0085 and U+FEFF, its own order in characters
//! above U+FFFF, so neither is used for what a plan holds.

use std::cmp::Ordering;

/// Whether a character is white space.
pub fn is_space(character: char) -> bool {
    matches!(character,
        '\u{9}'..='\u{d}' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}'
        | '\u{205f}' | '\u{3000}' | '\u{feff}')
}

/// Whether a character ends a line for a pattern's dot.
pub fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Without white space at both ends.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Whether there is nothing but white space.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}

/// By UTF-16 code units.
pub fn by_units(a: &str, b: &str) -> Ordering {
    let common = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    // Where the first difference is inside a character, that whole character differs.
    let start = (0..=common).rev().find(|&at| a.is_char_boundary(at)).unwrap_or(0);
    match (a.get(start..).and_then(|rest| rest.chars().next()), b.get(start..).and_then(|rest| rest.chars().next())) {
        (Some(a), Some(b)) => unit(a).cmp(&unit(b)),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

/// A number that sorts as the character's first code unit does: surrogates stand below U+E000.
fn unit(character: char) -> (u8, char) {
    let class = match character {
        '\u{10000}'.. => 1,
        '\u{e000}'.. => 2,
        _ => 0,
    };
    (class, character)
}

/// Lines with their numbers from 1: LF or CRLF ends one; an empty rest after the last end is none.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = (!text.is_empty()).then_some(text);
    let mut number = 0;
    std::iter::from_fn(move || {
        let whole = rest.take()?;
        number += 1;
        let line = match whole.split_once('\n') {
            Some((line, after)) => {
                rest = (!after.is_empty()).then_some(after);
                line.strip_suffix('\r').unwrap_or(line)
            }
            None => whole,
        };
        Some((number, line))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn white_space_is_javascript_s() {
        let spaces: Vec<u32> =
            (0..=0x10ffff).filter_map(char::from_u32).filter(|c| is_space(*c)).map(u32::from).collect();
        let mut expected: Vec<u32> = (9..=13).chain([0x20, 0xa0, 0x1680]).chain(0x2000..=0x200a).collect();
        expected.extend([0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff]);
        assert_eq!(spaces, expected);
        assert_eq!(trim("\u{feff} a\u{85} \t"), "a\u{85}");
        assert!(is_blank(" \u{3000}") && is_blank("") && !is_blank("\u{85}"));
    }

    fn check_lines(text: &str, expected: &[&str]) {
        let found: Vec<&str> = lines(text).map(|(_, line)| line).collect();
        assert_eq!(found, expected, "{text:?}");
        assert!(lines(text).zip(1..).all(|((number, _), expected)| number == expected));
    }

    #[test]
    fn one_last_line_end_is_free() {
        check_lines("", &[]);
        check_lines("\n", &[""]);
        check_lines("a", &["a"]);
        check_lines("a\n", &["a"]);
        check_lines("a\n\n", &["a", ""]);
        check_lines("a\r\nb\rc\n\r\n", &["a", "b\rc", ""]);
        check_lines("a\r", &["a\r"]);
    }

    #[test]
    fn order_is_by_code_units() {
        let mut words = ["a", "Z", "10", "9", "a/b", "a-b", "\u{10000}", "\u{ffff}", "\u{d7ff}", "", "ab"];
        words.sort_by(|a, b| by_units(a, b));
        assert_eq!(words, ["", "10", "9", "Z", "a", "a-b", "a/b", "ab", "\u{d7ff}", "\u{10000}", "\u{ffff}"]);
    }

    proptest! {
        #[test]
        fn order_is_that_of_utf_16(a in "[a-c\u{e000}\u{ffff}\u{10000}-\u{10003}é]{0,4}", b in "[a-c\u{e000}\u{ffff}\u{10000}-\u{10003}é]{0,4}") {
            let (left, right): (Vec<u16>, Vec<u16>) = (a.encode_utf16().collect(), b.encode_utf16().collect());
            prop_assert_eq!(by_units(&a, &b), left.cmp(&right));
        }
    }
}
