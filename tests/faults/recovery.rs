//! Recovery by evidence: what lies on the disk decides what became of a write, each tree is recovered for itself, and
//! nobody waits for another's.

use std::fs;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trellis_protocol::Failure;
use trellisd::families::Answer;

use super::failing_syscalls::{FailingSyscalls, InjectedFault};
use super::write_fixture::{EngineFixture, TestProject};
use super::write_interference::InterferingSyscalls;

fn replace() -> Value {
    json!({ "path": "a.md", "find": "|", "replace": "x|" })
}

/// A vault in which a write was cut off after it was recorded and before its rename.
fn cut_off() -> TestProject {
    let test_project = TestProject::new();
    test_project.write("vault/a.md", "1|\n");
    test_project.write("pairs/a", "5\n");
    test_project.write("pairs/b", "5\n");
    let syscalls = Arc::new(FailingSyscalls::new(InjectedFault::StopAtExchange, usize::MAX));
    let fixture = test_project.open(syscalls).expect("the journal opens");
    let _ = call(&fixture, 1);
    fixture.close();
    assert_eq!(text(&test_project), "1|\n");
    test_project
}

fn call(fixture: &EngineFixture, sequence: u64) -> Result<Answer, Failure> {
    fixture.call("vault_replace", &replace(), sequence)
}

fn transfer(fixture: &EngineFixture, sequence: u64) -> Result<Answer, Failure> {
    fixture.call("fixture_pair_transfer", &json!({ "one": "a", "other": "b", "word": "paid" }), sequence)
}

fn text(test_project: &TestProject) -> String {
    fs::read_to_string(test_project.project().join("vault/a.md")).expect("a file")
}

/// Takes away what lies in the staging directory, as a disk may that was never told to keep the name.
fn lose_temp_files(test_project: &TestProject) -> usize {
    let staging = fs::read_dir(test_project.state().join("journal/staging")).expect("a directory");
    staging.flatten().map(|file| fs::remove_file(file.path()).expect("it is removed")).count()
}

#[test]
fn r8_a_temp_file_that_is_gone_is_no_proof_of_the_rename() {
    let test_project = cut_off();
    assert!(lose_temp_files(&test_project) > 0);
    for round in 0..3 {
        let fixture = test_project.reopen();
        let answer = call(&fixture, 1);
        fixture.close();
        let code = answer.expect_err("nobody knows").code;
        assert_eq!(code, "outcome_unknown", "in round {round}");
        assert_eq!(text(&test_project), "1|\n", "in round {round}");
    }
    let fixture = test_project.reopen();
    call(&fixture, 2).expect("another call is not concerned");
    fixture.close();
    assert_eq!(text(&test_project), "1x|\n");
}

#[test]
fn r8_the_new_text_in_its_place_is_proof_of_the_rename() {
    let test_project = cut_off();
    lose_temp_files(&test_project);
    test_project.write("vault/a.md", "1x|\n");
    let fixture = test_project.reopen();
    call(&fixture, 1).expect("it has happened");
    fixture.close();
    assert_eq!(text(&test_project), "1x|\n", "and not twice");
}

/// What a later write has found proves the earlier one, although the text has gone back since.
#[test]
fn r8_a_text_that_goes_back_and_forth_is_answered_as_it_was() {
    let test_project = TestProject::new();
    test_project.write("vault/a.md", "1|\n");
    let fixture = test_project.reopen();
    let back = json!({ "path": "a.md", "find": "x|", "replace": "|" });
    let answer = call(&fixture, 1).expect("an answer");
    fixture.call("vault_replace", &back, 2).expect("an answer");
    // It is killed: its displaced files are put away, and nothing says so.
    std::mem::forget(fixture);
    let staging = test_project.state().join("journal/staging");
    let is_empty = |file: fs::DirEntry| file.metadata().is_ok_and(|file| file.len() == 0);
    let is_put_away = || fs::read_dir(&staging).expect("a directory").flatten().all(is_empty);
    trellis_tests::harness::wait_until("displaced files are put away", || is_put_away().then_some(()));
    let fixture = test_project.reopen();
    assert_eq!(call(&fixture, 1), Ok(answer));
    fixture.close();
    assert_eq!(text(&test_project), "1|\n");
}

#[test]
fn r8_a_write_that_nobody_claims_within_ten_minutes_is_not_carried_out() {
    for (minutes, expected, rolled_back) in [(9, "1x|\n", 0), (11, "1|\n", 1)] {
        let test_project = cut_off();
        let later = trellisd::clock::epoch_millis() + minutes * 60_000;
        let syscalls = Arc::new(trellisd::disk::syscalls::OsSyscalls);
        let (fixture, count) = test_project.open_at(syscalls, later).expect("the journal opens");
        assert_eq!((text(&test_project).as_str(), count), (expected, rolled_back), "after {minutes} minutes");
        call(&fixture, 1).expect("who claims it later gets it, once");
        fixture.close();
        assert_eq!(text(&test_project), "1x|\n", "after {minutes} minutes");
        assert_eq!(lose_temp_files(&test_project), 0);
    }
}

/// One tree does not answer: its callers wait and are told, others do not even wait, and it comes back by itself.
#[test]
fn r8_a_tree_that_does_not_answer_holds_up_nobody_else() {
    let test_project = cut_off();
    let (release, released) = channel::<()>();
    let released = Mutex::new(released);
    let hung = InterferingSyscalls::new("exchange", move |number| {
        if number == 1 {
            let _ = released.lock().expect("one at a time").recv();
        }
    });
    let began = Instant::now();
    let fixture = test_project.open_in_background(Arc::new(hung)).expect("the journal opens");
    assert!(began.elapsed() < Duration::from_secs(2), "serving begins at once");
    transfer(&fixture, 7).expect("another tree is not concerned");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    for sequence in [1, 2] {
        let failure = call(&fixture, sequence).expect_err("it does not answer");
        assert_eq!(failure.code, "unavailable", "{failure:?}");
        assert!(failure.message.contains("vault"), "{failure:?}");
    }
    assert!(began.elapsed() >= Duration::from_secs(5), "they waited for it");
    assert_eq!(text(&test_project), "1|\n");
    drop(release);
    trellis_tests::harness::wait_until("the tree is back", || call(&fixture, 1).ok());
    assert_eq!(text(&test_project), "1x|\n", "carried out once");
    fixture.close();
    // The first daemon lives on in this process, and may just be putting journals away.
    let os = || Arc::new(trellisd::disk::syscalls::OsSyscalls);
    let fixture = trellis_tests::harness::wait_until("the journal opens", || test_project.open(os()).ok());
    call(&fixture, 1).expect("the same answer");
    transfer(&fixture, 7).expect("the same answer");
    fixture.close();
    assert_eq!(text(&test_project), "1x|\n");
    assert_eq!(fs::read_to_string(test_project.project().join("pairs/b")).expect("a file"), "6\npaid\n");
}

/// A request that comes again while its tree is being recovered waits for the outcome.
#[test]
fn r8_a_repeated_request_waits_for_the_recovery_of_its_write() {
    let test_project = cut_off();
    let slow = InterferingSyscalls::new("exchange", |_| std::thread::sleep(Duration::from_millis(500)));
    let fixture = test_project.open_in_background(Arc::new(slow)).expect("the journal opens");
    call(&fixture, 1).expect("the recorded answer");
    fixture.close();
    assert_eq!(text(&test_project), "1x|\n", "once");
}
