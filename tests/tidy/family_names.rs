//! A new family is one folder and one line: no code outside a family's folder names it, its addresses or its tools.

use std::collections::BTreeSet;

use super::tree::{self, Source, none};

const PLACE: &str = "daemon/src/families/";

/// The family over all others. Its name is that of the program, too.
const COMMON_FAMILY: &str = "trellis";

/// Lines that may name one nevertheless, by their file and by what stands in them, each with its reason.
const ALLOWED: [(&str, &str, &str); 8] = [
    ("daemon/src/families/catalogue.rs", "\"", "a profile is a choice among all tools"),
    ("daemon/src/families/item.rs", "\"todo\"", "a lane"),
    ("daemon/src/families/statuses.rs", "\"todo\"", "a lane"),
    ("daemon/src/families/board/model.rs", "\"todo\"", "a lane"),
    ("daemon/src/families/board/statuses.rs", "\"todo\"", "a lane"),
    ("daemon/src/families/trellis/arguments.rs", "://", "descriptions show what an address looks like"),
    ("daemon/src/families/trellis/error.rs", "://", "messages show what an address looks like"),
    ("daemon/src/http/routes.rs", "\"board\"", "paths of the gateway that only the board has"),
];

/// The names of families, from their folders.
fn families(sources: &[Source]) -> Vec<String> {
    let folder = |source: &Source| Some(source.path.strip_prefix(PLACE)?.strip_suffix("/mod.rs")?.to_owned());
    let names: Vec<String> = sources.iter().filter_map(folder).filter(|name| !name.contains('/')).collect();
    assert!(names.len() > 5 && names.iter().any(|name| name == COMMON_FAMILY), "there are families: {names:?}");
    names.into_iter().filter(|name| name != COMMON_FAMILY).collect()
}

/// Files that are compiled for tests alone: their `mod` line says so.
fn only_for_tests(sources: &[Source]) -> Vec<String> {
    let declared = |source: &Source| {
        let directory = source.path.rsplit_once('/').map_or("", |(directory, _)| directory).to_owned();
        let mut below_test = false;
        let mut files = Vec::new();
        for line in source.text.lines().map(str::trim) {
            let module = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';'));
            files.extend(module.filter(|_| below_test).map(|module| format!("{directory}/{module}.rs")));
            below_test = line == "#[cfg(test)]" || (below_test && line.starts_with("#["));
        }
        files
    };
    sources.iter().flat_map(declared).collect()
}

/// The lines of code in which a literal is the family's name, or holds an address or a tool of it.
fn naming_lines<'c>(code: &'c str, family: &str) -> Vec<&'c str> {
    let marks = [format!("\"{family}\""), format!("{family}://"), format!("\"{family}_"), format!("`{family}_")];
    code.lines().filter(|line| marks.iter().any(|mark| line.contains(mark))).map(str::trim).collect()
}

#[test]
fn shared_code_names_no_family() {
    let sources = tree::rust();
    let (families, tests) = (families(&sources), only_for_tests(&sources));
    assert!(tests.iter().any(|path| path == "daemon/src/families/codes.rs"), "{tests:?}");
    let mut findings = Vec::new();
    let mut needed = BTreeSet::new();
    for source in sources.iter().filter(|source| !source.is_below("tests") && !tests.contains(&source.path)) {
        let code = source.shipped();
        let others = families.iter().filter(|family| !source.is_below(&format!("{PLACE}{family}")));
        for line in others.flat_map(|family| naming_lines(&code, family)) {
            match ALLOWED.iter().find(|(path, part, _)| *path == source.path && line.contains(part)) {
                Some((path, ..)) => drop(needed.insert(*path)),
                None => findings.push(format!("{}: {line}", source.path)),
            }
        }
    }
    none("what is said of one family stands in its folder: ask `families::with_items()` or its descriptor", findings);
    let unneeded = ALLOWED.iter().filter(|(path, ..)| !needed.contains(path)).map(|(path, ..)| (*path).to_owned());
    none("nothing is named there any more, so the exception can go", unneeded.collect());
}

#[test]
fn names_are_found() {
    let check = |line: &str, expected: bool| assert_eq!(!naming_lines(line, "vine").is_empty(), expected, "{line}");
    check(r#"if family == "vine" {"#, true);
    check(r#"text.starts_with("vine://")"#, true);
    check(r#"let tool = "vine_next";"#, true);
    check(r#""call `vine_next` first""#, true);
    check("let vine = vine_next();", false);
    check(r#""a grapevine""#, false);
}
