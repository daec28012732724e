//! The little that both sides read of a JSON-RPC message: its kind, id, method and cancel target.
//!
//! Bytes come in; a [`MessageHead`] or a [`MalformedMessage`] with its ready answer goes out. Parameters are looked at
//! only where a session must be able to repeat or forget something.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Strings longer than this are no ids.
pub const MAX_ID_BYTES: usize = 1 << 10;

/// JSON-RPC: the text is no JSON.
pub const PARSE_ERROR: i32 = -32700;
/// JSON-RPC: the JSON is no message.
pub const INVALID_REQUEST: i32 = -32600;
/// JSON-RPC: nobody knows that method.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// JSON-RPC: the parameters do not fit the method.
pub const INVALID_PARAMS: i32 = -32602;
/// JSON-RPC: the fault is ours.
pub const INTERNAL_ERROR: i32 = -32603;
/// JSON-RPC, ours to use: nothing is wrong with the request, but it cannot be served now.
pub const SERVER_ERROR: i32 = -32000;

/// What a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageHead<'a> {
    /// Wants an answer.
    Request {
        /// As the sender wrote it, to be given back byte for byte.
        id: &'a str,
        /// What it asks for.
        method: Cow<'a, str>,
        /// The raw parameters, if any.
        params: Option<&'a str>,
    },
    Notification {
        /// What it tells.
        method: Cow<'a, str>,
        /// The raw parameters, if any.
        params: Option<&'a str>,
    },
    /// Answers a request of the other side.
    Response {
        /// As the other side wrote it.
        id: &'a str,
    },
}

/// Why some bytes are no message, and what to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MalformedMessage {
    /// Not JSON, or not UTF-8.
    NotJson,
    Batch,
    /// JSON, but not a JSON-RPC message.
    NotAMessage,
    /// An id that is neither an integer nor a string of at most [`MAX_ID_BYTES`] bytes.
    BadId,
    /// Over the size limit.
    TooLong,
}

impl MalformedMessage {
    /// The code of the answer.
    pub fn code(self) -> i32 {
        match self {
            Self::NotJson => PARSE_ERROR,
            Self::Batch | Self::NotAMessage | Self::BadId | Self::TooLong => INVALID_REQUEST,
        }
    }

    /// The sentence of the answer.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NotJson => "this line is not valid JSON: send one JSON-RPC message per line, in UTF-8",
            Self::Batch => "batches are not supported: send one JSON-RPC message per line",
            Self::NotAMessage => {
                "this is JSON but not a JSON-RPC 2.0 message: it needs `jsonrpc`, and `method` or a result"
            }
            Self::BadId => "the id must be an integer or a string of at most 1024 bytes",
            Self::TooLong => "the message is over the limit of 16 MiB and was not read: send less at once",
        }
    }

    /// The whole answer; its id is null, since the message had none that could be trusted.
    pub fn answer(self) -> Vec<u8> {
        error_answer("null", self.code(), self.sentence(), None)
    }
}

/// An error answer as one line of JSON, without the newline. `id` and `data` are raw JSON.
pub fn error_answer(id: &str, code: i32, message: &str, data: Option<&str>) -> Vec<u8> {
    let message = quoted(message);
    match data {
        Some(data) => {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message},"data":{data}}}}}"#)
        }
        None => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#),
    }
    .into_bytes()
}

/// A result as one line of JSON, without the newline. `id` and `result` are raw JSON.
pub fn result_answer(id: &str, result: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes()
}

/// Some text as a JSON string, with its quotes.
pub fn quoted(text: &str) -> String {
    // The quick way to a string: a `Value` would bring all of its machinery into the proxy.
    serde_json::to_string(text).unwrap_or_else(|_| r#""""#.to_owned())
}

#[derive(Deserialize)]
struct JsonRpcFields<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Looks at a message.
pub fn read_head(bytes: &[u8]) -> Result<MessageHead<'_>, MalformedMessage> {
    let text = str::from_utf8(bytes).map_err(|_| MalformedMessage::NotJson)?;
    let fields: JsonRpcFields<'_> = match serde_json::from_str(text) {
        Ok(fields) => fields,
        Err(error) if error.is_data() => return Err(classify_malformed(text)),
        Err(_) => return Err(MalformedMessage::NotJson),
    };
    if fields.jsonrpc.as_deref() != Some("2.0") {
        return Err(MalformedMessage::NotAMessage);
    }
    let id = fields.id.map(RawValue::get).map(checked_id).transpose()?;
    let params = fields.params.map(RawValue::get);
    match (fields.method, id) {
        (Some(method), Some(id)) => Ok(MessageHead::Request { id, method, params }),
        (Some(method), None) if has_no_id(text) => Ok(MessageHead::Notification { method, params }),
        (Some(_), None) => Err(MalformedMessage::BadId),
        (None, Some(id)) if fields.result.is_some() || fields.error.is_some() => Ok(MessageHead::Response { id }),
        (None, _) => Err(MalformedMessage::NotAMessage),
    }
}

/// The text has the wrong shape at the top; an array is told apart, and so is text that only begins well.
fn classify_malformed(text: &str) -> MalformedMessage {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Err(_) => MalformedMessage::NotJson,
        Ok(_) if text.trim_start().starts_with('[') => MalformedMessage::Batch,
        Ok(_) => MalformedMessage::NotAMessage,
    }
}

/// serde reads `"id": null` as an absent id; a request with one is refused, not taken for a notification.
fn has_no_id(text: &str) -> bool {
    #[derive(Deserialize)]
    struct OnlyId {
        #[serde(default, deserialize_with = "present")]
        id: bool,
    }
    fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| true)
    }
    serde_json::from_str::<OnlyId>(text).is_ok_and(|only| !only.id)
}

fn checked_id(raw: &str) -> Result<&str, MalformedMessage> {
    let fits = match raw.as_bytes() {
        [b'"', ..] => raw.len() <= MAX_ID_BYTES + 2 && serde_json::from_str::<String>(raw).is_ok(),
        _ => raw.parse::<i64>().is_ok(),
    };
    if fits { Ok(raw) } else { Err(MalformedMessage::BadId) }
}

/// Whether an answer says that its request failed.
pub fn is_error(answer: &[u8]) -> bool {
    let fields = str::from_utf8(answer).ok().and_then(|text| serde_json::from_str::<JsonRpcFields<'_>>(text).ok());
    fields.is_some_and(|fields| fields.error.is_some())
}

/// The few parameters that are ever looked at; one type for all, so that there is one parser.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Params<'a> {
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    protocol_version: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    fn of(params: Option<&'a str>) -> Self {
        params.and_then(|params| serde_json::from_str(params).ok()).unwrap_or_default()
    }
}

fn text(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

/// The request that a `notifications/cancelled` names, as raw JSON.
pub fn cancel_target(params: Option<&str>) -> Option<String> {
    Params::of(params).request_id.map(|id| id.get().to_owned())
}

/// The `uri` of a subscription.
pub fn uri_of(params: Option<&str>) -> Option<String> {
    text(Params::of(params).uri)
}

/// The revision that an `initialize` asks for.
pub fn asked_version(params: Option<&str>) -> Option<String> {
    text(Params::of(params).protocol_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<MessageHead<'_>, MalformedMessage>) {
        assert_eq!(read_head(text.as_bytes()), expected, "{text}");
    }

    #[test]
    fn requests_notifications_and_responses_are_told_apart() {
        check(
            r#"{"jsonrpc":"2.0","id":"a b","method":"ping"}"#,
            Ok(MessageHead::Request { id: r#""a b""#, method: "ping".into(), params: None }),
        );
        check(
            r#" {"method":"x","params":{"a":[1]},"id":-5,"jsonrpc":"2.0"} "#,
            Ok(MessageHead::Request { id: "-5", method: "x".into(), params: Some(r#"{"a":[1]}"#) }),
        );
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            Ok(MessageHead::Notification { method: "notifications/initialized".into(), params: None }),
        );
        check(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#, Ok(MessageHead::Response { id: "3" }));
        check(r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":""}}"#, Ok(MessageHead::Response { id: "3" }));
    }

    #[test]
    fn what_is_no_message_has_its_fault() {
        for text in ["", "{", "nonsense", r#"{"jsonrpc":"2.0","id":1,"method":"x"} trailing"#, "{\"a\":\u{1}}"] {
            check(text, Err(MalformedMessage::NotJson));
        }
        assert_eq!(read_head(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"), Err(MalformedMessage::NotJson));
        check("[]", Err(MalformedMessage::Batch));
        check(r#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#, Err(MalformedMessage::Batch));
        for text in ["1", "null", r#""x""#, "{}", r#"{"id":1,"method":"x"}"#, r#"{"jsonrpc":"2.0","id":1}"#] {
            check(text, Err(MalformedMessage::NotAMessage));
        }
        check(r#"{"jsonrpc":"2.0","id":1,"method":7}"#, Err(MalformedMessage::NotAMessage));
        for id in ["null", "1.5", "true", "{}", "[1]", "99999999999999999999"] {
            check(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x"}}"#), Err(MalformedMessage::BadId));
        }
        let long = "x".repeat(MAX_ID_BYTES + 1);
        check(&format!(r#"{{"jsonrpc":"2.0","id":"{long}","method":"x"}}"#), Err(MalformedMessage::BadId));
        check(r#"{"jsonrpc":"2.0","id":"\ud800","method":"x"}"#, Err(MalformedMessage::BadId));
    }

    #[test]
    fn deep_nesting_is_passed_over_without_recursion() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{deep}}}"#);
        assert!(matches!(read_head(text.as_bytes()), Ok(MessageHead::Request { id: "1", .. })));
    }

    #[test]
    fn targets_are_found() {
        assert_eq!(cancel_target(Some(r#"{"requestId":"7","reason":"x"}"#)).as_deref(), Some(r#""7""#));
        assert_eq!(cancel_target(Some("{}")), None);
        assert_eq!(uri_of(Some(r#"{"uri":"a:b"}"#)).as_deref(), Some("a:b"));
        assert_eq!(uri_of(Some(r#"{"uri":7}"#)), None);
        assert_eq!(asked_version(Some(r#"{"protocolVersion":"2025-06-18","x":[]}"#)).as_deref(), Some("2025-06-18"));
        assert_eq!((asked_version(Some("[1]")), asked_version(None)), (None, None));
    }

    #[test]
    fn answers_are_json() {
        let answer: serde_json::Value = serde_json::from_slice(&MalformedMessage::Batch.answer()).expect("JSON");
        assert_eq!(answer["error"]["code"], INVALID_REQUEST);
        assert!(answer["id"].is_null());
        assert!(is_error(&MalformedMessage::Batch.answer()));
        assert!(!is_error(&result_answer("1", "{}")) && !is_error(b"nonsense"));
        assert_eq!(quoted("a\"\n"), r#""a\"\n""#);
    }
}
