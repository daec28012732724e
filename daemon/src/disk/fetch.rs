//! How a read request is fetched: a request comes in; the content, or why it could not be read, goes out.
//!
//! An inline attempt touches only directories on local disks that were read before, and reads only what is in the page
//! cache; as soon as more is needed it is refused, its results are dropped, and the same request runs on the blocking
//! pool. An unverified read takes a cached model whose file changed a moment ago, although timestamps are coarse: if
//! the call replaces that very file the displaced bytes are compared anyway, else it is planned again.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::confine::read_error_from_io;
use super::half_written::EDITOR_WAIT_STEPS;
use super::writer::AtomicWriter;
use super::{
    DirectoryEntry, DiskWork, Disks, EntryKind, FileContent, FileKey, FileModel, FileStamp, FilesInTree, FirstExisting,
    LoadedModel, ModelCache, ModelInTree, OpenFile, PathExists, ReadDirectory, ReadError, ReadFile, ReadFileModel,
    ReadFilesInTree, ReadFirstFile, ReadModelsInTree, RecoveryWait, RelativePath, ResolvedPath, RootDir, RootDirCache,
    SymlinkPolicy, TreeIsSymlink, TreeLocation,
};
use crate::projects::{ProjectRegistry, SessionDirectories};

/// A request to the disk, and what it gives.
pub trait DiskRequest {
    type Output;

    fn read(self, disk: &DiskReader<'_>) -> Self::Output;
}

/// Reads users' files on behalf of one session.
#[derive(Debug, Clone)]
pub struct DiskReader<'a> {
    pub roots: &'a RootDirCache,
    pub models: &'a ModelCache,
    pub projects: &'a ProjectRegistry,
    pub session: SessionDirectories<'a>,
    pub mode: ReadMode<'a>,
    /// Trees that must be waited for, if there are any.
    pub recovery: Option<RecoveryWait<'a>>,
    pub disks: &'a Disks,
    /// Where the call works, if others must know.
    pub work: Option<&'a DiskWork>,
    /// Knows which files are our own work.
    pub writer: Option<&'a AtomicWriter>,
}

/// How a read may behave.
#[derive(Debug, Clone, Copy)]
pub enum ReadMode<'a> {
    Blocking,
    Inline(&'a InlineAttempt),
    /// Cached models may be used before they are compared.
    Unverified(&'a UnverifiedReads),
}

/// An attempt that must not block.
#[derive(Debug, Default)]
pub struct InlineAttempt {
    refused: Cell<bool>,
}

impl InlineAttempt {
    pub fn is_refused(&self) -> bool {
        self.refused.get()
    }

    /// Refuses the attempt. The error stands for a result that nobody gets to see.
    pub fn refuse(&self) -> ReadError {
        self.refused.set(true);
        ReadError::Io("it would block".to_owned())
    }
}

/// Files whose cached models were used before they were compared.
#[derive(Debug, Default)]
pub struct UnverifiedReads(RefCell<Vec<FileKey>>);

impl UnverifiedReads {
    /// Whether every one of them is compared when these files are replaced.
    pub fn all_replaced(&self, replaced: &[FileKey]) -> bool {
        self.0.borrow().iter().all(|name| replaced.contains(name))
    }
}

impl<'a> DiskReader<'a> {
    /// The attempt that must not block, if this is one.
    pub fn inline(&self) -> Option<&'a InlineAttempt> {
        match self.mode {
            ReadMode::Inline(inline) => Some(inline),
            ReadMode::Blocking | ReadMode::Unverified(_) => None,
        }
    }

    /// Goes on only where waiting is allowed.
    pub(super) fn require_blocking(&self) -> Result<(), ReadError> {
        self.inline().map_or(Ok(()), |inline| Err(inline.refuse()))
    }

    /// Goes on in a directory where waiting is allowed, or where nothing will be waited for.
    pub fn require_local(&self, directory: &Path) -> Result<(), ReadError> {
        match self.inline() {
            Some(inline) if !self.disks.is_local(directory) => Err(inline.refuse()),
            Some(_) => Ok(()),
            None => {
                self.enter(directory)?;
                self.disks.record_if_local(directory);
                Ok(())
            }
        }
    }

    /// Goes on in a directory unless it is known not to answer.
    pub(super) fn enter(&self, directory: &Path) -> Result<(), ReadError> {
        self.work.map_or(Ok(()), |work| work.enter(directory))
    }

    fn open_root(&self, place: &TreeLocation) -> Result<Arc<RootDir>, ReadError> {
        let tree = self.tree(place)?;
        self.require_local(&tree)?;
        self.require_recovered(&tree)?;
        self.roots.open(&tree)
    }

    /// Goes on in a tree in which no write of an earlier daemon is left half done.
    pub fn require_recovered(&self, tree: &Path) -> Result<(), ReadError> {
        let Some(recovery) = &self.recovery else { return Ok(()) };
        let is_recovered = match self.inline() {
            Some(inline) if recovery.is_recovering(tree) => return Err(inline.refuse()),
            Some(_) => true,
            None => recovery.wait_for_tree(tree),
        };
        if is_recovered { Ok(()) } else { Err(ReadError::Io("it is not recovered yet".to_owned())) }
    }

    /// The file, its root, and the name by which it was found.
    fn open(&self, file: &ReadFile) -> Result<(OpenFile, Arc<RootDir>, RelativePath), ReadError> {
        let root = self.open_root(&file.place)?;
        let mut steps = EDITOR_WAIT_STEPS;
        match self.open_settled(&root, &file.path, file.links, &mut steps) {
            Err(ReadError::Missing) => {
                self.require_blocking()?;
                let path = root.find_equivalent_name(&file.path, file.links).ok_or(ReadError::Missing)?;
                Ok((self.open_settled(&root, &path, file.links, &mut steps)?, root, path))
            }
            opened => Ok((opened?, root, file.path.clone())),
        }
    }
}

impl DiskRequest for ReadFile {
    type Output = Result<FileContent, ReadError>;

    fn read(self, disk: &DiskReader<'_>) -> Self::Output {
        let file = disk.open(&self)?.0;
        match disk.inline() {
            Some(inline) => file.read_from_page_cache(self.size_limit).unwrap_or_else(|| Err(inline.refuse())),
            None => file.read(self.size_limit),
        }
    }
}

impl DiskRequest for ReadFirstFile {
    /// Which of the files, and what was seen of it.
    type Output = (usize, Result<FileContent, ReadError>);

    fn read(self, disk: &DiskReader<'_>) -> Self::Output {
        let mut first = (0, Err(ReadError::Missing));
        for (which, file) in self.0.into_iter().enumerate() {
            first = (which, file.read(disk));
            if !matches!(first.1, Err(ReadError::Missing | ReadError::IsDirectory | ReadError::NotRegular)) {
                break;
            }
        }
        first
    }
}

impl<M: FileModel> DiskRequest for ReadFileModel<M> {
    type Output = Result<LoadedModel<M>, ReadError>;

    fn read(self, disk: &DiskReader<'_>) -> Self::Output {
        let (file, root, path) = disk.open(&self.file)?;
        let (device, inode) = root.directory_id()?;
        let name = (device, inode, path);
        match disk.mode {
            ReadMode::Inline(inline) => {
                disk.models.get_small_proven(&name, file.stamp()).ok_or_else(|| inline.refuse())
            }
            ReadMode::Unverified(UnverifiedReads(unverified))
                if let Some(model) = disk.models.get_by_stamp(&name, file.stamp()) =>
            {
                unverified.borrow_mut().push(name);
                Ok(model)
            }
            ReadMode::Blocking | ReadMode::Unverified(_) => disk.models.load(&name, file, self.file.size_limit),
        }
    }
}

impl<M: FileModel> DiskRequest for ReadModelsInTree<M> {
    type Output = Result<Vec<ModelInTree<M>>, ReadError>;

    fn read(self, disk: &DiskReader<'_>) -> Self::Output {
        self.walk(disk, |_, _| ())
    }
}

impl<M: FileModel> DiskRequest for ReadFilesInTree<M> {
    type Output = Result<FilesInTree<M>, ReadError>;

    fn read(self, disk: &DiskReader<'_>) -> Self::Output {
        let mut others = Vec::new();
        let models = self.0.walk(disk, |path, stamp| others.push((path, stamp)))?;
        others.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(FilesInTree { models, others })
    }
}

impl<M: FileModel> ReadModelsInTree<M> {
    /// The models; files that are not wanted go elsewhere, as they are.
    fn walk(
        self,
        disk: &DiskReader<'_>,
        mut other: impl FnMut(RelativePath, FileStamp),
    ) -> Result<Vec<ModelInTree<M>>, ReadError> {
        disk.require_blocking()?;
        let root = disk.open_root(&self.place)?;
        let start = self.path.as_ref().map(|path| root.resolve_links(path, self.links)).transpose()?;
        let (device, inode) = root.directory_id()?;
        let mut below = Vec::new();
        let mut steps = EDITOR_WAIT_STEPS;
        let mut ahead = vec![(start, String::new(), 1)];
        while let Some((directory, way, level)) = ahead.pop() {
            let states = match root.list_with_stamps(directory.as_ref(), self.links) {
                // What went meanwhile, or may not be seen, hides only itself.
                Err(_) if level > 1 => continue,
                states => states?,
            };
            for (entry, stamp) in states.into_iter().filter(|(entry, _)| !entry.name.starts_with('.')) {
                let path = match &directory {
                    Some(directory) => directory.join(&entry.name),
                    None => RelativePath::from_components(&entry.name),
                };
                let Some(path) = path else { continue };
                let way = if way.is_empty() { entry.name } else { format!("{way}/{}", entry.name) };
                match entry.kind {
                    EntryKind::Directory if level < self.depth => ahead.push((Some(path), way, level + 1)),
                    EntryKind::Directory => {}
                    EntryKind::File if !(self.wanted)(&way) => other(path, stamp),
                    EntryKind::File => {
                        let name = (device, inode, path);
                        let known = disk.models.get_proven(&name, stamp).map(Ok);
                        let seen = known.unwrap_or_else(|| {
                            let file = disk.open_settled(&root, &name.2, SymlinkPolicy::Refuse, &mut steps)?;
                            disk.models.load(&name, file, self.size_limit)
                        });
                        if seen.as_ref().err() != Some(&ReadError::Missing) {
                            below.push(ModelInTree { path: name.2, seen });
                        }
                    }
                }
            }
        }
        below.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(below)
    }
}

impl DiskRequest for FirstExisting {
    type Output = Option<ResolvedPath>;

    fn read(self, disk: &DiskReader<'_>) -> Self::Output {
        for (which, path) in self.0.iter().enumerate() {
            disk.require_local(path.parent().unwrap_or(path)).ok()?;
            if fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink()) {
                // It may lead to another disk.
                disk.require_blocking().ok()?;
            }
            if path.exists() {
                return Some(ResolvedPath { which, file: real(path) });
            }
        }
        None
    }
}

/// The directory that really holds something, and its name there.
#[expect(clippy::disallowed_methods, reason = "what is named by its whole path has no root to be opened below")]
fn real(path: &Path) -> Result<(TreeLocation, RelativePath), ReadError> {
    let real = fs::canonicalize(path).map_err(|error| read_error_from_io(&error))?;
    let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else { return Err(ReadError::IsDirectory) };
    let name = name.to_str().and_then(RelativePath::from_components);
    let name = name.ok_or_else(|| ReadError::Io("its name is no text".to_owned()))?;
    Ok((TreeLocation::Fixed(parent.to_owned()), name))
}

impl DiskRequest for PathExists {
    type Output = bool;

    fn read(self, disk: &DiskReader<'_>) -> bool {
        let directory = self.0.parent().unwrap_or(&self.0);
        disk.require_blocking().is_ok() && disk.enter(directory).is_ok() && fs::symlink_metadata(&self.0).is_ok()
    }
}

impl DiskRequest for TreeIsSymlink {
    type Output = Result<bool, ReadError>;

    fn read(self, disk: &DiskReader<'_>) -> Self::Output {
        disk.require_blocking()?;
        Ok(fs::symlink_metadata(disk.tree(&self.0)?).is_ok_and(|tree| tree.is_symlink()))
    }
}

impl DiskRequest for ReadDirectory {
    type Output = Result<Vec<DirectoryEntry>, ReadError>;

    fn read(self, disk: &DiskReader<'_>) -> Self::Output {
        disk.require_blocking()?;
        let root = disk.open_root(&self.place)?;
        match (root.list(self.path.as_ref(), self.links), &self.path) {
            (Err(ReadError::Missing), Some(path)) => {
                let path = root.find_equivalent_name(path, self.links).ok_or(ReadError::Missing)?;
                root.list(Some(&path), self.links)
            }
            (listed, _) => listed,
        }
    }
}

#[cfg(test)]
pub(crate) struct TestDisk(RootDirCache, ModelCache, ProjectRegistry, Disks);

#[cfg(test)]
impl Default for TestDisk {
    fn default() -> Self {
        Self(RootDirCache::default(), ModelCache::default(), ProjectRegistry::new(None), Disks::default())
    }
}

#[cfg(test)]
impl TestDisk {
    pub(crate) fn reader<'a>(&'a self, session: SessionDirectories<'a>) -> DiskReader<'a> {
        DiskReader {
            roots: &self.0,
            models: &self.1,
            projects: &self.2,
            session,
            mode: ReadMode::Blocking,
            recovery: None,
            disks: &self.3,
            work: None,
            writer: None,
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use tempfile::TempDir;

    use super::*;
    use crate::projects::{Interface, NotAProject, ProjectError, ProjectSelector};

    fn home() -> TempDir {
        let home = TempDir::new().expect("a temporary directory");
        for name in ["near/vault", "project/vault", "project/.git", "project/bare", "bare"] {
            fs::create_dir_all(home.path().join(name)).expect("a directory");
        }
        fs::write(home.path().join("near/vault/\u{304b}\u{3099}.md"), "near").expect("a file");
        fs::write(home.path().join("project/vault/\u{304c}.md"), "project").expect("a file");
        home
    }

    /// Looks from a directory for a file, and for the listing in which it must be.
    fn check(place: impl Fn(&Path) -> TreeLocation, directory: &str, expected: Result<&str, ReadError>) {
        let home = home();
        let (disk, directory) = (TestDisk::default(), home.path().join(directory));
        let disk = disk.reader(SessionDirectories { directory: Some(&directory), ..SessionDirectories::default() });
        let place = place(home.path());
        let path = RelativePath::parse("\u{304c}.md").expect("a path");
        let file = ReadFile { place: place.clone(), path, links: SymlinkPolicy::Refuse, size_limit: 100 }.read(&disk);
        let listing = ReadDirectory { place, path: None, links: SymlinkPolicy::Refuse }.read(&disk);
        assert_eq!(file.map(|file| file.bytes), expected.clone().map(|text| text.as_bytes().to_vec()));
        assert_eq!(listing.map(|entries| entries.len()), expected.map(|_| 1));
    }

    /// What a request reads from the home directory.
    fn seen<R: DiskRequest>(home: &TempDir, request: R) -> R::Output {
        let session = SessionDirectories { directory: Some(home.path()), ..SessionDirectories::default() };
        request.read(&TestDisk::default().reader(session))
    }

    #[test]
    fn an_inline_attempt_sees_what_was_read_before_and_nothing_else() {
        let home = TempDir::new().expect("a temporary directory");
        let real = fs::canonicalize(home.path()).expect("its own path");
        let file = real.join("file");
        fs::write(&file, "one").expect("a file");
        fs::write(real.join("large"), vec![b'x'; 100_000]).expect("a file");
        std::os::unix::fs::symlink("file", real.join("link")).expect("a link");
        let test_disk = TestDisk::default();
        let disk = test_disk.reader(SessionDirectories::default());
        let at = |name: &str| {
            let place = TreeLocation::Fixed(real.clone());
            ReadFile { place, path: path(name), links: SymlinkPolicy::Refuse, size_limit: 1 << 20 }
        };
        /// What an inline attempt reads; none if it would block.
        fn read_inline<R: DiskRequest>(request: R, disk: &DiskReader<'_>) -> Option<R::Output> {
            let inline = InlineAttempt::default();
            let seen = request.read(&DiskReader { mode: ReadMode::Inline(&inline), ..disk.clone() });
            (!inline.is_refused()).then_some(seen)
        }
        let words = |seen: Result<LoadedModel<Words>, ReadError>| seen.expect("a model").model.0.clone();
        assert!(read_inline(at("file"), &disk).is_none(), "nobody knows yet whether the disk is local");
        assert!(read_inline(FirstExisting(vec![file.clone()]), &disk).is_none());
        assert_eq!(at("file").read(&disk).expect("a file").bytes, b"one");
        assert!(read_inline(at("file"), &disk).is_none(), "an editor may be at work");
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(9);
        let age = || fs::File::options().write(true).open(&file).expect("a file").set_modified(old).expect("a time");
        age();
        assert_eq!(read_inline(at("file"), &disk).expect("in memory").expect("a file").bytes, b"one");
        assert!(read_inline(at("large"), &disk).is_none(), "too large to be read inline");
        assert!(read_inline(at("\u{304c}"), &disk).is_none(), "another spelling must be looked for");
        assert_eq!(
            read_inline(FirstExisting(vec![real.join("none"), file.clone()]), &disk).flatten().expect("there").which,
            1
        );
        assert!(
            read_inline(FirstExisting(vec![real.join("link")]), &disk).is_none(),
            "a link may lead to another disk"
        );
        assert!(
            read_inline(
                ReadDirectory { place: TreeLocation::Fixed(real.clone()), path: None, links: SymlinkPolicy::Refuse },
                &disk
            )
            .is_none()
        );
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(read_inline(ReadFileModel::<Words>::of(at("file")), &disk).is_none(), "nobody has made a model of it");
        assert_eq!(words(ReadFileModel::of(at("file")).read(&disk)), "one");
        assert_eq!(words(read_inline(ReadFileModel::of(at("file")), &disk).expect("a model is there")), "one");
        fs::write(&file, "two").expect("a file");
        age();
        assert!(read_inline(ReadFileModel::<Words>::of(at("file")), &disk).is_none(), "the model is not of this text");
        assert_eq!(words(ReadFileModel::of(at("file")).read(&disk)), "two");
    }

    fn path(text: &str) -> RelativePath {
        RelativePath::parse(text).expect("a path")
    }

    #[derive(Debug)]
    struct Words(String);

    impl FileModel for Words {
        fn read(bytes: &[u8]) -> Self {
            Self(String::from_utf8_lossy(bytes).into_owned())
        }

        fn memory_bytes(&self) -> usize {
            self.0.len()
        }
    }

    #[test]
    fn models_of_a_directory_come_sorted_and_without_what_is_hidden_or_linked() {
        let home = TempDir::new().expect("a temporary directory");
        for name in ["tree/b/c", "tree/.hidden", "tree/d"] {
            fs::create_dir_all(home.path().join(name)).expect("a directory");
        }
        for name in ["a.md", "b/c/deep.md", "b/x.md", "b/x.txt", ".a.md", ".hidden/a.md", "d/y.md"] {
            fs::write(home.path().join("tree").join(name), name).expect("a file");
        }
        std::os::unix::fs::symlink("a.md", home.path().join("tree/link.md")).expect("a link");
        std::os::unix::fs::symlink("b", home.path().join("tree/linked")).expect("a link");
        let check = |directory: Option<&str>, depth: usize, expected: Result<&[&str], ReadError>| {
            let place = TreeLocation::Fixed(home.path().join("tree"));
            let below = ReadModelsInTree::<Words>::new(place, directory.map(path), |name| name.ends_with(".md"), 100);
            let found = seen(&home, below.max_depth(depth)).map(|below| {
                let word = |below: &ModelInTree<Words>| below.seen.as_ref().expect("a model").model.0.clone();
                assert!(below.iter().all(|below| word(below) == below.path.as_str()), "{below:?}");
                below.iter().map(word).collect::<Vec<_>>()
            });
            assert_eq!(found, expected.map(|names| names.iter().map(ToString::to_string).collect()));
        };
        check(None, 1, Ok(&["a.md"]));
        check(None, 2, Ok(&["a.md", "b/x.md", "d/y.md"]));
        check(None, 9, Ok(&["a.md", "b/c/deep.md", "b/x.md", "d/y.md"]));
        check(Some("b"), 9, Ok(&["b/c/deep.md", "b/x.md"]));
        check(Some("linked"), 1, Ok(&["b/x.md"]));
        check(Some("none"), 1, Err(ReadError::Missing));
        let place = TreeLocation::Fixed(home.path().join("tree"));
        let below = ReadModelsInTree::<Words>::new(place, None, |name| name.ends_with(".md"), 100).max_depth(9);
        fs::write(home.path().join("tree/b/a.png"), b"\xff").expect("a file");
        std::os::unix::fs::symlink("x.txt", home.path().join("tree/b/link.txt")).expect("a link");
        let files = seen(&home, ReadFilesInTree(below)).expect("a tree");
        let others: Vec<(&str, u64)> = files.others.iter().map(|(path, state)| (path.as_str(), state.size)).collect();
        assert_eq!((files.models.len(), others), (4, vec![("b/a.png", 1), ("b/x.txt", 7)]));
    }

    #[test]
    fn the_first_file_that_is_there_is_seen() {
        let home = TempDir::new().expect("a temporary directory");
        fs::create_dir(home.path().join("directory")).expect("a directory");
        fs::write(home.path().join("file"), "x").expect("a file");
        fs::write(home.path().join("large"), "xxxxxxxxx").expect("a file");
        let check = |names: &[&str], which: usize, expected: Result<&str, ReadError>| {
            let place = TreeLocation::Fixed(home.path().to_owned());
            let file = |name: &&str| ReadFile {
                place: place.clone(),
                path: path(name),
                links: SymlinkPolicy::FollowInsideTree,
                size_limit: 8,
            };
            let found = seen(&home, ReadFirstFile(names.iter().map(file).collect()));
            let text = found.1.map(|file| String::from_utf8(file.bytes).expect("text"));
            assert_eq!((found.0, text), (which, expected.map(str::to_owned)), "{names:?}");
        };
        check(&["none", "directory", "file", "large"], 2, Ok("x"));
        check(&["large", "file"], 0, Err(ReadError::TooLarge { size: 9, limit: 8 }));
        check(&["none", "directory"], 1, Err(ReadError::IsDirectory));
        check(&["directory", "none"], 1, Err(ReadError::Missing));
        check(&[], 0, Err(ReadError::Missing));
    }

    #[test]
    fn a_tree_that_is_a_link_is_told_apart() {
        let home = home();
        std::os::unix::fs::symlink("near", home.path().join("link")).expect("a link");
        std::os::unix::fs::symlink("nowhere", home.path().join("dangling")).expect("a link");
        for (name, expected) in [("near", false), ("link", true), ("dangling", true), ("none", false)] {
            assert_eq!(seen(&home, TreeIsSymlink(TreeLocation::Fixed(home.path().join(name)))), Ok(expected), "{name}");
            let below = in_project_as(name.into(), ProjectSelector::Session);
            assert_eq!(seen(&home, TreeIsSymlink(below)), Ok(expected), "{name}");
        }
        let foreign = in_project_as("x".into(), ProjectSelector::Named("/".into()));
        assert!(matches!(seen(&home, TreeIsSymlink(foreign)), Err(ReadError::NoProject(_))));
    }

    #[test]
    fn the_first_path_at_which_something_is_leads_to_the_real_file() {
        let home = TempDir::new().expect("a temporary directory");
        let real = fs::canonicalize(home.path()).expect("its own path");
        fs::create_dir_all(home.path().join("store")).expect("a directory");
        fs::write(home.path().join("store/file"), "x").expect("a file");
        std::os::unix::fs::symlink("store/file", home.path().join("link")).expect("a link");
        std::os::unix::fs::symlink("nowhere", home.path().join("dangling")).expect("a link");
        let check = |names: &[&str], expected: Option<(usize, &str, &str)>| {
            let found = seen(&home, FirstExisting(names.iter().map(|name| home.path().join(name)).collect()));
            let expected = expected.map(|(which, place, name)| ResolvedPath {
                which,
                file: Ok((TreeLocation::Fixed(real.join(place)), path(name))),
            });
            assert_eq!(found.map(|found| (found.which, found.file)), expected.map(|found| (found.which, found.file)));
        };
        check(&["none", "link", "store"], Some((1, "store", "file")));
        check(&["dangling", "store"], Some((1, "", "store")));
        check(&["none", "dangling"], None);
        assert!(seen(&home, PathExists(home.path().join("dangling"))));
        assert!(!seen(&home, PathExists(home.path().join("none"))));
    }

    fn in_project(unless: Option<PathBuf>) -> TreeLocation {
        let links = SymlinkPolicy::FollowInsideTree;
        TreeLocation::InProject { unless, project: ProjectSelector::Session, below: PathBuf::from("vault"), links }
    }

    fn in_project_as(below: PathBuf, project: ProjectSelector) -> TreeLocation {
        TreeLocation::InProject { unless: None, project, below, links: SymlinkPolicy::FollowInsideTree }
    }

    #[test]
    fn a_place_is_found_when_it_is_asked_for() {
        check(|home| TreeLocation::Fixed(home.join("near/vault")), "bare", Ok("near"));
        check(|home| TreeLocation::Fixed(home.join("none")), "bare", Err(ReadError::TreeMissing));
        check(|home| in_project(Some(home.join("near/vault"))), "project", Ok("near"));
        check(|home| in_project(Some(home.join("none"))), "project/bare", Ok("project"));
        check(|_| in_project(None), "near", Ok("near"));
        check(|_| in_project(None), "bare", Err(ReadError::TreeMissing));
        let nowhere = ProjectError { door: Interface::Stdio, named: None, why: NotAProject::NotThere };
        check(|_| in_project(None), "gone", Err(ReadError::NoProject(Box::new(nowhere))));
    }
}
