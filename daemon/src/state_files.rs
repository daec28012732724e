//! Our own small files in the state and cache directories: read, replaced, appended, removed.
//!
//! Whatever lies at such a place is trusted only if it is this user's own. No link is followed, no name can be
//! foreseen, and what is replaced is on the disk before anybody hears of it.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::ids;

/// Makes a directory of ours, and those above it that are missing.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Why a directory is not for us alone.
#[derive(Debug)]
pub(crate) enum DirectoryError {
    Io(io::Error),
    /// Somebody else's; the words go on after its name.
    Foreign(&'static str),
}

impl From<Errno> for DirectoryError {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// Opens a directory for us alone: made if it is missing, tightened if it is ours and open to others, refused if it
/// is another user's, or shared. Whether it was open to others comes with it.
pub(crate) fn open_private_directory(path: &Path) -> Result<(OwnedFd, bool), DirectoryError> {
    make_directory(path).map_err(DirectoryError::Io)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::LOOP | Errno::NOTDIR if path.is_symlink() => DirectoryError::Foreign("is a link"),
        errno => errno.into(),
    })?;
    let stat = rustix::fs::fstat(&directory)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(DirectoryError::Foreign("belongs to another user"));
    }
    if stat.st_mode & Mode::SVTX.as_raw_mode() != 0 {
        // Like the one for temporary files: to make it private would take it away from the others.
        return Err(DirectoryError::Foreign("is shared with other users"));
    }
    let is_open = stat.st_mode & 0o077 != 0;
    if is_open {
        rustix::fs::fchmod(&directory, Mode::RWXU)?;
    }
    Ok((directory, is_open))
}

fn without_links(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
}

/// Opens a file that lives as long as its directory: a lock, a log.
pub(crate) fn open_append(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        make_directory(parent)?;
    }
    without_links(OpenOptions::new().create(true).append(true)).open(path)
}

/// Opens a file to lock it. On a disk that cannot be written the one that is there will do, or its directory.
pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    open_append(path).or_else(|error| match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            let there = without_links(OpenOptions::new().read(true)).open(path);
            there.or_else(|_| File::open(path.parent().unwrap_or(path)))
        }
        _ => Err(error),
    })
}

/// Puts a text in place of whatever was there. It is on the disk when this returns.
pub(crate) fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let parent = put_in_place(path, text, File::sync_all)?;
    File::open(parent)?.sync_all()
}

/// The same for what can be made again: after a power cut it may be gone.
pub(crate) fn replace_unflushed(path: &Path, text: &[u8]) -> io::Result<()> {
    put_in_place(path, text, |_| Ok(())).map(drop)
}

#[expect(clippy::disallowed_methods, reason = "the one place where our own files are written")]
fn put_in_place<'a>(path: &'a Path, text: &[u8], flush: fn(&File) -> io::Result<()>) -> io::Result<&'a Path> {
    let no_place = || io::Error::other("a file of ours has a name and a directory");
    let (parent, name) = path.parent().zip(path.file_name()).ok_or_else(no_place)?;
    make_directory(parent)?;
    let mut temp = OsString::from(".");
    temp.push(name);
    temp.push(format!(".{:016x}.new", ids::random_u64()));
    let temp = parent.join(temp);
    let mut file = without_links(OpenOptions::new().create_new(true).write(true)).open(&temp)?;
    let written = file.write_all(text).and_then(|()| flush(&file)).and_then(|()| fs::rename(&temp, path));
    if written.is_err() {
        let _ = fs::remove_file(&temp);
    }
    written.map(|()| parent)
}

/// The same, unless the text is there already.
pub(crate) fn replace_if_different(path: &Path, text: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == text) { Ok(()) } else { replace_unflushed(path, text) }
}

/// The text of a small file of ours; `None` if there is none.
pub(crate) fn read(path: &Path) -> Option<String> {
    String::from_utf8(read_bytes(path).ok()?).ok()
}

/// The bytes of a file of ours. A link, or a file of another user, is none.
pub(crate) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = without_links(OpenOptions::new().read(true)).open(path)?;
    let metadata = file.metadata()?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What changes whenever somebody replaces or changes a file.
pub(crate) type StatSignature = [i64; 6];

/// The stamp of a file of ours; `None` if there is none.
pub(crate) fn stat_signature(path: &Path) -> Option<StatSignature> {
    let found = fs::metadata(path).ok()?;
    let (inode, size) = (found.ino().cast_signed(), found.size().cast_signed());
    Some([inode, size, found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()])
}

/// Removes a file of ours; that it is gone already is no error.
#[expect(clippy::disallowed_methods, reason = "the one place where our own files are removed")]
pub(crate) fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Moves a file of ours to another name of ours.
#[expect(clippy::disallowed_methods, reason = "the one place where our own files are renamed")]
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Cuts a file of ours off.
pub(crate) fn truncate(path: &Path, length: u64) -> io::Result<()> {
    without_links(OpenOptions::new().write(true)).open(path)?.set_len(length)
}

/// Removes a directory of ours with the files in it; directories in it stay, and it with them.
#[expect(clippy::disallowed_methods, reason = "the one place where our own directories are removed")]
pub(crate) fn remove_directory(path: &Path) {
    let files = fs::read_dir(path).into_iter().flatten().flatten();
    files.for_each(|file| drop(fs::remove_file(file.path())));
    let _ = fs::remove_dir(path);
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn r23_a_planted_link_leads_nowhere() {
        let home = TempDir::new().expect("a directory");
        let (victim, file) = (home.path().join("victim"), home.path().join("state/daemons"));
        fs::write(&victim, "precious").expect("a file");
        make_directory(&home.path().join("state")).expect("a directory");
        symlink(&victim, &file).expect("a link");
        symlink(&victim, file.with_extension(format!("{}.new", std::process::id()))).expect("a link");
        assert_eq!(read(&file), None);
        assert!(open_append(&file).is_err() && truncate(&file, 0).is_err());
        replace(&file, b"ours").expect("it is replaced");
        assert_eq!(
            (read(&file).as_deref(), fs::read(&victim).expect("it is there")),
            (Some("ours"), b"precious".to_vec())
        );
        let mode = fs::symlink_metadata(&file).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(home.path().join("state")).expect("listed").count(), 2, "no temp file stays");
    }
}
