//! Questions about a graph: counts, searches, neighbours. A graph comes in, places of nodes go out, in the graph's
//! order.

use super::edges::Edges;
use super::model::{Graph, Node, Status};

/// The counts that a summary shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Tasks and references.
    pub total: usize,
    /// Those that need nothing.
    pub leaves: usize,
    /// Tasks of each status, as in [`Status::ALL`].
    pub by_status: [usize; 6],
}

pub fn summary(graph: &Graph) -> Summary {
    let mut summary = Summary { total: graph.nodes().len(), ..Summary::default() };
    for node in graph.nodes().iter() {
        summary.leaves += usize::from(node.dependencies.is_empty());
        if let Some(status) = node.status() {
            summary.by_status[status as usize] += 1;
        }
    }
    summary
}

/// Nodes whose id, name or description holds the words, whatever their case.
pub fn search<'a>(graph: &'a Graph, query: &str) -> impl Iterator<Item = &'a Node> {
    let query = query.to_lowercase();
    let holds = move |text: &str| text.to_lowercase().contains(&query);
    let nodes = graph.nodes().iter().map(|node| &**node);
    nodes.filter(move |node| [&*node.id, &node.name, &node.description].into_iter().any(&holds))
}

/// Tasks with a status.
pub fn with_status(graph: &Graph, status: Status) -> impl Iterator<Item = &Node> {
    graph.nodes().iter().map(|node| &**node).filter(move |node| node.status() == Some(status))
}

/// Everything that needs a node, by however many steps, in order and without the node itself.
pub fn descendants(edges: &Edges, node: usize, nodes: usize) -> Vec<usize> {
    let mut seen = vec![false; nodes];
    seen[node] = true;
    let mut open = vec![node];
    while let Some(at) = open.pop() {
        for dependant in edges.needed_by(at) {
            if !std::mem::replace(&mut seen[dependant], true) {
                open.push(dependant);
            }
        }
    }
    seen[node] = false;
    (0..nodes).filter(|at| seen[*at]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::super::validate::validate;
    use super::*;

    const PLAN: &str = "vine 1.2.0\n---\n[root] Straße (started)\n-> mid\n-> x/leaf\n---\n[mid] ΟΔΟΣ (blocked)\nline one\nline TWO\n> hidden\n\
                        -> x/leaf\n---\n[x/leaf] Leaf (started)\n---\n";

    fn graph() -> Graph {
        parse(
            &PLAN.replace("---\n[x/leaf] Leaf (started)\n", "-> r\n---\n[x/leaf] Leaf (started)\n---\nref [r] İ (u)\n"),
        )
        .expect("a graph")
    }

    fn check_search(query: &str, expected: &[&str]) {
        let graph = graph();
        let found: Vec<&str> = search(&graph, query).map(|node| &*node.id).collect();
        assert_eq!(found, expected, "{query:?}");
    }

    #[test]
    fn words_are_found_in_names_ids_and_descriptions() {
        check_search("", &["root", "mid", "x/leaf", "r"]);
        check_search("LEAF", &["x/leaf"]);
        check_search("one\nline two", &["mid"]);
        check_search("hidden", &[]);
        check_search("STRASSE", &[]);
        check_search("STRAßE", &["root"]);
        check_search("οδος", &["mid"]);
        check_search("i̇", &["r"]);
        check_search("started", &[]);
    }

    #[test]
    fn everything_is_counted() {
        let graph = graph();
        assert_eq!(summary(&graph), Summary { total: 4, leaves: 2, by_status: [0, 2, 0, 0, 0, 1] });
        let started: Vec<&str> = with_status(&graph, Status::Started).map(|node| &*node.id).collect();
        assert_eq!(started, ["root", "x/leaf"]);
        let edges = validate(&graph).expect("a sound graph");
        assert_eq!(descendants(&edges, 2, 4), [0, 1]);
        assert_eq!(descendants(&edges, 3, 4), [0, 1]);
        assert_eq!(descendants(&edges, 0, 4), [0usize; 0]);
    }
}
