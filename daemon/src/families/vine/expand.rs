//! A reference becomes the plan that it stands for. Two graphs come in, the parent with the child in it goes out,
//! together with the order in which its nodes are checked. The ref's own uri is not asked.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::error::VineError;
use super::model::{Graph, Node};
use super::nodes::Nodes;

/// A parent with its child in it.
#[derive(Debug)]
pub struct Expanded {
    /// In the order of the file: the child's nodes stand where the reference stood.
    pub graph: Graph,
    /// Parent's nodes first, then the child's.
    pub order: Vec<usize>,
}

/// Puts the child in the place of the reference.
pub fn expand(parent: &Graph, child: &Graph, ref_id: &str) -> Result<Expanded, VineError> {
    let refused = |words: String| Err(VineError::Operation(words));
    let Some(at) = parent.position(ref_id) else {
        return refused(format!("Task \"{ref_id}\" does not exist in the parent graph."));
    };
    let reference = &parent.nodes()[at];
    if !reference.is_ref() {
        return refused(format!("Task \"{ref_id}\" is not a reference node."));
    }
    let prefix = child.head.prefix.as_deref().unwrap_or(ref_id);
    let renamed: HashMap<&str, Arc<str>> = child
        .nodes()
        .iter()
        .enumerate()
        .map(|(number, node)| {
            let new = match (number, prefix) {
                (0, _) => Arc::clone(&reference.id),
                (_, "") => Arc::clone(&node.id),
                (_, prefix) => format!("{prefix}/{}", node.id).into(),
            };
            (&*node.id, new)
        })
        .collect();
    let new_id = |id: &Arc<str>| renamed.get(&**id).unwrap_or(id).clone();
    let Some(root) = child.nodes().first() else {
        return refused("Child graph root must be a concrete task.".to_owned());
    };
    let others = || child.nodes().from(1);
    if let Some(taken) = others().map(|node| new_id(&node.id)).find(|id| parent.position(id).is_some()) {
        return refused(format!("ID collision: \"{taken}\" already exists in the parent graph."));
    }
    if root.is_ref() {
        return refused("Child graph root must be a concrete task.".to_owned());
    }
    let moved = |node: &Arc<Node>| Node {
        id: new_id(&node.id),
        dependencies: node.dependencies.iter().map(new_id).collect(),
        ..Node::clone(node)
    };
    let mut nodes: Nodes = parent.nodes().iter().take(at).cloned().collect();
    nodes.push(Arc::new(joined(moved(root), reference)));
    others().for_each(|node| nodes.push(Arc::new(moved(node))));
    let inlined = at + 1..nodes.len();
    parent.nodes().from(at + 1).for_each(|node| nodes.push(Arc::clone(node)));
    let order = (0..inlined.start).chain(inlined.end..nodes.len()).chain(inlined).collect();
    Ok(Expanded { graph: Graph::new(Arc::clone(&parent.head), nodes), order })
}

/// The child's root with what the reference needed and decided, too.
fn joined(mut root: Node, reference: &Node) -> Node {
    let mut seen = HashSet::new();
    root.dependencies.extend(reference.dependencies.iter().cloned());
    root.dependencies.retain(|id| seen.insert(Arc::clone(id)));
    root.decisions.extend(reference.decisions.iter().cloned());
    root
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::super::render::render;
    use super::*;

    const PARENT: &str = "vine 1.0.0\ntitle: P\n---\n[root] R (started)\n-> r\n-> z\n---\nref [r] Ref name (x.vine) @own(1)\nref text\n-> z\n> ref why\n---\n[z] Z (complete)\n";
    const CHILD: &str = "vine 1.2.0\ntitle: C\n---\n[top] Top (planning) @k(v)\ntop text\n-> mid\n-> mid\n> top why\n@file a b\n---\n[mid] Mid (blocked)\n-> far\n---\nref [far] Far (./f.vine)\n";

    fn check(parent: &str, child: &str, ref_id: &str, expected: Result<&str, &str>) {
        let (parent, child) = (parse(parent).expect("a parent"), parse(child).expect("a child"));
        let found = expand(&parent, &child, ref_id);
        let found = found.map(|expanded| render(&expanded.graph, None).expect("a text").0.text);
        match (found, expected) {
            (Ok(text), Ok(expected)) => assert_eq!(&*text, expected),
            (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected),
            (found, _) => panic!("{found:?}"),
        }
    }

    fn expanded(prefix: &str) -> String {
        format!(
            "vine 1.0.0\ntitle: P\n---\n[root] R (started)\n-> r\n-> z\n---\n[r] Top (planning) @k(v)\ntop text\n-> {prefix}mid\n-> z\n> top why\n> ref why\n@file a b\n---\n[{prefix}mid] Mid (blocked)\n-> {prefix}far\n---\nref [{prefix}far] Far (./f.vine)\n---\n[z] Z (complete)\n"
        )
    }

    #[test]
    fn the_child_stands_where_the_reference_stood() {
        check(PARENT, CHILD, "r", Ok(&expanded("r/")));
        check(PARENT, &CHILD.replace("title: C", "prefix: q/x"), "r", Ok(&expanded("q/x/")));
        check(PARENT, &CHILD.replace("title: C", "prefix:"), "r", Ok(&expanded("")));
    }

    #[test]
    fn the_parent_s_nodes_are_checked_first() {
        let (parent, child) = (parse(PARENT).expect("a parent"), parse(CHILD).expect("a child"));
        assert_eq!(expand(&parent, &child, "r").expect("a graph").order, [0, 1, 4, 2, 3]);
    }

    #[test]
    fn what_cannot_be_expanded() {
        check(PARENT, CHILD, "no", Err("Task \"no\" does not exist in the parent graph."));
        check(PARENT, CHILD, "z", Err("Task \"z\" is not a reference node."));
        let taken = CHILD.replace("title: C", "prefix:").replace("[far]", "[z]").replace("-> far", "-> z");
        check(PARENT, &taken, "r", Err("ID collision: \"z\" already exists in the parent graph."));
        let own = CHILD.replace("title: C", "prefix:").replace("[far]", "[r]").replace("-> far", "-> r");
        check(PARENT, &own, "r", Err("ID collision: \"r\" already exists in the parent graph."));
        let reference = "vine 1.2.0\n---\nref [top] T (u)\n-> z\n---\n[z] Z (complete)\n";
        check(PARENT, reference, "r", Err("Child graph root must be a concrete task."));
        let both = reference.replacen("---\n", "prefix:\n---\n", 1);
        check(PARENT, &both, "r", Err("ID collision: \"z\" already exists in the parent graph."));
    }
}
