//! `create_task` and `list_tasks`: the file byte for byte, names, numbers, lists.

use serde_json::{Value, json};

use super::{Vibe, a_task};

#[test]
fn the_seed_s_task_comes_out_as_the_seed_shows_it() {
    let mut vibe = Vibe::with("demo/tasks/005-crear-workspace.md", "# Task: x\n");
    let task = json!({
        "project": "demo",
        "title": "Implementar tool search",
        "objective": "Implementar la tool search con FTS5 y ranking inteligente.",
        "steps": ["Crear función de búsqueda en SQLite", "Agregar tests"],
        "acceptance_criteria": ["Búsqueda devuelve resultados relevantes"],
        "context": { "related_files": ["src/tools/search.py", "src/db/fts.py"], "dependencies": ["003-disenar-schema-sqlite"] },
        "notes": "Usar BM25 nativo de FTS5.",
        "tags": ["backend", "fts5", "search"],
    });
    let expected = json!({
        "success": true,
        "task": {
            "number": "006",
            "filename": "006-implementar-tool-search.md",
            "path": "demo/tasks/006-implementar-tool-search.md",
            "status": "pending",
        },
        "indexed": true,
    });
    assert_eq!(vibe.call("create_task", task).to_string(), expected.to_string());
    let text = "---\ntags: [backend, fts5, search]\n---\n# Task: Implementar tool search\n\nStatus: pending\n\n## Objective\n\
                Implementar la tool search con FTS5 y ranking inteligente.\n\n## Context\n- Related files: \
                `src/tools/search.py`, `src/db/fts.py`\n- Dependencies: 003-disenar-schema-sqlite\n\n## Steps\n\
                1. [ ] Crear función de búsqueda en SQLite\n2. [ ] Agregar tests\n\n## Acceptance Criteria\n\
                - [ ] Búsqueda devuelve resultados relevantes\n\n## Notes\nUsar BM25 nativo de FTS5.\n";
    assert_eq!(vibe.text("demo/tasks/006-implementar-tool-search.md"), text);
}

#[test]
fn what_a_task_does_not_have_is_left_out() {
    let mut vibe = Vibe::new();
    let mut task = a_task(" Dos\n líneas ");
    task["objective"] = json!(" uno\r\n\r\ndos ");
    task["steps"] = json!(["un\npaso"]);
    task["context"] = json!({ "dependencies": "001-x", "other": 1 });
    task["status"] = json!("blocked");
    task["notes"] = json!(" ");
    vibe.call("create_task", task);
    let expected = "# Task: Dos líneas\n\nStatus: blocked\n\n## Objective\nuno\n\ndos\n\n## Context\n- Dependencies: 001-x\n\n\
                    ## Steps\n1. [ ] un paso\n";
    assert_eq!(vibe.text("demo/tasks/001-dos-lineas.md"), expected);
    vibe.task("Solo");
    assert_eq!(vibe.text("demo/tasks/002-solo.md"), "# Task: Solo\n\nStatus: pending\n\n## Objective\no\n");
}

#[test]
fn titles_become_names_in_every_language() {
    let mut vibe = Vibe::new();
    for (number, title, slug) in [
        (1, "Diseñar schema SQLite", "disenar-schema-sqlite"),
        (2, "Migración: (fase 3) — ¿cuándo?", "migracion-fase-3-cuando"),
        (3, "設定画面を直す", "設定画面を直す"),
        (4, "¿¡!?", "task"),
        (5, "../../etc/passwd", "etc-passwd"),
        (6, "CON", "con"),
    ] {
        assert_eq!(vibe.task(title)["task"]["filename"], format!("{number:03}-{slug}.md"));
    }
    let long = vibe.task(&"palabra ".repeat(60))["task"]["filename"].as_str().expect("a name").to_owned();
    assert!(long.len() <= 4 + 80 + 3 && long.ends_with("palabra.md"), "{long}");
}

#[test]
fn the_next_number_follows_the_highest_and_gaps_stay() {
    for (names, expected) in [
        (vec![], "001"),
        (vec!["001-a.md", "007-b.md", "notes.md", "9x.md", "010-a.txt"], "008"),
        (vec!["999-a.md"], "1000"),
        (vec!["1000-a.md", "12.md"], "1001"),
    ] {
        let mut vibe = Vibe::new();
        for name in names {
            vibe.write(&format!("demo/tasks/{name}"), "x");
        }
        assert_eq!(vibe.task("t")["task"]["number"], expected);
    }
}

#[test]
fn the_same_title_twice_is_two_tasks() {
    let mut vibe = Vibe::new();
    assert_eq!(vibe.task("Igual")["task"]["filename"], "001-igual.md");
    assert_eq!(vibe.task("Igual")["task"]["filename"], "002-igual.md");
}

fn names(list: &Value) -> Vec<&str> {
    list["tasks"].as_array().expect("tasks").iter().filter_map(|task| task["path"].as_str()).collect()
}

#[test]
fn tasks_are_listed_by_project_and_name() {
    let mut vibe = Vibe::new();
    let first = "---\nowner: ana\ntags: X, y\nupdated: 2025-02-09\n---\n# Task: Uno\n\nStatus: pending\n\n## Objetivo\na\n\nb\n";
    vibe.write("demo/tasks/002-b.md", "Status: In Progress\n");
    vibe.write("demo/tasks/001-a.md", first);
    vibe.write("demo/tasks/deep/003-c.md", "# C\n");
    vibe.write("demo/plans/004-no.md", "Status: pending\n");
    vibe.write("demo-2/tasks/001-z.md", "Status: pending\n");
    vibe.write("demo/tasks/.hidden.md", "Status: pending\n");
    vibe.write("demo/tasks/x.txt", "Status: pending\n");
    let all = vibe.call("list_tasks", json!({}));
    assert_eq!(
        names(&all),
        ["demo/tasks/001-a.md", "demo/tasks/002-b.md", "demo/tasks/deep/003-c.md", "demo-2/tasks/001-z.md"]
    );
    assert_eq!((&all["project"], &all["filter"], &all["total"]), (&json!(null), &json!({ "status": null }), &json!(4)));
    let pending = vibe.call("list_tasks", json!({ "project": "demo", "status": "pending" }));
    let expected = json!({
        "project": "demo",
        "filter": { "status": "pending" },
        "total": 1,
        "tasks": [{
            "project": "demo",
            "path": "demo/tasks/001-a.md",
            "filename": "001-a.md",
            "title": "Uno",
            "status": "pending",
            "updated": "2025-02-09",
            "objective": "a\n\nb",
            "owner": "ana",
            "tags": ["x", "y"],
        }],
    });
    assert_eq!(pending.to_string(), expected.to_string());
    let whole = vibe.call("list_tasks", json!({ "project": "demo", "include_content": true }));
    assert_eq!(whole["tasks"][0]["content"], first);
    assert_eq!((&whole["tasks"][1]["title"], &whole["tasks"][1]["status"]), (&json!("b"), &json!("in-progress")));
    assert_eq!((&whole["tasks"][2]["title"], &whole["tasks"][2]["status"]), (&json!("C"), &json!(null)));
    assert_eq!(whole["tasks"][2]["content"], "# C\n");
    assert_eq!(names(&vibe.call("list_tasks", json!({ "status": "done" }))), [""; 0]);
}

#[test]
fn a_list_is_never_old() {
    let mut vibe = Vibe::with("demo/tasks/001-a.md", "Status: pending\n");
    for status in ["done", "blocked", "pending", "in-progress"] {
        vibe.write("demo/tasks/001-a.md", format!("Status: {status}\n"));
        assert_eq!(vibe.call("list_tasks", json!({ "project": "demo" }))["tasks"][0]["status"], status);
    }
    std::fs::remove_file(vibe.path("demo/tasks/001-a.md")).expect("it goes");
    assert_eq!(vibe.call("list_tasks", json!({ "project": "demo" }))["total"], 0);
}
