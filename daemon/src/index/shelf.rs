//! The main index as a search sees it: its segments, and the document behind every chunk. It never changes; what
//! changes is which one is looked at.

use std::sync::Arc;

use tantivy::columnar::Column;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::InvertedIndexReader;
use tantivy::{Searcher, SegmentReader};

use super::entry::{Entry, TreeId};
use super::names::Name;
use super::overlay::{Fresh, Where};
use super::schema::Fields;

/// Stands for a chunk that is gone.
pub const GONE: u32 = u32::MAX;

/// The main index at one moment.
#[derive(Debug, Default)]
pub struct Shelf {
    /// Its segments.
    pub segments: Vec<Arc<Segment>>,
    /// The documents, by their slots.
    pub entries: Vec<Option<Arc<Entry>>>,
    /// What decides whether a search may see a document, by slots.
    pub seats: Vec<Seat>,
    /// Chunks, those included that are gone and not cleared away yet.
    pub chunks: u64,
    /// Pieces in all of them.
    pub pieces: u64,
}

/// What decides whether a search may see a document, and how recent it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// Its tree; one that nobody has if the slot is empty.
    pub tree: TreeId,
    /// Its project.
    pub project: Name,
    /// Its folder.
    pub folder: Name,
    /// Its day.
    pub day: i32,
}

/// One segment of the index.
pub struct Segment {
    words: Arc<InvertedIndexReader>,
    shades: Arc<InvertedIndexReader>,
    names: Arc<InvertedIndexReader>,
    /// Coarse lengths of chunks.
    pub norms: FieldNormReader,
    /// What a match must know of each chunk, side by side: a match is one more place in memory to go to.
    pub spots: Box<[Spot]>,
    chunk: Column<u64>,
}

/// What a match must know of a chunk.
#[derive(Debug, Clone, Copy)]
pub struct Spot {
    /// Of its document.
    pub slot: u32,
    /// What it is worth.
    pub boost: f32,
}

impl Seat {
    const EMPTY: Self = Self { tree: TreeId::MAX, project: Name::MAX, folder: Name::MAX, day: 0 };

    /// Of a document.
    pub fn of(entry: &Entry) -> Self {
        Self { tree: entry.tree, project: entry.project, folder: entry.folder, day: entry.day }
    }
}

impl Shelf {
    /// With these documents; segments that were there before are taken over.
    pub fn new(
        searcher: &Searcher,
        fields: &Fields,
        entries: Vec<Option<Arc<Entry>>>,
        segments: Vec<Arc<Segment>>,
    ) -> tantivy::Result<Self> {
        let seats = entries.iter().map(|entry| entry.as_deref().map_or(Seat::EMPTY, Seat::of)).collect();
        let mut pieces = 0;
        let mut chunks = 0;
        for reader in searcher.segment_readers() {
            pieces += reader.inverted_index(fields.words)?.total_num_tokens();
            chunks += u64::from(reader.max_doc());
        }
        Ok(Self { segments, entries, seats, chunks, pieces })
    }

    /// The document and the number of a chunk.
    pub fn entry(&self, segment: u32, doc: u32) -> Option<(&Arc<Entry>, u32)> {
        let segment = &self.segments[segment as usize];
        let entry = self.entries.get(segment.spots[doc as usize].slot as usize)?.as_ref()?;
        Some((entry, segment.chunk.first(doc).unwrap_or(0) as u32))
    }
}

impl Segment {
    /// Reads the columns of a segment.
    pub fn open(reader: &SegmentReader, fields: &Fields) -> tantivy::Result<Self> {
        let columns = reader.fast_fields();
        let (slot, chunk, boost) = (columns.u64("slot")?, columns.u64("chunk")?, columns.f64("boost")?);
        let docs = 0..reader.max_doc();
        let slot_of = |doc| match reader.is_deleted(doc) {
            true => GONE,
            false => slot.first(doc).and_then(|slot| u32::try_from(slot).ok()).unwrap_or(GONE),
        };
        let boost_of = |doc| boost.first(doc).unwrap_or(1.0) as f32;
        Ok(Self {
            words: reader.inverted_index(fields.words)?,
            shades: reader.inverted_index(fields.shades)?,
            names: reader.inverted_index(fields.names)?,
            norms: reader.get_fieldnorms_reader(fields.words)?,
            spots: docs.map(|doc| Spot { slot: slot_of(doc), boost: boost_of(doc) }).collect(),
            chunk,
        })
    }

    /// The terms of a field.
    pub fn inverted(&self, place: Where) -> &InvertedIndexReader {
        match place {
            Where::Words => &self.words,
            Where::Shades => &self.shades,
            Where::Names => &self.names,
        }
    }
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Segment").field("chunks", &self.spots.len()).finish_non_exhaustive()
    }
}

/// Everything that can be found at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The main index.
    pub shelf: Arc<Shelf>,
    /// Slots of the main index that do not count any more.
    pub masked: Arc<Mask>,
    /// Documents that are not in the main index yet.
    pub fresh: Arc<[Arc<Fresh>]>,
}

/// A set of slots.
#[derive(Debug, Clone, Default)]
pub struct Mask(Vec<u64>);

impl Mask {
    /// Whether a slot is in it.
    pub fn has(&self, slot: u32) -> bool {
        self.0.get(slot as usize / 64).is_some_and(|bits| bits >> (slot % 64) & 1 == 1)
    }

    /// Puts a slot into it.
    pub fn add(&mut self, slot: u32) {
        let word = slot as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (slot % 64);
    }
}
