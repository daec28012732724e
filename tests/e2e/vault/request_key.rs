//! The same request again, known by the caller's own key: the first answer comes back, and nothing is made twice.

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

use super::Vault;

/// Calls a tool with a key and returns the whole result.
#[track_caller]
fn keyed(client: &mut Client, key: &str, tool: &str, arguments: &Value) -> Value {
    let meta = json!({ "trellis/requestKey": key });
    client.request("tools/call", json!({ "name": tool, "arguments": arguments, "_meta": meta }))
}

#[track_caller]
fn keyed_ok(client: &mut Client, key: &str, tool: &str, arguments: &Value) -> Value {
    let result = keyed(client, key, tool, arguments);
    assert_ne!(result["isError"], true, "{result}");
    result["structuredContent"].clone()
}

fn adding(text: &str) -> Value {
    json!({ "path": "a.md", "find": "|", "replace": format!("{text}|") })
}

#[test]
fn the_same_key_and_arguments_give_the_first_answer() {
    let mut vault = Vault::with_file("a.md", "|");
    let creating = json!({ "path": "b.md", "content": "text" });
    let first = keyed_ok(&mut vault.client, "k", "vault_create", &creating);
    for _ in 0..3 {
        assert_eq!(keyed_ok(&mut vault.client, "k", "vault_create", &creating), first);
        assert_eq!(keyed_ok(&mut vault.client, "k", "vault_replace", &adding("x"))["replacements"], 1);
    }
    assert_eq!(vault.text("a.md"), "x|", "done once");
    // Another host repeats it, also the other way round.
    let mut other = vault.host();
    assert_eq!(keyed_ok(&mut other, "k", "vault_create", &creating), first);
    assert_eq!(keyed_ok(&mut other, "k", "vault_replace", &adding("x"))["replacements"], 1);
    assert_eq!(vault.text("a.md"), "x|");
    // Without the key it is a call like any other.
    assert_eq!(vault.refused("vault_create", creating)["code"], "conflict");
    assert_eq!(vault.tree(), ["a.md", "b.md"]);
}

#[test]
fn other_arguments_or_another_key_run() {
    let mut vault = Vault::with_file("a.md", "|");
    keyed_ok(&mut vault.client, "k", "vault_replace", &adding("1"));
    keyed_ok(&mut vault.client, "k", "vault_replace", &adding("2"));
    keyed_ok(&mut vault.client, "l", "vault_replace", &adding("2"));
    assert_eq!(vault.text("a.md"), "122|");
    let creating = |content: &str| json!({ "path": "b.md", "content": content });
    keyed_ok(&mut vault.client, "k", "vault_create", &creating("1"));
    assert_eq!(keyed(&mut vault.client, "k", "vault_create", &creating("2"))["structuredContent"]["code"], "conflict");
    assert_eq!(keyed(&mut vault.client, "l", "vault_create", &creating("1"))["structuredContent"]["code"], "conflict");
}

#[test]
fn the_order_of_the_arguments_makes_no_difference() {
    let mut vault = Vault::with_file("a.md", "|");
    keyed_ok(&mut vault.client, "k", "vault_replace", &adding("x"));
    let turned = json!({ "replace": "x|", "find": "|", "path": "a.md" });
    keyed_ok(&mut vault.client, "k", "vault_replace", &turned);
    assert_eq!(vault.text("a.md"), "x|");
}

#[test]
fn a_key_is_known_to_the_next_daemon() {
    for killed in [true, false] {
        let mut vault = Vault::with_file("a.md", "|");
        let creating = json!({ "path": "b.md", "content": "text" });
        let first = keyed_ok(&mut vault.client, "k", "vault_create", &creating);
        keyed_ok(&mut vault.client, "k", "vault_replace", &adding("x"));
        for _ in 0..2 {
            let pid = vault.home.daemon_pid().expect("a daemon");
            match killed {
                true => vault.home.kill(pid),
                false => assert!(vault.home.trellisd(&["stop"]).status.success()),
            }
            wait_until("the daemon has gone", || (!vault.home.daemons().contains(&pid)).then_some(()));
            let mut other = vault.host();
            assert_eq!(keyed_ok(&mut other, "k", "vault_create", &creating), first, "killed: {killed}");
            assert_eq!(keyed_ok(&mut other, "k", "vault_replace", &adding("x"))["replacements"], 1);
            assert_eq!(vault.text("a.md"), "x|", "killed: {killed}");
        }
        keyed_ok(&mut vault.client, "k", "vault_replace", &adding("y"));
        assert_eq!(vault.text("a.md"), "xy|");
    }
}

#[test]
fn a_call_that_changed_nothing_is_answered_alike() {
    let mut vault = Vault::with_file("a.md", "text");
    let arguments = json!({ "path": "a.md", "find": "later", "replace": "x" });
    assert_eq!(keyed_ok(&mut vault.client, "k", "vault_replace", &arguments)["replacements"], 0);
    vault.write("a.md", "later");
    assert_eq!(keyed_ok(&mut vault.client, "k", "vault_replace", &arguments)["replacements"], 0);
    assert_eq!(vault.text("a.md"), "later");
}

#[test]
fn a_refused_call_may_succeed_with_the_same_key() {
    let mut vault = Vault::new();
    assert_eq!(keyed(&mut vault.client, "k", "vault_replace", &adding("x"))["structuredContent"]["code"], "not_found");
    vault.write("a.md", "|");
    assert_eq!(keyed_ok(&mut vault.client, "k", "vault_replace", &adding("x"))["replacements"], 1);
    assert_eq!(vault.text("a.md"), "x|");
}

#[test]
fn a_key_does_not_reach_into_another_vault() {
    let home = Home::new();
    let creating = json!({ "path": "a.md", "content": "text" });
    for (place, variable) in [("one", None), ("two", None), ("two", Some("three"))] {
        let project = home.path().join(place);
        std::fs::create_dir_all(project.join("vault")).expect("a vault");
        let mut command = home.proxy(&["--only", "vault", "--cwd", project.to_str().expect("text")]);
        if let Some(root) = variable {
            command.env("VAULT_ROOT", home.path().join(root));
        }
        let mut client = Client::start(command);
        client.initialize("2025-11-25");
        keyed_ok(&mut client, "k", "vault_create", &creating);
    }
    for path in ["one/vault/a.md", "two/vault/a.md", "three/a.md"] {
        assert!(home.path().join(path).exists(), "{path}: another vault's answer is no answer");
    }
}

#[test]
fn two_hosts_with_one_key_at_once_are_one_call() {
    let mut vault = Vault::with_file("a.md", "|");
    let mut other = vault.host();
    for round in 0..20 {
        let call = json!({
            "name": "vault_replace",
            "arguments": adding("x"),
            "_meta": { "trellis/requestKey": round.to_string() },
        });
        let (one, two) = (vault.client.send("tools/call", call.clone()), other.send("tools/call", call));
        for answer in [vault.client.answer(one), other.answer(two)] {
            assert_eq!(answer["result"]["structuredContent"]["replacements"], 1, "{answer}");
        }
        assert_eq!(vault.text("a.md"), "x".repeat(round + 1) + "|");
    }
}
