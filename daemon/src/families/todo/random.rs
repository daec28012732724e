//! Files as people write them, edited at random: whatever a tool does, every byte that it did not mean to change
//! stays, and what it meant is there.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::arguments::{CreateTask, DeleteTask, ReorderTask, UpdateTask};
use super::edits;
use super::model::{TASK_FILE, TaskId, place};
use super::needs::{NumberFiles, TodoFiles};
use super::parse::TaskFile;
use super::splice::{changed_lines, remove};
use crate::clock::Now;
use crate::disk::{Digest, FileModel as _, FileStamp, LoadedModel, ReadError};
use crate::families::edit::{Edit, Replacement};
use crate::families::{Answer, Arguments, Body};

/// Lines as they are found in such files.
const LINES: [&str; 36] = [
    "# Task",
    "## SPEC",
    "## 設計 ##",
    "## SPEC",
    "### deeper",
    "",
    "",
    "   ",
    "prose, with a trailing space ",
    "> a quote",
    "| a | b |",
    "|---|---|",
    "---",
    "- [ ] 受入条件を書く #T001",
    "- [-] second #T002",
    "* [x]  odd   bullet\t#T003  ",
    "+ [X] upper #T004",
    "- [?] somebody's mark #T005",
    "- [ ] mentions #T001 inside #T006",
    "- [ ] #T007",
    "- [ ] 全角　#T008",
    "- [ ] again #T001",
    "- [ ] unmanaged",
    "- plain bullet",
    "1. numbered",
    "  - [ ] sub-task",
    "  - [x] 完了した作業",
    "\t* [-] by tab",
    "      - [ ] deep",
    "  note of a task",
    "    ```",
    "```sh",
    "```",
    "<!-- closed -->",
    "<!--",
    "-->",
];

fn text() -> impl Strategy<Value = String> {
    let lines = proptest::collection::vec(proptest::sample::select(LINES.to_vec()), 0..25);
    (lines, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(lines, carried, bom, last, front)| {
            let end = if carried { "\r\n" } else { "\n" };
            let mut text = lines.join(end);
            if last && !text.is_empty() {
                text.push_str(end);
            }
            if front {
                text = format!("---{end}x: 1{end}---{end}{text}");
            }
            if bom { format!("\u{feff}{text}") } else { text }
        },
    )
}

#[derive(Debug, Clone)]
enum Call {
    Create(Value),
    Update(Value),
    Delete(Value),
    Reorder(Value),
}

fn call() -> impl Strategy<Value = Call> {
    let id = (1..9_u16).prop_map(|number| format!("T{number:03}"));
    let title = proptest::sample::select(vec!["new", "新しい #T009", "```", "<!--", "[x] y", "## z", "\\", "a\nb"]);
    let category = proptest::sample::select(vec![None, Some("SPEC"), Some("設計"), Some("新"), Some("Default")]);
    let subtasks = proptest::collection::vec(proptest::sample::select(vec!["s", "二", "- [ ] t", "~~~"]), 0..3);
    let status = proptest::sample::select(vec![None, Some("todo"), Some("in_progress"), Some("done")]);
    let position = proptest::sample::select(vec!["first", "last", "before", "after"]);
    (0..4_u8, id.clone(), id, title, (category, status, position), (subtasks, any::<u8>())).prop_map(
        |(which, id, other, title, (category, status, position), (subtasks, some))| match which {
            0 => Call::Create(json!({ "title": title, "category": category, "subtasks": subtasks })),
            1 => {
                let titles: Vec<Value> = subtasks.iter().map(|title| json!({ "title": title })).collect();
                let mut arguments = json!({ "task_id": id });
                for (bit, key, value) in [
                    (1, "title", json!(title)),
                    (2, "status", json!(status)),
                    (4, "category", json!(category)),
                    (8, "subtasks", json!(titles)),
                ] {
                    if some & bit != 0 {
                        arguments[key] = value;
                    }
                }
                Call::Update(arguments)
            }
            2 => Call::Delete(json!({ "task_id": id })),
            _ => Call::Reorder(json!({ "task_id": id, "position": position, "reference_task_id": other })),
        },
    )
}

/// Of a file that is nowhere.
pub(super) const STAMP: FileStamp = FileStamp { device: 0, inode: 0, size: 0, modified_ns: 0, changed_ns: 0 };

/// A project with this `task.md`, as it is seen.
pub(super) fn tree(text: &str) -> TodoFiles {
    let model = Arc::new(TaskFile::read(text.as_bytes()));
    let digest = Digest::of(text.as_bytes());
    (place(None), Ok(false), Ok(LoadedModel { model, digest, stamp: STAMP }))
}

fn nothing() -> NumberFiles {
    (Err(ReadError::Missing), Err(ReadError::Missing), Err(ReadError::Missing))
}

fn parsed<A: Arguments>(arguments: &Value) -> Option<A> {
    A::parse(arguments.as_object().expect("an object")).ok()
}

/// The answer and the new text of `task.md`, if the call changes it.
fn run(text: &str, call: &Call) -> Option<(Map<String, Value>, String)> {
    let now = Now { at: jiff::Timestamp::UNIX_EPOCH, zone: jiff::tz::TimeZone::UTC };
    let edited: Result<(Answer, Edit), _> = match call {
        Call::Create(arguments) => edits::create(
            (((tree(text), nothing()), Default::default()), None),
            &parsed::<CreateTask>(arguments)?,
            &now,
        ),
        Call::Update(arguments) => edits::update(tree(text), &parsed::<UpdateTask>(arguments)?, &now),
        Call::Delete(arguments) => {
            edits::delete((tree(text), Err(ReadError::Missing), nothing()), &parsed::<DeleteTask>(arguments)?, &now)
        }
        Call::Reorder(arguments) => edits::reorder(tree(text), &parsed::<ReorderTask>(arguments)?, &now),
    };
    let (answer, edit) = edited.ok()?;
    let file = edit.files.into_iter().find(|file| file.path.as_str() == TASK_FILE)?;
    let Replacement::Content(bytes, _) = file.new else { panic!("task.md is never removed") };
    let Body::Object(answer) = answer.body else { panic!("an object") };
    let answer = answer.value().as_object().cloned().expect("an object");
    Some((answer, String::from_utf8(bytes.to_vec()).expect("text")))
}

fn id_of(arguments: &Value) -> TaskId {
    TaskId::parse(arguments["task_id"].as_str().expect("a text")).expect("an id")
}

/// Of two tasks with one id the first is meant; once that has moved, the other one may be the first.
fn is_double(text: &str, id: TaskId) -> bool {
    text.matches(&format!("#{id}")).count() > 1
}

fn without(text: &str, id: TaskId) -> String {
    let file = TaskFile::parse(text);
    remove(&file, file.task(id).expect("the task"))
}

/// Lines with their ends, without those of one block.
fn lines_without(text: &str, id: TaskId) -> Vec<String> {
    let file = TaskFile::parse(text);
    let block = file.task(id).expect("the task").block.clone();
    let lines = super::lines::lines(text).filter(|line| !block.contains(&line.start));
    lines.map(|line| line.text.to_owned()).collect()
}

/// A blank line at the end of a file without a final line end is nothing, once its task has left it.
fn filled(mut lines: Vec<String>) -> Vec<String> {
    lines.truncate(lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1));
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_changes_but_what_was_meant(old in text(), call in call()) {
        let Some((answer, new)) = run(&old, &call) else { return Ok(()) };
        prop_assert_eq!(old.starts_with('\u{feff}'), new.starts_with('\u{feff}'));
        if !old.contains('\n') || old.matches('\n').count() == old.matches("\r\n").count() && old.contains('\n') {
            let carried = old.contains("\r\n");
            prop_assert!(!carried || new.matches('\n').count() == new.matches("\r\n").count(), "line ends stay");
        } else {
            prop_assert!(!new.contains("\r\n"));
        }
        match &call {
            Call::Create(_) => {
                let id = TaskId::parse(answer["task_id"].as_str().expect("a text")).expect("an id");
                let rest = without(&new, id);
                prop_assert!(rest == old || rest.starts_with(&old), "what was there stays: {:?}", rest);
            }
            Call::Update(arguments) => {
                let id = id_of(arguments);
                let (fields, changed) = (answer["updated_fields"].as_array().expect("fields").clone(), changed_lines(&old, &new));
                if fields.iter().all(|field| field == "title" || field == "status") {
                    prop_assert_eq!(changed, (1, 1));
                }
                let (mut before, mut after) = (lines_without(&old, id), lines_without(&new, id));
                if fields.iter().any(|field| field == "category") {
                    if is_double(&old, id) {
                        return Ok(());
                    }
                    (before, after) = (filled(before), filled(after));
                }
                if fields.iter().any(|field| field == "subtasks") {
                    // A blank line above a subtask that went stays, and belongs to the task no more.
                    [&mut before, &mut after].into_iter().for_each(|lines| lines.retain(|line| !line.trim().is_empty()));
                }
                prop_assert!(after.starts_with(&before) || before == after);
            }
            Call::Delete(arguments) => {
                let after = super::lines::lines(&new).map(|line| line.text.to_owned()).collect();
                prop_assert_eq!(filled(lines_without(&old, id_of(arguments))), filled(after));
            }
            Call::Reorder(arguments) => {
                let id = id_of(arguments);
                if is_double(&old, id) {
                    return Ok(());
                }
                prop_assert_eq!(without(&old, id), without(&new, id));
                let (before, after) = (TaskFile::parse(&old), TaskFile::parse(&new));
                prop_assert_eq!(answer["old_position"].as_u64(), before.task(id).map(|task| task.rank as u64));
                prop_assert_eq!(answer["new_position"].as_u64(), after.task(id).map(|task| task.rank as u64));
            }
        }
    }

    #[test]
    fn a_status_and_back_is_nothing(old in text(), number in 1..9_u16) {
        let id = format!("T{number:03}");
        let file = TaskFile::parse(&old);
        let Some(task) = file.task(TaskId::parse(&id).expect("an id")) else { return Ok(()) };
        let (before, mark) = (task.status, old[task.mark.clone()].to_owned());
        let to = if before == super::model::Status::Done { "todo" } else { "done" };
        let (_, new) = run(&old, &Call::Update(json!({ "task_id": id, "status": to }))).expect("a change");
        let (_, back) = run(&new, &Call::Update(json!({ "task_id": id, "status": before.word() }))).expect("a change");
        if mark == before.mark().to_string() {
            prop_assert_eq!(back, old);
        }
    }

    #[test]
    fn reading_never_fails(text in "\\PC{0,60}", lines in proptest::collection::vec("[-*+ \\[\\]xX#T0-9\t`~<>!a。　]{0,12}", 0..12)) {
        let _ = TaskFile::parse(&text);
        let file = TaskFile::parse(&lines.join("\n"));
        let _ = file.searched();
        let _ = super::adr::Adr::parse(&lines.join("\r\n"));
        let _ = super::context::appended_to(&lines.join("\n"), "a", &text);
    }
}
