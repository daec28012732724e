//! From nothing to a connected host, and back: what a newcomer types, and what is answered.

use std::process::{Command, Output};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, programs, wait_until};

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// Starts the line that `up` printed, as a host would: split at its spaces, absolute, without a shell.
fn host(home: &Home, line: &str) -> Client {
    let mut words = line.split(' ');
    let program = words.next().expect("a program");
    assert!(program.starts_with('/'), "hosts have no shell's PATH: {line}");
    let mut command: Command = home.command(program.as_ref());
    command.args(words).args(["--only", "vault"]);
    // A host is not the harness: it knows nothing of where the daemon's program is.
    command.env_remove("TRELLIS_DAEMON");
    let mut client = Client::start(command);
    client.initialize("2025-11-25");
    client
}

/// The line between the words about connecting and the end.
fn printed_command(output: &Output) -> String {
    let text = stdout(output);
    let (_, after) = text.split_once("Connect an AI host with this command:").expect("how to connect");
    after.trim().to_owned()
}

#[test]
fn up_says_how_it_is_and_how_to_connect() {
    let home = Home::new();
    home.write("vault/hello.md", "hello\n");
    let up = home.trellisd(&["up"]);
    assert!(up.status.success(), "{up:?}");
    let text = stdout(&up);
    let pid = home.daemon_pid().expect("a daemon");
    assert!(text.contains("is running") && text.contains(&format!("pid {pid}")), "{text}");
    assert!(text.contains("families  ") && text.contains("vault ("), "{text}");

    let line = printed_command(&up);
    assert_eq!(line, programs::proxy().to_str().expect("text"), "the exact program, by its absolute path");
    let mut client = host(&home, &line);
    let names = client.tool_names();
    assert!(
        ["vault_ls", "vault_read", "vault_scan"].iter().all(|name| names.iter().any(|known| known == name)),
        "{names:?}"
    );
    assert_eq!(client.call_ok("vault_read", json!({ "path": "hello.md", "full": true }))["text"], "hello");
    assert_eq!(home.daemons(), [pid], "the host talks to the daemon that `up` started");

    let again = home.trellisd(&["up"]);
    assert!(again.status.success());
    assert_eq!(printed_command(&again), line);
    assert_eq!(home.daemons(), [pid], "a second `up` starts nothing");
    assert_eq!(client.call_ok("vault_ls", json!({}))["items"][0]["path"], "hello.md", "and disturbs nobody");
}

#[test]
fn one_program_is_enough() {
    let home = Home::new();
    home.write("vault/hello.md", "hello\n");
    let lone = home.path().join("bin/trellisd");
    std::fs::create_dir_all(home.path().join("bin")).expect("a directory");
    // Copied by another process: a program that one of our threads still has open for writing cannot be started.
    let copied = Command::new("cp").arg(programs::daemon()).arg(&lone).status().expect("cp runs");
    assert!(copied.success());
    let up = home.command(&lone).env_remove("TRELLIS_DAEMON").arg("up").output().expect("trellisd runs");
    assert!(up.status.success(), "{up:?}");
    let line = printed_command(&up);
    assert_eq!(line, format!("{} mcp", lone.display()), "without the proxy beside it, the daemon is the proxy too");
    let mut client = host(&home, &line);
    assert_eq!(client.call_ok("vault_read", json!({ "path": "hello.md", "full": true }))["text"], "hello");
    assert_eq!(home.daemons().len(), 1);
}

#[test]
fn a_host_alone_is_enough() {
    let home = Home::new();
    home.write("vault/hello.md", "hello\n");
    for program in [vec![programs::proxy()], vec![programs::daemon(), "mcp".into()]] {
        let line: Vec<&str> = program.iter().map(|word| word.to_str().expect("text")).collect();
        let mut client = host(&home, &line.join(" "));
        assert_eq!(client.call_ok("vault_read", json!({ "path": "hello.md", "full": true }))["text"], "hello");
        assert!(client.close().success());
    }
    assert_eq!(home.daemons().len(), 1);
}

#[test]
fn status_tells_who_is_connected() {
    let home = Home::new();
    let client = home.host(&[]);
    let status = home.status().expect("a status");
    assert_eq!(status["sessions"][0]["pid"], client.pid());
    assert_eq!(status["sessions"][0]["directory"], home.project().to_str().expect("text"));
    let families = status["families"].as_array().expect("families");
    assert!(families.iter().any(|family| family["name"] == "vault"), "{status}");
    let text = stdout(&home.trellisd(&["status"]));
    assert!(text.contains("test 1") && text.contains(&client.pid().to_string()), "{text}");
    let settings = stdout(&home.trellisd(&["status", "--settings"]));
    let idle = settings.lines().find(|line| line.contains("idle_seconds")).expect("the setting");
    assert!(idle.contains("60") && idle.contains("environment"), "each setting says where it comes from: {settings}");
}

#[test]
fn stop_ends_the_daemon_and_is_content_without_one() {
    let home = Home::new();
    assert!(home.trellisd(&["up"]).status.success());
    let pid = home.daemon_pid().expect("a daemon");
    let stop = home.trellisd(&["stop"]);
    assert!(stop.status.success());
    assert!(stdout(&stop).contains(&format!("pid {pid}")), "{stop:?}");
    wait_until("the daemon is gone", || home.daemons().is_empty().then_some(()));
    let again = home.trellisd(&["stop"]);
    assert!(again.status.success());
    assert!(stdout(&again).contains("no daemon is running"), "{again:?}");
}

#[test]
fn status_without_a_daemon_says_what_to_do() {
    let home = Home::new();
    for arguments in [&["status"][..], &["status", "--json"], &["status", "--settings"]] {
        let output = home.trellisd(arguments);
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        if arguments.contains(&"--json") {
            let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            assert_eq!((&told["schema"], &told["error"]["code"]), (&json!("trellis.error/1"), &json!("not_running")));
            assert!(told["error"]["hint"].as_str().is_some_and(|hint| hint.contains("`trellisd up`")), "{told}");
        } else {
            assert_eq!(stdout(&output), "");
        }
        let text = stderr(&output);
        assert!(text.contains("no daemon is running") && text.contains("`trellisd up`"), "{text}");
    }
    assert!(home.daemons().is_empty(), "asking starts nothing");
}

#[test]
fn help_names_every_flag() {
    let home = Home::new();
    let help = stdout(&home.trellisd(&["--help"]));
    for word in ["up", "stop", "status", "run", "mcp", "--help", "--version", "config.toml", "TRELLIS_SOCKET"] {
        assert!(help.contains(word), "{word} is missing: {help}");
    }
    let help = stdout(&home.trellisd(&["status", "--help"]));
    for word in ["--json", "--settings"] {
        assert!(help.contains(word), "{word} is missing: {help}");
    }
    let of_proxy = home.proxy(&["--help"]).output().expect("it runs");
    let of_daemon = home.trellisd(&["mcp", "--help"]);
    for (program, output) in [("trellis-mcp", of_proxy), ("trellisd mcp", of_daemon)] {
        assert!(output.status.success());
        let help = stdout(&output);
        assert!(help.contains(&format!("usage: {program}")), "{help}");
        for flag in ["--only", "--families", "--tools", "--read-only", "--cwd", "--version", "--help"] {
            assert!(help.contains(flag), "{flag} is missing: {help}");
        }
    }
}

#[test]
fn both_programs_tell_their_version() {
    let home = Home::new();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(stdout(&home.trellisd(&["--version"])), format!("trellisd {version}\n"));
    assert_eq!(stdout(&home.trellisd(&["mcp", "--version"])), format!("trellisd mcp {version}\n"));
    let output = home.proxy(&["--version"]).output().expect("it runs");
    assert_eq!(stdout(&output), format!("trellis-mcp {version}\n"));
    assert!(home.daemons().is_empty());
}

#[test]
fn words_of_other_programs_are_answered_by_name() {
    let home = Home::new();
    for (word, ours) in [("start", "`trellisd up`"), ("ps", "`trellisd status`"), ("config", "status --settings")] {
        let output = home.trellisd(&[word]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(stderr(&output).contains(ours) && stdout(&output).is_empty(), "{output:?}");
    }
    assert!(home.daemons().is_empty(), "nothing is done");
}

#[test]
fn a_broken_config_file_is_named_with_its_line() {
    let home = Home::new();
    let config = home.path().join(".config/trellis/config.toml");
    std::fs::create_dir_all(config.parent().expect("a directory")).expect("a directory");
    std::fs::write(&config, "idle_seconds = 60\n\nlog_level = = 1\n").expect("settings");
    assert!(home.trellisd(&["up"]).status.success());
    let warnings = home.status().expect("a status")["warnings"].to_string();
    assert!(warnings.contains("config.toml, line 3"), "{warnings}");
}

#[test]
fn stop_sees_the_end_of_a_daemon_whose_parent_does_not_look() {
    let home = Home::new();
    let mut daemon = home.command(&programs::daemon()).arg("run").spawn().expect("trellisd runs");
    wait_until("a daemon", || home.daemon_pid());
    let stop = home.trellisd(&["stop"]);
    assert!(stop.status.success() && stdout(&stop).contains("has left"), "{stop:?}");
    assert!(daemon.wait().expect("it has ended").success());
}

#[test]
fn wrong_arguments_are_named_and_exit_with_2() {
    let home = Home::new();
    let proxy = |flags: &[&str]| home.proxy(flags).output().expect("it runs");
    for output in [
        home.trellisd(&["dance"]),
        home.trellisd(&["status", "--dance"]),
        home.trellisd(&["mcp", "--dance"]),
        proxy(&["--dance"]),
        proxy(&["--only"]),
        proxy(&["--cwd", "/nowhere/at/all"]),
    ] {
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert_eq!(stdout(&output), "", "stdout carries protocol only");
        assert!(stderr(&output).contains("--help"), "{output:?}");
    }
}
