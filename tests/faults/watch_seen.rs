//! Whoever asks whether everything has been seen gets a true answer, soon; and who asks nothing costs nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use trellis_tests::harness::{Home, until};

use super::turns::heavy;
use super::watch_eyes::Watched;

/// What a caller waits before it says that its answer may be old.
const PATIENCE: Duration = Duration::from_millis(150);

#[test]
fn r10_what_happened_before_the_question_has_been_seen() {
    let _turn = heavy();
    let mut watched = Watched::in_memory();
    for number in 0..50 {
        watched.write(&format!("d{number}/file.md"), "text");
    }
    assert!(watched.seen(Duration::from_secs(5)));
    let root = watched.root.clone();
    let mut times = Vec::new();
    let mut late = 0;
    for edit in 0..500 {
        let before = watched.status().counters.changes;
        let number = edit % 50;
        match edit % 5 {
            0 => watched.write(&format!("d{number}/file.md"), &"text".repeat(edit)),
            1 => watched.write(&format!("new{edit}/deep/file.md"), "new"),
            2 => watched.write(&format!("d{number}/{edit}.md"), "new"),
            3 => watched.rename(&format!("d{}/{}.md", number - 1, edit - 1), &format!("d{number}/{edit}.md")),
            _ => fs::remove_dir_all(root.join(format!("new{}", edit - 3))).expect("a removal"),
        }
        let asked = Instant::now();
        if !watched.seen(PATIENCE) {
            // Said so, which is allowed on a busy machine; the next question is about everything again.
            late += 1;
            until("everything has been seen", || watched.seen(PATIENCE).then_some(()));
        }
        times.push(asked.elapsed());
        assert!(watched.status().counters.changes > before, "edit {edit} is not among the changes");
        watched.is_equal_now();
    }
    times.sort();
    println!("seen after p50 {:?}, p95 {:?}, at most {:?}; {late} of 500 late", times[250], times[475], times[499]);
    assert!(times[475] < Duration::from_millis(200), "{:?}", times[475]);
}

/// The same through a link, and while somebody makes noise beside the root.
#[test]
fn r10_noise_beside_a_root_hides_nothing() {
    let home = Home::new();
    let real = home.path().join("real");
    fs::create_dir_all(real.join("sub")).expect("a directory");
    let root = home.path().join("link");
    symlink(&real, &root).expect("a link");
    let mut watched = Watched::at(home, Some(root));
    for round in 0..50 {
        for noise in 0..20 {
            fs::write(watched.beside(&format!("noise{noise}")), "noise").expect("a file");
        }
        watched.write(&format!("sub/{round}.md"), "text");
        until("everything has been seen", || watched.seen(PATIENCE).then_some(()));
        watched.is_equal_now();
    }
    assert_eq!(watched.known().expect("watched").rescans, 1, "noise is no reason to look at everything");
}

/// How long the threads of a process have run. Its ticks are samples: a moment's work may count as ten milliseconds.
fn worked(pid: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("the process lives");
    let of = |thread: fs::DirEntry| -> Option<u64> {
        let schedule = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        schedule.split(' ').next()?.parse().ok()
    };
    Duration::from_nanos(threads.flatten().filter_map(of).sum())
}

/// How often the threads of a process were put to sleep because they had nothing to do.
fn naps(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("the process lives");
    let of = |thread: fs::DirEntry| -> Option<u64> {
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    };
    threads.flatten().filter_map(of).sum()
}

#[test]
fn a_thousand_watched_directories_cost_nothing_while_nothing_happens() {
    let _turn = heavy();
    let mut watched = Watched::in_memory();
    for number in 0..1000 {
        watched.write(&format!("d{number}/file.md"), "text");
    }
    watched.settled();
    assert_eq!(watched.known().expect("watched").watches, 1001);
    let pid = watched.home.daemon_pid().expect("a daemon");
    // What was asked last is soon over, and threads that wait for work in vain go after ten seconds.
    until("it has come to rest", || {
        let before = naps(pid);
        std::thread::sleep(Duration::from_secs(11));
        (naps(pid) == before).then_some(())
    });
    let before = (worked(pid), naps(pid));
    // Reading wakes nobody either.
    for number in 0..1000 {
        fs::read(watched.root.join(format!("d{number}/file.md"))).expect("a text");
        fs::read_dir(watched.root.join(format!("d{number}"))).expect("a listing").for_each(drop);
    }
    std::thread::sleep(Duration::from_secs(5));
    let after = (worked(pid), naps(pid));
    println!("in 5 s: {:?} of work, {} wake-ups", after.0 - before.0, after.1 - before.1);
    assert!(after.0 - before.0 < Duration::from_millis(2), "processor time: {:?}", after.0 - before.0);
    assert!(after.1 - before.1 <= 2, "wake-ups: {}", after.1 - before.1);
}
