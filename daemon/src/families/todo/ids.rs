//! Numbers of tasks and records. A number that was ever given is not given again: what the files show and what
//! `.state.json` remembers both count. Once the last task number was given, a task gets the lowest one that nothing
//! names any more. Broken memory is no error; it is made anew from the files.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::mentions::{Mentions, named};
use super::model::{MAX_NUMBER, TaskId, adr_number};
use super::parse::Task;
use crate::disk::{DirectoryEntry, RelativePath};
use crate::text::json::whole_number;

const TASK: &str = "last_task_number";
const ADR: &str = "last_adr_number";

/// The highest numbers that were given so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdCounters {
    /// Of tasks; 0 is none.
    pub task: u16,
    /// Of records; 0 is none.
    pub adr: u16,
    /// What else is remembered.
    others: Map<String, Value>,
    /// As they are remembered; none if that is broken.
    stored: Option<(u16, u16)>,
}

/// Why there is no next number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdsExhausted {
    /// So many exist.
    Existing,
    /// The highest one was given.
    Given,
    /// None is free again. This one is the lowest without a task, and these files name it.
    Named(TaskId, Vec<RelativePath>),
}

impl IdCounters {
    /// From what is remembered, and from what is there.
    pub fn of(state: Option<&[u8]>, tasks: &[Task], contexts: &[DirectoryEntry], adrs: &[DirectoryEntry]) -> Self {
        let others = state.and_then(|bytes| serde_json::from_slice::<Map<String, Value>>(bytes).ok());
        let marks = |key: &str| {
            let number = whole_number(others.as_ref()?.get(key)?)?;
            u16::try_from(number).ok().filter(|number| *number <= MAX_NUMBER)
        };
        let stored = (marks(TASK), marks(ADR));
        let in_file = tasks.iter().map(|task| task.id.number());
        let of_contexts = contexts.iter().filter_map(|entry| TaskId::of_context(&entry.name)).map(TaskId::number);
        let of_adrs = adrs.iter().filter_map(|entry| adr_number(&entry.name));
        Self {
            task: in_file.chain(of_contexts).chain(stored.0).max().unwrap_or(0),
            adr: of_adrs.chain(stored.1).max().unwrap_or(0),
            stored: stored.0.zip(stored.1),
            others: others.unwrap_or_default(),
        }
    }

    /// With what was given elsewhere, of a task and of a record.
    #[must_use]
    pub fn at_least(self, (task, adr): (u16, u16)) -> Self {
        Self { task: self.task.max(task), adr: self.adr.max(adr), ..self }
    }

    /// Whether the last task number was given, so that the next task needs one that is free again.
    pub fn are_given(&self) -> bool {
        self.task >= MAX_NUMBER
    }

    /// The next task's, if so many exist.
    pub fn next_task(&mut self, existing: usize) -> Result<TaskId, IdsExhausted> {
        self.task = next(self.task, existing)?;
        TaskId::of(self.task).ok_or(IdsExhausted::Given)
    }

    /// The next record's, if so many exist.
    pub fn next_adr(&mut self, existing: usize) -> Result<u16, IdsExhausted> {
        self.adr = next(self.adr, existing)?;
        Ok(self.adr)
    }

    /// What has to be remembered from now on; none if it already is.
    pub fn changed_state(&self) -> Option<Vec<u8>> {
        if self.stored == Some((self.task, self.adr)) {
            return None;
        }
        let mut all = self.others.clone();
        all.insert(TASK.to_owned(), self.task.into());
        all.insert(ADR.to_owned(), self.adr.into());
        Some(format!("{}\n", Value::Object(all)).into_bytes())
    }
}

/// The lowest number that is free again: no task has it and none of these files, which are all there are, names it.
pub fn free_task(tasks: &[Task], files: &[(&RelativePath, &Mentions)]) -> Result<TaskId, IdsExhausted> {
    let with_task: BTreeSet<TaskId> = tasks.iter().map(|task| task.id).collect();
    let in_files: BTreeSet<TaskId> = files.iter().flat_map(|(path, mentions)| named(path, mentions)).collect();
    let mut ids = (1..=MAX_NUMBER).filter_map(TaskId::of).filter(|id| !with_task.contains(id)).peekable();
    let lowest = ids.peek().copied().ok_or(IdsExhausted::Existing)?;
    ids.find(|id| !in_files.contains(id)).ok_or_else(|| {
        let naming = files.iter().filter(|(path, mentions)| named(path, mentions).any(|id| id == lowest));
        IdsExhausted::Named(lowest, naming.map(|(path, _)| (*path).clone()).collect())
    })
}

fn next(last: u16, existing: usize) -> Result<u16, IdsExhausted> {
    match () {
        () if existing >= usize::from(MAX_NUMBER) => Err(IdsExhausted::Existing),
        () if last >= MAX_NUMBER => Err(IdsExhausted::Given),
        () => Ok(last + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::in_tree;
    use super::super::parse::TaskFile;
    use super::*;
    use crate::disk::{EntryKind, FileModel as _};

    fn entries(names: &[&str]) -> Vec<DirectoryEntry> {
        names.iter().map(|name| DirectoryEntry { name: (*name).to_owned(), kind: EntryKind::File }).collect()
    }

    fn check(state: Option<&str>, tasks: &str, contexts: &[&str], adrs: &[&str], expected: (u16, u16)) {
        let file = TaskFile::parse(tasks);
        let numbers = IdCounters::of(state.map(str::as_bytes), &file.tasks, &entries(contexts), &entries(adrs));
        assert_eq!((numbers.task, numbers.adr), expected, "{state:?}");
    }

    #[test]
    fn the_highest_number_anywhere_counts() {
        check(None, "", &[], &[], (0, 0));
        check(None, "- [ ] a #T004\n- [ ] b #T002", &["T003.md", "T9.md", "x.md"], &["adr-007-a.md", "b"], (4, 7));
        check(None, "- [ ] a #T004", &["T011.md"], &[], (11, 0));
        check(Some(r#"{"last_task_number":20,"last_adr_number":3}"#), "- [ ] a #T004", &[], &["adr-001-a.md"], (20, 3));
        check(Some(r#"{"last_task_number":20.0,"last_adr_number":3e0}"#), "", &[], &[], (20, 3));
        check(Some(r#"{"last_task_number":2}"#), "- [ ] a #T004", &[], &[], (4, 0));
        check(None, "```\n- [ ] a #T900\n```", &[], &[], (0, 0));
    }

    #[test]
    fn broken_memory_is_made_anew() {
        for broken in
            ["", "{", "[]", "7", r#"{"last_task_number":"9","last_adr_number":-1}"#, r#"{"last_task_number":5000}"#]
        {
            check(Some(broken), "- [ ] a #T004", &[], &["adr-002-a.md"], (4, 2));
        }
    }

    #[test]
    fn memory_is_written_when_it_says_something_new() {
        let file = TaskFile::parse("- [ ] a #T004");
        let of = |state: &str| IdCounters::of(Some(state.as_bytes()), &file.tasks, &[], &[]);
        assert_eq!(of(r#"{"last_task_number":4,"last_adr_number":0}"#).changed_state(), None);
        let mut numbers = of(r#"{"last_task_number":4,"x":[1],"last_adr_number":0}"#);
        assert_eq!(numbers.next_task(1), Ok(TaskId::of(5).expect("an id")));
        let stored = numbers.changed_state().expect("something new");
        assert_eq!(stored, b"{\"last_task_number\":5,\"x\":[1],\"last_adr_number\":0}\n");
        assert!(of("{}").changed_state().is_some());
    }

    #[test]
    fn numbers_end() {
        let mut numbers = IdCounters::of(Some(br#"{"last_task_number":998,"last_adr_number":999}"#), &[], &[], &[]);
        assert_eq!(numbers.next_task(999), Err(IdsExhausted::Existing));
        assert!(!numbers.are_given());
        assert_eq!(numbers.next_task(0).map(TaskId::number), Ok(999));
        assert!(numbers.are_given());
        assert_eq!(numbers.next_task(1), Err(IdsExhausted::Given));
        assert_eq!(numbers.task, 999, "the mark stays");
        assert_eq!(numbers.next_adr(1), Err(IdsExhausted::Given));
    }

    fn check_free(tasks: &str, files: &[(&str, &str)], expected: Result<u16, IdsExhausted>) {
        let read: Vec<(RelativePath, Mentions)> =
            files.iter().map(|(path, text)| (in_tree(path), Mentions::read(text.as_bytes()))).collect();
        let files: Vec<(&RelativePath, &Mentions)> = read.iter().map(|(path, mentions)| (path, mentions)).collect();
        let seen = free_task(&TaskFile::parse(tasks).tasks, &files);
        assert_eq!(seen.map(TaskId::number), expected, "{tasks}");
    }

    #[test]
    fn the_lowest_number_that_nothing_names_is_free_again() {
        check_free("", &[], Ok(1));
        check_free("- [ ] a #T001\n- [ ] b #T003", &[], Ok(2));
        check_free(
            "- [ ] a #T001",
            &[("task.md", "T001 after T002"), ("context/T003.md", ""), ("x/y", "#T004")],
            Ok(5),
        );
        let tasks = |gap: u16| -> String {
            (1..=MAX_NUMBER).filter(|number| *number != gap).map(|number| format!("- [ ] t #T{number:03}\n")).collect()
        };
        check_free(&tasks(1000), &[], Err(IdsExhausted::Existing));
        check_free(&tasks(17), &[], Ok(17));
        let named = [("a.md", "T016 T018"), ("adr/adr-001-b.md", "T017"), ("context/T017.md", "")];
        let naming = vec![in_tree("adr/adr-001-b.md"), in_tree("context/T017.md")];
        check_free(&tasks(17), &named, Err(IdsExhausted::Named(TaskId::of(17).expect("an id"), naming)));
    }
}
