//! Worktrees of one repository: one claim on the item at the same place, and no number given twice.

use std::collections::BTreeSet;
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

#[test]
fn the_next_number_is_above_those_of_all_worktrees() {
    let (home, roots) = repository(3);
    write(&roots[0], ".todo/task.md", "- [ ] a #T004\n");
    write(&roots[1], ".todo/context/T009.md", "x");
    write(&roots[1], ".todo/adr/adr-003-x.md", "# ADR-003: X\n");
    write(&roots[2], ".todo/.state.json", r#"{"last_task_number":20,"last_adr_number":5}"#);
    // Nobody has worked in the other worktrees yet.
    let mut host = home.host(&[]);
    let create = |host: &mut Client| host.call_ok("todo_create_task", json!({ "title": "t" }))["task_id"].clone();
    let adr = json!({ "title": "d", "context": "c", "decision": "d", "rationale": "r" });
    assert_eq!(create(&mut host), "T021");
    assert_eq!(host.call_ok("todo_create_adr", adr.clone())["adr_id"], "adr-006-d");
    let mut other = home.host_in(&roots[3], &[]);
    assert_eq!(create(&mut other), "T022");
    assert_eq!(create(&mut host), "T023");
    assert_eq!(other.call_ok("todo_create_adr", adr)["adr_id"], "adr-007-d");
    let state: Value =
        serde_json::from_slice(&fs::read(roots[3].join(".todo/.state.json")).expect("a file")).expect("JSON");
    assert_eq!(state, json!({ "last_task_number": 23, "last_adr_number": 7 }));
    // What cannot be read there keeps nobody from working here.
    fs::remove_dir_all(roots[1].join(".todo")).expect("removed");
    write(&roots[1], ".todo", "no directory");
    assert_eq!(create(&mut host), "T024");
}

#[test]
fn a_number_is_free_again_when_no_worktree_names_it() {
    let (home, roots) = repository(1);
    write(&roots[0], ".todo/task.md", "- [ ] a #T002\n");
    write(&roots[1], ".todo/task.md", "- [ ] b #T001\n  see T003\n- [ ] c #T999\n");
    let mut host = home.host(&[]);
    assert_eq!(host.call_ok("todo_create_task", json!({ "title": "t" }))["task_id"], "T004");
}

#[test]
fn thirty_agents_in_three_worktrees_get_no_number_twice() {
    let (home, roots) = repository(2);
    let adr =
        |number: usize| json!({ "title": format!("d{number}"), "context": "c", "decision": "d", "rationale": "r" });
    let hosts: Vec<Client> =
        roots.iter().flat_map(|root| (0..10).map(|_| home.host_in(root, &["--only", "todo"]))).collect();
    let made: Vec<(Vec<String>, Vec<String>)> = std::thread::scope(|scope| {
        let work = |(agent, mut host): (usize, Client)| {
            let tasks = (0..10).map(|number| {
                let answer = host.call_ok("create_task", json!({ "title": format!("{agent} {number}") }));
                answer["task_id"].as_str().expect("an id").to_owned()
            });
            let tasks = tasks.collect();
            let records = (0..2).map(|number| {
                let answer = host.call_ok("create_adr", adr(agent * 2 + number));
                answer["adr_id"].as_str().expect("an id")[..7].to_owned()
            });
            (tasks, records.collect())
        };
        let threads: Vec<_> =
            hosts.into_iter().enumerate().map(|numbered| scope.spawn(move || work(numbered))).collect();
        threads.into_iter().map(|thread| thread.join().expect("an agent")).collect()
    });
    let expected = |count: u16, name: &dyn Fn(u16) -> String| (1..=count).map(name).collect::<BTreeSet<_>>();
    let tasks: BTreeSet<String> = made.iter().flat_map(|(tasks, _)| tasks.iter().cloned()).collect();
    assert_eq!(tasks, expected(300, &|number| format!("T{number:03}")), "each once, and none left out");
    let records: BTreeSet<String> = made.iter().flat_map(|(_, records)| records.iter().cloned()).collect();
    assert_eq!(records, expected(60, &|number| format!("adr-{number:03}")));
    let mut on_disk = Vec::new();
    for root in &roots {
        let text = fs::read_to_string(root.join(".todo/task.md")).expect("tasks");
        let tasks = text.lines().filter(|line| line.starts_with("- [")).filter_map(|line| line.rsplit_once('#'));
        on_disk.extend(tasks.map(|(_, id)| id.to_owned()));
    }
    assert_eq!((on_disk.len(), on_disk.into_iter().collect::<BTreeSet<_>>()), (300, tasks));
}
