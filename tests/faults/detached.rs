//! A daemon is nobody's child, and keeps nothing of the environment of the host that needed it first.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};

use serde_json::json;
use trellis_proxy::surroundings;
use trellis_tests::harness::{Home, programs, wait_until};

use super::process::{Signal, is_alive, parent, signal};
use super::raw_connection;

/// A host in a process of its own, which has started a proxy and was answered.
struct Host {
    process: Child,
    /// Open as long as the host lives.
    _stdin: ChildStdin,
}

impl Host {
    fn start(home: &Home) -> Self {
        let mut command = home.command("/bin/sh".as_ref());
        command.args(["-c", "exec 3<&0; \"$0\" <&3 3<&- & wait"]).arg(programs::proxy());
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a host");
        let mut stdin = process.stdin.take().expect("piped");
        let params = raw_connection::opening();
        let opening = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        writeln!(stdin, "{opening}").expect("the proxy reads");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("piped")).read_line(&mut line).expect("an answer");
        assert!(line.contains("serverInfo") && !line.contains("not available"), "{line}");
        Self { process, _stdin: stdin }
    }

    /// Every process below the host, however deep.
    fn descendants(&self) -> Vec<u32> {
        let pids = fs::read_dir("/proc")
            .expect("listed")
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let parents: BTreeMap<u32, u32> = pids.filter_map(|pid| Some((pid, parent(pid)?))).collect();
        let is_below = |pid: &u32| {
            let mut above = std::iter::successors(parents.get(pid), |pid| parents.get(pid));
            above.any(|pid| *pid == self.process.id())
        };
        parents.keys().copied().filter(is_below).collect()
    }

    /// Ends as opencode and Copilot CLI do: all of its descendants get a signal, again and again, until none is left.
    fn end(mut self) {
        wait_until("no descendant is left", || {
            let descendants = self.descendants();
            descendants.iter().for_each(|pid| signal(*pid, Signal::TERM));
            descendants.iter().all(|pid| !is_alive(*pid)).then_some(())
        });
        self.process.wait().expect("ended");
    }
}

#[test]
fn r22_a_host_that_signals_all_its_descendants_leaves_the_daemon_to_the_others() {
    let home = Home::new();
    let first = Host::start(&home);
    let daemon = home.daemon_pid().expect("a daemon");
    assert!(!first.descendants().is_empty(), "the proxy is one");
    assert!(!first.descendants().contains(&daemon), "the daemon is none");
    let mut other = home.host(&[]);
    first.end();
    for _ in 0..3 {
        Host::start(&home).end();
    }
    other.request("ping", json!({}));
    assert_eq!(home.daemon_pid(), Some(daemon), "it lives, and heard of nothing");
    assert!(!home.log().contains("leaving"), "{}", home.log());
}

/// The process in between leaves at once: the proxy has no child once it is answered, dead or alive.
#[test]
fn r22_nothing_stays_between_a_proxy_and_its_daemon() {
    let home = Home::new();
    let client = home.host(&[]);
    wait_until("the proxy has no children", || {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", client.pid())).expect("it lives");
        children.trim().is_empty().then_some(())
    });
    assert_eq!(home.daemons().len(), 1);
}

fn environment(pid: u32) -> BTreeMap<String, String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).expect("it lives");
    let variables = environment.split(|byte| *byte == 0).filter(|variable| !variable.is_empty());
    let text = variables.map(|variable| String::from_utf8(variable.to_vec()).expect("text"));
    text.map(|variable| variable.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).expect("="))
        .collect()
}

#[test]
fn r26_a_daemon_does_not_keep_the_secrets_of_the_host_that_started_it() {
    let home = Home::new()
        .with("ANTHROPIC_API_KEY", "sk-ant-of-the-host")
        .with("GITHUB_TOKEN", "ghp-of-the-host")
        .with("NOTIFY_SOCKET", "/nowhere/notify")
        .with("LD_LIBRARY_PATH", "/nowhere")
        .with("LC_TIME", "C")
        .with("API_KEYS", "k")
        .with("VAULT_ROOT", "notes");
    home.host(&[]).request("ping", json!({}));
    let daemon = environment(home.daemons()[0]);
    let foreign: Vec<_> = daemon.keys().filter(|name| !surroundings::is_for_daemon(name)).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    for (name, value) in [("LC_TIME", "C"), ("API_KEYS", "k"), ("VAULT_ROOT", "notes"), ("TRELLIS_IDLE_SECONDS", "60")]
    {
        assert_eq!(daemon.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert_eq!(daemon.get("HOME").map(String::as_str), home.path().to_str());
    assert!(!daemon.values().any(|value| value.contains("of-the-host")));
    assert_eq!(home.status().expect("a daemon")["started_by"], "on demand");
}
