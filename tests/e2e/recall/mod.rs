//! One search over everything: what natural questions find in a workspace and a project with something of every family,
//! in three languages, and how hits are chosen, ordered and cut.

/// What people ask.
mod queries;

/// Rungs, filters, pages and budgets, through the tool.
mod stories;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

use crate::relevance;
use queries::{ENGLISH, JAPANESE, SPANISH};

/// The library of the other suite as workspace, and a project of a shop.
fn shop() -> Home {
    let home = Home::new();
    relevance::plant(&relevance::tree(), &home.path().join(".vibe"), "");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e/recall/project"), &home.project());
    fs::create_dir_all(home.project().join(".git")).expect("a repository");
    home
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("files").map(|entry| entry.expect("an entry")) {
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a kind").is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), &target).expect("a copy")),
        }
    }
}

fn recall(host: &mut Client, arguments: Value) -> Value {
    host.call_ok("trellis_recall", arguments)
}

/// Addresses as the tables write them: `todo:T001`, `vibe:PROJECT/PATH`.
fn uris(answer: &Value) -> Vec<String> {
    let hits = answer["hits"].as_array().expect("hits");
    hits.iter().map(|hit| short(hit["uri"].as_str().expect("an address"))).collect()
}

fn short(uri: &str) -> String {
    let (family, rest) = uri.split_once("://").expect("an address");
    let rest = match family {
        "vibe" => rest.strip_prefix("projects/").expect("a document"),
        _ => rest.split_once('/').map_or(rest, |(_, path)| path),
    };
    format!("{family}:{}", decoded(rest))
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match (first, code.and_then(|code| u8::from_str_radix(code, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).expect("text")
}

/// So many of a hundred queries must have what they mean among the first three hits.
const REQUIRED_PERCENT: usize = 95;

#[test]
fn natural_questions_find_what_they_mean() {
    let home = shop();
    let mut host = home.host(&[]);
    let asked = [ENGLISH, SPANISH, JAPANESE].concat();
    assert!(asked.len() >= 120, "{}", asked.len());
    let mut missed = Vec::new();
    for (query, meant) in &asked {
        let answer = recall(&mut host, json!({ "query": query }));
        let found = uris(&answer);
        if !found.iter().take(3).any(|uri| meant.contains(&uri.as_str())) {
            missed.push(format!("`{query}`: expected {meant:?}, seen {:?}", &found[..found.len().min(5)]));
        }
    }
    let right = asked.len() - missed.len();
    println!("{right} of {} among the first three; missed:\n{}", asked.len(), missed.join("\n"));
    assert!(right * 100 >= asked.len() * REQUIRED_PERCENT, "{right} of {}:\n{}", asked.len(), missed.join("\n"));
    host.close();
}
