//! The URIs of a workspace, and who is told when something behind them has changed.

use std::path::Path;

use super::layout::DocumentPath;
use crate::families::Notice;
use crate::text::percent::encoded;
use crate::trees::ChangeKind;

pub const PROJECTS: &str = "vibe://projects";
pub const PROJECT: &str = "vibe://projects/{name}";
pub const DOCUMENT: &str = "vibe://projects/{name}/{folder}/{file}";

/// Everybody hears of a changed file who listens to the document, its project or all projects.
pub fn notices(path: &Path, kind: ChangeKind) -> Vec<Notice> {
    let Some(path) = path.to_str().and_then(DocumentPath::of) else { return Vec::new() };
    let mut uris = vec![PROJECTS.to_owned()];
    let parts = [path.project.as_str(), path.folder.as_str(), path.filename.as_str()];
    // Files of the project itself have no URI of their own.
    let most = if path.folder.is_empty() { 1 } else { 3 };
    for count in [1, most] {
        uris.push(joined(&parts[..count], encoded));
        // Hosts may have subscribed to what a person typed.
        uris.push(joined(&parts[..count], str::to_owned));
    }
    Notice::of(uris, kind)
}

fn joined(parts: &[&str], spelt: fn(&str) -> String) -> String {
    parts.iter().fold(PROJECTS.to_owned(), |uri, part| format!("{uri}/{}", spelt(part)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn check(path: &str, kind: ChangeKind, expected: &[&str]) {
        let notices: BTreeSet<Notice> = notices(Path::new(path), kind).into_iter().collect();
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
            ChangeKind::Modified,
            &["vibe://projects", "vibe://projects/p", "vibe://projects/p/tasks/1.md"],
        );
        check("p/a.md", ChangeKind::Created, &["vibe://projects", "vibe://projects/p", "ListChanged"]);
        check("p/a.md", ChangeKind::Removed, &["vibe://projects", "vibe://projects/p", "ListChanged"]);
        check(
            "é/plans/x y.md",
            ChangeKind::Modified,
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
