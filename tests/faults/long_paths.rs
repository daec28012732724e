//! Paths that do not fit into a socket's address: reached through their directory.

use serde_json::json;
use trellis_protocol::endpoint::MAX_SOCKET_PATH_BYTES;
use trellis_tests::harness::{Home, wait_until};

use super::process::until_gone;

/// Everything that uses the socket works with it, and a crash heals.
fn check(home: &Home) {
    assert!(home.paths().socket.as_os_str().len() > MAX_SOCKET_PATH_BYTES);
    let mut client = home.host(&[]);
    client.request("ping", json!({}));
    let pid = home.daemon_pid().expect("the command line finds it");
    home.kill(pid);
    until_gone(pid);
    client.request("ping", json!({}));
    let pid = wait_until("another daemon", || home.daemon_pid());
    assert!(home.trellisd(&["stop"]).status.success());
    until_gone(pid);
    assert!(!home.paths().socket.exists(), "it has taken its socket away");
}

#[test]
fn a_long_state_directory_works() {
    let home = Home::new();
    let state = home.path().join("a-name-of-forty-characters-that-goes-on-".repeat(3)).join("state");
    check(&home.with("XDG_STATE_HOME", state));
}

#[test]
fn a_long_socket_path_works() {
    let home = Home::new();
    let socket = home.path().join("long".repeat(30)).join("socket".repeat(8));
    check(&home.with("TRELLIS_SOCKET", socket));
}

/// The name itself may be too long for an address even from within its directory.
#[test]
fn a_socket_whose_name_alone_is_too_long_is_named() {
    let home = Home::new();
    let socket = home.path().join("directory").join("n".repeat(120));
    let home = home.with("TRELLIS_SOCKET", socket);
    let mut client = home.connect(&[]);
    client.initialize("2025-11-25");
    let error = client.call_err("vault_ls", json!({}))["error"].clone();
    assert!(error["message"].to_string().contains("TRELLIS_SOCKET"), "{error}");
}
