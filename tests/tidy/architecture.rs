//! `docs/architecture.md` against the sources: its modules and the edges between them, the files that it names, the
//! stops of its walks, and its glossary.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{self, code_spans, names, none, rows, section};

const PAGE: &str = "docs/architecture.md";
const SOURCES: &str = "daemon/src/";
/// Sections that follow something through the daemon, one numbered stop after the other.
const WALKS: [&str; 3] = ["A search", "A write", "An edit from outside"];
const MAX_STOPS: usize = 10;
const MAX_GLOSSARY: usize = 40;
/// Whatever the page says: files know nobody who uses them, and neither interface needs the other.
const FORBIDDEN: [(&str, &str); 6] =
    [("disk", "tools"), ("disk", "index"), ("disk", "families"), ("index", "engine"), ("mcp", "http"), ("http", "mcp")];

type Edges = BTreeMap<String, BTreeSet<String>>;

/// The top modules of the daemon, and those that each of them names in what ships.
fn edges_in_sources() -> Edges {
    let sources: Vec<_> = tree::rust().into_iter().filter(|source| source.path.starts_with(SOURCES)).collect();
    let top = |path: &str| {
        let first = path.strip_prefix(SOURCES)?.split('/').next()?;
        Some(first.strip_suffix(".rs").unwrap_or(first).to_owned())
    };
    let mut edges: Edges = sources.iter().filter_map(|source| Some((top(&source.path)?, BTreeSet::new()))).collect();
    edges.retain(|module, _| module != "lib" && module != "main");
    let modules: Vec<String> = edges.keys().cloned().collect();
    for source in &sources {
        let code = source.shipped();
        let Some(used) = top(&source.path).and_then(|module| edges.get_mut(&module)) else { continue };
        used.extend(modules.iter().filter(|module| names(&code, &format!("crate::{module}"))).cloned());
    }
    for (module, used) in &mut edges {
        used.remove(module);
    }
    edges
}

/// The same, as the table on the page allows them.
fn edges_on_page() -> Edges {
    let page = tree::read(PAGE);
    let row = |row: Vec<&str>| {
        let module = code_spans(row.first()?).next()?.to_owned();
        Some((module, row.last().into_iter().flat_map(|cell| code_spans(cell)).map(str::to_owned).collect()))
    };
    rows(section(&page, "Which module may use which")).into_iter().filter_map(row).collect()
}

#[test]
fn the_page_names_every_module_and_no_other() {
    let (sources, page) = (edges_in_sources(), edges_on_page());
    let missing = sources.keys().filter(|module| !page.contains_key(*module)).map(|module| format!("no row: {module}"));
    let gone = page.keys().filter(|module| !sources.contains_key(*module)).map(|module| format!("no module: {module}"));
    none("docs/architecture.md has a row for each top module of the daemon", missing.chain(gone).collect());
}

#[test]
fn modules_use_what_the_page_allows() {
    let (sources, page) = (edges_in_sources(), edges_on_page());
    let mut findings = Vec::new();
    for (module, used) in &sources {
        let allowed = page.get(module).cloned().unwrap_or_default();
        let before = findings.len();
        findings.extend(used.difference(&allowed).map(|other| format!("{module} uses {other}, which is not allowed")));
        findings.extend(allowed.difference(used).map(|other| format!("{module} may use {other}, and does not")));
        if findings.len() > before {
            let all: Vec<String> = used.iter().map(|other| format!("`{other}`")).collect();
            findings.push(format!("{module} uses, in all: {}", all.join(", ")));
        }
    }
    none("\"Which module may use which\" says exactly what is used", findings);
}

#[test]
fn some_edges_are_never_allowed() {
    let mut findings = Vec::new();
    for source in tree::rust() {
        // Links in comments count as well: what a module must not know, it need not explain.
        let text = source.text.split("\n#[cfg(test)]").next().unwrap_or_default();
        for (from, to) in FORBIDDEN {
            let is_inside =
                source.path == format!("{SOURCES}{from}.rs") || source.is_below(&format!("{SOURCES}{from}"));
            if is_inside && names(text, &format!("crate::{to}")) {
                findings.push(format!("{} names {to}", source.path));
            }
        }
    }
    none("these modules do not know each other", findings);
}

/// A file or directory that a page names, from the top or from the daemon's sources.
fn is_there(path: &str) -> bool {
    ["", SOURCES].iter().any(|from| tree::top().join(from).join(path).exists())
}

#[test]
fn files_on_pages_exist() {
    let mut findings = Vec::new();
    for page in [PAGE, "CONTRIBUTING.md"] {
        let text = tree::read(page);
        let is_path = |span: &&str| span.contains('/') && (span.ends_with(".rs") || span.ends_with('/'));
        let gone = code_spans(&text).filter(is_path).filter(|path| !is_there(path));
        findings.extend(gone.map(|path| format!("{page}: {path}")));
    }
    none("pages about the sources name files that exist", findings);
}

/// The items of a numbered list.
fn stops(text: &str) -> Vec<&str> {
    let is_number = |line: &str| line.split_once(". ").is_some_and(|(number, _)| number.parse::<usize>().is_ok());
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if is_number(line) {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
}

#[test]
fn walks_are_short_and_name_their_files() {
    let page = tree::read(PAGE);
    let mut findings = Vec::new();
    for walk in WALKS {
        let stops = stops(section(&page, walk));
        if !(1..=MAX_STOPS).contains(&stops.len()) {
            findings.push(format!("{walk}: {} stops", stops.len()));
        }
        let nameless = stops.iter().filter(|stop| !code_spans(stop).any(|span| span.ends_with(".rs")));
        findings.extend(nameless.map(|stop| format!("{walk}: a stop without a file: {}", stop.trim())));
    }
    none("a walk has at most ten stops, each in a file", findings);
}

#[test]
fn the_glossary_is_short_and_its_words_are_used() {
    let page = tree::read(PAGE);
    let words: Vec<&str> =
        rows(section(&page, "Glossary")).into_iter().filter_map(|row| row.first().copied()).collect();
    assert!((10..=MAX_GLOSSARY).contains(&words.len()), "the glossary has {} entries", words.len());
    let sources = tree::rust().into_iter().filter(|source| !source.path.starts_with("tests/"));
    let all = sources.map(|source| source.text).collect::<String>().to_lowercase();
    let unused = words.iter().filter(|word| !names(&all, &word.to_lowercase()) && !names(&all, &as_type(word)));
    none("words of the glossary are words of the sources", unused.map(|word| (*word).to_owned()).collect());
    let is_sorted = words.is_sorted_by_key(|word| word.to_lowercase());
    assert!(is_sorted, "the glossary is in alphabetical order");
}

/// `answer cache` as the type `AnswerCache`, in lower case.
fn as_type(word: &str) -> String {
    word.to_lowercase().replace([' ', '-'], "")
}
