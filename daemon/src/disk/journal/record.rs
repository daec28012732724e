//! What the journal knows of one write: for whom, what was answered, which files, from which bytes.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
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
    /// Which change it was, and whose. Aborts have none, nor have records of builds that did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<ChangeRecord>,
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

/// A change as the feed knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRecord {
    /// The number of its entry in the feed; shown as `c42`.
    pub id: u64,
    /// The host's own name, or how else it came.
    pub by: String,
    /// The session that wrote it, by a name that cannot be used to resume it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The name of the HTTP key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    pub tool: String,
    /// The change that this one takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// The same files as in the record, in the same order; none for one that holds no items.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Option<ChangedFile>>,
}

/// What a change means for a file that holds items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// The root of the tree that it is in, which may have been made by the same write.
    #[serde(with = "path_bytes")]
    pub tree: PathBuf,
    /// Whose items they are.
    pub family: String,
    /// Where it was before a move, from the root of its tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ChangedItem>,
}

/// An item that a change is about: its key in its tree, and what it was called then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedItem {
    /// In a workspace, the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragment: Option<String>,
    pub title: String,
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
    #[serde(with = "path_bytes")]
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
    /// Its permissions before, where it was there.
    #[serde(rename = "mode", default, skip_serializing_if = "Option::is_none")]
    pub old_mode: Option<u32>,
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
        let (call, key, change, answer) = (None, None, None, RecordedAnswer::default());
        Self { call, key, at: clock::epoch_millis(), change, answer, files: Vec::new(), aborts: None, finished }
    }

    /// By which an abort refers to a write; none for an abort.
    pub fn write_name(&self) -> Option<&str> {
        self.files.first().map(|file| file.temp.as_str())
    }
}

/// A path as a text, or as its bytes if it is none.
mod path_bytes {
    use serde::{Deserializer, Serializer};

    use super::*;

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum PathForm {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => path.as_os_str().as_bytes().serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Ok(match PathForm::deserialize(deserializer)? {
            PathForm::Text(text) => text.into(),
            PathForm::Bytes(bytes) => OsString::from_vec(bytes).into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_comes_back_and_old_records_are_still_read() {
        let file = |root: &[u8]| JournalFile {
            root: OsString::from_vec(root.to_vec()).into(),
            path: "a.md".into(),
            temp: "t".into(),
            staged_in: None,
            old: None,
            old_mode: Some(0o640),
            new: Digest::default(),
            is_removal: false,
        };
        for root in [b"/home/\xff/x".as_slice(), b"/home/ada", b"/with\nline"] {
            let text = serde_json::to_string(&file(root)).expect("it can be written");
            assert_eq!(serde_json::from_str::<JournalFile>(&text).expect("it can be read"), file(root), "{text}");
        }
        let old = r#"{"call":null,"key":null,"at":1,"answer":null,"files":[{"root":"/t","path":"a","temp":"t",
            "old":null,"new":DIGEST}]}"#;
        let old = old.replace("DIGEST", &serde_json::to_string(&Digest::default()).expect("JSON"));
        let read: JournalRecord = serde_json::from_str(&old).expect("it can be read");
        assert_eq!((read.change, read.files[0].old_mode, read.files[0].root.as_path()), (None, None, Path::new("/t")));
    }
}
