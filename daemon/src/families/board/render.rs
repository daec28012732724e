//! The board → bytes of its file, with two blanks for each level.
//!
//! All lanes are written. Everything that no tool touched keeps its place among its neighbours, its numbers and its
//! escapes; only blanks between values may differ.

use super::json::{indent, line};
use super::model::{Board, BoardEntry, Column, RawMembers};

/// Writes a board.
pub fn render(board: &Board) -> Vec<u8> {
    let mut out = String::with_capacity(board.size());
    if board.marked {
        out.push('\u{feff}');
    }
    out.push('{');
    let members: Vec<_> = board.top.iter().collect();
    let (before, after) = members.split_at(board.before.min(members.len()));
    let mut first = true;
    for (key, _, value) in before {
        raw_member(&mut first, 1, key, value, &mut out);
    }
    member(&mut first, 1, "\"lanes\"", &mut out);
    lanes(&board.columns, &mut out);
    for (key, _, value) in after {
        raw_member(&mut first, 1, key, value, &mut out);
    }
    line(0, &mut out);
    out.push('}');
    if board.ended {
        out.push('\n');
    }
    out.into_bytes()
}

fn lanes(columns: &[Column], out: &mut String) {
    out.push('{');
    let mut first = true;
    for column in columns {
        match column {
            Column::Known(lane, entries) => {
                member(&mut first, 2, &format!("\"{}\"", lane.word()), out);
                list(entries, out);
            }
            Column::Unknown(key, value) => raw_member(&mut first, 2, key, value, out),
        }
    }
    if !first {
        line(1, out);
    }
    out.push('}');
}

fn list(entries: &[BoardEntry], out: &mut String) {
    out.push('[');
    for (place, entry) in entries.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        line(3, out);
        match entry {
            BoardEntry::Task(task) => object(&task.0, out),
            BoardEntry::Other(value) => indent(value, 3, out),
        }
    }
    if !entries.is_empty() {
        line(2, out);
    }
    out.push(']');
}

fn object(fields: &RawMembers, out: &mut String) {
    out.push('{');
    let mut first = true;
    for (key, _, value) in fields.iter() {
        raw_member(&mut first, 4, key, value, out);
    }
    if !first {
        line(3, out);
    }
    out.push('}');
}

fn raw_member(first: &mut bool, level: usize, key: &str, value: &str, out: &mut String) {
    member(first, level, key, out);
    indent(value, level, out);
}

/// Comma, line break, key.
fn member(first: &mut bool, level: usize, key: &str, out: &mut String) {
    if !std::mem::take(first) {
        out.push(',');
    }
    line(level, out);
    out.push_str(key);
    out.push_str(": ");
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let board = parse(text.as_bytes()).expect("a board");
        let written = String::from_utf8(render(&board)).expect("text");
        assert_eq!(written, expected);
        let again = parse(written.as_bytes()).expect("a board");
        assert_eq!(String::from_utf8(render(&again)).expect("text"), written, "written once, it stays");
    }

    const EMPTY: &str = "{\n  \"lanes\": {\n    \"backlog\": [],\n    \"todo\": [],\n    \"in_progress\": [],\n    \"code_review\": [],\n    \"done\": [],\n    \"recovery\": []\n  }\n}";

    #[test]
    fn everything_keeps_its_place() {
        check("", &format!("{EMPTY}\n"));
        check("{}", EMPTY);
        check("\u{feff}{}\n", &format!("\u{feff}{EMPTY}\n"));
        let text = r#"{"x":1.10,"lanes":{"icebox":[{"id":"z"}],"todo":[{ "id":"a","n":12345678901234567890123,"o":{}, "t":"\ud83d" },7,{}]},"y":[1]}"#;
        let expected = r#"{
  "x": 1.10,
  "lanes": {
    "icebox": [
      {
        "id": "z"
      }
    ],
    "todo": [
      {
        "id": "a",
        "n": 12345678901234567890123,
        "o": {},
        "t": "\ud83d"
      },
      7,
      {}
    ],
    "backlog": [],
    "in_progress": [],
    "code_review": [],
    "done": [],
    "recovery": []
  },
  "y": [
    1
  ]
}"#;
        check(text, expected);
    }

    #[test]
    fn a_list_of_tasks_becomes_lanes_where_it_stood() {
        let flat = r#"{"version":"2","tasks":[{"id":"a","lane":"done"},{"id":"b","lane":"icebox","k":1}],"metadata":{"by":"x"}}"#;
        let expected = EMPTY.replace("{\n  \"lanes\"", "{\n  \"version\": \"2\",\n  \"lanes\"");
        let task =
            |id: &str, rest: &str| format!("[\n      {{\n        \"id\": \"{id}\",\n        {rest}\n      }}\n    ]");
        let expected = expected.replace("\"done\": []", &format!("\"done\": {}", task("a", "\"lane\": \"done\"")));
        let stranger = task("b", "\"lane\": \"icebox\",\n        \"k\": 1");
        let tail = format!(
            "\"recovery\": [],\n    \"icebox\": {stranger}\n  }},\n  \"metadata\": {{\n    \"by\": \"x\"\n  }}\n}}"
        );
        check(flat, &expected.replace("\"recovery\": []\n  }\n}", &tail));
    }
}
