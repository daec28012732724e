//! Projects outlive the daemon that learnt of them, and a session's own word decides what is watched.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

use super::process::until_gone;
use super::watch_fixture::{control, status};

fn project(home: &Home, name: &str) -> PathBuf {
    let project = home.path().join(name);
    fs::create_dir_all(project.join(".git")).expect("a project");
    fs::create_dir_all(project.join("vault")).expect("a vault");
    fs::write(project.join("vault/note.md"), name).expect("a file");
    fs::canonicalize(project).expect("its own path")
}

fn session_in(home: &Home, directory: &Path) -> Client {
    let mut proxy = home.proxy(&[]);
    proxy.current_dir(directory);
    let mut client = Client::start(proxy);
    client.initialize("2025-11-25");
    client
}

fn remembered(home: &Home) -> Vec<String> {
    let text = fs::read_to_string(home.state().join("roots.json")).unwrap_or_default();
    let file: Value = serde_json::from_str(&text).unwrap_or_default();
    let projects = file["projects"].as_array().cloned().unwrap_or_default();
    projects.iter().map(|project| project["path"].as_str().expect("a path").to_owned()).collect()
}

fn stop(home: &Home) {
    let pid = home.daemon_pid().expect("a daemon");
    assert!(home.trellisd(&["stop"]).status.success());
    until_gone(pid);
}

#[test]
fn the_next_daemon_knows_the_projects_of_the_last_one() {
    let home = Home::new();
    let config = home.path().join(".config/trellis/config.toml");
    fs::create_dir_all(config.parent().expect("a directory")).expect("a directory");
    fs::write(config, "adopt_projects = false\n").expect("settings");
    let (a, b) = (project(&home, "a"), project(&home, "b"));
    let name = a.display().to_string();
    let mut first = session_in(&home, &a.join("vault"));
    wait_until("the project is written down", || remembered(&home).contains(&name).then_some(()));
    let file = home.state().join("roots.json");
    assert_eq!(fs::metadata(&file).expect("it is there").mode() & 0o777, 0o600);
    first.close();
    stop(&home);

    let mut second = session_in(&home, &home.project());
    let read = |client: &mut Client, root: &Path| {
        client.call("vault_read", json!({ "path": "note.md", "full": true, "project_root": root }))
    };
    assert_eq!(read(&mut second, &a)["structuredContent"]["text"], "a");
    assert_eq!(read(&mut second, &b)["isError"], true, "nobody has worked in that one");
    let before = fs::read(&file).expect("it is there");
    second.close();
    let mut third = session_in(&home, &a);
    third.request("ping", json!({}));
    third.close();
    assert_eq!(fs::read(&file).expect("it is there"), before, "it was seen today");
}

#[test]
fn a_broken_list_of_projects_is_put_aside() {
    let home = Home::new();
    fs::create_dir_all(home.state()).expect("a directory");
    fs::write(home.state().join("roots.json"), "{ no list").expect("a file");
    let mut client = home.host(&[]);
    client.request("ping", json!({}));
    // The list is read beside the first answers.
    let mut line = control(&home);
    wait_until("somebody is warned", || {
        status(&mut line).warnings.iter().any(|warning| warning.contains("roots.json.broken")).then_some(())
    });
    assert_eq!(fs::read_to_string(home.state().join("roots.json.broken")).expect("put aside"), "{ no list");
    wait_until("a new one is begun", || (remembered(&home).len() == 1).then_some(()));
}

/// A host that starts its servers at home tells where it works a little later.
#[test]
fn the_trees_of_roots_that_a_host_tells_are_watched() {
    let home = Home::new();
    let (a, b) = (project(&home, "a"), project(&home, "b"));
    let mut proxy = home.proxy(&[]);
    proxy.current_dir("/");
    let mut client = Client::start(proxy);
    client.initialize_with("2025-11-25", json!({ "roots": { "listChanged": true } }));
    let mut line = control(&home);
    let answer = |client: &mut Client, root: &Path| {
        let id = loop {
            let message = client.next_message();
            if message["method"] == "roots/list" {
                break message["id"].clone();
            }
        };
        let roots = json!({ "roots": [{ "uri": format!("file://{}", root.display()) }] });
        client.send_line(&json!({ "jsonrpc": "2.0", "id": id, "result": roots }).to_string());
    };
    answer(&mut client, &a);
    let mut until_watched = |project: &Path| {
        let tree = project.join("vault").display().to_string();
        wait_until("its vault is watched", || status(&mut line).roots.into_iter().find(|root| root.path == tree))
    };
    until_watched(&a);
    client.notify("notifications/roots/list_changed", json!({}));
    answer(&mut client, &b);
    until_watched(&b);
    wait_until("both are remembered", || (remembered(&home).len() == 2).then_some(()));
}
