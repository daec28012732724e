//! The persisted list of known projects, kept from one daemon to the next.
//!
//! Our own JSON file comes in, projects and when each was last used go out. A project that nobody used for 90 days
//! is dropped, and a file that cannot be read is renamed aside: nothing depends on it but convenience.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::state_files;

/// The last use of a project is written at most this often.
const LAST_SEEN_RESOLUTION: SignedDuration = SignedDuration::from_hours(24);
/// A project that was not used for this long is dropped.
const PROJECT_TTL: SignedDuration = SignedDuration::from_hours(90 * 24);
const MAX_PROJECTS: usize = 1000;

/// The known projects and the file they are in.
#[derive(Debug)]
pub struct ProjectStore {
    file: PathBuf,
    projects: Mutex<BTreeMap<PathBuf, Timestamp>>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct ProjectListFile {
    projects: Vec<ProjectRow>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ProjectRow {
    path: String,
    last_seen: String,
}

impl ProjectStore {
    /// Reads what is remembered, and says if it could not.
    pub fn open(file: PathBuf, now: Timestamp) -> (Self, Option<String>) {
        let read = state_files::read(&file).map_or(Some(BTreeMap::new()), |text| parse(&text));
        let warning = read.is_none().then(|| {
            let aside = file.with_extension("json.broken");
            let _ = state_files::rename(&file, &aside);
            format!("the list of known projects could not be read and is now `{}`", aside.display())
        });
        let mut projects = read.unwrap_or_default();
        projects.retain(|_, seen| now.duration_since(*seen) < PROJECT_TTL);
        (Self { file, projects: Mutex::new(projects) }, warning)
    }

    /// All of them.
    pub fn projects(&self) -> Vec<PathBuf> {
        self.projects.lock().keys().cloned().collect()
    }

    /// Somebody works in this project now.
    pub fn touch(&self, project: &Path, now: Timestamp) {
        let mut projects = self.projects.lock();
        if projects.get(project).is_some_and(|seen| now.duration_since(*seen) < LAST_SEEN_RESOLUTION) {
            return;
        }
        projects.insert(project.to_owned(), now);
        projects.retain(|_, seen| now.duration_since(*seen) < PROJECT_TTL);
        while projects.len() > MAX_PROJECTS {
            let Some((oldest, _)) = projects.iter().min_by_key(|(_, seen)| **seen) else { break };
            let oldest = oldest.clone();
            projects.remove(&oldest);
        }
        if let Err(error) = state_files::replace(&self.file, render(&projects).as_bytes()) {
            tracing::warn!(%error, "the list of known projects could not be written");
        }
    }
}

fn parse(text: &str) -> Option<BTreeMap<PathBuf, Timestamp>> {
    let written: ProjectListFile = serde_json::from_str(text).ok()?;
    let known = |project: ProjectRow| Some((PathBuf::from(project.path), project.last_seen.parse().ok()?));
    written.projects.into_iter().map(known).collect()
}

/// A path that is no text cannot be written down; its project is known until we leave.
fn render(projects: &BTreeMap<PathBuf, Timestamp>) -> String {
    let written = |(path, seen): (&PathBuf, &Timestamp)| {
        Some(ProjectRow { path: path.to_str()?.to_owned(), last_seen: seen.to_string() })
    };
    let written = ProjectListFile { projects: projects.iter().filter_map(written).collect() };
    serde_json::to_string_pretty(&written).unwrap_or_default() + "\n"
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn after(hours: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours)
    }

    fn check(file: &Path, hours: i64, expected: &[&str]) -> ProjectStore {
        let (memory, warning) = ProjectStore::open(file.to_owned(), after(hours));
        assert_eq!(warning, None);
        assert_eq!(memory.projects(), expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "after {hours} h");
        memory
    }

    #[test]
    fn projects_are_remembered_and_forgotten() {
        let home = TempDir::new().expect("a directory");
        let file = home.path().join("state/roots.json");
        let memory = check(&file, 0, &[]);
        memory.touch(Path::new("/srv/a"), after(0));
        memory.touch(Path::new("/srv/b"), after(1));
        let memory = check(&file, 2, &["/srv/a", "/srv/b"]);
        memory.touch(Path::new("/srv/a"), after(23));
        check(&file, 90 * 24, &["/srv/b"]);
        memory.touch(Path::new("/srv/b"), after(26));
        check(&file, 90 * 24 + 1, &["/srv/b"]);
        check(&file, 91 * 24 + 2, &[]);
    }

    #[test]
    fn nothing_is_written_while_it_is_fresh() {
        let home = TempDir::new().expect("a directory");
        let file = home.path().join("roots.json");
        let memory = check(&file, 0, &[]);
        memory.touch(Path::new("/srv/a"), after(0));
        fs::remove_file(&file).expect("a removal");
        memory.touch(Path::new("/srv/a"), after(23));
        assert!(!file.exists());
        memory.touch(Path::new("/srv/a"), after(24));
        check(&file, 25, &["/srv/a"]);
    }

    #[test]
    fn a_broken_file_is_put_aside() {
        let home = TempDir::new().expect("a directory");
        let file = home.path().join("roots.json");
        for broken in ["", "[]", "{\"projects\": 1}", r#"{"projects": [{"path": "/a", "last_seen": "yesterday"}]}"#] {
            fs::write(&file, broken).expect("a file");
            let (memory, warning) = ProjectStore::open(file.clone(), after(0));
            assert!(warning.is_some_and(|warning| warning.contains("roots.json.broken")), "{broken}");
            assert!(memory.projects().is_empty());
            assert_eq!(fs::read_to_string(home.path().join("roots.json.broken")).expect("put aside"), broken);
            memory.touch(Path::new("/srv/a"), after(0));
            check(&file, 1, &["/srv/a"]);
        }
    }

    #[test]
    fn only_so_many_are_remembered() {
        let home = TempDir::new().expect("a directory");
        let file = home.path().join("roots.json");
        let memory = check(&file, 0, &[]);
        let many = (0..MAX_PROJECTS as i64).map(|number| (PathBuf::from(format!("/srv/{number}")), after(number)));
        *memory.projects.lock() = many.collect();
        memory.touch(Path::new("/srv/new"), after(MAX_PROJECTS as i64));
        let known = memory.projects();
        assert!(known.len() == MAX_PROJECTS && !known.contains(&"/srv/0".into()) && known.contains(&"/srv/new".into()));
    }
}
