//! A root, opened as a directory once; files and listings below it.
//!
//! Relative paths come in, bytes and names go out. Everything is opened relative to the handle, so
//! nothing outside is ever reached, whatever happens to the names meanwhile. Only regular files are
//! read, and never more of them than was asked for.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{Read, Seek};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
#[cfg(target_os = "linux")]
use rustix::io::ReadWriteFlags;

use super::confine::{Confinement, open_subdirectory, read_error, read_error_from_io};
use super::{Digest, DirectoryEntry, EntryKind, FileContent, FileStamp, ReadError, RelativePath, SymlinkPolicy};

/// Larger files are not read inline.
const INLINE_READ_BYTES: u64 = 64 << 10;

/// How often a file is read again because it changed under our hands.
const MAX_REREADS: usize = 4;

/// A directory that nothing opened through it can leave.
#[derive(Debug)]
pub struct RootDir {
    directory: File,
    confinement: Confinement,
}

/// A regular file, open for reading.
#[derive(Debug)]
pub struct OpenFile {
    pub(super) file: File,
    pub(super) stamp: FileStamp,
}

impl RootDir {
    /// Opens a directory; links on the way to it are followed.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        #[cfg(target_os = "linux")]
        let access = OFlags::PATH;
        #[cfg(not(target_os = "linux"))]
        let access = OFlags::RDONLY;
        let opened = openat(CWD, path, access | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let directory = opened.map_err(|errno| no_tree(read_error(errno)))?;
        let confinement = Confinement::detect(directory.as_fd());
        Ok(Self { directory: directory.into(), confinement })
    }

    /// Device and inode: the same directory has the same, whatever it is called.
    pub fn directory_id(&self) -> Result<(u64, u64), ReadError> {
        let here = self.directory.metadata().map_err(|error| read_error_from_io(&error))?;
        Ok((here.dev(), here.ino()))
    }

    /// Whether the path leads to this very directory now.
    pub(super) fn is_still_at(&self, path: &Path) -> Result<bool, ReadError> {
        let there = std::fs::metadata(path).map_err(|error| no_tree(read_error_from_io(&error)))?;
        Ok((there.dev(), there.ino()) == self.directory_id()?)
    }

    /// The directory itself, open so that it can be listed and flushed.
    pub(super) fn handle(&self) -> Result<OwnedFd, ReadError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(&self.directory, ".", flags, Mode::empty()).map_err(read_error)
    }

    /// The directory to which these names lead, open so that it can be listed and flushed; links are refused.
    pub(super) fn open_directory<'a>(&self, mut names: impl Iterator<Item = &'a str>) -> Result<OwnedFd, ReadError> {
        names.try_fold(self.handle()?, |parent, name| open_subdirectory(parent.as_fd(), OsStr::new(name)))
    }

    /// Opens a regular file.
    pub fn open_file(&self, path: &RelativePath, links: SymlinkPolicy) -> Result<OpenFile, ReadError> {
        let (file, metadata) = self.opened(path, links)?;
        match () {
            () if metadata.is_file() => Ok(OpenFile { file, stamp: FileStamp::of(&metadata) }),
            () if metadata.is_dir() => Err(ReadError::IsDirectory),
            () => Err(ReadError::NotRegular),
        }
    }

    /// Lists one level, in the directory's own order; `None` is the root itself.
    pub fn list(&self, path: Option<&RelativePath>, links: SymlinkPolicy) -> Result<Vec<DirectoryEntry>, ReadError> {
        let mut listed = entries(self.directory_at(path, links)?).map_err(read_error)?;
        if links == SymlinkPolicy::FollowInsideTree {
            for (entry, kind) in listed.iter_mut().filter(|(_, kind)| kind.is_none()) {
                let way = match path {
                    Some(path) => path.join(&entry.name),
                    None => RelativePath::from_components(&entry.name),
                };
                *kind = way.and_then(|way| self.kind(&way));
            }
        }
        Ok(listed.into_iter().filter_map(|(entry, kind)| Some(DirectoryEntry { kind: kind?, ..entry })).collect())
    }

    /// The regular files and the directories of one level, each with its state; links are left out.
    pub(super) fn list_with_stamps(
        &self,
        path: Option<&RelativePath>,
        links: SymlinkPolicy,
    ) -> Result<Vec<(DirectoryEntry, FileStamp)>, ReadError> {
        let directory = self.directory_at(path, links)?;
        let listed = entries(directory.try_clone().map_err(|error| read_error_from_io(&error))?).map_err(read_error)?;
        let mut states = Vec::with_capacity(listed.len());
        for (entry, kind) in listed {
            let Some(kind) = kind else { continue };
            match statat(&directory, &*entry.name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => states.push((DirectoryEntry { kind, ..entry }, FileStamp::of_stat(&stat))),
                // It went meanwhile, or its name is no text.
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(read_error(errno)),
            }
        }
        Ok(states)
    }

    fn directory_at(&self, path: Option<&RelativePath>, links: SymlinkPolicy) -> Result<OwnedFd, ReadError> {
        let Some(path) = path else { return self.handle() };
        let (file, metadata) = self.opened(path, links)?;
        match () {
            () if metadata.is_dir() => Ok(file.into()),
            () if metadata.is_file() => Err(ReadError::IsFile),
            () => Err(ReadError::NotRegular),
        }
    }

    /// What a link leads to, if that is in the same tree.
    fn kind(&self, path: &RelativePath) -> Option<EntryKind> {
        let (_, metadata) = self.opened(path, SymlinkPolicy::FollowInsideTree).ok()?;
        match () {
            () if metadata.is_dir() => Some(EntryKind::Directory),
            () if metadata.is_file() => Some(EntryKind::File),
            () => None,
        }
    }

    fn opened(&self, path: &RelativePath, links: SymlinkPolicy) -> Result<(File, Metadata), ReadError> {
        let opened = match self.confinement.open(self.directory.as_fd(), path) {
            Err(ReadError::SymlinkRefused) if links == SymlinkPolicy::FollowInsideTree => {
                self.confinement.open(self.directory.as_fd(), &self.without_links(path)?)
            }
            opened => opened,
        };
        let file = File::from(opened?);
        let metadata = file.metadata().map_err(|error| read_error_from_io(&error))?;
        Ok((file, metadata))
    }

    /// The way by which a path is really reached, if links on it may be followed. What is opened or written
    /// there refuses links again, so that one that is swapped meanwhile leads nowhere.
    pub fn resolve_links(&self, path: &RelativePath, links: SymlinkPolicy) -> Result<RelativePath, ReadError> {
        match self.confinement.open(self.directory.as_fd(), path) {
            Err(ReadError::SymlinkRefused) if links == SymlinkPolicy::FollowInsideTree => self.without_links(path),
            _ => Ok(path.clone()),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "it is opened below the handle afterwards, without links")]
    fn without_links(&self, path: &RelativePath) -> Result<RelativePath, ReadError> {
        let here =
            self.own_path().and_then(|here| std::fs::canonicalize(here).map_err(|error| read_error_from_io(&error)))?;
        let there = here.join(path.as_path());
        let real = match (std::fs::canonicalize(&there), there.parent().zip(there.file_name())) {
            // A new file in a directory that is reached by a link.
            (Err(error), Some((parent, name)))
                if error.kind() == std::io::ErrorKind::NotFound && std::fs::symlink_metadata(&there).is_err() =>
            {
                std::fs::canonicalize(parent).map(|parent| parent.join(name))
            }
            (real, _) => real,
        };
        let real = real.map_err(|error| read_error_from_io(&error))?;
        let inside = real.strip_prefix(&here).map_err(|_| ReadError::OutsideTree)?;
        inside.to_str().and_then(RelativePath::from_components).ok_or(ReadError::IsDirectory)
    }

    /// Where the directory is now.
    #[cfg(target_os = "linux")]
    fn own_path(&self) -> Result<PathBuf, ReadError> {
        Ok(PathBuf::from(format!("/proc/self/fd/{}", self.directory.as_raw_fd())))
    }

    /// Where the directory is now.
    #[cfg(target_os = "macos")]
    fn own_path(&self) -> Result<PathBuf, ReadError> {
        let path = rustix::fs::getpath(&self.directory).map_err(read_error)?;
        path.into_string().map(PathBuf::from).map_err(|_| ReadError::SymlinkRefused)
    }

    /// Where the directory is now: this system does not say, so no link is followed.
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    fn own_path(&self) -> Result<PathBuf, ReadError> {
        Err(ReadError::SymlinkRefused)
    }
}

/// For the root itself, nothing there means that there is no tree. A circle of links is nothing, too.
fn no_tree(read_error: ReadError) -> ReadError {
    if matches!(read_error, ReadError::Missing | ReadError::SymlinkRefused) {
        ReadError::TreeMissing
    } else {
        read_error
    }
}

/// Everything in a directory; for links, what they are is left open, and special files are left out.
fn entries(directory: OwnedFd) -> Result<Vec<(DirectoryEntry, Option<EntryKind>)>, Errno> {
    let mut directory = Dir::new(directory)?;
    let mut entries = Vec::new();
    while let Some(entry) = directory.next().transpose()? {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            // Some file systems do not say it in the listing.
            match statat(directory.fd()?, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => kind = FileType::from_raw_mode(stat.st_mode),
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(errno),
            }
        }
        let kind = match kind {
            FileType::Directory => Some(EntryKind::Directory),
            FileType::RegularFile => Some(EntryKind::File),
            FileType::Symlink => None,
            _ => continue,
        };
        let name = name.to_string_lossy().into_owned();
        entries.push((DirectoryEntry { name, kind: kind.unwrap_or(EntryKind::File) }, kind));
    }
    Ok(entries)
}

impl OpenFile {
    /// Which file it is, and in which state it was when it was opened.
    pub fn stamp(&self) -> FileStamp {
        self.stamp
    }

    /// Time since its content changed; a moment in the future counts as none.
    pub fn age(&self) -> Duration {
        let changed = self.file.metadata().and_then(|metadata| metadata.modified());
        changed.ok().and_then(|changed| changed.elapsed().ok()).unwrap_or_default()
    }

    /// Reads all of it, unless it is or becomes larger than the limit. A file that is written while
    /// we read is read again, so that no half of an old text is joined to half of a new one.
    pub fn read(mut self, limit: u64) -> Result<FileContent, ReadError> {
        let mut seen = self.read_once(limit)?;
        for _ in 1..MAX_REREADS {
            let now = FileStamp::of(&self.file.metadata().map_err(|error| read_error_from_io(&error))?);
            if now == seen.stamp {
                break;
            }
            self.stamp = now;
            seen = self.read_once(limit)?;
        }
        Ok(seen)
    }

    /// The digest of all of it, and in which state it was; nothing is kept of it.
    pub fn digest(&mut self) -> Result<(Digest, FileStamp), ReadError> {
        for _ in 0..MAX_REREADS {
            self.file.rewind().map_err(|error| read_error_from_io(&error))?;
            let digest = Digest::read(&mut self.file).map_err(|error| read_error_from_io(&error))?;
            let now = FileStamp::of(&self.file.metadata().map_err(|error| read_error_from_io(&error))?);
            if std::mem::replace(&mut self.stamp, now) == now {
                return Ok((digest, now));
            }
        }
        Err(ReadError::Io("it keeps changing while it is read".to_owned()))
    }

    /// Reads what is between two places in it, as far as it goes.
    pub fn read_range(&self, start: u64, end: u64) -> Result<Vec<u8>, ReadError> {
        let length = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match self.file.read_at(&mut bytes[filled..], start + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(read_error_from_io(&error)),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// The identity that goes with the bytes is older than they are: a change in between is noticed.
    fn read_once(&mut self, limit: u64) -> Result<FileContent, ReadError> {
        let size = self.stamp.size;
        if size > limit {
            return Err(ReadError::TooLarge { size, limit });
        }
        // The size is only what it was a moment ago: one byte more tells a file that outgrew the limit.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
        self.file.rewind().map_err(|error| read_error_from_io(&error))?;
        let read = (&self.file).take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| read_error_from_io(&error))?;
        match bytes.len() as u64 {
            size if size > limit => Err(ReadError::TooLarge { size, limit }),
            _ => Ok(FileContent { bytes, stamp: self.stamp }),
        }
    }
}

impl OpenFile {
    /// Reads all of it, if it is small and in memory. None: that takes more than a moment.
    pub fn read_from_page_cache(self, limit: u64) -> Option<Result<FileContent, ReadError>> {
        let stamp = self.stamp;
        if stamp.size > limit.min(INLINE_READ_BYTES) {
            return None;
        }
        let bytes = self.read_range_from_page_cache(0, stamp.size + 1)?;
        let is_same = self.file.metadata().is_ok_and(|now| FileStamp::of(&now) == stamp);
        (is_same && bytes.len() as u64 == stamp.size).then_some(Ok(FileContent { bytes, stamp }))
    }

    /// Reads what is between two places in it, as far as it goes, if that is in memory.
    #[cfg(target_os = "linux")]
    pub fn read_range_from_page_cache(&self, start: u64, end: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).ok()?];
        let slices = &mut [std::io::IoSliceMut::new(&mut bytes)];
        match rustix::io::preadv2(&self.file, slices, start, ReadWriteFlags::NOWAIT) {
            Ok(read) => {
                // Less than that, and only a piece of it was in memory.
                let whole = end.min(self.stamp.size).saturating_sub(start);
                bytes.truncate(read);
                (read as u64 >= whole).then_some(bytes)
            }
            // File systems that cannot tell are in memory themselves, or lie above one that mostly is.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.read_range(start, end).ok(),
            Err(_) => None,
        }
    }

    /// Reads what is between two places in it, if that is in memory. Here nobody can tell.
    #[cfg(not(target_os = "linux"))]
    pub fn read_range_from_page_cache(&self, _: u64, _: u64) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use tempfile::TempDir;

    use super::*;

    /// A tree with one of everything, and a secret beside it.
    fn tree() -> TempDir {
        let home = TempDir::new().expect("a temporary directory");
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("tree/a/b")).expect("directories");
        fs::create_dir(at("outside")).expect("a directory");
        fs::write(at("outside/secret"), "secret").expect("a file");
        fs::write(at("outside/other"), "secret").expect("a file");
        fs::write(at("tree/a/b/deep.md"), "deep").expect("a file");
        fs::write(at("tree/a/file.md"), "file").expect("a file");
        fs::write(at("tree/empty"), "").expect("a file");
        symlink("file.md", at("tree/a/link.md")).expect("a link");
        symlink(at("outside/secret"), at("tree/leak.md")).expect("a link");
        symlink("../outside", at("tree/out")).expect("a link");
        symlink("a", at("tree/in")).expect("a link");
        symlink("nowhere", at("tree/dangling")).expect("a link");
        symlink("circle", at("tree/circle")).expect("a link");
        rustix::fs::mkfifoat(CWD, at("tree/fifo"), Mode::RWXU).expect("a fifo");
        drop(UnixListener::bind(at("tree/socket")).expect("a socket"));
        home
    }

    fn root(home: &TempDir, confinement: Confinement) -> RootDir {
        RootDir { confinement, ..RootDir::open(&home.path().join("tree")).expect("the root opens") }
    }

    fn path(text: &str) -> RelativePath {
        RelativePath::parse(text).expect("a path")
    }

    fn check(text: &str, expected: Result<&str, ReadError>) {
        let home = tree();
        for confinement in Confinement::all() {
            let file = root(&home, confinement).open_file(&path(text), SymlinkPolicy::Refuse);
            let seen = file.and_then(|file| file.read(100)).map(|file| file.bytes);
            assert_eq!(seen, expected.clone().map(|text| text.as_bytes().to_vec()), "{text} {confinement:?}");
        }
    }

    fn check_list(text: Option<&str>, expected: Result<&[&str], ReadError>) {
        let home = tree();
        for confinement in Confinement::all() {
            let listed = root(&home, confinement).list(text.map(path).as_ref(), SymlinkPolicy::Refuse);
            let seen = listed.map(|mut entries| {
                entries.sort_by(|one, other| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
                entries.into_iter().map(|entry| entry.name).collect()
            });
            let expected = expected.clone().map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>());
            assert_eq!(seen, expected, "{text:?} {confinement:?}");
        }
    }

    #[test]
    fn only_regular_files_below_the_root_are_read() {
        check("a/file.md", Ok("file"));
        check("a/b/deep.md", Ok("deep"));
        check("empty", Ok(""));
        check("none.md", Err(ReadError::Missing));
        check("none/none.md", Err(ReadError::Missing));
        check("a/file.md/none.md", Err(ReadError::Missing));
        check("a/file.md/none/none.md", Err(ReadError::Missing));
        check(&"x".repeat(300), Err(ReadError::Missing));
        check(&format!("{}/x", "x".repeat(300)), Err(ReadError::Missing));
        check("a", Err(ReadError::IsDirectory));
        check("fifo", Err(ReadError::NotRegular));
        check("fifo/x", Err(ReadError::Missing));
        check("socket", Err(ReadError::NotRegular));
    }

    #[test]
    fn links_are_refused_wherever_they_stand_and_lead() {
        for link in ["leak.md", "a/link.md", "out", "in", "dangling", "circle"] {
            check(link, Err(ReadError::SymlinkRefused));
        }
        for through in ["out/secret", "in/file.md", "in/b/deep.md", "dangling/x", "circle/x", "a/link.md/x"] {
            check(through, Err(ReadError::SymlinkRefused));
        }
    }

    #[test]
    fn links_that_stay_in_the_tree_may_be_followed() {
        let home = tree();
        symlink("a/new.md", home.path().join("tree/new.md")).expect("a link");
        for confinement in Confinement::all() {
            let root = root(&home, confinement);
            let read = |text: &str| {
                root.open_file(&path(text), SymlinkPolicy::FollowInsideTree)?.read(100).map(|seen| seen.bytes)
            };
            for inside in ["a/link.md", "in/link.md", "in/file.md", "a/file.md"] {
                assert_eq!(read(inside), Ok(b"file".to_vec()), "{inside}");
            }
            for outside in ["leak.md", "out/secret", "out"] {
                assert_eq!(read(outside), Err(ReadError::OutsideTree), "{outside}");
            }
            assert_eq!(read("dangling"), Err(ReadError::Missing));
            assert_eq!(read("circle"), Err(ReadError::SymlinkRefused));
            let real = |text: &str| {
                root.resolve_links(&path(text), SymlinkPolicy::FollowInsideTree).map(|real| real.as_str().to_owned())
            };
            assert_eq!(real("in/b/none.md"), Ok("a/b/none.md".to_owned()));
            assert_eq!(real("out/none.md"), Err(ReadError::OutsideTree));
            assert_eq!(real("new.md"), Err(ReadError::Missing), "a link is not what is written");
            let mut names: Vec<String> = root
                .list(None, SymlinkPolicy::FollowInsideTree)
                .expect("a listing")
                .into_iter()
                .map(|entry| entry.name)
                .collect();
            names.sort();
            assert_eq!(names, ["a", "empty", "in"]);
        }
    }

    #[test]
    fn listings_show_files_and_directories_alone() {
        check_list(None, Ok(&["a", "empty"]));
        check_list(Some("a"), Ok(&["b", "file.md"]));
        check_list(Some("a/b"), Ok(&["deep.md"]));
        check_list(Some("a/file.md"), Err(ReadError::IsFile));
        check_list(Some("a/file.md/x"), Err(ReadError::Missing));
        check_list(Some("none"), Err(ReadError::Missing));
        check_list(Some("fifo"), Err(ReadError::NotRegular));
        check_list(Some("out"), Err(ReadError::SymlinkRefused));
        check_list(Some("in/b"), Err(ReadError::SymlinkRefused));
        check_list(Some("dangling"), Err(ReadError::SymlinkRefused));
    }

    #[test]
    fn a_name_that_is_no_text_is_shown_as_far_as_it_is() {
        let home = TempDir::new().expect("a temporary directory");
        // Some file systems take only UTF-8; there, nothing is to be seen.
        let made = fs::write(home.path().join(OsStr::from_bytes(b"a\xff.md")), "").is_ok();
        let listed = RootDir::open(home.path()).and_then(|root| root.list(None, SymlinkPolicy::Refuse));
        let entry = DirectoryEntry { name: "a\u{fffd}.md".to_owned(), kind: EntryKind::File };
        assert_eq!(listed, Ok(if made { vec![entry] } else { Vec::new() }));
    }

    #[test]
    fn a_file_over_the_limit_is_not_read() {
        let home = tree();
        let file =
            || root(&home, Confinement::Walk).open_file(&path("a/file.md"), SymlinkPolicy::Refuse).expect("a file");
        assert_eq!(file().read(4).map(|seen| seen.bytes), Ok(b"file".to_vec()));
        assert_eq!(file().read(3), Err(ReadError::TooLarge { size: 4, limit: 3 }));
        let growing = file();
        fs::write(home.path().join("tree/a/file.md"), "x".repeat(100)).expect("a longer file");
        assert_eq!(growing.read(50), Err(ReadError::TooLarge { size: 51, limit: 50 }));
    }

    #[test]
    fn a_file_that_changed_since_it_was_opened_is_read_as_it_is() {
        let home = tree();
        let root = root(&home, Confinement::Walk);
        let file = root.open_file(&path("a/file.md"), SymlinkPolicy::Refuse).expect("a file");
        let opened = file.stamp();
        fs::write(home.path().join("tree/a/file.md"), "longer").expect("a longer file");
        let seen = file.read(100).expect("its bytes");
        assert_eq!(seen.bytes, b"longer");
        assert_ne!(seen.stamp, opened);
        let again = root.open_file(&path("a/file.md"), SymlinkPolicy::Refuse).expect("a file");
        assert_eq!(again.stamp(), seen.stamp);
    }

    #[test]
    fn a_root_may_be_reached_through_links_and_must_be_a_directory() {
        let home = tree();
        let open = |name: &str| RootDir::open(&home.path().join(name));
        assert!(open("tree/in").is_ok());
        assert_eq!(open("none").err(), Some(ReadError::TreeMissing));
        assert_eq!(open("tree/empty").err(), Some(ReadError::TreeMissing));
        assert_eq!(open("tree/dangling").err(), Some(ReadError::TreeMissing));
        assert_eq!(open("tree/circle").err(), Some(ReadError::TreeMissing));
    }

    /// Somebody swaps a directory, and a file, for links to the outside as fast as the system can.
    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_from_outside_is_read_while_links_are_swapped_in() {
        use std::sync::atomic::{AtomicBool, Ordering};
        use std::time::{Duration, Instant};

        use rustix::fs::{RenameFlags, renameat_with};

        let home = tree();
        let at = |name: &str| home.path().join("tree").join(name);
        fs::create_dir(at("flip")).expect("a directory");
        fs::write(at("flip/secret"), "inside").expect("a file");
        fs::write(at("leaf"), "inside").expect("a file");
        let over = AtomicBool::new(false);
        let started = Instant::now();
        let is_late = || started.elapsed() > Duration::from_secs(20);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) && !is_late() {
                    for (one, other) in [("flip", "out"), ("leaf", "leak.md")] {
                        renameat_with(CWD, at(one), CWD, at(other), RenameFlags::EXCHANGE).expect("an exchange");
                    }
                }
            });
            for confinement in Confinement::all() {
                let root = root(&home, confinement);
                let enough = Instant::now() + Duration::from_millis(500);
                let (mut read, mut refused) = (0, 0);
                while Instant::now() < enough || read == 0 || refused == 0 {
                    assert!(!is_late(), "{read} read, {refused} refused, {confinement:?}");
                    for name in ["flip/secret", "leaf"] {
                        match root.open_file(&path(name), SymlinkPolicy::Refuse).and_then(|file| file.read(100)) {
                            Ok(file) => {
                                assert_eq!(file.bytes, b"inside", "{confinement:?}");
                                read += 1;
                            }
                            Err(ReadError::SymlinkRefused | ReadError::Io(_)) => refused += 1,
                            Err(other) => panic!("{other:?} {confinement:?}"),
                        }
                    }
                    match root.list(Some(&path("flip")), SymlinkPolicy::Refuse) {
                        Ok(entries) => assert_eq!(entries.len(), 1, "{confinement:?}"),
                        Err(read_error) => assert!(
                            matches!(read_error, ReadError::SymlinkRefused | ReadError::Io(_)),
                            "{read_error:?}"
                        ),
                    }
                }
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}
