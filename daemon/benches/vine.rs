//! How long the parts of a plan take: reading, checking, asking what is next, changing one status and writing it down.
//!
//! Layered graphs with about half of the tasks complete and two in a hundred ready, a deep chain, a header of blanks,
//! and many tasks in review beside as many that nobody has begun.

use std::fmt::Write as _;

use divan::Bencher;
use trellisd::disk::FileModel as _;
use trellisd::families::vine::answers;
use trellisd::families::vine::apply::GraphDraft;
use trellisd::families::vine::frontier::frontier;
use trellisd::families::vine::header;
use trellisd::families::vine::model::Status;
use trellisd::families::vine::operations::Operation;
use trellisd::families::vine::parse::parse;
use trellisd::families::vine::plan::Plan;
use trellisd::families::vine::render::render;
use trellisd::families::vine::validate::validate;
use trellisd::text::json::Json;

const SIZES: [usize; 5] = [10, 100, 1_000, 5_000, 100_000];
/// Tasks of one layer; each needs two of the next.
const WIDTH: usize = 100;

fn main() {
    divan::main();
}

/// The lower half is complete, one layer of the rest can start.
fn layered(count: usize) -> String {
    let width = WIDTH.min(count / 5).max(1);
    let mut text = "vine 1.2.0\ntitle: Layers\n---\n".to_owned();
    for at in 0..count {
        let status = match at {
            0 => "started",
            at if at >= count / 2 => "complete",
            _ => "notstarted",
        };
        if at > 0 {
            text.push_str("---\n");
        }
        let _ = writeln!(
            text,
            "[layer/t{at}] Task number {at} of the plan ({status})\nWhat has to be done in this task, in a line."
        );
        let first = if at == 0 { 1..=width } else { at + width..=at + width + 1 };
        first.filter(|need| *need < count).for_each(|need| {
            let _ = writeln!(text, "-> layer/t{need}");
        });
        if status == "complete" {
            text.push_str("> It was decided so\n");
        }
    }
    text
}

fn chain(count: usize) -> String {
    let mut text = "vine 1.2.0\n---\n".to_owned();
    for at in 1..count {
        let _ = writeln!(text, "[t{at}] N (notstarted)\n-> t{}\n---", at + 1);
    }
    let _ = writeln!(text, "[t{count}] N (notstarted)");
    text
}

/// A started root that needs many tasks of one status.
fn star(count: usize, status: &str) -> String {
    let mut text = "vine 1.2.0\n---\n[root] Root (started)\n".to_owned();
    (0..count).for_each(|at| {
        let _ = writeln!(text, "-> t{at}");
    });
    (0..count).for_each(|at| {
        let _ = writeln!(text, "---\n[t{at}] N ({status})");
    });
    text
}

#[divan::bench(args = SIZES)]
fn read(bencher: Bencher, count: usize) {
    let text = layered(count);
    bencher.bench(|| Plan::read(text.as_bytes()));
}

#[divan::bench(args = SIZES)]
fn sound(bencher: Bencher, count: usize) {
    let graph = parse(&layered(count)).expect("a graph");
    bencher.bench(|| validate(&graph).expect("a sound graph"));
}

#[divan::bench(args = SIZES)]
fn next_cold(bencher: Bencher, count: usize) {
    let graph = parse(&layered(count)).expect("a graph");
    let edges = validate(&graph).expect("a sound graph");
    bencher.bench(|| Json::of(&answers::next(&graph, &frontier(&graph, &edges))));
}

#[divan::bench(args = SIZES)]
fn next_hot(bencher: Bencher, count: usize) {
    let plan = Plan::read(layered(count).as_bytes());
    bencher.bench(|| {
        let (graph, frontier) = plan.frontier().expect("a frontier");
        Json::of(&answers::next(graph, frontier)).indented()
    });
}

#[divan::bench(args = SIZES)]
fn set_status(bencher: Bencher, count: usize) {
    let plan = Plan::read(layered(count).as_bytes());
    let operation = Operation::SetStatus { id: "layer/t1".to_owned(), status: Status::Started };
    let (written, graph) = render(plan.graph().expect("a graph"), None).expect("a text");
    let (edges, frontier) =
        (validate(&graph).expect("a sound graph").into(), frontier(&graph, &validate(&graph).expect("sound")).into());
    let plan = Plan::made(graph, written, edges, frontier);
    bencher.bench(|| changed(&plan, &operation));
}

#[divan::bench(args = SIZES)]
fn set_status_first(bencher: Bencher, count: usize) {
    let plan = Plan::read(layered(count).as_bytes());
    plan.validated().expect("a sound plan");
    let operation = Operation::SetStatus { id: "layer/t1".to_owned(), status: Status::Started };
    bencher.bench(|| changed(&plan, &operation));
}

fn changed(plan: &Plan, operation: &Operation) -> Plan {
    let (graph, edges) = plan.validated().expect("a sound plan");
    let mut draft = GraphDraft::of(graph);
    draft.apply(operation).expect("it can be done");
    let drafted = draft.finish();
    let frontier = frontier(&drafted.graph, edges);
    let (written, read_back) = render(&drafted.graph, plan.before()).expect("a text");
    Plan::made(read_back, written, edges.clone(), frontier.into())
}

#[divan::bench]
fn deep_chain(bencher: Bencher) {
    let graph = parse(&chain(100_000)).expect("a graph");
    bencher.bench(|| validate(&graph).expect("a sound graph"));
}

#[divan::bench]
fn header_of_blanks(bencher: Bencher) {
    let header = format!("[a] N{}(", " ".repeat(4_000));
    bencher.bench(|| header::parse(divan::black_box(&header)).is_none());
}

#[divan::bench(args = ["reviewing", "notstarted"])]
fn sixteen_thousand(bencher: Bencher, status: &str) {
    let graph = parse(&star(16_000, status)).expect("a graph");
    let edges = validate(&graph).expect("a sound graph");
    bencher.bench(|| frontier(&graph, &edges));
}
