//! Counting what became of the notes.

use std::fs;

use serde_json::{Value, json};
use trellis_tests::harness::Client;

use super::{NotesFixture, converges, find};

#[track_caller]
fn check(host: &mut Client, arguments: Value, expected: [u64; 5]) {
    let compared = host.call_ok("compare", arguments);
    let count = |name: &str| compared[name].as_u64().expect("a number");
    assert_eq!(["scanned", "added", "updated", "deleted", "unchanged"].map(count), expected, "{compared}");
}

#[test]
fn counts_are_against_the_last_time_somebody_asked() {
    let shelves = NotesFixture::with(&[("p/a.md", "one\n"), ("p/b.md", "two\n"), ("q/c.md", "three\n")]);
    let mut host = shelves.host();
    check(&mut host, json!({}), [3, 0, 0, 0, 3]);
    check(&mut host, json!({ "full": true }), [3, 0, 0, 0, 3]);
    shelves.put("p/a.md", "one more\n");
    shelves.put("p/new.md", "new\n");
    fs::remove_file(shelves.path("q/c.md")).expect("a removal");
    // However fast the watcher was.
    converges(&mut host, "new", &["p/new.md"]);
    check(&mut host, json!({ "project": "q" }), [0, 0, 0, 1, 0]);
    check(&mut host, json!({ "project": "p" }), [3, 1, 1, 0, 1]);
    check(&mut host, json!({}), [3, 0, 0, 0, 3]);
    // The same bytes with another time are no change.
    let text = fs::read(shelves.path("p/b.md")).expect("a text");
    fs::write(shelves.path("p/b.md"), text).expect("written");
    check(&mut host, json!({}), [3, 0, 0, 0, 3]);
    check(&mut host, json!({ "full": true }), [3, 0, 0, 0, 3]);
    assert_eq!(find(&mut host, "two")["total"], 1);
}

#[test]
fn a_long_comparison_tells_how_far_it_is() {
    let shelves = NotesFixture::new();
    (0..1000).for_each(|number| shelves.put(&format!("n{number}.md"), "text\n"));
    let mut host = shelves.host();
    assert_eq!(find(&mut host, "text")["total"], 1000);
    let call = json!({ "name": "compare", "arguments": { "full": true }, "_meta": { "progressToken": "t" } });
    let id = host.send("tools/call", call);
    let answer = host.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["unchanged"], 1000, "{answer}");
    let step = host.next_message();
    assert_eq!((&step["method"], &step["params"]["progressToken"]), (&json!("notifications/progress"), &json!("t")));
}
