//! Full, read-only and forbidding disks: a clear error, the old bytes, and no temp file.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, programs, wait_until};

use super::Vault;

/// A file system for the length of a test.
struct Mount(PathBuf);

impl Mount {
    /// None if this account may not mount anything.
    fn new(arguments: &[&str], at: &Path) -> Option<Self> {
        fs::create_dir_all(at).expect("a directory");
        let output = Command::new("mount").args(arguments).arg(at).output().ok()?;
        if !output.status.success() {
            eprintln!("skipped: nothing can be mounted here: {}", String::from_utf8_lossy(&output.stderr).trim());
            return None;
        }
        Some(Self(at.to_owned()))
    }

    fn tmpfs(size: &str, at: &Path) -> Option<Self> {
        Self::new(&["-t", "tmpfs", "-o", &format!("size={size},mode=0700"), "none"], at)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // The daemon may still hold a directory in it.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

fn creating(path: &str, content: &str) -> Value {
    json!({ "path": path, "content": content })
}

fn replacing(path: &str, replace: &str) -> Value {
    json!({ "path": path, "find": "old", "replace": replace })
}

/// The call is refused for this reason, and the vault is as it was.
#[track_caller]
fn check_refused(vault: &mut Vault, tool: &str, arguments: &Value, code: &str, reason: &str) {
    let before = vault.tree();
    let error = vault.refused(tool, arguments.clone());
    assert_eq!((&error["code"], &error["details"]["reason"]), (&json!(code), &json!(reason)), "{tool}: {error}");
    assert_eq!(error["details"]["path"], arguments["path"], "{error}");
    let message = error["message"].as_str().expect("a message");
    assert!(!message.contains("os error"), "{message}");
    assert_eq!(vault.tree(), before, "{tool}: nothing is left");
}

#[test]
fn a_full_disk() {
    let home = Home::new();
    let Some(mount) = Mount::tmpfs("1m", &home.project().join("vault")) else { return };
    let mut vault = Vault::at(home);
    vault.write("a.md", "old");
    vault.create("fits.md", &"x".repeat(300_000));
    let large = "x".repeat(2 << 20);
    check_refused(&mut vault, "vault_create", &creating("large.md", &large), "conflict", "disk_full");
    check_refused(&mut vault, "vault_create", &creating("new/deep/large.md", &large), "conflict", "disk_full");
    check_refused(&mut vault, "vault_replace", &replacing("a.md", &large), "conflict", "disk_full");
    assert_eq!(vault.text("a.md"), "old");
    // Not a byte is left.
    while fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(vault.path("filler"))
        .and_then(|mut file| std::io::Write::write_all(&mut file, &[0; 4096]))
        .is_ok()
    {}
    check_refused(&mut vault, "vault_replace", &replacing("a.md", "new"), "conflict", "disk_full");
    check_refused(&mut vault, "vault_create", &creating("b.md", "new"), "conflict", "disk_full");
    assert_eq!((vault.text("a.md").as_str(), vault.bytes("fits.md").len()), ("old", 300_000));
    // With room again the same calls pass.
    fs::remove_file(vault.path("filler")).expect("a removal");
    vault.create("b.md", "new");
    assert_eq!(vault.replace("a.md", "old", "new", json!({})), 1);
    assert_eq!(vault.tree(), ["a.md", "b.md", "fits.md"]);
    drop((vault, mount));
}

#[test]
fn a_full_disk_for_the_journal() {
    let home = Home::new();
    let Some(mount) = Mount::tmpfs("1m", &home.path().join("state")) else { return };
    let state = mount.0.clone();
    let mut vault = Vault::at(home.with("XDG_STATE_HOME", &state));
    let large = format!("old{}", "x".repeat(2 << 20));
    vault.write("a.md", &large);
    // The old text finds no room in the journal; that must not leave it in the vault.
    assert_eq!(vault.replace("a.md", "old", "new", json!({})), 1);
    assert_eq!(vault.tree(), ["a.md"]);
    fs::write(state.join("filler"), vec![0; 1 << 20]).expect_err("a full disk");
    // Long paths make long entries.
    let deep = ["d".repeat(200), "e".repeat(200), "f".repeat(200), "g".repeat(200)].join("/");
    // Entries fit into the segment that is open; once it is full the journal forgets the oldest to make room.
    for number in 0..600 {
        vault.create(&format!("{deep}/{number}.md"), "x");
    }
    assert_eq!(vault.tree().len(), 1 + 4 + 600);
    drop((vault, mount));
}

/// A home whose state is on a disk of its own, and its socket on another one.
fn home_with_state_at(state: &Path) -> Home {
    let home = Home::new();
    fs::create_dir(home.path().join("run")).expect("a directory");
    let run = home.path().join("run");
    home.with("XDG_STATE_HOME", state).with("XDG_RUNTIME_DIR", run)
}

/// Reading and searching go on; a write is refused for this reason, with what to do, and leaves nothing.
fn check_serves_without_writing(vault: &mut Vault, reason: &str) {
    assert_eq!(vault.text("a.md"), "old");
    vault.client.call_ok("vault_read", json!({ "path": "a.md", "full": true }));
    let mut vibe = vault.home.host(&["--only", "vibe"]);
    let found = vibe.call_ok("search", json!({ "query": "lighthouse" }));
    assert!(found.to_string().contains("lighthouse"), "{found}");
    check_refused(vault, "vault_replace", &replacing("a.md", "new"), "conflict", reason);
    let error = vault.refused("vault_create", creating("b.md", "new"));
    let said = error.to_string();
    assert!(said.contains("recorded") && said.contains("state directory"), "{said}");
}

fn write_document(home: &Home) {
    let document = home.path().join(".vibe/p/docs/note.md");
    fs::create_dir_all(document.parent().expect("a directory")).expect("a directory");
    fs::write(document, "# Note\n\nThe lighthouse keeper\n").expect("a file");
}

#[test]
fn r19_a_full_state_disk_stops_writes_and_nothing_else() {
    let outside = tempfile::TempDir::new().expect("a directory");
    let Some(mount) = Mount::tmpfs("200k", &outside.path().join("state")) else { return };
    fs::write(mount.0.join("filler"), vec![0; 1 << 20]).expect_err("a full disk");
    let home = home_with_state_at(&mount.0);
    write_document(&home);
    let mut vault = Vault::at(home);
    vault.write("a.md", "old");
    check_serves_without_writing(&mut vault, "disk_full");
    // With room again the same daemon writes.
    assert!(Command::new("mount").args(["-o", "remount,size=4m"]).arg(&mount.0).status().is_ok_and(|it| it.success()));
    vault.create("b.md", "new");
    assert_eq!(vault.replace("a.md", "old", "new", json!({})), 1);
    drop((vault, mount));
}

#[test]
fn r19_a_read_only_state_disk_stops_writes_and_nothing_else() {
    let outside = tempfile::TempDir::new().expect("a directory");
    let Some(mount) = Mount::tmpfs("4m", &outside.path().join("state")) else { return };
    let remount = |how: &str| {
        let done = Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(&mount.0).status();
        assert!(done.is_ok_and(|it| it.success()));
    };
    for has_run_before in [false, true] {
        let home = home_with_state_at(&mount.0);
        write_document(&home);
        fs::create_dir_all(mount.0.join("trellis")).expect("a directory");
        if has_run_before {
            home.host(&["--only", "vault"]).call_ok("vault_create", creating("first.md", "x"));
            let pid = home.daemon_pid().expect("a daemon");
            home.kill(pid);
            while fs::exists(format!("/proc/{pid}")).unwrap_or(false) {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
        remount("ro");
        let mut vault = Vault::at(home);
        vault.write("a.md", "old");
        check_serves_without_writing(&mut vault, "read_only");
        remount("rw");
        vault.create("b.md", "new");
        drop(vault);
    }
}

#[test]
fn a_read_only_disk() {
    let home = Home::new();
    let real = home.path().join("real");
    fs::create_dir_all(&real).expect("a directory");
    fs::write(real.join("a.md"), "old").expect("a file");
    let at = home.project().join("vault");
    let Some(mount) = Mount::new(&["--bind", real.to_str().expect("text")], &at) else { return };
    let made = Command::new("mount").args(["-o", "remount,ro,bind"]).arg(&at).status().expect("mount runs");
    assert!(made.success());
    let client = home.host(&["--only", "vault"]);
    let mut vault = Vault { home, client };
    check_refused(&mut vault, "vault_create", &creating("b.md", "x"), "conflict", "read_only");
    check_refused(&mut vault, "vault_create", &creating("new/b.md", "x"), "conflict", "read_only");
    check_refused(&mut vault, "vault_replace", &replacing("a.md", "new"), "conflict", "read_only");
    assert_eq!(vault.text("a.md"), "old");
    assert_eq!(vault.replace("a.md", "none", "x", json!({})), 0, "what needs no write needs no right");
    drop((vault, mount));
}

#[test]
fn a_directory_that_may_not_be_written() {
    let home = Home::new();
    home.write("vault/closed/a.md", "old");
    home.write("vault/open/a.md", "old");
    let closed = home.project().join("vault/closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).expect("a mode");
    let client = home.unprivileged_host(&["--only", "vault"]);
    let mut vault = Vault { home, client };
    check_refused(&mut vault, "vault_create", &creating("closed/b.md", "x"), "forbidden", "denied");
    check_refused(&mut vault, "vault_create", &creating("closed/new/b.md", "x"), "forbidden", "denied");
    check_refused(&mut vault, "vault_replace", &replacing("closed/a.md", "new"), "forbidden", "denied");
    assert_eq!(vault.text("closed/a.md"), "old");
    assert_eq!(vault.replace("open/a.md", "old", "new", json!({})), 1);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).expect("a mode");
    assert_eq!(vault.replace("closed/a.md", "old", "new", json!({})), 1);
}

/// Sets how many files a process may have open.
fn limit_files(pid: u32, current: u64) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let pid = Pid::from_raw(pid as i32).expect("a pid");
    prlimit(Some(pid), Resource::Nofile, Rlimit { current: Some(current), maximum }).expect("the limit can be set");
}

#[test]
fn a_limit_for_the_size_of_files() {
    let home = Home::new();
    home.write("vault/a.md", "old");
    // The daemon inherits the limit from the session that starts it: a megabyte, in blocks of 512 bytes.
    let mut command = home.command("sh".as_ref());
    command.args(["-c", "ulimit -f 2048; exec \"$0\" --only vault"]).arg(programs::proxy());
    let mut client = Client::start(command);
    client.initialize("2025-11-25");
    let mut vault = Vault { home, client };
    vault.create("fits.md", &"x".repeat(1 << 19));
    let pid = vault.home.daemons();
    let large = "x".repeat(3 << 20);
    check_refused(&mut vault, "vault_create", &creating("large.md", &large), "conflict", "too_large");
    check_refused(&mut vault, "vault_create", &creating("new/large.md", &large), "conflict", "too_large");
    check_refused(&mut vault, "vault_replace", &replacing("a.md", &large), "conflict", "too_large");
    assert_eq!(vault.text("a.md"), "old");
    assert_eq!(vault.replace("a.md", "old", "new", json!({})), 1);
    assert_eq!(vault.home.daemons(), pid, "the daemon lives on");
}

#[test]
fn too_many_open_files() {
    let mut vault = Vault::with_file("a.md", "old 0");
    vault.create("first.md", "x");
    let pid = vault.home.daemon_pid().expect("a daemon");
    let open = || fs::read_dir(format!("/proc/{pid}/fd")).expect("a process").count() as u64;
    let mut count = 0;
    let mut outcomes = Vec::new();
    // One more may be open in every round, so that another call of the write is the first to fail.
    for spare in 0..24 {
        vault.tree();
        let before = vault.text("a.md");
        limit_files(pid, open() + spare);
        let (find, replace) = (format!("old {count}"), format!("old {}", count + 1));
        let replaced = vault.client.call("vault_replace", json!({ "path": "a.md", "find": find, "replace": replace }));
        let path = format!("new{spare}/b.md");
        let created = vault.client.call("vault_create", creating(&path, "x"));
        limit_files(pid, 1024);
        for result in [&replaced, &created] {
            if result["isError"] == true {
                let error = &result["structuredContent"]["error"];
                assert_eq!(error["code"], "conflict", "{error}");
                let message = error["message"].as_str().expect("a message");
                assert!(message.contains("too many"), "{message}");
            }
        }
        if replaced["isError"] == true {
            assert_eq!(vault.text("a.md"), before, "{spare}: refused, and yet done: {replaced}");
        } else {
            count += 1;
            assert_eq!(vault.text("a.md"), replace, "{spare}");
        }
        let directory = vault.path(&format!("new{spare}"));
        if created["isError"] == true {
            // One that was there for a moment goes with what was displaced in it.
            wait_until("no directory stays", || (!directory.exists()).then_some(()));
        } else {
            assert!(directory.exists(), "{spare}: {created}");
        }
        outcomes.push(replaced["isError"] == true);
    }
    assert!(outcomes[0] && !outcomes[23], "the limit was felt, and then not: {outcomes:?}");
    assert_eq!(vault.read("a.md", json!({ "full": true }))["text"], format!("old {count}"));
}
