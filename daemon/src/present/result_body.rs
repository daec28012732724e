//! The long parts of a tool's result, spliced into its message after rmcp has serialised it.
//!
//! rmcp carries results as trees of values. An answer is JSON text already: so rmcp gets a result with two
//! placeholders, and the text travels beside it.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use crate::families::Body;
use crate::text::json::{Json, quote};

/// How the blanks of a result look once it is written. In a JSON text neither can stand inside of a string, where
/// quotes are escaped.
const TEXT: &[u8] = br#""text":"""#;
const STRUCTURED: &[u8] = br#""structuredContent":null"#;

/// What belongs into the blanks of a result.
#[derive(Debug)]
pub struct ResultBody(pub Body);

impl ResultBody {
    fn structured(&self) -> Option<&Json> {
        match &self.0 {
            Body::Object(json) => Some(json),
            Body::Pretty(json) => Some(json).filter(|json| json.is_object()),
            Body::Text(_) => None,
        }
    }

    /// A result with blanks for this.
    pub fn placeholder(&self) -> CallToolResult {
        let mut result = CallToolResult::success(vec![ContentBlock::text(String::new())]);
        result.structured_content = self.structured().map(|_| Value::Null);
        result
    }

    /// The result with its blanks filled, for a transport that is not ours.
    pub fn fill(self, mut result: CallToolResult) -> CallToolResult {
        result.structured_content = self.structured().map(Json::value);
        let text = match self.0 {
            Body::Object(json) => json.text().to_owned(),
            Body::Text(text) => text,
            Body::Pretty(json) => json.indented(),
        };
        result.content = vec![ContentBlock::text(text)];
        result
    }

    /// A message that holds a result with blanks, as bytes, with its blanks filled.
    pub fn splice_into(&self, message: &[u8]) -> Vec<u8> {
        let mut whole = Vec::with_capacity(message.len() + self.byte_size());
        let mut rest = message;
        if let Some(at) = place_of(TEXT, rest) {
            whole.extend_from_slice(&rest[..at + TEXT.len() - 2]);
            match &self.0 {
                Body::Object(json) => quote(json.text(), &mut whole),
                Body::Text(text) => quote(text, &mut whole),
                Body::Pretty(json) => json.quote_indented(&mut whole),
            }
            rest = &rest[at + TEXT.len()..];
        }
        if let Some((json, at)) = self.structured().and_then(|json| Some((json, place_of(STRUCTURED, rest)?))) {
            whole.extend_from_slice(&rest[..at + STRUCTURED.len() - "null".len()]);
            whole.extend_from_slice(json.text().as_bytes());
            rest = &rest[at + STRUCTURED.len()..];
        }
        whole.extend_from_slice(rest);
        whole
    }

    /// About how many bytes it adds to a message.
    pub fn byte_size(&self) -> usize {
        let text = match &self.0 {
            Body::Object(json) => json.text().len() * 9 / 8,
            Body::Text(text) => text.len() * 9 / 8,
            Body::Pretty(json) => json.text().len() * 2,
        };
        text + self.structured().map_or(0, |json| json.text().len())
    }
}

fn place_of(needle: &[u8], text: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(body: Body, text: &str, around: &Value) {
        let result_body = ResultBody(body);
        let mut message = around.clone();
        message["result"] = serde_json::to_value(result_body.placeholder()).expect("a value");
        let spliced = result_body.splice_into(message.to_string().as_bytes());
        message["result"] = serde_json::to_value(result_body.fill(CallToolResult::default())).expect("a value");
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
        let odd = json!({ "text": "", "structuredContent": null, "b": [1, "}\n\"検索"], "a": {} });
        check(Body::Text("x\n\"quoted\" \\ 検索".to_owned()), "x\n\"quoted\" \\ 検索", &around);
        check(Body::Text(odd.to_string()), &odd.to_string(), &around);
        for value in [odd, json!({}), json!([1, { "b": "\n\"" }])] {
            check(Body::Pretty(Json::of(&value)), &format!("{value:#}"), &around);
            if value.is_object() {
                check(Body::Object(Json::of(&value)), &value.to_string(), &around);
            }
        }
    }
}
