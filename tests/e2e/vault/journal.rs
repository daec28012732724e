//! Old texts in the journal: kept by their content, for their owner alone, and nothing of them in the vault.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use trellis_tests::harness::wait_until;

use super::Vault;

/// All files and directories of the journal.
fn all(directory: &Path) -> Vec<PathBuf> {
    let mut found = vec![directory.to_owned()];
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(all(&path)),
            path => found.push(path),
        }
    }
    found
}

fn old_texts(vault: &Vault) -> Vec<(PathBuf, Vec<u8>)> {
    // What has an ending is still being written.
    let is_kept = |path: &PathBuf| path.is_file() && path.extension().is_none();
    let files = all(&vault.home.state().join("journal/old")).into_iter().filter(is_kept);
    let mut texts: Vec<_> = files.map(|path| (path.clone(), fs::read(path).unwrap_or_default())).collect();
    texts.sort_by(|one, other| one.1.cmp(&other.1));
    texts
}

/// Waits until so many old texts are kept.
#[track_caller]
fn kept(vault: &Vault, count: usize) -> Vec<(PathBuf, Vec<u8>)> {
    wait_until("old texts are kept", || Some(old_texts(vault)).filter(|texts| texts.len() == count))
}

/// An old text has its owner's mode until it has been moved here, below directories that are private already.
#[track_caller]
fn is_private(vault: &Vault) {
    wait_until("the journal is private", || {
        let is_private = |path: &PathBuf| {
            let mode = fs::metadata(path).expect("it is there").permissions().mode() & 0o7777;
            mode == if path.is_dir() { 0o700 } else { 0o600 }
        };
        all(&vault.home.state().join("journal")).iter().all(is_private).then_some(())
    });
}

#[test]
fn an_old_text_is_kept_by_its_content() {
    let mut vault = Vault::with_file("a.md", "one");
    vault.write("b.md", "one");
    for path in ["a.md", "b.md"] {
        fs::set_permissions(vault.path(path), fs::Permissions::from_mode(0o755)).expect("a mode");
        vault.replace(path, "one", "two", json!({}));
    }
    vault.replace("a.md", "two", "three", json!({}));
    vault.tree();
    let texts = kept(&vault, 2);
    assert_eq!(texts.iter().map(|(_, text)| text.as_slice()).collect::<Vec<_>>(), [&b"one"[..], b"two"]);
    for (path, _) in texts {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let shelf = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        assert!(name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
        assert_eq!(shelf, Some(&name[..2]));
    }
    is_private(&vault);
}

#[test]
fn a_kept_text_is_nobody_else_s_file() {
    let mut vault = Vault::with_file("a.md", "old");
    let other = vault.home.project().join("other.md");
    fs::hard_link(vault.path("a.md"), &other).expect("a second name");
    vault.replace("a.md", "old", "new", json!({}));
    kept(&vault, 1);
    fs::write(&other, "changed later").expect("a change under the other name");
    assert_eq!(kept(&vault, 1)[0].1, b"old");
    is_private(&vault);
}

#[test]
fn what_is_created_has_no_old_text() {
    let mut vault = Vault::new();
    vault.create("a.md", "x");
    vault.replace("a.md", "none", "y", json!({}));
    vault.refused("vault_create", json!({ "path": "a.md", "content": "z" }));
    assert_eq!(old_texts(&vault), []);
    is_private(&vault);
}

#[test]
fn old_texts_are_kept_when_the_daemon_leaves_at_once() {
    let mut vault = Vault::with_file("a.md", "one");
    vault.replace("a.md", "one", "two", json!({}));
    let pid = vault.home.daemon_pid().expect("a daemon");
    assert!(vault.home.trellisd(&["stop"]).status.success());
    wait_until("the daemon has gone", || (!vault.home.daemons().contains(&pid)).then_some(()));
    assert_eq!(vault.tree(), ["a.md"]);
    assert_eq!(kept(&vault, 1)[0].1, b"one");
}

#[test]
fn a_temp_file_of_a_killed_daemon_does_not_stay() {
    let mut vault = Vault::with_file("a.md", "one");
    vault.replace("a.md", "one", "two", json!({}));
    // Killed while the displaced file still lies beside the new one.
    let pid = vault.home.daemon_pid().expect("a daemon");
    vault.home.kill(pid);
    wait_until("the daemon has gone", || (!vault.home.daemons().contains(&pid)).then_some(()));
    assert_eq!(vault.replace("a.md", "two", "three", json!({})), 1);
    assert_eq!(vault.tree(), ["a.md"]);
    kept(&vault, 2);
    is_private(&vault);
}
