//! The parts of a document that people look for: title, objective, steps, related files, decisions. A body comes in;
//! what it does not have is empty.

use super::lists::{item, item_lines};
use crate::text::headings::{headings, section};

/// Names of the section with the objective.
const OBJECTIVE: [&str; 3] = ["Objective", "Objetivo", "目的"];
/// Names of the section with decisions.
const DECISIONS: [&str; 4] = ["Decisions", "Recent Decisions", "Decisiones", "決定事項"];

/// The title: the first heading of the first level, without `Task:`.
pub fn title(body: &str) -> Option<&str> {
    let heading = headings(body).find(|heading| heading.level == 1)?.text;
    let task = heading.get(..5).filter(|head| head.eq_ignore_ascii_case("task:"));
    let title = task.map_or(heading, |task| heading[task.len()..].trim());
    Some(title).filter(|title| !title.is_empty())
}

/// What the document wants to achieve, all of it.
pub fn objective(body: &str) -> &str {
    section(body, &OBJECTIVE).unwrap_or_default()
}

/// The lines with decisions.
pub fn decisions(body: &str) -> Vec<&str> {
    DECISIONS.iter().filter_map(|name| section(body, &[name])).flat_map(item_lines).collect()
}

/// What a task says about its work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskDetails {
    /// The lines of its steps.
    pub steps: Vec<String>,
    /// So many steps are done.
    pub checked: usize,
    /// Of so many.
    pub all: usize,
    /// The first step that is not done.
    pub next: Option<String>,
    /// Files it names.
    pub related: Vec<String>,
    /// Tasks it names.
    pub dependencies: Vec<String>,
}

impl TaskDetails {
    /// Reads a task's body.
    pub fn of(body: &str) -> Self {
        let steps = section(body, &["Steps"]).unwrap_or_default();
        let boxes: Vec<(bool, &str)> = item_lines(steps).filter_map(|line| checkbox(item(line)?)).collect();
        let context = section(body, &["Context"]).unwrap_or_default();
        Self {
            steps: item_lines(steps).map(str::to_owned).collect(),
            checked: boxes.iter().filter(|(is_done, _)| *is_done).count(),
            all: boxes.len(),
            next: boxes.iter().find(|(is_done, _)| !is_done).map(|(_, text)| (*text).to_owned()),
            related: named(context, "related files"),
            dependencies: named(context, "dependencies"),
        }
    }
}

/// Whether a box is checked, and what stands behind it.
fn checkbox(item: &str) -> Option<(bool, &str)> {
    let is_done = match item.get(..3)? {
        "[ ]" => false,
        "[x]" | "[X]" => true,
        _ => return None,
    };
    Some((is_done, item[3..].trim()))
}

/// The values of lines such as ``- Related files: `a`, `b` ``.
fn named(context: &str, label: &str) -> Vec<String> {
    let value = |line: &str| {
        let line = item(line).unwrap_or(line).trim_start();
        let head = line.get(..label.len()).filter(|head| head.eq_ignore_ascii_case(label))?;
        line[head.len()..].trim_start().strip_prefix(':').map(str::to_owned)
    };
    let values: Vec<String> = context.lines().filter_map(value).collect();
    values.iter().flat_map(|value| split_values(value)).collect()
}

/// Values between commas; one in backticks may hold a comma.
fn split_values(values: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut is_quoted = false;
    for character in values.chars() {
        match character {
            '`' => is_quoted = !is_quoted,
            ',' if !is_quoted => parts.push(String::new()),
            other => parts.last_mut().into_iter().for_each(|part| part.push(other)),
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: (Option<&str>, &str, &[&str])) {
        assert_eq!((title(body), objective(body), decisions(body).as_slice()), expected, "{body:?}");
    }

    #[test]
    fn titles_objectives_and_decisions_are_found() {
        check("", (None, "", &[]));
        check("# Task: Diseñar\n\n## Objetivo\nuno\n\ndos\n\n## X\n", (Some("Diseñar"), "uno\n\ndos", &[]));
        check("## A\n# TASK:b\n# c\n## 目的\n直す", (Some("b"), "直す", &[]));
        check(
            "# Plan — x\n## Decisiones\n- **a:** b\ntext\n## Decisions\n* c\n",
            (Some("Plan — x"), "", &["* c", "- **a:** b"]),
        );
        check("# Task:\n", (None, "", &[]));
        check("```\n# no\n```\n# yes", (Some("yes"), "", &[]));
    }

    #[test]
    fn a_task_says_what_it_needs() {
        let body = "# T\n## Context\n- Related files: `a.py`, `b,c.py`\n* dependencies: 003-x, 004\n\n## Steps\nfirst:\n\
                    1. [x] one\n2. [ ] two\n   - [X] deeper\n3. plain\n## Notes\n- [ ] no\n";
        let expected = TaskDetails {
            steps: ["1. [x] one", "2. [ ] two", "   - [X] deeper", "3. plain"].map(str::to_owned).to_vec(),
            checked: 2,
            all: 3,
            next: Some("two".to_owned()),
            related: vec!["a.py".to_owned(), "b,c.py".to_owned()],
            dependencies: vec!["003-x".to_owned(), "004".to_owned()],
        };
        assert_eq!(TaskDetails::of(body), expected);
        assert_eq!(TaskDetails::of("# T\n"), TaskDetails::default());
    }
}
