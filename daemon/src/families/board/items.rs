//! The tasks of a board as items: cards, lane by lane.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::Value;

use super::bridge::{self, IN_STATE, NAME};
use super::json;
use super::model::{FILE_LIMIT, Lane, Task};
use super::parse::parse;
use super::statuses::STATUS_WORDS;
use crate::clock::Now;
use crate::disk::{SymlinkPolicy, TreeLocation};
use crate::families::facts::Chunk;
use crate::families::item::{
    AddressTarget, FileItems, Item, ItemDetail, ItemDetails, ItemFace, ItemHome, ItemKey, ItemKind, ItemTree,
    TreeFiles, TreeOwner, one_line,
};
use crate::families::item_set::OpenedFile;
use crate::families::{AddressTemplate, SessionContext, references};
use crate::projects::ProjectSelector;

pub const FACE: ItemFace = ItemFace {
    tree,
    wanted: |path| path.ends_with(".json"),
    items,
    prefix: "",
    alias: None,
    templates: &[AddressTemplate { uri: "board://{project}/{id}", name: "item-card", title: "Card of the board" }],
    target: |_, path, fragment| {
        let is_id = fragment.is_none() && !path.is_empty() && !path.contains('/');
        is_id.then(|| AddressTarget::Item(ItemKey::path(path), None))
    },
    companion: |_| None,
    resource,
    short_form: |word| word.starts_with("task-").then(|| ItemKey::path(word)),
    home: |key| (key.fragment.is_none() && !key.path.contains('/')).then_some(ItemHome::Anywhere),
    details,
    size_limit: FILE_LIMIT,
};

fn tree(session: &SessionContext, project: Option<&Path>) -> ItemTree {
    if let Some(path) = bridge::setting(session) {
        let place = TreeLocation::Fixed(path.parent().unwrap_or(Path::new("/")).to_owned());
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        return ItemTree { place, may_be_link: true, owner: TreeOwner::Session, files: TreeFiles::FirstOf(vec![name]) };
    }
    let project = project.map_or(ProjectSelector::Session, |path| ProjectSelector::Named(path.to_owned()));
    let links = SymlinkPolicy::FollowInsideTree;
    let place = TreeLocation::InProject { unless: None, project, below: std::path::PathBuf::new(), links };
    let files = TreeFiles::FirstOf(vec![IN_STATE.to_owned(), NAME.to_owned()]);
    ItemTree { place, may_be_link: true, owner: TreeOwner::Project, files }
}

fn items(path: &str, bytes: &[u8]) -> FileItems {
    let board = match parse(bytes) {
        Ok(board) => board,
        Err(error) => return FileItems { items: Vec::new(), warnings: vec![format!("`{path}`: {error}")] },
    };
    let text = String::from_utf8_lossy(bytes);
    let objects = objects(&text);
    let (mut known, mut items, mut warnings) = (HashSet::new(), Vec::new(), Vec::new());
    for (lane, task) in board.tasks() {
        let Some(id) = task.text("id").filter(|id| !id.is_empty()) else { continue };
        if !known.insert(id.clone()) {
            warnings.push(format!("`{id}` is on the board more than once"));
            continue;
        }
        items.push(card(&text, objects.get(&id).copied(), id, lane, task));
    }
    FileItems { items, warnings }
}

fn card(text: &str, object: Option<&str>, id: String, lane: Lane, task: &Task) -> Item {
    let place = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let span = object.map_or(0..0, |object| place(object)..place(object) + object.len());
    let members = object.and_then(json::members).unwrap_or_default();
    let description = members.iter().rfind(|(key, _)| json::text(key).as_deref() == Some("description"));
    let section = description.map(|(_, value)| {
        let start = place(value);
        Chunk { heading: None, content: start..start + value.len(), boost: 1.0 }
    });
    let title = task.text("title").filter(|title| !title.trim().is_empty());
    Item {
        kind: ItemKind::Card,
        title: one_line(title.as_deref().unwrap_or(&id)),
        status: Some(lane.word().to_owned()),
        lane: STATUS_WORDS.lane(lane.word()),
        tags: task.tags(),
        span,
        ready: matches!(lane, Lane::Todo | Lane::Backlog),
        links: references::links(&task.text("description").unwrap_or_default(), ""),
        names: vec![id.clone()],
        boost: 1.0,
        sections: section.into_iter().collect(),
        key: ItemKey::path(id),
        ..Item::default()
    }
}

/// The whole card, as JSON.
fn resource(file: &OpenedFile, item: &Item, _: &Now) -> Option<String> {
    let (lane, _, task) = parse(&file.bytes).ok()?.find(&item.key.path)?;
    Some(Value::from(task.shown(lane)).to_string())
}

/// The objects that have an id, by it, as they stand in the file; of several the first.
fn objects(text: &str) -> HashMap<String, &str> {
    let mut objects = HashMap::new();
    let top = json::whole(text.trim_start_matches('\u{feff}')).ok().and_then(json::members).unwrap_or_default();
    for (key, value) in top {
        let lists: Vec<&str> = match json::text(key).as_deref() {
            Some("tasks") => vec![value],
            Some("lanes") => json::members(value).unwrap_or_default().into_iter().map(|(_, list)| list).collect(),
            _ => Vec::new(),
        };
        for object in lists.into_iter().filter_map(json::items).flatten() {
            let members = json::members(object).unwrap_or_default();
            let id = members.iter().rfind(|(key, _)| json::text(key).as_deref() == Some("id"));
            if let Some(id) = id.and_then(|(_, id)| json::text(id)) {
                objects.entry(id).or_insert(object);
            }
        }
    }
    objects
}

fn details(_: &str, bytes: &[u8], item: &Item) -> ItemDetails {
    let Some((lane, _, task)) = parse(bytes).ok().and_then(|board| board.find(&item.key.path)) else {
        return ItemDetails::default();
    };
    let mut shown = task.shown(lane);
    let text = shown.shift_remove("description");
    ItemDetails {
        unreadable: None,
        text: Some(text.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()),
        fields: vec![("card", ItemDetail::Value(shown.into()))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::item::ItemLane;

    const BOARD: &str = r#"{"lanes":{"done":[{"id":"task-d","title":"Größe","tags":["QA"]}],"icebox":[{"id":"task-x"}],
        "backlog":[{"id":"task-a","title":"Login","description":"one\nsee todo://p/T001"},7,{"title":"no id"},{"id":"task-d"}]}}"#;

    #[test]
    fn cards_stand_in_the_order_of_lanes() {
        let file = items(NAME, BOARD.as_bytes());
        let seen: Vec<(&str, &str, Option<ItemLane>, bool)> = file
            .items
            .iter()
            .map(|card| (card.key.path.as_str(), card.title.as_str(), card.lane, card.ready))
            .collect();
        assert_eq!(
            seen,
            [("task-a", "Login", Some(ItemLane::Todo), true), ("task-d", "task-d", Some(ItemLane::Todo), true)]
        );
        assert_eq!(file.warnings, ["`task-d` is on the board more than once"]);
        assert!(BOARD[file.items[0].span.clone()].starts_with(r#"{"id":"task-a""#));
        assert_eq!(&BOARD[file.items[0].sections[0].content.clone()], r#""one\nsee todo://p/T001""#);
        assert_eq!(file.items[0].links.len(), 1);
        let details = details(NAME, BOARD.as_bytes(), &file.items[0]);
        assert_eq!(details.text.as_deref(), Some("one\nsee todo://p/T001"));
    }

    #[test]
    fn a_broken_board_has_a_warning_and_no_cards() {
        let file = items(NAME, b"{");
        assert!(file.items.is_empty() && file.warnings[0].contains("not JSON"), "{:?}", file.warnings);
        assert_eq!(items(NAME, b""), FileItems::default());
    }
}
