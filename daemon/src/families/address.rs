//! Addresses of items: `todo://PROJECT/T001`, read in every spelling and written in one. Text comes in, its parts go
//! out, and the other way round; whether anything is there is not asked here.

use super::FamilyDescriptor;
use super::item::{AddressTarget, ItemFace, ItemKey};
use crate::text::headings::headings;
use crate::text::percent::{decoded, encoded};
use crate::text::slug::slug;

/// Longer ones name nothing.
const MAX_ADDRESS_BYTES: usize = 4096;

/// An address, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub family: &'static str,
    /// Unescaped; empty is the session's own.
    pub project: String,
    pub target: AddressedItem,
}

/// What an address names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressedItem {
    Item {
        key: ItemKey,
        place: Option<ItemPlace>,
    },
    /// No item, but something that can be read.
    Resource,
}

/// A part of an item's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemPlace {
    /// From 1, both included.
    Lines { first: usize, last: usize },
    /// The slug of a heading.
    Heading(String),
}

/// Takes an address apart; none if it is none of ours.
pub fn parse(text: &str, families: &[FamilyDescriptor]) -> Option<Address> {
    let faces = || families.iter().filter_map(|family| Some((family.name, family.items?)));
    if text.len() > MAX_ADDRESS_BYTES {
        return None;
    }
    let aliased = |(name, face): (_, ItemFace)| Some((name, face, text.strip_prefix(face.alias?)?));
    if let Some((name, face, rest)) = faces().find_map(aliased) {
        return split(name, face, "", rest);
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return faces().find_map(|(family, face)| {
            let key = (face.short_form)(text).filter(|key| is_path(&key.path))?;
            Some(Address { family, project: String::new(), target: AddressedItem::Item { key, place: None } })
        });
    };
    let (name, face) = faces().find(|(name, _)| *name == scheme)?;
    let prefix = face.prefix.trim_end_matches('/');
    if !prefix.is_empty() && rest == prefix {
        return Some(Address { family: name, project: String::new(), target: AddressedItem::Resource });
    }
    let rest = rest.strip_prefix(face.prefix)?;
    let (project, rest) = match rest.split_once('/') {
        Some((project, rest)) => (project, rest),
        // A workspace's project by itself.
        None if !prefix.is_empty() && !rest.contains('#') => (rest, ""),
        None => return None,
    };
    split(name, face, project, rest)
}

fn split(family: &'static str, face: ItemFace, project: &str, rest: &str) -> Option<Address> {
    if project.contains(['?', '#']) || rest.contains('?') {
        return None;
    }
    let (path, fragment) = match rest.split_once('#') {
        Some((path, fragment)) => (path, Some(decoded(fragment)?).filter(|fragment| !fragment.is_empty())),
        None => (rest, None),
    };
    let (project, path) = (decoded(project)?, decoded(path)?);
    let is_sound = (project.is_empty() || is_path(&project)) && (path.is_empty() || is_path(&path));
    if !is_sound || fragment.as_ref().is_some_and(|fragment| fragment.chars().any(char::is_control)) {
        return None;
    }
    let target = match (face.target)(&project, &path, fragment.as_deref())? {
        AddressTarget::Resource => AddressedItem::Resource,
        AddressTarget::Item(key, place) => {
            let place = place.as_deref().map(ItemPlace::parse).map_or(Some(None), |place| place.map(Some))?;
            AddressedItem::Item { key, place }
        }
    };
    Some(Address { family, project, target })
}

/// Names joined by slashes, none of which leads elsewhere.
fn is_path(path: &str) -> bool {
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.chars().any(char::is_control);
    path.split('/').all(is_name)
}

/// The one spelling of an item's address.
pub fn written(family: &str, face: &ItemFace, project: &str, key: &ItemKey) -> String {
    let mut address = format!("{family}://{}{}/{}", face.prefix, encoded(project), encoded_path(&key.path));
    if let Some(fragment) = &key.fragment {
        address.push('#');
        address.push_str(&encoded_path(fragment));
    }
    address
}

fn encoded_path(path: &str) -> String {
    path.split('/').map(encoded).collect::<Vec<_>>().join("/")
}

impl ItemPlace {
    /// `L10`, `L10-20`, or the slug of a heading; none for lines that there cannot be.
    fn parse(fragment: &str) -> Option<Self> {
        let number = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| digits.parse::<usize>().ok()).flatten().filter(|line| *line > 0)
        };
        let lines = fragment.strip_prefix('L').filter(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
        let Some(lines) = lines else { return Some(Self::Heading(fragment.to_owned())) };
        let (first, last) = match lines.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(lines)?, number(lines)?),
        };
        (first <= last).then_some(Self::Lines { first, last })
    }
}

/// One heading of a text, as addresses name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineHeading {
    pub slug: String,
    /// From 1 to 6.
    pub level: usize,
    /// Where its line begins, in bytes.
    pub start: usize,
}

/// The headings of a text with their slugs; the second of its name has `-1` at its end.
pub fn outline(text: &str) -> Vec<OutlineHeading> {
    let mut counts = std::collections::HashMap::<String, usize>::new();
    let heading = |heading: crate::text::headings::Heading<'_>| {
        let slug = slug(heading.text, usize::MAX);
        let count = counts.entry(slug.clone()).or_default();
        let numbered = if *count == 0 { slug } else { format!("{slug}-{count}") };
        *count += 1;
        OutlineHeading { slug: numbered, level: heading.level, start: heading.start }
    };
    headings(text).map(heading).collect()
}

/// The part of a text that a place names, in bytes; the slugs of its headings if it has no such part.
pub fn part(text: &str, place: &ItemPlace) -> Result<std::ops::Range<usize>, Vec<String>> {
    let outline = outline(text);
    let slugs = |outline: Vec<OutlineHeading>| {
        outline.into_iter().map(|heading| heading.slug).filter(|slug| !slug.is_empty()).collect()
    };
    match place {
        ItemPlace::Lines { first, last } => {
            let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
            let count = starts.len() - usize::from(text.is_empty() || text.ends_with('\n'));
            if *first > count {
                return Err(slugs(outline));
            }
            Ok(starts[first - 1]..starts.get(*last.min(&count)).copied().unwrap_or(text.len()))
        }
        ItemPlace::Heading(named) => {
            let slug = slug(named, usize::MAX);
            let Some(at) = outline.iter().position(|heading| heading.slug == slug && !slug.is_empty()) else {
                return Err(slugs(outline));
            };
            let end = outline[at + 1..].iter().find(|next| next.level <= outline[at].level);
            Ok(outline[at].start..end.map_or(text.len(), |next| next.start))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::families::all;

    fn item(family: &'static str, project: &str, path: &str, fragment: Option<&str>) -> Address {
        let key = ItemKey { path: path.to_owned(), fragment: fragment.map(str::to_owned) };
        Address { family, project: project.to_owned(), target: AddressedItem::Item { key, place: None } }
    }

    fn face(family: &str) -> ItemFace {
        all().into_iter().find(|known| known.name == family).and_then(|known| known.items).expect("a family with items")
    }

    #[track_caller]
    fn check(text: &str, expected: Address) {
        assert_eq!(parse(text, &all()), Some(expected), "{text}");
    }

    #[test]
    fn every_spelling_is_read() {
        check("vibe://projects/n/tasks/001-a.md", item("vibe", "n", "tasks/001-a.md", None));
        check("vibe://projects/n/tasks/a%2Fb.md", item("vibe", "n", "tasks/a/b.md", None));
        check("vibe://projects/n/status.md", item("vibe", "n", "status.md", None));
        check("vibe://projects/año/notas/x y.md", item("vibe", "año", "notas/x y.md", None));
        check("todo:///T001", item("todo", "", "T001", None));
        check("todo://my%2fapp/adr/001", item("todo", "my/app", "adr/1", None));
        check("todo:///adr/adr-001-x.md", item("todo", "", "adr/1", None));
        check("file://.todo/context/T001.md", item("todo", "", "context/T001", None));
        check("todo://p/task.md#L12", item("todo", "p", "task.md", Some("L12")));
        check("vine://p/plans/a.vine#b/c", item("vine", "p", "plans/a.vine", Some("b/c")));
        check("vault://p/%E8%A8%AD.md", item("vault", "p", "設.md", None));
        check("board://p/task-1-x", item("board", "p", "task-1-x", None));
        check("T001", item("todo", "", "T001", None));
        check("ADR-001", item("todo", "", "adr/1", None));
        check("task-1", item("board", "", "task-1", None));
        for resource in [
            "vibe://projects",
            "vibe://projects/n",
            "todo:///index.md",
            "todo://p/task.md",
            "file://.todo/task.md",
            "vine://spec/brief",
            "vine://spec/full",
        ] {
            let address = parse(resource, &all()).expect("an address");
            assert_eq!(address.target, AddressedItem::Resource, "{resource}");
        }
    }

    #[test]
    fn a_fragment_names_a_part() {
        let place = |text: &str| match parse(text, &all()).expect("an address").target {
            AddressedItem::Item { place, .. } => place,
            AddressedItem::Resource => None,
        };
        assert_eq!(place("vault://p/a.md#next-steps"), Some(ItemPlace::Heading("next-steps".into())));
        assert_eq!(place("vault://p/a.md#L10"), Some(ItemPlace::Lines { first: 10, last: 10 }));
        assert_eq!(place("vault://p/a.md#L10-20"), Some(ItemPlace::Lines { first: 10, last: 20 }));
        assert_eq!(place("vault://p/a.md#l10"), Some(ItemPlace::Heading("l10".into())));
        assert_eq!(place("vault://p/a.md#"), None);
        assert_eq!(place("vault://p/a.md#%E6%AC%A1"), Some(ItemPlace::Heading("次".into())));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "x",
            "T01",
            "http://p/a",
            "vault://p",
            "vault://p/",
            "vault://p//a",
            "vault://p/a/",
            "vault://p/./a",
            "vault://p/../a",
            "vault://p/%2e%2e/a",
            "vault://p/a?b",
            "vault://p/a%",
            "vault://p/a%ff",
            "vault://p/a%0a",
            "vault://p/a.md#L0",
            "vault://p/a.md#L5-2",
            "vault://p/a.md#L5-",
            "todo://p/T001#x",
            "board://p/task-1#x",
            "board://p/a/b",
            "vine://p/a.md",
            "vibe://other/p/a.md",
            "todo://p/adr/1000",
            "vault://../a",
        ] {
            assert_eq!(parse(text, &all()), None, "{text}");
        }
        assert_eq!(parse(&format!("vault://p/{}", "a".repeat(5000)), &all()), None);
    }

    #[test]
    fn a_part_is_a_heading_with_all_below_it_or_lines() {
        let text = "intro\n# A\none\n## Próximo\ntwo\n### Deep\n```\n# no\n```\n## Próximo\nthree\n# B\r\nfour";
        let check = |place: &str, expected: Option<&str>| {
            let place = ItemPlace::parse(place).expect("a place");
            assert_eq!(part(text, &place).ok().map(|range| &text[range]), expected, "{place:?}");
        };
        check("a", Some("# A\none\n## Próximo\ntwo\n### Deep\n```\n# no\n```\n## Próximo\nthree\n"));
        check("próximo", Some("## Próximo\ntwo\n### Deep\n```\n# no\n```\n"));
        check("proximo-1", Some("## Próximo\nthree\n"));
        check("b", Some("# B\r\nfour"));
        check("no", None);
        check("L1", Some("intro\n"));
        check("L3-4", Some("one\n## Próximo\n"));
        check("L12-99", Some("# B\r\nfour"));
        check("L14", None);
        let slugs = part(text, &ItemPlace::Heading("x".into())).expect_err("no such heading");
        assert_eq!(slugs, ["a", "proximo", "deep", "proximo-1", "b"]);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(project in "[^/\\p{Cc}.]([^/\\p{Cc}]{0,8})(/[^/\\p{Cc}.]{1,4})?", names in prop::collection::vec("[^/\\p{Cc}.][^/\\p{Cc}]{0,8}", 1..4), node in "[a-z0-9-]{1,5}(/[a-z0-9-]{1,3})?") {
            let path = names.join("/");
            for (family, key) in [
                ("vault", ItemKey::path(&path)),
                ("vibe", ItemKey::path(format!("{path}.md"))),
                ("vine", ItemKey::path(format!("{path}.vine"))),
                ("vine", ItemKey::within(format!("{path}.vine"), &node)),
                ("board", ItemKey::path(&names[0])),
                ("todo", ItemKey::within("task.md", "L7")),
                ("todo", ItemKey::path("adr/7")),
            ] {
                let address = written(family, &face(family), &project, &key);
                prop_assert!(address.bytes().all(|byte| byte.is_ascii_graphic()));
                let expected = Address { family: all().iter().find(|known| known.name == family).expect("it").name, project: project.clone(), target: AddressedItem::Item { key, place: None } };
                prop_assert_eq!(parse(&address, &all()), Some(expected), "{}", address);
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(vibe|todo|vine|vault|board)://\\PC{0,40}") {
            if let Some(Address { family, project, target: AddressedItem::Item { key, place: None } }) = parse(&text, &all()) {
                let again = parse(&written(family, &face(family), &project, &key), &all());
                prop_assert_eq!(again, Some(Address { family, project, target: AddressedItem::Item { key, place: None } }));
            }
        }
    }
}
