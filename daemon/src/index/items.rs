//! What is kept of an item besides its document, and the numbers by which a recall counts items.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::document::{DocumentRecord, TreeId};
use super::main_index::IndexSnapshot;
use crate::families::item::{Item, ItemKey, ItemKind, ItemLane};
use crate::text::folding::fold_word;

/// What decides whether and where an item is shown, and where its chunks begin. Everything else is in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ItemRecord {
    pub(crate) kind: ItemKind,
    pub(crate) lane: Option<ItemLane>,
    pub(crate) outdated: bool,
    /// The first of its chunks in the document.
    pub(crate) first_chunk: u32,
    /// A hash of its key.
    pub(crate) key: u64,
    /// The hash of the key of the item that it belongs to.
    pub(crate) owner: Option<u64>,
    /// A hash of its title and its own text.
    pub(crate) text: u64,
}

/// The number of an item in a snapshot.
pub(crate) type ItemNumber = u32;

pub(crate) const NO_ITEM: ItemNumber = ItemNumber::MAX;

/// Numbers for the items of a snapshot: those of the main index by slot, then those of the overlay.
#[derive(Debug, Default)]
pub(crate) struct ItemTable {
    /// By document: the number of its first item. Documents of the overlay come behind the slots.
    starts: Vec<ItemNumber>,
    /// Items that belong to another one: the document that they are alone in, and the item that they are found as.
    owners: Vec<(u32, ItemNumber)>,
    slots: usize,
    pub(crate) count: usize,
}

impl ItemRecord {
    pub(crate) fn of(item: &Item, first_chunk: usize, text: &str) -> Self {
        Self {
            kind: item.kind,
            lane: item.lane,
            outdated: item.outdated,
            first_chunk: first_chunk as u32,
            key: key_hash(&item.key),
            owner: item.of.as_ref().map(key_hash),
            text: hash([item.title.as_str(), text.get(item.span.clone()).unwrap_or_default()]),
        }
    }
}

impl ItemTable {
    pub(crate) fn of(snapshot: &IndexSnapshot) -> Self {
        let slots = snapshot.main.entries.len();
        let mut starts = Vec::with_capacity(slots + snapshot.overlay.len() + 1);
        let mut count = 0_usize;
        let mut owned: Vec<(u32, TreeId, u64)> = Vec::new();
        for (number, entry) in documents(snapshot).enumerate() {
            starts.push(count as ItemNumber);
            let Some(entry) = entry else { continue };
            if let [ItemRecord { owner: Some(owner), .. }] = &*entry.items {
                owned.push((number as u32, entry.tree, *owner));
            }
            count += entry.items.len();
        }
        starts.push(count as ItemNumber);
        let mut table = Self { starts, owners: Vec::new(), slots, count };
        if !owned.is_empty() {
            table.find_owners(snapshot, &owned);
        }
        table
    }

    fn find_owners(&mut self, snapshot: &IndexSnapshot, owned: &[(u32, TreeId, u64)]) {
        let mut sought: HashMap<(TreeId, u64), ItemNumber> =
            owned.iter().map(|(_, tree, owner)| ((*tree, *owner), NO_ITEM)).collect();
        for (number, entry) in documents(snapshot).enumerate() {
            let Some(entry) = entry else { continue };
            for (place, item) in entry.items.iter().enumerate() {
                if let Some(found) = sought.get_mut(&(entry.tree, item.key)) {
                    *found = (*found).min(self.starts[number] + place as ItemNumber);
                }
            }
        }
        let found = owned.iter().map(|(number, tree, owner)| (*number, sought[&(*tree, *owner)]));
        self.owners = found.filter(|(_, owner)| *owner != NO_ITEM).collect();
    }

    /// The number of the first item of a slot, or of a document of the overlay.
    pub(crate) fn starts(&self) -> &[ItemNumber] {
        &self.starts
    }

    pub(crate) fn owners(&self) -> &[(u32, ItemNumber)] {
        &self.owners
    }

    /// Where documents of the overlay begin.
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// The document of an item, and its place in it.
    pub(crate) fn place_of(&self, item: ItemNumber) -> (usize, usize) {
        let document = self.starts.partition_point(|start| *start <= item) - 1;
        (document, (item - self.starts[document]) as usize)
    }
}

/// All documents by their numbers; none where a slot is empty or does not count any more.
fn documents(snapshot: &IndexSnapshot) -> impl Iterator<Item = Option<&DocumentRecord>> {
    let main = snapshot.main.entries.iter().enumerate();
    let main = main.map(|(slot, entry)| entry.as_deref().filter(|_| !snapshot.masked.contains(slot)));
    main.chain(snapshot.overlay.iter().map(|overlay| Some(&*overlay.entry)))
}

/// The words by which people know an item, each a text of its own: title, names, tags.
pub(crate) fn labels(item: &Item) -> impl Iterator<Item = &str> {
    [item.title.as_str()].into_iter().chain(item.names.iter().chain(&item.tags).map(String::as_str))
}

/// What may be typed to mean exactly this item: its title, its names, its path and the name of its file.
pub(crate) fn exact_names(item: &Item, path: &str) -> Vec<String> {
    let file_name = path.rsplit('/').next().unwrap_or(path);
    let is_whole_file = item.key.fragment.is_none();
    let file = [path, file_name].into_iter().filter(|_| is_whole_file);
    let key = [Some(item.key.path.as_str()), item.key.fragment.as_deref()].into_iter().flatten();
    let key = key.skip(usize::from(!is_whole_file));
    let names = [item.title.as_str()].into_iter().chain(item.names.iter().map(String::as_str)).chain(key).chain(file);
    let mut names: Vec<String> = names.map(exact_name).filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A name as it is compared: folded, with single blanks.
pub(crate) fn exact_name(name: &str) -> String {
    fold_word(name).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn key_hash(key: &ItemKey) -> u64 {
    hash([key.path.as_str(), key.fragment.as_deref().unwrap_or("\u{0}")])
}

pub(crate) fn hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let digest = hasher.finalize();
    u64::from_le_bytes(std::array::from_fn(|place| digest.as_bytes()[place]))
}
