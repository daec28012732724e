//! Answers and failures as results of MCP tools: structured content and, each complete by itself,
//! the same JSON as text.

use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Map, Value, json};
use trellis_protocol::Failure;

use super::{error_body, error_object, sentence};
use crate::families::Envelope;
use crate::tools::{Answer, Body};

/// A tool's answer.
pub fn answered(answer: Answer) -> CallToolResult {
    let result = match answer.body {
        Body::Object(object) => CallToolResult::structured(Value::Object(object)),
        Body::Text(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
    };
    result.with_meta(meta(answer.meta))
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

fn numbered(failure: &Failure) -> Value {
    let code = failure.code.parse::<i64>().map_or_else(|_| Value::from(failure.code.as_ref()), Value::from);
    json!({ "error": { "code": code, "message": failure.message, "data": failure.details, "hint": failure.hint } })
}

fn meta(meta: Map<String, Value>) -> Option<MetaObject> {
    (!meta.is_empty()).then_some(MetaObject(meta))
}

#[cfg(test)]
mod tests {
    use trellis_protocol::Kind;

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
    fn an_answer_is_complete_in_both_channels() {
        let result = serde_json::to_value(answered(Answer::object(json!({ "b": 1, "a": 2 })))).expect("serialises");
        assert_eq!(result["content"][0]["text"], r#"{"b":1,"a":2}"#);
        assert_eq!(result["structuredContent"], json!({ "b": 1, "a": 2 }));
        assert_eq!(result["isError"], false);
        let text = serde_json::to_value(answered(Answer::text("x"))).expect("serialises");
        assert!(text.get("structuredContent").is_none());
    }
}
