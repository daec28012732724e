//! Paths → a socket with our own daemon at the other end, greeted. Tries the place where this program would look,
//! then the one a daemon has written down, and says nothing to a socket that another user serves. Starts nothing.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use interprocess::ConnectWaitMode;
use interprocess::local_socket::{ConnectOptions, GenericFilePath, Stream, prelude::*};
use trellis_protocol::codec::{self, MARK_BYTES};
use trellis_protocol::endpoint::{MAX_SOCKET_PATH_BYTES, TrellisPaths};
use trellis_protocol::envelope::{Hello, Reply};

/// A greeting beyond this may not fit into the socket at once.
const LARGE_HELLO_BYTES: usize = 32 << 10;
/// Most replies fit; a length alone makes room for no more.
const REPLY_BUFFER_BYTES: usize = 1 << 10;
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why no daemon was reached.
#[derive(Debug)]
pub enum ConnectError {
    /// Nobody listens; a daemon may be started.
    Nobody,
    /// The one who listens is another user.
    Foreign {
        /// Whose socket it is.
        uid: u32,
    },
    /// The path cannot be put into a socket address on this system.
    PathTooLong(PathBuf),
    /// The system says no.
    System(PathBuf, io::Error),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => formatter.write_str("no daemon is running"),
            Self::Foreign { uid } => write!(formatter, "the socket belongs to another user (uid {uid})"),
            Self::PathTooLong(path) => write!(
                formatter,
                "the socket path `{}` has {} bytes, over the limit of {MAX_SOCKET_PATH_BYTES}",
                path.display(),
                path.as_os_str().len()
            ),
            Self::System(path, error) => write!(formatter, "cannot connect to `{}`: {error}", path.display()),
        }
    }
}

impl std::error::Error for ConnectError {}

/// Connects to the daemon of the account `uid`, wherever it listens.
pub fn connect_daemon(paths: &TrellisPaths, uid: u32) -> Result<Stream, ConnectError> {
    match connect_to(&paths.socket, uid) {
        Err(ConnectError::Nobody) => {}
        other => return other,
    }
    match noted(paths) {
        Some(path) if path != paths.socket => connect_to(&path, uid),
        _ => Err(ConnectError::Nobody),
    }
}

/// Connects to one place.
pub fn connect_to(path: &Path, uid: u32) -> Result<Stream, ConnectError> {
    let stream = connect(path)?;
    // A socket that is not connected after all has no peer either.
    let peer = stream.peer_creds().map_err(|error| ConnectError::System(path.to_owned(), error))?;
    match peer.euid() {
        Some(theirs) if theirs == uid => Ok(stream),
        theirs => Err(ConnectError::Foreign { uid: theirs.unwrap_or(u32::MAX) }),
    }
}

/// Greets in the words of `number` and waits for the reply, of which not a byte beyond is read. Returns the protocol
/// number of the reply, and the reply if this build reads that number.
pub fn greet(stream: &Stream, number: u16, hello: &Hello, timeout: Duration) -> io::Result<(u16, Option<Reply>)> {
    let bytes = codec::encode_hello(number, hello).map_err(io::Error::other)?;
    if bytes.len() > LARGE_HELLO_BYTES {
        stream.set_send_timeout(Some(timeout))?;
    }
    let mut wire = stream;
    wire.write_all(&bytes)?;
    stream.set_recv_timeout(Some(timeout))?;
    let mut prefix = [0; MARK_BYTES];
    wire.read_exact(&mut prefix)?;
    let (number, length) = codec::mark(prefix).map_err(io::Error::other)?;
    let mut body = Vec::with_capacity(length.min(REPLY_BUFFER_BYTES));
    if wire.take(length as u64).read_to_end(&mut body)? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    stream.set_recv_timeout(None)?;
    Ok((number, codec::decode_reply(number, &body).map_err(io::Error::other)?))
}

/// The socket itself.
pub(crate) fn descriptor(stream: &Stream) -> BorrowedFd<'_> {
    match stream {
        Stream::UdSocket(socket) => socket.as_fd(),
    }
}

/// The place that a daemon has written down.
fn noted(paths: &TrellisPaths) -> Option<PathBuf> {
    let note = std::fs::read(paths.socket_pointer()).ok()?;
    let path = Path::new(std::ffi::OsStr::from_bytes(note.trim_ascii()));
    path.is_absolute().then(|| path.to_owned())
}

fn connect(path: &Path) -> Result<Stream, ConnectError> {
    let (address, _directory) = address(path)?;
    let attempt = || {
        let name = address.as_os_str().to_fs_name::<GenericFilePath>()?;
        ConnectOptions::new().name(name).wait_mode(ConnectWaitMode::Timeout(ACCEPT_TIMEOUT)).connect_sync()
    };
    attempt().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::NotADirectory => {
            ConnectError::Nobody
        }
        _ => ConnectError::System(path.to_owned(), error),
    })
}

/// A path that fits into a socket address, and what must stay open for as long as it is used.
fn address(path: &Path) -> Result<(PathBuf, Option<OwnedFd>), ConnectError> {
    if path.as_os_str().len() <= MAX_SOCKET_PATH_BYTES {
        return Ok((path.to_owned(), None));
    }
    match (path.parent(), path.file_name()) {
        (Some(directory), Some(name)) => through_descriptor(path, directory, Path::new(name)),
        _ => Err(ConnectError::PathTooLong(path.to_owned())),
    }
}

#[cfg(target_os = "linux")]
fn through_descriptor(path: &Path, directory: &Path, name: &Path) -> Result<(PathBuf, Option<OwnedFd>), ConnectError> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{Mode, OFlags};

    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(directory, flags, Mode::empty()).map_err(|error| match error {
        rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR => ConnectError::Nobody,
        _ => ConnectError::System(path.to_owned(), error.into()),
    })?;
    let short = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
    if short.as_os_str().len() > MAX_SOCKET_PATH_BYTES {
        return Err(ConnectError::PathTooLong(path.to_owned()));
    }
    Ok((short, Some(directory)))
}

#[cfg(not(target_os = "linux"))]
fn through_descriptor(path: &Path, _: &Path, _: &Path) -> Result<(PathBuf, Option<OwnedFd>), ConnectError> {
    Err(ConnectError::PathTooLong(path.to_owned()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes and removes its own scratch directory")]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// A directory of this test alone.
    fn scratch(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("trellis-proxy-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a scratch directory");
        directory
    }

    fn paths(directory: &Path) -> TrellisPaths {
        TrellisPaths {
            state: directory.to_owned(),
            cache: directory.to_owned(),
            config: directory.join("config.toml"),
            log: directory.join("daemon.log"),
            socket: directory.join("daemon.sock"),
            cookies: directory.join("daemon.cookies"),
        }
    }

    fn uid() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    #[test]
    fn nobody_is_told_apart_from_somebody_else() {
        let directory = scratch("nobody");
        let paths = paths(&directory);
        assert!(matches!(connect_daemon(&paths, uid()), Err(ConnectError::Nobody)));
        drop(UnixListener::bind(&paths.socket).expect("bind"));
        assert!(matches!(connect_daemon(&paths, uid()), Err(ConnectError::Nobody)), "a leftover is nobody");
        std::fs::remove_file(&paths.socket).expect("its file");
        let _listener = UnixListener::bind(&paths.socket).expect("bind");
        assert!(connect_daemon(&paths, uid()).is_ok());
        assert!(matches!(connect_daemon(&paths, uid() + 1), Err(ConnectError::Foreign { .. })));
        std::fs::remove_dir_all(directory).expect("removed");
    }

    #[test]
    fn a_note_is_followed() {
        let directory = scratch("note");
        let paths = paths(&directory);
        let elsewhere = directory.join("elsewhere.sock");
        let _listener = UnixListener::bind(&elsewhere).expect("bind");
        let mut note = elsewhere.as_os_str().as_bytes().to_vec();
        note.push(b'\n');
        std::fs::write(paths.socket_pointer(), note).expect("written");
        assert!(connect_daemon(&paths, uid()).is_ok());
        std::fs::remove_dir_all(directory).expect("removed");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_long_path_is_reached_through_its_directory() {
        let directory = scratch(&"long".repeat(30));
        let socket = directory.join("daemon.sock");
        let (short, _open) = address(&socket).expect("the directory is there");
        let _listener = UnixListener::bind(short).expect("bind");
        assert!(connect_to(&socket, uid()).is_ok());
        std::fs::remove_dir_all(directory).expect("removed");
    }
}
