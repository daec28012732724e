//! Opens the index in the cache directory if its checksums are right, and creates a new one if not.
//!
//! The index is in a directory with a random name; a pointer file beside it says which. A new one is built aside
//! and published when it is complete, so that nothing half-built is ever opened. Only our own cache is touched.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use tantivy::index::SegmentId;

use super::document_log::{DocumentLog, DocumentLogContents, TreeRecord};
use super::main_index::{DELETED, MainIndex};
use super::write::TantivyStore;
use crate::ids;
use crate::state_files;

/// The file that says which directory is the index.
const CURRENT_INDEX_FILE: &str = "current";

/// An index, and what its log says.
pub(crate) struct OpenedIndex {
    pub(crate) store: TantivyStore,
    pub(crate) main: MainIndex,
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) trees: Vec<TreeRecord>,
    /// What a person should know.
    pub(crate) warning: Option<String>,
}

impl OpenedIndex {
    fn empty(store: TantivyStore, warning: Option<String>) -> Self {
        Self { store, main: MainIndex::default(), names: Vec::new(), trees: Vec::new(), warning }
    }
}

/// The index below this directory, or a new one.
pub(crate) fn open(home: &Path) -> OpenedIndex {
    let Some(name) = state_files::read(&home.join(CURRENT_INDEX_FILE)) else { return create(home, None) };
    match catch_unwind(AssertUnwindSafe(|| existing(home, name.trim()))) {
        Ok(Ok(opened)) => {
            sweep(home, opened.store.directory.as_deref());
            opened
        }
        Ok(Err(why)) => create(home, Some(why)),
        Err(_) => create(home, Some("it cannot be read".to_owned())),
    }
}

/// A new index; `why` there has to be one, if a person should know.
pub(crate) fn create(home: &Path, why: Option<String>) -> OpenedIndex {
    let warning = why.map(|why| format!("the search index is built anew: {why}"));
    let made = (|| {
        let name = format!("{:016x}", ids::random_u64());
        let directory = home.join(&name);
        state_files::make_directory(&directory).map_err(|error| error.to_string())?;
        let store = TantivyStore::create(Some(directory)).map_err(|error| error.to_string())?;
        state_files::replace_unflushed(&home.join(CURRENT_INDEX_FILE), name.as_bytes())
            .map_err(|error| error.to_string())?;
        Ok::<_, String>(store)
    })();
    match made {
        Ok(store) => {
            sweep(home, store.directory.as_deref());
            OpenedIndex::empty(store, warning)
        }
        Err(error) => in_memory(&error),
    }
}

/// An index that is only in memory, because the disk has no place for it.
pub(crate) fn in_memory(why: &str) -> OpenedIndex {
    let warning = format!("the search index is kept in memory alone, because the cache cannot be written: {why}");
    let store = TantivyStore::create(None).expect("memory takes an empty index");
    OpenedIndex::empty(store, Some(warning))
}

fn existing(home: &Path, name: &str) -> Result<OpenedIndex, String> {
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("the note that says where it is was changed".to_owned());
    }
    let directory = home.join(name);
    let said = |error: tantivy::TantivyError| format!("it is damaged ({error})");
    let Some((index, fields, seal)) = TantivyStore::existing(&directory).map_err(said)? else {
        return Err("it was made by another version".to_owned());
    };
    let segments = index.searchable_segment_ids().map_err(said)?;
    for file in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
        let name = file.file_name();
        let is_of = |segment: &SegmentId| name.to_string_lossy().starts_with(&segment.uuid_string());
        if segments.iter().any(is_of) {
            let is_whole = index.directory().validate_checksum(Path::new(&name)).map_err(|error| said(error.into()))?;
            if !is_whole {
                return Err(format!("`{}` was changed", name.display()));
            }
        }
    }
    let Some((table, listed)) = DocumentLog::open(&directory, &seal) else {
        return Err("its list of documents was changed".to_owned());
    };
    let mut store = TantivyStore::of(index, table, fields, Some(directory)).map_err(said)?;
    let DocumentLogContents { names, trees, entries } = listed;
    let main = MainIndex::new(entries, store.segments().map_err(said)?);
    let live = main
        .segments
        .iter()
        .flat_map(|segment| &segment.chunk_columns)
        .map(|spot| spot.slot)
        .filter(|slot| *slot != DELETED);
    let mut left: Vec<usize> =
        main.entries.iter().map(|entry| entry.as_ref().map_or(0, |it| it.sections.len())).collect();
    for slot in live {
        match left.get_mut(slot as usize) {
            Some(left) if *left > 0 => *left -= 1,
            _ => return Err("it holds more than its list says".to_owned()),
        }
    }
    match left.iter().all(|left| *left == 0) {
        true => Ok(OpenedIndex { store, main, names, trees, warning: None }),
        false => Err("it holds less than its list says".to_owned()),
    }
}

/// Removes every index but this one.
fn sweep(home: &Path, current: Option<&Path>) {
    let entries = std::fs::read_dir(home).into_iter().flatten().flatten();
    let others = entries.map(|entry| entry.path()).filter(|path| path.is_dir() && Some(path.as_path()) != current);
    others.for_each(|path| state_files::remove_directory(&path));
}
