//! What `.todo` holds as items: each task of `task.md`, contexts and decision records.

use std::path::Path;

use jiff::tz::TimeZone;
use serde_json::json;

use super::adr::Adr;
use super::facts::{chunks, wanted};
use super::index_file::slug_of;
use super::lines::begin;
use super::model::{
    ADRS, AdrStatus, CONTEXTS, FILE_LIMIT, INDEX_FILE, MAX_NUMBER, Status, TASK_FILE, TaskId, adr_number, place,
};
use super::parse::{SubTask, Task, TaskFile, UnnumberedTask};
use super::statuses::STATUS_WORDS;
use crate::families::facts::Chunk;
use crate::families::item::{
    AddressTarget, FileItems, Item, ItemDetail, ItemDetails, ItemFace, ItemHome, ItemKey, ItemKind, ItemTree,
    TreeFiles, TreeOwner, one_line,
};
use crate::families::references;
use crate::families::{AddressTemplate, SessionContext};

pub const FACE: ItemFace = ItemFace {
    tree,
    wanted,
    items,
    prefix: "",
    alias: Some("file://.todo/"),
    templates: &[
        AddressTemplate { uri: "todo://{project}/{id}", name: "item-task", title: "Task" },
        AddressTemplate { uri: "todo://{project}/adr/{number}", name: "item-decision", title: "Decision record" },
        AddressTemplate { uri: "todo://{project}/context/{id}", name: "item-context", title: "Context of a task" },
    ],
    target,
    short_form,
    home,
    companion,
    resource: |_, _, _| None,
    details,
    size_limit: FILE_LIMIT,
};

fn tree(_: &SessionContext, project: Option<&Path>) -> ItemTree {
    ItemTree { place: place(project), may_be_link: false, owner: TreeOwner::Project, files: TreeFiles::Watched }
}

fn items(path: &str, bytes: &[u8]) -> FileItems {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match (folder, TaskId::of_context(name), adr_number(name)) {
        (CONTEXTS, Some(id), _) => alone(context(id, path, &String::from_utf8_lossy(bytes))),
        (ADRS, _, Some(number)) => alone(record(number, path, bytes)),
        _ if path == TASK_FILE => tasks(bytes),
        _ => FileItems::default(),
    }
}

fn alone(item: Item) -> FileItems {
    FileItems { items: vec![item], warnings: Vec::new() }
}

fn tasks(bytes: &[u8]) -> FileItems {
    let Ok(text) = str::from_utf8(bytes) else {
        return FileItems { items: Vec::new(), warnings: vec![format!("`{TASK_FILE}` is not UTF-8 text")] };
    };
    let file = TaskFile::parse(text);
    let numbered = file.tasks.iter().map(|task| numbered(task, text));
    let mut items: Vec<Item> = numbered.chain(file.unnumbered.iter().map(|task| unnumbered(task, text))).collect();
    items.sort_by_key(|item| item.span.start);
    let twice = |id: &TaskId| format!("`{id}` stands on more than one line of `{TASK_FILE}`");
    FileItems { items, warnings: file.duplicates.iter().map(twice).collect() }
}

fn numbered(task: &Task, text: &str) -> Item {
    let id = task.id.to_string();
    let common = task_item(&task.title, task.status, &task.category, task.block.clone(), task.below, text);
    Item { key: ItemKey::path(&id), names: vec![id], ..common }
}

fn unnumbered(task: &UnnumberedTask, text: &str) -> Item {
    let below = text[task.block.clone()].find('\n').map_or(task.block.end, |end| task.block.start + end + 1);
    Item {
        key: ItemKey::within(TASK_FILE, format!("L{}", task.line)),
        warning: Some("no id".to_owned()),
        ..task_item(&task.title, task.status, &task.category, task.block.clone(), below, text)
    }
}

fn task_item(
    title: &str,
    status: Status,
    category: &str,
    block: std::ops::Range<usize>,
    below: usize,
    text: &str,
) -> Item {
    let own = &text[block.clone()];
    let content = below..block.end;
    let sections = (!text[content.clone()].trim().is_empty()).then_some(Chunk { heading: None, content, boost: 1.0 });
    Item {
        kind: ItemKind::Task,
        title: one_line(title),
        status: Some(status.word().to_owned()),
        lane: STATUS_WORDS.lane(status.word()),
        tags: vec![category.to_owned()],
        ready: status == Status::Todo,
        links: references::links(own, TASK_FILE),
        boost: 1.0,
        sections: sections.into_iter().collect(),
        span: block,
        ..Item::default()
    }
}

fn context(id: TaskId, path: &str, text: &str) -> Item {
    let id = id.to_string();
    Item {
        key: ItemKey::path(format!("{CONTEXTS}/{id}")),
        kind: ItemKind::Context,
        title: id.clone(),
        of: Some(ItemKey::path(&id)),
        span: begin(text)..text.len(),
        links: references::links(text, path),
        boost: 1.0,
        sections: chunks(text),
        names: vec![format!("{id}.md")],
        ..Item::default()
    }
}

fn record(number: u16, path: &str, bytes: &[u8]) -> Item {
    let name = path.rsplit('/').next().unwrap_or(path);
    let text = String::from_utf8_lossy(bytes);
    let adr = Adr::parse(&text);
    let outdated = adr.status == AdrStatus::Deprecated;
    let stem = name.strip_suffix(".md").unwrap_or(name);
    Item {
        key: ItemKey::path(format!("{ADRS}/{number}")),
        kind: ItemKind::Decision,
        title: one_line(adr.title.as_deref().unwrap_or_else(|| slug_of(name))),
        status: Some(adr.status.word().to_owned()),
        span: begin(&text)..text.len(),
        updated: adr.updated.map(|at| at.to_zoned(TimeZone::UTC).date()),
        outdated,
        superseded_by: references::superseded_by(&text),
        supersedes: if outdated { Vec::new() } else { references::supersedes(&text) },
        links: references::links(&text, path),
        warning: str::from_utf8(bytes).is_err().then(|| "not UTF-8 text".to_owned()),
        names: vec![format!("ADR-{number}"), format!("ADR-{number:03}"), name.to_owned(), stem.to_owned()],
        boost: 1.0,
        sections: chunks(&text),
        ..Item::default()
    }
}

/// What an address names; the names of files are other names of what is in them.
fn target(_: &str, path: &str, fragment: Option<&str>) -> Option<AddressTarget> {
    let place = fragment.map(str::to_owned);
    match (path.split_once('/'), fragment) {
        (None, None) if matches!(path, INDEX_FILE | TASK_FILE) => Some(AddressTarget::Resource),
        (None, Some(line)) if path == TASK_FILE && is_line(line) => {
            Some(AddressTarget::Item(ItemKey::within(path, line), None))
        }
        (None, None) => Some(AddressTarget::Item(ItemKey::path(TaskId::parse(path)?.to_string()), None)),
        (Some((CONTEXTS, name)), _) => {
            let id = TaskId::parse(name).or_else(|| TaskId::of_context(name))?;
            Some(AddressTarget::Item(ItemKey::path(format!("{CONTEXTS}/{id}")), place))
        }
        (Some((ADRS, name)), _) => {
            let number = record_number(name).or_else(|| adr_number(name))?;
            Some(AddressTarget::Item(ItemKey::path(format!("{ADRS}/{number}")), place))
        }
        _ => None,
    }
}

/// `T001`, `ADR-1`, `ADR-001`.
fn short_form(word: &str) -> Option<ItemKey> {
    let task = || TaskId::parse(word).map(|id| ItemKey::path(id.to_string()));
    let record = || word.strip_prefix("ADR-").and_then(record_number);
    task().or_else(|| record().map(|number| ItemKey::path(format!("{ADRS}/{number}"))))
}

/// A task is shown with its context.
fn companion(key: &ItemKey) -> Option<ItemKey> {
    TaskId::parse(&key.path).map(|id| ItemKey::path(format!("{CONTEXTS}/{id}")))
}

/// Digits, with leading zeros or without.
fn record_number(digits: &str) -> Option<u16> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| is_number && (1..=MAX_NUMBER).contains(number))
}

/// `T001`, `task.md#L12`, `context/T001`, `adr/1`.
fn home(key: &ItemKey) -> Option<ItemHome> {
    let in_file = |path: String| Some(ItemHome::File(path));
    match (key.path.split_once('/'), &key.fragment) {
        (None, Some(line)) if key.path == TASK_FILE && is_line(line) => in_file(TASK_FILE.to_owned()),
        (None, None) if TaskId::parse(&key.path).is_some() => in_file(TASK_FILE.to_owned()),
        (Some((CONTEXTS, id)), None) => in_file(TaskId::parse(id)?.context().as_str().to_owned()),
        (Some((ADRS, number)), None) => {
            let number = record_number(number)?;
            Some(ItemHome::Named { directory: ADRS, prefix: format!("adr-{number:03}-") })
        }
        _ => None,
    }
}

fn is_line(fragment: &str) -> bool {
    fragment.strip_prefix('L').is_some_and(|line| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()))
}

fn details(path: &str, bytes: &[u8], item: &Item) -> ItemDetails {
    if path != TASK_FILE {
        return ItemDetails::default();
    }
    let file = TaskFile::parse(&String::from_utf8_lossy(bytes));
    let id = TaskId::parse(&item.key.path);
    let task = id.and_then(|id| file.task(id));
    let subtask = |subtask: &SubTask| json!({ "title": subtask.title, "status": subtask.status.word() });
    let subtasks: Vec<_> = task.iter().flat_map(|task| &task.subtasks).map(subtask).collect();
    let context = id.map(|id| ("context", ItemDetail::Text(ItemKey::path(format!("{CONTEXTS}/{id}")))));
    let category = item.tags.first().map(|category| ("category", ItemDetail::Value(json!(category))));
    let subtasks = ("subtasks", ItemDetail::Value(json!(subtasks)));
    ItemDetails {
        unreadable: None,
        text: None,
        fields: category.into_iter().chain([subtasks]).chain(context).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::item::{ItemLane, ItemLink};

    const TASKS: &str = "# Task\n\n## API\n- [ ] first #T001\n  - [x] sub\n  see ADR-001\n- [-] loose one\n  more\n- [x] third #T003\n- [ ] again #T001\n";

    #[test]
    fn every_box_is_a_task() {
        let file = items("task.md", TASKS.as_bytes());
        let seen: Vec<(String, Option<String>, &str, Option<ItemLane>)> = file
            .items
            .iter()
            .map(|item| (item.key.path.clone(), item.key.fragment.clone(), &TASKS[item.span.clone()], item.lane))
            .collect();
        let expected = [
            ("T001".to_owned(), None, "- [ ] first #T001\n  - [x] sub\n  see ADR-001\n", Some(ItemLane::Todo)),
            ("task.md".to_owned(), Some("L7".to_owned()), "- [-] loose one\n  more\n", Some(ItemLane::Doing)),
            ("T003".to_owned(), None, "- [x] third #T003\n", Some(ItemLane::Done)),
        ];
        assert_eq!(seen, expected);
        assert_eq!(file.warnings, ["`T001` stands on more than one line of `task.md`"]);
        let first = &file.items[0];
        assert_eq!(
            (first.title.as_str(), first.tags.as_slice(), first.ready),
            ("first", ["API".to_owned()].as_slice(), true)
        );
        assert_eq!(first.links, [ItemLink::ShortForm("T001".into()), ItemLink::ShortForm("ADR-1".into())]);
        assert_eq!(file.items[1].warning.as_deref(), Some("no id"));
        assert_eq!(items("task.md", b"\xff").warnings.len(), 1);
    }

    #[test]
    fn records_and_contexts_are_items() {
        let text = "# ADR-002: Use X\n- Status: Deprecated\n- Superseded by: ADR-3\n";
        let record = items("adr/adr-002-use-x.md", text.as_bytes()).items.pop().expect("a record");
        assert_eq!((record.key, record.kind), (ItemKey::path("adr/2"), ItemKind::Decision));
        assert_eq!((record.title.as_str(), record.status.as_deref(), record.lane), ("Use X", Some("Deprecated"), None));
        assert!(record.outdated);
        assert_eq!(record.superseded_by, ["ADR-3"]);
        let context = items("context/T001.md", b"# T001\nwords").items.pop().expect("a context");
        assert_eq!((context.key, context.of), (ItemKey::path("context/T001"), Some(ItemKey::path("T001"))));
        assert_eq!(items("index.md", b"- [ ] a #T001").items, []);
    }

    #[test]
    fn a_key_leads_to_its_file() {
        let file = |path: &str| Some(ItemHome::File(path.to_owned()));
        for (path, fragment, expected) in [
            ("T001", None, file("task.md")),
            ("task.md", Some("L12"), file("task.md")),
            ("task.md", Some("x"), None),
            ("task.md", None, None),
            ("context/T001", None, file("context/T001.md")),
            ("adr/2", None, Some(ItemHome::Named { directory: "adr", prefix: "adr-002-".to_owned() })),
            ("adr/1000", None, None),
            ("adr/x", None, None),
            ("T01", None, None),
            ("context/x", None, None),
        ] {
            let key = ItemKey { path: path.to_owned(), fragment: fragment.map(str::to_owned) };
            assert_eq!(home(&key), expected, "{path}");
        }
    }

    #[test]
    fn addresses_and_short_forms_name_items() {
        let item =
            |path: &str, place: Option<&str>| Some(AddressTarget::Item(ItemKey::path(path), place.map(str::to_owned)));
        for (path, fragment, expected) in [
            ("T001", None, item("T001", None)),
            ("T001", Some("x"), None),
            ("adr/001", Some("next"), item("adr/1", Some("next"))),
            ("adr/adr-001-use-x.md", None, item("adr/1", None)),
            ("adr/0", None, None),
            ("adr/+1", None, None),
            ("context/T001", None, item("context/T001", None)),
            ("context/T001.md", Some("L2"), item("context/T001", Some("L2"))),
            ("index.md", None, Some(AddressTarget::Resource)),
            ("task.md", Some("L12"), Some(AddressTarget::Item(ItemKey::within("task.md", "L12"), None))),
            ("task.md", Some("L1-2"), None),
            ("other/T001", None, None),
        ] {
            assert_eq!(target("", path, fragment), expected, "{path}");
        }
        for (word, expected) in [("T001", Some("T001")), ("ADR-12", Some("adr/12")), ("ADR-001", Some("adr/1"))] {
            assert_eq!(short_form(word).map(|key| key.path).as_deref(), expected);
        }
        for word in ["t001", "ADR-", "ADR-0", "ADR-1000", "adr-1"] {
            assert_eq!(short_form(word), None, "{word}");
        }
    }

    #[test]
    fn a_task_shows_what_belongs_to_it() {
        let item = &items("task.md", TASKS.as_bytes()).items[0];
        let details = details("task.md", TASKS.as_bytes(), item);
        let names: Vec<&str> = details.fields.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["category", "subtasks", "context"]);
        assert_eq!(details.fields[1].1, ItemDetail::Value(json!([{ "title": "sub", "status": "done" }])));
    }
}
