//! Odd names and odd trees: whatever can lie in a directory.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use super::watch_fixture::{WatchFixture, scan};

#[test]
fn r18_odd_names_are_known_like_any_other() {
    let mut watched = WatchFixture::new();
    let names: [&[u8]; 6] =
        [b"not text \xff\xfe", b"two\nlines", b" ", b"*?[", b"\xe3\x81\x8b\xe3\x82\x99.md", &[b'n'; 255]];
    for name in names {
        let name = OsStr::from_bytes(name);
        fs::create_dir(watched.root.join(name)).expect("a directory");
        fs::write(watched.root.join(name).join(name), "odd").expect("a file");
    }
    watched.wait_until_equal();
    assert_eq!(watched.known().expect("watched").files, names.len() as u64);
    watched.every_directory_is_seen();
    for name in names {
        let name = OsStr::from_bytes(name);
        fs::rename(watched.root.join(name).join(name), watched.root.join("moved")).expect("a rename");
        watched.wait_until_equal();
    }
}

#[test]
fn r18_links_and_special_files_are_passed_over_and_hidden_directories_are_not() {
    let mut watched = WatchFixture::new();
    let outside = watched.home.path().join("outside");
    fs::create_dir_all(outside.join("sub")).expect("a directory");
    fs::write(outside.join("sub/file.md"), "outside").expect("a file");
    symlink(&outside, watched.root.join("link")).expect("a link");
    symlink(".", watched.root.join("loop")).expect("a link");
    symlink(outside.join("sub/file.md"), watched.root.join("file.md")).expect("a link");
    let pipe = watched.root.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    watched.write(".hidden/.deep/file.md", "hidden");
    watched.write(".git/objects/file", "passed over");
    watched.write("sub/node_modules/file", "passed over");
    watched.wait_until_equal();
    assert_eq!(watched.known().expect("watched").files, 1, "only the hidden one");
    watched.every_directory_is_seen();
    // A directory gives way to a link, a file to a directory, and back.
    watched.write("turns/file.md", "a directory");
    watched.wait_until_equal();
    fs::remove_dir_all(watched.root.join("turns")).expect("a removal");
    symlink(&outside, watched.root.join("turns")).expect("a link");
    watched.wait_until_equal();
    fs::remove_file(watched.root.join("turns")).expect("a removal");
    watched.write("turns", "a file");
    watched.wait_until_equal();
    fs::remove_file(watched.root.join("turns")).expect("a removal");
    watched.write("turns/again.md", "a directory");
    watched.wait_until_equal();
    watched.every_directory_is_seen();
}

/// A checkout may keep name, size and time; a copy over a file keeps even its number.
#[test]
fn r10_a_change_that_keeps_size_and_time_is_seen() {
    let mut watched = WatchFixture::new();
    watched.write("file.md", "one");
    watched.wait_until_equal();
    let path = watched.root.join("file.md");
    let times = fs::metadata(&path).expect("it is there").modified().expect("a time");
    fs::write(&path, "two").expect("a file");
    fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(times)).expect("an old time");
    watched.wait_until_equal();
    let beside = watched.root.join("beside");
    fs::write(&beside, "six").expect("a file");
    fs::File::options().write(true).open(&beside).and_then(|file| file.set_modified(times)).expect("an old time");
    fs::rename(&beside, &path).expect("a rename");
    watched.wait_until_equal();
}

#[test]
fn r18_a_tree_as_deep_as_paths_allow_is_known() {
    let mut watched = WatchFixture::in_memory();
    let deep = "d/".repeat(1000);
    watched.write(&format!("{deep}file.md"), "deep");
    watched.wait_until_equal();
    assert_eq!(watched.known().expect("watched").files, 1);
    watched.rename("d", "z");
    watched.wait_until_equal();
    watched.write(&format!("z/{}file.md", "d/".repeat(999)), "deeper");
    watched.wait_until_equal();
    // Deeper than any path can say: passed over, and nothing else suffers.
    let script = "for i in $(seq 12); do n=$(printf 'n%.0s' $(seq 250)); mkdir $n && cd $n || exit 1; done; \
                  for i in $(seq 12); do mkdir $n && cd $n || exit 1; done; echo deep > file.md";
    assert!(Command::new("bash").args(["-c", script]).current_dir(&watched.root).status().expect("bash").success());
    watched.write("still/here.md", "here");
    watched.wait_until_equal();
    let removed = Command::new("rm").arg("-rf").arg(&watched.root).status().expect("rm runs");
    assert!(removed.success());
}

/// What may not be read is passed over until it may.
#[test]
fn r13_a_directory_that_may_not_be_read_is_seen_once_it_may() {
    if rustix::process::geteuid().is_root() {
        println!("skipped: root may read everything");
        return;
    }
    let mut watched = WatchFixture::new();
    watched.write("closed/file.md", "text");
    watched.wait_until_equal();
    let closed = watched.root.join("closed");
    for (mode, is_said) in [(0o000, true), (0o755, false)] {
        fs::set_permissions(&closed, fs::Permissions::from_mode(mode)).expect("a mode");
        watched.wait_until_equal();
        let warning = watched.known().expect("watched").warning;
        assert_eq!(warning.is_some_and(|warning| warning.contains("cannot be read")), is_said);
    }
    assert_eq!(scan(&watched.root).files().len(), 1);
    watched.every_directory_is_seen();
}
