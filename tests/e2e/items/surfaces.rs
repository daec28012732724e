//! Where the tools over all families are shown, and under which names.

use serde_json::json;

use super::{each, filled, list};

#[test]
fn they_stand_first_beside_others_and_bare_alone() {
    let home = filled();
    let first = |flags: &[&str]| home.host(flags).tool_names().into_iter().take(3).collect::<Vec<_>>();
    let common: Vec<String> = home.host(&["--only", "trellis"]).tool_names();
    assert!(common.contains(&"list".to_owned()) && common.contains(&"open".to_owned()), "{common:?}");
    let prefixed: Vec<String> = common.iter().map(|name| format!("trellis_{name}")).take(3).collect();
    for flags in [&[][..], &["--families", "vault"], &["--families", "vault,todo"], &["--read-only"]] {
        let names = first(flags);
        assert!(names.iter().zip(&prefixed).all(|(name, expected)| name == expected), "{flags:?}: {names:?}");
    }
    for family in ["vibe", "todo", "vine", "vault", "board"] {
        let names = home.host(&["--only", family]).tool_names();
        assert!(!names.iter().any(|name| name.starts_with("trellis_")), "{names:?}");
    }
}

#[test]
fn the_core_profile_has_the_tools_of_a_day() {
    let home = filled();
    let mut host = home.host(&["--profile", "core"]);
    let names = host.tool_names();
    assert!(names.len() <= 16 && names.iter().any(|name| name == "trellis_open"), "{names:?}");
    let order = [
        "trellis_open",
        "trellis_list",
        "vibe_create_doc",
        "vibe_log_session",
        "todo_create_task",
        "todo_create_adr",
        "vine_next",
        "vine_write",
        "vbm_create_task",
    ];
    let seen: Vec<&str> = names.iter().map(String::as_str).filter(|name| order.contains(name)).collect();
    assert_eq!(seen, order);
    assert_eq!(
        list(&mut host, json!({ "kind": "card", "budget": 8000 }))["total"],
        1,
        "what the schema leaves out is taken"
    );
    assert_eq!(
        host.ask("tools/call", json!({ "name": "vault_ls", "arguments": {} }))["error"]["data"]["code"],
        "unknown_tool"
    );
    let more = home.host(&["--profile", "core", "--tools", "+vault_ls"]).tool_names();
    assert!(more.contains(&"vault_ls".to_owned()), "{more:?}");
    for flags in [&["--profile", "all"][..], &["--profile", "core", "--only", "vine"]] {
        let output = home.proxy(flags).output().expect("a proxy");
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn a_surface_shows_the_items_of_its_families() {
    let home = filled();
    let mut host = home.host(&["--families", "vault"]);
    assert_eq!(each(&list(&mut host, json!({})), "title"), ["Bright idea", "other.md"]);
    let mut all = home.host(&["--only", "trellis"]);
    assert_eq!(all.call_ok("list", json!({}))["total"], 16);
}

#[test]
fn statuses_are_understood_in_the_words_of_every_family() {
    let home = filled();
    let mut host = home.host(&[]);
    host.call_ok("todo_update_task", json!({ "task_id": "T003", "status": "wip" }));
    host.call_ok("vibe_update_task_status", json!({ "project": "project", "task": "001", "status": "completed" }));
    host.call_ok("vbm_move_task", json!({ "id": "task-9", "lane": "bloqueado" }));
    let answer = list(&mut host, json!({ "kind": ["task", "card"] }));
    let status = |title: &str| {
        let items = answer["items"].as_array().expect("items");
        items.iter().find(|item| item["title"] == title).map(|item| item["status"].clone()).expect("an item")
    };
    assert_eq!([status("Next thing"), status("First"), status("Card")], ["in_progress", "done", "recovery"]);
    let error = host.call_err("todo_update_task", json!({ "task_id": "T003", "status": "blocked" }));
    assert_eq!(error["error"]["code"], "INVALID_STATUS");
}
