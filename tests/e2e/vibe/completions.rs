//! Values that fit what is typed: projects, folders, files, task numbers; in Spanish and Japanese, too.

use serde_json::{Value, json};

use super::Vibe;

fn workspace() -> Vibe {
    let vibe = Vibe::with("demo/tasks/004-disenar.md", "# Task: Diseñar\n");
    vibe.write("demo/tasks/041-x.md", "# Task: 設定を直す\n");
    vibe.write("demo/plans/año.md", "x\n");
    vibe.write("diseño/plans/x.md", "x\n");
    vibe.write("メモ帳/reports/日報.md", "x\n");
    vibe
}

#[track_caller]
fn check(vibe: &mut Vibe, reference: Value, argument: (&str, &str), others: Value, expected: &[&str]) {
    let (name, value) = argument;
    let params = json!({
        "ref": reference, "argument": { "name": name, "value": value }, "context": { "arguments": others },
    });
    let values = vibe.client.request("completion/complete", params)["completion"]["values"].clone();
    assert_eq!(values, json!(expected), "{name}={value} {others}");
}

#[test]
fn arguments_of_prompts_are_completed() {
    let mut vibe = workspace();
    let prompt = json!({ "type": "ref/prompt", "name": "session_start" });
    let mut check = |argument, others, expected: &[&str]| check(&mut vibe, prompt.clone(), argument, others, expected);
    check(("project", ""), json!({}), &["demo", "diseño", "メモ帳"]);
    check(("project", "DISEN"), json!({}), &["diseño"]);
    check(("project", "帳"), json!({}), &["メモ帳"]);
    check(("focus", "4"), json!({ "project": "demo" }), &["004", "041"]);
    check(("focus", "00"), json!({ "project": "demo" }), &["004"]);
    check(("focus", "diseñ"), json!({ "project": "demo" }), &["004-disenar"]);
    check(("focus", "設定"), json!({ "project": "demo" }), &["041-x"]);
    check(("focus", "4"), json!({}), &[]);
    check(("focus", "4"), json!({ "project": "../x" }), &[]);
}

#[test]
fn variables_of_resources_are_completed() {
    let mut vibe = workspace();
    let document = json!({ "type": "ref/resource", "uri": "vibe://projects/{name}/{folder}/{file}" });
    let mut check =
        |argument, others, expected: &[&str]| check(&mut vibe, document.clone(), argument, others, expected);
    check(("name", "de"), json!({}), &["demo"]);
    check(("folder", "re"), json!({}), &["reports", "references"]);
    check(("file", ""), json!({ "name": "demo", "folder": "tasks" }), &["004-disenar.md", "041-x.md"]);
    check(("file", "ANO"), json!({ "name": "demo", "folder": "plans" }), &["año.md"]);
    check(("file", "日"), json!({ "name": "メモ帳" }), &["日報.md"]);
    check(("file", ""), json!({ "name": "none" }), &[]);
}
