//! A cache of chunk texts that were shown lately, so that the next search need not open their files.
//!
//! Each belongs to a document with the stamp with which it was read; another stamp is another document.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;

use super::document::{ChunkRecord, DocumentRecord};
use super::overlay_writer::MAX_DOCUMENT_BYTES;
use crate::disk::{RelativePath, RootDir, SymlinkPolicy};

/// So much text is kept; then all is let go, and what is in use comes back.
const CHUNK_TEXT_CACHE_BYTES: usize = 3 << 20;
/// What one costs besides.
const CHUNK_OVERHEAD_BYTES: usize = 96;

#[derive(Debug, Default)]
pub(crate) struct ChunkTextCache {
    /// By the document's place in memory, which it keeps for as long as its text is here.
    kept: DashMap<(usize, u32), (Arc<DocumentRecord>, Arc<str>)>,
    size: AtomicUsize,
}

impl ChunkTextCache {
    /// The content of a chunk; none if its file changed or cannot be read, or must not be waited for.
    pub(crate) fn content(
        &self,
        entry: &Arc<DocumentRecord>,
        chunk: u32,
        root: &RootDir,
        at_once: bool,
    ) -> Option<Arc<str>> {
        let key = (Arc::as_ptr(entry) as usize, chunk);
        if let Some(kept) = self.kept.get(&key) {
            return Some(Arc::clone(&kept.1));
        }
        let text: Arc<str> = read(entry, entry.sections.get(chunk as usize)?, root, at_once)?.into();
        let size = self.size.fetch_add(text.len() + CHUNK_OVERHEAD_BYTES, Ordering::Relaxed);
        if size > CHUNK_TEXT_CACHE_BYTES {
            self.kept.clear();
            self.size.store(0, Ordering::Relaxed);
        }
        self.kept.insert(key, (Arc::clone(entry), Arc::clone(&text)));
        Some(text)
    }
}

fn read(entry: &DocumentRecord, section: &ChunkRecord, root: &RootDir, at_once: bool) -> Option<String> {
    let file = root.open_file(&RelativePath::from_components(&entry.path)?, SymlinkPolicy::Refuse).ok()?;
    if file.stamp() != entry.stamp || entry.repaired && at_once {
        return None;
    }
    if entry.repaired {
        let seen = file.read(MAX_DOCUMENT_BYTES).ok()?;
        let text = String::from_utf8_lossy(&seen.bytes);
        let (start, end) =
            (text.floor_char_boundary(section.start as usize), text.floor_char_boundary(section.end as usize));
        return Some(text.get(start..end).unwrap_or_default().to_owned());
    }
    let (start, end) = (section.start.into(), section.end.into());
    let bytes = match at_once {
        true => file.read_range_from_page_cache(start, end)?,
        false => file.read_range(start, end).ok()?,
    };
    String::from_utf8(bytes).ok()
}
