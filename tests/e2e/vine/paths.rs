//! Where a plan is found, and what is not served as one.

use std::fs;

use serde_json::json;

use super::{Plan, blocks};

/// A plan whose root is called like its place.
fn put(plan: &Plan, path: &str) {
    plan.put(path, blocks(&[&format!("[r] {path} (started)")]));
}

/// The name of the root of what is found, or the refusal.
#[track_caller]
fn found(plan: &mut Plan, file: &str) -> Result<String, String> {
    let text = plan.call("vine_read", json!({ "file": file, "action": "list" }))?;
    let list: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    Ok(list[0]["shortName"].as_str().expect("a name").to_owned())
}

#[test]
fn an_extension_may_be_left_out() {
    let mut plan = Plan::new();
    for path in ["plan.vine", "sub/deep.vine", ".hidden.vine", "a.b", "a.b.vine", "bare", "bare.vine", "trailing..vine"]
    {
        put(&plan, path);
    }
    let absolute = plan.absolute("sub/deep");
    for (file, expected) in [
        ("plan", "plan.vine"),
        ("plan.vine", "plan.vine"),
        ("./plan", "plan.vine"),
        ("sub/../plan", "plan.vine"),
        ("sub/deep", "sub/deep.vine"),
        ("sub//deep.vine", "sub/deep.vine"),
        (&*absolute, "sub/deep.vine"),
        (".hidden", ".hidden.vine"),
        ("a.b", "a.b"),
        ("bare", "bare"),
        ("bare.vine", "bare.vine"),
    ] {
        assert_eq!(found(&mut plan, file).as_deref(), Ok(expected), "{file}");
    }
    fs::remove_file(plan.path("a.b")).expect("a removal");
    // An extension that is there is not changed.
    for file in ["a.b", "trailing.", "plan.txt", "plan.vine.vine", "sub/plan", "no"] {
        let expected = format!("File not found: {file} (resolved to {})", plan.absolute(file));
        assert_eq!(found(&mut plan, file), Err(expected), "{file}");
    }
}

#[test]
fn a_directory_hides_the_plan_beside_it() {
    let mut plan = Plan::new();
    put(&plan, "plan.vine");
    put(&plan, "plan/inner.vine");
    let refusal = found(&mut plan, "plan").expect_err("a directory cannot be read");
    assert!(!refusal.starts_with("File not found"), "{refusal}");
    assert_eq!(found(&mut plan, "plan.vine").as_deref(), Ok("plan.vine"));
    assert_eq!(found(&mut plan, "plan/inner").as_deref(), Ok("plan/inner.vine"));
    for tool in ["vine_next", "vine_write", "vine_expand"] {
        let arguments = json!({ "file": "plan", "operations": [{ "op": "claim", "id": "r" }], "ref_id": "r", "child_file": "plan.vine" });
        plan.call(tool, arguments).expect_err(tool);
    }
}

#[test]
fn the_way_to_a_missing_file_is_shown_if_it_differs() {
    let mut plan = Plan::new();
    let base = plan.absolute("");
    let base = base.trim_end_matches('/');
    for (file, resolved) in [
        ("none", Some("/none")),
        ("none.vine", Some("/none.vine")),
        ("./none", Some("/none")),
        ("a/../none", Some("/none")),
        ("a//b", Some("/a/b")),
        ("{base}/none", None),
        ("{base}/none.vine", None),
        ("{base}/./none", Some("/none")),
        ("{base}/a/../none.vine", Some("/none.vine")),
    ] {
        let file = file.replace("{base}", base);
        let expected = match resolved {
            Some(path) => format!("File not found: {file} (resolved to {base}{path})"),
            None => format!("File not found: {file}"),
        };
        for (tool, arguments) in [
            ("vine_read", json!({ "file": file, "action": "summary" })),
            ("vine_next", json!({ "file": file })),
            ("vine_write", json!({ "file": file, "operations": [{ "op": "claim", "id": "a" }] })),
            ("vine_write", json!({ "file": file, "operations": [{ "op": "extract_to_ref", "id": "a", "vine": "x" }] })),
            ("vine_expand", json!({ "file": file, "ref_id": "a", "child_file": file })),
        ] {
            assert_eq!(plan.call(tool, arguments), Err(expected.clone()), "{tool}");
        }
    }
}

#[test]
fn a_missing_child_is_named_as_the_child() {
    let mut plan = Plan::new();
    plan.put("plan.vine", blocks(&["[r] R (started)\n-> f", "ref [f] F (c.vine)"]));
    let absolute = plan.absolute("none.vine");
    for (child, expected) in [
        ("c.vine", format!("File not found: c.vine (resolved to {})", plan.absolute("c.vine"))),
        ("c", format!("File not found: c (resolved to {})", plan.absolute("c"))),
        (&*absolute, format!("File not found: {absolute}")),
    ] {
        let arguments = json!({ "file": "plan", "ref_id": "f", "child_file": child });
        assert_eq!(plan.call("vine_expand", arguments), Err(expected));
    }
}

#[test]
fn other_files_are_served_only_if_they_are_plans() {
    let mut plan = Plan::new();
    put(&plan, "plan.txt");
    put(&plan, "noextension");
    assert_eq!(found(&mut plan, "plan.txt").as_deref(), Ok("plan.txt"));
    assert_eq!(found(&mut plan, "noextension").as_deref(), Ok("noextension"));
    plan.put("secret.txt", "hunter2 is the word\n---\n[a] A (started)\n");
    plan.put("empty.txt", "");
    plan.put("almost.txt", " vine 1.2.0\nhunter2\n");
    plan.put("plan.vine", blocks(&["[r] R (started)\n-> f", "ref [f] F (c.vine)"]));
    let absolute = plan.absolute("secret.txt");
    let outside = "../project/secret.txt";
    for file in
        ["secret.txt", "./secret.txt", &absolute, outside, "empty.txt", "almost.txt", "/etc/passwd", "/etc/hostname"]
    {
        if file.starts_with("/etc") && !std::path::Path::new(file).exists() {
            continue;
        }
        let expected = Err(format!("Not a .vine file: {file}"));
        for (tool, arguments) in [
            ("vine_read", json!({ "file": file, "action": "validate" })),
            ("vine_next", json!({ "file": file })),
            ("vine_write", json!({ "file": file, "operations": [{ "op": "claim", "id": "a" }] })),
            ("vine_expand", json!({ "file": file, "ref_id": "a", "child_file": "plan" })),
            ("vine_expand", json!({ "file": "plan", "ref_id": "f", "child_file": file })),
        ] {
            assert_eq!(plan.call(tool, arguments), expected, "{tool} {file}");
        }
    }
    // A plan by its name is broken in the open.
    plan.put("broken.vine", "hunter2\n");
    let refusal = found(&mut plan, "broken").expect_err("broken");
    assert_eq!(
        refusal,
        "Parse error (line 1): Line 1: Invalid magic line: expected \"vine <version>\", got \"hunter2\""
    );
    // With the first line in order, the rest may be broken in any file.
    plan.put("half.txt", "vine 1.2.0\n");
    let refusal = found(&mut plan, "half.txt").expect_err("broken");
    assert_eq!(refusal, "Parse error (line 1): Line 1: Missing preamble terminator \"---\"");
}

#[test]
fn a_plan_that_is_no_vine_file_by_name_is_written_in_its_place() {
    let mut plan = Plan::new();
    put(&plan, "plan.txt");
    let arguments =
        json!({ "file": "plan.txt", "operations": [{ "op": "set_status", "id": "r", "status": "complete" }] });
    plan.call("vine_write", arguments).expect("it is written");
    assert_eq!(plan.text("plan.txt"), blocks(&["[r] plan.txt (complete)"]));
    assert_eq!(plan.tree(), ["plan.txt"]);
}

#[test]
fn a_plan_outside_the_project_is_reached_by_its_path() {
    let mut plan = Plan::new();
    let elsewhere = plan.home.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a directory");
    let path = elsewhere.join("plan.vine");
    fs::write(&path, blocks(&["[r] Far (started)"])).expect("a plan");
    for file in [path.to_str().expect("text"), "../elsewhere/plan"] {
        assert_eq!(found(&mut plan, file).as_deref(), Ok("Far"), "{file}");
        let arguments = json!({ "file": file, "operations": [{ "op": "claim", "id": "r" }] });
        plan.call("vine_write", arguments).expect("it is written");
    }
    let odd = "with blank & ünï 計画.vine";
    put(&plan, odd);
    assert_eq!(found(&mut plan, odd).as_deref(), Ok(odd));
    assert_eq!(found(&mut plan, "with blank & ünï 計画").as_deref(), Ok(odd));
}

#[test]
fn a_link_is_what_it_leads_to() {
    let mut plan = Plan::new();
    plan.put("secret.txt", "hunter2\n");
    put(&plan, "real.vine");
    for (link, target) in [("fair.vine", "secret.txt"), ("odd.txt", "real.vine"), ("far.vine", "/etc/passwd")] {
        std::os::unix::fs::symlink(target, plan.path(link)).expect("a link");
    }
    for file in ["fair.vine", "fair", "far.vine"] {
        assert_eq!(found(&mut plan, file), Err(format!("Not a .vine file: {file}")), "what it leads to is none");
    }
    assert_eq!(found(&mut plan, "odd.txt").as_deref(), Ok("real.vine"));
}

#[test]
fn odd_paths_are_refused_and_nobody_waits() {
    let mut plan = Plan::new();
    put(&plan, "plan.vine");
    let made = std::process::Command::new("mkfifo").arg(plan.path("pipe.vine")).status().expect("mkfifo runs");
    assert!(made.success());
    std::os::unix::fs::symlink("circle.vine", plan.path("circle.vine")).expect("a link to itself");
    let long = "x".repeat(5_000);
    let deep = "d/".repeat(3_000);
    for file in [
        "",
        ".",
        "..",
        "/",
        "./",
        "pipe",
        "circle",
        "a\0b",
        &long,
        &deep,
        "plan.vine/",
        "plan.vine/x",
        "/dev/null",
        "~",
    ] {
        for (tool, arguments) in [
            ("vine_read", json!({ "file": file, "action": "list" })),
            ("vine_next", json!({ "file": file })),
            ("vine_write", json!({ "file": file, "operations": [{ "op": "claim", "id": "r" }] })),
            ("vine_expand", json!({ "file": file, "ref_id": "r", "child_file": "plan" })),
        ] {
            // A slash at the end does no harm to a plan.
            let is_plan = file == "plan.vine/" && tool != "vine_expand";
            let answer = plan.call(tool, arguments);
            assert!(answer.is_err() || is_plan, "{tool} {:.20?}: {answer:?}", file);
        }
    }
    assert_eq!(plan.read("validate", json!({})), "Valid — 1 task(s).");
}
