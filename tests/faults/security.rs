//! Strangers and open directories: only this user reaches the socket, and nobody is trusted for a place.

use std::fs::{self, Permissions};
use std::io::Read as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use trellis_tests::harness::{Home, programs, wait_until};

use super::raw_connection::RawConnection;

/// An account that owns nothing.
const NOBODY: u32 = 65534;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("it is there").mode() & 0o7777
}

/// Only root can make files of another user.
fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: only root can stand for two users");
    }
    root
}

/// Runs `trellisd run` in a home where it cannot start, and returns what it says.
fn complaint(home: &Home) -> String {
    let mut command = home.command(&programs::daemon());
    let mut daemon = command.arg("run").stderr(Stdio::piped()).spawn().expect("the daemon starts");
    let mut said = String::new();
    let mut stderr = daemon.stderr.take().expect("piped");
    wait_until("the daemon ends or is ready", || {
        daemon
            .try_wait()
            .expect("asked")
            .is_some()
            .then_some(())
            .or_else(|| home.status().map(|status| panic!("it serves: {status}")))
    });
    stderr.read_to_string(&mut said).expect("text");
    assert!(!daemon.wait().expect("it ended").success(), "{said}");
    said
}

#[test]
fn r23_the_socket_is_private_in_a_private_directory() {
    let home = Home::new();
    let runtime = home.path().join("runtime");
    fs::DirBuilder::new().mode(0o755).create(&runtime).expect("a directory");
    let home = home.with("XDG_RUNTIME_DIR", &runtime);
    home.host(&[]).request("ping", json!({}));
    let places = home.paths();
    assert!(places.socket.starts_with(&runtime));
    assert_eq!(mode(&places.socket), 0o600);
    assert_eq!(mode(&runtime.join("trellis")), 0o700);
    for file in [places.daemon_lock(), places.start_lock(), places.socket_pointer(), places.log.clone()] {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    assert_eq!(mode(&places.state), 0o700);
    assert_eq!(mode(&runtime), 0o755, "what is above is not ours to change");
}

#[test]
fn r23_a_directory_that_is_too_open_is_tightened() {
    let home = Home::new();
    let directory = home.state().join("run");
    fs::create_dir_all(&directory).expect("a directory");
    fs::set_permissions(&directory, Permissions::from_mode(0o777)).expect("open to all");
    home.host(&[]).request("ping", json!({}));
    assert_eq!(mode(&directory), 0o700);
}

#[test]
fn r23_a_link_in_place_of_the_directory_is_refused() {
    let home = Home::new();
    let real = home.path().join("elsewhere");
    fs::create_dir(&real).expect("a directory");
    fs::create_dir_all(home.state()).expect("a directory");
    symlink(&real, home.state().join("run")).expect("a link");
    let said = complaint(&home);
    assert!(said.contains("the socket's directory") && said.contains("run"), "{said}");
    assert_eq!(fs::read_dir(&real).expect("listed").count(), 0, "nothing was made there");
}

/// A directory that everybody may write, like the one for temporary files, is no place for a socket, whoever owns it;
/// and it is not taken away from the others.
#[test]
fn r23_a_shared_directory_is_refused_and_left_as_it_is() {
    let home = Home::new();
    let shared = home.path().join("shared");
    fs::create_dir(&shared).expect("a directory");
    fs::set_permissions(&shared, Permissions::from_mode(0o1777)).expect("open to all");
    let home = home.with("TRELLIS_SOCKET", shared.join("daemon.sock"));
    let said = complaint(&home);
    assert!(said.contains("TRELLIS_SOCKET"), "{said}");
    assert_eq!(mode(&shared), 0o1777);
}

#[test]
fn r23_a_directory_of_another_user_is_refused() {
    if !is_root() {
        return;
    }
    let home = Home::new();
    let foreign = home.path().join("foreign");
    fs::create_dir(&foreign).expect("a directory");
    fs::set_permissions(&foreign, Permissions::from_mode(0o777)).expect("open to all");
    chown(&foreign, Some(NOBODY), Some(NOBODY)).expect("given away");
    let home = home.with("TRELLIS_SOCKET", foreign.join("daemon.sock"));
    let said = complaint(&home);
    assert!(said.contains("another user") && said.contains("TRELLIS_SOCKET"), "{said}");
    assert_eq!(fs::read_dir(&foreign).expect("listed").count(), 0);
}

#[test]
fn r23_a_state_directory_that_is_too_open_is_tightened_and_said() {
    let home = Home::new();
    fs::create_dir_all(home.state().join("journal")).expect("a directory");
    for directory in [home.state(), home.state().join("journal")] {
        fs::set_permissions(directory, Permissions::from_mode(0o777)).expect("open to all");
    }
    home.host(&[]).request("ping", json!({}));
    assert_eq!((mode(&home.state()), mode(&home.state().join("journal"))), (0o700, 0o700));
    let warnings = home.status().expect("a daemon")["warnings"].to_string();
    assert!(warnings.contains("other users"), "{warnings}");
}

#[test]
fn r23_a_state_directory_of_another_user_or_by_a_strange_link_is_refused() {
    let home = Home::new();
    fs::create_dir_all(home.state()).expect("a directory");
    fs::create_dir(home.path().join("elsewhere")).expect("a directory");
    symlink(home.path().join("elsewhere"), home.state().join("journal")).expect("a link");
    let said = complaint(&home);
    assert!(said.contains("is a link") && said.contains("XDG_STATE_HOME"), "{said}");
    if !is_root() {
        return;
    }
    fs::remove_file(home.state().join("journal")).expect("a removal");
    chown(home.state(), Some(NOBODY), Some(NOBODY)).expect("given away");
    let said = complaint(&home);
    assert!(said.contains("another user") && said.contains("XDG_STATE_HOME"), "{said}");
    assert_eq!(fs::read_dir(home.state()).expect("listed").count(), 0, "nothing was made there");
}

/// The same program for another account.
fn as_nobody(mut command: Command) -> Command {
    command.uid(NOBODY).gid(NOBODY);
    command
}

#[test]
fn r23_only_its_own_user_reaches_a_daemon() {
    if !is_root() {
        return;
    }
    let home = Home::new();
    for path in [home.path(), &home.project()] {
        chown(path, Some(NOBODY), Some(NOBODY)).expect("given away");
    }
    let mut command = as_nobody(home.command(&programs::daemon()));
    let mut daemon = command.arg("run").stderr(Stdio::null()).spawn().expect("the daemon starts");
    let status = || {
        let mut command = as_nobody(home.command(&programs::daemon()));
        let output = command.args(["status", "--json"]).output().expect("trellisd runs");
        output.status.success().then(|| serde_json::from_slice::<Value>(&output.stdout).expect("JSON"))
    };
    wait_until("the daemon of the other user is ready", status);

    assert!(RawConnection::connect(&home).is_closed(), "not a word, to root either");
    assert_eq!(status().expect("its own user is served")["counters"]["refused_peers"], 1);

    let mut client = home.connect(&[]);
    client.initialize("2025-11-25");
    let error = client.call_err("vault_ls", json!({}))["error"].clone();
    assert!(error["message"].to_string().contains(&format!("another user (uid {NOBODY})")), "{error}");
    assert_eq!(home.daemons(), [daemon.id()], "no second daemon was tried in a home that is served");
    daemon.kill().expect("ended");
    daemon.wait().expect("ended");
}
