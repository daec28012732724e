//! Single values of arguments: each is checked by itself and breaks one rule at most. Null counts as absent;
//! lengths count Unicode scalar values.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::error::{Rule, TodoError};
use super::lines;
use super::model::{AdrStatus, NUMBERS, Status, TaskId};
use super::render;
use crate::text::json::whole_number;

/// What a call gives.
pub type Object = Map<String, Value>;

type Field = Cow<'static, str>;

/// A value that is there and not null.
pub fn given<'a>(object: &'a Object, key: &str) -> Option<&'a Value> {
    object.get(key).filter(|value| !value.is_null())
}

/// The id of a task; it must be there.
pub fn task_id(object: &Object, field: &'static str) -> Result<TaskId, TodoError> {
    let value = given(object, field);
    value
        .and_then(Value::as_str)
        .and_then(TaskId::parse)
        .ok_or_else(|| TodoError::argument(Rule::TaskId, field, "`T` and three digits, such as `T001`", value))
}

/// The number of a record; it must be there.
pub fn adr_number(object: &Object) -> Result<u16, TodoError> {
    let value = given(object, "adr_number");
    let number = value.and_then(whole_number).and_then(|number| u16::try_from(number).ok());
    number.filter(|number| (1..=NUMBERS).contains(number)).ok_or_else(|| {
        TodoError::argument(Rule::AdrNumber, "adr_number", format!("an integer from 1 to {NUMBERS}"), value)
    })
}

/// The status of a task.
pub fn status(object: &Object) -> Result<Option<Status>, TodoError> {
    status_at(object, "status".into())
}

/// The same, of something inside the arguments.
pub fn status_at(object: &Object, field: Field) -> Result<Option<Status>, TodoError> {
    let Some(value) = given(object, "status") else { return Ok(None) };
    let status = value.as_str().and_then(Status::named);
    let wanted = "`todo`, `in_progress` or `done`";
    status.map(Some).ok_or_else(|| TodoError::argument(Rule::Status, field, wanted, Some(value)))
}

/// The status of a record.
pub fn adr_status(object: &Object) -> Result<Option<AdrStatus>, TodoError> {
    let value = given(object, "status");
    let status = value.map(|value| value.as_str().and_then(AdrStatus::named));
    match status {
        None => Ok(None),
        Some(Some(status)) => Ok(Some(status)),
        Some(None) => Err(TodoError::argument(Rule::Status, "status", "`Proposed`, `Accepted` or `Deprecated`", value)),
    }
}

/// A category; an empty one counts as absent.
pub fn category(object: &Object) -> Result<Option<String>, TodoError> {
    let Some(value) = given(object, "category").filter(|value| value.as_str() != Some("")) else { return Ok(None) };
    let wrong = |wanted: &'static str| TodoError::argument(Rule::Category, "category", wanted, Some(value));
    let name = value.as_str().ok_or_else(|| wrong("a text"))?.trim();
    match () {
        () if name.is_empty() => Err(wrong("more than blanks")),
        () if name.chars().count() > 50 => Err(wrong("at most 50 characters long")),
        () if has_control(name) => Err(wrong("one line without control characters")),
        () if name.starts_with('#') => Err(wrong("a name that does not begin with `#`")),
        () if !reads_back(name) => Err(wrong("a name that does not end with `#`")),
        () => Ok(Some(name.to_owned())),
    }
}

/// A section of a context; an empty one counts as absent.
pub fn section(object: &Object) -> Result<Option<String>, TodoError> {
    let Some(value) = given(object, "section").filter(|value| value.as_str() != Some("")) else { return Ok(None) };
    let wrong = |rule, wanted: &'static str| TodoError::argument(rule, "section", wanted, Some(value));
    let name = value.as_str().ok_or_else(|| wrong(Rule::Input, "a text"))?.trim();
    match () {
        () if name.is_empty() => Err(wrong(Rule::Input, "more than blanks")),
        () if name.chars().count() > 50 => Err(wrong(Rule::Length, "at most 50 characters long")),
        () if has_control(name) => Err(wrong(Rule::Input, "one line without control characters")),
        () if !reads_back(name) => Err(wrong(Rule::Input, "a name that does not end with `#`")),
        () => Ok(Some(name.to_owned())),
    }
}

fn has_control(name: &str) -> bool {
    name.contains(is_break)
}

fn is_break(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}')
}

/// Whether a heading with this name has this name.
fn reads_back(name: &str) -> bool {
    lines::heading(&render::heading(name)) == Some((2, name))
}

/// A text on one line that is not empty; it must be there.
pub fn title(object: &Object, field: Field) -> Result<String, TodoError> {
    let key = field.rsplit('.').next().unwrap_or(&field).to_owned();
    title_of(given(object, &key), field)
}

/// The same, of a value.
pub fn title_of(value: Option<&Value>, field: Field) -> Result<String, TodoError> {
    let text = value.and_then(Value::as_str);
    let title = text.map(one_line).unwrap_or_default();
    if title.is_empty() {
        return Err(TodoError::argument(Rule::Input, field, "a text that is not empty", value));
    }
    if title.chars().count() > 100 {
        return Err(TodoError::argument(Rule::Length, field, "at most 100 characters long", value));
    }
    Ok(title)
}

/// Line breaks and other control characters, however many in a row, become one space.
pub fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split(is_break).filter(|part| !part.is_empty()).collect();
    words.join(" ").trim().to_owned()
}

/// A text of limited length, as it is.
pub fn text(object: &Object, field: &'static str, limit: usize) -> Result<Option<String>, TodoError> {
    let Some(value) = given(object, field) else { return Ok(None) };
    let Some(text) = value.as_str() else {
        return Err(TodoError::argument(Rule::Input, field, "a text", Some(value)));
    };
    if text.chars().count() > limit {
        let wanted = format!("at most {limit} characters long");
        return Err(TodoError::argument(Rule::Length, field, wanted, Some(value)));
    }
    Ok(Some(text.to_owned()))
}

/// A text of limited length that must be there, be it empty.
pub fn needed_text(object: &Object, field: &'static str, limit: usize) -> Result<String, TodoError> {
    text(object, field, limit)?.ok_or_else(|| TodoError::argument(Rule::Input, field, "a text", None))
}

/// At most so many of something.
pub fn list<'a>(object: &'a Object, field: &'static str, limit: usize) -> Result<Option<&'a [Value]>, TodoError> {
    let Some(value) = given(object, field) else { return Ok(None) };
    let Some(items) = value.as_array() else {
        return Err(TodoError::argument(Rule::Input, field, "a list", Some(value)));
    };
    if items.len() > limit {
        let wanted = format!("a list of at most {limit}");
        return Err(TodoError::argument(Rule::Length, field, wanted, Some(&Value::from(items.len()))));
    }
    Ok(Some(items))
}

/// How many are wanted.
pub fn limit(object: &Object, most: usize, default: usize) -> Result<usize, TodoError> {
    let Some(value) = given(object, "limit") else { return Ok(default) };
    let limit = whole_number(value).and_then(|limit| usize::try_from(limit).ok());
    limit
        .filter(|limit| (1..=most).contains(limit))
        .ok_or_else(|| TodoError::argument(Rule::Input, "limit", format!("an integer from 1 to {most}"), Some(value)))
}

/// Yes or no; no if it is not said.
pub fn flag(object: &Object, field: &'static str) -> Result<bool, TodoError> {
    match given(object, field) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => Err(TodoError::argument(Rule::Input, field, "true or false", Some(other))),
    }
}

/// The project that the caller names.
pub fn project_root(object: &Object) -> Result<Option<PathBuf>, TodoError> {
    let Some(value) = given(object, "project_root") else { return Ok(None) };
    match value.as_str().map(Path::new).filter(|path| path.is_absolute()) {
        Some(path) => Ok(Some(path.to_owned())),
        None => Err(TodoError::argument(Rule::Input, "project_root", "an absolute path", Some(value))),
    }
}

/// The hash that the caller has read.
pub fn if_match(object: &Object) -> Result<Option<String>, TodoError> {
    match given(object, "if_match") {
        None => Ok(None),
        Some(Value::String(hash)) => Ok(Some(hash.clone())),
        Some(other) => Err(TodoError::argument(Rule::Input, "if_match", "a hash", Some(other))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(value: Value, expected: Result<Option<&str>, Rule>) {
        let object = Object::from_iter([("category".to_owned(), value.clone())]);
        let seen = category(&object).map_err(|error| match error {
            TodoError::Argument { rule, .. } => rule,
            other => panic!("{other}"),
        });
        assert_eq!(seen, expected.map(|name| name.map(str::to_owned)), "{value}");
    }

    #[test]
    fn categories_are_one_line_and_read_back() {
        check(json!(null), Ok(None));
        check(json!(""), Ok(None));
        check(json!(" 設計 "), Ok(Some("設計")));
        check(json!("あ".repeat(50)), Ok(Some(&"あ".repeat(50))));
        check(json!("C#"), Ok(Some("C#")));
        for wrong in ["  ", "a\nb", "a\tb", "#a", "a #", "a ##", &"あ".repeat(51), "a\u{2028}b"] {
            check(json!(wrong), Err(Rule::Category));
        }
        check(json!(7), Err(Rule::Category));
    }

    #[test]
    fn titles_become_one_line() {
        for (text, expected) in
            [(" a ", "a"), ("a\r\nb", "a b"), ("a\tb\u{7}c", "a b c"), ("\n", ""), ("a\n\n\nb", "a b"), ("　x　", "x")]
        {
            assert_eq!(one_line(text), expected, "{text:?}");
        }
    }

    #[test]
    fn booleans_and_fractions_are_no_whole_numbers() {
        for wrong in [json!(0), json!(51), json!(1.5), json!(true), json!("5"), json!(-1), json!(1e300)] {
            let object = Object::from_iter([("limit".to_owned(), wrong.clone())]);
            assert!(limit(&object, 50, 20).is_err(), "{wrong}");
            let object = Object::from_iter([("adr_number".to_owned(), wrong)]);
            assert!(adr_number(&object).is_err() || object["adr_number"] == 51);
        }
        assert_eq!(limit(&Object::new(), 50, 20), Ok(20));
        let object = Object::from_iter([("limit".to_owned(), json!(5.0)), ("adr_number".to_owned(), json!(999.0))]);
        assert_eq!((limit(&object, 50, 20), adr_number(&object)), (Ok(5), Ok(999)));
        let beyond = Object::from_iter([("adr_number".to_owned(), json!(1000.0))]);
        let error = adr_number(&beyond).expect_err("there are 999");
        assert_eq!(error.to_string(), "`adr_number` must be an integer from 1 to 999, not `1000.0`", "as it was given");
    }
}
