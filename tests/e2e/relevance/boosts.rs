//! The same words in different places: only folder, status, age or heading can decide.
//!
//! Wherever equal values would leave it to the path, the path says the opposite of what is expected.

use serde_json::json;

use super::RelevanceFixture;
use super::expectations::Expected::{First, FirstAt, Headings, Order};
use super::expectations::{Expectation, check};

const PLACES: &[Expectation] = &[
    // 3.0, 2.0 × 1.2 for a pending task, 1.8, 1.5, 1.2, 1.0, 0.8 also for a file that is only called status, 0.5, 0.3.
    Expectation::all(
        "Antwerp branch",
        &[Order(&[
            "ledger/status.md",
            "ledger/tasks/006-month-end.md",
            "ledger/plans/execution-plan.md",
            "ledger/sessions/2025-04-30.md",
            "ledger/changelog/001-opening.md",
            "ledger/reports/april.md",
            "ledger/references/status.md",
            "ledger/scratch/odds-and-ends.md",
            "ledger/assets/charts/durations.md",
        ])],
    ),
    // In progress 2.0, blocked 1.8, pending 1.2, no status 1.0, done 0.6.
    Expectation::all(
        "importer currency",
        &[Order(&[
            "ledger/tasks/005-supplier-bills.md",
            "ledger/tasks/004-payroll.md",
            "ledger/tasks/003-petty-cash.md",
            "ledger/tasks/002-card-payments.md",
            "ledger/tasks/001-bank-files.md",
        ])],
    ),
    // Today 2.0, this week 1.5, this month 1.2, this quarter 1.0, older 0.8; the files themselves are equally old.
    Expectation::all(
        "auditors vouchers",
        &[Order(&[
            "ledger/sessions/2025-05-05.md",
            "ledger/sessions/2025-05-04.md",
            "ledger/sessions/2025-05-03.md",
            "ledger/sessions/2025-05-02.md",
            "ledger/sessions/2025-05-01.md",
        ])],
    ),
    // Without a date of its own, a document is as old as its file.
    Expectation::all("canals spare", &[Order(&["ledger/scratch/keys.md", "ledger/scratch/keys-2019.md"])]),
];

const HEADINGS: &[Expectation] = &[
    Expectation::all("cutover freeze", &[Headings(&["## Current Status", "## Decisions", "## Objective"])]),
    Expectation::all("invented suppliers", &[First("ledger/plans/rehearsal.md")]),
    Expectation::all(
        "madrugada encendido",
        &[Headings(&["## Proximos pasos", "## DECISIONES", "## Objetivo", "## Observaciones"])],
    ),
    Expectation::all("読み合わせ 倉庫", &[Headings(&["## 次にやること", "## 決定事項", "## 目的", "## 備考"])]),
    Expectation::project("図書館", "通知", &[FirstAt("図書館/status.md", "## 現状")]),
];

#[test]
fn folder_status_and_age_decide() {
    check(PLACES);
}

#[test]
fn headings_decide() {
    check(HEADINGS);
}

#[test]
fn equal_chunks_differ_by_their_boosts_and_nothing_else() {
    let mut library = RelevanceFixture::new();
    let mut ratios = |query: &str, boosts: &[f64]| {
        let hits = library.hits(query);
        assert_eq!(hits.len(), boosts.len(), "{query}: {hits:#?}");
        for (hit, boost) in hits.iter().zip(boosts) {
            let (score, expected) = (hit.score / hits[0].score, boost / boosts[0]);
            assert!((score / expected - 1.0).abs() < 0.01, "{query}: {score} for {expected}: {hit:?}");
        }
    };
    ratios("Antwerp branch", &[3.0, 2.4, 1.8, 1.5, 1.2, 1.0, 0.8, 0.5, 0.3]);
    ratios("importer currency", &[2.0, 1.8, 1.2, 1.0, 0.6]);
    ratios("auditors vouchers", &[2.0, 1.5, 1.2, 1.0, 0.8]);
    ratios("canals spare", &[1.5, 0.8]);
}

#[test]
fn headings_of_one_rank_are_worth_the_same() {
    let mut library = RelevanceFixture::new();
    // What an invented heading is worth decides; how many words it has may move a score a little.
    let boosts = [
        ("## Next Steps", 2.5),
        ("## blockers", 2.5),
        ("## Next", 2.5),
        ("## RECENT DECISIONS", 2.0),
        ("## Acceptance Criteria", 1.5),
    ];
    let hits = library.hits("invented suppliers");
    let score = |heading: &str| hits.iter().find(|hit| hit.heading == heading).expect("a hit").score;
    let plain = score("## Remarks");
    for (heading, boost) in boosts {
        let ratio = score(heading) / plain;
        assert!((ratio / boost - 1.0).abs() < 0.08, "{heading}: {ratio} for {boost}");
    }
    // A heading that only begins like one of them is worth nothing extra.
    let hits = library.hits("cutover freeze");
    let score = |heading: &str| hits.iter().find(|hit| hit.heading == heading).expect("a hit").score;
    let ratio = score("## Current Status of the tests") / score("## Remarks");
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
}

#[test]
fn equal_scores_come_in_the_order_of_their_paths() {
    let mut library = RelevanceFixture::new();
    let hits = library.hits("aproximada ninguna");
    let paths: Vec<&str> = hits.iter().map(|hit| hit.path.as_str()).collect();
    assert_eq!(paths, ["cancionero/references/entrada-a.md", "cancionero/references/entrada-b.md"]);
    assert_eq!(hits[0].score, hits[1].score);
}

#[test]
fn what_was_written_a_moment_ago_is_worth_what_it_will_be_worth() {
    let mut library = RelevanceFixture::new();
    let content = library.text("ledger/scratch/keys.md");
    let arguments = json!({ "project": "ledger", "folder": "scratch", "filename": "keys-now.md", "content": content });
    assert_eq!(library.client.call_ok("create_doc", arguments)["indexed"], true);
    let hits = library.hits("canals spare");
    let paths: Vec<&str> = hits.iter().map(|hit| hit.path.as_str()).collect();
    assert_eq!(paths, ["ledger/scratch/keys-now.md", "ledger/scratch/keys.md", "ledger/scratch/keys-2019.md"]);
    let ratio = hits[0].score / hits[1].score;
    assert!((ratio / (2.0 / 1.5) - 1.0).abs() < 0.01, "{ratio}");
}

#[test]
fn a_hit_says_of_which_kind_it_is() {
    let mut library = RelevanceFixture::new();
    let mut check = |query: &str, kind: &str, status: Option<&str>| {
        let hit = library.hits(query).into_iter().next().expect("a hit");
        let seen = (hit.metadata["type"].as_str(), hit.metadata["status"].as_str());
        assert_eq!(seen, (Some(kind), status), "{query}: {hit:?}");
        assert!(hit.metadata["updated"].as_str().is_some_and(|updated| updated.len() == 10), "{query}: {hit:?}");
    };
    check("E_HEADER_SIZE_3", "task", Some("in-progress"));
    check("handshakes", "task", Some("in-progress"));
    check("jitter", "task", Some("done"));
    check("forklifts", "plan", None);
    check("enclavamiento", "status", None);
    check("参政権", "report", None);
}

#[test]
fn a_limit_cuts_the_end_and_not_the_count() {
    let mut library = RelevanceFixture::new();
    let all = library.search(json!({ "query": "Antwerp branch" }));
    let some = library.search(json!({ "query": "Antwerp branch", "limit": 2 }));
    assert_eq!((&some["total_matches"], all["results"].as_array().map(Vec::len)), (&json!(9), Some(9)));
    assert_eq!(some["results"].as_array(), all["results"].as_array().map(|all| all[..2].to_vec()).as_ref());
}
