//! A path proven to stay below its root: relative, no `..`, no NUL, no empty part.
//!
//! Files that came from other systems are often spelt in another Unicode form than a caller types: `が` is one character
//! or two, and looks the same. A path that is not there comes in; the one path that is there and reads the same goes out.

use std::fmt;
use std::path::Path;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::{ReadError, RootDir, SymlinkPolicy};

/// A relative path whose parts are all plain names. It cannot say where a link leads: that is for
/// the opening to refuse.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelativePath(String);

/// Why a text is not such a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing is left of it.
    #[error("the path is empty")]
    Empty,
    /// It begins at the root of the file system, or at a drive.
    #[error("the path must be relative")]
    Absolute,
    /// It goes up.
    #[error("the path must not contain `..`")]
    Parent,
    /// It holds a NUL.
    #[error("the path must not contain a NUL character")]
    Nul,
    /// It is over the limit.
    #[error("the path is longer than {0} bytes")]
    TooLong(usize),
}

impl RelativePath {
    /// Longer paths are refused.
    pub const MAX_BYTES: usize = 1024;

    /// Takes `./a//b.md` or `a\b.md` for `a/b.md`; refuses what could lead anywhere else.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let text = text.trim();
        if text.len() > Self::MAX_BYTES {
            return Err(PathError::TooLong(Self::MAX_BYTES));
        }
        if text.contains('\0') {
            return Err(PathError::Nul);
        }
        let text = text.replace('\\', "/");
        let drive = text.as_bytes().get(..2).is_some_and(|head| head[0].is_ascii_alphabetic() && head[1] == b':');
        if text.starts_with('/') || drive {
            return Err(PathError::Absolute);
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") {
            return Err(PathError::Parent);
        }
        if parts.is_empty() {
            return Err(PathError::Empty);
        }
        Ok(Self(parts.join("/")))
    }

    /// Names that are there or are to be, joined with `/`, just as they are; none if one of them is no plain one.
    pub fn from_components(names: &str) -> Option<Self> {
        let plain = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('\0');
        names.split('/').all(plain).then(|| Self(names.to_owned()))
    }

    /// The entry with this name; none if the name is no plain one or the path becomes too long.
    pub fn join(&self, name: &str) -> Option<Self> {
        let plain = !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']);
        (plain && self.0.len() + 1 + name.len() <= Self::MAX_BYTES).then(|| Self(format!("{}/{name}", self.0)))
    }

    /// The other path, seen from where this one begins.
    pub fn join_path(&self, other: &Self) -> Self {
        Self(format!("{}/{}", self.0, other.0))
    }

    /// Joined with `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// For the system.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// The names on the way, the last one included.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// The directories on the way, outermost first; `None` is where the path begins.
    pub fn ancestors(&self) -> impl Iterator<Item = Option<Self>> {
        let ends = self.0.match_indices('/').map(|(end, _)| Some(Self(self.0[..end].to_owned())));
        std::iter::once(None).chain(ends)
    }

    /// The directories on the way, and the last name.
    pub fn split_parent(&self) -> (impl Iterator<Item = &str>, &str) {
        let (way, name) = match self.0.rsplit_once('/') {
            Some((way, name)) => (Some(way), name),
            None => (None, self.0.as_str()),
        };
        (way.into_iter().flat_map(|way| way.split('/')), name)
    }
}

impl fmt::Display for RelativePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl RootDir {
    /// The path of a file as the disk spells it; as it was given, if nothing there reads the same.
    pub fn on_disk_name(&self, path: &RelativePath, links: SymlinkPolicy) -> RelativePath {
        match self.open_file(path, links) {
            Err(ReadError::Missing) => self.find_equivalent_name(path, links).unwrap_or_else(|| path.clone()),
            _ => path.clone(),
        }
    }

    /// The path as the disk spells it; none if nothing there, or more than one thing, reads the same.
    pub(super) fn find_equivalent_name(&self, path: &RelativePath, links: SymlinkPolicy) -> Option<RelativePath> {
        if path.as_str().is_ascii() {
            return None;
        }
        let mut found: Option<RelativePath> = None;
        for part in path.parts() {
            let entries = self.list(found.as_ref(), links).ok()?;
            let name = unique_match(part, entries.iter().map(|entry| entry.name.as_str()))?;
            found = Some(match found {
                Some(parent) => parent.join(name)?,
                None => RelativePath::from_components(name)?,
            });
        }
        found.filter(|found| found != path)
    }
}

fn unique_match<'a>(part: &str, names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    if let Some(exact) = names.clone().find(|name| *name == part) {
        return Some(exact);
    }
    let composed = |name: &str| if is_nfc(name) { name.to_owned() } else { name.nfc().collect() };
    let part = composed(part);
    let mut alike = names.filter(|name| !name.is_ascii() && composed(name) == part);
    alike.next().filter(|_| alike.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, PathError>) {
        assert_eq!(
            RelativePath::parse(text).as_ref().map(RelativePath::as_str),
            expected.as_ref().copied(),
            "{text:?}"
        );
    }

    #[test]
    fn paths_are_normalised_or_refused() {
        check("./a//b.md", Ok("a/b.md"));
        check("  a\\b.md ", Ok("a/b.md"));
        check("メモ/あ.md", Ok("メモ/あ.md"));
        check("a/..b", Ok("a/..b"));
        for (text, error) in [
            ("", PathError::Empty),
            (" \t", PathError::Empty),
            ("./.", PathError::Empty),
            ("/etc/passwd", PathError::Absolute),
            ("\\\\server\\x", PathError::Absolute),
            ("c:/x", PathError::Absolute),
            ("C:x", PathError::Absolute),
            ("../x", PathError::Parent),
            ("a/../b", PathError::Parent),
            ("a\\..\\b", PathError::Parent),
            ("a\0b", PathError::Nul),
        ] {
            check(text, Err(error));
        }
        check(&"x".repeat(1025), Err(PathError::TooLong(1024)));
    }

    #[test]
    fn names_of_others_are_taken_as_they_are() {
        for names in ["a", " a /b", "a\\b/c:", "..."] {
            assert_eq!(RelativePath::from_components(names).as_ref().map(RelativePath::as_str), Some(names));
        }
        for names in ["", "/a", "a//b", "a/", "a/../b", ".", "a\0"] {
            assert_eq!(RelativePath::from_components(names), None, "{names:?}");
        }
    }

    #[test]
    fn a_path_is_a_way_and_a_name() {
        for (text, way, name) in [("a", vec![], "a"), ("a/b/c.md", vec!["a", "b"], "c.md")] {
            let path = RelativePath::parse(text).expect("a path");
            let (parts, last) = path.split_parent();
            assert_eq!((parts.collect::<Vec<_>>(), last), (way, name));
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod name_tests {
    use super::*;

    fn check(part: &str, names: &[&str], expected: Option<&str>) {
        assert_eq!(unique_match(part, names.iter().copied()), expected, "{part} {names:?}");
    }

    #[test]
    fn a_name_is_found_in_its_other_form_when_there_is_one() {
        let (one, two) = ("\u{304c}", "\u{304b}\u{3099}");
        check(one, &["a", two], Some(two));
        check(two, &[one, "a"], Some(one));
        check(one, &[two, one], Some(one));
        check("a", &["b"], None);
        // Three spellings, none of them the one asked for: no guess.
        let (asked, others) = ("\u{1ed9}", ["o\u{323}\u{302}", "o\u{302}\u{323}"]);
        check(asked, &others[..1], Some(others[0]));
        check(asked, &others, None);
    }

    #[test]
    fn a_path_is_found_part_by_part() {
        let home = tempfile::TempDir::new().expect("a temporary directory");
        std::fs::create_dir(home.path().join("e\u{301}")).expect("a directory");
        std::fs::write(home.path().join("e\u{301}/\u{304b}\u{3099}.md"), "").expect("a file");
        let root = RootDir::open(home.path()).expect("the root opens");
        for (text, expected) in [
            ("\u{e9}/\u{304c}.md", Some("e\u{301}/\u{304b}\u{3099}.md")),
            ("\u{e9}/x.md", None),
            ("x/\u{304c}.md", None),
            ("e", None),
            ("e\u{301}/\u{304b}\u{3099}.md", None),
        ] {
            let path = RelativePath::parse(text).expect("a path");
            let found = root.find_equivalent_name(&path, SymlinkPolicy::Refuse);
            assert_eq!(found.as_ref().map(RelativePath::as_str), expected, "{text}");
            assert_eq!(root.on_disk_name(&path, SymlinkPolicy::Refuse).as_str(), expected.unwrap_or(text));
        }
    }
}
