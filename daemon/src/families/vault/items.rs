//! Files of a vault as items, whatever they hold, as long as it is text of a moderate length.

use std::path::Path;

use super::model::place;
use crate::disk::TreeLocation;
use crate::families::item::{
    AddressTarget, FileItems, Item, ItemDetails, ItemFace, ItemHome, ItemKey, ItemKind, ItemTree, TreeFiles, TreeOwner,
    one_line, sections,
};
use crate::families::{AddressTemplate, SessionContext, references};
use crate::text::headings::headings;

/// Larger files are no items, in bytes.
const ITEM_LIMIT: u64 = 1024 * 1024;

pub const FACE: ItemFace = ItemFace {
    tree,
    wanted: |path| !path.is_empty(),
    items,
    prefix: "",
    alias: None,
    templates: &[AddressTemplate { uri: "vault://{project}/{+path}", name: "item-file", title: "File of the vault" }],
    target: |_, path, fragment| AddressTarget::file(path, fragment),
    companion: |_| None,
    resource: |_, _, _| None,
    short_form: |_| None,
    home: |key| key.fragment.is_none().then(|| ItemHome::File(key.path.clone())),
    details: |_, _, _| ItemDetails::default(),
    size_limit: ITEM_LIMIT,
};

fn tree(session: &SessionContext, project: Option<&Path>) -> ItemTree {
    let place = place(session, project);
    let owner = match place {
        TreeLocation::Fixed(_) => TreeOwner::Session,
        TreeLocation::InProject { .. } => TreeOwner::Project,
    };
    ItemTree { place, may_be_link: true, owner, files: TreeFiles::Watched }
}

fn items(path: &str, bytes: &[u8]) -> FileItems {
    let Ok(text) = str::from_utf8(bytes) else { return FileItems::default() };
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, is_markdown) = match name.rsplit_once('.') {
        Some((stem, extension)) => (stem, extension.eq_ignore_ascii_case("md")),
        None => (name, false),
    };
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let first = headings(&text[start..]).find(|heading| heading.level == 1 && !heading.text.is_empty());
    let title = first.filter(|_| is_markdown).map_or(name, |heading| heading.text);
    let mut pieces = sections(text, if is_markdown { start } else { text.len() });
    if !is_markdown && !text.trim().is_empty() {
        pieces.push(crate::families::facts::Chunk { heading: None, content: start..text.len(), boost: 1.0 });
    }
    let mut names = vec![path.to_owned(), name.to_owned(), stem.to_owned()];
    names.dedup();
    let item = Item {
        key: ItemKey::path(path),
        kind: ItemKind::File,
        title: one_line(title),
        span: start..text.len(),
        links: references::links(text, path),
        names,
        boost: 1.0,
        sections: pieces,
        ..Item::default()
    };
    FileItems { items: vec![item], warnings: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, bytes: &[u8], expected: Option<&str>) {
        let seen = items(path, bytes).items.pop();
        assert_eq!(seen.as_ref().map(|item| item.title.as_str()), expected, "{path}");
        assert!(seen.is_none_or(|item| item.key == ItemKey::path(path) && item.kind == ItemKind::File));
    }

    #[test]
    fn a_file_has_its_heading_or_its_name() {
        check("notes/a.md", "\u{feff}text\n# Größe\n".as_bytes(), Some("Größe"));
        check("notes/a.md", b"## no\n", Some("a.md"));
        check("a.txt", b"# no\n", Some("a.txt"));
        check("Makefile", b"", Some("Makefile"));
        check("a.bin", b"\xff", None);
    }
}
