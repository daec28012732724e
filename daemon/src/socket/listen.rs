//! Bind, or take over what the service manager bound.
//!
//! A fresh socket is bound under a name of its own and then renamed over the public one: a leftover
//! of a dead daemon is replaced without a gap, and only by the holder of the lock.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use interprocess::local_socket::tokio::Listener as Socket;
use interprocess::local_socket::{GenericFilePath, ListenerOptions, ToFsName as _};
use interprocess::os::unix::local_socket::ListenerOptionsExt as _;
use interprocess::os::unix::uds_local_socket::tokio::Listener as UnixSocket;
use rustix::fs::AtFlags;
use trellis_protocol::endpoint::{MAX_SOCKET_PATH_BYTES, TrellisPaths};
use trellis_protocol::{Failure, FailureKind};

use crate::state_files::{self, DirectoryError};

/// Held for the whole life of a daemon; there is one per state directory.
#[derive(Debug)]
pub struct DaemonLock {
    file: File,
    path: PathBuf,
}

impl DaemonLock {
    /// Takes the lock; `None` if another daemon holds it.
    pub fn take(path: &Path) -> Result<Option<Self>, Failure> {
        let file = state_files::open_lock(path).map_err(|error| cannot("open the lock", path, &error))?;
        let is_directory = file.metadata().is_ok_and(|metadata| metadata.is_dir());
        let held = if is_directory { path.parent().unwrap_or(path) } else { path };
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file, path: held.to_owned() })),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(cannot("take the lock", path, &error)),
        }
    }

    /// Whether the path still leads to the file that we hold.
    fn is_still_ours(&self) -> bool {
        let held = rustix::fs::fstat(&self.file).map(|stat| (stat.st_dev, stat.st_ino));
        let there = rustix::fs::stat(&self.path).map(|stat| (stat.st_dev, stat.st_ino));
        matches!((held, there), (Ok(held), Ok(there)) if held == there)
    }
}

/// A bound socket and what makes it ours.
#[derive(Debug)]
pub struct Listener {
    /// Where connections come from.
    pub socket: Socket,
    /// Where clients find it.
    pub path: PathBuf,
    lock: DaemonLock,
    note: PathBuf,
    bound: Option<BoundSocket>,
}

/// A socket that we bound ourselves.
#[derive(Debug)]
struct BoundSocket {
    directory: OwnedFd,
    name: PathBuf,
    identity: (u64, u64),
}

impl Listener {
    /// Takes over the service manager's socket if there is one, else binds our own.
    pub fn open(paths: &TrellisPaths, lock: DaemonLock, inherited: Option<OwnedFd>) -> Result<Self, Failure> {
        let listener = match inherited {
            Some(socket) => Self::inherit(paths, lock, socket)?,
            None => Self::bind(paths, lock)?,
        };
        // Only those who look elsewhere need the note.
        if let Err(error) = state_files::replace_unflushed(&listener.note, listener.path.as_os_str().as_bytes()) {
            tracing::warn!(%error, "the socket's path could not be noted");
        }
        Ok(listener)
    }

    fn inherit(paths: &TrellisPaths, lock: DaemonLock, socket: OwnedFd) -> Result<Self, Failure> {
        let path = rustix::net::getsockname(&socket)
            .ok()
            .and_then(|address| rustix::net::SocketAddrUnix::try_from(address).ok())
            .and_then(|address| Some(PathBuf::from(std::ffi::OsStr::from_bytes(address.path()?.to_bytes()))))
            .unwrap_or_else(|| paths.socket.clone());
        let socket = UnixSocket::try_from(socket).map_err(|error| cannot("use the inherited socket", &path, &error))?;
        Ok(Self { socket: socket.into(), path, lock, note: paths.socket_pointer(), bound: None })
    }

    fn bind(paths: &TrellisPaths, lock: DaemonLock) -> Result<Self, Failure> {
        let path = paths.socket.clone();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name().map(PathBuf::from)) else {
            return Err(cannot("use the socket's path", &path, &io::ErrorKind::InvalidInput.into()));
        };
        let directory = private_directory(parent)?;
        let fresh = PathBuf::from(format!(".{}.{}", name.display(), std::process::id()));
        state_files::remove(&parent.join(&fresh));
        let reachable = reachable(parent, &directory, &fresh)?;
        let socket = reachable
            .to_fs_name::<GenericFilePath>()
            .and_then(|name| ListenerOptions::new().name(name).mode(0o600).reclaim_name(false).create_tokio())
            .map_err(|error| cannot("bind the socket", &path, &error))?;
        rustix::fs::renameat(&directory, &fresh, &directory, &name)
            .map_err(|error| cannot("put the socket in place", &path, &error.into()))?;
        let identity =
            device_and_inode(&directory, &name).map_err(|error| cannot("look at the socket", &path, &error))?;
        let bound = Some(BoundSocket { directory, name, identity });
        Ok(Self { socket, path, lock, note: paths.socket_pointer(), bound })
    }

    /// Whether socket and lock are still the ones we hold; somebody may have removed or replaced them.
    pub fn is_still_ours(&self) -> bool {
        self.lock.is_still_ours() && self.bound.as_ref().is_none_or(BoundSocket::is_still_ours)
    }

    /// Where socket and lock lie.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        let socket = self.bound.as_ref().and_then(|_| self.path.parent());
        socket.into_iter().chain(self.lock.path.parent())
    }

    /// Removes what we put into the file system, as far as it is still ours.
    pub fn unlink(&self) {
        if let Some(bound) = self.bound.as_ref().filter(|bound| bound.is_still_ours()) {
            let _ = rustix::fs::unlinkat(&bound.directory, &bound.name, AtFlags::empty());
        }
        if state_files::read(&self.note).is_some_and(|noted| Path::new(&noted) == self.path) {
            state_files::remove(&self.note);
        }
    }
}

impl BoundSocket {
    fn is_still_ours(&self) -> bool {
        device_and_inode(&self.directory, &self.name).is_ok_and(|there| there == self.identity)
    }
}

fn device_and_inode(directory: &OwnedFd, name: &Path) -> io::Result<(u64, u64)> {
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// The socket's directory, made 0700 if it is missing, tightened if it is ours, refused otherwise.
fn private_directory(path: &Path) -> Result<OwnedFd, Failure> {
    let (directory, was_open) = state_files::open_private_directory(path).map_err(|error| match error {
        DirectoryError::Io(error) => cannot("use the socket's directory", path, &error),
        DirectoryError::Foreign(why) => {
            let message = format!("the socket's directory `{}` {why}", path.display());
            Failure::new("denied", FailureKind::Refused, message)
                .with_hint("set TRELLIS_SOCKET to a path in a directory of your own, or unset XDG_RUNTIME_DIR")
        }
    })?;
    if was_open {
        tracing::warn!("the socket's directory was open to others; it is 0700 now");
    }
    Ok(directory)
}

/// A path short enough for the system: the plain one, or on Linux one through the open directory.
fn reachable(parent: &Path, directory: &impl AsFd, name: &Path) -> Result<PathBuf, Failure> {
    let plain = parent.join(name);
    let length = plain.as_os_str().len();
    let through = PathBuf::from(format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd())).join(name);
    let fits = |path: &PathBuf| path.as_os_str().len() <= MAX_SOCKET_PATH_BYTES;
    let paths = [Some(plain.clone()), cfg!(target_os = "linux").then_some(through)];
    if let Some(path) = paths.into_iter().flatten().find(fits) {
        return Ok(path);
    }
    let message = format!(
        "the socket's path `{}` has {length} bytes, over the limit of {MAX_SOCKET_PATH_BYTES}",
        plain.display()
    );
    Err(Failure::new("unavailable", FailureKind::Unavailable, message)
        .with_hint("set TRELLIS_SOCKET to a shorter path"))
}

/// Start-up errors name the path: they are for the person at this machine.
fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => "check who owns it and whether it may be written",
        io::ErrorKind::ReadOnlyFilesystem => "set XDG_STATE_HOME and TRELLIS_SOCKET to places that can be written",
        io::ErrorKind::StorageFull => "free some disk space",
        _ => "see `trellisd --help` for the places that are used, and how to change them",
    };
    Failure::new("unavailable", FailureKind::Unavailable, format!("cannot {what} `{}`: {error}", path.display()))
        .with_hint(hint)
}
