//! The one place where answers and failures are rendered: for MCP, for HTTP, for a terminal.

/// The long parts of a tool's result.
pub mod result_body;

/// As results of MCP tools.
pub mod mcp;

/// As statuses and bodies of the HTTP gateway.
pub mod http;

/// As lines on a terminal.
pub mod text;

use serde_json::{Map, Value, json};
use trellis_protocol::Failure;

/// What is wrong and what to do next, in one sentence.
pub fn sentence(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{}; {hint}", failure.message),
        None => failure.message.clone(),
    }
}

/// `{code, message, details?}`
fn error_object(failure: &Failure) -> Map<String, Value> {
    let mut error = Map::new();
    error.insert("code".into(), failure.code.as_ref().into());
    error.insert("message".into(), sentence(failure).into());
    if !failure.details.is_null() {
        error.insert("details".into(), failure.details.clone());
    }
    error
}

/// `{"error": {code, message, details?}}`
pub fn error_body(failure: &Failure) -> Value {
    json!({ "error": error_object(failure) })
}
