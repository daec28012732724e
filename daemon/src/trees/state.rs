//! The known state of one tree: its directories, and its files with their identities.
//!
//! Listings and stats come in, the difference to what was known goes out. Symbolic links and special files are
//! ignored, and so are directories that belong to other programs. It never writes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::change::ChangeKind;
use crate::disk::FileStamp;
use crate::disk::TempName;

/// Directories that are never scanned.
const IGNORED_DIRECTORIES: [&str; 3] = [".git", "node_modules", "target"];

/// Paths are relative to the tree's root; the root itself is the empty path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeState {
    directories: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, FileStamp>,
    /// Directories that cannot be listed.
    unreadable: BTreeSet<PathBuf>,
    /// Wrapping sum of the entry hashes of all files, kept up to date so that a fingerprint costs nothing.
    sum: u64,
}

/// The difference that a scan found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ScanDelta {
    pub changes: Vec<(PathBuf, ChangeKind)>,
    /// Directories that were not known before.
    pub appeared: Vec<PathBuf>,
    /// Directories that are gone.
    pub vanished: Vec<PathBuf>,
    /// The path is a directory, and everything below it was scanned as well.
    pub covers_subtree: bool,
    /// Something could not be read for a reason that may go away without an event.
    pub needs_retry: bool,
    /// There are more directories than may be looked at.
    pub is_truncated: bool,
}

impl ScanDelta {
    fn compare(&mut self, before: &TreeState, after: &TreeState) {
        for (path, stamp) in &after.files {
            match before.files.get(path) {
                None => self.changes.push((path.clone(), ChangeKind::Created)),
                Some(known) if known != stamp => self.changes.push((path.clone(), ChangeKind::Modified)),
                Some(_) => {}
            }
        }
        let gone = before.files.keys().filter(|path| !after.files.contains_key(*path));
        self.changes.extend(gone.map(|path| (path.clone(), ChangeKind::Removed)));
        self.appeared.extend(after.directories.difference(&before.directories).cloned());
        self.vanished.extend(before.directories.difference(&after.directories).cloned());
    }
}

impl TreeState {
    pub fn files(&self) -> &BTreeMap<PathBuf, FileStamp> {
        &self.files
    }

    /// Every directory, the root included.
    pub fn directories(&self) -> impl ExactSizeIterator<Item = &Path> {
        self.directories.iter().map(PathBuf::as_path)
    }

    pub fn has_directory(&self, path: &Path) -> bool {
        self.directories.contains(path)
    }

    /// The number of directories that cannot be listed.
    pub fn unreadable(&self) -> usize {
        self.unreadable.len()
    }

    /// Two trees share it only if they have the same files in the same states.
    pub fn fingerprint(&self) -> u64 {
        self.sum
    }

    fn insert(&mut self, path: PathBuf, identity: FileStamp) -> Option<FileStamp> {
        self.sum = self.sum.wrapping_add(entry_hash(&path, &identity));
        let before = self.files.insert(path.clone(), identity);
        if let Some(before) = &before {
            self.sum = self.sum.wrapping_sub(entry_hash(&path, before));
        }
        before
    }

    fn remove(&mut self, path: &Path) -> Option<FileStamp> {
        let before = self.files.remove(path)?;
        self.sum = self.sum.wrapping_sub(entry_hash(path, &before));
        Some(before)
    }

    /// Scans everything. `appears` is called with each directory before it is listed, so that a watch can be added
    /// first and nothing that happens afterwards is missed.
    pub fn rescan(&mut self, root: &Path, appears: &mut dyn FnMut(&Path)) -> ScanDelta {
        self.rescan_up_to(usize::MAX, root, appears)
    }

    /// Scans everything, but no more than so many directories.
    pub(crate) fn rescan_up_to(&mut self, limit: usize, root: &Path, appears: &mut dyn FnMut(&Path)) -> ScanDelta {
        let mut delta = ScanDelta { covers_subtree: true, ..ScanDelta::default() };
        let before = std::mem::take(self);
        self.walk(limit, root, PathBuf::new(), appears, &mut delta);
        delta.compare(&before, self);
        delta
    }

    /// Scans one path again: a file, a directory with all below it, or nothing any more.
    pub fn rescan_path(&mut self, root: &Path, path: &Path, appears: &mut dyn FnMut(&Path)) -> ScanDelta {
        self.rescan_path_up_to(usize::MAX, root, path, appears)
    }

    /// The same, but no more than so many directories are looked at.
    pub(crate) fn rescan_path_up_to(
        &mut self,
        limit: usize,
        root: &Path,
        path: &Path,
        appears: &mut dyn FnMut(&Path),
    ) -> ScanDelta {
        let mut delta = ScanDelta::default();
        if is_ignored(path) {
            return delta;
        }
        match fs::symlink_metadata(root.join(path)) {
            Ok(there) if there.is_dir() => self.rescan_directory(limit, root, path, appears, &mut delta),
            Ok(there) if there.is_file() => {
                self.forget_directory(path, &mut delta);
                self.record_file(path, &there, &mut delta);
            }
            _ => {
                self.forget_directory(path, &mut delta);
                if self.remove(path).is_some() {
                    delta.changes.push((path.to_owned(), ChangeKind::Removed));
                }
            }
        }
        delta
    }

    fn rescan_directory(
        &mut self,
        limit: usize,
        root: &Path,
        path: &Path,
        appears: &mut dyn FnMut(&Path),
        delta: &mut ScanDelta,
    ) {
        if self.remove(path).is_some() {
            delta.changes.push((path.to_owned(), ChangeKind::Removed));
        }
        let mut below = Self::default();
        below.walk(limit, root, path.to_owned(), appears, delta);
        delta.covers_subtree = true;
        let known = self.take_subtree(path);
        delta.compare(&known, &below);
        self.directories.extend(below.directories);
        self.unreadable.extend(below.unreadable);
        for (path, identity) in below.files {
            self.insert(path, identity);
        }
    }

    /// Forgets everything, as if all of it had been removed.
    pub fn clear(&mut self) -> ScanDelta {
        let before = std::mem::take(self);
        let mut delta = ScanDelta::default();
        delta.changes.extend(before.files.into_keys().map(|path| (path, ChangeKind::Removed)));
        delta.vanished.extend(before.directories);
        delta
    }

    fn record_file(&mut self, path: &Path, metadata: &Metadata, delta: &mut ScanDelta) {
        let stamp = FileStamp::of(metadata);
        let kind = match self.insert(path.to_owned(), stamp) {
            None => ChangeKind::Created,
            Some(before) if before == stamp => ChangeKind::MaybeModified,
            Some(_) => ChangeKind::Modified,
        };
        delta.changes.push((path.to_owned(), kind));
    }

    fn forget_directory(&mut self, path: &Path, delta: &mut ScanDelta) {
        if self.directories.contains(path) || self.unreadable.contains(path) {
            let known = self.take_subtree(path);
            delta.changes.extend(known.files.into_keys().map(|path| (path, ChangeKind::Removed)));
            delta.vanished.extend(known.directories);
        }
    }

    /// Takes out a directory and everything below it.
    fn take_subtree(&mut self, path: &Path) -> Self {
        let directories: Vec<PathBuf> =
            self.directories.range(path.to_owned()..).take_while(|known| known.starts_with(path)).cloned().collect();
        let files: Vec<PathBuf> = self
            .files
            .range(path.to_owned()..)
            .map(|(known, _)| known)
            .take_while(|known| known.starts_with(path))
            .cloned()
            .collect();
        let mut taken = Self::default();
        for path in files {
            if let Some(identity) = self.remove(&path) {
                taken.insert(path, identity);
            }
        }
        taken.directories = directories.into_iter().filter(|path| self.directories.remove(path)).collect();
        self.unreadable.retain(|known| !known.starts_with(path));
        taken
    }

    /// Walks without recursion, so that no depth is too deep. What cannot be listed is left out; a retry is needed if
    /// that may change without an event.
    fn walk(
        &mut self,
        limit: usize,
        root: &Path,
        start: PathBuf,
        appears: &mut dyn FnMut(&Path),
        delta: &mut ScanDelta,
    ) {
        let mut waiting = vec![start];
        while let Some(directory) = waiting.pop() {
            if self.directories.len() >= limit {
                delta.is_truncated = true;
                return;
            }
            appears(&directory);
            let entries = match fs::read_dir(root.join(&directory)) {
                Ok(entries) => entries,
                Err(error) => {
                    delta.needs_retry |= self.record_unreadable(directory, error.kind());
                    continue;
                }
            };
            for entry in entries.flatten() {
                let path = directory.join(entry.file_name());
                if is_ignored(&path) {
                    continue;
                }
                match entry.metadata() {
                    Ok(there) if there.is_dir() => waiting.push(path),
                    Ok(there) if there.is_file() => {
                        self.insert(path, FileStamp::of(&there));
                    }
                    _ => {}
                }
            }
            self.directories.insert(directory);
        }
    }

    /// Records a directory that cannot be listed; returns whether only a retry can tell when it can be again.
    /// Permissions that change below the root come as events; those of the root itself may not.
    fn record_unreadable(&mut self, directory: PathBuf, why: ErrorKind) -> bool {
        let is_root = directory.as_os_str().is_empty();
        match why {
            ErrorKind::NotFound | ErrorKind::NotADirectory => return false,
            _ => self.unreadable.insert(directory),
        };
        is_root || !matches!(why, ErrorKind::PermissionDenied | ErrorKind::InvalidFilename)
    }
}

/// Whether a tree has more than so many directories. Only names are read.
pub(super) fn has_more_directories(limit: usize, root: &Path) -> bool {
    let (mut waiting, mut count) = (vec![PathBuf::new()], 0);
    while let Some(directory) = waiting.pop() {
        count += 1;
        if count > limit {
            return true;
        }
        let entries = fs::read_dir(root.join(&directory)).into_iter().flatten().flatten();
        let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let paths = directories.map(|entry| directory.join(entry.file_name()));
        waiting.extend(paths.filter(|path| !is_ignored(path)));
    }
    false
}

fn entry_hash(path: &Path, identity: &FileStamp) -> u64 {
    let mut hasher = DefaultHasher::new();
    (path, identity.inode, identity.size, identity.modified_ns, identity.changed_ns).hash(&mut hasher);
    hasher.finish()
}

fn is_ignored(path: &Path) -> bool {
    path.components().any(|part| {
        let name = part.as_os_str();
        IGNORED_DIRECTORIES.iter().any(|ignored| name == *ignored)
            || name.to_str().is_some_and(|name| TempName::parse(name).is_some())
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        fs::write(path, text).expect("a file");
    }

    /// After a rescan of the path, the tree is what a fresh scan would say.
    fn check(tree: &mut TreeState, root: &Path, path: &str) -> ScanDelta {
        let delta = tree.rescan_path(root, Path::new(path), &mut |_| {});
        let mut fresh = TreeState::default();
        fresh.rescan(root, &mut |_| {});
        assert_eq!(*tree, fresh, "after a rescan of {path}");
        assert_eq!(tree.fingerprint(), fresh.fingerprint());
        delta
    }

    #[test]
    fn a_rescan_makes_the_tree_equal_to_the_disk() {
        let directory = TempDir::new().expect("a directory");
        let root = directory.path();
        write(root, "a/b/c.md", "1");
        write(root, "a/d.md", "1");
        write(root, ".git/config", "1");
        let mut tree = TreeState::default();
        let delta = tree.rescan(root, &mut |_| {});
        assert_eq!((delta.changes.len(), delta.appeared.len(), tree.files().len()), (2, 3, 2));

        write(root, "a/d.md", "22");
        assert_eq!(check(&mut tree, root, "a/d.md").changes.len(), 1);
        let again = check(&mut tree, root, "a/d.md").changes;
        assert_eq!(again, [("a/d.md".into(), ChangeKind::MaybeModified)], "nothing that can be seen");
        write(root, "new/x/y.md", "1");
        let delta = check(&mut tree, root, "new");
        assert_eq!((delta.changes.len(), delta.appeared.len()), (1, 2));
        fs::rename(root.join("a"), root.join("z")).expect("a rename");
        check_both(&mut tree, root, &["a", "z"]);
        fs::remove_dir_all(root.join("z")).expect("a removal");
        assert_eq!(check(&mut tree, root, "z").changes.len(), 2);
        write(root, "new/x.md", "1");
        check(&mut tree, root, "new/x.md");
        assert_eq!(tree.clear().changes.len(), 2);
    }

    fn check_both(tree: &mut TreeState, root: &Path, paths: &[&str]) {
        for path in paths {
            tree.rescan_path(root, Path::new(path), &mut |_| {});
        }
        let mut fresh = TreeState::default();
        fresh.rescan(root, &mut |_| {});
        assert_eq!(*tree, fresh);
    }

    #[test]
    fn a_file_in_place_of_a_directory_and_back() {
        let directory = TempDir::new().expect("a directory");
        let root = directory.path();
        write(root, "a/b.md", "1");
        let mut tree = TreeState::default();
        tree.rescan(root, &mut |_| {});
        fs::remove_dir_all(root.join("a")).expect("a removal");
        fs::write(root.join("a"), "now a file").expect("a file");
        check(&mut tree, root, "a");
        fs::remove_file(root.join("a")).expect("a removal");
        write(root, "a/b.md", "1");
        check(&mut tree, root, "a");
    }

    #[test]
    fn no_more_directories_are_looked_at_than_may_be() {
        let directory = TempDir::new().expect("a directory");
        let root = directory.path();
        (0..5).for_each(|number| write(root, &format!("{number}/file.md"), "1"));
        assert!(has_more_directories(5, root) && !has_more_directories(6, root));
        let mut tree = TreeState::default();
        assert!(!tree.rescan_up_to(6, root, &mut |_| {}).is_truncated);
        let delta = tree.rescan_up_to(3, root, &mut |_| {});
        assert!(delta.is_truncated && tree.directories().len() == 3, "{delta:?}");
        (0..3).for_each(|number| write(root, &format!("0/{number}/file.md"), "1"));
        assert!(tree.rescan_path_up_to(2, root, Path::new("0"), &mut |_| {}).is_truncated);
    }

    #[test]
    fn temp_files_and_links_are_ignored() {
        let directory = TempDir::new().expect("a directory");
        let root = directory.path();
        write(root, ".trellis-00000000-0000000000000000.vtmp", "1");
        std::os::unix::fs::symlink("/", root.join("link")).expect("a link");
        let mut tree = TreeState::default();
        assert_eq!(tree.rescan(root, &mut |_| {}).changes, []);
    }
}
