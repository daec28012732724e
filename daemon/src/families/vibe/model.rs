//! What is kept in memory of a document: what it says about itself, its title and its objective; never its body.

use std::borrow::Cow;
use std::mem::size_of;

use super::metadata::DeclaredMetadata;
use super::{sections, status_line};
use crate::disk::FileModel;
use crate::text::front_matter;

/// How far a task can be.
pub const STATUSES: [&str; 4] = ["pending", "in-progress", "done", "blocked"];

/// A document, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// What it says about itself.
    pub said: DeclaredMetadata,
    /// Of its first heading.
    pub title: Option<Box<str>>,
    /// What it wants to achieve.
    pub objective: Box<str>,
    /// Whether it is worth reading for its decisions.
    pub has_decisions: bool,
}

impl FileModel for Document {
    fn read(bytes: &[u8]) -> Self {
        Self::of(&decoded(bytes))
    }

    fn memory_bytes(&self) -> usize {
        let said = &self.said;
        let texts = [&said.kind, &said.status, &said.status_line, &said.owner, &self.title];
        let texts: usize = texts.iter().filter_map(|text| text.as_ref()).map(|text| text.len()).sum();
        let tags: usize = said.tags.iter().map(|tag| tag.len() + size_of::<Box<str>>()).sum();
        size_of::<Self>() + texts + tags + self.objective.len()
    }
}

impl Document {
    /// Reads a text.
    pub fn of(text: &str) -> Self {
        let split = front_matter::split(text);
        let body = &text[split.body..];
        let status_line = status_line::value(text, split.counted).map(|range| &text[range]);
        Self {
            said: DeclaredMetadata::of(split.front.as_ref().map(|front| &front.map), status_line),
            title: sections::title(body).map(Into::into),
            objective: sections::objective(body).into(),
            has_decisions: !sections::decisions(body).is_empty(),
        }
    }
}

/// The text of a file; bytes that are none are U+FFFD.
pub fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The same without a byte order mark, as readers see it.
pub fn shown(bytes: &[u8]) -> String {
    let text = decoded(bytes);
    text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned()
}

/// A text in which every byte stands where it stands in the file: those that are no text are question marks.
pub fn in_place(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => {
            let mut text = String::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                text.push_str(chunk.valid());
                chunk.invalid().iter().for_each(|_| text.push('?'));
            }
            text.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], title: Option<&str>, objective: &str, status: Option<&str>, has_decisions: bool) {
        let document = Document::read(bytes);
        assert_eq!(document.title.as_deref(), title);
        assert_eq!(&*document.objective, objective);
        assert_eq!(document.said.status_line.as_deref(), status);
        assert_eq!(document.has_decisions, has_decisions);
        assert!(document.memory_bytes() >= size_of::<Document>() + objective.len());
    }

    #[test]
    fn any_bytes_give_a_document() {
        check(b"", None, "", None, false);
        check("# Task: Año\n\nStatus: done\n\n## Objetivo\nuno\n".as_bytes(), Some("Año"), "uno", Some("done"), false);
        check(b"\xff\xfe# no\n\xc3# T\nStatus: a\xffb", None, "", Some("a\u{fffd}b"), false);
        check(b"\xef\xbb\xbf# T\r\n## Decisions\r\n- x\r\n", Some("T"), "", None, true);
    }

    #[test]
    fn bytes_keep_their_places() {
        assert_eq!(in_place(b"a\xff\xe3\x81b"), "a???b");
        assert_eq!(in_place("año".as_bytes()), "año");
        assert_eq!(shown(b"\xef\xbb\xbfa\xff\r\n"), "a\u{fffd}\r\n");
    }
}
