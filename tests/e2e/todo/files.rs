//! Files that are no text, cannot be read, or are links: each has its code, and none is touched.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};
use trellis_tests::harness::Home;

use super::Todo;

/// Every tool that reads `task.md`, with arguments that are good.
fn all_task_tools() -> Vec<(&'static str, Value)> {
    vec![
        ("create_task", json!({ "title": "x" })),
        ("update_task", json!({ "task_id": "T001", "status": "done" })),
        ("delete_task", json!({ "task_id": "T001" })),
        ("reorder_task", json!({ "task_id": "T001", "position": "first" })),
        ("list_tasks", json!({})),
        ("search_tasks", json!({ "query": "a" })),
        ("update_context", json!({ "task_id": "T001", "content": "x" })),
        ("get_context", json!({ "task_id": "T001" })),
    ]
}

#[test]
fn what_is_no_text_is_never_rewritten() {
    let mut todo = Todo::with_tasks(b"- [ ] a #T001\n\xff\n");
    for (tool, arguments) in all_task_tools() {
        todo.check_refused(tool, arguments, "FILE_READ_ERROR");
    }
    todo.write("task.md", "- [ ] a #T001\n");
    todo.write("context/T001.md", b"\xff");
    todo.write("adr/adr-001-a.md", b"\xff");
    for (tool, arguments) in [
        ("get_context", json!({ "task_id": "T001" })),
        ("update_context", json!({ "task_id": "T001", "content": "x" })),
        ("update_context", json!({ "task_id": "T001", "content": "x", "append": true })),
        ("update_adr_status", json!({ "adr_number": 1, "status": "Accepted" })),
    ] {
        todo.check_refused(tool, arguments, "FILE_READ_ERROR");
    }
    let warnings = json!([".todo/context/T001.md is not UTF-8 text"]);
    assert_eq!(todo.call("search_contexts", json!({ "query": "a" }))["warnings"], warnings);
    assert_eq!(todo.call("list_adrs", json!({}))["warnings"], json!([".todo/adr/adr-001-a.md is not UTF-8 text"]));
    // What is no text can still be deleted with its task.
    let answer = todo.call("delete_task", json!({ "task_id": "T001" }));
    assert_eq!(answer["deleted_files"], json!([".todo/context/T001.md"]));
}

#[test]
fn what_the_system_denies_is_said() {
    let home = Home::new();
    home.write(".todo/task.md", "- [ ] a #T001\n");
    home.write(".todo/context/T001.md", "x");
    let mut client = home.unprivileged_host(&["--only", "todo"]);
    let mode = |path: &str, mode: u32| {
        fs::set_permissions(home.project().join(path), fs::Permissions::from_mode(mode)).expect("a mode");
    };
    let mut denied = |tool: &str, arguments: Value| {
        let error = client.call_err(tool, arguments);
        assert_eq!(error["error"]["code"], "PERMISSION_DENIED", "{tool} {error}");
    };
    mode(".todo/context/T001.md", 0o000);
    denied("get_context", json!({ "task_id": "T001" }));
    denied("update_context", json!({ "task_id": "T001", "content": "y" }));
    denied("delete_task", json!({ "task_id": "T001" }));
    mode(".todo/task.md", 0o000);
    for (tool, arguments) in all_task_tools() {
        denied(tool, arguments);
    }
    mode(".todo/task.md", 0o644);
    mode(".todo", 0o555);
    denied("update_task", json!({ "task_id": "T001", "status": "done" }));
    denied("create_task", json!({ "title": "x" }));
    mode(".todo", 0o755);
    assert_eq!(fs::read_to_string(home.project().join(".todo/task.md")).expect("the file"), "- [ ] a #T001\n");
    assert!(!home.project().join(".todo/context/T002.md").exists(), "a refused task leaves no context");
}

#[test]
fn a_linked_tree_is_refused() {
    let mut todo = Todo::new();
    let elsewhere = todo.home.path().join("elsewhere");
    for dangling in [true, false] {
        if !dangling {
            fs::create_dir(&elsewhere).expect("a directory");
            fs::write(elsewhere.join("task.md"), "- [ ] a #T001\n").expect("a file");
        }
        let _ = fs::remove_file(todo.path(""));
        symlink(&elsewhere, todo.home.project().join(".todo")).expect("a link");
        let rest = [
            ("create_adr", json!({ "title": "a", "context": "", "decision": "", "rationale": "" })),
            ("update_adr_status", json!({ "adr_number": 1, "status": "Accepted" })),
            ("list_adrs", json!({})),
            ("search_contexts", json!({ "query": "a" })),
        ];
        for (tool, arguments) in all_task_tools().into_iter().chain(rest) {
            let error = todo.refused(tool, arguments);
            assert_eq!(error["code"], "PERMISSION_DENIED", "{tool}: {error}");
        }
        let read = todo.client.ask("resources/read", json!({ "uri": "todo:///task.md" }));
        assert!(read.get("error").is_some(), "{read}");
        fs::remove_file(todo.home.project().join(".todo")).expect("a removal");
    }
    let names: Vec<_> =
        fs::read_dir(&elsewhere).expect("a directory").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["task.md"], "nothing was written there");
}

#[test]
fn a_link_out_of_the_tree_is_untouched() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n");
    let secret = todo.home.path().join("secret.md");
    fs::write(&secret, "- [ ] secret #T050\n").expect("a file");
    fs::create_dir_all(todo.path("context")).expect("a directory");
    symlink(&secret, todo.path("context/T001.md")).expect("a link");
    for (tool, arguments) in [
        ("get_context", json!({ "task_id": "T001" })),
        ("update_context", json!({ "task_id": "T001", "content": "x" })),
        ("delete_task", json!({ "task_id": "T001" })),
    ] {
        todo.check_refused(tool, arguments, "PERMISSION_DENIED");
    }
    assert_eq!(todo.call("search_contexts", json!({ "query": "secret" }))["total_matches"], 0);
    fs::remove_file(todo.path("task.md")).expect("a removal");
    symlink(&secret, todo.path("task.md")).expect("a link");
    for (tool, arguments) in all_task_tools() {
        todo.check_refused(tool, arguments, "PERMISSION_DENIED");
    }
    for uri in ["todo:///task.md", "todo:///context/T001.md", "file://.todo/context/T001.md"] {
        let read = todo.client.ask("resources/read", json!({ "uri": uri }));
        assert_eq!(read["error"]["code"], -32002, "{uri} {read}");
    }
    assert_eq!(fs::read_to_string(&secret).expect("the file"), "- [ ] secret #T050\n");
}

#[test]
fn a_linked_directory_of_contexts_does_not_hide_the_tasks() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n");
    let elsewhere = todo.home.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a directory");
    symlink(&elsewhere, todo.path("context")).expect("a link");
    let answer = todo.call("list_tasks", json!({}));
    assert_eq!((&answer["total_count"], &answer["warnings"]), (&json!(1), &json!([".todo/context cannot be read"])));
    for (tool, arguments) in [
        ("create_task", json!({ "title": "b" })),
        ("update_context", json!({ "task_id": "T001", "content": "x" })),
        ("search_contexts", json!({ "query": "a" })),
    ] {
        todo.check_refused(tool, arguments, "PERMISSION_DENIED");
    }
    assert_eq!(fs::read_dir(&elsewhere).expect("a directory").count(), 0);
}

#[test]
fn directories_and_large_files_cannot_be_read() {
    let mut todo = Todo::new();
    fs::create_dir_all(todo.path("task.md")).expect("a directory");
    todo.check_refused("list_tasks", json!({}), "FILE_READ_ERROR");
    fs::remove_dir(todo.path("task.md")).expect("a removal");
    let large = fs::File::create(todo.path("task.md")).expect("a file");
    large.set_len(9 * 1024 * 1024).expect("a large file");
    let error = todo.refused("list_tasks", json!({}));
    assert_eq!(error["code"], "FILE_READ_ERROR", "{error}");
}
