//! Images and real directories: an image is laid out on a disk, and a directory is read into an image.

use std::collections::HashMap;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::image::{BASE, Image, Node, NodeId};

/// Device and inode: by which an open file is recognised.
pub(crate) type FileNumber = (u64, u64);

/// Below the base: what neither recovery nor the user's files depend on.
const NOT_MODELLED: [&str; 5] = ["state/cache", "state/log", "state/config", "state/cookies", "state/socket"];

/// Names, numbers and sizes of what is in a directory of the base, `below` being its path from there. What vanishes
/// meanwhile was not there.
pub(crate) fn list(base: &Path, below: &str) -> Vec<(String, fs::Metadata)> {
    let entries = fs::read_dir(base.join(below)).into_iter().flatten().flatten();
    let entry = |entry: fs::DirEntry| Some((entry.file_name().into_string().ok()?, entry.metadata().ok()?));
    let is_modelled = |(name, metadata): &(String, fs::Metadata)| {
        let path = join(below, name);
        !NOT_MODELLED.contains(&path.as_str()) && (metadata.is_dir() || metadata.is_file())
    };
    entries.filter_map(entry).filter(is_modelled).collect()
}

pub(crate) fn join(below: &str, name: &str) -> String {
    if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") }
}

pub(crate) fn number(metadata: &fs::Metadata) -> FileNumber {
    (metadata.dev(), metadata.ino())
}

/// Reads all that is below a directory, and which file has become which node.
pub(crate) fn scan(base: &Path) -> (Image, HashMap<FileNumber, NodeId>) {
    let mut image = Image::default();
    let mut nodes = HashMap::from([(number(&fs::metadata(base).expect("a directory")), BASE)]);
    let mut waiting = vec![(BASE, String::new())];
    while let Some((directory, below)) = waiting.pop() {
        for (name, metadata) in list(base, &below) {
            let path = join(&below, &name);
            let node = *nodes.entry(number(&metadata)).or_insert_with(|| {
                if metadata.is_dir() {
                    return image.add(Node::empty_directory());
                }
                image.add(Node::File(Arc::new(fs::read(base.join(&path)).expect("a file"))))
            });
            image.put(&(directory, name), Some(node));
            if metadata.is_dir() {
                waiting.push((node, path));
            }
        }
    }
    (image, nodes)
}

/// Makes a directory hold an image and nothing else.
pub(crate) fn materialise(image: &Image, base: &Path) {
    for entry in fs::read_dir(base).expect("a directory").flatten() {
        fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path())).expect("it goes");
    }
    let mut made: HashMap<NodeId, PathBuf> = HashMap::new();
    let mut waiting = vec![(BASE, base.to_owned())];
    while let Some((directory, path)) = waiting.pop() {
        for (name, node) in image.names(directory) {
            let path = path.join(name);
            if image.is_directory(*node) {
                DirBuilder::new().mode(0o700).create(&path).expect("a directory");
                waiting.push((*node, path));
            } else if let Some(first) = made.get(node) {
                fs::hard_link(first, &path).expect("a second name");
            } else {
                fs::write(&path, image.bytes(*node).as_slice()).expect("a file");
                made.insert(*node, path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn an_image_comes_back_with_its_links() {
        let (one, other) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
        fs::create_dir_all(one.path().join("a/b")).expect("directories");
        fs::write(one.path().join("a/b/file"), "text").expect("a file");
        fs::hard_link(one.path().join("a/b/file"), one.path().join("a/second")).expect("a link");
        fs::write(other.path().join("left over"), "").expect("a file");
        materialise(&scan(one.path()).0, other.path());
        let (image, nodes) = scan(other.path());
        assert_eq!(nodes.len(), 4, "the base, two directories and one file");
        let a = image.at(&(BASE, "a".into())).expect("a directory");
        let second = image.at(&(a, "second".into())).expect("a file");
        assert_eq!(image.bytes(second).as_slice(), b"text");
        assert_eq!(image.names(BASE).len(), 1);
    }
}
