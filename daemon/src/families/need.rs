//! What a tool may ask to have looked at before it runs, as plain data.
//!
//! The first half of a tool returns values of these types; `disk` carries them out on a thread that
//! may wait, and the second half gets what was seen. Nothing here touches a file.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use crate::clock::Now;
use crate::disk::{Digest, Eyes, Identity, RelativePath};
use crate::families::project::ProjectError;
pub use crate::families::project::WhichProject;

/// Something that can be looked at, and what looking at it gives.
pub trait Look: Sized {
    /// What looking gives, good or bad.
    type Seen;

    /// Whether looking waits for a disk; a call without it runs at once.
    const ON_DISK: bool = true;

    /// Whether a glance may be tried first: a look that asks `eyes` before anything that may wait.
    const GLANCES: bool = false;

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

/// What may stand between a root and a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Any symbolic link is refused, wherever it leads.
    Never,
    /// Links that lead to something in the same tree are followed; one that leaves it is [`Unseen::Outside`].
    Inside,
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

/// The first of several files that is there. What is missing or no file is passed over, but not the last one.
#[derive(Debug, Clone)]
pub struct FirstFileAt(pub Vec<FileAt>);

/// A file as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSeen {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Which file, in which state; another state later means other bytes.
    pub identity: Identity,
}

/// What a family makes of a file's bytes. Reading never fails: broken text gives a model that says so.
pub trait Model: Any + Send + Sync {
    /// Makes it of all bytes of a file.
    fn read(bytes: &[u8]) -> Self;

    /// About how many bytes of memory it takes.
    fn weight(&self) -> usize;
}

/// The model of one file. It is made once and kept for as long as the file is what it was.
#[derive(Debug, Clone)]
pub struct ModelAt<M> {
    /// The file.
    pub file: FileAt,
    model: PhantomData<fn() -> M>,
}

impl<M: Model> ModelAt<M> {
    /// The model of this file.
    pub fn of(file: FileAt) -> Self {
        Self { file, model: PhantomData }
    }
}

/// A file's model as it was seen.
#[derive(Debug)]
pub struct ModelSeen<M> {
    /// The model.
    pub model: Arc<M>,
    /// Of which bytes.
    pub digest: Digest,
    /// Of which file, in which state.
    pub identity: Identity,
}

impl<M> Clone for ModelSeen<M> {
    fn clone(&self) -> Self {
        Self { model: Arc::clone(&self.model), digest: self.digest, identity: self.identity }
    }
}

/// The models of all files below a directory whose path from there is wanted, sorted by path. Directories
/// and files whose name begins with a dot are left out, and so are links.
#[derive(Debug, Clone)]
pub struct ModelsBelow<M> {
    /// The tree.
    pub place: Place,
    /// The directory in it; `None` is the tree itself.
    pub path: Option<RelativePath>,
    /// What may stand on the way to the directory.
    pub links: Links,
    /// How many levels are looked at; 1 is the directory alone.
    pub depth: usize,
    /// Whether a file is wanted, by its path from the directory.
    pub wanted: fn(&str) -> bool,
    /// Larger files are not read.
    pub size_limit: u64,
    model: PhantomData<fn() -> M>,
}

impl<M: Model> ModelsBelow<M> {
    /// Those of one directory.
    pub fn new(place: Place, path: Option<RelativePath>, wanted: fn(&str) -> bool, size_limit: u64) -> Self {
        Self { place, path, links: Links::Inside, depth: 1, wanted, size_limit, model: PhantomData }
    }

    /// And of directories in it, down to this level.
    #[must_use]
    pub fn down_to(self, depth: usize) -> Self {
        Self { depth, ..self }
    }
}

/// The same, together with all other files there: those are told by name and state, and never opened.
#[derive(Debug, Clone)]
pub struct FilesBelow<M>(pub ModelsBelow<M>);

/// What is below a directory, sorted by path.
#[derive(Debug)]
pub struct FilesSeen<M> {
    /// Models of the files that are wanted.
    pub models: Vec<Below<M>>,
    /// The others, each with its path from the tree on.
    pub others: Vec<(RelativePath, Identity)>,
}

/// A model of something below a directory: the path from the tree, and what was seen there.
#[derive(Debug)]
pub struct Below<M> {
    /// From the tree on.
    pub path: RelativePath,
    /// The model, or why there is none.
    pub seen: Result<ModelSeen<M>, Unseen>,
}

/// The first of several absolute paths at which something is; links are followed wherever they lead.
#[derive(Debug, Clone)]
pub struct FirstAt(pub Vec<PathBuf>);

/// What was found at the first of several paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Which of the paths.
    pub which: usize,
    /// The directory that really holds it, and its name there; or why that cannot be told.
    pub file: Result<(Place, RelativePath), Unseen>,
}

/// Whether anything has this absolute path, be it a link that leads nowhere.
#[derive(Debug, Clone)]
pub struct IsTaken(pub PathBuf);

/// Whether a tree is itself a symbolic link; one that is not there is none.
#[derive(Debug, Clone)]
pub struct IsLink(pub Place);

/// Looks, and then at something that depends on what was seen.
pub struct Then<A, F>(pub A, pub F);

impl<A: fmt::Debug, F> fmt::Debug for Then<A, F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Then").field(&self.0).finish_non_exhaustive()
    }
}

impl<A: Look, B: Look, F: FnOnce(&A::Seen) -> B> Look for Then<A, F> {
    type Seen = (A::Seen, B::Seen);
    const ON_DISK: bool = A::ON_DISK || B::ON_DISK;
    const GLANCES: bool = A::GLANCES && B::GLANCES;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        let first = self.0.look(eyes);
        let second = (self.1)(&first).look(eyes);
        (first, second)
    }
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
    /// It is not known which project is meant, or the named one cannot be used.
    NoProject(Box<ProjectError>),
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
    const GLANCES: bool = true;

    fn look(self, _: &Eyes<'_>) -> T {
        self.0
    }
}

impl Look for () {
    type Seen = ();
    const ON_DISK: bool = false;
    const GLANCES: bool = true;

    fn look(self, _: &Eyes<'_>) {}
}

impl<A: Look, B: Look> Look for (A, B) {
    type Seen = (A::Seen, B::Seen);
    const ON_DISK: bool = A::ON_DISK || B::ON_DISK;
    const GLANCES: bool = A::GLANCES && B::GLANCES;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        (self.0.look(eyes), self.1.look(eyes))
    }
}

impl<A: Look, B: Look, C: Look> Look for (A, B, C) {
    type Seen = (A::Seen, B::Seen, C::Seen);
    const ON_DISK: bool = A::ON_DISK || B::ON_DISK || C::ON_DISK;
    const GLANCES: bool = A::GLANCES && B::GLANCES && C::GLANCES;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        (self.0.look(eyes), self.1.look(eyes), self.2.look(eyes))
    }
}

impl<L: Look> Look for Option<L> {
    type Seen = Option<L::Seen>;
    const ON_DISK: bool = L::ON_DISK;
    const GLANCES: bool = L::GLANCES;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        self.map(|look| look.look(eyes))
    }
}

impl<L: Look> Look for Vec<L> {
    type Seen = Vec<L::Seen>;
    const ON_DISK: bool = L::ON_DISK;
    const GLANCES: bool = L::GLANCES;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        self.into_iter().map(|look| look.look(eyes)).collect()
    }
}

/// What the clock says while looking: where today's file is depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Moment;

impl Look for Moment {
    type Seen = Now;
    const ON_DISK: bool = false;
    const GLANCES: bool = true;

    fn look(self, eyes: &Eyes<'_>) -> Now {
        Now::read(&eyes.session.zone.0)
    }
}
