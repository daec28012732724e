//! The kanban board over HTTP, as its guide describes it: objects as they are, numbers for codes, `/sync`, `/health`.

use std::fs;

use serde_json::{Value, json};
use trellis_tests::harness::{Home, HttpClient};

const BRIDGE: &str = ".vibe-kanban-bridge.json";

#[test]
fn a_task_is_made_as_in_the_guide() {
    let (_home, web) = Home::new().gateway(&[]);
    let body = json!({ "name": "vbm_create_task", "arguments": { "title": "New Task", "priority": "high" } });
    let reply = web.post("/tools", &body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let made = reply.json();
    assert_eq!((&made["success"], &made["task"]["title"]), (&true.into(), &"New Task".into()));
    assert_eq!((&made["task"]["priority"], &made["task"]["lane"]), (&"high".into(), &"backlog".into()));
    assert!(made["task"]["id"].as_str().is_some_and(|id| id.starts_with("task-")));
    assert!(made["task"]["createdAt"].as_str().is_some_and(|at| at.ends_with('Z')));
    assert!(made.get("content").is_none(), "not wrapped");
}

#[test]
fn failures_of_the_board_have_numbers_and_statuses() {
    let (home, web) = Home::new().gateway(&[]);
    let empty = web.post("/tools/vbm_create_task", &json!({ "title": "" }));
    assert_eq!((empty.status, empty.code()), (400, 1001.into()));
    let error = empty.json()["error"].clone();
    assert_eq!((&error["name"], &error["data"]["field"]), (&"VALIDATION_ERROR".into(), &"title".into()));
    assert_eq!(error["data"]["constraint"], json!({ "minLength": 1, "maxLength": 100 }));
    assert!(error["hint"].is_string());
    let missing = web.post("/tools/vbm_get_task", &json!({ "id": "task-none" }));
    assert_eq!((missing.status, missing.code()), (404, 1002.into()));
    fs::write(home.project().join(BRIDGE), "{ broken").expect("written");
    let broken = web.post("/tools/vbm_create_task", &json!({ "title": "x" }));
    assert_eq!((broken.status, broken.code()), (500, 1003.into()));
    let mut host = home.host(&["--only", "board"]);
    for (tool, arguments) in [("vbm_create_task", json!({ "title": "" })), ("vbm_get_board", json!({}))] {
        let over_http = web.post(&format!("/tools/{tool}"), &arguments).json();
        assert_eq!(over_http, host.call_err(tool, arguments), "{tool}: the same body through every door");
    }
    assert_eq!(fs::read_to_string(home.project().join(BRIDGE)).expect("text"), "{ broken");
}

#[test]
fn sync_counts_what_is_in_the_file() {
    let (home, web) = Home::new().gateway(&[]);
    let synced = |web: &HttpClient| {
        let reply = web.send("POST", "/sync", None);
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()
    };
    let none = synced(&web);
    let keys: Vec<&String> = none.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["success", "syncedAt", "tasksSynced", "conflicts", "conflictsResolved"]);
    assert_eq!((&none["success"], &none["tasksSynced"], &none["conflicts"]), (&true.into(), &0.into(), &0.into()));
    assert_eq!(none["conflictsResolved"], json!([]));
    web.call_ok("vbm_batch_create", json!({ "tasks": [{ "title": "a" }, { "title": "b", "lane": "done" }] }));
    assert_eq!(synced(&web)["tasksSynced"], 2);
    let path = home.project().join(BRIDGE);
    let mut file: Value = serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
    file["lanes"]["todo"] = json!([{ "id": "task-byhand", "title": "by hand" }]);
    fs::write(&path, file.to_string()).expect("written");
    assert_eq!(synced(&web)["tasksSynced"], 3, "what another program wrote counts");
    fs::write(&path, "[").expect("written");
    let broken = web.send("POST", "/sync", None);
    assert_eq!((broken.status, broken.code()), (500, 1003.into()));
    let nowhere = web.without("X-Trellis-Project").send("POST", "/sync", None);
    assert_eq!(
        (nowhere.status, nowhere.code()),
        (500, 1003.into()),
        "the daemon was started there: {}",
        nowhere.text()
    );
}

#[test]
fn health_says_when_the_file_cannot_be_read() {
    let home = Home::new();
    let file = home.path().join("board.json");
    let (home, web) = home.gateway(&[("BRIDGE_FILE_PATH", file.to_str().expect("text"))]);
    let stranger = HttpClient::at(web.address.port());
    assert_eq!(stranger.get("/health").status, 200);
    fs::write(&file, "{ broken").expect("written");
    let ill = stranger.get("/health");
    assert_eq!((ill.status, &ill.json()["status"]), (503, &"degraded".into()));
    let keys = ill.json().as_object().expect("an object").len();
    assert!(keys == 4 && !ill.text().contains(home.path().to_str().expect("text")), "{}", ill.text());
    fs::write(&file, "").expect("written");
    assert_eq!(stranger.get("/health").json()["status"], "healthy");
    // A stranger cannot have other files looked at.
    home.write(BRIDGE, "{ broken");
    let named = stranger.with("X-Trellis-Project", home.project().to_str().expect("text")).get("/health");
    assert_eq!(named.status, 200);
}

#[test]
fn tasks_of_one_door_are_seen_through_the_others() {
    let (home, web) = Home::new().gateway(&[]);
    let mut host = home.host(&[]);
    for round in 0..10 {
        let title = format!("round {round}");
        let made = match round % 3 {
            0 => web.call_ok("vbm_create_task", json!({ "title": title })),
            1 => host.call_ok("vbm_create_task", json!({ "title": title })),
            _ => {
                let params = json!({ "name": "vbm_create_task", "arguments": { "title": title } });
                web.modern("/mcp", "tools/call", params).answer()["result"]["structuredContent"].clone()
            }
        };
        let id = json!({ "id": made["task"]["id"] });
        assert_eq!(web.call_ok("vbm_get_task", id.clone())["task"], made["task"]);
        assert_eq!(host.call_ok("vbm_get_task", id.clone())["task"], made["task"]);
        let over_mcp = web.modern("/mcp/board", "tools/call", json!({ "name": "vbm_get_task", "arguments": id }));
        assert_eq!(over_mcp.answer()["result"]["structuredContent"]["task"], made["task"]);
    }
    assert_eq!(web.call_ok("vbm_get_stats", json!({}))["stats"]["totalTasks"], 10);
}
