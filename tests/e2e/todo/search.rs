//! `search_tasks` and `search_contexts`: every word must occur, whatever its case, width or script.

use serde_json::{Value, json};

use super::{Todo, all};

const TASKS: &str = "## 設計\n- [ ] 認証方式を決める #T001\n  - [ ] トークン署名\n  Ｎｏｔｅ about retrying\n- [x] Login page #T002\n- [-] login PAGE polish #T003\n";

fn project() -> Todo {
    let todo = Todo::with_tasks(TASKS);
    todo.write("context/T001.md", "# Context\r\n\r\nlogin は あとで。\r\n");
    todo.write("context/T002.md", "Nothing here");
    todo.write("context/T099.md", "an orphan about Ｌｏｇｉｎ");
    todo.write("context/notes.md", "login");
    todo
}

/// The ids and the scores.
#[track_caller]
fn check(query: &str, fields: Value, expected: &[(&str, f64)]) {
    let mut todo = project();
    let answer = todo.call("search_tasks", json!({ "query": query, "search_in": fields }));
    let results = answer["results"].as_array().expect("results");
    let seen: Vec<(&str, f64)> = results
        .iter()
        .map(|item| (item["task_id"].as_str().expect("an id"), item["match_score"].as_f64().expect("a score")))
        .collect();
    assert_eq!(seen, expected, "{query}");
    assert_eq!(answer["total_matches"], expected.len());
}

#[test]
fn scores_are_the_contract_s() {
    check("login page", json!(null), &[("T002", 1.0), ("T003", 0.7794)]);
    check("ＬＯＧＩＮ", json!([]), &[("T002", 0.85), ("T003", 0.7882)]);
    check("認証", json!(["title"]), &[("T001", 0.775)]);
    check("トークン", json!(["title"]), &[]);
    check("ﾄｰｸﾝ", json!(["content"]), &[("T001", 0.5223)]);
    check("note", json!(["title", "content"]), &[("T001", 0.5223)]);
    check("認証　トークン", json!(null), &[("T001", 0.6487)]);
    check("login", json!(["context"]), &[("T001", 0.3778)]);
    check("p.ge", json!(null), &[]);
    check("page missing", json!(null), &[]);
}

#[test]
fn a_hit_shows_where_it_is_in_its_own_spelling() {
    let mut todo = project();
    let answer = todo.call("search_tasks", json!({ "query": "note" }));
    let expected = json!({
        "task_id": "T001", "title": "認証方式を決める", "status": "todo", "category": "設計",
        "match_score": 0.5223, "matched_content": "トークン署名 Ｎｏｔｅ about retrying",
    });
    assert_eq!(answer["results"][0].to_string(), expected.to_string());
    let long = format!("{}\nNEEDLE\n{}", "あ".repeat(400), "い".repeat(400));
    todo.write("context/T002.md", long);
    let answer = todo.call("search_contexts", json!({ "query": "needle" }));
    let shown = answer["results"][0]["matched_content"].as_str().expect("an excerpt");
    assert_eq!(shown.chars().count(), 200);
    assert!(shown.starts_with("…あ") && shown.contains("あ NEEDLE い") && shown.ends_with("い…"), "{shown}");
}

#[test]
fn contexts_are_searched_with_their_orphans() {
    let mut todo = project();
    let answer = todo.call("search_contexts", json!({ "query": "LOGIN" }));
    assert_eq!(all(&answer["results"], "task_id"), ["T099", "T001"]);
    assert_eq!(answer["total_matches"], 2);
    assert_eq!(answer["results"][1]["matched_content"], "# Context  login は あとで。 ");
    assert_eq!(answer["results"][1]["file_path"], ".todo/context/T001.md");
    let keys: Vec<&String> = answer["results"][0].as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["task_id", "match_score", "matched_content", "file_path"]);
    // What was written a moment ago is found.
    todo.call("update_context", json!({ "task_id": "T002", "content": "fresh login words" }));
    assert_eq!(todo.call("search_contexts", json!({ "query": "fresh login" }))["total_matches"], 1);
}

#[test]
fn the_limit_cuts_after_sorting() {
    let mut todo = project();
    let answer = todo.call("search_tasks", json!({ "query": "login", "limit": 1 }));
    assert_eq!((all(&answer["results"], "task_id"), &answer["total_matches"]), (vec!["T002"], &json!(2)));
}

#[test]
fn a_query_has_its_rules() {
    let mut todo = project();
    let at_most = "漢".repeat(200);
    for tool in ["search_tasks", "search_contexts"] {
        assert_eq!(todo.call(tool, json!({ "query": at_most }))["total_matches"], 0);
        for query in [json!(null), json!(""), json!(" 　\n"), json!(7), json!("漢".repeat(201))] {
            todo.check_refused(tool, json!({ "query": query }), "INVALID_INPUT");
        }
        for limit in [0, 51] {
            todo.check_refused(tool, json!({ "query": "a", "limit": limit }), "INVALID_INPUT");
        }
    }
    for fields in [json!(["body"]), json!("title"), json!([1]), json!({})] {
        todo.check_refused("search_tasks", json!({ "query": "a", "search_in": fields }), "INVALID_INPUT");
    }
}
