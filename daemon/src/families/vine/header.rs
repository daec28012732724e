//! The first line of a block: a trimmed header comes in; id, name, status or uri, and annotations go out.
//!
//! The format is given as patterns whose name is as short as possible. They are matched here by hand in one walk from
//! the right end, so that no header, however many blanks or parentheses it has, takes more than linear time.

use super::model::{Annotations, Status};
use super::whitespace::{is_break, is_space, trim};

/// What a header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header<'a> {
    /// Unique in its file, which is not for the header to know.
    pub id: &'a str,
    /// As short as the pattern allows.
    pub name: &'a str,
    /// What stands in the parentheses after the name.
    pub what: HeaderValue<'a>,
    pub annotations: Annotations,
}

/// What stands in the parentheses after the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderValue<'a> {
    /// Of a task.
    Status(Status),
    /// Of a reference.
    Uri(&'a str),
}

/// Whether a header announces a reference; if so, anything else in it is an error of a reference.
pub fn is_reference(header: &str) -> bool {
    header.starts_with("ref ")
}

/// Matches a header that has no white space at its ends.
pub fn parse(header: &str) -> Option<Header<'_>> {
    let reference = is_reference(header);
    let rest = if reference { header.strip_prefix("ref")?.trim_start_matches(is_space) } else { header };
    let (id, rest) = id(rest.strip_prefix('[')?)?;
    let (name, what, annotations) = name_and_what(rest, if reference { uri_before } else { status_before })?;
    Some(Header { id, name, what, annotations })
}

/// Parts of letters, digits and hyphens, joined with single slashes, up to the closing bracket.
fn id(text: &str) -> Option<(&str, &str)> {
    let (id, rest) = text.split_once(']')?;
    let part = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    id.split('/').all(part).then_some((id, rest))
}

/// Finds where the parentheses that end at a place begin, and what is in them.
type BackwardParser = for<'a> fn(&'a str, usize) -> Option<(usize, HeaderValue<'a>)>;

fn status_before(text: &str, close: usize) -> Option<(usize, HeaderValue<'_>)> {
    let (before, word) = text[..close].rsplit_once('(')?;
    Some((before.len(), HeaderValue::Status(Status::parse(word)?)))
}

fn uri_before(text: &str, close: usize) -> Option<(usize, HeaderValue<'_>)> {
    // A uri has no white space in it, and white space before it: it is the whole of a word.
    let open = text[..close].rfind(is_space).map_or(0, |at| at + text[at..].chars().next().map_or(0, char::len_utf8));
    let uri = text[open..close].strip_prefix('(').filter(|uri| !uri.is_empty())?;
    Some((open, HeaderValue::Uri(uri)))
}

/// What follows the id: white space, a name, white space, parentheses, annotations.
fn name_and_what(text: &str, before: BackwardParser) -> Option<(&str, HeaderValue<'_>, Annotations)> {
    let start = text.len() - text.trim_start_matches(is_space).len();
    if start == 0 || !text.ends_with(')') {
        return None;
    }
    // All closing parentheses after which nothing but annotations follows, from the right. The leftmost one that has
    // what is sought before it makes the shortest name.
    let mut best = None;
    let mut at_start = None;
    let mut close = text.len() - 1;
    loop {
        if let Some((open, what)) = before(text, close).filter(|(open, _)| text[..*open].ends_with(is_space)) {
            if open > start {
                best = Some((open, what, close));
            } else if open == start {
                at_start = Some((open, what, close));
            }
        }
        let Some(previous) = text[..close].rfind(')') else { break };
        if annotation(&text[previous + 1..close]).is_none() {
            break;
        }
        close = previous;
    }
    let in_one_line = |name: &str| !name.contains(is_break);
    let found = best.and_then(|(open, what, close)| {
        let name = text[start..open].trim_end_matches(is_space);
        in_one_line(name).then_some((name, what, close))
    });
    let (name, what, close) = match found {
        Some(found) => found,
        None => {
            let (open, what, close) = at_start?;
            (blank_name(&text[..open])?, what, close)
        }
    };
    Some((name, what, annotations(&text[close + 1..])))
}

/// Nothing but white space between id and parentheses: one blank of it is the name, with at least one more on either
/// side, as far right as there is one that does not break the line.
fn blank_name(space: &str) -> Option<&str> {
    let mut characters = space.char_indices();
    characters.next()?;
    characters.next_back()?;
    let (at, character) = characters.rev().find(|(_, character)| !is_break(*character))?;
    space.get(at..at + character.len_utf8())
}

/// One annotation without its closing parenthesis, which is the first after it begins: key and inside.
fn annotation(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start_matches(is_space);
    let (key, inside) = rest.strip_prefix('@').filter(|_| rest.len() < text.len())?.split_once('(')?;
    let good =
        key.starts_with(|first: char| first.is_ascii_alphabetic()) && key.bytes().all(|b| b.is_ascii_alphanumeric());
    good.then_some((key, inside))
}

fn annotations(text: &str) -> Annotations {
    let pieces = text.split(')').filter_map(annotation);
    pieces
        .map(|(key, inside)| {
            let values = inside.split(',').map(trim).filter(|value| !value.is_empty());
            (key.to_owned(), values.map(str::to_owned).collect())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name and word or uri; none if the header is no good.
    fn check(header: &str, expected: Option<(&str, &str)>) {
        let found = parse(header);
        let found = found.as_ref().map(|header| {
            let what = match header.what {
                HeaderValue::Status(status) => status.word(),
                HeaderValue::Uri(uri) => uri,
            };
            (header.name, what)
        });
        assert_eq!(found, expected, "{header:?}");
    }

    fn check_annotations(header: &str, expected: &[(&str, &[&str])]) {
        let found = parse(header).unwrap_or_else(|| panic!("{header:?}")).annotations;
        let expected: Annotations = expected
            .iter()
            .map(|(key, values)| ((*key).to_owned(), values.iter().map(|value| (*value).to_owned()).collect()))
            .collect();
        assert_eq!(found, expected, "{header:?}");
    }

    #[test]
    fn names_are_as_short_as_they_can_be() {
        check("[a] N (complete)", Some(("N", "complete")));
        check("[a/b-1/C] Two words (notstarted)", Some(("Two words", "notstarted")));
        check("[a] Fix (all) the (started) things (blocked)", Some(("Fix (all) the (started) things", "blocked")));
        check("[a]   (complete)", Some((" ", "complete")));
        check("[a] \u{2028} (complete)", None);
        check("[a] \t\u{2028} (complete)", Some(("\t", "complete")));
        check("[a]  (complete)", None);
        check("[a] (complete)", None);
        check("[a]  (complete) (started)", Some(("(complete)", "started")));
        check("[a] @tag(x) (planning)", Some(("@tag(x)", "planning")));
        check("[a] N (complete) @a( (started) @b(x)", Some(("N", "complete")));
        check("[a] N(complete) (started)", Some(("N(complete)", "started")));
        check("[a] N\u{a0}\u{feff}(started)", Some(("N", "started")));
        check("[a] N\u{85}(started)", None);
        check("[a] N\u{85} (started)", Some(("N\u{85}", "started")));
        check("[a] N\u{2028}M (started)", None);
        check("[a] N\rM (started)", None);
        check("[a]\rN\r(started)", Some(("N", "started")));
        check("[a] あ (started)", Some(("あ", "started")));
        check("[a] (complete)  (complete)", Some(("(complete)", "complete")));
    }

    #[test]
    fn what_is_no_header() {
        for header in [
            "[a] N (started) @k",
            "[a] N (started)@k(v)",
            "[a] N (started) tail",
            "[a]N (started)",
            "[] N (started)",
            "[a//b] N (started)",
            "[/a] N (started)",
            "[a b] N (started)",
            "[a] N (Started)",
            "[a] N (started) @1(x)",
            "[a] N (started) @(x)",
            "[a] N (started) @k(a) )",
            "a N (started)",
            "",
            "ref",
            "ref\t[x] N (u)",
            "Ref [x] N (u)",
            "ref[x] N (u)",
            "ref [x] N (u v)",
            "ref [x] N ()",
            "ref [x] N(u)",
            "ref [x] (u)",
        ] {
            check(header, None);
        }
    }

    #[test]
    fn references_have_a_uri() {
        check("ref [x] See (this) (./a(b).vine)", Some(("See (this)", "./a(b).vine")));
        check("ref  \t [x]\tN (u) @k(v)", Some(("N", "u")));
        check("ref [x] N (a) (b) @k(x) @l((y)", Some(("N (a)", "b")));
        check("ref [x]   ()", None);
        check("ref [x]   ()))", Some((" ", "))")));
        check("ref [x] N (あ)", Some(("N", "あ")));
    }

    #[test]
    fn annotations_are_lists() {
        check_annotations("[a] N (started)", &[]);
        check_annotations("[a] N (started) @k(a, b ,,c) @e()", &[("k", &["a", "b", "c"]), ("e", &[])]);
        check_annotations("[a] N (started) @k(a)\t @K(b) @k(c)", &[("k", &["c"]), ("K", &["b"])]);
        check_annotations("[a] N (started) @k(a(b)", &[("k", &["a(b"])]);
        check_annotations("ref [a] N (u) @k(\u{feff}a\u{feff})", &[("k", &["a"])]);
    }

    /// The patterns themselves, tried in the order in which a backtracking matcher tries them.
    fn by_trial(text: &str) -> Option<(String, &'static str)> {
        let characters: Vec<char> = text.chars().collect();
        let spaces = characters.iter().take_while(|c| is_space(**c)).count();
        for start in (1..=spaces).rev() {
            for end in start + 1..characters.len() {
                if is_break(characters[end - 1]) {
                    break;
                }
                let gap = characters[end..].iter().take_while(|c| is_space(**c)).count();
                let rest: String = characters[end + gap..].iter().collect();
                for status in Status::ALL {
                    let after = rest.strip_prefix(&format!("({})", status.word()));
                    if gap > 0 && after.is_some_and(only_annotations) {
                        return Some((characters[start..end].iter().collect(), status.word()));
                    }
                }
            }
        }
        None
    }

    fn only_annotations(text: &str) -> bool {
        text.is_empty()
            || text.split_once(')').is_some_and(|(first, rest)| annotation(first).is_some() && only_annotations(rest))
    }

    proptest::proptest! {
        #[test]
        fn the_walk_finds_what_trying_finds(text in "([ \t\u{2028}]{1,3}|x|\\(|\\)|\\(started\\)|\\(complete\\)|@k\\(|,){0,12}") {
            let header = format!("[a]{text}");
            let header = trim(&header);
            let found = parse(header).map(|header| (header.name.to_owned(), match header.what {
                HeaderValue::Status(status) => status.word(),
                HeaderValue::Uri(_) => "",
            }));
            proptest::prop_assert_eq!(found, by_trial(&header[3..]));
        }
    }
}
