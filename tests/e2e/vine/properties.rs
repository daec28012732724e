//! Any graph, any text, any operation, by chance: the answers are those of the plainest reading of the rules, and
//! nothing that was written cannot be read.

use std::cell::RefCell;
use std::fmt::Debug;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};

use super::{FILE, Plan, blocks, ids};

/// Runs a property over one host.
#[track_caller]
fn check<T: Debug>(
    cases: u32,
    any: impl Strategy<Value = T>,
    property: impl Fn(&mut Plan, T) -> Result<(), TestCaseError>,
) {
    let plan = RefCell::new(Plan::new());
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&any, |case| property(&mut plan.borrow_mut(), case));
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

/// A node without its number: `ref` or a status, and what it needs.
type Node = (&'static str, Vec<usize>);

const KINDS: [&str; 7] = ["complete", "started", "reviewing", "planning", "notstarted", "blocked", "ref"];

/// Up to nine nodes. Of those that need only later ones, many are sound.
fn any_graph() -> impl Strategy<Value = Vec<Node>> {
    let node = (prop::sample::select(&KINDS[..]), prop::collection::vec(0..9_usize, 0..4));
    (prop::collection::vec(node, 1..9), any::<bool>()).prop_map(|(mut nodes, downward)| {
        let count = nodes.len();
        for (number, (_, needs)) in nodes.iter_mut().enumerate() {
            needs.iter_mut().for_each(|other| *other %= count);
            needs.retain(|other| !downward || *other > number);
        }
        if downward {
            // Nobody is left out.
            for number in 1..count {
                if !nodes.iter().any(|(_, needs)| needs.contains(&number)) {
                    nodes[number / 2].1.push(number);
                }
            }
        }
        nodes
    })
}

fn text_of(nodes: &[Node]) -> String {
    let block = |(number, (kind, needs)): (usize, &Node)| {
        let header = match *kind {
            "ref" => format!("ref [n{number}] N (u)"),
            status => format!("[n{number}] N ({status})"),
        };
        needs.iter().fold(header, |block, other| format!("{block}\n-> n{other}"))
    };
    let texts: Vec<String> = nodes.iter().enumerate().map(block).collect();
    blocks(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

fn name(number: usize) -> String {
    format!("n{number}")
}

/// The cycle that a search by recursion finds first.
fn cycle(nodes: &[Node], from: usize, path: &mut Vec<usize>, done: &mut [bool]) -> Option<Vec<usize>> {
    if let Some(place) = path.iter().position(|node| *node == from) {
        return Some(path[place..].to_vec());
    }
    if done[from] {
        return None;
    }
    path.push(from);
    let found = nodes[from].1.iter().find_map(|other| cycle(nodes, *other, path, done));
    path.pop();
    done[from] = true;
    found
}

fn reached(from: usize, step: &impl Fn(usize) -> Vec<usize>, seen: &mut Vec<usize>) {
    for other in step(from) {
        if !seen.contains(&other) {
            seen.push(other);
            reached(other, step, seen);
        }
    }
}

/// What must be said of a graph, if it is not sound.
fn complaint(nodes: &[Node]) -> Option<String> {
    let mut done = vec![false; nodes.len()];
    if let Some(cycle) = (0..nodes.len()).find_map(|start| cycle(nodes, start, &mut Vec::new(), &mut done)) {
        let names: Vec<String> = cycle.iter().copied().map(name).collect();
        let details = json!({ "constraint": "no-cycles", "cycle": names });
        let arrows = names.join(" → ");
        return Some(format!(
            "Validation error [no-cycles]: Cycle detected: {arrows} → {}.\nDetails: {details}",
            names[0]
        ));
    }
    let mut seen = vec![0];
    reached(0, &|node| nodes[node].1.clone(), &mut seen);
    let islands: Vec<String> = (0..nodes.len()).filter(|node| !seen.contains(node)).map(name).collect();
    let details = json!({ "constraint": "no-islands", "islandTaskIds": islands });
    let (count, list) = (islands.len(), islands.join(", "));
    (count > 0).then(|| format!("Validation error [no-islands]: Found {count} island task(s) not reachable from root: {list}.\nDetails: {details}"))
}

/// The four lists, by the plainest reading.
fn frontier(nodes: &[Node]) -> [Vec<String>; 4] {
    let mut lists: [Vec<String>; 4] = Default::default();
    for (number, (kind, needs)) in nodes.iter().enumerate() {
        if !needs.iter().all(|other| matches!(nodes[*other].0, "complete" | "reviewing")) {
            continue;
        }
        let builds =
            |(kind, needs): &Node| needs.contains(&number) && matches!(*kind, "started" | "reviewing" | "complete");
        match *kind {
            "notstarted" | "planning" => lists[0].push(name(number)),
            "reviewing" if nodes.iter().any(builds) => lists[1].push(name(number)),
            "blocked" => lists[2].push(name(number)),
            "ref" => lists[3].push(name(number)),
            _ => {}
        }
    }
    let rest_is_done = nodes[1..].iter().all(|(kind, _)| matches!(*kind, "complete" | "reviewing"));
    if nodes[0].0 == "reviewing" && rest_is_done {
        lists[1].push(name(0));
    }
    lists
}

#[test]
fn any_graph_has_the_plainest_answers() {
    check(600, any_graph(), |plan, nodes| {
        let verdict = plan.verdict(text_of(&nodes));
        if let Some(complaint) = complaint(&nodes) {
            prop_assert_eq!(verdict, complaint);
            return Ok(());
        }
        prop_assert_eq!(verdict, format!("Valid — {} task(s).", nodes.len()));
        let next = plan.next();
        let lists = ["ready_to_start", "ready_to_complete", "blocked", "needs_expansion"];
        for (list, expected) in lists.into_iter().zip(frontier(&nodes)) {
            prop_assert_eq!(ids(&next[list]), expected, "{}", list);
        }
        for number in 0..nodes.len() {
            let dependants = |node: usize| (0..nodes.len()).filter(|other| nodes[*other].1.contains(&node)).collect();
            let mut above = Vec::new();
            reached(number, &dependants, &mut above);
            above.sort_unstable();
            let expected: Vec<String> = above.into_iter().map(name).collect();
            let seen = plan.json("descendants", json!({ "id": name(number) }));
            prop_assert_eq!(ids(&seen), expected, "descendants of n{}", number);
        }
        Ok(())
    });
}

/// Lines that mean something, nearly mean something, or mean nothing.
fn any_line() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "vine 1.2.0",
        "---",
        "--- ",
        "===",
        "",
        " ",
        "title: T",
        "prefix:",
        "delimiter: ===",
        "[a] A (started)",
        "[b] B (complete) @k(v)",
        "[c] C (blocked) @k(a, b) @l()",
        "ref [d] D (u)",
        "ref [b] B (v) @k()",
        "[a] x",
        "-> a",
        "-> b",
        "-> c",
        "-> d",
        "->",
        "> yes",
        ">",
        "> ",
        "@file m u",
        "@file m",
        "@artifact  u",
        "@note x",
        "text",
        "  indented",
        "\u{85}",
        "\u{feff}",
        "[b]   (complete)",
        "x: y",
        "\r",
        "名前",
    ]);
    prop_oneof![9 => known.prop_map(str::to_owned), 1 => any::<String>()]
}

/// A file: often with a good beginning.
fn any_file() -> impl Strategy<Value = String> {
    let lines = prop::collection::vec(any_line(), 0..14);
    let end = prop::sample::select(vec!["\n", "\r\n"]);
    let file = (any::<bool>(), lines, end, any::<bool>()).prop_map(|(begins, lines, end, ends)| {
        let head = if begins { format!("vine 1.2.0{end}---{end}[r] R (started){end}") } else { String::new() };
        format!("{head}{}{}", lines.join(end), if ends { end } else { "" })
    });
    // A carriage return at the end of a line is part of its end as soon as the other one is gone.
    file.prop_filter("a line that ends with a carriage return", |file| !file.contains("\r\r\n"))
}

/// Nodes with their lists in the order of the file that is written.
fn tidied(list: &Value) -> Value {
    let mut list = list.clone();
    for node in list.as_array_mut().into_iter().flatten() {
        let by_name = |one: &Value, other: &Value| one.as_str().cmp(&other.as_str());
        node["dependencies"].as_array_mut().expect("a list").sort_by(by_name);
        if let Some(attachments) = node.get_mut("attachments").and_then(Value::as_array_mut) {
            let place = |one: &Value| ["artifact", "guidance", "file"].iter().position(|class| one["class"] == *class);
            attachments.sort_by_key(place);
        }
    }
    list
}

#[test]
fn any_text_has_a_verdict_and_a_sound_one_keeps_its_meaning() {
    check(1_500, any_file(), |plan, text| {
        let verdict = plan.verdict(&text);
        if !verdict.starts_with("Valid — ") {
            let known = verdict.starts_with("Parse error (line ") || verdict.starts_with("Validation error [");
            prop_assert!(known, "{}", verdict);
            return Ok(());
        }
        let before = plan.json("list", json!({}));
        plan.write(json!([{ "op": "update", "id": before[0]["id"] }]));
        let written = plan.text(FILE);
        prop_assert_eq!(plan.json("list", json!({})), tidied(&before));
        plan.write(json!([{ "op": "update", "id": before[0]["id"] }]));
        prop_assert_eq!(plan.text(FILE), written, "the form is stable");
        Ok(())
    });
}

/// A value for a field: plain, nearly structure, or anything.
fn any_value() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "",
        "a",
        "a b",
        " a ",
        "a\nb",
        "---",
        "a\n---\nb",
        "-> r",
        "-> ghost",
        "> d",
        "a)",
        "(a",
        "a,b",
        ",",
        "@file m u",
        "[x] X (complete)",
        "\r",
        "\n",
        "a\r\nb",
        "\u{2028}",
        "\u{85}",
        "\u{feff}",
        "名",
        "u.vine",
        "a/b",
        "a//b",
    ]);
    prop_oneof![8 => known.prop_map(str::to_owned), 1 => any::<String>()]
}

fn any_operation() -> impl Strategy<Value = Value> {
    let ids = || prop::sample::select(vec!["r", "t", "f", "n", "n2", "x"]);
    let value = any_value;
    let strings = || prop::collection::vec(any_value(), 0..3);
    let class = prop::sample::select(vec!["artifact", "guidance", "file", "note"]);
    let status = prop::sample::select(vec!["complete", "started", "reviewing", "planning", "notstarted", "blocked"]);
    prop_oneof![
        (value(), value(), value()).prop_map(|(id, name, text)| json!({ "op": "add_task", "id": id, "name": name, "description": text })),
        (ids(), value(), value()).prop_map(|(id, name, text)| json!({ "op": "add_task", "id": id, "name": name, "description": text })),
        (ids(), value(), value(), strings()).prop_map(|(id, name, vine, decisions)| json!({ "op": "add_ref", "id": id, "name": name, "vine": vine, "decisions": decisions })),
        (ids(), value()).prop_map(|(id, name)| json!({ "op": "update", "id": id, "name": name })),
        (ids(), value(), strings()).prop_map(|(id, text, decisions)| json!({ "op": "update", "id": id, "description": text, "decisions": decisions })),
        (ids(), class, value(), value()).prop_map(|(id, class, mime, uri)| json!({ "op": "update", "id": id, "attachments": [{ "class": class, "mime": mime, "uri": uri }] })),
        (ids(), value(), strings()).prop_map(|(id, key, values)| json!({ "op": "update", "id": id, "annotations": { key: values } })),
        (ids(), value()).prop_map(|(id, uri)| json!({ "op": "update_ref_uri", "id": id, "uri": uri })),
        (ids(), ids()).prop_map(|(task, other)| json!({ "op": "add_dep", "taskId": task, "depId": other })),
        (ids(), ids()).prop_map(|(task, other)| json!({ "op": "remove_dep", "taskId": task, "depId": other })),
        (ids(), status).prop_map(|(id, status)| json!({ "op": "set_status", "id": id, "status": status })),
        ids().prop_map(|id| json!({ "op": "remove_task", "id": id })),
        ids().prop_map(|id| json!({ "op": "claim", "id": id })),
    ]
}

#[test]
fn any_operations_are_refused_or_leave_a_plan() {
    let before =
        blocks(&["[r] R (started)\n-> f\n-> t", "[t] T (planning) @k(v)\nText.\n> d\n@file m u", "ref [f] F (u)"]);
    check(1_500, prop::collection::vec(any_operation(), 1..4), |plan, operations| {
        plan.put(FILE, &before);
        match plan.call("vine_write", json!({ "file": FILE, "operations": operations })) {
            Err(_) => prop_assert_eq!(&plan.text(FILE), &before, "refused, and nothing has changed"),
            Ok(answer) => {
                let answer: Value = serde_json::from_str(&answer).expect("JSON");
                let verdict = plan.call("vine_read", json!({ "file": FILE, "action": "validate" }));
                prop_assert_eq!(verdict, Ok(format!("Valid — {} task(s).", answer["progress"]["total"])));
                let next = plan.next();
                prop_assert_eq!(&next["progress"], &answer["progress"]);
                for list in ["ready_to_start", "ready_to_complete", "blocked", "needs_expansion"] {
                    prop_assert_eq!(ids(&next[list]), ids(&answer[list]));
                }
                // Text that reads back as decisions takes its place among them once.
                plan.write(json!([{ "op": "update", "id": "r" }]));
                let written = plan.text(FILE);
                plan.write(json!([{ "op": "update", "id": "r" }]));
                prop_assert_eq!(plan.text(FILE), written, "the form is stable");
            }
        }
        Ok(())
    });
}
