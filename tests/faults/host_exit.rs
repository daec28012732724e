//! A host that exits: its proxy exits too, however the host ended, and ends nobody else.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;
use trellis_tests::harness::{Home, programs, wait_until};

use super::load::fill_vault;
use super::process::{is_alive, open_files, until_gone};
use super::raw_connection;

/// A second for answers, and some for a busy machine.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

#[test]
fn r22_answers_that_are_due_are_written_before_the_proxy_leaves() {
    let home = Home::new();
    fill_vault(&home);
    let mut client = home.host(&[]);
    let call = json!({ "name": "vault_read", "arguments": { "path": "1.md", "full": true } });
    let due: Vec<u64> = (0..40).map(|_| client.send("tools/call", call.clone())).collect();
    let began = Instant::now();
    assert_eq!(client.close().code(), Some(0));
    assert!(began.elapsed() < EXIT_TIMEOUT, "{:?}", began.elapsed());
    for id in due {
        assert!(client.answer(id)["result"]["structuredContent"]["text"].is_string());
    }
    assert_eq!(home.daemons().len(), 1, "the daemon stays");
}

/// A host that only wants to know what there is pipes its questions in and reads to the end.
#[test]
fn r22_a_proxy_whose_stdin_ends_at_once_still_answers() {
    let home = Home::new();
    assert!(home.trellisd(&["up"]).status.success());
    let mut client = home.connect(&[]);
    let opening = client.send("initialize", raw_connection::opening());
    assert_eq!(client.close().code(), Some(0));
    assert_eq!(client.answer(opening)["result"]["serverInfo"]["name"], "trellis");
}

#[test]
fn r22_an_idle_proxy_leaves_at_once() {
    let home = Home::new();
    let mut client = home.host(&[]);
    client.request("ping", json!({}));
    let began = Instant::now();
    assert_eq!(client.close().code(), Some(0));
    assert!(began.elapsed() < EXIT_TIMEOUT, "{:?}", began.elapsed());
    wait_until("the daemon has seen it", || {
        home.status().and_then(|status| (status["sessions"] == json!([])).then_some(()))
    });
}

/// Without a daemon there is nothing to wait for either.
#[test]
fn r22_a_proxy_without_a_daemon_leaves_too() {
    let home = Home::new();
    let home = home.with("TRELLIS_DAEMON", "/nowhere/trellisd");
    let mut client = home.host(&[]);
    let began = Instant::now();
    assert_eq!(client.close().code(), Some(0));
    assert!(began.elapsed() < EXIT_TIMEOUT, "{:?}", began.elapsed());
}

/// The host is killed while another process keeps its end of stdin open.
#[test]
fn r22_a_proxy_leaves_when_its_parent_dies() {
    let home = Home::new();
    let pid_file = home.path().join("pid");
    let script = "exec 3<&0; \"$0\" <&3 3<&- & echo $! > \"$1\"; wait";
    let mut command = home.command("/bin/sh".as_ref());
    command.args(["-c", script]).arg(programs::proxy()).arg(&pid_file);
    let mut host = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a host");
    let mut stdin = host.stdin.take().expect("piped");
    let opening = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": raw_connection::opening() });
    writeln!(stdin, "{opening}").expect("the proxy reads");
    let mut line = String::new();
    let mut stdout = BufReader::new(host.stdout.take().expect("piped"));
    stdout.read_line(&mut line).expect("an answer");
    assert!(line.contains("trellis"), "{line}");
    let proxy: u32 = fs::read_to_string(pid_file).expect("a pid").trim().parse().expect("a number");
    assert!(is_alive(proxy));
    host.kill().expect("killed");
    host.wait().expect("ended");
    let began = Instant::now();
    until_gone(proxy);
    assert!(began.elapsed() < EXIT_TIMEOUT, "{:?}", began.elapsed());
    drop((stdin, stdout));
}

#[test]
fn r22_a_proxy_leaves_when_nobody_reads_its_answers() {
    let home = Home::new();
    let mut proxy = home.proxy(&[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a proxy");
    drop(proxy.stdout.take());
    let mut stdin = proxy.stdin.take().expect("piped");
    let opening = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": raw_connection::opening() });
    writeln!(stdin, "{opening}").expect("the proxy reads");
    wait_until("the proxy leaves", || proxy.try_wait().expect("asked"));
}

/// Answers fill the pipe and nobody reads them: once stdin is closed, the proxy waits no longer than for others.
#[test]
fn r22_a_proxy_leaves_a_host_that_has_stopped_reading() {
    let home = Home::new();
    home.write("vault/long.md", "a line of text\n".repeat(1_300));
    let params = json!({ "name": "vault_read", "arguments": { "path": "long.md", "full": true } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    for (line, count) in [(call.to_string().as_str(), 50), ("no JSON, so the proxy answers it alone", 1_000)] {
        let mut proxy = home.proxy(&[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a proxy");
        let mut stdin = proxy.stdin.take().expect("piped");
        let opening = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": raw_connection::opening() });
        writeln!(stdin, "{opening}").expect("the proxy reads");
        stdin.write_all(format!("{line}\n").repeat(count).as_bytes()).expect("it fits into the pipe");
        drop(stdin);
        let began = Instant::now();
        wait_until("the proxy leaves", || proxy.try_wait().expect("asked"));
        assert!(began.elapsed() < EXIT_TIMEOUT, "{:?}", began.elapsed());
    }
}

/// Hosts leak pipes into their servers; a daemon that kept one would keep its other end waiting.
#[test]
fn a_daemon_keeps_nothing_of_the_host_that_made_it_start() {
    let home = Home::new();
    let leaked = [home.path().join("leaked-7"), home.path().join("leaked-8")];
    let mut command = home.command("/bin/sh".as_ref());
    command.args(["-c", "exec \"$0\" 7>\"$1\" 8>\"$2\""]).arg(programs::proxy()).args(&leaked);
    let mut client = trellis_tests::harness::Client::start(command);
    client.initialize("2025-11-25");
    let proxy = open_files(client.pid());
    assert!(leaked.iter().all(|path| proxy.contains(path)), "the proxy has them: {proxy:?}");
    let daemon = home.daemon_pid().expect("a daemon");
    let held = open_files(daemon);
    assert!(!leaked.iter().any(|path| held.contains(path)), "{held:?}");
    for pipe in proxy.iter().filter(|path| path.to_string_lossy().starts_with("pipe:")) {
        assert!(!held.contains(pipe), "the host's own {} is open in the daemon", pipe.display());
    }
    let directory = fs::read_link(format!("/proc/{daemon}/cwd")).expect("a directory");
    assert_eq!(directory, std::path::Path::new("/"), "it holds no directory either");
}

/// A host that ends with its whole terminal does not take the daemon of the others with it.
#[test]
fn r22_a_daemon_is_out_of_its_starters_process_group() {
    let home = Home::new();
    let client = home.host(&[]);
    let daemon = home.daemon_pid().expect("a daemon");
    let group = |pid: u32| {
        let pid = rustix::process::Pid::from_raw(pid as i32);
        rustix::process::getpgid(pid).expect("it lives")
    };
    assert_ne!(group(daemon), group(client.pid()));
}
