//! Where the bridge file is: settings, the project's two places, links, and which project is meant.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

use super::Board;

fn board(title: &str) -> String {
    json!({ "lanes": { "todo": [{ "id": "task-a", "title": title }] } }).to_string()
}

#[track_caller]
fn titles(client: &mut Client, arguments: Value) -> Vec<String> {
    let answer = client.call_ok("vbm_list_tasks", arguments);
    answer["tasks"]
        .as_array()
        .expect("tasks")
        .iter()
        .filter_map(|task| task["title"].as_str())
        .map(str::to_owned)
        .collect()
}

fn stored(path: &Path) -> usize {
    let file: Value = serde_json::from_slice(&fs::read(path).expect("a bridge file")).expect("JSON");
    file["lanes"].as_object().expect("lanes").values().filter_map(Value::as_array).map(Vec::len).sum()
}

#[test]
fn a_setting_names_the_file() {
    for name in ["BRIDGE_FILE_PATH", "BRIDGE_FILE"] {
        let home = Home::new();
        let file = home.path().join("elsewhere/deep/board.json");
        let home = home.with(name, &file);
        home.write(".vibe-kanban-bridge.json", board("the project's own"));
        home.write("config/state/.vibe-kanban-bridge.json", board("the project's other"));
        let mut client = home.host(&["--only", "board"]);
        assert_eq!(titles(&mut client, json!({})), [""; 0]);
        client.call_ok("vbm_create_task", json!({ "title": "x" }));
        assert_eq!(stored(&file), 1, "directories are made");
        let named = json!({ "project_root": home.project() });
        assert_eq!(titles(&mut client, named), ["x"], "a setting is the same for all projects");
    }
}

#[test]
fn the_first_setting_wins_and_may_be_relative_to_the_session() {
    let home = Home::new();
    home.write("a.json", board("A"));
    home.write("b.json", board("B"));
    let home = home.with("BRIDGE_FILE", "b.json").with("BRIDGE_FILE_PATH", "a.json");
    let mut client = home.host(&["--only", "board"]);
    assert_eq!(titles(&mut client, json!({})), ["A"]);
    client.close();
}

#[test]
fn two_sessions_of_one_daemon_have_their_own_files() {
    let home = Home::new();
    let host = |name: &str| {
        let mut command = home.proxy(&["--only", "board"]);
        command.env("BRIDGE_FILE_PATH", home.path().join(name));
        let mut client = Client::start(command);
        client.initialize("2025-11-25");
        client
    };
    let (mut one, mut other) = (host("one.json"), host("other.json"));
    one.call_ok("vbm_create_task", json!({ "title": "one" }));
    other.call_ok("vbm_create_task", json!({ "title": "other" }));
    assert_eq!(
        (titles(&mut one, json!({})), titles(&mut other, json!({}))),
        (vec!["one".to_owned()], vec!["other".to_owned()])
    );
}

#[test]
fn the_state_directory_counts_if_the_file_is_there() {
    let mut board_ = Board::new();
    fs::create_dir_all(board_.home.project().join("config/state")).expect("a directory");
    board_.id_of_new("x");
    assert_eq!(stored(&board_.path()), 1, "an empty directory says nothing");
    let other = board_.home.write("config/state/.vibe-kanban-bridge.json", board("state"));
    assert_eq!(board_.titles("vbm_list_tasks", json!({})), ["state"]);
    board_.id_of_new("y");
    assert_eq!((stored(&other), stored(&board_.path())), (2, 1));
    fs::remove_file(&other).expect("it goes");
    assert_eq!(board_.titles("vbm_list_tasks", json!({})), ["x"]);
    board_.home.write("config/state/.vibe-kanban-bridge.json", "broken");
    board_.check_code("vbm_create_task", json!({ "title": "z" }), 1003);
}

#[test]
fn a_file_behind_a_link_is_written_where_it_is() {
    let home = Home::new();
    let real = home.path().join("real/board.json");
    fs::create_dir_all(real.parent().expect("a directory")).expect("a directory");
    fs::write(&real, board("real")).expect("a file");
    let link = home.path().join("link.json");
    symlink(&real, &link).expect("a link");
    let home = home.with("BRIDGE_FILE_PATH", &link);
    let mut client = home.host(&["--only", "board"]);
    assert_eq!(titles(&mut client, json!({})), ["real"]);
    client.call_ok("vbm_create_task", json!({ "title": "x" }));
    assert_eq!(stored(&real), 2);
    assert!(fs::symlink_metadata(&link).expect("a link").is_symlink(), "the link stays a link");
    fs::remove_file(&real).expect("it goes");
    let error = client.call_err("vbm_create_task", json!({ "title": "y" }));
    assert_eq!(error["error"]["code"], 1003, "{error}");
    assert!(!real.exists());
}

#[test]
fn links_in_a_project_must_stay_in_it() {
    let mut board_ = Board::new();
    let real = board_.home.write("data/board.json", board("inside"));
    symlink("data/board.json", board_.path()).expect("a link");
    assert_eq!(board_.titles("vbm_list_tasks", json!({})), ["inside"]);
    board_.id_of_new("x");
    assert_eq!(stored(&real), 2);
    assert!(fs::symlink_metadata(board_.path()).expect("a link").is_symlink());
    let outside = board_.home.path().join("outside.json");
    fs::write(&outside, board("outside")).expect("a file");
    fs::remove_file(board_.path()).expect("it goes");
    symlink(&outside, board_.path()).expect("a link");
    for (tool, arguments) in [("vbm_list_tasks", json!({})), ("vbm_create_task", json!({ "title": "x" }))] {
        let error = board_.check_code(tool, arguments, 1003);
        assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("BRIDGE_FILE_PATH")), "{error}");
    }
    assert_eq!(fs::read_to_string(&outside).expect("a file"), board("outside"));
}

#[test]
fn a_directory_in_its_place_is_told() {
    let mut board = Board::new();
    fs::create_dir(board.path()).expect("a directory");
    for (tool, arguments) in [("vbm_get_board", json!({})), ("vbm_create_task", json!({ "title": "x" }))] {
        board.check_code(tool, arguments, 1003);
    }
    fs::remove_dir(board.path()).expect("it goes");
}

#[test]
fn the_board_is_the_project_s_wherever_a_session_begins() {
    let home = Home::new();
    fs::create_dir_all(home.project().join(".git")).expect("a checkout");
    fs::create_dir_all(home.project().join("src/deep")).expect("a directory");
    let mut command = home.proxy(&["--only", "board"]);
    command.current_dir(home.project().join("src/deep"));
    let mut client = Client::start(command);
    client.initialize("2025-11-25");
    client.call_ok("vbm_create_task", json!({ "title": "x" }));
    assert_eq!(stored(&home.project().join(".vibe-kanban-bridge.json")), 1);
    assert!(!home.project().join("src/deep/.vibe-kanban-bridge.json").exists());
}

#[test]
fn a_caller_may_name_a_project() {
    let home = Home::new();
    let other = home.path().join("other");
    fs::create_dir_all(&other).expect("a directory");
    let mut board_of_project = Board::at(home);
    let named = |path: &Path| json!({ "project_root": path });
    let new = |path: &Path| json!({ "project_root": path, "title": "x" });
    let board = &mut board_of_project;
    for tool in ["vbm_create_task", "vbm_list_tasks", "vbm_get_board", "vbm_get_stats"] {
        let arguments = if tool == "vbm_create_task" { new(&other) } else { named(&other) };
        let error = board.client.call_err(tool, arguments)["error"].clone();
        assert_eq!((&error["code"], &error["data"]["field"]), (&json!(1001), &json!("project_root")), "{error}");
    }
    fs::write(other.join(".vibe-kanban-bridge.json"), self::board("other")).expect("a file");
    assert_eq!(titles(&mut board.client, named(&other)), ["other"], "its board shows that it is a project");
    board.call("vbm_create_task", new(&other));
    assert_eq!(stored(&other.join(".vibe-kanban-bridge.json")), 2);
    assert!(!board.path().exists());
}

#[test]
fn without_a_project_there_is_no_board() {
    let home = Home::new();
    let mut command = home.proxy(&["--only", "board"]);
    command.current_dir(home.path());
    let mut client = Client::start(command);
    client.initialize("2025-11-25");
    for (tool, arguments) in [("vbm_list_tasks", json!({})), ("vbm_create_task", json!({ "title": "x" }))] {
        let error = client.call_err(tool, arguments)["error"].clone();
        assert_eq!((&error["code"], &error["data"]["field"]), (&json!(1001), &json!("project_root")), "{error}");
    }
    assert!(!home.path().join(".vibe-kanban-bridge.json").exists(), "a home is no project");
    client.close();
}
