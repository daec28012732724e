//! One item alone: its text, a page at a time, what belongs to it, and what it is linked with.

use serde_json::{Map, Value, json};

use super::arguments::OpenArgs;
use super::error::{TrellisError, argument};
use super::model::{ShownItem, cursor, cursor_place};
use super::ops::nearest;
use super::pages::{line_count, line_of, page_end};
use crate::disk::ReadError;
use crate::families::Answer;
use crate::families::address::{AddressedItem, ItemPlace, outline, part};
use crate::families::error::{CommonError, NamedFile};
use crate::families::item::{Item, ItemDetail, ItemDetails, ItemKey, RelatedItem, TreeOwner};
use crate::families::item_set::{ItemFile, ItemRef, ItemTreeView, OpenedFile, OpenedItem};
use crate::text::hash::hash_of;

/// Slugs of an outline, and links each way.
const MAX_OUTLINE: usize = 30;
const MAX_LINKS: usize = 20;
const MAX_HEADINGS: usize = 20;

/// An item with its file, found.
#[derive(Debug)]
pub struct FoundItem<'a> {
    pub opened: &'a OpenedItem,
    pub file: &'a OpenedFile,
    /// All items of the file.
    kept: ItemFile,
    which: usize,
    details: ItemDetails,
    /// The text of the file, without a byte order mark.
    pub text: String,
    /// Bytes of the mark.
    mark: usize,
}

impl<'a> FoundItem<'a> {
    /// The item that an address names, in its file as it is now.
    pub fn of(opened: &'a OpenedItem, uri: &str) -> Result<Self, TrellisError> {
        let tree = &opened.set.trees[opened.tree];
        let missing = || TrellisError::ItemNotFound {
            uri: uri.to_owned(),
            nearest: nearest(&opened.set, opened.tree, opened.project.as_deref(), uri),
        };
        let unreadable = |reason: String| TrellisError::Unreadable { uri: uri.to_owned(), reason };
        let file = opened.file.as_ref().map_err(|why| match why {
            ReadError::Missing | ReadError::TreeMissing | ReadError::IsDirectory | ReadError::IsFile => missing(),
            why => {
                let file = NamedFile { shown: "its file".to_owned(), ..NamedFile::default() };
                unreadable(CommonError::Read { file, why: why.clone() }.to_string())
            }
        })?;
        let is_text = str::from_utf8(&file.bytes).is_ok();
        // A workspace's documents are shown as far as they are text, as by its own tools.
        if !is_text && tree.owner != TreeOwner::Workspace {
            return Err(unreadable("it is not UTF-8 text".to_owned()));
        }
        let AddressedItem::Item { key, .. } = &opened.address.target else { return Err(missing()) };
        let items = (tree.face.items)(&file.path, &file.bytes);
        let project = opened.project.as_deref();
        let Some(which) = items.items.iter().position(|item| item.key == *key && item.project.as_deref() == project)
        else {
            // What is in a file that cannot be understood may well be there.
            let broken = items
                .items
                .iter()
                .find_map(|item| item.warning.clone().filter(|_| items.items.len() == 1 && item.key.path == key.path));
            let broken = broken.or_else(|| items.warnings.first().cloned().filter(|_| items.items.is_empty()));
            return Err(broken.map_or_else(missing, unreadable));
        };
        let text = String::from_utf8_lossy(&file.bytes).into_owned();
        let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let details = (tree.face.details)(&file.path, &file.bytes, &items.items[which]);
        let kept = ItemFile { stamp: file.stamp, items, hash: None };
        Ok(Self { opened, file, kept, which, details, text: text[mark..].to_owned(), mark })
    }

    pub fn item(&self) -> &Item {
        &self.kept.items.items[self.which]
    }

    pub fn tree(&self) -> &ItemTreeView {
        &self.opened.set.trees[self.opened.tree]
    }

    pub fn reference(&self) -> ItemRef<'_> {
        ItemRef { tree: self.tree(), path: &self.file.path, file: &self.kept, item: self.item() }
    }

    /// The part of the file's text that is the item's, without a byte order mark.
    pub fn span(&self) -> std::ops::Range<usize> {
        let span = &self.item().span;
        span.start.saturating_sub(self.mark)..span.end.saturating_sub(self.mark)
    }

    fn place(&self) -> Option<&ItemPlace> {
        match &self.opened.address.target {
            AddressedItem::Item { place, .. } => place.as_ref(),
            AddressedItem::Resource => None,
        }
    }

    /// The text that an address names: a part of the file's, and where it begins there; or one of the item's own.
    pub fn shown_text(&self, uri: &str) -> Result<(String, Option<usize>), TrellisError> {
        if let Some(reason) = self.details.unreadable {
            return Err(TrellisError::Unreadable { uri: uri.to_owned(), reason: reason.to_owned() });
        }
        if let Some(own) = &self.details.text {
            return Ok((own.clone(), None));
        }
        let range = match self.place() {
            None => self.span(),
            Some(place) => part(&self.text, place).map_err(|mut headings| {
                headings.truncate(MAX_HEADINGS);
                TrellisError::SectionNotFound { uri: uri.to_owned(), headings }
            })?,
        };
        Ok((self.text[range.clone()].to_owned(), Some(range.start)))
    }
}

pub fn open(opened: &OpenedItem, args: &OpenArgs) -> Result<Answer, TrellisError> {
    let found = FoundItem::of(opened, &args.uri)?;
    let hash = hash_of(&found.file.bytes);
    let (text, begins) = found.shown_text(&args.uri)?;
    let asked = format!("{}\n{hash}", args.uri);
    let start = match &args.cursor {
        None => 0,
        Some(given) => place_of(given, &asked, &args.uri, &hash)?,
    };
    let headings = outline(&text);
    let start = start.min(text.len());
    let end = page_end(&text, start, args.budget, &headings);
    let mut answer = ShownItem::of(found.reference(), &opened.set).fields();
    answer.insert("path".to_owned(), found.file.path.as_str().into());
    answer.insert("hash".to_owned(), hash.as_str().into());
    answer.insert("text".to_owned(), text[start..end].into());
    if let Some(begins) = begins {
        let last = (begins + end).saturating_sub(usize::from(text[..end].ends_with('\n'))).max(begins + start);
        let (first, last) = (line_of(&found.text, begins + start), line_of(&found.text, last));
        answer.insert("lines".to_owned(), format!("L{first}-{last}").into());
        answer.insert("total_lines".to_owned(), line_count(&found.text).into());
    }
    if end < text.len() {
        // The cursor tells a file that changed from a cursor that was made up.
        let next = format!("{}.{}", cursor(end, &asked), &hash[..16]);
        answer.insert("next_cursor".to_owned(), next.into());
        let slugs: Vec<&str> = headings
            .iter()
            .map(|heading| heading.slug.as_str())
            .filter(|slug| !slug.is_empty())
            .take(MAX_OUTLINE)
            .collect();
        answer.insert("outline".to_owned(), json!(slugs));
    }
    add_links(&found, &mut answer);
    let left = args.budget.saturating_sub(text[start..end].chars().count());
    add_details(&found, left, &mut answer);
    Ok(Answer::object(Value::from(answer)))
}

/// The place that a cursor names; a cursor for another state of the file is a conflict.
fn place_of(given: &str, asked: &str, uri: &str, hash: &str) -> Result<usize, TrellisError> {
    let wrong = || argument("cursor", "is not from `next_cursor` of this item", given);
    let (cursor, of) = given.split_once('.').ok_or_else(wrong)?;
    if of.len() == 16 && of.bytes().all(|byte| byte.is_ascii_hexdigit()) && !hash.starts_with(of) {
        return Err(TrellisError::Changed { uri: uri.to_owned(), expected: of.to_owned(), actual: hash.to_owned() });
    }
    cursor_place(cursor, asked).ok_or_else(wrong)
}

fn add_links(found: &FoundItem<'_>, answer: &mut Map<String, Value>) {
    let set = &found.opened.set;
    let own = found.reference();
    let mut links: Vec<String> = Vec::new();
    for link in &own.item.links {
        let Some(target) = set.linked(own, link).map(ItemRef::address) else { continue };
        if links.len() < MAX_LINKS && target != own.address() && !links.contains(&target) {
            links.push(target);
        }
    }
    let from: Vec<String> = set.linked_from(own).take(MAX_LINKS).map(ItemRef::address).collect();
    for (name, links) in [("links", links), ("linked_from", from)] {
        if !links.is_empty() {
            answer.insert(name.to_owned(), json!(links));
        }
    }
}

fn add_details(found: &FoundItem<'_>, left: usize, answer: &mut Map<String, Value>) {
    let tree = found.tree();
    let address = |key: &ItemKey| tree.address(found.item().project.as_deref(), key);
    let related = |item: &RelatedItem| {
        let mut fields = Map::new();
        fields.insert("uri".to_owned(), address(&item.key).into());
        fields.insert("title".to_owned(), item.title.as_str().into());
        fields.extend(item.status.as_ref().map(|status| ("status".to_owned(), status.as_str().into())));
        Value::from(fields)
    };
    for (name, detail) in &found.details.fields {
        let value = match detail {
            ItemDetail::Value(value) => Some(value.clone()),
            ItemDetail::Addresses(keys) => Some(json!(keys.iter().map(address).collect::<Vec<_>>())),
            ItemDetail::Related(items) => Some(items.iter().map(related).collect()),
            ItemDetail::Text(key) => found.opened.companion.as_ref().map(|file| companion(&address(key), file, left)),
        };
        let is_empty = value.as_ref().is_none_or(|value| value.as_array().is_some_and(Vec::is_empty) || *value == "");
        answer.extend(value.filter(|_| !is_empty).map(|value| ((*name).to_owned(), value)));
    }
}

/// The text of a file that belongs to an item, in what the budget leaves.
fn companion(uri: &str, file: &OpenedFile, left: usize) -> Value {
    let text = String::from_utf8_lossy(&file.bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let cut = text.char_indices().nth(left).map_or(text.len(), |(end, _)| end);
    let mut fields = Map::new();
    fields.insert("uri".to_owned(), uri.into());
    fields.insert("hash".to_owned(), hash_of(&file.bytes).into());
    fields.insert("text".to_owned(), text[..cut].into());
    if cut < text.len() {
        fields.insert("truncated".to_owned(), true.into());
    }
    fields.into()
}
