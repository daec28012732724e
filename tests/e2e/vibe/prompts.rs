//! The two prompts: one message of the user, in one page.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::Vibe;

#[track_caller]
fn prompt(vibe: &mut Vibe, name: &str, arguments: Value) -> String {
    let result = vibe.client.request("prompts/get", json!({ "name": name, "arguments": arguments }));
    let messages = result["messages"].as_array().expect("messages");
    assert_eq!((messages.len(), &messages[0]["role"]), (1, &json!("user")));
    messages[0]["content"]["text"].as_str().expect("a text").to_owned()
}

fn workspace() -> Vibe {
    let vibe = Vibe::new();
    let documents = [
        ("demo/tasks/003-disenar-schema.md", "# Task: Diseñar schema\n\nStatus: done\n"),
        (
            "demo/tasks/004-definir-interfaz.md",
            "# Task: Definir interfaz MCP\n\nStatus: in-progress\n\n## Objective\nDocumentar la API\ncompleta.\n\nMás.\n\n\
             ## Context\n- Related files: `docs/a.md`, `docs/b.md`\n- Dependencies: 003, 099-x\n\n## Steps\n\
             1. [x] Definir resources\n2. [ ] Definir tools\n3. [ ] Definir prompts\n",
        ),
        ("demo/tasks/005-probar.md", "# Task: Probar\n\nStatus: blocked\n\n## Objective\nProbar todo.\n"),
        ("demo/tasks/006-indexador.md", "# Task: Indexador\n\nStatus: pending\n"),
        ("demo/tasks/007-設定.md", "# Task: 設定画面を直す\n\nStatus: pending\n"),
        ("demo/sessions/2025-02-07.md", "# Vieja\n\n- no\n"),
        ("demo/sessions/2025-02-08.md", "Formato definido.\n"),
        ("demo/sessions/2025-02-09.md", "## Hecho\n\n- Diseñé el schema\n- Próximo: interfaz\n"),
        ("demo/sessions/2025-02-09-tarde.md", "1. Uno\n2. Dos\n"),
        ("demo/plans/execution-plan.md", "# P\n\n## Decisions\n- **Base:** SQLite\n\ntext\n"),
        ("demo/changelog/001-x.md", "## 決定事項\n* 見出しで分ける\n"),
    ];
    for (order, (path, text)) in documents.iter().enumerate() {
        let path = vibe.write(path, text);
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600 + order as u64 * 60);
        fs::File::options().write(true).open(path).expect("a file").set_modified(time).expect("a time");
    }
    vibe
}

#[test]
fn they_are_listed_with_their_arguments() {
    let mut vibe = Vibe::new();
    let list = vibe.client.request("prompts/list", json!({}));
    let prompts = list["prompts"].as_array().expect("prompts");
    let seen: Vec<Value> = prompts
        .iter()
        .map(|prompt| {
            let arguments = prompt["arguments"].as_array().expect("arguments");
            json!([
                prompt["name"],
                arguments.iter().map(|one| json!([one["name"], one["required"]])).collect::<Value>()
            ])
        })
        .collect();
    let expected =
        json!([["project_briefing", [["project", true]]], ["session_start", [["project", true], ["focus", false]]],]);
    assert_eq!(json!(seen), expected);
}

#[test]
fn a_briefing_is_one_page() {
    insta::assert_snapshot!(prompt(&mut workspace(), "project_briefing", json!({ "project": "demo" })));
}

#[test]
fn an_empty_project_has_a_briefing_too() {
    insta::assert_snapshot!(prompt(&mut Vibe::new(), "project_briefing", json!({ "project": "demo" })));
}

#[test]
fn a_session_starts_with_a_task() {
    let mut vibe = workspace();
    let text = prompt(&mut vibe, "session_start", json!({ "project": "demo", "focus": "4" }));
    for focus in ["004", "004-definir-interfaz", "004-definir-interfaz.md", "DEFINIR INTERFAZ mcp"] {
        assert_eq!(prompt(&mut vibe, "session_start", json!({ "project": "demo", "focus": focus })), text, "{focus}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_session_starts_without_a_focus() {
    insta::assert_snapshot!(prompt(&mut workspace(), "session_start", json!({ "project": "demo" })));
}

#[test]
fn only_the_project_can_be_wrong() {
    let mut vibe = workspace();
    for name in ["project_briefing", "session_start"] {
        for (project, code) in [("none", "PROJECT_NOT_FOUND"), ("..", "INVALID_PATH")] {
            let get = json!({ "name": name, "arguments": { "project": project, "focus": "x" } });
            let error = vibe.client.ask("prompts/get", get)["error"].clone();
            assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32602), &json!(code)), "{error}");
        }
        let missing = vibe.client.ask("prompts/get", json!({ "name": name, "arguments": {} }));
        assert_eq!(missing["error"]["code"], -32602);
    }
    for focus in ["99", "../x", "\"", "", "ぬ"] {
        let text = prompt(&mut vibe, "session_start", json!({ "project": "demo", "focus": focus }));
        assert!(text.starts_with("# Session Start: demo\n"), "{focus}");
    }
}
