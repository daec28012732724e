//! `search`: what is found, in which order, with which snippet; everything that was written, at once.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Vibe, a_task};

/// The paths of the hits, in their order.
#[track_caller]
fn found(vibe: &mut Vibe, arguments: Value) -> Vec<String> {
    let answer = vibe.call("search", arguments);
    let results = answer["results"].as_array().expect("results");
    results.iter().map(|hit| hit["path"].as_str().expect("a path").to_owned()).collect()
}

#[track_caller]
fn check(vibe: &mut Vibe, query: &str, expected: &[&str]) {
    let mut seen = found(vibe, json!({ "query": query }));
    seen.sort();
    seen.dedup();
    assert_eq!(seen, expected, "{query}");
}

#[test]
fn a_hit_says_where_it_is() {
    let text = "---\nupdated: 2025-02-09\n---\n# Task: Diseñar schema\n\nStatus: done\n\n## Objective\nDiseñar el schema SQLite para el indexador.\n";
    let mut vibe = Vibe::holding(&[("demo/tasks/003-disenar.md", text)]);
    let answer = vibe.call("search", json!({ "query": "indexador sqlite" }));
    assert_eq!((&answer["query"], &answer["total_matches"]), (&json!("indexador sqlite"), &json!(1)));
    let mut hit = answer["results"][0].clone();
    let score = hit["score"].take().as_f64().expect("a score");
    assert!(score > 0.0 && (score * 10_000.0 - (score * 10_000.0).round()).abs() < 1e-6, "{score}");
    let expected = json!({
        "project": "demo",
        "folder": "tasks",
        "filename": "003-disenar.md",
        "path": "demo/tasks/003-disenar.md",
        "heading": "## Objective",
        "snippet": "Diseñar el schema **SQLite** para el **indexador**.",
        "score": null,
        "metadata": { "type": "task", "status": "done", "updated": "2025-02-09" },
    });
    assert_eq!(hit.to_string(), expected.to_string());
}

#[test]
fn words_are_found_in_every_language_and_form() {
    let mut vibe = Vibe::holding(&[
        ("demo/plans/a.md", "Una búsqueda rápida del año\n"),
        ("demo/plans/b.md", "設定画面のデータを直す\n"),
        ("demo/plans/c.md", "set retry-policy to E_TIMEOUT_17 in lib/a/b.rs\n"),
        ("demo/plans/d.md", "## Only a heading\n"),
        ("demo/plans/nombre-raro.md", "nothing\n"),
    ]);
    let mut check = |query: &str, expected: &[&str]| check(&mut vibe, query, expected);
    check("busqueda", &["demo/plans/a.md"]);
    check("BÚSQUEDA rapida", &["demo/plans/a.md"]);
    check("設定画面", &["demo/plans/b.md"]);
    check("画面", &["demo/plans/b.md"]);
    check("ﾃﾞｰﾀ", &["demo/plans/b.md"]);
    check("面設", &[]);
    check("retry-policy", &["demo/plans/c.md"]);
    check("policy", &["demo/plans/c.md"]);
    check("E_TIMEOUT_17", &["demo/plans/c.md"]);
    check("lib/a/b.rs", &["demo/plans/c.md"]);
    check("heading", &["demo/plans/d.md"]);
    check("raro", &["demo/plans/nombre-raro.md"]);
    check("busq*", &["demo/plans/a.md"]);
    check("\"rápida del\"", &["demo/plans/a.md"]);
    check("heading OR retry", &["demo/plans/c.md", "demo/plans/d.md"]);
    check("set -timeout", &[]);
    check("set -nothing", &["demo/plans/c.md"]);
}

#[test]
fn no_query_is_a_mistake_of_syntax() {
    let mut vibe = Vibe::holding(&[("demo/plans/a.md", "palabra sencilla\n")]);
    for query in [
        "palabra (",
        "\"palabra",
        "palabra AND",
        "palabra:",
        "[palabra]",
        "palabra^2",
        "NEAR(palabra",
        "\\palabra",
        "palabra +",
    ] {
        assert_eq!(found(&mut vibe, json!({ "query": query })), ["demo/plans/a.md"], "{query}");
    }
    for query in ["()", "***", "\"\"", "—"] {
        let answer = vibe.call("search", json!({ "query": query }));
        assert_eq!((&answer["total_matches"], &answer["results"]), (&json!(0), &json!([])), "{query}");
    }
}

#[test]
fn hits_without_all_terms_are_said_to_be_relaxed() {
    let common: Vec<String> = (0..12).map(|number| format!("demo/references/{number}.md")).collect();
    let mut files: Vec<(&str, &str)> =
        common.iter().map(|path| (path.as_str(), "# B\n\nthe and of and the and of the\n")).collect();
    files.push(("demo/references/a.md", "# A\n\nthe zeppelin\n"));
    files.push(("demo/references/d.md", "# D\n\n索引の断片化\n"));
    let mut vibe = Vibe::holding(&files);
    let mut ask = |query: &str| vibe.call("search", json!({ "query": query }));
    let all = ask("the of");
    assert_eq!((all.get("relaxed"), &all["total_matches"]), (None, &json!(12)), "{all}");
    // One rare word is worth more than several that most documents have.
    let any = ask("of the and zeppelin");
    assert_eq!((&any["relaxed"], &any["results"][0]["path"]), (&json!(true), &json!("demo/references/a.md")), "{any}");
    assert_eq!(any.as_object().and_then(|answer| answer.keys().next_back()).map(String::as_str), Some("relaxed"));
    let pieces = ask("断片化した索引の直し方");
    assert_eq!((&pieces["relaxed"], &pieces["results"][0]["path"]), (&json!(true), &json!("demo/references/d.md")));
    assert_eq!(pieces["results"][0]["snippet"], "**索引の断片化**", "{pieces}");
    let nothing = ask("walrus");
    assert_eq!((nothing.get("relaxed"), &nothing["total_matches"]), (None, &json!(0)));
}

#[test]
fn filters_and_limits_narrow() {
    let paths = ["0", "1", "2", "3", "4"].map(|name| format!("demo/scratch/{name}.md"));
    let tasks = ["demo/tasks/001-x.md", "otro/tasks/001-x.md"];
    let documents: Vec<(&str, &str)> =
        paths.iter().map(String::as_str).chain(tasks).map(|path| (path, "manzana\n")).collect();
    let mut vibe = Vibe::holding(&documents);
    for limit in [json!(2), json!(2.0)] {
        let answer = vibe.call("search", json!({ "query": "manzana", "limit": limit }));
        assert_eq!((&answer["total_matches"], answer["results"].as_array().map(Vec::len)), (&json!(7), Some(2)));
    }
    assert_eq!(found(&mut vibe, json!({ "query": "manzana", "project": "otro" })), ["otro/tasks/001-x.md"]);
    let tasks = found(&mut vibe, json!({ "query": "manzana", "folder": "tasks" }));
    assert_eq!(tasks, ["demo/tasks/001-x.md", "otro/tasks/001-x.md"], "equal scores by path");
    assert_eq!(found(&mut vibe, json!({ "query": "manzana", "project": "demo", "folder": "plans" })), [""; 0]);
}

#[test]
fn what_matters_comes_first() {
    // The folder, the date, the heading and the status decide, in this order of words.
    let mut vibe = Vibe::holding(&[
        ("demo/status.md", "pera\n"),
        ("demo/tasks/001-a.md", "pera\n"),
        ("demo/plans/a.md", "pera\n"),
        ("demo/sessions/a.md", "pera\n"),
        ("demo/changelog/a.md", "pera\n"),
        ("demo/reports/a.md", "pera\n"),
        ("demo/references/a.md", "pera\n"),
        ("demo/scratch/a.md", "pera\n"),
        ("demo/assets/a.md", "pera\n"),
        ("demo/plans/old.md", "---\nupdated: 2020-01-01\n---\nhigo\n"),
        ("demo/plans/new.md", "---\nupdated: 2999-01-01\n---\nhigo\n"),
        ("demo/plans/other.md", "## Próximos panes\nmora\n"),
        ("demo/plans/steps.md", "## Próximos pasos\nmora\n"),
        ("demo/tasks/1.md", "---\nstatus: done\n---\nuva\n"),
        ("demo/tasks/2.md", "---\nstatus: pending\n---\nuva\n"),
        ("demo/tasks/3.md", "---\nstatus: blocked\n---\nuva\n"),
        ("demo/tasks/4.md", "---\nstatus: in-progress\n---\nuva\n"),
    ]);
    let folders: Vec<String> = found(&mut vibe, json!({ "query": "pera" }))
        .iter()
        .map(|path| path.split('/').nth(1).unwrap_or_default().to_owned())
        .collect();
    let expected =
        ["status.md", "tasks", "plans", "sessions", "changelog", "reports", "references", "scratch", "assets"];
    assert_eq!(folders, expected);
    assert_eq!(found(&mut vibe, json!({ "query": "higo" })), ["demo/plans/new.md", "demo/plans/old.md"]);
    assert_eq!(found(&mut vibe, json!({ "query": "mora" })), ["demo/plans/steps.md", "demo/plans/other.md"]);
    let order = found(&mut vibe, json!({ "query": "uva" }));
    assert_eq!(order, ["demo/tasks/4.md", "demo/tasks/3.md", "demo/tasks/2.md", "demo/tasks/1.md"]);
}

#[test]
fn what_was_written_is_found_by_everybody_at_once() {
    let mut vibe = Vibe::new();
    let mut other = vibe.host();
    // Every piece of a document is a match when its name is one.
    let mut check = |word: &str, documents: usize| {
        let answer = other.call_ok("search", json!({ "query": word }));
        let paths: BTreeSet<String> =
            answer["results"].as_array().expect("results").iter().map(|hit| hit["path"].to_string()).collect();
        assert_eq!(paths.len(), documents, "{word}: {answer}");
    };
    for turn in 0..10 {
        vibe.task(&format!("palabra{turn} única"));
        check(&format!("palabra{turn}"), 1);
    }
    let document = json!({ "project": "demo", "folder": "scratch", "filename": "a.md", "content": "kiwi\n" });
    vibe.call("create_doc", document.clone());
    check("kiwi", 1);
    let mut update = document;
    update["content"] = json!("mango\n");
    vibe.call("update_doc", update);
    check("kiwi", 0);
    check("mango", 1);
    vibe.call("create_plan", json!({ "project": "demo", "content": "papaya\n" }));
    check("papaya", 1);
    for note in ["guayaba", "maracuyá"] {
        vibe.call("log_session", json!({ "project": "demo", "content": note, "append": true }));
        check(note, 1);
    }
    check("guayaba", 1);
    vibe.call("init_project", json!({ "project": "chirimoya" }));
    check("chirimoya", 1);
    other.close();
}

#[test]
fn a_new_status_counts_at_once() {
    let mut vibe = Vibe::new();
    vibe.call("create_task", a_task("Zanahoria"));
    vibe.set("1", "blocked");
    let hit = vibe.call("search", json!({ "query": "zanahoria" }))["results"][0].clone();
    assert_eq!(hit["metadata"]["status"], "blocked");
}

#[test]
fn what_a_person_writes_is_found() {
    let mut vibe = Vibe::new();
    let total = |vibe: &mut Vibe, word: &str| vibe.call("search", json!({ "query": word }))["total_matches"].clone();
    assert_eq!(total(&mut vibe, "ciruela"), 0);
    let path = vibe.write("demo/scratch/deep/a.md", "ciruela\n");
    trellis_tests::harness::wait_until("a new file is found", || (total(&mut vibe, "ciruela") == 1).then_some(()));
    std::fs::remove_file(path).expect("it goes");
    trellis_tests::harness::wait_until("a removed file is gone", || (total(&mut vibe, "ciruela") == 0).then_some(()));
}

#[test]
fn hidden_and_foreign_things_are_not_found() {
    let mut vibe = Vibe::new();
    let outside = vibe.home.path().join("outside");
    std::fs::create_dir_all(&outside).expect("a place");
    std::fs::write(outside.join("a.md"), "secreto\n").expect("a file");
    vibe.link("demo/plans", &outside);
    vibe.write("demo/.git/a.md", "secreto\n");
    vibe.write("demo/tasks/.a.md", "secreto\n");
    vibe.write("demo/tasks/a.txt", "secreto\n");
    vibe.write("a.md", "secreto\n");
    vibe.call(
        "create_doc",
        json!({ "project": "demo", "folder": "tasks", "filename": "real", "content": "secreto\n" }),
    );
    check(&mut vibe, "secreto", &["demo/tasks/real.md"]);
    vibe.call("reindex", json!({ "full": true }));
    check(&mut vibe, "secreto", &["demo/tasks/real.md"]);
}

#[test]
fn a_focus_in_words_shows_where_to_look() {
    let mut vibe = Vibe::holding(&[("demo/plans/a.md", "# P\n\n## La API\nusar la api nueva\n")]);
    let get = json!({ "name": "session_start", "arguments": { "project": "demo", "focus": "api nueva" } });
    let text =
        vibe.client.request("prompts/get", get)["messages"][0]["content"]["text"].as_str().expect("a text").to_owned();
    assert!(text.starts_with("# Session Start: demo\nFocus: api nueva\n"), "{text}");
    let context = "## Focus Context\n- `demo/plans/a.md` — La API: usar la **api nueva**\n";
    let apart = "## Focus Context\n- `demo/plans/a.md` — La API: usar la **api** **nueva**\n";
    assert!(text.contains(context) || text.contains(apart), "{text}");
}
