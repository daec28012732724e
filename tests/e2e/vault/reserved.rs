//! Places where no tool may write, and sessions that may not write at all.

use serde_json::{Value, json};

use super::Vault;

fn creating(path: &str) -> Value {
    json!({ "path": path, "content": "new" })
}

fn replacing(path: &str) -> Value {
    json!({ "path": path, "find": "old", "replace": "new" })
}

#[test]
fn the_system_s_place_is_not_written_however_it_is_spelt() {
    let mut vault = Vault::new();
    for path in [
        ".system",
        ".system/a.md",
        ".System/a.md",
        "./.SYSTEM//x/y.md",
        ".system\\a.md",
        " .system/a.md",
        ".\u{17f}ystem/a.md",
    ] {
        for (tool, arguments) in [("vault_create", creating(path)), ("vault_replace", replacing(path))] {
            assert_eq!(vault.refused(tool, arguments)["code"], "forbidden", "{tool} {path}, and nothing is there");
        }
    }
    assert_eq!(vault.tree(), [""; 0]);
    for path in [".system/a.md", ".SYSTEM/a.md"] {
        vault.write(path, "old");
        vault.check_refused("vault_create", creating(path), "forbidden", path);
        vault.check_refused("vault_replace", replacing(path), "forbidden", path);
        assert_eq!(vault.text(path), "old");
    }
}

#[test]
fn a_day_is_created_once_and_not_changed() {
    let mut vault = Vault::new();
    for path in ["daily/2026-02-28.md", "daily/2024-02-29.md", "./daily//0001-01-01.md", "daily/9999-12-31.md"] {
        assert_eq!(vault.create(path, "old")["written_bytes"], 3, "{path}");
        assert_eq!(vault.refused("vault_create", creating(path))["code"], "conflict", "{path}");
        assert_eq!(vault.refused("vault_replace", replacing(path))["code"], "forbidden", "{path}");
    }
    assert_eq!(vault.text("daily/2026-02-28.md"), "old");
    let days = ["daily", "daily/0001-01-01.md", "daily/2024-02-29.md", "daily/2026-02-28.md", "daily/9999-12-31.md"];
    assert_eq!(vault.tree(), days);
}

#[test]
fn other_names_are_no_days() {
    let mut vault = Vault::new();
    for path in [
        "daily",
        "Daily",
        "daily/x.md",
        "daily/2026-02-30.md",
        "daily/2026-02-29.md",
        "daily/2026-13-01.md",
        "daily/2026-00-10.md",
        "daily/2026-01-00.md",
        "daily/2026-1-01.md",
        "daily/20260101.md",
        "daily/2026-01-01",
        "daily/2026-01-01.txt",
        "daily/2026-01-01.MD",
        "daily/2026-01-01.md.md",
        "daily/x2026-01-01.md",
        "daily/２０２６-01-01.md",
        "daily/+026-01-01.md",
        "daily/2026-01-01/a.md",
        "daily/a/2026-01-01.md",
        "Daily/2026-01-01.md",
        "DAILY/2026-01-01.md",
        "daily\\x.md",
    ] {
        assert_eq!(vault.refused("vault_create", creating(path))["code"], "forbidden", "{path}");
        assert_eq!(
            vault.refused("vault_replace", replacing(path))["code"],
            "forbidden",
            "{path}, and nothing is there"
        );
    }
    assert_eq!(vault.tree(), [""; 0], "nothing was made");
}

#[test]
fn only_the_first_name_is_reserved() {
    let mut vault = Vault::new();
    for path in ["notes/daily/a.md", "dailyish/a.md", "daily.md", "system/a.md"] {
        vault.create(path, "old");
        assert_eq!(vault.replace(path, "old", "new", json!({})), 1);
        assert_eq!(vault.text(path), "new");
    }
}

#[test]
fn hidden_names_belong_to_other_programs() {
    let mut vault = Vault::with_file(".git/config", "old");
    vault.write("a/.hidden.md", "old");
    for path in [".git/config", "a/.hidden.md", ".new.md", "a/.new/b.md", ".trellis-00000000-0000000000000000.vtmp"] {
        assert_eq!(vault.refused("vault_create", creating(path))["code"], "forbidden", "{path}");
        assert_eq!(vault.refused("vault_replace", replacing(path))["code"], "forbidden", "{path}");
    }
    assert_eq!((vault.text(".git/config"), vault.text("a/.hidden.md")), ("old".into(), "old".into()));
    assert_eq!(vault.tree(), [".git", ".git/config", "a", "a/.hidden.md"]);
}

#[test]
fn a_read_only_session_writes_nothing() {
    let vault = Vault::with_file("a.md", "old");
    let mut client = vault.home.host(&["--only", "vault", "--read-only"]);
    assert_eq!(client.tool_names(), ["vault_ls", "vault_read", "vault_scan"]);
    for (tool, arguments) in
        [("vault_create", creating("b.md")), ("vault_replace", replacing("a.md")), ("vault_replace", json!({}))]
    {
        let error = client.call_err(tool, arguments);
        assert_eq!((&error["code"], &error["error"]["code"]), (&json!("forbidden"), &json!("forbidden")));
    }
    assert_eq!((vault.tree(), vault.text("a.md")), (vec!["a.md".to_owned()], "old".into()));
    let all = ["vault_ls", "vault_create", "vault_read", "vault_scan", "vault_replace"];
    assert_eq!(vault.host().tool_names(), all);
}
