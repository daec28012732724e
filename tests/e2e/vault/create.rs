//! `vault_create`: exact bytes, missing directories, nothing overwritten, nothing left after a refusal.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, programs};

use super::Vault;

const CONTENT_LIMIT_BYTES: usize = 4 << 20;

fn with(path: impl Into<Value>, content: impl Into<Value>) -> Value {
    json!({ "path": path.into(), "content": content.into() })
}

/// The call is refused with this code, and the vault is as it was.
#[track_caller]
fn check_refused(vault: &mut Vault, arguments: Value, code: &str) -> Value {
    let before = vault.tree();
    let error = vault.refused("vault_create", arguments.clone());
    assert_eq!(error["code"], code, "{arguments}: {error}");
    assert_eq!(vault.tree(), before, "a refused call leaves nothing: {arguments}");
    error
}

#[test]
fn a_text_is_written_exactly_as_given() {
    let mut vault = Vault::new();
    let texts =
        ["x", "no newline", "a\n", "a\r\nb", "\n\n", "\u{feff}first", "あ", "🦀\u{2028}\u{85}", "\0\u{1}", " ", "\t"];
    for (number, text) in texts.iter().enumerate() {
        let path = format!("{number}.md");
        let answer = vault.create(&path, text);
        let expected = format!(r#"{{"written_path":"{path}","written_bytes":{}}}"#, text.len());
        assert_eq!(answer.to_string(), expected, "{text:?}");
        assert_eq!(vault.bytes(&path), text.as_bytes());
    }
    assert_eq!(vault.create("bytes.md", "あ")["written_bytes"], 3, "bytes, not characters");
    assert_eq!(vault.read("2.md", json!({ "full": true }))["text"], "a", "every session reads it at once");
    assert_eq!(vault.host().call_ok("vault_read", json!({ "path": "8.md", "full": true }))["text"], "\0\u{1}");
}

#[test]
fn missing_directories_are_made() {
    let mut vault = Vault::new();
    vault.create("a/b/c/d.md", "deep");
    vault.create("a/b/e.md", "beside");
    assert_eq!(vault.tree(), ["a", "a/b", "a/b/c", "a/b/c/d.md", "a/b/e.md"]);
    assert_eq!((vault.text("a/b/c/d.md"), vault.text("a/b/e.md")), ("deep".into(), "beside".into()));
}

#[test]
fn a_path_is_answered_as_it_was_understood() {
    let mut vault = Vault::new();
    for (given, path) in [
        ("./a//b.md", "a/b.md"),
        (" c.md\n", "c.md"),
        ("d\\e.md", "d/e.md"),
        ("f/./g.md/", "f/g.md"),
        ("..h.md", ""),
        ("i..j.md", "i..j.md"),
        ("メモ/あ🦀.md", "メモ/あ🦀.md"),
    ] {
        if path.is_empty() {
            check_refused(&mut vault, with(given, "x"), "forbidden");
            continue;
        }
        assert_eq!(vault.create(given, "x")["written_path"], path, "{given:?}");
        assert_eq!(vault.text(path), "x");
    }
}

#[test]
fn a_missing_vault_is_made() {
    let home = Home::new();
    let client = home.host(&["--only", "vault"]);
    let mut vault = Vault { home, client };
    assert_eq!(vault.create("notes/a.md", "one")["written_path"], "notes/a.md");
    assert_eq!(vault.text("notes/a.md"), "one");
    vault.create("b.md", "two");
    assert_eq!(vault.ls(json!({})), ["notes", "b.md"]);
}

#[test]
fn a_missing_vault_is_made_where_it_is_wanted() {
    for (root, place) in [
        ("~/deep/down/mine", "deep/down/mine"),
        ("docs/notes", "project/docs/notes"),
        ("~/ odd name /mine", " odd name /mine"),
    ] {
        let home = Home::new().with("VAULT_ROOT", root);
        let mut client = home.host(&["--only", "vault"]);
        assert_eq!(client.call_ok("vault_create", with("a.md", "text"))["written_bytes"], 4);
        assert_eq!(fs::read_to_string(home.path().join(place).join("a.md")).expect("the file"), "text");
        assert_eq!(client.call_ok("vault_read", json!({ "path": "a.md", "full": true }))["text"], "text");
        super::tidy(&home.path().join(place));
    }
}

#[test]
fn a_refused_call_does_not_make_the_vault() {
    let home = Home::new();
    let client = home.host(&["--only", "vault"]);
    let mut vault = Vault { home, client };
    for (arguments, code) in [
        (with("a.md", ""), "invalid_parameter"),
        (with("../a.md", "x"), "invalid_path"),
        (with("a/b:c.md", "x"), "invalid_path"),
        (with(".system/a.md", "x"), "forbidden"),
    ] {
        assert_eq!(vault.refused("vault_create", arguments)["code"], code);
        assert!(!vault.path("").exists());
    }
    // A file, or a link that leads nowhere, is no vault and becomes none.
    fs::write(vault.home.project().join("vault"), "text").expect("a file");
    assert_eq!(vault.refused("vault_create", with("a.md", "x"))["code"], "conflict");
    assert_eq!(fs::read_to_string(vault.home.project().join("vault")).expect("the file"), "text");
    fs::remove_file(vault.home.project().join("vault")).expect("a removal");
    std::os::unix::fs::symlink("../nowhere", vault.home.project().join("vault")).expect("a link");
    assert_eq!(vault.refused("vault_create", with("a.md", "x"))["code"], "forbidden");
    assert!(!vault.home.path().join("nowhere").exists(), "nothing is written through it");
}

#[test]
fn nothing_is_overwritten() {
    let mut vault = Vault::with_file("a.md", "old");
    vault.write("empty.md", "");
    vault.write("b/c.md", "old");
    let made = Command::new("mkfifo").arg(vault.path("fifo")).status().expect("mkfifo runs");
    assert!(made.success());
    for path in
        ["a.md", "./a.md/", "empty.md", "b", "b/c.md", "fifo", "a.md/x.md", "a.md/x/y.md", "b/c.md/x.md", "fifo/x"]
    {
        let error = check_refused(&mut vault, with(path, "new"), "conflict");
        let normalised = path.trim_start_matches("./").trim_end_matches('/');
        assert_eq!(error["details"], json!({ "path": normalised }), "{error}");
    }
    assert_eq!(
        (vault.text("a.md"), vault.text("b/c.md"), vault.text("empty.md")),
        ("old".into(), "old".into(), String::new())
    );
}

#[test]
fn content_must_be_a_text_of_some_length() {
    let mut vault = Vault::new();
    for wrong in [json!(""), json!(null), json!(5), json!(true), json!(["x"]), json!({})] {
        let error = check_refused(&mut vault, with("a.md", wrong.clone()), "invalid_parameter");
        assert_eq!(error["details"]["field"], "content", "{wrong}");
    }
    check_refused(&mut vault, json!({ "path": "a.md" }), "invalid_parameter");
    check_refused(&mut vault, json!({}), "invalid_parameter");
}

#[test]
fn content_has_a_longest_form() {
    let mut vault = Vault::new();
    let longest = "あ".repeat(CONTENT_LIMIT_BYTES / 3) + "x";
    assert_eq!(longest.len(), CONTENT_LIMIT_BYTES);
    assert_eq!(vault.create("a.md", &longest)["written_bytes"], CONTENT_LIMIT_BYTES);
    assert_eq!(vault.bytes("a.md"), longest.as_bytes());
    let error = check_refused(&mut vault, with("b.md", longest + "x"), "invalid_parameter");
    assert_eq!(error["details"]["field"], "content");
    assert!(error.to_string().len() < 1000, "it does not come back");
}

#[test]
fn paths_that_could_lead_elsewhere_are_refused() {
    let mut vault = Vault::new();
    let long = format!("{}x.md", "d/".repeat(512));
    for path in [
        "/etc/x",
        "\\x",
        "c:x.md",
        "C:\\x",
        "..",
        "../x",
        "a/../b.md",
        "a\\..\\b.md",
        ".",
        "./.",
        "",
        " ",
        "a\0b",
        &long,
    ] {
        check_refused(&mut vault, with(path, "x"), "invalid_path");
    }
    for path in [json!(null), json!(5), json!(true), json!(["a"]), json!({ "path": "a" })] {
        check_refused(&mut vault, with(path, "x"), "invalid_path");
    }
}

#[test]
fn the_first_fault_in_order_is_told() {
    let mut vault = Vault::with_file("real/a.md", "old");
    vault.write(".system/a.md", "old");
    vault.write("daily/x.md", "old");
    vault.link("link", "real");
    // Content before the path, the path before the reservation.
    check_refused(&mut vault, with("../x", ""), "invalid_parameter");
    check_refused(&mut vault, with(5, 5), "invalid_parameter");
    check_refused(&mut vault, with(".system/../x", "x"), "invalid_path");
    // The reservation before links and existence.
    check_refused(&mut vault, with(".system/a.md", "x"), "forbidden");
    check_refused(&mut vault, with("daily/x.md", "x"), "forbidden");
    // Links before existence.
    check_refused(&mut vault, with("link/a.md", "x"), "forbidden");
    check_refused(&mut vault, with("real/a.md", "x"), "conflict");
}

#[test]
fn two_who_create_the_same_are_one_success_and_one_conflict() {
    let mut vault = Vault::new();
    let mut other = vault.host();
    for round in 0..50 {
        let path = format!("d{round}/e/a.md");
        let call = |text: &str| json!({ "name": "vault_create", "arguments": with(path.as_str(), text) });
        let (one, two) = (vault.client.send("tools/call", call("one")), other.send("tools/call", call("two")));
        let answers = [vault.client.answer(one), other.answer(two)].map(|answer| answer["result"].clone());
        let successes: Vec<usize> = (0..2).filter(|who| answers[*who]["isError"] != true).collect();
        assert_eq!(successes.len(), 1, "{answers:?}");
        let loser = &answers[1 - successes[0]]["structuredContent"];
        assert_eq!(loser["code"], "conflict", "{loser}");
        assert_eq!(vault.text(&path), ["one", "two"][successes[0]]);
    }
}

#[test]
fn many_who_create_beside_each_other_all_succeed() {
    let mut vault = Vault::new();
    let mut others: Vec<Client> = (0..3).map(|_| vault.host()).collect();
    for round in 0..20 {
        let mut sent = Vec::new();
        for (number, client) in others.iter_mut().chain([&mut vault.client]).enumerate() {
            let path = format!("new{round}/{number}.md");
            let call = json!({ "name": "vault_create", "arguments": with(path.as_str(), path.as_str()) });
            sent.push(client.send("tools/call", call));
        }
        for (id, client) in sent.into_iter().zip(others.iter_mut().chain([&mut vault.client])) {
            let answer = client.answer(id);
            assert_ne!(answer["result"]["isError"], true, "{answer}");
        }
        for number in 0..4 {
            let path = format!("new{round}/{number}.md");
            assert_eq!(vault.text(&path), path);
        }
    }
}

#[test]
fn modes_are_those_of_the_session() {
    let mode = |path: std::path::PathBuf| fs::metadata(path).expect("it is there").permissions().mode() & 0o7777;
    let home = Home::new();
    // The daemon was started by a session with another mask.
    let _first = home.host(&["--only", "vault"]);
    for (umask, file, directory) in
        [("027", 0o640, 0o750), ("000", 0o666, 0o777), ("077", 0o600, 0o700), ("022", 0o644, 0o755)]
    {
        let mut command = home.command("sh".as_ref());
        command.args(["-c", &format!("umask {umask}; exec \"$0\" --only vault")]).arg(programs::proxy());
        let mut client = Client::start(command);
        client.initialize("2025-11-25");
        client.call_ok("vault_create", with(format!("{umask}/{umask}/a.md"), "x"));
        let below = home.project().join("vault").join(umask);
        assert_eq!(mode(below.clone()), directory, "{umask}");
        assert_eq!(mode(below.join(umask)), directory, "{umask}");
        assert_eq!(mode(below.join(umask).join("a.md")), file, "{umask}");
    }
    assert_eq!(home.daemons().len(), 1);
}

#[test]
fn directories_of_a_group_stay_the_group_s() {
    let mut vault = Vault::new();
    vault.write("shared/a.md", "x");
    fs::set_permissions(vault.path("shared"), fs::Permissions::from_mode(0o2775)).expect("a mode");
    vault.create("shared/new/b.md", "x");
    let mode = fs::metadata(vault.path("shared/new")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o2000, 0o2000, "new directories inherit the bit, as the system's own would: {mode:o}");
}

#[test]
fn a_named_project_has_its_own_vault() {
    let mut vault = Vault::new();
    fs::create_dir_all(vault.home.project().join("sub/vault")).expect("a vault");
    let sub = vault.home.project().join("sub");
    let arguments = json!({ "path": "a.md", "content": "sub", "project_root": sub });
    assert_eq!(vault.client.call_ok("vault_create", arguments)["written_path"], "a.md");
    assert_eq!(fs::read_to_string(sub.join("vault/a.md")).expect("the file"), "sub");
    assert_eq!(vault.tree(), [""; 0]);
    check_refused(
        &mut vault,
        json!({ "path": "a.md", "content": "x", "project_root": "relative" }),
        "invalid_parameter",
    );
}

#[test]
fn a_checkout_stays_clean_but_for_what_was_asked() {
    let mut vault = Vault::with_file("a.md", "one\n");
    let project = vault.home.project();
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"])
            .args(arguments)
            .current_dir(&project)
            .env("HOME", &project)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "x"]);
    assert_eq!(git(&["status", "--porcelain"]), "");
    vault.replace("a.md", "none", "x", json!({}));
    vault.tree();
    assert_eq!(git(&["status", "--porcelain"]), "");
    vault.replace("a.md", "one", "two", json!({}));
    vault.create("b.md", "new");
    vault.refused("vault_create", with("a.md", "x"));
    vault.refused("vault_create", with("a.md/x", "x"));
    vault.tree();
    assert_eq!(git(&["status", "--porcelain"]), " M vault/a.md\n?? vault/b.md\n");
}
