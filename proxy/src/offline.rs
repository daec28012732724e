//! No daemon to be had: what to answer all the same. A request and the reason come in, one valid MCP message goes
//! out: openings and lists succeed, so that the host keeps the server, and every call says what is wrong and what to
//! do. Pure.

use serde_json::value::RawValue;
use trellis_protocol::message::{self, MessageHead, SERVER_ERROR, error_answer, quoted, result_answer};

/// Told to a host whose list of tools was made up here, once a daemon is there.
pub(crate) const LIST_CHANGED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// The revisions that open with `initialize`, oldest first.
const HANDSHAKE_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The revision that has no opening.
const STATELESS_REVISION: &str = "2026-07-28";

/// Why there is no daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableReason {
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// What to do about it: an action.
    pub hint: String,
}

impl UnavailableReason {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// What requests are answered with while there is no daemon.
#[derive(Debug)]
pub(crate) struct OfflineAnswers {
    pub(crate) reason: UnavailableReason,
    /// A JSON array: the last list of tools that a daemon gave to a session like this one.
    pub(crate) tools: Option<String>,
}

impl OfflineAnswers {
    /// The answer to a message of the host; none if it wants none. `sent` tells that a daemon had the request before
    /// it went away.
    pub(crate) fn answer(&self, head: &MessageHead<'_>, sent: bool) -> Option<Vec<u8>> {
        let MessageHead::Request { id, method, params } = head else { return None };
        let reason = &self.reason;
        let result = match method.as_ref() {
            "initialize" => initialize_result(*params, reason),
            "server/discover" => discover_result(reason),
            "ping" => "{}".to_owned(),
            "tools/list" => tool_list(self.tools.as_deref(), reason),
            "resources/list" => list("resources", EMPTY_LIST),
            "resources/templates/list" => list("resourceTemplates", EMPTY_LIST),
            "prompts/list" => list("prompts", EMPTY_LIST),
            "tools/call" => failed_call(reason, sent),
            _ if sent => return Some(outcome_unknown(id)),
            _ => return Some(error(id, "unavailable", &sentence(reason), &reason.hint)),
        };
        Some(result_answer(id, &result))
    }
}

/// The answer to a request that was under way too often when a daemon died.
pub(crate) fn outcome_unknown(id: &str) -> Vec<u8> {
    let message = "the Trellis daemon ended while it worked on this request: it may or may not have been done";
    error(id, "outcome_unknown", message, "look at the files before you repeat a write; run `trellisd status`")
}

/// The answer to a request that has no place in the queue.
pub(crate) fn busy(id: &str) -> Vec<u8> {
    let message = "too many requests are waiting: this one was not taken and nothing was done";
    error(id, "busy", message, "wait for answers, then send it again")
}

fn error(id: &str, code: &str, message: &str, hint: &str) -> Vec<u8> {
    let data = format!(r#"{{"code":"{code}","hint":{}}}"#, quoted(hint));
    error_answer(id, SERVER_ERROR, message, Some(&data))
}

fn sentence(reason: &UnavailableReason) -> String {
    format!("Trellis is not available: {}; nothing was done; {}", reason.message, reason.hint)
}

fn instructions(reason: &UnavailableReason) -> String {
    format!("Trellis is not available at the moment: {}. To do: {}.", reason.message, reason.hint)
}

const CAPABILITIES: &str = r#"{"tools":{"listChanged":true}}"#;
const SERVER_INFO: &str = concat!(r#"{"name":"trellis","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

fn initialize_result(params: Option<&str>, reason: &UnavailableReason) -> String {
    let asked = message::asked_version(params);
    let newest = HANDSHAKE_REVISIONS[HANDSHAKE_REVISIONS.len() - 1];
    let version = HANDSHAKE_REVISIONS.into_iter().find(|known| asked.as_deref() == Some(known)).unwrap_or(newest);
    let instructions = quoted(&instructions(reason));
    format!(
        r#"{{"protocolVersion":"{version}","capabilities":{CAPABILITIES},"serverInfo":{SERVER_INFO},"instructions":{instructions}}}"#
    )
}

fn discover_result(reason: &UnavailableReason) -> String {
    let revisions = HANDSHAKE_REVISIONS.join(r#"",""#);
    let instructions = quoted(&instructions(reason));
    format!(
        r#"{{"resultType":"complete","supportedVersions":["{revisions}","{STATELESS_REVISION}"],"capabilities":{CAPABILITIES},"instructions":{instructions},"ttlMs":0,"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{SERVER_INFO}}}}}"#
    )
}

fn tool_list(cached: Option<&str>, reason: &UnavailableReason) -> String {
    list("tools", &cached.filter(|text| is_list(text)).map_or_else(|| status_tool(reason), str::to_owned))
}

/// Whether a text is a JSON array with something in it.
fn is_list(text: &str) -> bool {
    let inside = |raw: &RawValue| Some(raw.get().strip_prefix('[')?.strip_suffix(']')?.trim().is_empty());
    serde_json::from_str::<&RawValue>(text).is_ok_and(|raw| inside(raw) == Some(false))
}

/// A host that shows no tools at all would hide that anything is wrong.
fn status_tool(reason: &UnavailableReason) -> String {
    let description = quoted(&format!("Call this to learn why Trellis is not running. {}", instructions(reason)));
    format!(
        r#"[{{"name":"trellis_status","title":"Trellis status","description":{description},"inputSchema":{{"type":"object","properties":{{}}}},"annotations":{{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}}}]"#
    )
}

const EMPTY_LIST: &str = "[]";

fn list(what: &str, items: &str) -> String {
    format!(r#"{{"{what}":{items},"ttlMs":0,"cacheScope":"private","resultType":"complete"}}"#)
}

fn failed_call(reason: &UnavailableReason, sent: bool) -> String {
    let (code, outcome, message) = if sent {
        let message = format!(
            "Trellis is not available: {}; the daemon had this call before it went away, so it may or may not have \
             been done: look at the files before you repeat it; {}",
            reason.message, reason.hint
        );
        ("outcome_unknown", "unknown", message)
    } else {
        ("unavailable", "not_applied", sentence(reason))
    };
    let (message, hint) = (quoted(&message), quoted(&reason.hint));
    let error = format!(
        r#"{{"error":{{"code":"{code}","message":{message},"details":{{"outcome":"{outcome}","hint":{hint}}}}}}}"#
    );
    let text = quoted(&error);
    format!(
        r#"{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{error},"isError":true,"resultType":"complete"}}"#
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use trellis_protocol::message::read_head;

    use super::*;

    fn ask(method: &str, params: &str, sent: bool, tools: Option<&str>) -> Value {
        let text = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"{method}","params":{params}}}"#);
        let reason = UnavailableReason::new("no program `trellisd` was found", "install it");
        let offline = OfflineAnswers { reason, tools: tools.map(str::to_owned) };
        let answer = offline.answer(&read_head(text.as_bytes()).expect("a message"), sent).expect("a request");
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!("a")));
        answer
    }

    #[test]
    fn openings_succeed_in_the_words_of_the_host() {
        for (asked, expected) in [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("1999", "2025-11-25")] {
            let answer = ask("initialize", &json!({ "protocolVersion": asked }).to_string(), false, None);
            assert_eq!(answer["result"]["protocolVersion"], expected);
            assert!(answer["result"]["instructions"].as_str().is_some_and(|text| text.contains("install it")));
        }
        assert_eq!(ask("initialize", "[]", false, None)["result"]["protocolVersion"], "2025-11-25");
        let answer = ask("server/discover", "{}", false, None);
        assert_eq!(answer["result"]["supportedVersions"].as_array().map(Vec::len), Some(5));
        assert_eq!(answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "trellis");
        assert_eq!(ask("ping", "{}", false, None)["result"], json!({}));
    }

    #[test]
    fn lists_come_from_memory_or_hold_one_tool() {
        let cached = r#"[{"name":"search"}]"#;
        assert_eq!(ask("tools/list", "{}", false, Some(cached))["result"]["tools"], json!([{ "name": "search" }]));
        for broken in [None, Some("[ ]"), Some("{"), Some("{}"), Some("[1] x")] {
            let answer = ask("tools/list", "{}", false, broken);
            assert_eq!(answer["result"]["tools"][0]["name"], "trellis_status");
            assert_eq!(answer["result"]["tools"][0]["annotations"].as_object().map(serde_json::Map::len), Some(4));
        }
        assert_eq!(ask("resources/templates/list", "{}", false, None)["result"]["resourceTemplates"], json!([]));
        assert_eq!(ask("prompts/list", "{}", false, None)["result"]["prompts"], json!([]));
    }

    #[test]
    fn calls_say_what_is_wrong_and_whether_anything_was_done() {
        for (sent, code) in [(false, "unavailable"), (true, "outcome_unknown")] {
            let result = &ask("tools/call", r#"{"name":"search"}"#, sent, None)["result"];
            assert_eq!(result["isError"], true);
            assert_eq!(result["structuredContent"]["error"]["code"], code);
            let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON");
            assert_eq!(text, result["structuredContent"]);
            let error = &ask("resources/read", "{}", sent, None)["error"];
            assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32000), &json!(code)));
        }
    }

    #[test]
    fn what_wants_no_answer_gets_none() {
        let offline = OfflineAnswers { reason: UnavailableReason::new("x", "y"), tools: None };
        let note = read_head(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).expect("a message");
        assert_eq!(offline.answer(&note, false), None);
    }
}
