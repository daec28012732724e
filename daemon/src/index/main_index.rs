//! An immutable view of the main index: its segments, and the document behind every chunk. A change publishes a new
//! view.

use std::sync::{Arc, OnceLock};

use bit_set::BitSet;
use tantivy::SegmentReader;
use tantivy::columnar::Column;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::InvertedIndexReader;

use super::document::{DocumentRecord, TreeId};
use super::items::ItemTable;
use super::overlay::{OverlayDocument, TextField};
use super::schema::Fields;
use super::symbols::Symbol;

pub(crate) const DELETED: u32 = u32::MAX;

#[derive(Default)]
pub(crate) struct MainIndex {
    pub(crate) segments: Vec<Arc<Segment>>,
    /// The documents, by their slots.
    pub(crate) entries: Vec<Option<Arc<DocumentRecord>>>,
    pub(crate) filters: Vec<DocumentFilter>,
    /// Chunks, deleted ones included until a merge removes them.
    pub(crate) chunks: u64,
    pub(crate) token_count: u64,
}

/// Per document: what decides whether a search may see it, and how recent it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DocumentFilter {
    /// Its tree; one that nobody has if the slot is empty.
    pub(crate) tree: TreeId,
    pub(crate) project: Symbol,
    pub(crate) folder: Symbol,
    pub(crate) day: i32,
}

pub(crate) struct Segment {
    /// In the order of [`TextField`].
    inverted: [Arc<InvertedIndexReader>; 4],
    /// Coarse lengths of chunks.
    pub(crate) norms: FieldNormReader,
    /// One array for all columns that a match needs: one memory access per match.
    pub(crate) chunk_columns: Box<[ChunkColumns]>,
    chunk: Column<u64>,
    token_count: u64,
}

/// Per chunk: its document's slot, its item in the document, and its boost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkColumns {
    pub(crate) slot: u32,
    pub(crate) item: u32,
    pub(crate) boost: f32,
}

impl DocumentFilter {
    const EMPTY: Self = Self { tree: TreeId::MAX, project: Symbol::MAX, folder: Symbol::MAX, day: 0 };

    pub(crate) fn of(entry: &DocumentRecord) -> Self {
        Self { tree: entry.tree, project: entry.project, folder: entry.folder, day: entry.day }
    }
}

impl MainIndex {
    /// Of these documents, by their slots.
    pub(crate) fn new(entries: Vec<Option<Arc<DocumentRecord>>>, segments: Vec<Arc<Segment>>) -> Self {
        let filter =
            |entry: &Option<Arc<DocumentRecord>>| entry.as_deref().map_or(DocumentFilter::EMPTY, DocumentFilter::of);
        Self {
            filters: entries.iter().map(filter).collect(),
            chunks: segments.iter().map(|segment| segment.chunk_columns.len() as u64).sum(),
            token_count: segments.iter().map(|segment| segment.token_count).sum(),
            segments,
            entries,
        }
    }

    /// The document and the number of a chunk.
    pub(crate) fn entry(&self, segment: u32, doc: u32) -> Option<(&Arc<DocumentRecord>, u32)> {
        let segment = &self.segments[segment as usize];
        let entry = self.entries.get(segment.chunk_columns[doc as usize].slot as usize)?.as_ref()?;
        Some((entry, segment.chunk(doc)))
    }
}

impl Segment {
    /// Reads the columns of a segment.
    pub(crate) fn open(reader: &SegmentReader, fields: &Fields) -> tantivy::Result<Self> {
        let columns = reader.fast_fields();
        let (slot, chunk, boost) = (columns.u64("slot")?, columns.u64("chunk")?, columns.f64("boost")?);
        let item = columns.u64("item")?;
        let docs = 0..reader.max_doc();
        let slot_of = |doc| match reader.is_deleted(doc) {
            true => DELETED,
            false => slot.first(doc).and_then(|slot| u32::try_from(slot).ok()).unwrap_or(DELETED),
        };
        let item_of = |doc| item.first(doc).unwrap_or(0) as u32;
        let boost_of = |doc| boost.first(doc).unwrap_or(1.0) as f32;
        let words = reader.inverted_index(fields.words)?;
        Ok(Self {
            token_count: words.total_num_tokens(),
            inverted: [
                words,
                reader.inverted_index(fields.shades)?,
                reader.inverted_index(fields.names)?,
                reader.inverted_index(fields.labels)?,
            ],
            norms: reader.get_fieldnorms_reader(fields.words)?,
            chunk_columns: docs
                .map(|doc| ChunkColumns { slot: slot_of(doc), item: item_of(doc), boost: boost_of(doc) })
                .collect(),
            chunk,
        })
    }

    /// The number of a chunk in its document.
    pub(crate) fn chunk(&self, doc: u32) -> u32 {
        self.chunk.first(doc).unwrap_or(0) as u32
    }

    pub(crate) fn inverted(&self, place: TextField) -> &InvertedIndexReader {
        &self.inverted[place as usize]
    }
}

/// Everything that can be found at one moment.
#[derive(Default)]
pub(crate) struct IndexSnapshot {
    pub(crate) main: Arc<MainIndex>,
    /// Slots of the main index that do not count any more.
    pub(crate) masked: Arc<BitSet>,
    /// Documents that are not in the main index yet.
    pub(crate) overlay: Arc<[Arc<OverlayDocument>]>,
    items: OnceLock<ItemTable>,
}

impl IndexSnapshot {
    pub(crate) fn new(main: Arc<MainIndex>, masked: Arc<BitSet>, overlay: Arc<[Arc<OverlayDocument>]>) -> Self {
        Self { main, masked, overlay, items: OnceLock::new() }
    }

    /// Numbers for its items, made when they are first needed.
    pub(crate) fn items(&self) -> &ItemTable {
        self.items.get_or_init(|| ItemTable::of(self))
    }
}
