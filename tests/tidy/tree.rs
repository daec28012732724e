//! The files of the tree, and the code in them: what ships, without comments and without its tests.

use std::fs;
use std::path::{Path, PathBuf};

/// One file of the tree.
#[derive(Debug)]
pub(crate) struct Source {
    /// From the top, with `/`.
    pub(crate) path: String,
    /// All of it.
    pub(crate) text: String,
}

impl Source {
    /// The lines that are compiled into what ships: no comments, nothing that exists only for tests.
    pub(crate) fn shipped(&self) -> String {
        shipped(&self.text)
    }

    pub(crate) fn is_below(&self, directory: &str) -> bool {
        self.path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// The top of the tree.
pub(crate) fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a member").to_owned()
}

/// A file that must be there.
#[track_caller]
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(top().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every file with one of these endings, in order.
pub(crate) fn sources(endings: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    for member in ["daemon", "proxy", "protocol", "tests"] {
        walk(&top().join(member), endings, &mut found);
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 1, "a tree without files is no tree");
    found
}

/// Every page below `docs/`, the one for those who change the tree, and the one about security.
pub(crate) fn pages() -> Vec<Source> {
    let at_top = ["CONTRIBUTING.md", "SECURITY.md"];
    let mut found: Vec<Source> =
        at_top.into_iter().map(|path| Source { text: read(path), path: path.to_owned() }).collect();
    walk(&top().join("docs"), &[".md"], &mut found);
    found
}

/// Every Rust file, in order.
pub(crate) fn rust() -> Vec<Source> {
    sources(&[".rs"])
}

fn walk(directory: &Path, endings: &[&str], found: &mut Vec<Source>) {
    for entry in fs::read_dir(directory).expect("a directory of ours").map(|entry| entry.expect("an entry")) {
        let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
        let name = entry.file_name().into_string().expect("our names are text");
        if kind.is_dir() && !matches!(name.as_str(), "target" | "node_modules" | "__pycache__") {
            walk(&path, endings, found);
        } else if kind.is_file() && endings.iter().any(|ending| name.ends_with(ending)) {
            let from_top = path.strip_prefix(top()).expect("below the top").to_str().expect("text").to_owned();
            // A file that is being replaced at this moment is looked at the next time.
            let Ok(text) = fs::read_to_string(&path) else { continue };
            found.push(Source { path: from_top, text });
        }
    }
}

/// Leaves out comment lines, and each item below `#[cfg(test)]`: to its semicolon, or to the brace that closes it,
/// which the formatter puts under its first letter.
fn shipped(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        if line.trim() != "#[cfg(test)]" {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        for line in lines.by_ref() {
            let ours = line.strip_prefix(indent).is_some_and(|rest| !rest.starts_with(' '));
            if ours && (line.ends_with(';') || line.trim() == "}") {
                break;
            }
        }
    }
    kept
}

/// Whether the code names this word or path, as a whole and not as a part of another word.
pub(crate) fn names(code: &str, word: &str) -> bool {
    let part_of_a_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.match_indices(word).any(|(start, _)| {
        let before = code[..start].chars().next_back();
        let after = code[start + word.len()..].chars().next();
        !before.is_some_and(part_of_a_word) && !after.is_some_and(part_of_a_word)
    })
}

/// Whether the code names this module of the standard library, by its path or in a group.
pub(crate) fn names_std(code: &str, module: &str) -> bool {
    let grouped = |(start, _)| {
        let group = &code[start..];
        names(&group[..group.find(';').unwrap_or(group.len())], module)
    };
    names(code, &format!("std::{module}")) || code.match_indices("use std::{").any(grouped)
}

/// What stands on a page below a heading of this title, up to the next heading of the same or a higher level.
#[track_caller]
pub(crate) fn section<'a>(page: &'a str, title: &str) -> &'a str {
    let level = |line: &str| line.bytes().take_while(|byte| *byte == b'#').count();
    let mut lines = page.split_inclusive('\n').scan(0, |end, line| {
        *end += line.len();
        Some((*end, line))
    });
    let (begin, heading) = lines
        .find(|(_, line)| level(line) > 0 && line.trim_start_matches('#').trim() == title)
        .unwrap_or_else(|| panic!("no section \"{title}\""));
    let next = lines.find(|(_, line)| (1..=level(heading)).contains(&level(line)));
    &page[begin..next.map_or(page.len(), |(end, line)| end - line.len())]
}

/// The cells of each row of the tables in a text, without heads.
pub(crate) fn rows(text: &str) -> Vec<Vec<&str>> {
    let lines: Vec<&str> = text.lines().collect();
    let is_rule = |line: &str| line.starts_with("|--");
    let rows = lines.iter().enumerate().filter(|(number, line)| {
        line.starts_with('|') && !is_rule(line) && !lines.get(number + 1).is_some_and(|next| is_rule(next))
    });
    rows.map(|(_, line)| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// What stands between backticks.
pub(crate) fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Fails with one line for each finding.
#[track_caller]
pub(crate) fn none(rule: &str, findings: Vec<String>) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}

#[test]
fn code_is_told_from_comments_and_tests() {
    let text = "//! head\nuse a;\n#[cfg(test)]\nuse b;\nfn c() {\n    // d\n    e();\n}\n\
                #[cfg(test)]\n#[expect(f)]\nmod tests {\n    fn g() {\n    }\n}\nfn h() {}\n";
    assert_eq!(shipped(text), "use a;\nfn c() {\n    e();\n}\nfn h() {}\n");
}

#[test]
fn words_are_whole() {
    assert!(names("use tokio::net;", "tokio") && !names("use tokio_util::x;", "tokio"));
    assert!(names("unsafe {", "unsafe") && !names("#![allow(unsafe_code)]", "unsafe"));
    assert!(names_std("use std::fs;", "fs") && names_std("use std::{io, fs};", "fs"));
    assert!(!names_std("use std::{io};\nlet fs = 1;", "fs"));
}

#[test]
fn sections_rows_and_spans_are_cut_out() {
    let page = "# A\n## B\n| x | y |\n|---|---|\n| `1` | 2 |\n### C\ntext\n## D\nend";
    assert_eq!(section(page, "B"), "| x | y |\n|---|---|\n| `1` | 2 |\n### C\ntext\n");
    assert_eq!(section(page, "D"), "end");
    assert_eq!(rows(section(page, "B")), [["`1`", "2"]]);
    assert_eq!(code_spans("a `b` c `d/`").collect::<Vec<_>>(), ["b", "d/"]);
}
