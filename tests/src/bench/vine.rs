//! Plans through proxy and daemon: what can be done now in plans of every size, one status changed in a large one
//! beside the disk's own time, and work under review beside work to do.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::process::{ProxyProcess, first_answer};
use super::writes::disk_alone;
use super::{Measurement, Percentiles, ms, percentiles};
use crate::harness::Home;

/// Nodes, questions, and the goal for the middle of them.
const SIZES: [(usize, usize, Option<f64>); 5] =
    [(10, 2_000, None), (100, 2_000, None), (1_000, 2_000, Some(0.2)), (5_000, 1_000, Some(0.6)), (100_000, 30, None)];
/// A layer is what becomes ready at once: two in a hundred.
const LAYERS: usize = 50;
const WRITES: usize = 300;
/// What a change of one status may add to the disk's own time.
const WRITE_GOAL: f64 = 1.5;
const REVIEWED: usize = 16_000;

/// All figures of this part.
pub fn measurements() -> Vec<Measurement> {
    let mut measurements: Vec<Measurement> = SIZES.into_iter().flat_map(next).collect();
    measurements.extend(set_status());
    measurements.extend(reviewing());
    measurements
}

/// A root above layers; each task needs two of the layer below, the lower half is complete. What does not fill a
/// layer is complete, too, and needed by the root.
fn layered(nodes: usize) -> String {
    let width = (nodes / LAYERS).max(1);
    let (layers, rest) = ((nodes - 1) / width, (nodes - 1) % width);
    let mut text = "vine 1.2.0\ntitle: Layers\n---\n[root] The whole (notstarted)\n".to_owned();
    let needs = |text: &mut String, layer: usize, columns: &mut dyn Iterator<Item = usize>| {
        let mut ids: Vec<String> = columns.map(|column| format!("l{layer}/t{column}")).collect();
        ids.sort();
        ids.dedup();
        text.extend(ids.iter().map(|id| format!("-> {id}\n")));
    };
    needs(&mut text, 0, &mut (0..width));
    needs(&mut text, layers, &mut (0..rest));
    for layer in 0..=layers {
        let status = if layer >= layers / 2 { "complete" } else { "notstarted" };
        let columns = if layer < layers { width } else { rest };
        for column in 0..columns {
            let _ = writeln!(text, "---\n[l{layer}/t{column}] Task {column} of layer {layer} ({status})");
            let _ = writeln!(text, "What has to be done here, in a sentence of usual length.");
            if layer + 1 < layers {
                needs(&mut text, layer + 1, &mut [column, (column + 1) % width].into_iter());
            }
            if status == "complete" {
                let _ = writeln!(text, "> What was decided.");
            }
        }
    }
    text
}

/// A root that needs so many tasks of one status.
fn fan(nodes: usize, status: &str) -> String {
    let mut text = "vine 1.2.0\n---\n[root] The whole (started)\n".to_owned();
    text.extend((0..nodes).map(|number| format!("-> t{number}\n")));
    text.extend((0..nodes).map(|number| format!("---\n[t{number}] Task {number} ({status})\n")));
    text
}

fn question(tool: &str, arguments: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
        .to_string()
}

/// What `vine_next` says, once, by a host that looks at it.
fn frontier(home: &Home) -> Value {
    let result = home.host(&["--only", "vine"]).call("vine_next", json!({ "file": "plan.vine" }));
    assert_ne!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().expect("a text");
    serde_json::from_str(text).expect("JSON")
}

fn ask_often(line: &mut ProxyProcess, question: &str, times: usize) -> Percentiles {
    line.ask(question);
    percentiles((0..times).map(|_| line.ask(question)).collect())
}

fn next((nodes, times, goal): (usize, usize, Option<f64>)) -> Vec<Measurement> {
    let home = Home::new();
    home.write("plan.vine", layered(nodes));
    let seen = frontier(&home);
    let (total, ready) = (&seen["progress"]["total"], &seen["progress"]["ready_count"]);
    let (mut line, _) = first_answer(home.proxy(&["--only", "vine"]));
    let times = ask_often(&mut line, &question("vine_next", &json!({ "file": "plan.vine" })), times);
    let what = format!("vine_next, {total} nodes, {ready} ready, p50");
    let middle = match goal {
        Some(goal) => Measurement::at_most(what, ms(times.p50), goal, "ms"),
        None => Measurement::note(what, format!("{:.2} ms", ms(times.p50))),
    };
    vec![middle, Measurement::note("… p95", format!("{:.2} ms", ms(times.p95)))]
}

fn set_status() -> Vec<Measurement> {
    let home = Home::new();
    let text = layered(5_000);
    home.write("plan.vine", &text);
    let ready = frontier(&home)["ready_to_start"][0]["id"].clone();
    let (mut line, _) = first_answer(home.proxy(&["--only", "vine"]));
    let call = |status: &str| {
        let operations = json!([{ "op": "set_status", "id": ready, "status": status }]);
        question("vine_write", &json!({ "file": "plan.vine", "operations": operations }))
    };
    let calls = [call("planning"), call("notstarted")];
    let (mut disk, mut written): (Vec<Duration>, Vec<Duration>) = (Vec::new(), Vec::new());
    for turn in 0..WRITES {
        disk.push(disk_alone(&home.project(), "anchor.txt", &text));
        let began = Instant::now();
        line.ask(&calls[turn % 2]);
        written.push(began.elapsed());
    }
    assert_eq!(frontier(&home)["progress"]["by_status"]["planning"], 0, "the last one was taken back");
    let (disk, written) = (percentiles(disk), percentiles(written));
    let both = |percentiles: Percentiles| format!("{:.2} / {:.2} ms", ms(percentiles.p50), ms(percentiles.p95));
    vec![
        Measurement::note("disk: write, flush, rename over, flush, p50 / p95", both(disk)),
        Measurement::note("set_status in 5,000 nodes acknowledged, p50 / p95", both(written)),
        Measurement::at_most("… above the disk, p50", ms(written.p50) - ms(disk.p50), WRITE_GOAL, "ms"),
    ]
}

fn reviewing() -> Vec<Measurement> {
    let time = |status: &str| {
        let home = Home::new();
        home.write("plan.vine", fan(REVIEWED, status));
        let seen = frontier(&home);
        let list = if status == "reviewing" { "ready_to_complete" } else { "ready_to_start" };
        assert_eq!(seen[list].as_array().map(Vec::len), Some(REVIEWED));
        let (mut line, _) = first_answer(home.proxy(&["--only", "vine"]));
        ask_often(&mut line, &question("vine_next", &json!({ "file": "plan.vine" })), 30).p50
    };
    let (to_do, reviewed) = (time("notstarted"), time("reviewing"));
    vec![
        Measurement::note(
            "vine_next, 16,000 to do / under review, p50",
            format!("{:.1} / {:.1} ms", ms(to_do), ms(reviewed)),
        ),
        Measurement::at_most("under review : to do", reviewed.as_secs_f64() / to_do.as_secs_f64(), 2.0, "×"),
    ]
}
