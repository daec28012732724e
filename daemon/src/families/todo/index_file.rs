//! `index.md`: tasks, contexts and records on one page. What is made stands between two marks; text around them is
//! kept, and a file without marks belongs to somebody and stays as it is.

use std::fmt::Write as _;
use std::ops::Range;

use super::adr::Adr;
use super::lines::{line_end, with_ends};
use super::model::{ADRS, CONTEXTS, Status, adr_number};
use super::parse::TaskFile;
use crate::text::percent::encoded;

const START_MARKER: &str = "<!-- todo-index:start -->";
const END_MARKER: &str = "<!-- todo-index:end -->";

/// The file with what is true now; none if it is not ours to change.
pub fn regenerate(existing: Option<&str>, tasks: &TaskFile, adrs: &[(&str, &Adr)]) -> Option<String> {
    let made = made(tasks, adrs);
    let Some(text) = existing else { return Some(format!("{made}\n")) };
    between(text)?;
    let [before, after] = kept(text);
    Some(format!("{before}{}{after}", with_ends(&made, line_end(text))))
}

/// What stands before and after the marks; all of it stands before if there are none.
pub fn kept(text: &str) -> [&str; 2] {
    let between = between(text).unwrap_or(text.len()..text.len());
    [&text[..between.start], &text[between.end..]]
}

/// From the beginning of the first mark to the end of the second.
fn between(text: &str) -> Option<Range<usize>> {
    let start = text.find(START_MARKER)?;
    let end = start + text[start..].find(END_MARKER)?;
    Some(start..end + END_MARKER.len())
}

fn made(tasks: &TaskFile, adrs: &[(&str, &Adr)]) -> String {
    let mut text = format!("{START_MARKER}\n# Index\n\n");
    for status in Status::ALL {
        let count = tasks.tasks.iter().filter(|task| task.status == status).count();
        let _ = writeln!(text, "- {}: {count}", status.word());
    }
    text.push_str("\n## Tasks\n");
    let mut categories: Vec<&str> = Vec::new();
    for task in &tasks.tasks {
        if !categories.contains(&task.category.as_str()) {
            categories.push(&task.category);
        }
    }
    for category in categories {
        let _ = writeln!(text, "\n### {}\n", plain(category));
        for task in tasks.in_category(category) {
            let (mark, title, id) = (task.status.mark(), plain(&task.title), task.id);
            let _ = writeln!(text, "- [{mark}] {title} [{id}]({CONTEXTS}/{id}.md)");
        }
    }
    text.push_str("\n## Decisions\n\n");
    for (name, adr) in adrs {
        let number = adr_number(name).unwrap_or_default();
        let title = adr.title.as_deref().unwrap_or(slug_of(name));
        let (title, link) = (plain(title), linked(name));
        let _ = writeln!(text, "- [ADR-{number:03}]({ADRS}/{link}) {title} ({})", adr.status.word());
    }
    text + END_MARKER
}

/// The slug in the name of a record's file.
pub fn slug_of(name: &str) -> &str {
    let name = name.strip_suffix(".md").unwrap_or(name);
    name.get("adr-000-".len()..).unwrap_or(name)
}

/// A title cannot end the index, or hide the rest of it.
fn plain(title: &str) -> String {
    title.replace("<!--", "&lt;!--").replace("-->", "--&gt;")
}

/// A name as the target of a link: letters of any script stay.
fn linked(name: &str) -> String {
    let letters = name.chars().map(String::from);
    letters.map(|letter| if letter.contains(char::is_alphanumeric) { letter } else { encoded(&letter) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASKS: &str = "## A\n- [ ] a #T001\n## 設計\n- [x] <!-- todo-index:end --> #T002\n## A\n- [-] c #T003\n";

    fn check(existing: Option<&str>, expected: Option<(&str, &str)>) {
        let adr = Adr::parse("# ADR-001: X\nStatus: Accepted");
        let made = concat!(
            "<!-- todo-index:start -->\n# Index\n\n- todo: 1\n- in_progress: 1\n- done: 1\n\n## Tasks\n",
            "\n### A\n\n- [ ] a [T001](context/T001.md)\n- [-] c [T003](context/T003.md)\n",
            "\n### 設計\n\n- [x] &lt;!-- todo-index:end --&gt; [T002](context/T002.md)\n",
            "\n## Decisions\n\n- [ADR-001](adr/adr-001-認%20%28証.md) X (Accepted)\n<!-- todo-index:end -->"
        );
        let seen = regenerate(existing, &TaskFile::parse(TASKS), &[("adr-001-認 (証.md", &adr)]);
        assert_eq!(seen, expected.map(|(before, after)| format!("{before}{made}{after}")), "{existing:?}");
        if let Some(text) = &seen {
            let again = regenerate(Some(text), &TaskFile::parse(TASKS), &[("adr-001-認 (証.md", &adr)]);
            assert_eq!(again.as_ref(), Some(text), "nothing new changes nothing");
        }
    }

    #[test]
    fn text_around_the_marks_is_kept() {
        check(None, Some(("", "\n")));
        check(
            Some("mine\n<!-- todo-index:start -->\nold\n<!-- todo-index:end -->\nmine too"),
            Some(("mine\n", "\nmine too")),
        );
    }

    #[test]
    fn a_file_without_marks_is_somebody_s() {
        for text in ["", "mine", "<!-- todo-index:start -->", "<!-- todo-index:end --><!-- todo-index:start -->"] {
            check(Some(text), None);
        }
    }

    #[test]
    fn line_ends_are_the_file_s() {
        let text = "a\r\n<!-- todo-index:start --><!-- todo-index:end -->\r\n";
        let new = regenerate(Some(text), &TaskFile::parse(""), &[]).expect("ours");
        assert_eq!(new.matches('\n').count(), new.matches("\r\n").count());
    }
}
