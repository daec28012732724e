//! `trellis_open`: every kind, pages, parts, links.

use serde_json::{Value, json};
use trellis_tests::harness::Home;

use super::{filled, open};

#[test]
fn a_task_shows_its_lines_its_subtasks_and_its_context() {
    let home = filled();
    let mut host = home.host(&[]);
    let task = open(&mut host, "T001");
    assert_eq!(task["uri"], "todo://project/T001");
    assert_eq!(task["text"], "- [-] Write the parser #T001\n  - [x] tokens\n  - [ ] tree\n");
    assert_eq!((&task["lines"], &task["total_lines"], &task["path"]), (&json!("L4-6"), &json!(9), &json!("task.md")));
    assert_eq!(task["category"], "API");
    assert_eq!(
        task["subtasks"],
        json!([{ "title": "tokens", "status": "done" }, { "title": "tree", "status": "todo" }])
    );
    assert_eq!(task["context"]["uri"], "todo://project/context/T001");
    assert!(task["context"]["text"].as_str().is_some_and(|text| text.starts_with("# Notes")), "{task}");
    assert_eq!(task["context"].get("truncated"), None);
    assert_eq!(task["linked_from"], json!(["board://project/task-9"]));
    let loose = open(&mut host, "todo:///task.md#L7");
    assert_eq!((&loose["text"], &loose["warning"]), (&json!("- [ ] Loose end\n"), &json!("no id")));
    assert_eq!(
        host.call_err("trellis_open", json!({ "uri": "todo:///task.md#L1" }))["error"]["code"],
        "ITEM_NOT_FOUND"
    );
}

#[test]
fn every_kind_can_be_opened() {
    let home = filled();
    let mut host = home.host(&[]);
    let decision = open(&mut host, "ADR-001");
    assert_eq!((&decision["title"], &decision["status"]), (&json!("Use SQLite"), &json!("Deprecated")));
    assert_eq!(decision["superseded_by"], "todo://project/adr/2");
    let context = open(&mut host, "todo:///context/T001");
    assert_eq!(context["links"], json!(["todo://project/adr/1", "todo://project/T003"]));
    let part = open(&mut host, "todo:///context/T001.md#next-steps");
    assert_eq!((&part["text"], &part["lines"]), (&json!("## Next steps\n- finish\n"), &json!("L5-6")));
    let plan = open(&mut host, "vine:///plans/launch.vine");
    assert_eq!(
        (&plan["kind"], &plan["title"], &plan["ready"]),
        (&json!("plan"), &json!("Launch"), &json!(["vine://project/plans/launch.vine#build"]))
    );
    let node = open(&mut host, "vine:///plans/launch.vine#build");
    assert_eq!(
        (&node["text"], &node["description"]),
        (&json!("[build] Build it (planning)\nWith care.\n"), &json!("With care."))
    );
    assert_eq!(
        node["needed_by"],
        json!([{ "uri": "vine://project/plans/launch.vine#root", "title": "Ship it", "status": "notstarted" }])
    );
    let card = open(&mut host, "task-9");
    assert_eq!((&card["text"], &card["card"]["lane"]), (&json!("About todo:///T001"), &json!("in_progress")));
    assert_eq!(card["links"], json!(["todo://project/T001"]));
    let file = open(&mut host, "vault:///notes/idea.md");
    assert_eq!((&file["title"], &file["links"]), (&json!("Bright idea"), &json!(["vault://project/notes/other.md"])));
    let document = open(&mut host, "vibe://projects/project/tasks/001-first.md");
    assert_eq!((&document["kind"], &document["lane"]), (&json!("task"), &json!("blocked")));
    for resource in ["vibe://projects", "todo:///task.md", "vine://spec/brief"] {
        let answer = open(&mut host, resource);
        assert!(
            answer.get("kind").is_none() && answer["text"].as_str().is_some_and(|text| !text.is_empty()),
            "{answer}"
        );
    }
}

#[test]
fn long_texts_come_in_pages_that_join_to_the_whole() {
    let home = Home::new();
    home.write(".git/HEAD", "");
    let text: String = (1..200).map(|section| format!("## Part {section}\r\nline é {section}\r\n\r\n")).collect();
    home.write("vault/long.md", format!("\u{feff}{text}"));
    let mut host = home.host(&[]);
    let (mut joined, mut cursor, mut pages) = (String::new(), Value::Null, 0);
    loop {
        let page = host.call_ok("trellis_open", json!({ "uri": "vault:///long.md", "budget": 1000, "cursor": cursor }));
        let shown = page["text"].as_str().expect("a text");
        assert!(shown.chars().count() <= 1000);
        assert!(shown.starts_with("## Part"), "a page begins with a heading: {shown}");
        joined.push_str(shown);
        pages += 1;
        cursor = page["next_cursor"].clone();
        assert_eq!(page.get("outline").is_some(), !cursor.is_null());
        if cursor.is_null() {
            break;
        }
        assert_eq!(page["outline"].as_array().map(Vec::len), Some(30));
    }
    assert_eq!(joined, text);
    assert!(pages > 3);
    let first = host.call_ok("trellis_open", json!({ "uri": "vault:///long.md", "budget": 1000 }));
    let lines = open(&mut host, "vault:///long.md#L2-4");
    assert_eq!((&lines["text"], &lines["lines"]), (&json!("line é 1\r\n\r\n## Part 2\r\n"), &json!("L2-4")));
    home.write("vault/long.md", "other");
    let arguments = json!({ "uri": "vault:///long.md", "cursor": first["next_cursor"] });
    assert_eq!(host.call_err("trellis_open", arguments)["error"]["code"], "CONFLICT");
    let made_up = json!({ "uri": "vault:///long.md", "cursor": "1-2" });
    assert_eq!(host.call_err("trellis_open", made_up)["error"]["code"], "INVALID_ARGUMENT");
}

#[test]
fn what_cannot_be_opened_says_what_to_do() {
    let home = filled();
    home.write("vault/bytes.bin", b"\xff\xfe");
    home.write("vault/large.txt", vec![b'a'; (1 << 20) + 1]);
    home.write("secret.vine", "password");
    let mut host = home.host(&[]);
    let mut check = |uri: &str, code: &str| {
        let error = host.call_err("trellis_open", json!({ "uri": uri }))["error"].clone();
        assert_eq!(error["code"], code, "{uri}: {error}");
        assert!(error["details"].is_object() && error["message"].is_string());
        error
    };
    check("", "INVALID_URI");
    check("nonsense", "INVALID_URI");
    check("todo:///T001#x", "INVALID_URI");
    check("vault://project/../a.md", "INVALID_URI");
    check("todo://nowhere/T001", "UNKNOWN_PROJECT");
    let missing = check("vault:///notes/ideas.md", "ITEM_NOT_FOUND");
    assert_eq!(missing["details"]["nearest"][0], "vault://project/notes/idea.md", "{missing}");
    assert!(missing["message"].as_str().is_some_and(|message| message.contains("`trellis_list`")), "{missing}");
    check("T099", "ITEM_NOT_FOUND");
    check("vine:///plans/launch.vine#none", "ITEM_NOT_FOUND");
    let part = check("vault:///notes/idea.md#nothing", "SECTION_NOT_FOUND");
    assert_eq!(part["details"]["headings"], json!(["bright-idea"]));
    check("vault:///bytes.bin", "UNREADABLE");
    check("vault:///large.txt", "UNREADABLE");
    let secret = check("vine:///secret.vine", "UNREADABLE");
    assert!(!secret.to_string().contains("password"));
    home.write(".vibe-kanban-bridge.json", "{");
    check("task-9", "UNREADABLE");
}
