//! The lines of a text, each knowing whether it belongs to fenced code: what stands between two fences is
//! no heading, no list and no status, whatever it looks like. A fence that is never closed runs to the end.

/// One line of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FencedLine<'a> {
    /// Where it begins, in bytes.
    pub start: usize,
    /// Without its line end.
    pub text: &'a str,
    /// Where the next line begins.
    pub end: usize,
    /// Whether it is code, or a fence around code.
    pub is_code: bool,
}

/// All lines, in order. A line end at the very end begins no further line.
pub fn lines(text: &str) -> impl Iterator<Item = FencedLine<'_>> {
    let mut start = 0;
    let mut open: Option<Fence> = None;
    text.split_inclusive('\n').map(move |whole| {
        let line = without_end(whole);
        let is_code = match (open, Fence::of(line)) {
            (None, Some(fence)) => {
                open = Some(fence);
                true
            }
            (None, None) => false,
            (Some(opened), closing) => {
                if closing.is_some_and(|closing| opened.is_closed_by(closing)) {
                    open = None;
                }
                true
            }
        };
        let line = FencedLine { start, text: line, end: start + whole.len(), is_code };
        start = line.end;
        line
    })
}

/// A line without its line end.
pub fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// A line that begins or ends fenced code.
#[derive(Debug, Clone, Copy)]
pub struct Fence {
    mark: char,
    length: usize,
    is_bare: bool,
}

impl Fence {
    /// Any indentation will do: fences below the items of a list stand deep.
    pub fn of(line: &str) -> Option<Self> {
        let line = line.trim_start_matches([' ', '\t']);
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let rest = line.trim_start_matches(mark);
        let length = line.len() - rest.len();
        // Three backticks and a text with another one are code within a line.
        let is_fence = length >= 3 && !(mark == '`' && rest.contains('`'));
        is_fence.then(|| Self { mark, length, is_bare: rest.trim().is_empty() })
    }

    pub fn is_closed_by(self, other: Self) -> bool {
        other.is_bare && other.mark == self.mark && other.length >= self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of code are expected with a bar in front.
    fn check(text: &str, expected: &[&str]) {
        let seen: Vec<String> =
            lines(text).map(|line| format!("{}{}", if line.is_code { "|" } else { "" }, line.text)).collect();
        assert_eq!(seen, expected, "{text:?}");
        let mut end = 0;
        for line in lines(text) {
            assert_eq!(line.start, end);
            assert!(text[line.start..].starts_with(line.text));
            end = line.end;
        }
        assert_eq!(end, text.len());
    }

    #[test]
    fn code_is_between_fences() {
        check("", &[]);
        check("a\n\nb", &["a", "", "b"]);
        check("a\r\nb\r\n", &["a", "b"]);
        check("a\n```rust\n# x\n```\nb\n", &["a", "|```rust", "|# x", "|```", "b"]);
        check("~~~\n```\n~~~\nb", &["|~~~", "|```", "|~~~", "b"]);
        check("````\n```\n````\nb", &["|````", "|```", "|````", "b"]);
        check("```\n``` x\n```\nb", &["|```", "|``` x", "|```", "b"]);
        check("- a\n      ```\n      # x\n      ```\n# b", &["- a", "|      ```", "|      # x", "|      ```", "# b"]);
        check("```a``` b\n# c", &["```a``` b", "# c"]);
        check("``\n# c", &["``", "# c"]);
        check("```\n# never closed", &["|```", "|# never closed"]);
    }
}
