//! The line `Status: x` of a document: found, and changed so that nothing but its value moves.
//!
//! A text comes in, replacements for a few of its bytes go out. Where the front matter has a status too, that one
//! counts, so both are changed.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::text::code_fences::lines;
use crate::text::front_matter::{self, FrontMatter};
use crate::text::headings::headings;
use crate::text::yaml;

/// Other text in place of some bytes.
pub type Splice = (Range<usize>, String);

/// Where the value of the first status line is; empty if it has none. Only lines from `from` on count.
pub fn value(text: &str, from: usize) -> Option<Range<usize>> {
    lines(&text[from..]).filter(|line| !line.is_code).find_map(|line| {
        let blanks = [' ', '\t'];
        let word = line.text.trim_start_matches(blanks);
        let head = word.get(..6).filter(|head| head.eq_ignore_ascii_case("status"))?;
        let given = word[head.len()..].trim_start_matches(blanks).strip_prefix(':')?;
        let value = given.trim();
        let start = from + line.start + line.text.len() - given.len() + (given.len() - given.trim_start().len());
        Some(start..start + value.len())
    })
}

/// What has to be replaced so that the document has this status.
pub fn changed(text: &str, status: &str) -> Vec<Splice> {
    let split = front_matter::split(text);
    let in_front = split.front.as_ref().filter(|front| front.map.get("status").is_some_and(Value::is_string));
    let mut splices: Vec<Splice> = in_front.map(|front| front_value(front, status)).into_iter().collect();
    match value(text, split.counted) {
        Some(range) if range.is_empty() => {
            let is_apart = text[..range.start].ends_with([' ', '\t']);
            splices.push((range, if is_apart { status.to_owned() } else { format!(" {status}") }));
        }
        Some(range) => splices.push((range, status.to_owned())),
        None if splices.is_empty() => splices.push(inserted(text, split.counted, status)),
        None => {}
    }
    splices
}

/// Carries them out. They must be in order and apart.
pub fn spliced(bytes: &[u8], splices: &[Splice]) -> Vec<u8> {
    let mut new = Vec::with_capacity(bytes.len() + 64);
    let mut place = 0;
    for (range, text) in splices {
        new.extend_from_slice(&bytes[place..range.start]);
        new.extend_from_slice(text.as_bytes());
        place = range.end;
    }
    new.extend_from_slice(&bytes[place..]);
    new
}

/// A new line below the title, or where the body begins.
fn inserted(text: &str, from: usize, status: &str) -> Splice {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let title = headings(&text[from..]).find(|heading| heading.level == 1);
    let place = title.map_or(from, |title| from + title.end);
    let begins_line = place == 0 || place == from || text[..place].ends_with('\n');
    let before = match title {
        Some(_) if begins_line => end.to_owned(),
        Some(_) => format!("{end}{end}"),
        None if begins_line && (place == 0 || text[..place].ends_with(['\n', '\u{feff}'])) => String::new(),
        None => end.to_owned(),
    };
    let rest = &text[place..];
    let is_apart = rest.is_empty() || rest.starts_with('\n') || rest.starts_with("\r\n");
    let after = if is_apart { "" } else { end };
    (place..place, format!("{before}Status: {status}{end}{after}"))
}

/// The value of the front matter's own line; the whole block is written again if that line is an odd one.
fn front_value(front: &FrontMatter<'_>, status: &str) -> Splice {
    let mut wanted = front.map.clone();
    wanted.insert("status".to_owned(), status.into());
    let mut place = 0;
    let mut found = None;
    for line in front.lines.split_inclusive('\n') {
        if let Some(range) = value_of_key(line.trim_end_matches(['\r', '\n'])) {
            let range = place + range.start..place + range.end;
            let new = format!("{}{status}{}", &front.lines[..range.start], &front.lines[range.end..]);
            if yaml::mapping(&new).as_ref() == Ok(&wanted) {
                // Of a key that is there twice the last one counts.
                found = Some((front.start + range.start..front.start + range.end, status.to_owned()));
            }
        }
        place += line.len();
    }
    found.unwrap_or_else(|| {
        let over = Map::from_iter([("status".to_owned(), Value::from(status))]);
        (front.start..front.start + front.lines.len(), front_matter::merged_block(front, &over))
    })
}

/// Where the value is in a line `status: value`, without a comment behind it.
fn value_of_key(line: &str) -> Option<Range<usize>> {
    let keys = ["status", "\"status\"", "'status'"];
    let rest = keys.iter().find_map(|key| line.strip_prefix(key))?.trim_start_matches([' ', '\t']).strip_prefix(':')?;
    let value = rest.trim_start_matches([' ', '\t']);
    let start = line.len() - value.len();
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''));
    let end = match quote {
        Some(quote) => value[1..].find(quote)? + 2,
        None => value.find(" #").unwrap_or(value.len()),
    };
    let end = value[..end].trim_end().len();
    (end > 0).then_some(start..start + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_value(text: &str, expected: Option<&str>) {
        assert_eq!(value(text, 0).map(|range| &text[range]), expected, "{text:?}");
    }

    #[test]
    fn the_first_line_outside_of_code_counts() {
        check_value("# T\n\nStatus: pending\n", Some("pending"));
        check_value("  sTATUS \t:  In Progress  \r\nStatus: done", Some("In Progress"));
        check_value("```\nStatus: no\n```\nStatus:yes", Some("yes"));
        check_value("Status:", Some(""));
        check_value("Statuses: x\n- Status: y\nStatus x", None);
        check_value("Státus: x", None);
    }

    fn check(text: &str, expected: &str) {
        let splices = changed(text, "done");
        let seen = String::from_utf8(spliced(text.as_bytes(), &splices)).expect("text");
        assert_eq!(seen, expected, "{text:?}");
        let again = changed(&seen, "done");
        assert_eq!(spliced(seen.as_bytes(), &again), seen.as_bytes(), "a second time changes nothing");
    }

    #[test]
    fn only_the_value_moves() {
        check("# T\n\nStatus: pending\n\nx\n", "# T\n\nStatus: done\n\nx\n");
        check("# T\r\n\r\n status :\tIn Progress \r\nx", "# T\r\n\r\n status :\tdone \r\nx");
        check("---\nstatus: a\nstatus: b\n---\n", "---\nstatus: a\nstatus: done\n---\n");
        check("Status:\nx", "Status: done\nx");
        check("Status: \nx", "Status: done\nx");
        check("Status: a\nStatus: b\n", "Status: done\nStatus: b\n");
    }

    #[test]
    fn the_front_matter_moves_too() {
        check(
            "---\nstatus: pending # why\na: 1\n---\nStatus: x\n",
            "---\nstatus: done # why\na: 1\n---\nStatus: done\n",
        );
        check("---\r\n\"status\" : 'In Progress'\r\n---\r\nx", "---\r\n\"status\" : done\r\n---\r\nx");
        check("---\na: |\n  status: no\nstatus: \"x\"\n---\nx", "---\na: |\n  status: no\nstatus: done\n---\nx");
        check("---\nb: 2\nstatus: >\n  odd\na: 1\n---\nx", "---\nb: 2\nstatus: done\na: 1\n---\nx");
        check("---\n{a: 1, status: x}\n---\nx", "---\na: 1\nstatus: done\n---\nx");
        check("---\nstatus:\n---\n# T\n", "---\nstatus:\n---\n# T\n\nStatus: done\n");
        check("---\nStatus: [\n---\n# T\n", "---\nStatus: [\n---\n# T\n\nStatus: done\n");
    }

    #[test]
    fn a_new_line_stands_apart() {
        check("# T\n\n## Objective\n", "# T\n\nStatus: done\n\n## Objective\n");
        check("# T\ntext", "# T\n\nStatus: done\n\ntext");
        check("# T", "# T\n\nStatus: done\n");
        check("# T\r\ntext\r\n", "# T\r\n\r\nStatus: done\r\n\r\ntext\r\n");
        check("text\n", "Status: done\n\ntext\n");
        check("\n\ntext\n", "Status: done\n\n\ntext\n");
        check("", "Status: done\n");
        check("\u{feff}text", "\u{feff}Status: done\n\ntext");
        check("---\na: 1\n---\ntext", "---\na: 1\n---\nStatus: done\n\ntext");
        check("---\na: 1\n---", "---\na: 1\n---\nStatus: done\n");
        check("## Only\n", "Status: done\n\n## Only\n");
    }

    proptest::proptest! {
        /// Whatever the text is, the new status counts afterwards, and nothing else has gone.
        #[test]
        fn every_text_can_have_a_status(text in "(---\r?\n)?((status: |Status: |# |```|a: )?[a-z\"':\\[ #]{0,6}\r?\n){0,6}(---\n)?[\\PC]{0,8}") {
            use super::super::model::Document;
            let seen = String::from_utf8(spliced(text.as_bytes(), &changed(&text, "done"))).expect("text");
            let said = Document::of(&seen).said;
            let status = said.status.or(said.status_line);
            proptest::prop_assert_eq!(status.as_deref(), Some("done"), "{:?}", seen);
        }
    }
}
