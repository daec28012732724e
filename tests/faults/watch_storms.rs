//! Storms: tens of thousands of files come, change, move and go, and what is known stays what is on the disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::exclusive::exclusive;
use super::process::{Signal, signal};
use super::watch_fixture::{WatchFixture, scan};

const OUTER: usize = 20;
const INNER: usize = 10;
const FILES: usize = 100;

/// What a scan of 20,000 files in which nothing changed may take; a release build needs a fraction of it.
const QUICK_SCAN: Duration = Duration::from_secs(2);

/// The directories of the storm, each with its hundred files.
fn directories() -> impl Iterator<Item = String> {
    (0..OUTER).flat_map(|outer| (0..INNER).map(move |inner| format!("d{outer}/e{inner}")))
}

fn create(watched: &WatchFixture) {
    for directory in directories() {
        let directory = watched.root.join(directory);
        fs::create_dir_all(&directory).expect("a directory");
        for file in 0..FILES {
            fs::write(directory.join(format!("f{file}.md")), "one\n").expect("a file");
        }
    }
}

fn say(step: &str, took: Duration) {
    println!("{step}: equal after {} ms", took.as_millis());
}

#[test]
fn r11_twenty_thousand_files_come_change_move_and_go() {
    let _turn = exclusive();
    let mut watched = WatchFixture::in_memory();
    let began = Instant::now();
    create(&watched);
    println!("creating took {} ms", began.elapsed().as_millis());
    say("20,000 created", watched.wait_until_equal());
    assert_eq!(watched.known().expect("watched").files, 20_000);
    let mut tree = scan(&watched.root);
    let began = Instant::now();
    assert_eq!(tree.rescan(&watched.root, &mut |_| {}).changes.len(), 0);
    println!("a full look in which nothing changed took {} ms", began.elapsed().as_millis());
    assert!(began.elapsed() < QUICK_SCAN);

    for directory in directories() {
        for file in 0..FILES {
            fs::write(watched.root.join(&directory).join(format!("f{file}.md")), "another text\n").expect("a file");
        }
    }
    say("20,000 edited", watched.wait_until_equal());

    for (number, directory) in directories().enumerate() {
        // Names that come before and after the old ones.
        let new = if number % 2 == 0 { "a" } else { "z" };
        for file in 0..FILES {
            watched.rename(&format!("{directory}/f{file}.md"), &format!("{directory}/{new}{file}.md"));
        }
    }
    say("20,000 renamed", watched.wait_until_equal());

    for outer in 0..OUTER {
        for inner in 0..INNER / 2 {
            watched.rename(&format!("d{outer}/e{inner}"), &format!("d{outer}/a{inner}"));
        }
        let new = if outer % 2 == 0 { "a" } else { "z" };
        watched.rename(&format!("d{outer}"), &format!("{new}{outer}"));
    }
    say("120 directories renamed", watched.wait_until_equal());
    watched.every_directory_is_seen();

    fs::remove_dir_all(watched.root.join("a0")).expect("a removal");
    say("1,000 removed", watched.wait_until_equal());
    let outside = watched.beside("outside");
    fs::rename(watched.root.join("a2"), &outside).expect("a rename");
    say("1,000 moved out", watched.wait_until_equal());
    fs::rename(&outside, watched.root.join("z1/moved in")).expect("a rename");
    say("1,000 moved in", watched.wait_until_equal());
    watched.every_directory_is_seen();

    for entry in fs::read_dir(&watched.root).expect("a listing") {
        fs::remove_dir_all(entry.expect("an entry").path()).expect("a removal");
    }
    say("everything removed", watched.wait_until_equal());
    let known = watched.known().expect("watched");
    assert_eq!((known.files, known.watches), (0, 1), "{known:?}");
}

/// The system drops events when nobody takes them: then everything is looked at again.
#[test]
fn r11_lost_events_lead_to_a_full_look() {
    let _turn = exclusive();
    let mut watched = WatchFixture::in_memory();
    create(&watched);
    watched.wait_until_equal();
    let before = watched.known().expect("watched").rescans;
    let pid = watched.home.daemon_pid().expect("a daemon");

    signal(pid, Signal::STOP);
    for directory in directories() {
        for file in 0..FILES {
            let name = format!("{directory}/f{file}.md");
            match file % 3 {
                0 => watched.write(&name, "changed while nobody looked"),
                1 => watched.rename(&name, &format!("{directory}/z{file}.md")),
                _ => fs::remove_file(watched.root.join(name)).expect("a removal"),
            }
        }
    }
    // What happens to these two is among the events that are lost.
    watched.rename("d7", "a7");
    watched.rename("d8/e1", "d9/moved");
    fs::rename(watched.root.join("d3"), watched.beside("outside")).expect("a rename");
    signal(pid, Signal::CONT);

    say("after lost events", watched.wait_until_equal());
    let known = watched.known().expect("watched");
    assert!(known.rescans > before, "events were lost: {known:?}");
    assert!(known.rescan_reason.contains("lost"), "{known:?}");
    println!("a full look at {} files took {} ms", known.files, known.scan_milliseconds);
    assert!(Duration::from_millis(known.scan_milliseconds) < QUICK_SCAN, "{known:?}");
    watched.every_directory_is_seen();
    assert_eq!(watched.known().expect("watched").watches as usize, scan(&watched.root).directories().count());
}

/// Directories move while files are written into them: nothing is overlooked, whoever was first.
#[test]
fn r11_directories_move_while_they_are_looked_at() {
    let mut watched = WatchFixture::new();
    for round in 0..30 {
        watched.write(&format!("a{round}/sub/deep/one.md"), "one");
        fs::create_dir(watched.root.join(format!("p{round}"))).expect("a directory");
        watched.rename(&format!("a{round}"), &format!("p{round}/z"));
        watched.write(&format!("p{round}/z/sub/two.md"), "two");
        watched.rename(&format!("p{round}"), &format!("b{round}"));
        watched.write(&format!("b{round}/z/sub/deep/three.md"), "three");
        fs::create_dir(watched.root.join(format!("a{round}"))).expect("a directory");
        watched.write(&format!("a{round}/four.md"), "four");
        if round % 5 == 0 {
            watched.wait_until_equal();
        }
    }
    watched.wait_until_equal();
    watched.every_directory_is_seen();
}

/// Two directories change places, which leaves both names there.
#[test]
fn r11_two_directories_change_places() {
    let mut watched = WatchFixture::new();
    watched.write("a/sub/a.md", "a");
    watched.write("z/sub/z.md", "z");
    watched.wait_until_equal();
    let at = |name: &str| -> PathBuf { watched.root.join(name) };
    exchange(&at("a"), &at("z")).expect("an exchange");
    watched.wait_until_equal();
    watched.every_directory_is_seen();
    watched.rename("a", "b");
    watched.rename("z", "a");
    watched.rename("b", "z");
    watched.wait_until_equal();
    watched.every_directory_is_seen();
}

/// A random number below a bound; the same ones for the same seed.
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn pick(&mut self, paths: &[PathBuf]) -> PathBuf {
        paths[self.below(paths.len())].clone()
    }
}

/// Anything, anywhere, in any order and as fast as it goes. What the system refuses is not done.
fn do_something(watched: &WatchFixture, dice: &mut Rng) {
    let root = &watched.root;
    let disk = scan(root);
    let directories: Vec<PathBuf> = disk.directories().map(|path| root.join(path)).collect();
    let name = format!("{}", dice.below(12));
    let (here, there) = (dice.pick(&directories), dice.pick(&directories));
    let moves = &here != root;
    let _ = match dice.below(10) {
        0 | 1 => fs::create_dir_all(here.join(&name).join("deep").join(&name)),
        2..=4 => fs::write(here.join(&name), name.repeat(dice.below(9))),
        5 | 6 if moves => fs::rename(&here, there.join(&name)),
        7 if moves => exchange(&here, &there),
        8 if moves => fs::remove_dir_all(&here),
        9 if moves && fs::rename(&here, watched.beside("outside")).is_ok() => {
            let _ = fs::write(watched.beside("outside").join("elsewhere"), "text");
            fs::rename(watched.beside("outside"), there.join(&name)).or_else(|_| {
                // There is something already, or its new place was in it.
                fs::remove_dir_all(watched.beside("outside"))
            })
        }
        _ => fs::remove_file(here.join(&name)),
    };
}

fn exchange(one: &Path, other: &Path) -> std::io::Result<()> {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).map_err(Into::into)
}

#[test]
fn r11_whatever_happens_in_whatever_order_is_seen() {
    for seed in 1..=6 {
        let mut watched = WatchFixture::in_memory();
        let mut dice = Rng(seed);
        for round in 0..4 {
            for _ in 0..150 {
                do_something(&watched, &mut dice);
            }
            assert!(watched.seen(Duration::from_secs(10)), "seed {seed}, round {round}");
            watched.assert_equal();
        }
        let known = watched.known().expect("watched");
        assert_eq!(known.watches as usize, scan(&watched.root).directories().count(), "seed {seed}");
        watched.every_directory_is_seen();
        let known = watched.known().expect("watched");
        assert_eq!(known.rescans, 1, "seed {seed}: events were enough, but {}", known.rescan_reason);
    }
}
