//! What is merged into front matter, and how it is written.

use serde_json::{Value, json};

use super::Vibe;

#[track_caller]
fn check_created(vibe: &mut Vibe, content: &str, frontmatter: Value, expected: &str) {
    let name = format!("{}.md", vibe.tree().len());
    let document = json!({
        "project": "demo", "folder": "scratch", "filename": name, "content": content, "frontmatter": frontmatter,
    });
    vibe.call("create_doc", document);
    assert_eq!(vibe.text(&format!("demo/scratch/{name}")), expected);
}

#[test]
fn a_new_document_gets_one_block() {
    let mut vibe = Vibe::new();
    let tags = json!({ "tags": ["mcp", "protocol", "reference"] });
    check_created(&mut vibe, "# N\n", tags, "---\ntags: [mcp, protocol, reference]\n---\n# N\n");
    check_created(&mut vibe, "# N\n", json!({}), "# N\n");
    check_created(&mut vibe, "# N\n", json!(null), "# N\n");
    let odd = json!({ "b": "yes", "a": "x: y", "d": "2025-02-09", "num": 3, "t": true, "z": ["a, b", "[c]", "7"], "o": { "k": [1] } });
    let expected = "---\nb: \"yes\"\na: \"x: y\"\nd: \"2025-02-09\"\nnum: 3\nt: true\nz: [\"a, b\", \"[c]\", \"7\"]\no: {k: [1]}\n---\nx";
    check_created(&mut vibe, "x", odd, expected);
    let both = "---\nowner: ana\nstatus: old\n---\nbody\n";
    let expected = "---\nowner: ana\nstatus: new\ntags: [a]\n---\nbody\n";
    check_created(&mut vibe, both, json!({ "status": "new", "tags": ["a"] }), expected);
    check_created(&mut vibe, "---\nrule\n---\nbody", json!({ "a": 1 }), "---\na: 1\n---\n---\nrule\n---\nbody");
}

#[track_caller]
fn check_updated(before: &str, content: &str, frontmatter: Value, expected: &str) {
    let mut vibe = Vibe::with("demo/plans/a.md", before);
    let document = json!({
        "project": "demo", "folder": "plans", "filename": "a.md", "content": content, "frontmatter": frontmatter,
    });
    vibe.call("update_doc", document);
    assert_eq!(vibe.text("demo/plans/a.md"), expected);
}

#[test]
fn an_update_merges_into_the_block_that_is_there() {
    let before = "---\n# mine\ntags:\n  - a\nowner: ana # note\nupdated: 2025-01-01\n---\nold\n";
    let expected = "---\n# mine\ntags: [b]\nowner: ana # note\nupdated: 2025-01-01\nnew: 1\n---\nfresh\n";
    check_updated(before, "fresh\n", json!({ "tags": ["b"], "new": 1 }), expected);
    check_updated("---\na: 1\nb: 2\n---\nold", "new", json!({ "a": null }), "---\nb: 2\n---\nnew");
    check_updated("---\na: 1\n---\nold", "new", json!({ "a": null }), "new");
    check_updated("---\na: 1\n---\nold", "---\nc: 3\n---\nnew", json!({ "d": 4 }), "---\nc: 3\nd: 4\n---\nnew");
    check_updated("---\na: 1\n---\nold", "new", json!({}), "---\na: 1\n---\nnew");
    check_updated("no block", "new", json!({ "a": "1" }), "---\na: \"1\"\n---\nnew");
}

#[test]
fn an_update_without_front_matter_keeps_the_block_that_is_there() {
    let before = "\u{feff}---\r\n# mine\r\ntags:   [a,b]\r\nowner: ana\r\n---\r\nold\r\n";
    let block = before.strip_suffix("old\r\n").expect("a body");
    check_updated(before, "# New\n", json!(null), &format!("{block}# New\n"));
    check_updated("---\na: 1\n---", "new", json!(null), "---\na: 1\n---\nnew");
    check_updated("---\na: 1\n---\nold", "---\nb: 2\n---\nnew", json!(null), "---\nb: 2\n---\nnew");
    check_updated("---\na: 1\n---\nold", "---\n---\nnew", json!(null), "---\n---\nnew");
    check_updated("---\na: 1\n---\nold", "---\nnew", json!(null), "---\na: 1\n---\n---\nnew");
    check_updated("---\nno block\n---\nold", "new", json!(null), "new");
}

#[test]
fn what_the_front_matter_says_survives_an_update() {
    let mut vibe = Vibe::new();
    let mut task = super::a_task("Definir interfaz MCP");
    task["tags"] = json!(["mcp", "design"]);
    vibe.call("create_task", task);
    let text = "# Task: Definir interfaz MCP\n\nStatus: in-progress\n";
    let document = json!({ "project": "demo", "folder": "tasks", "filename": "001-definir-interfaz-mcp.md" });
    let mut update = document.clone();
    update["content"] = text.into();
    let answer = vibe.call("update_doc", update);
    let whole = format!("---\ntags: [mcp, design]\n---\n{text}");
    assert_eq!(vibe.text("demo/tasks/001-definir-interfaz-mcp.md"), whole);
    assert_eq!(answer["new_hash"], super::sha256(whole));
    let read = vibe.call("read_doc", document);
    assert_eq!(
        (&read["metadata"]["tags"], &read["metadata"]["status"]),
        (&json!(["mcp", "design"]), &json!("in-progress"))
    );
}

/// Aliases of aliases: 600 bytes that would be millions of values.
fn alias_bomb() -> String {
    let mut lines = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        lines += &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(", "));
    }
    format!("---\nstatus: done\n{lines}---\n# Bomb\n\nwordsbehindit\n")
}

/// The most memory that the daemon ever had, in bytes.
fn peak(vibe: &Vibe) -> usize {
    let pid = vibe.home.daemon_pid().expect("a daemon");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
}

#[test]
fn a_block_that_is_more_than_it_seems_counts_as_text_and_is_told_once() {
    let mut vibe = Vibe::new();
    vibe.call("search", json!({ "query": "anything" }));
    let before = peak(&vibe);
    vibe.write("demo/plans/bomb.md", alias_bomb());
    let found = vibe.call("search", json!({ "query": "wordsbehindit" }));
    assert_eq!(found["results"][0]["path"], "demo/plans/bomb.md", "{found}");
    let read = json!({ "project": "demo", "folder": "plans", "filename": "bomb.md" });
    for _ in 0..20 {
        let document = vibe.call("read_doc", read.clone());
        assert!(document["metadata"]["status"] != "done", "{document}");
    }
    let grown = peak(&vibe).saturating_sub(before);
    assert!(grown < 40 << 20, "it took {} MiB", grown >> 20);
    let warnings = || -> Vec<String> {
        let status = vibe.home.status().expect("a daemon");
        let warnings = status["warnings"].as_array().expect("a list").iter();
        warnings.map(ToString::to_string).filter(|warning| warning.contains("bomb.md")).collect()
    };
    assert_eq!(warnings().len(), 1, "{:?}", warnings());
    assert!(warnings()[0].contains("aliases"), "{:?}", warnings());
}

#[test]
fn a_block_that_is_more_than_it_seems_is_not_written() {
    let mut vibe = Vibe::with("demo/plans/a.md", "old\n");
    let with = |name: &str, content: String, frontmatter: Value| json!({ "project": "demo", "folder": "plans", "filename": name, "content": content, "frontmatter": frontmatter });
    for frontmatter in [json!(null), json!({ "a": 1 })] {
        for (tool, name) in [("create_doc", "b.md"), ("update_doc", "a.md")] {
            let error = vibe.check_refused(tool, with(name, alias_bomb(), frontmatter.clone()), "INVALID_ARGUMENT");
            assert!(error["message"].as_str().is_some_and(|message| message.contains("`content`")), "{error}");
        }
    }
    assert_eq!(vibe.text("demo/plans/a.md"), "old\n");
    assert!(!vibe.path("demo/plans/b.md").exists());
    vibe.call("create_doc", with("b.txt", alias_bomb(), json!(null)));
    vibe.call("create_doc", with("c.md", "---\na: &x [1]\nb: *x\n---\nbody\n".to_owned(), json!(null)));
}
