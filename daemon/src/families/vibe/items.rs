//! Documents as items: one for each, a task, a session, a plan or a decision by its place and what it says of itself.

use std::path::Path;

use serde_json::Value;

use super::chunks::pieces;
use super::facts::{boost_of_status, with_heading_boost};
use super::layout::{self, DocumentPath, FILE_LIMIT, is_document};
use super::metadata::DeclaredMetadata;
use super::model::decoded;
use super::statuses::STATUS_WORDS;
use super::{ops, sections, status_line};
use crate::clock::Now;
use crate::disk::FileContent;
use crate::families::item::{
    AddressTarget, FileItems, Item, ItemDetails, ItemFace, ItemHome, ItemKey, ItemKind, ItemTree, TreeFiles, TreeOwner,
    excerpt, one_line,
};
use crate::families::item_set::OpenedFile;
use crate::families::references;
use crate::families::statuses::is_outdated;
use crate::families::{AddressTemplate, SessionContext};
use crate::text::front_matter;

pub const FACE: ItemFace = ItemFace {
    tree,
    wanted: is_document,
    items,
    prefix: "projects/",
    alias: None,
    templates: &[AddressTemplate {
        uri: "vibe://projects/{name}/{+path}",
        name: "item-document",
        title: "Document of the workspace",
    }],
    target: |_, path, fragment| match (path, fragment) {
        ("", None) => Some(AddressTarget::Resource),
        _ => AddressTarget::file(path, fragment),
    },
    companion: |_| None,
    resource,
    short_form: |_| None,
    home: |key| key.fragment.is_none().then(|| ItemHome::File(key.path.clone())),
    details: |_, _, _| ItemDetails::default(),
    size_limit: FILE_LIMIT,
};

fn tree(session: &SessionContext, _: Option<&Path>) -> ItemTree {
    ItemTree {
        place: layout::place(session),
        may_be_link: true,
        owner: TreeOwner::Workspace,
        files: TreeFiles::Watched,
    }
}

fn items(path: &str, bytes: &[u8]) -> FileItems {
    let Some(path) = DocumentPath::of(path) else { return FileItems::default() };
    let text = decoded(bytes);
    let split = front_matter::split(&text);
    let front = split.front.as_ref().map(|front| &front.map);
    let body = &text[split.body..];
    let status_line = status_line::value(&text, split.counted).map(|range| &text[range]);
    let said = DeclaredMetadata::of(front, status_line);
    let kind = kind(&path, &said);
    let status = said.status(&path);
    let replaced_by = front.and_then(|front| name_in(front.get("superseded_by")?));
    let lane = status.filter(|_| kind == ItemKind::Task).and_then(|status| STATUS_WORDS.lane(status));
    let item = Item {
        key: ItemKey::path(path.in_project()),
        title: one_line(sections::title(body).unwrap_or(path.stem())),
        status: status.map(str::to_owned),
        lane,
        tags: said.tags.iter().map(|tag| tag.to_string()).collect(),
        span: split_start(&text)..text.len(),
        updated: said.updated,
        ready: kind == ItemKind::Task && status == Some("pending"),
        outdated: replaced_by.is_some() || said.status.as_deref().is_some_and(is_outdated),
        superseded_by: replaced_by.into_iter().chain(references::superseded_by(body)).collect(),
        supersedes: if kind == ItemKind::Decision { references::supersedes(body) } else { Vec::new() },
        links: references::links(&text, &path.path()),
        names: names(&path),
        boost: path.boost() * boost_of_status(status),
        sections: pieces(&text, split.body).into_iter().map(with_heading_boost).collect(),
        excerpt: if kind == ItemKind::Session { excerpt(body) } else { Vec::new() },
        kind,
        project: Some(path.project),
        ..Item::default()
    };
    FileItems { items: vec![item], warnings: Vec::new() }
}

/// The document as `read_doc` gives it.
fn resource(file: &OpenedFile, _: &Item, now: &Now) -> Option<String> {
    let path = DocumentPath::of(&file.path)?;
    let content = FileContent { bytes: file.bytes.clone(), stamp: file.stamp };
    ops::document_json(&path, &content, now).ok().map(|json| json.to_string())
}

/// The first name that a value of the front matter holds.
fn name_in(value: &Value) -> Option<String> {
    let text = match value {
        Value::Array(values) => return values.iter().find_map(name_in),
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

/// A byte order mark is no part of it.
fn split_start(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

fn kind(path: &DocumentPath, said: &DeclaredMetadata) -> ItemKind {
    if path.folder == "tasks" && !path.filename.contains('/') {
        return ItemKind::Task;
    }
    let is_named_decision = path.folder == "plans" && path.filename.starts_with("decision-");
    match said.kind(path).as_deref() {
        Some("decision" | "adr") => ItemKind::Decision,
        _ if is_named_decision => ItemKind::Decision,
        Some("session") => ItemKind::Session,
        Some("plan") => ItemKind::Plan,
        _ => ItemKind::Document,
    }
}

fn names(path: &DocumentPath) -> Vec<String> {
    let file = path.filename.rsplit('/').next().unwrap_or(&path.filename);
    let mut names = vec![path.in_project(), file.to_owned(), path.full_stem().to_owned(), path.stem().to_owned()];
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::item::ItemLane;

    fn one(path: &str, text: &str) -> Item {
        items(path, text.as_bytes()).items.pop().expect("an item")
    }

    #[test]
    fn a_document_s_kind_comes_from_its_place_and_its_type() {
        for (path, text, expected) in [
            ("p/tasks/001-a.md", "---\ntype: plan\n---\n", ItemKind::Task),
            ("p/tasks/sub/a.md", "", ItemKind::Document),
            ("p/plans/a.md", "", ItemKind::Plan),
            ("p/plans/decision-db.md", "", ItemKind::Decision),
            ("p/plans/a.md", "---\ntype: adr\n---\n", ItemKind::Decision),
            ("p/references/a.md", "---\ntype: decision\n---\n", ItemKind::Decision),
            ("p/sessions/2026-01-01.md", "", ItemKind::Session),
            ("p/scratch/a.md", "---\ntype: Session\n---\n", ItemKind::Session),
            ("p/status.md", "", ItemKind::Document),
            ("p/other/a.md", "", ItemKind::Document),
        ] {
            assert_eq!(one(path, text).kind, expected, "{path}");
        }
    }

    #[test]
    fn a_task_has_a_lane_and_may_be_ready() {
        let task = one("p/tasks/004-fix.md", "\u{feff}# Task: Fix it\n\nStatus: pending\n\nsee #T001\n");
        assert_eq!((task.title.as_str(), task.status.as_deref()), ("Fix it", Some("pending")));
        assert_eq!((task.lane, task.ready, task.span.start), (Some(ItemLane::Todo), true, 3));
        assert_eq!(task.key, ItemKey::path("tasks/004-fix.md"));
        assert_eq!(task.names, ["tasks/004-fix.md", "004-fix.md", "004-fix", "fix"]);
        assert_eq!(one("p/tasks/a.md", "Status: wip").lane, Some(ItemLane::Doing));
        assert_eq!(one("p/tasks/a.md", "Status: someday").lane, None);
        assert_eq!(one("p/plans/a.md", "---\nstatus: done\n---\n").lane, None, "only tasks have lanes");
        assert_eq!(one("p/tasks/a.md", "\u{fffd}").title, "a");
        assert_eq!(items("p/tasks/a.md", b"# \xff").items[0].title, "\u{fffd}", "any bytes give an item");
    }

    #[test]
    fn a_document_may_no_longer_hold() {
        let item = one("p/plans/decision-a.md", "---\nsuperseded_by: decision-b.md\n---\n# A\nSuperseded by: C\n");
        assert!(item.outdated);
        assert_eq!(item.superseded_by, ["decision-b.md", "C"]);
        assert!(one("p/a.md", "---\nstatus: Obsolete\n---\n").outdated);
        assert!(!one("p/a.md", "# A\nSuperseded by: C\n").outdated);
        assert_eq!(one("p/plans/decision-b.md", "# B\nSupersedes decision-a.md\n").supersedes, ["decision-a.md"]);
    }

    #[test]
    fn a_session_shows_its_first_lines() {
        let session = one("p/sessions/2026-01-01.md", "---\ntags: x\n---\n# Log\n\n## Done\n- a\n");
        assert_eq!(session.excerpt, ["Log", "Done", "- a"]);
    }
}
