//! What was changed, newest first: entries of the feed come in, an answer within its budget goes out.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::arguments::RecentArgs;
use super::difference::{Compared, difference};
use super::error::{NotUndoable, TrellisError, argument};
use super::model::{cursor, cursor_place};
use crate::families::Answer;
use crate::families::changes::{
    MAX_ITEMS, RecentChange, RecentChanges, RecentRequest, TouchedItem, touched_items, what,
};
use crate::families::feed::shown_change;
use crate::families::item_set::{ItemScope, ItemSet};

/// A difference is no longer than this.
const MAX_DIFF_CHARACTERS: usize = 20_000;
/// Room for the longest cursor, and what stands around it.
const FRAME_CHARACTERS: usize = 64;

/// What is asked of the feed.
pub fn request(args: &RecentArgs) -> Result<RecentRequest, TrellisError> {
    if args.diff && args.change.is_none() {
        return Err(argument("diff", "needs `change`", true));
    }
    let place = |given: &String| {
        let place = cursor_place(given, &asked(args));
        place.ok_or_else(|| argument("cursor", "is not from `next_cursor` of this call", given.as_str()))
    };
    let before = args.cursor.as_ref().map(place).transpose()?.map(|place| place as u64);
    let RecentArgs { uri, project, since, by, change, diff, limit, .. } = args.clone();
    // An address says in which project it is.
    let scope = if uri.is_some() { ItemScope::Every } else { project };
    Ok(RecentRequest { scope, uri, since, by, change, before, limit, with_texts: diff })
}

fn asked(args: &RecentArgs) -> String {
    format!("{:?}", RecentArgs { cursor: None, budget: 0, limit: 0, ..args.clone() })
}

/// As many changes as the budget allows; the first stays.
pub fn answer(recent: &RecentChanges, args: &RecentArgs) -> Result<Answer, TrellisError> {
    if let (Some(change), []) = (args.change, recent.changes.as_slice()) {
        return Err(TrellisError::ChangeNotFound { change: Some(change) });
    }
    let mut left = args.budget.saturating_sub(FRAME_CHARACTERS);
    let mut shown: Vec<Value> = Vec::new();
    for change in &recent.changes {
        let change = Value::from(fields(change, &recent.set, args));
        let length = change.to_string().chars().count() + 1;
        if length > left && !shown.is_empty() {
            break;
        }
        left = left.saturating_sub(length);
        shown.push(change);
    }
    let last = shown.len().checked_sub(1).and_then(|last| recent.changes.get(last));
    let has_more = recent.has_more || shown.len() < recent.changes.len();
    let mut answer = Map::new();
    answer.insert("changes".to_owned(), shown.into());
    if let Some(last) = last.filter(|_| has_more) {
        answer.insert("next_cursor".to_owned(), cursor(last.entry.id as usize, &asked(args)).into());
    }
    Ok(Answer::object(Value::from(answer)))
}

fn fields(change: &RecentChange, set: &ItemSet, args: &RecentArgs) -> Map<String, Value> {
    let entry = &change.entry;
    let mut fields = Map::new();
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(name.to_owned(), value);
        }
    };
    let at = Timestamp::from_millisecond(entry.at).unwrap_or_default();
    add("id", Some(shown_change(entry.id).into()));
    add("at", Some(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()));
    add("by", Some(entry.by.as_str().into()));
    add("session", entry.session.as_deref().map(Value::from));
    add("key", entry.key.as_deref().map(Value::from));
    add("tool", entry.tool.as_deref().map(Value::from));
    add("what", Some(what(entry).into()));
    let items = touched_items(entry, set);
    add("items", Some(items.iter().take(MAX_ITEMS).map(TouchedItem::shown).collect()));
    add("more", items.len().checked_sub(MAX_ITEMS).filter(|more| *more > 0).map(Value::from));
    add("undoes", entry.undoes.map(|undone| shown_change(undone).into()));
    add("undone_by", change.undone_by.map(|undo| shown_change(undo).into()));
    let why = match () {
        () if entry.is_by_hand() => Some(NotUndoable::ByHand.word()),
        () if change.undone_by.is_some() => Some(NotUndoable::Undone.word()),
        () if !change.is_kept => Some("expired"),
        () => None,
    };
    add("undoable", Some(why.is_none().into()));
    add("why", why.map(Value::from));
    if args.diff {
        let texts = entry.files.iter().zip(&change.texts);
        let compared: Vec<Compared<'_>> = texts
            .filter_map(|(file, texts)| {
                let (before, after) = texts.as_ref()?;
                Some(Compared { path: &file.path, before, after })
            })
            .collect();
        if !compared.is_empty() && compared.len() == entry.files.len() {
            add("diff", Some(difference(&compared, ("before", "after"), MAX_DIFF_CHARACTERS).into()));
        } else if why.is_none_or(|why| why == "undone") {
            add("why", Some("expired".into()));
        }
    }
    fields
}
