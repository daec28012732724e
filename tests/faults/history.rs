//! Eight sessions write and read a few files of four families while daemons and proxies are killed. Every call is
//! recorded; for each file the whole history must fit one order, in which each request has happened once.
//!
//! `TRELLIS_HISTORY_SECONDS=600` lets rounds go on for so long, each in a new home.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};
use trellis_tests::history::{Attempt, FileOperation, Outcome, Verdict, linearize, merge_attempts};

use super::exclusive::exclusive;
use super::process::{Signal, signal};
use super::writes_load::Rng;

const SESSIONS: usize = 8;
const ROUND: Duration = Duration::from_secs(8);
/// Between two calls of a session: a history must not be longer than it can be checked.
const PAUSE_MS: u64 = 8;
/// Longer than the daemon itself lets a call take.
const CALL_TIMEOUT: Duration = Duration::from_secs(40);
/// A list of tasks shows no more at once.
const MAX_TASKS: u32 = 90;
/// Codes that say that nothing was done.
const REFUSALS: [&str; 4] = ["draining", "not_applied", "unavailable", "busy"];

/// What sessions work on: each holds numbers, in the form of its family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Vault(&'static str),
    Document,
    Tasks,
    Plan,
}

const TARGETS: [Target; 5] =
    [Target::Vault("one.md"), Target::Vault("two.md"), Target::Document, Target::Tasks, Target::Plan];

impl Target {
    fn prepare(self, home: &Home) {
        match self {
            Self::Vault(path) => drop(home.write(&format!("vault/{path}"), "|\n")),
            Self::Document => {
                let directory = home.path().join(".vibe/demo/scratch");
                fs::create_dir_all(&directory).expect("a workspace");
                fs::write(directory.join("numbers.md"), "").expect("a document");
            }
            Self::Tasks => fs::create_dir_all(home.project().join(".todo")).expect("a directory"),
            Self::Plan => drop(home.write("plan.vine", "vine 1.2.0\n---\n[root] Root (started)\n")),
        }
    }

    fn write(self, number: u32) -> (FileOperation, &'static str, Value) {
        match self {
            Self::Vault(path) => {
                let arguments = json!({ "path": path, "find": "|", "replace": format!("<{number}>\n|") });
                (FileOperation::Append(number), "vault_replace", arguments)
            }
            Self::Document => {
                let arguments = json!({ "project": "demo", "folder": "scratch", "filename": "numbers.md", "content": format!("<{number}>\n") });
                (FileOperation::Replace(number), "vibe_update_doc", arguments)
            }
            Self::Tasks => {
                (FileOperation::Append(number), "todo_create_task", json!({ "title": format!("<{number}>") }))
            }
            Self::Plan => {
                let id = format!("t{number}");
                let operations = json!([
                    { "op": "add_task", "id": id, "name": format!("<{number}>") },
                    { "op": "add_dep", "taskId": "root", "depId": id },
                ]);
                (FileOperation::Append(number), "vine_write", json!({ "file": "plan.vine", "operations": operations }))
            }
        }
    }

    fn read(self) -> (&'static str, Value) {
        match self {
            Self::Vault(path) => ("vault_read", json!({ "path": path, "full": true })),
            Self::Document => {
                ("vibe_read_doc", json!({ "project": "demo", "folder": "scratch", "filename": "numbers.md" }))
            }
            Self::Tasks => ("todo_list_tasks", json!({ "limit": 100 })),
            Self::Plan => ("vine_read", json!({ "file": "plan.vine", "action": "list" })),
        }
    }

    /// The numbers in an answer to a read, as they stand in it.
    fn numbers(self, result: &Value) -> Vec<u32> {
        let text = result["content"][0]["text"].as_str().expect("a text");
        let marked = text.split('<').skip(1).filter_map(|rest| rest.split_once('>'));
        marked.filter_map(|(number, _)| number.parse().ok()).collect()
    }
}

/// What all sessions share.
struct Round {
    home: Home,
    moment: AtomicU64,
    number: AtomicU32,
    tasks: AtomicU32,
    stop: AtomicBool,
    /// The proxy of each session, while it may be killed.
    proxies: Vec<Mutex<Option<u32>>>,
    attempts: Mutex<BTreeMap<Target, Vec<Attempt>>>,
    unexpected: Mutex<Vec<String>>,
}

/// One host, with one proxy after the other.
struct Session<'a> {
    round: &'a Round,
    slot: usize,
    client: Option<Client>,
}

impl Round {
    fn new() -> Self {
        let home = Home::new();
        TARGETS.iter().for_each(|target| target.prepare(&home));
        let proxies = (0..SESSIONS).map(|_| Mutex::default()).collect();
        let (attempts, unexpected) = (Mutex::default(), Mutex::default());
        let (moment, number, tasks) = (AtomicU64::new(0), AtomicU32::new(1), AtomicU32::new(0));
        Self { home, moment, number, tasks, stop: AtomicBool::new(false), proxies, attempts, unexpected }
    }

    fn now(&self) -> u64 {
        self.moment.fetch_add(1, Ordering::SeqCst)
    }

    /// Lets sessions work and kills what they need, then has every file read once more.
    fn run(&self, seed: u64) -> usize {
        let mut chance = Rng::seeded(seed);
        let mut kills = 0;
        std::thread::scope(|scope| {
            for slot in 0..SESSIONS {
                scope.spawn(move || {
                    Session { round: self, slot, client: None }.work(Rng::seeded(seed + 1 + slot as u64));
                });
            }
            let end = Instant::now() + ROUND;
            while Instant::now() < end {
                chance.pause(100, 700);
                kills += 1;
                match chance.below(3) {
                    0 => self.home.daemons().into_iter().for_each(|pid| self.home.kill(pid)),
                    _ => self.kill_proxy(chance.below(SESSIONS as u64) as usize),
                }
            }
            self.stop.store(true, Ordering::SeqCst);
        });
        let mut last = Session { round: self, slot: 0, client: None };
        TARGETS.iter().for_each(|target| last.call(*target, None, "last"));
        kills
    }

    fn kill_proxy(&self, slot: usize) {
        if let Some(pid) = *self.proxies[slot].lock().unwrap_or_else(PoisonError::into_inner) {
            signal(pid, Signal::KILL);
        }
    }

    /// Looks for an order in what was seen of each file; how many calls there were.
    fn check(&self, seed: u64) -> Counts {
        let attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts = Counts::default();
        for (target, attempts) in attempts.iter() {
            let history = merge_attempts(attempts).unwrap_or_else(|why| panic!("seed {seed}, {target:?}: {why}"));
            counts.add(attempts);
            match linearize(Vec::new(), &history) {
                Verdict::Linearizable(_) => {}
                Verdict::Impossible(longest) => {
                    let last: Vec<_> = longest.iter().rev().take(3).map(|number| &history[*number]).collect();
                    let rest: Vec<_> = (0..history.len()).filter(|number| !longest.contains(number)).take(12).collect();
                    let rest: Vec<_> = rest.into_iter().map(|number| &history[number]).collect();
                    panic!("seed {seed}, {target:?}: no order. After {last:?} none of these fits: {rest:#?}");
                }
                Verdict::TooHard => panic!("seed {seed}, {target:?}: too hard"),
            }
        }
        let unexpected = self.unexpected.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(unexpected.is_empty(), "seed {seed}: {unexpected:#?}");
        counts
    }
}

/// How many calls ended how.
#[derive(Debug, Default)]
struct Counts {
    done: usize,
    refused: usize,
    unknown: usize,
    repeated: usize,
}

impl Counts {
    fn add(&mut self, attempts: &[Attempt]) {
        let mut keys = std::collections::HashSet::new();
        for attempt in attempts {
            self.repeated += usize::from(!keys.insert(&attempt.key));
            match attempt.outcome {
                Outcome::Done(_) => self.done += 1,
                Outcome::Refused => self.refused += 1,
                Outcome::Unknown => self.unknown += 1,
            }
        }
    }
}

impl Session<'_> {
    fn work(mut self, mut chance: Rng) {
        while !self.round.stop.load(Ordering::SeqCst) {
            let target = TARGETS[chance.below(TARGETS.len() as u64) as usize];
            if chance.below(9) < 5 || !self.may_write(target) {
                let key = format!("read {}", self.round.now());
                self.call(target, None, &key);
                chance.pause(0, PAUSE_MS);
                continue;
            }
            let number = self.round.number.fetch_add(1, Ordering::SeqCst);
            let key = format!("write {number}");
            self.call(target, Some(number), &key);
            // The same request once more: because the answer did not come, or just so.
            if chance.below(4) == 0 {
                self.call(target, Some(number), &key);
            }
            chance.pause(0, PAUSE_MS);
        }
        self.close();
    }

    fn may_write(&self, target: Target) -> bool {
        target != Target::Tasks || self.round.tasks.fetch_add(1, Ordering::SeqCst) < MAX_TASKS
    }

    /// Makes a call and records it.
    fn call(&mut self, target: Target, number: Option<u32>, key: &str) {
        let (operation, tool, arguments) = match number {
            Some(number) => target.write(number),
            None => {
                let (tool, arguments) = target.read();
                (FileOperation::Read(Vec::new()), tool, arguments)
            }
        };
        self.connect();
        let mut params = json!({ "name": tool, "arguments": arguments });
        if number.is_some() {
            params["_meta"] = json!({ "trellis/requestKey": key });
        }
        let invoked = self.round.now();
        let answer = self.client.as_mut().and_then(|client| client.try_ask("tools/call", params, CALL_TIMEOUT));
        let completed = self.round.now();
        if answer.is_none() {
            self.close();
        }
        let outcome = self.outcome(answer.as_ref());
        let operation = match (&operation, &outcome, &answer) {
            (FileOperation::Read(_), Outcome::Done(_), Some(answer)) => {
                FileOperation::Read(target.numbers(&answer["result"]))
            }
            _ => operation,
        };
        let attempt = Attempt { key: key.to_owned(), operation, invoked, completed, outcome };
        let mut attempts = self.round.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        attempts.entry(target).or_default().push(attempt);
    }

    fn outcome(&self, answer: Option<&Value>) -> Outcome {
        let Some(answer) = answer else { return Outcome::Unknown };
        let result = &answer["result"];
        if result.is_object() && result["isError"] != true {
            return Outcome::Done(result["content"][0]["text"].as_str().unwrap_or_default().to_owned());
        }
        let text = answer.to_string();
        match () {
            () if text.contains("outcome_unknown") => Outcome::Unknown,
            () if REFUSALS.iter().any(|code| text.contains(code)) => Outcome::Refused,
            () => {
                self.round.unexpected.lock().unwrap_or_else(PoisonError::into_inner).push(text);
                Outcome::Refused
            }
        }
    }

    /// Until there is a proxy that has shaken hands.
    fn connect(&mut self) {
        while self.client.is_none() {
            let mut client = self.round.home.connect(&[]);
            self.proxy(Some(client.pid()));
            let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
            if client.try_ask("initialize", params, CALL_TIMEOUT).is_some() {
                self.client = Some(client);
            } else {
                self.proxy(None);
            }
        }
    }

    /// First nobody may kill it any more: its number could be another's soon.
    fn close(&mut self) {
        self.proxy(None);
        self.client = None;
    }

    fn proxy(&self, pid: Option<u32>) {
        *self.round.proxies[self.slot].lock().unwrap_or_else(PoisonError::into_inner) = pid;
    }
}

#[test]
fn r8_random_calls_under_kills_fit_one_order_and_happen_once() {
    let seconds = std::env::var("TRELLIS_HISTORY_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let mut chance = Rng::new();
    loop {
        let _turn = exclusive();
        let seed = chance.below(1 << 32);
        let round = Round::new();
        let kills = round.run(seed);
        let began = Instant::now();
        let counts = round.check(seed);
        println!("seed {seed}: {kills} kills, {counts:?}, checked in {:.1?}", began.elapsed());
        assert!(counts.done > 100, "{counts:?}");
        if Instant::now() >= end {
            break;
        }
    }
}
