//! `get_plan` and `create_plan`.

use serde_json::{Value, json};

use super::{Vibe, sha256};

const PLAN: &str = "---\nupdated: 2025-02-09\n---\n# Execution Plan — demo\n\n## Overview\nExponer workspaces.\n\nMás.\n\n\
                    ## Current Status\n- **Done**: 001-003, 004-x (a, b)\n- **In Progress:** 005\n- Pending: 006, 007\n\
                    - **Blocked**: (none)\n";

#[test]
fn a_plan_is_read_and_counted() {
    let mut vibe = Vibe::with("demo/plans/execution-plan.md", PLAN);
    let expected = json!({
        "project": "demo",
        "filename": "execution-plan.md",
        "path": "demo/plans/execution-plan.md",
        "exists": true,
        "metadata": { "type": "plan", "updated": "2025-02-09" },
        "content": PLAN,
        "parsed": {
            "overview": "Exponer workspaces.\n\nMás.", "task_count": 7, "pending": 2, "in_progress": 1, "done": 4, "blocked": 0,
        },
        "hash": sha256(PLAN),
    });
    assert_eq!(vibe.call("get_plan", json!({ "project": "demo" })).to_string(), expected.to_string());
}

#[test]
fn a_plan_that_is_not_there_is_no_error() {
    let mut vibe = Vibe::new();
    let expected = json!({
        "project": "demo", "filename": "other.md", "path": "demo/plans/other.md", "exists": false, "metadata": null,
        "content": null, "parsed": null, "hash": null,
    });
    assert_eq!(vibe.call("get_plan", json!({ "project": "demo", "filename": "other" })), expected);
    vibe.write("demo/plans/other.md", "## Resumen\nuno\n");
    let parsed = vibe.call("get_plan", json!({ "project": "demo", "filename": "other.md" }))["parsed"].clone();
    let expected =
        json!({ "overview": "uno", "task_count": 0, "pending": 0, "in_progress": 0, "done": 0, "blocked": 0 });
    assert_eq!(parsed, expected);
}

#[test]
fn a_plan_is_written_new_or_over_the_old_one() {
    let mut vibe = Vibe::new();
    let write = |content: &str, more: Value| {
        let mut arguments = json!({ "project": "demo", "content": content });
        more.as_object().expect("an object").iter().for_each(|(key, value)| arguments[key] = value.clone());
        arguments
    };
    let created =
        json!({ "success": true, "path": "demo/plans/execution-plan.md", "action": "created", "indexed": true });
    assert_eq!(vibe.call("create_plan", write("one", json!({}))).to_string(), created.to_string());
    assert_eq!(vibe.call("create_plan", write("two\r\n", json!({})))["action"], "updated");
    assert_eq!(vibe.text("demo/plans/execution-plan.md"), "two\r\n");
    assert_eq!(
        vibe.call("create_plan", write("x", json!({ "filename": "decision-1" })))["path"],
        "demo/plans/decision-1.md"
    );
    vibe.check_refused("create_plan", write("three", json!({ "if_match": sha256("one") })), "CONFLICT");
    assert_eq!(vibe.text("demo/plans/execution-plan.md"), "two\r\n");
    vibe.call("create_plan", write("three", json!({ "if_match": sha256("two\r\n") })));
    assert_eq!(vibe.text("demo/plans/execution-plan.md"), "three");
    let missing = write("x", json!({ "filename": "none.md", "if_match": sha256("x") }));
    vibe.check_refused("create_plan", missing, "FILE_NOT_FOUND");
    assert!(!vibe.path("demo/plans/none.md").exists());
}

#[test]
fn counts_are_read_as_people_write_them() {
    let mut vibe = Vibe::new();
    for status in [
        "- **Pending**: 5\n- **In Progress**: 1\n- **Done**: 6\n",
        "- Pending: 5 tasks\n- In-Progress: 1 task\n- Done: 6 tasks (001-006)\n- Blocked: 0\n",
        "Pending: 5 / In Progress: 1 / Done: 6\n",
        "**Pending:** 5 | **In Progress:** 1 | **Done:** 6\n",
        "Pending: 008-012\nIn Progress: 007\nDone: 001, 002, 003, 004, 005, 006 (with a, b)\n",
        "| Status | Tasks |\n|---|---|\n| Pending | 5 |\n| In Progress | 1 |\n| Done | 6 |\n",
        "### Pending\n- a\n- b\n- c\n- d\n- e\n\n### In Progress\n1. f\n   - detail\n\n### Done\n- 001-006\n",
        "**Pending**\n- a\n- b\n- c\n- d\n- e\n\n**In Progress**\n- f\n\n**Done:** 6\n\n**Blocked**\n- none\n",
    ] {
        vibe.write(
            "demo/plans/execution-plan.md",
            format!("# Plan\n\n## Current Status\n\n{status}\n## Next\n- Done: 9\n"),
        );
        let parsed = vibe.call("get_plan", json!({ "project": "demo" }))["parsed"].clone();
        let expected =
            json!({ "overview": "", "task_count": 12, "pending": 5, "in_progress": 1, "done": 6, "blocked": 0 });
        assert_eq!(parsed, expected, "{status}");
    }
}

#[test]
fn a_plan_may_be_another_text_file() {
    let mut vibe = Vibe::new();
    let plan = "## Overview\nuno\n\n## Current Status\nPending: 2\n";
    let arguments = json!({ "project": "demo", "filename": "plan.txt", "content": plan });
    let created = json!({ "success": true, "path": "demo/plans/plan.txt", "action": "created", "indexed": false });
    assert_eq!(vibe.call("create_plan", arguments.clone()), created);
    assert_eq!(vibe.text("demo/plans/plan.txt"), plan);
    let reading = json!({ "project": "demo", "filename": "plan.txt" });
    let read = vibe.call("get_plan", reading.clone());
    assert_eq!((&read["filename"], &read["content"]), (&json!("plan.txt"), &json!(plan)));
    assert_eq!((&read["metadata"]["type"], &read["parsed"]["pending"]), (&json!("plan"), &json!(2)));
    assert_eq!(vibe.call("create_plan", arguments)["action"], "updated");
    vibe.write("demo/plans/plan.txt", b"\xff");
    vibe.check_refused("get_plan", reading, "FILE_READ_ERROR");
    assert_eq!(vibe.tree(), ["demo", "demo/plans", "demo/plans/plan.txt"]);
}
