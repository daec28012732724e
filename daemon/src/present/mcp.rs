//! Answers and failures as results of MCP tools: structured content and, each complete by itself,
//! the same JSON as text.

use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Map, Value, json};
use trellis_protocol::{Failure, Kind};

use super::rendered::Rendered;
use super::{error_body, error_object, sentence};
use crate::families::Envelope;
use crate::tools::{Answer, Body};

/// A tool's answer: its result, with blanks, and what belongs into them.
pub fn answered(answer: Answer) -> (CallToolResult, Rendered) {
    let is_object = matches!(answer.body, Body::Object(_));
    let rendered = Rendered(answer.body);
    let mut result = rendered.blank().with_meta(meta(answer.meta));
    if !is_object {
        // Text that a contract fixes comes without a word on whether it is an error.
        result.is_error = None;
    }
    (result, rendered)
}

/// A failure in the form that the family's contract gives it.
pub fn failed(failure: &Failure, envelope: Envelope) -> CallToolResult {
    match envelope {
        Envelope::Text => CallToolResult::error(vec![ContentBlock::text(sentence(failure))]),
        Envelope::Error => CallToolResult::structured_error(error_body(failure)),
        Envelope::ErrorAndTop => CallToolResult::structured_error(error_and_top(failure)),
        Envelope::Success => CallToolResult::structured_error(unsuccessful(failure)),
        Envelope::Numbered => CallToolResult::structured_error(numbered(failure)),
    }
}

/// The same result, with what the session should know besides.
pub fn warned(mut result: CallToolResult, warnings: Vec<String>) -> CallToolResult {
    if !warnings.is_empty() {
        let meta = result.meta.get_or_insert_with(|| MetaObject(Map::new()));
        meta.0.insert("trellis/warnings".to_owned(), warnings.into());
    }
    result
}

fn error_and_top(failure: &Failure) -> Value {
    let error = error_object(failure);
    json!({ "error": error, "code": failure.code, "message": sentence(failure) })
}

fn unsuccessful(failure: &Failure) -> Value {
    json!({ "success": false, "error": error_object(failure) })
}

/// `{"success": false, "error": {code, name, message, data, hint}}`
pub fn numbered(failure: &Failure) -> Value {
    let told = failure.code.parse::<i64>().ok();
    let code = told.unwrap_or(if failure.kind == Kind::Internal { INTERNAL } else { BRIDGE });
    let mut error = Map::new();
    error.insert("code".into(), code.into());
    if let Some((_, name)) = NAMES.iter().find(|(number, _)| *number == code) {
        error.insert("name".into(), (*name).into());
    }
    error.insert("message".into(), failure.message.as_str().into());
    let mut data = failure.details.clone();
    if told.is_none() {
        // What stopped the call was none of the family's rules: which it was is for programs to know.
        data = if data.is_object() { data } else { json!({}) };
        data["reason"] = failure.code.as_ref().into();
    }
    error.insert("data".into(), data);
    error.insert("hint".into(), failure.hint.as_deref().unwrap_or("Try again, and look at `trellisd status`.").into());
    json!({ "success": false, "error": error })
}

const INTERNAL: i64 = -32603;
const BRIDGE: i64 = 1003;

/// What the numbers are called.
const NAMES: [(i64, &str); 6] = [
    (INTERNAL, "Internal error"),
    (1001, "VALIDATION_ERROR"),
    (1002, "TASK_NOT_FOUND"),
    (BRIDGE, "BRIDGE_ERROR"),
    (1004, "SYNC_ERROR"),
    (1005, "AUTH_ERROR"),
];

fn meta(meta: Map<String, Value>) -> Option<MetaObject> {
    (!meta.is_empty()).then_some(MetaObject(meta))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(envelope: Envelope, expected: &Value) {
        let failure = Failure::new("not_found", Kind::Missing, "no file `a`")
            .with_hint("list with vault_ls")
            .with_details(json!({ "path": "a" }));
        let result = serde_json::to_value(failed(&failure, envelope)).expect("serialises");
        assert_eq!(result["isError"], true);
        assert_eq!(&result["structuredContent"], expected);
        let text = result["content"][0]["text"].as_str().expect("text");
        if !expected.is_null() {
            assert_eq!(&serde_json::from_str::<Value>(text).expect("JSON"), expected);
        }
    }

    #[test]
    fn each_envelope_has_its_form() {
        let message = "no file `a`; list with vault_ls";
        let error = json!({ "code": "not_found", "message": message, "details": { "path": "a" } });
        check(Envelope::Error, &json!({ "error": error }));
        check(Envelope::ErrorAndTop, &json!({ "error": error, "code": "not_found", "message": message }));
        check(Envelope::Success, &json!({ "success": false, "error": error }));
        check(Envelope::Text, &Value::Null);
    }

    #[test]
    fn numbers_have_names_and_every_failure_has_a_number() {
        for (code, kind, number, name) in [
            ("1001", Kind::Input, 1001, "VALIDATION_ERROR"),
            ("1002", Kind::Missing, 1002, "TASK_NOT_FOUND"),
            ("1003", Kind::Unreadable, 1003, "BRIDGE_ERROR"),
            ("1004", Kind::Unavailable, 1004, "SYNC_ERROR"),
            ("1005", Kind::Refused, 1005, "AUTH_ERROR"),
        ] {
            let failure = Failure::new(code, kind, "m").with_hint("Do it.").with_details(json!({ "field": "a" }));
            let error =
                json!({ "code": number, "name": name, "message": "m", "data": { "field": "a" }, "hint": "Do it." });
            let body = numbered(&failure);
            assert_eq!(body.to_string(), json!({ "success": false, "error": error }).to_string());
        }
        let late = numbered(&Failure::new("timeout", Kind::Unavailable, "m").with_details(json!({ "seconds": 30 })));
        assert_eq!((&late["error"]["code"], &late["error"]["name"]), (&json!(1003), &json!("BRIDGE_ERROR")));
        assert_eq!(late["error"]["data"], json!({ "seconds": 30, "reason": "timeout" }));
        assert!(late["error"]["hint"].is_string());
        let ours = numbered(&Failure::internal("m"));
        assert_eq!((&ours["error"]["code"], &ours["error"]["name"]), (&json!(-32603), &json!("Internal error")));
        assert_eq!(ours["error"]["data"], json!({ "reason": "internal" }));
    }

    #[test]
    fn an_answer_is_complete_in_both_channels() {
        let answered = |answer: Answer| {
            let (result, rendered) = answered(answer);
            rendered.fill(result)
        };
        let result = serde_json::to_value(answered(Answer::object(json!({ "b": 1, "a": 2 })))).expect("serialises");
        assert_eq!(result["content"][0]["text"], r#"{"b":1,"a":2}"#);
        assert_eq!(result["structuredContent"], json!({ "b": 1, "a": 2 }));
        assert_eq!(result["isError"], false);
        for text in [Answer::text("x"), Answer::pretty(json!([]))] {
            let text = serde_json::to_value(answered(text)).expect("serialises");
            assert!(text.get("structuredContent").is_none() && text.get("isError").is_none());
        }
        let pretty = serde_json::to_value(answered(Answer::pretty(json!({ "a": [] })))).expect("serialises");
        assert_eq!(pretty["content"][0]["text"], "{\n  \"a\": []\n}");
        assert_eq!(pretty["structuredContent"], json!({ "a": [] }));
    }
}
