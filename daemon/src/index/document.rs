//! What is kept in memory of an indexed document: its path, the stamp with which it was read, and the offsets of
//! its chunks. No text: that is in the file.

use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde::{Deserialize, Serialize};

use super::items::{ItemRecord, exact_names, labels};
use super::source::{FileFacts, IndexSource};
use super::symbols::{StringInterner, Symbol};
use crate::disk::{Digest, FileContent, FileStamp};
use crate::families::facts::Chunk;

/// A tree, by its place in the list of trees.
pub(crate) type TreeId = u32;

/// What is kept of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DocumentRecord {
    pub(crate) tree: TreeId,
    /// Where it is in the tree.
    pub(crate) path: Arc<str>,
    /// In which state it was read.
    pub(crate) stamp: FileStamp,
    /// Of the bytes that were read.
    pub(crate) digest: Digest,
    /// Bytes that are no text were replaced, so that places in the text are not places in the file.
    pub(crate) repaired: bool,
    pub(crate) project: Symbol,
    pub(crate) folder: Symbol,
    pub(crate) kind: Option<Symbol>,
    pub(crate) status: Option<Symbol>,
    /// The official date, else that of the file.
    pub(crate) day: i32,
    pub(crate) sections: Box<[ChunkRecord]>,
    /// In the order of their chunks.
    pub(crate) items: Box<[ItemRecord]>,
}

/// Where a chunk is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChunkRecord {
    /// Where its content begins in the text.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// With its hashes.
    pub(crate) heading: Option<Symbol>,
    /// What the chunk is worth, whatever is looked for and however old it is.
    pub(crate) boost: f32,
}

/// A document as it was read: what is kept of it, and what is not.
#[derive(Debug)]
pub(crate) struct ParsedDocument {
    pub(crate) entry: Arc<DocumentRecord>,
    pub(crate) text: Arc<str>,
    pub(crate) chunks: Vec<Chunk>,
    /// Title and name, as the family's own search knows them; empty if it has none.
    pub(crate) names: Vec<String>,
    /// Of each item.
    pub(crate) labels: Vec<ItemLabels>,
    /// What its owner should know about the file, as words behind its name.
    pub(crate) problem: Option<&'static str>,
}

/// What an item is called.
#[derive(Debug)]
pub(crate) struct ItemLabels {
    /// Title, names and tags, each by its words.
    pub(crate) words: Vec<String>,
    /// What may be typed to mean exactly this item, as it is compared.
    pub(crate) exact: Vec<String>,
}

impl ParsedDocument {
    pub(crate) fn read(
        tree: TreeId,
        path: &Arc<str>,
        seen: FileContent,
        source: IndexSource,
        names: &StringInterner,
    ) -> Self {
        let digest = Digest::of(&seen.bytes);
        let (text, repaired): (Arc<str>, bool) = match std::str::from_utf8(&seen.bytes) {
            Ok(text) => (text.into(), false),
            Err(_) => (String::from_utf8_lossy(&seen.bytes).into(), true),
        };
        let FileFacts { document: facts, items, chunks, first_chunks } = source.read(path, &seen.bytes, &text);
        let name = |word: &Option<String>| word.as_ref().map(|word| names.intern(word));
        let length = |place: usize| u32::try_from(text.floor_char_boundary(place)).unwrap_or(0);
        let sections = chunks.iter().map(|chunk| ChunkRecord {
            start: length(chunk.content.start.min(chunk.content.end)),
            end: length(chunk.content.end),
            heading: name(&chunk.heading),
            boost: facts.boost * chunk.boost,
        });
        let records = items.iter().zip(&first_chunks).map(|(item, first)| ItemRecord::of(item, *first, &text));
        let day = facts.updated.unwrap_or_else(|| {
            let at = Timestamp::from_nanosecond(seen.stamp.modified_ns).unwrap_or_default();
            at.to_zoned(TimeZone::system()).date()
        });
        let entry = DocumentRecord {
            tree,
            path: Arc::clone(path),
            stamp: seen.stamp,
            digest,
            repaired,
            project: names.intern(&facts.project),
            folder: names.intern(&facts.folder),
            kind: name(&facts.kind),
            status: name(&facts.status),
            day: day_of(day),
            sections: sections.collect(),
            items: records.collect(),
        };
        let labels = items.iter().map(|item| ItemLabels {
            words: labels(item).map(str::to_owned).collect(),
            exact: exact_names(item, path),
        });
        let labels = labels.collect();
        // A document without text is no hit of its family's own search.
        let has_names =
            source.has_documents() && chunks.iter().any(|chunk| chunk.heading.is_some() || !chunk.content.is_empty());
        let names = if has_names { vec![facts.title, facts.stem] } else { Vec::new() };
        Self { entry: Arc::new(entry), text, chunks, names, labels, problem: facts.problem }
    }

    /// The item of a chunk, if there are any.
    pub(crate) fn item_of(&self, chunk: usize) -> u32 {
        let items = &self.entry.items;
        items.partition_point(|item| item.first_chunk as usize <= chunk).saturating_sub(1) as u32
    }

    /// What an item is called, at its first chunk.
    pub(crate) fn labels_at(&self, chunk: usize) -> Option<&ItemLabels> {
        let item = self.entry.items.binary_search_by_key(&chunk, |item| item.first_chunk as usize).ok()?;
        self.labels.get(item)
    }

    pub(crate) fn content(&self, section: &ChunkRecord) -> &str {
        self.text.get(section.start as usize..section.end as usize).unwrap_or_default()
    }
}

const EPOCH: Date = Date::constant(1970, 1, 1);

/// Days since the epoch.
pub(crate) fn day_of(date: Date) -> i32 {
    i32::try_from(date.duration_since(EPOCH).as_hours() / 24).unwrap_or(0)
}

/// The date of a day.
pub(crate) fn date_of(day: i32) -> Date {
    EPOCH.checked_add(i64::from(day).days()).unwrap_or(EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_each_other_s_inverse() {
        for (day, date) in [(0, EPOCH), (-1, Date::constant(1969, 12, 31)), (20_773, Date::constant(2026, 11, 16))] {
            assert_eq!((day_of(date), date_of(day)), (day, date));
        }
    }
}
