//! The rungs, filters, pages and budgets of a recall, as a host sees them.

use serde_json::{Value, json};

use super::{recall, shop, uris};
use trellis_tests::harness::{Client, Home};

#[track_caller]
fn first(host: &mut Client, query: &str) -> Value {
    let answer = recall(host, json!({ "query": query }));
    answer["hits"].get(0).cloned().unwrap_or_else(|| panic!("{query}: {answer}"))
}

#[test]
fn a_hit_says_what_it_is_and_where_it_was_found() {
    let home = shop();
    let mut host = home.host(&[]);
    let hit = first(&mut host, "tie-breaker");
    assert_eq!(hit["uri"], "todo://project/T001");
    assert_eq!((&hit["kind"], &hit["status"], &hit["lane"]), (&json!("task"), &json!("in_progress"), &json!("doing")));
    assert_eq!(hit["title"], "Cursor pagination for the orders endpoint");
    assert_eq!((&hit["heading"], &hit["tags"]), (&json!("## Notes"), &json!(["API"])));
    assert!(hit["snippet"].as_str().is_some_and(|snippet| snippet.contains("**tie-breaker**")), "{hit}");
    assert_eq!(hit.get("relaxed"), None);
    let context = recall(&mut host, json!({ "query": "tie-breaker", "kind": "context" }));
    assert_eq!(uris(&context), ["todo:context/T001"]);
    let opened = host.call_ok("trellis_open", json!({ "uri": hit["uri"] }));
    assert_eq!(opened["title"], hit["title"]);
    host.close();
}

#[test]
fn what_was_replaced_stands_behind_what_replaced_it() {
    let home = shop();
    let mut host = home.host(&[]);
    let answer = recall(&mut host, json!({ "query": "MySQL orders" }));
    let found = uris(&answer);
    assert_eq!(found[0], "todo:adr/2", "{answer}");
    let last = answer["hits"].as_array().and_then(|hits| hits.last()).expect("a hit");
    assert_eq!((&last["uri"], &last["outdated"]), (&json!("todo://project/adr/1"), &json!(true)), "{answer}");
    assert_eq!(last["superseded_by"], "todo://project/adr/2");
    host.close();
}

#[test]
fn filters_pages_and_budgets() {
    let home = shop();
    let mut host = home.host(&[]);
    let cards = recall(&mut host, json!({ "query": "the", "kind": "card" }));
    assert!(uris(&cards).iter().all(|uri| uri.starts_with("board:")) && cards["total"] != 0, "{cards}");
    let done = recall(&mut host, json!({ "query": "the", "lane": "done", "limit": 50 }));
    assert!(done["hits"].as_array().expect("hits").iter().all(|hit| hit["lane"] == "done"), "{done}");
    let own = recall(&mut host, json!({ "query": "the", "project": ".", "limit": 50 }));
    assert!(!uris(&own).iter().any(|uri| uri.starts_with("vibe:")), "{own}");
    let harbor = recall(&mut host, json!({ "query": "the", "project": "harbor", "limit": 50 }));
    assert!(uris(&harbor).iter().all(|uri| uri.starts_with("vibe:harbor/")), "{harbor}");
    let mut found: Vec<String> = Vec::new();
    let mut cursor = Value::Null;
    let total = loop {
        let page = recall(&mut host, json!({ "query": "the", "limit": 7, "budget": 900, "cursor": cursor }));
        assert!(page.to_string().chars().count() <= 900, "{page}");
        found.extend(uris(&page));
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break page["total"].as_u64().expect("a number");
        }
    };
    assert_eq!(found.len() as u64, total);
    found.sort();
    found.dedup();
    assert_eq!(found.len() as u64, total, "every hit once");
    let error = host.call_err("trellis_recall", json!({ "query": "other", "cursor": "7-abc" }));
    assert_eq!(
        (&error["error"]["code"], &error["error"]["details"]["field"]),
        (&json!("INVALID_ARGUMENT"), &json!("cursor"))
    );
    for query in ["", "  \n", &"x".repeat(501)] {
        let error = host.call_err("trellis_recall", json!({ "query": query }));
        assert_eq!(
            (&error["error"]["code"], &error["error"]["details"]["field"]),
            (&json!("INVALID_ARGUMENT"), &json!("query"))
        );
    }
    let nothing = recall(&mut host, json!({ "query": "*** ()" }));
    assert_eq!((&nothing["total"], &nothing["hits"]), (&json!(0), &json!([])));
    let error = host.call_err("trellis_recall", json!({ "query": "x", "project": "harbr" }));
    assert_eq!(error["error"]["code"], "UNKNOWN_PROJECT");
    host.close();
}

#[test]
fn relaxed_hits_are_marked() {
    let home = shop();
    let mut host = home.host(&[]);
    let answer = recall(&mut host, json!({ "query": "kuberntes" }));
    assert_eq!((&answer["relaxed"], &answer["hits"][0]["relaxed"]), (&json!(true), &json!(true)), "{answer}");
    let answer = recall(&mut host, json!({ "query": "\"kuberntes\"" }));
    assert_eq!((&answer["total"], answer.get("relaxed")), (&json!(0), None), "{answer}");
    let answer = recall(&mut host, json!({ "query": "kubernetes" }));
    assert_eq!(answer.get("relaxed"), None, "{answer}");
    host.close();
}

#[test]
fn what_was_written_is_found_by_the_next_call() {
    let home = shop();
    let mut host = home.host(&[]);
    assert_eq!(recall(&mut host, json!({ "query": "\"quokka\"" }))["total"], 0);
    host.call_ok("todo_create_task", json!({ "title": "Feed the quokka" }));
    assert_eq!(first(&mut host, "quokka")["title"], "Feed the quokka");
    for (path, text) in [
        ("vault/notes/wombat.md", "# Wombat\n"),
        ("plans/new.vine", "vine 1.2.0\n---\n[root] Numbat (started)\n"),
        (".todo/adr/adr-007-x.md", "# ADR-007: Bilby\n- Status: Accepted\n"),
    ] {
        home.write(path, text);
        let word = text.split_whitespace().find(|word| ["Wombat", "Numbat", "Bilby"].contains(word)).expect("a word");
        assert_eq!(
            uris(&recall(&mut host, json!({ "query": format!("\"{word}\"") }))).len(),
            if word == "Numbat" { 2 } else { 1 },
            "{word}"
        );
    }
    home.write("plans/new.vine", "vine 1.2.0\n---\n[root] Potoroo (started)\n");
    assert_eq!(recall(&mut host, json!({ "query": "\"numbat\"" }))["total"], 0);
    assert_eq!(recall(&mut host, json!({ "query": "\"potoroo\"" }))["total"], 2);
    host.close();
}

#[test]
fn projects_in_which_nobody_works_are_found() {
    let home = Home::new();
    for project in ["one", "two"] {
        let root = home.path().join("work").join(project);
        std::fs::create_dir_all(root.join(".todo")).expect("a project");
        let task = format!("# Task\n\n## A\n- [ ] Paint the {project} fence #T001\n");
        std::fs::write(root.join(".todo/task.md"), task).expect("a task");
    }
    let visit = |project: &str| {
        let mut command = home.proxy(&[]);
        command.current_dir(home.path().join("work").join(project));
        let mut host = Client::start(command);
        host.initialize("2025-11-25");
        host.call_ok("todo_list_tasks", json!({}));
        host
    };
    visit("one").close();
    let mut host = visit("two");
    let found = recall(&mut host, json!({ "query": "fence" }));
    assert_eq!(found["hits"][0]["uri"], "todo://two/T001", "own first: {found}");
    assert_eq!(found["hits"][1]["uri"], "todo://one/T001", "{found}");
    assert_eq!(found.get("stale"), None, "{found}");
    let own = recall(&mut host, json!({ "query": "fence", "project": "." }));
    assert_eq!(uris(&own).len(), 1);
    host.close();
}
