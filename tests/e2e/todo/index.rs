//! `index.md`: made within a second after a write, kept out of what people wrote, fresh whenever it is read.

use std::fs;

use serde_json::json;
use trellis_tests::harness::wait_until;

use super::Todo;

#[track_caller]
fn index_with(todo: &Todo, words: &str) -> String {
    wait_until("the index follows", || {
        fs::read_to_string(todo.path("index.md")).ok().filter(|text| text.contains(words))
    })
}

#[test]
fn the_index_follows_a_write() {
    let mut todo = Todo::new();
    todo.call("create_task", json!({ "title": "書く", "category": "設計" }));
    let adr = json!({ "title": "Use X", "context": "", "decision": "", "rationale": "", "status": "Accepted" });
    todo.call("create_adr", adr);
    let text = index_with(&todo, "Use X");
    let expected = concat!(
        "<!-- todo-index:start -->\n# Index\n\n- todo: 1\n- in_progress: 0\n- done: 0\n\n## Tasks\n",
        "\n### 設計\n\n- [ ] 書く [T001](context/T001.md)\n",
        "\n## Decisions\n\n- [ADR-001](adr/adr-001-use-x.md) Use X (Accepted)\n<!-- todo-index:end -->\n"
    );
    assert_eq!(text, expected);
    todo.call("update_task", json!({ "task_id": "T001", "status": "done" }));
    index_with(&todo, "- [x] 書く");
}

#[test]
fn text_of_people_is_kept() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n");
    todo.write("index.md", "mine\r\n<!-- todo-index:start -->\r\nold\r\n<!-- todo-index:end -->\r\nmine too");
    todo.call("update_task", json!({ "task_id": "T001", "status": "done" }));
    let text = index_with(&todo, "- [x] a");
    assert!(text.starts_with("mine\r\n<!-- todo-index:start -->\r\n# Index\r\n"), "{text:?}");
    assert!(text.ends_with("<!-- todo-index:end -->\r\nmine too") && !text.contains("old"), "{text:?}");
}

#[test]
fn an_index_without_marks_is_somebody_s() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n");
    todo.write("index.md", "mine");
    todo.call("update_task", json!({ "task_id": "T001", "status": "done" }));
    // Another project's index, written later, shows that ours has been seen to.
    let other = todo.home.path().join("other");
    fs::create_dir_all(&other).expect("a directory");
    let mut client = todo.home.host(&["--only", "todo", "--cwd", other.to_str().expect("text")]);
    client.call_ok("create_task", json!({ "title": "b" }));
    wait_until("the other index is there", || other.join(".todo/index.md").is_file().then_some(()));
    assert_eq!(todo.text("index.md"), "mine");
    let read = todo.client.request("resources/read", json!({ "uri": "todo:///index.md" }));
    assert_eq!(read["contents"][0]["text"], "mine");
}

#[test]
fn what_is_read_is_fresh() {
    let mut todo = Todo::with_tasks("- [ ] a #T001\n");
    todo.write("index.md", "top\n<!-- todo-index:start --><!-- todo-index:end -->\n");
    let mut read = || {
        let read = todo.client.request("resources/read", json!({ "uri": "todo:///index.md" }));
        read["contents"][0]["text"].as_str().expect("text").to_owned()
    };
    assert!(read().starts_with("top\n") && read().contains("- [ ] a [T001]"));
    let tasks = todo.home.project().join(".todo/task.md");
    fs::write(tasks, "- [ ] by hand #T002\n").expect("a file");
    assert!(read().contains("by hand"));
    assert_eq!(
        todo.text("index.md"),
        "top\n<!-- todo-index:start --><!-- todo-index:end -->\n",
        "a read writes nothing"
    );
}
