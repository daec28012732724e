//! `init_project`, and where the workspace is: each session has its own root.

use std::fs;

use serde_json::json;
use trellis_tests::harness::{Client, Home};

use super::Vibe;

const FOLDERS: [&str; 8] = ["tasks", "plans", "sessions", "reports", "changelog", "references", "scratch", "assets"];

#[test]
fn a_new_project_has_its_folders() {
    let mut vibe = Vibe::new();
    let expected = json!({
        "success": true,
        "status": "initialized",
        "project": "計画-2.0",
        "path": "計画-2.0",
        "absolute_path": fs::canonicalize(vibe.path("")).expect("the root").join("計画-2.0"),
        "folders": FOLDERS,
        "indexed": true,
    });
    assert_eq!(vibe.call("init_project", json!({ "project": "計画-2.0" })).to_string(), expected.to_string());
    assert_eq!(vibe.text("計画-2.0/status.md"), "# 計画-2.0\n\nStatus: setup\n");
    for folder in FOLDERS {
        assert!(vibe.path("計画-2.0").join(folder).is_dir(), "{folder}");
    }
    vibe.check_refused("init_project", json!({ "project": "計画-2.0" }), "PROJECT_EXISTS");
    let error = vibe.check_refused("init_project", json!({ "project": "DEMO" }), "PROJECT_EXISTS");
    assert_eq!(error["details"]["project"], "demo");
    for name in ["", " ", "a b", "../x", "a/b", ".x", "x.", "..", "a:b", "con", "a\u{0}"] {
        vibe.check_refused("init_project", json!({ "project": name }), "INVALID_PROJECT_NAME");
    }
    let top: Vec<String> = vibe.tree().into_iter().filter(|path| !path.contains('/')).collect();
    assert_eq!(top, ["demo", "計画-2.0"]);
}

/// What a crash leaves: a directory, then more and more folders, and the file last.
#[test]
fn a_project_that_was_cut_off_is_completed() {
    let mut vibe = Vibe::new();
    for count in [0, 1, FOLDERS.len()] {
        let project = format!("cut-{count}");
        fs::create_dir_all(vibe.path(&project)).expect("a directory");
        for folder in &FOLDERS[..count] {
            fs::create_dir(vibe.path(&project).join(folder)).expect("a folder");
        }
        assert_eq!(vibe.call("init_project", json!({ "project": project }))["status"], "initialized");
        assert_eq!(vibe.text(&format!("{project}/status.md")), format!("# {project}\n\nStatus: setup\n"));
        for folder in FOLDERS {
            assert!(vibe.path(&project).join(folder).is_dir(), "{folder}");
        }
    }
    for other in ["theirs/tasks/a.md", "theirs-too/notes/.keep", "other/notes.txt"] {
        fs::create_dir_all(vibe.path(other).parent().expect("a directory")).expect("a directory");
        fs::write(vibe.path(other), "x").expect("a file");
        let project = other.split('/').next().expect("a name");
        vibe.check_refused("init_project", json!({ "project": project }), "PROJECT_EXISTS");
    }
}

#[test]
fn the_first_project_makes_the_workspace() {
    let home = Home::new();
    let mut client = home.host(&["--only", "vibe"]);
    assert_eq!(client.call_ok("list_tasks", json!({}))["total"], 0);
    assert_eq!(client.call_err("list_tasks", json!({ "project": "x" }))["error"]["code"], "PROJECT_NOT_FOUND");
    let absolute = client.call_ok("init_project", json!({ "project": "x" }))["absolute_path"].clone();
    assert!(home.path().join(".vibe/x/tasks").is_dir());
    assert_eq!(absolute, json!(home.path().join(".vibe/x")));
    client.close();
}

fn host_at(home: &Home, root: &str) -> Client {
    let mut command = home.proxy(&["--only", "vibe"]);
    command.env("VIBE_ROOT", root);
    let mut client = Client::start(command);
    client.initialize("2025-11-25");
    client
}

#[test]
fn two_sessions_have_two_roots_in_one_daemon() {
    let home = Home::new();
    let (mut one, mut two) = (host_at(&home, "~/one"), host_at(&home, "two"));
    one.call_ok("init_project", json!({ "project": "p" }));
    two.call_ok("init_project", json!({ "project": "p" }));
    let task = |title: &str| json!({ "project": "p", "title": title, "objective": "", "steps": [], "acceptance_criteria": [] });
    assert_eq!(one.call_ok("create_task", task("uno"))["task"]["number"], "001");
    assert_eq!(two.call_ok("create_task", task("dos"))["task"]["number"], "001");
    assert!(home.path().join("one/p/tasks/001-uno.md").is_file());
    assert!(home.project().join("two/p/tasks/001-dos.md").is_file(), "relative to where the session was started");
    for (client, title) in [(&mut one, "uno"), (&mut two, "dos")] {
        let list = client.call_ok("list_tasks", json!({}));
        assert_eq!((&list["total"], &list["tasks"][0]["title"]), (&json!(1), &json!(title)));
    }
    assert_eq!(home.daemons().len(), 1);
    assert!(!home.path().join(".vibe").exists());
    one.close();
    two.close();
}

#[test]
fn a_root_that_is_a_link_is_told_by_its_real_place() {
    let home = Home::new();
    let real = home.path().join("real");
    fs::create_dir_all(real.join("p")).expect("a project");
    std::os::unix::fs::symlink(&real, home.path().join("link")).expect("a link");
    let mut client = host_at(&home, "~/link");
    let document = json!({ "project": "p", "folder": "plans", "filename": "x.md", "content": "x" });
    let real = fs::canonicalize(real).expect("a place");
    assert_eq!(client.call_ok("create_doc", document)["absolute_path"], json!(real.join("p/plans/x.md")));
    assert_eq!(fs::read(real.join("p/plans/x.md")).expect("a document"), b"x");
    client.close();
}
