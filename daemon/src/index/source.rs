//! What a family says about its files, as the index needs it: documents for its own search, items for recall.

use crate::families::FamilyDescriptor;
use crate::families::facts::{Chunk, DocumentFacts, DocumentSource};
use crate::families::item::{Item, ItemFace};

/// Where the documents and items of a family come from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexSource {
    documents: Option<DocumentSource>,
    items: Option<ItemFace>,
}

/// What is in one file.
#[derive(Debug, Default)]
pub(crate) struct FileFacts {
    /// Empty if the family has no documents.
    pub(crate) document: DocumentFacts,
    pub(crate) items: Vec<Item>,
    /// The chunks of all items, in their order; of the document, if there are no items.
    pub(crate) chunks: Vec<Chunk>,
    /// The first chunk of each item.
    pub(crate) first_chunks: Vec<usize>,
}

impl IndexSource {
    /// None if nothing of a family can be found.
    pub(crate) fn of(family: &FamilyDescriptor) -> Option<Self> {
        let FamilyDescriptor { documents, items, .. } = family;
        (documents.is_some() || items.is_some()).then_some(Self { documents: *documents, items: *items })
    }

    /// Whether a file is looked at, by its path in the tree.
    pub(crate) fn wants(&self, path: &str) -> bool {
        self.documents.is_some_and(|documents| (documents.wanted)(path))
            || self.items.is_some_and(|items| (items.wanted)(path))
    }

    /// Whether a family's own search sees its files.
    pub(crate) fn has_documents(&self) -> bool {
        self.documents.is_some()
    }

    /// The project of a file whose text is gone.
    pub(crate) fn project(&self, path: &str) -> Option<String> {
        self.documents.map(|documents| (documents.facts)(path, "").project)
    }

    pub(crate) fn read(&self, path: &str, bytes: &[u8], text: &str) -> FileFacts {
        let document = self.documents.filter(|documents| (documents.wanted)(path));
        let mut document = document.map(|documents| (documents.facts)(path, text)).unwrap_or_default();
        let face = self.items.filter(|face| (face.wanted)(path) && bytes.len() as u64 <= face.size_limit);
        let mut items = face.map(|face| (face.items)(path, bytes).items).unwrap_or_default();
        let mut chunks = std::mem::take(&mut document.chunks);
        if self.documents.is_some() {
            // A document is one item, and is cut as its own search wants it.
            items.truncate(1);
            if !items.is_empty() && chunks.is_empty() {
                chunks.push(empty_chunk(items[0].span.start));
            }
            return FileFacts { first_chunks: vec![0; items.len()], document, items, chunks };
        }
        let mut first_chunks = Vec::with_capacity(items.len());
        for item in &mut items {
            first_chunks.push(chunks.len());
            chunks.append(&mut item.sections);
            if chunks.len() == first_chunks[first_chunks.len() - 1] {
                chunks.push(empty_chunk(item.span.start));
            }
        }
        FileFacts { document, items, chunks, first_chunks }
    }
}

/// Of an item that has nothing but its name.
fn empty_chunk(at: usize) -> Chunk {
    Chunk { heading: None, content: at..at, boost: 1.0 }
}
