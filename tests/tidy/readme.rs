//! What a visitor sees first: the top of the tree, the front page, the licences.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::tree::{self, code_spans, none};

/// What the top holds, and nothing else without a reason.
const TOP: [&str; 18] = [
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
    "clippy.toml",
    "daemon",
    "docs",
    "launchd",
    "protocol",
    "proxy",
    "rustfmt.toml",
    "systemd",
];

/// Error codes of the page, which look like variables.
const CODES: [&str; 2] = ["PROJECT_NOT_FOUND", "TASK_NOT_FOUND"];

#[test]
fn the_top_holds_what_it_should() {
    let mut found: Vec<String> = fs::read_dir(tree::top())
        .expect("the top")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("our names are text"))
        .filter(|name| !matches!(name.as_str(), ".git" | "target"))
        .collect();
    found.sort();
    let mut expected = TOP.map(str::to_owned).to_vec();
    expected.push("tests".to_owned());
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn the_front_page_has_the_two_commands() {
    let page = tree::read("README.md");
    for command in ["cargo run --release --bin trellisd -- up", "cargo test --workspace"] {
        assert!(page.contains(command), "README.md: `{command}` is missing");
    }
    let places: Vec<usize> = ["## Install", "## Connect a client", "## The map", "## When something is wrong"]
        .iter()
        .map(|title| page.find(title).unwrap_or_else(|| panic!("README.md: `{title}` is missing")))
        .collect();
    assert!(places.is_sorted(), "README.md: what it is, install, connect, the map, when something is wrong");
}

#[test]
fn the_front_page_names_every_flag_and_only_real_places() {
    let page = tree::read("README.md");
    let flags = tree::read("proxy/src/flags.rs");
    let known = flags.split("Some(\"--").skip(1).filter_map(|rest| rest.split('"').next());
    let missing = known.map(|name| format!("--{name}")).filter(|flag| !page.contains(flag.as_str()));
    none("README.md names every flag of the proxy", missing.collect());
    let links = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let broken = links.filter(|link| !link.contains("://") && !tree::top().join(link).exists());
    none("links in README.md lead somewhere", broken.map(str::to_owned).collect());
}

/// A daemon that is started on demand gets a few variables; whatever it reads must be among them.
#[test]
fn a_daemon_gets_every_variable_that_it_reads() {
    let is_variable = |word: &&str| {
        word.len() > 2
            && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
            && word.bytes().any(|byte| byte.is_ascii_uppercase())
    };
    let page = tree::read("README.md");
    let tables = page.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
    let mut names: Vec<String> = tables.flat_map(code_spans).filter(is_variable).map(str::to_owned).collect();
    for source in tree::rust().into_iter().filter(|source| source.is_below("daemon/src/config")) {
        names.extend(source.shipped().split('"').skip(1).step_by(2).filter(is_variable).map(str::to_owned));
    }
    assert!(names.len() > 30, "the page and the sources name variables: {names:?}");
    let unread = names.into_iter().filter(|name| !trellis_proxy::surroundings::is_for_daemon(name));
    none(
        "`surroundings` passes on to a daemon what it reads",
        unread.filter(|name| !CODES.contains(&&**name)).collect(),
    );
}

#[test]
fn the_whole_check_is_one_program() {
    let mode = fs::metadata(tree::top().join(".ci/run")).expect(".ci/run").permissions().mode();
    assert_eq!(mode & 0o111, 0o111, ".ci/run can be started");
    let text = tree::read(".ci/run");
    for step in ["cargo fmt --all --check", "-- -D warnings", "cargo test --workspace", "tests/clients/python_sdk.py"] {
        assert!(text.contains(step), ".ci/run: `{step}` is missing");
    }
}

#[test]
fn the_changelog_has_a_place_for_what_comes() {
    assert!(tree::read("CHANGELOG.md").contains("## [Unreleased]"));
}

#[test]
fn the_licences_are_the_ones_in_the_manifest() {
    assert!(tree::read("Cargo.toml").contains("license = \"MIT OR Apache-2.0\""));
    assert!(tree::read("LICENSE-MIT").contains("Copyright (c) The Trellis authors"));
    assert!(tree::read("LICENSE-APACHE").contains("Version 2.0, January 2004"));
}
