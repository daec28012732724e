//! What an op wants done to files, as data. Only `engine::commit` carries it out.

use crate::disk::{Digest, RelativePath};
use crate::families::need::{FileSeen, Links, Place};

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
