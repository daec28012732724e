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

#[test]
fn a_family_s_tool_takes_the_name_of_a_project() {
    let home = filled();
    write(&home, "a/app/.todo/task.md", "- [ ] in a #T001\n");
    list(&mut host_in(&home, "a/app"), json!({}));
    let mut host = home.host(&[]);
    for project in ["app", "APP", "a/app", "~/a/app"] {
        let tasks = host.call_ok("todo_list_tasks", json!({ "project_root": project }));
        assert_eq!(tasks["tasks"][0]["title"], "in a", "{project}");
    }
    let error = host.call_err("todo_list_tasks", json!({ "project_root": "projekt" }))["error"].clone();
    assert_eq!((&error["code"], &error["details"]["nearest"]), (&json!("INVALID_INPUT"), &json!(["project"])));
}

#[test]
fn a_host_s_project_counts_as_the_session_s_directory() {
    let home = filled();
    write(&home, "a/app/.todo/task.md", "- [ ] in a #T001\n");
    let mut command = home.proxy(&[]);
    command.env("CLAUDE_PROJECT_DIR", home.path().join("a/app"));
    let mut host = Client::start(command);
    host.initialize("2025-11-25");
    assert_eq!(open(&mut host, "T001")["title"], "in a");
}

#[test]
fn addresses_are_resources() {
    let home = filled();
    let mut host = home.host(&[]);
    let templates = host.request("resources/templates/list", json!({}));
    let uris: Vec<&str> = templates["resourceTemplates"]
        .as_array()
        .expect("templates")
        .iter()
        .filter_map(|one| one["uriTemplate"].as_str())
        .collect();
    let ours = [
        "vibe://projects/{name}/{+path}",
        "todo://{project}/{id}",
        "todo://{project}/adr/{number}",
        "todo://{project}/context/{id}",
        "vine://{project}/{+path}",
        "vault://{project}/{+path}",
        "board://{project}/{id}",
    ];
    assert!(uris.ends_with(&ours), "{uris:?}");
    let mut read = |uri: &str| {
        host.request("resources/read", json!({ "uri": uri }))["contents"][0]["text"]
            .as_str()
            .expect("a text")
            .to_owned()
    };
    let task = read("todo://project/T001");
    assert!(task.starts_with("- [-] Write the parser #T001\n") && task.contains("- [ ] tree\n\n# Notes\n"), "{task}");
    assert_eq!(read("vault:///notes/other.md"), "no heading\n");
    assert!(read("vine:///plans/launch.vine#build").starts_with("[build]"));
    let card: serde_json::Value = serde_json::from_str(&read("board:///task-9")).expect("JSON");
    assert_eq!((&card["id"], &card["description"]), (&json!("task-9"), &json!("About todo:///T001")));
    let document: serde_json::Value =
        serde_json::from_str(&read("vibe://projects/project/tasks/001-first.md")).expect("JSON");
    assert_eq!(document["metadata"]["status"], "blocked");
    assert_eq!(read("todo:///context/T001#next-steps"), "## Next steps\n- finish\n");
    for (uri, code) in [("todo://project/T999", -32002), ("vault:///none.md", -32002), ("vine:///none.vine", -32602)] {
        assert_eq!(host.ask("resources/read", json!({ "uri": uri }))["error"]["code"], code, "{uri}");
    }
    let alone = home.host(&["--only", "todo"]).ask("resources/read", json!({ "uri": "todo://project/T001" }));
    assert!(alone.get("error").is_some(), "one family alone is as it was: {alone}");
}

#[test]
fn the_gateway_answers_as_a_session_does() {
    let (home, client) = filled().gateway(&[]);
    let client = client.without("X-Trellis-Project");
    let project = client.with("X-Trellis-Project", home.project().to_str().expect("text"));
    assert_eq!(project.call_ok("trellis_open", json!({ "uri": "T001" }))["title"], "Write the parser");
    let named = client.with("X-Trellis-Project", "project");
    assert_eq!(named.call_ok("trellis_list", json!({ "kind": "card" }))["total"], 1);
}

#[test]
fn a_project_of_the_workspace_that_is_not_there_is_answered_with_those_that_are_near() {
    let home = filled();
    let mut host = home.host(&[]);
    for (tool, arguments) in [
        ("vibe_search", json!({ "query": "x", "project": "projct" })),
        ("vibe_list_tasks", json!({ "project": "projct" })),
        ("vibe_create_doc", json!({ "project": "projct", "folder": "tasks", "filename": "x", "content": "x" })),
    ] {
        let error = host.call_err(tool, arguments)["error"].clone();
        assert_eq!((&error["code"], &error["details"]["nearest"]), (&json!("PROJECT_NOT_FOUND"), &json!(["project"])));
        assert!(error["message"].as_str().is_some_and(|message| message.contains("near are `project`")), "{error}");
    }
}

#[test]
fn a_todo_directory_that_is_a_link_shows_nothing() {
    let home = filled();
    write(&home, "elsewhere/task.md", "- [ ] secret #T001\n");
    let project = home.path().join("linked");
    fs::create_dir_all(project.join(".git")).expect("a checkout");
    std::os::unix::fs::symlink(home.path().join("elsewhere"), project.join(".todo")).expect("a link");
    let mut host = home.host(&["--cwd", project.to_str().expect("text")]);
    assert_eq!(list(&mut host, json!({}))["total"], 0);
    let error = host.call_err("trellis_open", json!({ "uri": "T001" }))["error"].clone();
    assert_eq!(error["code"], "UNREADABLE", "{error}");
    let mut without = home.host(&["--families", "vault"]);
    assert_eq!(without.call_err("trellis_open", json!({ "uri": "T001" }))["error"]["code"], "INVALID_URI");
}
