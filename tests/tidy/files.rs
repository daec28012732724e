//! How a file begins, how long it is, and what nobody leaves behind.

use super::tree::{self, none};

/// What fits in a head: one to five sentences.
const HEAD_LINES: usize = 12;
const SENTENCES: std::ops::RangeInclusive<usize> = 1..=5;
/// What fits in a file.
const FILE_LINES: usize = 600;

/// The lines of a module's head, without their marks.
fn head(text: &str) -> Vec<&str> {
    text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect()
}

/// Sentences of running text; the items of a list are not counted.
fn sentences(head: &[&str]) -> usize {
    let prose: Vec<&str> = head.iter().filter(|line| !line.starts_with("- ")).copied().collect();
    let prose = prose.join(" ");
    let words: Vec<&str> = prose.split_whitespace().collect();
    words.iter().filter(|word| word.ends_with(['.', '?', '!'])).count()
}

#[test]
fn every_module_says_what_it_is() {
    let findings = tree::rust().into_iter().filter_map(|source| {
        let head = head(&source.text);
        let (lines, sentences) = (head.len(), sentences(&head));
        match () {
            () if lines == 0 => Some(format!("{}: no head", source.path)),
            () if lines > HEAD_LINES => Some(format!("{}: a head of {lines} lines", source.path)),
            () if !SENTENCES.contains(&sentences) => Some(format!("{}: a head of {sentences} sentences", source.path)),
            () => None,
        }
    });
    none("a module opens with one to five sentences", findings.collect());
}

#[test]
fn no_file_is_too_long_for_the_head() {
    let findings = tree::sources(&[".rs", ".py", ".mjs"]).into_iter().filter_map(|source| {
        let lines = source.text.lines().count();
        (lines > FILE_LINES).then(|| format!("{}: {lines} lines", source.path))
    });
    none("a file that no longer fits becomes a folder", findings.collect());
}

#[test]
fn nothing_is_left_for_later() {
    // Put together here, so that this file does not find itself.
    let marks = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("#[", "ignore"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("dbg", "!("),
    ];
    let mut findings = Vec::new();
    for source in tree::sources(&[".rs", ".py", ".mjs", ".toml"]) {
        for (number, line) in source.text.lines().enumerate() {
            findings.extend(
                marks
                    .iter()
                    .filter(|mark| line.contains(**mark))
                    .map(|mark| format!("{}:{}: {mark}", source.path, number + 1)),
            );
        }
    }
    none("what is not done is not in the tree", findings);
}

#[test]
fn no_module_is_forgotten() {
    let sources = tree::rust();
    let all: String = sources.iter().map(|source| source.text.as_str()).collect();
    let manifests: String = tree::sources(&["Cargo.toml"]).into_iter().map(|source| source.text).collect();
    let findings = sources.iter().filter_map(|source| {
        let (directory, file) = source.path.rsplit_once('/')?;
        let name = match file.strip_suffix(".rs")? {
            // Cargo finds these by their names.
            "main" | "lib" | "build" => return None,
            "mod" => directory.rsplit_once('/')?.1,
            name => name,
        };
        let declared = all.lines().any(|line| {
            let line =
                line.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ").trim_start_matches("pub ");
            line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) == Some(name)
        });
        let is_program = manifests.contains(&format!("/{file}\"")) || directory.ends_with("/bin");
        (!declared && !is_program).then(|| source.path.clone())
    });
    none("a file that no `mod` line names is never compiled", findings.collect());
}

#[test]
fn sentences_are_counted() {
    assert_eq!(
        sentences(&["One line", "goes on.", "", "Two: `a.rs` and v1.5 are words.", "- An item. It is free."]),
        2
    );
    assert_eq!(head("//! a\n//!\n//! b\n\n//! c"), ["a", "", "b"]);
}
