//! Once T999 was given: the lowest number that nothing in `.todo` names is given again, or nobody gets one.

use std::collections::BTreeSet;
use std::fs;

use serde_json::json;

use super::Todo;

const FULL: &str = "{\"last_task_number\":999,\"last_adr_number\":0}\n";

/// A file with these tasks.
fn tasks(numbers: impl IntoIterator<Item = u16>) -> String {
    numbers.into_iter().map(|number| format!("- [ ] t #T{number:03}\n")).collect()
}

/// A project in which every number but this one has a task.
fn all_but(gap: u16) -> Todo {
    Todo::with_tasks(tasks((1..=999).filter(|number| *number != gap)))
}

/// The id of a new task.
#[track_caller]
fn create(todo: &mut Todo) -> String {
    todo.call("create_task", json!({ "title": "new" }))["task_id"].as_str().expect("an id").to_owned()
}

#[test]
fn after_the_last_number_the_lowest_free_one_is_given() {
    let mut todo = Todo::with_tasks("- [ ] a #T002\n- [ ] b #T998\n");
    assert_eq!(create(&mut todo), "T999");
    let created = todo.call("create_task", json!({ "title": "again", "category": "A", "description": "why" }));
    assert_eq!((&created["task_id"], &created["file_path"]), (&json!("T001"), &json!(".todo/context/T001.md")));
    assert!(todo.text("context/T001.md").starts_with("# Context for T001\n\n## Task Description\nwhy\n"));
    assert_eq!(todo.text(".state.json"), FULL, "the mark stays");
    assert_eq!(create(&mut todo), "T003");
    // Numbers that are deleted from now on are free at once, although the index follows a moment later.
    todo.call("delete_task", json!({ "task_id": "T001" }));
    assert_eq!(create(&mut todo), "T001");
    todo.call("delete_task", json!({ "task_id": "T999" }));
    assert_eq!(create(&mut todo), "T004");
    assert_eq!(todo.text(".state.json"), FULL);
    let answer = todo.call("list_tasks", json!({}));
    assert_eq!(answer["total_count"], 5);
    assert!(!answer.to_string().contains("duplicate"), "{answer}");
}

#[test]
fn a_number_that_a_file_names_is_not_given() {
    let mut todo = Todo::with_tasks("T001 was first\n\n- [ ] like #T002 before #T999\n  see T003\n\n```\n#T004\n```\n");
    todo.write("context/T005.md", "an orphan");
    todo.write("context/T999.md", "after #T006, タスクT007の前");
    todo.write("adr/adr-001-a.md", "# A\n\nReplaces T008.\n");
    todo.write("index.md", "mine: T009\n");
    todo.write("notes/2025/T010.txt", "T011");
    todo.write("picture.png", b"\x89PNG\xff T012 \x00");
    assert_eq!(create(&mut todo), "T013");
    // None of these is T014.
    todo.write("other.md", "T0140 T14 t014 PORT014 2026-01-28T014\n");
    assert_eq!(create(&mut todo), "T014");
    // As soon as nothing names it, it is free.
    fs::remove_file(todo.path("context/T005.md")).expect("a removal");
    assert_eq!(create(&mut todo), "T005");
    todo.write("index.md", "mine\n");
    assert_eq!(create(&mut todo), "T009");
}

#[test]
fn text_around_the_index_names_numbers_and_the_index_does_not() {
    let mut todo = Todo::with_tasks("- [ ] a #T999\n");
    let index = "T002\n<!-- todo-index:start -->\n[T001](context/T001.md)\n<!-- todo-index:end -->\nT003\n";
    todo.write("index.md", index);
    assert_eq!(create(&mut todo), "T001");
    assert_eq!(create(&mut todo), "T004");
}

#[test]
fn a_full_project_says_what_makes_room() {
    let mut todo = Todo::with_tasks(tasks(1..=999));
    let error = todo.check_refused("create_task", json!({ "title": "no more" }), "TASK_LIMIT_EXCEEDED");
    assert_eq!(error["details"], json!({ "limit": 999, "reason": "existing" }));
    assert!(error["message"].as_str().is_some_and(|text| text.contains("`delete_task`")), "{error}");
    // Arguments are looked at first.
    todo.check_refused("create_task", json!({ "title": "" }), "INVALID_INPUT");
    // What the message says helps.
    todo.call("delete_task", json!({ "task_id": "T500" }));
    assert_eq!(create(&mut todo), "T500");

    let mut todo = all_but(17);
    todo.write("adr/adr-001-a.md", "# A\n\nSee T017.\n");
    todo.write("context/T003.md", "before #T017");
    let error = todo.check_refused("create_task", json!({ "title": "no more" }), "TASK_LIMIT_EXCEEDED");
    let files = json!([".todo/adr/adr-001-a.md", ".todo/context/T003.md"]);
    let details = json!({ "limit": 999, "reason": "numbers_named", "task_id": "T017", "files": files });
    assert_eq!(error["details"], details);
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("`T017`") && message.contains("`.todo/adr/adr-001-a.md`"), "{message}");
    todo.write("adr/adr-001-a.md", "# A\n");
    todo.write("context/T003.md", "");
    assert_eq!(create(&mut todo), "T017");
}

#[test]
fn files_are_looked_at_only_when_the_numbers_are_used_up() {
    let mut todo = Todo::with_tasks("- [ ] a #T997\n");
    let file = fs::File::create(todo.path("dump.bin")).expect("a file");
    file.set_len(9 << 20).expect("a size");
    assert_eq!(create(&mut todo), "T998");
    assert_eq!(create(&mut todo), "T999");
    // It cannot be read, and might name any number.
    let error = todo.check_refused("create_task", json!({ "title": "a" }), "FILE_READ_ERROR");
    assert_eq!(error["details"], json!({ "path": ".todo/dump.bin" }));
    fs::remove_file(todo.path("dump.bin")).expect("a removal");
    assert_eq!(create(&mut todo), "T001");
}

#[test]
fn hosts_that_create_at_once_get_different_numbers() {
    const HOSTS: usize = 8;
    const TASKS_PER_HOST: usize = 6;
    let mut todo = Todo::with_tasks(tasks((1..=999).filter(|number| number % 10 != 0)));
    let clients: Vec<_> = (0..HOSTS).map(|_| todo.home.host(&["--only", "todo"])).collect();
    let ids: Vec<String> = std::thread::scope(|scope| {
        let create = |mut client: trellis_tests::harness::Client| {
            let id = |_| client.call_ok("create_task", json!({ "title": "new", "category": "New" }))["task_id"].clone();
            (0..TASKS_PER_HOST).map(id).collect::<Vec<_>>()
        };
        let hosts: Vec<_> = clients.into_iter().map(|client| scope.spawn(move || create(client))).collect();
        let ids = hosts.into_iter().flat_map(|host| host.join().expect("a host"));
        ids.map(|id| id.as_str().expect("an id").to_owned()).collect()
    });
    let expected: BTreeSet<String> =
        (1..=HOSTS * TASKS_PER_HOST).map(|number| format!("T{:03}", number * 10)).collect();
    assert_eq!(ids.len(), HOSTS * TASKS_PER_HOST);
    assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), expected, "each once, the lowest first");
    let answer = todo.call("list_tasks", json!({ "category": "New" }));
    assert_eq!(answer["total_count"], HOSTS * TASKS_PER_HOST);
    assert!(!answer.to_string().contains("duplicate"), "{answer}");
    assert_eq!(todo.text(".state.json"), FULL);
}
