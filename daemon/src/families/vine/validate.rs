//! Whether a graph is sound: every dependency exists, nothing goes round in a circle, everything is reached from the
//! root. The first violation is told; nothing here recurses, so that a chain may be as deep as it likes.

use serde_json::{Value, json};

use super::edges::{Edges, MissingTarget};
use super::model::{Graph, NodeKind};

/// Why a graph is not sound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// There is nothing in it.
    #[error("Graph must contain at least one task.")]
    Empty,
    /// A dependency that nobody is.
    #[error("Task \"{task}\" references unknown dependency \"{missing}\".")]
    UnknownDependency { task: String, missing: String },
    /// Somebody needs themselves in the end.
    #[error("Cycle detected: {} → {}.", .0.join(" → "), .0.first().map_or("", String::as_str))]
    Cycle(Vec<String>),
    /// Nobody needs them.
    #[error("Found {} island task(s) not reachable from root: {}.", .0.len(), .0.join(", "))]
    Islands(Vec<String>),
    /// A reference to nothing.
    #[error("Reference node \"{0}\" must have a non-empty vine URI.")]
    NoUri(String),
}

impl GraphError {
    /// The name of the rule.
    pub fn constraint(&self) -> &'static str {
        match self {
            Self::Empty => "at-least-one-task",
            Self::UnknownDependency { .. } => "valid-dependency-refs",
            Self::Cycle(_) => "no-cycles",
            Self::Islands(_) => "no-islands",
            Self::NoUri(_) => "ref-uri-required",
        }
    }

    /// The rule and who broke it, for programs.
    pub fn details(&self) -> Value {
        let constraint = self.constraint();
        match self {
            Self::Empty => json!({ "constraint": constraint }),
            Self::UnknownDependency { task, missing } => {
                json!({ "constraint": constraint, "taskId": task, "missingDep": missing })
            }
            Self::Cycle(cycle) => json!({ "constraint": constraint, "cycle": cycle }),
            Self::Islands(ids) => json!({ "constraint": constraint, "islandTaskIds": ids }),
            Self::NoUri(id) => json!({ "constraint": constraint, "taskId": id }),
        }
    }
}

/// Checks a graph whose nodes are taken in their own order.
pub fn validate(graph: &Graph) -> Result<Edges, GraphError> {
    let order: Vec<usize> = (0..graph.nodes().len()).collect();
    validate_in(graph, &order)
}

/// Checks a graph whose nodes are taken in another order than the file's.
pub fn validate_in(graph: &Graph, order: &[usize]) -> Result<Edges, GraphError> {
    let nodes = graph.nodes();
    let id = |at: usize| nodes[at].id.to_string();
    if nodes.is_empty() {
        return Err(GraphError::Empty);
    }
    let unknown = |MissingTarget { node, which }| GraphError::UnknownDependency {
        task: id(node),
        missing: nodes[node].dependencies[which].to_string(),
    };
    let edges = Edges::of(graph, order.iter().copied()).map_err(unknown)?;
    if let Some(cycle) = cycle(&edges, order) {
        return Err(GraphError::Cycle(cycle.into_iter().map(id).collect()));
    }
    let reached = reached(&edges, nodes.len());
    let islands: Vec<String> = order.iter().filter(|at| !reached[**at]).map(|at| id(*at)).collect();
    if !islands.is_empty() {
        return Err(GraphError::Islands(islands));
    }
    let no_uri = |at: &&usize| matches!(&nodes[**at].kind, NodeKind::Ref { vine } if vine.is_empty());
    match order.iter().find(no_uri) {
        Some(at) => Err(GraphError::NoUri(id(*at))),
        None => Ok(edges),
    }
}

/// How far the search has come with a node.
#[derive(Clone, Copy, PartialEq)]
enum VisitState {
    New,
    OnPath,
    Done,
}

/// The first circle that a search in depth meets: the path from the node that came twice.
fn cycle(edges: &Edges, order: &[usize]) -> Option<Vec<usize>> {
    let mut marks = vec![VisitState::New; order.len()];
    // The path so far, each node with how many of its dependencies were visited.
    let mut path: Vec<(usize, usize)> = Vec::new();
    for &start in order {
        if marks[start] != VisitState::New {
            continue;
        }
        marks[start] = VisitState::OnPath;
        path.push((start, 0));
        while let Some((node, visited)) = path.last_mut() {
            let (at, need) = (*node, edges.nth_need(*node, *visited));
            *visited += 1;
            match need {
                None => {
                    marks[at] = VisitState::Done;
                    path.pop();
                }
                Some(need) => match marks[need] {
                    VisitState::Done => {}
                    VisitState::New => {
                        marks[need] = VisitState::OnPath;
                        path.push((need, 0));
                    }
                    VisitState::OnPath => {
                        let nodes = path.iter().map(|(node, _)| *node);
                        return Some(nodes.skip_while(|node| *node != need).collect());
                    }
                },
            }
        }
    }
    None
}

/// Which nodes the first one needs, by however many steps.
fn reached(edges: &Edges, nodes: usize) -> Vec<bool> {
    let mut reached = vec![false; nodes];
    reached[0] = true;
    let mut open = vec![0];
    while let Some(node) = open.pop() {
        for need in edges.needs(node) {
            if !std::mem::replace(&mut reached[need], true) {
                open.push(need);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    /// Blocks as `a: b c`, a reference as `*a: b`.
    fn graph(blocks: &[&str]) -> Graph {
        let mut text = "vine 1.2.0\n---\n".to_owned();
        for (number, block) in blocks.iter().enumerate() {
            let (id, needs) = block.split_once(':').expect("an id and its needs");
            let header = match id.strip_prefix('*') {
                Some(id) => format!("ref [{id}] N (u)\n"),
                None => format!("[{id}] N (started)\n"),
            };
            if number > 0 {
                text.push_str("---\n");
            }
            text.push_str(&header);
            needs.split_whitespace().for_each(|need| text.push_str(&format!("-> {need}\n")));
        }
        parse(&text).expect("a graph")
    }

    fn check(blocks: &[&str], message: &str, details: &str) {
        let invalid = validate(&graph(blocks)).expect_err("a violation");
        assert_eq!((invalid.to_string().as_str(), invalid.details().to_string().as_str()), (message, details));
    }

    #[test]
    fn the_first_violation_is_told() {
        check(
            &["a: b", "b: y x", "c: z"],
            "Task \"b\" references unknown dependency \"y\".",
            r#"{"constraint":"valid-dependency-refs","taskId":"b","missingDep":"y"}"#,
        );
        check(&["r: r"], "Cycle detected: r → r.", r#"{"constraint":"no-cycles","cycle":["r"]}"#);
        check(
            &["r: x a", "x:", "a: b", "b: c", "c: x a"],
            "Cycle detected: a → b → c → a.",
            r#"{"constraint":"no-cycles","cycle":["a","b","c"]}"#,
        );
        check(
            &["r: a", "*y:", "a:", "x: a"],
            "Found 2 island task(s) not reachable from root: y, x.",
            r#"{"constraint":"no-islands","islandTaskIds":["y","x"]}"#,
        );
        validate(&graph(&["r: a b a", "a: b", "*b:"])).expect("a sound graph");
    }

    #[test]
    fn a_deep_chain_is_no_problem() {
        const DEPTH: usize = 100_000;
        let mut text = "vine 1.2.0\n---\n".to_owned();
        for number in 0..DEPTH - 1 {
            text.push_str(&format!("[t{number}] N (started)\n-> t{}\n---\n", number + 1));
        }
        let last = DEPTH - 1;
        let sound = format!("{text}[t{last}] N (started)\n");
        validate(&parse(&sound).expect("a graph")).expect("a sound graph");
        let round = format!("{text}[t{last}] N (started)\n-> t0\n");
        let Err(GraphError::Cycle(cycle)) = validate(&parse(&round).expect("a graph")) else { panic!("a circle") };
        assert_eq!(cycle.len(), DEPTH);
    }

    #[test]
    fn edges_go_both_ways() {
        let graph = graph(&["r: a b a", "a: b", "b:"]);
        let edges = validate(&graph).expect("a sound graph");
        assert_eq!(edges.needs(0).collect::<Vec<_>>(), [1, 2, 1]);
        assert_eq!(edges.needed_by(1).collect::<Vec<_>>(), [0]);
        assert_eq!(edges.needed_by(2).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(edges.needed_by(0).count(), 0);
    }
}
