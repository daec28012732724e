//! Which project a call is about: an argument, the launcher's word, the host's roots, or none at all.

use std::fs;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

/// A project whose only task is its own name.
fn put(home: &Home, place: &str) {
    let tree = home.path().join(place).join(".todo");
    fs::create_dir_all(&tree).expect("a directory");
    fs::write(tree.join("task.md"), format!("- [ ] {place} #T001\n")).expect("a file");
}

#[track_caller]
fn check(client: &mut Client, project_root: Value, expected: Result<&str, &str>) {
    let arguments = json!({ "project_root": project_root });
    match expected {
        Ok(title) => assert_eq!(client.call_ok("list_tasks", arguments)["tasks"][0]["title"], title),
        Err(code) => {
            let error = client.call_err("list_tasks", arguments)["error"].clone();
            assert_eq!(error["code"], code);
            assert!(error["message"].as_str().is_some_and(|text| text.contains("project_root")), "{error}");
        }
    }
}

fn host(home: &Home, directory: &str) -> Client {
    home.host(&["--only", "todo", "--cwd", home.path().join(directory).to_str().expect("text")])
}

#[test]
fn the_working_directory_leads_to_the_project() {
    let home = Home::new();
    for place in ["plain", "repo", "repo/near"] {
        put(&home, place);
    }
    for directory in ["repo/.git", "repo/deep/down", "repo/near/down", "plain/down"] {
        fs::create_dir_all(home.path().join(directory)).expect("a directory");
    }
    check(&mut host(&home, "plain"), json!(null), Ok("plain"));
    check(&mut host(&home, "repo/deep/down"), json!(null), Ok("repo"));
    check(&mut host(&home, "repo/near/down"), json!(null), Ok("repo/near"));
    // Without version control nobody looks upward.
    let mut down = host(&home, "plain/down");
    assert_eq!(down.call_ok("list_tasks", json!({}))["total_count"], 0);
    down.call_ok("create_task", json!({ "title": "here" }));
    assert!(home.path().join("plain/down/.todo/task.md").is_file());
    // In a repository without `.todo`, its root is the project.
    fs::create_dir_all(home.path().join("bare/.git")).expect("a directory");
    fs::create_dir_all(home.path().join("bare/sub")).expect("a directory");
    host(&home, "bare/sub").call_ok("create_task", json!({ "title": "here" }));
    assert!(home.path().join("bare/.todo/task.md").is_file());
}

#[test]
fn the_launcher_s_variable_comes_before_the_directory() {
    let home = Home::new();
    put(&home, "project");
    put(&home, "other");
    let mut command = home.proxy(&["--only", "todo"]);
    command.env("TODO_PROJECT_ROOT", home.path().join("other"));
    let mut client = Client::start(command);
    client.initialize("2025-11-25");
    check(&mut client, json!(null), Ok("other"));
    check(&mut client, json!(home.project()), Ok("project"));
}

#[test]
fn the_roots_of_a_host_say_where_when_its_directory_does_not() {
    let home = Home::new();
    fs::create_dir_all(home.path().join("empty")).expect("a directory");
    put(&home, "marked");
    let mut client = home.connect(&["--only", "todo", "--cwd", home.path().to_str().expect("text")]);
    client.initialize_with("2025-11-25", json!({ "roots": {} }));
    let first = client.send("tools/call", json!({ "name": "list_tasks", "arguments": {} }));
    let question = client.next_message();
    assert_eq!(question["method"], "roots/list", "{question}");
    let uri = |name: &str| json!({ "uri": format!("file://{}", home.path().join(name).display()) });
    let roots = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "roots": [uri("empty"), uri("marked")] } });
    client.send_line(&roots.to_string());
    let answer = client.answer(first);
    let title = &answer["result"]["structuredContent"]["tasks"][0]["title"];
    assert_eq!(title, "marked", "the first root that has tasks: {answer}");
}

#[test]
fn with_nothing_to_go_by_the_argument_is_asked_for() {
    let home = Home::new();
    put(&home, "project");
    // The home is no project, whatever it holds.
    put(&home, "");
    let mut client = host(&home, "");
    check(&mut client, json!(null), Err("INVALID_INPUT"));
    let error = client.call_err("create_task", json!({ "title": "a" }))["error"].clone();
    assert_eq!((&error["code"], &error["details"]["field"]), (&json!("INVALID_INPUT"), &json!("project_root")));
}

#[test]
fn an_argument_names_a_project() {
    let home = Home::new();
    for place in ["project", "project/sub", "other"] {
        put(&home, place);
    }
    fs::create_dir(home.path().join("stranger")).expect("a directory");
    let mut client = home.host(&["--only", "todo"]);
    let at = |path: &str| json!(home.path().join(path));
    check(&mut client, json!(null), Ok("project"));
    check(&mut client, at("project/sub"), Ok("project/sub"));
    check(&mut client, at("other"), Ok("other"));
    let created = client.call_ok("create_task", json!({ "title": "there", "project_root": at("other") }));
    assert_eq!(created["file_path"], ".todo/context/T002.md");
    assert!(home.path().join("other/.todo/context/T002.md").is_file());
    for foreign in [at("stranger"), at("nowhere"), json!("/"), json!("relative"), json!(7)] {
        check(&mut client, foreign, Err("INVALID_INPUT"));
    }
}

#[test]
fn two_repositories_never_see_each_other() {
    let home = Home::new();
    for repository in ["one", "two"] {
        fs::create_dir_all(home.path().join(repository).join(".git")).expect("a directory");
    }
    let (mut one, mut two) = (host(&home, "one"), host(&home, "two"));
    one.call_ok("create_task", json!({ "title": "secret of one" }));
    two.call_ok("create_task", json!({ "title": "plan of two" }));
    for (client, own, other) in [(&mut one, "secret", "plan"), (&mut two, "plan", "secret")] {
        for tool in ["search_tasks", "search_contexts"] {
            assert_eq!(client.call_ok(tool, json!({ "query": other }))["total_matches"], 0, "{tool}");
        }
        assert_eq!(client.call_ok("search_tasks", json!({ "query": own }))["total_matches"], 1);
        assert_eq!(client.call_ok("list_tasks", json!({}))["total_count"], 1);
        let index = client.request("resources/read", json!({ "uri": "todo:///index.md" }));
        let text = index["contents"][0]["text"].as_str().expect("text");
        assert!(text.contains(own) && !text.contains(other), "{text}");
    }
    assert_eq!(home.daemons().len(), 1);
}
