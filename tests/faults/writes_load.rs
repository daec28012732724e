//! Hosts that write without a pause and book what was acknowledged; afterwards the disk must hold exactly that.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

/// Writes that each host keeps in flight.
const IN_FLIGHT: usize = 3;
/// The place in a file before which markers are written.
const END_OF_FILE_MARK: &str = "(end)";
/// The file that all hosts write.
const SHARED: &str = "shared.md";

/// A source of chance whose seed is printed, so that a run can be repeated.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new() -> Self {
        let seed = std::env::var("TRELLIS_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        println!("TRELLIS_SEED={seed}");
        Self::seeded(seed)
    }

    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    pub(crate) fn pause(&mut self, from: u64, to: u64) {
        std::thread::sleep(Duration::from_millis(from + self.below(to - from)));
    }
}

/// What a host does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteMix {
    /// Markers into shared and own files, and new files of any size.
    Vault,
    /// Coins from one pair_file to the other, and pairs of new pair_files.
    Purses,
}

/// One write, as it was asked for.
#[derive(Debug, Clone)]
enum WriteOutcome {
    Marker { path: String, marker: String },
    Created { path: String, text: String },
    Paid { marker: String },
    Paired { name: String },
}

/// What one host was told.
#[derive(Debug, Default)]
struct AckLog {
    done: Vec<WriteOutcome>,
    /// The daemon died under them too often: they may have happened, and the host was told so.
    unknown: Vec<WriteOutcome>,
    refused: Vec<(WriteOutcome, Value)>,
}

/// Hosts at work.
pub(crate) struct Writers {
    hosts: Vec<(Arc<AtomicU64>, JoinHandle<AckLog>)>,
    stop: Arc<AtomicBool>,
    project: PathBuf,
}

/// What came of it all.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) acknowledged: usize,
    pub(crate) unknown: usize,
    pub(crate) refusals: Vec<Value>,
}

/// Files for the hosts to write.
pub(crate) fn prepare(home: &Home, hosts: usize) {
    home.write(&format!("vault/{SHARED}"), END_OF_FILE_MARK);
    for host in 0..hosts {
        home.write(&format!("vault/own-{host}.md"), END_OF_FILE_MARK);
    }
    home.write("pairs/one", "1000000\n");
    home.write("pairs/other", "1000000\n");
}

impl Writers {
    /// Lets hosts work in a home that was prepared.
    pub(crate) fn start(home: &Home, clients: Vec<Client>, work: WriteMix) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let host = |(number, client)| {
            let (count, stop) = (Arc::new(AtomicU64::new(0)), Arc::clone(&stop));
            let counted = Arc::clone(&count);
            (count, std::thread::spawn(move || write(client, number, work, &stop, &counted)))
        };
        let hosts = clients.into_iter().enumerate().map(host).collect();
        Self { hosts, stop, project: home.project() }
    }

    /// Waits until some host has had an answer more.
    pub(crate) fn some_go_on(&self) {
        let total = || self.hosts.iter().map(|(count, _)| count.load(Ordering::Relaxed)).sum::<u64>();
        let before = total();
        wait_until("a host is answered", || (total() > before).then_some(()));
    }

    /// Waits until every host has had an answer more.
    #[track_caller]
    pub(crate) fn go_on(&self) {
        for (count, thread) in &self.hosts {
            let before = count.load(Ordering::Relaxed);
            wait_until("every host is answered", || {
                assert!(!thread.is_finished(), "a host has failed");
                (count.load(Ordering::Relaxed) > before).then_some(())
            });
        }
    }

    /// Waits for what is due, and compares the disk with the books.
    pub(crate) fn finish(self) -> Outcome {
        self.stop.store(true, Ordering::Relaxed);
        let books = self.hosts.into_iter().map(|(_, thread)| thread.join().expect("a host without complaint"));
        let books: Vec<AckLog> = books.collect();
        let mut outcome = Outcome::default();
        for book in &books {
            outcome.acknowledged += book.done.len();
            outcome.unknown += book.unknown.len();
            outcome.refusals.extend(book.refused.iter().map(|(_, refusal)| refusal.clone()));
        }
        check(&books, &self.project);
        outcome
    }
}

fn write(mut client: Client, host: usize, work: WriteMix, stop: &AtomicBool, count: &AtomicU64) -> AckLog {
    let mut book = AckLog::default();
    let mut due = BTreeMap::new();
    let mut turn = 0;
    loop {
        while due.len() < IN_FLIGHT && !stop.load(Ordering::Relaxed) {
            turn += 1;
            let asked = next(host, turn, work);
            due.insert(client.send("tools/call", call(&asked)), asked);
        }
        if due.is_empty() {
            break;
        }
        let message = client.next_message();
        let id = message["id"].as_u64().unwrap_or_else(|| panic!("not an answer: {message}"));
        let asked = due.remove(&id).unwrap_or_else(|| panic!("answered twice, or never asked: {message}"));
        match message["result"]["isError"] == false {
            true => book.done.push(asked),
            false if message["error"]["data"]["code"] == "outcome_unknown" => book.unknown.push(asked),
            false => book.refused.push((asked, message)),
        }
        count.fetch_add(1, Ordering::Relaxed);
    }
    let ping = client.send("ping", json!({}));
    let last = client.next_message();
    assert_eq!(last["id"], ping, "an answer too many: {last}");
    assert!(client.close().success());
    book
}

fn next(host: usize, turn: usize, work: WriteMix) -> WriteOutcome {
    let marker = format!("<{host}.{turn}>");
    match (work, turn % 4) {
        (WriteMix::Vault, 0) => {
            let path = format!("new-{host}-{turn}.md");
            // From some bytes to about a megabyte; every sixth is large.
            let length = if turn.is_multiple_of(24) { 900_000 + turn } else { turn * 37 % 3_000 };
            WriteOutcome::Created { text: signed(&path, length), path }
        }
        (WriteMix::Vault, 1) => WriteOutcome::Marker { path: format!("own-{host}.md"), marker },
        (WriteMix::Vault, _) => WriteOutcome::Marker { path: SHARED.to_owned(), marker },
        (WriteMix::Purses, 0) => WriteOutcome::Paired { name: format!("{host}-{turn}") },
        (WriteMix::Purses, _) => WriteOutcome::Paid { marker },
    }
}

fn call(asked: &WriteOutcome) -> Value {
    match asked {
        WriteOutcome::Marker { path, marker } => {
            let replace = format!("{marker}\n{END_OF_FILE_MARK}");
            json!({ "name": "vault_replace", "arguments": { "path": path, "find": END_OF_FILE_MARK, "replace": replace } })
        }
        WriteOutcome::Created { path, text } => {
            json!({ "name": "vault_create", "arguments": { "path": path, "content": text } })
        }
        WriteOutcome::Paid { marker } => {
            let arguments = json!({ "one": "one", "other": "other", "word": marker });
            json!({ "name": "fixture_pair_transfer", "arguments": arguments })
        }
        WriteOutcome::Paired { name } => {
            let arguments = json!({ "one": format!("new/{name}.a"), "other": format!("new/{name}.b"), "word": name });
            json!({ "name": "fixture_pair_create", "arguments": arguments })
        }
    }
}

/// A text that carries its own digest in its first line.
fn signed(name: &str, length: usize) -> String {
    let body = format!("{name} ").repeat(length / (name.len() + 1) + 1);
    format!("{}\n{body}", trellisd::disk::Digest::of(body.as_bytes()))
}

/// Every acknowledged write is there, none twice; one that was refused left no trace; no file is torn.
fn check(books: &[AckLog], project: &Path) {
    let read = |path: &str| fs::read_to_string(project.join(path)).unwrap_or_default();
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for (asked, allowed) in books.iter().flat_map(asked_for) {
        let mut times = |path: String, marker: &str| {
            let text = texts.entry(path).or_insert_with_key(|path| read(path));
            text.matches(marker).count()
        };
        match asked {
            WriteOutcome::Marker { path, marker } => {
                let found = times(format!("vault/{path}"), marker);
                assert!(allowed.contains(&found), "{marker} is {found} times in {path}, not {allowed:?}");
            }
            WriteOutcome::Created { path, text } => {
                let found = read(&format!("vault/{path}"));
                let found_times = if found == *text { 1 } else { 0 };
                assert!(found.is_empty() || found_times == 1, "{path} is torn");
                assert!(allowed.contains(&found_times), "{path}: {found_times}, not {allowed:?}");
            }
            WriteOutcome::Paid { marker } => {
                let found = ["pairs/one", "pairs/other"].map(|path| times(path.to_owned(), marker));
                assert_eq!(found[0], found[1], "{marker}: both or none");
                assert!(allowed.contains(&found[0]), "{marker} {found:?}, not {allowed:?}");
            }
            WriteOutcome::Paired { name } => {
                let found = ["a", "b"].map(|end| read(&format!("pairs/new/{name}.{end}")));
                assert_eq!(found[0], found[1], "{name}: both or none");
                let whole = format!("1000000\n{name}\n");
                assert!(found[0].is_empty() || found[0] == whole, "{name} is torn");
                let found_times = if found[0].is_empty() { 0 } else { 1 };
                assert!(allowed.contains(&found_times), "{name}: {found_times}, not {allowed:?}");
            }
        }
    }
    let coins = |path: &str| read(path).lines().next().and_then(|line| line.parse::<i64>().ok());
    assert_eq!(coins("pairs/one").zip(coins("pairs/other")).map(|(one, other)| one + other), Some(2_000_000));
}

/// What a host has asked for, and how often it may be on the disk.
fn asked_for(book: &AckLog) -> impl Iterator<Item = (&WriteOutcome, RangeInclusive<usize>)> {
    let done = book.done.iter().map(|asked| (asked, 1..=1));
    let unknown = book.unknown.iter().map(|asked| (asked, 0..=1));
    let refused = book.refused.iter().map(|(asked, _)| (asked, 0..=0));
    done.chain(unknown).chain(refused)
}

/// Files below a project that only a daemon can have left there.
pub(crate) fn leftover_temps(project: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![project.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.path() {
                path if path.is_dir() => waiting.push(path),
                path if name.ends_with(".vtmp") || name.contains(".conflict-") => found.push(path),
                _ => {}
            }
        }
    }
    found
}
