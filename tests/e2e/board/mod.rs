//! The kanban board over stdio, with the real programs: every rule of its contract that a host can see.
//!
//! Here is a project with a board and a host in it; the modules hold the rules, a thought each.

/// New tasks: defaults, limits, ids, batches.
mod create;

/// Update, move, delete.
mod change;

/// Get, list, search, board, statistics.
mod find;

/// What a bridge file may hold, and what of it stays.
mod file;

/// Where the bridge file is.
mod place;

/// Several hosts, and other programs that write the file.
mod concurrency;

/// How a refusal looks; read-only sessions; the union.
mod refusals;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

const LANES: [&str; 6] = ["backlog", "todo", "in_progress", "code_review", "done", "recovery"];
const TOOLS: [&str; 10] = [
    "vbm_create_task",
    "vbm_update_task",
    "vbm_move_task",
    "vbm_delete_task",
    "vbm_get_task",
    "vbm_list_tasks",
    "vbm_search_tasks",
    "vbm_batch_create",
    "vbm_get_board",
    "vbm_get_stats",
];

/// A project, and a host that was started in it.
struct Board {
    home: Home,
    client: Client,
}

impl Board {
    /// A project without a bridge file.
    fn new() -> Self {
        Self::at(Home::new())
    }

    /// The same in an account that was prepared before.
    fn at(home: Home) -> Self {
        let client = home.host(&["--only", "board"]);
        Self { home, client }
    }

    /// A project with this bridge file.
    fn with(content: impl AsRef<[u8]>) -> Self {
        let board = Self::new();
        board.write(content);
        board
    }

    /// Where the bridge file is, or would be.
    fn path(&self) -> PathBuf {
        self.home.project().join(".vibe-kanban-bridge.json")
    }

    /// Writes the bridge file as another program would.
    fn write(&self, content: impl AsRef<[u8]>) {
        self.home.write(".vibe-kanban-bridge.json", content);
    }

    /// What the bridge file holds.
    #[track_caller]
    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).expect("a bridge file")
    }

    /// The same as JSON.
    #[track_caller]
    fn file(&self) -> Value {
        serde_json::from_slice(&self.bytes()).expect("JSON")
    }

    /// Calls a tool that must succeed.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.client.call_ok(tool, arguments);
        assert_eq!(answer["success"], true, "{tool}: {answer}");
        self.is_discreet(&answer);
        answer
    }

    /// A new task.
    #[track_caller]
    fn create(&mut self, arguments: Value) -> Value {
        self.call("vbm_create_task", arguments)["task"].clone()
    }

    /// A new task with this title; its id.
    #[track_caller]
    fn id_of_new(&mut self, title: &str) -> String {
        self.create(json!({ "title": title }))["id"].as_str().expect("an id").to_owned()
    }

    /// The ids of an answer's tasks.
    #[track_caller]
    fn titles(&mut self, tool: &str, arguments: Value) -> Vec<String> {
        let answer = self.call(tool, arguments);
        let tasks = answer["tasks"].as_array().expect("tasks");
        tasks.iter().map(|task| task["title"].as_str().expect("a title").to_owned()).collect()
    }

    /// Calls a tool that must refuse, checks the wire form and that the file is as it was, and returns the error.
    #[track_caller]
    fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        let before = fs::read(self.path()).ok();
        let answer = self.client.call_err(tool, arguments);
        assert_eq!(fs::read(self.path()).ok(), before, "a refusal changes nothing");
        self.is_discreet(&answer);
        let error = answer["error"].clone();
        assert_eq!(answer, json!({ "success": false, "error": error }));
        let keys: Vec<&String> = error.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["code", "name", "message", "data", "hint"]);
        let name = match error["code"].as_i64() {
            Some(1001) => "VALIDATION_ERROR",
            Some(1002) => "TASK_NOT_FOUND",
            Some(1003) => "BRIDGE_ERROR",
            _ => panic!("an unexpected number: {error}"),
        };
        assert_eq!(error["name"], name);
        for words in ["message", "hint"] {
            assert!(error[words].as_str().is_some_and(|words| !words.is_empty()), "{error}");
        }
        error
    }

    /// The same; the field that is wrong is expected.
    #[track_caller]
    fn check_field(&mut self, tool: &str, arguments: Value, field: &str) -> Value {
        let error = self.refused(tool, arguments.clone());
        assert_eq!((&error["code"], &error["data"]["field"]), (&json!(1001), &json!(field)), "{arguments}: {error}");
        assert!(error["data"]["issue"].is_string(), "{error}");
        error
    }

    /// The same; a number is expected.
    #[track_caller]
    fn check_code(&mut self, tool: &str, arguments: Value, code: u64) -> Value {
        let error = self.refused(tool, arguments.clone());
        assert_eq!(error["code"], code, "{tool} {arguments}: {error}");
        error
    }

    #[track_caller]
    fn is_discreet(&self, answer: &Value) {
        let place = self.home.path().to_str().expect("text");
        assert!(!answer.to_string().contains(place), "an answer says where the board is: {answer}");
    }
}

/// No story leaves anything but the bridge file behind.
impl Drop for Board {
    fn drop(&mut self) {
        self.client.close();
        if std::thread::panicking() {
            return;
        }
        let litter = || {
            let names =
                fs::read_dir(self.home.project()).into_iter().flatten().flatten().map(|entry| entry.file_name());
            names.filter_map(|name| name.into_string().ok()).find(|name| name.ends_with(".vtmp"))
        };
        trellis_tests::harness::wait_until("no temp file stays", || litter().is_none().then_some(()));
    }
}
