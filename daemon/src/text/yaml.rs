//! Values in YAML: mappings are read, values are written on one line each. What is written reads back as the same
//! value, also by readers of older YAML, for whom `yes` and `2025-02-09` are no texts.

use serde_json::{Map, Value};
use serde_saphyr::{DuplicateKeyPolicy, Error, MergeKeyPolicy, NonFiniteFloatPolicy, Options};

/// What aliases may add to a text: so many events of the parser, and so many bytes. A few hundred bytes of aliases of
/// aliases would otherwise become as many megabytes.
const MAX_REPLAYED_EVENTS: usize = 1000;
const MAX_ALIAS_BYTES: usize = 64 << 10;
/// Values in one text.
const MAX_NODES: usize = 50_000;

/// Words that some readers take for something else than text.
const WORDS: [&str; 10] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null", "~"];
/// No plain text begins with one of these.
const INDICATORS: &str = "-?:,[]{}#&*!|>'\"%@`=<";

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    /// Alone behind its key.
    Line,
    /// Between brackets, or as a key.
    Flow,
}

/// Why a text gives no mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoMapping {
    /// It is no YAML, or another value.
    Other,
    /// It would take up far more than its length says, through aliases or nesting.
    OverBudget,
}

/// A mapping. Nothing but comments is an empty one.
pub fn mapping(text: &str) -> Result<Map<String, Value>, NoMapping> {
    let is_empty = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    // A comment that no YAML may hold hides nothing: with a key beside it, it would not be read either.
    let is_allowed = |character: char| !character.is_control() || matches!(character, '\t' | '\n' | '\r');
    if text.lines().all(is_empty) && text.chars().all(is_allowed) {
        return Ok(Map::new());
    }
    match read(text)? {
        Value::Object(map) => Ok(map),
        _ => Err(NoMapping::Other),
    }
}

fn read(text: &str) -> Result<Value, NoMapping> {
    let mut options = Options::default();
    options.duplicate_keys = DuplicateKeyPolicy::LastWins;
    options.merge_keys = MergeKeyPolicy::AsOrdinary;
    options.non_finite_float_policy = NonFiniteFloatPolicy::AsString;
    options.strict_booleans = true;
    options.with_snippet = false;
    options.alias_limits.max_total_replayed_events = MAX_REPLAYED_EVENTS;
    if let Some(budget) = &mut options.budget {
        budget.max_nodes = MAX_NODES;
        // An escape may be shorter than what it stands for, though never by half.
        budget.max_total_scalar_bytes = 2 * text.len() + MAX_ALIAS_BYTES;
    }
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| if is_over_budget(&error) { NoMapping::OverBudget } else { NoMapping::Other })
}

fn is_over_budget(error: &Error) -> bool {
    match error {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => is_over_budget(error),
        Error::Budget { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => true,
        _ => false,
    }
}

/// `key: value`, without a line end.
pub fn line(key: &str, value: &Value) -> String {
    format!("{}: {}", scalar(key, Context::Flow), rendered(value, Context::Line))
}

fn rendered(value: &Value, context: Context) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => scalar(text, context),
        Value::Array(values) => {
            let items: Vec<String> = values.iter().map(|value| rendered(value, Context::Flow)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let pair = |(key, value): (&String, &Value)| {
                format!("{}: {}", scalar(key, Context::Flow), rendered(value, Context::Flow))
            };
            let pairs: Vec<String> = map.iter().map(pair).collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}

fn scalar(text: &str, context: Context) -> String {
    if may_be_plain(text, context) && reads_back(text, context) { text.to_owned() } else { quoted(text) }
}

fn may_be_plain(text: &str, context: Context) -> bool {
    let begins_well = text.chars().next().is_some_and(|first| !INDICATORS.contains(first)) && !text.starts_with("...");
    let is_line = text.trim() == text && !text.chars().any(is_odd);
    let is_one_value = !text.contains(": ") && !text.contains(" #") && !text.contains(":\t") && !text.ends_with(':');
    let is_one_item = context == Context::Line || !text.contains([',', '[', ']', '{', '}']);
    let is_word = WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    begins_well && is_line && is_one_value && is_one_item && !is_word && !is_number(text) && !is_date(text)
}

/// Characters that break a line, or that nobody sees.
fn is_odd(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Also numbers of older YAML: `0x1f`, `1_000`, `12:30`.
fn is_number(text: &str) -> bool {
    let bare = text.trim_start_matches(['+', '-', '.']);
    let is_special = ["inf", "nan"].iter().any(|word| bare.eq_ignore_ascii_case(word));
    let begins = bare.starts_with(|first: char| first.is_ascii_digit());
    let is_based =
        ["0x", "0o", "0b"].iter().any(|base| bare.get(..2).is_some_and(|head| head.eq_ignore_ascii_case(base)));
    let fits = |byte: u8| match byte {
        b'0'..=b'9' | b'_' | b'.' | b':' | b'+' | b'-' | b'e' | b'E' => true,
        _ => is_based && byte.is_ascii_alphanumeric(),
    };
    is_special || (begins && bare.bytes().all(fits))
}

fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let is_count =
        |part: &str, most: usize| (1..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    let (Some(year), Some(month), Some(rest)) = (parts.next(), parts.next(), parts.next()) else { return false };
    let day = rest.split(['T', 't', ' ']).next().unwrap_or(rest);
    year.len() == 4 && is_count(year, 4) && is_count(month, 2) && is_count(day, 2)
}

/// The last word has the reader.
fn reads_back(text: &str, context: Context) -> bool {
    let value = match context {
        Context::Line => read(&format!("k: {text}")).map(|value| value["k"].clone()),
        Context::Flow => read(&format!("k: [{text}, {text}]")).map(|value| value["k"][1].clone()),
    };
    value.is_ok_and(|value| value == text)
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            odd if is_odd(odd) => quoted.push_str(&format!("\\u{:04X}", odd as u32)),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(value: Value, expected: &str) {
        assert_eq!(line("k", &value), format!("k: {expected}"));
        assert_eq!(mapping(&line("k", &value)), Ok(json!({ "k": value }).as_object().expect("an object").clone()));
    }

    #[test]
    fn texts_are_plain_when_they_read_back() {
        for plain in
            ["backend", "a b", "a, b", "003-x", "v1.2", "it's", "búsqueda", "設定", "a:b", "a#b", "x [y]", "1a"]
        {
            check(json!(plain), plain);
        }
        for quoted in [
            "",
            " a",
            "a ",
            "a: b",
            "a #b",
            "- a",
            "[a]",
            "{a}",
            "#a",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "'a",
            "%a",
            "@a",
            "`a",
            "a:",
            "true",
            "No",
            "ON",
            "null",
            "~",
            "12",
            "1_000",
            "0x1F",
            "1e3",
            ".5",
            "-7",
            "12:30",
            ".inf",
            "2025-02-09",
            "2025-2-9",
            "2025-02-09T10:00:00Z",
            "---",
            "...",
            "? a",
            ": a",
            "<<",
            "=",
        ] {
            check(json!(quoted), &format!("\"{quoted}\""));
        }
        check(json!("a\nb\t\"c\" \\ \u{7}\u{2028}"), r#""a\nb\t\"c\" \\ \u0007\u2028""#);
        check(json!("\"a\""), r#""\"a\"""#);
    }

    #[test]
    fn everything_else_stands_on_one_line() {
        check(
            json!(["a", "b c", "d, e", "[f]", "g: h", 3, true, null, "3"]),
            r#"[a, b c, "d, e", "[f]", "g: h", 3, true, null, "3"]"#,
        );
        check(json!({ "a": 1, "b: c": ["x"] }), r#"{a: 1, "b: c": [x]}"#);
        check(json!(1.5), "1.5");
        check(json!([]), "[]");
        check(json!({}), "{}");
        assert_eq!(line("a: b", &json!(1)), "\"a: b\": 1");
    }

    fn check_mapping(text: &str, expected: Option<Value>) {
        assert_eq!(mapping(text).ok().map(Value::Object), expected, "{text:?}");
    }

    #[test]
    fn only_mappings_are_read() {
        check_mapping("", Some(json!({})));
        check_mapping("# only this\n\n", Some(json!({})));
        check_mapping("# not this\u{0}\n", None);
        check_mapping("a: 1\nb: [x, y]\n", Some(json!({ "a": 1, "b": ["x", "y"] })));
        check_mapping("a: yes\nd: 2025-02-09\nn:\n", Some(json!({ "a": "yes", "d": "2025-02-09", "n": null })));
        check_mapping("a: 1\na: 2\n", Some(json!({ "a": 2 })));
        check_mapping("1: x\n", Some(json!({ "1": "x" })));
        check_mapping("x", None);
        check_mapping("- a\n", None);
        check_mapping("null", None);
        check_mapping("a: [", None);
        check_mapping("a: b: c", None);
    }

    #[test]
    fn aliases_may_add_a_little() {
        check_mapping("a: &x [1, 2]\nb: *x\n", Some(json!({ "a": [1, 2], "b": [1, 2] })));
        let shared = "a: &x shared words\n".to_owned() + &(0..50).map(|n| format!("b{n}: *x\n")).collect::<String>();
        assert_eq!(mapping(&shared).map(|map| map.len()), Ok(51));
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..9 {
            bomb += &format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(", "));
        }
        assert!(bomb.len() < 600);
        assert_eq!(mapping(&bomb), Err(NoMapping::OverBudget));
        let long = format!("a: &x {}\nb: [{}]\n", "y".repeat(10_000), vec!["*x"; 90].join(", "));
        assert_eq!(mapping(&long), Err(NoMapping::OverBudget));
        assert_eq!(mapping(&format!("a: {}{}", "[".repeat(100), "]".repeat(100))), Err(NoMapping::OverBudget));
        let many = format!("tags: [{}]\n", vec!["tag"; 10_000].join(", "));
        assert!(mapping(&many).is_ok());
    }

    proptest::proptest! {
        #[test]
        fn every_text_reads_back(key in "\\PC{1,12}", text in ".{0,40}", more in proptest::collection::vec("[\\PC\\s]{0,12}", 0..4)) {
            let value = json!([text, more]);
            for value in [json!(text), value] {
                let seen = mapping(&line(&key, &value)).unwrap_or_default();
                proptest::prop_assert_eq!(seen.get(&key), Some(&value));
            }
        }
    }
}
