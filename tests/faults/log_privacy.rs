//! The log of a day: it names trees and files as people call them, and holds neither where somebody keeps them, nor what
//! is in them, nor what was asked.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use trellis_tests::harness::http::{HttpClient, KEY, free_port};
use trellis_tests::harness::{Client, Home, wait_until};

/// Words in files, questions and arguments; none of them may be found in the log.
const TEXT: &str = "hush-text-in-a-file";
const QUERY: &str = "hush-words-of-a-query";
const ARGUMENT: &str = "hush-argument";

/// A daemon that meets trouble in a directory whose name wants to write log lines of its own.
#[test]
fn r26_paths_texts_and_questions_stay_out_of_the_log() {
    let port = free_port();
    let home = Home::new().with("ENABLE_HTTP", "true").with("PORT", port.to_string()).with("API_KEYS", KEY);
    let place = home.path().join("pri\nvate\u{1b}[31m");
    let vault = place.join("vault");
    fs::create_dir_all(vault.join("closed")).expect("a directory");
    fs::write(vault.join("a.md"), TEXT).expect("a file");
    fs::set_permissions(vault.join("closed"), fs::Permissions::from_mode(0o000)).expect("a mode");
    let workspace = home.path().join(".vibe/demo/plans");
    fs::create_dir_all(workspace.join(format!("{ARGUMENT}.md"))).expect("a directory");
    let bomb = (1..9).fold("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(), |lines, level| {
        lines + &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(", "))
    });
    fs::write(workspace.join("bomb.md"), format!("---\n{bomb}---\n{TEXT}\n")).expect("a file");

    let stderr = home.path().join("stderr");
    let mut proxy = home.unprivileged_proxy(&["--cwd", place.to_str().expect("text")]);
    proxy.stderr(fs::File::create(&stderr).expect("a file"));
    let mut host = Client::start(proxy);
    host.initialize("2025-11-25");
    host.call_ok("vault_read", json!({ "path": "a.md", "full": true }));
    host.call_ok("vibe_search", json!({ "query": QUERY }));
    host.call("vault_read", json!({ "path": ARGUMENT, "full": true }));
    host.request("resources/list", json!({}));
    let web = HttpClient::at(port).with("X-API-Key", KEY);
    let read = json!({ "project": "demo", "folder": "plans", "filename": format!("{ARGUMENT}.md") });
    assert!(web.post("/tools/vibe_read_doc", &read).status >= 400);
    assert!(web.post("/tools/vibe_search", &json!({ "query": QUERY })).status < 500);

    let log = wait_until("the log has what went wrong", || {
        let log = home.log();
        (log.contains("cannot be read and is passed over") && log.contains("bomb.md")).then_some(log)
    });
    let home_path = home.path().to_str().expect("text");
    let stderr = fs::read_to_string(stderr).expect("a file");
    for secret in [TEXT, QUERY, ARGUMENT, KEY, home_path] {
        let lines: Vec<&str> = log.lines().chain(stderr.lines()).filter(|line| line.contains(secret)).collect();
        assert!(lines.is_empty(), "{secret} in {lines:#?}");
    }
    assert!(!log.chars().any(|character| character.is_control() && character != '\n'), "{log:?}");
    assert!(log.contains("/vault`") && log.contains("pri\\nvate"), "a tree is named, on one line: {log}");
    assert!(log.lines().all(|line| line.starts_with("20")), "every line is one of ours: {log}");
    fs::set_permissions(vault.join("closed"), fs::Permissions::from_mode(0o755)).expect("a mode");
}
