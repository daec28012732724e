//! Writing where links stand, and where somebody swaps them in: nothing is ever written through one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use super::Vault;

/// How long somebody keeps swapping.
const RACE: Duration = Duration::from_secs(2);

fn creating(path: &str) -> Value {
    json!({ "path": path, "content": "new" })
}

fn replacing(path: &str) -> Value {
    json!({ "path": path, "find": "old", "replace": "new" })
}

/// A directory beside the vault, with one file in it.
fn outside(vault: &Vault) -> PathBuf {
    let outside = vault.home.project().join("outside");
    fs::create_dir_all(&outside).expect("a directory");
    fs::write(outside.join("a.md"), "old").expect("a file");
    outside
}

#[track_caller]
fn is_untouched(outside: &Path) {
    assert_eq!(super::tidy(outside), ["a.md"], "nothing appears outside");
    assert_eq!(fs::read_to_string(outside.join("a.md")).expect("the file"), "old");
}

#[test]
fn nothing_is_written_through_a_link() {
    let mut vault = Vault::with_file("real/a.md", "old");
    let outside = outside(&vault);
    vault.link("inside.md", "real/a.md");
    vault.link("inside", "real");
    vault.link("outside.md", outside.join("a.md"));
    vault.link("outside", &outside);
    vault.link("up", "..");
    vault.link("circle", "circle");
    vault.link("real/deep", "../real");
    vault.link("dangling.md", outside.join("new.md"));
    vault.link("dangling", outside.join("nowhere"));
    vault.link("real/dangling", "../../outside/none");
    vault.link("near.md", "nowhere.md");
    let before = vault.tree();
    for path in [
        "inside.md",
        "outside.md",
        "circle",
        "dangling.md",
        "near.md",
        "inside",
        "outside",
        "up",
        "inside/a.md",
        "inside/new.md",
        "outside/a.md",
        "outside/new.md",
        "outside/deep/new.md",
        "up/outside/new.md",
        "up/vault/real/a.md",
        "circle/new.md",
        "real/deep/new.md",
        "dangling/new.md",
        "dangling/deep/new.md",
        "real/dangling/new.md",
        "real/dangling",
        "inside.md/new.md",
    ] {
        for (tool, arguments) in [("vault_create", creating(path)), ("vault_replace", replacing(path))] {
            vault.check_refused(tool, arguments, "forbidden", path);
        }
    }
    assert_eq!(vault.tree(), before);
    assert_eq!(vault.text("real/a.md"), "old");
    is_untouched(&outside);
}

#[test]
fn the_vault_itself_may_be_a_link_that_stays_in_the_project() {
    let home = trellis_tests::harness::Home::new();
    fs::create_dir_all(home.project().join("docs/notes")).expect("a directory");
    std::os::unix::fs::symlink("docs/notes", home.project().join("vault")).expect("a link");
    let client = home.host(&["--only", "vault"]);
    let mut vault = Vault { home, client };
    vault.create("a/b.md", "old");
    vault.replace("a/b.md", "old", "new", json!({}));
    assert_eq!(fs::read_to_string(vault.home.project().join("docs/notes/a/b.md")).expect("the file"), "new");
}

/// A checkout must not choose what else of a person is served, written and watched.
#[test]
fn a_vault_that_leads_out_of_the_project_is_refused_and_not_watched() {
    for target in ["..", "../secrets", "/"] {
        let home = trellis_tests::harness::Home::new();
        fs::create_dir_all(home.project().join(".git")).expect("a checkout");
        fs::create_dir_all(home.path().join("secrets")).expect("a directory");
        fs::write(home.path().join("secrets/key.md"), "secret").expect("a file");
        std::os::unix::fs::symlink(target, home.project().join("vault")).expect("a link");
        let client = home.host(&["--only", "vault"]);
        let mut vault = Vault { home, client };
        for (tool, arguments) in [
            ("vault_read", json!({ "path": "key.md", "full": true })),
            ("vault_read", json!({ "path": "secrets/key.md", "full": true })),
            ("vault_ls", json!({})),
            ("vault_create", creating("new.md")),
            ("vault_create", creating("secrets/new.md")),
        ] {
            let error = vault.refused(tool, arguments);
            assert_eq!(error["code"], "forbidden", "{target} {tool}: {error}");
            assert!(error.to_string().contains("VAULT_ROOT"), "{error}");
        }
        let status = vault.home.status().expect("a daemon");
        assert_eq!(status["roots"], json!([]), "{target}: nothing is watched");
        assert_eq!(fs::read_dir(vault.home.path().join("secrets")).expect("a directory").count(), 1);
        fs::remove_file(vault.home.project().join("vault")).expect("the link goes");
    }
}

/// Whoever sets the place may set any.
#[test]
fn a_vault_that_is_set_may_be_a_link_to_anywhere() {
    let home = trellis_tests::harness::Home::new();
    fs::create_dir_all(home.path().join("elsewhere")).expect("a directory");
    std::os::unix::fs::symlink("elsewhere", home.path().join("link")).expect("a link");
    let link = home.path().join("link");
    let home = home.with("VAULT_ROOT", link);
    let client = home.host(&["--only", "vault"]);
    let mut vault = Vault { home, client };
    vault.create("a/b.md", "old");
    assert_eq!(fs::read_to_string(vault.home.path().join("elsewhere/a/b.md")).expect("the file"), "old");
}

#[test]
fn a_directory_that_became_a_link_is_noticed() {
    let mut vault = Vault::with_file("d/a.md", "old");
    let outside = outside(&vault);
    vault.create("d/b.md", "x");
    fs::rename(vault.path("d"), vault.path("kept")).expect("a rename");
    vault.link("d", &outside);
    vault.check_refused("vault_create", creating("d/c.md"), "forbidden", "d/c.md");
    vault.check_refused("vault_replace", replacing("d/a.md"), "forbidden", "d/a.md");
    is_untouched(&outside);
    fs::remove_file(vault.path("d")).expect("a removal");
    fs::rename(vault.path("kept"), vault.path("d")).expect("a rename");
    assert_eq!(vault.replace("d/a.md", "old", "new", json!({})), 1);
}

/// Calls while somebody lets two names change places as fast as the system can.
fn while_swapped(vault: &mut Vault, names: [&str; 2], mut call: impl FnMut(&mut Vault, usize)) {
    let stop = AtomicBool::new(false);
    let names = names.map(|name| vault.path(name));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = renameat_with(CWD, &names[0], CWD, &names[1], RenameFlags::EXCHANGE);
            }
        });
        // The swapper must end even if a check fails, or the test would hang instead of failing.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let end = Instant::now() + RACE;
            let mut turn = 0;
            while Instant::now() < end {
                call(vault, turn);
                turn += 1;
            }
        }));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn a_directory_that_is_swapped_for_a_link_leads_nowhere() {
    let mut vault = Vault::with_file("d/x.md", "");
    let outside = outside(&vault);
    vault.link("l", &outside);
    let mut created = Vec::new();
    while_swapped(&mut vault, ["d", "l"], |vault, turn| {
        let path = if turn % 2 == 0 { format!("d/{turn}.md") } else { format!("d/{turn}/deep/{turn}.md") };
        let result = vault.client.call("vault_create", creating(&path));
        if result["isError"] == true {
            let code = result["structuredContent"]["code"].as_str().expect("a code");
            assert!(matches!(code, "forbidden" | "conflict"), "{result}");
        } else {
            created.push(path);
        }
    });
    is_untouched(&outside);
    assert!(!created.is_empty(), "some calls met the directory");
    let real = if vault.path("d").is_symlink() { "l" } else { "d" };
    for path in created {
        assert_eq!(vault.text(&path.replacen('d', real, 1)), "new", "{path}");
    }
}

#[test]
fn a_file_that_is_swapped_for_a_link_is_not_lost() {
    let mut vault = Vault::with_file("f.md", "|");
    let outside = outside(&vault);
    vault.link("l.md", outside.join("a.md"));
    let (mut done, mut tried) = (0, 0);
    while_swapped(&mut vault, ["f.md", "l.md"], |vault, _| {
        tried += 1;
        let result = vault.client.call("vault_replace", json!({ "path": "f.md", "find": "|", "replace": "x|" }));
        if result["isError"] == true {
            let code = result["structuredContent"]["code"].as_str().expect("a code");
            assert!(matches!(code, "forbidden" | "conflict"), "{result}");
        } else {
            assert_eq!(result["structuredContent"]["replacements"], 1, "{result}");
            done += 1;
        }
    });
    is_untouched(&outside);
    assert!(done > 0, "some calls met the file");
    // What somebody carried off between two looks of ours may hold words that were not acknowledged, but never
    // fewer than were.
    let names = vault.tree();
    let files = names.iter().filter(|name| !vault.path(name).is_symlink()).map(|name| vault.text(name).len() - 1);
    let most = files.max().expect("the file");
    assert!((done..=tried).contains(&most), "{most} of {done} acknowledged and {tried} tried: {names:?}");
    assert!(names.iter().any(|name| vault.path(name).is_symlink()), "the link is somebody's, too: {names:?}");
}
