//! A document in pieces for searching: one for each section of the first two levels, long ones in several.
//!
//! A text comes in with the place where its body begins; places in that text go out. No piece is longer than the limit
//! and nothing of the text is lost.

use std::ops::Range;

use crate::families::facts::Chunk;
use crate::text::headings::{headings, without_blank_lines};

/// No piece is longer, in characters.
pub const MAX_CHUNK_CHARS: usize = 6000;

/// The pieces of a text, in order.
pub fn pieces(text: &str, body: usize) -> Vec<Chunk> {
    let mut pieces = Vec::new();
    let mut heading: Option<String> = None;
    let mut start = body;
    let tops = headings(&text[body..]).filter(|heading| heading.level <= 2);
    for next in tops {
        section(text, heading.take(), start..body + next.start, &mut pieces);
        heading = Some(format!("{} {}", "#".repeat(next.level), next.text).trim_end().to_owned());
        start = body + next.end;
    }
    section(text, heading, start..text.len(), &mut pieces);
    pieces
}

/// A section in one or more pieces. A heading without text is a piece, too: its words can be found.
fn section(text: &str, heading: Option<String>, range: Range<usize>, pieces: &mut Vec<Chunk>) {
    let range = without_blank_lines(text, range);
    if range.is_empty() {
        pieces.extend(heading.is_some().then_some(Chunk { heading, content: range, boost: 1.0 }));
        return;
    }
    if text[range.clone()].chars().nth(MAX_CHUNK_CHARS).is_none() {
        pieces.push(Chunk { heading, content: range, boost: 1.0 });
        return;
    }
    let mut units = Vec::new();
    for paragraph in paragraphs(text, range) {
        divide(text, paragraph, &mut units);
    }
    pieces.extend(packed(text, &units).into_iter().map(|content| Chunk {
        heading: heading.clone(),
        content,
        boost: 1.0,
    }));
}

/// Parts between blank lines.
fn paragraphs(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut paragraphs: Vec<Range<usize>> = Vec::new();
    let mut place = range.start;
    let mut is_open = false;
    for line in text[range].split_inclusive('\n') {
        let end = place + line.trim_end().len();
        match (line.trim().is_empty(), is_open, paragraphs.last_mut()) {
            (true, ..) => is_open = false,
            (false, true, Some(paragraph)) => paragraph.end = end,
            (false, ..) => {
                paragraphs.push(place..end);
                is_open = true;
            }
        }
        place += line.len();
    }
    paragraphs
}

/// A paragraph whole if it fits, else its lines, and lines that do not fit in parts.
fn divide(text: &str, paragraph: Range<usize>, units: &mut Vec<Range<usize>>) {
    if fits(text, &paragraph) {
        units.push(paragraph);
        return;
    }
    let mut place = paragraph.start;
    for line in text[paragraph].split_inclusive('\n') {
        let mut rest = place..place + line.trim_end().len();
        while !fits(text, &rest) {
            let cut = rest.start + cut(&text[rest.clone()]);
            units.push(rest.start..cut);
            rest.start = cut;
        }
        units.push(rest);
        place += line.len();
    }
}

/// Where a line that is too long is cut: behind the last blank that fits, else where the limit is.
fn cut(line: &str) -> usize {
    let limit = line.char_indices().nth(MAX_CHUNK_CHARS).map_or(line.len(), |(place, _)| place);
    let head = &line[..limit];
    let word = head.char_indices().rev().find(|(_, character)| character.is_whitespace());
    word.map_or(limit, |(place, character)| place + character.len_utf8())
}

fn fits(text: &str, range: &Range<usize>) -> bool {
    text[range.clone()].chars().nth(MAX_CHUNK_CHARS).is_none()
}

/// As many neighbours together as fit.
fn packed(text: &str, units: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut packs: Vec<Range<usize>> = Vec::new();
    for unit in units {
        match packs.last_mut() {
            Some(pack) if fits(text, &(pack.start..unit.end)) => pack.end = unit.end,
            _ => packs.push(unit.clone()),
        }
    }
    packs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, body: usize, expected: &[(Option<&str>, &str)]) {
        let pieces = pieces(text, body);
        let seen: Vec<_> =
            pieces.iter().map(|piece| (piece.heading.as_deref(), &text[piece.content.clone()])).collect();
        assert_eq!(seen, expected, "{text:?}");
    }

    #[test]
    fn sections_of_two_levels_are_pieces() {
        check("", 0, &[]);
        check("\n \n", 0, &[]);
        check(
            "intro\n\n# A\n## B\none\n### deeper\ntwo\n\n## C ##\n",
            0,
            &[(None, "intro"), (Some("# A"), ""), (Some("## B"), "one\n### deeper\ntwo"), (Some("## C"), "")],
        );
        check("---\na: 1\n---\ntext\n", 13, &[(None, "text")]);
        check("# A\n```\n# no\n```\n", 0, &[(Some("# A"), "```\n# no\n```")]);
        check("#\ntext", 0, &[(Some("#"), "text")]);
    }

    /// The lengths of the pieces, in characters; nothing but blanks is lost.
    fn check_lengths(body: &str, expected: &[usize]) {
        let text = format!("## H\n{body}");
        let pieces = pieces(&text, 0);
        let lengths: Vec<usize> = pieces.iter().map(|piece| text[piece.content.clone()].chars().count()).collect();
        assert_eq!(lengths, expected);
        assert!(pieces.iter().all(|piece| piece.heading.as_deref() == Some("## H")));
        let kept: String = pieces.iter().map(|piece| &text[piece.content.clone()]).collect();
        let solid = |text: &str| text.chars().filter(|character| !character.is_whitespace()).count();
        assert_eq!(solid(&kept), solid(body));
    }

    #[test]
    fn long_sections_are_packed_by_paragraph_line_and_word() {
        check_lengths(&"x".repeat(6000), &[6000]);
        let paragraph = format!("{}\n\n", "a".repeat(2500));
        check_lengths(&paragraph.repeat(5), &[5002, 5002, 2500]);
        let lines = format!("{}\n", "b".repeat(3500));
        check_lengths(&lines.repeat(3), &[3500, 3500, 3500]);
        check_lengths(&"c".repeat(13_000), &[6000, 6000, 1000]);
        check_lengths(&"語".repeat(7000), &[6000, 1000]);
        check_lengths(&"word ".repeat(2000), &[6000, 3999]);
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_odd(text in "((#{0,7}|```|~~~|-)?[ \\PC]{0,9}[\r\n]{0,3}){0,20}") {
            let body = crate::text::front_matter::split(&text).body;
            let mut end = body;
            for piece in pieces(&text, body) {
                proptest::prop_assert!(piece.content.start >= end && text[piece.content.clone()].chars().count() <= MAX_CHUNK_CHARS);
                end = piece.content.end;
            }
        }
    }
}
