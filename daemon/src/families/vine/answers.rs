//! What callers get to see of a graph, as JSON whose keys stand in a fixed order. Annotations are never shown.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::edges::Edges;
use super::frontier::{Frontier, Progress};
use super::model::{Attachment, Graph, Node, NodeKind, Status};
use super::query::Summary;

/// All of a task or reference.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeView<'a> {
    id: &'a str,
    kind: &'static str,
    short_name: &'a str,
    description: &'a str,
    #[serde(serialize_with = "texts")]
    dependencies: &'a [Arc<str>],
    decisions: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attachments: Option<Vec<AttachmentView<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vine: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct AttachmentView<'a> {
    class: &'static str,
    mime: &'a str,
    uri: &'a str,
}

pub fn node(node: &Node) -> NodeView<'_> {
    NodeView {
        id: &node.id,
        kind: kind(node),
        short_name: &node.name,
        description: &node.description,
        dependencies: &node.dependencies,
        decisions: &node.decisions,
        status: node.status().map(Status::word),
        attachments: attachments(node),
        vine: vine(node),
    }
}

/// A list of nodes.
pub fn nodes<'a>(all: impl Iterator<Item = &'a Node>) -> Vec<NodeView<'a>> {
    all.map(node).collect()
}

/// A reference, as lists of references show it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RefView<'a> {
    id: &'a str,
    short_name: &'a str,
    vine: &'a str,
    #[serde(serialize_with = "texts")]
    dependencies: &'a [Arc<str>],
}

/// All references among some nodes.
pub fn refs<'a>(all: impl Iterator<Item = &'a Node>) -> Vec<RefView<'a>> {
    let view = |node: &'a Node| {
        let vine = vine(node)?;
        Some(RefView { id: &node.id, short_name: &node.name, vine, dependencies: &node.dependencies })
    };
    all.filter_map(view).collect()
}

/// A node by its id and name.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRef<'a> {
    id: &'a str,
    short_name: &'a str,
}

/// Ids and names.
pub fn names<'a>(all: impl Iterator<Item = &'a Node>) -> Vec<NodeRef<'a>> {
    all.map(|node| NodeRef { id: &node.id, short_name: &node.name }).collect()
}

/// A node with what it needs.
#[derive(Debug, Serialize)]
pub struct WithDependencies<'a> {
    #[serde(flatten)]
    node: NodeView<'a>,
    resolved_dependencies: Vec<DependencyView<'a>>,
}

/// A reference says where it leads before what was decided.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DependencyView<'a> {
    id: &'a str,
    short_name: &'a str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vine: Option<&'a str>,
    decisions: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    attachments: Option<Vec<AttachmentView<'a>>>,
}

/// A node with what it needs.
pub fn with_dependencies<'a>(graph: &'a Graph, one: &'a Node) -> WithDependencies<'a> {
    let known = one.dependencies.iter().filter_map(|id| graph.node(id));
    WithDependencies { node: node(one), resolved_dependencies: known.map(|node| resolved(node)).collect() }
}

fn resolved(node: &Node) -> DependencyView<'_> {
    let (vine, decisions, attachments) = (vine(node), node.decisions.as_slice(), attachments(node));
    let (kind, status) = (kind(node), node.status().map(Status::word));
    DependencyView { id: &node.id, short_name: &node.name, kind, status, vine, decisions, attachments }
}

/// A node with what it needs and who needs it.
#[derive(Debug, Serialize)]
pub struct Context<'a> {
    #[serde(flatten)]
    node: WithDependencies<'a>,
    dependant_tasks: Vec<Dependant<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Dependant<'a> {
    id: &'a str,
    short_name: &'a str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
}

/// A node with what it needs and who needs it.
pub fn context<'a>(graph: &'a Graph, edges: &Edges, at: usize) -> Context<'a> {
    let dependant = |at: usize| {
        let node = &*graph.nodes()[at];
        Dependant { id: &node.id, short_name: &node.name, kind: kind(node), status: node.status().map(Status::word) }
    };
    let dependant_tasks = edges.needed_by(at).map(dependant).collect();
    Context { node: with_dependencies(graph, &graph.nodes()[at]), dependant_tasks }
}

/// What `vine_next` answers.
#[derive(Debug, Serialize)]
pub struct Next<'a> {
    #[serde(flatten)]
    lists: NextLists<'a>,
    progress: Value,
}

/// What `vine_write` answers.
#[derive(Debug, Serialize)]
pub struct WriteView<'a> {
    summary: String,
    progress: Value,
    #[serde(flatten)]
    lists: NextLists<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed: Option<Vec<WithDependencies<'a>>>,
}

#[derive(Debug, Serialize)]
struct NextLists<'a> {
    ready_to_start: Vec<NodeView<'a>>,
    ready_to_complete: Vec<NodeView<'a>>,
    blocked: Vec<NodeView<'a>>,
    needs_expansion: Vec<RefView<'a>>,
}

/// What `vine_next` answers.
pub fn next<'a>(graph: &'a Graph, frontier: &Frontier) -> Next<'a> {
    Next { lists: lists(graph, frontier), progress: progress(graph, frontier) }
}

/// What `vine_write` answers.
pub fn written<'a>(
    summary: String,
    graph: &'a Graph,
    frontier: &Frontier,
    claimed: Option<Vec<WithDependencies<'a>>>,
) -> WriteView<'a> {
    WriteView { summary, progress: progress(graph, frontier), lists: lists(graph, frontier), claimed }
}

fn lists<'a>(graph: &'a Graph, frontier: &Frontier) -> NextLists<'a> {
    let list = |places: &[u32]| nodes(places.iter().map(|at| &*graph.nodes()[*at as usize]));
    NextLists {
        ready_to_start: list(&frontier.ready_to_start),
        ready_to_complete: list(&frontier.ready_to_complete),
        blocked: list(&frontier.blocked),
        needs_expansion: refs(frontier.needs_expansion.iter().map(|at| &*graph.nodes()[*at as usize])),
    }
}

fn progress(graph: &Graph, frontier: &Frontier) -> Value {
    let progress: &Progress = &frontier.progress;
    let root = graph.nodes().first();
    json!({
        "total": progress.total,
        "complete": progress.of(Status::Complete),
        "percentage": progress.percentage(),
        "ready_count": frontier.ready_to_start.len(),
        "root_id": root.map_or("", |root| &*root.id),
        "root_status": root.and_then(|root| root.status()).map_or("ref", Status::word),
        "by_status": {
            "complete": progress.of(Status::Complete),
            "notstarted": progress.of(Status::NotStarted),
            "planning": progress.of(Status::Planning),
            "blocked": progress.of(Status::Blocked),
            "started": progress.of(Status::Started),
            "reviewing": progress.of(Status::Reviewing),
        },
    })
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

fn vine(node: &Node) -> Option<&str> {
    match &node.kind {
        NodeKind::Ref { vine } => Some(vine),
        NodeKind::Task { .. } => None,
    }
}

fn attachments(node: &Node) -> Option<Vec<AttachmentView<'_>>> {
    let NodeKind::Task { attachments, .. } = &node.kind else { return None };
    let views =
        attachments.iter().map(|Attachment { class, mime, uri }| AttachmentView { class: class.word(), mime, uri });
    Some(views.collect())
}

fn texts<S: Serializer>(texts: &[Arc<str>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(texts.iter().map(|text| &**text))
}
