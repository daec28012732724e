//! The pages below `docs/`, and that about security: links lead somewhere, none of the contracts is missing from their
//! list, and the tests that are named as proofs exist.

use std::collections::BTreeSet;
use std::path::Path;

use super::tree::{self, code_spans, none};

/// The targets of links to files; of one with a fragment, the file.
fn files_linked(page: &str) -> impl Iterator<Item = &str> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.filter(|target| !target.contains("://") && !target.contains(' '));
    files.filter_map(|target| target.split('#').next()).filter(|file| !file.is_empty())
}

#[test]
fn links_in_pages_lead_somewhere() {
    let mut broken = Vec::new();
    for page in tree::pages() {
        let directory = tree::top().join(Path::new(&page.path).parent().expect("a page is below the top"));
        let is_missing = |file: &&str| !directory.join(file).exists();
        broken.extend(files_linked(&page.text).filter(is_missing).map(|file| format!("{}: {file}", page.path)));
    }
    none("links in docs/ lead somewhere", broken);
}

#[test]
fn every_contract_is_listed() {
    let list = tree::read("docs/contracts/README.md");
    let pages = tree::pages().into_iter().filter(|page| page.is_below("docs/contracts"));
    let names = pages.filter_map(|page| page.path.rsplit('/').next().map(str::to_owned));
    let missing = names.filter(|name| name != "README.md" && !list.contains(&format!("| [{name}]({name}) |")));
    none("docs/contracts/README.md lists every contract", missing.collect());
}

/// The tests that items beginning with "Proof:" name, by their files or folders.
fn proofs(page: &str) -> Vec<&str> {
    let items = page.split("\n- Proof:").skip(1);
    let items = items.filter_map(|rest| rest.split("\n- ").next()?.split("\n\n").next());
    let is_name = |span: &&str| span.chars().all(|letter| letter.is_ascii_lowercase() || "_/".contains(letter));
    items.flat_map(code_spans).filter(is_name).collect()
}

#[test]
fn proofs_exist() {
    let tests = tree::rust().into_iter().filter(|source| source.path.starts_with("tests/"));
    let paths = tests.map(|source| source.path.trim_end_matches(".rs").to_owned());
    let known: BTreeSet<String> =
        paths.flat_map(|path| path.split('/').map(str::to_owned).collect::<Vec<_>>()).collect();
    let page = tree::read("docs/contracts/reliability.md");
    let proofs = proofs(&page);
    assert!(proofs.len() > 20, "the promises have proofs");
    let is_missing = |proof: &&str| match proof.contains('/') {
        true => ["", ".rs"].iter().all(|ending| !tree::top().join(format!("{proof}{ending}")).exists()),
        false => !known.contains(*proof),
    };
    let gone = proofs.into_iter().filter(is_missing).map(str::to_owned);
    none("tests that docs/contracts/reliability.md names as proofs", gone.collect());
}

/// The names of the tests in a source, those of property tests included.
fn tests_in(source: &str) -> impl Iterator<Item = &str> {
    let after = source.split("#[test]\n").skip(1);
    let signature = after.filter_map(|rest| rest.lines().map(str::trim).find_map(|line| line.strip_prefix("fn ")));
    signature.filter_map(|signature| signature.split('(').next())
}

#[test]
fn every_promise_has_tests_that_exist() {
    let sources = tree::rust();
    let known: BTreeSet<&str> = sources.iter().flat_map(|source| tests_in(&source.text)).collect();
    let page = tree::read("docs/contracts/reliability.md");
    let rows = tree::rows(tree::section(&page, "5. Tests of these promises"));
    let promises: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(promises, (1..=30).map(|number| format!("R{number}")).collect::<Vec<_>>(), "one row for each promise");
    let mut findings = Vec::new();
    for row in &rows {
        assert!(page.contains(&format!("**{} ", row[0])), "{} is promised", row[0]);
        let tests: Vec<&str> = code_spans(row[1]).collect();
        let unknown = tests.iter().filter(|test| !known.contains(**test));
        findings.extend(unknown.map(|test| format!("{}: there is no test `{test}`", row[0])));
        findings.extend(tests.is_empty().then(|| format!("{}: no test", row[0])));
    }
    none("docs/contracts/reliability.md names the tests of every promise", findings);
}

#[test]
fn links_are_told_from_other_brackets() {
    let page = "[a](b.md) [c](../d/#e), [f](https://g.h/) [i](#j) `[(ID)](no link)`";
    assert_eq!(files_linked(page).collect::<Vec<_>>(), ["b.md", "../d/"]);
}

#[test]
fn proofs_are_cut_out() {
    let page = "- Text `no`.\n- Proof: `a_b`, `c/d` with `e f`,\n  and `g`.\n- **Not yet**: `h`.\n\n`i`";
    assert_eq!(proofs(page), ["a_b", "c/d", "g"]);
}

#[test]
fn tests_are_found() {
    let source = "#[test]\nfn a() {}\nfn b() {}\n    #[test]\n    #[cfg(x)]\n    fn c(d in e()) {\n";
    assert_eq!(tests_in(source).collect::<Vec<_>>(), ["a", "c"]);
}
