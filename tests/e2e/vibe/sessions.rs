//! `log_session`: a note for the day, never over another.

use std::process::Command;

use serde_json::{Value, json};
use trellis_tests::harness::Home;

use super::{Vibe, sha256};

fn note(content: &str, more: Value) -> Value {
    let mut arguments = json!({ "project": "demo", "content": content });
    more.as_object().expect("an object").iter().for_each(|(key, value)| arguments[key] = value.clone());
    arguments
}

/// The day in a zone, as another program knows it.
fn today(zone: &str) -> String {
    let output = Command::new("date").arg("+%F").env("TZ", zone).output().expect("date runs");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

#[test]
fn a_note_is_named_after_the_session_s_day() {
    for zone in ["Pacific/Kiritimati", "Pacific/Pago_Pago"] {
        let mut vibe = Vibe::at(Home::new().with("TZ", zone));
        let before = today(zone);
        let answer = vibe.call("log_session", note("## Hecho\n\n- uno \n\n\n", json!({})));
        // At midnight both days are right.
        let named = answer["session"]["filename"].as_str().expect("a name").trim_end_matches(".md").to_owned();
        let day = if named == before { before } else { today(zone) };
        let session =
            json!({ "filename": format!("{day}.md"), "path": format!("demo/sessions/{day}.md"), "action": "created" });
        assert_eq!(answer.to_string(), json!({ "success": true, "session": session, "indexed": true }).to_string());
        assert_eq!(vibe.text(&format!("demo/sessions/{day}.md")), "## Hecho\n\n- uno\n");
    }
}

#[test]
fn a_note_is_added_to_and_never_overwritten() {
    let mut vibe = Vibe::at(Home::new().with("TZ", "UTC"));
    let path = vibe.call("log_session", note("one", json!({ "append": true })))["session"]["path"].clone();
    let path = path.as_str().expect("a path").to_owned();
    let mut text = "one\n".to_owned();
    for more in [json!({}), json!({ "append": false }), json!({ "append": true }), json!({ "append": null })] {
        let answer = vibe.call("log_session", note("two  \n\n", more));
        let session = json!({ "filename": &path[path.len() - 13..], "path": path, "action": "appended" });
        assert_eq!(answer.to_string(), json!({ "success": true, "session": session, "indexed": true }).to_string());
        text.push_str("\n---\n\ntwo\n");
        assert_eq!(vibe.text(&path), text);
    }
    std::fs::write(vibe.path(&path), b"\xff old\r\n\r\n\n").expect("a person writes");
    vibe.call("log_session", note("three", json!({})));
    assert_eq!(std::fs::read(vibe.path(&path)).expect("the note"), b"\xff old\n\n---\n\nthree\n");
}

#[test]
fn a_note_that_is_too_large_stays_as_it_is() {
    let mut vibe = Vibe::at(Home::new().with("TZ", "UTC"));
    let path = vibe.call("log_session", note("one", json!({})))["session"]["path"].as_str().expect("a path").to_owned();
    let size = (16 << 20) + 1;
    vibe.write(&path, vec![b'x'; size]);
    let error = vibe.check_refused("log_session", note("two", json!({})), "FILESYSTEM_ERROR");
    assert_eq!(error["details"]["reason"], "too_large");
    assert_eq!(vibe.text(&path).len(), size);
}

#[test]
fn a_topic_is_part_of_the_name() {
    let mut vibe = Vibe::at(Home::new().with("TZ", "UTC"));
    let name = |answer: Value| answer["session"]["filename"].as_str().expect("a name")[10..].to_owned();
    assert_eq!(
        name(vibe.call("log_session", note("x", json!({ "suffix": "Depuración de API" })))),
        "-depuracion-de-api.md"
    );
    assert_eq!(name(vibe.call("log_session", note("x", json!({ "suffix": "設定" })))), "-設定.md");
    assert_eq!(name(vibe.call("log_session", note("x", json!({ "suffix": "../../x" })))), "-x.md");
    assert_eq!(name(vibe.call("log_session", note("x", json!({ "suffix": " " })))), ".md");
    let again = vibe.call("log_session", note("y", json!({ "suffix": "設定" })));
    assert_eq!(again["session"]["action"], "appended");
    assert_eq!(vibe.text(again["session"]["path"].as_str().expect("a path")), "x\n\n---\n\ny\n");
}

#[test]
fn an_addition_to_another_state_is_a_conflict() {
    let mut vibe = Vibe::at(Home::new().with("TZ", "UTC"));
    let path = vibe.call("log_session", note("one", json!({})))["session"]["path"].as_str().expect("a path").to_owned();
    let add = |hash: String| note("two", json!({ "if_match": hash }));
    vibe.check_refused("log_session", add(sha256("other")), "CONFLICT");
    vibe.call("log_session", add(sha256("one\n")));
    assert_eq!(vibe.text(&path), "one\n\n---\n\ntwo\n");
}
