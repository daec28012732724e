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

#[test]
fn what_a_model_reads_names_the_tools_of_its_surface() {
    let home = filled();
    for flags in [&[][..], &["--families", "todo"], &["--only", "vibe"], &["--only", "todo"], &["--profile", "core"]] {
        let mut host = home.connect(flags);
        let instructions = host.initialize("2025-11-25")["instructions"].as_str().expect("a text").to_owned();
        assert!(instructions.len() <= 2048, "{instructions}");
        let list = host.request("tools/list", json!({}));
        let names = host.tool_names();
        let texts =
            list["tools"].as_array().expect("tools").iter().map(ToString::to_string).chain([instructions.clone()]);
        for text in texts {
            for word in text.split('`').skip(1).step_by(2) {
                let is_tool =
                    ["_tasks", "_task", "_doc", "_context", "_session", "_project", "list", "open"].iter().any(|end| {
                        word.ends_with(end) && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
                    });
                assert!(!is_tool || names.iter().any(|name| name == word), "{flags:?}: `{word}` in {text}");
            }
        }
        let opening: String = instructions.chars().take(200).collect();
        assert!(names.iter().any(|name| opening.contains(&format!("`{name}`"))), "{opening}");
        for family in ["vibe", "todo", "vine"] {
            assert!(!instructions.contains(&format!("{family}: {family}")), "{instructions}");
        }
    }
}

#[test]
fn tools_can_be_found_by_words_and_say_their_limits() {
    let home = filled();
    let list = home.host(&[]).request("tools/list", json!({}));
    for tool in list["tools"].as_array().expect("tools") {
        let hint = tool["_meta"]["anthropic/searchHint"].as_str().unwrap_or_else(|| panic!("a hint: {tool}"));
        assert!(!hint.is_empty() && hint.chars().count() <= 60, "{tool}");
        let description = tool["description"].as_str().expect("a description");
        let first = description.split_once(". ").map_or(description, |(first, _)| first);
        assert!(first.chars().count() <= 150, "{}: {first}", first.chars().count());
        let text = tool["inputSchema"].to_string();
        assert!(!text.contains(r#""type":["#), "no lists of types: {text}");
        for (name, field) in tool["inputSchema"]["properties"].as_object().expect("fields") {
            for limit in ["maximum", "maxLength", "maxItems"] {
                let Some(number) = field.get(limit) else { continue };
                let about = field["description"].as_str().unwrap_or_default();
                assert!(about.contains(&number.to_string()), "{} {name}: {number} is not in {about:?}", tool["name"]);
            }
        }
    }
    let long = |name: &str| {
        list["tools"]
            .as_array()
            .expect("tools")
            .iter()
            .any(|tool| tool["name"] == name && tool["_meta"]["anthropic/maxResultSizeChars"] == 60_000)
    };
    for name in ["trellis_open", "vibe_read_doc", "vibe_get_plan", "todo_get_context", "vault_read", "vault_scan"] {
        assert!(long(name), "{name}");
    }
    assert!(!long("vault_ls"));
}

#[test]
fn an_error_is_said_once_and_older_clients_get_text_alone() {
    let home = filled();
    let mut host = home.host(&[]);
    let vault = host.call_err("vault_read", json!({ "path": "none.md" }));
    assert!(vault.get("message").is_none(), "{vault}");
    let board = host.call_err("vbm_get_task", json!({ "id": "" }));
    assert!(board["error"]["data"].get("issue").is_none() && board["error"]["message"].is_string(), "{board}");
    let alone = home.host(&["--only", "vault"]).call_err("vault_read", json!({ "path": "none.md", "full": true }));
    assert!(alone["message"].is_string(), "{alone}");
    let hint = host.call_err("vibe_read_doc", json!({ "project": "project", "folder": "tasks", "filename": "none" }));
    assert!(hint["error"]["message"].as_str().is_some_and(|text| text.contains("`vibe_create_doc`")), "{hint}");
    let mut old = home.connect(&[]);
    old.initialize("2024-11-05");
    for (tool, arguments) in [("trellis_list", json!({})), ("trellis_open", json!({ "uri": "" }))] {
        let result = old.call(tool, arguments);
        assert!(result.get("structuredContent").is_none(), "{result}");
        assert!(result["content"][0]["text"].as_str().is_some_and(|text| text.starts_with('{')), "{result}");
    }
}

#[test]
fn a_vault_file_is_read_without_saying_how_much() {
    let home = filled();
    let mut host = home.host(&[]);
    assert_eq!(host.call_ok("vault_read", json!({ "path": "notes/other.md" }))["text"], "no heading");
    let error = host.call_err("vault_read", json!({ "path": "notes/other.md", "full": false }));
    assert_eq!(error["error"]["code"], "invalid_parameter");
    let alone = home.host(&["--only", "vault"]).call_err("vault_read", json!({ "path": "notes/other.md" }));
    assert_eq!(alone["error"]["code"], "invalid_parameter");
}
