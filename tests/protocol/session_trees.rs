//! Which trees a session sees: its own environment's, its directory's, or those of its host's roots.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

/// A proxy that was started where nothing says which project is meant.
fn lost(home: &Home) -> Client {
    let mut command = home.proxy(&["--only", "vault"]);
    command.current_dir("/");
    Client::start(command)
}

fn able() -> Value {
    json!({ "roots": { "listChanged": true } })
}

/// The next message is the daemon's question; it is answered with these roots.
#[track_caller]
fn tell_roots(client: &mut Client, roots: &[&str]) {
    let question = client.next_message();
    assert_eq!(question["method"], "roots/list", "{question}");
    let roots: Vec<Value> = roots.iter().map(|uri| json!({ "uri": uri, "name": "a root" })).collect();
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "roots": roots } });
    client.send_line(&answer.to_string());
}

fn read(client: &mut Client) -> u64 {
    client.send("tools/call", json!({ "name": "vault_read", "arguments": { "path": "a.md", "full": true } }))
}

#[track_caller]
fn text(client: &mut Client, id: u64) -> String {
    let answer = client.answer(id);
    let content = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"));
    let answer: Value = serde_json::from_str(content).expect("JSON");
    answer["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}")).to_owned()
}

#[test]
fn the_roots_of_the_host_decide_where_the_directory_says_nothing() {
    let home = Home::new();
    home.write("vault/a.md", "from the root");
    let mut client = lost(&home);
    client.initialize_with("2025-11-25", able());
    let id = read(&mut client);
    tell_roots(&mut client, &["https://example.org/", &format!("file://{}", home.project().display())]);
    assert_eq!(text(&mut client, id), "from the root");
}

#[test]
fn roots_are_asked_for_even_if_everything_came_at_once() {
    let home = Home::new();
    home.write("vault/a.md", "from the root");
    let mut client = lost(&home);
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": able(), "clientInfo": { "name": "test", "version": "1" } });
    let call = json!({ "name": "vault_read", "arguments": { "path": "a.md", "full": true } });
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 1001, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 1002, "method": "tools/call", "params": call }),
    ];
    let all: String = lines.iter().map(|line| format!("{line}\n")).collect();
    client.send_bytes(all.as_bytes());
    assert_eq!(client.answer(1001)["result"]["protocolVersion"], "2025-06-18");
    tell_roots(&mut client, &[&format!("file://{}", home.project().display())]);
    assert_eq!(text(&mut client, 1002), "from the root");
}

#[test]
fn roots_that_change_are_asked_for_again() {
    let home = Home::new();
    home.write("vault/a.md", "first");
    home.write("other/vault/a.md", "second");
    let mut client = lost(&home);
    client.initialize_with("2025-03-26", able());
    let id = read(&mut client);
    tell_roots(&mut client, &[&format!("file://{}", home.project().display())]);
    assert_eq!(text(&mut client, id), "first");
    client.notify("notifications/roots/list_changed", json!({}));
    tell_roots(&mut client, &[&format!("file://{}/other", home.project().display())]);
    trellis_tests::harness::wait_until("the new root counts", || {
        let id = read(&mut client);
        (text(&mut client, id) == "second").then_some(())
    });
}

#[test]
fn a_host_that_never_tells_its_roots_costs_a_moment_once() {
    let home = Home::new();
    let mut client = lost(&home);
    client.initialize_with("2025-11-25", able());
    let begin = Instant::now();
    let id = read(&mut client);
    let answer = client.answer(id);
    assert!(begin.elapsed() < Duration::from_secs(6), "{:?}", begin.elapsed());
    assert_eq!(answer["result"]["structuredContent"]["code"], "invalid_parameter", "{answer}");
    assert_eq!(client.next_message()["method"], "roots/list");
    let begin = Instant::now();
    let id = read(&mut client);
    client.answer(id);
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
}

#[test]
fn nobody_is_asked_who_cannot_answer() {
    let home = Home::new();
    home.write("vault/a.md", "text");
    let mut silent = lost(&home);
    silent.initialize("2025-11-25");
    let id = read(&mut silent);
    assert_eq!(silent.next_message()["id"], id, "the answer comes first and alone");
    let mut modern = lost(&home);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": able(),
    });
    let params = json!({ "name": "vault_ls", "arguments": {}, "_meta": meta });
    modern.send_line(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string());
    assert_eq!(modern.next_message()["id"], 1, "no request is made in the modern era");
}

#[test]
fn two_sessions_with_two_vaults_share_one_daemon() {
    let home = Home::new();
    home.write("one/a.md", "one");
    home.write("two/a.md", "two");
    let with_vault = |name: &str| {
        let mut command = home.proxy(&["--only", "vault"]);
        command.env("VAULT_ROOT", home.project().join(name));
        let mut client = Client::start(command);
        client.initialize("2025-11-25");
        client
    };
    let (mut one, mut two) = (with_vault("one"), with_vault("two"));
    for _ in 0..2 {
        for (client, expected) in [(&mut one, "one"), (&mut two, "two")] {
            let id = read(client);
            assert_eq!(text(client, id), expected);
        }
    }
    assert_eq!(home.daemons().len(), 1);
}
