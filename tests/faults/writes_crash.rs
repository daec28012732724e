//! A daemon that dies, or is told to leave, while hosts write: every acknowledged write is on the disk, none
//! twice, no file is torn, nothing is left lying, and every request has one answer.

use std::time::Instant;

use trellis_tests::harness::{Home, wait_until};

use super::exclusive::exclusive;
use super::process::{Signal, signal, until_gone};
use super::writes_load::{Rng, WriteMix, Writers, leftover_temps, prepare};

const HOSTS: usize = 6;
const KILLS: usize = 60;
const FAREWELLS: usize = 20;

/// Ends daemons at random moments while hosts write.
fn end_daemons(work: WriteMix, how: Signal, times: usize) {
    let _turn = exclusive();
    let home = Home::with_fixtures();
    prepare(&home, HOSTS);
    let mut chance = Rng::new();
    let writers = Writers::start(&home, (0..HOSTS).map(|_| home.host(&[])).collect(), work);
    let began = Instant::now();
    writers.go_on();
    for _ in 0..times {
        // Half of them die while they begin, or go through the journal.
        if chance.below(2) == 0 {
            writers.some_go_on();
        }
        chance.pause(50, 300);
        let pid = wait_until("a daemon", || home.daemons().first().copied());
        signal(pid, how);
        until_gone(pid);
    }
    writers.go_on();
    let outcome = writers.finish();
    let time = began.elapsed();
    let (acknowledged, unknown) = (outcome.acknowledged, outcome.unknown);
    println!("{work:?}: {times} × {how:?}, {acknowledged} writes acknowledged, {unknown} unknown in {time:.1?}");
    let refusals = outcome.refusals.len();
    assert_eq!(refusals, 0, "{}", outcome.refusals.first().unwrap_or_default());
    // A call that many daemons have died under is given up, and says so; one that leaves finishes its work.
    assert!(unknown == 0 || how == Signal::KILL);
    assert!(unknown < acknowledged);
    wait_until("nothing is left lying", || leftover_temps(&home.project()).is_empty().then_some(()));
    assert_eq!(home.daemons().len(), 1);
}

#[test]
fn r1_killed_daemons_lose_no_write_and_make_none_twice() {
    end_daemons(WriteMix::Vault, Signal::KILL, KILLS);
}

#[test]
fn r1_killed_daemons_write_two_files_or_none() {
    end_daemons(WriteMix::Purses, Signal::KILL, KILLS);
}

#[test]
fn r22_daemons_that_leave_lose_no_write_and_know_every_outcome() {
    end_daemons(WriteMix::Vault, Signal::TERM, FAREWELLS);
}
