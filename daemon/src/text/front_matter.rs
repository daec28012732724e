//! Front matter: a YAML mapping between two lines of hyphens at the very beginning of a text. It is found, merged
//! with other keys and written; entries that a merge does not touch keep their bytes. Anything that only looks like
//! front matter is text.

use serde_json::{Map, Value};

use super::yaml::{self, NoMapping};

/// The byte order mark that some editors put in front.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A text, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitDocument<'a> {
    /// The mapping, and the lines it was read from; none if the text has no front matter.
    pub front: Option<FrontMatter<'a>>,
    /// Where the body begins, in bytes.
    pub body: usize,
    /// Where lines begin to count as lines of the body: the same, or behind a block that is no mapping.
    pub counted: usize,
    /// There is a block that would take up far more than its length says. It counts as none.
    pub is_over_budget: bool,
}

/// Front matter that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontMatter<'a> {
    /// What it says.
    pub map: Map<String, Value>,
    /// The lines between the delimiters.
    pub lines: &'a str,
    /// Where those lines begin, in bytes.
    pub start: usize,
}

/// Takes a text apart.
pub fn split(text: &str) -> SplitDocument<'_> {
    let begin = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
    let mut lines = text[begin..].split_inclusive('\n');
    let without = SplitDocument { front: None, body: begin, counted: begin, is_over_budget: false };
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else { return without };
    let start = begin + first.len();
    let mut end = start;
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            let (inner, body) = (&text[start..end], end + line.len());
            return match yaml::mapping(inner) {
                Ok(map) => {
                    let front = Some(FrontMatter { map, lines: inner, start });
                    SplitDocument { front, body, counted: body, ..without }
                }
                Err(why) => SplitDocument { counted: body, is_over_budget: why == NoMapping::OverBudget, ..without },
            };
        }
        end += line.len();
    }
    without
}

/// A text with other keys in its front matter: `over` goes over what `base` says (a null removes its key), in front of
/// the body. Without any key there is no block.
pub fn merged(base: Option<&FrontMatter<'_>>, over: &Map<String, Value>, body: &str) -> String {
    let lines = match base {
        Some(base) => merged_block(base, over),
        None => all_lines(over.iter().filter(|(_, value)| !value.is_null())),
    };
    if lines.trim().is_empty() { body.to_owned() } else { format!("---\n{lines}---\n{body}") }
}

/// The lines of a block with other keys; entries that are not touched keep their bytes. A block that would not be read
/// as what it should say is written anew.
pub fn merged_block(base: &FrontMatter<'_>, over: &Map<String, Value>) -> String {
    let mut wanted = base.map.clone();
    for (key, value) in over {
        match value {
            Value::Null => wanted.shift_remove(key),
            value => wanted.insert(key.clone(), value.clone()),
        };
    }
    let reads_back = |lines: &String| {
        let text = format!("---\n{lines}---\n");
        split(&text).front.is_some_and(|front| front.map == wanted)
    };
    changed_lines(base, over).filter(reads_back).unwrap_or_else(|| all_lines(wanted.iter()))
}

/// The same entry by entry; none if the block does not come apart.
fn changed_lines(base: &FrontMatter<'_>, over: &Map<String, Value>) -> Option<String> {
    let end = if base.lines.contains("\r\n") { "\r\n" } else { "\n" };
    let mut lines = String::new();
    for (key, raw) in entries(base)? {
        match key.and_then(|key| over.get_key_value(&key)) {
            None => lines.push_str(raw),
            Some((_, Value::Null)) => {}
            Some((key, value)) => lines += &(yaml::line(key, value) + end),
        }
    }
    for (key, value) in over.iter().filter(|(key, value)| !value.is_null() && !base.map.contains_key(*key)) {
        lines += &(yaml::line(key, value) + end);
    }
    Some(lines)
}

/// The lines of a block by key; comments and blank lines have none. None if the block is written in a way that does
/// not come apart.
fn entries<'a>(base: &FrontMatter<'a>) -> Option<Vec<(Option<String>, &'a str)>> {
    let mut starts = Vec::new();
    let mut place = 0;
    for line in base.lines.split_inclusive('\n') {
        let goes_on = line.starts_with([' ', '\t', ']', '}'])
            || line.trim_end() == "-"
            || line.starts_with("- ")
            || (line.trim().is_empty() && place > 0);
        if !goes_on {
            starts.push(place);
        }
        place += line.len();
    }
    starts.push(base.lines.len());
    let mut entries = Vec::new();
    for pair in starts.windows(2) {
        let raw = &base.lines[pair[0]..pair[1]];
        let mut keys = yaml::mapping(raw).ok()?.into_iter();
        let key = keys.next();
        if keys.next().is_some() || key.as_ref().is_some_and(|(key, value)| base.map.get(key) != Some(value)) {
            return None;
        }
        entries.push((key.map(|(key, _)| key), raw));
    }
    let keys = entries.iter().filter(|(key, _)| key.is_some()).count();
    (keys == base.map.len()).then_some(entries)
}

fn all_lines<'a>(pairs: impl Iterator<Item = (&'a String, &'a Value)>) -> String {
    pairs.map(|(key, value)| yaml::line(key, value) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Expected: the mapping, the body, and the part of it that counts.
    fn check(text: &str, map: Option<Value>, body: &str, counted: &str) {
        let split = split(text);
        assert_eq!(split.front.map(|front| Value::Object(front.map)), map, "{text:?}");
        assert_eq!((&text[split.body..], &text[split.counted..]), (body, counted), "{text:?}");
    }

    #[test]
    fn a_block_is_a_mapping_between_delimiters() {
        check("---\na: 1\n---\nbody\n", Some(json!({ "a": 1 })), "body\n", "body\n");
        check("\u{feff}---\r\na: 1\r\n---  \r\nbody", Some(json!({ "a": 1 })), "body", "body");
        check("---\t\na: 1\n...\nbody", Some(json!({ "a": 1 })), "body", "body");
        check("---\n---\nbody", Some(json!({})), "body", "body");
        check("---\na: 1\n---", Some(json!({ "a": 1 })), "", "");
        for text in ["body", "", "---", "---\na: 1\n", " ---\na: 1\n---\n", "----\na: 1\n---\n", "\n---\na: 1\n---\n"] {
            check(text, None, text, text);
        }
        check("---\njust words\n---\nbody", None, "---\njust words\n---\nbody", "body");
        check("---\n- a\n---\nbody", None, "---\n- a\n---\nbody", "body");
        check("---\nstatus: [\n---\nbody", None, "---\nstatus: [\n---\nbody", "body");
        check("\u{feff}body", None, "body", "body");
    }

    fn check_merged(text: &str, over: Value, expected: &str) {
        let split = split(text);
        let over = over.as_object().expect("an object").clone();
        assert_eq!(merged(split.front.as_ref(), &over, &text[split.body..]), expected, "{text:?} {over:?}");
    }

    #[test]
    fn keys_go_over_keys_and_the_rest_keeps_its_bytes() {
        check_merged("body", json!({ "tags": ["a", "b"], "x": 1 }), "---\ntags: [a, b]\nx: 1\n---\nbody");
        check_merged("body", json!({}), "body");
        check_merged("body", json!({ "x": null }), "body");
        check_merged("---\na: 1\n---\nbody", json!({ "a": null }), "body");
        let text =
            "---\n# why\na:   'x'\ntags:\n- one\n- two\nb: |\n  long\n\n  text\nd: 2025-01-02 # day\n---\nbody\n";
        let expected =
            "---\n# why\na:   'x'\ntags: [z]\nb: |\n  long\n\n  text\nd: 2025-01-02 # day\nnew: \"1\"\n---\nbody\n";
        check_merged(text, json!({ "tags": ["z"], "new": "1" }), expected);
        check_merged("---\na: 1\r\nb: 2\r\n---\nx", json!({ "b": 3 }), "---\na: 1\r\nb: 3\r\n---\nx");
        check_merged("---\n{a: 1, b: 2}\n---\nx", json!({ "b": 3 }), "---\na: 1\nb: 3\n---\nx");
        check_merged("---\na: &x 1\nb: *x\n---\n", json!({ "c": 3 }), "---\na: 1\nb: 1\nc: 3\n---\n");
        check_merged("---\na: 1\na: 2\n---\n", json!({ "b": 3 }), "---\na: 2\nb: 3\n---\n");
        check_merged("---\nbroken\n---\nx", json!({ "a": 1 }), "---\na: 1\n---\n---\nbroken\n---\nx");
    }

    #[test]
    fn a_block_that_could_not_be_read_with_another_key_is_written_anew() {
        let text = "---\n\n\t\t?\t\t v}\n---\nbody";
        let block = split(text);
        let over = Map::from_iter([("a".to_owned(), json!(1))]);
        let merged = merged(block.front.as_ref(), &over, &text[block.body..]);
        let again = split(&merged);
        let map = again.front.expect("it has a block").map;
        assert_eq!((map.get("a"), map.len()), (Some(&json!(1)), block.front.expect("it has a block").map.len() + 1));
        assert_eq!(&merged[again.body..], "body");
    }
}
