//! Names and comments: one public type for each name, and no doc comment that only repeats one.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{self, Source, none};

/// What ships, and what tests share.
fn documented() -> impl Iterator<Item = Source> {
    let is_documented = |source: &Source| !source.path.starts_with("tests/") || source.is_below("tests/src");
    tree::rust().into_iter().filter(is_documented)
}

/// Doc comments of one line with one or two words.
fn short_comments(text: &str) -> Vec<&str> {
    let words = |line: &str| line.trim_start().strip_prefix("///").map(|words| words.split_whitespace().count());
    let lines: Vec<&str> = text.lines().collect();
    let is_comment =
        |number: Option<usize>| number.and_then(|number| lines.get(number)).is_some_and(|line| words(line).is_some());
    let is_short = |(number, line): &(usize, &&str)| {
        let is_alone = !is_comment(number.checked_sub(1)) && !is_comment(Some(number + 1));
        is_alone && matches!(words(line), Some(1 | 2))
    };
    lines.iter().enumerate().filter(is_short).map(|(_, line)| line.trim()).collect()
}

#[test]
fn a_doc_comment_says_more_than_a_name() {
    let mut findings = Vec::new();
    for source in documented() {
        let short = short_comments(&source.text);
        findings.extend(short.iter().map(|comment| format!("{}: {comment}", source.path)));
    }
    none("a doc comment of one or two words can go", findings);
}

/// The name of a type that is public to any degree, if the line declares one.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(limited) => limited.split_once(')')?.1,
        None => rest,
    };
    let rest = rest.strip_prefix(' ')?;
    let name = ["struct ", "enum ", "trait "].iter().find_map(|word| rest.strip_prefix(word))?;
    name.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}

#[test]
fn a_public_name_has_one_meaning() {
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in
        documented().filter(|source| !source.path.starts_with("tests/") && !source.path.contains("/families/"))
    {
        for name in source.text.lines().filter_map(public_type) {
            places.entry(name.to_owned()).or_default().insert(source.path.clone());
        }
    }
    assert!(places.len() > 50, "there are public types");
    let twice = places.into_iter().filter(|(_, paths)| paths.len() > 1);
    let findings = twice.map(|(name, paths)| format!("{name}: {}", paths.into_iter().collect::<Vec<_>>().join(", ")));
    none("a public type outside of the families has a name of its own", findings.collect());
}

#[test]
fn short_comments_and_public_types_are_found() {
    let text = "/// Whose.\nstruct A;\n    /// For display only.\nb\n/// One\n/// two.\nc\n/// Two words.";
    assert_eq!(short_comments(text), ["/// Whose.", "/// Two words."]);
    assert_eq!(public_type("    pub(crate) struct Edge<T> {"), Some("Edge"));
    assert_eq!(public_type("pub trait Need: Sized {"), Some("Need"));
    assert_eq!(public_type("pub fn structure() {"), None);
    assert_eq!(public_type("struct Private;"), None);
}
