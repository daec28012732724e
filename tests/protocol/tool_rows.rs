//! What every row of the list of tools must have, whatever the family; and the rows as they are.

use serde_json::{Value, json};
use trellis_tests::harness::Home;

fn rows(home: &Home, flags: &[&str]) -> Vec<Value> {
    let list = home.host(flags).request("tools/list", json!({}));
    assert_eq!(list["nextCursor"], Value::Null);
    list["tools"].as_array().expect("an array").clone()
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|letter| letter.is_ascii_lowercase())
        && letters.all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
        && name.len() <= 40
}

#[test]
fn every_tool_says_when_to_use_it_and_what_it_does() {
    for tool in rows(&Home::with_fixtures(), &[]) {
        let name = tool["name"].as_str().expect("a name");
        assert!(is_name(name), "{name}");
        assert!(tool["title"].as_str().is_some_and(|title| !title.is_empty()), "{name}");
        let description = tool["description"].as_str().expect("a description");
        let first = description.split_inclusive(". ").next().unwrap_or_default().trim_end();
        assert!(first.chars().count() <= 120 && first.ends_with('.'), "{name}: {first}");
        assert!(description.chars().count() < 600, "{name}");
        let annotations = &tool["annotations"];
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint"] {
            assert!(annotations[hint].is_boolean(), "{name}: {hint}");
        }
        assert_eq!(annotations["openWorldHint"], false, "{name}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert!(!tool["inputSchema"].to_string().contains("additionalProperties"), "{name}");
        assert!(tool.get("outputSchema").is_none(), "{name}");
    }
}

#[test]
fn annotations_follow_from_the_effect() {
    let rows = rows(&Home::with_fixtures(), &["--only", "fixture"]);
    let hints = |name: &str| {
        let tool = rows.iter().find(|tool| tool["name"] == name).expect("the tool");
        ["readOnlyHint", "destructiveHint", "idempotentHint"].map(|hint| tool["annotations"][hint] == true)
    };
    assert_eq!(hints("get_line"), [true, false, true]);
    assert_eq!(hints("notify_change"), [false, true, true]);
    assert_eq!(hints("open_gate"), [false, false, true]);
}

#[test]
fn the_union_is_affordable() {
    let home = Home::new();
    let list = home.host(&[]).request("tools/list", json!({}));
    let size = list.to_string().len();
    assert!(size <= 48 << 10, "{size} bytes");
    assert!(list["ttlMs"].is_u64());
    assert_eq!(list["cacheScope"], "private");
}

#[test]
fn a_cursor_is_honoured_though_one_page_is_enough() {
    let home = Home::new();
    let mut host = home.host(&[]);
    for cursor in ["x", "", "1000", "-1"] {
        assert_eq!(host.ask("tools/list", json!({ "cursor": cursor }))["error"]["code"], -32602, "{cursor}");
    }
}

#[test]
fn the_tools_over_all_families() {
    insta::assert_json_snapshot!(rows(&Home::new(), &["--only", "trellis"]));
}

#[test]
fn the_tools_of_vibe() {
    insta::assert_json_snapshot!(rows(&Home::new(), &["--only", "vibe"]));
}

#[test]
fn the_tools_of_todo() {
    insta::assert_json_snapshot!(rows(&Home::new(), &["--only", "todo"]));
}

#[test]
fn the_tools_of_vine() {
    insta::assert_json_snapshot!(rows(&Home::new(), &["--only", "vine"]));
}

#[test]
fn the_tools_of_the_vault() {
    insta::assert_json_snapshot!(rows(&Home::new(), &["--only", "vault"]));
}

#[test]
fn the_tools_of_the_board() {
    insta::assert_json_snapshot!(rows(&Home::new(), &["--only", "board"]));
}

#[test]
fn the_tools_of_the_rehearsal() {
    insta::assert_json_snapshot!(rows(&Home::with_fixtures(), &["--only", "fixture"]));
}

#[test]
fn beside_others_a_tool_differs_in_names_alone() {
    let home = Home::new();
    let alone: Vec<Value> = ["trellis", "vibe", "todo", "vine", "vault", "board"]
        .iter()
        .flat_map(|family| rows(&home, &["--only", family]))
        .collect();
    let mut union = rows(&home, &[]);
    insta::assert_json_snapshot!(union.iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>());
    for (tool, alone) in union.iter_mut().zip(&alone) {
        let (name, own) = (tool["name"].as_str().expect("a name"), alone["name"].as_str().expect("a name"));
        let prefix = name.strip_suffix(own).expect("the family in front").to_owned();
        tool["name"] = alone["name"].clone();
        // As text, because the order of keys counts, too. Texts name other tools as they are called here.
        let said =
            if prefix.is_empty() { tool.to_string() } else { tool.to_string().replace(&format!("`{prefix}"), "`") };
        assert_eq!(said, alone.to_string());
    }
    assert_eq!(union.len(), alone.len());
}
