//! Lines and pieces of a text; pure.
//!
//! A text, a range of lines and a limit come in, the piece that is shown goes out. A line ends at LF,
//! and a CR right before it belongs to the ending; nothing else ends a line. A character is one
//! Unicode scalar value.

/// Lines of a text, 1-based, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// At least 1.
    pub first: usize,
    /// At least `first`.
    pub last: usize,
    /// So many characters of the first line are left out.
    pub skipped_chars: usize,
}

/// What of a range fits within a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSlice {
    /// Lines joined with LF, without a final one.
    pub text: String,
    pub chars: usize,
    /// The last line that is in the text, at least in part.
    pub last: usize,
    /// Whether something of the range was left out.
    pub is_cut: bool,
}

/// The number of lines. An empty text has one, so that there is a range in it.
pub fn count(text: &str) -> usize {
    let endings = text.bytes().filter(|byte| *byte == b'\n').count();
    let open_line = !text.is_empty() && !text.ends_with('\n');
    (endings + usize::from(open_line)).max(1)
}

/// Takes whole lines as long as they fit. If already the first one does not, its beginning is taken:
/// a caller that goes on with the line after `last` always moves forward.
pub fn cut(text: &str, range: Range, limit: usize) -> TextSlice {
    let mut piece = TextSlice { text: String::new(), chars: 0, last: range.first, is_cut: false };
    let numbers = range.first..=range.last;
    for (number, line) in numbers.zip(text.lines().skip(range.first - 1)) {
        let is_first = number == range.first;
        let line = if is_first { without(line, range.skipped_chars) } else { line };
        let chars = line.chars().count() + usize::from(!is_first);
        if piece.chars.saturating_add(chars) > limit {
            if is_first {
                piece.text = line.chars().take(limit).collect();
                piece.chars = limit;
            }
            piece.is_cut = true;
            break;
        }
        if !is_first {
            piece.text.push('\n');
        }
        piece.text.push_str(line);
        piece.chars += chars;
        piece.last = number;
    }
    piece
}

fn without(line: &str, chars: usize) -> &str {
    line.char_indices().nth(chars).map_or("", |(start, _)| &line[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_line_feeds_alone() {
        for (text, expected) in [
            ("", 1),
            ("\n", 1),
            ("a", 1),
            ("a\n", 1),
            ("a\nb", 2),
            ("a\nb\n", 2),
            ("a\nb\n\n", 3),
            ("a\r\nb\r\n", 2),
            ("a\rb", 1),
            ("a\u{c}b\u{85}c\u{2028}d\u{2029}e\u{b}f", 1),
            ("\u{feff}", 1),
        ] {
            assert_eq!(count(text), expected, "{text:?}");
            assert_eq!(text.lines().count().max(1), expected, "{text:?}");
        }
    }

    /// `whole` is the range's text when everything fits.
    fn check(text: &str, (first, last, skipped_chars): (usize, usize, usize), whole: &str) {
        let piece = cut(text, Range { first, last, skipped_chars }, usize::MAX);
        let expected = TextSlice { text: whole.to_owned(), chars: whole.chars().count(), last, is_cut: false };
        assert_eq!(piece, expected, "{text:?}");
    }

    #[test]
    fn a_range_is_its_lines_joined() {
        check("a\nb\nc\n", (1, 3, 0), "a\nb\nc");
        check("a\nb\nc", (2, 3, 0), "b\nc");
        check("a\r\nb\r\n", (1, 2, 0), "a\nb");
        check("a\r\r\nb\r", (1, 2, 0), "a\r\nb\r");
        check("\n\n\n", (1, 3, 0), "\n\n");
        check("", (1, 1, 0), "");
        check("\u{feff}a", (1, 1, 0), "\u{feff}a");
        check("a\u{2028}b\nc", (1, 1, 0), "a\u{2028}b");
        check("あ🦀い\nb", (1, 2, 1), "🦀い\nb");
        check("abc\nd", (1, 2, 3), "\nd");
        check("abc\nd", (1, 2, 99), "\nd");
        check("", (1, 1, 5), "");
    }

    fn check_cut(text: &str, limit: usize, expected: (&str, usize, bool)) {
        let piece = cut(text, Range { first: 1, last: count(text), skipped_chars: 0 }, limit);
        assert_eq!((piece.text.as_str(), piece.last, piece.is_cut), expected, "{text:?} {limit}");
        assert_eq!(piece.chars, piece.text.chars().count(), "{text:?} {limit}");
    }

    #[test]
    fn a_cut_keeps_lines_whole_except_a_first_one_that_is_too_long() {
        check_cut("ab\ncd\nef", 8, ("ab\ncd\nef", 3, false));
        check_cut("ab\ncd\nef", 7, ("ab\ncd", 2, true));
        check_cut("ab\ncd\nef", 5, ("ab\ncd", 2, true));
        check_cut("ab\ncd\nef", 4, ("ab", 1, true));
        check_cut("ab\ncd\nef", 2, ("ab", 1, true));
        check_cut("ab\ncd\nef", 1, ("a", 1, true));
        check_cut("あ🦀\nい", 2, ("あ🦀", 1, true));
        check_cut("あ🦀\nい", 1, ("あ", 1, true));
        check_cut("ab\n\n", 2, ("ab", 1, true));
        check_cut("ab\n\n", 3, ("ab\n", 2, false));
        check_cut("\n\nab", 1, ("\n", 2, true));
        check_cut("\nab", 1, ("", 1, true));
        check_cut("abc", 2, ("ab", 1, true));
        check_cut("", 1, ("", 1, false));
    }
}
