//! `vault_ls`: one level, in order, without links and temp files, up to a limit.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::json;

use super::Vault;

#[test]
fn a_listing_has_its_fields_in_order() {
    let mut vault = Vault::with_file("notes/deep/a.md", "text");
    vault.write("notes/b.md", "text");
    let answer = vault.call("vault_ls", json!({ "path": "./notes/" }));
    let expected = json!({
        "base_path": "notes",
        "items": [
            { "name": "deep", "path": "notes/deep", "kind": "dir" },
            { "name": "b.md", "path": "notes/b.md", "kind": "file" },
        ],
        "truncated": false,
    });
    assert_eq!(answer.to_string(), expected.to_string());
    let root = vault.call("vault_ls", json!({}));
    assert_eq!(root["base_path"], json!(null));
    assert_eq!(root["items"], json!([{ "name": "notes", "path": "notes", "kind": "dir" }]));
}

#[test]
fn directories_come_first_then_names_without_regard_to_case() {
    let mut vault = Vault::new();
    for name in ["b.md", "B.md", "a.md", "C.md", "Éa.md", "éb.md", "ß.md", "sr.md", "ST.md", "あ.md", "_.md", "1.md"]
    {
        vault.write(name, "");
    }
    for name in ["zoo", "Yard", ".system"] {
        fs::create_dir_all(vault.path(name)).expect("a directory");
    }
    let expected = [
        ".system", "Yard", "zoo", "1.md", "_.md", "a.md", "B.md", "b.md", "C.md", "sr.md", "ß.md", "ST.md", "Éa.md",
        "éb.md", "あ.md",
    ];
    assert_eq!(vault.ls(json!({})), expected);
}

#[test]
fn links_litter_and_special_files_are_left_out() {
    let mut vault = Vault::with_file("kept.md", "");
    for litter in [".DS_Store", "Thumbs.db", "desktop.ini", "._kept.md", ".trellis-1-0123456789abcdef.vtmp"] {
        vault.write(litter, "");
    }
    vault.write(".hidden", "");
    vault.link("link.md", "kept.md");
    vault.link("dangling.md", "nowhere.md");
    vault.link("directory", "..");
    let _socket = std::os::unix::net::UnixListener::bind(vault.path("socket")).expect("a socket");
    assert_eq!(vault.ls(json!({})), [".hidden", "kept.md"]);
    fs::remove_file(vault.path(".trellis-1-0123456789abcdef.vtmp")).expect("a removal");
}

#[test]
fn an_empty_directory_is_an_empty_listing() {
    let mut vault = Vault::new();
    fs::create_dir(vault.path("empty")).expect("a directory");
    let answer = vault.call("vault_ls", json!({ "path": "empty" }));
    assert_eq!(answer, json!({ "base_path": "empty", "items": [], "truncated": false }));
    assert_eq!(vault.ls(json!({})), ["empty"]);
}

#[test]
fn a_listing_has_a_limit_and_says_so() {
    let mut vault = Vault::new();
    let name = |number: usize| format!("{number:04}.md");
    for number in 0..1000 {
        vault.write(&name(number), "");
    }
    for litter in ["._0000.md", ".DS_Store"] {
        vault.write(litter, "");
    }
    vault.link("0000.link", "0000.md");
    let all = vault.call("vault_ls", json!({}));
    assert_eq!((all["items"].as_array().map(Vec::len), &all["truncated"]), (Some(1000), &json!(false)));
    vault.write(&name(1000), "");
    fs::create_dir(vault.path("zoo")).expect("a directory");
    let some = vault.call("vault_ls", json!({}));
    let paths = super::paths_of(&some);
    assert_eq!((paths.len(), &some["truncated"]), (1000, &json!(true)));
    assert_eq!((paths[0].as_str(), paths[999].clone()), ("zoo", name(998)), "the first ones in order are shown");
}

#[test]
fn a_name_that_is_no_text_is_shown_as_far_as_it_can_be() {
    let mut vault = Vault::new();
    fs::write(vault.path("").join(OsStr::from_bytes(b"a\xff.md")), "text").expect("a file");
    assert_eq!(vault.ls(json!({})), ["a\u{fffd}.md"]);
}

#[test]
fn it_is_never_needed_before_the_other_tools() {
    let mut vault = Vault::with_file("a.md", "text");
    assert_eq!(vault.read("a.md", json!({ "full": true }))["text"], "text");
}
