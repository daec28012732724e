//! Many documents at once: the projects they belong to, and what can be counted in them.
//!
//! Models of documents come in, sorted as people expect; figures and lists go out.

use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::layout::{DocumentPath, FOLDERS};
use super::metadata::{EffectiveMetadata, date_of, day, instant};
use super::model::Document;
use super::numbers;
use crate::disk::{FileStamp, FilesInTree, ModelInTree, RelativePath};

/// One document of several.
#[derive(Debug, Clone)]
pub struct WorkspaceDocument {
    /// Where it is.
    pub path: DocumentPath,
    /// What it says.
    pub document: Arc<Document>,
    /// When its file changed last.
    pub modified_ns: i128,
}

/// A file that is no document: only its name and its time are known.
#[derive(Debug, Clone)]
pub struct OtherFile {
    /// Where it is.
    pub path: DocumentPath,
    /// When it changed last.
    pub modified_ns: i128,
}

/// All files of one or more projects, by project, folder and name.
#[derive(Debug, Default)]
pub struct Files {
    /// Those that can be searched.
    pub documents: Vec<WorkspaceDocument>,
    pub others: Vec<OtherFile>,
}

impl Files {
    /// Those that were seen.
    pub fn of(seen: &FilesInTree<Document>) -> Self {
        let other = |(path, stamp): &(RelativePath, FileStamp)| {
            let path = DocumentPath::of(path.as_str())?;
            Some(OtherFile { path, modified_ns: stamp.modified_ns })
        };
        Self { documents: entries(&seen.models), others: seen.others.iter().filter_map(other).collect() }
    }
}

/// Those that could be read, by project, folder and name.
pub fn entries(below: &[ModelInTree<Document>]) -> Vec<WorkspaceDocument> {
    let entry = |below: &ModelInTree<Document>| {
        let seen = below.seen.as_ref().ok()?;
        let path = DocumentPath::of(below.path.as_str())?;
        Some(WorkspaceDocument { path, document: Arc::clone(&seen.model), modified_ns: seen.stamp.modified_ns })
    };
    let mut entries: Vec<WorkspaceDocument> = below.iter().filter_map(entry).collect();
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    entries
}

impl WorkspaceDocument {
    /// What is known about it.
    pub fn metadata(&self, zone: &TimeZone) -> EffectiveMetadata {
        self.document.said.metadata(&self.path, self.modified_ns, zone)
    }

    /// How far it is.
    pub fn status(&self) -> Option<&str> {
        self.document.said.status(&self.path)
    }

    /// What people call it.
    pub fn title(&self) -> &str {
        self.document.title.as_deref().unwrap_or_else(|| self.path.stem())
    }

    /// Its number and title.
    pub fn label(&self) -> String {
        match numbers::label(&self.path.filename) {
            Some(number) => format!("{number} - {}", self.title()),
            None => self.title().to_owned(),
        }
    }

    /// The day of a session: what its name says, else when its file changed.
    pub fn session_day(&self, zone: &TimeZone) -> Date {
        day(self.path.full_stem()).unwrap_or_else(|| date_of(self.modified_ns, zone))
    }
}

/// The documents of one project, and perhaps its other files.
#[derive(Debug)]
pub struct Project<'a> {
    pub name: &'a str,
    /// What is in it.
    pub entries: Vec<&'a WorkspaceDocument>,
    others: Vec<&'a OtherFile>,
}

impl<'a> Project<'a> {
    /// Those of these documents that belong to it.
    pub fn of(name: &'a str, entries: &'a [WorkspaceDocument]) -> Self {
        let entries = entries.iter().filter(|entry| entry.path.project == name).collect();
        Self { name, entries, others: Vec::new() }
    }

    /// The same with the other files that belong to it.
    pub fn with_others(name: &'a str, files: &'a Files) -> Self {
        let others = files.others.iter().filter(|file| file.path.project == name).collect();
        Self { others, ..Self::of(name, &files.documents) }
    }

    /// What is in a folder.
    pub fn folder(&self, folder: &str) -> impl Iterator<Item = &'a WorkspaceDocument> {
        self.entries.iter().copied().filter(move |entry| entry.path.folder == folder)
    }

    /// What else is in a folder.
    fn others(&self, folder: &str) -> impl Iterator<Item = &'a OtherFile> {
        self.others.iter().copied().filter(move |file| file.path.folder == folder)
    }

    /// Its tasks that are so far.
    pub fn tasks(&self, status: &str) -> Vec<&'a WorkspaceDocument> {
        self.folder("tasks").filter(|entry| entry.status() == Some(status)).collect()
    }

    /// Its sessions, the last one first.
    pub fn sessions(&self, zone: &TimeZone) -> Vec<&'a WorkspaceDocument> {
        let mut sessions: Vec<&WorkspaceDocument> = self.folder("sessions").collect();
        sessions.sort_by_key(|entry| std::cmp::Reverse((entry.session_day(zone), entry.modified_ns)));
        sessions
    }

    /// Documents with decisions, the newest first.
    pub fn decisive(&self, zone: &TimeZone) -> Vec<&'a WorkspaceDocument> {
        let decides = |entry: &&WorkspaceDocument| entry.document.has_decisions;
        let mut entries: Vec<&WorkspaceDocument> =
            self.folder("plans").chain(self.folder("changelog")).filter(decides).collect();
        entries.sort_by_key(|entry| std::cmp::Reverse((entry.metadata(zone).updated, entry.modified_ns)));
        entries
    }

    /// When anything in it changed last.
    pub fn last_updated(&self) -> Option<String> {
        self.entries.iter().map(|entry| entry.modified_ns).max().map(instant)
    }

    /// With figures, as `vibe://projects` shows it.
    pub fn summary(&self, path: &str, zone: &TimeZone) -> Value {
        let count = |status: &str| self.tasks(status).len();
        let (pending, in_progress) = (count("pending"), count("in-progress"));
        let last = self.folder("sessions").map(|entry| entry.session_day(zone)).max();
        let all = |folder: &str| self.folder(folder).count() + self.others(folder).count();
        let folders = FOLDERS.iter().map(|(folder, ..)| ((*folder).to_owned(), all(folder).into()));
        json!({
            "name": self.name,
            "path": path,
            "last_updated": self.last_updated(),
            "stats": {
                "total_docs": self.entries.len(),
                "open_tasks": pending + in_progress,
                "pending_tasks": pending,
                "in_progress_tasks": in_progress,
                "done_tasks": count("done"),
                "last_session_date": last.map(|date| date.to_string()),
            },
            "folders": Value::Object(folders.collect()),
        })
    }

    /// With its files, as `vibe://projects/{name}` shows it.
    pub fn files(&self, path: &str, zone: &TimeZone) -> Value {
        let listed = |at: &'a DocumentPath, status: Option<&str>, updated: Date| match at.folder == "tasks" {
            true => json!({ "filename": at.filename, "status": status, "updated": updated.to_string() }),
            false => json!({ "filename": at.filename, "updated": updated.to_string() }),
        };
        let document = |entry: &'a WorkspaceDocument| listed(&entry.path, entry.status(), entry.metadata(zone).updated);
        let other = |file: &'a OtherFile| listed(&file.path, None, date_of(file.modified_ns, zone));
        let folder = |folder: &str| {
            let documents = self.folder(folder).map(|entry| (&entry.path.filename, document(entry)));
            let mut files: Vec<(&String, Value)> = documents.collect();
            files.extend(self.others(folder).map(|file| (&file.path.filename, other(file))));
            files.sort_by_key(|(filename, _)| *filename);
            Value::Array(files.into_iter().map(|(_, listed)| listed).collect())
        };
        let folders: Map<String, Value> = FOLDERS.iter().map(|(name, ..)| ((*name).to_owned(), folder(name))).collect();
        json!({
            "name": self.name,
            "path": path,
            "last_updated": self.last_updated(),
            "folders": folders,
            "root_files": folder(""),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A document at a place, changed so many days after the first of 2026.
    pub(crate) fn entry(path: &str, text: &str, days: i128) -> WorkspaceDocument {
        let modified_ns = 1_767_225_600_000_000_000 + days * 86_400_000_000_000;
        let path = DocumentPath::of(path).expect("a document");
        WorkspaceDocument { path, document: Arc::new(Document::of(text)), modified_ns }
    }

    fn check(entries: &[WorkspaceDocument], pointer: &str, expected: Value) {
        let project = Project::of("p", entries);
        let whole = json!([project.summary("/v/p", &TimeZone::UTC), project.files("/v/p", &TimeZone::UTC)]);
        assert_eq!(whole.pointer(pointer), Some(&expected), "{pointer}");
    }

    #[test]
    fn a_project_is_counted_and_listed() {
        let entries = [
            entry("p/status.md", "", 1),
            entry("p/tasks/001-a.md", "# A\n\nStatus: pending", 2),
            entry("p/tasks/002-b.md", "Status: In Progress", 2),
            entry("p/tasks/004-d.md", "Status: someday", 2),
            entry("p/tasks/005-e.md", "Status: blocked", 2),
            entry("p/tasks/deep/003-c.md", "---\nstatus: done\n---\n", 2),
            entry("p/sessions/2025-02-09-x.md", "", 3),
            entry("p/sessions/free.md", "", 4),
            entry("p/other/x.md", "", 5),
            entry("q/tasks/001-a.md", "Status: pending", 9),
        ];
        let stats = json!({
            "total_docs": 9, "open_tasks": 2, "pending_tasks": 1, "in_progress_tasks": 1, "done_tasks": 1,
            "last_session_date": "2026-01-05",
        });
        check(&entries, "/0/stats", stats);
        check(&entries, "/0/last_updated", json!("2026-01-06T00:00:00Z"));
        check(&entries, "/0/folders/tasks", json!(5));
        check(&entries, "/0/folders/plans", json!(0));
        check(
            &entries,
            "/1/folders/tasks/0",
            json!({ "filename": "001-a.md", "status": "pending", "updated": "2026-01-03" }),
        );
        check(&entries, "/1/folders/tasks/4/filename", json!("deep/003-c.md"));
        check(&entries, "/1/folders/plans", json!([]));
        check(&entries, "/1/root_files", json!([{ "filename": "status.md", "updated": "2026-01-02" }]));
        check(&[], "/0/last_updated", json!(null));
        check(&[], "/0/stats/last_session_date", json!(null));
    }

    #[test]
    fn other_files_are_listed_and_counted_but_are_no_documents() {
        let other = |path: &str, days: i128| {
            let WorkspaceDocument { path, modified_ns, .. } = entry(path, "", days);
            OtherFile { path, modified_ns }
        };
        let documents = vec![entry("p/assets/b.md", "", 1), entry("p/tasks/001-a.md", "Status: done", 1)];
        let others = vec![
            other("p/Makefile", 2),
            other("p/assets/a.png", 3),
            other("p/assets/deep/c.svg", 4),
            other("p/sessions/2030-01-01.log", 5),
            other("p/tasks/000-data.json", 6),
            other("q/assets/d.png", 7),
        ];
        let files = Files { documents, others };
        let project = Project::with_others("p", &files);
        let summary = project.summary("/v/p", &TimeZone::UTC);
        assert_eq!(summary["stats"]["total_docs"], 2);
        assert_eq!(summary["stats"]["last_session_date"], json!(null), "a log is no note");
        assert_eq!(summary["last_updated"], "2026-01-02T00:00:00Z");
        let folders = &summary["folders"];
        assert_eq!((&folders["assets"], &folders["tasks"], &folders["sessions"]), (&json!(3), &json!(2), &json!(1)));
        let listed = project.files("/v/p", &TimeZone::UTC);
        let assets = json!([
            { "filename": "a.png", "updated": "2026-01-04" },
            { "filename": "b.md", "updated": "2026-01-02" },
            { "filename": "deep/c.svg", "updated": "2026-01-05" },
        ]);
        assert_eq!(listed["folders"]["assets"], assets);
        let data = json!({ "filename": "000-data.json", "status": null, "updated": "2026-01-07" });
        assert_eq!(listed["folders"]["tasks"][0], data);
        assert_eq!(listed["root_files"], json!([{ "filename": "Makefile", "updated": "2026-01-03" }]));
    }

    #[test]
    fn the_last_come_first() {
        let entries = [
            entry("p/sessions/2025-02-08.md", "", 9),
            entry("p/sessions/2025-02-09-a.md", "", 1),
            entry("p/sessions/2025-02-09-b.md", "", 2),
            entry("p/plans/a.md", "## Decisions\n- x\n", 3),
            entry("p/plans/b.md", "## Decisions\nno items\n", 4),
            entry("p/changelog/c.md", "---\nupdated: 2030-01-01\n---\n## Decisions\n- y\n", 1),
            entry("p/reports/d.md", "## Decisions\n- z\n", 8),
        ];
        let project = Project::of("p", &entries);
        let names = |entries: Vec<&WorkspaceDocument>| {
            entries.iter().map(|entry| entry.path.filename.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(project.sessions(&TimeZone::UTC)), ["2025-02-09-b.md", "2025-02-09-a.md", "2025-02-08.md"]);
        assert_eq!(names(project.decisive(&TimeZone::UTC)), ["c.md", "a.md"]);
    }
}
