//! The tantivy store of the main index, and the batches that write it: opened when needed, then dropped with their
//! memory.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::MmapDirectory;
use tantivy::index::SegmentId;
use tantivy::indexer::{LogMergePolicy, NoMergePolicy};
use tantivy::{Index, IndexReader, IndexSettings, IndexWriter, Opstamp, ReloadPolicy, TantivyDocument, Term};

use super::document::{DocumentRecord, ParsedDocument};
use super::document_log::{DocumentLog, DocumentLogBatch};
use super::main_index::Segment;
use super::schema::{EXACT_NAME, Fields, tokenizers};
use super::symbols::StringInterner;
use crate::state_files;

/// Memory of a batch before it is flushed to a segment; the least that tantivy takes is 15 MB.
const SMALL_BATCH_HEAP_BYTES: usize = 15_000_000;
const BULK_BATCH_HEAP_BYTES: usize = 24_000_000;
/// Threads that write when there is much.
const MAX_WRITER_THREADS: usize = 4;
/// As many small segments are made one.
const MERGE_MIN_SEGMENTS: usize = 4;
/// A segment of which so much is gone is written anew.
const MERGE_DELETED_RATIO: f32 = 0.3;

/// The index on disk cannot be used any more.
#[derive(Debug)]
pub(crate) struct IndexCorrupt(pub(crate) String);

impl From<tantivy::TantivyError> for IndexCorrupt {
    fn from(error: tantivy::TantivyError) -> Self {
        Self(error.to_string())
    }
}

/// Takes a panic for damage: tantivy trusts its files.
pub(crate) fn catch_corruption<T>(work: impl FnOnce() -> Result<T, IndexCorrupt>) -> Result<T, IndexCorrupt> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(IndexCorrupt("it cannot be read".to_owned())))
}

/// The main index on the disk.
pub(crate) struct TantivyStore {
    index: Index,
    reader: IndexReader,
    fields: Fields,
    pub(crate) table: DocumentLog,
    /// Where it is; none if it is only in memory.
    pub(crate) directory: Option<PathBuf>,
    segments: HashMap<(SegmentId, Option<Opstamp>), Arc<Segment>>,
}

/// How much is going to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchSize {
    /// Some overlay documents.
    Small,
    Bulk,
}

/// A batch of writes. There is only one at a time.
pub(crate) struct WriteBatch {
    writer: IndexWriter,
    fields: Fields,
}

impl TantivyStore {
    /// An empty index in a directory that exists, or in memory.
    pub(crate) fn create(directory: Option<PathBuf>) -> tantivy::Result<Self> {
        let fields = Fields::default();
        let builder = Index::builder().schema(fields.schema.clone()).settings(IndexSettings::default());
        let index = match &directory {
            Some(directory) => builder.create_in_dir(directory)?,
            None => builder.create_in_ram()?,
        };
        let table = DocumentLog::new(directory.as_deref())?;
        Self::of(index, table, fields, directory)
    }

    /// An index that is there, if it is one of ours; what its last commit said about the list.
    pub(crate) fn existing(directory: &Path) -> tantivy::Result<Option<(Index, Fields, String)>> {
        let fields = Fields::default();
        let index = Index::open(MmapDirectory::open(directory)?)?;
        let payload = index.load_metas()?.payload;
        Ok(payload
            .filter(|seal| index.schema() == fields.schema && DocumentLog::is_current(seal))
            .map(|seal| (index, fields, seal)))
    }

    pub(crate) fn of(
        mut index: Index,
        table: DocumentLog,
        fields: Fields,
        directory: Option<PathBuf>,
    ) -> tantivy::Result<Self> {
        index.set_tokenizers(tokenizers());
        // Nobody watches the directory: we know when we have committed.
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).doc_store_cache_num_blocks(0);
        Ok(Self { reader: reader.try_into()?, index, fields, table, directory, segments: HashMap::new() })
    }

    /// A batch. There is only one at a time.
    pub(crate) fn begin_batch(&self, size: BatchSize) -> tantivy::Result<WriteBatch> {
        let writer: IndexWriter = match size {
            BatchSize::Small => {
                let writer = self.index.writer_with_num_threads(1, SMALL_BATCH_HEAP_BYTES)?;
                let mut policy = LogMergePolicy::default();
                policy.set_min_num_segments(MERGE_MIN_SEGMENTS);
                policy.set_del_docs_ratio_before_merge(MERGE_DELETED_RATIO);
                writer.set_merge_policy(Box::new(policy));
                writer
            }
            BatchSize::Bulk => {
                let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_WRITER_THREADS);
                let writer = self.index.writer_with_num_threads(threads, threads * BULK_BATCH_HEAP_BYTES)?;
                writer.set_merge_policy(Box::new(NoMergePolicy));
                writer
            }
        };
        Ok(WriteBatch { writer, fields: self.fields.clone() })
    }

    /// Commits a batch, with what the document log has to record of it. `all` is every document, for when the log
    /// is compacted.
    pub(crate) fn commit(
        &mut self,
        batch: WriteBatch,
        news: &DocumentLogBatch<'_>,
        names: &StringInterner,
        all: &dyn Fn() -> Vec<(u32, Arc<DocumentRecord>)>,
        documents: usize,
    ) -> tantivy::Result<()> {
        let mut worn = None;
        if self.table.needs_compaction(documents) {
            worn = Some(std::mem::replace(&mut self.table, DocumentLog::new(self.directory.as_deref())?));
            self.table.append(&DocumentLogBatch { trees: news.trees, gone: &[], taken: &all() }, names)?;
        }
        self.table.append(news, names)?;
        let WriteBatch { mut writer, .. } = batch;
        let mut prepared = writer.prepare_commit()?;
        prepared.set_payload(&self.table.commit_payload());
        prepared.commit()?;
        writer.wait_merging_threads()?;
        if let (Some(worn), Some(directory)) = (worn, &self.directory) {
            state_files::remove(&directory.join(worn.name));
        }
        Ok(())
    }

    /// Makes one segment of many. Whether there were many.
    pub(crate) fn merge_segments(&mut self) -> tantivy::Result<bool> {
        let ids = self.index.searchable_segment_ids()?;
        if ids.len() < MERGE_MIN_SEGMENTS - 1 {
            return Ok(false);
        }
        let mut writer: IndexWriter = self.index.writer_with_num_threads(1, SMALL_BATCH_HEAP_BYTES)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        writer.merge(&ids).wait()?;
        writer.wait_merging_threads()?;
        Ok(true)
    }

    /// Reads what is new after a commit.
    pub(crate) fn segments(&mut self) -> tantivy::Result<Vec<Arc<Segment>>> {
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

impl WriteBatch {
    /// The document of a slot is gone.
    pub(crate) fn remove(&self, slot: u32) {
        self.writer.delete_term(Term::from_field_u64(self.fields.slot, u64::from(slot)));
    }

    /// A slot has this document.
    pub(crate) fn add(&self, slot: u32, document: &ParsedDocument) -> tantivy::Result<()> {
        let fields = &self.fields;
        for (number, section) in document.entry.sections.iter().enumerate() {
            let mut chunk = TantivyDocument::default();
            let heading = document.chunks[number].heading.as_deref();
            for text in heading.into_iter().chain([document.content(section)]) {
                chunk.add_text(fields.words, text);
                chunk.add_text(fields.shades, text);
            }
            for name in &document.names {
                chunk.add_text(fields.names, name);
            }
            if let Some(labels) = document.labels_at(number) {
                for words in &labels.words {
                    chunk.add_text(fields.labels, words);
                }
                for name in &labels.exact {
                    chunk.add_text(fields.labels, format!("{EXACT_NAME}{name}"));
                }
            }
            chunk.add_u64(fields.slot, u64::from(slot));
            chunk.add_u64(fields.chunk, number as u64);
            chunk.add_u64(fields.item, document.item_of(number).into());
            chunk.add_f64(fields.boost, f64::from(section.boost));
            self.writer.add_document(chunk)?;
        }
        Ok(())
    }
}
