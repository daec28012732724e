//! `read_doc`, `create_doc`, `update_doc`: exact bytes, metadata, hashes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{Vibe, sha256};

#[test]
fn a_document_is_read_whole_with_what_it_says_about_itself() {
    let text = "---\nstatus: In Progress\ntags: [MCP, diseño]\nowner: ana\nupdated: 2025-02-09\nextra: {a: 1}\n---\n# Task: X\n";
    let mut vibe = Vibe::with("demo/tasks/004-x.md", text);
    let read = json!({ "project": "demo", "folder": "tasks", "filename": "004-x.md" });
    let expected = json!({
        "project": "demo",
        "folder": "tasks",
        "filename": "004-x.md",
        "path": "demo/tasks/004-x.md",
        "metadata": {
            "type": "task", "status": "in-progress", "updated": "2025-02-09", "tags": ["mcp", "diseño"], "owner": "ana",
        },
        "content": text,
        "hash": sha256(text),
    });
    let seen = vibe.call("read_doc", read.clone());
    assert_eq!(seen.to_string(), expected.to_string(), "keys in this order");
    // What changed a moment ago is seen at once.
    vibe.write("demo/tasks/004-x.md", "other\n");
    assert_eq!(vibe.call("read_doc", read)["content"], "other\n");
}

#[test]
fn what_a_text_does_not_say_its_place_does() {
    let mut vibe = Vibe::new();
    for (path, kind, status) in [
        ("demo/status.md", json!("status"), json!(null)),
        ("demo/notes.md", json!(null), json!(null)),
        ("demo/tasks/1.md", json!("task"), json!("done")),
        ("demo/plans/1.md", json!("plan"), json!(null)),
        ("demo/sessions/1.md", json!("session"), json!(null)),
        ("demo/reports/1.md", json!("report"), json!(null)),
        ("demo/changelog/1.md", json!("changelog"), json!(null)),
        ("demo/references/1.md", json!("reference"), json!(null)),
        ("demo/scratch/1.md", json!("scratch"), json!(null)),
        ("demo/assets/diagrams/1.md", json!("asset"), json!(null)),
        ("demo/other/1.md", json!(null), json!(null)),
    ] {
        vibe.write(path, "Status: done\n");
        let rest = path.strip_prefix("demo/").expect("in the project");
        let (folder, filename) = rest.split_once('/').unwrap_or(("", rest));
        let seen = vibe.call("read_doc", json!({ "project": "demo", "folder": folder, "filename": filename }));
        assert_eq!(seen["path"], path);
        assert_eq!((&seen["metadata"]["type"], &seen["metadata"]["status"]), (&kind, &status), "{path}");
        assert_eq!(seen["metadata"].as_object().expect("metadata").len(), 5);
    }
}

#[test]
fn a_new_document_holds_exactly_what_was_given() {
    let mut vibe = Vibe::new();
    for (filename, content) in
        [("exact.md", "no end"), ("empty.md", ""), ("crlf.md", "a\r\nb\r\n\r\n"), ("メモ.md", "あ")]
    {
        let arguments = json!({ "project": "demo", "folder": "references", "filename": filename, "content": content });
        let path = format!("demo/references/{filename}");
        let expected = json!({
            "success": true,
            "path": path,
            "absolute_path": fs::canonicalize(vibe.path("demo")).expect("a project").join("references").join(filename),
            "indexed": true,
        });
        assert_eq!(vibe.call("create_doc", arguments.clone()).to_string(), expected.to_string());
        assert_eq!(vibe.text(&path), content);
        let error = vibe.check_refused("create_doc", arguments, "FILE_EXISTS");
        assert_eq!(error["details"], json!({ "project": "demo", "path": format!("references/{filename}") }));
    }
    let bare = json!({ "project": "demo", "folder": "", "filename": "status", "content": "# Demo\n" });
    assert_eq!(vibe.call("create_doc", bare)["path"], "demo/status.md");
    assert_eq!(vibe.text("demo/status.md"), "# Demo\n");
}

#[test]
fn a_name_that_some_systems_take_for_another_is_taken() {
    let mut vibe = Vibe::with("demo/plans/Notes.md", "old");
    for filename in ["notes.md", "NOTES"] {
        let arguments = json!({ "project": "demo", "folder": "plans", "filename": filename, "content": "new" });
        let error = vibe.check_refused("create_doc", arguments, "FILE_EXISTS");
        assert_eq!(error["details"]["path"], "plans/Notes.md");
    }
    for filename in ["a:b", "con", "a?", "x\u{200b}y"] {
        let arguments = json!({ "project": "demo", "folder": "plans", "filename": filename, "content": "new" });
        vibe.check_refused("create_doc", arguments, "INVALID_PATH");
    }
    assert_eq!(vibe.tree(), ["demo", "demo/plans", "demo/plans/Notes.md"]);
}

#[test]
fn an_update_replaces_everything_and_keeps_the_mode() {
    let mut vibe = Vibe::new();
    let path = vibe.write("demo/plans/a.md", "# Old\r\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
    let update =
        |content: &str| json!({ "project": "demo", "folder": "plans", "filename": "a.md", "content": content });
    let expected = json!({
        "success": true,
        "path": "demo/plans/a.md",
        "previous_hash": sha256("# Old\r\n"),
        "new_hash": sha256("new"),
        "indexed": true,
    });
    assert_eq!(vibe.call("update_doc", update("new")).to_string(), expected.to_string());
    assert_eq!(vibe.text("demo/plans/a.md"), "new");
    assert_eq!(fs::metadata(&path).expect("the file").permissions().mode() & 0o777, 0o640);
    let before = fs::metadata(&path).expect("the file").modified().expect("a time");
    let same = vibe.call("update_doc", update("new"));
    assert_eq!(same["previous_hash"], same["new_hash"]);
    assert_eq!(fs::metadata(&path).expect("the file").modified().expect("a time"), before, "nothing to write");
    let missing = json!({ "project": "demo", "folder": "plans", "filename": "none.md", "content": "x" });
    let error = vibe.check_refused("update_doc", missing, "FILE_NOT_FOUND");
    assert_eq!(error["details"], json!({ "project": "demo", "path": "plans/none.md" }));
}

#[test]
fn an_update_of_another_state_is_a_conflict() {
    let mut vibe = Vibe::with("demo/plans/a.md", "theirs");
    let update = |hash: &str| json!({ "project": "demo", "folder": "plans", "filename": "a.md", "content": "mine", "if_match": hash });
    let error = vibe.check_refused("update_doc", update(&sha256("read before")), "CONFLICT");
    let details = json!({
        "project": "demo", "path": "plans/a.md", "expected_hash": sha256("read before"), "actual_hash": sha256("theirs"),
    });
    assert_eq!(error["details"], details);
    assert_eq!(vibe.text("demo/plans/a.md"), "theirs");
    vibe.call("update_doc", update(&sha256("theirs")));
    assert_eq!(vibe.text("demo/plans/a.md"), "mine");
}
