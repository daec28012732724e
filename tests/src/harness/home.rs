//! An account for the length of a test: its own directories, its own daemon, gone at the end.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use trellis_protocol::endpoint::TrellisPaths;
use trellis_proxy::surroundings;

use super::{Client, programs};

/// A person's account. Every program that is started in it sees only its directories.
#[derive(Debug)]
pub struct Home {
    directory: TempDir,
    daemon: PathBuf,
    variables: Vec<(String, String)>,
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    /// An account with the real daemon.
    pub fn new() -> Self {
        Self::with_daemon(programs::daemon())
    }

    /// An account whose daemon also has the family that exists only in tests.
    pub fn with_fixtures() -> Self {
        Self::with_daemon(programs::fixture_daemon())
    }

    fn with_daemon(daemon: PathBuf) -> Self {
        let directory = tempfile::Builder::new().prefix("trellis-").tempdir().expect("a temporary directory");
        let home = Self { directory, daemon, variables: Vec::new() };
        fs::create_dir_all(home.project()).expect("a project");
        home
    }

    /// Sets a variable for everything that is started from now on.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.variables.push((name.to_owned(), value.as_ref().to_str().expect("text").to_owned()));
        self
    }

    /// The home directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The directory in which hosts start their sessions.
    pub fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    /// The state directory of Trellis.
    pub fn state(&self) -> PathBuf {
        self.path().join(".local/state/trellis")
    }

    /// Where the programs of this home look for each other.
    pub fn paths(&self) -> TrellisPaths {
        let command = self.command(&self.daemon);
        let mut account = surroundings::gather();
        let set = |(name, value): (&OsStr, Option<&OsStr>)| Some((name.to_owned(), value?.to_owned()));
        account.variables = command.get_envs().filter_map(set).collect();
        TrellisPaths::of(&account)
    }

    /// Writes a file below the project, and the directories above it.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
        fs::write(&path, content).expect("a file");
        path
    }

    /// Prepares a program: clean environment, this home, the project as working directory.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("TRELLIS_DAEMON", &self.daemon)
            .env("TRELLIS_IDLE_SECONDS", "60")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.project());
        command
    }

    /// Prepares a proxy with these flags.
    pub fn proxy(&self, flags: &[&str]) -> Command {
        let mut command = self.command(&programs::proxy());
        command.args(flags);
        command
    }

    /// A host that has started a proxy with these flags. Nothing has been said yet.
    pub fn connect(&self, flags: &[&str]) -> Client {
        Client::start(self.proxy(flags))
    }

    /// The same, after the handshake of the newest revision that has one.
    pub fn host(&self, flags: &[&str]) -> Client {
        let mut client = self.connect(flags);
        client.initialize("2025-11-25");
        client
    }

    /// The same, with a daemon to which the system may deny something.
    pub fn unprivileged_host(&self, flags: &[&str]) -> Client {
        let mut client = Client::start(self.unprivileged_proxy(flags));
        client.initialize("2025-11-25");
        client
    }

    /// Prepares a proxy whose daemon the system may deny something: to root it denies nothing, so that privilege is
    /// left out.
    pub fn unprivileged_proxy(&self, flags: &[&str]) -> Command {
        let proxy = programs::proxy();
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = self.command("setpriv".as_ref());
            command.arg("--bounding-set=-dac_override,-dac_read_search").arg(proxy);
            command
        } else {
            self.command(&proxy)
        };
        command.args(flags);
        command
    }

    /// Runs `trellisd` with these arguments to its end.
    pub fn trellisd(&self, arguments: &[&str]) -> Output {
        self.command(&self.daemon).args(arguments).output().expect("trellisd runs")
    }

    /// `trellisd status --json`, if a daemon runs.
    pub fn status(&self) -> Option<Value> {
        let output = self.trellisd(&["status", "--json"]);
        output.status.success().then(|| serde_json::from_slice(&output.stdout).expect("JSON"))
    }

    /// The pid of the running daemon.
    pub fn daemon_pid(&self) -> Option<u32> {
        self.status().and_then(|status| status["pid"].as_u64()).map(|pid| pid as u32)
    }

    /// Every daemon that runs in this home, found by its environment; none is trusted to know of the others.
    pub fn daemons(&self) -> Vec<u32> {
        let ours = format!("HOME={}", self.path().display()).into_bytes();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let runs = command.split(|byte| *byte == 0).any(|word| word == b"run");
            if runs && environment.split(|byte| *byte == 0).any(|variable| variable == ours) {
                found.push(pid);
            }
        }
        found
    }

    /// Ends a daemon of this home as the system would under pressure: at once.
    pub fn kill(&self, pid: u32) {
        let pid = rustix::process::Pid::from_raw(pid as i32).expect("a pid");
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }

    /// The log of the daemons in this home.
    pub fn log(&self) -> String {
        fs::read_to_string(self.state().join("daemon.log")).unwrap_or_default()
    }
}

impl Drop for Home {
    /// No process outlives its home.
    fn drop(&mut self) {
        // A daemon that still dies would put its files back while they are removed.
        for _ in 0..200 {
            let daemons = self.daemons();
            if daemons.is_empty() {
                break;
            }
            daemons.into_iter().for_each(|pid| self.kill(pid));
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
