//! Edits of `task.md`: the smallest span of lines is replaced, every other byte stays. A text comes in with what
//! was read of it, the new text goes out; line ends and the end of the file stay as they are.

use std::ops::Range;

use super::arguments::NewSubTask;
use super::lines::line_end;
use super::model::Status;
use super::parse::{Task, TaskFile, is_empty};
use super::render;
use crate::text::code_fences::without_end;

/// Where a block goes.
#[derive(Debug, Clone, Copy)]
pub enum InsertAt<'a> {
    /// Right above this task.
    Before(&'a Task),
    /// Right below it.
    After(&'a Task),
}

/// Another mark in the box of a task.
pub fn set_status(file: &TaskFile, task: &Task, status: Status) -> String {
    replaced(&file.text, &task.mark, status.mark().encode_utf8(&mut [0; 4]))
}

/// Another title for a task.
pub fn set_title(file: &TaskFile, task: &Task, title: &str) -> String {
    // Where there is none, the span lies right before the id.
    let space = if task.title.is_empty() { " " } else { "" };
    replaced(&file.text, &task.title_span, &format!("{title}{space}"))
}

/// Other sub-tasks for a task. If only their statuses differ, only their marks change.
pub fn set_subtasks(file: &TaskFile, task: &Task, subtasks: &[NewSubTask]) -> String {
    let same_titles = task.subtasks.len() == subtasks.len()
        && task.subtasks.iter().zip(subtasks).all(|(old, new)| old.title == new.title);
    let mut text = file.text.clone();
    if same_titles {
        for (old, new) in task.subtasks.iter().zip(subtasks).rev().filter(|(old, new)| old.status != new.status) {
            text.replace_range(old.mark.clone(), new.status.mark().encode_utf8(&mut [0; 4]));
        }
        return text;
    }
    let at = task.subtasks.first().map_or(task.below, |first| first.line.start);
    let end = line_end(&text);
    let lines: String = subtasks.iter().map(|subtask| render::subtask_line(subtask, end)).collect();
    for old in task.subtasks.iter().rev() {
        text = removed(&text, &old.line);
    }
    // Removing the last line of a file without a final line end has taken the end of the line before.
    let at = at.min(text.len());
    inserted(&text, at, &lines)
}

/// A new block, or one that was taken out elsewhere: the last of its category.
pub fn insert(file: &TaskFile, category: &str, block: &str) -> String {
    if let Some(last) = file.in_category(category).next_back() {
        return inserted(&file.text, last.block.end, block);
    }
    if let Some(section) = file.sections.iter().find(|section| section.name == category) {
        return inserted(&file.text, section.first, block);
    }
    let end = end_of(block);
    let blank = if is_empty(&file.text) { "" } else { end };
    inserted(&file.text, file.text.len(), &format!("{blank}{}{end}{block}", render::heading(category)))
}

/// The block of a task, ending with a line end.
pub fn block<'a>(file: &'a TaskFile, task: &Task) -> std::borrow::Cow<'a, str> {
    let block = &file.text[task.block.clone()];
    if block.ends_with('\n') { block.into() } else { format!("{block}{}", line_end(&file.text)).into() }
}

/// Without the block of a task.
pub fn remove(file: &TaskFile, task: &Task) -> String {
    removed(&file.text, &task.block)
}

/// A block beside another.
pub fn place(file: &TaskFile, beside: InsertAt<'_>, block: &str) -> String {
    match beside {
        InsertAt::Before(task) => inserted(&file.text, task.block.start, block),
        InsertAt::After(task) => inserted(&file.text, task.block.end, block),
    }
}

/// Lines, each with its end, where a line begins or the file ends. A file without a final line end gets none.
pub fn inserted(text: &str, at: usize, lines: &str) -> String {
    if lines.is_empty() {
        return text.to_owned();
    }
    if at == text.len() && !text.ends_with('\n') && !is_empty(text) {
        return format!("{text}{}{}", end_of(lines), without_end(lines));
    }
    format!("{}{lines}{}", &text[..at], &text[at..])
}

/// How the last of some lines ends; the text around may have no line end left to go by.
fn end_of(lines: &str) -> &'static str {
    if lines.ends_with("\r\n") { "\r\n" } else { "\n" }
}

/// Without some whole lines. A file without a final line end keeps having none.
pub fn removed(text: &str, span: &Range<usize>) -> String {
    // A line after this one may have been the last, and have taken the end of this one with it.
    let (before, after) = (&text[..span.start], &text[span.end.min(text.len())..]);
    let before = if after.is_empty() && !text.ends_with('\n') { without_end(before) } else { before };
    format!("{before}{after}")
}

fn replaced(text: &str, span: &Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..span.start], &text[span.end..])
}

/// The number of lines that differ between two texts, for tests of how small an edit is.
#[cfg(test)]
pub fn changed_lines(old: &str, new: &str) -> (usize, usize) {
    let (old, new): (Vec<_>, Vec<_>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(old, new)| old == new).count();
    (old.len() - head - tail, new.len() - head - tail)
}

#[cfg(test)]
mod tests {
    use super::super::model::TaskId;
    use super::*;

    fn id(number: u16) -> TaskId {
        TaskId::of(number).expect("an id")
    }

    /// Edits the first task of each form of a file.
    fn check(old: &str, edit: impl Fn(&TaskFile, &Task) -> String, expected: &str) {
        for (old, expected) in [
            (old.to_owned(), expected.to_owned()),
            (old.replace('\n', "\r\n"), expected.replace('\n', "\r\n")),
            (format!("\u{feff}{old}"), format!("\u{feff}{expected}")),
        ] {
            let file = TaskFile::parse(&old);
            assert_eq!(edit(&file, &file.tasks[0]), expected, "{old:?}");
        }
    }

    #[test]
    fn a_mark_or_a_title_changes_nothing_else() {
        let done = |file: &TaskFile, task: &Task| set_status(file, task, Status::Done);
        check("p\n*  [?] a  b \t#T001  \n  n\n", done, "p\n*  [x] a  b \t#T001  \n  n\n");
        let titled = |file: &TaskFile, task: &Task| set_title(file, task, "新 #T009");
        check("- [ ]  a   #T001 \n", titled, "- [ ]  新 #T009   #T001 \n");
        check("- [ ] #T001", titled, "- [ ] 新 #T009 #T001");
    }

    fn subtasks(new: &'static [(&'static str, Status)]) -> impl Fn(&TaskFile, &Task) -> String {
        move |file, task| {
            let new: Vec<NewSubTask> =
                new.iter().map(|(title, status)| NewSubTask { title: (*title).to_owned(), status: *status }).collect();
            set_subtasks(file, task, &new)
        }
    }

    #[test]
    fn sub_tasks_are_replaced_and_notes_stay() {
        let old = "- [ ] a #T001\n  note\n\t* [ ] x\n    deep note\n      - [x] y\n  end\n- [ ] b #T002\n";
        check(old, subtasks(&[("x", Status::Done), ("y", Status::Done)]), &old.replace("* [ ] x", "* [x] x"));
        let new = "- [ ] a #T001\n  note\n  - [-] z\n    deep note\n  end\n- [ ] b #T002\n";
        check(old, subtasks(&[("z", Status::InProgress)]), new);
        check(old, subtasks(&[]), "- [ ] a #T001\n  note\n    deep note\n  end\n- [ ] b #T002\n");
        check("- [ ] a #T001\n  n\n", subtasks(&[("z", Status::Todo)]), "- [ ] a #T001\n  - [ ] z\n  n\n");
        check("p\n- [ ] a #T001", subtasks(&[("z", Status::Todo)]), "p\n- [ ] a #T001\n  - [ ] z");
        check("- [ ] a #T001\n  - [ ] x", subtasks(&[("z", Status::Todo)]), "- [ ] a #T001\n  - [ ] z");
        check("- [ ] a #T001\n  - [ ] x", subtasks(&[]), "- [ ] a #T001");
        check("- [ ] a #T001\n  - [ ] x\n  - [ ] y", subtasks(&[]), "- [ ] a #T001");
    }

    fn created(category: &'static str) -> impl Fn(&TaskFile, &Task) -> String {
        move |file, _| insert(file, category, &render::block(id(9), "n", &[], line_end(&file.text)))
    }

    #[test]
    fn a_new_block_is_the_last_of_its_category() {
        let old = "- [ ] a #T001\n  n\n\n## A\n\nprose\n## B\nprose\n## C";
        check(old, created("Default"), "- [ ] a #T001\n  n\n- [ ] n #T009\n\n## A\n\nprose\n## B\nprose\n## C");
        check(old, created("A"), "- [ ] a #T001\n  n\n\n## A\n\n- [ ] n #T009\nprose\n## B\nprose\n## C");
        check(old, created("B"), "- [ ] a #T001\n  n\n\n## A\n\nprose\n## B\n- [ ] n #T009\nprose\n## C");
        check(old, created("C"), &format!("{old}\n- [ ] n #T009"));
        check(old, created("b"), &format!("{old}\n\n## b\n- [ ] n #T009"));
        check("- [ ] a #T001\n", created("b"), "- [ ] a #T001\n\n## b\n- [ ] n #T009\n");
        let twice = "## A\n- [ ] a #T001\n## B\n## A\n- [ ] b #T002\nprose\n";
        check(twice, created("A"), "## A\n- [ ] a #T001\n## B\n## A\n- [ ] b #T002\n- [ ] n #T009\nprose\n");
    }

    #[test]
    fn an_empty_file_gets_a_heading() {
        for bom in ["", "\u{feff}"] {
            let file = TaskFile::parse(bom);
            assert_eq!(insert(&file, "A", "- [ ] n #T009\n"), format!("{bom}## A\n- [ ] n #T009\n"));
        }
    }

    #[test]
    fn a_block_goes_with_its_notes_only() {
        let gone = |file: &TaskFile, task: &Task| remove(file, task);
        check("## A\n- [ ] a #T001\n  n\n\n  m\n\nprose", gone, "## A\n\nprose");
        check("## A\n\n- [ ] a #T001", gone, "## A\n");
        check("## A\n- [ ] a #T001", gone, "## A");
        check("- [ ] a #T001", gone, "");
    }

    #[test]
    fn a_block_moves_as_it_is() {
        let old = "- [ ] a #T001\n  n\nprose\n* [x] b #T002\n\n- [ ] c #T003\n  m";
        let file = TaskFile::parse(old);
        let moved = |number: u16, beside: fn(&Task) -> InsertAt<'_>, other: u16| {
            let task = file.task(id(number)).expect("the task");
            let rest = TaskFile::parse(&remove(&file, task));
            place(&rest, beside(rest.task(id(other)).expect("the other")), &block(&file, task))
        };
        assert_eq!(
            moved(1, |task| InsertAt::After(task), 3),
            "prose\n* [x] b #T002\n\n- [ ] c #T003\n  m\n- [ ] a #T001\n  n"
        );
        assert_eq!(
            moved(3, |task| InsertAt::Before(task), 1),
            "- [ ] c #T003\n  m\n- [ ] a #T001\n  n\nprose\n* [x] b #T002\n"
        );
    }
}
