//! Which task ids a file names. The bytes of a file come in, ids go out; where they stand does not matter, and neither
//! does whether the file is text. It matters only once the last number was given.

use std::collections::BTreeSet;

use super::index_file;
use super::model::TaskId;
use crate::disk::{FileModel, RelativePath};

/// The ids that a file names.
#[derive(Debug, Default)]
pub struct Mentions(BTreeSet<TaskId>);

impl FileModel for Mentions {
    fn read(bytes: &[u8]) -> Self {
        // The index follows the other files a moment later, and names a task that was just deleted.
        let [before, after] =
            str::from_utf8(bytes).map_or([bytes, &[]], |text| index_file::kept(text).map(str::as_bytes));
        Self(ids(before).chain(ids(after)).collect())
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.0.len() * 2 * size_of::<TaskId>()
    }
}

/// A file and the ids it names, be it by its own name: `context/T017.md` names `T017`, whatever is in it.
pub fn named<'a>(path: &'a RelativePath, mentions: &'a Mentions) -> impl Iterator<Item = TaskId> {
    ids(path.as_str().as_bytes()).chain(mentions.0.iter().copied())
}

/// `T017` and `#T017` name a task; `T0170` and `PORT443` do not.
fn ids(bytes: &[u8]) -> impl Iterator<Item = TaskId> {
    let is_begin = |at: usize| at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
    let is_end = |at: usize| !bytes.get(at).is_some_and(u8::is_ascii_digit);
    let letters = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'T').map(|(at, _)| at);
    letters.filter(move |at| is_begin(*at) && is_end(at + 4)).filter_map(|at| {
        let id = bytes.get(at..at + 4)?;
        TaskId::parse(str::from_utf8(id).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::super::model::in_tree;
    use super::*;

    fn check(path: &str, content: &[u8], expected: &[u16]) {
        let (path, mentions) = (in_tree(path), Mentions::read(content));
        let seen: BTreeSet<u16> = named(&path, &mentions).map(TaskId::number).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected, "{}", String::from_utf8_lossy(content));
    }

    #[test]
    fn ids_are_named_anywhere() {
        check("task.md", b"", &[]);
        check("task.md", b"- [ ] a #T001\n  see T002, (T003) _T004_ T005s", &[1, 2, 3, 4, 5]);
        check("a.md", "タスクT017を、T018。\r\nT019".as_bytes(), &[17, 18, 19]);
        check("a.md", b"```\n#T900\n```\n<!-- T901 -->", &[900, 901]);
        check("a.bin", b"\xff\xfe T007 \x00T008\xff", &[7, 8]);
        check("context/T017.md", b"nothing", &[17]);
        check("old/T020/notes.md", b"T021", &[20, 21]);
    }

    #[test]
    fn other_words_name_nothing() {
        for text in ["T", "T1", "T01", "T0170", "t017", "PORT443", "2026-01-28T103", "T１２３", "T 017", "TT01", "T01x"]
        {
            check("a.md", text.as_bytes(), &[]);
        }
    }

    #[test]
    fn what_is_made_of_other_files_names_nothing() {
        let index = "T001\n<!-- todo-index:start -->\n[T002](context/T002.md)\n<!-- todo-index:end -->\nT003";
        check("index.md", index.as_bytes(), &[1, 3]);
        check("index.md", b"<!-- todo-index:start -->\nT002", &[2]);
    }
}
