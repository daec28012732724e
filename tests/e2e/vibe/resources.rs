//! The three resources, as JSON.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::Vibe;

/// A workspace whose files all changed at known times.
fn workspace() -> Vibe {
    let vibe = Vibe::new();
    let documents = [
        ("demo/status.md", "# Demo\n", 1),
        ("demo/tasks/001-a.md", "# Task: A\n\nStatus: done\n", 2),
        ("demo/tasks/002-b.md", "---\nupdated: 2025-02-09\n---\nStatus: In Progress\n", 3),
        ("demo/tasks/003-c.md", "Status: pending\n", 4),
        ("demo/tasks/004-d.md", "Status: blocked\n", 4),
        ("demo/tasks/005-e.md", "Status: someday\n", 4),
        ("demo/plans/execution-plan.md", "# P\n", 5),
        ("demo/sessions/2025-02-08.md", "x\n", 6),
        ("demo/sessions/2025-02-09-api.md", "x\n", 5),
        ("demo/assets/deep/x.md", "x\n", 3),
        ("demo/other/x.md", "x\n", 3),
        ("メモ帳/reports/日報.md", "# 日報\n", 2),
    ];
    for (path, text, days) in documents {
        let path = vibe.write(path, text);
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600 + days * 86_400);
        fs::File::options().write(true).open(path).expect("a file").set_modified(time).expect("a time");
    }
    fs::create_dir_all(vibe.path("vacío")).expect("a project");
    vibe
}

fn redacted(vibe: &Vibe, value: &Value) -> Value {
    let root = fs::canonicalize(vibe.path("")).expect("the root");
    let text = value.to_string().replace(root.to_str().expect("text"), "[root]");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn they_are_listed_as_the_seed_spells_them() {
    let mut vibe = Vibe::new();
    let list = vibe.client.request("resources/list", json!({}));
    let uris: Vec<&str> =
        list["resources"].as_array().expect("a list").iter().filter_map(|one| one["uri"].as_str()).collect();
    assert_eq!(uris, ["vibe://projects"]);
    assert_eq!(list["resources"][0]["mimeType"], "application/json");
    let templates = vibe.client.request("resources/templates/list", json!({}));
    let templates = templates["resourceTemplates"].as_array().expect("a list");
    let uris: Vec<&str> = templates.iter().filter_map(|one| one["uriTemplate"].as_str()).collect();
    assert_eq!(uris, ["vibe://projects/{name}", "vibe://projects/{name}/{folder}/{file}"]);
}

#[test]
fn all_projects_are_counted() {
    let mut vibe = workspace();
    let projects = vibe.resource("vibe://projects");
    insta::assert_json_snapshot!(redacted(&vibe, &projects));
}

#[test]
fn one_project_is_listed_by_folder() {
    let mut vibe = workspace();
    let project = vibe.resource("vibe://projects/demo");
    insta::assert_json_snapshot!(redacted(&vibe, &project));
    let japanese = vibe.resource("vibe://projects/%E3%83%A1%E3%83%A2%E5%B8%B3");
    assert_eq!(japanese["folders"]["reports"], json!([{ "filename": "日報.md", "updated": "2026-01-03" }]));
    assert_eq!(vibe.resource("vibe://projects/メモ帳"), japanese);
    let empty = vibe.resource("vibe://projects/vac%C3%ADo");
    assert_eq!(
        (&empty["last_updated"], &empty["folders"]["tasks"], &empty["root_files"]),
        (&json!(null), &json!([]), &json!([]))
    );
}

#[test]
fn a_document_is_what_read_doc_gives() {
    let mut vibe = workspace();
    for (uri, folder, filename) in [
        ("vibe://projects/demo/tasks/002-b.md", "tasks", "002-b.md"),
        ("vibe://projects/demo/assets/deep%2Fx.md", "assets", "deep/x.md"),
        ("vibe://projects/demo/other/x.md", "other", "x.md"),
    ] {
        let read = vibe.call("read_doc", json!({ "project": "demo", "folder": folder, "filename": filename }));
        assert_eq!(vibe.resource(uri), read);
    }
    let read = vibe.call("read_doc", json!({ "project": "メモ帳", "folder": "reports", "filename": "日報.md" }));
    assert_eq!(vibe.resource("vibe://projects/%E3%83%A1%E3%83%A2%E5%B8%B3/reports/%E6%97%A5%E5%A0%B1.md"), read);
}

#[test]
fn what_is_not_there_is_an_error_of_the_protocol() {
    let mut vibe = workspace();
    for (uri, number, code) in [
        ("vibe://projects/none", -32002, "PROJECT_NOT_FOUND"),
        ("vibe://projects/none/tasks/x.md", -32002, "PROJECT_NOT_FOUND"),
        ("vibe://projects/demo/tasks/none.md", -32002, "FILE_NOT_FOUND"),
        ("vibe://projects/%2E%2E", -32602, "INVALID_PATH"),
        ("vibe://projects/..%2F..", -32602, "INVALID_PATH"),
        ("vibe://projects/demo/..%2Fx/y.md", -32602, "INVALID_PATH"),
        ("vibe://projects/demo/tasks/..%2F..%2Fx.md", -32602, "INVALID_PATH"),
        ("vibe://projects/demo/tasks/%00.md", -32602, "INVALID_PATH"),
        ("vibe://projects/.git", -32602, "INVALID_PATH"),
    ] {
        let error = vibe.client.ask("resources/read", json!({ "uri": uri }))["error"].clone();
        assert_eq!((&error["code"], &error["data"]["code"]), (&json!(number), &json!(code)), "{uri}: {error}");
        assert!(error["data"]["details"].is_object() && error["data"]["message"].is_string(), "{error}");
    }
}
