//! What a search of a realistic workspace must find, and in which order, in English, Spanish and Japanese.
//!
//! The documents are the files below `tree`; the tables say what people type and what they expect. Expectations
//! follow from the words of the documents and from the boosts of folder, age, heading and status, which are never
//! close to each other where a first place is asked for.

/// What is asked, what is expected, and how both are compared.
mod expectations;

/// Words, phrases, operators and names, in English.
mod english;

/// Accents, ñ and stems, in Spanish.
mod spanish;

/// Words inside long runs, kana and widths, in Japanese.
mod japanese;

/// The same words in different places: folder, status, age, heading.
mod boosts;

/// What is shown of a hit.
mod snippets;

/// Queries that nobody would call queries.
mod unusual_queries;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The age of a file that says nothing else: neither fresh nor old.
const USUAL_AGE: u32 = 60;
/// Files without a date of their own, and how many days ago they were written.
const WRITTEN: &[(&str, u32)] = &[("ledger/scratch/keys.md", 3), ("ledger/scratch/keys-2019.md", 400)];

/// A workspace with all documents, and a host that searches it.
struct RelevanceFixture {
    root: PathBuf,
    client: Client,
    // Dropped last: its daemon serves the client.
    _home: Home,
}

impl RelevanceFixture {
    fn new() -> Self {
        let home = Home::new();
        let root = home.path().join(".vibe");
        plant(&tree(), &root, "");
        let client = home.host(&["--only", "vibe"]);
        Self { root, client, _home: home }
    }

    /// A search that must succeed.
    #[track_caller]
    fn search(&mut self, arguments: Value) -> Value {
        self.client.call_ok("search", arguments)
    }

    /// The hits of a query in the whole workspace.
    #[track_caller]
    fn hits(&mut self, query: &str) -> Vec<Hit> {
        hits_of(&self.search(json!({ "query": query })))
    }

    /// The whole text of a document.
    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }
}

impl Drop for RelevanceFixture {
    fn drop(&mut self) {
        self.client.close();
    }
}

/// One result of a search.
#[derive(Debug, Clone)]
struct Hit {
    path: String,
    heading: String,
    snippet: String,
    score: f64,
    folder: String,
    project: String,
    metadata: Value,
}

fn hits_of(answer: &Value) -> Vec<Hit> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let hit = |result: &Value| Hit {
        path: text(&result["path"]),
        heading: result["heading"].as_str().unwrap_or_default().to_owned(),
        snippet: text(&result["snippet"]),
        score: result["score"].as_f64().expect("a number"),
        folder: text(&result["folder"]),
        project: text(&result["project"]),
        metadata: result["metadata"].clone(),
    };
    answer["results"].as_array().expect("results").iter().map(hit).collect()
}

/// Where the documents are kept.
pub(crate) fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e/relevance/tree")
}

/// Copies the documents, and gives each its age.
pub(crate) fn plant(from: &Path, to: &Path, prefix: &str) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("the documents").map(|entry| entry.expect("an entry")) {
        let name = entry.file_name().into_string().expect("text");
        let (path, target) = (format!("{prefix}{name}"), to.join(&name));
        if entry.file_type().expect("a kind").is_dir() {
            plant(&entry.path(), &target, &format!("{path}/"));
            continue;
        }
        let text = fs::read_to_string(entry.path()).expect("a document");
        fs::write(&target, dated(&text)).expect("a document");
        let days = WRITTEN.iter().find(|(written, _)| *written == path).map_or(USUAL_AGE, |(_, days)| *days);
        let file = fs::File::options().write(true).open(&target).expect("a document");
        file.set_modified(SystemTime::now() - DAY * days).expect("an age");
    }
}

/// Puts a date in the place of `<n days ago>`.
fn dated(text: &str) -> String {
    let Some((before, rest)) = text.split_once('<') else { return text.to_owned() };
    let Some((days, after)) = rest.split_once(" days ago>") else { return text.to_owned() };
    match days.parse() {
        Ok(days) => format!("{before}{}{after}", date(SystemTime::now() - DAY * days)),
        Err(_) => text.to_owned(),
    }
}

/// The date of a moment: years are counted off, then months.
fn date(moment: SystemTime) -> String {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let mut days = since.as_secs() / DAY.as_secs();
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

#[test]
fn moments_have_dates() {
    let check = |days: u32, expected: &str| assert_eq!(date(SystemTime::UNIX_EPOCH + DAY * days), expected);
    check(0, "1970-01-01");
    check(364, "1970-12-31");
    check(11_016, "2000-02-29");
    check(20_819, "2027-01-01");
    assert_eq!(dated("a < b"), "a < b");
    assert!(!dated("updated: <3 days ago>").contains("ago"));
}
