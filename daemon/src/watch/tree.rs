//! What is known of one tree: its directories, and its files with their identities.
//!
//! Listings and stats come in, changes go out. Symbolic links and special files are passed over, and so
//! are directories that hold other programs' things.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::disk::Identity;
use crate::disk::temp::TempName;

/// Directories that are never looked into.
const PASSED_OVER: [&str; 3] = [".git", "node_modules", "target"];

/// What is known of one tree. Paths are relative to its root; the root itself is the empty path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    directories: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, Identity>,
    /// Directories that cannot be listed.
    unreadable: BTreeSet<PathBuf>,
    /// The sum of all files' own numbers, kept while they come and go.
    sum: u64,
}

/// One file that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The root of its tree.
    pub root: PathBuf,
    /// Where it is, from there.
    pub path: PathBuf,
    /// What became of it.
    pub kind: ChangeKind,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is there, with another identity than before or none before.
    There(Identity),
    /// It is gone.
    Gone,
}

/// What looking again at a place brought to light.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Files that are not what they were.
    pub changes: Vec<(PathBuf, ChangeKind)>,
    /// Directories that were not known before.
    pub appeared: Vec<PathBuf>,
    /// Directories that are gone.
    pub vanished: Vec<PathBuf>,
    /// The place is a directory, and everything below it was looked at as well.
    pub whole: bool,
    /// Something could not be read for a reason that may pass without a word.
    pub shaky: bool,
}

impl Tree {
    /// How many files there are.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Every directory, the root included.
    pub fn directories(&self) -> impl ExactSizeIterator<Item = &Path> {
        self.directories.iter().map(PathBuf::as_path)
    }

    /// Whether there is such a directory.
    pub fn has_directory(&self, path: &Path) -> bool {
        self.directories.contains(path)
    }

    /// How many directories cannot be listed.
    pub fn unreadable(&self) -> usize {
        self.unreadable.len()
    }

    /// A number that two trees share only if they have the same files in the same states.
    pub fn fingerprint(&self) -> u64 {
        self.sum
    }

    fn insert(&mut self, path: PathBuf, identity: Identity) -> Option<Identity> {
        self.sum = self.sum.wrapping_add(number(&path, &identity));
        let before = self.files.insert(path.clone(), identity);
        if let Some(before) = &before {
            self.sum = self.sum.wrapping_sub(number(&path, before));
        }
        before
    }

    fn remove(&mut self, path: &Path) -> Option<Identity> {
        let before = self.files.remove(path)?;
        self.sum = self.sum.wrapping_sub(number(path, &before));
        Some(before)
    }

    /// Looks at everything again. `appears` is told of a directory before it is listed, so that nothing
    /// that happens in it afterwards is missed.
    pub fn rescan(&mut self, root: &Path, appears: &mut dyn FnMut(&Path)) -> Found {
        let mut found = Found { whole: true, ..Found::default() };
        let before = std::mem::take(self);
        found.shaky = self.walk(root, PathBuf::new(), &mut |path| {
            if !before.directories.contains(path) {
                found.appeared.push(path.to_owned());
            }
            appears(path);
        });
        for (path, identity) in &self.files {
            if before.files.get(path) != Some(identity) {
                found.changes.push((path.clone(), ChangeKind::There(*identity)));
            }
        }
        let gone = before.files.keys().filter(|path| !self.files.contains_key(*path));
        found.changes.extend(gone.map(|path| (path.clone(), ChangeKind::Gone)));
        found.vanished.extend(before.directories.difference(&self.directories).cloned());
        found
    }

    /// Looks at one place again: a file, a directory with all below it, or nothing any more.
    pub fn look_at(&mut self, root: &Path, path: &Path, appears: &mut dyn FnMut(&Path)) -> Found {
        let mut found = Found::default();
        if is_passed_over(path) {
            return found;
        }
        match fs::symlink_metadata(root.join(path)) {
            Ok(there) if there.is_dir() => self.look_at_directory(root, path, appears, &mut found),
            Ok(there) if there.is_file() => {
                self.forget_directory(path, &mut found);
                self.notice(path, &there, &mut found);
            }
            _ => {
                self.forget_directory(path, &mut found);
                if self.remove(path).is_some() {
                    found.changes.push((path.to_owned(), ChangeKind::Gone));
                }
            }
        }
        found
    }

    fn look_at_directory(&mut self, root: &Path, path: &Path, appears: &mut dyn FnMut(&Path), found: &mut Found) {
        if self.remove(path).is_some() {
            found.changes.push((path.to_owned(), ChangeKind::Gone));
        }
        let mut below = Self::default();
        found.shaky = below.walk(root, path.to_owned(), appears);
        found.whole = true;
        let known = self.split_below(path);
        found.appeared.extend(below.directories.difference(&known.directories).cloned());
        found.vanished.extend(known.directories.difference(&below.directories).cloned());
        for (path, identity) in &below.files {
            if known.files.get(path) != Some(identity) {
                found.changes.push((path.clone(), ChangeKind::There(*identity)));
            }
        }
        let gone = known.files.keys().filter(|path| !below.files.contains_key(*path));
        found.changes.extend(gone.map(|path| (path.clone(), ChangeKind::Gone)));
        self.directories.extend(below.directories);
        self.unreadable.extend(below.unreadable);
        for (path, identity) in below.files {
            self.insert(path, identity);
        }
    }

    /// Everything is gone.
    pub fn clear(&mut self) -> Found {
        let before = std::mem::take(self);
        let mut found = Found::default();
        found.changes.extend(before.files.into_keys().map(|path| (path, ChangeKind::Gone)));
        found.vanished.extend(before.directories);
        found
    }

    fn notice(&mut self, path: &Path, metadata: &Metadata, found: &mut Found) {
        let identity = Identity::of(metadata);
        if self.insert(path.to_owned(), identity) != Some(identity) {
            found.changes.push((path.to_owned(), ChangeKind::There(identity)));
        }
    }

    fn forget_directory(&mut self, path: &Path, found: &mut Found) {
        if self.directories.contains(path) || self.unreadable.contains(path) {
            let known = self.split_below(path);
            found.changes.extend(known.files.into_keys().map(|path| (path, ChangeKind::Gone)));
            found.vanished.extend(known.directories);
        }
    }

    /// Takes out what is known of a directory and everything below it.
    fn split_below(&mut self, path: &Path) -> Self {
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

    /// Walks without recursion, so that no depth is too deep. What cannot be listed is passed over; whether that
    /// may pass without a word.
    fn walk(&mut self, root: &Path, start: PathBuf, appears: &mut dyn FnMut(&Path)) -> bool {
        let mut waiting = vec![start];
        let mut shaky = false;
        while let Some(directory) = waiting.pop() {
            appears(&directory);
            let entries = match fs::read_dir(root.join(&directory)) {
                Ok(entries) => entries,
                Err(error) => {
                    shaky |= self.cannot_list(directory, error.kind());
                    continue;
                }
            };
            for entry in entries.flatten() {
                let path = directory.join(entry.file_name());
                if is_passed_over(&path) {
                    continue;
                }
                match entry.metadata() {
                    Ok(there) if there.is_dir() => waiting.push(path),
                    Ok(there) if there.is_file() => {
                        self.insert(path, Identity::of(&there));
                    }
                    _ => {}
                }
            }
            self.directories.insert(directory);
        }
        shaky
    }

    /// Takes note of a directory that cannot be listed; whether it may be later without a word. Somebody tells
    /// when permissions change in a directory that we watch, which is every one but those above the root.
    fn cannot_list(&mut self, directory: PathBuf, why: ErrorKind) -> bool {
        let is_root = directory.as_os_str().is_empty();
        match why {
            ErrorKind::NotFound | ErrorKind::NotADirectory => return false,
            _ => self.unreadable.insert(directory),
        };
        is_root || !matches!(why, ErrorKind::PermissionDenied | ErrorKind::InvalidFilename)
    }
}

fn number(path: &Path, identity: &Identity) -> u64 {
    let mut hasher = DefaultHasher::new();
    (path, identity.inode, identity.size, identity.modified_ns, identity.changed_ns).hash(&mut hasher);
    hasher.finish()
}

fn is_passed_over(path: &Path) -> bool {
    path.components().any(|part| {
        let name = part.as_os_str();
        PASSED_OVER.iter().any(|passed| name == *passed)
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

    /// After looking at the place, the tree is what a fresh scan would say.
    fn check(tree: &mut Tree, root: &Path, place: &str) -> Found {
        let found = tree.look_at(root, Path::new(place), &mut |_| {});
        let mut fresh = Tree::default();
        fresh.rescan(root, &mut |_| {});
        assert_eq!(*tree, fresh, "after looking at {place}");
        assert_eq!(tree.fingerprint(), fresh.fingerprint());
        found
    }

    #[test]
    fn looking_again_makes_the_tree_equal_to_the_disk() {
        let directory = TempDir::new().expect("a directory");
        let root = directory.path();
        write(root, "a/b/c.md", "1");
        write(root, "a/d.md", "1");
        write(root, ".git/config", "1");
        let mut tree = Tree::default();
        let found = tree.rescan(root, &mut |_| {});
        assert_eq!((found.changes.len(), found.appeared.len(), tree.files()), (2, 3, 2));

        write(root, "a/d.md", "22");
        assert_eq!(check(&mut tree, root, "a/d.md").changes.len(), 1);
        assert_eq!(check(&mut tree, root, "a/d.md").changes.len(), 0, "nothing new");
        write(root, "new/x/y.md", "1");
        let found = check(&mut tree, root, "new");
        assert_eq!((found.changes.len(), found.appeared.len()), (1, 2));
        fs::rename(root.join("a"), root.join("z")).expect("a rename");
        check_both(&mut tree, root, &["a", "z"]);
        fs::remove_dir_all(root.join("z")).expect("a removal");
        assert_eq!(check(&mut tree, root, "z").changes.len(), 2);
        write(root, "new/x.md", "1");
        check(&mut tree, root, "new/x.md");
        assert_eq!(tree.clear().changes.len(), 2);
    }

    fn check_both(tree: &mut Tree, root: &Path, places: &[&str]) {
        for place in places {
            tree.look_at(root, Path::new(place), &mut |_| {});
        }
        let mut fresh = Tree::default();
        fresh.rescan(root, &mut |_| {});
        assert_eq!(*tree, fresh);
    }

    #[test]
    fn a_file_in_place_of_a_directory_and_back() {
        let directory = TempDir::new().expect("a directory");
        let root = directory.path();
        write(root, "a/b.md", "1");
        let mut tree = Tree::default();
        tree.rescan(root, &mut |_| {});
        fs::remove_dir_all(root.join("a")).expect("a removal");
        fs::write(root.join("a"), "now a file").expect("a file");
        check(&mut tree, root, "a");
        fs::remove_file(root.join("a")).expect("a removal");
        write(root, "a/b.md", "1");
        check(&mut tree, root, "a");
    }

    #[test]
    fn temp_files_and_links_are_passed_over() {
        let directory = TempDir::new().expect("a directory");
        let root = directory.path();
        write(root, ".trellis-00000000-0000000000000000.vtmp", "1");
        std::os::unix::fs::symlink("/", root.join("link")).expect("a link");
        let mut tree = Tree::default();
        assert_eq!(tree.rescan(root, &mut |_| {}).changes, []);
    }
}
