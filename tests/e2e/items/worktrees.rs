//! Worktrees of one repository: one claim on the item at the same place.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

use super::open;

fn claim(host: &mut Client, uri: &str) -> Value {
    host.call_ok("trellis_claim", json!({ "uri": uri }))
}

/// A repository with so many further worktrees.
fn repository(count: usize) -> (Home, Vec<PathBuf>) {
    let home = Home::new();
    home.write(".git/HEAD", "ref: refs/heads/main\n");
    let further = (1..=count).map(|number| home.worktree(&format!("branch-{number}")));
    let all = std::iter::once(home.project()).chain(further.collect::<Vec<_>>()).collect();
    (home, all)
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
    fs::write(path, text).expect("a file");
}

#[test]
fn the_item_at_the_same_place_has_one_claim() {
    let (home, roots) = repository(2);
    for root in &roots {
        write(root, ".todo/task.md", "- [ ] Same #T001\n- [ ] Other #T002\n");
        write(root, "vault/note.md", "# Note\n");
    }
    let mut hosts: Vec<Client> = roots.iter().map(|root| home.host_in(root, &[])).collect();
    assert_eq!(claim(&mut hosts[1], "T001")["uri"], "todo://branch-1/T001");
    for (host, root) in hosts.iter_mut().zip(&roots) {
        let name = root.file_name().and_then(|name| name.to_str()).expect("a name");
        let shown = open(host, "T001");
        assert_eq!(
            (&shown["uri"], shown["claimed"]["by"].as_str()),
            (&format!("todo://{name}/T001").into(), Some("test"))
        );
        assert_eq!(shown["claimed"]["mine"], name == "branch-1");
        assert_eq!(open(host, "T002")["claimed"], Value::Null);
    }
    assert_eq!(hosts[0].call_err("trellis_claim", json!({ "uri": "T001" }))["error"]["code"], "CLAIMED");
    let there = hosts[0].call_err("trellis_claim", json!({ "uri": "todo://branch-2/T001" }));
    assert_eq!(there["error"]["code"], "CLAIMED");
    assert_eq!(claim(&mut hosts[1], "todo://project/T001")["renewed"], true, "it is its own, by any of its addresses");
    // It is gone when the last worktree has lost it.
    write(&roots[1], ".todo/task.md", "- [ ] Other #T002\n");
    write(&roots[0], ".todo/task.md", "- [ ] Other #T002\n");
    let listed = hosts[1].call_ok("trellis_list", json!({ "project": "*", "claimed": true }));
    assert_eq!((&listed["total"], &listed["items"][0]["uri"]), (&1.into(), &"todo://branch-2/T001".into()));
    fs::remove_dir_all(roots[2].join(".todo")).expect("removed");
    let kept = || fs::read_to_string(home.state().join("claims.json")).expect("a file");
    wait_until("it is gone", || {
        hosts[1].call_ok("trellis_list", json!({ "project": "*" }));
        (!kept().contains("T001")).then_some(())
    });
}

#[test]
fn a_worktree_made_later_shares_the_claims() {
    let (home, roots) = repository(0);
    write(&roots[0], ".todo/task.md", "- [ ] Same #T001\n");
    let mut host = home.host(&[]);
    claim(&mut host, "T001");
    let later = home.worktree("later");
    write(&later, ".todo/task.md", "- [ ] Same #T001\n");
    let mut other = home.host_in(&later, &[]);
    assert_eq!(open(&mut other, "T001")["claimed"]["mine"], false);
    // A copy that the repository does not know is another project.
    let copy = home.path().join("copy");
    write(&copy, ".git", &fs::read_to_string(later.join(".git")).expect("a link"));
    write(&copy, ".todo/task.md", "- [ ] Same #T001\n");
    assert_eq!(open(&mut home.host_in(&copy, &[]), "T001")["claimed"], Value::Null);
}
