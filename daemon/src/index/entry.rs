//! What is kept in memory of a document: where it is, in which state it was read, and where its chunks are.
//! No text: that is in the file.

use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::names::{Name, Names};
use crate::disk::{Digest, Identity};
use crate::families::facts::{Documents, Facts};
use crate::families::need::FileSeen;

/// A tree, by its place in the list of trees.
pub type TreeId = u32;

/// What is kept of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its tree.
    pub tree: TreeId,
    /// Where it is in the tree.
    pub path: Arc<str>,
    /// In which state it was read.
    pub identity: Identity,
    /// Of the bytes that were read.
    pub digest: Digest,
    /// Bytes that are no text were replaced, so that places in the text are not places in the file.
    pub repaired: bool,
    /// As in the facts.
    pub project: Name,
    /// As in the facts.
    pub folder: Name,
    /// As in the facts.
    pub kind: Option<Name>,
    /// As in the facts.
    pub status: Option<Name>,
    /// The official date, else that of the file.
    pub day: i32,
    /// Its chunks, in order.
    pub sections: Box<[Section]>,
}

/// Where a chunk is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Section {
    /// Where its content begins in the text.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// With its hashes.
    pub heading: Option<Name>,
    /// What the chunk is worth, whatever is looked for and however old it is.
    pub boost: f32,
}

/// A document as it was read: what is kept of it, and what is not.
#[derive(Debug)]
pub struct Document {
    /// What is kept.
    pub entry: Arc<Entry>,
    /// The text.
    pub text: Arc<str>,
    /// What the family says about it.
    pub facts: Facts,
}

impl Document {
    /// Reads a file.
    pub fn read(tree: TreeId, path: &Arc<str>, seen: FileSeen, documents: Documents, names: &Names) -> Self {
        let digest = Digest::of(&seen.bytes);
        let (text, repaired): (Arc<str>, bool) = match String::from_utf8(seen.bytes) {
            Ok(text) => (text.into(), false),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into(), true),
        };
        let facts = (documents.facts)(path, &text);
        let name = |word: &Option<String>| word.as_ref().map(|word| names.name(word));
        let length = |place: usize| u32::try_from(text.floor_char_boundary(place)).unwrap_or(0);
        let sections = facts.chunks.iter().map(|chunk| Section {
            start: length(chunk.content.start.min(chunk.content.end)),
            end: length(chunk.content.end),
            heading: name(&chunk.heading),
            boost: facts.boost * chunk.boost,
        });
        let day = facts.updated.unwrap_or_else(|| date_of_file(seen.identity.modified_ns));
        let entry = Entry {
            tree,
            path: Arc::clone(path),
            identity: seen.identity,
            digest,
            repaired,
            project: names.name(&facts.project),
            folder: names.name(&facts.folder),
            kind: name(&facts.kind),
            status: name(&facts.status),
            day: day_of(day),
            sections: sections.collect(),
        };
        Self { entry: Arc::new(entry), text, facts }
    }

    /// The content of a chunk.
    pub fn content(&self, section: &Section) -> &str {
        self.text.get(section.start as usize..section.end as usize).unwrap_or_default()
    }
}

const EPOCH: Date = Date::constant(1970, 1, 1);

/// Days since the epoch.
pub fn day_of(date: Date) -> i32 {
    i32::try_from(date.duration_since(EPOCH).as_hours() / 24).unwrap_or(0)
}

/// The date of a day.
pub fn date_of(day: i32) -> Date {
    EPOCH.checked_add(i64::from(day).days()).unwrap_or(EPOCH)
}

fn date_of_file(modified_ns: i128) -> Date {
    let at = Timestamp::from_nanosecond(modified_ns).unwrap_or_default();
    at.to_zoned(TimeZone::system()).date()
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
