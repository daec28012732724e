//! One file that is not what it was, and whose doing that is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The root of the tree.
    pub tree: Arc<Path>,
    /// Relative to the root.
    pub path: PathBuf,
    pub kind: ChangeKind,
    pub origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Created,
    Modified,
    /// There was an event, but the file looks as before. Where times are coarse, only its text can tell.
    MaybeModified,
    Removed,
}

/// Who changed a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Another program: an editor, git, a person.
    Outside,
    /// A call of one of our tools.
    Call(Arc<Author>),
    /// Trellis itself: the file is made from others.
    Derived,
}

/// Who called a tool that wrote files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Author {
    /// The number of the change; none yet: 0.
    pub change: u64,
    pub family: &'static str,
    /// The host's own name, or how else it came: `http`.
    pub by: String,
    /// A name for the session that does not allow to resume it.
    pub session: Option<String>,
    /// The name of the HTTP key.
    pub key: Option<String>,
    pub tool: String,
}

/// Receives every change, and what people should know about trees.
pub trait ChangeSubscriber: Send + Sync {
    /// Changes of one call, or of one look at the disk. Called on the thread of the call, before it is answered, or on
    /// the watcher's.
    fn changed(&self, changes: &[Change]);

    /// A family's tree is wanted by somebody, and was not before.
    fn tree_added(&self, _family: &'static str, _tree: &Path) {}

    fn warned(&self, _warning: &str) {}
}
