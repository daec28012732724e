//! What is kept in memory of an indexed document: its path, the stamp with which it was read, and the offsets of
//! its chunks. No text: that is in the file.

use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde::{Deserialize, Serialize};

use super::symbols::{StringInterner, Symbol};
use crate::disk::{Digest, FileContent, FileStamp};
use crate::families::facts::{DocumentFacts, DocumentSource};

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
    /// What the family says about it.
    pub(crate) facts: DocumentFacts,
}

impl ParsedDocument {
    pub(crate) fn read(
        tree: TreeId,
        path: &Arc<str>,
        seen: FileContent,
        documents: DocumentSource,
        names: &StringInterner,
    ) -> Self {
        let digest = Digest::of(&seen.bytes);
        let (text, repaired): (Arc<str>, bool) = match String::from_utf8(seen.bytes) {
            Ok(text) => (text.into(), false),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into(), true),
        };
        let facts = (documents.facts)(path, &text);
        let name = |word: &Option<String>| word.as_ref().map(|word| names.intern(word));
        let length = |place: usize| u32::try_from(text.floor_char_boundary(place)).unwrap_or(0);
        let sections = facts.chunks.iter().map(|chunk| ChunkRecord {
            start: length(chunk.content.start.min(chunk.content.end)),
            end: length(chunk.content.end),
            heading: name(&chunk.heading),
            boost: facts.boost * chunk.boost,
        });
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
        };
        Self { entry: Arc::new(entry), text, facts }
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
