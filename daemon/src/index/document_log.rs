//! The append-only log of documents beside the tantivy index; each commit names its length and digest.
//!
//! So the log is always the one that the index was committed with: what was appended and not committed is beyond
//! the length, and any other damage shows in the digest. It is compacted when most of it is obsolete.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use bincode::serde::{decode_from_slice, encode_into_std_write};
use serde::{Deserialize, Serialize};

use super::document::{DocumentRecord, TreeId};
use super::schema::VERSION;
use super::symbols::StringInterner;
use crate::state_files;

/// Fewer records than this are never worth rewriting.
const COMPACTION_MIN_RECORDS: usize = 20_000;
/// More slots than this are never free at once.
const MAX_SLOT_GAP: usize = 1 << 24;

const ENCODING: bincode::config::Configuration = bincode::config::standard();

/// A tree whose root is empty is no tree: its number is free.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TreeRecord {
    pub(crate) family: Arc<str>,
    /// A path. It need not be valid text.
    pub(crate) root: OsString,
    /// The day on which somebody worked with it last.
    pub(crate) last_used: i32,
}

#[derive(Serialize, Deserialize)]
enum LogRecord {
    /// The next symbol of the interner.
    Symbol(Arc<str>),
    Tree(TreeId, TreeRecord),
    Cleared(u32),
    Document(u32, Arc<DocumentRecord>),
}

/// The log on the disk; without a file, only in memory.
#[derive(Debug)]
pub(crate) struct DocumentLog {
    file: Option<File>,
    pub(crate) name: String,
    length: u64,
    hasher: blake3::Hasher,
    symbols: usize,
    pub(crate) trees: Vec<TreeRecord>,
    records: usize,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct DocumentLogContents {
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) trees: Vec<TreeRecord>,
    /// The documents, by their slots.
    pub(crate) entries: Vec<Option<Arc<DocumentRecord>>>,
}

/// What is new since the last commit.
#[derive(Debug)]
pub(crate) struct DocumentLogBatch<'a> {
    /// All trees; those that are as they were are not logged again.
    pub(crate) trees: &'a [TreeRecord],
    pub(crate) gone: &'a [u32],
    /// Slots that have a document now.
    pub(crate) taken: &'a [(u32, Arc<DocumentRecord>)],
}

impl DocumentLog {
    /// A new log in a directory, or only in memory.
    pub(crate) fn new(directory: Option<&Path>) -> io::Result<Self> {
        let name = format!("documents-{:016x}", crate::ids::random_u64());
        let file = directory.map(|directory| state_files::open_append(&directory.join(&name))).transpose()?;
        let hasher = blake3::Hasher::new();
        Ok(Self { file, name, length: 0, hasher, symbols: 0, trees: Vec::new(), records: 0 })
    }

    /// Whether a commit was made by this version.
    pub(crate) fn is_current(seal: &str) -> bool {
        seal.split(' ').next() == Some(&VERSION.to_string())
    }

    /// The log that a commit named; none if it is not the same any more.
    pub(crate) fn open(directory: &Path, seal: &str) -> Option<(Self, DocumentLogContents)> {
        let mut parts = seal.split(' ').skip(1);
        let (name, length, digest) = (parts.next()?, parts.next()?, parts.next()?);
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !Self::is_current(seal) || !is_plain {
            return None;
        }
        let length: u64 = length.parse().ok()?;
        let path = directory.join(name);
        let mut bytes = Vec::new();
        File::open(&path).ok()?.take(length).read_to_end(&mut bytes).ok()?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&bytes);
        if bytes.len() as u64 != length || hasher.finalize().to_hex().as_str() != digest {
            return None;
        }
        let mut listed = DocumentLogContents::default();
        let (mut at, mut records) = (0, 0);
        while at < bytes.len() {
            let (record, size) = decode_from_slice(&bytes[at..], ENCODING).ok()?;
            listed.apply(record)?;
            at += size;
            records += 1;
        }
        state_files::truncate(&path, length).ok()?;
        let file = Some(state_files::open_append(&path).ok()?);
        let (symbols, trees) = (listed.names.len(), listed.trees.clone());
        Some((Self { file, name: name.to_owned(), length, hasher, symbols, trees, records }, listed))
    }

    pub(crate) fn append(&mut self, news: &DocumentLogBatch<'_>, names: &StringInterner) -> io::Result<()> {
        let symbols = names.texts_from(self.symbols);
        self.symbols += symbols.len();
        let trees = news.trees.iter().enumerate().filter(|(number, tree)| self.trees.get(*number) != Some(tree));
        let trees = trees.map(|(number, tree)| LogRecord::Tree(number as TreeId, tree.clone()));
        let documents = news.taken.iter().map(|(slot, entry)| LogRecord::Document(*slot, Arc::clone(entry)));
        let records = symbols.into_iter().map(LogRecord::Symbol).chain(trees);
        let records = records.chain(news.gone.iter().copied().map(LogRecord::Cleared)).chain(documents);
        let mut bytes = Vec::new();
        for record in records {
            encode_into_std_write(record, &mut bytes, ENCODING).map_err(io::Error::other)?;
        }
        self.trees = news.trees.to_vec();
        self.records += news.gone.len() + news.taken.len();
        self.length += bytes.len() as u64;
        if let Some(file) = &mut self.file {
            self.hasher.update(&bytes);
            file.write_all(&bytes)?;
        }
        Ok(())
    }

    /// What a commit says about the log.
    pub(crate) fn commit_payload(&self) -> String {
        format!("{VERSION} {} {} {}", self.name, self.length, self.hasher.finalize().to_hex())
    }

    pub(crate) fn needs_compaction(&self, documents: usize) -> bool {
        self.file.is_some() && self.records > COMPACTION_MIN_RECORDS + 4 * documents
    }
}

impl DocumentLogContents {
    /// None if a record cannot follow those before it.
    fn apply(&mut self, record: LogRecord) -> Option<()> {
        match record {
            LogRecord::Symbol(text) => self.names.push(text),
            LogRecord::Tree(number, tree) if number as usize == self.trees.len() => self.trees.push(tree),
            LogRecord::Tree(number, tree) => *self.trees.get_mut(number as usize)? = tree,
            // A slot may be cleared twice; in a log that was compacted between, nothing is there any more.
            LogRecord::Cleared(slot) => drop(self.entries.get_mut(slot as usize).map(Option::take)),
            LogRecord::Document(slot, entry) => {
                let slot = slot as usize;
                if slot > self.entries.len() + MAX_SLOT_GAP || entry.tree as usize >= self.trees.len() {
                    return None;
                }
                if self.entries.len() <= slot {
                    self.entries.resize(slot + 1, None);
                }
                self.entries[slot] = Some(entry);
            }
        }
        Some(())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests damage the files that are read")]
pub(crate) mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::super::document::ChunkRecord;
    use super::*;
    use crate::disk::{Digest, FileStamp};

    pub(crate) fn entry(path: &str) -> Arc<DocumentRecord> {
        let stamp = FileStamp { device: 1, inode: u64::MAX, size: 3, modified_ns: -5, changed_ns: 1 << 70 };
        let section = ChunkRecord { start: 1, end: 300, heading: Some(0), boost: 1.5 };
        let sections = Box::new([section, ChunkRecord { heading: None, ..section }]);
        let digest = Digest::of(path.as_bytes());
        let (kind, status) = (Some(1), None);
        let path = path.into();
        Arc::new(DocumentRecord {
            tree: 0,
            path,
            stamp,
            digest,
            repaired: true,
            project: 0,
            folder: 1,
            kind,
            status,
            day: -3,
            sections,
            items: Box::new([]),
        })
    }

    #[test]
    fn what_was_committed_comes_back_and_nothing_else() {
        let home = TempDir::new().expect("a directory");
        let names = StringInterner::default();
        names.intern("## Ziel");
        names.intern("計画");
        let trees = [TreeRecord { family: "vibe".into(), root: "/root".into(), last_used: 20_000 }];
        let mut table = DocumentLog::new(Some(home.path())).expect("a table");
        let taken = [(0, entry("a.md")), (1, entry("b.md"))];
        table.append(&DocumentLogBatch { trees: &trees, gone: &[], taken: &taken }, &names).expect("appended");
        table
            .append(&DocumentLogBatch { trees: &trees, gone: &[0], taken: &[(2, entry("ü.md"))] }, &names)
            .expect("appended");
        let seal = table.commit_payload();
        table.append(&DocumentLogBatch { trees: &trees, gone: &[1], taken: &[] }, &names).expect("appended");

        let (mut opened, listed) = DocumentLog::open(home.path(), &seal).expect("it opens");
        assert_eq!(listed.entries, [None, Some(entry("b.md")), Some(entry("ü.md"))]);
        assert_eq!((listed.names.len(), listed.trees), (2, trees.to_vec()));
        let trees = [TreeRecord::default(), TreeRecord { last_used: 20_001, ..trees[0].clone() }];
        opened.append(&DocumentLogBatch { trees: &trees, gone: &[2], taken: &[] }, &names).expect("appended");
        let (_, listed) = DocumentLog::open(home.path(), &opened.commit_payload()).expect("it opens again");
        assert_eq!((listed.entries, listed.trees), (vec![None, Some(entry("b.md")), None], trees.to_vec()));

        let path = home.path().join(&opened.name);
        let bytes = fs::read(&path).expect("bytes");
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            fs::write(&path, &damaged).expect("written");
            assert!(DocumentLog::open(home.path(), &opened.commit_payload()).is_none(), "byte {place}");
        }
        fs::write(&path, &bytes[..bytes.len() - 1]).expect("written");
        assert!(DocumentLog::open(home.path(), &opened.commit_payload()).is_none(), "cut off");
        let old = opened.commit_payload().replacen(&VERSION.to_string(), "1", 1);
        assert!(DocumentLog::open(home.path(), &old).is_none(), "another version");
        for seal in ["", "1", "1 ../x 0 0", "9 documents-0 0 0", "x y z w"] {
            assert!(DocumentLog::open(home.path(), seal).is_none(), "{seal}");
        }
    }
}
