//! Cached models that are used before their bytes were compared.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use trellisd::disk::{Digest, FileModel as _, FileStamp, PrebuiltModel, RelativePath, RootDir};
use trellisd::families::vine::plan::Plan;

use super::write_fixture::{EngineFixture, TestProject};

const PARENT: &str =
    "vine 1.2.0\n---\n[root] Root (started)\n-> a\n-> r\n---\n[a] Alpha (planning)\n---\nref [r] More (child.vine)\n";
const CHILD: &str = "vine 1.2.0\n---\n[top] Before (planning)\n";

/// A daemon that believes of a file what was there before somebody wrote this text within the same tick.
fn deceived(test_project: &TestProject, name: &str, before: &str, now: &str) -> EngineFixture {
    test_project.write("plan.vine", PARENT);
    test_project.write("child.vine", CHILD);
    test_project.write(name, now);
    let fixture = test_project.reopen();
    let root = RootDir::open(&test_project.project()).expect("a project");
    let (device, inode) = root.directory_id().expect("its number");
    let path = RelativePath::parse(name).expect("a path");
    let stamp = FileStamp::of(&fs::metadata(test_project.project().join(name)).expect("a file"));
    let made = PrebuiltModel::of(Arc::new(Plan::read(before.as_bytes())));
    fixture.engine.models.insert_written(&(device, inode, path), stamp, Digest::of(before.as_bytes()), made);
    fixture
}

fn operation(operation: Value) -> Value {
    json!({ "file": "plan.vine", "operations": [operation] })
}

fn plan(project: &Path) -> String {
    fs::read_to_string(project.join("plan.vine")).expect("a plan")
}

#[test]
fn r4_what_was_written_within_the_same_tick_stays() {
    let test_project = TestProject::new();
    let fixture = deceived(&test_project, "plan.vine", PARENT, &PARENT.replace("Alpha", "Omega"));
    let answer =
        fixture.call("vine_write", &operation(json!({ "op": "set_status", "id": "a", "status": "started" })), 1);
    let answer = answer.expect("it ran again");
    fixture.close();
    let text = plan(&test_project.project());
    assert!(text.contains("[a] Omega (started)"), "{text}");
    let hash = Plan::read(text.as_bytes()).hash().to_owned();
    assert_eq!(answer.meta["trellis/hash"], json!(hash), "the hash is that of what was written");
}

#[test]
fn r4_nobody_is_refused_for_what_is_no_longer_there() {
    let claim = operation(json!({ "op": "claim", "id": "a", "exclusive": true }));
    let complete = PARENT.replace("Alpha (planning)", "Alpha (complete)");
    for (before, now, is_free) in [(PARENT, complete.as_str(), false), (&complete, PARENT, true)] {
        let test_project = TestProject::new();
        let fixture = deceived(&test_project, "plan.vine", before, now);
        assert_eq!(fixture.call("vine_write", &claim, 1).is_ok(), is_free, "{now}");
        fixture.close();
        let text = plan(&test_project.project());
        assert!(text.contains(if is_free { "Alpha (started)" } else { "Alpha (complete)" }), "{text}");
    }
}

#[test]
fn r4_what_is_only_read_is_compared() {
    let test_project = TestProject::new();
    let fixture = deceived(&test_project, "child.vine", CHILD, &CHILD.replace("Before", "Behind"));
    let expand = json!({ "file": "plan.vine", "ref_id": "r", "child_file": "child.vine" });
    fixture.call("vine_expand", &expand, 1).expect("an answer");
    fixture.close();
    let text = plan(&test_project.project());
    assert!(text.contains("[r] Behind (planning)"), "{text}");
}
