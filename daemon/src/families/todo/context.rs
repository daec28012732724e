//! Context files: a text and its sections. A section is found by its heading and changed by itself; all other bytes
//! of the file stay.

use std::ops::Range;

use super::fold::Folded;
use super::lines::{headings, line_end, lines_from, with_ends};
use super::parse::is_empty;
use super::render;
use super::splice::{inserted, removed};
use crate::disk::FileModel;
use crate::text::code_fences::without_end;

/// A context file as a search sees it.
#[derive(Debug)]
pub struct Context {
    /// Its text; empty if it is none.
    pub text: Folded,
    /// Whether it is no text.
    pub is_broken: bool,
}

impl FileModel for Context {
    fn read(bytes: &[u8]) -> Self {
        let text = str::from_utf8(bytes);
        Self { is_broken: text.is_err(), text: Folded::of(text.unwrap_or_default().to_owned()) }
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.text.memory_bytes()
    }
}

/// The text with something at its end, behind one blank line. Nothing adds no blank line either.
pub fn appended(text: &str, content: &str) -> String {
    if is_empty(text) || content.is_empty() {
        return format!("{text}{content}");
    }
    let end = line_end(text);
    let content = with_ends(content, end);
    let has_end = text.ends_with('\n');
    let gap = match () {
        () if !has_end => format!("{end}{end}"),
        () if text.ends_with("\n\n") || text.ends_with("\n\r\n") => String::new(),
        () => end.to_owned(),
    };
    let last = if has_end && !content.ends_with('\n') { end } else { "" };
    format!("{text}{gap}{content}{last}")
}

/// The text with something at the end of a section. A section that is missing is added, be there nothing to put in it.
pub fn appended_to(text: &str, section: &str, content: &str) -> String {
    match body(text, section) {
        Some(body) => inserted(text, body.end, &whole_lines(text, content)),
        None => appended(text, &with_heading(section, content)),
    }
}

/// The text with something in place of a section's body. With nothing in its place the heading stays, and the blank
/// lines around the body.
pub fn replaced_in(text: &str, section: &str, content: &str) -> String {
    let Some(body) = body(text, section) else { return appended(text, &with_heading(section, content)) };
    if body.is_empty() {
        return inserted(text, body.end, &whole_lines(text, content));
    }
    let lines = whole_lines(text, content);
    if lines.is_empty() {
        return removed(text, &body);
    }
    let (before, after) = (&text[..body.start], &text[body.end..]);
    // The last line of a file that ends without a line end ends so again.
    let lines = if text[body].ends_with('\n') { lines.as_str() } else { without_end(&lines) };
    format!("{before}{lines}{after}")
}

fn with_heading(section: &str, content: &str) -> String {
    let end = if content.is_empty() || content.ends_with('\n') { "" } else { "\n" };
    format!("{}\n{content}{end}", render::heading(section))
}

/// Each line with its end, as the text's lines end; nothing has no line.
fn whole_lines(text: &str, content: &str) -> String {
    let end = line_end(text);
    let content = with_ends(content, end);
    if content.is_empty() || content.ends_with('\n') { content } else { content + end }
}

/// The first section of level 2 to 6 with this heading: from its first line that is not blank to its last; where it
/// would begin if all are blank.
fn body(text: &str, section: &str) -> Option<Range<usize>> {
    let mut rest = headings(text).skip_while(|(level, name, _)| *level < 2 || *name != section);
    let (level, _, heading) = rest.next()?;
    let end = rest.find(|(other, _, _)| *other <= level).map_or(text.len(), |(_, _, line)| line.start);
    let filled = lines_from(&text[..end], heading.next).filter(|line| !line.is_blank()).fold(None, |filled, line| {
        let start = filled.map_or(line.start, |filled: Range<usize>| filled.start);
        Some(start..line.next)
    });
    Some(filled.unwrap_or(heading.next..heading.next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(edit: impl Fn(&str) -> String, old: &str, expected: &str) {
        assert_eq!(edit(old), expected, "{old:?}");
        let (old, expected) = (old.replace('\n', "\r\n"), expected.replace('\n', "\r\n"));
        if old.contains('\n') {
            assert_eq!(edit(&old), expected, "{old:?}");
        }
    }

    #[test]
    fn one_blank_line_stands_before_what_is_added() {
        let add = |text: &str| appended(text, "b\nc");
        check(add, "", "b\nc");
        check(add, "a\n", "a\n\nb\nc\n");
        check(add, "a\n\n", "a\n\nb\nc\n");
        check(add, "x\na", "x\na\n\nb\nc");
    }

    #[test]
    fn sections_grow_at_their_end() {
        let add = |text: &str| appended_to(text, "S", "new");
        check(add, "# T\n\n## S\nold\n\n## U\nx\n", "# T\n\n## S\nold\nnew\n\n## U\nx\n");
        check(add, "### S\nold\n#### deeper\nd\n### U\n", "### S\nold\n#### deeper\nd\nnew\n### U\n");
        check(add, "## S\nold\n# U\n", "## S\nold\nnew\n# U\n");
        check(add, "## S\n\n\n## U\n", "## S\nnew\n\n\n## U\n");
        check(add, "## U\n## S", "## U\n## S\nnew");
        check(add, "# S\n\n## s\n", "# S\n\n## s\n\n## S\nnew\n");
        check(add, "```\n## S\n```\n", "```\n## S\n```\n\n## S\nnew\n");
        check(add, "", "## S\nnew\n");
        check(add, "## S\na\n## S\nb\n", "## S\na\nnew\n## S\nb\n");
    }

    #[test]
    fn bodies_are_replaced_alone() {
        let put = |text: &str| replaced_in(text, "S", "new\nlines\n");
        check(put, "## S\n\nold\n\nolder\n\n## U\nx", "## S\n\nnew\nlines\n\n## U\nx");
        check(put, "## S\n## U\n", "## S\nnew\nlines\n## U\n");
        check(put, "a\n## S\nold", "a\n## S\nnew\nlines");
        check(put, "a\n", "a\n\n## S\nnew\nlines\n");
        check(put, "## S", "## S\nnew\nlines");
    }

    #[test]
    fn nothing_takes_away_only_what_it_replaces() {
        let add = |text: &str| appended(text, "");
        let add_to = |text: &str| appended_to(text, "S", "");
        let put = |text: &str| replaced_in(text, "S", "");
        for text in ["", "a", "a\n", "a\n\n", "## S\nold\n\n## U\n", "## S\n\nold", "## S", "\u{feff}## S\n"] {
            check(add, text, text);
            if text.contains("## S") {
                check(add_to, text, text);
            }
        }
        for edit in [add_to as fn(&str) -> String, put] {
            check(edit, "", "## S\n");
            check(edit, "a\n", "a\n\n## S\n");
            check(edit, "```\n## S\n```\n", "```\n## S\n```\n\n## S\n");
        }
        check(put, "## S\n\nold\n\nolder\n\n## U\nx", "## S\n\n\n## U\nx");
        check(put, "## S\nold\n### deeper\nd\n## U\n", "## S\n## U\n");
        check(put, "a\n## S\nold\n", "a\n## S\n");
        check(put, "a\n## S\nold", "a\n## S");
        check(put, "## S\n\n## U\n", "## S\n\n## U\n");
        check(put, "## S", "## S");
    }

    #[test]
    fn replacing_and_putting_back_is_nothing() {
        for text in ["## S\n\nold\n\n  x\n\n## U\n", "## S\nold", "\u{feff}## S\r\nold\r\n\r\n## U"] {
            let body = body(text, "S").expect("a section");
            let new = replaced_in(text, "S", "anything\nelse");
            assert_eq!(replaced_in(&new, "S", &text[body]), text);
        }
    }
}
