//! Decision records: template, slug, numbers, status lines and history, files that people wrote.

use serde_json::{Value, json};

use super::{Todo, all, check_time};

fn new(title: &str) -> Value {
    json!({ "title": title, "context": "c", "decision": "d", "rationale": "r" })
}

#[test]
fn a_record_is_written_from_the_template() {
    let mut todo = Todo::new();
    let answer = todo.call(
        "create_adr",
        json!({ "title": "Use SQLite", "context": "why\n\n## not a section", "decision": "", "rationale": "r", "consequences": "k", "status": "Accepted" }),
    );
    assert_eq!(answer["adr_id"], "adr-001-use-sqlite");
    assert_eq!(answer["file_path"], ".todo/adr/adr-001-use-sqlite.md");
    check_time(&answer["created_at"]);
    let time = answer["created_at"].as_str().expect("a time");
    let expected = format!(
        "# ADR-001: Use SQLite\n\n- Status: Accepted\n- Created: {time}\n- Updated: {time}\n\n## Context\nwhy\n\n## not a section\n## Decision\n\n## Rationale\nr\n## Consequences\nk\n\n## Status History\n- {time} Accepted\n"
    );
    assert_eq!(todo.text("adr/adr-001-use-sqlite.md"), expected);
    assert_eq!(todo.text(".state.json"), "{\"last_task_number\":0,\"last_adr_number\":1}\n");
    assert!(!todo.exists("task.md"));
}

#[test]
fn slugs_keep_their_script() {
    let mut todo = Todo::new();
    for (title, id) in [
        ("A / B: c.d", "adr-001-a-b-c-d"),
        ("認証方式: トークン（署名）を選ぶ", "adr-002-認証方式-トークン-署名-を選ぶ"),
        ("../..", "adr-003-untitled"),
        (&"あ".repeat(100), &format!("adr-004-{}", "あ".repeat(60))),
    ] {
        assert_eq!(todo.call("create_adr", new(title))["adr_id"], id);
        assert!(todo.exists(&format!("adr/{id}.md")));
    }
}

#[test]
fn numbers_are_never_given_twice_and_end_at_999() {
    let mut todo = Todo::new();
    todo.call("create_adr", new("a"));
    std::fs::remove_file(todo.path("adr/adr-001-a.md")).expect("a removal");
    assert_eq!(todo.call("create_adr", new("b"))["adr_id"], "adr-002-b");
    todo.write("adr/adr-998-x.md", "");
    assert_eq!(todo.call("create_adr", new("c"))["adr_id"], "adr-999-c");
    let error = todo.check_refused("create_adr", new("d"), "ADR_LIMIT_EXCEEDED");
    assert_eq!(error["details"]["reason"], "numbers_given");
}

#[test]
fn a_status_changes_three_lines() {
    let mut todo = Todo::new();
    let created = todo.call("create_adr", new("a"));
    let path = "adr/adr-001-a.md";
    // As if it had been written long ago.
    let time = created["created_at"].as_str().expect("a time").to_owned();
    let old = todo.text(path).replace(&time, "2020-01-01T00:00:00Z");
    todo.write(path, &old);
    let answer = todo.call("update_adr_status", json!({ "adr_number": 1, "status": "Accepted", "reason": "良い\n案" }));
    let now = answer["updated_at"].as_str().expect("a time").to_owned();
    check_time(&answer["updated_at"]);
    let expected = json!({ "adr_number": 1, "old_status": "Proposed", "new_status": "Accepted", "updated_at": now });
    assert_eq!(answer.to_string(), expected.to_string());
    let new = old
        .replace("- Status: Proposed", "- Status: Accepted")
        .replace("- Updated: 2020-01-01T00:00:00Z", &format!("- Updated: {now}"));
    assert_eq!(todo.text(path), format!("{new}- {now} Proposed → Accepted: 良い 案\n"));
    let listed = &todo.call("list_adrs", json!({}))["adrs"][0];
    let expected = json!({ "adr_number": 1, "title": "a", "status": "Accepted", "created_at": "2020-01-01T00:00:00Z", "updated_at": now });
    assert_eq!(listed.to_string(), expected.to_string());
}

#[test]
fn the_same_status_is_recorded_only_with_a_reason() {
    let mut todo = Todo::new();
    todo.call("create_adr", new("a"));
    let before = todo.text("adr/adr-001-a.md");
    let answer = todo.call("update_adr_status", json!({ "adr_number": 1, "status": "Proposed" }));
    assert_eq!((&answer["old_status"], &answer["new_status"]), (&json!("Proposed"), &json!("Proposed")));
    assert_eq!(todo.text("adr/adr-001-a.md"), before);
    todo.call("update_adr_status", json!({ "adr_number": 1, "status": "Proposed", "reason": "still" }));
    assert!(todo.text("adr/adr-001-a.md").ends_with("Proposed → Proposed: still\n"));
    for status in ["Deprecated", "Accepted", "Proposed"] {
        assert_eq!(todo.call("update_adr_status", json!({ "adr_number": 1, "status": status }))["new_status"], status);
    }
}

#[test]
fn records_of_people_are_read() {
    let mut todo = Todo::new();
    todo.write("adr/adr-003-madr.md", "---\nstatus: accepted\n---\n# Use Rust\n\n## Status History\n- 2024-05-01T00:00:00Z x\n- 2024-06-01T09:00:00+09:00 y\n");
    todo.write("adr/adr-001-old-style.md", "# ADR-1: Old\r\n\r\n## Status\r\n\r\nDeprecated\r\n\r\n## Context\r\n");
    todo.write("adr/adr-002-no-heading.md", "text\nStatus: Superseded\n");
    todo.write("adr/README.md", "# no record");
    let answer = todo.call("list_adrs", json!({}));
    assert_eq!(answer["total_count"], 3);
    assert_eq!(all(&answer["adrs"], "title"), ["Old", "no-heading", "Use Rust"]);
    assert_eq!(all(&answer["adrs"], "status"), ["Deprecated", "Proposed", "Accepted"]);
    assert_eq!(answer["adrs"][1]["raw_status"], "Superseded");
    assert_eq!(answer["adrs"][2]["created_at"], "2024-05-01T00:00:00Z");
    assert_eq!(answer["adrs"][2]["updated_at"], "2024-06-01T00:00:00Z");
    check_time(&answer["adrs"][0]["created_at"]);
    let answer = todo.call("list_adrs", json!({ "status": "Deprecated" }));
    assert_eq!((all(&answer["adrs"], "title"), &answer["total_count"]), (vec!["Old"], &json!(1)));
    let answer = todo.call("list_adrs", json!({ "limit": 1.0 }));
    assert_eq!((all(&answer["adrs"], "title"), &answer["total_count"]), (vec!["Old"], &json!(3)));
    let answer = todo.call("update_adr_status", json!({ "adr_number": 1.0, "status": "Accepted" }));
    assert_eq!(answer["adr_number"], json!(1));
    let now = answer["updated_at"].as_str().expect("a time");
    let expected = format!(
        "# ADR-1: Old\r\n\r\n## Status\r\n\r\nAccepted\r\n\r\n## Context\r\n\r\n## Status History\r\n- {now} Deprecated → Accepted\r\n"
    );
    assert_eq!(todo.text("adr/adr-001-old-style.md"), expected);
}

#[test]
fn refusals_have_the_seed_s_codes() {
    let mut todo = Todo::new();
    todo.write("adr/adr-005-a.md", "# A\n");
    todo.write("adr/adr-005-b.md", "# B\n");
    for number in
        [json!(null), json!(0), json!(1000), json!(1000.0), json!(-1), json!(1.5), json!("1"), json!(true), json!(1e99)]
    {
        let arguments = json!({ "adr_number": number, "status": "nonsense" });
        todo.check_refused("update_adr_status", arguments, "INVALID_ADR_NUMBER");
    }
    for status in [json!(null), json!("someday"), json!(""), json!(1)] {
        todo.check_refused("update_adr_status", json!({ "adr_number": 1, "status": status }), "INVALID_STATUS");
    }
    let good = json!({ "adr_number": 1, "status": "Accepted" });
    todo.check_refused("update_adr_status", good, "ADR_NOT_FOUND");
    let twice =
        todo.check_refused("update_adr_status", json!({ "adr_number": 5, "status": "Accepted" }), "INVALID_ADR_NUMBER");
    assert_eq!(twice["details"]["files"], json!(["adr-005-a.md", "adr-005-b.md"]));
    let long = json!({ "adr_number": 1, "status": "Accepted", "reason": "あ".repeat(501) });
    todo.check_refused("update_adr_status", long, "CONTENT_TOO_LONG");
    todo.check_refused("list_adrs", json!({ "status": "done" }), "INVALID_STATUS");
    todo.check_refused("list_adrs", json!({ "limit": 101 }), "INVALID_INPUT");
    for field in ["title", "context", "decision", "rationale"] {
        let mut arguments = new("a");
        arguments[field] = json!(null);
        todo.check_refused("create_adr", arguments.clone(), "INVALID_INPUT");
        arguments[field] = json!("あ".repeat(2001));
        todo.check_refused("create_adr", arguments, "CONTENT_TOO_LONG");
    }
    let mut arguments = new("a");
    arguments["status"] = json!("Rejected");
    todo.check_refused("create_adr", arguments, "INVALID_STATUS");
    let full = json!({ "title": "あ".repeat(100), "context": "あ".repeat(2000), "decision": "", "rationale": "", "consequences": "い".repeat(2000) });
    assert!(todo.call("create_adr", full)["adr_id"].as_str().is_some_and(|id| id.starts_with("adr-006-あ")));
}
