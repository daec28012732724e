//! Many hosts at once: no change is lost, none is made twice, and the file is whole at every moment.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use trellis_tests::harness::Client;

use super::Vault;

const HOSTS: usize = 4;
const ROUNDS: usize = 50;

#[test]
fn four_hosts_change_one_file_and_nothing_is_lost() {
    // Every host replaces its own marks, one by one; the padding makes a torn file visible.
    let padding = "padding of some length\n".repeat(2000);
    let marks: String = (0..ROUNDS).flat_map(|turn| (0..HOSTS).map(move |host| format!("<{host}-{turn}>\n"))).collect();
    let vault = Vault::with_file("a.md", format!("begin\n{marks}{padding}end\n"));
    let path = vault.path("a.md");
    let clients: Vec<Client> = (0..HOSTS).map(|_| vault.host()).collect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (stop, path, padding) = (&stop, &path, &padding);
        let reader = scope.spawn(move || {
            let mut looks = 0;
            while !stop.load(Ordering::Relaxed) {
                let text = fs::read_to_string(path).expect("the file is always there");
                let whole = text.starts_with("begin\n") && text.ends_with("end\n") && text.contains(padding.as_str());
                assert!(whole && text.lines().count() == HOSTS * ROUNDS + 2002, "torn: {} bytes", text.len());
                looks += 1;
            }
            looks
        });
        let hosts: Vec<_> = clients
            .into_iter()
            .enumerate()
            .map(|(host, mut client)| {
                scope.spawn(move || {
                    for turn in 0..ROUNDS {
                        let (find, replace) = (format!("<{host}-{turn}>"), format!("[{host}-{turn}-done]"));
                        let arguments = json!({ "path": "a.md", "find": find, "replace": replace });
                        assert_eq!(client.call_ok("vault_replace", arguments)["replacements"], 1, "{find}");
                    }
                })
            })
            .collect();
        let ended: Vec<_> = hosts.into_iter().map(|host| host.join()).collect();
        stop.store(true, Ordering::Relaxed);
        assert!(reader.join().expect("the file was whole") > 0);
        assert!(ended.iter().all(Result::is_ok));
    });
    let text = vault.text("a.md");
    for host in 0..HOSTS {
        for turn in 0..ROUNDS {
            assert_eq!(text.matches(&format!("[{host}-{turn}-done]")).count(), 1, "{host}-{turn}");
        }
    }
    assert!(!text.contains('<'));
    assert_eq!(vault.tree(), ["a.md"], "no conflict copies: everybody here is one of us");
}

#[test]
fn a_counter_counts_every_call() {
    let mut vault = Vault::with_file("a.md", "");
    vault.write("a.md", "|");
    let clients: Vec<Client> = (0..HOSTS).map(|_| vault.host()).collect();
    std::thread::scope(|scope| {
        for mut client in clients {
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    let arguments = json!({ "path": "a.md", "find": "|", "replace": "x|" });
                    assert_eq!(client.call_ok("vault_replace", arguments)["replacements"], 1);
                }
            });
        }
    });
    assert_eq!(vault.text("a.md"), "x".repeat(HOSTS * ROUNDS) + "|");
    assert_eq!(vault.replace("a.md", "|", "", json!({})), 1);
}

#[test]
fn of_many_with_one_hash_exactly_one_passes() {
    let mut vault = Vault::with_file("a.md", "0");
    for round in 0..20 {
        let read = vault.read("a.md", json!({ "full": true }));
        let mut clients: Vec<Client> = (0..2).map(|_| vault.host()).collect();
        let arguments = json!({
            "path": "a.md",
            "find": round.to_string(),
            "replace": (round + 1).to_string(),
            "if_match": read["hash"],
        });
        let call = json!({ "name": "vault_replace", "arguments": arguments });
        let sent: Vec<u64> = clients.iter_mut().map(|client| client.send("tools/call", call.clone())).collect();
        let answers = clients.iter_mut().zip(sent).map(|(client, id)| client.answer(id)["result"].clone());
        let (done, refused): (Vec<_>, Vec<_>) = answers.partition(|answer| answer["isError"] != true);
        assert_eq!((done.len(), refused.len()), (1, 1), "{done:?} {refused:?}");
        assert_eq!(refused[0]["structuredContent"]["code"], "conflict");
        assert_eq!(vault.text("a.md"), (round + 1).to_string());
    }
}
