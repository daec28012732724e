//! Several hosts, and other programs that write the file: nothing is lost, and everybody sees it at once.

use std::fs;

use serde_json::{Value, json};
use trellis_tests::harness::Client;

use super::Board;

const HOSTS: usize = 4;
const ROUNDS: usize = 25;

#[test]
fn what_another_program_wrote_between_two_calls_is_never_lost() {
    let mut board = Board::new();
    board.id_of_new("ours");
    for round in 0..30 {
        let mut file = board.file();
        let tasks = file["lanes"]["todo"].as_array_mut().expect("a lane");
        tasks.push(json!({ "id": format!("task-o{round}"), "title": format!("theirs {round}"), "round": round }));
        file["round"] = round.into();
        // Every second time by way of another file, as most editors do.
        let text = file.to_string();
        if round % 2 == 0 {
            board.write(&text);
        } else {
            let beside = board.home.write("beside.json", &text);
            fs::rename(beside, board.path()).expect("it takes its place");
        }
        board.create(json!({ "title": format!("ours {round}"), "lane": "done" }));
        let file = board.file();
        assert_eq!(file["round"], round);
        assert_eq!(file["lanes"]["todo"].as_array().map(Vec::len), Some(round + 1));
        assert_eq!(file["lanes"]["todo"][round]["round"], round);
        assert_eq!(file["lanes"]["done"].as_array().map(Vec::len), Some(round + 1));
        let found = board.titles("vbm_search_tasks", json!({ "query": format!("theirs {round}"), "lane": "todo" }));
        assert!(found.contains(&format!("theirs {round}")));
    }
}

#[test]
fn a_change_of_one_host_is_seen_by_the_other_at_once() {
    let mut board = Board::new();
    let mut other = board.home.host(&["--only", "board"]);
    for round in 0..20 {
        let id = board.id_of_new(&format!("round {round}"));
        let task = other.call_ok("vbm_get_task", json!({ "id": id }))["task"].clone();
        assert_eq!(task["title"], format!("round {round}"));
        other.call_ok("vbm_move_task", json!({ "id": id, "lane": "done", "comment": "seen" }));
        let task = board.call("vbm_get_task", json!({ "id": id }))["task"].clone();
        assert_eq!((&task["lane"], &task["comments"][0]["text"]), (&json!("done"), &json!("seen")));
        assert_eq!(board.call("vbm_get_stats", json!({}))["stats"]["byLane"]["done"], round + 1);
    }
    other.close();
}

#[test]
fn many_hosts_write_and_nothing_is_lost() {
    let mut board = Board::new();
    let clients: Vec<Client> = (0..HOSTS).map(|_| board.home.host(&["--only", "board"])).collect();
    std::thread::scope(|scope| {
        for (host, mut client) in clients.into_iter().enumerate() {
            scope.spawn(move || {
                for turn in 0..ROUNDS {
                    let created = client.call_ok("vbm_create_task", json!({ "title": format!("{host}-{turn}") }));
                    let id = created["task"]["id"].clone();
                    client.call_ok("vbm_move_task", json!({ "id": id, "lane": "done" }));
                }
                client.close();
            });
        }
    });
    let file = board.file();
    assert_eq!(file["lanes"]["backlog"], json!([]));
    let mut titles: Vec<&str> =
        file["lanes"]["done"].as_array().expect("a lane").iter().filter_map(|task| task["title"].as_str()).collect();
    titles.sort_unstable();
    titles.dedup();
    assert_eq!(titles.len(), HOSTS * ROUNDS);
    assert_eq!(board.call("vbm_list_tasks", json!({ "limit": 200 }))["total"], HOSTS * ROUNDS);
}

#[test]
fn of_two_with_one_hash_exactly_one_passes() {
    let mut board = Board::new();
    let id = board.id_of_new("contested");
    for _ in 0..10 {
        let hash = board.call("vbm_get_board", json!({}))["hash"].clone();
        let mut clients: Vec<Client> = (0..2).map(|_| board.home.host(&["--only", "board"])).collect();
        let mut sent = Vec::new();
        for (host, client) in clients.iter_mut().enumerate() {
            let title = format!("by {host} {}", hash.as_str().expect("a hash"));
            let arguments = json!({ "id": id, "title": title, "if_match": hash });
            sent.push(client.send("tools/call", json!({ "name": "vbm_update_task", "arguments": arguments })));
        }
        let answers: Vec<Value> =
            clients.iter_mut().zip(sent).map(|(client, id)| client.answer(id)["result"].clone()).collect();
        let refused: Vec<&Value> = answers.iter().filter(|answer| answer["isError"] == true).collect();
        assert_eq!(refused.len(), 1, "{answers:?}");
        assert_eq!(refused[0]["structuredContent"]["error"]["data"]["field"], "if_match");
        for client in &mut clients {
            client.close();
        }
    }
}

#[test]
fn a_killed_daemon_loses_nothing() {
    let mut board = Board::new();
    for round in 0..5 {
        let id = board.id_of_new(&format!("round {round}"));
        let pid = board.home.daemon_pid().expect("a daemon");
        board.home.kill(pid);
        assert_eq!(board.call("vbm_get_task", json!({ "id": id }))["task"]["title"], format!("round {round}"));
    }
    assert_eq!(board.call("vbm_list_tasks", json!({}))["total"], 5);
}
