//! The same name in another Unicode form: `が` is one character or two, and looks the same.
//!
//! Files that came from other systems are often spelt in the other form than a caller types. A path
//! that is not there comes in; the one path that is there and reads the same goes out.

use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::{RelativePath, Root};
use crate::families::need::{Links, Unseen};

impl Root {
    /// The path of a file as the disk spells it; as it was given, if nothing there reads the same.
    pub fn spelt(&self, path: &RelativePath, links: Links) -> RelativePath {
        match self.open_file(path, links) {
            Err(Unseen::Missing) => self.respelt(path, links).unwrap_or_else(|| path.clone()),
            _ => path.clone(),
        }
    }

    /// The path as the disk spells it; none if nothing there, or more than one thing, reads the same.
    pub(super) fn respelt(&self, path: &RelativePath, links: Links) -> Option<RelativePath> {
        if path.as_str().is_ascii() {
            return None;
        }
        let mut found: Option<RelativePath> = None;
        for part in path.parts() {
            let entries = self.list(found.as_ref(), links).ok()?;
            let name = the_one(part, entries.iter().map(|entry| entry.name.as_str()))?;
            found = Some(match found {
                Some(parent) => parent.join(name)?,
                None => RelativePath::of_names(name)?,
            });
        }
        found.filter(|found| found != path)
    }
}

fn the_one<'a>(part: &str, names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    if let Some(exact) = names.clone().find(|name| *name == part) {
        return Some(exact);
    }
    let composed = |name: &str| if is_nfc(name) { name.to_owned() } else { name.nfc().collect() };
    let part = composed(part);
    let mut alike = names.filter(|name| !name.is_ascii() && composed(name) == part);
    alike.next().filter(|_| alike.next().is_none())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use super::*;

    fn check(part: &str, names: &[&str], expected: Option<&str>) {
        assert_eq!(the_one(part, names.iter().copied()), expected, "{part} {names:?}");
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
        let root = Root::open(home.path()).expect("the root opens");
        for (text, expected) in [
            ("\u{e9}/\u{304c}.md", Some("e\u{301}/\u{304b}\u{3099}.md")),
            ("\u{e9}/x.md", None),
            ("x/\u{304c}.md", None),
            ("e", None),
            ("e\u{301}/\u{304b}\u{3099}.md", None),
        ] {
            let path = RelativePath::parse(text).expect("a path");
            let found = root.respelt(&path, Links::Never);
            assert_eq!(found.as_ref().map(RelativePath::as_str), expected, "{text}");
            assert_eq!(root.spelt(&path, Links::Never).as_str(), expected.unwrap_or(text));
        }
    }
}
