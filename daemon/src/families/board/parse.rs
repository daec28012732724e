//! Bytes of a bridge file → the board, or what is wrong with them.
//!
//! Both shapes are read: lanes with their tasks, and one list of tasks that say their lane. Nothing is dropped:
//! what is not understood is carried along. What is no board is never taken for an empty one.

use std::sync::Arc;

use super::json;
use super::model::{Board, BoardEntry, Column, Lane, RawMembers, Task};
use crate::text::hash::hash_of;

/// Why a file is no board.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBoard {
    /// Bytes that are no text, after so many that are.
    #[error("it is not UTF-8 text: the byte at offset {at} does not belong there")]
    NotText { at: usize },
    /// Text that is no JSON; why is in the parser's words, with line and column.
    #[error("it is not JSON: {why}")]
    NotJson { why: String },
    /// JSON of another shape; the part is named as in `lanes.todo`.
    #[error("{part} must be {wanted}")]
    Shape { part: String, wanted: &'static str },
}

/// Reads a file.
pub fn parse(bytes: &[u8]) -> Result<Board, InvalidBoard> {
    let text = str::from_utf8(bytes).map_err(|error| InvalidBoard::NotText { at: error.valid_up_to() })?;
    let hash = Some(hash_of(bytes));
    if text.is_empty() {
        return Ok(Board { hash, ..Board::default() });
    }
    let (marked, text) = match text.strip_prefix('\u{feff}') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let value = json::whole(text).map_err(|error| InvalidBoard::NotJson { why: error.to_string() })?;
    let mut top = RawMembers::of(value).ok_or_else(|| shape("the file", "a JSON object"))?;
    let (before, columns) = match (top.place_of("lanes"), top.place_of("tasks")) {
        (Some(place), _) => (place, in_lanes(&top.remove("lanes").unwrap_or_default())?),
        (None, Some(place)) => (place, flat(&top.remove("tasks").unwrap_or_default())?),
        (None, None) => (top.len(), Vec::new()),
    };
    let mut board = Board { top, before, columns, marked, ended: text.ends_with('\n'), hash };
    // Missing lanes are empty.
    for lane in Lane::ALL {
        board.lane_mut(lane);
    }
    Ok(board)
}

fn shape(part: impl Into<String>, wanted: &'static str) -> InvalidBoard {
    InvalidBoard::Shape { part: part.into(), wanted }
}

/// `{"backlog": [task, …], …}`
fn in_lanes(value: &str) -> Result<Vec<Column>, InvalidBoard> {
    let lanes = RawMembers::of(value).ok_or_else(|| shape("`lanes`", "an object with a list for each lane"))?;
    let mut board = Board { columns: Vec::new(), ..Board::default() };
    for (key, name, value) in lanes.iter() {
        // Names are taken exactly: `Done` beside `done` would be somebody's other lane.
        let Some(lane) = Lane::named(name).filter(|lane| lane.word() == name) else {
            board.columns.push(Column::Unknown(key.into(), value.into()));
            continue;
        };
        let entries = match json::items(value) {
            Some(items) => items,
            None if value == "null" => Vec::new(),
            None => return Err(shape(format!("`lanes.{name}`"), "a list of tasks")),
        };
        board.lane_mut(lane).extend(entries.into_iter().map(entry));
    }
    Ok(board.columns)
}

/// `[{"lane": "backlog", …}, …]`: a task without a lane stands where its status says, else in the backlog.
fn flat(value: &str) -> Result<Vec<Column>, InvalidBoard> {
    let items = json::items(value).ok_or_else(|| shape("`tasks`", "a list of tasks"))?;
    let mut board = Board::default();
    let mut strangers: Vec<(String, Vec<&str>)> = Vec::new();
    for item in items {
        let entry = entry(item);
        let lane = match &entry {
            BoardEntry::Task(task) => task.text("lane").or_else(|| task.text("status")),
            BoardEntry::Other(_) => None,
        };
        let lane = lane.unwrap_or_else(|| Lane::Backlog.word().to_owned());
        match Lane::named(&lane) {
            Some(lane) => board.lane_mut(lane).push(entry),
            None => match strangers.iter_mut().find(|(name, _)| *name == lane) {
                Some((_, items)) => items.push(item),
                None => strangers.push((lane, vec![item])),
            },
        }
    }
    board.columns.extend(strangers.into_iter().map(|(name, items)| {
        let key = serde_json::Value::from(name).to_string();
        Column::Unknown(key.into(), format!("[{}]", items.join(",")).into())
    }));
    Ok(board.columns)
}

fn entry(item: &str) -> BoardEntry {
    match RawMembers::of(item) {
        Some(fields) => BoardEntry::Task(Arc::new(Task(fields))),
        None => BoardEntry::Other(item.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids in each lane that has some, and the keys of lanes that are not known.
    #[track_caller]
    fn check(text: &str, expected: &[(Lane, &[&str])], unknown: &[&str]) {
        let board = parse(text.as_bytes()).expect("a board");
        let ids = |lane: &Lane| {
            let ids: Vec<String> = board
                .tasks()
                .filter(|(at, _)| at == lane)
                .map(|(_, task)| task.text("id").unwrap_or_default())
                .collect();
            (*lane, ids)
        };
        let seen: Vec<_> = Lane::ALL.iter().map(ids).filter(|(_, ids)| !ids.is_empty()).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(lane, ids)| (*lane, ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>()))
            .collect();
        assert_eq!(seen, expected, "{text}");
        let strangers = board.columns.iter().filter_map(|column| match column {
            Column::Unknown(key, _) => Some(&**key),
            Column::Known(..) => None,
        });
        assert_eq!(strangers.collect::<Vec<_>>(), unknown, "{text}");
        assert_eq!(board.columns.len(), 6 + unknown.len(), "every lane once: {text}");
    }

    #[test]
    fn both_shapes_are_read() {
        use Lane::{Backlog, Done, Todo};
        check("", &[], &[]);
        check("{}", &[], &[]);
        check("\u{feff}{\"lanes\":{}}\r\n", &[], &[]);
        check(r#"{"lanes":{"done":[{"id":"b"},3,{"id":"a","lane":"todo"}],"todo":null}}"#, &[(Done, &["b", "a"])], &[]);
        check(
            r#"{"lanes":{"Done":[{"id":"b"}],"icebox":7,"todo":[{"id":"a"}]}}"#,
            &[(Todo, &["a"])],
            &["\"Done\"", "\"icebox\""],
        );
        check(r#"{"lanes":{"done":[{"id":"a"}],"done":[{"id":"b"}]}}"#, &[(Done, &["a", "b"])], &[]);
        check(r#"{"lanes":{},"tasks":[{"id":"a"}]}"#, &[], &[]);
        let flat = r#"{"tasks":[{"id":"a","lane":"todo"},{"id":"b"},{"id":"c","status":"done"},{"id":"d","lane":"TODO"},{"id":"e","lane":"icebox"},4,{"id":"f","lane":7,"status":"icebox"}],"metadata":{}}"#;
        check(flat, &[(Backlog, &["b"]), (Todo, &["a", "d"]), (Done, &["c"])], &["\"icebox\""]);
    }

    #[test]
    fn what_is_no_board_is_told() {
        for (bytes, expected) in [
            (&b"{\"lanes\":\xff}"[..], "it is not UTF-8 text: the byte at offset 9 does not belong there"),
            (b"{\"lanes\":{}", "it is not JSON: EOF while parsing an object at line 1 column 11"),
            (b"  \n", "it is not JSON: EOF while parsing a value at line 2 column 0"),
            (b"{} x", "it is not JSON: trailing characters at line 1 column 4"),
            (b"[]", "the file must be a JSON object"),
            (b"null", "the file must be a JSON object"),
            (b"{\"lanes\":[]}", "`lanes` must be an object with a list for each lane"),
            (b"{\"lanes\":null}", "`lanes` must be an object with a list for each lane"),
            (b"{\"lanes\":{\"todo\":{}}}", "`lanes.todo` must be a list of tasks"),
            (b"{\"tasks\":{}}", "`tasks` must be a list of tasks"),
        ] {
            assert_eq!(parse(bytes).expect_err("no board").to_string(), expected);
        }
    }

    #[test]
    fn the_hash_is_of_the_whole_file() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(parse(b"").expect("a board").hash.as_deref(), Some(empty));
        assert_eq!(Board::default().hash, None);
    }
}
