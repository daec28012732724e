//! `trellis_list`: order, filters, pages, warnings.

use serde_json::json;
use trellis_tests::harness::Home;

use super::{each, filled, list};

#[test]
fn everything_a_person_would_name_is_listed_in_order() {
    let home = filled();
    let mut host = home.host(&[]);
    let answer = list(&mut host, json!({ "limit": 100, "budget": 100_000 }));
    let expected = [
        "todo://project/T001",
        "board://project/task-9",
        "vibe://projects/project/tasks/001-first.md",
        "todo://project/task.md#L7",
        "todo://project/T003",
        "vine://project/plans/launch.vine",
        "vine://project/plans/launch.vine#root",
        "vine://project/plans/launch.vine#build",
        "vibe://projects/project/plans/decision-db.md",
        "vibe://projects/project/sessions/2026-01-01.md",
        "todo://project/adr/1",
        "todo://project/adr/2",
        "todo://project/context/T001",
        "vault://project/notes/idea.md",
        "vault://project/notes/other.md",
        "todo://project/T002",
    ];
    assert_eq!(each(&answer, "uri"), expected);
    assert_eq!(answer["total"], expected.len());
    let item = |uri: &str| {
        answer["items"]
            .as_array()
            .and_then(|items| items.iter().find(|item| item["uri"] == uri))
            .cloned()
            .expect("an item")
    };
    let task = item("todo://project/T001");
    assert_eq!(
        (&task["kind"], &task["status"], &task["lane"]),
        (&json!("task"), &json!("in_progress"), &json!("doing"))
    );
    assert_eq!((&task["project"], &task["tags"], task.get("ready")), (&json!("project"), &json!(["API"]), None));
    assert!(task["updated"].as_str().is_some_and(|time| time.ends_with('Z') && time.len() == 20), "{task}");
    let loose = item("todo://project/task.md#L7");
    assert_eq!(
        (&loose["title"], &loose["warning"], &loose["ready"]),
        (&json!("Loose end"), &json!("no id"), &json!(true))
    );
    assert_eq!(loose["hash"].as_str().map(str::len), Some(64));
    assert_eq!(item("todo://project/context/T001")["title"], "Write the parser");
    let old = item("todo://project/adr/1");
    assert_eq!((&old["outdated"], &old["superseded_by"]), (&json!(true), &json!("todo://project/adr/2")));
    assert_eq!(item("vibe://projects/project/plans/decision-db.md")["outdated"], true);
    assert_eq!(item("vibe://projects/project/sessions/2026-01-01.md")["excerpt"], json!(["Session", "Did this"]));
    let ready = item("vine://project/plans/launch.vine#build");
    assert_eq!(
        (&ready["ready"], &ready["title"], &ready["status"]),
        (&json!(true), &json!("Build it"), &json!("planning"))
    );
    assert_eq!(item("vault://project/notes/idea.md")["title"], "Bright idea");
}

#[test]
fn filters_narrow_the_list() {
    let home = filled();
    let mut host = home.host(&[]);
    let mut check = |arguments: serde_json::Value, expected: &[&str]| {
        let answer = list(&mut host, arguments.clone());
        assert_eq!(each(&answer, "title"), expected, "{arguments}");
    };
    check(json!({ "kind": "decision" }), &["Database", "Use SQLite", "Use Postgres"]);
    check(json!({ "kind": ["card", "session"] }), &["Card", "Session"]);
    check(json!({ "lane": "done" }), &["Old one"]);
    check(json!({ "lane": "open", "family": "todo" }), &["Write the parser", "Loose end", "Next thing"]);
    check(json!({ "lane": "none", "family": "vault" }), &["Bright idea", "other.md"]);
    check(json!({ "tag": "UI" }), &["Card"]);
    check(json!({ "text": "PARSÉR" }), &["Write the parser", "Write the parser"]);
    check(json!({ "text": "t003" }), &["Next thing"]);
    check(json!({ "ready": true }), &["Loose end", "Next thing", "Build it"]);
    check(json!({ "under": "todo:///adr" }), &["Use SQLite", "Use Postgres"]);
    check(json!({ "under": "vine://project/plans/launch.vine", "kind": "node" }), &["Ship it", "Build it"]);
    check(json!({ "under": "vault://project/note" }), &[]);
    check(json!({ "under": "vibe://projects/other" }), &["Elsewhere"]);
    check(json!({ "project": "other" }), &["Elsewhere"]);
    check(json!({ "project": "*", "kind": "task", "lane": "done" }), &["Old one", "Elsewhere"]);
    check(json!({ "claimed": true }), &[]);
    check(json!({ "kind": "", "lane": null, "text": "card", "cursor": "" }), &["Card"]);
}

#[test]
fn pages_cover_the_list_once_and_budgets_hold() {
    let home = filled();
    let mut host = home.host(&[]);
    for (limit, budget) in [(3, 8000), (100, 700)] {
        let (mut seen, mut cursor) = (Vec::new(), serde_json::Value::Null);
        loop {
            let arguments = json!({ "limit": limit, "budget": budget, "cursor": cursor });
            let answer = list(&mut host, arguments);
            assert!(answer.to_string().chars().count() <= budget, "{answer}");
            seen.extend(each(&answer, "uri").into_iter().map(str::to_owned));
            cursor = answer["next_cursor"].clone();
            if cursor.is_null() {
                assert_eq!(answer["total"], seen.len());
                break;
            }
        }
        assert_eq!(seen.len(), 16);
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 16);
    }
    let next = list(&mut host, json!({ "limit": 3 }))["next_cursor"].clone();
    for arguments in [json!({ "cursor": "x" }), json!({ "cursor": next, "kind": "task" })] {
        let error = host.call_err("trellis_list", arguments)["error"].clone();
        assert_eq!((&error["code"], &error["details"]["field"]), (&json!("INVALID_ARGUMENT"), &json!("cursor")));
    }
}

#[test]
fn what_is_wrong_is_said_and_hides_nothing_else() {
    let home = Home::new();
    home.write(".git/HEAD", "");
    home.write(".todo/task.md", "- [ ] one #T001\n- [ ] again #T001\n");
    home.write(".todo/context/T009.md", "lost");
    home.write("broken.vine", "vine 1.2.0\n---\n[r R\n");
    home.write(".vibe-kanban-bridge.json", "{");
    let mut host = home.host(&[]);
    let answer = list(&mut host, json!({}));
    assert_eq!(
        each(&answer, "uri"),
        ["todo://project/T001", "todo://project/context/T009", "vine://project/broken.vine"]
    );
    assert!(answer["items"][2]["warning"].as_str().is_some_and(|warning| warning.contains("Line 3")), "{answer}");
    let warnings = answer["warnings"].to_string();
    for part in ["`T001` stands on more than one line", "todo://project/context/T009", "not JSON"] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
}

#[test]
fn wrong_arguments_are_refused_before_anything_is_looked_at() {
    let home = Home::new();
    let mut host = home.host(&[]);
    for (arguments, code, field) in [
        (json!({ "nonsense": 1, "limit": 0 }), "INVALID_ARGUMENT", json!("nonsense")),
        (json!({ "limit": 0 }), "INVALID_ARGUMENT", json!("limit")),
        (json!({ "kind": "thing" }), "INVALID_ARGUMENT", json!("kind")),
        (json!({ "under": "vault://a/../b" }), "INVALID_URI", json!(null)),
        (json!({ "project": "nowhere" }), "UNKNOWN_PROJECT", json!(null)),
    ] {
        let error = host.call_err("trellis_list", arguments.clone())["error"].clone();
        assert_eq!((&error["code"], &error["details"]["field"]), (&json!(code), &field), "{arguments}");
        assert!(error["details"].is_object());
    }
    let near = host.call_err("trellis_list", json!({ "project": "projct" }))["error"].clone();
    assert_eq!(near["details"]["nearest"], json!(["project"]));
    assert!(near["message"].as_str().is_some_and(|message| message.contains("`project`")), "{near}");
}
