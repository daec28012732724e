//! Where a request works that names no project, and what may be named.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use trellis_tests::harness::{Home, HttpClient, programs, wait_until};

/// A caller as the simple clients are: a key, and not a word about projects.
fn plain(web: &HttpClient) -> HttpClient {
    web.without("X-Trellis-Project")
}

fn on_board(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path.join(".vibe-kanban-bridge.json")).ok()?).ok()
}

#[track_caller]
fn check_board(web: &HttpClient, project: &Path) {
    let created = web.post("/tools", &json!({ "name": "vbm_create_task", "arguments": { "title": "New Task" } }));
    assert_eq!(created.status, 200, "{}", created.text());
    assert_eq!(created.json()["task"]["lane"], "backlog");
    let listed = web.post("/tools/vbm_list_tasks", &json!({}));
    assert_eq!((listed.status, &listed.json()["total"]), (200, &json!(1)), "{}", listed.text());
    let synced = web.post("/sync", &json!({}));
    assert_eq!((synced.status, &synced.json()["tasksSynced"]), (200, &json!(1)), "{}", synced.text());
    assert_eq!(on_board(project).expect("a board")["lanes"]["backlog"][0]["title"], "New Task");
}

#[test]
fn a_daemon_that_was_started_in_a_project_works_there() {
    for mark in [".git", ".todo", "vault"] {
        let home = Home::new();
        fs::create_dir(home.project().join(mark)).expect("a mark");
        let (home, web) = home.gateway(&[]);
        check_board(&plain(&web), &home.project());
    }
}

#[test]
fn a_daemon_that_a_person_runs_in_a_project_works_there() {
    let home = Home::new();
    fs::create_dir(home.project().join(".git")).expect("a checkout");
    let port = trellis_tests::harness::http::free_port();
    let home = home.with("ENABLE_HTTP", "true").with("PORT", port.to_string()).with("API_KEYS", "k");
    let mut daemon = home.command(&programs::daemon()).arg("run").spawn().expect("trellisd runs");
    wait_until("the gateway listens", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    check_board(&HttpClient::at(port).with("X-API-Key", "k"), &home.project());
    daemon.kill().and_then(|()| daemon.wait()).expect("it ends");
}

#[test]
fn a_daemon_that_a_proxy_started_works_where_the_proxy_was_needed() {
    let home = Home::new();
    let deep = home.project().join("deep");
    for directory in [home.project().join(".git"), deep.clone()] {
        fs::create_dir_all(directory).expect("a directory");
    }
    let port = trellis_tests::harness::http::free_port();
    let home = home.with("ENABLE_HTTP", "true").with("PORT", port.to_string()).with("API_KEYS", "k");
    let mut host = home.host(&["--cwd", deep.to_str().expect("text")]);
    assert_eq!(host.call_ok("vbm_get_stats", json!({}))["success"], true);
    wait_until("the gateway listens", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    check_board(&HttpClient::at(port).with("X-API-Key", "k"), &home.project());
}

#[test]
fn elsewhere_every_refusal_names_what_helps() {
    let (home, web) = Home::new().gateway(&[]);
    let web = plain(&web);
    let calls = [
        ("/tools", json!({ "name": "vbm_create_task", "arguments": { "title": "New Task" } })),
        ("/tools/todo_list_tasks", json!({})),
        ("/tools/vault_ls", json!({})),
        ("/sync", json!({})),
    ];
    for (path, body) in &calls {
        let reply = web.post(path, body);
        assert_eq!(reply.status, 400, "{path}: {}", reply.text());
        for way in ["project_root", "X-Trellis-Project", "TRELLIS_HTTP_PROJECT"] {
            assert!(reply.text().contains(way), "{path} does not name {way}: {}", reply.text());
        }
    }
    let unmarked = web.post("/tools/todo_list_tasks", &json!({ "project_root": home.project() }));
    assert_eq!(unmarked.status, 400);
    for word in ["version control", ".todo", "X-Trellis-Project", "TRELLIS_HTTP_PROJECT"] {
        assert!(unmarked.text().contains(word), "{word}: {}", unmarked.text());
    }
    assert!(!unmarked.text().contains("pass `project_root`"), "no circle: {}", unmarked.text());
    let header = web.with("X-Trellis-Project", home.project().to_str().expect("text"));
    check_board(&header, &home.project());
    let typo = web.with("X-Trellis-Project", "/no/such/place").post("/tools/todo_list_tasks", &json!({}));
    assert!(typo.status == 400 && typo.text().contains("no such directory"), "{}", typo.text());
}

#[test]
fn a_project_that_is_seen_to_be_one_can_be_named_and_is_known_from_then_on() {
    let (home, web) = Home::new().gateway(&[]);
    let web = plain(&web);
    let other = home.path().join("other");
    fs::create_dir_all(other.join(".git")).expect("a checkout");
    let create = json!({ "title": "Here", "project_root": other });
    assert_eq!(web.call_ok("vbm_create_task", create)["task"]["title"], "Here");
    assert!(on_board(&other).is_some());
    let known = fs::read_to_string(home.state().join("roots.json")).expect("the list of projects");
    assert!(known.contains(other.to_str().expect("text")), "{known}");
    let home_itself = web.post("/tools/vbm_list_tasks", &json!({ "project_root": home.path() }));
    assert!(home_itself.status == 400 && home_itself.text().contains("home"), "{}", home_itself.text());
}

#[test]
fn a_setting_leaves_only_known_projects() {
    let home = Home::new();
    let config = home.path().join(".config/trellis");
    fs::create_dir_all(&config).expect("a directory");
    fs::write(config.join("config.toml"), "adopt_projects = false\n").expect("settings");
    let other = home.path().join("other");
    fs::create_dir_all(other.join(".git")).expect("a checkout");
    let (home, web) = home.gateway(&[]);
    let refused = web.post("/tools/todo_list_tasks", &json!({ "project_root": other }));
    assert!(refused.status == 400 && refused.text().contains("adopt_projects"), "{}", refused.text());
    home.host(&["--cwd", other.to_str().expect("text")]).call_ok("todo_list_tasks", json!({}));
    assert_eq!(web.call_ok("todo_list_tasks", json!({ "project_root": other }))["total_count"], 0);
}
