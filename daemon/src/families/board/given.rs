//! Arguments as they came → values that keep their rules, or the refusal that names argument and rule.

use std::path::{Path, PathBuf};

use serde_json::{Map, Number, Value};

use super::arguments::NewTask;
use super::error::BoardError;
use super::model::{Lane, Priority};
use super::rules::{self, Rule};
use crate::text::json::whole_number;

/// Arguments, and how they are called in refusals.
#[derive(Debug)]
pub struct Given<'a> {
    /// The arguments.
    pub object: &'a Map<String, Value>,
    /// Stands before each name, as in `tasks[3].`.
    pub prefix: String,
}

impl<'a> Given<'a> {
    /// The arguments of a call.
    pub fn of(object: &'a Map<String, Value>) -> Self {
        Self { object, prefix: String::new() }
    }

    /// An argument that is not null.
    pub fn value(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// Something is wrong with an argument.
    pub fn refused(&self, name: &str, rule: Rule, issue: impl Into<String>) -> BoardError {
        BoardError::argument(format!("{}{name}", self.prefix), rule, issue)
    }

    /// An argument is missing, or of the wrong kind.
    pub fn wrong(&self, name: &str, rule: Rule) -> BoardError {
        BoardError::wrong(format!("{}{name}", self.prefix), rule, self.value(name))
    }

    /// A text, taken as it is.
    pub fn text(&self, name: &str, rule: Rule, most: usize) -> Result<Option<&'a str>, BoardError> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => {
                self.fits(name, rule, text, most)?;
                Ok(Some(text))
            }
            Some(_) => Err(self.wrong(name, rule)),
        }
    }

    fn fits(&self, name: &str, rule: Rule, text: &str, most: usize) -> Result<(), BoardError> {
        match text.chars().count() {
            count if count > most => {
                Err(self.refused(name, rule, format!("has {count} characters, at most {most} are allowed")))
            }
            _ => Ok(()),
        }
    }

    /// A text of one line that is not empty.
    pub fn word(&self, name: &str, rule: Rule, value: &Value, most: usize) -> Result<String, BoardError> {
        let Value::String(text) = value else {
            return Err(BoardError::wrong(format!("{}{name}", self.prefix), rule, Some(value)));
        };
        let text = on_one_line(text);
        match text.is_empty() {
            true => Err(self.refused(name, rule, "is empty")),
            false => self.fits(name, rule, &text, most).map(|()| text),
        }
    }

    /// All that makes a task.
    pub fn new_task(&self) -> Result<NewTask, BoardError> {
        Ok(NewTask {
            title: self.title()?,
            description: self.description()?.unwrap_or_default(),
            priority: self.priority()?.unwrap_or(Priority::Medium),
            lane: self.lane("lane")?.unwrap_or(Lane::Backlog),
            estimate: self.hours()?,
            tags: self.tags()?.unwrap_or_default(),
            assignee: self.assignee()?.flatten(),
        })
    }

    /// A title that must be there.
    pub fn title(&self) -> Result<String, BoardError> {
        match self.value("title") {
            Some(value) => self.word("title", Rule::Title, value, rules::TITLE),
            None => Err(self.wrong("title", Rule::Title)),
        }
    }

    /// A description.
    pub fn description(&self) -> Result<Option<String>, BoardError> {
        Ok(self.text("description", Rule::Description, rules::DESCRIPTION)?.map(str::to_owned))
    }

    /// A priority.
    pub fn priority(&self) -> Result<Option<Priority>, BoardError> {
        let Some(value) = self.value("priority") else { return Ok(None) };
        let priority = value.as_str().and_then(Priority::named);
        priority.map(Some).ok_or_else(|| self.wrong("priority", Rule::Priority))
    }

    /// A lane.
    pub fn lane(&self, name: &str) -> Result<Option<Lane>, BoardError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        value.as_str().and_then(Lane::named).map(Some).ok_or_else(|| self.wrong(name, Rule::Lane))
    }

    /// An estimate.
    pub fn hours(&self) -> Result<Option<Number>, BoardError> {
        match self.value("estimatedHours") {
            None => Ok(None),
            Some(Value::Number(hours)) if hours.as_f64().is_some_and(|hours| rules::HOURS.contains(&hours)) => {
                Ok(Some(hours.clone()))
            }
            Some(_) => Err(self.wrong("estimatedHours", Rule::Hours)),
        }
    }

    /// Tags without duplicates.
    pub fn tags(&self) -> Result<Option<Vec<String>>, BoardError> {
        let items = match self.value("tags") {
            None => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.wrong("tags", Rule::Tags)),
        };
        let mut tags = Vec::new();
        for (place, item) in items.iter().enumerate() {
            let tag = self.word(&format!("tags[{place}]"), Rule::Tag, item, rules::WORD)?;
            if !tags.contains(&tag) {
                tags.push(tag);
            }
            if tags.len() > rules::TAGS {
                let issue = format!("has more than {} tags", rules::TAGS);
                return Err(self.refused("tags", Rule::Tags, issue));
            }
        }
        Ok(Some(tags))
    }

    /// Some none: nobody, said with an empty name.
    pub fn assignee(&self) -> Result<Option<Option<String>>, BoardError> {
        let Some(value) = self.value("assignee") else { return Ok(None) };
        match value {
            Value::String(text) if on_one_line(text).is_empty() => Ok(Some(None)),
            value => self.word("assignee", Rule::Assignee, value, rules::WORD).map(|name| Some(Some(name))),
        }
    }

    /// The id of a task, also of the form that older files hold.
    pub fn id(&self) -> Result<String, BoardError> {
        let tail = self.value("id").and_then(Value::as_str).and_then(|id| id.strip_prefix("task-"));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        match tail.filter(|tail| rules::ID_TAIL.contains(&tail.len()) && tail.bytes().all(plain)) {
            Some(tail) => Ok(format!("task-{tail}")),
            None => Err(self.wrong("id", Rule::Id)),
        }
    }

    /// How many are wanted.
    pub fn limit(&self) -> Result<usize, BoardError> {
        let Some(value) = self.value("limit") else { return Ok(rules::DEFAULT_LIMIT) };
        let limit = whole_number(value).and_then(|limit| usize::try_from(limit).ok());
        limit.filter(|limit| (1..=rules::LIMIT).contains(limit)).ok_or_else(|| self.wrong("limit", Rule::Limit))
    }

    /// A hash.
    pub fn if_match(&self) -> Result<Option<String>, BoardError> {
        match self.value("if_match") {
            None => Ok(None),
            Some(Value::String(hash)) => Ok(Some(hash.trim().to_owned())),
            Some(_) => Err(self.wrong("if_match", Rule::IfMatch)),
        }
    }

    /// A project.
    pub fn project_root(&self) -> Result<Option<PathBuf>, BoardError> {
        let Some(value) = self.value("project_root") else { return Ok(None) };
        let path = value.as_str().map(Path::new).filter(|path| path.is_absolute());
        path.map(|path| Some(path.to_owned())).ok_or_else(|| self.wrong("project_root", Rule::ProjectRoot))
    }
}

/// Trimmed, line breaks and tabs as blanks, without other control characters.
fn on_one_line(text: &str) -> String {
    let breaks = |c: char| matches!(c, '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let text = text.replace("\r\n", " ");
    let line = text.chars().map(|c| if breaks(c) { ' ' } else { c }).filter(|c| !c.is_control()).collect::<String>();
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_line() {
        for (text, expected) in [
            ("  a b ", "a b"),
            ("a\r\nb\nc\td", "a b c d"),
            ("\u{0}a\u{1b}\u{7f}\u{9f}b", "ab"),
            ("a\u{85}b\u{2028}c\u{2029}d\u{b}e", "a b c d e"),
            ("\u{3000}あ\u{a0}", "あ"),
            ("👨\u{200d}👩", "👨\u{200d}👩"),
            (" \n\u{2028}", ""),
        ] {
            assert_eq!(on_one_line(text), expected, "{text:?}");
        }
    }
}
