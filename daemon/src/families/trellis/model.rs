//! Items as answers show them: fields with nothing to say are left out.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use super::arguments::OpenArgs;
use super::error::{TrellisError, argument};
use super::pages::page_end;
use crate::families::Answer;
use crate::families::address::outline;
use crate::families::claim::{ItemClaim, shown_time};
use crate::families::item_set::{ItemRef, ItemSet, OpenedResource};
use crate::text::hash::hash_of;

/// One item as an answer shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownItem {
    pub uri: String,
    pub kind: &'static str,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<&'static str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub project: String,
    pub updated: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed: Option<ShownClaim>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "is_false")]
    pub ready: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub outdated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// A claim as other items' readers see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownClaim {
    pub by: String,
    pub session: String,
    pub until: String,
    pub mine: bool,
}

impl ShownClaim {
    fn of(claim: &ItemClaim, is_mine: bool) -> Self {
        let ItemClaim { by, session, until, .. } = claim;
        Self { by: by.clone(), session: session.clone(), until: shown_time(*until), mine: is_mine }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl ShownItem {
    pub fn of(found: ItemRef<'_>, set: &ItemSet) -> Self {
        let item = found.item;
        Self {
            uri: found.address(),
            kind: item.kind.word(),
            title: found.title().to_owned(),
            status: item.status.clone(),
            lane: item.lane.map(|lane| lane.word()),
            project: found.project().to_owned(),
            updated: written(found.file.stamp.modified_ns),
            claimed: set.claims.of(found).map(|(claim, is_mine)| ShownClaim::of(claim, is_mine)),
            tags: item.tags.clone(),
            ready: item.ready,
            outdated: item.outdated,
            superseded_by: item.outdated.then(|| set.superseded_by(found)).flatten(),
            warning: item.warning.clone(),
        }
    }

    pub fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }
}

/// A file's time in UTC, to the second.
fn written(modified_ns: i128) -> String {
    let at = Timestamp::from_nanosecond(modified_ns).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Something with an address that is no item: a page of its text.
pub fn resource(resource: &OpenedResource, args: &OpenArgs) -> Result<Answer, TrellisError> {
    let OpenedResource { uri, title, text } = resource;
    let asked = format!("{uri}\n{}", hash_of(text.as_bytes()));
    let start = match &args.cursor {
        None => 0,
        Some(given) => cursor_place(given, &asked)
            .filter(|start| *start <= text.len())
            .ok_or_else(|| argument("cursor", "is not from `next_cursor` of this text", given.as_str()))?,
    };
    let end = page_end(text, start, args.budget, &outline(text));
    let mut answer = Map::new();
    answer.insert("uri".to_owned(), uri.as_str().into());
    answer.insert("title".to_owned(), title.as_str().into());
    answer.insert("text".to_owned(), text[start..end].into());
    if end < text.len() {
        answer.insert("next_cursor".to_owned(), cursor(end, &asked).into());
    }
    Ok(Answer::object(Value::from(answer)))
}

/// Characters of the hash in a cursor.
const CURSOR_CHECK: usize = 12;

/// A place in an answer, bound to what was asked: another call does not take it.
pub fn cursor(place: usize, asked: &str) -> String {
    format!("{place:x}-{}", &hash_of(format!("{place}\n{asked}").as_bytes())[..CURSOR_CHECK])
}

/// The place that a cursor names, if it is one for what is asked.
pub fn cursor_place(given: &str, asked: &str) -> Option<usize> {
    let place = usize::from_str_radix(given.split_once('-')?.0, 16).ok()?;
    (cursor(place, asked) == given).then_some(place)
}
