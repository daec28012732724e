//! Prompts, and the values that fit their arguments.

use serde_json::{Value, json};
use trellis_tests::harness::Home;

#[test]
fn prompts_are_listed_with_their_arguments() {
    let home = Home::with_fixtures();
    let mut client = home.host(&["--only", "fixture"]);
    insta::assert_json_snapshot!(client.request("prompts/list", json!({}))["prompts"]);
}

#[test]
fn a_prompt_is_a_text_of_the_user() {
    let home = Home::with_fixtures();
    let mut client = home.host(&[]);
    let mut text = |arguments: Value| {
        let result = client.request("prompts/get", json!({ "name": "audition", "arguments": arguments }));
        assert_eq!(result["messages"][0]["role"], "user");
        assert_eq!(result["messages"][0]["content"]["type"], "text");
        result["messages"][0]["content"]["text"].clone()
    };
    assert_eq!(text(json!({ "play": "sueño" })), "Recite in Español: Hipogrifo violento");
    assert_eq!(text(json!({ "play": "hamlet", "language": "日本語" })), "Recite in 日本語: Who's there?");
}

#[test]
fn what_is_missing_or_unknown_is_named() {
    let home = Home::with_fixtures();
    let mut client = home.host(&[]);
    let mut refused = |params: Value, named: &str| {
        let error = client.ask("prompts/get", params)["error"].clone();
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(named)), "{error}");
        error["data"]["code"].clone()
    };
    assert_eq!(refused(json!({ "name": "audition" }), "`play`"), "invalid_argument");
    assert_eq!(refused(json!({ "name": "audition", "arguments": { "language": "x" } }), "`play`"), "invalid_argument");
    assert_eq!(refused(json!({ "name": "none" }), "`none`"), "not_found");
    assert_eq!(refused(json!({ "name": "audition", "arguments": { "play": "Macbeth" } }), "`Macbeth`"), "NO_SUCH_PLAY");
}

#[test]
fn arguments_are_completed_with_what_was_chosen_before_in_mind() {
    let home = Home::with_fixtures();
    let mut client = home.host(&[]);
    let mut complete = |name: &str, value: &str, others: Value| {
        let reference = json!({ "type": "ref/prompt", "name": "audition" });
        let argument = json!({ "name": name, "value": value });
        let params = json!({ "ref": reference, "argument": argument, "context": { "arguments": others } });
        client.request("completion/complete", params)["completion"]["values"].clone()
    };
    assert_eq!(complete("play", "", json!({})), json!(["hamlet", "fuenteovejuna", "sueño", "忠臣蔵"]));
    assert_eq!(complete("play", "", json!({ "language": "Español" })), json!(["fuenteovejuna", "sueño"]));
    assert_eq!(complete("play", "s", json!({ "language": "Español" })), json!(["sueño"]));
    assert_eq!(complete("language", "Espa", json!({})), json!(["Español"]));
    assert_eq!(complete("language", "日", json!({})), json!(["日本語"]));
    assert_eq!(complete("unknown", "", json!({})), json!([]));
    let reference = json!({ "type": "ref/prompt", "name": "none" });
    let params = json!({ "ref": reference, "argument": { "name": "play", "value": "" } });
    assert_eq!(client.ask("completion/complete", params)["error"]["code"], -32602);
}

#[test]
fn a_surface_without_prompts_does_not_offer_them() {
    let home = Home::with_fixtures();
    let with = home.connect(&["--only", "fixture"]).initialize("2025-11-25");
    assert!(with["capabilities"]["prompts"].is_object());
    let mut client = home.connect(&["--only", "vault"]);
    let without = client.initialize("2025-11-25");
    assert!(without["capabilities"].get("prompts").is_none(), "{without}");
    for (method, params) in [("prompts/list", json!({})), ("prompts/get", json!({ "name": "audition" }))] {
        assert_eq!(client.ask(method, params)["error"]["code"], -32601, "{method}");
    }
}
