//! What search may know about a document: its text and its place come in, facts go out.

use crate::families::facts::{Chunk, DocumentFacts, DocumentSource};
use crate::text::folding::fold_word;
use crate::text::front_matter;

use super::chunks::pieces;
use super::layout::{DocumentPath, is_document};
use super::metadata::DeclaredMetadata;
use super::{sections, status_line};

/// Headings that are worth more than others, in three languages, without accents and case.
const HEADINGS: [(f32, &[&str]); 5] = [
    (2.5, &["current status", "estado actual", "現状"]),
    (2.5, &["next", "next steps", "proximo", "proximos pasos", "次のステップ", "次にやること"]),
    (2.5, &["blockers", "blocked by", "bloqueos", "bloqueado por", "ブロッカー"]),
    (2.0, &["decisions", "recent decisions", "decisiones", "決定事項"]),
    (1.5, &["objective", "objetivo", "目的", "acceptance criteria", "criterios de aceptacion", "受け入れ基準"]),
];

const OVER_BUDGET: &str = "has front matter whose aliases or nesting go too far, so that it counts as text";

/// Which files of a workspace can be found, and what is known about each.
pub const DOCUMENTS: DocumentSource = DocumentSource { wanted: is_document, facts };

/// What is known about one.
pub fn facts(path: &str, text: &str) -> DocumentFacts {
    let Some(path) = DocumentPath::of(path) else { return DocumentFacts::default() };
    let split = front_matter::split(text);
    let body = &text[split.body..];
    let status_line = status_line::value(text, split.counted).map(|range| &text[range]);
    let said = DeclaredMetadata::of(split.front.as_ref().map(|front| &front.map), status_line);
    let status = said.status(&path);
    DocumentFacts {
        title: sections::title(body).unwrap_or(path.stem()).to_owned(),
        stem: path.stem().to_owned(),
        kind: said.kind(&path),
        boost: path.boost() * boost_of_status(status),
        status: status.map(str::to_owned),
        updated: said.updated,
        tags: said.tags.iter().map(|tag| tag.to_string()).collect(),
        chunks: pieces(text, split.body).into_iter().map(with_heading_boost).collect(),
        project: path.project,
        folder: path.folder,
        problem: split.is_over_budget.then_some(OVER_BUDGET),
    }
}

/// With what its heading is worth.
pub(super) fn with_heading_boost(piece: Chunk) -> Chunk {
    let boost = piece.heading.as_deref().map_or(1.0, boost_of_heading);
    Chunk { boost, ..piece }
}

fn boost_of_heading(heading: &str) -> f32 {
    let heading = fold_word(heading.trim_start_matches('#'));
    HEADINGS.iter().find(|(_, names)| names.contains(&heading.as_str())).map_or(1.0, |(worth, _)| *worth)
}

pub(super) fn boost_of_status(status: Option<&str>) -> f32 {
    match status {
        Some("in-progress") => 2.0,
        Some("blocked") => 1.8,
        Some("pending") => 1.2,
        Some("done") => 0.6,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_worth(path: &str, text: &str, expected: f32) {
        let boost = facts(path, text).boost;
        assert!((boost - expected).abs() < 1e-5, "{path} {text:?}: {boost}");
    }

    #[test]
    fn place_and_status_make_the_worth() {
        check_worth("p/status.md", "", 3.0);
        check_worth("p/tasks/status.md", "", 2.0);
        check_worth("p/tasks/1.md", "Status: in progress", 4.0);
        check_worth("p/tasks/1.md", "Status: blocked", 3.6);
        check_worth("p/tasks/1.md", "Status: pending", 2.4);
        check_worth("p/tasks/1.md", "Status: done", 1.2);
        check_worth("p/tasks/1.md", "Status: other", 2.0);
        check_worth("p/plans/1.md", "Status: done", 1.8);
        check_worth("p/sessions/1.md", "", 1.5);
        check_worth("p/changelog/1.md", "", 1.2);
        check_worth("p/reports/1.md", "", 1.0);
        check_worth("p/references/1.md", "", 0.8);
        check_worth("p/scratch/1.md", "", 0.5);
        check_worth("p/assets/1.md", "", 0.3);
        check_worth("p/other/1.md", "---\nstatus: done\n---\n", 0.18);
    }

    #[test]
    fn headings_have_their_worth_in_three_languages() {
        for (heading, expected) in [
            ("## Current Status", 2.5),
            ("# estado ACTUAL", 2.5),
            ("## 現状", 2.5),
            ("## Próximos pasos", 2.5),
            ("## 次にやること", 2.5),
            ("## Blocked By", 2.5),
            ("## Decisiones", 2.0),
            ("## 目的", 1.5),
            ("## Criterios de aceptación", 1.5),
            ("## Acceptance Criteria, more", 1.0),
            ("## Other", 1.0),
        ] {
            let seen = facts("p/plans/x.md", heading).chunks[0].boost;
            assert!((seen - expected).abs() < 1e-5, "{heading}: {seen}");
        }
    }

    #[test]
    fn a_document_is_known_by_all_of_it() {
        let text =
            "\u{feff}---\ntags: [A, b]\nupdated: 2025-02-09\n---\n# Task: Título\n\nStatus: done\n\n## Objetivo\nuno\n";
        let seen = facts("Proyecto/tasks/sub/004-algo.md", text);
        assert_eq!((seen.project.as_str(), seen.folder.as_str()), ("Proyecto", "tasks"));
        assert_eq!((seen.title.as_str(), seen.stem.as_str()), ("Título", "algo"));
        assert_eq!((seen.kind.as_deref(), seen.status.as_deref()), (Some("task"), Some("done")));
        assert_eq!(seen.updated.map(|date| date.to_string()).as_deref(), Some("2025-02-09"));
        assert_eq!(seen.tags, ["a", "b"]);
        let contents: Vec<&str> = seen.chunks.iter().map(|chunk| &text[chunk.content.clone()]).collect();
        assert_eq!(contents, ["Status: done", "uno"]);
        assert_eq!(facts("p/notes/x.md", "words").title, "x");
    }
}
