//! Tasks and records → text, as `parse` and `adr` read it back. Only what is new is rendered; files are never made
//! anew from a model.

use super::adr;
use super::arguments::{NewAdr, NewSubTask};
use super::model::{Status, TaskId};

/// A new main task with its sub-tasks; each line ends with `end`.
pub fn block(id: TaskId, title: &str, subtasks: &[NewSubTask], end: &str) -> String {
    let main = format!("- [{}] {title} #{id}{end}", Status::Todo.mark());
    subtasks.iter().fold(main, |block, subtask| block + &subtask_line(subtask, end))
}

/// The line of a sub-task.
pub fn subtask_line(subtask: &NewSubTask, end: &str) -> String {
    format!("  - [{}] {}{end}", subtask.status.mark(), subtask.title)
}

/// The heading of a category or a section.
pub fn heading(name: &str) -> String {
    format!("## {name}")
}

/// The context file of a new task.
pub fn context(id: TaskId, description: &str, created: &str) -> String {
    let description = description.replace("\r\n", "\n");
    let description = description.trim_end_matches('\n');
    format!("# Context for {id}\n\n## Task Description\n{description}\n\n## Created\n{created}\n")
}

/// The file of a new record.
pub fn record(number: u16, adr: &NewAdr, created: &str) -> String {
    let status = adr.status.word();
    let mut text = format!("# ADR-{number:03}: {}\n\n", adr.title);
    text += &format!("- Status: {status}\n- Created: {created}\n- Updated: {created}\n\n");
    let sections = [
        ("Context", &adr.context),
        ("Decision", &adr.decision),
        ("Rationale", &adr.rationale),
        ("Consequences", &adr.consequences),
    ];
    for (name, content) in sections {
        let content = content.replace("\r\n", "\n");
        text += &format!("{}\n{}\n", heading(name), content.trim_end_matches('\n'));
    }
    text + &format!("\n{}\n- {created} {status}\n", heading(adr::HISTORY))
}

#[cfg(test)]
mod tests {
    use super::super::parse::TaskFile;
    use super::*;

    fn check(title: &str, subtasks: &[(&str, Status)]) {
        let id = TaskId::of(7).expect("an id");
        let new = |(title, status): &(&str, Status)| NewSubTask { title: (*title).to_owned(), status: *status };
        let subtasks: Vec<NewSubTask> = subtasks.iter().map(new).collect();
        for end in ["\n", "\r\n"] {
            let file = TaskFile::parse(&block(id, title, &subtasks, end));
            let task = file.task(id).expect("the task");
            assert_eq!((task.title.as_str(), task.status), (title, Status::Todo));
            let seen = task.subtasks.iter().map(|sub| NewSubTask { title: sub.title.clone(), status: sub.status });
            assert_eq!(seen.collect::<Vec<_>>(), subtasks);
        }
    }

    #[test]
    fn what_is_rendered_reads_back() {
        check("受入条件を書く", &[("画面", Status::Todo), ("設計", Status::Done), ("x", Status::InProgress)]);
        check("a #T001", &[("b #T002", Status::Todo)]);
        check("[x] <!-- ``` ## ---", &[("- [ ] nested", Status::Todo), ("```", Status::Todo)]);
        check("\\", &[]);
    }

    #[test]
    fn templates_are_the_contract_s() {
        let id = TaskId::of(1).expect("an id");
        let text = "# Context for T001\n\n## Task Description\nwhy\n\n## Created\n2026-01-28T10:30:00Z\n";
        assert_eq!(context(id, "why\n", "2026-01-28T10:30:00Z"), text);
    }
}
