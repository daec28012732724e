//! What an op wants done to files, as data. Only `engine::commit` carries it out.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;
use trellis_protocol::{Failure, Kind};

use crate::disk::{Digest, Identity, RelativePath};
use crate::families::need::{FileSeen, Links, Model, Place, Unseen};
use crate::tools::Answer;

/// Changes to one or more files: all of them happen, in this order, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    /// The files.
    pub files: Vec<FileEdit>,
    /// Directories that shall be there, too, whether or not anything is in them.
    pub directories: Vec<(Place, RelativePath)>,
    /// Directories in which nobody else of ours may write meanwhile, because the op has counted what is in them.
    pub alone_in: Vec<(Place, RelativePath)>,
    /// What the answer says besides, and takes long to compute.
    stamp: Option<Stamp>,
}

/// A change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// The tree.
    pub place: Place,
    /// The file in it.
    pub path: RelativePath,
    /// What may stand on the way.
    pub links: Links,
    /// What the op saw there; anything else, and the op runs again.
    pub old: Old,
    /// In which state the file was then, if that is known: in the same state it holds the same.
    pub seen: Option<Identity>,
    /// What the op saw there, if it is in memory anyway.
    pub held: Option<Bytes>,
    /// What shall be there.
    pub new: New,
}

/// What an op saw where it wants to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Old {
    /// Nothing. Missing directories above it are made, the tree itself too.
    Absent,
    /// Bytes with this digest.
    Content(Digest),
}

/// What shall be in a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum New {
    /// These bytes, and the model of them if the op has made it.
    Content(Bytes, Option<Made>),
    /// Nothing: the file goes. What it held stays in the journal.
    Nothing,
}

/// Something for an answer's `_meta` that follows from the bytes that are written. It is computed while the disk works.
#[derive(Clone)]
struct Stamp {
    name: &'static str,
    value: Arc<dyn Fn() -> String + Send + Sync>,
}

impl fmt::Debug for Stamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Stamp").field(&self.name).finish()
    }
}

/// A stamp says nothing that the bytes do not say.
impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Stamp {}

/// A model that an op has made of the bytes it wants written, so that nobody has to read them again.
#[derive(Debug, Clone)]
pub struct Made {
    /// Of the type that [`crate::families::need::ModelAt`] asks for.
    pub model: Arc<dyn Any + Send + Sync>,
    /// About how many bytes of memory it takes.
    pub weight: usize,
}

impl Made {
    /// Of this model.
    pub fn of<M: Model>(model: Arc<M>) -> Self {
        Self { weight: model.weight(), model }
    }
}

/// A model says nothing that its bytes do not say.
impl PartialEq for Made {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Made {}

impl Edit {
    /// Nothing is to be done.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// A new file; one that is there by then is a conflict.
    #[must_use]
    pub fn create(mut self, place: Place, path: RelativePath, links: Links, new: impl Into<Bytes>) -> Self {
        let (old, new) = (Old::Absent, New::Content(new.into(), None));
        self.files.push(FileEdit { place, path, links, old, seen: None, held: None, new });
        self
    }

    /// Other bytes in place of those that were seen.
    #[must_use]
    pub fn replace(
        self,
        place: Place,
        path: RelativePath,
        links: Links,
        seen: &FileSeen,
        new: impl Into<Bytes>,
    ) -> Self {
        self.replace_digest(place, path, links, Digest::of(&seen.bytes), new).seen_in(seen.identity)
    }

    /// The same, where the digest of what was seen is known.
    #[must_use]
    pub fn replace_digest(
        mut self,
        place: Place,
        path: RelativePath,
        links: Links,
        seen: Digest,
        new: impl Into<Bytes>,
    ) -> Self {
        let (old, new) = (Old::Content(seen), New::Content(new.into(), None));
        self.files.push(FileEdit { place, path, links, old, seen: None, held: None, new });
        self
    }

    /// With the state in which the file was that was named last.
    #[must_use]
    pub fn seen_in(mut self, state: Identity) -> Self {
        if let Some(file) = self.files.last_mut() {
            file.seen = Some(state);
        }
        self
    }

    /// With what was seen in the file that was named last, because it is in memory anyway.
    #[must_use]
    pub fn held(mut self, bytes: Option<Bytes>) -> Self {
        if let Some(file) = self.files.last_mut() {
            file.held = bytes;
        }
        self
    }

    /// The file goes, if it holds what was seen.
    #[must_use]
    pub fn remove(mut self, place: Place, path: RelativePath, links: Links, seen: Digest) -> Self {
        let (old, new) = (Old::Content(seen), New::Nothing);
        self.files.push(FileEdit { place, path, links, old, seen: None, held: None, new });
        self
    }

    /// With the model of the bytes that were named last.
    #[must_use]
    pub fn with_model<M: Model>(mut self, model: Arc<M>) -> Self {
        if let Some(FileEdit { new: New::Content(_, made), .. }) = self.files.last_mut() {
            *made = Some(Made::of(model));
        }
        self
    }

    /// With something for the answer's `_meta` that follows from the new bytes and takes long to compute.
    #[must_use]
    pub fn with_stamp(mut self, name: &'static str, value: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.stamp = Some(Stamp { name, value: Arc::new(value) });
        self
    }

    /// The answer with its stamp.
    pub fn stamped(&self, answer: Answer) -> Answer {
        match &self.stamp {
            Some(Stamp { name, value }) => answer.with_meta(name, value()),
            None => answer,
        }
    }

    /// With a directory that shall be there.
    #[must_use]
    pub fn directory(mut self, place: Place, path: RelativePath) -> Self {
        self.directories.push((place, path));
        self
    }

    /// While nobody else of ours writes in this directory: the op has counted what is in it.
    #[must_use]
    pub fn alone_in(mut self, place: Place, path: RelativePath) -> Self {
        self.alone_in.push((place, path));
        self
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// Why an edit could not be carried out; nothing was changed. A family gives each its own code and words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwritable {
    /// The way to the file cannot be gone.
    Unseen(Unseen),
    /// Somebody else kept changing it.
    KeepsMoving,
    /// No room is left.
    DiskFull,
    /// The file system cannot be written.
    ReadOnly,
    /// The system does not let us.
    Denied,
    /// Over the system's limit for a file.
    TooLarge,
    /// Too many files are open.
    TooManyFiles,
    /// Anything else that the system says; the words carry no path.
    Failed(String),
}

impl Unwritable {
    /// What an error of the system means.
    pub fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            io::ErrorKind::PermissionDenied => Self::Denied,
            io::ErrorKind::FileTooLarge => Self::TooLarge,
            _ if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) => Self::TooManyFiles,
            kind => Self::Failed(kind.to_string()),
        }
    }

    /// A stable word for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Unseen(_) => "not_reachable",
            Self::KeepsMoving => "busy",
            Self::DiskFull => "disk_full",
            Self::ReadOnly => "read_only",
            Self::Denied => "denied",
            Self::TooLarge => "too_large",
            Self::TooManyFiles => "too_many_files",
            Self::Failed(_) => "io_error",
        }
    }
}

impl Unwritable {
    /// What went wrong, for people. The old bytes are untouched in every case.
    pub fn sentence(&self, path: &RelativePath) -> String {
        match self {
            Self::Unseen(_) => format!("`{path}` cannot be reached"),
            Self::KeepsMoving => format!("`{path}` is being changed by somebody else"),
            Self::DiskFull => format!("no room is left to write `{path}`"),
            Self::ReadOnly => format!("`{path}` is on a file system that cannot be written"),
            Self::Denied => format!("`{path}` may not be written"),
            Self::TooLarge => format!("`{path}` would be larger than the system allows"),
            Self::TooManyFiles => format!("too many files are open to write `{path}`"),
            Self::Failed(words) => format!("`{path}` could not be written: {words}"),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unseen(_) => "check the path and what stands on the way to it",
            Self::KeepsMoving => "read it again and repeat the call",
            Self::DiskFull => "free some disk space and repeat the call",
            Self::ReadOnly => "make the file system writable, or choose another place",
            Self::Denied => "check the owner and permissions of the file and its directory",
            Self::TooLarge => "write less, or raise the limit for the size of files",
            Self::TooManyFiles => "repeat the call in a moment",
            Self::Failed(_) => "look at the disk; the file is as it was",
        }
    }

    /// With the codes that every family may use.
    pub fn failure(&self, path: &RelativePath) -> Failure {
        let kind = match self {
            Self::Denied | Self::ReadOnly => Kind::Refused,
            Self::Unseen(_) => Kind::Missing,
            Self::KeepsMoving => Kind::Conflict,
            _ => Kind::Unavailable,
        };
        Failure::new(self.word(), kind, self.sentence(path))
            .with_hint(self.hint())
            .with_details(json!({ "path": path.as_str(), "reason": self.word() }))
    }
}

const EMFILE: i32 = 24;
const ENFILE: i32 = 23;
