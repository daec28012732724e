//! What the journal knows of one write: for whom, what was answered, which files, from which bytes.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::clock;
use crate::disk::Digest;
use crate::disk::staging::StagedIn;

/// One request of one session, across daemons.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallId {
    /// The session's name.
    pub session: String,
    /// The number of the request in it.
    pub sequence: u64,
}

/// One write: what was answered, and what happened to which files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalRecord {
    /// Which call it was, if it can come again.
    pub call: Option<CallId>,
    /// The caller's own name for the request, with its arguments.
    pub key: Option<String>,
    /// When, in milliseconds of the epoch.
    pub at: i64,
    /// What was answered.
    pub answer: RecordedAnswer,
    pub files: Vec<JournalFile>,
    /// This record aborts an earlier write: the one with this temp file.
    #[serde(rename = "voids", default, skip_serializing_if = "Option::is_none")]
    pub aborts: Option<String>,
    /// Earlier writes, by their first temp file, of which nothing lies around any more: recovery need not look at them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finished: Vec<String>,
}

/// An answer as JSON text: it is written far more often than it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedAnswer(pub Arc<str>);

impl Default for RecordedAnswer {
    fn default() -> Self {
        Self("null".into())
    }
}

impl Serialize for RecordedAnswer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.0).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RecordedAnswer {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Box::<RawValue>::deserialize(deserializer)?.get().into()))
    }
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalFile {
    /// The tree's path.
    pub root: PathBuf,
    /// The file in it.
    pub path: String,
    /// The name of its temp file.
    pub temp: String,
    /// Where that lies; its name was on the disk before this record. Unknown in records of old: then beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged_in: Option<StagedIn>,
    /// What it held; none if it was not there.
    pub old: Option<Digest>,
    /// What it holds now; of a file that went, what marked its place.
    pub new: Digest,
    /// The file went.
    #[serde(rename = "removes", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_removal: bool,
}

impl JournalRecord {
    /// Records that the write with this temp file did not happen.
    pub fn abort(temp: &str) -> Self {
        Self { aborts: Some(temp.to_owned()), ..Self::of_finished(Vec::new()) }
    }

    /// Records that these writes need no recovery.
    pub fn of_finished(finished: Vec<String>) -> Self {
        let (call, key, answer) = (None, None, RecordedAnswer::default());
        Self { call, key, at: clock::epoch_millis(), answer, files: Vec::new(), aborts: None, finished }
    }

    /// By which an abort refers to a write; none for an abort.
    pub fn write_name(&self) -> Option<&str> {
        self.files.first().map(|file| file.temp.as_str())
    }
}
