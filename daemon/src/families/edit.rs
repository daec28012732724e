//! What an op wants done to files, as data. Only `engine::commit` carries it out.

use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;
use trellis_protocol::{Failure, FailureKind};

use crate::disk::{
    Digest, Expected, FileContent, FileModel, FileStamp, PrebuiltModel, ReadError, RelativePath, SymlinkPolicy,
    TreeLocation,
};
use crate::families::Answer;

/// Changes to one or more files: all of them happen, in this order, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    pub files: Vec<FileEdit>,
    /// Directories that shall be there, too, whether or not anything is in them.
    pub directories: Vec<(TreeLocation, RelativePath)>,
    /// Directories in which nobody else of ours may write meanwhile, because the op has counted what is in them.
    pub locked_directories: Vec<(TreeLocation, RelativePath)>,
    /// Files that only go from one place to another: one is removed, the other made.
    pub moves: Vec<(RelativePath, RelativePath)>,
    /// The family whose items are in the files, where that is not the one whose tool is called.
    pub family: Option<&'static str>,
    /// The change that this one takes back.
    pub undoes: Option<u64>,
    /// Whether the answer itself names the change.
    pub names_change: bool,
    /// What the answer says besides, and takes long to compute.
    deferred_meta: Option<DeferredMeta>,
}

/// A change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    pub place: TreeLocation,
    /// The file in it.
    pub path: RelativePath,
    /// What may stand on the way.
    pub links: SymlinkPolicy,
    /// What the op saw there; anything else, and the op runs again.
    pub old: Expected,
    /// In which state the file was then, if that is known: in the same state it holds the same.
    pub expected_stamp: Option<FileStamp>,
    /// What the op saw there, if it is in memory anyway.
    pub expected_bytes: Option<Bytes>,
    /// What shall be there.
    pub new: Replacement,
    /// Its permissions then, if they are not to follow from what is there.
    pub mode: Option<u32>,
}

/// What a file shall hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replacement {
    /// These bytes, and the model of them if the op has made it.
    Content(Bytes, Option<PrebuiltModel>),
    /// Nothing: the file goes. What it held stays in the journal.
    Nothing,
}

/// A `_meta` value that follows from the bytes to write. It is computed while the disk works.
#[derive(Clone)]
struct DeferredMeta {
    name: &'static str,
    value: Arc<dyn Fn() -> String + Send + Sync>,
}

impl fmt::Debug for DeferredMeta {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("DeferredMeta").field(&self.name).finish()
    }
}

/// A stamp says nothing that the bytes do not say.
impl PartialEq for DeferredMeta {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for DeferredMeta {}

impl Edit {
    /// Nothing is to be done.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// A new file; one that is there by then is a conflict.
    #[must_use]
    pub fn create(
        mut self,
        place: TreeLocation,
        path: RelativePath,
        links: SymlinkPolicy,
        new: impl Into<Bytes>,
    ) -> Self {
        let (old, new) = (Expected::Absent, Replacement::Content(new.into(), None));
        self.files.push(FileEdit {
            place,
            path,
            links,
            old,
            expected_stamp: None,
            expected_bytes: None,
            new,
            mode: None,
        });
        self
    }

    /// Other bytes in place of those that were seen.
    #[must_use]
    pub fn replace(
        self,
        place: TreeLocation,
        path: RelativePath,
        links: SymlinkPolicy,
        seen: &FileContent,
        new: impl Into<Bytes>,
    ) -> Self {
        self.replace_digest(place, path, links, Digest::of(&seen.bytes), new).expect_stamp(seen.stamp)
    }

    /// The same, where the digest of what was seen is known.
    #[must_use]
    pub fn replace_digest(
        mut self,
        place: TreeLocation,
        path: RelativePath,
        links: SymlinkPolicy,
        seen: Digest,
        new: impl Into<Bytes>,
    ) -> Self {
        let (old, new) = (Expected::Content(seen), Replacement::Content(new.into(), None));
        self.files.push(FileEdit {
            place,
            path,
            links,
            old,
            expected_stamp: None,
            expected_bytes: None,
            new,
            mode: None,
        });
        self
    }

    /// Other bytes in place of those that were seen, or a new file if there was none.
    #[must_use]
    pub fn create_or_replace(
        self,
        place: TreeLocation,
        path: RelativePath,
        links: SymlinkPolicy,
        seen: Option<&FileContent>,
        new: impl Into<Bytes>,
    ) -> Self {
        match seen {
            Some(seen) => self.replace(place, path, links, seen, new),
            None => self.create(place, path, links, new),
        }
    }

    /// With the state in which the file was that was named last.
    #[must_use]
    pub fn expect_stamp(mut self, state: FileStamp) -> Self {
        if let Some(file) = self.files.last_mut() {
            file.expected_stamp = Some(state);
        }
        self
    }

    /// With what was seen in the file that was named last, because it is in memory anyway.
    #[must_use]
    pub fn expect_bytes(mut self, bytes: Option<Bytes>) -> Self {
        if let Some(file) = self.files.last_mut() {
            file.expected_bytes = bytes;
        }
        self
    }

    /// The file goes, if it holds what was seen.
    #[must_use]
    pub fn remove(mut self, place: TreeLocation, path: RelativePath, links: SymlinkPolicy, seen: Digest) -> Self {
        let (old, new) = (Expected::Content(seen), Replacement::Nothing);
        self.files.push(FileEdit {
            place,
            path,
            links,
            old,
            expected_stamp: None,
            expected_bytes: None,
            new,
            mode: None,
        });
        self
    }

    /// With the model of the bytes that were named last.
    #[must_use]
    pub fn with_model<M: FileModel>(mut self, model: Arc<M>) -> Self {
        if let Some(FileEdit { new: Replacement::Content(_, made), .. }) = self.files.last_mut() {
            *made = Some(PrebuiltModel::of(model));
        }
        self
    }

    /// With something for the answer's `_meta` that follows from the new bytes and takes long to compute.
    #[must_use]
    pub fn with_deferred_meta(
        mut self,
        name: &'static str,
        value: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        self.deferred_meta = Some(DeferredMeta { name, value: Arc::new(value) });
        self
    }

    /// One file that goes and one that comes are the same, at another place.
    #[must_use]
    pub fn moving(mut self, from: RelativePath, to: RelativePath) -> Self {
        self.moves.push((from, to));
        self
    }

    /// With the permissions that the file shall have that was named last.
    #[must_use]
    pub fn with_mode(mut self, mode: Option<u32>) -> Self {
        if let Some(file) = self.files.last_mut() {
            file.mode = mode;
        }
        self
    }

    /// For another family than the one whose tool is called.
    #[must_use]
    pub fn for_family(mut self, family: Option<&'static str>) -> Self {
        self.family = family;
        self
    }

    /// The answer says under `change` which change it was.
    #[must_use]
    pub fn naming_change(mut self) -> Self {
        self.names_change = true;
        self
    }

    /// The answer with its stamp.
    pub fn add_deferred_meta(&self, answer: Answer) -> Answer {
        match &self.deferred_meta {
            Some(DeferredMeta { name, value }) => answer.with_meta(name, value()),
            None => answer,
        }
    }

    /// With a directory that shall be there.
    #[must_use]
    pub fn directory(mut self, place: TreeLocation, path: RelativePath) -> Self {
        self.directories.push((place, path));
        self
    }

    /// While nobody else of ours writes in this directory: the op has counted what is in it.
    #[must_use]
    pub fn locked_directories(mut self, place: TreeLocation, path: RelativePath) -> Self {
        self.locked_directories.push((place, path));
        self
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// Why an edit could not be applied; nothing was changed. A family gives each its own code and message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// The way to the file cannot be gone.
    Read(ReadError),
    /// Somebody else kept changing it.
    Busy,
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
    Io(String),
    /// The file could be written, but Trellis cannot record that it was: something is wrong with its state directory.
    Unrecorded(Box<EditError>),
}

impl EditError {
    /// What an error of the system means.
    pub fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            io::ErrorKind::PermissionDenied => Self::Denied,
            io::ErrorKind::FileTooLarge => Self::TooLarge,
            _ if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) => Self::TooManyFiles,
            kind => Self::Io(kind.to_string()),
        }
    }

    /// A stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Read(_) => "not_reachable",
            Self::Busy => "busy",
            Self::DiskFull => "disk_full",
            Self::ReadOnly => "read_only",
            Self::Denied => "denied",
            Self::TooLarge => "too_large",
            Self::TooManyFiles => "too_many_files",
            Self::Io(_) => "io_error",
            Self::Unrecorded(why) => why.code(),
        }
    }
}

impl EditError {
    /// What went wrong, for people; the path comes in its backticks. The old bytes are untouched in every case.
    pub fn message(&self, path: &str) -> String {
        match self {
            Self::Read(_) => format!("{path} cannot be reached"),
            Self::Busy => format!("{path} is being changed by somebody else"),
            Self::DiskFull => format!("no room is left to write {path}"),
            Self::ReadOnly => format!("{path} is on a file system that cannot be written"),
            Self::Denied => format!("{path} may not be written"),
            Self::TooLarge => format!("{path} would be larger than the system allows"),
            Self::TooManyFiles => format!("too many files are open to write {path}"),
            Self::Io(words) => format!("{path} could not be written: {words}"),
            Self::Unrecorded(why) => {
                format!(
                    "{path} was not written, because it could not be recorded: {}",
                    why.message("the journal of Trellis")
                )
            }
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read(_) => "check the path and what stands on the way to it",
            Self::Busy => "read it again and repeat the call",
            Self::DiskFull => "free some disk space and repeat the call",
            Self::ReadOnly => "make the file system writable, or choose another place",
            Self::Denied => "check the owner and permissions of the file and its directory",
            Self::TooLarge => "write less, or raise the limit for the size of files",
            Self::TooManyFiles => "repeat the call in a moment",
            Self::Io(_) => "look at the disk; the file is as it was",
            Self::Unrecorded(why) => match **why {
                Self::DiskFull => "free some disk space for the state directory of Trellis and repeat the call",
                _ => "make the state directory of Trellis writable and repeat the call; reading and searching go on",
            },
        }
    }

    /// With the codes that every family may use.
    pub fn failure(&self, path: &RelativePath) -> Failure {
        let kind = match self {
            Self::Denied | Self::ReadOnly => FailureKind::Refused,
            Self::Read(_) => FailureKind::Missing,
            Self::Busy => FailureKind::Conflict,
            _ => FailureKind::Unavailable,
        };
        Failure::new(self.code(), kind, self.message(&format!("`{path}`")))
            .with_hint(self.hint())
            .with_details(json!({ "path": path.as_str(), "reason": self.code() }))
    }
}

const EMFILE: i32 = 24;
const ENFILE: i32 = 23;
