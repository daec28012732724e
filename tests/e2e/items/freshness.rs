//! What `trellis_list` sees: every own write, and every write of others that ended before the call began.

use std::fs;

use serde_json::json;

use super::{each, filled, list};

#[test]
fn writes_of_all_families_are_seen_by_the_next_call() {
    let home = filled();
    let mut host = home.host(&[]);
    list(&mut host, json!({}));
    host.call_ok("todo_create_task", json!({ "title": "Made by todo" }));
    host.call_ok("vbm_create_task", json!({ "title": "Made by board" }));
    host.call_ok(
        "vibe_create_doc",
        json!({ "project": "project", "folder": "tasks", "filename": "made", "content": "# Made by vibe\n" }),
    );
    host.call_ok("vault_create", json!({ "path": "new/made.md", "content": "# Made by vault\n" }));
    let operation = json!([{ "op": "create" }, { "op": "add_task", "id": "made", "name": "Made by vine" }]);
    host.call_ok("vine_write", json!({ "file": "deep/er/made.vine", "operations": operation }));
    let answer = list(&mut host, json!({ "text": "made by", "limit": 100 }));
    let mut titles = each(&answer, "title");
    titles.sort_unstable();
    titles.dedup();
    assert_eq!(titles, ["Made by board", "Made by todo", "Made by vault", "Made by vibe", "Made by vine"], "{answer}");
}

#[test]
fn edits_by_hand_are_seen_by_the_next_call() {
    let home = filled();
    let mut host = home.host(&[]);
    list(&mut host, json!({}));
    for round in 0..20 {
        home.write(".todo/task.md", format!("- [ ] round {round} #T001\n"));
        home.write("plans/launch.vine", format!("vine 1.2.0\n---\n[root] round {round} (started)\n"));
        home.write("vault/notes/idea.md", format!("# round {round}\n"));
        home.write(
            ".vibe-kanban-bridge.json",
            format!(r#"{{"lanes":{{"todo":[{{"id":"task-9","title":"round {round}"}}]}}}}"#),
        );
        let answer = list(&mut host, json!({ "text": format!("round {round}"), "limit": 100 }));
        // The plan, its node, the task and its context, the file and the card.
        assert_eq!(answer["total"], 6, "{answer}");
    }
    fs::remove_file(home.project().join("plans/launch.vine")).expect("a removal");
    fs::remove_file(home.project().join(".vibe-kanban-bridge.json")).expect("a removal");
    fs::remove_dir_all(home.project().join("vault")).expect("a removal");
    let answer = list(&mut host, json!({ "text": "round" }));
    assert_eq!(each(&answer, "uri"), ["todo://project/T001", "todo://project/context/T001"], "{answer}");
}

#[test]
fn projects_in_which_nobody_works_are_compared_at_the_first_call() {
    let home = filled();
    let other = home.path().join("quiet");
    fs::create_dir_all(other.join(".todo")).expect("a project");
    fs::create_dir_all(other.join(".git")).expect("a checkout");
    fs::write(other.join(".todo/task.md"), "- [ ] before #T001\n").expect("tasks");
    let mut there = home.host(&["--cwd", other.to_str().expect("text")]);
    list(&mut there, json!({}));
    there.close();
    let mut host = home.host(&[]);
    let quiet = json!({ "project": "quiet" });
    assert_eq!(each(&list(&mut host, quiet.clone()), "title"), ["before"]);
    fs::write(other.join(".todo/task.md"), "- [ ] after #T001\n").expect("tasks");
    assert_eq!(each(&list(&mut host, quiet), "title"), ["after"]);
}
