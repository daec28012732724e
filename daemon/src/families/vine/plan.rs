//! A plan as it is kept in memory: what its bytes say, and what follows from that, computed when it is first asked for.
//!
//! Bytes come in once; the graph, its edges, its soundness and its frontier stay until the file is another one.

use std::sync::{Arc, OnceLock};

use super::edges::Edges;
use super::error::VineError;
use super::frontier::{Frontier, frontier};
use super::model::{Graph, Node};
use super::parse::{ParseError, has_magic, parse};
use super::render::{PreviousRendering, RenderedPlan};
use super::validate::{GraphError, validate};
use crate::disk::FileModel;
use crate::text::hash::{HashCheckpoints, hash_of};

/// What is kept of a file.
#[derive(Debug)]
pub struct Plan {
    graph: Result<Graph, ParseError>,
    /// Lower-case hex SHA-256 of the whole file, and how it came about.
    hash: OnceLock<(String, HashCheckpoints)>,
    /// Of the whole file, in bytes.
    size: usize,
    /// Whether its bytes are UTF-8; if not, a write would destroy some.
    pub is_text: bool,
    /// Whether it begins as a plan does.
    pub has_magic: bool,
    /// If we wrote it: the text, to copy from at the next write.
    written: Option<RenderedPlan>,
    edges: OnceLock<Result<Arc<Edges>, GraphError>>,
    frontier: OnceLock<Arc<Frontier>>,
}

impl Plan {
    /// Of a text that we are about to write, with all that is known about it. It must be what the text reads back as.
    pub fn made(graph: Graph, written: RenderedPlan, edges: Arc<Edges>, frontier: Arc<Frontier>) -> Self {
        Self {
            graph: Ok(graph),
            hash: OnceLock::new(),
            size: written.text.len(),
            is_text: true,
            has_magic: true,
            written: Some(written),
            edges: Ok(edges).into(),
            frontier: frontier.into(),
        }
    }

    /// Lower-case hex SHA-256 of the whole file.
    pub fn hash(&self) -> &str {
        &self.hash.get_or_init(|| HashCheckpoints::of(self.text().as_bytes(), None)).0
    }

    /// The same, where most of the text may be as it was before.
    pub fn hash_after(&self, before: &Self) -> &str {
        let known = before.hash.get().map(|(_, trail)| (before.text().as_bytes(), trail));
        &self.hash.get_or_init(|| HashCheckpoints::of(self.text().as_bytes(), known)).0
    }

    /// The graph, sound or not.
    pub fn graph(&self) -> Result<&Graph, VineError> {
        self.graph.as_ref().map_err(|error| error.clone().into())
    }

    /// The graph with its edges, if it is sound.
    pub fn validated(&self) -> Result<(&Graph, &Arc<Edges>), VineError> {
        let graph = self.graph()?;
        let edges = self.edges.get_or_init(|| validate(graph).map(Arc::new));
        Ok((graph, edges.as_ref().map_err(Clone::clone)?))
    }

    /// What can be done next.
    pub fn frontier(&self) -> Result<(&Graph, &Frontier), VineError> {
        let (graph, edges) = self.validated()?;
        Ok((graph, self.frontier.get_or_init(|| Arc::new(frontier(graph, edges)))))
    }

    /// The text, if we wrote it.
    pub fn text(&self) -> &str {
        self.written.as_ref().map_or("", |written| &written.text)
    }

    /// What a new text can be copied from.
    pub fn before(&self) -> Option<PreviousRendering<'_>> {
        Some(PreviousRendering { graph: self.graph.as_ref().ok()?, written: self.written.as_ref()? })
    }
}

impl FileModel for Plan {
    fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        Self {
            graph: parse(&text),
            hash: (hash_of(bytes), HashCheckpoints::default()).into(),
            size: bytes.len(),
            is_text: str::from_utf8(bytes).is_ok(),
            has_magic: has_magic(&text),
            written: None,
            edges: OnceLock::new(),
            frontier: OnceLock::new(),
        }
    }

    fn memory_bytes(&self) -> usize {
        // Every node has its own texts, a place in the index, and edges to come; the texts are those of the file.
        const NODE_OVERHEAD_BYTES: usize = size_of::<Node>() + 192;
        let nodes = self.graph.as_ref().map_or(0, |graph| graph.nodes().len());
        size_of::<Self>()
            + NODE_OVERHEAD_BYTES * nodes
            + 2 * self.size
            + self.written.as_ref().map_or(0, RenderedPlan::memory_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whatever_it_holds() {
        let plan = Plan::read(b"vine 1.2.0\n---\n[a] N\xff (reviewing)\n");
        assert!(plan.has_magic && !plan.is_text);
        let (graph, frontier) = plan.frontier().expect("a sound plan");
        assert_eq!(graph.nodes()[0].name, "N\u{fffd}");
        assert_eq!(frontier.ready_to_complete, [0]);
        let plan = Plan::read(b"secret");
        assert!(!plan.has_magic && plan.is_text && plan.graph().is_err());
        assert_eq!(Plan::read(b"").hash(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert!(Plan::read(b"vine 1.2.0\n---\n[a] N (reviewing)\n-> b\n").validated().is_err());
    }
}
