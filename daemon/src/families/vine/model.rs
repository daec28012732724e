//! What a plan is: a head, and tasks and references in order, the first of which is the root.
//!
//! Nodes are shared between copies of a graph; whoever changes one gets a node of their own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::nodes::Nodes;

/// Longer files are not read.
pub const FILE_LIMIT: u64 = 64 * 1024 * 1024;

/// What separates blocks unless the head says otherwise; it always ends the head.
pub const DELIMITER: &str = "---";

/// What a new plan is written in.
pub const VERSION: &str = "1.2.0";

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    Complete,
    /// Somebody is at it.
    Started,
    /// Done, to be looked at; dependants may begin.
    Reviewing,
    /// To be thought through first.
    Planning,
    /// Nobody has begun.
    NotStarted,
    /// It cannot go on.
    Blocked,
}

impl Status {
    /// In the order in which they are listed to people.
    pub const ALL: [Self; 6] =
        [Self::Complete, Self::Started, Self::Reviewing, Self::Planning, Self::NotStarted, Self::Blocked];

    /// All words, for messages.
    pub const WORDS: &str = "complete, started, reviewing, planning, notstarted, blocked";

    /// As written in a file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Started => "started",
            Self::Reviewing => "reviewing",
            Self::Planning => "planning",
            Self::NotStarted => "notstarted",
            Self::Blocked => "blocked",
        }
    }

    /// Exactly one of the six words.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.word() == word)
    }

    /// Whether tasks that need this one may begin.
    pub fn satisfies(self) -> bool {
        matches!(self, Self::Complete | Self::Reviewing)
    }
}

/// What an attachment is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// It came out of the task.
    Artifact,
    /// It says how to do the task.
    Guidance,
    /// It is needed for the task.
    File,
}

impl Class {
    /// In the order in which a file groups them.
    pub const ALL: [Self; 3] = [Self::Artifact, Self::Guidance, Self::File];

    /// As written in a file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Artifact => "artifact",
            Self::Guidance => "guidance",
            Self::File => "file",
        }
    }

    /// Exactly one of the three words.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.word() == word)
    }
}

/// Something that belongs to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// What it is for.
    pub class: Class,
    /// What it is.
    pub mime: String,
    /// Where it is.
    pub uri: String,
}

/// Keys and their values; only in files, never in answers.
pub type Annotations = BTreeMap<String, Vec<String>>;

/// A task or a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Unique in its graph.
    pub id: Arc<str>,
    /// A single line of text.
    pub name: String,
    /// Lines joined with LF.
    pub description: String,
    /// Ids of what this one needs, in list order.
    pub dependencies: Vec<Arc<str>>,
    /// One line each.
    pub decisions: Vec<String>,
    /// In the header.
    pub annotations: Annotations,
    /// Which of the two.
    pub kind: NodeKind,
}

/// What distinguishes tasks from references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeKind {
    /// A task of this plan: how far it is, and what belongs to it.
    Task { status: Status, attachments: Vec<Attachment> },
    /// Another plan in place of a task, and where that plan is.
    Ref { vine: String },
}

impl Node {
    /// The status of a task; a reference has none.
    pub fn status(&self) -> Option<Status> {
        match &self.kind {
            NodeKind::Task { status, .. } => Some(*status),
            NodeKind::Ref { .. } => None,
        }
    }

    /// Whether another plan stands here.
    pub fn is_ref(&self) -> bool {
        matches!(self.kind, NodeKind::Ref { .. })
    }
}

/// What stands above the blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub version: String,
    /// Empty is not absent.
    pub title: Option<String>,
    pub delimiter: String,
    /// Put before ids when another plan takes this one in; empty is not absent.
    pub prefix: Option<String>,
    /// Lines that mean nothing to us, as spelt, in the order of their lower-cased keys.
    pub others: Vec<(String, String)>,
}

impl Head {
    /// Of a plan that has nothing but a version.
    pub fn new(version: impl Into<String>) -> Self {
        let delimiter = DELIMITER.to_owned();
        Self { version: version.into(), title: None, delimiter, prefix: None, others: Vec::new() }
    }
}

/// Where each id stands.
pub type Index = HashMap<Arc<str>, u32>;

/// A whole plan. Its ids are unique and its index is that of its nodes.
#[derive(Debug, Clone)]
pub struct Graph {
    /// Above the blocks.
    pub head: Arc<Head>,
    nodes: Nodes,
    index: Arc<Index>,
}

impl Graph {
    /// From nodes whose ids are unique.
    pub fn new(head: Arc<Head>, nodes: Nodes) -> Self {
        let index = nodes.iter().zip(0u32..).map(|(node, at)| (Arc::clone(&node.id), at)).collect();
        Self::indexed(head, nodes, Arc::new(index))
    }

    /// From nodes whose index is known already.
    pub(super) fn indexed(head: Arc<Head>, nodes: Nodes, index: Arc<Index>) -> Self {
        Self { head, nodes, index }
    }

    /// In order; the first is the root.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// Where each id stands.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// Where an id stands.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.index.get(id).map(|at| *at as usize)
    }

    /// The node with this id.
    pub fn node(&self, id: &str) -> Option<&Arc<Node>> {
        self.nodes.get(self.position(id)?)
    }
}

impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        self.head == other.head && self.nodes == other.nodes
    }
}
