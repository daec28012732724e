//! The only door to the user's files.
//!
//! Paths come in relative to a root that was opened as a directory; what is there goes out. Nothing
//! is ever reached by a path that was checked first and opened later.

/// A path proven to stay below its root.
pub mod path;

/// Opening below a directory, with no way out of it.
mod confine;

/// A root, opened as a directory; files and listings below it.
pub mod root;

/// The roots that are open.
pub mod roots;

/// The same name in another Unicode form.
mod spelling;

/// A short name for some bytes.
pub mod digest;

/// Every call that changes a user's file, as a trait.
pub mod calls;

/// Names of temp files.
pub mod temp;

/// The moment of renames, alone in a tree.
mod alone;

/// What is done while the disk works.
mod beside;

/// Write beside, flush, exchange, flush.
pub mod write;

/// What was done, for whom, from which bytes.
pub mod journal;

/// Looks after displaced files for a moment.
pub mod keeper;

/// The only hand that writes.
pub mod scribe;

/// After a crash: finish, take back, sweep.
pub mod recover;

/// The twin of the system's calls, for tests.
pub mod faulty;

/// Which project a directory belongs to.
pub mod project;

/// Projects that were known before.
pub mod known;

/// Models of files, kept for as long as the files are what they were.
pub mod models;

/// Carries out what a tool needs to look at.
pub mod look;

/// Looking without waiting.
pub mod glance;

/// Taking models at their word.
pub mod trust;

/// How far a long look has come, and whether it is still wanted.
pub mod reporter;

/// Our own small files in the state and cache directories.
pub mod own;

pub use digest::Digest;
pub use glance::Glance;
pub use models::Models;
pub use path::RelativePath;
pub use reporter::Reporter;
pub use root::{Identity, OpenFile, Root};
pub use roots::Roots;
pub use trust::Trust;

use crate::index::Index;
use crate::tools::Session;

/// A file, wherever its tree is mounted: device and inode of a directory, and the way from there.
pub type FileName = (u64, u64, RelativePath);

/// What looking takes: the opened roots, and the session on whose behalf we look.
#[derive(Debug)]
pub struct Eyes<'a> {
    /// Roots that are open already.
    pub roots: &'a Roots,
    /// Projects that sessions or the configuration made known.
    pub projects: &'a project::Known,
    /// What is known of files already.
    pub models: &'a Models,
    /// What can be found by its words; none where nobody searches.
    pub index: Option<&'a Index>,
    /// On whose behalf.
    pub session: &'a Session,
    /// To whom a long look tells how far it has come.
    pub reporter: &'a Reporter,
    /// Only a glance is wanted: nothing may wait.
    pub glance: Option<&'a Glance>,
    /// Models may be taken at their word.
    pub trust: Option<&'a Trust>,
}
