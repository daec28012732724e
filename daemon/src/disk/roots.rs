//! The roots that are open, by path.
//!
//! A path comes in, the directory to which it leads now goes out. A path that was moved or linked
//! elsewhere meanwhile is opened anew.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dashmap::{DashMap, DashSet};

use super::Root;
use crate::families::need::Unseen;
use crate::watch::remote;

/// So many directories are held open; then all are let go, and those in use come back.
const LIMIT: usize = 256;

/// The open roots. Each is what its path leads to at the moment of asking.
#[derive(Debug, Default)]
pub struct Roots {
    open: DashMap<PathBuf, Arc<Root>>,
    /// Directories on disks of this machine.
    near: DashSet<PathBuf>,
}

impl Roots {
    /// The directory at the path.
    pub fn open(&self, path: &Path) -> Result<Arc<Root>, Unseen> {
        let known = self.open.get(path).map(|root| Arc::clone(&root));
        // A handle keeps its inode from being given to another directory, so the numbers are proof.
        if let Some(root) = known
            && root.is_at(path)?
        {
            return Ok(root);
        }
        let root = Arc::new(Root::open(path)?);
        if self.open.len() >= LIMIT {
            self.open.clear();
        }
        self.open.insert(path.to_owned(), Arc::clone(&root));
        Ok(root)
    }

    /// Takes note of where a directory is, by asking a disk that may be slow.
    pub fn meet(&self, directory: &Path) {
        if self.near.contains(directory) || remote::is_silent(directory) {
            return;
        }
        if self.near.len() >= LIMIT {
            self.near.clear();
        }
        self.near.insert(directory.to_owned());
    }

    /// Whether a directory is known to be on a disk of this machine, which answers at once.
    pub fn is_near(&self, directory: &Path) -> bool {
        self.near.contains(directory)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::disk::RelativePath;
    use crate::families::need::Links;

    fn check(roots: &Roots, path: &Path, expected: Result<&str, Unseen>) {
        let file = RelativePath::parse("file").expect("a path");
        let seen = roots.open(path).and_then(|root| root.open_file(&file, Links::Never)?.read(100));
        assert_eq!(seen.map(|file| file.bytes), expected.map(|text| text.as_bytes().to_vec()));
    }

    #[test]
    fn a_root_is_what_its_path_leads_to_now() {
        let home = TempDir::new().expect("a temporary directory");
        let at = |name: &str| home.path().join(name);
        for name in ["one", "two"] {
            fs::create_dir(at(name)).expect("a directory");
            fs::write(at(name).join("file"), name).expect("a file");
        }
        let roots = Roots::default();
        check(&roots, &at("root"), Err(Unseen::NoTree));
        fs::rename(at("one"), at("root")).expect("a rename");
        check(&roots, &at("root"), Ok("one"));
        fs::rename(at("root"), at("one")).expect("a rename");
        check(&roots, &at("root"), Err(Unseen::NoTree));
        std::os::unix::fs::symlink("two", at("root")).expect("a link");
        check(&roots, &at("root"), Ok("two"));
        fs::remove_file(at("root")).expect("a removal");
        fs::write(at("root"), "").expect("a file");
        check(&roots, &at("root"), Err(Unseen::NoTree));
    }

    #[test]
    fn not_all_roots_stay_open() {
        let home = TempDir::new().expect("a temporary directory");
        let roots = Roots::default();
        for number in 0..=LIMIT {
            let path = home.path().join(number.to_string());
            fs::create_dir(&path).expect("a directory");
            roots.open(&path).expect("the root opens");
        }
        assert!(roots.open.len() <= LIMIT);
    }
}
