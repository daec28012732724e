//! What keeps a daemon at work: sessions whose files change all the time and never grow, an editor beside them, and
//! texts that are displaced.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Client, Home};

const PLAN_TASKS: usize = 20;
const TASKS: usize = 12;
/// Documents that somebody edits by hand.
const EDITED: usize = 60;
const PAUSE: Duration = Duration::from_millis(20);
const EDIT_PAUSE: Duration = Duration::from_millis(150);
/// A proxy lives for about so many calls.
const CALLS_OF_A_PROXY: u64 = 2000;
const CALL_TIMEOUT: Duration = Duration::from_secs(40);
const PRESSURE_BYTES: u64 = 150 << 10;

/// Threads at work.
pub(super) struct Load {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    stop: AtomicBool,
    calls: AtomicU64,
    refusals: Mutex<Vec<String>>,
    home: PathBuf,
    project: PathBuf,
}

impl Load {
    /// `pressure` is in KiB of displaced text a second.
    pub(super) fn start(home: &Home, sessions: usize, pressure: u64) -> Self {
        prepare(home, sessions);
        let (home_path, project) = (home.path().to_owned(), home.project());
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            refusals: Mutex::default(),
            home: home_path,
            project,
        });
        let mut threads = Vec::new();
        for number in 0..sessions {
            let (shared, proxies) = (Arc::clone(&shared), Proxies::new(home));
            threads.push(std::thread::spawn(move || session(&shared, &proxies, number as u64)));
        }
        let (pressed, proxies) = (Arc::clone(&shared), Proxies::new(home));
        threads.push(std::thread::spawn(move || press(&pressed, &proxies, pressure)));
        let edited = Arc::clone(&shared);
        threads.push(std::thread::spawn(move || edit(&edited)));
        Self { shared, threads }
    }

    pub(super) fn calls(&self) -> u64 {
        self.shared.calls.load(Ordering::Relaxed)
    }

    /// Ends all of it; what was refused.
    pub(super) fn stop(self) -> Vec<String> {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            if thread.join().is_err() {
                self.shared.refuse("a thread has failed".to_owned());
            }
        }
        std::mem::take(&mut *self.shared.refusals.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Shared {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn refuse(&self, why: String) {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).push(why);
    }
}

/// How to start a proxy of a home from any thread.
struct Proxies {
    program: PathBuf,
    directory: PathBuf,
    variables: Vec<(String, String)>,
}

impl Proxies {
    fn new(home: &Home) -> Self {
        let command = home.proxy(&[]);
        let text = |word: &std::ffi::OsStr| word.to_string_lossy().into_owned();
        let variables = command.get_envs().filter_map(|(name, value)| Some((text(name), text(value?)))).collect();
        Self { program: command.get_program().into(), directory: home.project(), variables }
    }

    fn host(&self) -> Client {
        let mut command = std::process::Command::new(&self.program);
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        command.env_clear().envs(variables).current_dir(&self.directory).stderr(std::process::Stdio::null());
        let mut client = Client::start(command);
        client.initialize("2025-11-25");
        client
    }
}

fn prepare(home: &Home, sessions: usize) {
    let workspace = home.path().join(".vibe/demo");
    fs::create_dir_all(workspace.join("scratch")).expect("a workspace");
    fs::create_dir_all(workspace.join("reports")).expect("a workspace");
    fs::create_dir_all(home.project().join(".todo")).expect("a directory");
    for number in 0..sessions {
        home.write(&format!("vault/note-{number}.md"), "count: 0;\n");
        fs::write(workspace.join(format!("scratch/doc-{number}.md")), "# Doc\n").expect("a document");
    }
    fs::write(workspace.join("reports/large.md"), "# Large\n").expect("a document");
    (0..EDITED).for_each(|number| edit_document(&workspace, number, 0));
    let needed: String = (0..PLAN_TASKS).map(|task| format!("-> t{task:02}\n")).collect();
    let tasks: String = (0..PLAN_TASKS).map(|task| format!("---\n[t{task:02}] Task {task} (planning)\n")).collect();
    home.write("plan.vine", format!("vine 1.2.0\n---\n[root] Root (started)\n{needed}{tasks}"));
    let mut client = home.host(&[]);
    for task in 0..TASKS {
        client.call_ok("todo_create_task", json!({ "title": format!("task {task}") }));
    }
    client.close();
}

/// One host after the other, with the same files.
fn session(shared: &Shared, proxies: &Proxies, number: u64) {
    let mut client = proxies.host();
    let mut turn = 0;
    while shared.goes_on() {
        turn += 1;
        let (tool, arguments) = call(number, turn);
        match client.try_ask("tools/call", json!({ "name": tool, "arguments": arguments }), CALL_TIMEOUT) {
            Some(answer) if answer["result"]["isError"] != true && answer.get("error").is_none() => {
                shared.calls.fetch_add(1, Ordering::Relaxed);
            }
            answer => shared.refuse(format!("{tool}: {}", answer.unwrap_or_default())),
        }
        if (turn + number * 131).is_multiple_of(CALLS_OF_A_PROXY) {
            client = proxies.host();
        }
        std::thread::sleep(PAUSE);
    }
    client.close();
}

fn call(number: u64, turn: u64) -> (&'static str, Value) {
    let round = turn / 6;
    match turn % 6 {
        0 => {
            let (find, replace) = (format!("count: {};", round - 1), format!("count: {round};"));
            ("vault_replace", json!({ "path": format!("note-{number}.md"), "find": find, "replace": replace }))
        }
        1 => {
            let content = format!("# Doc {turn}\n\nlantern session {number} turn {turn}\n");
            let filename = format!("doc-{number}.md");
            (
                "vibe_update_doc",
                json!({ "project": "demo", "folder": "scratch", "filename": filename, "content": content }),
            )
        }
        2 => ("vibe_search", json!({ "query": format!("lantern edited {}", turn % 97) })),
        3 => {
            let status = ["todo", "in_progress", "done"][(round + number) as usize % 3];
            let task = format!("T{:03}", (number as usize % TASKS) + 1);
            ("todo_update_task", json!({ "task_id": task, "status": status }))
        }
        4 => {
            let status = ["planning", "started", "complete"][(round + number) as usize % 3];
            let id = format!("t{:02}", number as usize % PLAN_TASKS);
            let operations = json!([{ "op": "set_status", "id": id, "status": status }]);
            ("vine_write", json!({ "file": "plan.vine", "operations": operations }))
        }
        _ => ("vault_read", json!({ "path": format!("note-{number}.md"), "full": true })),
    }
}

/// Replaces a large document again and again: what it displaces fills the journal.
fn press(shared: &Shared, proxies: &Proxies, pressure: u64) {
    let mut client = proxies.host();
    let began = Instant::now();
    let mut written: u64 = 0;
    while shared.goes_on() {
        if written >= began.elapsed().as_millis() as u64 * pressure * 1024 / 1000 {
            std::thread::sleep(PAUSE);
            continue;
        }
        let filler = format!("{written} lantern ").repeat((PRESSURE_BYTES / 16) as usize);
        let content = &filler[..filler.len().min(PRESSURE_BYTES as usize)];
        let arguments = json!({ "project": "demo", "folder": "reports", "filename": "large.md", "content": content });
        let answer =
            client.try_ask("tools/call", json!({ "name": "vibe_update_doc", "arguments": arguments }), CALL_TIMEOUT);
        match answer {
            Some(answer) if answer["result"]["isError"] != true && answer.get("error").is_none() => {
                shared.calls.fetch_add(1, Ordering::Relaxed);
            }
            answer => shared.refuse(format!("vibe_update_doc: {}", answer.unwrap_or_default())),
        }
        written += content.len() as u64;
    }
    client.close();
}

/// Somebody with an editor, who also makes, removes and moves files; there are never more than a few.
fn edit(shared: &Shared) {
    let workspace = shared.home.join(".vibe/demo");
    let mut turn = 0;
    while shared.goes_on() {
        turn += 1;
        let number = turn % EDITED;
        match turn % 5 {
            0 => drop(fs::remove_file(edited(&workspace, number))),
            1 => {
                let directory = workspace.join(format!("scratch/moved-{}", turn % 3));
                let _ = fs::create_dir_all(&directory);
                let _ = fs::write(directory.join("note.md"), format!("# Moved {turn}\n"));
                let _ = fs::remove_dir_all(workspace.join("scratch/kept"));
                let _ = fs::rename(&directory, workspace.join("scratch/kept"));
            }
            _ => edit_document(&workspace, number, turn),
        }
        let _ = fs::write(shared.project.join("vault").join(format!("by-hand-{}.md", turn % 10)), format!("{turn}\n"));
        std::thread::sleep(EDIT_PAUSE);
    }
}

fn edited(workspace: &Path, number: usize) -> PathBuf {
    workspace.join(format!("reports/edited-{number}.md"))
}

fn edit_document(workspace: &Path, number: usize, turn: usize) {
    let text = format!("# Edited {number}\n\nedited by hand, turn {turn}\n");
    fs::write(edited(workspace, number), text).expect("a document");
}
