//! Ten hosts at once: no number is given twice, no change is lost, and an outside reader never sees half a file.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use trellis_tests::harness::Client;

use super::{Todo, all};

const HOSTS: usize = 10;
const ROUNDS: usize = 12;

#[test]
fn ten_hosts_write_at_once() {
    let mut todo = Todo::with_tasks("# Task\n\nprose\n\n## Shared\n- [ ] seed #T001\n\nthe end\n");
    let path = todo.path("task.md");
    let stop = AtomicBool::new(false);
    let clients: Vec<Client> = (0..HOSTS).map(|_| todo.home.host(&["--only", "todo"])).collect();
    let ids: Vec<Vec<String>> = std::thread::scope(|scope| {
        let (stop, path) = (&stop, &path);
        let reader = scope.spawn(move || {
            let mut looks = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                let text = fs::read_to_string(path).expect("the file is always there");
                assert!(
                    text.starts_with("# Task\n\nprose\n\n## Shared\n") && text.contains("\nthe end\n"),
                    "torn: {text}"
                );
                let ids: Vec<&str> = text.lines().filter_map(|line| line.rsplit_once(" #")).map(|(_, id)| id).collect();
                assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "an id twice: {text}");
                looks += 1;
            }
            looks
        });
        let hosts: Vec<_> =
            clients.into_iter().enumerate().map(|(host, client)| scope.spawn(move || work(host, client))).collect();
        let ids: Vec<_> = hosts.into_iter().map(|host| host.join()).collect();
        stop.store(true, Ordering::Relaxed);
        assert!(reader.join().expect("the file was whole") > 0);
        ids.into_iter().map(|ids| ids.expect("a host")).collect()
    });
    let given: BTreeSet<&String> = ids.iter().flatten().collect();
    assert_eq!(given.len(), HOSTS * ROUNDS, "every number once");
    let mut listed = BTreeSet::new();
    for host in 0..HOSTS {
        let answer = todo.call("list_tasks", json!({ "category": format!("Host {host}"), "limit": 100 }));
        let tasks = answer["tasks"].as_array().expect("tasks").clone();
        assert_eq!(tasks.len(), ROUNDS - 1, "each host deleted one of its own");
        assert!(tasks.iter().all(|task| task["status"] == "done"), "no update is lost: {tasks:?}");
        assert!(answer.get("warnings").is_none(), "{answer}");
        listed.extend(all(&answer["tasks"], "task_id").into_iter().map(str::to_owned));
        let contexts = todo.call("search_contexts", json!({ "query": format!("appended-by-{host}-"), "limit": 50 }));
        assert_eq!(contexts["total_matches"], ROUNDS - 1);
    }
    assert_eq!(listed.len(), HOSTS * (ROUNDS - 1));
    let seed = todo.call("get_context", json!({ "task_id": "T001" }))["content"].as_str().expect("text").to_owned();
    assert_eq!(seed.lines().filter(|line| line.starts_with("line ")).count(), HOSTS * ROUNDS, "no append is lost");
}

/// Creates, finishes and annotates tasks, and deletes the first one; all in one file with the others.
fn work(host: usize, mut client: Client) -> Vec<String> {
    let mut ids = Vec::new();
    for turn in 0..ROUNDS {
        let new = json!({ "title": format!("task {host}-{turn}"), "category": format!("Host {host}") });
        let id = client.call_ok("create_task", new)["task_id"].as_str().expect("an id").to_owned();
        client.call_ok("update_task", json!({ "task_id": id, "status": "done" }));
        let line = json!({ "task_id": id, "content": format!("appended-by-{host}-{turn}"), "append": true });
        client.call_ok("update_context", line);
        let shared =
            json!({ "task_id": "T001", "content": format!("line {host}-{turn}"), "append": true, "section": "Log" });
        client.call_ok("update_context", shared);
        ids.push(id);
    }
    client.call_ok("delete_task", json!({ "task_id": ids[0] }));
    client.call_ok("reorder_task", json!({ "task_id": ids[ROUNDS - 1], "position": "first" }));
    ids
}
