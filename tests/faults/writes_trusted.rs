//! Two changes within one tick of a file system's clock leave the same state behind. A writer may take the model of such
//! a state at its word, and nothing that somebody else wrote meanwhile is lost, overlooked or answered for.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use trellisd::disk::{Digest, Identity, RelativePath, Root};
use trellisd::families::edit::Made;
use trellisd::families::need::Model as _;
use trellisd::families::vine::plan::Plan;

use super::writes_desk::{Desk, Ground};

const PARENT: &str =
    "vine 1.2.0\n---\n[root] Root (started)\n-> a\n-> r\n---\n[a] Alpha (planning)\n---\nref [r] More (child.vine)\n";
const CHILD: &str = "vine 1.2.0\n---\n[top] Before (planning)\n";

/// A daemon that believes of a file what was there before somebody wrote this text within the same tick.
fn deceived(ground: &Ground, name: &str, before: &str, now: &str) -> Desk {
    ground.write("plan.vine", PARENT);
    ground.write("child.vine", CHILD);
    ground.write(name, now);
    let desk = ground.reopen();
    let root = Root::open(&ground.project()).expect("a project");
    let (device, inode) = root.number().expect("its number");
    let path = RelativePath::parse(name).expect("a path");
    let identity = Identity::of(&fs::metadata(ground.project().join(name)).expect("a file"));
    let made = Made::of(Arc::new(Plan::read(before.as_bytes())));
    desk.engine.models.learn(&(device, inode, path), identity, Digest::of(before.as_bytes()), made);
    desk
}

fn operation(operation: Value) -> Value {
    json!({ "file": "plan.vine", "operations": [operation] })
}

fn plan(project: &Path) -> String {
    fs::read_to_string(project.join("plan.vine")).expect("a plan")
}

#[test]
fn r4_what_was_written_within_the_same_tick_stays() {
    let ground = Ground::new();
    let desk = deceived(&ground, "plan.vine", PARENT, &PARENT.replace("Alpha", "Omega"));
    let answer = desk.call("vine_write", &operation(json!({ "op": "set_status", "id": "a", "status": "started" })), 1);
    let answer = answer.expect("it ran again");
    desk.close();
    let text = plan(&ground.project());
    assert!(text.contains("[a] Omega (started)"), "{text}");
    let hash = Plan::read(text.as_bytes()).hash().to_owned();
    assert_eq!(answer.meta["trellis/hash"], json!(hash), "the hash is that of what was written");
}

#[test]
fn r4_nobody_is_refused_for_what_is_no_longer_there() {
    let claim = operation(json!({ "op": "claim", "id": "a", "exclusive": true }));
    let complete = PARENT.replace("Alpha (planning)", "Alpha (complete)");
    for (before, now, is_free) in [(PARENT, complete.as_str(), false), (&complete, PARENT, true)] {
        let ground = Ground::new();
        let desk = deceived(&ground, "plan.vine", before, now);
        assert_eq!(desk.call("vine_write", &claim, 1).is_ok(), is_free, "{now}");
        desk.close();
        let text = plan(&ground.project());
        assert!(text.contains(if is_free { "Alpha (started)" } else { "Alpha (complete)" }), "{text}");
    }
}

#[test]
fn r4_what_is_only_read_is_compared() {
    let ground = Ground::new();
    let desk = deceived(&ground, "child.vine", CHILD, &CHILD.replace("Before", "Behind"));
    let expand = json!({ "file": "plan.vine", "ref_id": "r", "child_file": "child.vine" });
    desk.call("vine_expand", &expand, 1).expect("an answer");
    desk.close();
    let text = plan(&ground.project());
    assert!(text.contains("[r] Behind (planning)"), "{text}");
}
