//! Names that work on every system: new files cannot have others, files that are there keep theirs.

use serde_json::{Value, json};

use super::Vault;

fn creating(path: &str) -> Value {
    json!({ "path": path, "content": "new" })
}

#[test]
fn names_that_do_not_work_everywhere_are_refused() {
    let mut vault = Vault::new();
    let long = "n".repeat(201);
    for name in [
        "ab:c.md",
        "a<b",
        "a>b",
        "a\"b",
        "a|b",
        "a?b",
        "a*b",
        "a\u{7}b",
        "a\nb",
        "a\tb",
        "a\u{7f}b",
        "a\u{85}b",
        "a\u{200b}b",
        "a\u{202e}b",
        "a\u{2066}b",
        "a\u{feff}b",
        "a.",
        "a /b",
        "CON",
        "con.md",
        "Aux.tar.gz",
        "nul",
        "COM1.md",
        "lpt9",
        "COM\u{b9}.md",
        "cafe\u{301}.md",
        "\u{304b}\u{3099}.md",
        &long,
    ] {
        for path in [name.to_owned(), format!("d/{name}"), format!("{name}/x.md"), format!("d/{name}/x.md")] {
            let error = vault.refused("vault_create", creating(&path));
            assert_eq!(error["code"], "invalid_path", "{path:?}: {error}");
            assert!(error["details"]["path"].is_string(), "{path:?}: {error}");
        }
    }
    assert_eq!(vault.tree(), [""; 0], "no file and no directory");
}

#[test]
fn names_that_only_look_odd_are_names() {
    let mut vault = Vault::new();
    let longest = "n".repeat(200);
    for path in [
        "año nuevo.md",
        "\u{304c}.md",
        "🦀",
        "con-text.md",
        "console",
        "com10.md",
        "a..b",
        "~x",
        "-rf",
        "%2e",
        "a'b$(c)`d`",
        &longest,
    ] {
        assert_eq!(vault.create(path, "x")["written_path"], path);
        assert_eq!(vault.text(path), "x");
    }
}

#[test]
fn a_name_that_some_systems_take_for_another_is_a_conflict() {
    let mut vault = Vault::with_file("Notes/Plan.md", "old");
    vault.write("caf\u{e9}.md", "old");
    vault.write("\u{304b}\u{3099}.md", "old");
    vault.write("Stra\u{df}e.md", "old");
    let before = vault.tree();
    for (path, existing) in [
        ("Notes/plan.md", "Plan.md"),
        ("Notes/PLAN.MD", "Plan.md"),
        ("notes/new.md", "Notes"),
        ("NOTES/deep/new.md", "Notes"),
        ("CAF\u{c9}.md", "caf\u{e9}.md"),
        ("STRASSE.md", "Stra\u{df}e.md"),
    ] {
        let error = vault.refused("vault_create", creating(path));
        assert_eq!(error["code"], "conflict", "{path}: {error}");
        assert_eq!(error["details"], json!({ "path": path, "existing_name": existing }));
    }
    // The same name in another Unicode form is the same file.
    for path in ["\u{304c}.md", "cafe\u{301}.md"] {
        assert_eq!(vault.refused("vault_create", creating(path))["code"], "conflict", "{path}");
    }
    assert_eq!(vault.tree(), before);
    // Where both spellings are there already, both go on working.
    vault.write("both/x.md", "");
    vault.write("Both/x.md", "");
    vault.create("both/y.md", "1");
    vault.create("Both/y.md", "2");
    assert_eq!((vault.text("both/y.md"), vault.text("Both/y.md")), ("1".into(), "2".into()));
}

#[test]
fn odd_names_that_are_there_go_on_working() {
    let mut vault = Vault::new();
    for path in ["ab:c.md", "CON", "x .md ./y.md", "\u{304b}\u{3099}/e\u{301}.md", "a\u{202e}b.md"] {
        vault.write(path, "old");
        assert_eq!(vault.replace(path, "old", "new", json!({})), 1, "{path}");
        assert_eq!(vault.text(path), "new");
    }
    // A new file may stand in a directory whose name only that directory has to answer for.
    for path in ["x .md ./new.md", "\u{304b}\u{3099}/new.md"] {
        assert_eq!(vault.create(path, "new")["written_path"], path);
        assert_eq!(vault.text(path), "new");
    }
}

#[test]
fn a_file_is_changed_in_its_other_unicode_form() {
    let (composed, decomposed) = ("\u{304c}/\u{30ac}.md", "\u{304b}\u{3099}/\u{30ab}\u{3099}.md");
    let mut vault = Vault::with_file(decomposed, "old old");
    let before = vault.tree();
    assert_eq!(vault.replace(composed, "old", "new", json!({})), 1);
    assert_eq!(vault.text(decomposed), "new old");
    assert_eq!(vault.tree(), before, "the file keeps its spelling");
    vault.write(composed, "exact");
    assert_eq!(vault.replace(composed, "exact", "this one", json!({})), 1);
    assert_eq!((vault.text(composed), vault.text(decomposed)), ("this one".into(), "new old".into()));
}
