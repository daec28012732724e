//! Searching, and how soon what was written is found. How many notes: `BENCH_NOTES`, numbers with commas.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::corpus::{Corpus, Language};
use super::process::{ProxyProcess, first_answer, pss, rest};
use super::{Measurement, ms, percentiles};
use crate::harness::{Home, wait_until};
use crate::notes;

const QUERIES: usize = 200;
const ROUNDS: usize = 5;
const WRITES: usize = 200;
/// What a person or an assistant thinks at least between two calls: long enough for every thread to sleep.
const THINKING: Duration = Duration::from_millis(20);

/// All figures of this part.
pub fn measurements() -> Vec<Measurement> {
    let sizes = std::env::var("BENCH_NOTES").unwrap_or_else(|_| "1000,10000,100000".to_owned());
    sizes.split(',').filter_map(|size| size.trim().parse().ok()).flat_map(with_notes).collect()
}

fn call(tool: &str, arguments: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
        .to_string()
}

fn find(line: &mut ProxyProcess, query: &str) -> (Duration, Value) {
    let time = line.ask(&call("find", &json!({ "query": query, "limit": 20 })));
    let answer: Value = serde_json::from_str(&line.buffer).expect("JSON");
    (time, answer["result"]["structuredContent"].clone())
}

fn with_notes(count: usize) -> Vec<Measurement> {
    let home = Home::with_fixtures().with(notes::NOTES_VARIABLE, "1");
    let mut corpus = Corpus::default();
    let mut bytes = 0;
    for note in corpus.notes(count) {
        bytes += note.text.len();
        home.write(&format!("notes/{}", note.path), note.text);
    }
    let queries = corpus.queries(QUERIES);
    let flags = ["--only", "notes"];
    let about = |what: &str| format!("{count} notes: {what}");
    let mut measurements = vec![Measurement::note(about("size"), format!("{:.1} MB", bytes as f64 / 1e6))];

    let began = Instant::now();
    let (mut line, _) = first_answer(home.proxy(&flags));
    ready(&mut line);
    measurements.push(Measurement::at_most(
        about("nothing → first search"),
        began.elapsed().as_secs_f64(),
        goal(count, 3.0),
        "s",
    ));

    let began = Instant::now();
    rest(&home);
    measurements
        .push(Measurement::note(about("… until it rests again"), format!("{:.1} s", began.elapsed().as_secs_f64())));

    let mut times = Vec::new();
    let mut nothing = [0; 3];
    for round in 0..ROUNDS {
        for (language, query) in &queries {
            let (time, found) = find(&mut line, query);
            times.push(time);
            if round == 0 && found["total"] == 0 {
                nothing[*language as usize] += 1;
            }
        }
    }
    let [english, spanish, japanese] =
        [Language::English, Language::Spanish, Language::Japanese].map(|language| nothing[language as usize]);
    measurements.push(Measurement::note(
        about("queries without a hit, en / es / ja"),
        format!("{english} / {spanish} / {japanese}"),
    ));
    let search = percentiles(times);
    measurements.push(Measurement::at_most(
        about("search, 20 hits, p50"),
        ms(search.p50),
        if count > 10_000 { 1.0 } else { 0.3 },
        "ms",
    ));
    measurements.push(Measurement::note(
        about("search, p95 / p99"),
        format!("{:.2} / {:.2} ms", ms(search.p95), ms(search.p99)),
    ));
    let rested = queries.iter().map(|(_, query)| {
        std::thread::sleep(THINKING);
        find(&mut line, query).0
    });
    let rested = percentiles(rested.collect());
    measurements.push(Measurement::note(
        about("search after 20 ms of rest, p50 / p99"),
        format!("{:.2} / {:.2} ms", ms(rested.p50), ms(rested.p99)),
    ));

    let (mut other, _) = first_answer(home.proxy(&flags));
    let (mut writes, mut misses) = (Vec::new(), 0);
    for number in 0..WRITES {
        let (path, text) = (format!("fresh/n{number}.md"), format!("# Fresh\nwritten{number}x\n"));
        let began = Instant::now();
        line.ask(&call("note", &json!({ "path": path, "text": text })));
        let (_, found) = find(&mut other, &format!("written{number}x"));
        writes.push(began.elapsed());
        misses += usize::from(found["total"] != 1);
    }
    measurements
        .push(Measurement::note(about("write and find, p50"), format!("{:.2} ms", ms(percentiles(writes).p50))));
    measurements.push(Measurement::at_most(about("… missed"), misses as f64, 0.0, ""));

    for (when, pause) in [("", Duration::ZERO), (" after 20 ms of rest", THINKING)] {
        let (mut edits, mut misses) = (Vec::new(), 0);
        for number in 0..WRITES {
            std::thread::sleep(pause);
            let path = home.project().join(format!("notes/fresh/n{number}.md"));
            let word = format!("edited{number}x{}", pause.as_millis());
            let began = Instant::now();
            fs::write(path, format!("# Fresh\n{word}\n")).expect("a file");
            while find(&mut other, &word).1["total"] != 1 {
                misses += 1;
                assert!(began.elapsed() < Duration::from_secs(5), "an edit was missed");
            }
            edits.push(began.elapsed());
        }
        let edits = percentiles(edits);
        measurements.push(Measurement::at_most(
            about(&format!("outside edit → found{when}, p50")),
            ms(edits.p50),
            2.0,
            "ms",
        ));
        measurements.push(Measurement::at_most(about("… p95"), ms(edits.p95), 20.0, "ms"));
        measurements.push(Measurement::note(about("… p99"), format!("{:.2} ms", ms(edits.p99))));
        measurements.push(Measurement::at_most(about("… searches that missed it"), f64::from(misses), 0.0, ""));
    }

    std::thread::sleep(Duration::from_secs(3));
    let memory = home.daemons().into_iter().map(pss).sum::<f64>();
    measurements.push(Measurement::at_most(
        about("daemon, PSS"),
        memory,
        if count > 10_000 { 150.0 } else { 40.0 },
        "MiB",
    ));

    drop((line, other));
    home.trellisd(&["stop"]);
    wait_until("the daemon is gone", || home.daemons().is_empty().then_some(()));
    let began = Instant::now();
    let (mut line, _) = first_answer(home.proxy(&flags));
    ready(&mut line);
    measurements.push(Measurement::at_most(
        about("restart → first search"),
        began.elapsed().as_secs_f64(),
        goal(count, 0.3),
        "s",
    ));
    std::thread::sleep(Duration::from_secs(1));
    let memory = home.daemons().into_iter().map(pss).sum::<f64>();
    measurements.push(Measurement::note(about("daemon after restart, PSS"), format!("{memory:.1} MiB")));
    measurements
}

/// Larger libraries may take longer.
fn goal(count: usize, seconds: f64) -> f64 {
    seconds * (count as f64 / 10_000.0).max(1.0)
}

/// Until a search is answered from all notes.
fn ready(line: &mut ProxyProcess) {
    while find(line, "error-code").1["rebuilding"] != Value::Null {}
}
