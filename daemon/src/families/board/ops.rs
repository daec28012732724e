//! The tools that only read: a board and arguments come in, answers go out. Pure.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::arguments::{GetArgs, ListArgs, SearchArgs};
use super::error::BoardError;
use super::json;
use super::model::{Board, Lane, Priority, Task};
use crate::families::Answer;
use crate::text::file_names::fold_file_name;

pub fn get(board: &Board, args: &GetArgs) -> Result<Answer, BoardError> {
    let (lane, _, task) = board.find(&args.id).ok_or_else(|| BoardError::NoTask { id: args.id.clone() })?;
    Ok(Answer::object(json!({ "success": true, "task": task.shown(lane) })))
}

/// The tasks that match every given filter.
pub fn list(board: &Board, args: &ListArgs) -> Answer {
    let matches = |(lane, task): &(Lane, &Arc<Task>)| {
        [args.lane, args.status].iter().flatten().all(|wanted| wanted == lane)
            && args.priority.is_none_or(|wanted| task.priority() == Some(wanted))
            && args.tag.as_ref().is_none_or(|wanted| task.tags().iter().any(|tag| tag.trim() == wanted))
    };
    let filtered = args.lane.is_some() || args.status.is_some() || args.priority.is_some() || args.tag.is_some();
    let (tasks, total) = first_tasks(board.tasks().filter(matches), args.limit);
    Answer::object(json!({ "success": true, "tasks": tasks, "total": total, "filtered": filtered }))
}

/// The tasks whose title, description or tags contain every term.
pub fn search(board: &Board, args: &SearchArgs) -> Answer {
    let query = fold_file_name(&args.query);
    let terms: Vec<&str> = query.split_whitespace().collect();
    let matches = |(lane, task): &(Lane, &Arc<Task>)| {
        if args.lane.is_some_and(|wanted| wanted != *lane) {
            return false;
        }
        // No term holds a line break, so none is found across two fields.
        let mut text = [task.text("title"), task.text("description")].map(Option::unwrap_or_default).join("\n");
        for tag in task.tags() {
            text.extend(["\n", &tag]);
        }
        let text = fold_file_name(&text);
        terms.iter().all(|term| text.contains(term))
    };
    let (tasks, total) = first_tasks(board.tasks().filter(matches), args.limit);
    Answer::object(json!({ "success": true, "tasks": tasks, "total": total }))
}

/// All lanes with all their tasks.
pub fn whole(board: &Board) -> Answer {
    let tasks = |lane: Lane| -> Vec<Value> {
        board.tasks().filter(|(at, _)| *at == lane).map(|(lane, task)| task.shown(lane).into()).collect()
    };
    let lanes: Map<String, Value> =
        Lane::ALL.iter().map(|lane| (lane.word().to_owned(), tasks(*lane).into())).collect();
    let stored = |name: &str| board.top.get(name).map(json::shown).unwrap_or_default();
    let version = match stored("version") {
        Value::Null => json!(super::edits::VERSION),
        version => version,
    };
    let shown = json!({ "lanes": lanes, "lastSync": stored("lastSync"), "version": version });
    Answer::object(json!({ "success": true, "board": shown, "statistics": statistics(board), "hash": board.hash }))
}

pub fn stats(board: &Board) -> Answer {
    Answer::object(json!({ "success": true, "stats": statistics(board) }))
}

fn statistics(board: &Board) -> Value {
    let count = |holds: &dyn Fn(Lane, &Task) -> bool| board.tasks().filter(|(lane, task)| holds(*lane, task)).count();
    let by_lane = Lane::ALL.map(|lane| (lane.word().to_owned(), json!(count(&|at, _| at == lane))));
    let by_priority = Priority::ALL
        .map(|priority| (priority.word().to_owned(), json!(count(&|_, task| task.priority() == Some(priority)))));
    let hours: f64 = board.tasks().filter_map(|(_, task)| task.hours()).filter(|hours| *hours > 0.0).sum();
    // Whole hours are shown without `.0`, as far as a float holds them exactly.
    let hours = if hours.fract() == 0.0 && hours < 1e15 { json!(hours as u64) } else { json!(hours) };
    json!({
        "totalTasks": board.tasks().count(),
        "byLane": Map::from_iter(by_lane),
        "byPriority": Map::from_iter(by_priority),
        "totalEstimatedHours": hours,
    })
}

/// The first `limit` tasks as JSON, and how many there are.
fn first_tasks<'a>(tasks: impl Iterator<Item = (Lane, &'a Arc<Task>)>, limit: usize) -> (Vec<Value>, usize) {
    let mut total = 0;
    let mut first = Vec::new();
    for (lane, task) in tasks {
        total += 1;
        if total <= limit {
            first.push(task.shown(lane).into());
        }
    }
    (first, total)
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;
    use crate::families::Body;

    const BOARD: &str = r#"{"version":"3","lastSync":"then","lanes":{
        "done":[{"id":"task-d","title":"Größe prüfen","tags":["QA"," ui "],"priority":"LOW","estimatedHours":1.5}],
        "icebox":[{"id":"task-x","title":"hidden"}],
        "backlog":[{"id":"task-a","title":"OAuth login","description":"Google.*\nand token"},7,{"id":"task-b","title":"rate limit","priority":"high","estimatedHours":2.5,"lane":"todo"}]
    }}"#;

    fn object(answer: Answer) -> Value {
        match answer.body {
            Body::Object(object) => object.value(),
            other => panic!("no object: {other:?}"),
        }
    }

    fn ids(answer: &Value) -> Vec<&str> {
        answer["tasks"].as_array().expect("tasks").iter().filter_map(|task| task["id"].as_str()).collect()
    }

    fn board() -> Board {
        parse(BOARD.as_bytes()).expect("a board")
    }

    #[track_caller]
    fn listed(arguments: Value, expected: &[&str], filtered: bool) {
        use crate::families::Arguments as _;
        let args = ListArgs::parse(arguments.as_object().expect("an object")).expect("arguments");
        let answer = object(list(&board(), &args));
        assert_eq!(ids(&answer), expected, "{arguments}");
        assert_eq!((&answer["total"], &answer["filtered"]), (&json!(expected.len()), &json!(filtered)), "{arguments}");
    }

    #[test]
    fn lists_are_in_the_order_of_lanes() {
        listed(json!({}), &["task-a", "task-b", "task-d"], false);
        listed(json!({ "lane": "backlog" }), &["task-a", "task-b"], true);
        listed(json!({ "lane": "backlog", "status": "done" }), &[], true);
        listed(json!({ "priority": "medium" }), &["task-a"], true);
        listed(json!({ "priority": "low", "tag": "ui" }), &["task-d"], true);
        listed(json!({ "tag": "qa" }), &[], true);
        let args = ListArgs { lane: None, status: None, priority: None, tag: None, limit: 2, project_root: None };
        let answer = object(list(&board(), &args));
        assert_eq!((ids(&answer), &answer["total"]), (vec!["task-a", "task-b"], &json!(3)));
    }

    #[track_caller]
    fn searched(query: &str, expected: &[&str]) {
        let args = SearchArgs { query: query.to_owned(), lane: None, limit: 50, project_root: None };
        assert_eq!(ids(&object(search(&board(), &args))), expected, "{query}");
    }

    #[test]
    fn every_term_must_be_somewhere() {
        searched("LOGIN", &["task-a"]);
        searched("token oauth", &["task-a"]);
        searched("token rate", &[]);
        searched("größe", &["task-d"]);
        searched("GRÖSSE", &["task-d"]);
        searched("gro\u{308}ße", &["task-d"]);
        searched("google.*", &["task-a"]);
        searched(".*", &["task-a"]);
        searched("qa ui", &["task-d"]);
        searched("hidden", &[]);
        searched("a", &["task-a", "task-b", "task-d"]);
        let args = SearchArgs { query: "a".to_owned(), lane: Some(Lane::Backlog), limit: 1, project_root: None };
        let answer = object(search(&board(), &args));
        assert_eq!((ids(&answer), &answer["total"]), (vec!["task-a"], &json!(2)));
    }

    #[test]
    fn the_whole_board_ends_with_its_hash() {
        let answer = object(whole(&board()));
        let keys: Vec<&str> = answer.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(keys, ["success", "board", "statistics", "hash"]);
        let lanes: Vec<&String> = answer["board"]["lanes"].as_object().expect("lanes").keys().collect();
        assert_eq!(lanes, ["backlog", "todo", "in_progress", "code_review", "done", "recovery"]);
        assert_eq!((&answer["board"]["lastSync"], &answer["board"]["version"]), (&json!("then"), &json!("3")));
        assert_eq!(answer["board"]["lanes"]["backlog"][1]["lane"], "backlog");
        let expected = json!({
            "totalTasks": 3,
            "byLane": { "backlog": 2, "todo": 0, "in_progress": 0, "code_review": 0, "done": 1, "recovery": 0 },
            "byPriority": { "low": 1, "medium": 1, "high": 1, "critical": 0 },
            "totalEstimatedHours": 4,
        });
        assert_eq!(answer["statistics"], expected);
        assert_eq!(object(stats(&board()))["stats"], expected);
        let empty = object(whole(&Board::default()));
        assert_eq!((&empty["hash"], &empty["board"]["lastSync"]), (&Value::Null, &Value::Null));
        assert_eq!(empty["board"]["version"], "1.0.0");
    }

    #[test]
    fn one_task_is_shown_in_full() {
        let get = |id: &str| get(&board(), &GetArgs { id: id.to_owned(), project_root: None });
        assert_eq!(object(get("task-b").expect("a task"))["task"]["lane"], "backlog");
        assert_eq!(get("task-x"), Err(BoardError::NoTask { id: "task-x".to_owned() }));
    }
}
