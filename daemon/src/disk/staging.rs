//! Where temp files lie: in a directory of ours if the target is on the same file system, else beside the target.
//!
//! Same file system means that the rename worked. Where it did not, for a bind mount or a subvolume, and where a new file
//! would not inherit what its directory hands down, the temp file lies beside its target. In our own directory a few
//! empty files wait, whose names are on the disk already: so a write flushes no directory for its temp file.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dashmap::DashSet;
use parking_lot::Mutex;
use rustix::process::Gid;
use serde::{Deserialize, Serialize};

use super::staged_file::{TempFile, WriteError};
use super::syscalls::{WriteSyscalls, extended_attribute};
use super::{DaemonId, RootDir, TempName};
use crate::state_files;

const STAGING_DIRECTORY: &str = "staging";
/// The file with the directories in which temp files lay beside their targets.
const BESIDE_FILE: &str = "beside";
/// Ends a path in it: the only byte that no path holds.
const PATH_END: u8 = 0;
const MAX_BESIDE_DIRECTORIES: usize = 10_000;
/// Empty files that are kept ready at most: one at first, and twice as many whenever none was left.
const MAX_SPARE_FILES: usize = 32;
const SET_GROUP_ID: u32 = 0o2000;
/// For the owner alone; who may have the file in the end is set later.
const PRIVATE_MODE: u32 = 0o600;
/// What a directory's default ACL is applied to, instead of a umask.
const INHERITED_MODE: u32 = 0o666;
const DEFAULT_ACL: &str = "system.posix_acl_default";
const SECURITY_LABEL: &str = "security.selinux";

/// Where a temp file lies, as the journal records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StagedIn {
    /// In the staging directory.
    Staging,
    /// In the directory of its target.
    Beside,
}

/// A tree, and a file system in it.
type TreeDevice = ((u64, u64), u64);

/// A temp file that can be written, and what is special about it.
#[derive(Debug)]
pub(super) struct NewTempFile {
    pub(super) temp: TempFile,
    pub(super) file: File,
    /// Its name is on the disk.
    pub(super) name_is_synced: bool,
    /// Its mode comes from its directory.
    pub(super) inherits_mode: bool,
}

/// Empty files in the staging directory, whose names are on the disk.
#[derive(Debug, Default)]
struct Spares {
    ready: Vec<(TempName, File)>,
    wanted: usize,
}

impl Spares {
    fn take(&mut self) -> Option<(TempName, File)> {
        let spare = self.ready.pop();
        if spare.is_none() {
            self.wanted = (2 * self.wanted).clamp(1, MAX_SPARE_FILES);
        }
        spare
    }
}

/// The staging directory of one daemon.
#[derive(Debug)]
pub(super) struct StagingArea {
    pub(super) syscalls: Arc<dyn WriteSyscalls>,
    id: DaemonId,
    path: PathBuf,
    directory: Arc<OwnedFd>,
    /// None if there is no such directory, and none can be made.
    device: Option<u64>,
    security_label: Option<Vec<u8>>,
    /// Where a rename from here has failed.
    refused: DashSet<TreeDevice>,
    spares: Mutex<Spares>,
    /// Held while spares are made; false once nothing may be made any more.
    may_refill: Mutex<bool>,
    /// Directories of earlier daemons and of ours in which temp files lay.
    beside: DashSet<PathBuf>,
    registering: Mutex<()>,
}

impl StagingArea {
    /// The staging directory of a journal.
    pub(super) fn open(journal: &Path, id: DaemonId, syscalls: Arc<dyn WriteSyscalls>) -> io::Result<Self> {
        let path = journal.join(STAGING_DIRECTORY);
        let made = state_files::make_directory(&path).and_then(|()| File::open(&path));
        let device = made.as_ref().ok().and_then(|file| rustix::fs::fstat(file).ok()).map(|stat| stat.st_dev);
        let directory = OwnedFd::from(made.or_else(|_| File::open("/"))?);
        let security_label = extended_attribute(directory.as_fd(), SECURITY_LABEL);
        let listed = state_files::read_bytes(&journal.join(BESIDE_FILE)).unwrap_or_default();
        let paths = listed.split(|byte| *byte == PATH_END).filter(|path| !path.is_empty());
        let beside = paths.rev().take(MAX_BESIDE_DIRECTORIES).map(|path| OsStr::from_bytes(path).into()).collect();
        Ok(Self {
            syscalls,
            id,
            path,
            directory: Arc::new(directory),
            device,
            security_label,
            refused: DashSet::new(),
            spares: Mutex::default(),
            may_refill: Mutex::new(true),
            beside,
            registering: Mutex::default(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Directories in which temp files may lie after a crash.
    pub(super) fn beside_directories(&self) -> Vec<PathBuf> {
        self.beside.iter().map(|directory| directory.clone()).collect()
    }

    /// Where a temp file lies that an earlier daemon has recorded.
    pub(super) fn locate(&self, name: TempName, staged_in: StagedIn, parent: &Arc<OwnedFd>) -> TempFile {
        let directory = match staged_in {
            StagedIn::Staging => &self.directory,
            StagedIn::Beside => parent,
        };
        TempFile { directory: Arc::clone(directory), name, staged_in }
    }

    /// A temp file for a target in this directory of a tree, which has this path.
    pub(super) fn new_file(
        self: &Arc<Self>,
        root: &RootDir,
        (parent, path): (&Arc<OwnedFd>, &Path),
        is_new: bool,
    ) -> Result<NewTempFile, WriteError> {
        let inherits_mode = is_new && extended_attribute(parent.as_fd(), DEFAULT_ACL).is_some();
        if !inherits_mode
            && let Some(group) = self.group_for(root, parent, is_new)?
            && let Some(staged) = self.new_staged_file(group)?
        {
            return Ok(staged);
        }
        self.register_beside(path).map_err(WriteError::Unrecorded)?;
        let name = self.id.new_temp_name();
        let mode = if inherits_mode { INHERITED_MODE } else { PRIVATE_MODE };
        let file =
            self.syscalls.create(parent.as_fd(), name.as_os_str(), mode).map_err(|error| match error.kind() {
                // The directory was taken away since we opened it, perhaps by whoever had made it.
                io::ErrorKind::NotFound => WriteError::Changed,
                _ => error.into(),
            })?;
        let temp = self.locate(name, StagedIn::Beside, parent);
        Ok(NewTempFile { temp, file, name_is_synced: false, inherits_mode })
    }

    /// No rename between here and this tree: its temp files lie beside their targets from now on.
    pub(super) fn refuse(&self, root: &RootDir, parent: &OwnedFd) {
        if let (Ok(tree), Ok(stat)) = (root.directory_id(), rustix::fs::fstat(parent)) {
            self.refused.insert((tree, stat.st_dev));
        }
    }

    /// Removes what is kept ready; nothing is made afterwards.
    pub(super) fn close(&self) {
        *self.may_refill.lock() = false;
        for (name, _) in self.spares.lock().ready.drain(..) {
            let _ = self.syscalls.remove(self.directory.as_fd(), name.as_os_str());
        }
    }

    /// The group that a file would get in this directory, if it may be staged here at all.
    fn group_for(&self, root: &RootDir, parent: &OwnedFd, is_new: bool) -> Result<Option<Option<Gid>>, WriteError> {
        let stat = rustix::fs::fstat(parent).map_err(io::Error::from)?;
        let is_refused = !self.refused.is_empty() && self.refused.contains(&(root.directory_id()?, stat.st_dev));
        if self.device != Some(stat.st_dev) || is_refused {
            return Ok(None);
        }
        if is_new && self.security_label != extended_attribute(parent.as_fd(), SECURITY_LABEL) {
            return Ok(None);
        }
        let hands_group_down = stat.st_mode & SET_GROUP_ID != 0 || cfg!(not(target_os = "linux"));
        Ok(Some(hands_group_down.then(|| Gid::from_raw(stat.st_gid))))
    }

    /// None where the file cannot get the group, or where there is no staging directory any more.
    fn new_staged_file(self: &Arc<Self>, group: Option<Gid>) -> io::Result<Option<NewTempFile>> {
        let spare = {
            let mut spares = self.spares.lock();
            let spare = spares.take();
            if spares.ready.len() <= spares.wanted / 2 {
                let this = Arc::clone(self);
                super::writer::run_in_background(move || this.refill());
            }
            spare
        };
        let name_is_synced = spare.is_some();
        let (name, file) = match spare.map_or_else(|| self.create_here(), Ok) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            created => created?,
        };
        let temp = TempFile { directory: Arc::clone(&self.directory), name, staged_in: StagedIn::Staging };
        let is_other = |gid: &Gid| rustix::fs::fstat(&file).is_ok_and(|stat| stat.st_gid != gid.as_raw());
        if let Some(gid) = group.filter(is_other)
            && rustix::fs::fchown(&file, None, Some(gid)).is_err()
        {
            let _ = self.syscalls.remove(self.directory.as_fd(), temp.name.as_os_str());
            return Ok(None);
        }
        Ok(Some(NewTempFile { temp, file, name_is_synced, inherits_mode: false }))
    }

    fn create_here(&self) -> io::Result<(TempName, File)> {
        let name = self.id.new_temp_name();
        let file = self.syscalls.create(self.directory.as_fd(), name.as_os_str(), PRIVATE_MODE)?;
        Ok((name, file))
    }

    /// Makes spares. Whatever goes wrong here, a write without a spare will find out for itself.
    fn refill(&self) {
        let may_refill = self.may_refill.lock();
        let missing = {
            let spares = self.spares.lock();
            spares.wanted.saturating_sub(spares.ready.len())
        };
        if !*may_refill || missing == 0 {
            return;
        }
        let made: Vec<_> = (0..missing).map_while(|_| self.create_here().ok()).collect();
        match self.syscalls.fsync_directory(self.directory.as_fd()) {
            Ok(()) => self.spares.lock().ready.extend(made),
            Err(_) => made.into_iter().for_each(|(name, _)| {
                let _ = self.syscalls.remove(self.directory.as_fd(), name.as_os_str());
            }),
        }
    }

    /// Before the first temp file lies in a user's directory, its path is noted: the sweep after a crash looks there
    /// and nowhere else.
    fn register_beside(&self, directory: &Path) -> io::Result<()> {
        if self.beside.contains(directory) {
            return Ok(());
        }
        let _one = self.registering.lock();
        let mut list = state_files::open_append(&self.path.with_file_name(BESIDE_FILE))?;
        list.write_all(&[directory.as_os_str().as_bytes(), &[PATH_END]].concat())?;
        self.beside.insert(directory.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::disk::syscalls::OsSyscalls;

    #[test]
    fn the_next_daemon_looks_where_temp_files_lay_whatever_the_path() {
        let home = TempDir::new().expect("a directory");
        let open = || StagingArea::open(home.path(), DaemonId::random(), Arc::new(OsSyscalls)).expect("it opens");
        let odd = Path::new(OsStr::from_bytes(b"/home/caf\xe9\n/x"));
        open().register_beside(odd).expect("it is noted");
        open().register_beside(Path::new("/home/ada")).expect("it is noted");
        let mut noted = open().beside_directories();
        noted.sort();
        assert_eq!(noted, [Path::new("/home/ada"), odd]);
    }
}
