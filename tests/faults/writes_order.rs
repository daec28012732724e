//! What the system is asked for, in which order: the temp file is flushed, then the journal, then comes the
//! rename, then the directory is flushed; and only then the answer goes out.

use std::process::{Command, Stdio};

use serde_json::json;
use trellis_tests::harness::{Home, programs, wait_until};

use super::process::{Signal, signal};

const CALLS: &str = "openat,openat2,fsync,fdatasync,renameat2,rename,sendto,write,pwrite64,writev,sendmsg,close";

fn has_strace() -> bool {
    let has = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    if !has {
        println!("not checked: there is no `strace` here");
    }
    has
}

/// A key that was shown and is gone after a power cut cannot be had again.
#[test]
fn r1_a_key_is_on_the_disk_before_it_is_shown() {
    if !has_strace() {
        return;
    }
    let home = Home::new();
    let trace = home.path().join("trace");
    let mut command = home.command("strace".as_ref());
    command.args(["-f", "-y", "-s", "300", "-e"]).arg(format!("trace={CALLS}")).arg("-o").arg(&trace);
    let made = command.arg(programs::daemon()).args(["http", "key", "new"]).output().expect("it runs");
    let shown = String::from_utf8(made.stdout).expect("text");
    let key = shown.split_whitespace().find(|word| word.len() > 40).expect("a key");
    let trace = std::fs::read_to_string(&trace).expect("a trace");
    let place = |is: &dyn Fn(&str) -> bool| trace.lines().position(is).unwrap_or_else(|| panic!("{trace}"));
    let order = [
        place(&|line| line.contains("O_EXCL") && line.contains("O_NOFOLLOW") && line.contains("http-keys.json")),
        place(&|line| line.contains("fsync(") && line.contains("http-keys.json")),
        place(&|line| line.contains("rename(") && line.contains("http-keys.json\"")),
        place(&|line| line.contains("fsync(") && line.contains("/trellis>")),
        place(&|line| line.contains("write(1") && line.contains(key)),
    ];
    assert!(order.is_sorted(), "{order:?}\n{trace}");
}

#[test]
fn r1_every_flush_comes_before_the_answer() {
    if !has_strace() {
        return;
    }
    let home = Home::new();
    home.write("vault/note.md", "one\n");
    let trace = home.path().join("trace");
    let mut command = home.command("strace".as_ref());
    command.args(["-f", "-y", "-s", "300", "-e"]).arg(format!("trace={CALLS}")).arg("-o").arg(&trace);
    command.arg(programs::daemon()).arg("run").stdin(Stdio::null()).stderr(Stdio::null());
    let mut strace = command.spawn().expect("strace starts");
    wait_until("the daemon is ready", || home.daemon_pid());
    let mut client = home.host(&["--only", "vault"]);
    // The first write makes a segment of the journal.
    client.call_ok("vault_create", json!({ "path": "first.md", "content": "x" }));
    let arguments = json!({ "path": "note.md", "find": "one", "replace": "two" });
    client.call_ok("vault_replace", arguments);
    client.close();
    signal(home.daemon_pid().expect("a daemon"), Signal::TERM);
    strace.wait().expect("it ends");
    let trace = std::fs::read_to_string(&trace).expect("a trace");
    check_order(&trace, "note.md", "RENAME_EXCHANGE");
    check_order(&trace, "first.md", "RENAME_NOREPLACE");
}

/// Follows one write from its rename, backwards and forwards.
#[track_caller]
fn check_order(trace: &str, name: &str, how: &str) {
    let lines: Vec<&str> = trace.lines().collect();
    let place = |what: &str, from: usize, is: &dyn Fn(&str) -> bool| {
        let found = lines[from..].iter().position(|line| is(line));
        from + found.unwrap_or_else(|| panic!("{name}: no {what} after line {from}"))
    };
    let renamed = place("rename", 0, &|line| line.contains(how) && line.contains(&format!("\"{name}\"")));
    let temp = lines[renamed].split('"').find(|word| word.ends_with(".vtmp")).expect("the name of the temp file");
    let created = place("temp file", 0, &|line| line.contains("O_EXCL") && line.contains(temp));
    let flushed = place("flush of the temp file", created, &|line| line.contains("fsync(") && line.contains(temp));
    let noted = place("entry", flushed, &|line| line.contains("pwrite64(") && line.contains("/journal/lane-"));
    let safe = place("flush of the journal", noted, &|line| line.contains("fdatasync(") && line.contains("/lane-"));
    let lasting = place("flush of the directory", renamed, &|line| line.contains("fsync(") && line.contains("/vault>"));
    let is_answer = |line: &str| {
        (line.contains("sendto(") || line.contains("write(") || line.contains("sendmsg("))
            && line.contains("written_path")
    };
    let answered = place("answer", created, &|line| is_answer(line) && line.contains(name));
    let order = [created, flushed, noted, safe, renamed, lasting, answered];
    assert!(order.is_sorted(), "{name}: {order:?}\n{}", order.map(|place| lines[place]).join("\n"));
}
