//! What callers get to see of a graph, as JSON whose keys stand in a fixed order. Annotations are never shown.

use serde_json::{Map, Value};

use super::edges::Edges;
use super::frontier::{Frontier, Progress};
use super::model::{Attachment, Graph, Kind, Node, Status};
use super::query::Summary;

/// In the order in which progress is told.
const BY_STATUS: [Status; 6] =
    [Status::Complete, Status::NotStarted, Status::Planning, Status::Blocked, Status::Started, Status::Reviewing];

/// An object under construction.
struct Object(Map<String, Value>);

impl Object {
    fn new(keys: usize) -> Self {
        Self(Map::with_capacity(keys))
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }
}

/// All of a task or reference.
pub fn node(node: &Node) -> Map<String, Value> {
    let object = Object::new(10)
        .with("id", &*node.id)
        .with("kind", kind(node))
        .with("shortName", node.name.as_str())
        .with("description", node.description.as_str())
        .with("dependencies", dependencies(node))
        .with("decisions", decisions(node));
    match &node.kind {
        Kind::Task { status, attachments: all } => {
            object.with("status", status.word()).with("attachments", attachments(all))
        }
        Kind::Ref { vine } => object.with("vine", vine.as_str()),
    }
    .0
}

/// A list of nodes.
pub fn nodes<'a>(all: impl Iterator<Item = &'a Node>) -> Value {
    all.map(|one| Value::Object(node(one))).collect()
}

/// A reference, as lists of references show it.
fn ref_entry(node: &Node) -> Option<Value> {
    let Kind::Ref { vine } = &node.kind else { return None };
    let object = Object::new(4)
        .with("id", &*node.id)
        .with("shortName", node.name.as_str())
        .with("vine", vine.as_str())
        .with("dependencies", dependencies(node));
    Some(Value::Object(object.0))
}

/// All references among some nodes.
pub fn refs<'a>(all: impl Iterator<Item = &'a Node>) -> Value {
    all.filter_map(ref_entry).collect()
}

/// Ids and names.
pub fn names<'a>(all: impl Iterator<Item = &'a Node>) -> Value {
    let name =
        |node: &Node| Value::Object(Object::new(2).with("id", &*node.id).with("shortName", node.name.as_str()).0);
    all.map(name).collect()
}

/// A node with what it needs.
pub fn with_dependencies(graph: &Graph, one: &Node) -> Map<String, Value> {
    let known = one.dependencies.iter().filter_map(|id| graph.node(id));
    let resolved: Value = known.map(|node| resolved(node)).collect();
    Object(node(one)).with("resolved_dependencies", resolved).0
}

/// A node with what it needs and who needs it.
pub fn context(graph: &Graph, edges: &Edges, at: usize) -> Value {
    let dependants: Value = edges.needed_by(at).map(|at| dependant(&graph.nodes()[at])).collect();
    let object = Object(with_dependencies(graph, &graph.nodes()[at])).with("dependant_tasks", dependants);
    Value::Object(object.0)
}

fn resolved(node: &Node) -> Value {
    let object = Object::new(6).with("id", &*node.id).with("shortName", node.name.as_str()).with("kind", kind(node));
    let object = match &node.kind {
        Kind::Task { status, attachments: all } => object
            .with("status", status.word())
            .with("decisions", decisions(node))
            .with("attachments", attachments(all)),
        Kind::Ref { vine } => object.with("vine", vine.as_str()).with("decisions", decisions(node)),
    };
    Value::Object(object.0)
}

fn dependant(node: &Node) -> Value {
    let object = Object::new(4).with("id", &*node.id).with("shortName", node.name.as_str()).with("kind", kind(node));
    let object = match node.status() {
        Some(status) => object.with("status", status.word()),
        None => object,
    };
    Value::Object(object.0)
}

/// What `vine_next` answers.
pub fn next(graph: &Graph, frontier: &Frontier) -> Value {
    let list = |places: &[u32]| nodes(places.iter().map(|at| &*graph.nodes()[*at as usize]));
    let object = Object::new(5)
        .with("ready_to_start", list(&frontier.ready_to_start))
        .with("ready_to_complete", list(&frontier.ready_to_complete))
        .with("blocked", list(&frontier.blocked))
        .with("needs_expansion", refs(frontier.needs_expansion.iter().map(|at| &*graph.nodes()[*at as usize])))
        .with("progress", progress(graph, frontier));
    Value::Object(object.0)
}

/// What `vine_write` answers.
pub fn written(summary: String, graph: &Graph, frontier: &Frontier, claimed: Option<Value>) -> Value {
    let Value::Object(mut next) = next(graph, frontier) else { return Value::Null };
    let mut take = |key: &str| next.remove(key).unwrap_or_default();
    let object = Object::new(7)
        .with("summary", summary)
        .with("progress", take("progress"))
        .with("ready_to_start", take("ready_to_start"))
        .with("ready_to_complete", take("ready_to_complete"))
        .with("blocked", take("blocked"))
        .with("needs_expansion", take("needs_expansion"));
    let object = match claimed {
        Some(claimed) => object.with("claimed", claimed),
        None => object,
    };
    Value::Object(object.0)
}

fn progress(graph: &Graph, frontier: &Frontier) -> Value {
    let progress: &Progress = &frontier.progress;
    let root = graph.nodes().first();
    let by_status =
        BY_STATUS.iter().fold(Object::new(6), |object, status| object.with(status.word(), progress.of(*status)));
    let object = Object::new(7)
        .with("total", progress.total)
        .with("complete", progress.of(Status::Complete))
        .with("percentage", progress.percentage())
        .with("ready_count", frontier.ready_to_start.len())
        .with("root_id", root.map_or("", |root| &*root.id))
        .with("root_status", root.and_then(|root| root.status()).map_or("ref", Status::word))
        .with("by_status", by_status.0);
    Value::Object(object.0)
}

/// A summary for people.
pub fn summary(graph: &Graph, summary: &Summary) -> String {
    let root = graph.nodes().first().map(|root| format!("{} ({})", root.name, root.id)).unwrap_or_default();
    let counts: Vec<String> = Status::ALL
        .iter()
        .map(|status| format!("  {}: {}", status.word(), summary.by_status[*status as usize]))
        .collect();
    let Summary { total, leaves, .. } = summary;
    format!("Root: {root}\nTotal tasks: {total}\nLeaf tasks: {leaves}\n\nStatus breakdown:\n{}", counts.join("\n"))
}

fn kind(node: &Node) -> &'static str {
    if node.is_ref() { "ref" } else { "task" }
}

fn dependencies(node: &Node) -> Value {
    node.dependencies.iter().map(|id| Value::from(&**id)).collect()
}

fn decisions(node: &Node) -> Value {
    node.decisions.iter().map(|decision| Value::from(decision.as_str())).collect()
}

fn attachments(all: &[Attachment]) -> Value {
    let attachment = |Attachment { class, mime, uri }: &Attachment| {
        Value::Object(
            Object::new(3).with("class", class.word()).with("mime", mime.as_str()).with("uri", uri.as_str()).0,
        )
    };
    all.iter().map(attachment).collect()
}
