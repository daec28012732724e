//! What search may know about a file: a family reads it off the text, the index keeps it.
//!
//! Facts are plain data. They say where the chunks of a text are, not what they say: the index reads the
//! words itself, from the same text, and a hit shows them from the file.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use jiff::civil::Date;

use super::need::ReadContext;
use super::recall::{ItemLinks, RecallHits, RecallRequest};
use crate::disk::{ReadError, RelativePath, TreeLocation};

/// Which files of a family's trees can be found, and what is known about each.
#[derive(Debug, Clone, Copy)]
pub struct DocumentSource {
    /// Whether a file is one, by its path in the tree. Paths with a part that begins with a dot never are.
    pub wanted: fn(&str) -> bool,
    /// What is known about it, from its path in the tree and its text (bytes that are no text are U+FFFD already).
    pub facts: fn(&str, &str) -> DocumentFacts,
}

/// What search may know about one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DocumentFacts {
    /// By which a search can be narrowed; empty if the family has none.
    pub project: String,
    /// By which a search can be narrowed further; empty for files in the project itself.
    pub folder: String,
    /// What people call it.
    pub title: String,
    /// Its name without directories, number prefix and extension.
    pub stem: String,
    /// Of which kind it is.
    pub kind: Option<String>,
    /// How far its work has come.
    pub status: Option<String>,
    /// The official date, if it has one; else the file's own time counts.
    pub updated: Option<Date>,
    pub tags: Vec<String>,
    /// What the whole file is worth, whatever is looked for: kind and status, not age.
    pub boost: f32,
    /// Its pieces, in order.
    pub chunks: Vec<Chunk>,
    /// What its owner should know about the file, as words behind its name.
    pub problem: Option<&'static str>,
}

/// One piece of a text, under one heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// With its hashes; none before the first heading.
    pub heading: Option<String>,
    /// Where its content is in the text, in bytes, without the heading.
    pub content: Range<usize>,
    /// What its heading is worth.
    pub boost: f32,
}

/// Looks for words in the documents of one tree.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    pub family: &'static str,
    pub place: TreeLocation,
    /// As it was typed.
    pub query: String,
    /// Only in this project.
    pub project: Option<String>,
    /// Only in this folder.
    pub folder: Option<String>,
    /// At most so many hits.
    pub limit: usize,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hits {
    /// Chunks that match, before the limit.
    pub total: usize,
    /// The best, best first.
    pub hits: Vec<Hit>,
    /// Not all that was looked for is in them.
    pub is_relaxed: bool,
    /// The index is not complete yet: so many documents of so many are in it.
    pub progress: Option<(usize, usize)>,
}

/// One chunk that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The file in its tree.
    pub path: RelativePath,
    /// As in the facts.
    pub project: Arc<str>,
    /// As in the facts.
    pub folder: Arc<str>,
    /// With its hashes.
    pub heading: Option<Arc<str>>,
    /// Cut from the content around the densest matches, marked with `**`.
    pub snippet: String,
    /// Higher is better.
    pub score: f64,
    /// As in the facts.
    pub kind: Option<Arc<str>>,
    /// As in the facts.
    pub status: Option<Arc<str>>,
    /// The official date, or that of the file.
    pub updated: Date,
}

/// Compares the documents of a tree, or of one project in it, with the disk.
#[derive(Debug, Clone)]
pub struct ReindexRequest {
    pub family: &'static str,
    pub place: TreeLocation,
    /// Only this project.
    pub project: Option<String>,
    /// Read everything again, whatever the files' times say.
    pub full: bool,
}

/// What came out of comparing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReindexCounts {
    /// Documents on the disk.
    pub scanned: usize,
    /// Known before, with another text now.
    pub updated: usize,
    /// Not known before.
    pub added: usize,
    /// Known before, and gone.
    pub deleted: usize,
    /// As they were.
    pub unchanged: usize,
}

/// Why the index could not say anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchError {
    /// The tree cannot be seen.
    Read(ReadError),
    /// The index itself is in trouble; the words carry no path.
    Index(String),
    /// It was taken back.
    Cancelled,
}

/// Answers requests about the documents of a tree.
pub trait Search: fmt::Debug {
    fn search(&self, request: &SearchRequest, context: &ReadContext<'_>) -> Result<Hits, SearchError>;

    fn reindex(&self, request: &ReindexRequest, context: &ReadContext<'_>) -> Result<ReindexCounts, SearchError>;

    /// Looks for items in many trees.
    fn recall(&self, request: &RecallRequest, links: &dyn ItemLinks) -> Result<RecallHits, SearchError>;
}
