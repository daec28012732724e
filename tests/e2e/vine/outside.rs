//! Other programs change plans, too: every call sees what is there now. Links, modes and hashes.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{FILE, Plan, blocks, said};

#[test]
fn the_next_call_sees_an_edit_of_the_same_size_with_the_old_time() {
    let mut plan = Plan::of(blocks(&["[a] Name 00 (started)"]));
    let path = plan.path(FILE);
    for round in 1..50 {
        let modified = fs::metadata(&path).and_then(|file| file.modified()).expect("a time");
        let name = format!("Name {round:02}");
        fs::write(&path, blocks(&[&format!("[a] {name} (started)")])).expect("an edit");
        File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_times(FileTimes::new().set_modified(modified)))
            .expect("the old time");
        assert_eq!(plan.json("task", json!({ "id": "a" }))["shortName"], name);
        let answer = plan.write(json!([{ "op": "set_status", "id": "a", "status": "blocked" }]));
        assert_eq!(answer["blocked"][0]["shortName"], name, "a write builds on it");
        plan.write(json!([{ "op": "set_status", "id": "a", "status": "started" }]));
    }
}

#[test]
fn the_next_call_sees_a_replacement_a_removal_and_a_return() {
    let mut plan = Plan::of(blocks(&["[a] One (started)"]));
    let path = plan.path(FILE);
    for round in 0..20 {
        plan.read("validate", json!({}));
        let other = plan.put("other", blocks(&[&format!("[a] R{round} (started)")]));
        fs::rename(&other, &path).expect("a rename over it");
        assert_eq!(plan.json("task", json!({ "id": "a" }))["shortName"], format!("R{round}"));
        fs::remove_file(&path).expect("a removal");
        let missing = format!("File not found: {FILE} (resolved to {})", plan.absolute(FILE));
        assert_eq!(plan.read_refused("summary", json!({})), missing);
        plan.put(FILE, "broken");
        assert!(plan.read_refused("summary", json!({})).starts_with("Parse error (line 1)"));
        plan.put(FILE, blocks(&["[a] Back (started)"]));
        assert_eq!(plan.next()["progress"]["total"], 1);
    }
}

#[test]
fn a_write_by_one_host_is_there_for_all() {
    let mut plan = Plan::of(blocks(&["[a] A (started)"]));
    let mut other = plan.host();
    for status in ["complete", "blocked", "reviewing", "planning"] {
        plan.write(json!([{ "op": "set_status", "id": "a", "status": status }]));
        let next = said(&other.call("vine_next", json!({ "file": plan.absolute(FILE) }))).expect("a frontier");
        assert!(next.contains(&format!("\"root_status\": \"{status}\"")), "{next}");
    }
    other.close();
}

#[test]
fn a_link_stays_a_link_and_its_target_is_written() {
    let mut plan = Plan::new();
    let real = plan.home.path().join("real/deep");
    fs::create_dir_all(&real).expect("a directory");
    fs::write(real.join("target.vine"), blocks(&["[a] A (started)"])).expect("a plan");
    std::os::unix::fs::symlink(real.join("target.vine"), plan.path("middle.vine")).expect("a link");
    std::os::unix::fs::symlink("middle.vine", plan.path(FILE)).expect("a link to a link");
    plan.write(json!([{ "op": "set_status", "id": "a", "status": "complete" }]));
    assert!(plan.path(FILE).is_symlink() && plan.path("middle.vine").is_symlink());
    assert_eq!(fs::read_to_string(real.join("target.vine")).expect("text"), blocks(&["[a] A (complete)"]));
    assert_eq!(super::tidy(&real), ["target.vine"]);
    // Through the link and by its own name it is one file.
    let direct = json!({ "file": real.join("target"), "operations": [{ "op": "claim", "id": "a" }] });
    plan.call("vine_write", direct).expect("it is written");
    assert_eq!(plan.json("task", json!({ "id": "a" }))["status"], "started");
}

#[test]
fn a_link_to_nowhere_is_missing() {
    let mut plan = Plan::new();
    std::os::unix::fs::symlink("nowhere.vine", plan.path(FILE)).expect("a link");
    let missing = format!("File not found: {FILE} (resolved to {})", plan.absolute(FILE));
    assert_eq!(plan.read_refused("summary", json!({})), missing);
}

#[test]
fn modes_are_kept() {
    let mut plan = Plan::of(blocks(&["[a] A (started)\n-> b", "[b] B (started)"]));
    for mode in [0o640, 0o600, 0o664, 0o444] {
        fs::set_permissions(plan.path(FILE), fs::Permissions::from_mode(mode)).expect("a mode");
        plan.write(json!([{ "op": "claim", "id": "a" }]));
        let seen = fs::metadata(plan.path(FILE)).expect("a file").permissions().mode() & 0o7777;
        assert_eq!(seen, mode, "{seen:o}");
    }
}

/// The hash that an answer carries beside its text.
#[track_caller]
fn hash(plan: &mut Plan, tool: &str, arguments: serde_json::Value) -> String {
    let result = plan.client.call(tool, arguments);
    assert_ne!(result["isError"], true, "{result}");
    let hash = result["_meta"]["trellis/hash"].as_str().unwrap_or_else(|| panic!("a hash: {result}"));
    assert!(
        hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)),
        "{hash}"
    );
    hash.to_owned()
}

#[test]
fn a_hash_guards_against_what_was_not_seen() {
    let mut plan = Plan::of(blocks(&["[a] A (started)\n-> r", "ref [r] R (c.vine)"]));
    plan.put("c.vine", blocks(&["[c] C (started)"]));
    let reading = json!({ "file": FILE, "action": "summary" });
    let first = hash(&mut plan, "vine_read", reading.clone());
    assert_eq!(hash(&mut plan, "vine_next", json!({ "file": FILE })), first);
    let claim = |hash: &str| json!({ "file": FILE, "operations": [{ "op": "set_status", "id": "a", "status": "blocked" }], "if_match": hash });
    let second = hash(&mut plan, "vine_write", claim(&first));
    assert_ne!(first, second);
    assert_eq!(hash(&mut plan, "vine_read", reading.clone()), second, "the hash of what was written");
    let before = plan.text(FILE);
    let expand = |hash: &str| json!({ "file": FILE, "ref_id": "r", "child_file": "c", "if_match": hash });
    for (tool, arguments) in
        [("vine_write", claim(&first)), ("vine_expand", expand(&first)), ("vine_expand", expand("nonsense"))]
    {
        let refusal = plan.call(tool, arguments).expect_err("it has changed since");
        assert!(refusal.contains(&second), "the hash that it has now: {refusal}");
        assert_eq!(plan.text(FILE), before);
    }
    let third = hash(&mut plan, "vine_expand", expand(&second));
    assert_eq!(hash(&mut plan, "vine_read", reading), third);
}
