//! Answers and failures as statuses and JSON bodies of the gateway.
//!
//! A tool's object goes out as it is. Every failure, a tool's or the gateway's own, has one shape:
//! `{"success": false, "error": {code, name, message, data?, hint?}}`.

use serde_json::{Value, json};
use trellis_protocol::{Failure, FailureKind};

use super::mcp::{number_name, numbered_error};
use crate::families::ErrorFormat;
use crate::families::{Answer, Body};
use crate::text::json::Json;
use crate::tools::ToolError;

/// What goes wrong before or beside a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpError {
    /// The body is no JSON.
    NotJson,
    /// The body, or the request as a whole, is not what is asked for.
    Request {
        /// 400, 408, 413, 415, 417 or 431.
        status: u16,
        /// What is wrong with it.
        message: String,
    },
    /// A tool is named wrongly, or given something that is no object.
    Parameters(String),
    /// There is no such tool.
    NoTool(String),
    /// There is nothing at that path.
    NoPath,
    /// There is, but not for that method.
    NoMethod,
    /// No good credentials.
    Credentials,
    /// Wrong ones again and again, from the same place.
    TooManyWrong {
        /// How long to wait.
        seconds: u64,
    },
    /// A web page that may not call us.
    Origin,
    /// A name that is not ours.
    Host,
    /// Synchronising failed for another reason than the bridge file.
    Sync(String),
    /// Too many at once, or about to leave.
    Busy,
    /// Something that should not happen; the log says more.
    Internal,
}

impl HttpError {
    /// A request that is not what is asked for.
    pub fn request(status: u16, message: impl Into<String>) -> Self {
        Self::Request { status, message: message.into() }
    }

    /// The status of the answer.
    pub fn status(&self) -> u16 {
        match self {
            Self::NotJson | Self::Parameters(_) => 400,
            Self::Request { status, .. } => *status,
            Self::NoTool(_) | Self::NoPath => 404,
            Self::NoMethod => 405,
            Self::Credentials => 401,
            Self::TooManyWrong { .. } => 429,
            Self::Origin => 403,
            Self::Host => 421,
            Self::Sync(_) | Self::Internal => 500,
            Self::Busy => 503,
        }
    }

    /// The body of the answer.
    pub fn body(&self) -> Value {
        match self {
            Self::NotJson => error(-32700, "the body is not JSON in UTF-8", None, None),
            Self::Request { message, .. } => error(-32600, message, None, None),
            Self::Parameters(message) => error(-32602, message, None, None),
            Self::NoTool(name) => {
                let name: String = name.chars().take(80).collect();
                let data = json!({ "tool": name });
                error(-32601, &format!("there is no tool `{name}`"), Some(data), Some("ask for the list: GET /tools"))
            }
            Self::NoPath => error(-32601, "there is nothing at this path", None, None),
            Self::NoMethod => error(-32601, "this path does not answer that method", None, None),
            Self::Credentials => {
                let hint = "send a key in `X-API-Key`, or a token in `Authorization: Bearer`";
                error(1005, "authentication required", None, Some(hint))
            }
            Self::TooManyWrong { seconds } => {
                let data = json!({ "seconds": seconds });
                let hint = format!("wait {seconds} seconds, or send a good key or token, which is never refused");
                error(1005, "too many wrong credentials came from this address", Some(data), Some(&hint))
            }
            Self::Origin => {
                let hint = "add the page's origin to ALLOWED_ORIGINS";
                error(1005, "web pages of this origin may not call this server", None, Some(hint))
            }
            Self::Host => {
                let hint = "call it as localhost or 127.0.0.1, or add the name to ALLOWED_HOSTS";
                error(1005, "this server does not answer to that host name", None, Some(hint))
            }
            Self::Sync(message) => error(1004, message, None, Some("look at `trellisd status`, then try again")),
            Self::Busy => error(-32603, "too much is asked at once; try again in a moment", None, None),
            Self::Internal => error(-32603, INTERNAL, None, None),
        }
    }
}

const INTERNAL: &str = "something went wrong here; the log says more";

/// A tool's answer.
pub fn tool_response(answer: Answer) -> Json {
    match answer.body {
        Body::Object(json) | Body::Pretty(json) => json,
        Body::Text(text) => Json::of(&json!({ "text": text })),
    }
}

/// A tool's failure: the status and the body.
pub fn error_response(tool_error: &ToolError) -> (u16, Value) {
    let ToolError { failure, error_format } = tool_error;
    let status = status(failure);
    if failure.kind == FailureKind::Internal {
        tracing::error!(code = %failure.code, "a call failed; at level debug the log says with what");
        tracing::debug!("{}", failure.message);
        return (status, error(-32603, INTERNAL, None, None));
    }
    if *error_format == ErrorFormat::Numbered {
        return (status, numbered_error(failure));
    }
    let data = (!failure.details.is_null()).then(|| failure.details.clone());
    (status, error(failure.code.as_ref(), &failure.message, data, failure.hint.as_deref()))
}

fn status(failure: &Failure) -> u16 {
    match (failure.code.as_ref(), failure.kind) {
        ("1001", _) => 400,
        ("1002", _) => 404,
        ("1003" | "1004", _) => 500,
        // Nothing is wrong with the request or the files: the same call may do later.
        ("timeout" | "draining" | "not_applied" | "unavailable", FailureKind::Unavailable) => 503,
        ("UNREADABLE", _) => 500,
        (_, FailureKind::Missing) => 404,
        (_, FailureKind::Conflict) => 409,
        (_, FailureKind::Refused) => 403,
        (_, FailureKind::Unavailable | FailureKind::Internal) => 500,
        (_, FailureKind::Input | FailureKind::Unreadable) => 400,
    }
}

fn error(code: impl Into<Value>, message: &str, data: Option<Value>, hint: Option<&str>) -> Value {
    let code = code.into();
    let mut object = json!({ "code": code, "name": name(&code), "message": message });
    if let Some(data) = data {
        object["data"] = data;
    }
    if let Some(hint) = hint {
        object["hint"] = hint.into();
    }
    json!({ "success": false, "error": object })
}

/// Families with words for codes have no other name for them.
fn name(code: &Value) -> String {
    let number = code.as_i64().and_then(number_name);
    number.or_else(|| code.as_str()).map_or_else(|| code.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool_error(failure: Failure, error_format: ErrorFormat) -> ToolError {
        ToolError { failure, error_format }
    }

    #[track_caller]
    fn check(code: &'static str, kind: FailureKind, expected: u16) {
        let (status, body) = error_response(&tool_error(Failure::new(code, kind, "m"), ErrorFormat::Error));
        assert_eq!(status, expected, "{code} {kind:?}");
        assert_eq!(body["success"], false);
    }

    #[test]
    fn kinds_and_numbers_decide_the_status() {
        check("not_found", FailureKind::Missing, 404);
        check("CONFLICT", FailureKind::Conflict, 409);
        check("forbidden", FailureKind::Refused, 403);
        check("IO_ERROR", FailureKind::Unavailable, 500);
        check("timeout", FailureKind::Unavailable, 503);
        check("unavailable", FailureKind::Unavailable, 503);
        check("PARSE_ERROR", FailureKind::Unreadable, 400);
        check("invalid_parameter", FailureKind::Input, 400);
        check("internal", FailureKind::Internal, 500);
        check("1001", FailureKind::Refused, 400);
        check("1002", FailureKind::Missing, 404);
        check("1003", FailureKind::Unreadable, 500);
    }

    #[test]
    fn a_failure_has_the_shape_of_the_contract() {
        let failure = Failure::new("1001", FailureKind::Input, "title is empty")
            .with_hint("Send a title of 1 to 100 characters.")
            .with_details(json!({ "field": "title" }));
        let expected = r#"{"success":false,"error":{"code":1001,"name":"VALIDATION_ERROR","message":"title is empty","data":{"field":"title"},"hint":"Send a title of 1 to 100 characters."}}"#;
        assert_eq!(error_response(&tool_error(failure, ErrorFormat::Numbered)).1.to_string(), expected);
        let word = error_response(&tool_error(
            Failure::new("not_found", FailureKind::Missing, "no file `a`"),
            ErrorFormat::Success,
        ))
        .1;
        assert_eq!(word["error"], json!({ "code": "not_found", "name": "not_found", "message": "no file `a`" }));
    }

    #[test]
    fn what_went_wrong_inside_stays_inside() {
        let (status, body) =
            error_response(&tool_error(Failure::internal("a path and a stack"), ErrorFormat::Numbered));
        assert_eq!(status, 500);
        assert!(!body.to_string().contains("stack"));
        assert_eq!(body["error"]["code"], -32603);
    }

    #[test]
    fn answers_are_the_tool_s_own() {
        assert_eq!(tool_response(Answer::object(json!({ "b": 1 }))), Json::of(&json!({ "b": 1 })));
        assert_eq!(tool_response(Answer::text("x")), Json::of(&json!({ "text": "x" })));
        assert_eq!(tool_response(Answer::pretty(json!([1]))), Json::of(&json!([1])));
    }
}
