//! A write that fails, or a machine that stops, at the first call, the second, the third … until a whole run
//! passes: the old bytes or the new ones, of all files or of none, nothing beside them, and every call once.

use std::sync::Arc;

use serde_json::{Value, json};
use trellisd::disk::calls::System;
use trellisd::disk::faulty::{Fault, Faulty};

use super::writes_desk::{Desk, Ground, Tree, files};

/// Longer than any write; a loop that does not end is a mistake in the test.
const MOST_CALLS: usize = 200;
const ERRNOS: [(i32, &str); 6] =
    [(28, "disk_full"), (5, "io_error"), (13, "denied"), (30, "read_only"), (4, "io_error"), (24, "too_many_files")];

/// A writing call, what is there before it and what must be there after it.
#[derive(Clone)]
struct Story {
    name: &'static str,
    tool: &'static str,
    arguments: Value,
    before: &'static [(&'static str, &'static str)],
    after: &'static [(&'static str, &'static str)],
}

fn stories() -> Vec<Story> {
    let create = |path: &str| json!({ "path": path, "content": "new\n" });
    let purses = |one: &str, other: &str| json!({ "one": one, "other": other, "word": "paid" });
    vec![
        Story {
            name: "create",
            tool: "vault_create",
            arguments: create("a.md"),
            before: &[("vault/b.md", "b\n")],
            after: &[("vault/a.md", "new\n"), ("vault/b.md", "b\n")],
        },
        Story {
            name: "create below new directories",
            tool: "vault_create",
            arguments: create("x/y/a.md"),
            before: &[],
            after: &[("vault/x/y/a.md", "new\n")],
        },
        Story {
            name: "replace",
            tool: "vault_replace",
            arguments: json!({ "path": "a.md", "find": "|", "replace": "x|" }),
            before: &[("vault/a.md", "one\n|\n")],
            after: &[("vault/a.md", "one\nx|\n")],
        },
        Story {
            name: "two files in one directory",
            tool: "rehearsal_purse_pay",
            arguments: purses("a", "b"),
            before: &[("stage/a", "5\n"), ("stage/b", "5\n")],
            after: &[("stage/a", "4\npaid\n"), ("stage/b", "6\npaid\n")],
        },
        Story {
            name: "two files in two directories",
            tool: "rehearsal_purse_pay",
            arguments: purses("one/a", "two/b"),
            before: &[("stage/one/a", "5\n"), ("stage/two/b", "5\n")],
            after: &[("stage/one/a", "4\npaid\n"), ("stage/two/b", "6\npaid\n")],
        },
        Story {
            name: "two new files below new directories",
            tool: "rehearsal_purse_pair",
            arguments: purses("new/a", "new/b"),
            before: &[],
            after: &[("stage/new/a", "1000000\npaid\n"), ("stage/new/b", "1000000\npaid\n")],
        },
        Story {
            name: "one file goes, another changes",
            tool: "rehearsal_purse_pour",
            arguments: purses("one/a", "two/b"),
            before: &[("stage/one/a", "5\n"), ("stage/two/b", "5\n")],
            after: &[("stage/two/b", "10\npaid\n")],
        },
    ]
}

impl Story {
    fn ground(&self) -> Ground {
        let ground = Ground::new();
        self.before.iter().for_each(|(path, text)| ground.write(path, text));
        ground
    }

    fn call(&self, desk: &Desk) -> Result<(), trellis_protocol::Failure> {
        desk.call(self.tool, &self.arguments, 1).map(drop)
    }

    fn is_done(&self, ground: &Ground) -> bool {
        files(&ground.tree()) == expected(self.after)
    }

    /// The same request again, with this daemon and the next: the effect is there once.
    fn check_once(&self, ground: &Ground, about: &str) {
        for round in 0..2 {
            let desk = ground.reopen();
            let answer = self.call(&desk);
            desk.close();
            assert!(answer.is_ok(), "{about}, again {round}: {answer:?}");
            assert_eq!(files(&ground.tree()), expected(self.after), "{about}, again {round}");
        }
    }
}

fn expected(entries: &[(&str, &str)]) -> Tree {
    entries.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect()
}

/// Every story in a thread of its own: most of the time is spent in waiting for displaced files.
fn for_each_story(check: impl Fn(&Story) -> String + Sync) {
    std::thread::scope(|scope| {
        for story in stories() {
            let check = &check;
            scope.spawn(move || println!("{}: {}", story.name, check(&story)));
        }
    });
}

/// Runs to the N-th call, for N = 1, 2, 3 … until it is not reached any more; returns how often it was.
fn for_each_call(fault: Fault, mut run: impl FnMut(usize, &Arc<Faulty>)) -> usize {
    for number in 1..MOST_CALLS {
        let faulty = Arc::new(Faulty::new(fault, number));
        run(number, &faulty);
        if !faulty.was_reached() {
            return number - 1;
        }
    }
    panic!("the calls have no end");
}

#[test]
fn r19_an_error_at_any_call_leaves_the_old_bytes_and_says_so() {
    for_each_story(|story| {
        let mut counts = Vec::new();
        std::thread::scope(|scope| {
            let runs: Vec<_> = ERRNOS
                .into_iter()
                .map(|(errno, word)| scope.spawn(move || errors(story, Fault::Errno(errno), word)))
                .collect();
            counts.extend(runs.into_iter().map(|run| run.join().expect("a run without complaint")));
        });
        format!("calls, of which refused: {counts:?}")
    });
}

fn errors(story: &Story, fault: Fault, word: &str) -> (usize, usize) {
    let mut refused = 0;
    let calls = for_each_call(fault, |number, faulty| {
        let about = format!("{}, {fault:?} at call {number}", story.name);
        let ground = story.ground();
        let before = ground.tree();
        let desk = ground.open(Arc::clone(faulty) as _).expect("the journal opens");
        let answer = story.call(&desk);
        desk.close();
        match answer {
            Ok(()) => assert!(story.is_done(&ground), "{about}: {:?}", ground.tree()),
            Err(failure) => {
                refused += 1;
                assert_eq!(failure.details["reason"], word, "{about}: {failure:?}");
                assert_eq!(ground.tree(), before, "{about}: not even a directory is left");
            }
        }
        story.check_once(&ground, &about);
    });
    (calls, refused)
}

#[test]
fn r1_a_machine_that_stops_at_any_call_leaves_whole_files_and_every_call_happens_once() {
    for_each_story(|story| {
        let mut ends = (0, 0);
        let calls = for_each_call(Fault::Stop, |number, faulty| {
            let about = format!("{}, stopped at call {number}", story.name);
            let ground = stopped(story, faulty);
            ground.reopen().close();
            match story.is_done(&ground) {
                true => ends.1 += 1,
                false => {
                    assert_eq!(files(&ground.tree()), expected(story.before), "{about}");
                    ends.0 += 1;
                }
            }
            story.check_once(&ground, &about);
        });
        format!("{calls} calls, old and new after recovery: {ends:?}")
    });
}

/// A ground on which the machine has stopped in the middle of the call.
fn stopped(story: &Story, faulty: &Arc<Faulty>) -> Ground {
    let ground = story.ground();
    let desk = ground.open(Arc::clone(faulty) as _).expect("the journal opens");
    let answer = story.call(&desk);
    assert!(answer.is_ok() || faulty.was_reached(), "{answer:?}");
    desk.close();
    ground
}

/// The machine stops again, or fails once, while the next daemon goes through the journal.
#[test]
fn r1_a_recovery_that_is_cut_off_is_taken_up_by_the_next() {
    for_each_story(|story| {
        let mut recoveries = Vec::new();
        std::thread::scope(|scope| {
            let faults = [Fault::Stop, Fault::Errno(5)];
            let runs = faults.map(|fault| scope.spawn(move || cut_off(story, fault)));
            recoveries.extend(runs.into_iter().map(|run| run.join().expect("a run without complaint")));
        });
        format!("{recoveries:?} recoveries cut off")
    });
}

fn cut_off(story: &Story, fault: Fault) -> usize {
    let mut recoveries = 0;
    for_each_call(Fault::Stop, |number, faulty| {
        recoveries += for_each_call(fault, |again, second| {
            let about = format!("{}, stopped at call {number}, then {fault:?} at {again}", story.name);
            let ground = stopped(story, &Arc::new(Faulty::new(Fault::Stop, number)));
            if let Ok(desk) = ground.open(Arc::clone(second) as _) {
                desk.close();
            }
            ground.reopen().close();
            let is_old = || files(&ground.tree()) == expected(story.before);
            assert!(story.is_done(&ground) || is_old(), "{about}: {:?}", ground.tree());
            story.check_once(&ground, &about);
        });
        let _ = stopped(story, faulty);
    });
    recoveries
}

/// Somebody writes while no daemon is there: nothing of it is lost, and two files are still written together.
#[test]
fn r4_what_somebody_writes_before_the_recovery_is_kept() {
    let stories = stories();
    let pay = &stories[4];
    for (human, daemon) in [("stage/two/b", "stage/one/a"), ("stage/one/a", "stage/two/b")] {
        let calls = for_each_call(Fault::Stop, |number, faulty| {
            let about = format!("stopped at call {number}, then {human} is edited");
            let ground = stopped(pay, faulty);
            let text = ground.tree()[human].clone().expect("a file");
            ground.write(human, &format!("{text}by hand\n"));
            ground.reopen().close();
            let tree = files(&ground.tree());
            let has = |path: &str, word: &str| tree[path].as_deref().is_some_and(|text| text.contains(word));
            assert_eq!(has(human, "paid"), has(daemon, "paid"), "{about}: both or none: {tree:?}");
            let kept = tree.values().flatten().any(|text| text.contains("by hand"));
            assert!(kept, "{about}: {tree:?}");
            assert!(!tree.keys().any(|path| path.ends_with(".vtmp")), "{about}: {tree:?}");
            let desk = ground.reopen();
            pay.call(&desk).expect("an answer");
            desk.close();
            let tree = ground.tree();
            for path in [human, daemon] {
                let text = tree[path].clone().expect("a file");
                assert_eq!(text.matches("paid").count(), 1, "{about}: {tree:?}");
            }
        });
        println!("{calls} calls with an edit of {human}");
    }
}

/// A call that failed leaves no answer behind which a later daemon could give.
#[test]
fn r8_what_did_not_happen_is_not_answered_as_if_it_had() {
    let ground = Ground::new();
    ground.write("stage/a", "5\n");
    let arguments = json!({ "one": "a", "other": "b", "word": "w" });
    let desk = ground.reopen();
    assert_eq!(desk.call("rehearsal_purse_pair", &arguments, 7).expect_err("there is one").code, "PURSE_EXISTS");
    desk.close();
    std::fs::remove_file(ground.project().join("stage/a")).expect("it was there");
    for _ in 0..3 {
        let desk = ground.open(Arc::new(System)).expect("it opens");
        desk.call("rehearsal_purse_pair", &arguments, 7).expect("an answer");
        desk.close();
        assert_eq!(files(&ground.tree()).len(), 2);
    }
}
