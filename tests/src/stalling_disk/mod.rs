//! A disk that hangs, crawls or fails on demand: a FUSE file system over a directory, and rules for what goes wrong in it.
//!
//! It is mounted in a mount namespace of its own, which the calling thread, and every program that it starts from then
//! on, live in. So no other program ever sees the mount, and it is gone with the last of them, however they end.

/// What goes wrong, for whom.
mod faults;

/// The file system itself.
mod passthrough;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use faults::Faults;
pub use faults::{Fault, Operation};
use passthrough::Passthrough;

/// Threads that answer the kernel. None of them ever waits.
const SERVER_THREADS: usize = 2;

/// A mounted disk. It answers as the directory below it does, until a rule says otherwise.
#[derive(Debug)]
pub struct StallingDisk {
    mount_point: PathBuf,
    faults: Arc<Faults>,
    _session: BackgroundSession,
}

impl StallingDisk {
    /// Mounts a disk over an existing directory; its files are those of `backing`. None, and a loud word, where this
    /// system does not let us: such a test shows nothing there.
    pub fn mount(mount_point: &Path, backing: &Path) -> Option<Self> {
        Self::try_mount(mount_point, backing)
            .inspect_err(|why| eprintln!("\n*** NOT TESTED: a disk that hangs cannot be had here: {why} ***\n"))
            .ok()
    }

    fn try_mount(mount_point: &Path, backing: &Path) -> std::io::Result<Self> {
        unshare(CloneFlags::CLONE_NEWNS)?;
        let nothing: Option<&str> = None;
        // What is mounted here is not to be seen where we came from.
        mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)?;
        let faults = Arc::new(Faults::default());
        let file_system = Passthrough::new(backing.to_owned(), Arc::clone(&faults));
        let mut config = Config::default();
        config.mount_options =
            vec![MountOption::FSName("stalling".to_owned()), MountOption::DefaultPermissions, MountOption::RW];
        config.acl = SessionACL::All;
        config.n_threads = Some(SERVER_THREADS);
        let session = Session::new(file_system, mount_point, &config)?.spawn()?;
        Ok(Self { mount_point: mount_point.to_owned(), faults, _session: session })
    }

    /// From now on these operations go wrong for everything below a path; the root is the empty path.
    pub fn set(&self, below: &str, operations: &[Operation], fault: Fault) {
        self.faults.set(below.into(), operations.to_vec(), fault);
    }

    /// Nothing is answered any more.
    pub fn hang(&self) {
        self.set("", &Operation::ALL, Fault::Hung);
    }

    /// Everything works again, and whoever hung goes on.
    pub fn heal(&self) {
        self.faults.heal();
    }

    /// How many operations hang now.
    pub fn hanging(&self) -> usize {
        self.faults.hanging()
    }
}

impl Drop for StallingDisk {
    fn drop(&mut self) {
        // Whoever hangs in it could not even be killed.
        self.faults.heal();
        let _ = umount2(&self.mount_point, MntFlags::MNT_DETACH);
    }
}
