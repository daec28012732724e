//! `reindex`: what differs from the last time, by the files' bytes.

use serde_json::{Value, json};

use super::Vibe;

/// Scanned, updated, added, deleted, unchanged.
#[track_caller]
fn check(vibe: &mut Vibe, arguments: Value, expected: [u64; 5]) {
    let answer = vibe.call("reindex", arguments.clone());
    assert_eq!(
        (&answer["success"], &answer["project"]),
        (&json!(true), &arguments.get("project").cloned().unwrap_or_default())
    );
    let keys: Vec<&String> = answer["stats"].as_object().expect("stats").keys().collect();
    assert_eq!(keys, ["scanned", "updated", "added", "deleted", "unchanged", "duration_ms"]);
    let stat = |name: &str| answer["stats"][name].as_u64().expect("a number");
    let seen = ["scanned", "updated", "added", "deleted", "unchanged"].map(stat);
    assert_eq!(seen, expected, "{arguments}: {answer}");
}

#[test]
fn changes_are_counted_against_the_last_time() {
    let documents = [("demo/plans/a.md", "uno\n"), ("demo/plans/b.md", "dos\n"), ("otro/plans/c.md", "tres\n")];
    let mut vibe = Vibe::holding(&documents);
    check(&mut vibe, json!({}), [3, 0, 0, 0, 3]);
    check(&mut vibe, json!({ "project": "demo" }), [2, 0, 0, 0, 2]);
    vibe.write("demo/plans/a.md", "otro texto\n");
    vibe.write("demo/plans/new.md", "nuevo\n");
    std::fs::remove_file(vibe.path("demo/plans/b.md")).expect("it goes");
    check(&mut vibe, json!({ "project": "demo" }), [2, 1, 1, 1, 0]);
    check(&mut vibe, json!({ "project": "demo" }), [2, 0, 0, 0, 2]);
    check(&mut vibe, json!({ "full": true }), [3, 0, 0, 0, 3]);
    assert_eq!(vibe.call("search", json!({ "query": "dos" }))["total_matches"], 0);
    assert_eq!(vibe.call("search", json!({ "query": "nuevo" }))["total_matches"], 1);
}

#[test]
fn a_session_that_may_not_write_may_reindex() {
    let mut vibe = Vibe::at(trellis_tests::harness::Home::new().with("VIBE_READ_ONLY", "1"));
    vibe.call("reindex", json!({}));
    let mut client = vibe.home.host(&["--only", "vibe", "--read-only"]);
    assert_eq!(client.call_ok("reindex", json!({ "project": "demo" }))["project"], "demo");
    client.close();
}
