//! Every family answers over HTTP as it does over stdio, in the person's own workspace and in the project.

use serde_json::json;
use trellis_tests::harness::Home;

#[test]
fn the_workspace_of_the_person_is_reached_without_any_setting() {
    let (home, web) = Home::new().gateway(&[]);
    let made = web.post("/tools/vibe_init_project", &json!({ "project": "demo" }));
    assert_eq!(made.status, 200, "{}", made.text());
    assert!(home.path().join(".vibe/demo/status.md").is_file());
    let task =
        json!({ "project": "demo", "title": "T", "objective": "walrus", "steps": [], "acceptance_criteria": [] });
    assert_eq!(web.post("/tools/vibe_create_task", &task).status, 200);
    let found = web.post("/tools/vibe_search", &json!({ "query": "walrus" })).json();
    assert_eq!(found["total_matches"], 1, "{found}");
    let mut host = home.host(&["--only", "vibe"]);
    assert_eq!(host.call_ok("search", json!({ "query": "walrus" }))["total_matches"], 1);
}

#[test]
fn an_argument_that_nobody_knows_is_refused_here_too() {
    let (home, web) = Home::new().gateway(&[]);
    let path = home.path().join(".vibe/demo/references/a.md");
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
    std::fs::write(&path, "old\n").expect("a file");
    let document = json!({ "project": "demo", "folder": "references", "filename": "a.md", "content": "new\n" });
    let mut call = document.clone();
    call["append"] = json!(true);
    let refused = web.post("/tools/vibe_update_doc", &call);
    assert_eq!((refused.status, refused.code()), (400, "INVALID_ARGUMENT".into()), "{}", refused.text());
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "old\n");
    let call = json!({ "name": "vibe_update_doc", "arguments": call });
    let refused = web.post("/tools", &call);
    assert_eq!((refused.status, refused.code()), (400, "INVALID_ARGUMENT".into()), "{}", refused.text());
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "old\n");
    for (tool, code) in [
        ("todo_create_task", json!("INVALID_INPUT")),
        ("vault_ls", json!("invalid_parameter")),
        ("vbm_get_board", json!(1001)),
    ] {
        let refused = web.post(&format!("/tools/{tool}"), &json!({ "nonsense": 1 }));
        assert_eq!((refused.status, refused.code()), (400, code), "{tool}: {}", refused.text());
    }
    assert_eq!(web.post("/tools/vibe_update_doc", &document).status, 200);
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "new\n");
}

#[test]
fn tasks_and_plans_of_the_project_are_reached_and_a_directory_is_no_plan() {
    let (home, web) = Home::new().gateway(&[]);
    let made = web.post("/tools/todo_create_task", &json!({ "title": "one" }));
    assert_eq!((made.status, &made.json()["task_id"]), (200, &json!("T001")));
    assert!(home.project().join(".todo/task.md").is_file());
    let operations = json!([{ "op": "create" }, { "op": "add_task", "id": "a", "name": "A" }]);
    let plan = web.post("/tools/vine_write", &json!({ "file": "plan", "operations": operations }));
    assert_eq!(plan.status, 200, "{}", plan.text());
    let next = web.post("/tools/vine_next", &json!({ "file": "plan" })).json();
    assert_eq!(next["ready_to_start"][0]["id"], "a", "{next}");
    for file in ["", "."] {
        let refused = web.post("/tools/vine_next", &json!({ "file": file }));
        assert_eq!((refused.status, refused.code()), (400, "IO_ERROR".into()), "{}", refused.text());
    }
}
