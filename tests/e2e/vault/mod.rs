//! The vault over stdio, with the real programs: every rule of its contract that a host can see.
//!
//! Here is the project with a vault and a host in it; the modules hold the rules, a thought each.

/// Where the vault is.
mod place;

/// How much is shown at once, and who may say so.
mod settings;

/// What a path may be, and what may stand on it.
mod paths;

/// How a refusal looks, and which of several comes first.
mod refusals;

/// What a character is, and a line.
mod text;

/// `vault_read`: ranges, limits, cuts.
mod read;

/// `vault_scan`: chunks, cursors, the end.
mod scan;

/// `vault_ls`: order, filters, limit.
mod ls;

/// What is no text, too large, or no file; what changed a moment ago.
mod files;

/// `vault_create`: exact bytes, missing directories, nothing overwritten, nothing left after a refusal.
mod create;

/// `vault_replace`: what is found, how often, with which line ends.
mod replace;

/// What a replacement keeps, and when it is refused.
mod preservation;

/// Places where no tool may write, and sessions that may not write at all.
mod reserved;

/// Writing where links stand, and where somebody swaps them in.
mod links;

/// Names that work on every system.
mod names;

/// Many hosts at once.
mod concurrency;

/// The same request again.
mod request_key;

/// Old texts in the journal.
mod journal;

/// Full, read-only and forbidding disks.
mod disk_trouble;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

/// A project with a vault, and a host that was started in it.
struct Vault {
    home: Home,
    client: Client,
}

impl Vault {
    /// An empty vault, `<project>/vault`.
    fn new() -> Self {
        Self::at(Home::new())
    }

    /// The same with one file.
    fn with_file(path: &str, content: impl AsRef<[u8]>) -> Self {
        let vault = Self::new();
        vault.write(path, content);
        vault
    }

    /// The same in an account that was prepared before.
    fn at(home: Home) -> Self {
        std::fs::create_dir_all(home.project().join("vault")).expect("a vault");
        let client = home.host(&["--only", "vault"]);
        Self { home, client }
    }

    /// Where something is, or would be.
    fn path(&self, path: &str) -> PathBuf {
        self.home.project().join("vault").join(path)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        self.home.write(&format!("vault/{path}"), content)
    }

    /// A link in the vault; where it leads need not exist.
    fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a link has a directory")).expect("a directory");
        std::os::unix::fs::symlink(target, path).expect("a link");
    }

    /// Calls a tool that must succeed. No answer says where the vault is.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.client.call_ok(tool, arguments);
        self.is_discreet(&answer);
        answer
    }

    /// `vault_read` of a file, with these further arguments.
    #[track_caller]
    fn read(&mut self, path: &str, arguments: Value) -> Value {
        self.call("vault_read", with_path(path, arguments))
    }

    /// `vault_scan` of a file, with these further arguments.
    #[track_caller]
    fn scan(&mut self, path: &str, arguments: Value) -> Value {
        self.call("vault_scan", with_path(path, arguments))
    }

    /// `vault_create` of a file.
    #[track_caller]
    fn create(&mut self, path: &str, content: &str) -> Value {
        self.call("vault_create", json!({ "path": path, "content": content }))
    }

    /// `vault_replace` in a file, once unless the further arguments say otherwise; how often it was done.
    #[track_caller]
    fn replace(&mut self, path: &str, find: &str, replace: &str, mut arguments: Value) -> u64 {
        arguments["find"] = find.into();
        arguments["replace"] = replace.into();
        let answer = self.call("vault_replace", with_path(path, arguments));
        answer["replacements"].as_u64().expect("a number")
    }

    /// What a file holds.
    #[track_caller]
    fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).expect("a file of the vault")
    }

    /// The same as text.
    #[track_caller]
    fn text(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).expect("text")
    }

    /// Another host of the same account in the same project.
    fn host(&self) -> Client {
        self.home.host(&["--only", "vault"])
    }

    /// Everything in the vault, without what lives for a moment only.
    #[track_caller]
    fn tree(&self) -> Vec<String> {
        tidy(&self.path(""))
    }

    /// The paths of a listing, in its order.
    #[track_caller]
    fn ls(&mut self, arguments: Value) -> Vec<String> {
        paths_of(&self.call("vault_ls", arguments))
    }

    /// Calls a tool that must refuse, checks the wire form, and returns the error.
    #[track_caller]
    fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.client.call_err(tool, arguments);
        self.is_discreet(&answer);
        let error = &answer["error"];
        let expected = json!({ "error": error, "code": error["code"], "message": error["message"] });
        assert_eq!(answer, expected, "the error, and its code and message again at the top");
        let message = error["message"].as_str().expect("a message");
        assert!(!message.is_empty() && !message.ends_with('.'), "{message}");
        error.clone()
    }

    /// The same; the code and `details.path` are expected.
    #[track_caller]
    fn check_refused(&mut self, tool: &str, arguments: Value, code: &str, path: impl Into<Option<&'static str>>) {
        let error = self.refused(tool, arguments.clone());
        assert_eq!(error["code"], code, "{tool} {arguments}: {error}");
        assert_eq!(error["details"]["path"].as_str(), path.into(), "{tool} {arguments}: {error}");
    }

    #[track_caller]
    fn is_discreet(&self, answer: &Value) {
        let place = self.home.path().to_str().expect("text");
        assert!(!answer.to_string().contains(place), "an answer says where the vault is: {answer}");
    }
}

/// No story leaves a temp file behind.
impl Drop for Vault {
    fn drop(&mut self) {
        // Before its account is gone: a host that lives longer would want another daemon.
        self.client.close();
        if !std::thread::panicking() {
            tidy(&self.path(""));
        }
    }
}

/// All files, directories and links below a directory, sorted, once no temp file is among them.
#[track_caller]
fn tidy(directory: &Path) -> Vec<String> {
    let end = Instant::now() + Duration::from_secs(2);
    loop {
        let mut found = Vec::new();
        walk(directory, "", &mut found);
        found.sort();
        let litter = found.iter().find(|path| path.ends_with(".vtmp"));
        let Some(litter) = litter else { return found };
        assert!(Instant::now() < end, "a temp file stays: {litter}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn walk(directory: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&entry.path(), &format!("{path}/"), found);
        }
        found.push(path);
    }
}

fn paths_of(listing: &Value) -> Vec<String> {
    let items = listing["items"].as_array().expect("items");
    items.iter().map(|item| item["path"].as_str().expect("a path").to_owned()).collect()
}

fn with_path(path: &str, mut arguments: Value) -> Value {
    arguments["path"] = path.into();
    arguments
}
