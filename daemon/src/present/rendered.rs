//! The long parts of a tool's result, as text that is put into its message at the last moment.
//!
//! rmcp carries results as trees of values. An answer is text already: so rmcp gets a result with two blanks in it,
//! and what belongs there travels beside it.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use crate::text::json::{Json, quote};

/// How the blanks of a result look once it is written. In a JSON text neither can stand inside of a string, where
/// quotes are escaped.
const TEXT: &[u8] = br#""text":"""#;
const STRUCTURED: &[u8] = br#""structuredContent":null"#;

/// What belongs into the blanks of a result.
#[derive(Debug)]
pub struct Rendered {
    /// For people and older hosts; none if it is what programs get, as it stands.
    pub text: Option<String>,
    /// For programs.
    pub structured: Option<Json>,
}

impl Rendered {
    /// A result with blanks for this.
    pub fn blank(&self) -> CallToolResult {
        let mut result = CallToolResult::success(vec![ContentBlock::text(String::new())]);
        result.structured_content = self.structured.as_ref().map(|_| Value::Null);
        result
    }

    /// The result with its blanks filled, for a transport that is not ours.
    pub fn fill(self, mut result: CallToolResult) -> CallToolResult {
        result.content = vec![ContentBlock::text(self.text())];
        result.structured_content = self.structured.map(|json| json.value());
        result
    }

    /// A message that holds a result with blanks, as bytes, with its blanks filled.
    pub fn put_into(&self, message: &[u8]) -> Vec<u8> {
        let mut whole = Vec::with_capacity(message.len() + self.weight());
        let mut rest = message;
        if let Some(at) = place_of(TEXT, rest) {
            whole.extend_from_slice(&rest[..at + TEXT.len() - 2]);
            quote(self.text(), &mut whole);
            rest = &rest[at + TEXT.len()..];
        }
        if let Some((json, at)) = self.structured.as_ref().and_then(|json| Some((json, place_of(STRUCTURED, rest)?))) {
            whole.extend_from_slice(&rest[..at + STRUCTURED.len() - "null".len()]);
            whole.extend_from_slice(json.text().as_bytes());
            rest = &rest[at + STRUCTURED.len()..];
        }
        whole.extend_from_slice(rest);
        whole
    }

    fn text(&self) -> &str {
        let structured = || self.structured.as_ref().map(Json::text).unwrap_or_default();
        self.text.as_deref().unwrap_or_else(structured)
    }

    /// About how many bytes it adds to a message.
    pub fn weight(&self) -> usize {
        self.text().len() * 9 / 8 + self.structured.as_ref().map_or(0, |json| json.text().len())
    }
}

fn place_of(needle: &[u8], text: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, structured: Option<Value>, around: &Value) {
        let structured = structured.as_ref().map(Json::of);
        let is_same = structured.as_ref().is_some_and(|json| json.text() == text);
        let rendered = Rendered { text: (!is_same).then(|| text.to_owned()), structured };
        let mut message = around.clone();
        message["result"] = serde_json::to_value(rendered.blank()).expect("a value");
        let spliced = rendered.put_into(message.to_string().as_bytes());
        message["result"] = serde_json::to_value(rendered.fill(CallToolResult::default())).expect("a value");
        let mut found: Value = serde_json::from_slice(&spliced).expect("JSON");
        // What else a result says is rmcp's.
        for key in ["content", "structuredContent"] {
            assert_eq!(found["result"][key], message["result"][key], "{key}");
        }
        assert_eq!(found["result"]["content"][0]["text"], text);
        found["result"] = around["result"].clone();
        assert_eq!(found, *around);
    }

    #[test]
    fn both_ways_say_the_same() {
        let around = json!({ "jsonrpc": "2.0", "id": "\"text\":\"\" \"structuredContent\":null", "result": null });
        check("x\n\"quoted\" \\ 検索", None, &around);
        check(
            r#"{"text":"","structuredContent":null}"#,
            Some(json!({ "text": "", "structuredContent": null })),
            &around,
        );
        check("", Some(json!({ "b": [1, "}"], "a": {} })), &around);
        check(r#"{"b":"\n\""}"#, Some(json!({ "b": "\n\"" })), &around);
    }
}
