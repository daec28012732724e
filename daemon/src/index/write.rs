//! The main index on the disk, and the pen that writes it: opened for a while, then dropped with its memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::MmapDirectory;
use tantivy::index::SegmentId;
use tantivy::indexer::{LogMergePolicy, NoMergePolicy};
use tantivy::{Index, IndexReader, IndexSettings, IndexWriter, Opstamp, ReloadPolicy, TantivyDocument, Term};

use super::entry::{Document, Entry};
use super::names::Names;
use super::schema::{Fields, tokenizers};
use super::shelf::{Segment, Shelf};
use super::table::{News, Table};
use crate::disk::own;

/// What a pen may hold in memory before it writes it down; the least that tantivy takes is 15 MB.
const LITTLE: usize = 15_000_000;
const MUCH: usize = 24_000_000;
/// Threads that write when there is much.
const MOST_THREADS: usize = 4;
/// As many small segments are made one.
const SEGMENTS_BEFORE_MERGE: usize = 4;
/// A segment of which so much is gone is written anew.
const GONE_BEFORE_MERGE: f32 = 0.3;

/// The main index on the disk.
pub struct Store {
    pub(super) index: Index,
    pub(super) reader: IndexReader,
    pub(super) fields: Fields,
    pub(super) table: Table,
    /// Where it is; none if it is only in memory.
    pub(super) directory: Option<PathBuf>,
    segments: HashMap<(SegmentId, Option<Opstamp>), Arc<Segment>>,
}

/// How much is going to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Some fresh documents.
    Little,
    /// A tree.
    Much,
}

/// Writes; what was written counts when it is committed.
pub struct Pen {
    writer: IndexWriter,
    fields: Fields,
}

impl Store {
    /// An empty index in a directory that exists, or in memory.
    pub fn create(directory: Option<PathBuf>) -> tantivy::Result<Self> {
        let fields = Fields::default();
        let builder = Index::builder().schema(fields.schema.clone()).settings(IndexSettings::default());
        let index = match &directory {
            Some(directory) => builder.create_in_dir(directory)?,
            None => builder.create_in_ram()?,
        };
        let table = Table::new(directory.as_deref())?;
        Self::of(index, table, fields, directory)
    }

    /// An index that is there, if it is one of ours; what its last commit said about the list.
    pub fn existing(directory: &Path) -> tantivy::Result<Option<(Index, Fields, String)>> {
        let fields = Fields::default();
        let index = Index::open(MmapDirectory::open(directory)?)?;
        let payload = index.load_metas()?.payload;
        Ok(payload.filter(|_| index.schema() == fields.schema).map(|seal| (index, fields, seal)))
    }

    /// From its parts.
    pub fn of(mut index: Index, table: Table, fields: Fields, directory: Option<PathBuf>) -> tantivy::Result<Self> {
        index.set_tokenizers(tokenizers());
        // Nobody watches the directory: we know when we have committed.
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).doc_store_cache_num_blocks(0);
        Ok(Self { reader: reader.try_into()?, index, fields, table, directory, segments: HashMap::new() })
    }

    /// A pen. There is only one at a time.
    pub fn pen(&self, amount: Amount) -> tantivy::Result<Pen> {
        let threads = match amount {
            Amount::Little => 1,
            Amount::Much => std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS),
        };
        let memory = if amount == Amount::Little { LITTLE } else { MUCH };
        let writer: IndexWriter = self.index.writer_with_num_threads(threads, threads * memory)?;
        match amount {
            Amount::Little => {
                let mut policy = LogMergePolicy::default();
                policy.set_min_num_segments(SEGMENTS_BEFORE_MERGE);
                policy.set_del_docs_ratio_before_merge(GONE_BEFORE_MERGE);
                writer.set_merge_policy(Box::new(policy));
            }
            Amount::Much => writer.set_merge_policy(Box::new(NoMergePolicy)),
        }
        Ok(Pen { writer, fields: self.fields.clone() })
    }

    /// Commits what a pen wrote, with what the list has to say about it. `all` is the whole list, for when it is
    /// time to begin a new one.
    pub fn commit(
        &mut self,
        pen: Pen,
        news: &News<'_>,
        names: &Names,
        all: &dyn Fn() -> Vec<(u32, Arc<Entry>)>,
        documents: usize,
    ) -> tantivy::Result<()> {
        let mut worn = None;
        if self.table.is_worn(documents) {
            worn = Some(std::mem::replace(&mut self.table, Table::new(self.directory.as_deref())?));
            self.table.append(&News { taken: &all(), ..News { trees: news.trees, ..News::default() } }, names)?;
        }
        self.table.append(news, names)?;
        let Pen { mut writer, .. } = pen;
        let mut prepared = writer.prepare_commit()?;
        prepared.set_payload(&self.table.seal());
        prepared.commit()?;
        writer.wait_merging_threads()?;
        if let (Some(worn), Some(directory)) = (worn, &self.directory) {
            own::remove(&directory.join(worn.name()));
        }
        Ok(())
    }

    /// Makes one segment of many. Whether there were many.
    pub fn tidy(&mut self) -> tantivy::Result<bool> {
        let ids = self.index.searchable_segment_ids()?;
        if ids.len() < SEGMENTS_BEFORE_MERGE - 1 {
            return Ok(false);
        }
        let mut writer: IndexWriter = self.index.writer_with_num_threads(1, LITTLE)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        writer.merge(&ids).wait()?;
        writer.wait_merging_threads()?;
        Ok(true)
    }

    /// The index as it is after the last commit.
    pub fn shelf(&mut self, entries: Vec<Option<Arc<Entry>>>) -> tantivy::Result<Shelf> {
        let segments = self.segments()?;
        Shelf::new(&self.reader.searcher(), &self.fields, entries, segments)
    }

    /// Reads what is new after a commit.
    pub fn segments(&mut self) -> tantivy::Result<Vec<Arc<Segment>>> {
        self.reader.reload()?;
        let searcher = self.reader.searcher();
        let mut kept = HashMap::new();
        let mut segments = Vec::new();
        for reader in searcher.segment_readers() {
            let key = (reader.segment_id(), reader.delete_opstamp());
            let segment = match self.segments.remove(&key) {
                Some(segment) => segment,
                None => Arc::new(Segment::open(reader, &self.fields)?),
            };
            segments.push(Arc::clone(&segment));
            kept.insert(key, segment);
        }
        self.segments = kept;
        Ok(segments)
    }
}

impl Pen {
    /// The document of a slot is gone.
    pub fn remove(&self, slot: u32) {
        self.writer.delete_term(Term::from_field_u64(self.fields.slot, u64::from(slot)));
    }

    /// A slot has this document.
    pub fn add(&self, slot: u32, document: &Document) -> tantivy::Result<()> {
        let fields = &self.fields;
        for (number, section) in document.entry.sections.iter().enumerate() {
            let mut chunk = TantivyDocument::default();
            let heading = document.facts.chunks[number].heading.as_deref();
            for text in heading.into_iter().chain([document.content(section)]) {
                chunk.add_text(fields.words, text);
                chunk.add_text(fields.shades, text);
            }
            chunk.add_text(fields.names, &document.facts.title);
            chunk.add_text(fields.names, &document.facts.stem);
            chunk.add_u64(fields.slot, u64::from(slot));
            chunk.add_u64(fields.chunk, number as u64);
            chunk.add_f64(fields.boost, f64::from(section.boost));
            self.writer.add_document(chunk)?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Store").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Pen {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Pen").finish_non_exhaustive()
    }
}
