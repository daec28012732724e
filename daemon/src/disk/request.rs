//! Read requests: what may be asked of the disk, as plain data, and what comes back. Nothing here touches a file.

use std::any::Any;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Digest, FileStamp, RelativePath};
use crate::projects::{ProjectError, ProjectSelector};

/// Where a tree is, before the disk has been asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeLocation {
    Fixed(PathBuf),
    /// In a project, or already in the directory from which the project is looked for.
    InProject {
        /// Taken without asking for the project, if it is a directory.
        unless: Option<PathBuf>,
        project: ProjectSelector,
        /// The tree's own name below the project.
        below: PathBuf,
        /// Whether it may be a link. One that leads out of the project never serves: whoever made the project must not
        /// choose what else is served and watched.
        links: SymlinkPolicy,
    },
}

/// Which symbolic links may be on the way from a root to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymlinkPolicy {
    /// Any symbolic link is refused, wherever it leads.
    Refuse,
    /// Links that lead to something in the same tree are followed; one that leaves it is [`ReadError::OutsideTree`].
    FollowInsideTree,
}

/// The whole content of one file.
#[derive(Debug, Clone)]
pub struct ReadFile {
    pub place: TreeLocation,
    /// The file in it.
    pub path: RelativePath,
    /// What may stand on the way.
    pub links: SymlinkPolicy,
    /// Larger files are not read.
    pub size_limit: u64,
}

/// The first of several files that is there. What is missing or no file is passed over, but not the last one.
#[derive(Debug, Clone)]
pub struct ReadFirstFile(pub Vec<ReadFile>);

/// A file as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    pub bytes: Vec<u8>,
    /// Which file, in which state; another state later means other bytes.
    pub stamp: FileStamp,
}

/// What a family makes of a file's bytes. Reading never fails: broken text gives a model that says so.
pub trait FileModel: Any + Send + Sync {
    /// Makes it of all bytes of a file.
    fn read(bytes: &[u8]) -> Self;

    /// About how many bytes of memory it takes.
    fn memory_bytes(&self) -> usize;
}

/// The parsed content of one file. It is cached for as long as the file does not change.
#[derive(Debug, Clone)]
pub struct ReadFileModel<M> {
    pub file: ReadFile,
    model: PhantomData<fn() -> M>,
}

impl<M: FileModel> ReadFileModel<M> {
    /// The model of this file.
    pub fn of(file: ReadFile) -> Self {
        Self { file, model: PhantomData }
    }
}

/// A file's model as it was seen.
#[derive(Debug)]
pub struct LoadedModel<M> {
    pub model: Arc<M>,
    pub digest: Digest,
    /// Of which file, in which state.
    pub stamp: FileStamp,
}

impl<M> Clone for LoadedModel<M> {
    fn clone(&self) -> Self {
        Self { model: Arc::clone(&self.model), digest: self.digest, stamp: self.stamp }
    }
}

/// The models of all files below a directory whose path from there is wanted, sorted by path. Directories
/// and files whose name begins with a dot are left out, and so are links.
#[derive(Debug, Clone)]
pub struct ReadModelsInTree<M> {
    pub place: TreeLocation,
    /// The directory in it; `None` is the tree itself.
    pub path: Option<RelativePath>,
    /// What may stand on the way to the directory.
    pub links: SymlinkPolicy,
    /// How many levels are looked at; 1 is the directory alone.
    pub depth: usize,
    /// Whether a file is wanted, by its path from the directory.
    pub wanted: fn(&str) -> bool,
    /// Larger files are not read.
    pub size_limit: u64,
    model: PhantomData<fn() -> M>,
}

impl<M: FileModel> ReadModelsInTree<M> {
    /// Those of one directory.
    pub fn new(place: TreeLocation, path: Option<RelativePath>, wanted: fn(&str) -> bool, size_limit: u64) -> Self {
        Self { place, path, links: SymlinkPolicy::FollowInsideTree, depth: 1, wanted, size_limit, model: PhantomData }
    }

    /// And of directories in it, down to this level.
    #[must_use]
    pub fn max_depth(self, depth: usize) -> Self {
        Self { depth, ..self }
    }
}

/// The same, together with all other files there: those are told by name and state, and never opened.
#[derive(Debug, Clone)]
pub struct ReadFilesInTree<M>(pub ReadModelsInTree<M>);

/// What is below a directory, sorted by path.
#[derive(Debug)]
pub struct FilesInTree<M> {
    /// Models of the files that are wanted.
    pub models: Vec<ModelInTree<M>>,
    /// The others, each with its path from the tree on.
    pub others: Vec<(RelativePath, FileStamp)>,
}

/// One parsed file below a directory: its path in the tree, and the model or why there is none.
#[derive(Debug)]
pub struct ModelInTree<M> {
    /// From the tree on.
    pub path: RelativePath,
    /// The model, or why there is none.
    pub seen: Result<LoadedModel<M>, ReadError>,
}

/// The first of several absolute paths at which something is; links are followed wherever they lead.
#[derive(Debug, Clone)]
pub struct FirstExisting(pub Vec<PathBuf>);

/// What is at the first existing path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    /// Which of the paths.
    pub which: usize,
    /// The directory that really holds it, and its name there; or why that cannot be told.
    pub file: Result<(TreeLocation, RelativePath), ReadError>,
}

/// Whether anything has this absolute path, be it a link that leads nowhere.
#[derive(Debug, Clone)]
pub struct PathExists(pub PathBuf);

/// Whether a tree is itself a symbolic link; one that is not there is none.
#[derive(Debug, Clone)]
pub struct TreeIsSymlink(pub TreeLocation);

/// One level of a directory.
#[derive(Debug, Clone)]
pub struct ReadDirectory {
    pub place: TreeLocation,
    /// The directory in it; `None` is the tree itself.
    pub path: Option<RelativePath>,
    /// What may stand on the way.
    pub links: SymlinkPolicy,
}

/// One entry of a directory. Links and special files are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// What is not UTF-8 in it is shown as U+FFFD; such an entry cannot be opened.
    pub name: String,
    pub kind: EntryKind,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    Directory,
    File,
}

/// Why something could not be read. A family gives each its own code and message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// It is not known which project is meant, or the named one cannot be used.
    NoProject(Box<ProjectError>),
    /// The tree itself is not there.
    TreeMissing,
    /// The tree is a link that leads out of its project.
    TreeOutsideProject,
    Missing,
    /// A directory where a file was meant.
    IsDirectory,
    /// A file where a directory was meant.
    IsFile,
    /// Neither file nor directory.
    NotRegular,
    /// A symbolic link on the way.
    SymlinkRefused,
    /// It would lie outside the tree.
    OutsideTree,
    /// The system does not let us.
    PermissionDenied,
    /// Over the limit, not read.
    TooLarge {
        size: u64,
        limit: u64,
    },
    /// Anything else that the system says; the words carry no path.
    Io(String),
}

impl From<ProjectError> for ReadError {
    fn from(error: ProjectError) -> Self {
        Self::NoProject(Box::new(error))
    }
}

/// What an op read where it wants to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Nothing. Missing directories above it are made, the tree itself too.
    Absent,
    /// Bytes with this digest.
    Content(Digest),
}

/// A model that an op already has for the bytes it writes, so that nobody has to parse them again.
#[derive(Debug, Clone)]
pub struct PrebuiltModel {
    /// Of the type that [`ReadFileModel`] asks for.
    pub model: Arc<dyn Any + Send + Sync>,
    /// About how many bytes of memory it takes.
    pub memory_bytes: usize,
}

impl PrebuiltModel {
    pub fn of<M: FileModel>(model: Arc<M>) -> Self {
        Self { memory_bytes: model.memory_bytes(), model }
    }
}

/// A model says nothing that its bytes do not say.
impl PartialEq for PrebuiltModel {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for PrebuiltModel {}
