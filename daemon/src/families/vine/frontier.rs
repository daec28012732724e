//! What can be done next, and how far the plan is: two walks over statuses and edges, no text.

use super::edges::Edges;
use super::model::{Graph, Status};

/// What can be done next, as places in the graph.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontier {
    /// Nobody has begun, and nothing is in the way.
    pub ready_to_start: Vec<u32>,
    /// Somebody already works with what came out.
    pub ready_to_complete: Vec<u32>,
    /// Blocked, though nothing they need is missing.
    pub blocked: Vec<u32>,
    /// References with nothing in the way.
    pub needs_expansion: Vec<u32>,
    /// How far the plan is.
    pub progress: Progress,
    /// Of each node.
    statuses: Vec<Option<Status>>,
}

/// How far a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Tasks and references.
    pub total: usize,
    /// Tasks of each status, as in [`Status::ALL`].
    pub by_status: [usize; 6],
}

impl Progress {
    /// Tasks with a status.
    pub fn of(&self, status: Status) -> usize {
        self.by_status[status as usize]
    }

    /// Of everything, in whole per cent, halves up.
    pub fn percentage(&self) -> u64 {
        match self.total {
            0 => 0,
            // In this order of computing: the products of others differ by one here and there.
            total => ((self.of(Status::Complete) as f64 / total as f64) * 100.0).round() as u64,
        }
    }
}

/// Walks the nodes in order.
pub fn frontier(graph: &Graph, edges: &Edges) -> Frontier {
    of_statuses(graph.nodes().iter().map(|node| node.status()).collect(), edges)
}

/// The same, where only these nodes may have other statuses than before.
pub fn frontier_after(before: &Frontier, graph: &Graph, edges: &Edges, changed: &[usize]) -> Frontier {
    let mut statuses = before.statuses.clone();
    for at in changed {
        statuses[*at] = graph.nodes()[*at].status();
    }
    of_statuses(statuses, edges)
}

fn of_statuses(statuses: Vec<Option<Status>>, edges: &Edges) -> Frontier {
    let satisfied = |node: usize| statuses[node].is_some_and(Status::satisfies);
    let in_use = |node: usize| {
        statuses[node].is_some_and(|status| matches!(status, Status::Started | Status::Reviewing | Status::Complete))
    };
    let mut frontier = Frontier { progress: progress(&statuses), ..Frontier::default() };
    for (node, status) in statuses.iter().enumerate() {
        let list = match status {
            Some(Status::Started | Status::Complete) => continue,
            Some(Status::NotStarted | Status::Planning) => &mut frontier.ready_to_start,
            Some(Status::Blocked) => &mut frontier.blocked,
            Some(Status::Reviewing) if !edges.needed_by(node).any(in_use) => continue,
            Some(Status::Reviewing) => &mut frontier.ready_to_complete,
            None => &mut frontier.needs_expansion,
        };
        if edges.needs(node).all(satisfied) {
            list.push(node as u32);
        }
    }
    // Nobody needs the root, so it is only ready when everything else is.
    if statuses.first() == Some(&Some(Status::Reviewing)) && (1..statuses.len()).all(satisfied) {
        frontier.ready_to_complete.push(0);
    }
    Frontier { statuses, ..frontier }
}

fn progress(statuses: &[Option<Status>]) -> Progress {
    let mut by_status = [0; 6];
    for status in statuses.iter().flatten() {
        by_status[*status as usize] += 1;
    }
    Progress { total: statuses.len(), by_status }
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::super::validate::validate;
    use super::*;

    /// Blocks as `a status: b c`, a reference as `a ref: b`; the four lists and nothing between.
    fn check(blocks: &[&str], expected: [&[&str]; 4]) {
        let block = |block: &&str| {
            let (header, needs) = block.split_once(':').expect("a header");
            let (id, status) = header.split_once(' ').expect("a status");
            let header = match status {
                "ref" => format!("ref [{id}] N (u)\n"),
                status => format!("[{id}] N ({status})\n"),
            };
            needs.split_whitespace().fold(header, |text, need| format!("{text}-> {need}\n"))
        };
        let text: Vec<String> = blocks.iter().map(block).collect();
        let graph = parse(&format!("vine 1.2.0\n---\n{}", text.join("---\n"))).expect("a graph");
        let edges = validate(&graph).expect("a sound graph");
        let found = frontier(&graph, &edges);
        let ids = |list: &[u32]| list.iter().map(|at| graph.nodes()[*at as usize].id.to_string()).collect::<Vec<_>>();
        let found =
            [&found.ready_to_start, &found.ready_to_complete, &found.blocked, &found.needs_expansion].map(|l| ids(l));
        assert_eq!(
            found,
            expected.map(|list| list.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>()),
            "{blocks:?}"
        );
    }

    #[test]
    fn nodes_go_where_their_status_says() {
        check(
            &[
                "r notstarted: a b c d e x",
                "a complete:",
                "b reviewing: a",
                "c blocked: b",
                "d planning: b",
                "e started: a",
                "x ref: a",
            ],
            [&["d"], &[], &["c"], &["x"]],
        );
        check(&["r started: b", "b reviewing: a", "a planning:"], [&["a"], &[], &[], &[]]);
        check(&["r started: b", "b reviewing:"], [&[], &["b"], &[], &[]]);
        check(&["r notstarted: b", "b reviewing:"], [&["r"], &[], &[], &[]]);
        check(&["r ref: b", "b reviewing:"], [&[], &[], &[], &["r"]]);
        check(&["r blocked: x", "x ref:"], [&[], &[], &[], &["x"]]);
    }

    #[test]
    fn the_root_comes_last() {
        check(&["r reviewing:"], [&[], &["r"], &[], &[]]);
        check(&["r reviewing: a b", "a complete:", "b reviewing:"], [&[], &["b", "r"], &[], &[]]);
        check(&["r reviewing: a x", "a complete:", "x ref:"], [&[], &[], &[], &["x"]]);
        check(&["r complete: a", "a complete:"], [&[], &[], &[], &[]]);
    }

    #[test]
    fn percentages_are_computed_in_one_order() {
        for (complete, total, expected) in
            [(29, 200, 14), (57, 200, 28), (23, 40, 57), (1, 8, 13), (199, 200, 100), (0, 3, 0), (1, 3, 33), (2, 3, 67)]
        {
            let progress = Progress { total, by_status: [complete, 0, 0, 0, 0, 0] };
            assert_eq!(progress.percentage(), expected, "{complete}/{total}");
        }
    }
}
