//! Get, list, search, board, statistics: filters, order, limits, and what is counted.

use serde_json::{Value, json};

use super::{Board, LANES};

/// One task in every lane, from the last to the first, and a second one in `todo`.
fn full() -> Board {
    let mut board = Board::new();
    for (place, lane) in LANES.iter().enumerate().rev() {
        let priority = ["low", "medium", "high", "critical"][place % 4];
        let tags = json!([format!("tag{place}"), "all"]);
        board.create(json!({ "title": format!("in {lane}"), "lane": lane, "priority": priority, "tags": tags, "estimatedHours": 1.5 }));
    }
    board.create(json!({ "title": "second", "lane": "todo", "description": "Größe der OAuth-Token (.*)" }));
    board
}

#[test]
fn lists_go_lane_by_lane() {
    let mut board = full();
    let all = ["in backlog", "in todo", "second", "in in_progress", "in code_review", "in done", "in recovery"];
    assert_eq!(board.titles("vbm_list_tasks", json!({})), all);
    let answer = board.call("vbm_list_tasks", json!({ "limit": 2 }));
    assert_eq!((answer["tasks"].as_array().map(Vec::len), &answer["total"]), (Some(2), &json!(7)));
    assert_eq!(answer["filtered"], false);
    for (filter, expected) in [
        (json!({ "lane": "todo" }), &["in todo", "second"][..]),
        (json!({ "status": "todo" }), &["in todo", "second"]),
        (json!({ "lane": "todo", "status": "done" }), &[]),
        (json!({ "priority": "medium" }), &["in todo", "second", "in recovery"]),
        (json!({ "priority": "medium", "tag": "all" }), &["in todo", "in recovery"]),
        (json!({ "tag": "tag3" }), &["in code_review"]),
        (json!({ "tag": " tag3 " }), &["in code_review"]),
        (json!({ "tag": "tag" }), &[]),
        (json!({ "lane": "TODO", "limit": 1 }), &["in todo"]),
    ] {
        assert_eq!(board.titles("vbm_list_tasks", filter.clone()), expected, "{filter}");
        assert_eq!(board.call("vbm_list_tasks", filter)["filtered"], true);
    }
}

#[test]
fn fifty_tasks_unless_you_say_otherwise() {
    let mut board = Board::new();
    for _ in 0..3 {
        let tasks: Vec<Value> = (0..70).map(|n| json!({ "title": format!("needle {n}") })).collect();
        board.call("vbm_batch_create", json!({ "tasks": tasks }));
    }
    for (tool, query) in [("vbm_list_tasks", json!({})), ("vbm_search_tasks", json!({ "query": "needle" }))] {
        for (limit, expected) in [(json!(null), 50), (json!(1), 1), (json!(200), 200), (json!(3.0), 3)] {
            let mut arguments = query.clone();
            arguments["limit"] = limit;
            let answer = board.call(tool, arguments);
            assert_eq!((answer["tasks"].as_array().map(Vec::len), &answer["total"]), (Some(expected), &json!(210)));
        }
        for wrong in [json!(0), json!(201), json!(201.0), json!(-1), json!(1.5), json!(true), json!("10")] {
            let mut arguments = query.clone();
            arguments["limit"] = wrong;
            let error = board.check_field(tool, arguments, "limit");
            assert_eq!(error["data"]["constraint"], json!({ "minimum": 1, "maximum": 200 }));
        }
    }
    board.check_field("vbm_list_tasks", json!({ "lane": "x" }), "lane");
    board.check_field("vbm_list_tasks", json!({ "status": "x" }), "status");
    board.check_field("vbm_list_tasks", json!({ "priority": 3 }), "priority");
    board.check_field("vbm_list_tasks", json!({ "tag": "" }), "tag");
}

#[test]
fn every_word_of_a_query_must_occur() {
    let mut board = full();
    for (query, expected) in [
        ("SECOND", &["second"][..]),
        ("token größe", &["second"]),
        ("GRÖSSE", &["second"]),
        ("token backlog", &[]),
        ("(.*)", &["second"]),
        (".+", &[]),
        ("tag5", &["in recovery"]),
        ("all done", &["in done"]),
        ("  done  ", &["in done"]),
    ] {
        assert_eq!(board.titles("vbm_search_tasks", json!({ "query": query })), expected, "{query}");
    }
    let found = board.titles("vbm_search_tasks", json!({ "query": "in", "lane": "todo" }));
    assert_eq!(found, ["in todo"]);
    board.call("vbm_search_tasks", json!({ "query": "あ".repeat(500) }));
    for wrong in [json!(""), json!("  "), json!("あ".repeat(501)), json!(5), json!(null)] {
        board.check_field("vbm_search_tasks", json!({ "query": wrong }), "query");
    }
    board.check_field("vbm_search_tasks", json!({ "query": "x", "lane": "y" }), "lane");
}

#[test]
fn the_board_and_its_statistics() {
    let mut board = full();
    let expected = json!({
        "totalTasks": 7,
        "byLane": { "backlog": 1, "todo": 2, "in_progress": 1, "code_review": 1, "done": 1, "recovery": 1 },
        "byPriority": { "low": 2, "medium": 3, "high": 1, "critical": 1 },
        "totalEstimatedHours": 9,
    });
    assert_eq!(board.call("vbm_get_stats", json!({}))["stats"].to_string(), expected.to_string());
    let answer = board.call("vbm_get_board", json!({}));
    let keys: Vec<&String> = answer.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["success", "board", "statistics", "hash"]);
    assert_eq!(answer["statistics"], expected);
    let file = board.file();
    assert_eq!(answer["board"]["lanes"], file["lanes"]);
    assert_eq!((&answer["board"]["lastSync"], &answer["board"]["version"]), (&file["lastSync"], &json!("1.0.0")));
    let id = file["lanes"]["todo"][1]["id"].clone();
    assert_eq!(board.call("vbm_get_task", json!({ "id": id }))["task"], file["lanes"]["todo"][1]);
}

#[test]
fn an_empty_board_counts_nothing() {
    let mut board = Board::new();
    let stats = &board.call("vbm_get_stats", json!({}))["stats"];
    assert_eq!((&stats["totalTasks"], &stats["totalEstimatedHours"]), (&json!(0), &json!(0)));
    assert_eq!(
        (stats["byLane"].as_object().map(|lanes| lanes.len()), stats["byPriority"].as_object().map(|all| all.len())),
        (Some(6), Some(4))
    );
    let answer = board.call("vbm_get_board", json!({}));
    assert_eq!((&answer["hash"], &answer["board"]["lastSync"]), (&Value::Null, &Value::Null));
    let lanes: Vec<&String> = answer["board"]["lanes"].as_object().expect("lanes").keys().collect();
    assert_eq!(lanes, LANES);
    assert_eq!(board.call("vbm_list_tasks", json!({}))["total"], 0);
    assert!(!board.path().exists(), "looking makes no file");
}
