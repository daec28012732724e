//! One tree in all worktrees of its repository: a tree comes in, the places of the others go out. They are not read.

use std::path::PathBuf;

use super::{DiskReader, DiskRequest, TreeLocation};
use crate::projects::TreeId;

/// The same tree in other worktrees of its repository, whether or not it is there.
#[derive(Debug, Clone)]
pub struct OtherWorktrees(pub TreeLocation);

/// What a tree's repository has besides it. Worktrees on disks that do not answer are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Worktrees {
    /// The directory that they all share.
    pub repository: Option<PathBuf>,
    pub others: Vec<TreeLocation>,
}

impl DiskRequest for OtherWorktrees {
    type Output = Worktrees;

    fn read(self, disk: &DiskReader<'_>) -> Worktrees {
        let blocking = disk.require_blocking().and_then(|()| disk.tree(&self.0));
        let Ok(tree) = blocking else { return Worktrees::default() };
        let id = TreeId::of(&tree);
        let others = id.trees().into_iter().filter(|other| *other != tree && !disk.disks.is_silent(other));
        Worktrees { others: others.map(TreeLocation::Fixed).collect(), repository: id.repository }
    }
}
