//! Interference between two system calls of a write: in intervals too short to be hit by chance.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use trellisd::disk::syscalls::{NameIn, OsSyscalls, WriteSyscalls};

use super::write_fixture::{FileTree, TestProject, files};

/// Before each call of one kind, somebody does something.
pub(crate) struct InterferingSyscalls {
    call: &'static str,
    seen: AtomicUsize,
    /// Is told which call it is, counted from 1.
    deed: Box<dyn Fn(usize) + Send + Sync>,
}

impl InterferingSyscalls {
    pub(crate) fn new(call: &'static str, deed: impl Fn(usize) + Send + Sync + 'static) -> Self {
        Self { call, seen: AtomicUsize::new(0), deed: Box::new(deed) }
    }

    fn before(&self, call: &'static str) {
        if call == self.call {
            (self.deed)(self.seen.fetch_add(1, Ordering::SeqCst) + 1);
        }
    }
}

impl fmt::Debug for InterferingSyscalls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("InterferingSyscalls").finish_non_exhaustive()
    }
}

impl WriteSyscalls for InterferingSyscalls {
    fn create(&self, directory: BorrowedFd<'_>, name: &OsStr, mode: u32) -> io::Result<File> {
        self.before("create");
        OsSyscalls.create(directory, name, mode)
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        OsSyscalls.write(file, bytes)
    }

    fn write_at(&self, file: &File, bytes: &[u8], place: u64) -> io::Result<()> {
        OsSyscalls.write_at(file, bytes, place)
    }

    fn set_mode(&self, file: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
        OsSyscalls.set_mode(file, mode)
    }

    fn fsync(&self, file: &File) -> io::Result<()> {
        OsSyscalls.fsync(file)
    }

    fn fdatasync(&self, file: &File) -> io::Result<()> {
        self.before("flush_data");
        OsSyscalls.fdatasync(file)
    }

    fn fsync_directory(&self, directory: BorrowedFd<'_>) -> io::Result<()> {
        OsSyscalls.fsync_directory(directory)
    }

    fn exchange(&self, one: NameIn<'_>, other: NameIn<'_>) -> io::Result<()> {
        self.before("exchange");
        OsSyscalls.exchange(one, other)
    }

    fn rename_noreplace(&self, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()> {
        self.before("place");
        OsSyscalls.rename_noreplace(from, to)
    }

    fn rename(&self, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()> {
        OsSyscalls.rename(from, to)
    }

    fn link(&self, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()> {
        OsSyscalls.link(from, to)
    }

    fn rename_out(&self, directory: BorrowedFd<'_>, from: &OsStr, to: &Path) -> io::Result<()> {
        OsSyscalls.rename_out(directory, from, to)
    }

    fn remove(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        OsSyscalls.remove(directory, name)
    }

    fn make_directory(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        OsSyscalls.make_directory(directory, name)
    }

    fn remove_directory(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        OsSyscalls.remove_directory(directory, name)
    }
}

/// A ground with one file, and what is done to it.
struct InterferenceCase {
    test_project: TestProject,
    /// Before which kind of call somebody interferes.
    call: &'static str,
}

impl InterferenceCase {
    fn new(call: &'static str) -> Self {
        let test_project = TestProject::new();
        test_project.write("vault/a.md", "1|\n");
        test_project.write("pairs/a", "5\n");
        test_project.write("pairs/b", "5\n");
        Self { test_project, call }
    }

    /// Calls a tool while somebody interferes; returns the answer's code, if it is a failure, and what is there then.
    fn play(
        &self,
        (tool, arguments): (&str, Value),
        deed: impl Fn(&Path, usize) + Send + Sync + 'static,
    ) -> (Option<String>, FileTree) {
        let project = self.test_project.project();
        let meddled = InterferingSyscalls::new(self.call, move |number| deed(&project, number));
        let fixture = self.test_project.open(Arc::new(meddled)).expect("the journal opens");
        let answer = fixture.call(tool, &arguments, 1);
        fixture.close();
        let tree = files(&self.test_project.tree());
        // The next daemon finds everything in order.
        self.test_project.reopen().close();
        assert_eq!(files(&self.test_project.tree()), tree);
        (answer.err().map(|failure| failure.code.to_string()), tree)
    }
}

fn replace() -> (&'static str, Value) {
    ("vault_replace", json!({ "path": "a.md", "find": "|", "replace": "x|" }))
}

fn pay() -> (&'static str, Value) {
    ("fixture_pair_transfer", json!({ "one": "a", "other": "b", "word": "paid" }))
}

fn append(path: &Path, line: &str) {
    let text = fs::read_to_string(path).expect("the file is there");
    fs::write(path, format!("{text}{line}\n")).expect("it is written");
}

/// Files whose path begins with this, with their texts.
fn below<'a>(tree: &'a FileTree, path: &str) -> Vec<(&'a str, &'a str)> {
    let texts = tree.iter().map(|(path, text)| (path.as_str(), text.as_deref().unwrap_or_default()));
    texts.filter(|(there, _)| there.starts_with(path)).collect()
}

#[test]
fn r4_exchange_restores_human_edit() {
    let (failure, tree) = InterferenceCase::new("exchange").play(replace(), |project, number| {
        if number == 1 {
            append(&project.join("vault/a.md"), "hand");
        }
    });
    assert_eq!(failure, None);
    assert_eq!(below(&tree, "vault"), [("vault/a.md", "1x|\nhand\n")], "it ran again on what was there");
}

/// A large text is compared on a thread of its own while its directory is flushed.
#[test]
fn r4_exchange_restores_human_edit_of_a_large_text() {
    let scene = InterferenceCase::new("exchange");
    let large = "line\n".repeat(40_000);
    scene.test_project.write("vault/a.md", &format!("1|\n{large}"));
    let (failure, tree) = scene.play(replace(), |project, number| {
        if number == 1 {
            append(&project.join("vault/a.md"), "hand");
        }
    });
    assert_eq!(failure, None);
    assert!(below(&tree, "vault") == [("vault/a.md", format!("1x|\n{large}hand\n").as_str())], "it ran again");
}

#[test]
fn r4_an_edit_whose_place_is_gone_is_kept_beside() {
    let (failure, tree) = InterferenceCase::new("exchange").play(replace(), |project, number| match number {
        1 => append(&project.join("vault/a.md"), "hand"),
        2 => fs::remove_file(project.join("vault/a.md")).expect("it is removed"),
        _ => {}
    });
    assert_eq!(failure.as_deref(), Some("not_found"), "the file is gone");
    let kept = below(&tree, "vault/a.conflict-");
    assert_eq!(kept.iter().map(|(_, text)| *text).collect::<Vec<_>>(), ["1|\nhand\n"], "{tree:?}");
    assert_eq!(below(&tree, "vault").len(), 1, "{tree:?}");
}

/// Our text was in place for a moment, and somebody wrote to it there.
#[test]
fn r4_an_edit_of_a_text_that_is_taken_back_is_kept_beside() {
    let (failure, tree) = InterferenceCase::new("exchange").play(replace(), |project, number| match number {
        1 => append(&project.join("vault/a.md"), "first hand"),
        2 => append(&project.join("vault/a.md"), "second hand"),
        _ => {}
    });
    assert_eq!(failure, None);
    let kept = below(&tree, "vault/a.conflict-");
    assert_eq!(kept.iter().map(|(_, text)| *text).collect::<Vec<_>>(), ["1x|\nsecond hand\n"], "{tree:?}");
    assert_eq!(tree["vault/a.md"].as_deref(), Some("1x|\nfirst hand\n"));
}

#[test]
fn r16_a_link_in_the_place_of_the_file_stays_and_is_not_followed() {
    let scene = InterferenceCase::new("exchange");
    fs::write(scene.test_project.project().join("secret"), "secret").expect("a file");
    let (failure, tree) = scene.play(replace(), |project, number| {
        if number == 1 {
            let path = project.join("vault/a.md");
            fs::remove_file(&path).expect("it is removed");
            std::os::unix::fs::symlink(project.join("secret"), &path).expect("a link");
        }
    });
    assert_eq!(failure.as_deref(), Some("forbidden"));
    let path = scene.test_project.project().join("vault/a.md");
    assert!(fs::symlink_metadata(path).expect("it is there").is_symlink());
    assert_eq!(tree["secret"].as_deref(), Some("secret"));
}

/// The second of two files is changed in the last moment: the first changes back, and both are written later.
#[test]
fn r4_two_files_change_back_together() {
    let (failure, tree) = InterferenceCase::new("exchange").play(pay(), |project, number| {
        if number == 2 {
            append(&project.join("pairs/b"), "hand");
        }
    });
    assert_eq!(failure, None);
    assert_eq!(below(&tree, "pairs"), [("pairs/a", "4\npaid\n"), ("pairs/b", "6\nhand\npaid\n")]);
}

#[test]
fn r4_a_file_that_keeps_moving_is_busy_and_nothing_of_the_call_stays() {
    let (failure, tree) = InterferenceCase::new("exchange").play(pay(), |project, number| {
        // Every second exchange of an attempt is that of the second file; the others take back.
        if fs::read_to_string(project.join("pairs/a")).is_ok_and(|text| text.contains("paid")) && number < 100 {
            append(&project.join("pairs/b"), "hand");
        }
    });
    assert_eq!(failure.as_deref(), Some("busy"), "{tree:?}");
    assert!(!tree.values().flatten().any(|text| text.contains("paid") && !text.contains("hand")), "{tree:?}");
    assert_eq!(tree["pairs/a"].as_deref(), Some("5\n"));
    assert!(!tree["pairs/b"].as_deref().is_some_and(|text| text.contains("paid")), "{tree:?}");
}

/// A checkout or a backup moves the tree away and puts another one in its place: the write belongs into that one.
#[test]
fn r1_a_tree_that_moves_away_gets_no_write() {
    let (failure, tree) = InterferenceCase::new("exchange").play(replace(), |project, number| {
        if number == 1 {
            fs::rename(project.join("vault"), project.join("moved")).expect("it is moved");
            fs::create_dir(project.join("vault")).expect("a directory");
            fs::write(project.join("vault/a.md"), "2|\n").expect("a file");
        }
    });
    assert_eq!(failure, None);
    assert_eq!(below(&tree, "moved"), [("moved/a.md", "1|\n")]);
    assert_eq!(below(&tree, "vault"), [("vault/a.md", "2x|\n")]);
}

#[test]
fn r1_a_directory_that_moves_within_the_tree_gets_no_write() {
    let scene = InterferenceCase::new("place");
    fs::create_dir(scene.test_project.project().join("vault/new")).expect("a directory");
    let create = ("vault_create", json!({ "path": "new/a.md", "content": "new" }));
    let (failure, tree) = scene.play(create, |project, number| {
        if number == 1 {
            fs::rename(project.join("vault/new"), project.join("vault/elsewhere")).expect("it is moved");
        }
    });
    assert_eq!(failure, None);
    assert_eq!(below(&tree, "vault/elsewhere"), []);
    assert_eq!(below(&tree, "vault/new"), [("vault/new/a.md", "new")]);
}

/// A write that was called off must not be taken back by the next daemon: the same file may be there by another.
#[test]
fn r8_a_call_that_was_called_off_takes_nothing_away_later() {
    let scene = InterferenceCase::new("place");
    let pair = || ("fixture_pair_create", json!({ "one": "x", "other": "y", "word": "w" }));
    let (failure, _) = scene.play(pair(), |project, number| {
        if number == 2 {
            fs::write(project.join("pairs/y"), "hand").expect("a file");
        }
    });
    assert_eq!(failure.as_deref(), Some("PAIR_FILE_EXISTS"));
    fs::remove_file(scene.test_project.project().join("pairs/y")).expect("it is removed");
    let fixture = scene.test_project.reopen();
    let (tool, arguments) = pair();
    fixture.call(tool, &arguments, 2).expect("an answer");
    fixture.close();
    let tree = scene.test_project.tree();
    scene.test_project.reopen().close();
    assert_eq!(scene.test_project.tree(), tree, "both pair_files are there");
    assert_eq!(below(&tree, "pairs/x").len() + below(&tree, "pairs/y").len(), 2);
}
