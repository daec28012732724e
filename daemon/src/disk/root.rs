//! A root, opened as a directory once; files and listings below it.
//!
//! Relative paths come in, bytes and names go out. Everything is opened relative to the handle, so
//! nothing outside is ever reached, whatever happens to the names meanwhile. Only regular files are
//! read, and never more of them than was asked for.

use std::fs::{File, Metadata};
use std::io::{Read, Seek};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::confine::{Confinement, unseen, unseen_io};
use super::{Digest, RelativePath};
use crate::families::need::{Entry, EntryKind, FileSeen, Links, Unseen};

/// How often a file is read again because it changed under our hands.
const READS: usize = 4;

/// A directory that nothing opened through it can leave.
#[derive(Debug)]
pub struct Root {
    directory: File,
    confinement: Confinement,
}

/// Which file, in which state. A file whose identity is the same has the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The file system.
    pub device: u64,
    /// The file in it.
    pub inode: u64,
    /// In bytes.
    pub size: u64,
    /// When its content changed last.
    pub modified_ns: i128,
    /// When anything about it changed last; catches what keeps the other one.
    pub changed_ns: i128,
}

/// A regular file, open for reading.
#[derive(Debug)]
pub struct OpenFile {
    pub(super) file: File,
    pub(super) identity: Identity,
}

impl Root {
    /// Opens a directory; links on the way to it are followed.
    pub fn open(path: &Path) -> Result<Self, Unseen> {
        #[cfg(target_os = "linux")]
        let access = OFlags::PATH;
        #[cfg(not(target_os = "linux"))]
        let access = OFlags::RDONLY;
        let opened = openat(CWD, path, access | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let directory = opened.map_err(|errno| no_tree(unseen(errno)))?;
        let confinement = Confinement::here(directory.as_fd());
        Ok(Self { directory: directory.into(), confinement })
    }

    /// Device and inode: the same directory has the same, whatever it is called.
    pub fn number(&self) -> Result<(u64, u64), Unseen> {
        let here = self.directory.metadata().map_err(|error| unseen_io(&error))?;
        Ok((here.dev(), here.ino()))
    }

    /// Whether the path leads to this very directory now.
    pub(super) fn is_at(&self, path: &Path) -> Result<bool, Unseen> {
        let there = std::fs::metadata(path).map_err(|error| no_tree(unseen_io(&error)))?;
        Ok((there.dev(), there.ino()) == self.number()?)
    }

    /// The directory itself, open so that it can be listed and flushed.
    pub(super) fn handle(&self) -> Result<OwnedFd, Unseen> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(&self.directory, ".", flags, Mode::empty()).map_err(unseen)
    }

    /// Opens a regular file.
    pub fn open_file(&self, path: &RelativePath, links: Links) -> Result<OpenFile, Unseen> {
        let (file, metadata) = self.opened(path, links)?;
        match () {
            () if metadata.is_file() => Ok(OpenFile { file, identity: Identity::of(&metadata) }),
            () if metadata.is_dir() => Err(Unseen::IsDirectory),
            () => Err(Unseen::Special),
        }
    }

    /// Lists one level, in the directory's own order; `None` is the root itself.
    pub fn list(&self, path: Option<&RelativePath>, links: Links) -> Result<Vec<Entry>, Unseen> {
        let mut listed = entries(self.directory_at(path, links)?).map_err(unseen)?;
        if links == Links::Inside {
            for (entry, kind) in listed.iter_mut().filter(|(_, kind)| kind.is_none()) {
                let way = match path {
                    Some(path) => path.join(&entry.name),
                    None => RelativePath::of_names(&entry.name),
                };
                *kind = way.and_then(|way| self.kind(&way));
            }
        }
        Ok(listed.into_iter().filter_map(|(entry, kind)| Some(Entry { kind: kind?, ..entry })).collect())
    }

    /// The regular files and the directories of one level, each with its state; links are left out.
    pub(super) fn states(&self, path: Option<&RelativePath>, links: Links) -> Result<Vec<(Entry, Identity)>, Unseen> {
        let directory = self.directory_at(path, links)?;
        let listed = entries(directory.try_clone().map_err(|error| unseen_io(&error))?).map_err(unseen)?;
        let mut states = Vec::with_capacity(listed.len());
        for (entry, kind) in listed {
            let Some(kind) = kind else { continue };
            match statat(&directory, &*entry.name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => states.push((Entry { kind, ..entry }, Identity::of_stat(&stat))),
                // It went meanwhile, or its name is no text.
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(unseen(errno)),
            }
        }
        Ok(states)
    }

    fn directory_at(&self, path: Option<&RelativePath>, links: Links) -> Result<OwnedFd, Unseen> {
        let Some(path) = path else { return self.handle() };
        let (file, metadata) = self.opened(path, links)?;
        match () {
            () if metadata.is_dir() => Ok(file.into()),
            () if metadata.is_file() => Err(Unseen::IsFile),
            () => Err(Unseen::Special),
        }
    }

    /// What a link leads to, if that is in the same tree.
    fn kind(&self, path: &RelativePath) -> Option<EntryKind> {
        let (_, metadata) = self.opened(path, Links::Inside).ok()?;
        match () {
            () if metadata.is_dir() => Some(EntryKind::Directory),
            () if metadata.is_file() => Some(EntryKind::File),
            () => None,
        }
    }

    fn opened(&self, path: &RelativePath, links: Links) -> Result<(File, Metadata), Unseen> {
        let opened = match self.confinement.open(self.directory.as_fd(), path) {
            Err(Unseen::Link) if links == Links::Inside => {
                self.confinement.open(self.directory.as_fd(), &self.without_links(path)?)
            }
            opened => opened,
        };
        let file = File::from(opened?);
        let metadata = file.metadata().map_err(|error| unseen_io(&error))?;
        Ok((file, metadata))
    }

    /// The way by which a path is really reached, if links on it may be followed. What is opened or written
    /// there refuses links again, so that one that is swapped meanwhile leads nowhere.
    pub fn real(&self, path: &RelativePath, links: Links) -> Result<RelativePath, Unseen> {
        match self.confinement.open(self.directory.as_fd(), path) {
            Err(Unseen::Link) if links == Links::Inside => self.without_links(path),
            _ => Ok(path.clone()),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "it is opened below the handle afterwards, without links")]
    fn without_links(&self, path: &RelativePath) -> Result<RelativePath, Unseen> {
        let here = self.own_path().and_then(|here| std::fs::canonicalize(here).map_err(|error| unseen_io(&error)))?;
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
        let real = real.map_err(|error| unseen_io(&error))?;
        let inside = real.strip_prefix(&here).map_err(|_| Unseen::Outside)?;
        inside.to_str().and_then(RelativePath::of_names).ok_or(Unseen::IsDirectory)
    }

    /// Where the directory is now.
    #[cfg(target_os = "linux")]
    fn own_path(&self) -> Result<PathBuf, Unseen> {
        Ok(PathBuf::from(format!("/proc/self/fd/{}", self.directory.as_raw_fd())))
    }

    /// Where the directory is now.
    #[cfg(target_os = "macos")]
    fn own_path(&self) -> Result<PathBuf, Unseen> {
        let path = rustix::fs::getpath(&self.directory).map_err(unseen)?;
        path.into_string().map(PathBuf::from).map_err(|_| Unseen::Link)
    }

    /// Where the directory is now: this system does not say, so no link is followed.
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    fn own_path(&self) -> Result<PathBuf, Unseen> {
        Err(Unseen::Link)
    }
}

/// For the root itself, nothing there means that there is no tree. A circle of links is nothing, too.
fn no_tree(unseen: Unseen) -> Unseen {
    if matches!(unseen, Unseen::Missing | Unseen::Link) { Unseen::NoTree } else { unseen }
}

/// Everything in a directory; for links, what they are is left open, and special files are left out.
fn entries(directory: OwnedFd) -> Result<Vec<(Entry, Option<EntryKind>)>, Errno> {
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
        entries.push((Entry { name, kind: kind.unwrap_or(EntryKind::File) }, kind));
    }
    Ok(entries)
}

impl OpenFile {
    /// Which file it is, and in which state it was when it was opened.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Time since its content changed; a moment in the future counts as none.
    pub fn age(&self) -> Duration {
        let changed = self.file.metadata().and_then(|metadata| metadata.modified());
        changed.ok().and_then(|changed| changed.elapsed().ok()).unwrap_or_default()
    }

    /// Reads all of it, unless it is or becomes larger than the limit. A file that is written while
    /// we read is read again, so that no half of an old text is joined to half of a new one.
    pub fn read(mut self, limit: u64) -> Result<FileSeen, Unseen> {
        let mut seen = self.read_once(limit)?;
        for _ in 1..READS {
            let now = Identity::of(&self.file.metadata().map_err(|error| unseen_io(&error))?);
            if now == seen.identity {
                break;
            }
            self.identity = now;
            seen = self.read_once(limit)?;
        }
        Ok(seen)
    }

    /// The digest of all of it, and in which state it was; nothing is kept of it.
    pub fn digest(&mut self) -> Result<(Digest, Identity), Unseen> {
        for _ in 0..READS {
            self.file.rewind().map_err(|error| unseen_io(&error))?;
            let digest = Digest::read(&mut self.file).map_err(|error| unseen_io(&error))?;
            let now = Identity::of(&self.file.metadata().map_err(|error| unseen_io(&error))?);
            if std::mem::replace(&mut self.identity, now) == now {
                return Ok((digest, now));
            }
        }
        Err(Unseen::Failed("it keeps changing while it is read".to_owned()))
    }

    /// Reads what is between two places in it, as far as it goes.
    pub fn read_part(&self, start: u64, end: u64) -> Result<Vec<u8>, Unseen> {
        let length = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match self.file.read_at(&mut bytes[filled..], start + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unseen_io(&error)),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// The identity that goes with the bytes is older than they are: a change in between is noticed.
    fn read_once(&mut self, limit: u64) -> Result<FileSeen, Unseen> {
        let size = self.identity.size;
        if size > limit {
            return Err(Unseen::TooLarge { size, limit });
        }
        // The size is only what it was a moment ago: one byte more tells a file that outgrew the limit.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
        self.file.rewind().map_err(|error| unseen_io(&error))?;
        let read = (&self.file).take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| unseen_io(&error))?;
        match bytes.len() as u64 {
            size if size > limit => Err(Unseen::TooLarge { size, limit }),
            _ => Ok(FileSeen { bytes, identity: self.identity }),
        }
    }
}

impl Identity {
    /// From what the system says about a file.
    pub fn of(metadata: &Metadata) -> Self {
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// The same, where the file was not opened.
    #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
    fn of_stat(stat: &rustix::fs::Stat) -> Self {
        let nanoseconds = |seconds: i128, rest: i128| seconds * 1_000_000_000 + rest;
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            modified_ns: nanoseconds(stat.st_mtime as i128, stat.st_mtime_nsec as i128),
            changed_ns: nanoseconds(stat.st_ctime as i128, stat.st_ctime_nsec as i128),
        }
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

    fn root(home: &TempDir, confinement: Confinement) -> Root {
        Root { confinement, ..Root::open(&home.path().join("tree")).expect("the root opens") }
    }

    fn path(text: &str) -> RelativePath {
        RelativePath::parse(text).expect("a path")
    }

    fn check(text: &str, expected: Result<&str, Unseen>) {
        let home = tree();
        for confinement in Confinement::every() {
            let file = root(&home, confinement).open_file(&path(text), Links::Never);
            let seen = file.and_then(|file| file.read(100)).map(|file| file.bytes);
            assert_eq!(seen, expected.clone().map(|text| text.as_bytes().to_vec()), "{text} {confinement:?}");
        }
    }

    fn check_list(text: Option<&str>, expected: Result<&[&str], Unseen>) {
        let home = tree();
        for confinement in Confinement::every() {
            let listed = root(&home, confinement).list(text.map(path).as_ref(), Links::Never);
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
        check("none.md", Err(Unseen::Missing));
        check("none/none.md", Err(Unseen::Missing));
        check("a/file.md/none.md", Err(Unseen::Missing));
        check("a/file.md/none/none.md", Err(Unseen::Missing));
        check(&"x".repeat(300), Err(Unseen::Missing));
        check(&format!("{}/x", "x".repeat(300)), Err(Unseen::Missing));
        check("a", Err(Unseen::IsDirectory));
        check("fifo", Err(Unseen::Special));
        check("fifo/x", Err(Unseen::Missing));
        check("socket", Err(Unseen::Special));
    }

    #[test]
    fn links_are_refused_wherever_they_stand_and_lead() {
        for link in ["leak.md", "a/link.md", "out", "in", "dangling", "circle"] {
            check(link, Err(Unseen::Link));
        }
        for through in ["out/secret", "in/file.md", "in/b/deep.md", "dangling/x", "circle/x", "a/link.md/x"] {
            check(through, Err(Unseen::Link));
        }
    }

    #[test]
    fn links_that_stay_in_the_tree_may_be_followed() {
        let home = tree();
        symlink("a/new.md", home.path().join("tree/new.md")).expect("a link");
        for confinement in Confinement::every() {
            let root = root(&home, confinement);
            let read = |text: &str| root.open_file(&path(text), Links::Inside)?.read(100).map(|seen| seen.bytes);
            for inside in ["a/link.md", "in/link.md", "in/file.md", "a/file.md"] {
                assert_eq!(read(inside), Ok(b"file".to_vec()), "{inside}");
            }
            for outside in ["leak.md", "out/secret", "out"] {
                assert_eq!(read(outside), Err(Unseen::Outside), "{outside}");
            }
            assert_eq!(read("dangling"), Err(Unseen::Missing));
            assert_eq!(read("circle"), Err(Unseen::Link));
            let real = |text: &str| root.real(&path(text), Links::Inside).map(|real| real.as_str().to_owned());
            assert_eq!(real("in/b/none.md"), Ok("a/b/none.md".to_owned()));
            assert_eq!(real("out/none.md"), Err(Unseen::Outside));
            assert_eq!(real("new.md"), Err(Unseen::Missing), "a link is not what is written");
            let mut names: Vec<String> =
                root.list(None, Links::Inside).expect("a listing").into_iter().map(|entry| entry.name).collect();
            names.sort();
            assert_eq!(names, ["a", "empty", "in"]);
        }
    }

    #[test]
    fn listings_show_files_and_directories_alone() {
        check_list(None, Ok(&["a", "empty"]));
        check_list(Some("a"), Ok(&["b", "file.md"]));
        check_list(Some("a/b"), Ok(&["deep.md"]));
        check_list(Some("a/file.md"), Err(Unseen::IsFile));
        check_list(Some("a/file.md/x"), Err(Unseen::Missing));
        check_list(Some("none"), Err(Unseen::Missing));
        check_list(Some("fifo"), Err(Unseen::Special));
        check_list(Some("out"), Err(Unseen::Link));
        check_list(Some("in/b"), Err(Unseen::Link));
        check_list(Some("dangling"), Err(Unseen::Link));
    }

    #[test]
    fn a_name_that_is_no_text_is_shown_as_far_as_it_is() {
        let home = TempDir::new().expect("a temporary directory");
        // Some file systems take only UTF-8; there, nothing is to be seen.
        let made = fs::write(home.path().join(OsStr::from_bytes(b"a\xff.md")), "").is_ok();
        let listed = Root::open(home.path()).and_then(|root| root.list(None, Links::Never));
        let entry = Entry { name: "a\u{fffd}.md".to_owned(), kind: EntryKind::File };
        assert_eq!(listed, Ok(if made { vec![entry] } else { Vec::new() }));
    }

    #[test]
    fn a_file_over_the_limit_is_not_read() {
        let home = tree();
        let file = || root(&home, Confinement::Walk).open_file(&path("a/file.md"), Links::Never).expect("a file");
        assert_eq!(file().read(4).map(|seen| seen.bytes), Ok(b"file".to_vec()));
        assert_eq!(file().read(3), Err(Unseen::TooLarge { size: 4, limit: 3 }));
        let growing = file();
        fs::write(home.path().join("tree/a/file.md"), "x".repeat(100)).expect("a longer file");
        assert_eq!(growing.read(50), Err(Unseen::TooLarge { size: 51, limit: 50 }));
    }

    #[test]
    fn a_file_that_changed_since_it_was_opened_is_read_as_it_is() {
        let home = tree();
        let root = root(&home, Confinement::Walk);
        let file = root.open_file(&path("a/file.md"), Links::Never).expect("a file");
        let opened = file.identity();
        fs::write(home.path().join("tree/a/file.md"), "longer").expect("a longer file");
        let seen = file.read(100).expect("its bytes");
        assert_eq!(seen.bytes, b"longer");
        assert_ne!(seen.identity, opened);
        let again = root.open_file(&path("a/file.md"), Links::Never).expect("a file");
        assert_eq!(again.identity(), seen.identity);
    }

    #[test]
    fn a_root_may_be_reached_through_links_and_must_be_a_directory() {
        let home = tree();
        let open = |name: &str| Root::open(&home.path().join(name));
        assert!(open("tree/in").is_ok());
        assert_eq!(open("none").err(), Some(Unseen::NoTree));
        assert_eq!(open("tree/empty").err(), Some(Unseen::NoTree));
        assert_eq!(open("tree/dangling").err(), Some(Unseen::NoTree));
        assert_eq!(open("tree/circle").err(), Some(Unseen::NoTree));
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
            for confinement in Confinement::every() {
                let root = root(&home, confinement);
                let enough = Instant::now() + Duration::from_millis(500);
                let (mut read, mut refused) = (0, 0);
                while Instant::now() < enough || read == 0 || refused == 0 {
                    assert!(!is_late(), "{read} read, {refused} refused, {confinement:?}");
                    for name in ["flip/secret", "leaf"] {
                        match root.open_file(&path(name), Links::Never).and_then(|file| file.read(100)) {
                            Ok(file) => {
                                assert_eq!(file.bytes, b"inside", "{confinement:?}");
                                read += 1;
                            }
                            Err(Unseen::Link | Unseen::Failed(_)) => refused += 1,
                            Err(other) => panic!("{other:?} {confinement:?}"),
                        }
                    }
                    match root.list(Some(&path("flip")), Links::Never) {
                        Ok(entries) => assert_eq!(entries.len(), 1, "{confinement:?}"),
                        Err(unseen) => assert!(matches!(unseen, Unseen::Link | Unseen::Failed(_)), "{unseen:?}"),
                    }
                }
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}
