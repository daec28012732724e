//! The only module that reads or writes users' files.
//!
//! Paths come in relative to a root directory that was opened once; what is there goes out. Nothing is ever reached
//! by a path that was checked first and opened later.

mod confine;
mod disks;
pub mod displaced;
mod fetch;
pub(crate) mod filesystem;
mod half_written;
pub mod journal;
mod locate;
mod models;
mod path;
pub mod recover;
mod recovering;
mod request;
mod root;
pub(crate) mod staged_file;
mod staging;
mod stamp;
pub mod syscalls;
mod target_directory;
mod temp;
mod worktrees;
pub(crate) mod writer;

pub use disks::{DiskWork, Disks, PROBE_TIMEOUT, SLOW_CALL_TIME};
#[cfg(test)]
pub(crate) use fetch::TestDisk;
pub use fetch::{DiskReader, DiskRequest, InlineAttempt, ReadMode, UnverifiedReads};
pub use filesystem::RootDirCache;
pub use models::ModelCache;
pub use path::{PathError, RelativePath};
pub use recovering::{RecoveryWait, TreeRecoveries};
pub use request::{
    DirectoryEntry, EntryKind, Expected, FileContent, FileModel, FilesInTree, FirstExisting, LoadedModel, ModelInTree,
    PathExists, PrebuiltModel, ReadDirectory, ReadError, ReadFile, ReadFileModel, ReadFilesInTree, ReadFirstFile,
    ReadModelsInTree, ResolvedPath, SymlinkPolicy, TreeIsSymlink, TreeLocation,
};
pub use root::{OpenFile, RootDir};
pub use stamp::{Digest, FileStamp};
pub use temp::{DaemonId, TempName};
pub use worktrees::{OtherWorktrees, Worktrees};
pub use writer::AtomicWriter;

/// A file, wherever its tree is mounted: device and inode of a directory, and the path from there.
pub type FileKey = (u64, u64, RelativePath);
