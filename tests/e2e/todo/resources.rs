//! The files as resources: under well-formed URIs, and under the seed's, which are taken as they are written.

use serde_json::{Value, json};
use trellis_tests::harness::Client;

use super::{Todo, all};

fn project() -> Todo {
    let mut todo = Todo::new();
    todo.call("create_task", json!({ "title": "a" }));
    let adr = json!({ "title": "認証 方式", "context": "", "decision": "", "rationale": "" });
    todo.call("create_adr", adr);
    todo
}

#[track_caller]
fn read(todo: &mut Todo, uri: &str) -> String {
    let answer = todo.client.request("resources/read", json!({ "uri": uri }));
    let content = &answer["contents"][0];
    assert_eq!((&content["uri"], &content["mimeType"]), (&json!(uri), &json!("text/markdown")));
    content["text"].as_str().expect("text").to_owned()
}

#[track_caller]
fn check_none(todo: &mut Todo, uri: &str) {
    let answer = todo.client.ask("resources/read", json!({ "uri": uri }));
    assert_eq!(answer["error"]["code"], -32002, "{uri}: {answer}");
}

#[test]
fn well_formed_uris_are_listed_first() {
    let mut todo = project();
    let list = todo.client.request("resources/list", json!({}));
    let expected = [
        "todo:///index.md",
        "todo:///task.md",
        "file://.todo/index.md",
        "file://.todo/task.md",
        "todo:///adr/adr-001-%E8%AA%8D%E8%A8%BC-%E6%96%B9%E5%BC%8F.md",
        "todo:///context/T001.md",
    ];
    assert_eq!(all(&list["resources"], "uri"), expected);
    for uri in expected {
        read(&mut todo, uri);
    }
}

#[test]
fn templates_are_ours_and_the_seed_s() {
    let mut todo = project();
    let listed =
        |client: &mut Client| client.request("resources/templates/list", json!({}))["resourceTemplates"].clone();
    let templates = listed(&mut todo.client);
    let ours = ["todo:///adr/{adr_id}.md", "todo:///context/{task_id}.md"];
    let seed_s = ["file://.todo/adr/{adr-id}.md", "file://.todo/context/{task-id}.md"];
    assert_eq!(all(&templates, "uriTemplate"), [ours, seed_s].concat());
    for template in templates.as_array().expect("templates") {
        assert_eq!(template["mimeType"], "text/markdown", "{template}");
        assert!(template["name"].is_string() && template["description"].is_string(), "{template}");
    }
    // What the templates make can be read.
    let made = |template: &str, id: &str| template.split_once('{').map(|(before, _)| format!("{before}{id}.md"));
    for (adr, context) in [(ours[0], ours[1]), (seed_s[0], seed_s[1])] {
        let adr = made(adr, "adr-001-認証-方式").expect("a variable");
        assert!(read(&mut todo, &adr).starts_with("# ADR-001"));
        assert!(read(&mut todo, &made(context, "T001").expect("a variable")).starts_with("# Context for T001"));
    }
    // A hyphen makes no proper template, and a host of all families may refuse what else is in the list.
    let mut union = todo.home.host(&[]);
    let templates = listed(&mut union);
    let templates = all(&templates, "uriTemplate");
    assert!(ours.iter().all(|uri| templates.contains(uri)), "{templates:?}");
    assert!(!seed_s.iter().any(|uri| templates.contains(uri)), "{templates:?}");
    let text = union.request("resources/read", json!({ "uri": "file://.todo/context/T001.md" }));
    assert_eq!(text["contents"][0]["text"], todo.text("context/T001.md"), "and is understood there, too");
}

#[test]
fn both_forms_give_the_file() {
    let mut todo = project();
    let (tasks, context) = (todo.tasks(), todo.text("context/T001.md"));
    let adr = todo.text("adr/adr-001-認証-方式.md");
    for form in ["todo:///", "file://.todo/"] {
        assert_eq!(read(&mut todo, &format!("{form}task.md")), tasks);
        assert_eq!(read(&mut todo, &format!("{form}context/T001.md")), context);
        assert_eq!(read(&mut todo, &format!("{form}adr/adr-001-認証-方式.md")), adr);
        assert_eq!(read(&mut todo, &format!("{form}adr/adr-001-%E8%AA%8D%E8%A8%BC-%E6%96%B9%E5%BC%8F.md")), adr);
        assert!(read(&mut todo, &format!("{form}index.md")).contains("[T001](context/T001.md)"));
    }
}

#[test]
fn nothing_else_is_served() {
    let mut todo = project();
    std::fs::write(todo.home.project().join("secret.md"), "secret").expect("a file");
    for form in ["todo:///", "file://.todo/"] {
        for path in [
            "context/T999.md",
            "context/T1.md",
            "context/..%2F..%2Fsecret.md",
            "context/../task.md",
            "adr/..%2Ftask.md",
            "adr/adr-001-..%2F..%2F..%2Fsecret.md",
            "adr/adr-999-none.md",
            "adr/%FF.md",
            ".state.json",
            "../secret.md",
            "",
        ] {
            check_none(&mut todo, &format!("{form}{path}"));
        }
    }
    for uri in ["file:///etc/passwd", "todo://other/task.md", "FILE://.todo/task.md"] {
        check_none(&mut todo, uri);
    }
    let mut empty = Todo::new();
    check_none(&mut empty, "todo:///task.md");
    let index = read(&mut empty, "todo:///index.md");
    assert!(index.contains("- todo: 0"), "an index is made when there is none: {index}");
    assert!(!empty.exists(""), "and not written");
}

#[test]
fn many_contexts_come_on_pages() {
    let mut todo = Todo::new();
    for number in 1..=450 {
        todo.write(&format!("context/T{number:03}.md"), "x");
    }
    let (mut uris, mut cursor) = (Vec::new(), json!(null));
    loop {
        let page = todo.client.request("resources/list", json!({ "cursor": cursor }));
        uris.extend(all(&page["resources"], "uri").into_iter().map(str::to_owned));
        match page.get("nextCursor") {
            Some(next) => cursor = next.clone(),
            None => break,
        }
    }
    assert_eq!(uris.len(), 4 + 450);
    assert_eq!(uris.last().map(String::as_str), Some("todo:///context/T450.md"));
}

/// The methods and URIs of so many messages, and of what else was told until the answer to a later request came.
fn told(todo: &mut Todo, count: usize) -> Vec<(String, Value)> {
    let shown =
        |message: Value| (message["method"].as_str().expect("a method").to_owned(), message["params"]["uri"].clone());
    let mut told: Vec<_> = (0..count).map(|_| shown(todo.client.next_message())).collect();
    todo.client.tool_names();
    while let Some(message) = todo.client.message_within(std::time::Duration::ZERO) {
        told.push(shown(message));
    }
    told
}

#[test]
fn changes_are_told() {
    let mut todo = project();
    for uri in ["todo:///task.md", "file://.todo/context/T001.md"] {
        todo.client.request("resources/subscribe", json!({ "uri": uri }));
    }
    told(&mut todo, 0);
    let list = ("notifications/resources/list_changed".to_owned(), json!(null));
    let updated = |uri: &str| ("notifications/resources/updated".to_owned(), json!(uri));
    todo.call("create_task", json!({ "title": "b" }));
    assert_eq!(told(&mut todo, 2), [updated("todo:///task.md"), list.clone()]);
    todo.call("update_task", json!({ "task_id": "T001", "status": "done" }));
    assert_eq!(told(&mut todo, 1), [updated("todo:///task.md")]);
    todo.call("update_context", json!({ "task_id": "T001", "content": "x" }));
    assert_eq!(told(&mut todo, 1), [updated("file://.todo/context/T001.md")]);
    todo.call("delete_task", json!({ "task_id": "T001" }));
    assert_eq!(told(&mut todo, 3), [updated("file://.todo/context/T001.md"), updated("todo:///task.md"), list]);
}

#[test]
fn ids_are_completed() {
    let mut todo = project();
    let complete = |uri: &str, name: &str, value: &str| json!({ "ref": { "type": "ref/resource", "uri": uri }, "argument": { "name": name, "value": value } });
    let answer = todo.client.request("completion/complete", complete("todo:///context/{task_id}.md", "task_id", "T0"));
    assert_eq!(answer["completion"]["values"], json!(["T001"]));
    let answer = todo.client.request("completion/complete", complete("todo:///adr/{adr_id}.md", "adr_id", "adr-001"));
    assert_eq!(answer["completion"]["values"], json!(["adr-001-認証-方式"]));
    for (uri, name, value, expected) in [
        ("file://.todo/context/{task-id}.md", "task-id", "T0", json!(["T001"])),
        ("file://.todo/context/{task-id}.md", "task-id", "T9", json!([])),
        ("file://.todo/adr/{adr-id}.md", "adr-id", "", json!(["adr-001-認証-方式"])),
    ] {
        let answer = todo.client.request("completion/complete", complete(uri, name, value));
        assert_eq!(answer["completion"]["values"], expected, "{uri}");
    }
}
