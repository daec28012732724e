//! JSON that stays as its writer wrote it: values are pieces of text, taken apart only as far as somebody asks.
//!
//! A text that is JSON comes in, members and items go out as slices of it, and the same text with other
//! indentation. Numbers and escapes are never rewritten, so that a large integer, a `1.10` or half a surrogate pair
//! that another program left survives.

use std::fmt::{self, Write as _};

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The one value of a text, without what is around it. Fails on anything that is not JSON.
pub fn whole(text: &str) -> Result<&str, serde_json::Error> {
    serde_json::from_str::<&RawValue>(text).map(RawValue::get)
}

/// The members of an object, keys in their quotes; none if it is something else.
pub fn members(object: &str) -> Option<Vec<(&str, &str)>> {
    serde_json::Deserializer::from_str(object).deserialize_map(MemberVisitor).ok()
}

/// The items of a list; none if it is something else.
pub fn items(list: &str) -> Option<Vec<&str>> {
    let items: Vec<&RawValue> = serde_json::from_str(list).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}

/// A value as others will see it. What a JSON reader of today refuses is shown as near as can be: half of a
/// surrogate pair as U+FFFD, a number beyond all measure as its text.
pub fn shown(value: &str) -> Value {
    serde_json::from_str(value)
        .or_else(|_| serde_json::from_str(&tamed(value)))
        .unwrap_or_else(|_| Value::String(value.to_owned()))
}

/// A text, if the value is one.
pub fn text(value: &str) -> Option<String> {
    match value.starts_with('"').then(|| shown(value)) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// What lies deeper is written without line breaks: indentation grows with the square of the depth.
const MAX_JSON_DEPTH: usize = 64;

/// Appends the value with two blanks for each level; the first line is not indented.
pub fn indent(value: &str, level: usize, out: &mut String) {
    let bytes = value.as_bytes();
    let (mut at, mut level) = (0, level);
    while at < bytes.len() {
        let end = at + 1;
        match bytes[at] {
            b'"' => {
                let end = string_end(bytes, at);
                out.push_str(&value[at..end]);
                at = end;
                continue;
            }
            open @ (b'{' | b'[') => {
                let next = end + blanks(&bytes[end..]);
                out.push(char::from(open));
                if matches!(bytes.get(next), Some(b'}' | b']')) {
                    out.push(char::from(bytes[next]));
                    at = next + 1;
                    continue;
                }
                level += 1;
                if level <= MAX_JSON_DEPTH {
                    line(level, out);
                }
            }
            close @ (b'}' | b']') => {
                level = level.saturating_sub(1);
                if level < MAX_JSON_DEPTH {
                    line(level, out);
                }
                out.push(char::from(close));
            }
            b',' => {
                out.push(',');
                if level <= MAX_JSON_DEPTH {
                    line(level, out);
                }
            }
            b':' => out.push_str(": "),
            b' ' | b'\t' | b'\n' | b'\r' => {}
            // Outside of strings JSON is ASCII.
            other => out.push(char::from(other)),
        }
        at = end;
    }
}

/// A new line with its indentation.
pub fn line(level: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", level));
}

/// Takes every member as it is written, also those with the same key.
struct MemberVisitor;

impl<'de> Visitor<'de> for MemberVisitor {
    type Value = Vec<(&'de str, &'de str)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            members.push((key.get(), value.get()));
        }
        Ok(members)
    }
}

fn blanks(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// One past the closing quote of the string that begins here.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The same value with lone surrogates replaced and endless numbers in quotes.
fn tamed(value: &str) -> String {
    let bytes = value.as_bytes();
    let mut tame = String::with_capacity(value.len());
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'"' => {
                at = string_end(bytes, at);
                paired(&value[start..at], &mut tame);
            }
            b'-' | b'0'..=b'9' => {
                let in_number = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                at += bytes[start..].iter().take_while(|byte| in_number(byte)).count();
                let number = &value[start..at];
                match serde_json::from_str::<Value>(number) {
                    Ok(_) => tame.push_str(number),
                    Err(_) => tame.extend(["\"", number, "\""]),
                }
            }
            other => {
                tame.push(char::from(other));
                at += 1;
            }
        }
    }
    tame
}

/// Appends a string literal; an escape for half of a surrogate pair becomes one for U+FFFD.
fn paired(literal: &str, out: &mut String) {
    let unit = |at: usize| {
        literal
            .get(at..at + 6)
            .and_then(|escape| escape.strip_prefix("\\u"))
            .and_then(|digits| u16::from_str_radix(digits, 16).ok())
    };
    let mut rest = 0;
    let mut at = 0;
    while let Some(found) = literal[at..].find('\\') {
        at += found;
        match (unit(at), unit(at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => at += 12,
            (Some(0xd800..0xe000), _) => {
                let _ = write!(out, "{}\\ufffd", &literal[rest..at]);
                at += 6;
                rest = at;
            }
            (Some(_), _) => at += 6,
            (None, _) => at += 2,
        }
    }
    out.push_str(&literal[rest..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn indented(value: &str) -> String {
        let mut out = String::new();
        indent(value, 0, &mut out);
        out
    }

    #[test]
    fn members_and_items_are_slices_of_the_text() {
        let text = r#" { "a" : 1.10 , "b\"}" : [ 1 , { "c" : "]" } ] ,"\ud83d":"x\\","":{ }, "n" :null} "#;
        let whole = whole(text).expect("JSON");
        let expected = [
            ("\"a\"", "1.10"),
            (r#""b\"}""#, r#"[ 1 , { "c" : "]" } ]"#),
            (r#""\ud83d""#, r#""x\\""#),
            ("\"\"", "{ }"),
            ("\"n\"", "null"),
        ];
        assert_eq!(members(whole).expect("an object"), expected);
        assert_eq!(
            items(r#"[ 1 , { "c" : "]" } ,"あ",[]]"#).expect("a list"),
            ["1", r#"{ "c" : "]" }"#, "\"あ\"", "[]"]
        );
        assert_eq!(items("[ ]"), Some(vec![]));
        assert_eq!((members("[]"), members("3"), items("{}"), items("\"x\"")), (None, None, None, None));
    }

    #[test]
    fn numbers_and_escapes_stay_when_the_indentation_changes() {
        let text = r#"{"n":123456789012345678901234567890,"f":1.10,"e":1E400,"s":"\u0041\ud83d { [ , :","l":[ ],"o":{ },"d":[1,{"x":true}]}"#;
        let expected = r#"{
  "n": 123456789012345678901234567890,
  "f": 1.10,
  "e": 1E400,
  "s": "\u0041\ud83d { [ , :",
  "l": [],
  "o": {},
  "d": [
    1,
    {
      "x": true
    }
  ]
}"#;
        assert_eq!(indented(text), expected);
        assert_eq!(indented(expected), expected);
    }

    #[test]
    fn depth_does_not_blow_a_value_up() {
        let deep = format!("{}1, 2{}", "[".repeat(100_000), "]".repeat(100_000));
        let written = indented(&deep);
        assert!(written.len() < 2 * deep.len(), "{}", written.len());
        assert_eq!(written.split_whitespace().collect::<String>(), deep.replace(' ', ""));
        assert_eq!(indented(&written), written);
    }

    #[test]
    fn what_readers_refuse_is_shown_as_near_as_can_be() {
        for (text, expected) in [
            (r#""caf\u00e9""#, json!("café")),
            (r#""a\ud83d""#, json!("a\u{fffd}")),
            (r#""\udd00b\ud83d\udd00\\ud83d""#, json!("\u{fffd}b🔀\\ud83d")),
            (r#""\ud83d\ud83d\udd00""#, json!("\u{fffd}🔀")),
            (r#"{"a":[1e400,-3,"x"]}"#, json!({ "a": ["1e400", -3, "x"] })),
            ("12", json!(12)),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        assert_eq!(shown(whole(&deep).expect("JSON")), json!(deep));
        assert_eq!((text("\"x\""), text("3"), text("[\"x\"]")), (Some("x".to_owned()), None, None));
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn other_indentation_is_the_same_value(value in value()) {
            let pretty = serde_json::to_string_pretty(&value).expect("JSON");
            prop_assert_eq!(&indented(&value.to_string()), &pretty);
            prop_assert_eq!(&shown(&tamed(&pretty)), &value);
            if let Value::Object(object) = &value {
                let members = members(&pretty).expect("an object");
                prop_assert_eq!(members.len(), object.len());
                for ((key, member), (name, inner)) in members.into_iter().zip(object) {
                    prop_assert_eq!((shown(key), shown(member)), (Value::from(name.clone()), inner.clone()));
                }
            }
        }

        #[test]
        fn no_text_is_too_strange(text in "\\PC*") {
            let _ = whole(&text).map(|value| (members(value), items(value), shown(value), indented(value)));
        }
    }
}
