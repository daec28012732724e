//! Files → what the shared search may know about them: a chunk per heading, the title, how far a record is.

use jiff::tz::TimeZone;

use super::adr::Adr;
use super::index_file::slug_of;
use super::lines::{begin, headings};
use super::model::{ADRS, CONTEXTS, TASK_FILE, TaskId, adr_number};
use crate::families::facts::{Chunk, DocumentFacts};

/// Tasks, contexts and records; what is made from them is not.
pub fn wanted(path: &str) -> bool {
    match path.split_once('/') {
        None => path == TASK_FILE,
        Some((CONTEXTS, name)) => TaskId::of_context(name).is_some(),
        Some((ADRS, name)) => adr_number(name).is_some(),
        Some(_) => false,
    }
}

/// What is known about one of them.
pub fn facts(path: &str, text: &str) -> DocumentFacts {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.strip_suffix(".md").unwrap_or(name);
    let common =
        DocumentFacts { folder: folder.to_owned(), boost: 1.0, chunks: chunks(text), ..DocumentFacts::default() };
    match folder {
        ADRS => {
            let adr = Adr::parse(text);
            DocumentFacts {
                title: adr.title.unwrap_or_else(|| slug_of(name).to_owned()),
                stem: slug_of(name).to_owned(),
                kind: Some("adr".to_owned()),
                status: Some(adr.status.word().to_owned()),
                updated: adr.updated.map(|at| at.to_zoned(TimeZone::UTC).date()),
                ..common
            }
        }
        _ => DocumentFacts {
            title: first_title(text).unwrap_or(stem).to_owned(),
            stem: stem.to_owned(),
            kind: Some(if folder == CONTEXTS { "context" } else { "tasks" }.to_owned()),
            ..common
        },
    }
}

fn first_title(text: &str) -> Option<&str> {
    headings(text).find(|(level, _, _)| *level == 1).map(|(_, title, _)| title)
}

pub(super) fn chunks(text: &str) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let (mut heading, mut start) = (None, begin(text));
    for (level, name, line) in headings(text) {
        let next = Some(format!("{} {name}", "#".repeat(level)));
        chunks.push(Chunk { heading: std::mem::replace(&mut heading, next), content: start..line.start, boost: 1.0 });
        start = line.next;
    }
    chunks.push(Chunk { heading, content: start..text.len(), boost: 1.0 });
    chunks.retain(|chunk| chunk.heading.is_some() || !text[chunk.content.clone()].trim().is_empty());
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, title: &str, expected: &[(Option<&str>, &str)]) {
        let facts = facts(path, text);
        assert_eq!(facts.title, title);
        let seen: Vec<(Option<&str>, &str)> =
            facts.chunks.iter().map(|chunk| (chunk.heading.as_deref(), &text[chunk.content.clone()])).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_chunk_stands_under_each_heading() {
        let text = "# Task\n\n## A\n- [ ] a #T001\n```\n## no\n```\n";
        let expected = [(Some("# Task"), "\n"), (Some("## A"), "- [ ] a #T001\n```\n## no\n```\n")];
        check("task.md", text, "Task", &expected);
        check("context/T001.md", "\u{feff}words", "T001", &[(None, "words")]);
        check("adr/adr-001-x.md", "", "x", &[]);
    }

    #[test]
    fn records_say_how_far_they_are() {
        let facts = facts("adr/adr-001-x.md", "# ADR-001: X\n- Status: Accepted\n- Updated: 2026-01-28T10:30:00Z\n");
        assert_eq!((facts.title.as_str(), facts.status.as_deref()), ("X", Some("Accepted")));
        assert_eq!(facts.updated.map(|date| date.to_string()).as_deref(), Some("2026-01-28"));
    }

    #[test]
    fn only_what_people_write_is_found() {
        for path in ["task.md", "context/T001.md", "adr/adr-001-x.md"] {
            assert!(wanted(path), "{path}");
        }
        for path in ["index.md", "context/notes.md", "adr/x.md", "other/T001.md", "context/a/T001.md"] {
            assert!(!wanted(path), "{path}");
        }
    }
}
