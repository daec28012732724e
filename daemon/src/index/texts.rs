//! Texts of chunks that were shown lately, so that the next search need not open their files.
//!
//! Each belongs to a document in the state in which it was read; another state is another document.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;

use super::entry::{Entry, Section};
use crate::disk::{RelativePath, Root};
use crate::families::need::{Links, Unseen};

/// So much text is kept; then all is let go, and what is in use comes back.
const MOST: usize = 3 << 20;
/// What one costs besides.
const EACH: usize = 96;

/// The texts.
#[derive(Debug, Default)]
pub struct Texts {
    /// By the document's place in memory, which it keeps for as long as its text is here.
    kept: DashMap<(usize, u32), (Arc<Entry>, Arc<str>)>,
    size: AtomicUsize,
}

/// Why there is no text.
#[derive(Debug, PartialEq, Eq)]
pub enum NoText {
    /// The file is not what it was.
    Moved,
    /// It cannot be read.
    Unseen(Unseen),
    /// It is not in memory, and nobody may wait for it.
    NotAtOnce,
}

impl Texts {
    /// The content of a chunk; at once, or not at all.
    pub fn content(&self, entry: &Arc<Entry>, chunk: u32, root: &Root, at_once: bool) -> Result<Arc<str>, NoText> {
        let key = (Arc::as_ptr(entry) as usize, chunk);
        if let Some(kept) = self.kept.get(&key) {
            return Ok(Arc::clone(&kept.1));
        }
        let Some(section) = entry.sections.get(chunk as usize) else { return Err(NoText::Moved) };
        let text: Arc<str> = read(entry, section, root, at_once)?.into();
        let size = self.size.fetch_add(text.len() + EACH, Ordering::Relaxed);
        if size > MOST {
            self.kept.clear();
            self.size.store(0, Ordering::Relaxed);
        }
        self.kept.insert(key, (Arc::clone(entry), Arc::clone(&text)));
        Ok(text)
    }
}

fn read(entry: &Entry, section: &Section, root: &Root, at_once: bool) -> Result<String, NoText> {
    let path = RelativePath::of_names(&entry.path).ok_or(NoText::Moved)?;
    let file = root.open_file(&path, Links::Never).map_err(NoText::Unseen)?;
    if file.identity() != entry.identity {
        return Err(NoText::Moved);
    }
    if entry.repaired && at_once {
        return Err(NoText::NotAtOnce);
    }
    if entry.repaired {
        let seen = file.read(super::keeper::LARGEST).map_err(NoText::Unseen)?;
        let text = String::from_utf8_lossy(&seen.bytes);
        let (start, end) =
            (text.floor_char_boundary(section.start as usize), text.floor_char_boundary(section.end as usize));
        return Ok(text.get(start..end).unwrap_or_default().to_owned());
    }
    let (start, end) = (section.start.into(), section.end.into());
    let bytes = match at_once {
        true => file.part_at_once(start, end).ok_or(NoText::NotAtOnce)?,
        false => file.read_part(start, end).map_err(NoText::Unseen)?,
    };
    String::from_utf8(bytes).map_err(|_| NoText::Moved)
}
