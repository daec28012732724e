//! A watched vault, and the question of every watch test: does the daemon know what a new scan of the disk says?

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use trellis_protocol::control::{ControlReply, ControlRequest, RootStatus, Status};
use trellis_protocol::envelope::Caller;
use trellis_protocol::{Envelope, version};
use trellis_tests::harness::{Client, Home, wait_until};
use trellisd::trees::TreeState;

use super::raw_connection::RawConnection;

/// A home with a session whose vault is watched.
pub(crate) struct WatchFixture {
    pub(crate) home: Home,
    pub(crate) client: Client,
    /// The vault.
    pub(crate) root: PathBuf,
    line: RawConnection,
    /// Where the vault is, if not at home.
    _ground: Option<TempDir>,
}

impl WatchFixture {
    /// A session in a home; the vault is there.
    pub(crate) fn new() -> Self {
        let home = Home::new();
        fs::create_dir_all(home.project().join("vault")).expect("a vault");
        Self::at(home, None)
    }

    /// A session whose vault is on a disk in memory, if there is one: what is measured there is the daemon.
    pub(crate) fn in_memory() -> Self {
        let ground = tempfile::Builder::new().prefix("trellis-").tempdir_in("/dev/shm").ok();
        let home = Home::new();
        let root = ground.as_ref().map_or(home.path(), TempDir::path).join("vault");
        fs::create_dir(&root).expect("a vault");
        Self { _ground: ground, ..Self::at(home, Some(root)) }
    }

    /// A session in this home, with its vault at the path or where it is by default.
    pub(crate) fn at(home: Home, root: Option<PathBuf>) -> Self {
        let home = match &root {
            Some(root) => home.with("VAULT_ROOT", root),
            None => home,
        };
        let client = home.host(&[]);
        let line = control(&home);
        let own = |path: PathBuf| fs::canonicalize(&path).unwrap_or(path);
        let root = root.unwrap_or_else(|| own(home.project()).join("vault"));
        let mut watched = Self { home, client, root, line, _ground: None };
        wait_until("the vault is watched", || watched.known());
        watched
    }

    /// A place beside the vault, on the same disk.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.root.parent().expect("a directory").join(name)
    }

    /// Waits until everything up to now has been seen; whether that was so in time.
    pub(crate) fn seen(&mut self, timeout: Duration) -> bool {
        let milliseconds = timeout.as_millis() as u32;
        self.line.send(&Envelope::ControlRequest(ControlRequest::SyncBarrier { milliseconds }));
        match self.line.next() {
            Some(Envelope::ControlReply(ControlReply::Synced { everything })) => everything,
            other => panic!("no answer: {other:?}"),
        }
    }

    /// How the daemon is.
    pub(crate) fn status(&mut self) -> Status {
        status(&mut self.line)
    }

    /// What the daemon knows of the vault, once it does.
    pub(crate) fn known(&mut self) -> Option<RootStatus> {
        let root = self.root.clone();
        self.other(&root)
    }

    /// What the daemon knows of another root.
    pub(crate) fn other(&mut self, root: &Path) -> Option<RootStatus> {
        let name = root.display().to_string();
        self.status().roots.into_iter().find(|root| root.path == name)
    }

    /// What the daemon says without waiting any further is what is on the disk.
    #[track_caller]
    pub(crate) fn assert_equal(&mut self) {
        let disk = scan(&self.root);
        let known = self.known().expect("watched");
        assert_eq!(
            (known.files, known.fingerprint),
            (disk.files().len() as u64, format!("{:016x}", disk.fingerprint()))
        );
    }

    /// Waits until the daemon knows what is on the disk now, and returns how long that took.
    #[track_caller]
    pub(crate) fn wait_until_equal(&mut self) -> Duration {
        let root = self.root.clone();
        self.wait_until_equal_at(&root)
    }

    /// The same, for another root.
    #[track_caller]
    pub(crate) fn wait_until_equal_at(&mut self, root: &Path) -> Duration {
        let began = Instant::now();
        let disk = scan(root);
        let expected = (disk.files().len() as u64, format!("{:016x}", disk.fingerprint()));
        let mut last = None;
        let end = Instant::now() + SCAN_TIMEOUT;
        loop {
            let known = self.other(root);
            if known.as_ref().is_some_and(|known| (known.files, known.fingerprint.clone()) == expected) {
                return began.elapsed();
            }
            if let Some(known) = known {
                last = Some(known);
            }
            assert!(Instant::now() < end, "the disk has {} files, but the daemon knows {last:?}", expected.0);
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Changes something in every directory and waits until all of it is seen: none is overlooked.
    #[track_caller]
    pub(crate) fn every_directory_is_seen(&mut self) {
        let disk = scan(&self.root);
        for directory in disk.directories() {
            fs::write(self.root.join(directory).join("probe.md"), "seen?").expect("a file");
        }
        self.wait_until_equal();
        for directory in disk.directories() {
            fs::remove_file(self.root.join(directory).join("probe.md")).expect("a removal");
        }
        self.wait_until_equal();
    }

    /// Writes a file in the vault, and the directories above it.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        fs::write(path, text).expect("a file");
    }

    /// Renames something in the vault.
    pub(crate) fn rename(&self, from: &str, to: &str) {
        fs::rename(self.root.join(from), self.root.join(to)).expect("a rename");
    }
}

/// Storms take their time on a busy machine.
const SCAN_TIMEOUT: Duration = Duration::from_secs(40);

/// Looks at a tree as the daemon does, but all at once.
pub(crate) fn scan(root: &Path) -> TreeState {
    let mut tree = TreeState::default();
    tree.rescan(root, &mut |_| {});
    tree
}

/// A connection for orders.
pub(crate) fn control(home: &Home) -> RawConnection {
    let mut line =
        wait_until("a daemon listens", || home.paths().socket.exists().then(|| RawConnection::connect(home)));
    line.greet(version::CURRENT, Caller::CommandLine);
    line
}

/// How the daemon is.
pub(crate) fn status(line: &mut RawConnection) -> Status {
    line.send(&Envelope::ControlRequest(ControlRequest::Status));
    match line.next() {
        Some(Envelope::ControlReply(ControlReply::Status(status))) => *status,
        other => panic!("no status: {other:?}"),
    }
}
