//! What is no text, too large, no file, or not allowed; the hash; and what changed a moment ago.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};
use trellis_tests::harness::Home;

use super::Vault;

const READERS: [&str; 2] = ["vault_read", "vault_scan"];
const FILE_LIMIT_BYTES: u64 = 16 << 20;

fn at(path: &str) -> Value {
    json!({ "path": path })
}

#[test]
fn what_is_no_text_is_a_conflict() {
    let mut vault = Vault::new();
    for (bytes, offset) in [
        (&b"ab\xff"[..], 2),
        (b"\xc3", 0),
        (b"text\n\xed\xa0\x80", 5),
        (b"\xc0\xaf", 0),
        (b"\xff\xfea\0", 0),
        (b"\xf4\x90\x80\x80", 0),
    ] {
        vault.write("a.md", bytes);
        for tool in READERS {
            let error = vault.refused(tool, at("a.md"));
            assert_eq!(error["code"], "conflict");
            assert_eq!(error["details"], json!({ "path": "a.md", "offset": offset }), "{bytes:?}");
            assert!(error["message"].as_str().is_some_and(|message| message.contains("UTF-8")), "{error}");
        }
        assert_eq!(fs::read(vault.path("a.md")).expect("the file"), bytes, "untouched");
    }
    // Also when the bytes are not in the lines that are asked for.
    vault.write("a.md", b"good\n\xff\n");
    let first = json!({ "path": "a.md", "range": { "end_line": 1 } });
    vault.check_refused("vault_read", first, "conflict", "a.md");
}

#[test]
fn a_file_has_a_largest_size() {
    let mut vault = Vault::new();
    let file = File::create(vault.path("a.md")).expect("a file");
    file.set_len(FILE_LIMIT_BYTES).expect("a size");
    let answer = vault.read("a.md", json!({ "full": true, "limits": { "max_chars": 1 } }));
    assert_eq!((&answer["text"], &answer["truncated_reason"]), (&json!("\0"), &json!("max_chars")));
    file.set_len(FILE_LIMIT_BYTES + 1).expect("a size");
    for tool in READERS {
        let error = vault.refused(tool, at("a.md"));
        assert_eq!(error["code"], "conflict");
        assert_eq!(
            error["details"],
            json!({ "path": "a.md", "size": FILE_LIMIT_BYTES + 1, "limit": FILE_LIMIT_BYTES })
        );
    }
}

#[test]
fn what_is_no_file_does_not_hold_us_up() {
    let mut vault = Vault::new();
    let made = Command::new("mkfifo").arg(vault.path("fifo")).status().expect("mkfifo runs");
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(vault.path("socket")).expect("a socket");
    for (path, below) in [("fifo", "fifo/a.md"), ("socket", "socket/a.md")] {
        for tool in READERS {
            vault.check_refused(tool, at(path), "conflict", path);
            vault.check_refused(tool, at(below), "not_found", below);
        }
        vault.check_refused("vault_ls", at(path), "not_found", path);
    }
    assert_eq!(vault.ls(json!({})), [""; 0]);
}

#[test]
fn what_the_system_denies_is_forbidden() {
    let home = Home::new();
    let secret = home.write("vault/secret.md", "text");
    home.write("vault/closed/a.md", "text");
    home.write("vault/open.md", "text");
    let close = |path: &std::path::Path| fs::set_permissions(path, fs::Permissions::from_mode(0o000)).expect("closed");
    close(&secret);
    close(&home.project().join("vault/closed"));
    let client = home.unprivileged_host(&["--only", "vault"]);
    let mut vault = Vault { home, client };
    for tool in READERS {
        vault.check_refused(tool, at("secret.md"), "forbidden", "secret.md");
        vault.check_refused(tool, at("closed/a.md"), "forbidden", "closed/a.md");
    }
    vault.check_refused("vault_ls", at("closed"), "forbidden", "closed");
    assert_eq!(vault.ls(json!({})), ["closed", "open.md", "secret.md"]);
    let closed = vault.path("closed");
    fs::set_permissions(closed, fs::Permissions::from_mode(0o700)).expect("open again");
}

#[test]
fn what_the_disk_cannot_read_is_a_conflict() {
    // Reading one's own memory from its beginning is an error of the system that no file can have.
    let mut vault = Vault::at(Home::new().with("VAULT_ROOT", "/proc/self"));
    let error = vault.refused("vault_read", at("mem"));
    assert_eq!((&error["code"], &error["details"]), (&json!("conflict"), &json!({ "path": "mem" })));
    let message = error["message"].as_str().expect("a message");
    assert!(!message.contains("/proc") && !message.contains("os error"), "{message}");
}

#[test]
fn the_hash_is_of_the_whole_file() {
    let mut vault = Vault::with_file("a.md", "");
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(vault.read("a.md", json!({ "full": true }))["hash"], empty);
    assert_eq!(vault.scan("a.md", json!({}))["hash"], empty);
    vault.write("a.md", "abc");
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(vault.read("a.md", json!({ "range": {}, "limits": { "max_chars": 1 } }))["hash"], abc);
    assert_eq!(vault.scan("a.md", json!({ "limits": { "max_chars": 1 } }))["hash"], abc);
    // Line endings, byte-order mark and final newline count.
    vault.write("a.md", "\u{feff}a\r\nb\r\n");
    let exact = "ef7385f30109f20b5bb2d2b82376d31c0fc64b33feefeb8efac373469fc9dca6";
    assert_eq!(vault.scan("a.md", json!({ "chunk_lines": 1 }))["hash"], exact);
    assert_eq!(vault.read("a.md", json!({ "range": { "start_line": 2 } }))["hash"], exact);
}

#[test]
fn an_edit_that_hides_is_seen_by_the_next_call() {
    let mut vault = Vault::with_file("a.md", "before");
    let path = vault.path("a.md");
    let modified = fs::metadata(&path).and_then(|found| found.modified()).expect("a time");
    for text in ["after!", "before", "again."] {
        vault.read("a.md", json!({ "full": true }));
        fs::write(&path, text).expect("a file");
        let file = File::options().write(true).open(&path).expect("the file");
        file.set_times(FileTimes::new().set_modified(modified)).expect("the old time");
        assert_eq!(vault.read("a.md", json!({ "full": true }))["text"], text);
        assert_eq!(vault.scan("a.md", json!({}))["text"], text);
    }
}

#[test]
fn files_and_directories_that_come_and_go_are_seen() {
    let mut vault = Vault::with_file("a.md", "one");
    assert_eq!(vault.read("a.md", json!({ "full": true }))["text"], "one");
    vault.write("b.md", "two");
    fs::rename(vault.path("b.md"), vault.path("a.md")).expect("an editor's rename");
    assert_eq!(vault.read("a.md", json!({ "full": true }))["text"], "two");
    assert_eq!(vault.ls(json!({})), ["a.md"]);
    fs::remove_file(vault.path("a.md")).expect("a removal");
    vault.check_refused("vault_read", at("a.md"), "not_found", "a.md");
    fs::create_dir(vault.path("a.md")).expect("a directory");
    vault.check_refused("vault_read", at("a.md"), "not_found", "a.md");
    // The whole vault is replaced by another one.
    fs::rename(vault.path(""), vault.home.project().join("old")).expect("a rename");
    vault.check_refused("vault_ls", json!({}), "not_found", None);
    vault.write("c.md", "three");
    assert_eq!(vault.ls(json!({})), ["c.md"]);
}

#[test]
fn the_log_tells_no_texts_and_no_arguments() {
    let mut vault = Vault::with_file("a.md", "secret text\n");
    vault.read("a.md", json!({ "full": true }));
    vault.refused("vault_read", json!({ "path": "secret path", "full": true }));
    vault.refused("vault_scan", json!({ "path": "a.md", "chunk_lines": "secret value" }));
    vault.write("a.md", b"secret \xff");
    vault.refused("vault_read", at("a.md"));
    let log = vault.home.log();
    assert!(!log.is_empty() && !log.contains("secret"), "{log}");
}
