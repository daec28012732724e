//! Tasks: ordinary calls and searches in a full project, a cold start over ten thousand files, and the memory for
//! them.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Measurement, ms, percentiles};
use crate::harness::{Client, Home};

const TASKS: usize = 998;
const CALLS: usize = 200;
const PROJECTS: usize = 10;
/// What one call may take, and one search.
const CALL: f64 = 2.0;
const SEARCH: f64 = 5.0;

/// The tool and the arguments of one turn.
type Turn = fn(usize) -> (&'static str, Value);

/// All figures of this part.
pub fn measurements() -> Vec<Measurement> {
    let home = Home::new();
    fill(&home.project(), TASKS);
    let mut client = home.host(&["--only", "todo"]);
    client.call_ok("list_tasks", json!({}));
    let mut measurements = vec![
        timed(&mut client, "list_tasks, limit 50", CALL, |_| ("list_tasks", json!({}))),
        timed(&mut client, "get_context", CALL, |turn| ("get_context", json!({ "task_id": id(turn) }))),
        timed(&mut client, "search_tasks in titles and notes", SEARCH, |turn| {
            ("search_tasks", json!({ "query": word(turn) }))
        }),
        timed(&mut client, "search_tasks in contexts, too", SEARCH, |turn| {
            ("search_tasks", json!({ "query": word(turn), "search_in": ["title", "content", "context"], "limit": 50 }))
        }),
        timed(&mut client, "search_contexts", SEARCH, |turn| ("search_contexts", json!({ "query": word(turn) }))),
    ];
    let disk = disk_alone(&home.project());
    measurements.push(Measurement::note(
        "disk: write, flush, rename, flush of such a task.md, p50",
        format!("{:.2} ms", ms(disk)),
    ));
    let writes: [(&str, Turn); 3] = [
        ("update_task", |turn| {
            ("update_task", json!({ "task_id": id(turn), "status": if turn % 2 == 0 { "done" } else { "todo" } }))
        }),
        ("reorder_task", |turn| ("reorder_task", json!({ "task_id": id(turn + 50), "position": "first" }))),
        ("update_context", |turn| {
            ("update_context", json!({ "task_id": id(turn), "content": "a line", "append": true }))
        }),
    ];
    for (name, call) in writes {
        measurements.push(timed(&mut client, &format!("{name} acknowledged"), CALL + ms(disk) * 2.0, call));
    }
    measurements.extend(created_and_deleted(ms(disk)));
    measurements.extend(cold());
    measurements
}

/// One call after the other; the middle of their times.
fn timed(client: &mut Client, what: &str, goal: f64, call: impl Fn(usize) -> (&'static str, Value)) -> Measurement {
    let (tool, arguments) = call(0);
    client.call_ok(tool, arguments);
    let times = (1..=CALLS).map(|turn| {
        let (tool, arguments) = call(turn);
        let began = Instant::now();
        client.call_ok(tool, arguments);
        began.elapsed()
    });
    Measurement::at_most(format!("{what}, {TASKS} tasks, p50"), ms(percentiles(times.collect()).p50), goal, "ms")
}

/// A number is given only once, so a project that is to be filled begins with room.
fn created_and_deleted(disk: f64) -> Vec<Measurement> {
    let home = Home::new();
    fill(&home.project(), TASKS - CALLS - 1);
    let mut client = home.host(&["--only", "todo"]);
    let create = timed(&mut client, "create_task acknowledged", CALL + disk * 4.0, |turn| {
        ("create_task", json!({ "title": format!("new {turn}"), "category": "Category 3" }))
    });
    let delete = timed(&mut client, "delete_task acknowledged", CALL + disk * 4.0, |turn| {
        ("delete_task", json!({ "task_id": id(turn + 100) }))
    });
    vec![create, delete]
}

/// Ten full projects, searched by ten hosts for the first time.
fn cold() -> Vec<Measurement> {
    let home = Home::new();
    let projects: Vec<_> = (0..PROJECTS).map(|number| home.path().join(format!("project-{number}"))).collect();
    projects.iter().for_each(|project| fill(project, TASKS));
    let began = Instant::now();
    let mut clients: Vec<Client> = projects
        .iter()
        .map(|project| home.host(&["--only", "todo", "--cwd", project.to_str().expect("text")]))
        .collect();
    for client in &mut clients {
        client.call_ok("search_contexts", json!({ "query": "banana" }));
    }
    let cold = began.elapsed();
    for client in &mut clients {
        client.call_ok("search_tasks", json!({ "query": "検索", "search_in": ["title", "content", "context"] }));
        client.call_ok("list_adrs", json!({}));
    }
    let pss: f64 = home.daemons().into_iter().map(pss).sum();
    vec![
        Measurement::at_most("cold start and first search over 10,000 files", cold.as_secs_f64(), 2.0, "s"),
        Measurement::at_most("daemon with those files searched, PSS", pss, 100.0, "MiB"),
    ]
}

/// Tasks with sub-tasks and notes in ten categories, a context each, and a decision record.
fn fill(project: &Path, count: usize) {
    let tree = project.join(".todo");
    fs::create_dir_all(tree.join("context")).expect("a directory");
    fs::create_dir_all(tree.join("adr")).expect("a directory");
    let mut tasks = "# Task\n".to_owned();
    for category in 0..10 {
        tasks += &format!("\n## Category {category}\n");
        for number in (1..=count).filter(|number| number % 10 == category) {
            let word = word(number);
            tasks += &format!("- [ ] Task {number}: {word} を整理する #T{number:03}\n  - [ ] check {word}\n  a note\n");
            let body = format!("Notes about {word} and what follows from it. 検索のための文章です。\n").repeat(20);
            let context = format!("# Context for T{number:03}\n\n## Task Description\n{body}\n");
            fs::write(tree.join(format!("context/T{number:03}.md")), context).expect("a file");
        }
    }
    fs::write(tree.join("task.md"), tasks).expect("a file");
    let adr = "# ADR-001: One\n\n- Status: Accepted\n\n## Context\nwords\n";
    fs::write(tree.join("adr/adr-001-one.md"), adr).expect("a file");
}

fn id(turn: usize) -> String {
    format!("T{:03}", 1 + turn % TASKS)
}

fn word(turn: usize) -> &'static str {
    ["banana", "検索", "Ｌｏｇｉｎ", "retry-policy", "認証方式", "database", "ﾃﾞｰﾀ"][turn % 7]
}

/// What the disk itself takes for a file of that size: write, flush, rename, flush of the directory.
fn disk_alone(project: &Path) -> Duration {
    let text = fs::read(project.join(".todo/task.md")).expect("the tasks");
    let (temp, path) = (project.join("temp"), project.join("anchor.md"));
    let times = (0..CALLS).map(|_| {
        let began = Instant::now();
        let mut file = File::create(&temp).expect("a file");
        file.write_all(&text).and_then(|()| file.sync_all()).expect("it is flushed");
        fs::rename(&temp, &path).expect("it is renamed");
        File::open(project).and_then(|directory| directory.sync_all()).expect("the directory is flushed");
        began.elapsed()
    });
    percentiles(times.collect()).p50
}

/// Memory of a process, shared pages divided by those who share them.
fn pss(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or("0");
    line.trim().trim_end_matches("kB").trim().parse::<f64>().unwrap_or(0.0) / 1024.0
}
