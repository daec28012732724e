//! Restarts, and sessions with other trees.

use std::fs;

use serde_json::json;
use trellis_tests::harness::wait_until;

use super::{NotesFixture, converges, find, paths};

#[test]
fn a_restarted_daemon_knows_what_changed_while_it_was_away() {
    let shelves = NotesFixture::new();
    (0..200).for_each(|number| shelves.put(&format!("n{number}.md"), "before\n"));
    let mut host = shelves.host();
    assert_eq!(find(&mut host, "before")["total"], 200);
    host.call_ok("note", json!({ "path": "fresh.md", "text": "just written\n" }));
    for round in 0..3 {
        let pid = shelves.home.daemon_pid().expect("a daemon");
        if round == 1 {
            shelves.home.kill(pid);
        } else {
            shelves.home.trellisd(&["stop"]);
        }
        wait_until("the daemon is gone", || (!shelves.home.daemons().contains(&pid)).then_some(()));
        fs::remove_file(shelves.path(&format!("n{round}.md"))).expect("a removal");
        shelves.put(&format!("n{}.md", round + 10), &format!("after {round}\n"));
        shelves.put(&format!("new{round}.md"), "appeared\n");
        let mut host = shelves.host();
        assert_eq!(find(&mut host, "before")["total"], 200 - 2 * (round + 1), "round {round}");
        assert_eq!(find(&mut host, "appeared")["total"], round + 1);
        assert_eq!(paths(&mut host, "\"just written\""), ["fresh.md"]);
    }
}

#[test]
fn sessions_with_other_trees_see_their_own() {
    let shelves = NotesFixture::with(&[("mine.md", "shared word, mine\n")]);
    let other = shelves.home.path().join("other");
    fs::create_dir_all(other.join("notes")).expect("a directory");
    fs::write(other.join("notes/theirs.md"), "shared word, theirs\n").expect("a file");
    let mut mine = shelves.host();
    let mut theirs = shelves.home.host(&["--only", "notes", "--cwd", other.to_str().expect("text")]);
    assert_eq!(paths(&mut mine, "shared"), ["mine.md"]);
    assert_eq!(paths(&mut theirs, "shared"), ["theirs.md"]);
    theirs.call_ok("note", json!({ "path": "more.md", "text": "shared, too\n" }));
    assert_eq!(find(&mut theirs, "shared")["total"], 2);
    assert_eq!(find(&mut mine, "shared")["total"], 1);
}

#[test]
fn a_library_that_comes_later_and_goes_again() {
    let shelves = NotesFixture::new();
    fs::remove_dir(shelves.path("")).expect("a removal");
    let mut host = shelves.host();
    assert_eq!(find(&mut host, "late")["total"], 0);
    shelves.put("a/late.md", "late\n");
    converges(&mut host, "late", &["a/late.md"]);
    fs::rename(shelves.path(""), shelves.home.project().join("away")).expect("a rename");
    converges(&mut host, "late", &[]);
    fs::rename(shelves.home.project().join("away"), shelves.path("")).expect("a rename");
    converges(&mut host, "late", &["a/late.md"]);
}
