//! What a tool may ask to have looked at before it runs, as plain data.
//!
//! The first half of a tool returns values of these types; `disk` carries them out on a thread that
//! may wait, and the second half gets what was seen. Nothing here touches a file.

use std::path::PathBuf;

use crate::disk::{Eyes, Identity, RelativePath};

/// Something that can be looked at, and what looking at it gives.
pub trait Look: Sized {
    /// What looking gives, good or bad.
    type Seen;

    /// Whether looking waits for a disk; a call without it runs at once.
    const ON_DISK: bool = true;

    /// Looks. Only `disk` implements this for anything that waits.
    fn look(self, eyes: &Eyes<'_>) -> Self::Seen;
}

/// Where a tree is, before the disk has been asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Exactly here.
    Fixed(PathBuf),
    /// In a project, or already in the directory from which the project is looked for.
    InProject {
        /// Taken without asking for the project, if it is a directory.
        unless: Option<PathBuf>,
        /// Which project.
        project: WhichProject,
        /// The tree's own name below the project.
        below: PathBuf,
    },
}

/// Which project a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhichProject {
    /// The caller named it.
    Named(PathBuf),
    /// The session's: its working directory, else its roots.
    Session,
}

/// What may stand between a root and a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Any symbolic link is refused, wherever it leads.
    Never,
}

/// The whole content of one file.
#[derive(Debug, Clone)]
pub struct FileAt {
    /// The tree.
    pub place: Place,
    /// The file in it.
    pub path: RelativePath,
    /// What may stand on the way.
    pub links: Links,
    /// Larger files are not read.
    pub size_limit: u64,
}

/// A file as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSeen {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Which file, in which state; another state later means other bytes.
    pub identity: Identity,
}

/// One level of a directory.
#[derive(Debug, Clone)]
pub struct ListingAt {
    /// The tree.
    pub place: Place,
    /// The directory in it; `None` is the tree itself.
    pub path: Option<RelativePath>,
    /// What may stand on the way.
    pub links: Links,
}

/// One entry of a directory. Links and special files are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What is not UTF-8 in it is shown as U+FFFD; such an entry cannot be opened.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
}

/// Why something could not be looked at. A family gives each its own code and words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unseen {
    /// Neither argument, directory nor roots say which project is meant.
    NoProject,
    /// The named project is not one that this session may reach.
    ForeignProject(PathBuf),
    /// The tree itself is not there.
    NoTree,
    /// Nothing there.
    Missing,
    /// A directory where a file was meant.
    IsDirectory,
    /// A file where a directory was meant.
    IsFile,
    /// Neither file nor directory.
    Special,
    /// A symbolic link on the way.
    Link,
    /// It would lie outside the tree.
    Outside,
    /// The system does not let us.
    Denied,
    /// Over the limit, not read.
    TooLarge {
        /// The file's size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// Anything else that the system says; the words carry no path.
    Failed(String),
}

/// A value that takes no looking: it comes out as it went in, for the second half to use.
#[derive(Debug, Clone)]
pub struct Carried<T>(pub T);

impl<T> Look for Carried<T> {
    type Seen = T;
    const ON_DISK: bool = false;

    fn look(self, _: &Eyes<'_>) -> T {
        self.0
    }
}

impl Look for () {
    type Seen = ();
    const ON_DISK: bool = false;

    fn look(self, _: &Eyes<'_>) {}
}

impl<A: Look, B: Look> Look for (A, B) {
    type Seen = (A::Seen, B::Seen);
    const ON_DISK: bool = A::ON_DISK || B::ON_DISK;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        (self.0.look(eyes), self.1.look(eyes))
    }
}

impl<L: Look> Look for Option<L> {
    type Seen = Option<L::Seen>;
    const ON_DISK: bool = L::ON_DISK;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        self.map(|look| look.look(eyes))
    }
}

impl<L: Look> Look for Vec<L> {
    type Seen = Vec<L::Seen>;
    const ON_DISK: bool = L::ON_DISK;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        self.into_iter().map(|look| look.look(eyes)).collect()
    }
}
