//! Codes, the order of checks, and names that lead elsewhere: nothing outside is read, nothing is written before all
//! checks have passed.

use serde_json::{Value, json};

use super::{Vibe, a_task};

/// A call of every tool that takes a project.
fn calls(project: &str) -> Vec<(&'static str, Value)> {
    let mut task = a_task("x");
    task["project"] = project.into();
    vec![
        ("read_doc", json!({ "project": project, "folder": "tasks", "filename": "a.md" })),
        ("list_tasks", json!({ "project": project })),
        ("get_plan", json!({ "project": project })),
        ("create_doc", json!({ "project": project, "folder": "tasks", "filename": "a.md", "content": "x" })),
        ("update_doc", json!({ "project": project, "folder": "tasks", "filename": "a.md", "content": "x" })),
        ("create_task", task),
        ("update_task_status", json!({ "project": project, "task": "1", "status": "done" })),
        ("create_plan", json!({ "project": project, "content": "x" })),
        ("log_session", json!({ "project": project, "content": "x" })),
        ("search", json!({ "project": project, "query": "x" })),
        ("reindex", json!({ "project": project })),
    ]
}

fn with_text(arguments: &Value) -> Value {
    let mut arguments = arguments.clone();
    arguments["content"] = json!("x");
    arguments
}

#[test]
fn no_tool_makes_or_leaves_a_project() {
    let mut vibe = Vibe::new();
    vibe.write("file", "x");
    std::fs::create_dir_all(vibe.home.path().join(".vibe2/secret/tasks")).expect("a neighbour");
    for project in ["none", "Demo", "file"] {
        for (tool, arguments) in calls(project) {
            let error = vibe.check_refused(tool, arguments, "PROJECT_NOT_FOUND");
            assert_eq!((&error["details"]["project"], error["details"]["nearest"].is_array()), (&json!(project), true));
        }
    }
    for project in ["", " ", ".", "..", "../.vibe2/secret", "demo/tasks", "/etc", "a\\b", ".hidden", "a\u{0}b", "a\nb"]
    {
        for (tool, arguments) in calls(project) {
            vibe.check_refused(tool, arguments, "INVALID_PATH");
        }
    }
    for (tool, mut arguments) in calls("demo") {
        arguments["project"] = json!(7);
        let error = vibe.check_refused(tool, arguments, "INVALID_ARGUMENT");
        assert_eq!(error["details"]["field"], "project");
    }
    assert_eq!(vibe.tree(), ["demo", "file"]);
}

#[test]
fn a_document_is_not_replaced_by_a_call_that_meant_to_append() {
    let mut vibe = Vibe::with("demo/references/a.md", "# A\n\nold\n");
    let call = json!({
        "project": "demo", "folder": "references", "filename": "a.md", "content": "new\n", "append": true,
    });
    let error = vibe.check_refused("update_doc", call, "INVALID_ARGUMENT");
    let known = ["project", "folder", "filename", "content", "frontmatter", "if_match"];
    assert_eq!(error["details"], json!({ "field": "append", "arguments": known }));
    let message = error["message"].as_str().expect("a message");
    assert!(known.iter().chain(&["append"]).all(|name| message.contains(&format!("`{name}`"))), "{message}");
    assert_eq!(vibe.text("demo/references/a.md"), "# A\n\nold\n");
}

#[test]
fn arguments_that_nobody_knows_are_refused_before_all_others() {
    let mut vibe = Vibe::new();
    for (tool, mut arguments) in calls("none") {
        arguments["projekt"] = json!("demo");
        let error = vibe.check_refused(tool, arguments, "INVALID_ARGUMENT");
        assert_eq!((&error["details"]["field"], &error["details"]["nearest"]), (&json!("projekt"), &json!("project")));
        let error = vibe.check_refused(tool, json!({ "zzz": null, "aaa": 1, "project": 7 }), "INVALID_ARGUMENT");
        assert_eq!(error["details"]["field"], "aaa", "the first by name, before what is wrong or missing");
    }
    assert_eq!(vibe.tree(), ["demo"]);
}

#[test]
fn what_is_the_caller_s_own_may_have_any_name() {
    let mut vibe = Vibe::new();
    let mut task = a_task("x");
    task["context"] = json!({ "related_files": "a.rs", "background": "why" });
    task["sessionId"] = json!("n8n");
    task["_note"] = json!(1);
    vibe.call("create_task", task);
    let front = json!({ "anything": { "goes": [1] } });
    let document =
        json!({ "project": "demo", "folder": "scratch", "filename": "a", "content": "x", "frontmatter": front });
    vibe.call("create_doc", document);
    assert!(vibe.text("demo/scratch/a.md").contains("anything"), "front matter is the author's");
}

#[test]
fn folders_are_the_eight_where_something_is_written() {
    let mut vibe = Vibe::with("demo/other/a.md", "readable\n");
    let document = |folder: &str| json!({ "project": "demo", "folder": folder, "filename": "a.md", "content": "x" });
    for tool in ["create_doc", "update_doc"] {
        for folder in ["other", "Tasks", "task"] {
            let error = vibe.check_refused(tool, document(folder), "INVALID_FOLDER");
            assert_eq!(error["details"]["folder"], folder);
        }
        for folder in ["..", "../x", "tasks/deep", "/etc", ".git"] {
            vibe.check_refused(tool, document(folder), "INVALID_PATH");
        }
    }
    let read = |folder: &str| json!({ "project": "demo", "folder": folder, "filename": "a.md" });
    assert_eq!(vibe.call("read_doc", read("other"))["content"], "readable\n");
    vibe.check_refused("read_doc", read("none"), "FILE_NOT_FOUND");
    vibe.check_refused("read_doc", read("../demo"), "INVALID_PATH");
    vibe.check_refused("search", json!({ "query": "x", "folder": "other" }), "INVALID_FOLDER");
    vibe.check_refused("search", json!({ "query": "x", "folder": "" }), "INVALID_FOLDER");
    assert_eq!(vibe.tree(), ["demo", "demo/other", "demo/other/a.md"]);
}

#[test]
fn names_of_files_lead_nowhere_else() {
    let mut vibe = Vibe::with("demo/status.md", "secret\n");
    let names = [
        "",
        ".",
        "..",
        "../status.md",
        "/etc/passwd",
        "a/../../status.md",
        ".hidden.md",
        "x/.y.md",
        "a\\b",
        "a\0",
        "a\tb",
        "a//b",
    ];
    for name in names {
        let read = json!({ "project": "demo", "folder": "tasks", "filename": name });
        for (tool, document) in
            [("read_doc", read.clone()), ("create_doc", with_text(&read)), ("update_doc", with_text(&read))]
        {
            let error = vibe.check_refused(tool, document, "INVALID_PATH");
            assert_eq!(error["details"]["field"], "filename");
        }
        let plan = json!({ "project": "demo", "filename": name });
        vibe.check_refused("get_plan", plan.clone(), "INVALID_PATH");
        vibe.check_refused("create_plan", with_text(&plan), "INVALID_PATH");
    }
    let nested = json!({ "project": "demo", "folder": "tasks", "filename": "deep/x.md" });
    vibe.check_refused("create_doc", with_text(&nested), "INVALID_PATH");
    vibe.check_refused("update_doc", with_text(&nested), "INVALID_PATH");
    vibe.check_refused("read_doc", nested, "FILE_NOT_FOUND");
    let long = json!({ "project": "demo", "folder": "tasks", "filename": "x".repeat(300) });
    for tool in ["create_doc", "update_doc"] {
        vibe.check_refused(tool, with_text(&long), "INVALID_PATH");
    }
    vibe.check_refused("read_doc", long, "INVALID_PATH");
    assert_eq!(vibe.tree(), ["demo", "demo/status.md"]);
}

#[test]
fn the_first_mistake_in_the_contract_s_order_is_told() {
    let mut vibe = Vibe::with("demo/tasks/a.md", "x");
    let document = |project: &str, folder: &str, filename: &str| json!({ "project": project, "folder": folder, "filename": filename, "content": "x" });
    vibe.check_refused(
        "create_doc",
        json!({ "project": "..", "folder": "none", "filename": ".." }),
        "INVALID_ARGUMENT",
    );
    vibe.check_refused("create_doc", document("..", "none", ".."), "INVALID_PATH");
    vibe.check_refused("create_doc", document("none", "none", ".."), "PROJECT_NOT_FOUND");
    vibe.check_refused("create_doc", document("demo", "none", ".."), "INVALID_FOLDER");
    vibe.check_refused("create_doc", document("demo", "tasks", ".."), "INVALID_PATH");
    vibe.check_refused("create_doc", document("demo", "tasks", "a"), "FILE_EXISTS");
    let status =
        |project: &str, task: &str, status: &str| json!({ "project": project, "task": task, "status": status });
    vibe.check_refused("update_task_status", status("..", "..", "someday"), "INVALID_STATUS");
    vibe.check_refused("update_task_status", status("..", "..", "done"), "INVALID_PATH");
    vibe.check_refused("update_task_status", status("none", "..", "done"), "PROJECT_NOT_FOUND");
    vibe.check_refused("update_task_status", status("demo", "..", "done"), "INVALID_PATH");
    vibe.check_refused("update_task_status", status("demo", "9", "done"), "FILE_NOT_FOUND");
    vibe.check_refused("search", json!({ "query": " ", "project": "..", "limit": 0 }), "INVALID_ARGUMENT");
    vibe.check_refused("search", json!({ "query": " ", "project": ".." }), "INVALID_QUERY");
    vibe.check_refused("search", json!({ "query": "x", "project": "none", "folder": "x" }), "PROJECT_NOT_FOUND");
}

#[test]
fn arguments_of_the_wrong_type_are_told_by_name() {
    let mut vibe = Vibe::new();
    for (tool, field, value) in [
        ("create_task", "title", json!(" \n ")),
        ("create_task", "steps", json!("one")),
        ("create_task", "acceptance_criteria", json!([1])),
        ("create_task", "context", json!([])),
        ("create_task", "tags", json!("a")),
        ("create_task", "notes", json!({})),
        ("create_doc", "frontmatter", json!("a: 1")),
        ("create_doc", "content", json!(null)),
        ("log_session", "append", json!("true")),
        ("list_tasks", "include_content", json!(1)),
        ("search", "limit", json!(0)),
        ("search", "limit", json!("20")),
        ("search", "limit", json!(5.5)),
        ("search", "limit", json!(true)),
        ("reindex", "full", json!("yes")),
    ] {
        let (_, mut arguments) = calls("demo").into_iter().find(|(name, _)| *name == tool).expect("a call");
        arguments[field] = value;
        let error = vibe.check_refused(tool, arguments, "INVALID_ARGUMENT");
        assert_eq!(error["details"]["field"], field, "{tool}");
    }
    for (tool, status) in [("create_task", "someday"), ("list_tasks", "In Review"), ("update_task_status", "")] {
        let (_, mut arguments) = calls("demo").into_iter().find(|(name, _)| *name == tool).expect("a call");
        arguments["status"] = status.into();
        vibe.check_refused(tool, arguments, "INVALID_STATUS");
    }
    assert_eq!(vibe.tree(), ["demo"]);
}

#[test]
fn what_the_system_refuses_is_told_and_leaves_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut vibe = Vibe::with("demo/plans/execution-plan.md", "old");
    vibe.write("demo/sessions", "a file where a folder should be");
    vibe.check_refused("log_session", json!({ "project": "demo", "content": "x" }), "FILESYSTEM_ERROR");
    let mode = |mode| {
        std::fs::set_permissions(vibe.path("demo/plans"), std::fs::Permissions::from_mode(mode)).expect("a mode");
    };
    let home = trellis_tests::harness::Home::new().with("VIBE_ROOT", vibe.path(""));
    let mut client = home.unprivileged_host(&["--only", "vibe"]);
    mode(0o555);
    let answer = client.call_err("create_plan", json!({ "project": "demo", "content": "new" }));
    mode(0o755);
    assert_eq!(answer["error"]["code"], "FILESYSTEM_ERROR", "{answer}");
    assert_eq!(answer["error"]["details"]["reason"], "denied");
    assert_eq!(vibe.text("demo/plans/execution-plan.md"), "old");
    client.close();
}
