//! What becomes of a change, whoever made it: subscribers of its own tree hear of it once and soon, and the feed has it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

/// How long an edit by hand may take to reach a subscriber.
const PROMISE: Duration = Duration::from_millis(50);
/// Longer than anything that is still on its way takes.
const SETTLED: Duration = Duration::from_millis(300);
const DOCUMENT: &str = "vibe://projects/demo/references/a.md";
const TASKS: &str = "todo:///task.md";

/// A file of the workspace.
fn document(home: &Home, path: &str, text: &str) -> PathBuf {
    let path = home.path().join(".vibe").join(path);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(&path, text).expect("written");
    path
}

fn subscribed(home: &Home, flags: &[&str], uri: &str) -> Client {
    let mut client = home.host(flags);
    assert_eq!(client.request("resources/subscribe", json!({ "uri": uri })), json!({}));
    client
}

/// Messages by method and URI, until none has come for a while.
fn heard(client: &mut Client) -> Vec<(String, Value)> {
    std::iter::from_fn(|| client.message_within(SETTLED))
        .map(|message| {
            let method = message["method"].as_str().expect("a method").trim_start_matches("notifications/resources/");
            (method.to_owned(), message["params"]["uri"].clone())
        })
        .collect()
}

fn updated(uri: &str) -> (String, Value) {
    ("updated".to_owned(), json!(uri))
}

fn list_changed() -> (String, Value) {
    ("list_changed".to_owned(), Value::Null)
}

/// Replaces a file at once, as editors do: one that is emptied and written again has changed twice.
fn replace(home: &Home, path: &Path, text: &str) {
    let new = home.path().join("new");
    fs::write(&new, text).expect("written");
    fs::rename(new, path).expect("renamed");
}

/// The median of several edits: one may meet a busy machine.
#[track_caller]
fn edits_are_heard_in_time(client: &mut Client, uri: &str, edit: impl Fn(usize)) {
    let mut delays: Vec<Duration> = (0..9)
        .map(|number| {
            std::thread::sleep(Duration::from_millis(60));
            let began = Instant::now();
            edit(number);
            let message = client.next_message();
            assert_eq!(message["params"]["uri"], uri, "{message}");
            began.elapsed()
        })
        .collect();
    delays.sort();
    assert!(delays[delays.len() / 2] < PROMISE, "{delays:?}");
    assert_eq!(heard(client), [], "each edit is told once");
}

#[test]
fn an_edit_by_hand_reaches_a_subscriber_of_the_workspace() {
    let home = Home::new();
    let file = document(&home, "demo/references/a.md", "# A\n");
    let mut reader = subscribed(&home, &["--only", "vibe"], DOCUMENT);
    edits_are_heard_in_time(&mut reader, DOCUMENT, |number| {
        replace(&home, &file, &format!("# A {number}\n"));
    });
    document(&home, "demo/references/b.md", "# B\n");
    assert_eq!(heard(&mut reader), [list_changed()]);
    fs::remove_file(&file).expect("removed");
    assert_eq!(heard(&mut reader), [updated(DOCUMENT), list_changed()]);
}

#[test]
fn an_edit_by_hand_reaches_a_subscriber_of_its_project_and_no_other() {
    let home = Home::new();
    let projects = ["one", "two"].map(|name| {
        home.write(&format!("{name}/.git/HEAD"), "");
        home.write(&format!("{name}/.todo/task.md"), "# Tasks\n").parent().expect("a tree").to_owned()
    });
    let directory = |tree: &Path| tree.parent().expect("a project").display().to_string();
    let mut one = subscribed(&home, &["--only", "todo", "--cwd", &directory(&projects[0])], TASKS);
    let mut two = subscribed(&home, &["--only", "todo", "--cwd", &directory(&projects[1])], TASKS);
    let file = projects[0].join("task.md");
    edits_are_heard_in_time(&mut one, TASKS, |number| {
        replace(&home, &file, &format!("# Tasks {number}\n"));
    });
    assert_eq!(heard(&mut two), [], "another project");
    one.call_ok("create_task", json!({ "title": "by a tool" }));
    assert_eq!(heard(&mut one), [updated(TASKS), list_changed()], "once, though the watcher saw it, too");
    assert_eq!(heard(&mut two), [], "another project");
}

/// Without waiting for anything after the subscription was answered.
#[test]
fn a_subscription_counts_from_its_answer() {
    for round in 0..5 {
        let home = Home::new();
        let file = document(&home, "demo/references/a.md", "# A\n");
        let mut reader = home.connect(&["--only", "vibe"]);
        if round % 2 == 0 {
            reader.go_modern();
            let filter = json!({ "notifications": { "resourceSubscriptions": [DOCUMENT] } });
            reader.send("subscriptions/listen", filter);
            let acknowledged = reader.next_message();
            assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
        } else {
            drop(reader);
            reader = subscribed(&home, &["--only", "vibe"], DOCUMENT);
        }
        replace(&home, &file, "# Another\n");
        assert_eq!(heard(&mut reader), [updated(DOCUMENT)]);
    }
}

/// A thousand files, one after the other: hosts are told a few times, not a thousand.
#[test]
fn a_storm_is_told_in_a_few_messages() {
    let home = Home::new();
    document(&home, "demo/references/a.md", "# A\n");
    let mut reader = subscribed(&home, &["--only", "vibe"], DOCUMENT);
    let began = Instant::now();
    for number in 0..1000 {
        document(&home, &format!("demo/references/n{number}.md"), "x");
    }
    let most = began.elapsed().as_millis() / 20 + 5;
    let heard = heard(&mut reader);
    assert!(!heard.is_empty() && heard.len() <= most as usize, "{} messages, at most {most}", heard.len());
}

#[test]
fn many_changes_at_once_are_told_without_naming_each() {
    let home = Home::new();
    document(&home, "demo/references/a.md", "# A\n");
    let mut reader = subscribed(&home, &["--only", "vibe"], DOCUMENT);
    let (tree, moved) = (home.path().join(".vibe"), home.path().join("away"));
    fs::create_dir_all(moved.join("many/references")).expect("a directory");
    for number in 0..1500 {
        fs::write(moved.join(format!("many/references/{number}.md")), "x").expect("written");
    }
    fs::rename(moved.join("many"), tree.join("many")).expect("renamed");
    let heard = heard(&mut reader);
    assert!(heard.len() < 20 && heard.contains(&list_changed()), "{heard:?}");
}

/// The entries of the feed, each by its author, its tool and what became of which file.
fn feed(home: &Home) -> Vec<Value> {
    let mut files: Vec<_> = fs::read_dir(home.state().join("feed")).into_iter().flatten().flatten().collect();
    files.sort_by_key(|file| file.file_name());
    let lines = files.iter().map(|file| fs::read_to_string(file.path()).expect("text")).collect::<String>();
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn shown(entry: &Value) -> Value {
    let files = entry["files"].as_array().expect("files").iter().map(|file| json!([file["path"], file["what"]]));
    json!([entry["by"], entry["tool"], files.collect::<Vec<_>>()])
}

#[test]
fn the_feed_has_every_change_with_its_author_across_a_kill() {
    let home = Home::new();
    document(&home, "demo/references/a.md", "# A\n");
    let mut client = home.host(&["--only", "vibe"]);
    client.call_ok("read_doc", json!({ "project": "demo", "folder": "references", "filename": "a.md" }));
    let update = |text: &str| json!({ "project": "demo", "folder": "references", "filename": "a.md", "content": text });
    client.call_ok("update_doc", update("# First\n"));
    home.kill(home.daemon_pid().expect("a daemon"));
    assert_eq!(
        feed(&home).iter().map(shown).collect::<Vec<_>>(),
        [json!(["test", "update_doc", [["demo/references/a.md", "changed"]]])]
    );
    client.call_ok("update_doc", update("# Second\n"));
    document(&home, "demo/references/b.md", "# B\n");
    document(&home, "demo/references/c.md", "# C\n");
    let entries =
        wait_until("the edit by hand is in the feed", || Some(feed(&home)).filter(|entries| entries.len() == 3));
    assert_eq!(shown(&entries[1]), shown(&entries[0]));
    let by_hand = json!([["demo/references/b.md", "created"], ["demo/references/c.md", "created"]]);
    assert_eq!(shown(&entries[2]), json!(["by hand", null, by_hand]));
    let numbers: Vec<u64> = entries.iter().map(|entry| entry["id"].as_u64().expect("a number")).collect();
    assert!(numbers.is_sorted() && numbers[0] != numbers[1] && numbers[1] != numbers[2], "{numbers:?}");
    assert_eq!(entries[0]["session"], entries[1]["session"], "the session goes on with another daemon");
    assert!(entries[0]["session"].as_str().is_some_and(|name| name.starts_with('s') && name.len() > 6), "{entries:?}");
}
