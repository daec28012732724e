//! What an op wants done to files, as data. Only `engine::commit` carries it out.

use std::io;

use serde_json::json;
use trellis_protocol::{Failure, Kind};

use crate::disk::{Digest, RelativePath};
use crate::families::need::{FileSeen, Links, Place, Unseen};

/// Changes to one or more files: all of them happen, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    /// The files.
    pub files: Vec<FileEdit>,
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
    /// What shall be there.
    pub new: Vec<u8>,
}

/// What an op saw where it wants to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Old {
    /// Nothing. Missing directories above it are made, the tree itself too.
    Absent,
    /// Bytes with this digest.
    Content(Digest),
}

impl Edit {
    /// Nothing is to be done.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// A new file; one that is there by then is a conflict.
    #[must_use]
    pub fn create(mut self, place: Place, path: RelativePath, links: Links, new: Vec<u8>) -> Self {
        self.files.push(FileEdit { place, path, links, old: Old::Absent, new });
        self
    }

    /// Other bytes in place of those that were seen.
    #[must_use]
    pub fn replace(mut self, place: Place, path: RelativePath, links: Links, seen: &FileSeen, new: Vec<u8>) -> Self {
        self.files.push(FileEdit { place, path, links, old: Old::Content(Digest::of(&seen.bytes)), new });
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
