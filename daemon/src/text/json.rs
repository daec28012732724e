//! JSON as text, and the numbers in it. An answer is written once; it goes to hosts, into the journal and over HTTP as
//! it stands.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// A JSON value, as text without blanks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Writes something down. What cannot be written in JSON is null.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Self {
        Self(to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Whether it has keys.
    pub fn is_object(&self) -> bool {
        self.text().starts_with('{')
    }

    /// An object with one field more, at its end; anything else stays what it is.
    #[must_use]
    pub fn with_field(&self, name: &str, value: &Value) -> Self {
        let Some(fields) = self.text().strip_suffix('}') else { return self.clone() };
        let comma = if fields == "{" { "" } else { "," };
        let text = format!("{fields}{comma}{}:{value}}}", Value::from(name));
        RawValue::from_string(text).map_or_else(|_| self.clone(), Self)
    }

    /// For whoever wants to look into it.
    pub fn value(&self) -> Value {
        serde_json::from_str(self.text()).unwrap_or_default()
    }

    /// For people: a line for each element and key, two blanks for each level.
    pub fn indented(&self) -> String {
        let mut indented = String::with_capacity(self.text().len() * 3 / 2);
        self.indent(&mut indented);
        indented
    }

    /// The same as a JSON string.
    pub fn quote_indented(&self, into: &mut Vec<u8>) {
        into.push(b'"');
        self.indent(&mut EscapedOutput(into));
        into.push(b'"');
    }

    fn indent(&self, into: &mut impl IndentTarget) {
        let text = self.text();
        let mut level = 0;
        // Everything up to here has been copied.
        let mut copied = 0;
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => at += string_length(&bytes[at..]) - 1,
                b'{' | b'[' if matches!(bytes.get(at + 1), Some(b'}' | b']')) => at += 1,
                b'{' | b'[' | b',' => {
                    into.copy(&text[copied..=at]);
                    copied = at + 1;
                    level += usize::from(*byte != b',');
                    into.begin_line(level);
                }
                b'}' | b']' => {
                    into.copy(&text[copied..at]);
                    copied = at;
                    level -= 1;
                    into.begin_line(level);
                }
                b':' => {
                    into.copy(&text[copied..=at]);
                    copied = at + 1;
                    into.copy(" ");
                }
                _ => {}
            }
            at += 1;
        }
        into.copy(&text[copied..]);
    }
}

/// Where a text goes that has lines.
trait IndentTarget {
    fn copy(&mut self, piece: &str);
    fn begin_line(&mut self, level: usize);
}

impl IndentTarget for String {
    fn copy(&mut self, piece: &str) {
        self.push_str(piece);
    }

    fn begin_line(&mut self, level: usize) {
        self.push('\n');
        (0..level).for_each(|_| self.push_str("  "));
    }
}

/// Inside of a JSON string.
struct EscapedOutput<'a>(&'a mut Vec<u8>);

impl IndentTarget for EscapedOutput<'_> {
    fn copy(&mut self, piece: &str) {
        escape(piece, self.0);
    }

    fn begin_line(&mut self, level: usize) {
        self.0.extend_from_slice(b"\\n");
        (0..level).for_each(|_| self.0.extend_from_slice(b"  "));
    }
}

/// Writes a text as a JSON string.
pub fn quote(text: &str, into: &mut Vec<u8>) {
    into.push(b'"');
    escape(text, into);
    into.push(b'"');
}

/// Most of a text needs no escape, and is copied in pieces.
fn escape(text: &str, into: &mut Vec<u8>) {
    const ESCAPE_BLOCK_BYTES: usize = 16;
    let is_special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    let (pieces, rest) = text.as_bytes().as_chunks::<ESCAPE_BLOCK_BYTES>();
    for piece in pieces {
        // Without a branch for each byte, so that they are looked at together.
        match piece.iter().fold(false, |found, byte| found | is_special(*byte)) {
            true => piece.iter().for_each(|byte| escape_byte(*byte, into)),
            false => into.extend_from_slice(piece),
        }
    }
    rest.iter().for_each(|byte| escape_byte(*byte, into));
}

fn escape_byte(byte: u8, into: &mut Vec<u8>) {
    match byte {
        b'"' | b'\\' => into.extend_from_slice(&[b'\\', byte]),
        b'\n' => into.extend_from_slice(b"\\n"),
        b'\t' => into.extend_from_slice(b"\\t"),
        b'\r' => into.extend_from_slice(b"\\r"),
        0x08 => into.extend_from_slice(b"\\b"),
        0x0c => into.extend_from_slice(b"\\f"),
        0..0x20 => into.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        _ => into.push(byte),
    }
}

/// A whole number, however it is written: `5`, `5.0` and `5e0` are one, as JSON Schema counts them. What is too large
/// or too small for 64 bits is the largest or the smallest of them.
pub fn whole_number(value: &Value) -> Option<i64> {
    let Value::Number(number) = value else { return None };
    number.as_i64().or_else(|| number.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as i64))
}

/// How long the string is with which a text begins, quotes included.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    loop {
        match bytes.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') | None => return at + 1,
            _ => at += 1,
        }
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Json {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1_000_000_i32..1_000_000).prop_map(|number| Value::from(f64::from(number) / 100.0)),
            any::<String>().prop_map(Value::from),
            "[\"\\\\,:{}\\[\\]\n ]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..5).prop_map(|all| all.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn text_says_what_the_value_said(value in values()) {
            let json = Json::of(&value);
            prop_assert_eq!(json.text(), serde_json::to_string(&value).expect("JSON"));
            let pretty = serde_json::to_string_pretty(&value).expect("JSON");
            prop_assert_eq!(&json.indented(), &pretty);
            let mut quoted = Vec::new();
            json.quote_indented(&mut quoted);
            prop_assert_eq!(String::from_utf8(quoted).expect("a text"), serde_json::to_string(&pretty).expect("JSON"));
            prop_assert_eq!(json.value(), value);
        }
    }

    proptest! {
        #[test]
        fn a_quoted_text_is_what_serde_writes(text in "([a-zé検]{0,20}|[\u{0}-\u{7f}]{0,5}){0,8}") {
            let mut quoted = Vec::new();
            quote(&text, &mut quoted);
            prop_assert_eq!(String::from_utf8(quoted).expect("a text"), serde_json::to_string(&text).expect("JSON"));
        }
    }

    #[test]
    fn whole_numbers_may_have_a_point_or_an_exponent() {
        for (text, expected) in [
            ("5", Some(5)),
            ("5.0", Some(5)),
            ("5e0", Some(5)),
            ("1e1", Some(10)),
            ("150E-1", Some(15)),
            ("-3.00", Some(-3)),
            ("-0.0", Some(0)),
            ("9223372036854775807", Some(i64::MAX)),
            ("18446744073709551615", Some(i64::MAX)),
            ("99999999999999999999", Some(i64::MAX)),
            ("1e300", Some(i64::MAX)),
            ("-1e300", Some(i64::MIN)),
            ("5.5", None),
            ("15e-1", None),
            ("1e-300", None),
            ("true", None),
            ("\"5\"", None),
            ("null", None),
            ("[5]", None),
            ("{}", None),
        ] {
            assert_eq!(whole_number(&serde_json::from_str(text).expect("JSON")), expected, "{text}");
        }
    }

    #[test]
    fn only_objects_have_keys() {
        assert!(Json::of(&json!({})).is_object());
        assert!(!Json::of("{").is_object() && !Json::of(&json!([{}])).is_object());
    }
}
