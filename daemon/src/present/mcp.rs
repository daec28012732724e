//! Answers and failures as results of MCP tools: structured content and, each complete by itself,
//! the same JSON as text.

use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Map, Value, json};
use trellis_protocol::{Failure, FailureKind};

use super::result_body::ResultBody;
use super::{error_body, error_object, sentence};
use crate::families::ErrorFormat;
use crate::families::{Answer, Body};

/// A tool's answer: its result, with blanks, and what belongs into them.
pub fn tool_result(answer: Answer) -> (CallToolResult, ResultBody) {
    let is_object = matches!(answer.body, Body::Object(_));
    let meta = (!answer.meta.is_empty()).then_some(MetaObject(answer.meta));
    let result_body = ResultBody(answer.body);
    let mut result = result_body.placeholder().with_meta(meta);
    if !is_object {
        // Text that a contract fixes comes without a word on whether it is an error.
        result.is_error = None;
    }
    (result, result_body)
}

/// A failure in the form that the family's contract gives it.
pub fn error_result(failure: &Failure, error_format: ErrorFormat) -> CallToolResult {
    match error_format {
        ErrorFormat::Text => CallToolResult::error(vec![ContentBlock::text(sentence(failure))]),
        ErrorFormat::Error => CallToolResult::structured_error(error_body(failure)),
        ErrorFormat::ErrorAndTop => {
            let (error, code, message) = (error_object(failure), &failure.code, sentence(failure));
            CallToolResult::structured_error(json!({ "error": error, "code": code, "message": message }))
        }
        ErrorFormat::Success => {
            CallToolResult::structured_error(json!({ "success": false, "error": error_object(failure) }))
        }
        ErrorFormat::Numbered => CallToolResult::structured_error(numbered_error(failure)),
    }
}

/// The same result, with what the session should know besides.
pub fn with_warnings(mut result: CallToolResult, warnings: Vec<String>) -> CallToolResult {
    if !warnings.is_empty() {
        let meta = result.meta.get_or_insert_with(|| MetaObject(Map::new()));
        meta.0.insert("trellis/warnings".to_owned(), warnings.into());
    }
    result
}

/// `{"success": false, "error": {code, name, message, data, hint}}`
pub fn numbered_error(failure: &Failure) -> Value {
    let told = failure.code.parse::<i64>().ok();
    let code = told.unwrap_or(if failure.kind == FailureKind::Internal { INTERNAL } else { BRIDGE });
    let mut error = Map::new();
    error.insert("code".into(), code.into());
    if let Some(name) = number_name(code) {
        error.insert("name".into(), name.into());
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

/// What a number is called.
pub(super) fn number_name(code: i64) -> Option<&'static str> {
    Some(match code {
        -32700 => "Parse error",
        -32600 => "Invalid Request",
        -32601 => "Method not found",
        -32602 => "Invalid params",
        INTERNAL => "Internal error",
        1001 => "VALIDATION_ERROR",
        1002 => "TASK_NOT_FOUND",
        BRIDGE => "BRIDGE_ERROR",
        1004 => "SYNC_ERROR",
        1005 => "AUTH_ERROR",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error_format: ErrorFormat, expected: &Value) {
        let failure = Failure::new("not_found", FailureKind::Missing, "no file `a`")
            .with_hint("list with vault_ls")
            .with_details(json!({ "path": "a" }));
        let result = serde_json::to_value(error_result(&failure, error_format)).expect("serialises");
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
        check(ErrorFormat::Error, &json!({ "error": error }));
        check(ErrorFormat::ErrorAndTop, &json!({ "error": error, "code": "not_found", "message": message }));
        check(ErrorFormat::Success, &json!({ "success": false, "error": error }));
        check(ErrorFormat::Text, &Value::Null);
    }

    #[test]
    fn numbers_have_names_and_every_failure_has_a_number() {
        for (code, kind, number, name) in [
            ("1001", FailureKind::Input, 1001, "VALIDATION_ERROR"),
            ("1002", FailureKind::Missing, 1002, "TASK_NOT_FOUND"),
            ("1003", FailureKind::Unreadable, 1003, "BRIDGE_ERROR"),
            ("1004", FailureKind::Unavailable, 1004, "SYNC_ERROR"),
            ("1005", FailureKind::Refused, 1005, "AUTH_ERROR"),
        ] {
            let failure = Failure::new(code, kind, "m").with_hint("Do it.").with_details(json!({ "field": "a" }));
            let error =
                json!({ "code": number, "name": name, "message": "m", "data": { "field": "a" }, "hint": "Do it." });
            let body = numbered_error(&failure);
            assert_eq!(body.to_string(), json!({ "success": false, "error": error }).to_string());
        }
        let late = numbered_error(
            &Failure::new("timeout", FailureKind::Unavailable, "m").with_details(json!({ "seconds": 30 })),
        );
        assert_eq!((&late["error"]["code"], &late["error"]["name"]), (&json!(1003), &json!("BRIDGE_ERROR")));
        assert_eq!(late["error"]["data"], json!({ "seconds": 30, "reason": "timeout" }));
        assert!(late["error"]["hint"].is_string());
        let ours = numbered_error(&Failure::internal("m"));
        assert_eq!((&ours["error"]["code"], &ours["error"]["name"]), (&json!(-32603), &json!("Internal error")));
        assert_eq!(ours["error"]["data"], json!({ "reason": "internal" }));
    }

    #[test]
    fn an_answer_is_complete_in_both_channels() {
        let tool_result = |answer: Answer| {
            let (result, result_body) = tool_result(answer);
            result_body.fill(result)
        };
        let result = serde_json::to_value(tool_result(Answer::object(json!({ "b": 1, "a": 2 })))).expect("serialises");
        assert_eq!(result["content"][0]["text"], r#"{"b":1,"a":2}"#);
        assert_eq!(result["structuredContent"], json!({ "b": 1, "a": 2 }));
        assert_eq!(result["isError"], false);
        for text in [Answer::text("x"), Answer::pretty(json!([]))] {
            let text = serde_json::to_value(tool_result(text)).expect("serialises");
            assert!(text.get("structuredContent").is_none() && text.get("isError").is_none());
        }
        let pretty = serde_json::to_value(tool_result(Answer::pretty(json!({ "a": [] })))).expect("serialises");
        assert_eq!(pretty["content"][0]["text"], "{\n  \"a\": []\n}");
        assert_eq!(pretty["structuredContent"], json!({ "a": [] }));
    }
}
