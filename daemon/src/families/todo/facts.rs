//! Which files are items, and where their sections are.

use super::lines::{begin, headings};
use super::model::{ADRS, CONTEXTS, TASK_FILE, TaskId, adr_number};
use crate::families::facts::Chunk;

/// Tasks, contexts and records; what is made from them is not.
pub fn wanted(path: &str) -> bool {
    match path.split_once('/') {
        None => path == TASK_FILE,
        Some((CONTEXTS, name)) => TaskId::of_context(name).is_some(),
        Some((ADRS, name)) => adr_number(name).is_some(),
        Some(_) => false,
    }
}

/// What stands under each heading, and before the first.
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

    #[test]
    fn a_chunk_stands_under_each_heading() {
        let check = |text: &str, expected: &[(Option<&str>, &str)]| {
            let chunks = chunks(text);
            let seen: Vec<(Option<&str>, &str)> =
                chunks.iter().map(|chunk| (chunk.heading.as_deref(), &text[chunk.content.clone()])).collect();
            assert_eq!(seen, expected);
        };
        let text = "# Task\n\n## A\n- [ ] a #T001\n```\n## no\n```\n";
        check(text, &[(Some("# Task"), "\n"), (Some("## A"), "- [ ] a #T001\n```\n## no\n```\n")]);
        check("\u{feff}words", &[(None, "words")]);
        check("", &[]);
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
