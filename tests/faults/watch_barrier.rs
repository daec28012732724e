//! Whoever asks whether everything has been seen gets a true answer, soon; and who asks nothing costs nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trellis_tests::harness::{Home, wait_until};

use super::exclusive::exclusive;
use super::watch_fixture::WatchFixture;

/// What a caller waits before it says that its answer may be old.
const BARRIER_TIMEOUT: Duration = Duration::from_millis(150);

#[test]
fn r10_what_happened_before_the_question_has_been_seen() {
    let _turn = exclusive();
    let mut watched = WatchFixture::in_memory();
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
        if !watched.seen(BARRIER_TIMEOUT) {
            // Said so, which is allowed on a busy machine; the next question is about everything again.
            late += 1;
            wait_until("everything has been seen", || watched.seen(BARRIER_TIMEOUT).then_some(()));
        }
        times.push(asked.elapsed());
        assert!(watched.status().counters.changes > before, "edit {edit} is not among the changes");
        watched.assert_equal();
    }
    times.sort();
    println!("seen after p50 {:?}, p95 {:?}, at most {:?}; {late} of 500 late", times[250], times[475], times[499]);
    assert!(times[475] < Duration::from_millis(200), "{:?}", times[475]);
}

/// The file by which the daemon knows how far it is with the system's events is removed, again and again.
#[test]
fn r10_the_answer_is_true_though_the_cookies_are_removed() {
    let mut watched = WatchFixture::new();
    let cookies = watched.home.paths().cookies;
    for round in 0..50 {
        if round % 2 == 0 {
            let _ = fs::remove_dir_all(&cookies);
        }
        watched.write(&format!("d{round}/file.md"), "text");
        assert!(watched.seen(Duration::from_secs(5)), "round {round}");
        watched.assert_equal();
    }
    // Nobody can make new ones: everything is scanned instead.
    let _ = fs::remove_dir_all(&cookies);
    fs::write(&cookies, "a file in its place").expect("a file");
    for round in 0..5 {
        watched.write(&format!("d{round}/file.md"), "another text");
        assert!(watched.seen(Duration::from_secs(5)), "round {round}");
        watched.assert_equal();
    }
    fs::remove_file(&cookies).expect("a removal");
    watched.write("last.md", "text");
    assert!(watched.seen(Duration::from_secs(5)));
    assert!(cookies.is_dir());
}

/// The same through a link, and while somebody makes noise beside the root.
#[test]
fn r10_noise_beside_a_root_hides_nothing() {
    let home = Home::new();
    let real = home.path().join("real");
    fs::create_dir_all(real.join("sub")).expect("a directory");
    let root = home.path().join("link");
    symlink(&real, &root).expect("a link");
    let mut watched = WatchFixture::at(home, Some(root));
    for round in 0..50 {
        for noise in 0..20 {
            fs::write(watched.beside(&format!("noise{noise}")), "noise").expect("a file");
        }
        watched.write(&format!("sub/{round}.md"), "text");
        wait_until("everything has been seen", || watched.seen(BARRIER_TIMEOUT).then_some(()));
        watched.assert_equal();
    }
    assert_eq!(watched.known().expect("watched").rescans, 1, "noise is no reason to look at everything");
}

/// Threads of the daemon.
#[derive(Clone, Copy, PartialEq)]
enum Threads {
    /// The one in which notify reads the system's events.
    Notify,
    Others,
}

/// The directories of these threads of a process.
fn threads(pid: u32, which: Threads) -> impl Iterator<Item = PathBuf> {
    let all = fs::read_dir(format!("/proc/{pid}/task")).expect("the process lives").flatten();
    let is_notify =
        |thread: &Path| fs::read_to_string(thread.join("comm")).is_ok_and(|name| name.starts_with("notify"));
    all.map(|thread| thread.path()).filter(move |thread| is_notify(thread) == (which == Threads::Notify))
}

/// How long these threads have run. Ticks are samples: a moment's work may count as ten milliseconds.
fn worked(pid: u32, which: Threads) -> Duration {
    let of = |thread: PathBuf| -> Option<u64> {
        let schedule = fs::read_to_string(thread.join("schedstat")).ok()?;
        schedule.split(' ').next()?.parse().ok()
    };
    Duration::from_nanos(threads(pid, which).filter_map(of).sum())
}

/// How often these threads were put to sleep because they had nothing to do.
fn naps(pid: u32, which: Threads) -> u64 {
    let of = |thread: PathBuf| -> Option<u64> {
        let status = fs::read_to_string(thread.join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    };
    threads(pid, which).filter_map(of).sum()
}

/// What both kinds of threads do meanwhile.
fn while_doing(pid: u32, something: impl FnOnce()) -> [(Duration, u64); 2] {
    let now = || [Threads::Notify, Threads::Others].map(|which| (worked(pid, which), naps(pid, which)));
    let before = now();
    something();
    std::thread::sleep(Duration::from_secs(5));
    let after = now();
    [0, 1].map(|which| (after[which].0 - before[which].0, after[which].1 - before[which].1))
}

#[test]
fn a_thousand_watched_directories_cost_nothing_while_nothing_happens() {
    let _turn = exclusive();
    let mut watched = WatchFixture::in_memory();
    for number in 0..1000 {
        watched.write(&format!("d{number}/file.md"), "text");
    }
    watched.wait_until_equal();
    assert_eq!(watched.known().expect("watched").watches, 1001);
    let pid = watched.home.daemon_pid().expect("a daemon");
    // What was asked last is soon over, and threads that wait for work in vain go after ten seconds.
    wait_until("it has come to rest", || {
        let before = naps(pid, Threads::Others);
        std::thread::sleep(Duration::from_secs(11));
        (naps(pid, Threads::Others) == before).then_some(())
    });
    let [notify, others] = while_doing(pid, || {});
    println!("nothing, in 5 s: notify {notify:?}, others {others:?} of work and wake-ups");
    assert!(others.0 < Duration::from_millis(2) && others.1 <= 2, "{others:?}");
    // Notify hears of whatever is opened, also by other tests in directories above the vault, and cannot be told not
    // to. Nobody else is woken, and it costs little.
    let [notify, others] = while_doing(pid, || {
        for number in 0..1000 {
            fs::read(watched.root.join(format!("d{number}/file.md"))).expect("a text");
            fs::read_dir(watched.root.join(format!("d{number}"))).expect("a listing").for_each(drop);
        }
    });
    println!("2,000 reads, in 5 s: notify {notify:?}, others {others:?} of work and wake-ups");
    assert!(notify.0 < Duration::from_millis(250), "{notify:?}");
    assert!(others.0 < Duration::from_millis(2) && others.1 <= 2, "{others:?}");
}
