//! `update_task_status`: a task is meant by name or number, and only its status moves.

use std::fs;

use serde_json::{Value, json};

use super::{Vibe, sha256};

#[track_caller]
fn check(before: &[u8], previous: Value, expected: &[u8]) {
    let mut vibe = Vibe::with("demo/tasks/004-x.md", before);
    let answer = json!({ "project": "demo", "task": "004", "status": "in-progress" });
    let answer = vibe.call("update_task_status", answer);
    let task = json!({
        "filename": "004-x.md", "path": "demo/tasks/004-x.md", "previous_status": previous, "new_status": "in-progress",
    });
    assert_eq!(answer.to_string(), json!({ "success": true, "task": task, "indexed": true }).to_string());
    let after = fs::read(vibe.path("demo/tasks/004-x.md")).expect("the task");
    assert_eq!(String::from_utf8_lossy(&after), String::from_utf8_lossy(expected));
    assert_eq!(after, expected, "byte for byte");
}

#[test]
fn only_the_value_moves() {
    check(b"# T\n\nStatus: pending\n\n## X\n", json!("pending"), b"# T\n\nStatus: in-progress\n\n## X\n");
    check(
        b"\xef\xbb\xbf# T\r\n\r\n status : Done  \r\n\r\nx",
        json!("done"),
        b"\xef\xbb\xbf# T\r\n\r\n status : in-progress  \r\n\r\nx",
    );
    check(
        b"\xff# T\n\xfeStatus: x\nStatus: done\n\xc3",
        json!("done"),
        b"\xff# T\n\xfeStatus: x\nStatus: in-progress\n\xc3",
    );
    check(
        b"```\nStatus: done\n```\nStatus: blocked\nStatus: done",
        json!("blocked"),
        b"```\nStatus: done\n```\nStatus: in-progress\nStatus: done",
    );
}

#[test]
fn a_status_of_the_front_matter_moves_too() {
    check(
        b"---\nstatus: pending # soon\nowner: x\n---\n# T\n\nStatus: pending\n",
        json!("pending"),
        b"---\nstatus: in-progress # soon\nowner: x\n---\n# T\n\nStatus: in-progress\n",
    );
    check(b"---\nstatus: 'done'\n---\n# T\n", json!("done"), b"---\nstatus: in-progress\n---\n# T\n");
    check(
        b"---\nstatus: [\n---\n# T\n\nStatus: done\n",
        json!("done"),
        b"---\nstatus: [\n---\n# T\n\nStatus: in-progress\n",
    );
}

#[test]
fn a_task_without_status_gets_one() {
    check(b"# T\n\n## Objective\n", json!(null), b"# T\n\nStatus: in-progress\n\n## Objective\n");
    check(b"# T", json!(null), b"# T\n\nStatus: in-progress\n");
    check(b"# T\r\ntext\r\n", json!(null), b"# T\r\n\r\nStatus: in-progress\r\n\r\ntext\r\n");
    check(b"text\n", json!(null), b"Status: in-progress\n\ntext\n");
    check(b"---\nowner: a\n---\ntext\n", json!(null), b"---\nowner: a\n---\nStatus: in-progress\n\ntext\n");
    check(b"", json!(null), b"Status: in-progress\n");
}

#[test]
fn the_same_status_touches_nothing() {
    let mut vibe = Vibe::with("demo/tasks/004-x.md", "Status: In Progress\n");
    let modified =
        |vibe: &Vibe| fs::metadata(vibe.path("demo/tasks/004-x.md")).expect("the task").modified().expect("a time");
    let before = modified(&vibe);
    assert_eq!(vibe.set("4", "in-progress")["previous_status"], "in-progress");
    assert_eq!(modified(&vibe), before);
    assert_eq!(vibe.text("demo/tasks/004-x.md"), "Status: In Progress\n");
}

#[test]
fn a_task_is_meant_by_name_or_number() {
    let mut vibe = Vibe::with("demo/tasks/004-x.md", "Status: pending\n");
    vibe.write("demo/tasks/free.md", "Status: pending\n");
    vibe.write("demo/tasks/10-a.md", "Status: pending\n");
    vibe.write("demo/tasks/010-b.md", "Status: pending\n");
    for task in ["4", "04", "004", "004-x", "004-x.md", " 004 "] {
        assert_eq!(vibe.set(task, "done")["filename"], "004-x.md", "{task}");
    }
    assert_eq!(vibe.set("free", "done")["filename"], "free.md");
    assert_eq!(vibe.set("10-a", "done")["filename"], "10-a.md");
    let status = |task: &str| json!({ "project": "demo", "task": task, "status": "done" });
    let error = vibe.check_refused("update_task_status", status("10"), "AMBIGUOUS_TASK");
    assert_eq!(error["details"]["candidates"], json!(["010-b.md", "10-a.md"]));
    for task in ["5", "x", "004-y.md"] {
        vibe.check_refused("update_task_status", status(task), "FILE_NOT_FOUND");
    }
    for task in ["", "../status", "../status.md", "deep/x", "/etc/passwd", "..", ".hidden", "a\\b", "a\0b"] {
        vibe.check_refused("update_task_status", status(task), "INVALID_PATH");
    }
    assert_eq!(vibe.text("demo/tasks/010-b.md"), "Status: pending\n");
}

#[test]
fn a_status_set_on_another_state_is_a_conflict() {
    let mut vibe = Vibe::with("demo/tasks/004-x.md", "Status: pending\n");
    let status = |hash: String| json!({ "project": "demo", "task": "4", "status": "done", "if_match": hash });
    vibe.check_refused("update_task_status", status(sha256("other")), "CONFLICT");
    assert_eq!(vibe.text("demo/tasks/004-x.md"), "Status: pending\n");
    vibe.call("update_task_status", status(sha256("Status: pending\n").to_uppercase()));
    assert_eq!(vibe.text("demo/tasks/004-x.md"), "Status: done\n");
}
