//! What a replacement keeps besides the text, and when it is refused: mode, group, attributes, other names of
//! the file; no text, too large, changed since it was read.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::process::Command;

use rustix::fs::XattrFlags;
use serde_json::{Value, json};
use trellis_tests::harness::wait_until;

use super::Vault;

const FILE_LIMIT_BYTES: u64 = 16 << 20;

fn replacing(path: &str) -> Value {
    json!({ "path": path, "find": "old", "replace": "new" })
}

/// What `sha256sum` says, in the other case.
fn hash(vault: &mut Vault, path: &str) -> String {
    vault.read(path, json!({ "full": true }))["hash"].as_str().expect("a hash").to_owned()
}

#[test]
fn the_mode_stays() {
    let mut vault = Vault::new();
    for mode in [0o640, 0o755, 0o600, 0o444, 0o666, 0o4711] {
        let path = vault.write(&format!("{mode:o}.md"), "old");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        assert_eq!(vault.replace(&format!("{mode:o}.md"), "old", "new", json!({})), 1);
        let kept = fs::metadata(&path).expect("the file").permissions().mode() & 0o7777;
        assert_eq!(format!("{kept:o}"), format!("{mode:o}"));
        assert_eq!(fs::read(&path).expect("the file"), b"new");
    }
}

#[test]
fn the_group_stays_where_it_can() {
    let mut vault = Vault::with_file("a.md", "old");
    let path = vault.path("a.md");
    let own = fs::metadata(&path).expect("the file").gid();
    if chown(&path, None, Some(own + 1)).is_err() {
        eprintln!("skipped: this account cannot give a file to another group");
        return;
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
    vault.replace("a.md", "old", "new", json!({}));
    let kept = fs::metadata(&path).expect("the file");
    assert_eq!((kept.gid(), kept.mode() & 0o7777), (own + 1, 0o640));
}

#[test]
fn attributes_stay_where_the_file_system_has_them() {
    let mut vault = Vault::with_file("a.md", "old");
    let path = vault.path("a.md");
    if rustix::fs::setxattr(&path, "user.colour", b"green", XattrFlags::empty()).is_err() {
        eprintln!("skipped: the file system has no attributes");
        return;
    }
    vault.replace("a.md", "old", "new", json!({}));
    let mut value = [0; 16];
    let length = rustix::fs::getxattr(&path, "user.colour", &mut value[..]).expect("the attribute");
    assert_eq!(&value[..length], b"green");
}

#[test]
fn a_file_with_two_names_is_replaced_under_the_one_that_was_given() {
    let mut vault = Vault::with_file("a.md", "old");
    fs::set_permissions(vault.path("a.md"), fs::Permissions::from_mode(0o644)).expect("a mode");
    let other = vault.home.project().join("other.md");
    fs::hard_link(vault.path("a.md"), &other).expect("a second name");
    assert_eq!(vault.replace("a.md", "old", "new", json!({})), 1);
    assert_eq!(vault.text("a.md"), "new");
    vault.tree();
    // The displaced file is looked after for a moment.
    let is_alone = |file: &fs::Metadata| file.nlink() == 1;
    let found = wait_until("nothing of ours hangs on it", || fs::metadata(&other).ok().filter(is_alone));
    assert_eq!(fs::read(&other).expect("the other name"), b"old");
    assert_eq!(found.mode() & 0o7777, 0o644, "the other name's file is its owner's affair");
}

#[test]
fn what_is_no_text_is_a_conflict_and_stays() {
    let mut vault = Vault::new();
    for bytes in [&b"old\xff"[..], b"\xff\xfeo\0l\0d\0", b"old \xc3"] {
        vault.write("a.md", bytes);
        let error = vault.refused("vault_replace", replacing("a.md"));
        assert_eq!(error["code"], "conflict");
        assert!(error["message"].as_str().is_some_and(|message| message.contains("UTF-8")), "{error}");
        assert_eq!(vault.bytes("a.md"), bytes);
    }
}

#[test]
fn a_file_has_a_largest_size() {
    let mut vault = Vault::new();
    let path = vault.write("a.md", "old");
    let file = File::options().write(true).open(&path).expect("the file");
    file.set_len(FILE_LIMIT_BYTES + 1).expect("a size");
    let error = vault.refused("vault_replace", replacing("a.md"));
    assert_eq!((&error["code"], &error["details"]["limit"]), (&json!("conflict"), &json!(FILE_LIMIT_BYTES)));
    assert_eq!(fs::metadata(&path).expect("the file").len(), FILE_LIMIT_BYTES + 1);
    file.set_len(FILE_LIMIT_BYTES).expect("a size");
    assert_eq!(vault.replace("a.md", "old", "new", json!({})), 1);
    // A file must not grow over the limit either: nobody could change it any more.
    let arguments = json!({ "path": "a.md", "find": "new", "replace": "longer" });
    assert_eq!(vault.refused("vault_replace", arguments)["code"], "conflict");
    assert_eq!(&vault.bytes("a.md")[..4], b"new\0");
    assert_eq!(fs::metadata(&path).expect("the file").len(), FILE_LIMIT_BYTES);
}

#[test]
fn what_is_no_file_is_not_replaced() {
    let mut vault = Vault::with_file("d/a.md", "old");
    let made = Command::new("mkfifo").arg(vault.path("fifo")).status().expect("mkfifo runs");
    assert!(made.success());
    for (path, code) in [("d", "not_found"), ("none.md", "not_found"), ("d/a.md/x", "not_found"), ("fifo", "conflict")]
    {
        assert_eq!(vault.refused("vault_replace", replacing(path))["code"], code, "{path}");
    }
    assert_eq!(vault.tree(), ["d", "d/a.md", "fifo"]);
}

#[test]
fn a_hash_that_holds_lets_the_call_pass() {
    let mut vault = Vault::with_file("a.md", "old old old");
    let first = hash(&mut vault, "a.md");
    assert_eq!(vault.replace("a.md", "old", "new", json!({ "if_match": first })), 1);
    let second = hash(&mut vault, "a.md").to_uppercase();
    assert_eq!(vault.replace("a.md", "old", "new", json!({ "if_match": second })), 1);
    assert_eq!(vault.replace("a.md", "old", "new", json!({ "if_match": null })), 1);
    assert_eq!(vault.text("a.md"), "new new new");
}

#[test]
fn a_hash_that_no_longer_holds_is_a_conflict() {
    let mut vault = Vault::with_file("a.md", "old");
    let read = hash(&mut vault, "a.md");
    vault.write("a.md", "old, and somebody else's words");
    let now = hash(&mut vault, "a.md");
    let before = fs::metadata(vault.path("a.md")).expect("the file").ctime_nsec();
    for expected in [read.as_str(), "", "none", &now[1..]] {
        let mut arguments = replacing("a.md");
        arguments["if_match"] = expected.into();
        let error = vault.refused("vault_replace", arguments);
        let details = json!({ "path": "a.md", "expected_hash": expected, "actual_hash": now });
        assert_eq!((&error["code"], &error["details"]), (&json!("conflict"), &details));
    }
    assert_eq!(vault.text("a.md"), "old, and somebody else's words");
    assert_eq!(fs::metadata(vault.path("a.md")).expect("the file").ctime_nsec(), before);
    // Also when nothing would be found: the caller acts on a text that is gone.
    let arguments = json!({ "path": "a.md", "find": "none", "replace": "x", "if_match": read });
    assert_eq!(vault.refused("vault_replace", arguments)["code"], "conflict");
}

#[test]
fn a_hash_must_be_a_text() {
    let mut vault = Vault::with_file("a.md", "old");
    for wrong in [json!(5), json!(true), json!(["x"]), json!({})] {
        let mut arguments = replacing("a.md");
        arguments["if_match"] = wrong;
        let error = vault.refused("vault_replace", arguments);
        assert_eq!((&error["code"], &error["details"]["field"]), (&json!("invalid_parameter"), &json!("if_match")));
    }
    assert_eq!(vault.text("a.md"), "old");
}
