//! Files as people have them: marks, line ends, bytes that are no text, links, hidden things.

use std::fs;

use serde_json::json;

use super::{Vibe, sha256};

#[test]
fn marks_and_line_ends_are_borne() {
    let mut vibe = Vibe::new();
    let text = "\u{feff}---\r\nstatus: done\r\ntags: [a]\r\n---\r\n# Task: Con marca\r\n\r\n## Objective\r\nuno\r\ndos";
    vibe.write("demo/tasks/001-x.md", text);
    let seen = vibe.call("read_doc", json!({ "project": "demo", "folder": "tasks", "filename": "001-x.md" }));
    assert_eq!(seen["content"], text.trim_start_matches('\u{feff}'));
    assert_eq!((&seen["metadata"]["status"], &seen["metadata"]["tags"]), (&json!("done"), &json!(["a"])));
    assert_eq!(seen["hash"], sha256(text));
    let task = vibe.call("list_tasks", json!({ "project": "demo" }))["tasks"][0].clone();
    assert_eq!((&task["title"], &task["objective"]), (&json!("Con marca"), &json!("uno\r\ndos")));
}

#[test]
fn bytes_that_are_no_text_hide_nothing_else() {
    let mut vibe = Vibe::with("demo/tasks/001-x.md", b"# Task: a\xffb\n\nStatus: done\n");
    vibe.write("demo/tasks/002-y.md", "# Task: y\n");
    let list = vibe.call("list_tasks", json!({ "include_content": true }));
    assert_eq!(list["total"], 2);
    assert_eq!((&list["tasks"][0]["title"], &list["tasks"][0]["status"]), (&json!("a\u{fffd}b"), &json!("done")));
    assert_eq!(list["tasks"][0]["content"], "# Task: a\u{fffd}b\n\nStatus: done\n");
    let seen = vibe.call("read_doc", json!({ "project": "demo", "folder": "tasks", "filename": "001-x" }));
    assert_eq!(seen["hash"], sha256(b"# Task: a\xffb\n\nStatus: done\n"));
}

#[test]
fn what_only_looks_like_front_matter_is_text() {
    let mut vibe = Vibe::new();
    for (text, status) in [
        ("---\nStatus: done\n", json!("done")),
        ("---\nstatus: [\n---\nStatus: blocked\n", json!("blocked")),
        ("---\nStatus: done\nmore\n---\n", json!(null)),
        ("---\n- a\n---\nStatus: done\n", json!("done")),
        ("---\n\n---\nStatus: done\n", json!("done")),
        ("\n---\nstatus: done\n---\n", json!("done")),
    ] {
        vibe.write("demo/tasks/001-x.md", text);
        let seen = vibe.call("read_doc", json!({ "project": "demo", "folder": "tasks", "filename": "001-x.md" }));
        assert_eq!((&seen["content"], &seen["metadata"]["status"]), (&json!(text), &status), "{text:?}");
    }
}

#[test]
fn links_that_leave_the_workspace_lead_nowhere() {
    let mut vibe = Vibe::with("demo/tasks/001-x.md", "Status: pending\n");
    let outside = vibe.home.path().join("outside");
    fs::create_dir_all(outside.join("tasks")).expect("a place");
    fs::write(outside.join("tasks/001-secret.md"), "secret\n").expect("a file");
    vibe.link("away", &outside);
    vibe.link("demo/plans", outside.join("tasks"));
    vibe.link("demo/tasks/002-secret.md", outside.join("tasks/001-secret.md"));
    vibe.check_refused("list_tasks", json!({ "project": "away" }), "INVALID_PATH");
    for (folder, filename) in [("plans", "001-secret.md"), ("tasks", "002-secret.md")] {
        let document = json!({ "project": "demo", "folder": folder, "filename": filename, "content": "mine" });
        for tool in ["create_doc", "update_doc"] {
            vibe.check_refused(tool, document.clone(), "INVALID_PATH");
        }
        let read = json!({ "project": "demo", "folder": folder, "filename": filename });
        vibe.check_refused("read_doc", read, "INVALID_PATH");
    }
    vibe.check_refused("create_plan", json!({ "project": "demo", "content": "mine" }), "INVALID_PATH");
    let status = json!({ "project": "demo", "task": "002-secret", "status": "done" });
    vibe.check_refused("update_task_status", status, "INVALID_PATH");
    assert_eq!(vibe.call("list_tasks", json!({}))["total"], 1);
    let projects = vibe.resource("vibe://projects");
    assert_eq!(projects["projects"].as_array().expect("projects").len(), 1);
    assert_eq!(fs::read_to_string(outside.join("tasks/001-secret.md")).expect("the secret"), "secret\n");
    assert_eq!(fs::read_dir(outside.join("tasks")).expect("a listing").count(), 1);
}

#[test]
fn links_inside_are_followed_and_written_at_their_target() {
    let mut vibe = Vibe::with("demo/references/real.md", "Status: pending\n");
    vibe.link("demo/tasks/007-link.md", "../references/real.md");
    let read = json!({ "project": "demo", "folder": "tasks", "filename": "007-link.md" });
    assert_eq!(vibe.call("read_doc", read)["content"], "Status: pending\n");
    assert_eq!(vibe.set("007-link", "done")["new_status"], "done");
    assert_eq!(vibe.text("demo/references/real.md"), "Status: done\n");
    assert!(fs::symlink_metadata(vibe.path("demo/tasks/007-link.md")).expect("the link").is_symlink());
}

#[test]
fn names_are_found_in_either_unicode_form() {
    let mut vibe = Vibe::with("demo/plans/cafe\u{301}.md", "decomposed\n");
    let read = json!({ "project": "demo", "folder": "plans", "filename": "caf\u{e9}.md" });
    assert_eq!(vibe.call("read_doc", read)["content"], "decomposed\n");
    let create = json!({ "project": "demo", "folder": "plans", "filename": "caf\u{e9}.md", "content": "x" });
    vibe.check_refused("create_doc", create, "FILE_EXISTS");
}

#[test]
fn hidden_things_are_no_part_of_the_workspace() {
    let mut vibe = Vibe::new();
    vibe.write(".index/tasks/001-x.md", "Status: pending\n");
    vibe.write("demo/.git/tasks/001-x.md", "Status: pending\n");
    vibe.write("demo/tasks/.draft/001-x.md", "Status: pending\n");
    vibe.write("loose.md", "Status: pending\n");
    assert_eq!(vibe.call("list_tasks", json!({}))["total"], 0);
    let projects = vibe.resource("vibe://projects");
    assert_eq!(projects["projects"][0]["name"], "demo");
    assert_eq!(projects["projects"][0]["stats"]["total_docs"], 0);
    assert_eq!(projects["projects"].as_array().expect("projects").len(), 1);
}
