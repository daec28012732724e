//! Front matter and the YAML in it: the body stays, and a value that is put in comes out as itself.

use serde_json::{Map, Value, json};
use trellisd::text::{front_matter, yaml};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let split = front_matter::split(text);
    let body = &text[split.body..];
    let over = Map::from_iter([("added".to_owned(), json!("a: b"))]);
    let merged = front_matter::merged(split.front.as_ref(), &over, body);
    let again = front_matter::split(&merged);
    assert_eq!(&merged[again.body..], body);
    assert_eq!(again.front.expect("there is one").map.get("added"), Some(&json!("a: b")), "{merged:?}");
    if let Some((key, value)) = text.split_once('\0') {
        let block = format!("---\n{}\n---\n", yaml::line(key, &Value::from(value)));
        let map = front_matter::split(&block).front.map(|front| front.map);
        assert_eq!(map, Some(Map::from_iter([(key.to_owned(), json!(value))])), "{block:?}");
    }
}
