//! What holds for any plan and any batch of operations, tried with many of both.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::arguments::WriteArgs;
use super::frontier::frontier;
use super::model::{Annotations, Attachment, Class, Graph, Head, Node, NodeKind, Status};
use super::ops::{self, Targets};
use super::parse::parse;
use super::paths::{PlanLookup, PlanSearchPaths};
use super::plan::Plan;
use super::render::render;
use super::validate::validate;
use crate::disk::{Digest, FileModel, FileStamp, LoadedModel, RelativePath, ResolvedPath, TreeLocation};
use crate::families::edit::{Edit, Replacement};
use crate::families::{Answer, Arguments, Body};

/// Where the plan of these tests would be.
fn place() -> (TreeLocation, RelativePath) {
    (TreeLocation::Fixed("/w".into()), RelativePath::from_components("plan.vine").expect("a name"))
}

/// A batch on a plan.
fn write(plan: &Arc<Plan>, operations: &Value) -> Result<(Answer, Edit), String> {
    let given = Map::from_iter([("file".to_owned(), json!("plan")), ("operations".to_owned(), operations.clone())]);
    let args = WriteArgs::parse(&given).map_err(|failure| failure.message)?;
    let search_paths = PlanSearchPaths { directory: Some("/w".into()), host_roots: Vec::new(), lacks_base: false };
    let targets = Targets::of(&args, &search_paths).map_err(|error| error.to_string())?;
    let stamp = FileStamp { device: 0, inode: 0, size: 0, modified_ns: 0, changed_ns: 0 };
    let seen = LoadedModel { model: Arc::clone(plan), digest: Digest::of(b""), stamp };
    let looked = (Some(ResolvedPath { which: 0, file: Ok(place()) }), Some(Ok(seen)));
    let looked = targets.lookup.is_some().then_some(looked);
    ops::write(&targets, looked, false, &args).map_err(|error| error.to_string())
}

/// The plan that an edit leaves in its last file, checked against its own bytes.
fn left(edit: &Edit) -> Arc<Plan> {
    let mut last = None;
    for file in &edit.files {
        let Replacement::Content(bytes, Some(made)) = &file.new else { panic!("bytes and their model") };
        let plan = Arc::clone(&made.model).downcast::<Plan>().expect("a plan");
        let read = Plan::read(bytes);
        assert_eq!(plan.graph().expect("a graph"), read.graph().expect("what we write can be read"));
        assert_eq!(plan.hash(), read.hash());
        let (graph, edges) = plan.validated().expect("a sound plan");
        let fresh = validate(read.graph().expect("a graph")).expect("what we write is sound");
        assert!((0..graph.nodes().len()).all(|at| edges.needed_by(at).eq(fresh.needed_by(at))));
        assert_eq!(plan.frontier().expect("a frontier").1, &frontier(graph, &fresh));
        let copied = render(graph, plan.before()).expect("a text").0;
        assert_eq!(copied.text, render(graph, None).expect("a text").0.text, "copied blocks are the blocks");
        last = Some(plan);
    }
    last.expect("a file")
}

fn line() -> impl Strategy<Value = String> {
    "[a-z(@é\u{10400}][a-z ,()@éß\u{10400}]{0,8}[a-z)]"
}

fn words() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-z][a-z é]{0,6}[a-z]", 0..3)
}

fn annotations() -> impl Strategy<Value = Annotations> {
    prop::collection::btree_map(
        "[a-zA-Z][a-zA-Z0-9]{0,4}",
        prop::collection::vec("[a-z(][a-z (]{0,4}[a-z]", 0..3),
        0..3,
    )
}

fn status() -> impl Strategy<Value = Status> {
    prop::sample::select(Status::ALL.to_vec())
}

fn kind() -> impl Strategy<Value = NodeKind> {
    let attachment = (prop::sample::select(Class::ALL.to_vec()), "[a-z/]{0,4}", "[a-z ][a-z ]{0,4}");
    let attachment = attachment.prop_map(|(class, mime, uri)| Attachment { class, mime, uri });
    // As a file groups them.
    let attachments = prop::collection::vec(attachment, 0..3).prop_map(|mut all| {
        all.sort_by_key(|attachment| attachment.class);
        all
    });
    prop_oneof![
        4 => (status(), attachments).prop_map(|(status, attachments)| NodeKind::Task { status, attachments }),
        1 => "[a-z./()]{1,6}".prop_map(|vine| NodeKind::Ref { vine }),
    ]
}

/// A sound graph in the order of a file: every node but the root is needed by one before it.
fn graph() -> impl Strategy<Value = Graph> {
    let text =
        prop::collection::vec(prop_oneof![Just(String::new()), "[a-z ]{0,4}[a-z-]", Just("  -> x".to_owned())], 0..4);
    let text = text.prop_map(|lines| lines.join("\n"));
    let node =
        (line(), text, words(), annotations(), kind(), prop::collection::vec(any::<prop::sample::Index>(), 1..3));
    let head =
        (prop::option::of("[a-z]{0,4}"), prop::option::of("[a-z]{0,3}"), prop::sample::select(vec!["---", "===", "~"]));
    let others = prop::collection::btree_map("[b-cx-z]{1,3}", "[a-z]{0,3}", 0..3);
    (head, others, prop::collection::vec(node, 1..12)).prop_map(|((title, prefix, delimiter), others, nodes)| {
        let others = others.into_iter().collect();
        let head = Head { title, prefix, delimiter: delimiter.into(), others, ..Head::new("1.2.0") };
        let mut needs: Vec<Vec<Arc<str>>> = vec![Vec::new(); nodes.len()];
        for (at, (.., before)) in nodes.iter().enumerate().skip(1) {
            before.iter().for_each(|before| needs[before.index(at)].push(id(at)));
        }
        let made = nodes.into_iter().zip(needs).enumerate().map(
            |(at, ((name, description, decisions, annotations, kind, _), mut needs))| {
                needs.sort();
                Arc::new(Node { id: id(at), name, description, dependencies: needs, decisions, annotations, kind })
            },
        );
        Graph::new(Arc::new(head), made.collect())
    })
}

fn id(at: usize) -> Arc<str> {
    format!("t/{at}").into()
}

/// Something that a batch may hold, good or bad.
fn operation() -> impl Strategy<Value = Value> {
    let known = || prop_oneof![6 => (0..14usize).prop_map(|at| id(at).to_string()), 1 => "[a-z !]{0,3}"];
    let wild = || prop_oneof![3 => line(), 1 => "[a-z \n>@)(,-]{0,12}", 1 => Just("---".to_owned()), 1 => Just("-> t/1".to_owned())];
    let many = move || prop::collection::vec(wild(), 0..3);
    let class = prop::sample::select(vec!["file", "guidance", "artifact", "other"]);
    let attachments = prop::collection::vec((class, wild(), wild()), 0..3).prop_map(|all| {
        Value::from_iter(all.into_iter().map(|(class, mime, uri)| json!({ "class": class, "mime": mime, "uri": uri })))
    });
    let annotations = move || prop::collection::btree_map("[a-z ]{0,3}", many(), 0..2);
    prop_oneof![
        1 => (known(), wild(), wild(), prop::collection::vec(known(), 0..3), annotations()).prop_map(|(id, name, description, needs, annotations)|
            json!({ "op": "add_task", "id": id, "name": name, "description": description, "dependsOn": needs, "annotations": annotations })),
        1 => known().prop_map(|id| json!({ "op": "remove_task", "id": id })),
        4 => (known(), status()).prop_map(|(id, status)| json!({ "op": "set_status", "id": id, "status": status.word() })),
        2 => (known(), any::<bool>()).prop_map(|(id, exclusive)| json!({ "op": "claim", "id": id, "exclusive": exclusive })),
        2 => (known(), wild(), wild(), many()).prop_map(|(id, name, description, decisions)|
            json!({ "op": "update", "id": id, "name": name, "description": description, "decisions": decisions })),
        1 => (known(), attachments, annotations()).prop_map(|(id, attachments, annotations)|
            json!({ "op": "update", "id": id, "attachments": attachments, "annotations": annotations })),
        3 => (known(), known()).prop_map(|(task, dep)| json!({ "op": "add_dep", "taskId": task, "depId": dep })),
        2 => (known(), known()).prop_map(|(task, dep)| json!({ "op": "remove_dep", "taskId": task, "depId": dep })),
        1 => (known(), wild(), wild(), prop::collection::vec(known(), 0..3)).prop_map(|(id, name, vine, needs)|
            json!({ "op": "add_ref", "id": id, "name": name, "vine": vine, "dependsOn": needs })),
        1 => (known(), wild()).prop_map(|(id, uri)| json!({ "op": "update_ref_uri", "id": id, "uri": uri })),
        1 => (known(), "[a-z./]{1,5}").prop_map(|(id, vine)| json!({ "op": "extract_to_ref", "id": id, "vine": vine })),
    ]
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(graph in graph()) {
        let (written, read_back) = render(&graph, None).expect("a text");
        prop_assert_eq!(&parse(&written.text).expect("a graph"), &read_back);
        prop_assert_eq!(&read_back, &graph);
        prop_assert!(validate(&graph).is_ok());
    }

    #[test]
    fn no_batch_leaves_what_cannot_be_read(graph in graph(), batches in prop::collection::vec(prop::collection::vec(operation(), 1..4), 1..8)) {
        let mut plan = Arc::new(Plan::read(render(&graph, None).expect("a text").0.text.as_bytes()));
        for batch in batches {
            let operations = Value::from(batch);
            if let Ok((answer, edit)) = write(&plan, &operations) {
                let answer = edit.add_deferred_meta(answer);
                plan = left(&edit);
                prop_assert_eq!(&answer.meta["trellis/hash"], &json!(plan.hash()));
            }
        }
    }

    #[test]
    fn any_status_can_be_set_again_and_again(graph in graph(), changes in prop::collection::vec((0..12usize, status()), 1..6)) {
        let mut plan = Arc::new(Plan::read(render(&graph, None).expect("a text").0.text.as_bytes()));
        for (at, status) in changes {
            let operations = json!([{ "op": "set_status", "id": &*id(at), "status": status.word() }]);
            let is_task = plan.graph().expect("a graph").node(&id(at)).is_some_and(|node| !node.is_ref());
            let outcome = write(&plan, &operations);
            prop_assert_eq!(outcome.is_ok(), is_task);
            if let Ok((_, edit)) = outcome {
                plan = left(&edit);
                let graph = plan.graph().expect("a graph");
                prop_assert_eq!(graph.node(&id(at)).and_then(|node| node.status()), Some(status));
            }
        }
    }
}

const PLAN: &str = "vine 1.2.0\ntitle: T\nauthor: me\n---\n[root] R (started)\n-> b\n-> a\n---\n[a] A (notstarted) @k(v)\nwords\n> why\n@file m u\n-> b\n---\n\
                    ref [b] B (b.vine)\n";

/// The batch, and the text that it leaves or the words with which it is refused.
#[track_caller]
fn check(operations: Value, expected: Result<&str, &str>) {
    let plan = Arc::new(Plan::read(PLAN.as_bytes()));
    let outcome = write(&plan, &operations).map(|(_, edit)| left(&edit).text().to_owned());
    let expected = expected.map(str::to_owned).map_err(str::to_owned);
    match (&outcome, &expected) {
        (Err(outcome), Err(expected)) => assert!(outcome.starts_with(expected.as_str()), "{outcome}\n{expected}"),
        _ => assert_eq!(outcome, expected, "{operations}"),
    }
}

const HEAD: &str = "vine 1.2.0\nauthor: me\ntitle: T\n---\n";
const ROOT: &str = "[root] R (started)\n-> a\n-> b\n---\n";
const A: &str = "[a] A (notstarted) @k(v)\nwords\n-> b\n> why\n@file m u\n---\n";
const B: &str = "ref [b] B (b.vine)\n";

#[test]
fn operations_do_what_they_say() {
    let text = |root: &str, a: &str, b: &str| format!("{HEAD}{root}{a}{b}");
    check(
        json!([{ "op": "set_status", "id": "a", "status": "blocked" }]),
        Ok(&text(ROOT, &A.replace("notstarted", "blocked"), B)),
    );
    check(
        json!([{ "op": "claim", "id": "a" }, { "op": "claim", "id": "a" }]),
        Ok(&text(ROOT, &A.replace("notstarted", "started"), B)),
    );
    check(json!([{ "op": "update", "id": "a" }]), Ok(&text(ROOT, A, B)));
    let cleared = json!([{ "op": "update", "id": "a", "name": "N", "description": "", "decisions": [], "attachments": [], "annotations": {} }]);
    check(cleared, Ok(&text(ROOT, "[a] N (notstarted)\n-> b\n---\n", B)));
    let given =
        json!([{ "op": "update", "id": "b", "decisions": ["> x", ""], "annotations": { "z": ["1", "2"], "Y": [] } }]);
    check(given, Ok(&text(ROOT, A, "ref [b] B (b.vine) @Y() @z(1,2)\n> > x\n> \n")));
    check(
        json!([{ "op": "remove_task", "id": "b" }]),
        Ok(&format!("{HEAD}{}{}", ROOT.replace("-> b\n", ""), A.replace("-> b\n", "").trim_end_matches("---\n"))),
    );
    let again = json!([{ "op": "remove_task", "id": "a" }, { "op": "add_task", "id": "a", "name": "New" }, { "op": "add_dep", "taskId": "root", "depId": "a" }]);
    check(again, Ok(&format!("{HEAD}{ROOT}{B}---\n[a] New (notstarted)\n")));
    check(
        json!([{ "op": "remove_dep", "taskId": "root", "depId": "b" }]),
        Ok(&text(&ROOT.replace("-> b\n", ""), A, B)),
    );
    check(json!([{ "op": "update_ref_uri", "id": "b", "uri": "c" }]), Ok(&text(ROOT, A, "ref [b] B (c)\n")));
    let wired = json!([{ "op": "add_task", "id": "c", "name": "C", "dependsOn": ["b", "d"], "status": "planning" }, { "op": "add_ref", "id": "d", "name": "D", "vine": "d", "decisions": ["x"] }, { "op": "add_dep", "taskId": "a", "depId": "c" }]);
    check(
        wired,
        Ok(&format!(
            "{HEAD}{ROOT}{}{B}---\n[c] C (planning)\n-> b\n-> d\n---\nref [d] D (d)\n> x\n",
            A.replace("-> b\n", "-> b\n-> c\n")
        )),
    );
}

#[test]
fn what_cannot_be_done_is_said_in_fixed_words() {
    for (operation, words) in [
        (json!({ "op": "add_task", "id": "a", "name": "x" }), "Task \"a\" already exists."),
        (json!({ "op": "add_ref", "id": "a", "name": "x", "vine": "" }), "Task \"a\" already exists."),
        (json!({ "op": "add_ref", "id": "n", "name": "x", "vine": "" }), "Ref node must have a non-empty vine URI"),
        (json!({ "op": "remove_task", "id": "x" }), "Task not found: x"),
        (json!({ "op": "remove_task", "id": "root" }), "Cannot remove the root task."),
        (json!({ "op": "set_status", "id": "b", "status": "started" }), "Cannot set status on reference node \"b\"."),
        (json!({ "op": "claim", "id": "b" }), "Cannot claim reference node \"b\"."),
        (json!({ "op": "claim", "id": "root", "exclusive": true }), "Task \"root\" is already started."),
        (json!({ "op": "update", "id": "x" }), "Task not found: x"),
        (json!({ "op": "update", "id": "b", "attachments": [] }), "Cannot set attachments on reference node \"b\"."),
        (
            json!({ "op": "update", "id": "a", "attachments": [{ "class": "x", "mime": "", "uri": "" }] }),
            "Task \"a\": unknown attachment class \"x\".",
        ),
        (json!({ "op": "update_ref_uri", "id": "a", "uri": "" }), "updateRefUri can only be called on ref nodes"),
        (json!({ "op": "update_ref_uri", "id": "b", "uri": "" }), "Ref URI must be a non-empty string"),
        (json!({ "op": "add_dep", "taskId": "x", "depId": "y" }), "Task not found: x"),
        (json!({ "op": "add_dep", "taskId": "a", "depId": "y" }), "Task not found: y"),
        (json!({ "op": "add_dep", "taskId": "a", "depId": "b" }), "Task \"a\" already depends on \"b\"."),
        (json!({ "op": "remove_dep", "taskId": "b", "depId": "a" }), "Task \"b\" does not depend on \"a\"."),
        (
            json!({ "op": "add_dep", "taskId": "b", "depId": "root" }),
            "Validation error [no-cycles]: Cycle detected: root → b → root.\nDetails: {",
        ),
        (
            json!({ "op": "add_task", "id": "i", "name": "I" }),
            "Validation error [no-islands]: Found 1 island task(s) not reachable from root: i.",
        ),
        (json!({ "op": "extract_to_ref", "id": "x", "vine": "v" }), "Task not found: x"),
        (json!({ "op": "extract_to_ref", "id": "root", "vine": "v" }), "Cannot extract the root task to a ref."),
        (json!({ "op": "extract_to_ref", "id": "b", "vine": "v" }), "Task \"b\" is already a reference node."),
        (json!({ "op": "extract_to_ref", "id": "a", "vine": "v.txt" }), "Not a .vine file: v.txt"),
        (
            json!({ "op": "extract_to_ref", "id": "a", "vine": "" }),
            "Validation error [ref-uri-required]: Reference node \"a\" must have a non-empty vine URI.",
        ),
        (json!({ "op": "update", "id": "a", "description": "---" }), "Nothing was written: task \"a\""),
    ] {
        check(json!([operation]), Err(words));
    }
    let create = "The \"create\" operation must be the first operation and is handled at the server level.";
    check(json!([{ "op": "claim", "id": "a" }, { "op": "create" }]), Err(create));
    let two =
        json!([{ "op": "extract_to_ref", "id": "a", "vine": "v" }, { "op": "extract_to_ref", "id": "x", "vine": "w" }]);
    check(two, Err("At most one extract_to_ref operation is allowed per batch."));
    check(
        json!([{ "op": "claim", "id": "a" }, { "op": "extract_to_ref", "id": "a", "vine": "v" }]),
        Err("Cannot claim reference node \"a\"."),
    );
}

#[test]
fn a_task_becomes_a_plan_of_its_own() {
    let plan = Arc::new(Plan::read(PLAN.as_bytes()));
    let operations = json!([{ "op": "set_status", "id": "root", "status": "complete" }, { "op": "extract_to_ref", "id": "a", "vine": "sub/a", "refName": "See" }]);
    let (answer, edit) = write(&plan, &operations).expect("an edit");
    assert_eq!(
        left(&edit).text(),
        format!("{HEAD}[root] R (complete)\n-> a\n-> b\n---\nref [a] See (sub/a) @k(v)\n-> b\n---\n{B}")
    );
    let Replacement::Content(child, _) = &edit.files[0].new else { panic!("a new file") };
    assert_eq!(
        String::from_utf8_lossy(child),
        "vine 1.2.0\ntitle: A\n---\n[a] A (notstarted) @k(v)\nwords\n> why\n@file m u\n"
    );
    assert_eq!((&edit.files[0].place, edit.files[0].path.as_str()), (&TreeLocation::Fixed("/w/sub".into()), "a.vine"));
    let Body::Pretty(answer) = answer.body else { panic!("JSON") };
    let answer = answer.value();
    assert_eq!(answer["summary"], "2 operation(s) applied: set \"root\" → complete; extracted \"a\" to ref (sub/a).");
    assert!(answer.get("claimed").is_none());
}

#[test]
fn a_plan_is_made_of_nothing() {
    let none = Arc::new(Plan::read(b""));
    let made =
        |operations: Value| write(&none, &operations).map(|(answer, edit)| (answer, left(&edit).text().to_owned()));
    let (answer, text) = made(json!([{ "op": "create" }, { "op": "add_ref", "id": "x", "name": "X", "vine": "u" }, { "op": "add_dep", "taskId": "r", "depId": "x" }, { "op": "add_task", "id": "r", "name": "R" }, { "op": "claim", "id": "r" }])).expect("a plan");
    assert_eq!(text, "vine 1.2.0\n---\n[r] R (started)\n-> x\n---\nref [x] X (u)\n");
    let Body::Pretty(answer) = answer.body else { panic!("JSON") };
    let answer = answer.value();
    let keys: Vec<&String> = answer.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["summary", "progress", "ready_to_start", "ready_to_complete", "blocked", "needs_expansion"]);
    let refused = |operations: Value| made(operations).expect_err("a refusal");
    assert_eq!(
        refused(json!([{ "op": "create" }])),
        "create requires at least one add_task operation to define the root task."
    );
    let root = json!({ "op": "add_task", "id": "r", "name": "R" });
    assert!(
        refused(json!([{ "op": "create" }, root, { "op": "create" }]))
            .starts_with("The \"create\" operation must be the first")
    );
    let extract = json!({ "op": "extract_to_ref", "id": "r", "vine": "v" });
    assert_eq!(
        refused(json!([{ "op": "create" }, root, extract])),
        "The \"extract_to_ref\" operation is handled at the server level."
    );
    assert!(
        refused(json!([{ "op": "create", "version": "two" }, root]))
            .starts_with("Nothing was written: the head of the file")
    );
    assert_eq!(refused(json!([{ "op": "create" }, root, root])), "Task \"r\" already exists.");
}

#[test]
fn claims_show_the_state_after_the_batch() {
    let plan = Arc::new(Plan::read(PLAN.as_bytes()));
    let operations = json!([{ "op": "claim", "id": "a" }, { "op": "claim", "id": "a" }, { "op": "update", "id": "a", "name": "Late" }]);
    let Body::Pretty(answer) = write(&plan, &operations).expect("an edit").0.body else { panic!("JSON") };
    let answer = answer.value();
    let claimed = answer["claimed"].as_array().expect("a list");
    assert_eq!((claimed.len(), &claimed[0]), (2, &claimed[1]));
    let keys: Vec<&String> = claimed[0].as_object().expect("an object").keys().collect();
    assert_eq!(
        keys,
        [
            "id",
            "kind",
            "shortName",
            "description",
            "dependencies",
            "decisions",
            "status",
            "attachments",
            "resolved_dependencies"
        ]
    );
    assert_eq!(claimed[0]["shortName"], "Late");
    assert_eq!(
        claimed[0]["resolved_dependencies"],
        json!([{ "id": "b", "shortName": "B", "kind": "ref", "vine": "b.vine", "decisions": [] }])
    );
    assert_eq!(answer["summary"], "3 operation(s) applied: claimed \"a\"; claimed \"a\"; updated \"a\".");
    let gone = json!([{ "op": "claim", "id": "a" }, { "op": "remove_task", "id": "a" }]);
    let Body::Pretty(answer) = write(&plan, &gone).expect("an edit").0.body else { panic!("JSON") };
    let answer = answer.value();
    assert_eq!(answer["claimed"], json!([]));
}

#[test]
fn sought_is_told_from_found() {
    let search_paths = PlanSearchPaths { directory: Some("/w".into()), host_roots: Vec::new(), lacks_base: false };
    let error = ops::OpenPlan::of(&PlanLookup::of("plan", &search_paths), (None, None)).expect_err("nothing");
    assert_eq!(error.to_string(), "File not found: plan (resolved to /w/plan)");
}
