//! What people do to files outside is found within moments.

use std::fs;

use super::{Shelves, converges, find};

#[test]
fn edits_renames_and_removals() {
    let shelves = Shelves::with(&[("a/b/one.md", "apple\n"), ("a/b/two.md", "apple pear\n")]);
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
    let shelves = Shelves::with(&[("a.md", "first!\n")]);
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
    let shelves = Shelves::new();
    for number in 0..2500 {
        shelves.put(&format!("d{}/old{number}.md", number % 50), "# Branch\nmaster text\n");
    }
    let mut host = shelves.host();
    assert_eq!(find(&mut host, "master")["total"], 2500);
    for number in 0..2500 {
        fs::remove_file(shelves.path(&format!("d{}/old{number}.md", number % 50))).expect("a removal");
        shelves.put(&format!("d{}/new{number}.md", number % 50), "# Branch\ntopic text\n");
    }
    trellis_tests::harness::until("the other branch is found", || {
        (find(&mut host, "topic")["total"] == 2500 && find(&mut host, "master")["total"] == 0).then_some(())
    });
    assert_eq!(find(&mut host, "branch")["total"], 2500);
}
