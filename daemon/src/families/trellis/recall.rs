//! Hits of a recall → an answer within its budget.

use serde_json::{Map, Value, json};

use super::arguments::RecallArgs;
use super::error::{TrellisError, argument};
use super::model::{ShownItem, cursor, cursor_place};
use crate::families::Answer;
use crate::families::recall::{ItemRequest, RecallHit, Recalled};

/// Room for the longest cursor, and what stands around it.
const CURSOR_CHARACTERS: usize = 48;

/// What is asked of the index.
pub fn request(args: &RecallArgs) -> Result<ItemRequest, TrellisError> {
    let offset = match &args.cursor {
        Some(given) => cursor_place(given, &asked(args))
            .ok_or_else(|| argument("cursor", "is not from `next_cursor` of this query", given.as_str()))?,
        None => 0,
    };
    let RecallArgs { query, kind, lane, project, limit, .. } = args.clone();
    Ok(ItemRequest { scope: project, query, kind, lane, offset, limit })
}

fn asked(args: &RecallArgs) -> String {
    format!("{:?}", RecallArgs { cursor: None, budget: 0, ..args.clone() })
}

/// As many hits as the budget allows; the first stays, with a shorter snippet if need be.
pub fn answer(recalled: &Recalled, args: &RecallArgs) -> Result<Answer, TrellisError> {
    let ItemRequest { offset, .. } = request(args)?;
    let Recalled { set, hits: found } = recalled;
    let mut stale = set.stale.clone();
    stale.extend(found.stale.iter().filter_map(|tree| Some(set.trees.get(*tree)?.shown_project.clone())));
    stale.sort();
    stale.dedup();
    let mut front = Map::new();
    front.insert("query".to_owned(), args.query.as_str().into());
    front.insert("total".to_owned(), found.total.into());
    if found.hits.first().is_some_and(RecallHit::is_relaxed) {
        front.insert("relaxed".to_owned(), true.into());
    }
    let mut back = Map::new();
    if !stale.is_empty() {
        back.insert("stale".to_owned(), json!(stale));
    }
    if let Some((done, total)) = found.progress {
        back.insert("rebuilding".to_owned(), json!({ "done": done, "total": total }));
    }
    let frame = length(&front.clone().into()) + length(&back.clone().into()) + CURSOR_CHARACTERS;
    let mut left = args.budget.saturating_sub(frame);
    let mut hits: Vec<Value> = Vec::new();
    let mut count = 0;
    for hit in &found.hits {
        let Some(item) = set.at(&hit.place) else {
            count += 1;
            continue;
        };
        let mut fields = ShownItem::of(item, set).fields();
        if let Some(heading) = &hit.heading {
            fields.insert("heading".to_owned(), (**heading).into());
        }
        fields.insert("snippet".to_owned(), hit.snippet.as_str().into());
        if hit.is_relaxed() {
            fields.insert("relaxed".to_owned(), true.into());
        }
        let mut shown = Value::from(fields);
        let size = length(&shown) + 1;
        if size > left && !hits.is_empty() {
            break;
        }
        if size > left {
            shown["snippet"] = shortened(&hit.snippet, size - left).into();
        }
        left = left.saturating_sub(length(&shown) + 1);
        hits.push(shown);
        count += 1;
    }
    let has_more = count < found.hits.len() || found.has_more;
    front.insert("hits".to_owned(), hits.into());
    if has_more {
        front.insert("next_cursor".to_owned(), cursor(offset + count, &asked(args)).into());
    }
    front.extend(back);
    Ok(Answer::object(Value::from(front)))
}

/// In characters of the text that is answered.
fn length(value: &Value) -> usize {
    value.to_string().chars().count()
}

/// A snippet without so many of its characters, and without marks that nothing closes.
fn shortened(snippet: &str, excess: usize) -> String {
    let most = snippet.chars().count().saturating_sub(excess + 3);
    let mut cut: String = snippet.chars().take(most).collect();
    if cut.matches("**").count() % 2 == 1 {
        cut.truncate(cut.rfind("**").unwrap_or(0));
    }
    if cut.is_empty() { cut } else { format!("{}...", cut.trim_end_matches(['*', ' '])) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_is_cut_without_an_open_mark() {
        assert_eq!(shortened("one two three", 4), "one tw...");
        assert_eq!(shortened("one **two** three", 7), "one...");
        assert_eq!(shortened("one", 9), "");
    }
}
