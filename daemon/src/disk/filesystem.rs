//! Root directories that are open, by path, and which file systems send events.
//!
//! A path comes in, the directory to which it leads now goes out: one that was moved or relinked meanwhile is opened
//! again. File systems of other machines and those in user space send no events, so changes there must be polled for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dashmap::DashMap;

use super::{ReadError, RootDir};

/// Magic numbers, as in statfs(2).
#[cfg(target_os = "linux")]
const FILESYSTEMS_WITHOUT_EVENTS: [i64; 8] = [
    0x6969,      // NFS
    0x517b,      // SMB
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB2
    0x6573_5546, // FUSE
    0x0102_1997, // 9p, and the drives of Windows under WSL
    0x5346_414f, // AFS
    0x00c3_6400, // Ceph
];

/// Whether changes in a directory are made where this system does not see them.
#[cfg(target_os = "linux")]
#[allow(clippy::useless_conversion, reason = "the type of the number differs between processors")]
pub(crate) fn lacks_events(directory: &Path) -> bool {
    rustix::fs::statfs(directory).is_ok_and(|about| FILESYSTEMS_WITHOUT_EVENTS.contains(&i64::from(about.f_type)))
}

/// Whether changes in a directory are made where this system does not see them.
#[cfg(not(target_os = "linux"))]
pub(crate) fn lacks_events(_: &Path) -> bool {
    false
}

/// So many directories are held open; then all are let go, and those in use come back.
const MAX_OPEN_ROOTS: usize = 256;

/// The open roots. Each is what its path leads to at the moment of asking.
#[derive(Debug, Default)]
pub struct RootDirCache {
    open: DashMap<PathBuf, Arc<RootDir>>,
}

impl RootDirCache {
    /// The directory at the path.
    pub fn open(&self, path: &Path) -> Result<Arc<RootDir>, ReadError> {
        let known = self.open.get(path).map(|root| Arc::clone(&root));
        // A handle keeps its inode from being given to another directory, so the numbers are proof.
        if let Some(root) = known
            && root.is_still_at(path)?
        {
            return Ok(root);
        }
        let root = Arc::new(RootDir::open(path)?);
        if self.open.len() >= MAX_OPEN_ROOTS {
            self.open.clear();
        }
        self.open.insert(path.to_owned(), Arc::clone(&root));
        Ok(root)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::disk::{RelativePath, SymlinkPolicy};

    fn check(roots: &RootDirCache, path: &Path, expected: Result<&str, ReadError>) {
        let file = RelativePath::parse("file").expect("a path");
        let seen = roots.open(path).and_then(|root| root.open_file(&file, SymlinkPolicy::Refuse)?.read(100));
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
        let roots = RootDirCache::default();
        check(&roots, &at("root"), Err(ReadError::TreeMissing));
        fs::rename(at("one"), at("root")).expect("a rename");
        check(&roots, &at("root"), Ok("one"));
        fs::rename(at("root"), at("one")).expect("a rename");
        check(&roots, &at("root"), Err(ReadError::TreeMissing));
        std::os::unix::fs::symlink("two", at("root")).expect("a link");
        check(&roots, &at("root"), Ok("two"));
        fs::remove_file(at("root")).expect("a removal");
        fs::write(at("root"), "").expect("a file");
        check(&roots, &at("root"), Err(ReadError::TreeMissing));
    }

    #[test]
    fn not_all_roots_stay_open() {
        let home = TempDir::new().expect("a temporary directory");
        let roots = RootDirCache::default();
        for number in 0..=MAX_OPEN_ROOTS {
            let path = home.path().join(number.to_string());
            fs::create_dir(&path).expect("a directory");
            roots.open(&path).expect("the root opens");
        }
        assert!(roots.open.len() <= MAX_OPEN_ROOTS);
    }
}
