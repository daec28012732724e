//! Our own small files in the state and cache directories: read, replaced, appended, removed.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Makes a directory of ours, and those above it that are missing.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Opens a file that lives as long as its directory: a lock, a log.
pub(crate) fn open_append(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        make_directory(parent)?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// Puts a text in place of whatever was there.
#[expect(clippy::disallowed_methods, reason = "the one place where our own files are written")]
pub(crate) fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let parent = path.parent().ok_or_else(|| io::Error::other("a file of ours has a directory"))?;
    make_directory(parent)?;
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let written = (|| {
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&beside)?;
        file.write_all(text)?;
        fs::rename(&beside, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// The same, unless the text is there already.
pub(crate) fn replace_if_different(path: &Path, text: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == text) { Ok(()) } else { replace(path, text) }
}

/// The text of a small file of ours; `None` if there is none.
pub(crate) fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
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
    OpenOptions::new().write(true).open(path)?.set_len(length)
}

/// Removes a directory of ours with the files in it; directories in it stay, and it with them.
#[expect(clippy::disallowed_methods, reason = "the one place where our own directories are removed")]
pub(crate) fn remove_directory(path: &Path) {
    let files = fs::read_dir(path).into_iter().flatten().flatten();
    files.for_each(|file| drop(fs::remove_file(file.path())));
    let _ = fs::remove_dir(path);
}
