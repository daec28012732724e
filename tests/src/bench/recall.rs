//! One search over everything: notes, tasks, decisions and plans, and how long opening and listing take beside them. How
//! many notes: `BENCH_NOTES`, numbers with commas.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::corpus::Corpus;
use super::process::{ProxyProcess, first_answer, pss, rest};
use super::{Measurement, ms, percentiles};
use crate::harness::Home;

const QUERIES: usize = 200;
const ROUNDS: usize = 3;
/// Beside the notes.
const TASKS: usize = 2000;
const NUMBERED: usize = 900;
const DECISIONS: usize = 500;
const PLANS: usize = 20;
const NODES: usize = 5000;

/// All figures of this part.
pub fn measurements() -> Vec<Measurement> {
    let sizes = std::env::var("BENCH_NOTES").unwrap_or_else(|_| "1000,10000,100000".to_owned());
    sizes.split(',').filter_map(|size| size.trim().parse().ok()).flat_map(with_notes).collect()
}

fn ask(line: &mut ProxyProcess, tool: &str, arguments: &Value) -> (Duration, Value) {
    let params = json!({ "name": tool, "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
    let time = line.ask(&call.to_string());
    let answer: Value = serde_json::from_str(&line.buffer).expect("JSON");
    (time, answer["result"]["structuredContent"].clone())
}

fn with_notes(count: usize) -> Vec<Measurement> {
    let home = Home::new();
    let mut corpus = Corpus::default();
    for note in corpus.notes(count) {
        write(&home.path().join(".vibe").join(note.path), &note.text);
    }
    let queries = corpus.queries(QUERIES);
    let mut words = queries.iter().map(|(_, query)| query.as_str()).cycle();
    let project = home.project();
    fs::create_dir_all(project.join(".git")).expect("a repository");
    let about = |what: &str| format!("{count} notes and the rest: {what}");
    let mut measurements = Vec::new();
    let (mut line, _) = first_answer(home.proxy(&[]));
    ready(&mut line);
    rest(&home);
    std::thread::sleep(Duration::from_secs(2));
    let memory_of_notes: f64 = home.daemons().into_iter().map(pss).sum();

    let mut tasks = String::from("# Task\n\n## Bench\n");
    for number in 1..=TASKS {
        // Numbers end at 999, and some are wanted below.
        let id = if number <= NUMBERED { format!(" #T{number:03}") } else { String::new() };
        let mark = [" ", "-", "x"][number % 3];
        let _ = writeln!(tasks, "- [{mark}] {} {}{id}", words.next().expect("words"), words.next().expect("words"));
    }
    write(&project.join(".todo/task.md"), &tasks);
    for number in 1..=DECISIONS {
        let [title, context, decision] = [(); 3].map(|()| words.next().expect("words"));
        let text = format!(
            "# ADR-{number:03}: {title}\n- Status: Accepted\n\n## Context\n{context}\n\n## Decision\n{decision}\n"
        );
        write(&project.join(format!(".todo/adr/adr-{number:03}-bench.md")), &text);
    }
    for plan in 0..PLANS {
        let mut text =
            format!("vine 1.2.0\ntitle: Plan {plan}\n---\n[root] {} (started)\n", words.next().expect("words"));
        for node in 1..NODES / PLANS {
            let [name, about] = [(); 2].map(|()| words.next().expect("words"));
            let _ = write!(text, "-> n{node}\n---\n[n{node}] {name} (notstarted)\n{about}\n");
        }
        write(&project.join(format!("plans/p{plan}.vine")), &text);
    }
    ready(&mut line);
    rest(&home);

    let mut times = Vec::new();
    let mut nothing = 0;
    for _ in 0..ROUNDS {
        for (_, query) in &queries {
            let (time, found) = ask(&mut line, "trellis_recall", &json!({ "query": query }));
            times.push(time);
            nothing += usize::from(found["total"] == 0);
        }
    }
    measurements.push(Measurement::note(about("queries without a hit"), nothing.to_string()));
    let recall = percentiles(times);
    measurements.push(Measurement::at_most(about("recall, p50"), ms(recall.p50), goal(count, 2.0), "ms"));
    measurements.push(Measurement::at_most(about("recall, p99"), ms(recall.p99), goal(count, 8.0), "ms"));
    let questions = queries.iter().map(|(_, query)| {
        let query = format!("how do we know whether the {query} is what we need when it was not there");
        ask(&mut line, "trellis_recall", &json!({ "query": query })).0
    });
    let questions = percentiles(questions.collect());
    measurements.push(Measurement::note(
        about("recall of a question, p50 / p99"),
        format!("{:.2} / {:.2} ms", ms(questions.p50), ms(questions.p99)),
    ));
    let times = queries.iter().map(|(_, query)| ask(&mut line, "vibe_search", &json!({ "query": query })).0);
    let search = percentiles(times.collect());
    measurements.push(Measurement::note(
        about("vibe_search beside it, p50 / p99"),
        format!("{:.2} / {:.2} ms", ms(search.p50), ms(search.p99)),
    ));
    let times = (1..=QUERIES).map(|number| {
        let uri = format!("ADR-{}", 1 + number % DECISIONS);
        ask(&mut line, "trellis_open", &json!({ "uri": uri })).0
    });
    let open = percentiles(times.collect());
    measurements.push(Measurement::at_most(about("open, p50"), ms(open.p50), goal(count, 1.0), "ms"));
    let times = (0..QUERIES).map(|_| ask(&mut line, "trellis_list", &json!({ "project": "*" })).0);
    let list = percentiles(times.collect());
    measurements.push(Measurement::at_most(about("list, p50"), ms(list.p50), goal(count, 5.0), "ms"));
    let mut missed = 0;
    let mut writes = Vec::new();
    for number in 0..QUERIES / 4 {
        let title = format!("fresh{number}q");
        let (written, _) = ask(&mut line, "todo_create_task", &json!({ "title": title }));
        let (found, answer) = ask(&mut line, "trellis_recall", &json!({ "query": format!("\"{title}\"") }));
        missed += usize::from(answer["total"] != 1);
        writes.push(written + found);
    }
    let writes = percentiles(writes);
    measurements.push(Measurement::note(about("task written and recalled, p50"), format!("{:.2} ms", ms(writes.p50))));
    measurements.push(Measurement::at_most(about("… missed"), missed as f64, 0.0, ""));
    std::thread::sleep(Duration::from_secs(3));
    let memory: f64 = home.daemons().into_iter().map(pss).sum();
    let more = 100.0 * (memory - memory_of_notes) / memory_of_notes;
    measurements.push(Measurement::note(
        about("daemon, PSS with the notes alone / with everything"),
        format!("{memory_of_notes:.1} / {memory:.1} MiB, {more:+.0} %"),
    ));
    measurements
}

/// Larger libraries may take longer.
fn goal(count: usize, most: f64) -> f64 {
    most * (count as f64 / 10_000.0).max(1.0)
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
    fs::write(path, text).expect("a file");
}

/// Until everything is compared with the disk.
fn ready(line: &mut ProxyProcess) {
    loop {
        let (_, found) = ask(line, "trellis_recall", &json!({ "query": "error-code" }));
        if found["rebuilding"] == Value::Null && found["stale"] == Value::Null {
            return;
        }
    }
}
