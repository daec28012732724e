//! Operations on a graph, one after the other; only what comes out at the end must be sound.
//!
//! A graph and operations come in, another graph goes out or the first thing that cannot be done. The old graph stays
//! as it is: nodes are shared until one is changed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::error::VineError;
use super::model::{Annotations, Attachment, Class, Graph, Head, Index, Node, NodeKind, Status};
use super::nodes::Nodes;
use super::operations::Operation;

/// A graph while it is changed.
#[derive(Debug)]
pub struct GraphDraft {
    head: Arc<Head>,
    /// What was removed is still there, so that all others stay where they are.
    nodes: Nodes,
    removed: HashSet<usize>,
    index: Arc<Index>,
    /// Who needs each id, built when the first node is removed. It may name some who do so no longer.
    needed_by: Option<HashMap<Arc<str>, Vec<u32>>>,
    /// Which nodes may be others.
    changed: Vec<usize>,
    /// Whether nodes, edges and uris are those of the graph it began with.
    same_shape: bool,
}

/// What came out of a draft.
#[derive(Debug)]
pub struct EditedGraph {
    pub graph: Graph,
    /// Which nodes may be others, if nodes, edges and uris are those of the graph it began with.
    pub changed: Option<Vec<usize>>,
}

impl GraphDraft {
    /// Begins with a graph.
    pub fn of(graph: &Graph) -> Self {
        Self {
            head: Arc::clone(&graph.head),
            nodes: graph.nodes().clone(),
            removed: HashSet::new(),
            index: Arc::clone(graph.index()),
            needed_by: None,
            changed: Vec::new(),
            same_shape: true,
        }
    }

    /// Begins with a new graph: the first task that is added anywhere is its root. The rest is still to be applied.
    pub fn created<'a>(
        version: &str,
        operations: &'a [Operation],
    ) -> Result<(Self, impl Iterator<Item = &'a Operation>), VineError> {
        let at = operations.iter().position(|operation| matches!(operation, Operation::AddTask { .. }));
        let none = "create requires at least one add_task operation to define the root task.";
        let at = at.ok_or_else(|| VineError::Operation(none.to_owned()))?;
        let mut draft = Self::of(&Graph::new(Arc::new(Head::new(version)), Nodes::default()));
        draft.apply(&operations[at])?;
        Ok((draft, operations[..at].iter().chain(&operations[at + 1..])))
    }

    /// Applies one operation.
    pub fn apply(&mut self, operation: &Operation) -> Result<(), VineError> {
        match operation {
            Operation::Create { .. } => Err(VineError::Operation(
                "The \"create\" operation must be the first operation and is handled at the server level.".to_owned(),
            )),
            Operation::ExtractToRef { .. } => {
                Err(VineError::Operation("The \"extract_to_ref\" operation is handled at the server level.".to_owned()))
            }
            Operation::AddTask { id, name, status, description, depends_on, annotations } => {
                let kind = NodeKind::Task { status: status.unwrap_or(Status::NotStarted), attachments: Vec::new() };
                let node = new_node((id, name), description.as_deref(), depends_on, &[], annotations.clone(), kind);
                self.append(node)
            }
            Operation::AddRef { id, name, vine, description, depends_on, decisions } => {
                let kind = NodeKind::Ref { vine: vine.clone() };
                let annotations = Annotations::new();
                let node = new_node((id, name), description.as_deref(), depends_on, decisions, annotations, kind);
                self.refuse_known(id)?;
                if vine.is_empty() {
                    return Err(VineError::Operation("Ref node must have a non-empty vine URI".to_owned()));
                }
                self.append(node)
            }
            Operation::RemoveTask { id } => self.remove(id),
            Operation::SetStatus { id, status } => self.set_status(id, *status, "set status on"),
            Operation::Claim { id, exclusive } => self.claim(id, *exclusive),
            Operation::Update { id, name, description, decisions, attachments, annotations } => {
                let node = self.node(id)?;
                if attachments.is_some() && node.is_ref() {
                    return Err(cannot("set attachments on", id));
                }
                let attachments = attachments.as_ref().map(|all| known_attachments(id, all)).transpose()?;
                let node = self.node_mut(id)?;
                replace(&mut node.name, name);
                replace(&mut node.description, description);
                replace(&mut node.decisions, decisions);
                replace(&mut node.annotations, annotations);
                if let (NodeKind::Task { attachments: old, .. }, Some(new)) = (&mut node.kind, attachments) {
                    *old = new;
                }
                Ok(())
            }
            Operation::AddDep { task, dep } => self.add_dependency(task, dep),
            Operation::RemoveDep { task, dep } => self.remove_dependency(task, dep),
            Operation::UpdateRefUri { id, uri } => {
                let words = |words: &str| VineError::Operation(words.to_owned());
                self.same_shape = false;
                match &mut self.node_mut(id)?.kind {
                    NodeKind::Task { .. } => Err(words("updateRefUri can only be called on ref nodes")),
                    NodeKind::Ref { .. } if uri.is_empty() => Err(words("Ref URI must be a non-empty string")),
                    NodeKind::Ref { vine } => {
                        vine.clone_from(uri);
                        Ok(())
                    }
                }
            }
        }
    }

    /// Puts a reference in a task's place, and gives the graph that the task becomes.
    pub fn extract(&mut self, id: &str, vine: &str, ref_name: Option<&str>) -> Result<Graph, VineError> {
        let node = Arc::clone(self.node(id)?);
        if self.position(id)? == 0 {
            return Err(VineError::Operation("Cannot extract the root task to a ref.".to_owned()));
        }
        if node.is_ref() {
            return Err(VineError::Operation(format!("Task \"{id}\" is already a reference node.")));
        }
        let head = Head { title: Some(node.name.clone()), ..Head::new(self.head.version.clone()) };
        let child = Node { dependencies: Vec::new(), ..Node::clone(&node) };
        self.same_shape = false;
        let place = self.node_mut(id)?;
        place.name = ref_name.unwrap_or(&node.name).to_owned();
        place.description = String::new();
        place.decisions = Vec::new();
        place.kind = NodeKind::Ref { vine: vine.to_owned() };
        Ok(Graph::new(Arc::new(head), [Arc::new(child)].into_iter().collect()))
    }

    /// The graph as it is now.
    pub fn finish(self) -> EditedGraph {
        let Self { head, nodes, removed, index, changed, same_shape, .. } = self;
        let graph = match removed.is_empty() {
            true => Graph::indexed(head, nodes, index),
            false => Graph::new(head, left(&nodes, &removed).map(|(_, node)| Arc::clone(node)).collect()),
        };
        EditedGraph { graph, changed: Some(changed).filter(|_| same_shape) }
    }

    fn position(&self, id: &str) -> Result<usize, VineError> {
        self.index.get(id).map(|at| *at as usize).ok_or_else(|| VineError::NoTask(id.to_owned()))
    }

    fn node(&self, id: &str) -> Result<&Arc<Node>, VineError> {
        self.nodes.get(self.position(id)?).ok_or_else(|| VineError::NoTask(id.to_owned()))
    }

    fn node_mut(&mut self, id: &str) -> Result<&mut Node, VineError> {
        let at = self.position(id)?;
        self.changed.push(at);
        self.nodes.get_mut(at).map(Arc::make_mut).ok_or_else(|| VineError::NoTask(id.to_owned()))
    }

    fn refuse_known(&self, id: &str) -> Result<(), VineError> {
        let known = || VineError::Operation(format!("Task \"{id}\" already exists."));
        if self.index.contains_key(id) { Err(known()) } else { Ok(()) }
    }

    fn append(&mut self, node: Node) -> Result<(), VineError> {
        self.refuse_known(&node.id)?;
        let at = u32::try_from(self.nodes.len()).map_err(|_| VineError::Operation("Too many tasks.".to_owned()))?;
        if let Some(needed_by) = &mut self.needed_by {
            node.dependencies.iter().for_each(|id| needed_by.entry(Arc::clone(id)).or_default().push(at));
        }
        Arc::make_mut(&mut self.index).insert(Arc::clone(&node.id), at);
        self.nodes.push(Arc::new(node));
        self.same_shape = false;
        Ok(())
    }

    fn remove(&mut self, id: &str) -> Result<(), VineError> {
        let at = self.position(id)?;
        if at == 0 {
            return Err(VineError::Operation("Cannot remove the root task.".to_owned()));
        }
        self.same_shape = false;
        self.removed.insert(at);
        Arc::make_mut(&mut self.index).remove(id);
        let Self { nodes, removed, .. } = self;
        let needed_by = self.needed_by.get_or_insert_with(|| needed_by(nodes, removed));
        for dependant in needed_by.remove(id).unwrap_or_default() {
            let at = dependant as usize;
            // A double may have named it twice: then there is nothing left to change.
            if removed.contains(&at) || !nodes[at].dependencies.iter().any(|need| &**need == id) {
                continue;
            }
            if let Some(node) = nodes.get_mut(at) {
                Arc::make_mut(node).dependencies.retain(|need| &**need != id);
            }
        }
        Ok(())
    }

    fn set_status(&mut self, id: &str, status: Status, verb: &str) -> Result<(), VineError> {
        if self.node(id)?.is_ref() {
            return Err(cannot(verb, id));
        }
        if let NodeKind::Task { status: old, .. } = &mut self.node_mut(id)?.kind {
            *old = status;
        }
        Ok(())
    }

    fn claim(&mut self, id: &str, exclusive: bool) -> Result<(), VineError> {
        let begun = matches!(self.node(id)?.status(), Some(Status::Started | Status::Reviewing | Status::Complete));
        match self.node(id)?.status().filter(|_| exclusive && begun) {
            Some(status) => Err(VineError::Operation(format!("Task \"{id}\" is already {}.", status.word()))),
            None => self.set_status(id, Status::Started, "claim"),
        }
    }

    fn add_dependency(&mut self, task: &str, dep: &str) -> Result<(), VineError> {
        let (at, need) = (self.position(task)?, Arc::clone(&self.node(dep)?.id));
        if self.node(task)?.dependencies.contains(&need) {
            return Err(VineError::Operation(format!("Task \"{task}\" already depends on \"{dep}\".")));
        }
        if let Some(needed_by) = &mut self.needed_by {
            needed_by.entry(Arc::clone(&need)).or_default().push(at as u32);
        }
        self.same_shape = false;
        self.node_mut(task)?.dependencies.push(need);
        Ok(())
    }

    fn remove_dependency(&mut self, task: &str, dep: &str) -> Result<(), VineError> {
        self.position(task)?;
        self.position(dep)?;
        if !self.node(task)?.dependencies.iter().any(|need| &**need == dep) {
            return Err(VineError::Operation(format!("Task \"{task}\" does not depend on \"{dep}\".")));
        }
        self.same_shape = false;
        self.node_mut(task)?.dependencies.retain(|need| &**need != dep);
        Ok(())
    }
}

/// Those that were not removed, each with its place.
fn left<'a>(nodes: &'a Nodes, removed: &'a HashSet<usize>) -> impl Iterator<Item = (usize, &'a Arc<Node>)> {
    nodes.iter().enumerate().filter(|(at, _)| !removed.contains(at))
}

fn needed_by(nodes: &Nodes, removed: &HashSet<usize>) -> HashMap<Arc<str>, Vec<u32>> {
    let mut all: HashMap<Arc<str>, Vec<u32>> = HashMap::new();
    for (at, node) in left(nodes, removed) {
        for need in &node.dependencies {
            all.entry(Arc::clone(need)).or_default().push(at as u32);
        }
    }
    all
}

fn new_node(
    (id, name): (&str, &str),
    description: Option<&str>,
    depends_on: &[String],
    decisions: &[String],
    annotations: Annotations,
    kind: NodeKind,
) -> Node {
    Node {
        id: id.into(),
        name: name.to_owned(),
        description: description.unwrap_or_default().to_owned(),
        dependencies: depends_on.iter().map(|id| id.as_str().into()).collect(),
        decisions: decisions.to_vec(),
        annotations,
        kind,
    }
}

fn known_attachments(id: &str, all: &[[String; 3]]) -> Result<Vec<Attachment>, VineError> {
    let attachment = |[class, mime, uri]: &[String; 3]| match Class::parse(class) {
        Some(class) => Ok(Attachment { class, mime: mime.clone(), uri: uri.clone() }),
        None => Err(VineError::Operation(format!(
            "Task \"{id}\": unknown attachment class \"{class}\". Valid: artifact, guidance, file"
        ))),
    };
    all.iter().map(attachment).collect()
}

fn replace<T: Clone>(old: &mut T, new: &Option<T>) {
    if let Some(new) = new {
        old.clone_from(new);
    }
}

fn cannot(verb: &str, id: &str) -> VineError {
    VineError::Operation(format!("Cannot {verb} reference node \"{id}\"."))
}
