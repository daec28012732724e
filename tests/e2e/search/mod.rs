//! Finding notes by their words, whoever wrote them, however they came there.

/// Words in every script, and what is shown of them.
mod words;

/// What one host writes, every host finds at once.
mod fresh;

/// What people do to files outside is found within moments.
mod outside;

/// Whatever is typed, there is an answer.
mod unusual_queries;

/// Counting what became of the notes.
mod compare;

/// Restarts, and sessions with other trees.
mod restarts;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};
use trellis_tests::notes;

/// An account with a library.
pub(crate) struct NotesFixture {
    pub(crate) home: Home,
}

impl NotesFixture {
    pub(crate) fn new() -> Self {
        let home = Home::with_fixtures().with(notes::NOTES_VARIABLE, "1");
        fs::create_dir_all(home.project().join("notes")).expect("a library");
        Self { home }
    }

    pub(crate) fn with(notes: &[(&str, &str)]) -> Self {
        let shelves = Self::new();
        notes.iter().for_each(|(path, text)| shelves.put(path, text));
        shelves
    }

    /// Writes a note as a person would.
    pub(crate) fn put(&self, path: &str, text: &str) {
        self.home.write(&format!("notes/{path}"), text);
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.home.project().join("notes").join(path)
    }

    pub(crate) fn host(&self) -> Client {
        self.home.host(&["--only", "notes"])
    }
}

/// The whole answer to a search.
#[track_caller]
pub(crate) fn find(host: &mut Client, query: &str) -> Value {
    let found = host.call_ok("find", json!({ "query": query }));
    assert_eq!(found["rebuilding"], Value::Null, "{found}");
    found
}

/// The paths of the hits, best first.
#[track_caller]
pub(crate) fn paths(host: &mut Client, query: &str) -> Vec<String> {
    let found = find(host, query);
    let hits = found["hits"].as_array().expect("an array");
    hits.iter().map(|hit| hit["path"].as_str().expect("a path").to_owned()).collect()
}

/// Waits until a search finds exactly these.
#[track_caller]
pub(crate) fn converges(host: &mut Client, query: &str, expected: &[&str]) {
    let mut last = Vec::new();
    wait_until(&format!("{query} finds {expected:?}"), || {
        last = paths(host, query);
        last.sort();
        (last == expected).then_some(())
    });
}
