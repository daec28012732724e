//! A host that starts us at home or in `/` and sets nothing, as Claude Desktop does: what each family answers to its
//! first call is a result, or says what to do.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

/// A host in this directory, with all families.
fn host_in(home: &Home, directory: &Path) -> Client {
    let mut command = home.proxy(&[]);
    command.current_dir(directory);
    let mut client = Client::start(command);
    client.initialize("2025-11-25");
    client
}

/// The same story for a host at home and one in `/`.
fn everywhere(story: impl Fn(&Home, &mut Client)) {
    for at_home in [true, false] {
        let home = Home::new();
        fs::create_dir_all(home.path().join("work/.git")).expect("a checkout");
        let directory = if at_home { home.path().to_owned() } else { "/".into() };
        let mut client = host_in(&home, &directory);
        story(&home, &mut client);
        let made: Vec<_> =
            fs::read_dir(home.path()).expect("a home").flatten().map(|entry| entry.file_name()).collect();
        let strange = |name: &&std::ffi::OsString| {
            ![".cache", ".local", ".config", ".vibe", "project", "work"].iter().any(|known| **name == **known)
        };
        assert_eq!(made.iter().find(strange), None, "nothing is left at home");
    }
}

/// The way out is in the message itself: the argument, the flag and the variable.
#[track_caller]
fn says_the_way_out(error: &Value) {
    let message = error["error"]["message"].as_str().expect("a message");
    for way in ["`project_root`", "`--cwd DIR`", "`TODO_PROJECT_ROOT`"] {
        assert!(message.contains(way), "{way} is missing: {message}");
    }
}

#[test]
fn the_workspace_needs_no_project_directory() {
    everywhere(|home, client| {
        assert_eq!(client.call_ok("vibe_list_tasks", json!({}))["total"], 0);
        assert_eq!(client.call_ok("vibe_search", json!({ "query": "anything" }))["total_matches"], 0);
        let error = client.call_err("vibe_get_plan", json!({ "project": "first" }));
        assert_eq!(error["error"]["code"], "PROJECT_NOT_FOUND");
        assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains("init_project")), "{error}");
        client.call_ok("vibe_init_project", json!({ "project": "first" }));
        assert!(home.path().join(".vibe/first/status.md").is_file());
    });
}

#[test]
fn tasks_ask_for_the_project_and_take_it() {
    everywhere(|home, client| {
        for (tool, arguments) in [("todo_list_tasks", json!({})), ("todo_create_task", json!({ "title": "First" }))] {
            let error = client.call_err(tool, arguments);
            assert_eq!(error["error"]["code"], "INVALID_INPUT");
            says_the_way_out(&error);
        }
        let work = home.path().join("work");
        let created = client.call_ok("todo_create_task", json!({ "title": "First", "project_root": work }));
        assert_eq!(created["task_id"], "T001");
        assert!(work.join(".todo/task.md").is_file());
    });
}

#[test]
fn the_vault_asks_for_the_project_and_takes_it() {
    everywhere(|home, client| {
        for (tool, arguments) in [
            ("vault_ls", json!({})),
            ("vault_read", json!({ "path": "a.md", "full": true })),
            ("vault_create", json!({ "path": "a.md", "content": "one" })),
        ] {
            let error = client.call_err(tool, arguments);
            assert_eq!(error["error"]["code"], "invalid_parameter");
            says_the_way_out(&error);
        }
        let work = home.path().join("work");
        client.call_ok("vault_create", json!({ "path": "a.md", "content": "one", "project_root": work }));
        assert_eq!(fs::read_to_string(work.join("vault/a.md")).expect("the file"), "one");
    });
}

#[test]
fn the_board_asks_for_the_project_and_takes_it() {
    everywhere(|home, client| {
        for (tool, arguments) in [("vbm_get_board", json!({})), ("vbm_create_task", json!({ "title": "First" }))] {
            let error = client.call_err(tool, arguments);
            assert_eq!(error["error"]["code"], 1001);
            says_the_way_out(&error);
        }
        let work = home.path().join("work");
        let created = client.call_ok("vbm_create_task", json!({ "title": "First", "project_root": work }));
        assert_eq!(created["task"]["title"], "First");
    });
}

#[test]
fn plans_are_found_by_their_whole_path() {
    everywhere(|home, client| {
        let missing = client.call("vine_next", json!({ "file": "plan.vine" }));
        assert_eq!(missing["isError"], true);
        let text = missing["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains("absolute path") && text.contains("--cwd"), "{text}");
        let plan = home.path().join("work/plan.vine");
        fs::write(&plan, "vine 1.0.0\ntitle: Plan\n---\n[root] Root (notstarted)\n").expect("a plan");
        let next = client.call("vine_next", json!({ "file": plan }));
        assert_ne!(next["isError"], true, "{next}");
    });
}

#[test]
fn a_directory_that_is_no_project_is_refused_with_what_is_missing() {
    everywhere(|home, client| {
        let empty = home.path().join("project");
        let error = client.call_err("todo_list_tasks", json!({ "project_root": empty }));
        let message = error["error"]["message"].as_str().expect("a message");
        for word in ["version control", "`.todo`", "`vault`", "`*.vine`", "`--cwd DIR`", "`TODO_PROJECT_ROOT`"] {
            assert!(message.contains(word), "{word} is missing: {message}");
        }
        assert!(!message.contains("pass `project_root`"), "no circle: {message}");
    });
}
