//! JSON-RPC, as hosts send it: a message is served, or refused with an answer that is itself JSON-RPC on one line.

use serde_json::Value;
use trellis_protocol::message::{self, MessageHead};
use trellisd::mcp::decode::{self, DecodedMessage};

pub(crate) fn run(bytes: &[u8]) {
    let head = message::read_head(bytes);
    let _ = decode::meta(bytes, false);
    match decode::decode(bytes) {
        Ok(DecodedMessage::Request { method: read, .. }) => {
            assert!(
                matches!(head, Ok(MessageHead::Request { method, .. }) if method == read),
                "proxy and daemon agree"
            );
        }
        Ok(_) => assert!(!matches!(head, Ok(MessageHead::Request { .. }) | Err(_)), "proxy and daemon agree"),
        Err(Some(refusal)) => {
            let refusal = refusal.strip_suffix(b"\n").unwrap_or(&refusal);
            assert!(!refusal.contains(&b'\n'), "one line");
            let refusal: Value = serde_json::from_slice(refusal).expect("JSON");
            assert!(refusal["jsonrpc"] == "2.0" && refusal["error"]["code"].is_i64(), "{refusal}");
        }
        Err(None) => {}
    }
}
