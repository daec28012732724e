//! Who needs whom, as numbers: built once per graph, so that every question after that is linear in what it touches.

use super::model::Graph;

/// Edges of a graph all of whose dependencies exist, in both directions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edges {
    needs: Adjacency,
    needed_by: Adjacency,
}

/// A dependency that no node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingTarget {
    pub node: usize,
    /// Which of its list.
    pub which: usize,
}

/// Lists of numbers, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Adjacency {
    /// Where each list ends.
    ends: Vec<u32>,
    items: Vec<u32>,
}

impl Adjacency {
    fn row(&self, at: usize) -> &[u32] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.items[start..self.ends[at] as usize]
    }
}

impl Edges {
    /// Looks every dependency up; the nodes are taken in this order, so that it decides which dangling one is told.
    pub fn of(graph: &Graph, order: impl Iterator<Item = usize>) -> Result<Self, MissingTarget> {
        let nodes = graph.nodes();
        let count: usize = nodes.iter().map(|node| node.dependencies.len()).sum();
        let mut ends: Vec<u32> = Vec::with_capacity(nodes.len());
        let mut end = 0;
        for node in nodes.iter() {
            end += node.dependencies.len();
            ends.push(end as u32);
        }
        let mut items = vec![0; count];
        for node in order {
            let start = ends[node] as usize - nodes[node].dependencies.len();
            for (which, id) in nodes[node].dependencies.iter().enumerate() {
                items[start + which] = *graph.index().get(id).ok_or(MissingTarget { node, which })?;
            }
        }
        let needs = Adjacency { ends, items };
        let needed_by = reversed(&needs, nodes.len());
        Ok(Self { needs, needed_by })
    }

    /// What a node needs, in list order, doubles repeated.
    pub fn needs(&self, node: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        self.needs.row(node).iter().map(|at| *at as usize)
    }

    /// Who needs a node, in node order, once each.
    pub fn needed_by(&self, node: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        self.needed_by.row(node).iter().map(|at| *at as usize)
    }

    /// One of the things that a node needs.
    pub fn nth_need(&self, node: usize, which: usize) -> Option<usize> {
        self.needs.row(node).get(which).map(|at| *at as usize)
    }

    /// About how many bytes it takes.
    pub fn memory_bytes(&self) -> usize {
        let of = |rows: &Adjacency| 4 * (rows.ends.len() + rows.items.len());
        of(&self.needs) + of(&self.needed_by)
    }
}

fn reversed(needs: &Adjacency, nodes: usize) -> Adjacency {
    // The node that was last seen to need each one: a double in its list is not counted again.
    const NOBODY: u32 = u32::MAX;
    let mut last = vec![NOBODY; nodes];
    let mut ends = vec![0u32; nodes];
    let pairs = || (0..nodes).flat_map(|node| needs.row(node).iter().map(move |need| (node as u32, *need as usize)));
    for (node, need) in pairs() {
        if last[need] != node {
            last[need] = node;
            ends[need] += 1;
        }
    }
    let mut end = 0;
    for count in &mut ends {
        end += *count;
        *count = end;
    }
    let mut next: Vec<u32> = std::iter::once(0).chain(ends.iter().copied()).take(nodes).collect();
    let mut items = vec![0; end as usize];
    last.fill(NOBODY);
    for (node, need) in pairs() {
        if last[need] != node {
            last[need] = node;
            items[next[need] as usize] = node;
            next[need] += 1;
        }
    }
    Adjacency { ends, items }
}
