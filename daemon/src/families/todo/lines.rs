//! Lines of a Markdown file with their places in it, and which of them are not to be read: front matter, fenced
//! code, comments. Bytes are only pointed at, never changed.

use std::ops::Range;

use crate::text::code_fences::{Fence, without_end};
use crate::text::headings::heading;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Without its end.
    pub text: &'a str,
    /// Where it begins.
    pub start: usize,
    /// Where the next one begins.
    pub next: usize,
}

impl Line<'_> {
    /// Nothing but space.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Begins with a space or a tab, and has more than that.
    pub fn is_indented(&self) -> bool {
        self.text.starts_with([' ', '\t']) && !self.is_blank()
    }

    /// From its first byte to the next line.
    pub fn span(&self) -> Range<usize> {
        self.start..self.next
    }
}

/// Where the text begins, behind a byte-order mark.
pub fn begin(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// The lines of a text, from the first on; what follows the last line feed is one only if it is not empty.
pub fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    lines_from(text, begin(text))
}

/// The same from a place at which a line begins.
pub fn lines_from(text: &str, from: usize) -> impl Iterator<Item = Line<'_>> {
    text[from..].split_inclusive('\n').scan(from, |start, whole| {
        let line = Line { text: without_end(whole), start: *start, next: *start + whole.len() };
        *start = line.next;
        Some(line)
    })
}

/// How lines that are added to a text end: as most of its lines do.
pub fn line_end(text: &str) -> &'static str {
    let feeds = text.bytes().filter(|byte| *byte == b'\n').count();
    let carried = text.matches("\r\n").count();
    if carried * 2 > feeds { "\r\n" } else { "\n" }
}

/// A text of ours with the line ends of a file.
pub fn with_ends(text: &str, end: &str) -> String {
    let plain = text.replace("\r\n", "\n");
    if end == "\n" { plain } else { plain.replace('\n', end) }
}

/// Tells which lines are not to be read. Lines come in order, all of them.
#[derive(Debug)]
pub struct NonTaskLines {
    front_end: usize,
    inside: OpenBlock,
}

#[derive(Debug, Clone, Copy)]
enum OpenBlock {
    Nothing,
    Fence { opened: Fence, contained: bool },
    Comment { contained: bool },
}

impl NonTaskLines {
    /// For the lines of this text.
    pub fn new(text: &str) -> Self {
        Self { front_end: front_end(text), inside: OpenBlock::Nothing }
    }

    /// Whether this line is not to be read. What begins on an indented line in somebody's block ends with the block
    /// at the latest.
    pub fn is_ignored_line(&mut self, line: &Line<'_>, in_block: bool) -> bool {
        if line.start < self.front_end {
            return true;
        }
        let leaves = !line.is_blank() && !line.is_indented();
        match self.inside {
            OpenBlock::Fence { contained: true, .. } | OpenBlock::Comment { contained: true } if leaves => {
                self.inside = OpenBlock::Nothing;
            }
            OpenBlock::Fence { opened, .. } => {
                if Fence::of(line.text.trim()).is_some_and(|closing| opened.is_closed_by(closing)) {
                    self.inside = OpenBlock::Nothing;
                }
                return true;
            }
            OpenBlock::Comment { .. } => {
                if line.text.contains("-->") {
                    self.inside = OpenBlock::Nothing;
                }
                return true;
            }
            OpenBlock::Nothing => {}
        }
        let contained = in_block && line.is_indented();
        let text = line.text.trim_start();
        if let Some(opened) = Fence::of(text) {
            self.inside = OpenBlock::Fence { opened, contained };
            return true;
        }
        if let Some(rest) = text.strip_prefix("<!--") {
            if !rest.contains("-->") {
                self.inside = OpenBlock::Comment { contained };
            }
            return true;
        }
        false
    }
}

/// Where front matter ends, or the beginning if there is none.
fn front_end(text: &str) -> usize {
    let mut lines = lines(text);
    let first = lines.next().filter(|line| line.text.trim_end() == "---");
    let last = first.and_then(|_| lines.find(|line| matches!(line.text.trim_end(), "---" | "...")));
    last.map_or(0, |line| line.next)
}

/// The headings of a text that are to be read: level, text, and the line.
pub fn headings(text: &str) -> impl Iterator<Item = (usize, &str, Line<'_>)> {
    let mut ignored = NonTaskLines::new(text);
    lines(text).filter_map(move |line| {
        let skipped = ignored.is_ignored_line(&line, false);
        let (level, name) = heading(line.text).filter(|_| !skipped)?;
        Some((level, name, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, read: &[&str]) {
        let mut ignored = NonTaskLines::new(text);
        let seen: Vec<&str> =
            lines(text).filter(|line| !ignored.is_ignored_line(line, true)).map(|line| line.text).collect();
        assert_eq!(seen, read, "{text:?}");
    }

    #[test]
    fn lines_have_their_places() {
        let text = "\u{feff}a\r\n\nb";
        let seen: Vec<(&str, usize, usize)> = lines(text).map(|line| (line.text, line.start, line.next)).collect();
        assert_eq!(seen, [("a", 3, 6), ("", 6, 7), ("b", 7, 8)]);
        assert_eq!(lines("").count(), 0);
        assert_eq!(lines("a\n").count(), 1);
    }

    #[test]
    fn most_lines_say_how_lines_end() {
        for (text, expected) in
            [("", "\n"), ("a", "\n"), ("a\r\nb\n", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\r\n", "\r\n")]
        {
            assert_eq!(line_end(text), expected, "{text:?}");
        }
        assert_eq!(with_ends("a\r\nb\nc", "\r\n"), "a\r\nb\r\nc");
        assert_eq!(with_ends("a\r\nb\nc", "\n"), "a\nb\nc");
    }

    #[test]
    fn code_comments_and_front_matter_are_not_read() {
        check("---\na: 1\n---\nb", &["b"]);
        check("---\na: 1\n", &["---", "a: 1"]);
        check("\u{feff}---\r\nx\r\n---\r\nb", &["b"]);
        check("a\n```sh\nb\n```\nc", &["a", "c"]);
        check("~~~~\n~~~\n```\n~~~~~\nc", &["c"]);
        check("``` a`b\nc", &["``` a`b", "c"]);
        check("```\nnever closed\n", &[]);
        check("<!-- a -->\nb", &["b"]);
        check("<!-- a\nb\nc --> d\ne", &["e"]);
        check("a <!-- b\nc", &["a <!-- b", "c"]);
        check("- a\n  ```\n  b\n\n  c\nd", &["- a", "d"]);
        check("- a\n  <!--\n  b\nd", &["- a", "d"]);
    }
}
