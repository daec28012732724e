//! Opens the index on the disk if every byte of it is as it was written, and begins a new one if not.
//!
//! The index lies in a directory of a name by chance; a small file beside it says which. A new one is made aside
//! and named when it is there, so that nothing half-made is ever taken for an index. Only our own cache is touched.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use tantivy::index::SegmentId;

use super::table::{Listed, Table};
use super::write::Store;
use crate::chance;
use crate::disk::own;

/// The file that says which directory is the index.
const CURRENT: &str = "current";

/// An index, and what its list says.
#[derive(Debug)]
pub struct Opened {
    /// The index.
    pub store: Store,
    /// Its documents.
    pub listed: Listed,
    /// What a person should know.
    pub warning: Option<String>,
}

/// The index below this directory, or a new one.
pub fn open(home: &Path) -> Opened {
    let Some(name) = own::read(&home.join(CURRENT)) else { return begin(home, None) };
    match catch_unwind(AssertUnwindSafe(|| existing(home, name.trim()))) {
        Ok(Ok((store, listed))) => {
            sweep(home, store.directory.as_deref());
            Opened { store, listed, warning: None }
        }
        Ok(Err(why)) => begin(home, Some(why)),
        Err(_) => begin(home, Some("it cannot be read".to_owned())),
    }
}

/// A new index; `why` there has to be one, if a person should know.
pub fn begin(home: &Path, why: Option<String>) -> Opened {
    let warning = why.map(|why| format!("the search index is built anew: {why}"));
    let made = (|| {
        let name = format!("{:016x}", chance::number());
        let directory = home.join(&name);
        own::make_directory(&directory).map_err(|error| error.to_string())?;
        let store = Store::create(Some(directory)).map_err(|error| error.to_string())?;
        own::replace(&home.join(CURRENT), name.as_bytes()).map_err(|error| error.to_string())?;
        Ok::<_, String>(store)
    })();
    match made {
        Ok(store) => {
            sweep(home, store.directory.as_deref());
            Opened { store, listed: Listed::default(), warning }
        }
        Err(error) => in_memory(&error),
    }
}

/// An index that is only in memory, because the disk has no place for it.
pub fn in_memory(why: &str) -> Opened {
    let warning = format!("the search index is kept in memory alone, because the cache cannot be written: {why}");
    let store = Store::create(None).expect("memory takes an empty index");
    Opened { store, listed: Listed::default(), warning: Some(warning) }
}

fn existing(home: &Path, name: &str) -> Result<(Store, Listed), String> {
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("the note that says where it is was changed".to_owned());
    }
    let directory = home.join(name);
    let said = |error: tantivy::TantivyError| format!("it is damaged ({error})");
    let Some((index, fields, seal)) = Store::existing(&directory).map_err(said)? else {
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
    let Some((table, listed)) = Table::open(&directory, &seal) else {
        return Err("its list of documents was changed".to_owned());
    };
    let mut store = Store::of(index, table, fields, Some(directory)).map_err(said)?;
    let shelf = store.shelf(listed.entries.clone()).map_err(said)?;
    let live = shelf
        .segments
        .iter()
        .flat_map(|segment| &segment.spots)
        .map(|spot| spot.slot)
        .filter(|slot| *slot != super::shelf::GONE);
    let mut left: Vec<usize> =
        listed.entries.iter().map(|entry| entry.as_ref().map_or(0, |it| it.sections.len())).collect();
    for slot in live {
        match left.get_mut(slot as usize) {
            Some(left) if *left > 0 => *left -= 1,
            _ => return Err("it holds more than its list says".to_owned()),
        }
    }
    match left.iter().all(|left| *left == 0) {
        true => Ok((store, listed)),
        false => Err("it holds less than its list says".to_owned()),
    }
}

/// Removes every index but this one.
fn sweep(home: &Path, current: Option<&Path>) {
    let entries = std::fs::read_dir(home).into_iter().flatten().flatten();
    let others = entries.map(|entry| entry.path()).filter(|path| path.is_dir() && Some(path.as_path()) != current);
    let others: Vec<PathBuf> = others.collect();
    others.iter().for_each(|path| own::remove_directory(path));
}
