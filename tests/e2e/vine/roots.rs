//! The roots of a host, and `--cwd`: where a relative path is looked for, and in which order.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

use super::{blocks, said};

/// A home with plans whose roots are called like their places.
fn home(places: &[&str]) -> Home {
    let home = Home::new();
    for place in places {
        let path = home.path().join(place);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, blocks(&[&format!("[r] {place} (started)")])).expect("a plan");
    }
    home
}

/// A host in the project that has these roots.
struct Rooted {
    client: Client,
    roots: Value,
    asked: usize,
}

impl Rooted {
    fn new(home: &Home, flags: &[&str], roots: &[&Path]) -> Self {
        let mut client = home.connect(&[&["--only", "vine"], flags].concat());
        client.initialize_with("2025-11-25", json!({ "roots": { "listChanged": true } }));
        Self { client, roots: uris(roots), asked: 0 }
    }

    /// Calls a tool, and tells the roots whenever they are asked for.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Result<String, String> {
        let id = self.client.send("tools/call", json!({ "name": tool, "arguments": arguments }));
        loop {
            let message = self.client.next_message();
            if message["method"] == "roots/list" {
                self.asked += 1;
                let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "roots": self.roots } });
                self.client.send_line(&answer.to_string());
            } else if message["id"] == id {
                return said(&message["result"]);
            }
        }
    }

    /// The name of the root of what is found, or the refusal.
    #[track_caller]
    fn found(&mut self, file: &str) -> Result<String, String> {
        let text = self.call("vine_read", json!({ "file": file, "action": "list" }))?;
        let list: Value = serde_json::from_str(&text).expect("JSON");
        Ok(list[0]["shortName"].as_str().expect("a name").to_owned())
    }
}

fn uris(roots: &[&Path]) -> Value {
    roots.iter().map(|root| json!({ "uri": format!("file://{}", root.display()), "name": "root" })).collect()
}

#[test]
fn the_working_directory_comes_before_the_roots_and_they_in_their_order() {
    let home = home(&[
        "project/all.vine",
        "one/all.vine",
        "two/all.vine",
        "one/both.vine",
        "two/both.vine",
        "two/last.vine",
        "two/sub/in.vine",
    ]);
    let (one, two) = (home.path().join("one"), home.path().join("two"));
    let mut host = Rooted::new(&home, &[], &[&one, &two]);
    for (file, expected) in [
        ("all.vine", "project/all.vine"),
        ("both.vine", "one/both.vine"),
        ("last.vine", "two/last.vine"),
        ("all", "project/all.vine"),
        ("both", "one/both.vine"),
        ("last", "two/last.vine"),
        ("sub/in", "two/sub/in.vine"),
    ] {
        assert_eq!(host.found(file).as_deref(), Ok(expected), "{file}");
    }
    let expected = format!("File not found: none (resolved to {})", home.project().join("none").display());
    assert_eq!(host.found("none"), Err(expected));
    assert_eq!(host.asked, 1, "asked once");
}

#[test]
fn the_bare_name_is_tried_everywhere_first() {
    let home = home(&["project/plan.vine", "two/plan"]);
    let (one, two) = (home.path().join("one"), home.path().join("two"));
    let mut host = Rooted::new(&home, &[], &[&one, &two]);
    assert_eq!(host.found("plan").as_deref(), Ok("two/plan"));
    assert_eq!(host.found("plan.vine").as_deref(), Ok("project/plan.vine"));
    // A directory in a root is something, too.
    fs::create_dir_all(home.path().join("one/other")).expect("a directory");
    fs::write(home.project().join("other.vine"), blocks(&["[r] R (started)"])).expect("a plan");
    host.found("other").expect_err("a directory hides it");
}

#[test]
fn new_plans_go_to_the_working_directory_whatever_the_roots() {
    let home = home(&["one/there.vine"]);
    let one = home.path().join("one");
    let mut host = Rooted::new(&home, &[], &[&one]);
    let operations = json!([{ "op": "create" }, { "op": "add_task", "id": "r", "name": "New", "dependsOn": ["t"] }, { "op": "add_task", "id": "t", "name": "T" }]);
    host.call("vine_write", json!({ "file": "there", "operations": operations })).expect("it is made");
    assert!(home.project().join("there.vine").exists());
    host.call("vine_write", json!({ "file": one.join("far.vine"), "operations": operations })).expect("it is made");
    let extract = json!([{ "op": "extract_to_ref", "id": "t", "vine": "child" }]);
    host.call("vine_write", json!({ "file": "far", "operations": extract })).expect("the plan is found in the root");
    assert!(home.project().join("child.vine").exists() && !one.join("child.vine").exists());
    // The child of an expansion is looked for like every plan.
    fs::rename(home.project().join("child.vine"), one.join("child.vine")).expect("a move");
    host.call("vine_expand", json!({ "file": "far", "ref_id": "t", "child_file": "child" })).expect("it is found");
}

#[test]
fn a_write_reaches_the_plan_in_a_root() {
    let home = home(&["one/plan.vine"]);
    let one = home.path().join("one");
    let mut host = Rooted::new(&home, &[], &[&one]);
    let operations = json!([{ "op": "set_status", "id": "r", "status": "complete" }]);
    host.call("vine_write", json!({ "file": "plan", "operations": operations })).expect("it is written");
    assert_eq!(fs::read_to_string(one.join("plan.vine")).expect("text"), blocks(&["[r] one/plan.vine (complete)"]));
}

#[test]
fn cwd_is_the_working_directory_and_the_only_root() {
    let home = home(&["project/here.vine", "one/mine.vine", "two/theirs.vine"]);
    let (one, two) = (home.path().join("one"), home.path().join("two"));
    let mut host = Rooted::new(&home, &["--cwd", one.to_str().expect("text")], &[&two]);
    assert_eq!(host.found("mine").as_deref(), Ok("one/mine.vine"));
    for file in ["theirs", "here"] {
        let expected = format!("File not found: {file} (resolved to {})", one.join(file).display());
        assert_eq!(host.found(file), Err(expected));
    }
    let operations = json!([{ "op": "create" }, { "op": "add_task", "id": "r", "name": "R" }]);
    host.call("vine_write", json!({ "file": "new", "operations": operations })).expect("it is made");
    assert!(one.join("new.vine").exists());
}

#[test]
fn roots_that_change_are_asked_for_again() {
    let home = home(&["one/first.vine", "two/second.vine"]);
    let (one, two) = (home.path().join("one"), home.path().join("two"));
    let mut host = Rooted::new(&home, &[], &[&one]);
    assert_eq!(host.found("first").as_deref(), Ok("one/first.vine"));
    host.found("second").expect_err("not yet");
    host.roots = uris(&[&two]);
    host.client.notify("notifications/roots/list_changed", json!({}));
    wait_until("the new root is known", || host.found("second").ok());
    host.found("first").expect_err("no longer");
    assert!(host.asked >= 2);
}

#[test]
fn other_roots_and_failures_are_ignored() {
    let home = home(&["one/plan.vine", "project/here.vine"]);
    let mut host = Rooted::new(&home, &[], &[]);
    host.roots = json!([{ "uri": "https://example.org/one" }, { "uri": "nonsense" }]);
    assert_eq!(host.found("here").as_deref(), Ok("project/here.vine"));
    host.found("plan").expect_err("nowhere");
    // A host that refuses to say, and one that says nothing.
    for refuses in [true, false] {
        let mut client = home.connect(&["--only", "vine"]);
        client.initialize_with("2025-11-25", json!({ "roots": {} }));
        let id = client
            .send("tools/call", json!({ "name": "vine_read", "arguments": { "file": "here", "action": "validate" } }));
        let answer = loop {
            let message = client.next_message();
            if message["id"] == id && message.get("method").is_none() {
                break message;
            }
            if refuses {
                let error = json!({ "code": -32603, "message": "no" });
                client.send_line(&json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }).to_string());
            }
        };
        assert_eq!(said(&answer["result"]).as_deref(), Ok("Valid — 1 task(s)."), "refuses: {refuses}");
    }
}

#[test]
fn without_roots_the_working_directory_is_everything() {
    let home = home(&["project/plan.vine"]);
    let mut client = home.host(&["--only", "vine"]);
    let result = client.call("vine_read", json!({ "file": "plan", "action": "validate" }));
    assert_eq!(said(&result).as_deref(), Ok("Valid — 1 task(s)."));
}
