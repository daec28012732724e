//! What is written while the power may go: calls of tools, and what each of them does to the user's files.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};

use super::crash::CallEvent;
use super::recorder::{FailingCall, Recorder, Recording};
use crate::write_fixture::{EngineFixture, FileTree, TestProject};
use crate::writes_load::Rng;

/// Calls on files that are there before them.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) before: Vec<(&'static str, &'static str)>,
    pub(crate) calls: Vec<Call>,
    /// Whether the calls are made at the same time, or each after the answer to the last.
    pub(crate) is_concurrent: bool,
    pub(crate) failing: FailingCall,
    /// Whether the directories have an access list for new files, so that those are staged in them.
    pub(crate) hands_down_access: bool,
}

/// A call of a tool, as the request with this number.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) sequence: u64,
    tool: &'static str,
    arguments: Value,
    changes: Vec<(String, Change)>,
}

/// What becomes of one file.
#[derive(Debug, Clone)]
enum Change {
    Create(String),
    /// A word is put before the mark.
    Insert(String),
    /// The number in the first line, and a word at the end.
    Transfer(i64, String),
    Remove,
}

/// An access list as the system keeps it: its version, then owner, group and others, each with tag, rights and id.
const DEFAULT_ACCESS: [u8; 28] =
    [2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 4, 0, 5, 0, 255, 255, 255, 255, 32, 0, 5, 0, 255, 255, 255, 255];

impl Scenario {
    fn new(name: &str, before: &[(&'static str, &'static str)], calls: Vec<Call>) -> Self {
        let calls = calls.into_iter().zip(1..).map(|(call, sequence)| Call { sequence, ..call }).collect();
        let (name, before, is_concurrent, failing) = (name.to_owned(), before.to_vec(), false, FailingCall::None);
        Self { name, before, calls, is_concurrent, failing, hands_down_access: false }
    }

    fn beside(self) -> Self {
        Self { hands_down_access: true, ..self }
    }

    fn at_once(self) -> Self {
        Self { is_concurrent: true, ..self }
    }

    fn failing(self, failing: FailingCall) -> Self {
        Self { failing, ..self }
    }

    /// Makes the calls for real, and records them.
    pub(crate) fn record(&self, test_project: &TestProject) -> Recording {
        self.before.iter().for_each(|(path, text)| test_project.write(path, text));
        if self.hands_down_access {
            for directory in ["vault", "pairs"].map(|name| test_project.project().join(name)) {
                fs::create_dir_all(&directory).expect("a directory");
                // Where a file system has no such lists, the scenario is one more of the plain kind.
                let flags = rustix::fs::XattrFlags::empty();
                let _ = rustix::fs::setxattr(&directory, "system.posix_acl_default", &DEFAULT_ACCESS, flags);
            }
        }
        let recorder = Arc::new(Recorder::new(test_project.base(), self.failing));
        let fixture = test_project.open(Arc::clone(&recorder) as _).expect("the journal opens");
        std::thread::scope(|scope| {
            for call in &self.calls {
                let made = scope.spawn(|| call.make(&fixture, &recorder));
                if !self.is_concurrent {
                    made.join().expect("an answer");
                }
            }
        });
        fixture.close();
        recorder.finish()
    }

    pub(crate) fn call(&self, sequence: u64) -> &Call {
        self.calls.iter().find(|call| call.sequence == sequence).expect("a call of the scenario")
    }

    /// The user's files before the first call.
    pub(crate) fn files(&self) -> FileTree {
        self.before.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect()
    }
}

impl Call {
    fn make(&self, fixture: &EngineFixture, recorder: &Recorder) {
        recorder.note(self.sequence, CallEvent::Begun);
        let answer = self.repeat(fixture);
        recorder.note(self.sequence, if answer.is_ok() { CallEvent::Done } else { CallEvent::Refused });
    }

    /// The same request, with whatever daemon is there now.
    pub(crate) fn repeat(&self, fixture: &EngineFixture) -> Result<(), trellis_protocol::Failure> {
        fixture.call(self.tool, &self.arguments, self.sequence).map(drop)
    }

    /// Does to the files what the call does; the texts that are displaced. None if it cannot be done to them.
    pub(crate) fn apply(&self, files: &mut FileTree) -> Option<Vec<String>> {
        let mut displaced = Vec::new();
        for (path, change) in &self.changes {
            let old = files.get(path).cloned().flatten();
            let new = match (change, &old) {
                (Change::Create(text), None) => Some(text.clone()),
                (Change::Insert(word), Some(old)) => Some(old.replace('|', &format!("{word}|"))),
                (Change::Transfer(difference, word), Some(old)) => {
                    let (number, words) = old.split_once('\n')?;
                    Some(format!("{}\n{words}{word}\n", number.parse::<i64>().ok()? + difference))
                }
                (Change::Remove, Some(_)) => None,
                _ => return None,
            };
            displaced.extend(old);
            match new {
                Some(new) => files.insert(path.clone(), Some(new)),
                None => files.remove(path),
            };
        }
        Some(displaced)
    }
}

fn call(tool: &'static str, arguments: Value, changes: Vec<(String, Change)>) -> Call {
    Call { sequence: 0, tool, arguments, changes }
}

fn create(path: &str, text: &str) -> Call {
    let changes = vec![(format!("vault/{path}"), Change::Create(text.to_owned()))];
    call("vault_create", json!({ "path": path, "content": text }), changes)
}

fn insert(path: &str, word: &str) -> Call {
    let changes = vec![(format!("vault/{path}"), Change::Insert(word.to_owned()))];
    call("vault_replace", json!({ "path": path, "find": "|", "replace": format!("{word}|") }), changes)
}

fn pair(tool: &'static str, one: &str, other: &str, word: &str, changes: [Change; 2]) -> Call {
    let paths = [one, other].map(|path| format!("pairs/{path}"));
    let arguments = json!({ "one": one, "other": other, "word": word });
    call(tool, arguments, paths.into_iter().zip(changes).collect())
}

fn transfer(one: &str, other: &str, word: &str) -> Call {
    let changes = [-1, 1].map(|difference| Change::Transfer(difference, word.to_owned()));
    pair("fixture_pair_transfer", one, other, word, changes)
}

fn create_pair(one: &str, other: &str, word: &str) -> Call {
    let text = format!("{}\n{word}\n", trellis_tests::fixture::two_files::START_VALUE);
    pair("fixture_pair_create", one, other, word, [Change::Create(text.clone()), Change::Create(text)])
}

/// One file goes, and its number is added to the other's.
fn merge(one: &str, other: &str, number: i64, word: &str) -> Call {
    pair("fixture_pair_merge", one, other, word, [Change::Remove, Change::Transfer(number, word.to_owned())])
}

const NOTE: (&str, &str) = ("vault/a.md", "one\n|\n");
const SECOND_NOTE: (&str, &str) = ("vault/b.md", "two\n|\n");
const PAIR: [(&str, &str); 2] = [("pairs/a", "5\n"), ("pairs/b", "7\n")];
const FAR_PAIR: [(&str, &str); 2] = [("pairs/one/a", "5\n"), ("pairs/two/b", "7\n")];

/// Writes of one and of two files, each of which is looked at in every state that there is.
pub(crate) fn single_writes() -> Vec<Scenario> {
    vec![
        Scenario::new("create", &[SECOND_NOTE], vec![create("a.md", "new\n")]),
        Scenario::new("create below new directories", &[], vec![create("x/y/a.md", "new\n")]),
        Scenario::new("replace", &[NOTE], vec![insert("a.md", "x")]),
        Scenario::new("two files in one directory", &PAIR, vec![transfer("a", "b", "paid")]),
        Scenario::new("two files in two directories", &FAR_PAIR, vec![transfer("one/a", "two/b", "paid")]),
        Scenario::new("two new files", &PAIR, vec![create_pair("c", "d", "made")]),
        Scenario::new("two new files below a new directory", &[], vec![create_pair("new/a", "new/b", "made")]),
        Scenario::new("create beside the target", &[SECOND_NOTE], vec![create("a.md", "new\n")]).beside(),
        Scenario::new("two new files beside their targets", &PAIR, vec![create_pair("c", "d", "made")]).beside(),
        Scenario::new("one goes, one changes", &FAR_PAIR, vec![merge("one/a", "two/b", 5, "paid")]),
        Scenario::new("an abort of one file", &[NOTE], vec![insert("a.md", "x")]).failing(FailingCall::UserDirectory),
        Scenario::new("an abort of a new file", &[], vec![create("a.md", "new\n")]).failing(FailingCall::UserDirectory),
        Scenario::new("an abort of two files", &PAIR, vec![transfer("a", "b", "paid")])
            .failing(FailingCall::SecondExchange),
    ]
}

/// Several writes, whose traces lie on the disk together.
pub(crate) fn sequences() -> Vec<Scenario> {
    let both = [NOTE, SECOND_NOTE];
    vec![
        Scenario::new("three times the same file", &both, ["x", "y", "z"].map(|word| insert("a.md", word)).into()),
        Scenario::new(
            "create, replace, two files, one goes",
            &[NOTE, PAIR[0], PAIR[1]],
            vec![
                create("new/c.md", "|"),
                insert("new/c.md", "x"),
                transfer("a", "b", "paid"),
                merge("a", "b", 4, "all"),
            ],
        ),
        Scenario::new(
            "an abort, then another write",
            &PAIR,
            vec![transfer("a", "b", "paid"), transfer("b", "a", "back")],
        )
        .failing(FailingCall::SecondExchange),
        Scenario::new(
            "an abort whose new directory the next write uses",
            &[SECOND_NOTE],
            vec![create("deep/a.md", "new\n"), create("deep/b.md", "new\n")],
        )
        .failing(FailingCall::UserDirectory),
        Scenario::new("two at once on one file", &both, vec![insert("a.md", "x"), insert("a.md", "y")]).at_once(),
        Scenario::new("two at once on two files", &both, vec![insert("a.md", "x"), insert("b.md", "y")]).at_once(),
        Scenario::new("two pairs at once", &PAIR, vec![transfer("a", "b", "paid"), create_pair("c/a", "c/b", "made")])
            .at_once(),
    ]
}

/// Calls by chance on a few files.
pub(crate) fn random(chance: &mut Rng) -> Scenario {
    let mut calls = Vec::new();
    for number in 0..2 + chance.below(4) {
        let word = format!("<{number}>");
        calls.push(match chance.below(6) {
            0 => create(&format!("new-{number}.md"), &word),
            1 => create(&format!("deep/{number}/new.md"), &word),
            2 => insert("a.md", &word),
            3 => insert("b.md", &word),
            4 => transfer("a", "b", &word),
            _ => create_pair(&format!("{number}/a"), &format!("{number}/b"), &word),
        });
    }
    let scenario = Scenario::new("by chance", &[NOTE, SECOND_NOTE, PAIR[0], PAIR[1]], calls);
    let failing = [FailingCall::None, FailingCall::None, FailingCall::SecondExchange, FailingCall::UserDirectory];
    let scenario = scenario.failing(failing[chance.below(4) as usize]);
    if scenario.calls.len() < 4 && chance.below(2) == 0 { scenario.at_once() } else { scenario }
}
