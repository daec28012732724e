//! Tasks, contexts and decision records over stdio, with the real programs: every rule of their contract that a
//! host can see.
//!
//! Here is a project and a host in it; the modules hold the rules, a thought each.

/// `create_task`: ids, places, templates, limits.
mod create;

/// What happens once the last number was given.
mod numbers;

/// `update_task`: what changes, and what stays.
mod update;

/// `delete_task` and `reorder_task`.
mod moves;

/// `list_tasks`: order, filters, warnings.
mod list;

/// `search_tasks` and `search_contexts`.
mod search;

/// Decision records.
mod adr;

/// `update_context` and `get_context`.
mod context;

/// How a refusal looks, and which of several comes first.
mod refusals;

/// Files that are no text, cannot be read, or are links.
mod files;

/// Which project a call is about.
mod place;

/// The files as resources.
mod resources;

/// `index.md`, a moment later.
mod index;

/// Names, alone and beside others; sessions that may not write.
mod surface;

/// Many hosts at once.
mod concurrency;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

/// A project, and a host that was started in it.
struct Todo {
    home: Home,
    client: Client,
}

impl Todo {
    /// A project without `.todo`.
    fn new() -> Self {
        let home = Home::new();
        let client = home.host(&["--only", "todo"]);
        Self { home, client }
    }

    /// The same with a `task.md`.
    fn with_tasks(text: impl AsRef<[u8]>) -> Self {
        let todo = Self::new();
        todo.write("task.md", text);
        todo
    }

    /// Where something is, or would be.
    fn path(&self, path: &str) -> PathBuf {
        self.home.project().join(".todo").join(path)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        self.home.write(&format!(".todo/{path}"), content);
    }

    /// What a file holds.
    #[track_caller]
    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[track_caller]
    fn tasks(&self) -> String {
        self.text("task.md")
    }

    fn exists(&self, path: &str) -> bool {
        fs::symlink_metadata(self.path(path)).is_ok()
    }

    /// Calls a tool that must succeed. No answer says where the project is.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.client.call_ok(tool, arguments);
        self.is_discreet(&answer);
        answer
    }

    /// Calls a tool that must refuse, checks the wire form, and returns the error.
    #[track_caller]
    fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.client.call_err(tool, arguments);
        self.is_discreet(&answer);
        let error = &answer["error"];
        assert_eq!(answer, json!({ "error": error }), "the error and nothing else");
        let message = error["message"].as_str().expect("a message");
        assert!(!message.is_empty() && !message.ends_with('.'), "{message}");
        error.clone()
    }

    /// The same; the code is expected, and nothing in `.todo` has changed.
    #[track_caller]
    fn check_refused(&mut self, tool: &str, arguments: Value, code: &str) -> Value {
        let before = self.snapshot();
        let error = self.refused(tool, arguments.clone());
        assert_eq!(error["code"], code, "{tool} {arguments}: {error}");
        assert_eq!(self.snapshot(), before, "{tool} {arguments}");
        error
    }

    /// The edit of `task.md` that a call makes.
    #[track_caller]
    fn check_edit(old: &str, tool: &str, arguments: Value, expected: &str) -> Value {
        let mut todo = Self::with_tasks(old);
        let answer = todo.call(tool, arguments);
        assert_eq!(todo.tasks(), expected, "{tool}");
        answer
    }

    /// Every file and what it holds, without the index, which follows by itself.
    fn snapshot(&self) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        for directory in ["", "context", "adr"] {
            for entry in fs::read_dir(self.path(directory)).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if entry.file_type().is_ok_and(|kind| kind.is_file()) && name != "index.md" && !name.ends_with(".vtmp")
                {
                    found.push((format!("{directory}/{name}"), fs::read(entry.path()).unwrap_or_default()));
                }
            }
        }
        found.sort();
        found
    }

    #[track_caller]
    fn is_discreet(&self, answer: &Value) {
        let place = self.home.path().to_str().expect("text");
        assert!(!answer.to_string().contains(place), "an answer says where the project is: {answer}");
    }
}

/// No story leaves a temp file behind.
impl Drop for Todo {
    fn drop(&mut self) {
        // Before its account is gone: a host that lives longer would want another daemon.
        self.client.close();
        if !std::thread::panicking() {
            wait_until("no temp file is left", || {
                let directories = ["", "context", "adr"].into_iter().map(|directory| self.path(directory));
                let mut entries =
                    directories.flat_map(|directory| fs::read_dir(directory).into_iter().flatten().flatten());
                (!entries.any(|entry| entry.file_name().to_string_lossy().ends_with(".vtmp"))).then_some(())
            });
        }
    }
}

/// The values of one key in a list.
fn all<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().expect("a list").iter().map(|item| item[key].as_str().expect("a text")).collect()
}

/// A time as answers spell it: UTC, whole seconds.
#[track_caller]
fn check_time(time: &Value) {
    let text = time.as_str().expect("a time");
    let shape: String = text.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00Z", "{text}");
}
