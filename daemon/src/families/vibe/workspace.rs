//! Many documents at once: the projects they belong to, and what can be counted in them.
//!
//! Models of documents come in, sorted as people expect; figures and lists go out.

use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::layout::{DocumentPath, FOLDERS};
use super::metadata::{Metadata, date_of, day, instant};
use super::model::Document;
use super::numbers;
use crate::families::need::Below;

/// One document of several.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Where it is.
    pub path: DocumentPath,
    /// What it says.
    pub document: Arc<Document>,
    /// When its file changed last.
    pub modified_ns: i128,
}

/// Those that could be read, by project, folder and name.
pub fn entries(below: &[Below<Document>]) -> Vec<Entry> {
    let entry = |below: &Below<Document>| {
        let seen = below.seen.as_ref().ok()?;
        let path = DocumentPath::of(below.path.as_str())?;
        Some(Entry { path, document: Arc::clone(&seen.model), modified_ns: seen.identity.modified_ns })
    };
    let mut entries: Vec<Entry> = below.iter().filter_map(entry).collect();
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    entries
}

impl Entry {
    /// What is known about it.
    pub fn metadata(&self, zone: &TimeZone) -> Metadata {
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
    pub fn session_day(&self, zone: &TimeZone) -> jiff::civil::Date {
        day(self.path.full_stem()).unwrap_or_else(|| date_of(self.modified_ns, zone))
    }
}

/// The documents of one project.
#[derive(Debug)]
pub struct Project<'a> {
    /// Its name.
    pub name: &'a str,
    /// What is in it.
    pub entries: Vec<&'a Entry>,
}

impl<'a> Project<'a> {
    /// Those of these documents that belong to it.
    pub fn of(name: &'a str, entries: &'a [Entry]) -> Self {
        Self { name, entries: entries.iter().filter(|entry| entry.path.project == name).collect() }
    }

    /// What is in a folder.
    pub fn folder(&self, folder: &str) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().copied().filter(move |entry| entry.path.folder == folder)
    }

    /// Its tasks that are so far.
    pub fn tasks(&self, status: &str) -> Vec<&'a Entry> {
        self.folder("tasks").filter(|entry| entry.status() == Some(status)).collect()
    }

    /// Its sessions, the last one first.
    pub fn sessions(&self, zone: &TimeZone) -> Vec<&'a Entry> {
        let mut sessions: Vec<&Entry> = self.folder("sessions").collect();
        sessions.sort_by_key(|entry| std::cmp::Reverse((entry.session_day(zone), entry.modified_ns)));
        sessions
    }

    /// Documents with decisions, the newest first.
    pub fn decisive(&self, zone: &TimeZone) -> Vec<&'a Entry> {
        let decides = |entry: &&Entry| entry.document.has_decisions;
        let mut entries: Vec<&Entry> = self.folder("plans").chain(self.folder("changelog")).filter(decides).collect();
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
        let folders = FOLDERS.iter().map(|(folder, ..)| ((*folder).to_owned(), self.folder(folder).count().into()));
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
        let listed = |entry: &Entry| {
            let updated = entry.metadata(zone).updated.to_string();
            match entry.path.folder == "tasks" {
                true => json!({ "filename": entry.path.filename, "status": entry.status(), "updated": updated }),
                false => json!({ "filename": entry.path.filename, "updated": updated }),
            }
        };
        let folder = |folder: &str| Value::Array(self.folder(folder).map(listed).collect());
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
    pub(crate) fn entry(path: &str, text: &str, days: i128) -> Entry {
        let modified_ns = 1_767_225_600_000_000_000 + days * 86_400_000_000_000;
        let path = DocumentPath::of(path).expect("a document");
        Entry { path, document: Arc::new(Document::of(text)), modified_ns }
    }

    fn check(entries: &[Entry], pointer: &str, expected: Value) {
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
        let names = |entries: Vec<&Entry>| entries.iter().map(|entry| entry.path.filename.clone()).collect::<Vec<_>>();
        assert_eq!(names(project.sessions(&TimeZone::UTC)), ["2025-02-09-b.md", "2025-02-09-a.md", "2025-02-08.md"]);
        assert_eq!(names(project.decisive(&TimeZone::UTC)), ["c.md", "a.md"]);
    }
}
