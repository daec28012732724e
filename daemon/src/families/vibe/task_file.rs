//! The text of a new task, byte for byte as every task looks: values come in, the whole file goes out.

use serde_json::Value;

use super::arguments::NewTask;
use crate::text::slug::slug;
use crate::text::yaml;

/// Longer titles are cut in file names, in bytes.
const SLUG_BYTES: usize = 80;

impl NewTask {
    /// The title as part of a file's name.
    pub fn slug(&self) -> String {
        named(&self.title, "task")
    }

    /// The whole file.
    pub fn text(&self) -> String {
        let mut blocks = vec![format!("# Task: {}", one_line(&self.title)), format!("Status: {}", self.status)];
        blocks.push(section("Objective", &lines_of(&self.objective)));
        let context = self.context_lines();
        if !context.is_empty() {
            blocks.push(section("Context", &context));
        }
        let steps = all_lines(&self.steps).enumerate().map(|(index, step)| format!("{}. [ ] {step}", index + 1));
        let criteria = all_lines(&self.acceptance_criteria).map(|criterion| format!("- [ ] {criterion}"));
        let parts =
            [("Steps", joined(steps)), ("Acceptance Criteria", joined(criteria)), ("Notes", lines_of(&self.notes))];
        blocks.extend(parts.iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| section(name, text)));
        let tags: Vec<Value> = all_lines(&self.tags).map(Value::from).collect();
        let front = match tags.is_empty() {
            true => String::new(),
            false => format!("---\n{}\n---\n", yaml::line("tags", &Value::Array(tags))),
        };
        format!("{front}{}\n", blocks.join("\n\n"))
    }

    fn context_lines(&self) -> String {
        let files: Vec<String> = all_lines(&self.context.related_files).map(|file| format!("`{file}`")).collect();
        let tasks: Vec<String> = all_lines(&self.context.dependencies).collect();
        let parts = [("Related files", files), ("Dependencies", tasks)];
        let filled = parts.iter().filter(|(_, values)| !values.is_empty());
        joined(filled.map(|(name, values)| format!("- {name}: {}", values.join(", "))))
    }
}

/// A text as part of a file's name; `otherwise` if it has no letter or digit.
pub fn named(text: &str, otherwise: &str) -> String {
    let slug = slug(text, SLUG_BYTES);
    if slug.is_empty() { otherwise.to_owned() } else { slug }
}

fn section(name: &str, text: &str) -> String {
    if text.is_empty() { format!("## {name}") } else { format!("## {name}\n{text}") }
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<String>>().join("\n")
}

/// Those that say something, each on one line.
fn all_lines(values: &[String]) -> impl Iterator<Item = String> {
    values.iter().map(|value| one_line(value)).filter(|value| !value.is_empty())
}

/// Line breaks become one blank.
pub fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<&str>>().join(" ")
}

/// Line ends as we write them.
fn lines_of(text: &str) -> String {
    text.trim().replace("\r\n", "\n").replace('\r', "\n")
}

#[cfg(test)]
mod tests {
    use super::super::arguments::TaskContext;
    use super::*;

    fn check(task: NewTask, expected: &str) {
        assert_eq!(task.text(), expected);
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_task_looks_as_all_tasks_do() {
        let bare = NewTask { title: " A\r\n b ".into(), status: "pending".into(), ..NewTask::default() };
        check(bare.clone(), "# Task: A b\n\nStatus: pending\n\n## Objective\n");
        check(
            NewTask {
                objective: " one\r\n\r\ntwo ".into(),
                notes: " ".into(),
                tags: texts(&[" ", "a, b", "C"]),
                ..bare
            },
            "---\ntags: [\"a, b\", C]\n---\n# Task: A b\n\nStatus: pending\n\n## Objective\none\n\ntwo\n",
        );
        let full = NewTask {
            title: "T".into(),
            objective: "O".into(),
            steps: texts(&["first", " ", "sec\nond"]),
            acceptance_criteria: texts(&["one"]),
            context: TaskContext { related_files: texts(&["a.py", "b.py"]), dependencies: texts(&["003-x", "004-y"]) },
            notes: "N\n".into(),
            status: "blocked".into(),
            tags: texts(&["backend", "fts5"]),
        };
        check(
            full.clone(),
            "---\ntags: [backend, fts5]\n---\n# Task: T\n\nStatus: blocked\n\n## Objective\nO\n\n## Context\n\
             - Related files: `a.py`, `b.py`\n- Dependencies: 003-x, 004-y\n\n## Steps\n1. [ ] first\n2. [ ] sec ond\n\n\
             ## Acceptance Criteria\n- [ ] one\n\n## Notes\nN\n",
        );
        let context = TaskContext { related_files: Vec::new(), ..full.context.clone() };
        let less = NewTask { context, acceptance_criteria: Vec::new(), tags: Vec::new(), ..full };
        check(
            less,
            "# Task: T\n\nStatus: blocked\n\n## Objective\nO\n\n## Context\n- Dependencies: 003-x, 004-y\n\n\
             ## Steps\n1. [ ] first\n2. [ ] sec ond\n\n## Notes\nN\n",
        );
    }

    #[test]
    fn every_title_gives_a_name() {
        assert_eq!(named("Diseñar schema SQLite", "task"), "disenar-schema-sqlite");
        assert_eq!(named("¿?", "task"), "task");
        assert!(named(&"long word ".repeat(40), "task").len() <= 80);
    }
}
