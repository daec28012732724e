//! A write that fails, or a machine that stops, at the first call, the second, the third … until a whole run
//! passes: the old bytes or the new ones, of all files or of none, nothing beside them, and every call once.

use std::sync::Arc;

use serde_json::{Value, json};
use trellisd::disk::syscalls::OsSyscalls;

use super::failing_syscalls::{FailingSyscalls, InjectedFault};
use super::write_fixture::{EngineFixture, FileTree, TestProject, files};

/// Longer than any write; a loop that does not end is a mistake in the test.
const MOST_CALLS: usize = 200;
const ERRNOS: [(i32, &str); 6] =
    [(28, "disk_full"), (5, "io_error"), (13, "denied"), (30, "read_only"), (4, "io_error"), (24, "too_many_files")];

/// Files with what they hold.
type TestFiles = &'static [(&'static str, &'static str)];

/// A writing call, what is there before it and what must be there after it.
#[derive(Clone)]
struct WriteScenario {
    name: &'static str,
    tool: &'static str,
    arguments: Value,
    /// What there was at first, and calls that have made of it what is there before.
    earlier: Option<(TestFiles, Vec<(&'static str, Value)>)>,
    before: TestFiles,
    after: TestFiles,
    /// No rename leads from the staging directory to the tree.
    is_beside: bool,
}

fn stories() -> Vec<WriteScenario> {
    let create = |path: &str| json!({ "path": path, "content": "new\n" });
    let pair_files = |one: &str, other: &str| json!({ "one": one, "other": other, "word": "paid" });
    vec![
        WriteScenario {
            name: "create",
            tool: "vault_create",
            arguments: create("a.md"),
            earlier: None,
            before: &[("vault/b.md", "b\n")],
            after: &[("vault/a.md", "new\n"), ("vault/b.md", "b\n")],
            is_beside: false,
        },
        WriteScenario {
            name: "create below new directories",
            tool: "vault_create",
            arguments: create("x/y/a.md"),
            earlier: None,
            before: &[],
            after: &[("vault/x/y/a.md", "new\n")],
            is_beside: false,
        },
        WriteScenario {
            name: "replace",
            tool: "vault_replace",
            arguments: json!({ "path": "a.md", "find": "|", "replace": "x|" }),
            earlier: None,
            before: &[("vault/a.md", "one\n|\n")],
            after: &[("vault/a.md", "one\nx|\n")],
            is_beside: false,
        },
        WriteScenario {
            name: "two files in one directory",
            tool: "fixture_pair_transfer",
            arguments: pair_files("a", "b"),
            earlier: None,
            before: &[("pairs/a", "5\n"), ("pairs/b", "5\n")],
            after: &[("pairs/a", "4\npaid\n"), ("pairs/b", "6\npaid\n")],
            is_beside: false,
        },
        WriteScenario {
            name: "two files in two directories",
            tool: "fixture_pair_transfer",
            arguments: pair_files("one/a", "two/b"),
            earlier: None,
            before: &[("pairs/one/a", "5\n"), ("pairs/two/b", "5\n")],
            after: &[("pairs/one/a", "4\npaid\n"), ("pairs/two/b", "6\npaid\n")],
            is_beside: false,
        },
        WriteScenario {
            name: "two new files below new directories",
            tool: "fixture_pair_create",
            arguments: pair_files("new/a", "new/b"),
            earlier: None,
            before: &[],
            after: &[("pairs/new/a", "1000000\npaid\n"), ("pairs/new/b", "1000000\npaid\n")],
            is_beside: false,
        },
        WriteScenario {
            name: "one file goes, another changes",
            tool: "fixture_pair_merge",
            arguments: pair_files("one/a", "two/b"),
            earlier: None,
            before: &[("pairs/one/a", "5\n"), ("pairs/two/b", "5\n")],
            after: &[("pairs/two/b", "10\npaid\n")],
            is_beside: false,
        },
        WriteScenario {
            name: "undo of a change",
            tool: "trellis_undo",
            arguments: json!({ "change": "c1" }),
            earlier: Some((
                &[("vault/a.md", "one\n|\n")],
                vec![("vault_replace", json!({ "path": "a.md", "find": "|", "replace": "x|" }))],
            )),
            before: &[("vault/a.md", "one\nx|\n")],
            after: &[("vault/a.md", "one\n|\n")],
            is_beside: false,
        },
        WriteScenario {
            name: "undo of a new file",
            tool: "trellis_undo",
            arguments: json!({ "change": "c1" }),
            earlier: Some((&[("vault/b.md", "b\n")], vec![("vault_create", create("a.md"))])),
            before: &[("vault/a.md", "new\n"), ("vault/b.md", "b\n")],
            after: &[("vault/b.md", "b\n")],
            is_beside: false,
        },
        WriteScenario {
            name: "undo of an undo of a new file",
            tool: "trellis_undo",
            arguments: json!({ "change": "c2" }),
            earlier: Some((
                &[("vault/b.md", "b\n")],
                vec![("vault_create", create("a.md")), ("trellis_undo", json!({ "change": "c1" }))],
            )),
            before: &[("vault/b.md", "b\n")],
            after: &[("vault/a.md", "new\n"), ("vault/b.md", "b\n")],
            is_beside: false,
        },
    ]
}

impl WriteScenario {
    fn faulty(&self, fault: InjectedFault, at: usize) -> Arc<FailingSyscalls> {
        let faulty = FailingSyscalls::new(fault, at);
        Arc::new(if self.is_beside { faulty.with_two_devices() } else { faulty })
    }

    fn test_project(&self) -> TestProject {
        let test_project = TestProject::new();
        let written = self.earlier.as_ref().map_or(self.before, |(first, _)| first);
        written.iter().for_each(|(path, text)| test_project.write(path, text));
        if let Some((_, calls)) = &self.earlier {
            let fixture = test_project.reopen();
            for (sequence, (tool, arguments)) in (100..).zip(calls) {
                fixture.call(tool, arguments, sequence).expect("it is written");
            }
            fixture.close();
            assert_eq!(files(&test_project.tree()), expected(self.before), "{}", self.name);
        }
        test_project
    }

    fn call(&self, fixture: &EngineFixture) -> Result<(), trellis_protocol::Failure> {
        fixture.call(self.tool, &self.arguments, 1).map(drop)
    }

    fn is_done(&self, test_project: &TestProject) -> bool {
        files(&test_project.tree()) == expected(self.after)
    }

    /// The same request again, with this daemon and the next: the effect is there once.
    fn check_once(&self, test_project: &TestProject, about: &str) {
        for round in 0..2 {
            let fixture = test_project.reopen();
            let answer = self.call(&fixture);
            fixture.close();
            assert!(answer.is_ok(), "{about}, again {round}: {answer:?}");
            assert_eq!(files(&test_project.tree()), expected(self.after), "{about}, again {round}");
        }
    }
}

fn expected(entries: &[(&str, &str)]) -> FileTree {
    entries.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect()
}

/// Every story in a thread of its own, with temp files in the staging directory and beside their targets: most of the
/// time is spent in waiting for displaced files.
fn for_each_story(check: impl Fn(&WriteScenario) -> String + Sync) {
    std::thread::scope(|scope| {
        for story in stories().into_iter().chain(stories_beside()) {
            let check = &check;
            scope.spawn(move || println!("{}: {}", story.name, check(&story)));
        }
    });
}

/// A new file, a changed one and one that goes, where a rename from the staging directory would cross devices.
fn stories_beside() -> impl Iterator<Item = WriteScenario> {
    let mut stories = stories();
    [6, 2, 0].into_iter().map(move |place| WriteScenario { is_beside: true, ..stories.swap_remove(place) })
}

/// Runs to the N-th call, for N = 1, 2, 3 … until it is not reached any more; returns how often it was.
fn for_each_call(
    story: &WriteScenario,
    fault: InjectedFault,
    mut run: impl FnMut(usize, &Arc<FailingSyscalls>),
) -> usize {
    for number in 1..MOST_CALLS {
        let faulty = story.faulty(fault, number);
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
            // Beside the target the same code runs, and one errno stands for all.
            let errnos = ERRNOS.into_iter().take(if story.is_beside { 1 } else { ERRNOS.len() });
            let runs: Vec<_> = errnos
                .map(|(errno, word)| scope.spawn(move || errors(story, InjectedFault::Errno(errno), word)))
                .collect();
            counts.extend(runs.into_iter().map(|run| run.join().expect("a run without complaint")));
        });
        format!("calls, of which refused: {counts:?}")
    });
}

fn errors(story: &WriteScenario, fault: InjectedFault, word: &str) -> (usize, usize) {
    let mut refused = 0;
    let syscalls = for_each_call(story, fault, |number, faulty| {
        let about = format!("{}, {fault:?} at call {number}", story.name);
        let test_project = story.test_project();
        let before = test_project.tree();
        let fixture = test_project.open(Arc::clone(faulty) as _).expect("the journal opens");
        let answer = story.call(&fixture);
        fixture.close();
        match answer {
            Ok(()) => assert!(story.is_done(&test_project), "{about}: {:?}", test_project.tree()),
            Err(failure) => {
                refused += 1;
                assert_eq!(failure.details["reason"], word, "{about}: {failure:?}");
                assert_eq!(test_project.tree(), before, "{about}: not even a directory is left");
            }
        }
        story.check_once(&test_project, &about);
    });
    (syscalls, refused)
}

#[test]
fn r1_a_machine_that_stops_at_any_call_leaves_whole_files_and_every_call_happens_once() {
    for_each_story(|story| {
        let mut ends = (0, 0);
        let syscalls = for_each_call(story, InjectedFault::Stop, |number, faulty| {
            let about = format!("{}, stopped at call {number}", story.name);
            let test_project = stopped(story, faulty);
            test_project.reopen().close();
            match story.is_done(&test_project) {
                true => ends.1 += 1,
                false => {
                    assert_eq!(files(&test_project.tree()), expected(story.before), "{about}");
                    ends.0 += 1;
                }
            }
            story.check_once(&test_project, &about);
        });
        format!("{syscalls} calls, old and new after recovery: {ends:?}")
    });
}

/// A ground on which the machine has stopped in the middle of the call.
fn stopped(story: &WriteScenario, faulty: &Arc<FailingSyscalls>) -> TestProject {
    let test_project = story.test_project();
    let fixture = test_project.open(Arc::clone(faulty) as _).expect("the journal opens");
    let answer = story.call(&fixture);
    assert!(answer.is_ok() || faulty.was_reached(), "{answer:?}");
    fixture.close();
    test_project
}

fn is_answered(story: &WriteScenario, faulty: &Arc<FailingSyscalls>) -> bool {
    let test_project = story.test_project();
    let fixture = test_project.open(Arc::clone(faulty) as _).expect("the journal opens");
    let answer = story.call(&fixture);
    fixture.close();
    answer.is_ok()
}

/// The machine stops again, or fails once, while the next daemon goes through the journal.
#[test]
fn r1_a_recovery_that_is_cut_off_is_taken_up_by_the_next() {
    for_each_story(|story| {
        let mut recoveries = Vec::new();
        std::thread::scope(|scope| {
            let faults = [InjectedFault::Stop, InjectedFault::Errno(5)];
            let runs = faults.map(|fault| scope.spawn(move || cut_off(story, fault)));
            recoveries.extend(runs.into_iter().map(|run| run.join().expect("a run without complaint")));
        });
        format!("{recoveries:?} recoveries cut off")
    });
}

fn cut_off(story: &WriteScenario, fault: InjectedFault) -> usize {
    let mut recoveries = 0;
    if story.is_beside {
        return recoveries;
    }
    for_each_call(story, InjectedFault::Stop, |number, faulty| {
        // Once it is answered only tidying is left, and one fault shows how that is taken up.
        if fault != InjectedFault::Stop && is_answered(story, faulty) {
            return;
        }
        recoveries += for_each_call(story, fault, |again, second| {
            let about = format!("{}, stopped at call {number}, then {fault:?} at {again}", story.name);
            let test_project = stopped(story, &story.faulty(InjectedFault::Stop, number));
            if let Ok(fixture) = test_project.open(Arc::clone(second) as _) {
                fixture.close();
            }
            let fixture = test_project.reopen();
            let is_old = || files(&test_project.tree()) == expected(story.before);
            assert!(story.is_done(&test_project) || is_old(), "{about}: {:?}", test_project.tree());
            let answer = story.call(&fixture);
            fixture.close();
            assert!(answer.is_ok() && story.is_done(&test_project), "{about}: {answer:?}");
            let fixture = test_project.reopen();
            let answer = story.call(&fixture);
            fixture.close();
            assert!(answer.is_ok() && story.is_done(&test_project), "{about}, again: {answer:?}");
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
    for (human, daemon) in [("pairs/two/b", "pairs/one/a"), ("pairs/one/a", "pairs/two/b")] {
        let syscalls = for_each_call(pay, InjectedFault::Stop, |number, faulty| {
            let about = format!("stopped at call {number}, then {human} is edited");
            let test_project = stopped(pay, faulty);
            let text = test_project.tree()[human].clone().expect("a file");
            test_project.write(human, &format!("{text}by hand\n"));
            test_project.reopen().close();
            let tree = files(&test_project.tree());
            let has = |path: &str, word: &str| tree[path].as_deref().is_some_and(|text| text.contains(word));
            assert_eq!(has(human, "paid"), has(daemon, "paid"), "{about}: both or none: {tree:?}");
            let kept = tree.values().flatten().any(|text| text.contains("by hand"));
            assert!(kept, "{about}: {tree:?}");
            assert!(!tree.keys().any(|path| path.ends_with(".vtmp")), "{about}: {tree:?}");
            let fixture = test_project.reopen();
            pay.call(&fixture).expect("an answer");
            fixture.close();
            let tree = test_project.tree();
            for path in [human, daemon] {
                let text = tree[path].clone().expect("a file");
                assert_eq!(text.matches("paid").count(), 1, "{about}: {tree:?}");
            }
        });
        println!("{syscalls} calls with an edit of {human}");
    }
}

/// A call that failed leaves no answer behind which a later daemon could give.
#[test]
fn r8_what_did_not_happen_is_not_answered_as_if_it_had() {
    let test_project = TestProject::new();
    test_project.write("pairs/a", "5\n");
    let arguments = json!({ "one": "a", "other": "b", "word": "w" });
    let fixture = test_project.reopen();
    assert_eq!(fixture.call("fixture_pair_create", &arguments, 7).expect_err("there is one").code, "PAIR_FILE_EXISTS");
    fixture.close();
    std::fs::remove_file(test_project.project().join("pairs/a")).expect("it was there");
    for _ in 0..3 {
        let fixture = test_project.open(Arc::new(OsSyscalls)).expect("it opens");
        fixture.call("fixture_pair_create", &arguments, 7).expect("an answer");
        fixture.close();
        assert_eq!(files(&test_project.tree()).len(), 2);
    }
}
