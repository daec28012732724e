//! Where temp files lie: nothing of ours is ever seen in a user's tree, and a file that came from elsewhere is as if it
//! had been written in place.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::mem::MaybeUninit;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{XattrFlags, inotify};
use serde_json::{Value, json};
use trellis_tests::harness::{Home, programs, wait_until};

use super::exclusive::exclusive;
use super::failing_syscalls::{FailingSyscalls, InjectedFault};
use super::write_fixture::{TestProject, files};

const ROUNDS: usize = 500;

/// Four writes: a new file, a text replaced, two new files, and one that goes.
fn round(number: usize) -> [(&'static str, Value); 4] {
    let (one, other) = (format!("one-{number}"), format!("other-{number}"));
    let pair = json!({ "one": one, "other": other, "word": "w" });
    [
        ("vault_create", json!({ "path": format!("{number}.md"), "content": "new\n" })),
        ("vault_replace", json!({ "path": "note.md", "find": "|", "replace": "x|" })),
        ("fixture_pair_create", pair.clone()),
        ("fixture_pair_merge", pair),
    ]
}

/// Names that a user finds in the tree because somebody asked for them.
fn is_asked_for(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbered = |prefix: &str| name.strip_prefix(prefix).is_some_and(is_number);
    matches!(name, "note.md" | "vault" | "pairs" | "shelf" | ".git" | "")
        || name.strip_suffix(".md").is_some_and(is_number)
        || numbered("one-")
        || numbered("other-")
}

/// Looks without pause until it is told to stop; how often, and what it saw that nobody asked for.
fn watch(stop: &AtomicBool, looks: &AtomicUsize, look: impl Fn() -> Vec<String>) -> BTreeSet<String> {
    let mut strange = BTreeSet::new();
    while !stop.load(Ordering::Relaxed) {
        strange.extend(look().into_iter().filter(|name| !is_asked_for(name)));
        looks.fetch_add(1, Ordering::Relaxed);
    }
    strange
}

fn listed(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The names that `git status` shows, ignored ones among them.
fn git_status(project: &Path) -> Vec<String> {
    let arguments = ["status", "--porcelain", "--ignored", "--untracked-files=all"];
    let output = Command::new("git").args(arguments).current_dir(project).output().expect("git runs");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let name = |line: &str| line.rsplit(['/', ' ']).next().unwrap_or_default().to_owned();
    lines.lines().map(name).collect()
}

/// Every name that the system reports in these directories.
fn reported(stop: &AtomicBool, directories: &[PathBuf]) -> BTreeSet<String> {
    let events = inotify::init(inotify::CreateFlags::NONBLOCK).expect("an inotify");
    for directory in directories {
        inotify::add_watch(&events, directory, inotify::WatchFlags::ALL_EVENTS).expect("a watch");
    }
    let mut buffer = [MaybeUninit::uninit(); 64 << 10];
    let mut reader = inotify::Reader::new(events, &mut buffer);
    let mut names = BTreeSet::new();
    loop {
        match reader.next() {
            Ok(event) => names.extend(event.file_name().map(|name| name.to_string_lossy().into_owned())),
            Err(_) if stop.load(Ordering::Relaxed) => return names,
            Err(_) => std::thread::sleep(std::time::Duration::from_micros(200)),
        }
    }
}

#[test]
fn r3_nothing_of_ours_is_ever_seen_in_a_git_repository() {
    let _turn = exclusive();
    let home = Home::with_fixtures();
    home.write("vault/note.md", "|\n");
    let project = home.project();
    let (vault, pairs) = (project.join("vault"), project.join("pairs"));
    fs::create_dir(&pairs).expect("a directory");
    let git = Command::new("git").args(["init", "-q"]).current_dir(&project).status();
    assert!(git.is_ok_and(|status| status.success()), "git is needed");
    let mut client = home.host(&[]);
    let (stop, looks, statuses) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let directories = [project.clone(), vault.clone(), pairs.clone()];
    let (seen, names) = std::thread::scope(|scope| {
        let in_vault = scope.spawn(|| watch(&stop, &looks, || listed(&vault)));
        let in_pairs = scope.spawn(|| watch(&stop, &looks, || listed(&pairs)));
        let by_git = scope.spawn(|| watch(&stop, &statuses, || git_status(&project)));
        let by_events = scope.spawn(|| reported(&stop, &directories));
        for number in 0..ROUNDS {
            for (tool, arguments) in round(number) {
                client.call_ok(tool, arguments);
            }
        }
        // The last displaced file is looked after for a tenth of a second.
        std::thread::sleep(std::time::Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        let seen = [in_vault, in_pairs, by_git].map(|watcher| watcher.join().expect("a watcher"));
        (seen, by_events.join().expect("a watcher"))
    });
    println!("{} listings, {} times `git status`, {} names", looks.into_inner(), statuses.into_inner(), names.len());
    assert!(seen.iter().all(BTreeSet::is_empty), "{seen:?}");
    let strange: Vec<_> = names.iter().filter(|name| !is_asked_for(name)).collect();
    assert!(strange.is_empty(), "{strange:?}");
    assert!(names.contains("note.md") && names.contains("one-0"), "it was watched");
}

fn create(path: &str) -> (&'static str, Value) {
    ("vault_create", json!({ "path": path, "content": "new\n" }))
}

fn replace() -> (&'static str, Value) {
    ("vault_replace", json!({ "path": "a.md", "find": "|", "replace": "x|" }))
}

fn run(test_project: &TestProject, calls: &[(&str, Value)]) {
    let fixture = test_project.reopen();
    for (number, (tool, arguments)) in calls.iter().enumerate() {
        fixture.call(tool, arguments, number as u64 + 1).expect("an answer");
    }
    fixture.close();
    let tree = test_project.tree();
    assert!(!tree.keys().any(|path| path.ends_with(".vtmp")), "{tree:?}");
}

#[test]
fn r1_a_new_file_has_the_group_that_its_directory_hands_down() {
    if !rustix::process::getuid().is_root() {
        println!("not checked: only root can give a directory to any group");
        return;
    }
    const GROUP: u32 = 12_345;
    let test_project = TestProject::new();
    test_project.write("vault/a.md", "1|\n");
    let vault = test_project.project().join("vault");
    std::os::unix::fs::chown(&vault, None, Some(GROUP)).expect("a group");
    fs::set_permissions(&vault, fs::Permissions::from_mode(0o2775)).expect("a mode");
    std::os::unix::fs::chown(vault.join("a.md"), None, Some(GROUP)).expect("a group");
    fs::set_permissions(vault.join("a.md"), fs::Permissions::from_mode(0o664)).expect("a mode");
    run(&test_project, &[create("new.md"), create("below/new.md"), replace()]);
    let about =
        |path: &str| fs::metadata(vault.join(path)).map(|file| (file.gid(), file.mode() & 0o7777)).expect("a file");
    assert_eq!(about("new.md"), (GROUP, 0o644));
    assert_eq!(about("below"), (GROUP, 0o2755));
    assert_eq!(about("below/new.md"), (GROUP, 0o644));
    assert_eq!(about("a.md"), (GROUP, 0o664));
}

/// An ACL as the system keeps it: who (a tag, and perhaps a number) may do what.
fn acl(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = [0_u8; 256];
    rustix::fs::getxattr(path, name, &mut value[..]).ok().map(|size| value[..size].to_vec())
}

#[test]
fn r1_a_new_file_has_the_acl_that_its_directory_hands_down() {
    let test_project = TestProject::new();
    test_project.write("vault/a.md", "1|\n");
    let vault = test_project.project().join("vault");
    // Owner and one other user may do everything, others nothing.
    let nobody = u32::MAX;
    let entries = [(1, 7, nobody), (2, 7, 4321), (4, 5, nobody), (0x10, 7, nobody), (0x20, 0, nobody)];
    let set = rustix::fs::setxattr(&vault, "system.posix_acl_default", &acl(&entries), XattrFlags::empty());
    if set.is_err() {
        println!("not checked: this file system has no ACLs");
        return;
    }
    OpenOptions::new().write(true).create_new(true).mode(0o666).open(vault.join("in-place.md")).expect("a file");
    run(&test_project, &[create("new.md"), replace()]);
    let access = |path: &str| attribute(&vault.join(path), "system.posix_acl_access");
    assert!(access("in-place.md").is_some());
    assert_eq!(access("new.md"), access("in-place.md"));
    let mode = |path: &str| fs::metadata(vault.join(path)).expect("a file").mode();
    assert_eq!(mode("new.md"), mode("in-place.md"));
    assert_eq!(access("a.md"), None, "what had none has none");
}

#[test]
fn r1_a_tree_on_another_file_system_is_written_beside() {
    let Ok(other) = tempfile::Builder::new().prefix("trellis-").tempdir_in("/dev/shm") else {
        println!("not checked: there is no `/dev/shm`");
        return;
    };
    let test_project = TestProject::new();
    let vault = other.path().join("vault");
    fs::create_dir_all(other.path().join(".git")).expect("a project");
    fs::create_dir_all(&vault).expect("a vault");
    fs::write(vault.join("a.md"), "1|\n").expect("a file");
    let fixture = test_project.reopen();
    let device = |path: &Path| fs::metadata(path).expect("it is there").dev();
    assert_ne!(device(&vault), device(&test_project.project()), "`/dev/shm` is a file system of its own");
    for (number, (tool, arguments)) in [create("new.md"), replace()].into_iter().enumerate() {
        fixture.call_in(other.path(), tool, &arguments, number as u64 + 1).expect("an answer");
    }
    fixture.close();
    let mut names = listed(&vault);
    names.sort();
    assert_eq!(names, ["a.md", "new.md"]);
    assert_eq!(fs::read_to_string(vault.join("a.md")).expect("a file"), "1x|\n");
}

/// The numbers of the file systems are the same, and only the rename tells.
#[test]
fn r1_a_rename_that_crosses_devices_is_done_beside_in_the_same_call() {
    let test_project = TestProject::new();
    test_project.write("vault/a.md", "1|\n");
    test_project.write("pairs/a", "5\n");
    test_project.write("pairs/b", "5\n");
    let pair = json!({ "one": "a", "other": "b", "word": "paid" });
    let calls = [create("new.md"), replace(), ("fixture_pair_transfer", pair.clone()), ("fixture_pair_merge", pair)];
    let syscalls = Arc::new(FailingSyscalls::new(InjectedFault::Stop, usize::MAX).with_two_devices());
    let fixture = test_project.open(Arc::clone(&syscalls) as _).expect("the journal opens");
    for (number, (tool, arguments)) in calls.into_iter().enumerate() {
        fixture.call(tool, &arguments, number as u64 + 1).expect("an answer");
    }
    fixture.close();
    assert_eq!(syscalls.crossings(), 2, "one attempt for each tree");
    let tree = files(&test_project.tree());
    assert_eq!(tree["vault/a.md"].as_deref(), Some("1x|\n"));
    assert_eq!(tree["pairs/b"].as_deref(), Some("10\npaid\npaid\n"));
    assert_eq!(tree.len(), 3, "{tree:?}");
}

#[test]
fn r1_a_bind_mount_is_written_beside() {
    let home = Home::new();
    home.write("vault/a.md", "1|\n");
    let vault = home.project().join("vault");
    let script = format!("mount --bind '{0}' '{0}' && exec '{1}' run", vault.display(), programs::daemon().display());
    let mut command = home.command("unshare".as_ref());
    command.args(["-Urm", "sh", "-c", &script]).stdin(Stdio::null()).stderr(Stdio::null());
    let mut daemon = match command.spawn() {
        Ok(daemon) => daemon,
        Err(error) => return println!("not checked: {error}"),
    };
    let pid = wait_until("the daemon, or its end", || match daemon.try_wait() {
        Ok(None) => home.daemon_pid().map(Some),
        _ => Some(None),
    });
    let Some(pid) = pid else { return println!("not checked: no mounts for us here") };
    let mut client = home.host(&["--only", "vault"]);
    for (tool, arguments) in [create("new.md"), replace()] {
        client.call_ok(tool, arguments);
    }
    client.close();
    super::process::signal(pid, super::process::Signal::TERM);
    daemon.wait().expect("it ends");
    let mut names = listed(&vault);
    names.sort();
    assert_eq!(names, ["a.md", "new.md"]);
    assert_eq!(fs::read_to_string(vault.join("a.md")).expect("a file"), "1x|\n");
}

/// A crash leaves a file in the staging directory; the next daemon looks there, and walks no tree.
#[test]
fn r3_what_a_crash_leaves_lies_in_the_staging_directory_and_goes() {
    let test_project = TestProject::new();
    test_project.write("vault/a.md", "1|\n");
    let staging = test_project.state().join("journal/staging");
    for number in 1..20 {
        let faulty = Arc::new(FailingSyscalls::new(InjectedFault::Stop, number));
        let fixture = test_project.open(faulty as _).expect("the journal opens");
        let _ = fixture.call("vault_replace", &replace().1, number as u64);
        fixture.close();
        assert_eq!(files(&test_project.tree()).len(), 1, "nothing lies beside it");
    }
    test_project.reopen().close();
    assert_eq!(listed(&staging), Vec::<String>::new());
}
