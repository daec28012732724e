//! What we depend on: nothing that could call the network, and very little in the proxy.

use std::process::Command;

use super::tree::{self, none};

/// Crates that speak HTTP to others, or exist to do so.
const CLIENTS: [&str; 16] = [
    "attohttpc",
    "awc",
    "curl",
    "curl-sys",
    "hyper-rustls",
    "hyper-tls",
    "isahc",
    "minreq",
    "native-tls",
    "openssl",
    "reqwest",
    "rustls",
    "surf",
    "tonic",
    "ureq",
    "webbrowser",
];

/// What the proxy is made of; it must start in a moment and stay small.
const OF_PROXY: [&str; 5] = ["interprocess", "libc", "rustix", "serde_json", "trellis-protocol"];
/// What it must not get by way of these either.
const NOT_IN_PROXY: [&str; 6] = ["clap", "rmcp", "tokio", "tracing", "tantivy", "regex"];

#[test]
fn nothing_of_ours_can_call_the_network() {
    let lock = tree::read("Cargo.lock");
    let locked = |name: &&&str| lock.lines().any(|line| line == format!("name = \"{name}\""));
    let findings = CLIENTS.iter().filter(locked).map(|name| (*name).to_owned());
    none("no HTTP client is among the dependencies", findings.collect());
}

/// Names of the crates that a member is built from, itself left out.
fn crates_of(package: &str, depth: &[&str]) -> Vec<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "-p", package, "-e", "normal", "--prefix", "none", "--format", "{lib}|{p}"])
        .args(depth)
        .current_dir(tree::top())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let name = |line: &str| Some(line.split_once('|')?.1.split(' ').next()?.to_owned());
    let mut names: Vec<String> = text.lines().skip(1).filter_map(name).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn the_proxy_is_made_of_little() {
    assert_eq!(crates_of("trellis-proxy", &["--depth", "1"]), OF_PROXY);
    let all = crates_of("trellis-proxy", &[]);
    let heavy = all.into_iter().filter(|name| NOT_IN_PROXY.contains(&name.as_str()));
    none("what is heavy stays out of the proxy", heavy.collect());
}
