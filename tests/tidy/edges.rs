//! Who may name what: pure code knows no disk, clock, process, runtime or wire; each library has its place.

use super::tree::{self, Source, names, names_std, none};

/// A file is pure when nothing in what ships of it can wait, look at a clock or touch the system.
fn is_pure(source: &Source) -> bool {
    let family = source.path.strip_prefix("daemon/src/families/").is_some_and(|rest| rest.contains('/'));
    family || source.is_below("protocol/src")
}

fn impurities(code: &str) -> Vec<&'static str> {
    let mut found: Vec<&str> = ["fs", "net", "process"].into_iter().filter(|module| names_std(code, module)).collect();
    let words = ["tokio", "rmcp", "Instant::now", "SystemTime::now", "Timestamp::now", "Zoned::now"];
    found.extend(words.into_iter().filter(|word| names(code, word)));
    found
}

#[test]
fn families_and_protocol_are_pure() {
    let mut seen = 0;
    let mut findings = Vec::new();
    for source in tree::rust().iter().filter(|source| is_pure(source)) {
        seen += 1;
        findings.extend(impurities(&source.shipped()).iter().map(|word| format!("{}: {word}", source.path)));
    }
    assert!(seen > 10, "there are families and a protocol");
    none("no disk, clock, process, runtime or wire here: `disk`, `clock` and `mcp` are for that", findings);
}

/// What ships names the word only in these places, and does name it there.
#[track_caller]
fn check_only_in(word: &str, places: &[&str]) {
    let shipped = tree::rust().into_iter().filter(|source| !source.path.starts_with("tests/"));
    let naming: Vec<Source> = shipped.filter(|source| names(&source.shipped(), word)).collect();
    let (there, elsewhere): (Vec<&Source>, Vec<&Source>) =
        naming.iter().partition(|source| places.iter().any(|place| source.path == *place || source.is_below(place)));
    assert!(!there.is_empty(), "nobody names `{word}` any more: this rule can go");
    let findings = elsewhere.into_iter().map(|source| source.path.clone());
    none(&format!("`{word}` is named only in {}", places.join(", ")), findings.collect());
}

#[test]
fn each_library_has_its_place() {
    check_only_in("rmcp", &["daemon/src/mcp", "daemon/src/mcp_over_http.rs", "daemon/src/present"]);
    check_only_in("bincode", &["protocol/src/codec.rs", "daemon/src/index/document_log.rs"]);
    check_only_in("clap", &["daemon/src/cli"]);
    check_only_in("listenfd", &["daemon/src/cli", "daemon/src/socket"]);
}

#[test]
fn disk_stands_below_everything_that_uses_it() {
    let mut findings = Vec::new();
    for source in tree::rust() {
        let above: &[&str] = match () {
            () if source.is_below("daemon/src/disk") => &["watch", "families", "index", "tools", "engine"],
            () if source.is_below("daemon/src/projects") => &["disk", "watch", "families", "index", "tools", "engine"],
            () => continue,
        };
        let code = source.shipped();
        let named = above.iter().filter(|module| code.contains(&format!("crate::{module}")));
        findings.extend(named.map(|module| format!("{}: crate::{module}", source.path)));
    }
    none("`projects` and `disk` know nothing of what is built on them", findings);
}

#[test]
fn there_is_one_watcher_on_every_system() {
    let module = concat!("inotify", "::");
    let shipped = tree::rust().into_iter().filter(|source| !source.path.starts_with("tests/"));
    let naming = shipped.filter(|source| source.shipped().contains(module)).map(|source| source.path);
    none("events of the system come through notify", naming.collect());
}

#[test]
fn the_compiler_is_trusted_everywhere_but_in_one_place() {
    let word = concat!("un", "safe");
    check_only_in(word, &["proxy/src/process.rs"]);
    let findings = tree::rust()
        .into_iter()
        .filter(|source| source.path.starts_with("tests/") && !source.path.starts_with("tests/tidy/"))
        .filter(|source| names(&source.shipped(), word))
        .map(|source| source.path);
    none("tests need none of it", findings.collect());
}

#[test]
fn impurities_are_found() {
    assert_eq!(impurities("use std::{fs, io};\nlet now = Instant::now();"), ["fs", "Instant::now"]);
    assert_eq!(impurities("use std::path::Path;\nlet process = fs;"), [""; 0]);
}
