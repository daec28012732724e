//! A file system as plain data: directories that name nodes, and files that are bytes. Nothing here touches a disk.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

/// Which file or directory, whatever its names are.
pub(crate) type NodeId = usize;

/// The directory that everything is in.
pub(crate) const BASE: NodeId = 0;

/// A file or a directory.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    File(Arc<Vec<u8>>),
    Directory(BTreeMap<String, NodeId>),
}

impl Node {
    /// A file without a byte in it.
    pub(crate) fn empty_file() -> Self {
        Self::File(Arc::default())
    }

    pub(crate) fn empty_directory() -> Self {
        Self::Directory(BTreeMap::new())
    }
}

/// A name in a directory.
pub(crate) type Place = (NodeId, String);

/// All files and directories, also those that have no name any more.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    nodes: Vec<Node>,
    /// One number for each node, another one after each write: it stands for the bytes in [`Self::fingerprint`].
    versions: Vec<u64>,
}

impl Default for Image {
    fn default() -> Self {
        Self { nodes: vec![Node::empty_directory()], versions: vec![0] }
    }
}

impl Image {
    /// A node that has no name yet.
    pub(crate) fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        self.versions.push(0);
        self.nodes.len() - 1
    }

    /// How many nodes there are; the next one has this number.
    pub(crate) fn count(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn names(&self, directory: NodeId) -> &BTreeMap<String, NodeId> {
        match &self.nodes[directory] {
            Node::Directory(names) => names,
            Node::File(_) => panic!("node {directory} is a file"),
        }
    }

    pub(crate) fn bytes(&self, file: NodeId) -> &Arc<Vec<u8>> {
        match &self.nodes[file] {
            Node::File(bytes) => bytes,
            Node::Directory(_) => panic!("node {file} is a directory"),
        }
    }

    pub(crate) fn is_directory(&self, node: NodeId) -> bool {
        matches!(self.nodes[node], Node::Directory(_))
    }

    pub(crate) fn at(&self, (directory, name): &Place) -> Option<NodeId> {
        self.names(*directory).get(name).copied()
    }

    /// Lets a name stand for a node, or for none.
    pub(crate) fn put(&mut self, (directory, name): &Place, node: Option<NodeId>) {
        let Node::Directory(names) = &mut self.nodes[*directory] else { panic!("node {directory} is a file") };
        match node {
            Some(node) => names.insert(name.clone(), node),
            None => names.remove(name),
        };
    }

    /// Writes into a file; `version` says what was written, among all writes.
    pub(crate) fn write(&mut self, file: NodeId, offset: usize, bytes: &[u8], version: u64) {
        let Node::File(content) = &mut self.nodes[file] else { panic!("node {file} is a directory") };
        let content = Arc::make_mut(content);
        content.resize(content.len().max(offset + bytes.len()), 0);
        content[offset..offset + bytes.len()].copy_from_slice(bytes);
        self.touch(file, version);
    }

    /// Gives a file another content altogether.
    pub(crate) fn replace(&mut self, file: NodeId, bytes: &Arc<Vec<u8>>, version: u64) {
        self.nodes[file] = Node::File(Arc::clone(bytes));
        self.touch(file, version);
    }

    fn touch(&mut self, file: NodeId, version: u64) {
        let mut hasher = DefaultHasher::new();
        (self.versions[file], version).hash(&mut hasher);
        self.versions[file] = hasher.finish();
    }

    /// Equal for images of one history that hold the same bytes under the same names.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut waiting = vec![BASE];
        while let Some(directory) = waiting.pop() {
            for (name, node) in self.names(directory) {
                (directory, name, node, self.versions[*node]).hash(&mut hasher);
                if self.is_directory(*node) {
                    waiting.push(*node);
                }
            }
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_bytes_make_the_fingerprint() {
        let mut image = Image::default();
        let file = image.add(Node::empty_file());
        let unnamed = image.fingerprint();
        image.write(file, 2, b"ab", 1);
        assert_eq!((image.bytes(file).as_slice(), image.fingerprint()), (&b"\0\0ab"[..], unnamed));
        image.put(&(BASE, "a".into()), Some(file));
        let named = image.fingerprint();
        assert_ne!(named, unnamed);
        image.write(file, 0, b"x", 2);
        assert_ne!(image.fingerprint(), named);
        image.put(&(BASE, "a".into()), None);
        assert_eq!(image.fingerprint(), unnamed);
    }
}
