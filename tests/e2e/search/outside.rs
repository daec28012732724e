//! What people do to files outside is found by the next search.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use trellis_tests::harness::Client;

use super::{NotesFixture, converges, find, paths};

/// Does something of each kind to files, and searches right after each.
fn edit_and_find(shelves: &NotesFixture, host: &mut Client, pairs: usize, pause: Duration) {
    let mut misses = Vec::new();
    for pair in 0..pairs {
        sleep(pause);
        let (note, word) = (format!("notes/n{}.md", pair % 50), format!("edit{pair}x{}", pause.as_millis()));
        let expected = match pair % 5 {
            0 => {
                shelves.put(&note, &format!("{word}\n"));
                vec![note]
            }
            1 => {
                let new = format!("new-{word}/deep/note.md");
                shelves.put(&new, &format!("{word}\n"));
                vec![new]
            }
            2 => {
                // As editors save.
                shelves.put("beside.txt", &format!("{word}\n"));
                fs::rename(shelves.path("beside.txt"), shelves.path(&note)).expect("a rename");
                vec![note]
            }
            3 => {
                shelves.put("away/note.md", &format!("{word}\n"));
                fs::rename(shelves.path("away"), shelves.path(&format!("moved-{word}"))).expect("a rename");
                vec![format!("moved-{word}/note.md")]
            }
            _ => {
                shelves.put(&note, &format!("{word}\n"));
                fs::remove_file(shelves.path(&note)).expect("a removal");
                Vec::new()
            }
        };
        if paths(host, &word) != expected {
            misses.push((pair, expected));
        }
    }
    assert!(misses.is_empty(), "{} of {pairs} edits were missed, the first is {:?}", misses.len(), misses[0]);
}

#[test]
fn a_thousand_edits_are_found_by_the_search_after_each() {
    let shelves = NotesFixture::with(&[("old.md", "something old\n")]);
    let mut host = shelves.host();
    converges(&mut host, "old", &["old.md"]);
    edit_and_find(&shelves, &mut host, 1000, Duration::ZERO);
    edit_and_find(&shelves, &mut host, 200, Duration::from_millis(20));
}

/// Somebody cleans up where we keep the file by which we know how far we are with the system's events.
#[test]
fn edits_are_found_though_our_cookies_are_removed() {
    let shelves = NotesFixture::with(&[("old.md", "something old\n")]);
    let mut host = shelves.host();
    converges(&mut host, "old", &["old.md"]);
    let cookies = shelves.home.paths().cookies;
    for round in 0..10 {
        let _ = fs::remove_dir_all(&cookies);
        shelves.put("note.md", &format!("sweep{round}x\n"));
        assert_eq!(paths(&mut host, &format!("sweep{round}x")), ["note.md"]);
        edit_and_find(&shelves, &mut host, 20, Duration::from_millis(round));
    }
}

#[test]
fn edits_renames_and_removals() {
    let shelves = NotesFixture::with(&[("a/b/one.md", "apple\n"), ("a/b/two.md", "apple pear\n")]);
    let mut host = shelves.host();
    converges(&mut host, "apple", &["a/b/one.md", "a/b/two.md"]);
    shelves.put("a/b/one.md", "cherry\n");
    converges(&mut host, "cherry", &["a/b/one.md"]);
    converges(&mut host, "apple", &["a/b/two.md"]);
    fs::rename(shelves.path("a/b/one.md"), shelves.path("a/moved.md")).expect("a rename");
    converges(&mut host, "cherry", &["a/moved.md"]);
    fs::rename(shelves.path("a"), shelves.path("z")).expect("a rename");
    converges(&mut host, "cherry", &["z/moved.md"]);
    converges(&mut host, "pear", &["z/b/two.md"]);
    fs::remove_file(shelves.path("z/moved.md")).expect("a removal");
    converges(&mut host, "cherry", &[]);
    fs::remove_dir_all(shelves.path("z")).expect("a removal");
    converges(&mut host, "pear", &[]);
    // A directory that is moved in, with all that is in it; what is hidden in it stays hidden.
    let beside = shelves.home.project().join("beside");
    fs::create_dir_all(beside.join("deep/.hidden")).expect("directories");
    fs::write(beside.join("deep/plum.md"), "plum\n").expect("a file");
    fs::write(beside.join("deep/.hidden/plum.md"), "plum\n").expect("a file");
    fs::write(beside.join("deep/plum.txt"), "plum\n").expect("a file");
    fs::rename(&beside, shelves.path("in")).expect("a rename");
    converges(&mut host, "plum", &["in/deep/plum.md"]);
    fs::write(shelves.path("in/deep/bytes.md"), b"fig \xff\xfe tree fig\n").expect("a file");
    converges(&mut host, "fig", &["in/deep/bytes.md"]);
    assert!(
        find(&mut host, "fig")["hits"][0]["snippet"].as_str().is_some_and(|text| text.starts_with("**fig** \u{fffd}"))
    );
}

#[test]
fn two_changes_of_one_size_in_one_moment() {
    let shelves = NotesFixture::with(&[("a.md", "first!\n")]);
    let mut host = shelves.host();
    converges(&mut host, "first", &["a.md"]);
    for round in 0..20 {
        fs::write(shelves.path("a.md"), format!("one{round:03}\n")).expect("written");
        fs::write(shelves.path("a.md"), format!("two{round:03}\n")).expect("written");
        converges(&mut host, &format!("two{round:03}"), &["a.md"]);
        converges(&mut host, &format!("one{round:03}"), &[]);
    }
}

#[test]
fn five_thousand_files_change_at_once() {
    let shelves = NotesFixture::new();
    for number in 0..2500 {
        shelves.put(&format!("d{}/old{number}.md", number % 50), "# Branch\nmaster text\n");
    }
    let mut host = shelves.host();
    assert_eq!(find(&mut host, "master")["total"], 2500);
    for number in 0..2500 {
        fs::remove_file(shelves.path(&format!("d{}/old{number}.md", number % 50))).expect("a removal");
        shelves.put(&format!("d{}/new{number}.md", number % 50), "# Branch\ntopic text\n");
    }
    trellis_tests::harness::wait_until("the other branch is found", || {
        (find(&mut host, "topic")["total"] == 2500 && find(&mut host, "master")["total"] == 0).then_some(())
    });
    assert_eq!(find(&mut host, "branch")["total"], 2500);
}
