//! What the tools take: a table for each. An empty text counts as absent where something is optional, because some
//! hosts send it.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use trellis_protocol::Failure;

use super::error::TrellisError;
use crate::arguments;
use crate::families::changes::Since;
use crate::families::error::ArgumentError;
use crate::families::feed::change_number;
use crate::families::fields::Object;
use crate::families::item::{ItemKind, ItemLane};
use crate::families::item_set::ItemScope;
use crate::families::recall::LaneFilter;
use crate::families::shapes::{Shape, boolean, integer, one_of, shape, text};
use crate::families::{self, Arguments};

arguments! {
    /// What to look for, where, and how much of it.
    pub struct RecallArgs else TrellisError {
        query: String = query().required(), "Words, a question, an id or a path; \"phrase\", -word, word* and OR work; 1-500 characters";
        kind: Option<ItemKind> = one_of(ItemKind::ALL.map(ItemKind::word), "a kind of item", ItemKind::named).optional(), "";
        lane: Option<LaneFilter> = open_lane().optional(), "open = not done";
        project: ItemScope = project().default("*"), "Name, path, ~/…, \".\" (this one) or \"*\" (all)";
        limit: usize = integer::<usize>(1..=50).default(8_usize), "1-50";
        budget: usize = integer::<usize>(500..=20_000).default(6000_usize), "Characters of the answer, 500-20000";
        cursor: Option<String> = text("a text").optional(), "next_cursor of the page before";
    }
}

arguments! {
    /// One item, a page of it.
    pub struct OpenArgs else TrellisError {
        uri: String = text("an address").required(), "Address, or T001, ADR-1, task-… of this project; #heading-slug or #L10-20 for a part";
        cursor: Option<String> = text("a text").optional(), "next_cursor of the page before";
        budget: usize = integer::<usize>(500..=20_000).default(8000_usize), "Characters of text, 500-20000";
    }
}

arguments! {
    /// Which items, and how many.
    pub struct ListArgs else TrellisError {
        kinds as "kind": Vec<ItemKind> = kinds().or(Vec::new()), "One kind, or a list of them";
        lane: Option<LaneFilter> = lane().optional(), "open = has a lane and is not done; none = has no lane";
        project: ItemScope = project().default("."), "Name, path, ~/…, \".\" (this one) or \"*\" (all)";
        under: Option<String> = text("an address").optional(), "Only below this address: vibe://projects/NAME/tasks, vine://P/a.vine, vault://P/dir, todo://P/adr";
        claimed: Option<bool> = boolean().optional(), "Only those that somebody is on, or only the others";
        family: Option<&'static str> = family().optional(), "";
        tag: Option<String> = text("a text").optional(), "";
        text: Option<String> = text("a text").optional(), "In title, id or tags";
        ready: Option<bool> = boolean().optional(), "true: only what can start now";
        sort: Option<bool> = one_of(["updated"], "`updated`", |word| (word == "updated").then_some(true)).optional(), "Newest first";
        limit: usize = integer::<usize>(1..=100).default(20_usize), "1-100";
        budget: usize = integer::<usize>(500..=100_000).default(8000_usize), "Characters of the answer, 500-100000";
        cursor: Option<String> = text("a text").optional(), "next_cursor of the page before";
    }
}

arguments! {
    /// Which item, and for how long.
    pub struct ClaimArgs else TrellisError {
        uri: String = text("an address").required(), "Address, or T001, ADR-1, task-… of this project";
        minutes: u16 = integer::<u16>(1..=1440).default(60_u16), "1-1440";
        release: bool = boolean().default(false), "true: give it back";
    }
}

arguments! {
    /// Which change is taken back, and how.
    pub struct UndoArgs else TrellisError {
        change: Option<u64> = change().optional(), "Change id such as c42 from `recent` or a write's answer; default: this session's newest";
        force: bool = boolean().default(false), "Put the old text there although somebody changed it since";
        dry_run: bool = boolean().default(false), "Only show what it would do";
    }
}

arguments! {
    /// Which changes, and how many.
    pub struct RecentArgs else TrellisError {
        uri: Option<String> = text("an address").optional(), "Only changes of this item, also of one that is gone";
        project: ItemScope = project().default("*"), "Name, path, ~/…, \".\" (this one) or \"*\" (all)";
        since: Option<Since> = since().optional(), "A time, 30m, 2h, 7d, or a change id such as c42";
        by: Option<String> = text("a name").optional(), "Only changes by this host, or `by hand`";
        change: Option<u64> = change().optional(), "Only this one";
        diff: bool = boolean().default(false), "With `change`: what it did to the text";
        limit: usize = integer::<usize>(1..=100).default(10_usize), "1-100";
        budget: usize = integer::<usize>(500..=100_000).default(6000_usize), "Characters of the answer, 500-100000";
        cursor: Option<String> = text("a text").optional(), "next_cursor of the page before";
    }
}

fn change() -> impl Shape<Value = u64> {
    text("a change id such as `c42`")
        .then(|id| change_number(&id).ok_or_else(|| ArgumentError::must_be("a change id such as `c42`")))
}

const SINCE: &str = "a time such as `2026-11-16T18:40:00Z`, `30m`, `2h`, `7d`, or a change id such as `c42`";

fn since() -> impl Shape<Value = Since> {
    text("a time or a change id").then(|text| Since::read(text.trim()).ok_or_else(|| ArgumentError::must_be(SINCE)))
}

impl Since {
    fn read(text: &str) -> Option<Self> {
        if let Some(change) = change_number(text) {
            return Some(Self::Change(change));
        }
        let seconds = [("m", 60), ("h", 3600), ("d", 86_400)];
        let ago = seconds.iter().find_map(|(unit, seconds)| {
            let count: i64 = text.strip_suffix(unit)?.parse().ok().filter(|count| *count >= 0)?;
            count.checked_mul(*seconds)
        });
        let at = || {
            let date = text.parse::<Date>().ok().and_then(|date| date.to_zoned(TimeZone::UTC).ok());
            text.parse().ok().or_else(|| Some(date?.timestamp()))
        };
        ago.map(Self::Ago).or_else(|| at().map(Self::At))
    }
}

/// A query has so many characters at most.
const MAX_QUERY_CHARACTERS: usize = 500;

fn query() -> impl Shape<Value = String> {
    text("a text").with("maxLength", MAX_QUERY_CHARACTERS).then(|query| match query.chars().count() {
        _ if query.trim().is_empty() => Err(ArgumentError::must_be("a text that is not blank")),
        0..=MAX_QUERY_CHARACTERS => Ok(query),
        _ => Err(ArgumentError::must_be("at most 500 characters")),
    })
}

fn open_lane() -> impl Shape<Value = LaneFilter> {
    let named = |word: &str| match word {
        "open" => Some(LaneFilter::Open),
        word => ItemLane::named(word).map(LaneFilter::One),
    };
    one_of_lanes_and(&["open"], named)
}

fn lane() -> impl Shape<Value = LaneFilter> {
    let named = |word: &str| match word {
        "open" => Some(LaneFilter::Open),
        "none" => Some(LaneFilter::None),
        word => ItemLane::named(word).map(LaneFilter::One),
    };
    one_of_lanes_and(&["open", "none"], named)
}

fn one_of_lanes_and<T>(more: &[&'static str], named: impl Fn(&str) -> Option<T>) -> impl Shape<Value = T> {
    let words: Vec<&str> = ItemLane::ALL.map(ItemLane::word).into_iter().chain(more.iter().copied()).collect();
    let wanted = format!("one of {}", quoted(&words));
    one_of(words, wanted, named)
}

/// A family that has items.
fn family() -> impl Shape<Value = &'static str> {
    let names = || families::with_items().map(|(name, _)| name);
    one_of(names().collect::<Vec<_>>(), "a family", move |word| names().find(|name| *name == word))
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn kinds() -> impl Shape<Value = Vec<ItemKind>> {
    let kind = |value: &Value| value.as_str().and_then(ItemKind::named);
    let read = move |value: &Value| match value {
        Value::Array(values) => values.iter().map(kind).collect(),
        value => kind(value).map(|kind| vec![kind]),
    };
    let words = ItemKind::ALL.map(ItemKind::word);
    let wanted = format!("{}, or a list of them", quoted(&words));
    shape(move || json!({ "type": "string", "enum": words }), wanted, read)
}

fn project() -> impl Shape<Value = ItemScope> {
    text("a project").then(|name| match name.trim() {
        "" => Err(ArgumentError::must_be("a project")),
        name => Ok(ItemScope::from(name)),
    })
}

impl From<&str> for ItemScope {
    fn from(name: &str) -> Self {
        match name {
            "." => Self::Own,
            "*" => Self::Every,
            name => Self::Named(name.to_owned()),
        }
    }
}

/// Arguments of a reading tool, in which an empty text is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Lenient<T>(pub T);

impl<T: Arguments> Arguments for Lenient<T> {
    fn schema() -> Value {
        T::schema()
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        if !arguments.values().any(|value| value.as_str() == Some("")) {
            return T::parse(arguments).map(Self);
        }
        let schema = T::schema();
        let is_required =
            |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        let given = |(name, value): (&String, &Value)| {
            let is_absent =
                value.as_str() == Some("") && !is_required(name) && schema["properties"].get(name).is_some();
            (!is_absent).then(|| (name.clone(), value.clone()))
        };
        T::parse(&arguments.iter().filter_map(given).collect()).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(arguments: Value) -> Result<ListArgs, (String, Value)> {
        let parsed = Lenient::<ListArgs>::parse(arguments.as_object().expect("an object"));
        parsed
            .map(|Lenient(args)| args)
            .map_err(|failure| (failure.code.into_owned(), failure.details["field"].clone()))
    }

    #[test]
    fn absent_and_empty_are_the_same() {
        let bare = list(json!({})).expect("arguments");
        assert_eq!((bare.limit, bare.budget, &bare.project), (20, 8000, &ItemScope::Own));
        let empty = json!({ "kind": "", "lane": "", "project": "", "under": null, "text": "", "cursor": "" });
        assert_eq!(list(empty).expect("arguments"), bare);
        let args = list(json!({ "kind": ["task", "card"], "lane": "open", "project": "*" })).expect("arguments");
        assert_eq!(
            (args.kinds, args.lane, args.project),
            (vec![ItemKind::Task, ItemKind::Card], Some(LaneFilter::Open), ItemScope::Every)
        );
    }

    #[test]
    fn wrong_arguments_are_named() {
        let wrong = |field: &str| Err(("INVALID_ARGUMENT".to_owned(), json!(field)));
        for (arguments, field) in [
            (json!({ "kind": "thing" }), "kind"),
            (json!({ "kind": ["task", "thing"] }), "kind"),
            (json!({ "lane": "pending" }), "lane"),
            (json!({ "limit": 101 }), "limit"),
            (json!({ "budget": 499 }), "budget"),
            (json!({ "family": "none" }), "family"),
            (json!({ "sort": "title" }), "sort"),
            (json!({ "kinds": "task" }), "kinds"),
            (json!({ "nothing": "" }), "nothing"),
        ] {
            assert_eq!(list(arguments), wrong(field), "{field}");
        }
        let open = Lenient::<OpenArgs>::parse(json!({ "uri": "", "cursor": "" }).as_object().expect("an object"));
        assert_eq!(open.map(|Lenient(args)| args.uri).expect("arguments"), "");
    }
}
