//! The workspace over stdio, with the real programs: every rule of its contract that a host can see.
//!
//! Here is an account with a workspace and a host in it; the modules hold the rules, a thought each.

/// Which tools there are, and what they take.
mod surface;

/// `read_doc`, `create_doc`, `update_doc`.
mod documents;

/// Files that are no documents: text with a known extension, and whatever else is there.
mod other_files;

/// What is merged into front matter, and how it is written.
mod front_matter;

/// `create_task`, `list_tasks`.
mod tasks;

/// `update_task_status`: only the status moves.
mod status;

/// `get_plan`, `create_plan`.
mod plans;

/// `log_session`.
mod sessions;

/// `init_project`, and where the workspace is.
mod projects;

/// `search`: what is found, in which order, with which snippet.
mod search;

/// `reindex`: what differs from the last time.
mod reindex;

/// Codes, their order, and names that lead elsewhere.
mod refusals;

/// Links, marks, line ends, bytes that are no text.
mod files;

/// The three resources.
mod resources;

/// The two prompts.
mod prompts;

/// Values that fit what is typed.
mod completions;

/// Who hears about changes, in both kinds of revisions.
mod notices;

/// Many hosts at once, and a person beside them.
mod concurrency;

/// Whole days of work.
mod workflows;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

/// An account with a workspace, and a host that uses it alone.
struct Vibe {
    home: Home,
    client: Client,
}

impl Vibe {
    /// A workspace with an empty project `demo`.
    fn new() -> Self {
        Self::at(Home::new())
    }

    /// The same with one document.
    fn with(path: &str, content: impl AsRef<[u8]>) -> Self {
        let vibe = Self::new();
        vibe.write(path, content);
        vibe
    }

    /// The same with documents that were there before the daemon.
    fn holding(documents: &[(&str, &str)]) -> Self {
        let home = Home::new();
        for (path, content) in documents {
            let path = home.path().join(".vibe").join(path);
            fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
            fs::write(path, content).expect("a file");
        }
        Self::at(home)
    }

    /// The same in an account that was prepared before.
    fn at(home: Home) -> Self {
        fs::create_dir_all(home.path().join(".vibe/demo")).expect("a project");
        let client = home.host(&["--only", "vibe"]);
        Self { home, client }
    }

    /// Where something is, or would be.
    fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(".vibe").join(path)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
        fs::write(&path, content).expect("a file");
        path
    }

    #[track_caller]
    fn text(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.path(path)).expect("a document")).expect("text")
    }

    /// A link in the workspace; where it leads need not exist.
    fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a link has a directory")).expect("a directory");
        std::os::unix::fs::symlink(target, path).expect("a link");
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.client.call_ok(tool, arguments)
    }

    /// `create_task` in `demo` with what every task needs.
    #[track_caller]
    fn task(&mut self, title: &str) -> Value {
        self.call("create_task", a_task(title))
    }

    /// `update_task_status` in `demo`.
    #[track_caller]
    fn set(&mut self, task: &str, status: &str) -> Value {
        self.call("update_task_status", json!({ "project": "demo", "task": task, "status": status }))["task"].clone()
    }

    /// Calls a tool that must refuse, checks the wire form, and returns the error.
    #[track_caller]
    fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.client.call_err(tool, arguments);
        let error = &answer["error"];
        assert_eq!(answer, json!({ "success": false, "error": error }));
        assert!(error["details"].is_object(), "{error}");
        let message = error["message"].as_str().expect("a message");
        let place = self.home.path().to_str().expect("text");
        assert!(!message.is_empty() && !message.contains(place), "{message}");
        error.clone()
    }

    /// The same; the code is expected.
    #[track_caller]
    fn check_refused(&mut self, tool: &str, arguments: Value, code: &str) -> Value {
        let error = self.refused(tool, arguments.clone());
        assert_eq!(error["code"], code, "{tool} {arguments}: {error}");
        error
    }

    /// Everything in the workspace, without what lives for a moment only.
    #[track_caller]
    fn tree(&self) -> Vec<String> {
        tidy(&self.path(""))
    }

    /// Another host of the same account.
    fn host(&self) -> Client {
        self.home.host(&["--only", "vibe"])
    }

    /// The content of a resource.
    #[track_caller]
    fn resource(&mut self, uri: &str) -> Value {
        let result = self.client.request("resources/read", json!({ "uri": uri }));
        let contents = &result["contents"][0];
        assert_eq!(contents["mimeType"], "application/json");
        serde_json::from_str(contents["text"].as_str().expect("a text")).expect("JSON")
    }
}

/// No story leaves a temp file behind.
impl Drop for Vibe {
    fn drop(&mut self) {
        // Before its account is gone: a host that lives longer would want another daemon.
        self.client.close();
        if !std::thread::panicking() {
            self.tree();
        }
    }
}

/// What every task of `demo` needs.
fn a_task(title: &str) -> Value {
    json!({ "project": "demo", "title": title, "objective": "o", "steps": [], "acceptance_criteria": [] })
}

/// All files, directories and links below a directory, sorted, once no temp file is among them.
#[track_caller]
fn tidy(directory: &Path) -> Vec<String> {
    let end = Instant::now() + Duration::from_secs(2);
    loop {
        let mut found = Vec::new();
        walk(directory, "", &mut found);
        found.sort();
        let Some(litter) = found.iter().find(|path| path.ends_with(".vtmp")) else { return found };
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

/// SHA-256 in lower-case hex, as another program computes it.
fn sha256(bytes: impl AsRef<[u8]>) -> String {
    let mut program = Command::new("sha256sum");
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sha256sum runs");
    child.stdin.take().expect("stdin is piped").write_all(bytes.as_ref()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8(output.stdout).expect("text")[..64].to_owned()
}
