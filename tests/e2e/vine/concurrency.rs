//! Many hosts at one plan: no acknowledged write is lost, and nobody ever sees half a plan.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use trellis_tests::harness::Client;

use super::{FILE, Plan, blocks, said};

const HOSTS: usize = 4;
const WRITES: usize = 50;

#[test]
fn four_hosts_write_one_plan_and_nothing_is_lost() {
    let mut plan = Plan::of(blocks(&["[r] R (started)"]));
    let path = plan.path(FILE);
    let clients: Vec<Client> = (0..HOSTS).map(|_| plan.host()).collect();
    let mut watcher = plan.host();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (stop, path) = (&stop, &path);
        let by_tool = scope.spawn(move || {
            let mut looks = 0;
            while !stop.load(Ordering::Relaxed) {
                let verdict = said(&watcher.call("vine_read", json!({ "file": FILE, "action": "validate" })));
                assert!(verdict.as_ref().is_ok_and(|verdict| verdict.starts_with("Valid — ")), "{verdict:?}");
                looks += 1;
            }
            watcher.close();
            looks
        });
        let by_hand = scope.spawn(move || {
            let mut looks = 0;
            while !stop.load(Ordering::Relaxed) {
                let text = fs::read_to_string(path).expect("the plan is always there");
                let whole = text.starts_with("vine 1.2.0\n---\n[r] R (started)\n") && text.ends_with(")\n");
                let needed = text.matches("\n-> ").count();
                assert!(whole && text.matches("\n---\n[").count() == needed + 1, "half a plan: {text}");
                looks += 1;
            }
            looks
        });
        let writers: Vec<_> = clients
            .into_iter()
            .enumerate()
            .map(|(host, mut client)| {
                scope.spawn(move || {
                    for turn in 0..WRITES {
                        let id = format!("t{host}-{turn}");
                        let operations = json!([{ "op": "add_task", "id": id, "name": "T" }, { "op": "add_dep", "taskId": "r", "depId": id }]);
                        let answer = said(&client.call("vine_write", json!({ "file": FILE, "operations": operations })));
                        answer.unwrap_or_else(|refusal| panic!("{id}: {refusal}"));
                    }
                    client.close();
                })
            })
            .collect();
        let ended: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        stop.store(true, Ordering::Relaxed);
        assert!(by_tool.join().expect("always valid") > 0 && by_hand.join().expect("always whole") > 0);
        assert!(ended.iter().all(Result::is_ok));
    });
    let list = plan.json("list", json!({}));
    let ids: Vec<&str> = super::ids(&list);
    assert_eq!(ids.len(), 1 + HOSTS * WRITES);
    for host in 0..HOSTS {
        let own: Vec<String> = (0..WRITES).map(|turn| format!("t{host}-{turn}")).collect();
        let seen: Vec<&str> = ids.iter().copied().filter(|id| id.starts_with(&format!("t{host}-"))).collect();
        assert_eq!(seen, own, "each once, in the order they were acknowledged");
    }
    assert_eq!(plan.tree(), [FILE], "no conflict copies: everybody here is one of us");
}

#[test]
fn of_several_who_make_or_extract_the_same_file_one_succeeds() {
    let plan = Plan::new();
    let mut clients: Vec<Client> = (0..HOSTS).map(|_| plan.host()).collect();
    for round in 0..10 {
        let file = format!("new{round}");
        let make = |host: usize| {
            json!([
                { "op": "create" },
                { "op": "add_task", "id": format!("h{host}"), "name": "R", "dependsOn": ["t"] },
                { "op": "add_task", "id": "t", "name": "T" },
            ])
        };
        let done = together(&mut clients, |host| json!({ "file": file, "operations": make(host) }));
        let winners: Vec<usize> = (0..HOSTS).filter(|host| done[*host].is_ok()).collect();
        assert_eq!(winners.len(), 1, "{done:?}");
        assert!(plan.text(&format!("{file}.vine")).contains(&format!("[h{}] R", winners[0])));
        let extract = json!([{ "op": "extract_to_ref", "id": "t", "vine": format!("child{round}.vine") }]);
        let done = together(&mut clients, |_| json!({ "file": file, "operations": extract }));
        assert_eq!(done.iter().filter(|answer| answer.is_ok()).count(), 1, "{done:?}");
        assert!(plan.text(&format!("{file}.vine")).contains(&format!("ref [t] T (child{round}.vine)")));
    }
    clients.iter_mut().for_each(|client| assert!(client.close().success()));
}

#[test]
fn of_several_who_claim_a_task_for_themselves_one_gets_it() {
    let mut plan = Plan::of(blocks(&["[r] R (started)\n-> t", "[t] T (notstarted)"]));
    let mut clients: Vec<Client> = (0..HOSTS).map(|_| plan.host()).collect();
    let claim = json!([{ "op": "claim", "id": "t", "exclusive": true }]);
    for from in ["notstarted", "planning"] {
        plan.write(json!([{ "op": "set_status", "id": "t", "status": from }]));
        let done = together(&mut clients, |_| json!({ "file": FILE, "operations": claim }));
        assert_eq!(done.iter().filter(|answer| answer.is_ok()).count(), 1, "{from}: {done:?}");
    }
    for begun in ["started", "reviewing", "complete"] {
        plan.write(json!([{ "op": "set_status", "id": "t", "status": begun }]));
        plan.write_refused(claim.clone());
    }
    // Without the word it is as it always was.
    plan.write(json!([{ "op": "claim", "id": "t" }]));
    clients.iter_mut().for_each(|client| assert!(client.close().success()));
}

/// The same tool by all hosts at once.
fn together(clients: &mut [Client], arguments: impl Fn(usize) -> Value) -> Vec<Result<String, String>> {
    let sent: Vec<u64> = clients
        .iter_mut()
        .enumerate()
        .map(|(host, client)| client.send("tools/call", json!({ "name": "vine_write", "arguments": arguments(host) })))
        .collect();
    clients.iter_mut().zip(sent).map(|(client, id)| said(&client.answer(id)["result"])).collect()
}
