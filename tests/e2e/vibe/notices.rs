//! Who hears about changes: hosts that subscribed to a document, its project or all projects, in both kinds of
//! revisions.

use std::time::Duration;

use serde_json::{Value, json};
use trellis_tests::harness::Client;

use super::Vibe;

const TASK: &str = "vibe://projects/demo/tasks/001-a.md";

/// So many messages, by method and URI, and what else has come by the time a later request is answered.
fn heard(client: &mut Client, count: usize) -> Vec<(String, Value)> {
    let shown = |message: Value| {
        let method = message["method"].as_str().unwrap_or_default().trim_start_matches("notifications/resources/");
        (method.to_owned(), message["params"]["uri"].clone())
    };
    let mut heard: Vec<_> = (0..count).map(|_| shown(client.next_message())).collect();
    client.tool_names();
    while let Some(message) = client.message_within(Duration::ZERO) {
        heard.push(shown(message));
    }
    heard
}

fn updated(uri: &str) -> (String, Value) {
    ("updated".to_owned(), json!(uri))
}

#[test]
fn subscribers_hear_of_their_document_project_and_workspace() {
    let mut vibe = Vibe::with("demo/tasks/001-a.md", "Status: pending\n");
    let mut reader = vibe.host();
    for uri in [TASK, "vibe://projects", "vibe://projects/demo"] {
        assert_eq!(reader.request("resources/subscribe", json!({ "uri": uri })), json!({}));
    }
    vibe.set("1", "done");
    assert_eq!(heard(&mut reader, 3), [updated("vibe://projects"), updated("vibe://projects/demo"), updated(TASK)]);
    vibe.set("1", "done");
    assert_eq!(heard(&mut reader, 0), [], "nothing has changed");
    vibe.task("b");
    let appeared = ("list_changed".to_owned(), Value::Null);
    assert_eq!(heard(&mut reader, 3), [updated("vibe://projects"), updated("vibe://projects/demo"), appeared]);
    vibe.call("update_doc", json!({ "project": "demo", "folder": "tasks", "filename": "001-a.md", "content": "x" }));
    assert_eq!(heard(&mut reader, 3).last(), Some(&updated(TASK)));
    reader.close();
}

#[test]
fn a_uri_is_told_as_the_host_spelt_it() {
    let mut vibe = Vibe::with("demo/plans/año nuevo.md", "x\n");
    let mut reader = vibe.host();
    for uri in ["vibe://projects/demo/plans/a%C3%B1o%20nuevo.md", "vibe://projects/demo/plans/año nuevo.md"] {
        reader.request("resources/subscribe", json!({ "uri": uri }));
        let document = json!({ "project": "demo", "folder": "plans", "filename": "año nuevo.md", "content": uri });
        vibe.call("update_doc", document);
        assert_eq!(heard(&mut reader, 1), [updated(uri)]);
        reader.request("resources/unsubscribe", json!({ "uri": uri }));
    }
    reader.close();
}

#[test]
fn modern_hosts_hear_what_they_listen_to() {
    let mut vibe = Vibe::with("demo/tasks/001-a.md", "Status: pending\n");
    let mut reader = vibe.home.connect(&["--only", "vibe"]);
    reader.go_modern();
    let filter = json!({ "notifications": { "resourceSubscriptions": [TASK] } });
    reader.send("subscriptions/listen", filter);
    let acknowledged = reader.next_message();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
    vibe.task("other");
    vibe.set("1", "done");
    let message = reader.next_message();
    assert_eq!(
        (&message["method"], &message["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!(TASK))
    );
    reader.close();
}
