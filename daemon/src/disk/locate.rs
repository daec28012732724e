//! Where a tree is: a location comes in, a path goes out. It need not exist, but it does not leave its project over a link.

use std::fs;
use std::path::{Path, PathBuf};

use super::{DiskReader, ReadError, SymlinkPolicy, TreeLocation};
use crate::projects::ProjectSelector;

impl DiskReader<'_> {
    /// Where a tree is now; it need not exist.
    pub fn tree(&self, place: &TreeLocation) -> Result<PathBuf, ReadError> {
        match place {
            TreeLocation::Fixed(path) => {
                if self.inline().is_none() {
                    self.enter(path)?;
                }
                Ok(path.clone())
            }
            TreeLocation::InProject { unless, project, below, links } => {
                if let Some(path) = unless {
                    self.require_local(path.parent().unwrap_or(path))?;
                    if path.is_dir() {
                        self.check_links(path, below, *links)?;
                        return Ok(path.clone());
                    }
                }
                self.session.all().try_for_each(|directory| self.require_local(directory))?;
                if let ProjectSelector::Named(path) = project
                    && path.is_absolute()
                {
                    self.require_local(path)?;
                }
                let tree = self.projects.tree(project, below, &self.session, || self.require_blocking())?;
                self.check_links(&tree, below, *links)?;
                Ok(tree)
            }
        }
    }

    /// Refuses a tree in a project that is reached over links which it must not have.
    fn check_links(&self, tree: &Path, below: &Path, links: SymlinkPolicy) -> Result<(), ReadError> {
        let own_names = below.components().count();
        let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink());
        if !tree.ancestors().take(own_names).any(is_link) {
            return Ok(());
        }
        // It may lead to another disk.
        self.require_blocking()?;
        let above = tree.ancestors().nth(own_names).unwrap_or(tree);
        match links {
            SymlinkPolicy::Refuse => Err(ReadError::SymlinkRefused),
            SymlinkPolicy::FollowInsideTree if self.projects.leads_outside(above, tree) => {
                Err(ReadError::TreeOutsideProject)
            }
            SymlinkPolicy::FollowInsideTree => Ok(()),
        }
    }
}
