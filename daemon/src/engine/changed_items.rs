//! Which items a write is about: those of a file before and after, compared by their own text and status.

use std::collections::HashMap;

use crate::disk::journal::ChangedItem;
use crate::families::item::{Item, ItemFace};

/// In larger files items are not compared one by one: a write shall not wait for it.
const MAX_COMPARED_BYTES: usize = 256 << 10;
/// Of more items at once nobody wants a list.
const MAX_ITEMS: usize = 100;

/// The items of a file that differ between two texts of it; one that went is the last known of it.
pub(super) fn changed_items(
    face: &ItemFace,
    path: &str,
    old: impl FnOnce() -> Option<Vec<u8>>,
    new: Option<&[u8]>,
) -> Vec<ChangedItem> {
    let is_long = |text: &[u8]| text.len() > MAX_COMPARED_BYTES;
    if new.is_some_and(is_long) && !is_one_item(face, path) {
        return Vec::new();
    }
    let items = |text: &[u8]| (face.items)(path, text).items;
    let after = new.map(items).unwrap_or_default();
    if let ([item], Some(text)) = (after.as_slice(), new)
        && item.span == (0..text.len())
    {
        return vec![described(item)];
    }
    let old = old().filter(|old| !is_long(old)).unwrap_or_default();
    let before = items(&old);
    let (old_text, new_text) = (String::from_utf8_lossy(&old), String::from_utf8_lossy(new.unwrap_or_default()));
    let state = |item: &Item, text: &str| (text.get(item.span.clone()).map(str::to_owned), item.status.clone());
    let key = |item: &Item| (item.project.clone(), item.key.clone());
    // One without an id is the same on whichever line it stands.
    let is_same_elsewhere = |item: &Item, others: &[Item], text: &str, other_text: &str| {
        item.warning.is_some() && others.iter().any(|other| state(other, other_text) == state(item, text))
    };
    let known: HashMap<_, _> = before.iter().map(|item| (key(item), state(item, &old_text))).collect();
    let differs = |item: &&Item| {
        known.get(&key(item)) != Some(&state(item, &new_text))
            && !is_same_elsewhere(item, &before, &new_text, &old_text)
    };
    let is_gone = |item: &&Item| {
        !after.iter().any(|other| key(other) == key(item)) && !is_same_elsewhere(item, &after, &old_text, &new_text)
    };
    let changed = after.iter().filter(differs);
    changed.chain(before.iter().filter(is_gone)).take(MAX_ITEMS).map(described).collect()
}

/// Whether a file of this name is one item as a whole, whatever it holds.
fn is_one_item(face: &ItemFace, path: &str) -> bool {
    let text = "x\n";
    matches!((face.items)(path, text.as_bytes()).items.as_slice(), [item] if item.span == (0..text.len()))
}

fn described(item: &Item) -> ChangedItem {
    ChangedItem {
        project: item.project.clone(),
        path: item.key.path.clone(),
        fragment: item.key.fragment.clone(),
        title: item.title.clone(),
    }
}
