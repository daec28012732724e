//! Segments of the journal: any bytes are read without a fault, and damage in a segment harms no record before it.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use tempfile::TempDir;
use trellisd::disk::journal::{Journal, JournalRecord};
use trellisd::disk::syscalls::OsSyscalls;

const RECORDS: [&str; 3] = ["first", "second", "third"];

/// A journal of an earlier daemon with three records.
struct Earlier {
    directory: TempDir,
    segment: PathBuf,
    /// The used bytes of its segment.
    bytes: Vec<u8>,
    /// Where each record ends in them.
    ends: Vec<usize>,
}

fn earlier() -> &'static Earlier {
    static EARLIER: OnceLock<Earlier> = OnceLock::new();
    EARLIER.get_or_init(|| {
        let directory = TempDir::new().expect("a directory");
        let journal = Journal::open(directory.path(), "a", Arc::new(OsSyscalls)).expect("it opens");
        let mut ends = Vec::new();
        let mut bytes = Vec::new();
        let mut segment = PathBuf::new();
        for name in RECORDS {
            journal.append(&JournalRecord::abort(name)).expect("it is written");
            let mut listed = fs::read_dir(directory.path()).expect("listed").flatten().map(|entry| entry.path());
            let is_segment =
                |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"lane-a"));
            segment = listed.find(is_segment).expect("a segment");
            bytes = fs::read(&segment).expect("it reads");
            // A record is JSON, so that its last byte is not zero.
            let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            bytes.truncate(end);
            ends.push(end);
        }
        Earlier { directory, segment, bytes, ends }
    })
}

fn unrecovered(bytes: &[u8]) -> Vec<String> {
    let earlier = earlier();
    fs::write(&earlier.segment, bytes).expect("it is written");
    let journal = Journal::open(earlier.directory.path(), "b", Arc::new(OsSyscalls)).expect("it opens");
    let records = journal.unrecovered().expect("it reads");
    records.into_iter().filter_map(|record| record.aborts).collect()
}

pub(crate) fn run(bytes: &[u8]) {
    unrecovered(bytes);
    let earlier = earlier();
    let Some((place, damage)) = bytes.split_first_chunk::<2>() else { return };
    let place = usize::from(u16::from_le_bytes(*place)) % earlier.bytes.len();
    let mut damaged = earlier.bytes.clone();
    damaged.truncate(place);
    damaged.extend_from_slice(damage);
    damaged.extend(earlier.bytes.get(damaged.len()..).unwrap_or_default());
    let read = unrecovered(&damaged);
    for (name, _) in RECORDS.iter().zip(&earlier.ends).filter(|(_, end)| **end <= place) {
        assert!(read.iter().any(|record| record == name), "`{name}` is lost to damage at {place}: {read:?}");
    }
}
