//! Roots come and go: moved, replaced, made late, reached through links, nested, shared.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use trellis_tests::harness::{Home, wait_until};

use super::watch_fixture::WatchFixture;

/// Waits for a state of the vault; how long that took.
#[track_caller]
fn until_state(watched: &mut WatchFixture, state: &str) -> Duration {
    let began = Instant::now();
    wait_until(state, || watched.known().filter(|known| known.state == state));
    began.elapsed()
}

/// Waits until nothing is known of the vault.
#[track_caller]
fn until_empty(watched: &mut WatchFixture) -> Duration {
    let began = Instant::now();
    wait_until("what was known is let go", || watched.known().filter(|known| known.files == 0));
    began.elapsed()
}

#[test]
fn r12_a_root_that_is_moved_away_is_missing_and_comes_back() {
    let mut watched = WatchFixture::new();
    watched.write("sub/one.md", "one");
    watched.wait_until_equal();
    let away = watched.home.path().join("away");
    fs::rename(&watched.root, &away).expect("a rename");
    until_state(&mut watched, "missing");
    let took = until_empty(&mut watched);
    assert!(took > Duration::from_secs(1), "not at once, it may be coming back: {took:?}");
    assert!(!watched.root.exists(), "we do not make it again");
    fs::write(away.join("sub/two.md"), "two").expect("a file");
    fs::rename(&away, &watched.root).expect("a rename");
    let took = watched.wait_until_equal();
    assert!(took < Duration::from_secs(2), "{took:?}");
    until_state(&mut watched, "watched");
    watched.every_directory_is_seen();
}

#[test]
fn r12_a_root_that_is_replaced_at_once_is_the_new_one() {
    let mut watched = WatchFixture::new();
    watched.write("sub/old.md", "old");
    watched.wait_until_equal();
    fs::rename(&watched.root, watched.home.path().join("old")).expect("a rename");
    watched.write("sub/new.md", "new");
    watched.write("other/new.md", "new");
    watched.wait_until_equal();
    watched.every_directory_is_seen();
    // What happens to the old one is nobody's business any more.
    fs::write(watched.home.path().join("old/sub/old.md"), "changed").expect("a file");
    watched.write("sub/newer.md", "new");
    watched.wait_until_equal();
}

/// A new directory may get the number of the one that was removed just before.
#[test]
fn r12_a_root_that_is_removed_and_made_again_is_seen() {
    let mut watched = WatchFixture::new();
    for round in 0..20 {
        watched.write(&format!("sub/{round}.md"), "text");
        watched.wait_until_equal();
        fs::remove_dir_all(&watched.root).expect("a removal");
        fs::create_dir(&watched.root).expect("a directory");
        watched.write("sub/again.md", "again");
        watched.wait_until_equal();
        watched.write("late.md", "late");
        watched.wait_until_equal();
    }
    watched.every_directory_is_seen();
}

#[test]
fn r12_a_root_that_is_made_after_the_session_began_is_seen() {
    let home = Home::new();
    let mut watched = WatchFixture::at(home, None);
    assert_eq!(watched.known().expect("wanted").state, "missing");
    watched.write("sub/one.md", "one");
    watched.wait_until_equal();
    watched.every_directory_is_seen();
}

/// Nobody tells when the directory above is missing as well: we ask now and then.
#[test]
fn r12_a_root_below_a_directory_that_is_not_there_yet_is_seen() {
    let home = Home::new();
    let root = home.path().join("not/yet/vault");
    let mut watched = WatchFixture::at(home, Some(root));
    watched.write("sub/one.md", "one");
    let took = watched.wait_until_equal();
    assert!(took < Duration::from_secs(6), "{took:?}");
    watched.every_directory_is_seen();
}

/// The directory above goes with the root, and both are made again.
#[test]
fn r12_a_root_whose_parents_are_moved_away_is_missing_and_comes_back() {
    let home = Home::new();
    let root = home.path().join("a/b/c/vault");
    fs::create_dir_all(&root).expect("a vault");
    let mut watched = WatchFixture::at(home, Some(root));
    watched.write("sub/one.md", "one");
    watched.wait_until_equal();
    for part in ["a", "a/b/c"] {
        let part = watched.home.path().join(part);
        let away = watched.home.path().join("away");
        fs::rename(&part, &away).expect("a rename");
        until_state(&mut watched, "missing");
        until_empty(&mut watched);
        watched.write("sub/another.md", "another");
        let took = watched.wait_until_equal();
        assert!(took < Duration::from_secs(6), "{took:?}");
        watched.every_directory_is_seen();
        fs::remove_dir_all(&away).expect("a removal");
    }
}

#[test]
fn r12_a_root_that_is_a_link_is_what_it_leads_to() {
    let home = Home::new();
    for name in ["one", "two"] {
        fs::create_dir_all(home.path().join(name).join("sub")).expect("a directory");
        fs::write(home.path().join(name).join("sub/file.md"), name).expect("a file");
    }
    let root = home.path().join("link");
    symlink("one", &root).expect("a link");
    let mut watched = WatchFixture::at(home, Some(root));
    watched.wait_until_equal();
    watched.every_directory_is_seen();
    // The link is turned to another directory, as a deployment would.
    symlink("two", watched.home.path().join("next")).expect("a link");
    fs::rename(watched.home.path().join("next"), &watched.root).expect("a rename");
    watched.wait_until_equal();
    watched.every_directory_is_seen();
    // Where it leads to goes away and comes back.
    fs::rename(watched.home.path().join("two"), watched.home.path().join("away")).expect("a rename");
    until_state(&mut watched, "missing");
    until_empty(&mut watched);
    fs::rename(watched.home.path().join("away"), watched.home.path().join("two")).expect("a rename");
    let took = watched.wait_until_equal();
    assert!(took < Duration::from_secs(6), "{took:?}");
    watched.every_directory_is_seen();
}

/// One directory under two names: each session is told under its own.
#[test]
fn r11_two_names_of_one_root_are_both_seen() {
    let home = Home::new();
    fs::create_dir_all(home.project().join("vault/sub")).expect("a vault");
    let link = home.path().join("link");
    symlink(home.project().join("vault"), &link).expect("a link");
    let mut watched = WatchFixture::at(home, None);
    let mut proxy = watched.home.proxy(&[]);
    proxy.env("VAULT_ROOT", &link);
    let mut other = trellis_tests::harness::Client::start(proxy);
    other.initialize("2025-11-25");
    wait_until("both are watched", || watched.other(&link));
    for round in 0..5 {
        watched.write(&format!("sub/{round}.md"), "text");
        watched.write(&format!("new{round}/file.md"), "text");
        watched.wait_until_equal();
        watched.wait_until_equal_at(&link);
    }
}

/// A root in another one, and both wanted by two: whoever leaves takes nothing from the others.
#[test]
fn r11_roots_in_each_other_do_not_take_each_others_watches() {
    let home = Home::new().with("TRELLIS_GRACE_SECONDS", "0");
    fs::create_dir_all(home.project().join("vault/inner/deep")).expect("a vault");
    let mut watched = WatchFixture::at(home, None);
    let inner = watched.root.join("inner");
    let visit = |watched: &WatchFixture| {
        let mut proxy = watched.home.proxy(&[]);
        proxy.env("VAULT_ROOT", &inner);
        let mut visitor = trellis_tests::harness::Client::start(proxy);
        visitor.initialize("2025-11-25");
        visitor
    };
    let (mut first, mut second) = (visit(&watched), visit(&watched));
    wait_until("both are watched", || watched.other(&inner));
    watched.write("inner/deep/one.md", "one");
    watched.wait_until_equal();
    watched.wait_until_equal_at(&inner);
    first.close();
    watched.write("inner/deep/two.md", "two");
    watched.wait_until_equal_at(&inner);
    second.close();
    wait_until("nobody wants the inner one", || watched.other(&inner).is_none().then_some(()));
    watched.every_directory_is_seen();
}

/// A root that nobody wants is let go, and its watches with it.
#[test]
fn a_root_is_let_go_after_the_last_session_left() {
    let home = Home::new().with("TRELLIS_GRACE_SECONDS", "1");
    let mut watched = WatchFixture::at(home, None);
    let late = watched.home.path().join("late");
    fs::create_dir_all(&late).expect("a directory");
    let mut proxy = watched.home.proxy(&[]);
    proxy.env("VAULT_ROOT", &late);
    let mut visitor = trellis_tests::harness::Client::start(proxy);
    visitor.initialize("2025-11-25");
    wait_until("it is watched", || watched.other(&late));
    visitor.close();
    let began = Instant::now();
    wait_until("it is let go", || watched.other(&late).is_none().then_some(()));
    assert!(began.elapsed() > Duration::from_millis(700), "not at once: {:?}", began.elapsed());
    assert!(watched.known().is_some(), "others stay");
}
