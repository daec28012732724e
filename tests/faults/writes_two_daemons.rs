//! Two daemons that know nothing of each other on the same files: every name is created once, no update is lost.

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;
use trellis_tests::harness::{Client, Home, wait_until};

use super::exclusive::exclusive;
use super::writes_load::leftover_temps;

const FILES: usize = 200;
const END_OF_FILE_MARK: &str = "(end)";

/// Two accounts with one vault.
fn two() -> (Home, Home, std::path::PathBuf) {
    let first = Home::new();
    let vault = first.path().join("common");
    fs::create_dir(&vault).expect("a directory");
    let second = Home::new().with("VAULT_ROOT", &vault);
    (first.with("VAULT_ROOT", &vault), second, vault)
}

fn at_once<T: Send>(homes: [&Home; 2], work: impl Fn(usize, Client) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let host = |(number, home): (usize, &Home)| {
            let client = home.host(&["--only", "vault"]);
            scope.spawn(move || work(number, client))
        };
        let hosts: Vec<_> = homes.into_iter().enumerate().map(host).collect();
        hosts.into_iter().map(|host| host.join().expect("a host without complaint")).collect()
    })
}

#[test]
fn r5_two_daemons_create_every_name_once() {
    let _turn = exclusive();
    let (first, second, vault) = two();
    let made = at_once([&first, &second], |host, mut client| {
        let mut made = Vec::new();
        for number in 0..FILES {
            let path = format!("dir-{}/{number}.md", number % 7);
            let result = client.call("vault_create", json!({ "path": path, "content": format!("{host}") }));
            match result["isError"] == false {
                true => made.push(path),
                false => assert_eq!(result["structuredContent"]["error"]["code"], "conflict", "{result}"),
            }
        }
        made
    });
    let mut owners = BTreeMap::new();
    for (host, path) in made.iter().enumerate().flat_map(|(host, paths)| paths.iter().map(move |path| (host, path))) {
        assert!(owners.insert(path, host).is_none(), "{path} was created twice");
    }
    assert_eq!(owners.len(), FILES, "every name was created");
    for (path, host) in owners {
        assert_eq!(fs::read_to_string(vault.join(path)).expect("a file"), host.to_string(), "{path}");
    }
    println!("created by the first and by the second: {:?}", made.iter().map(Vec::len).collect::<Vec<_>>());
    wait_until("nothing is left lying", || leftover_temps(&vault).is_empty().then_some(()));
}

#[test]
fn r4_two_daemons_lose_no_update() {
    let _turn = exclusive();
    let (first, second, vault) = two();
    fs::write(vault.join("note.md"), END_OF_FILE_MARK).expect("a file");
    let marked = at_once([&first, &second], |host, mut client| {
        let (mut done, mut busy) = (Vec::new(), 0);
        for number in 0..FILES {
            let marker = format!("<{host}.{number}>");
            let replace = format!("{marker}\n{END_OF_FILE_MARK}");
            let result = client
                .call("vault_replace", json!({ "path": "note.md", "find": END_OF_FILE_MARK, "replace": replace }));
            match result["isError"] == false {
                true => done.push(marker),
                false => {
                    assert_eq!(result["structuredContent"]["error"]["details"]["reason"], "busy", "{result}");
                    busy += 1;
                }
            }
        }
        (done, busy)
    });
    let text = fs::read_to_string(vault.join("note.md")).expect("a file");
    let mut acknowledged = 0;
    for marker in marked.iter().flat_map(|(done, _)| done) {
        assert_eq!(text.matches(marker.as_str()).count(), 1, "{marker}");
        acknowledged += 1;
    }
    assert_eq!(text.lines().count(), acknowledged + 1, "nothing that was refused is there");
    println!("{acknowledged} acknowledged, {} busy", marked.iter().map(|(_, busy)| busy).sum::<usize>());
    wait_until("nothing is left lying", || leftover_temps(&vault).is_empty().then_some(()));
}
