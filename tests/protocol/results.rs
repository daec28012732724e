//! What a tool answers, good or bad: structured content and text, each complete by itself.

use serde_json::json;
use trellis_tests::harness::Home;

#[test]
fn both_channels_say_the_same() {
    let home = Home::with_fixtures();
    let mut client = home.host(&["--only", "fixture"]);
    let result = client.call("get_line", json!({ "play": "忠臣蔵" }));
    let expected = json!({ "play": "忠臣蔵", "line": 1, "text": "嘉肴ありといへども" });
    assert_eq!(result["structuredContent"], expected);
    assert_eq!(result["content"], json!([{ "type": "text", "text": expected.to_string() }]));
    assert_eq!(result["isError"], false);
}

#[test]
fn a_text_alone_has_no_structured_content() {
    let home = Home::with_fixtures();
    let mut client = home.host(&["--only", "fixture"]);
    let result = client.call("text_answer", json!({}));
    assert_eq!(result["content"], json!([{ "type": "text", "text": "(text)" }]));
    assert!(result.get("structuredContent").is_none());
}

#[test]
fn a_failure_has_a_code_a_message_with_the_next_step_and_details() {
    let home = Home::with_fixtures();
    let mut client = home.host(&[]);
    insta::assert_json_snapshot!("envelope_error", client.call("fixture_get_line", json!({ "play": "Macbeth" })));
    insta::assert_json_snapshot!(
        "envelope_error_and_top",
        client.call("vault_read", json!({ "path": "/x", "full": true }))
    );
}
