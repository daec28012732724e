//! Lists in a text: the lines that are items, outside of code.

use crate::text::code_fences::lines;

/// So many lines of a note are shown.
const MAX_NOTES: usize = 10;
/// So many lines of running text stand for a note without a list.
const MAX_NOTES_WITH_TEXT: usize = 3;

/// What stands behind `-`, `*` or `1.`; none if the line is no item.
pub fn item(line: &str) -> Option<&str> {
    let line = line.trim();
    if is_rule(line) {
        return None;
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*'])?,
        _ => line[digits..].strip_prefix('.')?,
    };
    if rest.is_empty() || rest.starts_with([' ', '\t']) { Some(rest.trim_start()) } else { None }
}

/// `---`, `* * *`: a line across the page.
fn is_rule(line: &str) -> bool {
    let mark = line.chars().next().filter(|mark| matches!(mark, '-' | '*' | '_'));
    let is_mark = |character: char| Some(character) == mark || character.is_whitespace();
    mark.is_some()
        && line.chars().all(is_mark)
        && line.chars().filter(|character| !character.is_whitespace()).count() >= 3
}

/// The items of a text, whole lines.
pub fn item_lines(text: &str) -> impl Iterator<Item = &str> {
    let items = lines(text).filter(|line| !line.is_code && item(line.text).is_some_and(|item| !item.is_empty()));
    items.map(|line| line.text.trim_end())
}

/// What a note says in short: its items, or the first lines of its text.
pub fn notes(body: &str) -> Vec<&str> {
    let items: Vec<&str> = item_lines(body).take(MAX_NOTES).collect();
    if !items.is_empty() {
        return items;
    }
    let is_text = |line: &str| !line.is_empty() && !line.starts_with('#') && !is_rule(line);
    let text = lines(body).filter(|line| !line.is_code).map(|line| line.text.trim());
    text.filter(|line| is_text(line)).take(MAX_NOTES_WITH_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &[&str]) {
        assert_eq!(notes(body), expected, "{body:?}");
    }

    #[test]
    fn notes_are_items_or_the_first_lines() {
        check("# T\n\ntext\n- a  \n  * b\r\n12. c\n-no\n1) no\n- \n", &["- a", "  * b", "12. c"]);
        check("---\n* * *\n- - -\n- x\n", &["- x"]);
        check("```\n- code\n```\none\n\n## H\ntwo\n---\nthree\nfour\n", &["one", "two", "three"]);
        check("", &[]);
        let many: String = (1..=12).map(|number| format!("- {number}\n")).collect();
        assert_eq!(notes(&many).len(), 10);
    }
}
