//! Which project an address or a name means: the session's own, one of two with the same name, one at home, a worktree.

use std::fs;

use serde_json::json;
use trellis_tests::harness::{Client, Home};

use super::{each, filled, list, open};

/// A host in another directory of the home.
fn host_in(home: &Home, directory: &str) -> Client {
    fs::create_dir_all(home.path().join(directory).join(".git")).expect("a checkout");
    let path = home.path().join(directory);
    home.host(&["--cwd", path.to_str().expect("text")])
}

fn write(home: &Home, path: &str, text: &str) {
    let path = home.path().join(path);
    fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
    fs::write(path, text).expect("a file");
}

#[test]
fn two_projects_with_one_name_are_told_apart() {
    let home = filled();
    write(&home, "a/app/.todo/task.md", "- [ ] in a #T001\n");
    write(&home, "b/app/.todo/task.md", "- [ ] in b #T001\n");
    let mut first = host_in(&home, "a/app");
    assert_eq!(each(&list(&mut first, json!({})), "uri"), ["todo://app/T001"], "alone, its name is short");
    let mut second = host_in(&home, "b/app");
    assert_eq!(each(&list(&mut second, json!({})), "uri"), ["todo://b%2Fapp/T001"]);
    assert_eq!(open(&mut second, "todo://app/T001")["title"], "in b", "the session's own comes first");
    assert_eq!(open(&mut second, "todo://a%2fapp/T001")["title"], "in a");
    assert_eq!(open(&mut second, "todo://A%2FAPP/T001")["title"], "in a");
    let mut third = home.host(&[]);
    let error = third.call_err("trellis_open", json!({ "uri": "todo://app/T001" }))["error"].clone();
    assert_eq!(error["code"], "AMBIGUOUS_PROJECT");
    assert_eq!(error["details"]["candidates"], json!(["a/app", "b/app"]));
    assert_eq!(each(&list(&mut third, json!({ "project": "b/app" })), "title"), ["in b"]);
    assert_eq!(each(&list(&mut third, json!({ "project": "~/b/app" })), "title"), ["in b"]);
    let path = home.path().join("a/app");
    assert_eq!(each(&list(&mut third, json!({ "project": path })), "title"), ["in a"]);
    let all = list(&mut third, json!({ "project": "*", "family": "todo", "lane": "todo", "kind": "task" }));
    assert_eq!(each(&all, "title"), ["Loose end", "Next thing", "in a", "in b"], "own first, then by name");
}

#[test]
fn a_session_without_a_project_is_told_which_there_are() {
    let home = filled();
    drop(home.host(&[]).tool_names());
    let mut warm = home.host(&[]);
    list(&mut warm, json!({}));
    let mut host = home.host(&["--cwd", home.path().to_str().expect("text")]);
    let error = host.call_err("trellis_open", json!({ "uri": "T001" }))["error"].clone();
    assert_eq!((&error["code"], &error["details"]["projects"]), (&json!("UNKNOWN_PROJECT"), &json!(["project"])));
    assert_eq!(open(&mut host, "todo://project/T001")["title"], "Write the parser");
    let all = list(&mut host, json!({ "kind": "card" }));
    assert_eq!(each(&all, "uri"), ["board://project/task-9"], "without an own project, all count");
}

#[test]
fn a_worktree_has_the_workspace_project_of_its_repository() {
    let home = filled();
    let worktree = home.path().join("project-fix");
    fs::create_dir_all(&worktree).expect("a directory");
    let git = home.project().join(".git/worktrees/project-fix");
    fs::create_dir_all(&git).expect("a directory");
    fs::write(worktree.join(".git"), format!("gitdir: {}\n", git.display())).expect("a link");
    write(&home, "project-fix/.todo/task.md", "- [ ] here #T001\n");
    let mut host = home.host(&["--cwd", worktree.to_str().expect("text")]);
    let answer = list(&mut host, json!({ "kind": "task" }));
    assert_eq!(each(&answer, "title"), ["First", "here"], "{answer}");
}

#[test]
fn settings_name_trees_that_belong_to_no_project() {
    let home = filled();
    write(&home, "notes/a.md", "# Mine\n");
    write(&home, "boards/x.json", r#"{"lanes":{"todo":[{"id":"task-1","title":"Set"}]}}"#);
    let notes = home.path().join("notes");
    let board = home.path().join("boards/x.json");
    let home = home.with("VAULT_ROOT", &notes).with("BRIDGE_FILE_PATH", &board);
    let mut host = home.host(&[]);
    let answer = list(&mut host, json!({ "kind": ["file", "card"] }));
    assert_eq!(each(&answer, "uri"), ["board:///task-1", "vault:///a.md"]);
    assert_eq!(each(&answer, "project"), ["project", "project"]);
    assert_eq!(open(&mut host, "vault:///a.md")["title"], "Mine");
    assert_eq!(open(&mut host, "task-1")["title"], "Set");
}
