//! Many hosts at once, and a person beside them: numbers stay unique, no note and no edit is lost.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use trellis_tests::harness::{Client, Home};

use super::{Vibe, a_task};

#[test]
fn twenty_tasks_at_once_have_twenty_numbers() {
    let vibe = Vibe::with("demo/tasks/007-before.md", "x");
    let clients: Vec<Client> = (0..4).map(|_| vibe.host()).collect();
    let mut numbers: Vec<String> = std::thread::scope(|scope| {
        let hosts: Vec<_> = clients
            .into_iter()
            .enumerate()
            .map(|(host, mut client)| {
                scope.spawn(move || {
                    // All five are open at once.
                    let calls: Vec<u64> = (0..5)
                        .map(|turn| {
                            let arguments = a_task(&format!("host {host} turn {turn}"));
                            client.send("tools/call", json!({ "name": "create_task", "arguments": arguments }))
                        })
                        .collect();
                    let number = |id: u64| {
                        let answer = client.answer(id);
                        let number = &answer["result"]["structuredContent"]["task"]["number"];
                        number.as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
                    };
                    let numbers: Vec<String> = calls.into_iter().map(number).collect();
                    client.close();
                    numbers
                })
            })
            .collect();
        hosts.into_iter().flat_map(|host| host.join().expect("a host")).collect()
    });
    numbers.sort();
    assert_eq!(numbers, (8..28).map(|number| format!("{number:03}")).collect::<Vec<_>>());
    assert_eq!(vibe.tree().iter().filter(|path| path.ends_with(".md")).count(), 21);
}

#[test]
fn twelve_notes_at_once_are_all_there() {
    let vibe = Vibe::at(Home::new().with("TZ", "UTC"));
    let clients: Vec<Client> = (0..4).map(|_| vibe.host()).collect();
    std::thread::scope(|scope| {
        for (host, mut client) in clients.into_iter().enumerate() {
            scope.spawn(move || {
                for turn in 0..3 {
                    let note = json!({ "project": "demo", "content": format!("note <{host}-{turn}>") });
                    client.call_ok("log_session", note);
                }
                client.close();
            });
        }
    });
    let texts: String = vibe.tree().iter().filter(|path| path.ends_with(".md")).map(|path| vibe.text(path)).collect();
    for host in 0..4 {
        for turn in 0..3 {
            assert_eq!(texts.matches(&format!("note <{host}-{turn}>")).count(), 1, "{texts}");
        }
    }
}

#[test]
fn a_person_who_renames_and_edits_meanwhile_loses_nothing() {
    let mut vibe = Vibe::with("demo/tasks/001-shared.md", "# Task: Shared\n\nStatus: pending\n\n");
    let tasks = vibe.path("demo/tasks");
    let stop = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        let (stop, tasks) = (&stop, &tasks);
        let person = scope.spawn(move || {
            let mut written = 0;
            while !stop.load(Ordering::Relaxed) && written < 400 {
                // As an editor saves: a whole new file over the old one.
                let old = fs::read_to_string(tasks.join("001-shared.md")).expect("the task");
                let beside = tasks.join("save.tmp");
                fs::write(&beside, format!("{old}line {written}\n")).expect("a save");
                let now = fs::read_to_string(tasks.join("001-shared.md")).expect("the task");
                if now != old {
                    continue;
                }
                fs::rename(&beside, tasks.join("001-shared.md")).expect("a save");
                fs::write(tasks.join(format!("own-{written}.md")), "mine").expect("a file");
                fs::rename(tasks.join(format!("own-{written}.md")), tasks.join(format!("mine-{written}.md")))
                    .expect("a name");
                written += 1;
            }
            written
        });
        for turn in 0..40 {
            let status = ["done", "pending", "blocked", "in-progress"][turn % 4];
            let call = json!({ "project": "demo", "task": "1", "status": status });
            let answer = vibe.client.call("update_task_status", call);
            let code = &answer["structuredContent"]["error"]["code"];
            assert!(code.is_null() || code == "FILESYSTEM_ERROR", "busy at most: {answer}");
            vibe.task(&format!("turn {turn}"));
        }
        stop.store(true, Ordering::Relaxed);
        person.join().expect("the person")
    });
    let _ = fs::remove_file(tasks.join("save.tmp"));
    assert!(written > 0);
    for number in 0..written {
        assert_eq!(vibe.text(&format!("demo/tasks/mine-{number}.md")), "mine");
    }
    // A save that met one of ours in the very moment may lie beside it, but never nowhere.
    let shared = vibe.tree().into_iter().filter(|path| path.contains("001-shared"));
    let shared: String = shared.map(|path| vibe.text(&path)).collect();
    for number in 0..written {
        assert!(shared.contains(&format!("line {number}\n")), "line {number} of {written} is lost");
    }
    let names: Vec<String> = vibe.tree().into_iter().filter(|path| path.contains("-turn-")).collect();
    assert_eq!(names.len(), 40);
    let numbers: std::collections::BTreeSet<&str> =
        names.iter().map(|path| &path["demo/tasks/".len()..][..3]).collect();
    assert_eq!(numbers.len(), 40, "every number once");
}
