//! What was changed, when and by whom, as the daemon remembers it; and what tools may ask of that.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::need::{Need, ReadContext};
use crate::disk::journal::ChangedItem;
use crate::disk::{
    Digest, DiskRequest as _, FileContent, ReadError, ReadFile, RelativePath, SymlinkPolicy, TreeLocation,
};

/// One change: everything that one call of ours wrote, or what somebody else did to the files of one tree at about one
/// time. A field that is not known is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedEntry {
    /// Grows in the order of the feed and is never used twice; shown as `c42`.
    pub id: u64,
    /// Milliseconds of the epoch.
    pub at: i64,
    /// The host's own name, or who else it was: `by hand`, `command line`, `http`.
    pub by: String,
    /// The session that wrote it, by a name that cannot be used to resume it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The name of the HTTP key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    pub files: Vec<FeedFile>,
    /// The change that this one takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
}

/// What became of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedFile {
    /// The root of its tree, from which the path counts.
    pub tree: String,
    pub path: String,
    /// Whose items are in it, where a call of ours wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    pub what: FileChange,
    /// Where it was before a move, from the root of its tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What it held before, by which the text is kept; none of a new file.
    #[serde(default, with = "hex", skip_serializing_if = "Option::is_none")]
    pub old: Option<Digest>,
    /// Its permissions before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_mode: Option<u32>,
    /// What it held then; none of one that went.
    #[serde(default, with = "hex", skip_serializing_if = "Option::is_none")]
    pub new: Option<Digest>,
    /// The items in it that the change is about, as far as it is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ChangedItem>,
}

/// What can become of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileChange {
    Created,
    #[default]
    Changed,
    Deleted,
    Moved,
}

/// A digest as people write it.
mod hex {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::Digest;

    #[expect(clippy::ref_option, reason = "serde asks for a reference")]
    pub(super) fn serialize<S: Serializer>(digest: &Option<Digest>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&digest.map(|digest| digest.to_string()).unwrap_or_default())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Digest>, D::Error> {
        Ok(Digest::from_hex(&String::deserialize(deserializer)?))
    }
}

/// The author of what no call of ours did.
pub const BY_HAND: &str = "by hand";

/// Remembers changes, and keeps the texts that they displaced.
pub trait History: fmt::Debug {
    /// The newest changes, newest first, at most so many, of those before this number if there is one.
    fn newest(&self, limit: usize, before: Option<u64>) -> Vec<Arc<FeedEntry>>;

    /// The change that took another one back and was not taken back itself.
    fn undone_by(&self, change: u64) -> Option<u64>;

    /// Whether a displaced text can be had.
    fn has_text(&self, digest: Digest) -> bool;

    /// A displaced text, if it is still kept.
    fn text(&self, digest: Digest) -> Option<Vec<u8>>;
}

/// Asks for a change and for what its files hold now.
#[derive(Debug, Clone, Copy)]
pub struct ChangeRequest {
    /// None: the newest of the session that is no undo and is not undone.
    pub change: Option<u64>,
}

/// A change and its files, as they were and as they are.
#[derive(Debug, Clone)]
pub struct PastChange {
    pub entry: Arc<FeedEntry>,
    pub undone_by: Option<u64>,
    /// Later changes that touched one of its files, newest first.
    pub later: Vec<u64>,
    /// One for each file of the entry.
    pub files: Vec<PastFile>,
}

/// A file of a past change.
#[derive(Debug, Clone)]
pub struct PastFile {
    /// What it held before, if that is still kept.
    pub old: Option<Vec<u8>>,
    /// What is at its place now; none if nothing is.
    pub now: Result<Option<FileContent>, ReadError>,
    /// The same of the place from which it was moved.
    pub at_origin: Result<Option<FileContent>, ReadError>,
}

impl Need for ChangeRequest {
    type Output = Option<PastChange>;

    fn fetch(self, context: &ReadContext<'_>) -> Option<Self::Output> {
        Some(context.history.and_then(|history| self.find(history, context)))
    }
}

/// Entries that are looked at together.
const PAGE_LENGTH: usize = 200;
/// More later changes are not named.
const MAX_LATER: usize = 10;

impl ChangeRequest {
    fn find(self, history: &dyn History, context: &ReadContext<'_>) -> Option<PastChange> {
        let entry = match self.change {
            Some(change) => history.newest(1, Some(change.checked_add(1)?)).pop().filter(|entry| entry.id == change)?,
            None => {
                let session = context.session.public_name()?;
                let is_meant = |entry: &Arc<FeedEntry>| {
                    entry.session.as_deref() == Some(session.as_str())
                        && entry.undoes.is_none()
                        && history.undone_by(entry.id).is_none()
                };
                entries(history, None).find(is_meant)?
            }
        };
        let touches = |later: &Arc<FeedEntry>| {
            let places =
                entry.files.iter().flat_map(|file| file.from.iter().chain([&file.path]).map(|path| (&file.tree, path)));
            places.into_iter().any(|(tree, path)| later.touches(tree, path))
        };
        let later =
            entries(history, None).take_while(|later| later.id > entry.id).filter(touches).map(|later| later.id);
        let later = later.take(MAX_LATER).collect();
        let file = |file: &FeedFile| PastFile {
            old: file.old.and_then(|digest| history.text(digest)),
            now: content(&file.tree, &file.path, context),
            at_origin: file.from.as_ref().map_or(Ok(None), |from| content(&file.tree, from, context)),
        };
        let files = entry.files.iter().map(file).collect();
        Some(PastChange { undone_by: history.undone_by(entry.id), later, files, entry })
    }
}

/// Every entry, newest first, of those before this number if there is one.
pub fn entries(history: &dyn History, mut before: Option<u64>) -> impl Iterator<Item = Arc<FeedEntry>> {
    let pages = std::iter::from_fn(move || {
        let page = history.newest(PAGE_LENGTH, before);
        before = Some(page.last()?.id);
        Some(page)
    });
    pages.flatten()
}

/// What a file holds; none if it is not there.
fn content(tree: &str, path: &str, context: &ReadContext<'_>) -> Result<Option<FileContent>, ReadError> {
    let place = TreeLocation::Fixed(tree.into());
    let path = RelativePath::from_components(path).ok_or(ReadError::Missing)?;
    let request = ReadFile { place, path, links: SymlinkPolicy::Refuse, size_limit: u64::MAX };
    match request.read(&context.disk) {
        Ok(content) => Ok(Some(content)),
        Err(ReadError::Missing | ReadError::TreeMissing) => Ok(None),
        Err(error) => Err(error),
    }
}

impl FeedEntry {
    pub fn is_by_hand(&self) -> bool {
        self.tool.is_none()
    }

    /// Whether it says anything of a file, under its own name or an earlier one.
    pub fn touches(&self, tree: &str, path: &str) -> bool {
        self.files.iter().any(|file| file.tree == tree && (file.path == path || file.from.as_deref() == Some(path)))
    }
}

/// A number as people see it: `c42`.
pub fn shown_change(number: u64) -> String {
    format!("c{number}")
}

/// The number in `c42`.
pub fn change_number(shown: &str) -> Option<u64> {
    let digits = shown.strip_prefix('c')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}
