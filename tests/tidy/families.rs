//! Every family is a folder of one shape with its line in `families::ALL`, and knows no other.

use std::collections::BTreeMap;

use super::tree::{self, names, none};

const PLACE: &str = "daemon/src/families/";
/// What every family has.
const ALWAYS: [&str; 5] = ["mod.rs", "model.rs", "ops.rs", "tools.rs", "error.rs"];

/// The files of each family, by its name.
fn families() -> BTreeMap<String, Vec<(String, String)>> {
    let mut families: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for source in tree::rust() {
        let Some((family, file)) = source.path.strip_prefix(PLACE).and_then(|rest| rest.split_once('/')) else {
            continue;
        };
        families.entry(family.to_owned()).or_default().push((file.to_owned(), source.shipped()));
    }
    assert!(families.contains_key("vault"), "there are families");
    families
}

#[test]
fn every_family_has_one_shape() {
    let mut findings = Vec::new();
    for (family, files) in families() {
        let has = |name: &str| files.iter().any(|(file, _)| file == name);
        findings.extend(ALWAYS.iter().filter(|name| !has(name)).map(|name| format!("{family}: no {name}")));
        if has("parse.rs") != has("render.rs") {
            findings.push(format!("{family}: parse.rs and render.rs are each other's inverse, one is missing"));
        }
    }
    none("a family has the files that all families have", findings);
}

#[test]
fn every_family_is_in_the_list() {
    let list = tree::read("daemon/src/families/mod.rs");
    let missing = families().into_keys().filter(|family| !list.contains(&format!("FamilyEntry::of::<{family}::")));
    none("`families::ALL` names every family", missing.collect());
}

/// Other families that this code names.
fn neighbours<'a>(own: &str, code: &str, all: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let named = |family: &str| {
        ["families::", "super::super::", "super::"].iter().any(|from| names(code, &format!("{from}{family}")))
    };
    all.filter(|family| *family != own && named(family)).collect()
}

#[test]
fn families_do_not_know_each_other() {
    let families = families();
    let mut findings = Vec::new();
    for (family, files) in &families {
        for (file, code) in files {
            let known = neighbours(family, code, families.keys());
            findings.extend(known.iter().map(|other| format!("{family}/{file} knows {other}")));
        }
    }
    none("families do not import each other", findings);
}

#[test]
fn neighbours_are_found() {
    let all = ["vault", "vine"].map(str::to_owned);
    let check = |code: &str, expected: &[&str]| assert_eq!(neighbours("vault", code, all.iter()), expected, "{code}");
    check("use crate::families::vine::model::Plan;", &["vine"]);
    check("use super::super::vine::ops;", &["vine"]);
    check("use crate::families::vault::ops;\nuse super::model;", &[]);
}
