//! New tasks: what they have when nobody says, what is too long or of the wrong kind, and that a batch is all or
//! nothing.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Board, LANES};

#[test]
fn a_title_is_enough() {
    let mut board = Board::new();
    let task = board.create(json!({ "title": "Implement OAuth login" }));
    let time = task["createdAt"].as_str().expect("a time").to_owned();
    let expected = json!({
        "id": task["id"],
        "title": "Implement OAuth login",
        "description": "",
        "lane": "backlog",
        "priority": "medium",
        "status": "backlog",
        "estimatedHours": null,
        "tags": [],
        "assignee": null,
        "comments": [],
        "createdAt": time,
        "updatedAt": time,
    });
    assert_eq!(task.to_string(), expected.to_string());
    assert!(time.len() == 24 && time.ends_with('Z') && time.as_bytes()[10] == b'T', "{time}");
    let file = board.file();
    let lanes =
        json!({ "backlog": [task], "todo": [], "in_progress": [], "code_review": [], "done": [], "recovery": [] });
    let expected = json!({ "version": "1.0.0", "lastSync": time, "lanes": lanes });
    let pretty = serde_json::to_string_pretty(&expected).expect("JSON") + "\n";
    assert_eq!(String::from_utf8(board.bytes()).expect("text"), pretty, "two blanks for each level");
    assert_eq!(file, expected);
}

#[test]
fn everything_can_be_said() {
    let mut board = Board::new();
    let task = board.create(json!({
        "title": "OAuth",
        "description": "line\n\tline\u{1}",
        "priority": "high",
        "lane": "code_review",
        "estimatedHours": 2.5,
        "tags": [" auth ", "backend", "auth"],
        "assignee": " Ana ",
        "_unknown": 3,
    }));
    assert_eq!(task["description"], "line\n\tline\u{1}");
    assert_eq!(
        (&task["priority"], &task["lane"], &task["status"]),
        (&json!("high"), &json!("code_review"), &json!("code_review"))
    );
    assert_eq!(
        (&task["estimatedHours"], &task["tags"], &task["assignee"]),
        (&json!(2.5), &json!(["auth", "backend"]), &json!("Ana"))
    );
    assert!(task.get("unknown").is_none());
    assert_eq!(board.file()["lanes"]["code_review"], json!([task]));
    for lane in LANES {
        let task = board.create(json!({ "title": "x", "lane": lane }));
        assert_eq!(task["lane"], lane);
        assert_eq!(board.file()["lanes"][lane].as_array().and_then(|tasks| tasks.last().cloned()), Some(task));
    }
    for priority in ["low", "medium", "high", "critical"] {
        assert_eq!(board.create(json!({ "title": "x", "priority": priority }))["priority"], priority);
    }
    let task = board.create(
        json!({ "title": "x", "lane": "In_Progress", "priority": "LOW", "estimatedHours": null, "assignee": null }),
    );
    assert_eq!(
        (&task["lane"], &task["priority"]),
        (&json!("in_progress"), &json!("low")),
        "other letter case is never stored"
    );
}

#[test]
fn titles_are_measured_in_characters_after_cleaning() {
    let mut board = Board::new();
    for (title, expected) in [
        ("🦀".repeat(100), "🦀".repeat(100)),
        (format!("  {}\n", "é".repeat(100)), "é".repeat(100)),
        ("a\tb\r\nc\u{7}d\u{85}e".to_owned(), "a b cd e".to_owned()),
    ] {
        assert_eq!(board.create(json!({ "title": title }))["title"], expected);
    }
    for title in ["🦀".repeat(101), String::new(), " \n\t".to_owned(), "\u{0}\u{1b}".to_owned()] {
        let error = board.check_field("vbm_create_task", json!({ "title": title }), "title");
        assert_eq!(error["data"]["constraint"], json!({ "minLength": 1, "maxLength": 100 }));
    }
    let error = board.check_field("vbm_create_task", json!({}), "title");
    assert_eq!(error["message"], "title is required");
    assert_eq!(error["hint"], "Send a title of 1 to 100 characters.");
    board.check_field("vbm_create_task", json!({ "title": ["x"] }), "title");
}

#[test]
fn every_field_has_its_limits() {
    let mut board = Board::new();
    let tags = |count: usize| (0..count).map(|n| format!("t{n}")).collect::<Vec<_>>();
    for (field, value) in [
        ("description", json!("あ".repeat(2000))),
        ("estimatedHours", json!(0.5)),
        ("estimatedHours", json!(40)),
        ("tags", json!(tags(10))),
        ("tags", json!(["あ".repeat(100)])),
        ("assignee", json!("あ".repeat(100))),
    ] {
        assert_eq!(board.create(json!({ "title": "x", field: value }))[field], value);
    }
    let wrong: Vec<(&str, Value, &str)> = vec![
        ("description", json!("あ".repeat(2001)), "description"),
        ("description", json!(5), "description"),
        ("estimatedHours", json!(0.4), "estimatedHours"),
        ("estimatedHours", json!(40.1), "estimatedHours"),
        ("estimatedHours", json!("3"), "estimatedHours"),
        ("tags", json!(tags(11)), "tags"),
        ("tags", json!("x"), "tags"),
        ("tags", json!(["x", " "]), "tags[1]"),
        ("tags", json!(["あ".repeat(101)]), "tags[0]"),
        ("tags", json!([null]), "tags[0]"),
        ("assignee", json!("あ".repeat(101)), "assignee"),
        ("assignee", json!({}), "assignee"),
        ("lane", json!("someday"), "lane"),
        ("lane", json!(1), "lane"),
        ("priority", json!("urgent"), "priority"),
        ("project_root", json!("relative"), "project_root"),
    ];
    for (field, value, named) in wrong {
        board.check_field("vbm_create_task", json!({ "title": "x", field: value }), named);
    }
}

#[test]
fn ids_are_random_and_of_one_form() {
    let mut board = Board::new();
    let tasks: Vec<Value> = (0..100).map(|n| json!({ "title": format!("{n}") })).collect();
    let answer = board.call("vbm_batch_create", json!({ "tasks": tasks }));
    assert_eq!(answer["created"], 100);
    let mut ids: BTreeSet<String> = BTreeSet::new();
    let all = answer["tasks"].as_array().expect("tasks");
    for id in all.iter().filter_map(|task| task["id"].as_str()).map(str::to_owned) {
        let tail = id.strip_prefix("task-").expect("a prefix");
        assert!(
            tail.len() == 10 && tail.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()),
            "{id}"
        );
        ids.insert(id);
    }
    for n in 0..10 {
        ids.insert(board.id_of_new(&n.to_string()));
    }
    assert_eq!(ids.len(), 110);
    let stored = board.file();
    assert_eq!(stored["lanes"]["backlog"].as_array().map(Vec::len), Some(110));
    assert_eq!(stored["lanes"]["backlog"][99], all[99]);
}

#[test]
fn a_batch_is_all_or_nothing() {
    let mut board = Board::new();
    board.create(json!({ "title": "first" }));
    let before = board.bytes();
    let mut tasks = vec![json!({ "title": "ok" }); 5];
    tasks[3] = json!({ "title": "x".repeat(101) });
    let error = board.check_field("vbm_batch_create", json!({ "tasks": tasks }), "tasks[3].title");
    assert_eq!(error["message"], "tasks[3].title has 101 characters, at most 100 are allowed");
    tasks[3] = json!({ "title": "x", "tags": ["ok", ""] });
    board.check_field("vbm_batch_create", json!({ "tasks": tasks }), "tasks[3].tags[1]");
    tasks[3] = json!({ "lane": "done" });
    board.check_field("vbm_batch_create", json!({ "tasks": tasks }), "tasks[3].title");
    tasks[3] = json!("title");
    board.check_field("vbm_batch_create", json!({ "tasks": tasks }), "tasks[3]");
    for wrong in [json!([]), json!(vec![json!({ "title": "x" }); 101]), json!({}), json!(null)] {
        board.check_field("vbm_batch_create", json!({ "tasks": wrong }), "tasks");
    }
    assert_eq!(board.bytes(), before);
    let tasks = json!([{ "title": "a", "lane": "done" }, { "title": "b" }, { "title": "c", "priority": "low" }]);
    let answer = board.call("vbm_batch_create", json!({ "tasks": tasks }));
    assert_eq!(answer["created"], 3);
    assert_eq!(answer["tasks"][2]["priority"], "low");
    assert_eq!(board.titles("vbm_list_tasks", json!({})), ["first", "b", "c", "a"]);
}
