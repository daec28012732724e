//! What a path may be, and what may stand on it: never a link, wherever it leads and whether it leads anywhere.

use std::fs;

use serde_json::{Value, json};

use super::Vault;

const TOOLS: [&str; 3] = ["vault_read", "vault_scan", "vault_ls"];

fn at(path: impl Into<Value>) -> Value {
    json!({ "path": path.into() })
}

#[test]
fn a_path_is_shown_as_it_was_understood() {
    let mut vault = Vault::with_file("a/b.md", "one\ntwo\n");
    for path in ["a/b.md", "./a//b.md", " a/b.md\n", "a\\b.md", "a/./b.md", ".\\a\\\\b.md", "a/b.md/"] {
        let read = vault.read(path, json!({ "full": true }));
        assert_eq!(read["text"], "one\ntwo", "{path:?}");
        assert_eq!(read["next_actions"][0]["params"], json!({ "path": "a/b.md" }), "{path:?}");
        let scanned = vault.scan(path, json!({ "chunk_lines": 1 }));
        assert_eq!(scanned["next_actions"][0]["params"]["path"], "a/b.md", "{path:?}");
    }
    for path in ["a", "./a/", "a\\", " a "] {
        let listing = vault.call("vault_ls", json!({ "path": path }));
        assert_eq!((&listing["base_path"], &listing["items"][0]["path"]), (&json!("a"), &json!("a/b.md")), "{path:?}");
    }
}

#[test]
fn names_that_only_look_dangerous_are_names() {
    let mut vault = Vault::new();
    for path in ["..a.md", "a..", "...", "~/x.md", "$HOME.md", "メモ/あ🦀.md", "a b.md", "%2e%2e/x.md", "-rf"] {
        vault.write(path, path);
        assert_eq!(vault.read(path, json!({ "full": true }))["text"], path);
    }
}

#[test]
fn paths_that_could_lead_elsewhere_are_refused() {
    let mut vault = Vault::with_file("a/b.md", "text");
    let long = format!("{}x", "d/".repeat(512));
    let wrong = [
        "/etc/passwd",
        "/",
        "//server/x",
        "\\x",
        "c:",
        "C:\\x",
        "c:x.md",
        " /a/b.md",
        "..",
        "../x",
        "a/../a/b.md",
        "a\\..\\a\\b.md",
        "a/..",
        ".",
        "./",
        "./.",
        "\\",
        "",
        " ",
        "\t\n",
        "a\0b",
        "a/b.md\0",
        &long,
    ];
    for tool in TOOLS {
        for path in wrong {
            let error = vault.refused(tool, at(path));
            assert_eq!(error["code"], "invalid_path", "{tool} {path:?}");
            assert_eq!(error["details"]["path"], Value::Null, "there is no normalised path: {path:?}");
        }
        for path in [json!(5), json!(true), json!(["a"]), json!({ "path": "a" })] {
            vault.check_refused(tool, at(path), "invalid_path", None);
        }
    }
    for tool in ["vault_read", "vault_scan"] {
        vault.check_refused(tool, at(Value::Null), "invalid_path", None);
        vault.check_refused(tool, json!({}), "invalid_path", None);
    }
}

#[test]
fn a_path_has_a_longest_form() {
    let mut vault = Vault::new();
    let longest = format!("{}x", "d/".repeat(511)) + "y";
    assert_eq!(longest.len(), 1024);
    assert_eq!(vault.refused("vault_read", at(longest.as_str()))["code"], "not_found");
    assert_eq!(vault.refused("vault_read", at(format!("  {longest} ")))["code"], "not_found");
    assert_eq!(vault.refused("vault_read", at(format!("{longest}z")))["code"], "invalid_path");
    // A name that no file system can hold is not there.
    assert_eq!(vault.refused("vault_read", at("n".repeat(300)))["code"], "not_found");
}

#[test]
fn no_link_is_followed_wherever_it_leads() {
    let mut vault = Vault::with_file("real/a.md", "text");
    let outside = vault.home.project().join("outside");
    fs::create_dir_all(&outside).expect("a directory");
    fs::write(outside.join("a.md"), "secret").expect("a file");
    vault.link("inside.md", "real/a.md");
    vault.link("inside", "real");
    vault.link("outside.md", outside.join("a.md"));
    vault.link("outside", &outside);
    vault.link("up", "..");
    vault.link("dangling.md", "nowhere.md");
    vault.link("dangling", outside.join("nowhere"));
    vault.link("circle", "circle");
    vault.link("real/deep", "../real");
    vault.link("chain", "inside");
    let links = [
        "inside.md",
        "outside.md",
        "dangling.md",
        "circle",
        "inside",
        "outside",
        "dangling",
        "chain",
        "up",
        "inside/a.md",
        "outside/a.md",
        "dangling/a.md",
        "circle/a.md",
        "chain/a.md",
        "real/deep/a.md",
        "real/deep/deep/a.md",
        "up/vault/real/a.md",
        "dangling/deep/down/a.md",
        "inside.md/a.md",
        "outside/nowhere.md",
    ];
    for tool in TOOLS {
        for path in links {
            vault.check_refused(tool, at(path), "forbidden", path);
        }
    }
    assert_eq!(vault.read("real/a.md", json!({ "full": true }))["text"], "text");
    assert_eq!(vault.ls(json!({})), ["real"], "links are not listed");
}

#[test]
fn nothing_there_is_not_found() {
    let mut vault = Vault::with_file("a/b.md", "text");
    for tool in TOOLS {
        for path in ["none.md", "none/none.md", "a/none.md", "a/b.md/c.md", "A/b.md"] {
            vault.check_refused(tool, at(path), "not_found", path);
        }
    }
    for tool in ["vault_read", "vault_scan"] {
        vault.check_refused(tool, at("./a"), "not_found", "a");
    }
    vault.check_refused("vault_ls", at("a//b.md"), "not_found", "a/b.md");
}

#[test]
fn reserved_places_may_be_read() {
    let mut vault = Vault::new();
    for path in [".system/a.md", ".System/b.md", "daily/2026-02-30.md", "Daily/notes/x.txt"] {
        vault.write(path, path);
        assert_eq!(vault.read(path, json!({ "full": true }))["text"], path);
        assert_eq!(vault.scan(path, json!({}))["text"], path);
    }
    let action = vault.read("daily/2026-02-30.md", json!({ "full": true }))["next_actions"][0].clone();
    assert_eq!(action["type"], "vault_replace", "always, though that call would be refused");
    assert_eq!(vault.ls(json!({ "path": ".system" })), [".system/a.md"]);
}

#[test]
fn a_name_is_found_in_its_other_unicode_form() {
    let (composed, decomposed) = ("\u{30ac}.md", "\u{30ab}\u{3099}.md");
    let mut vault = Vault::with_file(decomposed, "text");
    assert_eq!(vault.read(composed, json!({ "full": true }))["text"], "text");
    vault.write(composed, "exact");
    assert_eq!(vault.read(composed, json!({ "full": true }))["text"], "exact");
    assert_eq!(vault.read(decomposed, json!({ "full": true }))["text"], "text");
}
