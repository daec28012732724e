//! The URIs of a workspace, and who is told when something behind them has changed.

use super::layout::DocumentPath;
use crate::text::percent::encoded;
use crate::tools::{Answer, Notice};

/// All projects.
pub const PROJECTS: &str = "vibe://projects";
/// One project.
pub const PROJECT: &str = "vibe://projects/{name}";
/// One document.
pub const DOCUMENT: &str = "vibe://projects/{name}/{folder}/{file}";

/// Whether a document is new or another than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It was not there.
    Appeared,
    /// It says something else.
    Changed,
}

/// An answer of which everybody hears who listens to the document, its project or all projects.
pub fn told(answer: Answer, path: &DocumentPath, change: Change) -> Answer {
    let mut uris = vec![PROJECTS.to_owned()];
    let parts = [path.project.as_str(), path.folder.as_str(), path.filename.as_str()];
    // Files of the project itself have no URI of their own.
    let most = if path.folder.is_empty() { 1 } else { 3 };
    for count in [1, most] {
        uris.push(joined(&parts[..count], encoded));
        // Hosts may have subscribed to what a person typed.
        uris.push(joined(&parts[..count], str::to_owned));
    }
    uris.sort();
    uris.dedup();
    let told = uris.into_iter().fold(answer, |answer, uri| answer.with_notice(Notice::Updated(uri)));
    if change == Change::Appeared { told.with_notice(Notice::ResourcesChanged) } else { told }
}

fn joined(parts: &[&str], spelt: fn(&str) -> String) -> String {
    parts.iter().fold(PROJECTS.to_owned(), |uri, part| format!("{uri}/{}", spelt(part)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(path: &str, change: Change, expected: &[&str]) {
        let path = DocumentPath::of(path).expect("a document");
        let notices = told(Answer::object(json!({})), &path, change).notices;
        let seen: Vec<String> = notices
            .into_iter()
            .map(|notice| match notice {
                Notice::Updated(uri) => uri,
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn all_who_listen_are_told() {
        check(
            "p/tasks/1.md",
            Change::Changed,
            &["vibe://projects", "vibe://projects/p", "vibe://projects/p/tasks/1.md"],
        );
        check("p/a.md", Change::Appeared, &["vibe://projects", "vibe://projects/p", "ResourcesChanged"]);
        check(
            "é/plans/x y.md",
            Change::Changed,
            &[
                "vibe://projects",
                "vibe://projects/%C3%A9",
                "vibe://projects/%C3%A9/plans/x%20y.md",
                "vibe://projects/é",
                "vibe://projects/é/plans/x y.md",
            ],
        );
    }
}
