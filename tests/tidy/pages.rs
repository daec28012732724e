//! The pages below `docs/`: links lead somewhere, and none of the contracts is missing from their list.

use std::path::Path;

use super::tree::{self, none};

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

#[test]
fn links_are_told_from_other_brackets() {
    let page = "[a](b.md) [c](../d/#e), [f](https://g.h/) [i](#j) `[(ID)](no link)`";
    assert_eq!(files_linked(page).collect::<Vec<_>>(), ["b.md", "../d/"]);
}
