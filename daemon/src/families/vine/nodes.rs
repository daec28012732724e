//! The nodes of a plan, in order, in blocks that copies of the plan share.
//!
//! Whoever changes a node gets a node and a block of their own; all others stay shared. So a change costs the same in
//! a large plan as in a small one.

use std::ops::Index;
use std::sync::Arc;

use super::model::Node;

/// How many nodes stand in a block; only the last one has fewer.
const BLOCK: usize = 64;

/// Nodes in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nodes {
    blocks: Vec<Arc<Vec<Arc<Node>>>>,
}

impl Nodes {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.blocks.last().map_or(0, |last| (self.blocks.len() - 1) * BLOCK + last.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub fn first(&self) -> Option<&Arc<Node>> {
        self.get(0)
    }

    /// The one at this place.
    pub fn get(&self, at: usize) -> Option<&Arc<Node>> {
        self.blocks.get(at / BLOCK)?.get(at % BLOCK)
    }

    /// The one at this place, to put another one there.
    pub fn get_mut(&mut self, at: usize) -> Option<&mut Arc<Node>> {
        Arc::make_mut(self.blocks.get_mut(at / BLOCK)?).get_mut(at % BLOCK)
    }

    /// Puts one behind all others.
    pub fn push(&mut self, node: Arc<Node>) {
        match self.blocks.last_mut().filter(|last| last.len() < BLOCK) {
            Some(last) => Arc::make_mut(last).push(node),
            None => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(node);
                self.blocks.push(Arc::new(block));
            }
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Node>> + Clone {
        self.blocks.iter().flat_map(|block| block.iter())
    }

    /// How many nodes from a place on are the very ones that stand from another place on there.
    pub fn common(&self, from: usize, there: &Self, at: usize) -> usize {
        let mut count = 0;
        while let (Some(here), Some(other)) = (self.rest_of_block(from + count), there.rest_of_block(at + count)) {
            let same = here.iter().zip(other).take_while(|(here, other)| Arc::ptr_eq(here, other)).count();
            count += same;
            if same < here.len().min(other.len()) {
                break;
            }
        }
        count
    }

    fn rest_of_block(&self, at: usize) -> Option<&[Arc<Node>]> {
        self.blocks.get(at / BLOCK)?.get(at % BLOCK..).filter(|rest| !rest.is_empty())
    }

    /// From this place on.
    pub fn from(&self, at: usize) -> impl Iterator<Item = &Arc<Node>> {
        let blocks = self.blocks.get(at / BLOCK..).unwrap_or_default();
        blocks.iter().flat_map(|block| block.iter()).skip(at % BLOCK)
    }
}

impl Index<usize> for Nodes {
    type Output = Arc<Node>;

    fn index(&self, at: usize) -> &Arc<Node> {
        &self.blocks[at / BLOCK][at % BLOCK]
    }
}

impl FromIterator<Arc<Node>> for Nodes {
    fn from_iter<T: IntoIterator<Item = Arc<Node>>>(all: T) -> Self {
        let mut nodes = Self::default();
        all.into_iter().for_each(|node| nodes.push(node));
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{Annotations, NodeKind, Status};
    use super::*;

    fn node(number: usize) -> Arc<Node> {
        Arc::new(Node {
            id: number.to_string().into(),
            name: String::new(),
            description: String::new(),
            dependencies: Vec::new(),
            decisions: Vec::new(),
            annotations: Annotations::new(),
            kind: NodeKind::Task { status: Status::Started, attachments: Vec::new() },
        })
    }

    #[test]
    fn they_stand_in_order_whatever_their_number() {
        for count in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK] {
            let nodes: Nodes = (0..count).map(node).collect();
            assert_eq!((nodes.len(), nodes.is_empty()), (count, count == 0));
            for start in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, count] {
                let numbers = nodes.from(start).map(|node| node.id.to_string());
                assert!(numbers.eq((start..count).map(|number| number.to_string())), "{count} from {start}");
            }
            assert!(nodes.iter().eq(nodes.from(0)));
            assert_eq!(nodes.first().is_some(), count > 0);
            assert_eq!(nodes.get(count), None);
            assert!((0..count).all(|at| *nodes[at].id == at.to_string()));
        }
    }

    #[test]
    fn what_two_have_in_common_is_counted_from_any_place() {
        let old: Nodes = (0..3 * BLOCK).map(node).collect();
        let shifted: Nodes = std::iter::once(node(0)).chain(old.iter().cloned()).collect();
        for start in [0, 1, BLOCK - 1, BLOCK, 3 * BLOCK - 1, 3 * BLOCK] {
            assert_eq!(old.common(start, &old.clone(), start), 3 * BLOCK - start);
            assert_eq!(shifted.common(start + 1, &old, start), 3 * BLOCK - start);
            assert_eq!(shifted.common(start, &old, start), 0);
        }
        let mut new = old.clone();
        *new.get_mut(BLOCK + 5).expect("a node") = node(7);
        assert_eq!((new.common(0, &old, 0), new.common(BLOCK + 6, &old, BLOCK + 6)), (BLOCK + 5, 2 * BLOCK - 6));
    }

    #[test]
    fn a_copy_shares_all_but_what_is_changed() {
        let old: Nodes = (0..3 * BLOCK).map(node).collect();
        let mut new = old.clone();
        *new.get_mut(BLOCK + 1).expect("a node") = node(7);
        new.push(node(8));
        assert_eq!((&*old[BLOCK + 1].id, &*new[BLOCK + 1].id), ("65", "7"));
        assert_eq!((old.len(), new.len()), (3 * BLOCK, 3 * BLOCK + 1));
        assert!(Arc::ptr_eq(&old.blocks[0], &new.blocks[0]) && Arc::ptr_eq(&old.blocks[2], &new.blocks[2]));
        assert!(Arc::ptr_eq(&old[BLOCK], &new[BLOCK]));
    }
}
