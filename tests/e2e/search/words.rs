//! Words in every script, and what is shown of them.

use serde_json::json;

use super::{NotesFixture, find, paths};

#[test]
fn accents_scripts_and_names() {
    let shelves = NotesFixture::with(&[
        ("es.md", "# Notas\nLa búsqueda del año\n"),
        ("plain.md", "# Notas\nLa busqueda del ano\n"),
        ("ja.md", "# 設計\n全文検索エンジンの設計。ﾊﾟｿｺﾝで動く。\n"),
        ("en.md", "# Deploy\nThe retry-policy of E_TIMEOUT_17 lives in lib/a/b.rs, see retryBudget.\n"),
    ]);
    let mut host = shelves.host();
    let mut check = |query: &str, expected: &[&str]| assert_eq!(paths(&mut host, query), expected, "{query}");
    check("búsqueda", &["es.md", "plain.md"]);
    check("busqueda", &["plain.md", "es.md"]);
    check("BÚSQUEDA", &["es.md", "plain.md"]);
    check("検索", &["ja.md"]);
    check("全文検索エンジン", &["ja.md"]);
    check("索", &["ja.md"]);
    check("索検", &[]);
    check("パソコン", &["ja.md"]);
    check("ハソコ", &[]);
    check("retry-policy", &["en.md"]);
    check("retry_policy", &["en.md"]);
    check("policy", &["en.md"]);
    check("retrypolicy", &["en.md"]);
    check("policy-retry", &[]);
    check("E_TIMEOUT_17", &["en.md"]);
    check("lib/a/b.rs", &["en.md"]);
    check("budget", &["en.md"]);
    check("policies", &["en.md"]);
    check("retr*", &["en.md"]);
}

#[test]
fn all_words_first_then_any_and_never_what_was_excluded() {
    let shelves = NotesFixture::with(&[
        ("a.md", "alpha beta\n"),
        ("b.md", "beta gamma\n"),
        ("c.md", "gamma alpha delta\n"),
        ("d.md", "one two alpha three beta\n"),
    ]);
    let mut host = shelves.host();
    let mut check = |query: &str, expected: &[&str]| {
        let mut found = paths(&mut host, query);
        found.sort();
        assert_eq!(found, expected, "{query}");
    };
    check("alpha beta", &["a.md", "d.md"]);
    check("\"alpha beta\"", &["a.md"]);
    check("alpha -beta", &["c.md"]);
    check("alpha NOT beta", &["c.md"]);
    check("delta OR two", &["c.md", "d.md"]);
    check("alpha omega", &["a.md", "c.md", "d.md"]);
    check("beta omega delta two", &["a.md", "b.md", "c.md", "d.md"]);
    assert_eq!(paths(&mut host, "beta omega two")[0], "d.md", "more of what was asked for comes first");
}

#[test]
fn a_hit_says_where_it_is_and_shows_the_place() {
    let shelves = NotesFixture::with(&[(
        "house/attic/plan.md",
        "# Plan\nupdated: 2020-02-03\n\n## First\nbuy an <old> *lamp* & paint it\n## Second\nlamp\n## Third\n",
    )]);
    let mut host = shelves.host();
    let found = find(&mut host, "lamp paint");
    assert_eq!(found["total"], 1, "{found}");
    let hit = &found["hits"][0];
    assert_eq!(hit["path"], "house/attic/plan.md");
    assert_eq!((&hit["project"], &hit["folder"]), (&json!("house"), &json!("attic")));
    assert_eq!((&hit["heading"], &hit["updated"]), (&json!("## First"), &json!("2020-02-03")));
    assert_eq!(hit["snippet"], "buy an <old> ***lamp*** & **paint** it");
    assert!(hit["score"].as_f64().is_some_and(|score| score > 0.0));
    assert_eq!(find(&mut host, "third")["hits"][0]["snippet"], "**Third**");
    let narrowed =
        |host: &mut trellis_tests::harness::Client, arguments| host.call_ok("find", arguments)["total"].clone();
    assert_eq!(narrowed(&mut host, json!({ "query": "lamp", "project": "house", "folder": "attic" })), 2);
    assert_eq!(narrowed(&mut host, json!({ "query": "lamp", "project": "garden" })), 0);
    assert_eq!(narrowed(&mut host, json!({ "query": "lamp", "folder": "cellar" })), 0);
    let one = host.call_ok("find", json!({ "query": "lamp", "limit": 1 }));
    assert_eq!((one["total"].as_u64(), one["hits"].as_array().map(Vec::len)), (Some(2), Some(1)));
}

#[test]
fn a_score_is_the_same_before_and_after_it_is_folded() {
    let shelves = NotesFixture::new();
    let mut host = shelves.host();
    for number in 0..20 {
        let text = format!("# Note {number}\nthe {} river runs río {number}\n", "deep ".repeat(number));
        host.call_ok("note", json!({ "path": format!("n{number}.md"), "text": text }));
    }
    let queries = ["river", "rio", "running deep", "\"deep river\"", "riv*", "note 7", "absent river"];
    let fresh: Vec<_> = queries.iter().map(|query| find(&mut host, query)).collect();
    // A full comparison writes everything into the main index.
    host.call_ok("compare", json!({ "full": true }));
    for (query, before) in queries.iter().zip(fresh) {
        let after = find(&mut host, query);
        assert_eq!(after["total"], before["total"], "{query}");
        for (one, other) in after["hits"].as_array().into_iter().flatten().zip(before["hits"].as_array().expect("hits"))
        {
            assert_eq!((&one["path"], &one["snippet"]), (&other["path"], &other["snippet"]), "{query}");
            let (one, other) = (one["score"].as_f64().expect("a score"), other["score"].as_f64().expect("a score"));
            assert!((one - other).abs() < 1e-4, "{query}: {one} and {other}");
        }
    }
}
