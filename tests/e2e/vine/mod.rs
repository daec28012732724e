//! Plans over stdio, with the real programs: every rule of the `.vine` contract that a host can see.
//!
//! Here is the project with a plan and a host in it; the modules hold the rules, a thought each.

/// The magic line, the preamble, blocks, body lines: what is refused, and at which line.
mod parse;

/// What a header says.
mod headers;

/// Line ends, white space, order of characters.
mod characters;

/// Unknown dependencies, cycles, islands.
mod validate;

/// The form in which a plan is written, byte for byte.
mod canonical;

/// `vine_read`: every action.
mod read;

/// `vine_next`: what can be done now.
mod next;

/// How far a plan is.
mod progress;

/// Operations of a wrong form.
mod shapes;

/// What each operation does, and when it is refused.
mod ops;

/// Several operations in one call, and what the answer says.
mod batch;

/// New plans.
mod create;

/// A task becomes a plan of its own.
mod extract;

/// A reference becomes the plan it names.
mod expand;

/// Where a plan is found, and where a new one goes.
mod paths;

/// The roots of a host, and `--cwd`.
mod roots;

/// How a refusal looks.
mod errors;

/// No write makes a plan that cannot be read.
mod write_safety;

/// Other programs, links, modes, bytes that are no text.
mod outside;

/// Many hosts at once.
mod concurrency;

/// Large plans and hostile lines.
mod scale;

/// Any graph, any text, any operation.
mod properties;

/// The format as a resource.
mod resources;

/// Which tools there are, alone and beside others.
mod surface;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

/// The plan of most stories.
const FILE: &str = "plan.vine";

/// A project with a plan, and a host that was started in it.
struct Plan {
    home: Home,
    client: Client,
}

impl Plan {
    /// A project without a plan.
    fn new() -> Self {
        Self::at(Home::new())
    }

    /// A project with `plan.vine`.
    fn of(text: impl AsRef<[u8]>) -> Self {
        let plan = Self::new();
        plan.put(FILE, text);
        plan
    }

    /// In an account that was prepared before.
    fn at(home: Home) -> Self {
        let client = home.host(&["--only", "vine"]);
        Self { home, client }
    }

    /// Where something is, or would be.
    fn path(&self, path: &str) -> PathBuf {
        self.home.project().join(path)
    }

    /// The same as text, as a host would give it.
    fn absolute(&self, path: &str) -> String {
        self.path(path).to_str().expect("text").to_owned()
    }

    fn put(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        self.home.write(path, text)
    }

    #[track_caller]
    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).expect("a file with text")
    }

    /// Calls a tool: its text, or the text of its refusal.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Result<String, String> {
        said(&self.client.call(tool, arguments))
    }

    /// `vine_read` of `plan.vine`, unless the further arguments name another file.
    #[track_caller]
    fn read(&mut self, action: &str, arguments: Value) -> String {
        let arguments = with_file(arguments, action);
        self.call("vine_read", arguments).expect("it is read")
    }

    /// The same, as JSON.
    #[track_caller]
    fn json(&mut self, action: &str, arguments: Value) -> Value {
        serde_json::from_str(&self.read(action, arguments)).expect("JSON")
    }

    /// The same, refused.
    #[track_caller]
    fn read_refused(&mut self, action: &str, arguments: Value) -> String {
        let arguments = with_file(arguments, action);
        self.call("vine_read", arguments).expect_err("it is refused")
    }

    /// What `vine_read` with `validate` says of a text.
    #[track_caller]
    fn verdict(&mut self, text: impl AsRef<[u8]>) -> String {
        self.put(FILE, text);
        self.call("vine_read", json!({ "file": FILE, "action": "validate" })).unwrap_or_else(|refusal| refusal)
    }

    #[track_caller]
    fn next(&mut self) -> Value {
        let text = self.call("vine_next", json!({ "file": FILE })).expect("a frontier");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Operations on `plan.vine` that must succeed.
    #[track_caller]
    fn write(&mut self, operations: Value) -> Value {
        let text = self.call("vine_write", json!({ "file": FILE, "operations": operations })).expect("it is written");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Operations on `plan.vine` that must be refused, and leave it as it is.
    #[track_caller]
    fn write_refused(&mut self, operations: Value) -> String {
        let before = fs::read(self.path(FILE)).ok();
        let answer = self.call("vine_write", json!({ "file": FILE, "operations": operations }));
        let refusal = answer.expect_err(&format!("it is refused: {operations}"));
        assert_eq!(fs::read(self.path(FILE)).ok(), before, "{operations}: refused, and the file has changed");
        refusal
    }

    /// Another host of the same account in the same project.
    fn host(&self) -> Client {
        self.home.host(&["--only", "vine"])
    }

    /// Everything in the project, sorted, once no temp file is among it.
    #[track_caller]
    fn tree(&self) -> Vec<String> {
        tidy(&self.home.project())
    }
}

/// No story leaves a temp file behind.
impl Drop for Plan {
    fn drop(&mut self) {
        // Before its account is gone: a host that lives longer would want another daemon.
        self.client.close();
        if !std::thread::panicking() {
            self.tree();
        }
    }
}

/// The one text of a result, or of a refusal. Objects are there twice, and say the same.
#[track_caller]
fn said(result: &Value) -> Result<String, String> {
    let content = result["content"].as_array().expect("content");
    assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")), "one text: {result}");
    let text = content[0]["text"].as_str().expect("a text").to_owned();
    if result["isError"] == true {
        return Err(text);
    }
    let object = serde_json::from_str::<Value>(&text).ok().filter(Value::is_object).unwrap_or_default();
    assert_eq!(result.get("structuredContent").cloned().unwrap_or_default(), object, "both channels say the same");
    Ok(text)
}

fn with_file(mut arguments: Value, action: &str) -> Value {
    arguments["action"] = action.into();
    if arguments["file"].is_null() {
        arguments["file"] = FILE.into();
    }
    arguments
}

/// A plan of these blocks.
fn blocks(blocks: &[&str]) -> String {
    format!("vine 1.2.0\n---\n{}\n", blocks.join("\n---\n"))
}

/// The ids of an array of nodes.
#[track_caller]
fn ids(nodes: &Value) -> Vec<&str> {
    let nodes = nodes.as_array().unwrap_or_else(|| panic!("an array: {nodes}"));
    nodes.iter().map(|node| node["id"].as_str().expect("an id")).collect()
}

/// The text of a parse error.
fn at_line(line: usize, message: &str) -> String {
    format!("Parse error (line {line}): Line {line}: {message}")
}

/// All files, directories and links below a directory, sorted, once no temp file is among them.
#[track_caller]
fn tidy(directory: &Path) -> Vec<String> {
    wait_until("no temp file stays", || {
        let mut found = Vec::new();
        walk(directory, "", &mut found);
        found.sort();
        (!found.iter().any(|path| path.ends_with(".vtmp"))).then_some(found)
    })
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
