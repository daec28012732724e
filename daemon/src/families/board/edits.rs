//! The verbs that change the board: a board, arguments, the time and some chance come in, an answer and an edit go
//! out. Pure; tasks that a verb does not mean keep every value.

use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::arguments::{BatchArgs, CreateArgs, DeleteArgs, MoveArgs, NewTask, UpdateArgs};
use super::bridge::Bridge;
use super::error::BoardError;
use super::json;
use super::model::{Board, BoardEntry, Lane, RawMembers, Task};
use crate::clock::Now;
use crate::families::Answer;
use crate::families::edit::Edit;

/// The version of a board that nobody gave one.
pub const VERSION: &str = "1.0.0";

/// Where ids come from.
pub type RandomPair = [u64; 2];

/// A new task at the end of its lane.
pub fn create(bridge: &Bridge, chance: RandomPair, args: &CreateArgs, now: &Now) -> Result<(Answer, Edit), BoardError> {
    let (mut tasks, edit) = create_all(bridge, chance, std::slice::from_ref(&args.task), now)?;
    Ok((Answer::object(json!({ "success": true, "task": tasks.pop() })), edit))
}

/// Several new tasks, or none of them.
pub fn batch(bridge: &Bridge, chance: RandomPair, args: &BatchArgs, now: &Now) -> Result<(Answer, Edit), BoardError> {
    let (tasks, edit) = create_all(bridge, chance, &args.tasks, now)?;
    let created = tasks.len();
    Ok((Answer::object(json!({ "success": true, "tasks": tasks, "created": created })), edit))
}

/// Some fields of a task.
pub fn update(bridge: &Bridge, args: &UpdateArgs, now: &Now) -> Result<(Answer, Edit), BoardError> {
    let mut board = matching(bridge, args.if_match.as_deref())?;
    let (lane, place, task) = found(&board, &args.id)?;
    let time = stamp(now);
    let mut new = Task::clone(&task);
    let text = |value: &Option<String>| value.as_ref().map(|value| json!(value));
    for (name, value) in [
        ("title", text(&args.title)),
        ("description", text(&args.description)),
        ("priority", args.priority.map(|priority| json!(priority.word()))),
        ("estimatedHours", args.estimate.as_ref().map(|hours| json!(hours))),
        ("tags", args.tags.as_ref().map(|tags| json!(tags))),
        ("assignee", args.assignee.as_ref().map(|name| json!(name))),
    ] {
        // What says the same already is left as it is written.
        if let Some(value) = value.filter(|value| new.0.get(name).map(json::shown).as_ref() != Some(value)) {
            new.0.set(name, value.to_string());
        }
    }
    let target = args.lane.unwrap_or(lane);
    let updated = args.changed()?;
    let answer = |task: &Task| json!({ "success": true, "task": task.shown(target), "updatedFields": updated });
    if target == lane && new == *task {
        return Ok((Answer::object(answer(&task)), Edit::nothing()));
    }
    touch(&mut new, target, &time);
    let answer = answer(&new);
    put(&mut board, (lane, place), target, new);
    Ok((Answer::object(answer), written(bridge, board, &time)?))
}

/// A task to the end of another lane.
pub fn relocate(bridge: &Bridge, args: &MoveArgs, now: &Now) -> Result<(Answer, Edit), BoardError> {
    let mut board = matching(bridge, args.if_match.as_deref())?;
    let (lane, place, task) = found(&board, &args.id)?;
    let time = stamp(now);
    let answer = |task: &Task| {
        let mut shown = task.shown(args.lane);
        shown.insert("previousLane".to_owned(), lane.word().into());
        shown.insert("movedAt".to_owned(), time.as_str().into());
        Answer::object(json!({ "success": true, "task": shown }))
    };
    if lane == args.lane {
        return Ok((answer(&task), Edit::nothing()));
    }
    let mut new = Task::clone(&task);
    if let Some(comment) = &args.comment {
        let comment = json!({ "text": comment, "timestamp": time });
        let comments = with_comment(new.0.get("comments"), &comment);
        new.0.set("comments", comments);
    }
    touch(&mut new, args.lane, &time);
    let answer = answer(&new);
    put(&mut board, (lane, place), args.lane, new);
    Ok((answer, written(bridge, board, &time)?))
}

/// A task goes.
pub fn delete(bridge: &Bridge, args: &DeleteArgs, now: &Now) -> Result<(Answer, Edit), BoardError> {
    let mut board = matching(bridge, args.if_match.as_deref())?;
    let (lane, place, task) = found(&board, &args.id)?;
    board.lane_mut(lane).remove(place);
    let time = stamp(now);
    let answer = json!({
        "success": true,
        "message": format!("Task {} deleted", args.id),
        "deletedAt": time,
        "task": task.shown(lane),
    });
    Ok((Answer::object(answer), written(bridge, board, &time)?))
}

fn create_all(
    bridge: &Bridge,
    chance: RandomPair,
    tasks: &[NewTask],
    now: &Now,
) -> Result<(Vec<Value>, Edit), BoardError> {
    let mut board = Board::clone(&bridge.board);
    let time = stamp(now);
    let mut taken = board.ids();
    let mut ids = (0..).map(|turn| id(chance, turn));
    let mut shown = Vec::with_capacity(tasks.len());
    for new in tasks {
        let free = ids.by_ref().find(|id| !board.hides(id) && taken.insert(id.clone())).unwrap_or_default();
        let task = made(new, &free, &time);
        shown.push(task.shown(new.lane).into());
        board.lane_mut(new.lane).push(BoardEntry::Task(Arc::new(task)));
    }
    let edit = written(bridge, board, &time)?;
    Ok((shown, edit))
}

/// One id of a chance after the other: the same on the same turn, and like no other.
fn id(chance: RandomPair, turn: u64) -> String {
    const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let numbers = [chance[0], chance[1], turn].map(u64::to_le_bytes).concat();
    let digest = Sha256::digest(numbers);
    let mut number = digest.iter().take(16).fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    let letters = (0..10).map(|_| {
        let letter = LETTERS[(number % 36) as usize];
        number /= 36;
        char::from(letter)
    });
    "task-".chars().chain(letters).collect()
}

fn made(new: &NewTask, id: &str, time: &str) -> Task {
    let mut fields = RawMembers::default();
    for (name, value) in [
        ("id", json!(id)),
        ("title", json!(new.title)),
        ("description", json!(new.description)),
        ("lane", json!(new.lane.word())),
        ("priority", json!(new.priority.word())),
        ("status", json!(new.lane.word())),
        ("estimatedHours", json!(new.estimate)),
        ("tags", json!(new.tags)),
        ("assignee", json!(new.assignee)),
        ("comments", json!([])),
        ("createdAt", json!(time)),
        ("updatedAt", json!(time)),
    ] {
        fields.set(name, value.to_string());
    }
    Task(fields)
}

/// A copy of the board, if it is the one that the caller has read.
fn matching(bridge: &Bridge, if_match: Option<&str>) -> Result<Board, BoardError> {
    let actual = &bridge.board.hash;
    match if_match {
        Some(expected) if !actual.as_ref().is_some_and(|hash| hash.eq_ignore_ascii_case(expected)) => {
            Err(BoardError::changed(expected, actual.clone()))
        }
        _ => Ok(Board::clone(&bridge.board)),
    }
}

fn found(board: &Board, id: &str) -> Result<(Lane, usize, Arc<Task>), BoardError> {
    board.find(id).ok_or_else(|| BoardError::NoTask { id: id.to_owned() })
}

/// Says where a changed task is, and since when.
fn touch(task: &mut Task, lane: Lane, time: &str) {
    for (name, value) in [("lane", lane.word()), ("status", lane.word()), ("updatedAt", time)] {
        task.0.set(name, json!(value).to_string());
    }
}

/// Where it stood if the lane is the same, else at the end of the other one.
fn put(board: &mut Board, (lane, place): (Lane, usize), target: Lane, task: Task) {
    let entry = BoardEntry::Task(Arc::new(task));
    if lane == target {
        board.lane_mut(lane)[place] = entry;
    } else {
        board.lane_mut(lane).remove(place);
        board.lane_mut(target).push(entry);
    }
}

/// The list with one more; whatever else stood there comes first.
fn with_comment(comments: Option<&str>, comment: &Value) -> String {
    let comment = comment.to_string();
    let mut all = match comments {
        None | Some("null") => Vec::new(),
        Some(value) => json::items(value).unwrap_or_else(|| vec![value]),
    };
    all.push(&comment);
    format!("[{}]", all.join(","))
}

fn written(bridge: &Bridge, mut board: Board, time: &str) -> Result<Edit, BoardError> {
    if board.top.place_of("version").is_none() {
        board.top.insert(0, "version", json!(VERSION).to_string());
        board.before += 1;
    }
    match board.top.place_of("lastSync") {
        Some(_) => board.top.set("lastSync", json!(time).to_string()),
        None => {
            board.top.insert(board.before, "lastSync", json!(time).to_string());
            board.before += 1;
        }
    }
    bridge.edit(board)
}

/// RFC 3339 in UTC, with milliseconds.
fn stamp(now: &Now) -> String {
    now.at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use proptest::prelude::*;

    use super::super::bridge::BoardLocation;
    use super::super::parse::parse;
    use super::*;
    use crate::disk::{Digest, Expected, RelativePath, SymlinkPolicy, TreeLocation};
    use crate::families::edit::Replacement;
    use crate::families::{Arguments, Body};

    const BOARD: &str = r#"{"x":1.10,"lanes":{
        "todo":[{"id":"task-a","title":"A","n":1e400},{"id":"task-b","lane":"done","comments":[{"text":"c","by":"x"}]}],
        "done":[{"id":"task-c"}]}}"#;
    const NOW: &str = "2026-01-28T10:30:00.000Z";

    fn bridge(text: Option<&str>) -> Bridge {
        let board = text.map_or_else(Board::default, |text| parse(text.as_bytes()).expect("a board"));
        let path = RelativePath::from_components("b.json").expect("a path");
        let spot = BoardLocation { place: TreeLocation::Fixed("/p".into()), path, links: SymlinkPolicy::Refuse };
        Bridge { board: Arc::new(board), spot, digest: text.map(|text| Digest::of(text.as_bytes())) }
    }

    fn now() -> Now {
        Now { at: NOW.parse().expect("a time"), zone: TimeZone::UTC }
    }

    /// The answer, and the board that is written; none if nothing is.
    fn done(outcome: Result<(Answer, Edit), BoardError>) -> (Value, Option<Value>) {
        let (answer, edit) = outcome.expect("done");
        let Body::Object(answer) = answer.body else { panic!("no object") };
        let answer = answer.value();
        let new = edit.files.into_iter().next().map(|file| match file.new {
            Replacement::Content(bytes, made) => {
                assert!(made.is_some(), "the model goes with its bytes");
                parse(&bytes).expect("a board");
                let text = String::from_utf8(bytes.to_vec()).expect("text").replace("1e400", "\"1e400\"");
                serde_json::from_str(&text).expect("JSON")
            }
            Replacement::Nothing => panic!("the file never goes"),
        });
        (answer, new)
    }

    fn args<A: Arguments>(arguments: Value) -> A {
        A::parse(arguments.as_object().expect("an object")).expect("arguments")
    }

    #[test]
    fn a_new_board_has_the_written_form() {
        let (answer, new) = done(create(&bridge(None), [1, 2], &args(json!({ "title": "T" })), &now()));
        let new = new.expect("a board");
        let keys: Vec<&String> = new.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["version", "lastSync", "lanes"]);
        assert_eq!((&new["version"], &new["lastSync"]), (&json!("1.0.0"), &json!(NOW)));
        assert_eq!(new["lanes"]["backlog"][0], answer["task"]);
        let task = &answer["task"];
        let expected = json!({
            "id": task["id"], "title": "T", "description": "", "lane": "backlog", "priority": "medium",
            "status": "backlog", "estimatedHours": null, "tags": [], "assignee": null, "comments": [],
            "createdAt": NOW, "updatedAt": NOW,
        });
        assert_eq!(task.to_string(), expected.to_string());
    }

    #[test]
    fn ids_are_random_and_free() {
        let mut seen = std::collections::BTreeSet::new();
        for turn in 0..500 {
            let id = id([3, 4], turn);
            let tail = id.strip_prefix("task-").expect("a prefix");
            assert!(tail.len() == 10 && tail.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()));
            assert!(seen.insert(id));
        }
        assert_ne!(id([3, 4], 0), id([4, 3], 0));
        let taken = id([3, 4], 0);
        let text = json!({ "lanes": { "done": [{ "id": taken }], "icebox": [{ "id": id([3, 4], 1) }] } }).to_string();
        let (answer, _) = done(create(&bridge(Some(&text)), [3, 4], &args(json!({ "title": "T" })), &now()));
        assert_eq!(answer["task"]["id"], id([3, 4], 2));
    }

    #[test]
    fn a_batch_is_one_edit() {
        let tasks = json!({ "tasks": [{ "title": "x" }, { "title": "y", "lane": "done" }, { "title": "z" }] });
        let (answer, new) = done(batch(&bridge(Some(BOARD)), [1, 2], &args(tasks), &now()));
        let new = new.expect("a board");
        assert_eq!(answer["created"], 3);
        assert_eq!(
            [&answer["tasks"][0], &answer["tasks"][2]],
            [&new["lanes"]["backlog"][0], &new["lanes"]["backlog"][1]]
        );
        assert_eq!(answer["tasks"][1], new["lanes"]["done"][1]);
        let keys: Vec<&String> = new.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["version", "x", "lastSync", "lanes"]);
    }

    #[test]
    fn an_update_leaves_the_rest() {
        let call = json!({ "id": "task-a", "title": "B", "estimatedHours": 3 });
        let (answer, new) = done(update(&bridge(Some(BOARD)), &args(call), &now()));
        let new = new.expect("a board");
        let expected = json!({ "id": "task-a", "title": "B", "n": "1e400", "estimatedHours": 3, "lane": "todo", "status": "todo", "updatedAt": NOW });
        assert_eq!(new["lanes"]["todo"][0].to_string(), expected.to_string());
        assert_eq!(new["lanes"]["todo"][1]["lane"], "done", "others are not corrected");
        assert_eq!(answer["updatedFields"], json!(["title", "estimatedHours"]));
        let (answer, new) = done(update(&bridge(Some(BOARD)), &args(json!({ "id": "task-a", "title": "A" })), &now()));
        assert_eq!((&answer["updatedFields"], new), (&json!(["title"]), None));
        let (_, new) = done(update(&bridge(Some(BOARD)), &args(json!({ "id": "task-a", "lane": "done" })), &now()));
        assert_eq!(new.expect("a board")["lanes"]["done"][1]["id"], "task-a", "at the end of the other lane");
    }

    #[test]
    fn a_move_says_where_from_and_why() {
        let call = json!({ "id": "task-b", "lane": "done", "comment": "ok" });
        let (answer, new) = done(relocate(&bridge(Some(BOARD)), &args(call), &now()));
        let task = &answer["task"];
        assert_eq!(
            (&task["lane"], &task["previousLane"], &task["movedAt"]),
            (&json!("done"), &json!("todo"), &json!(NOW))
        );
        let new = new.expect("a board");
        let comments = json!([{ "text": "c", "by": "x" }, { "text": "ok", "timestamp": NOW }]);
        assert_eq!(new["lanes"]["done"][1]["comments"], comments);
        assert!(new["lanes"]["done"][1].get("previousLane").is_none());
        let same = json!({ "id": "task-a", "lane": "todo", "comment": "x" });
        let (answer, new) = done(relocate(&bridge(Some(BOARD)), &args(same), &now()));
        assert_eq!((&answer["task"]["previousLane"], new), (&json!("todo"), None));
        for (stored, expected) in [("null", r#"[{"a":1}]"#), ("\"x\"", r#"["x",{"a":1}]"#), ("[ ]", r#"[{"a":1}]"#)] {
            assert_eq!(with_comment(Some(stored), &json!({ "a": 1 })), expected);
        }
    }

    #[test]
    fn a_deleted_task_is_shown_once_more() {
        let (answer, new) = done(delete(&bridge(Some(BOARD)), &args(json!({ "id": "task-a" })), &now()));
        assert_eq!((&answer["deletedAt"], &answer["task"]["title"]), (&json!(NOW), &json!("A")));
        assert_eq!(new.expect("a board")["lanes"]["todo"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn another_hash_is_refused() {
        let bridge = bridge(Some(BOARD));
        let hash = bridge.board.hash.clone().expect("a hash");
        let call = |hash: &str| args(json!({ "id": "task-a", "if_match": hash }));
        assert!(delete(&bridge, &call(&hash.to_uppercase()), &now()).is_ok());
        let error = delete(&bridge, &call("00"), &now()).expect_err("a refusal");
        assert_eq!(error, BoardError::changed("00", Some(hash)));
    }

    #[test]
    fn what_was_seen_is_what_is_replaced() {
        let (_, edit) = create(&bridge(None), [1, 2], &args(json!({ "title": "T" })), &now()).expect("done");
        assert_eq!(edit.files[0].old, Expected::Absent);
        let (_, edit) = create(&bridge(Some(BOARD)), [1, 2], &args(json!({ "title": "T" })), &now()).expect("done");
        assert_eq!(edit.files[0].old, Expected::Content(Digest::of(BOARD.as_bytes())));
    }

    /// Keys and values of another program, some of them such as readers dislike.
    fn strange() -> impl Strategy<Value = (String, String)> {
        let value = prop_oneof![
            Just("1.10".to_owned()),
            Just("-0".to_owned()),
            Just("123456789012345678901234567890".to_owned()),
            Just("1E400".to_owned()),
            Just(r#""\ud83d""#.to_owned()),
            Just(r#"{"a":[1,{"b":null}],"a":2}"#.to_owned()),
            any::<String>().prop_map(|text| json!(text).to_string()),
        ];
        ("[a-z]{8,12}", value)
    }

    /// The number of a lane, and fields.
    type Placed = (usize, Vec<(String, String)>);

    proptest! {
        #[test]
        fn nothing_of_others_is_lost_by_any_verb(
            top in prop::collection::vec(strange(), 0..4),
            tasks in prop::collection::vec((0_usize..8, prop::collection::vec(strange(), 0..4)), 1..12),
            flat in any::<bool>(),
            verb in 0..5,
            which in any::<prop::sample::Index>(),
        ) {
            let members = |all: &[(String, String)]| all.iter().map(|(key, value)| format!(",\"{key}\":{value}")).collect::<String>();
            let lane = |place: usize| Lane::ALL.get(place).map_or("icebox", |lane| lane.word());
            let task = |(number, (place, fields)): (usize, &Placed)| {
                format!(r#"{{"id":"task-{number}","lane":"{}"{}}}"#, lane(*place), members(fields))
            };
            let written: Vec<String> = tasks.iter().enumerate().map(task).collect();
            let text = if flat {
                format!(r#"{{"tasks":[{}]{}}}"#, written.join(","), members(&top))
            } else {
                let column = |name: &str| {
                    let here = tasks.iter().zip(&written).filter(|((place, _), _)| lane(*place) == name);
                    format!(r#""{name}":[{}]"#, here.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(","))
                };
                let columns: Vec<String> = Lane::ALL.iter().map(|lane| column(lane.word())).chain([column("icebox")]).collect();
                format!(r#"{{"lanes":{{{}}}{}}}"#, columns.join(","), members(&top))
            };
            let bridge = bridge(Some(&text));
            let number = which.index(tasks.len());
            let id = format!("task-{number}");
            let outcome = match verb {
                0 => create(&bridge, [1, 2], &args(json!({ "title": "new" })), &now()),
                1 => batch(&bridge, [1, 2], &args(json!({ "tasks": [{ "title": "a" }, { "title": "b", "lane": "done" }] })), &now()),
                2 => update(&bridge, &args(json!({ "id": id, "title": "other", "tags": ["x"] })), &now()),
                3 => relocate(&bridge, &args(json!({ "id": id, "lane": "recovery", "comment": "c" })), &now()),
                _ => delete(&bridge, &args(json!({ "id": id })), &now()),
            };
            // A task in a lane that is not known is none of ours.
            let Ok((_, edit)) = outcome else {
                prop_assert!(verb >= 2 && tasks[number].0 >= Lane::ALL.len());
                return Ok(());
            };
            let Some(file) = edit.files.first() else {
                prop_assert!(verb == 3 && tasks[number].0 == Lane::Recovery as usize, "only a move to where it is");
                return Ok(());
            };
            let Replacement::Content(bytes, _) = &file.new else { panic!("the file never goes") };
            let new: String = String::from_utf8(bytes.to_vec()).expect("text");
            prop_assert!(parse(bytes).is_ok());
            let compact = |value: &str| {
                let mut out = String::new();
                json::indent(value, 0, &mut out);
                out.split_whitespace().collect::<String>()
            };
            let squeezed: String = new.split_whitespace().collect();
            for (key, value) in &top {
                prop_assert!(squeezed.contains(&format!("\"{key}\":{}", compact(value))), "{key} of the top is gone: {new}");
            }
            for (place, (_, fields)) in tasks.iter().enumerate().filter(|(place, _)| verb < 4 || *place != number) {
                prop_assert!(squeezed.contains(&format!("\"task-{place}\"")), "task {place} is gone: {new}");
                for (key, value) in fields {
                    prop_assert!(squeezed.contains(&format!("\"{key}\":{}", compact(value))), "{key} of task {place} is gone: {new}");
                }
            }
        }
    }
}
