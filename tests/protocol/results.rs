//! What a tool answers, good or bad: structured content and text, each complete by itself.

use serde_json::json;
use trellis_tests::harness::Home;

#[test]
fn both_channels_say_the_same() {
    let home = Home::rehearsing();
    let mut client = home.host(&["--only", "rehearsal"]);
    let result = client.call("recite", json!({ "play": "忠臣蔵" }));
    let expected = json!({ "play": "忠臣蔵", "line": 1, "text": "嘉肴ありといへども" });
    assert_eq!(result["structuredContent"], expected);
    assert_eq!(result["content"], json!([{ "type": "text", "text": expected.to_string() }]));
    assert_eq!(result["isError"], false);
}

#[test]
fn a_text_alone_has_no_structured_content() {
    let home = Home::rehearsing();
    let mut client = home.host(&["--only", "rehearsal"]);
    let result = client.call("bow", json!({}));
    assert_eq!(result["content"], json!([{ "type": "text", "text": "(bows)" }]));
    assert!(result.get("structuredContent").is_none());
}

#[test]
fn a_failure_has_a_code_a_message_with_the_next_step_and_details() {
    let home = Home::rehearsing();
    let mut client = home.host(&[]);
    insta::assert_json_snapshot!("envelope_error", client.call("rehearsal_recite", json!({ "play": "Macbeth" })));
    insta::assert_json_snapshot!(
        "envelope_error_and_top",
        client.call("vault_read", json!({ "path": "/x", "full": true }))
    );
}
