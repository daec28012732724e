//! The system allows no more watches, or none at all: slower, never wrong, and said aloud.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use trellis_tests::harness::{Home, programs, wait_until};
use trellis_tests::notes;

use super::watch_fixture::WatchFixture;

/// A home whose daemon lives in a user namespace of its own, with limits of its own; none if that cannot be had.
fn limited(limits: &[(&str, u32)]) -> Option<Home> {
    limit(Home::new(), &programs::daemon(), limits)
}

fn limit(home: Home, daemon: &Path, limits: &[(&str, u32)]) -> Option<Home> {
    let set: String =
        limits.iter().map(|(name, limit)| format!("echo {limit} > /proc/sys/user/{name} || exit 9\n")).collect();
    let try_it = Command::new("unshare").args(["-U", "-r", "sh", "-c", &set]).status();
    if !try_it.is_ok_and(|status| status.success()) {
        println!("skipped: no user namespaces here");
        return None;
    }
    let inside = home.path().join("inside.sh");
    fs::write(&inside, format!("{set}exec '{}' \"$@\"\n", daemon.display())).expect("a script");
    let outside = home.path().join("trellisd.sh");
    // Only the daemon itself is limited.
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in run) exec unshare -U -r sh '{}' \"$@\";; *) exec '{}' \"$@\";; esac\n",
        inside.display(),
        daemon.display()
    );
    fs::write(&outside, script).expect("a script");
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o755)).expect("a mode");
    Some(home.with("TRELLIS_DAEMON", outside))
}

/// A tree with more directories than may be watched is looked at as far as that goes, by a thread of its own.
#[test]
fn r13_a_tree_with_too_many_directories_is_polled() {
    let home = Home::new();
    let configuration = home.path().join(".config/trellis/config.toml");
    fs::create_dir_all(configuration.parent().expect("a directory")).expect("a directory");
    fs::write(configuration, "max_directories = 20\n").expect("a configuration");
    for number in 0..40 {
        home.write(&format!("vault/{number}/file.md"), "text");
    }
    let mut watched = WatchFixture::at(home, None);
    let known = watched.known().expect("watched");
    assert_eq!((known.watches, known.backend.as_str()), (0, "poll (it has too many directories)"), "{known:?}");
    assert!(known.files < 20, "{known:?}");
    assert!(known.warning.is_some_and(|warning| warning.contains("`max_directories`")));
    let read = json!({ "path": "39/file.md", "full": true });
    assert_eq!(watched.client.call_ok("vault_read", read)["text"], "text", "it is read all the same");
    for number in 5..40 {
        fs::remove_dir_all(watched.root.join(number.to_string())).expect("a removal");
    }
    let known = wait_until("it is watched again", || watched.known().filter(|known| known.backend == "events"));
    assert_eq!((known.watches, known.files, known.warning), (6, 5, None));
    watched.every_directory_is_seen();
    for number in 5..40 {
        watched.write(&format!("{number}/file.md"), "text");
    }
    wait_until("it has grown too large", || watched.known().filter(|known| known.watches == 0));
}

/// Changes of every kind are found, though nobody tells of most of them.
fn changes_are_found(watched: &mut WatchFixture) {
    watched.write("d3/new/file.md", "new");
    let took = watched.wait_until_equal();
    println!("found by looking after {} ms", took.as_millis());
    watched.write("d9/file.md", "another text");
    watched.rename("d5", "a5");
    fs::remove_dir_all(watched.root.join("d7")).expect("a removal");
    let took = watched.wait_until_equal();
    println!("found by looking after {} ms", took.as_millis());
    assert!(took < Duration::from_secs(5), "{took:?}");
}

/// Who asks whether everything has been seen gets a true answer even so.
fn the_answer_is_true(watched: &mut WatchFixture) {
    for round in 0..5 {
        watched.write(&format!("d{}/file.md", 10 + round), "once more");
        assert!(watched.seen(Duration::from_secs(5)));
        watched.assert_equal();
    }
}

/// Status, its warnings and the session's next answer say so; the answer only once.
fn it_is_said(watched: &mut WatchFixture, words: &str) {
    let status = watched.status();
    let root = status.roots.iter().find(|root| watched.root.ends_with(&root.path)).expect("watched").clone();
    assert!(root.backend.contains("poll (the system allows no more watches)"), "{root:?}");
    let warning = root.warning.expect("a warning");
    assert!(warning.contains(words), "{warning}");
    assert_eq!(status.warnings.iter().filter(|one| **one == warning).count(), 1, "{:?}", status.warnings);
    let answer = watched.client.call("vault_ls", json!({}));
    assert_eq!(answer["_meta"]["trellis/warnings"], json!([warning]), "{answer}");
    let answer = watched.client.call("vault_ls", json!({}));
    assert!(answer["_meta"].get("trellis/warnings").is_none(), "only once: {answer}");
}

/// Twenty directories that cannot all be watched: changes are found all the same, and it is said why so late.
fn looked_at_again(home: Home, setting: &str) -> WatchFixture {
    for number in 0..20 {
        home.write(&format!("vault/d{number}/file.md"), "text");
    }
    let mut watched = WatchFixture::at(home, None);
    watched.wait_until_equal();
    changes_are_found(&mut watched);
    the_answer_is_true(&mut watched);
    it_is_said(&mut watched, setting);
    watched
}

#[test]
fn r13_few_watches_lead_to_looking_again() {
    let Some(home) = limited(&[("max_inotify_watches", 12)]) else { return };
    let mut watched = looked_at_again(home, "fs.inotify.max_user_watches");
    let known = watched.known().expect("watched");
    assert!(known.watches > 0 && known.watches < 12, "what can be watched is: {known:?}");
    // Where there are watches, nobody has to wait.
    let root = watched.root.clone();
    for round in 0..5 {
        fs::write(root.join(format!("{round}.md")), "text").expect("a file");
    }
    watched.wait_until_equal();
}

/// The limit is met long after the first look.
#[test]
fn r13_watches_that_run_out_later_lead_to_looking_again() {
    let Some(home) = limited(&[("max_inotify_watches", 14)]) else { return };
    home.write("vault/d0/file.md", "text");
    let mut watched = WatchFixture::at(home, None);
    watched.wait_until_equal();
    assert_eq!(watched.known().expect("watched").backend, "events");
    for number in 1..20 {
        watched.write(&format!("d{number}/file.md"), "text");
    }
    watched.wait_until_equal();
    changes_are_found(&mut watched);
    the_answer_is_true(&mut watched);
    it_is_said(&mut watched, "fs.inotify.max_user_watches");
    // Fewer directories need fewer watches: all is well again.
    for entry in fs::read_dir(&watched.root).expect("a listing") {
        fs::remove_dir_all(entry.expect("an entry").path()).expect("a removal");
    }
    watched.wait_until_equal();
    wait_until("events are enough again", || watched.known().filter(|known| known.backend == "events"));
    watched.every_directory_is_seen();
}

#[test]
fn r13_without_any_watcher_everything_is_looked_at_again() {
    let Some(home) = limited(&[("max_inotify_instances", 0)]) else { return };
    let mut watched = looked_at_again(home, "fs.inotify.max_user_instances");
    assert_eq!(watched.known().expect("watched").watches, 0);
    // Roots come and go as well.
    let away = watched.beside("away");
    fs::rename(&watched.root, &away).expect("a rename");
    wait_until("it is missing", || watched.known().filter(|known| known.state == "missing" && known.files == 0));
    fs::rename(&away, &watched.root).expect("a rename");
    watched.wait_until_equal();
}

/// A search looks at the disk itself where nobody tells what happens there.
#[test]
fn r13_searches_find_edits_though_nothing_can_be_watched() {
    for limits in [("max_inotify_instances", 0), ("max_inotify_watches", 3)] {
        let home = Home::with_fixtures().with(notes::NOTES_VARIABLE, "1");
        let Some(home) = limit(home, &programs::fixture_daemon(), &[limits]) else { return };
        home.write("notes/note.md", "old text\n");
        let mut client = home.host(&["--only", "notes"]);
        client.call_ok("find", json!({ "query": "old" }));
        for round in 0..20 {
            home.write(&format!("notes/d{}/note.md", round % 5), format!("round{round}x\n"));
            let found = client.call_ok("find", json!({ "query": format!("round{round}x") }));
            assert_eq!((&found["total"], &found["rebuilding"]), (&json!(1), &json!(null)), "{limits:?}: {found}");
        }
    }
}
