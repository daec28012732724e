//! Environment → the places of this user.
//!
//! What is known about the account and its variables comes in as [`AccountEnvironment`]; the paths of state,
//! cache, configuration, socket and locks go out as [`TrellisPaths`]. Nothing here asks the system.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The longest socket path every system takes: macOS has room for 104 bytes with the closing zero.
pub const MAX_SOCKET_PATH_BYTES: usize = 103;

/// What a program knows about the account it runs for.
#[derive(Debug, Clone)]
pub struct AccountEnvironment {
    /// Variables, as the program received them.
    pub variables: Variables,
    /// The home directory in the password database, whatever `HOME` says.
    pub account_home: PathBuf,
    /// Whose account this is.
    pub uid: u32,
    /// Whether `/run/user/<uid>` exists and belongs to this account.
    pub has_run_user: bool,
    /// Which conventions for directories apply.
    pub layout: DirectoryLayout,
}

/// The variables of a process. A plain list: a few are looked up once, and sorting them all would be most of the work.
#[derive(Debug, Clone, Default)]
pub struct Variables(Vec<(OsString, OsString)>);

impl Variables {
    /// A variable that is set, perhaps to nothing.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }

    /// All of them. One that was set twice comes twice, the value that counts last.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Sets a variable, whatever it was before.
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.0.push((name.into(), value.into()));
    }

    /// Takes a variable out, with every value that it ever had here.
    pub fn take(&mut self, name: &str) -> Vec<OsString> {
        self.0.extract_if(.., |(known, _)| known == name).map(|(_, value)| value).collect()
    }
}

impl FromIterator<(OsString, OsString)> for Variables {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

/// Which conventions for directories apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectoryLayout {
    /// The XDG base directories.
    Xdg,
    /// As on macOS, below `~/Library`.
    MacOs,
}

impl DirectoryLayout {
    /// The system this build is for.
    pub const NATIVE: Self = if cfg!(target_os = "macos") { Self::MacOs } else { Self::Xdg };
}

impl AccountEnvironment {
    /// A variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).filter(|value| !value.is_empty())
    }

    /// A variable that holds an absolute path; XDG asks to ignore relative ones.
    fn directory(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// `HOME`, or what the password database says when there is none.
    pub fn home(&self) -> PathBuf {
        self.directory("HOME").unwrap_or_else(|| self.account_home.clone())
    }
}

/// Where this user's Trellis keeps its things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrellisPaths {
    /// Known roots, journal, locks and, without a service manager, logs.
    pub state: PathBuf,
    /// What may be deleted at any time.
    pub cache: PathBuf,
    /// The optional `config.toml`.
    pub config: PathBuf,
    /// Where the log goes when no service manager takes it.
    pub log: PathBuf,
    /// Where this program looks for, or offers, the socket.
    pub socket: PathBuf,
    /// A directory for the daemon's cookies: files that it touches to learn how far it is with the system's events.
    pub cookies: PathBuf,
}

impl TrellisPaths {
    /// Applies the rules to what is known about the account.
    pub fn of(account: &AccountEnvironment) -> Self {
        let home = account.home();
        let state = state_directory(account, &home);
        let (cache, config, log) = match account.layout {
            DirectoryLayout::Xdg => (
                account.directory("XDG_CACHE_HOME").unwrap_or_else(|| home.join(".cache")).join("trellis"),
                account.directory("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")).join("trellis"),
                state.clone(),
            ),
            DirectoryLayout::MacOs => {
                (home.join("Library/Caches/trellis"), state.clone(), home.join("Library/Logs/trellis"))
            }
        };
        let own_socket = runtime_directory(account, &state, &cache).join(socket_name(account, &state));
        let cookies = own_socket.with_extension("cookies");
        let socket = account.directory("TRELLIS_SOCKET").unwrap_or(own_socket);
        Self { log: log.join("daemon.log"), config: config.join("config.toml"), state, cache, socket, cookies }
    }

    /// Held by the daemon for its whole life; it guards journal and index.
    pub fn daemon_lock(&self) -> PathBuf {
        self.state.join("daemon.lock")
    }

    /// Held by a proxy while it starts a daemon.
    pub fn start_lock(&self) -> PathBuf {
        self.state.join("start.lock")
    }

    /// Where the daemon writes its socket's path, for programs that looked elsewhere.
    pub fn socket_pointer(&self) -> PathBuf {
        self.state.join("daemon.socket")
    }

    /// The last list of tools that was answered for a surface; see [`crate::Surface::key`].
    pub fn tool_list_cache(&self, surface_key: &str) -> PathBuf {
        self.cache.join("tools").join(format!("{surface_key}.json"))
    }
}

fn state_directory(account: &AccountEnvironment, home: &Path) -> PathBuf {
    match account.layout {
        DirectoryLayout::Xdg => {
            account.directory("XDG_STATE_HOME").unwrap_or_else(|| home.join(".local/state")).join("trellis")
        }
        DirectoryLayout::MacOs => home.join("Library/Application Support/trellis"),
    }
}

/// The state directory an account has when nobody sets any variable.
fn default_state_directory(account: &AccountEnvironment) -> PathBuf {
    match account.layout {
        DirectoryLayout::Xdg => account.account_home.join(".local/state/trellis"),
        DirectoryLayout::MacOs => account.account_home.join("Library/Application Support/trellis"),
    }
}

/// What need not outlive a login.
fn runtime_directory(account: &AccountEnvironment, state: &Path, cache: &Path) -> PathBuf {
    if account.layout == DirectoryLayout::MacOs {
        return cache.join("run");
    }
    if let Some(runtime) = account.directory("XDG_RUNTIME_DIR") {
        return runtime.join("trellis");
    }
    if account.has_run_user {
        return PathBuf::from(format!("/run/user/{}/trellis", account.uid));
    }
    state.join("run")
}

/// Another state directory gets another socket, so that a test or a second profile never reaches
/// the wrong daemon through a shared runtime directory.
fn socket_name(account: &AccountEnvironment, state: &Path) -> String {
    if state == default_state_directory(account) {
        "daemon.sock".to_owned()
    } else {
        format!("daemon-{:08x}.sock", fingerprint(state.as_os_str().as_bytes()) as u32)
    }
}

/// A short, stable name for some bytes (FNV-1a). Not for anything that an attacker may choose.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    let folded = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    folded ^ (folded >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(variables: &[(&str, &str)]) -> AccountEnvironment {
        AccountEnvironment {
            variables: variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            account_home: "/home/ada".into(),
            uid: 1000,
            has_run_user: false,
            layout: DirectoryLayout::Xdg,
        }
    }

    fn check(variables: &[(&str, &str)], expected: &str) {
        assert_eq!(TrellisPaths::of(&account(variables)).socket, Path::new(expected));
    }

    #[test]
    fn the_socket_is_the_first_place_that_applies() {
        check(&[("TRELLIS_SOCKET", "/x/y.sock"), ("XDG_RUNTIME_DIR", "/run/user/1000")], "/x/y.sock");
        check(&[("HOME", "/home/ada"), ("XDG_RUNTIME_DIR", "/run/r")], "/run/r/trellis/daemon.sock");
        check(&[("HOME", "/home/ada")], "/home/ada/.local/state/trellis/run/daemon.sock");
        check(&[], "/home/ada/.local/state/trellis/run/daemon.sock");
        check(&[("XDG_RUNTIME_DIR", "")], "/home/ada/.local/state/trellis/run/daemon.sock");
        check(&[("XDG_RUNTIME_DIR", "relative")], "/home/ada/.local/state/trellis/run/daemon.sock");
        let mut logged_in = account(&[]);
        logged_in.has_run_user = true;
        assert_eq!(TrellisPaths::of(&logged_in).socket, Path::new("/run/user/1000/trellis/daemon.sock"));
    }

    #[test]
    fn cookies_are_made_where_we_are_at_home_wherever_the_socket_is() {
        let cookies = |variables: &[(&str, &str)]| TrellisPaths::of(&account(variables)).cookies;
        let runtime = ("XDG_RUNTIME_DIR", "/run/r");
        assert_eq!(cookies(&[runtime]), Path::new("/run/r/trellis/daemon.cookies"));
        assert_eq!(cookies(&[("TRELLIS_SOCKET", "/x/y.sock"), runtime]), Path::new("/run/r/trellis/daemon.cookies"));
        assert_eq!(cookies(&[]), Path::new("/home/ada/.local/state/trellis/run/daemon.cookies"));
        assert_ne!(cookies(&[runtime]), cookies(&[runtime, ("XDG_STATE_HOME", "/srv/state")]));
    }

    #[test]
    fn another_home_or_state_gets_another_socket_name() {
        let name = |variables: &[(&str, &str)]| {
            let socket = TrellisPaths::of(&account(variables)).socket;
            socket.file_name().expect("a socket has a name").to_string_lossy().into_owned()
        };
        let runtime = ("XDG_RUNTIME_DIR", "/run/r");
        let other_home = name(&[runtime, ("HOME", "/tmp/test")]);
        let other_state = name(&[runtime, ("XDG_STATE_HOME", "/srv/state")]);
        assert!(other_home.starts_with("daemon-") && other_home.len() == "daemon-01234567.sock".len());
        assert_ne!(other_home, other_state);
        assert_eq!(name(&[runtime, ("XDG_STATE_HOME", "/home/ada/.local/state")]), "daemon.sock");
    }

    #[test]
    fn macos_keeps_to_the_library() {
        let mut mac = account(&[("HOME", "/home/ada")]);
        mac.layout = DirectoryLayout::MacOs;
        let paths = TrellisPaths::of(&mac);
        assert_eq!(paths.state, Path::new("/home/ada/Library/Application Support/trellis"));
        assert_eq!(paths.socket, Path::new("/home/ada/Library/Caches/trellis/run/daemon.sock"));
        assert_eq!(paths.log, Path::new("/home/ada/Library/Logs/trellis/daemon.log"));
    }
}
