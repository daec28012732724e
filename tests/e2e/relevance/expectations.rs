//! What is asked, what is expected, and how both are compared. All contradictions of a table are told at once, each
//! with what was seen and its scores.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Hit, RelevanceFixture, hits_of, snippets};

/// One query and what must come of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expectation {
    query: &'static str,
    project: Option<&'static str>,
    folder: Option<&'static str>,
    wants: &'static [Expected],
}

/// What must be among the results, or must not.
#[derive(Debug, Clone, Copy)]
pub(super) enum Expected {
    /// This document comes first.
    First(&'static str),
    /// This document comes first, with the chunk under this heading.
    FirstAt(&'static str, &'static str),
    /// This document is one of the first three.
    Top3(&'static str),
    /// This document is found.
    Found(&'static str),
    /// This document is not found.
    NotFound(&'static str),
    /// So many chunks match.
    Total(u64),
    /// These documents, each by its best chunk, are the results, in this order.
    Order(&'static [&'static str]),
    /// These headings are those of the first results, in this order.
    Headings(&'static [&'static str]),
}

impl Expectation {
    /// Asks the whole workspace.
    pub(super) const fn all(query: &'static str, wants: &'static [Expected]) -> Self {
        Self { query, project: None, folder: None, wants }
    }

    /// Asks one project.
    pub(super) const fn project(project: &'static str, query: &'static str, wants: &'static [Expected]) -> Self {
        Self { query, project: Some(project), folder: None, wants }
    }

    /// Asks one folder of all projects.
    pub(super) const fn folder(folder: &'static str, query: &'static str, wants: &'static [Expected]) -> Self {
        Self { query, project: None, folder: Some(folder), wants }
    }

    /// Asks one folder of one project.
    pub(super) const fn inside(
        project: &'static str,
        folder: &'static str,
        query: &'static str,
        wants: &'static [Expected],
    ) -> Self {
        Self { query, project: Some(project), folder: Some(folder), wants }
    }

    fn arguments(&self) -> Value {
        let mut arguments = json!({ "query": self.query, "limit": 200 });
        for (name, value) in [("project", self.project), ("folder", self.folder)] {
            if let Some(value) = value {
                arguments[name] = value.into();
            }
        }
        arguments
    }
}

/// Asks everything in a table.
#[track_caller]
pub(super) fn check(table: &[Expectation]) {
    let mut library = RelevanceFixture::new();
    let mut asked = HashSet::new();
    let mut contradictions = Vec::new();
    for ask in table {
        assert!(asked.insert((ask.query, ask.project, ask.folder)), "asked twice: {ask:?}");
        let answer = library.search(ask.arguments());
        assert_eq!(answer["query"], ask.query, "the query comes back as it was");
        let hits = hits_of(&answer);
        let total = answer["total_matches"].as_u64().expect("a number");
        is_sound(&library, ask, &hits, total);
        for want in ask.wants {
            check_known(&library, want);
            if !want.holds(&hits, total) {
                let place = [ask.project, ask.folder].map(Option::unwrap_or_default).join("/");
                contradictions.push(format!(
                    "`{}` in {place}: expected {want:?}, seen {total}:{}",
                    ask.query,
                    table_of(&hits)
                ));
            }
        }
    }
    assert!(
        contradictions.is_empty(),
        "{} of {} queries:\n{}",
        contradictions.len(),
        table.len(),
        contradictions.join("\n")
    );
}

/// What holds for the results of every query: scope, order, number, snippets.
#[track_caller]
fn is_sound(library: &RelevanceFixture, ask: &Expectation, hits: &[Hit], total: u64) {
    let seen = || format!("{ask:?}: {total}:{}", table_of(hits));
    assert_eq!(hits.len() as u64, total.min(200), "{}", seen());
    let in_scope = |hit: &Hit| {
        ask.project.is_none_or(|project| hit.project == project) && ask.folder.is_none_or(|folder| hit.folder == folder)
    };
    assert!(hits.iter().all(in_scope), "{}", seen());
    assert!(hits.iter().all(|hit| hit.score > 0.0), "{}", seen());
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "{}", seen());
    for hit in hits {
        snippets::is_sound(library, hit);
    }
}

/// A table that names a document which is not there expects nothing.
#[track_caller]
fn check_known(library: &RelevanceFixture, want: &Expected) {
    let paths: &[&str] = match want {
        Expected::First(path) | Expected::Top3(path) | Expected::Found(path) | Expected::NotFound(path) => &[path],
        Expected::FirstAt(path, heading) => {
            assert!(library.text(path).lines().any(|line| line == *heading), "{path}: {heading}");
            &[path]
        }
        Expected::Order(paths) => paths,
        Expected::Total(_) | Expected::Headings(_) => &[],
    };
    for path in paths {
        assert!(!library.text(path).is_empty());
    }
}

impl Expected {
    fn holds(&self, hits: &[Hit], total: u64) -> bool {
        let has = |path: &str| hits.iter().any(|hit| hit.path == path);
        match self {
            Self::First(path) => hits.first().is_some_and(|hit| hit.path == *path),
            Self::FirstAt(path, heading) => {
                hits.first().is_some_and(|hit| hit.path == *path && hit.heading == *heading)
            }
            Self::Top3(path) => documents(hits).iter().take(3).any(|document| document == path),
            Self::Found(path) => has(path),
            Self::NotFound(path) => !has(path),
            Self::Total(expected) => total == *expected,
            Self::Order(paths) => documents(hits) == *paths,
            Self::Headings(headings) => {
                hits.len() >= headings.len() && hits.iter().zip(*headings).all(|(hit, heading)| hit.heading == *heading)
            }
        }
    }
}

/// Every document once, where its best chunk is.
fn documents(hits: &[Hit]) -> Vec<&str> {
    let mut seen = HashSet::new();
    hits.iter().map(|hit| hit.path.as_str()).filter(|path| seen.insert(*path)).collect()
}

fn table_of(hits: &[Hit]) -> String {
    let line = |hit: &Hit| format!("\n    {:9.4}  {}  {}", hit.score, hit.path, hit.heading);
    hits.iter().take(8).map(line).collect()
}
