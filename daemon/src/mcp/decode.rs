//! Bytes → a message that rmcp can serve, or the answer to give instead.
//!
//! rmcp takes a known method with parameters it cannot read for an unknown method; here it is told
//! apart, so that a caller hears what is wrong with its parameters.

use rmcp::model::{
    CallToolRequest, ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta, JsonRpcMessage, JsonRpcRequest,
    RequestId,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use trellis_protocol::message::{
    self, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, MalformedMessage, MessageHead,
};

use super::revision::Meta;

/// Every request of every revision that we serve.
const METHODS: [&str; 15] = [
    "initialize",
    "server/discover",
    "ping",
    "logging/setLevel",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// A message that can be served.
#[derive(Debug)]
pub enum DecodedMessage {
    /// Wants an answer.
    Request {
        id: RequestId,
        /// What it asks for.
        method: String,
        /// Whether it carries a protocol version of its own.
        declares_version: bool,
        message: Box<ClientJsonRpcMessage>,
    },
    /// Takes a request back.
    Cancel { target: RequestId, message: Box<ClientJsonRpcMessage> },
    /// Any other notification.
    Notification(Box<ClientJsonRpcMessage>),
    /// Answers a request of ours.
    Response(Box<ClientJsonRpcMessage>),
}

/// What to answer instead of serving; `None` if nobody waits for an answer.
pub type ErrorReply = Option<Vec<u8>>;

/// What a request, as it came, says about itself in its `_meta`.
pub fn meta(bytes: &[u8], declares_version: bool) -> Meta {
    #[derive(Deserialize)]
    struct Request {
        params: Option<Params>,
    }
    #[derive(Deserialize)]
    struct Params {
        #[serde(default, rename = "_meta", deserialize_with = "is_there")]
        has_meta: bool,
    }
    // Null is something, too.
    fn is_there<'a, D: Deserializer<'a>>(value: D) -> Result<bool, D::Error> {
        IgnoredAny::deserialize(value).map(|_| true)
    }
    if declares_version {
        return Meta::WithVersion;
    }
    let params = serde_json::from_slice::<Request>(bytes).ok().and_then(|request| request.params);
    if params.is_some_and(|params| params.has_meta) { Meta::WithoutVersion } else { Meta::Absent }
}

/// Reads a message.
pub fn decode(bytes: &[u8]) -> Result<DecodedMessage, ErrorReply> {
    let head = message::read_head(bytes).map_err(|malformed| Some(malformed.answer()))?;
    match head {
        MessageHead::Request { id, method, params } => request(bytes, id, &method, params),
        MessageHead::Notification { .. } => notification(bytes),
        MessageHead::Response { .. } => match serde_json::from_slice(bytes) {
            Ok(message @ (JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))) => {
                Ok(DecodedMessage::Response(Box::new(message)))
            }
            _ => Err(None),
        },
    }
}

fn request(bytes: &[u8], raw_id: &str, method: &str, params: Option<&str>) -> Result<DecodedMessage, ErrorReply> {
    let refuse = |code, sentence: &str| Err(Some(message::error_answer(raw_id, code, sentence, None)));
    if !METHODS.contains(&method) {
        return refuse(
            METHOD_NOT_FOUND,
            &format!("there is no method `{}`", method.chars().take(80).collect::<String>()),
        );
    }
    let bad_params = || refuse(INVALID_PARAMS, &format!("the parameters do not fit the method `{method}`"));
    match read(bytes, method) {
        Ok(JsonRpcMessage::Request(request)) if params_were_ignored(&request.request, params) => bad_params(),
        Ok(JsonRpcMessage::Request(request)) => Ok(DecodedMessage::Request {
            id: request.id.clone(),
            method: method.to_owned(),
            declares_version: request.request.get_meta().protocol_version().is_some(),
            message: Box::new(JsonRpcMessage::Request(request)),
        }),
        Ok(_) => refuse(INVALID_REQUEST, MalformedMessage::NotAMessage.sentence()),
        Err(error) if error.is_data() => bad_params(),
        // Too deep, or text that is no text: only a full read notices.
        Err(_) => Err(Some(MalformedMessage::NotJson.answer())),
    }
}

/// Nearly all requests are calls of tools: those are read as such at once, without trying every other kind.
fn read(bytes: &[u8], method: &str) -> serde_json::Result<ClientJsonRpcMessage> {
    let call = (method == "tools/call").then(|| serde_json::from_slice::<JsonRpcRequest<CallToolRequest>>(bytes));
    match call {
        Some(Ok(JsonRpcRequest { id, request, .. })) => {
            Ok(JsonRpcMessage::Request(JsonRpcRequest::new(id, ClientRequest::CallToolRequest(request))))
        }
        _ => serde_json::from_slice(bytes),
    }
}

/// Whether rmcp passed over parameters that it could not read: it takes the method for an unknown one,
/// or a list for one that was asked for from the beginning.
fn params_were_ignored(request: &ClientRequest, params: Option<&str>) -> bool {
    let gave_params = params.is_some_and(|params| params != "null");
    match request {
        ClientRequest::CustomRequest(_) => true,
        ClientRequest::ListToolsRequest(list) => gave_params && list.params.is_none(),
        ClientRequest::ListResourcesRequest(list) => gave_params && list.params.is_none(),
        ClientRequest::ListResourceTemplatesRequest(list) => gave_params && list.params.is_none(),
        ClientRequest::ListPromptsRequest(list) => gave_params && list.params.is_none(),
        _ => false,
    }
}

fn notification(bytes: &[u8]) -> Result<DecodedMessage, ErrorReply> {
    let Ok(JsonRpcMessage::Notification(notification)) = serde_json::from_slice::<ClientJsonRpcMessage>(bytes) else {
        return Err(None);
    };
    let target = match &notification.notification {
        ClientNotification::CancelledNotification(cancelled) => cancelled.params.request_id.clone(),
        _ => None,
    };
    let message = Box::new(JsonRpcMessage::Notification(notification));
    Ok(match target {
        Some(target) => DecodedMessage::Cancel { target, message },
        None => DecodedMessage::Notification(message),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// The code of the answer, 0 if the message is served, 1 if it is passed over in silence.
    fn check(text: &str, expected: i64) {
        let code = match decode(text.as_bytes()) {
            Ok(_) => 0,
            Err(None) => 1,
            Err(Some(answer)) => {
                let answer: Value = serde_json::from_slice(&answer).expect("JSON");
                answer["error"]["code"].as_i64().expect("a code")
            }
        };
        assert_eq!(code, expected, "{}", &text[..text.len().min(200)]);
    }

    #[test]
    fn calls_of_tools_are_read_as_rmcp_reads_them() {
        for params in [
            r#"{"name":"x"}"#,
            r#"{"name":"x","arguments":null}"#,
            r#"{"arguments":{"a":[1,-2.5,"\u00e9",{"b":null}]},"name":"x","other":1}"#,
            r#"{"_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"name":"x","arguments":{}}"#,
            r#"{"name":"x","task":{"ttl":5}}"#,
        ] {
            for id in ["1", "\"one\""] {
                let text = format!(r#"{{"params":{params},"method":"tools/call","id":{id},"jsonrpc":"2.0"}}"#);
                let rmcp_s: ClientJsonRpcMessage = serde_json::from_str(&text).expect("a message");
                let Ok(DecodedMessage::Request { message, .. }) = decode(text.as_bytes()) else { panic!("{text}") };
                let as_text = |message| serde_json::to_value::<&ClientJsonRpcMessage>(message).expect("JSON");
                assert_eq!(as_text(&message), as_text(&rmcp_s), "{text}");
            }
        }
    }

    fn request(method: &str, params: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    }

    #[test]
    fn known_methods_with_bad_parameters_are_not_unknown_methods() {
        check(&request("tools/call", r#"{"name":"x","arguments":{}}"#), 0);
        check(&request("tools/call", r#"{"name":"x"}"#), 0);
        check(&request("tools/call", r#"{"name":"x","arguments":[]}"#), -32602);
        check(&request("tools/call", r#"{"arguments":{}}"#), -32602);
        check(&request("resources/read", "{}"), -32602);
        check(&request("prompts/get", "{}"), -32602);
        for params in ["{}", "null", r#"{"cursor":"1"}"#, r#"{"cursor":null}"#, r#"{"_meta":{},"more":1}"#] {
            check(&request("tools/list", params), 0);
        }
        check(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, 0);
        for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
            check(&request(method, r#"{"cursor":1}"#), -32602);
        }
        check(&request("no/such", "{}"), -32601);
        check(&request("tasks/get", "{}"), -32601);
    }

    #[test]
    fn a_request_without_meta_is_told_apart() {
        let check = |params: &str, expected| {
            assert_eq!(meta(request("tools/call", params).as_bytes(), false), expected, "{params}");
        };
        check(r#"{"name":"x","arguments":{"text":"\"_meta\":{}"}}"#, Meta::Absent);
        check(r#"{"name":"x","arguments":{"_meta":{}}}"#, Meta::Absent);
        check("null", Meta::Absent);
        for meta in ["{}", "null", "7"] {
            check(&format!(r#"{{"name":"x","_meta":{meta}}}"#), Meta::WithoutVersion);
        }
        check(r#"{"name":"x","_meta":{"progressToken":1}}"#, Meta::WithoutVersion);
        assert_eq!(meta(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, false), Meta::Absent);
        assert_eq!(meta(b"{}", true), Meta::WithVersion);
    }

    #[test]
    fn what_only_a_full_read_notices_is_a_parse_error() {
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        check(&request("tools/call", &format!(r#"{{"name":"x","arguments":{{"a":{deep}}}}}"#)), -32700);
        check(&request("tools/call", r#"{"name":"\ud800"}"#), -32700);
    }

    #[test]
    fn nobody_waits_for_an_answer_to_a_notification() {
        check(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, 0);
        check(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#, 0);
        check(r#"{"jsonrpc":"2.0","method":"notifications/anything","params":{"a":1}}"#, 0);
        check(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#, 1);
    }
}
