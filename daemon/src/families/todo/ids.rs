//! Numbers of tasks and records. A number that was ever given is never given again: what the files show and what
//! `.state.json` remembers both count. Broken memory is no error; it is made anew from the files.

use serde_json::{Map, Value};

use super::model::{NUMBERS, TaskId, adr_number};
use super::parse::TaskFile;
use crate::families::need::Entry;

const TASK: &str = "last_task_number";
const ADR: &str = "last_adr_number";

/// The highest numbers that were given so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers {
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// So many exist.
    Existing,
    /// The highest one was given.
    Given,
}

impl Numbers {
    /// From what is remembered, and from what is there.
    pub fn of(state: Option<&[u8]>, tasks: &TaskFile, contexts: &[Entry], adrs: &[Entry]) -> Self {
        let others = state.and_then(|bytes| serde_json::from_slice::<Map<String, Value>>(bytes).ok());
        let marks = |key: &str| {
            let number = others.as_ref()?.get(key)?.as_u64()?;
            u16::try_from(number).ok().filter(|number| *number <= NUMBERS)
        };
        let stored = (marks(TASK), marks(ADR));
        let in_file = tasks.tasks.iter().map(|task| task.id.number());
        let of_contexts = contexts.iter().filter_map(|entry| TaskId::of_context(&entry.name)).map(TaskId::number);
        let of_adrs = adrs.iter().filter_map(|entry| adr_number(&entry.name));
        Self {
            task: in_file.chain(of_contexts).chain(stored.0).max().unwrap_or(0),
            adr: of_adrs.chain(stored.1).max().unwrap_or(0),
            stored: stored.0.zip(stored.1),
            others: others.unwrap_or_default(),
        }
    }

    /// The next task's, if so many exist.
    pub fn next_task(&mut self, existing: usize) -> Result<TaskId, Full> {
        self.task = next(self.task, existing)?;
        TaskId::of(self.task).ok_or(Full::Given)
    }

    /// The next record's, if so many exist.
    pub fn next_adr(&mut self, existing: usize) -> Result<u16, Full> {
        self.adr = next(self.adr, existing)?;
        Ok(self.adr)
    }

    /// What has to be remembered from now on; none if it already is.
    pub fn to_store(&self) -> Option<Vec<u8>> {
        if self.stored == Some((self.task, self.adr)) {
            return None;
        }
        let mut all = self.others.clone();
        all.insert(TASK.to_owned(), self.task.into());
        all.insert(ADR.to_owned(), self.adr.into());
        Some(format!("{}\n", Value::Object(all)).into_bytes())
    }
}

fn next(last: u16, existing: usize) -> Result<u16, Full> {
    match () {
        () if existing >= usize::from(NUMBERS) => Err(Full::Existing),
        () if last >= NUMBERS => Err(Full::Given),
        () => Ok(last + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::need::EntryKind;

    fn entries(names: &[&str]) -> Vec<Entry> {
        names.iter().map(|name| Entry { name: (*name).to_owned(), kind: EntryKind::File }).collect()
    }

    fn check(state: Option<&str>, tasks: &str, contexts: &[&str], adrs: &[&str], expected: (u16, u16)) {
        let file = TaskFile::parse(tasks);
        let numbers = Numbers::of(state.map(str::as_bytes), &file, &entries(contexts), &entries(adrs));
        assert_eq!((numbers.task, numbers.adr), expected, "{state:?}");
    }

    #[test]
    fn the_highest_number_anywhere_counts() {
        check(None, "", &[], &[], (0, 0));
        check(None, "- [ ] a #T004\n- [ ] b #T002", &["T003.md", "T9.md", "x.md"], &["adr-007-a.md", "b"], (4, 7));
        check(None, "- [ ] a #T004", &["T011.md"], &[], (11, 0));
        check(Some(r#"{"last_task_number":20,"last_adr_number":3}"#), "- [ ] a #T004", &[], &["adr-001-a.md"], (20, 3));
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
        let of = |state: &str| Numbers::of(Some(state.as_bytes()), &file, &[], &[]);
        assert_eq!(of(r#"{"last_task_number":4,"last_adr_number":0}"#).to_store(), None);
        let mut numbers = of(r#"{"last_task_number":4,"x":[1],"last_adr_number":0}"#);
        assert_eq!(numbers.next_task(1), Ok(TaskId::of(5).expect("an id")));
        let stored = numbers.to_store().expect("something new");
        assert_eq!(stored, b"{\"last_task_number\":5,\"x\":[1],\"last_adr_number\":0}\n");
        assert!(of("{}").to_store().is_some());
    }

    #[test]
    fn numbers_end() {
        let file = TaskFile::parse("");
        let mut numbers = Numbers::of(Some(br#"{"last_task_number":998,"last_adr_number":999}"#), &file, &[], &[]);
        assert_eq!(numbers.next_task(999), Err(Full::Existing));
        assert_eq!(numbers.next_task(0).map(TaskId::number), Ok(999));
        assert_eq!(numbers.next_task(1), Err(Full::Given));
        assert_eq!(numbers.next_adr(1), Err(Full::Given));
    }
}
