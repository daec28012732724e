//! Values that fit what is being typed: projects, folders, files and tasks. Case and accents do not matter, and a word
//! in the middle of a name is found, too; names that begin with what was typed come first.

use super::layout::{FOLDERS, place, project_path};
use super::needs::{self, ListingResult};
use super::numbers;
use super::ops::FilesResult;
use super::workspace::{Files, WorkspaceDocument};
use crate::disk::{EntryKind, ReadDirectory, ReadFilesInTree};
use crate::families::{CompletionRequest, SessionContext, TwoPhase, two_phase};
use crate::text::folding::fold_word;

/// What completing looks at: the projects, and the files of the one that was chosen already.
type CompletionNeed = (ReadDirectory, Option<ReadFilesInTree<super::model::Document>>);

/// For arguments and variables that name a project, and something in it.
pub fn completion(project: &'static str) -> TwoPhase<CompletionRequest, Vec<String>> {
    two_phase(
        move |partial: &CompletionRequest, session: &SessionContext| {
            let place = place(session);
            let chosen = partial.others.get(project).filter(|_| partial.name != project);
            let chosen = chosen.and_then(|name| project_path(name).ok());
            let files = chosen.map(|path| needs::files(&place, Some(path)));
            Ok::<CompletionNeed, _>((needs::listing(&place, None), files))
        },
        move |(listed, seen), partial, _| Ok(values(project, listed, seen, partial)),
    )
}

fn values(project: &str, listed: ListingResult, seen: Option<FilesResult>, partial: &CompletionRequest) -> Vec<String> {
    let files = seen.and_then(Result::ok).map(|seen| Files::of(&seen)).unwrap_or_default();
    match partial.name.as_str() {
        name if name == project => fitting(projects(listed), &partial.value),
        "folder" => fitting(FOLDERS.iter().map(|(folder, ..)| (*folder).to_owned()), &partial.value),
        "file" => {
            let folder = partial.others.get("folder");
            let documents = files.documents.iter().map(|entry| &entry.path);
            let all = documents.chain(files.others.iter().map(|file| &file.path));
            let here = all.filter(|path| folder.is_none_or(|folder| path.folder == *folder));
            fitting(here.map(|path| path.filename.clone()), &partial.value)
        }
        "focus" => tasks(&files.documents, &partial.value),
        _ => Vec::new(),
    }
}

/// The names of all projects.
pub fn projects(listed: ListingResult) -> Vec<String> {
    let is_project =
        |entry: &crate::disk::DirectoryEntry| entry.kind == EntryKind::Directory && !entry.name.starts_with('.');
    let mut names: Vec<String> =
        listed.unwrap_or_default().into_iter().filter(is_project).map(|entry| entry.name).collect();
    names.sort();
    names
}

/// Numbers while a number is typed; names of files once it is a word.
fn tasks(documents: &[WorkspaceDocument], value: &str) -> Vec<String> {
    let tasks: Vec<&WorkspaceDocument> = documents.iter().filter(|entry| entry.path.folder == "tasks").collect();
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        let fits = |label: &&str| label.starts_with(value) || label.trim_start_matches('0').starts_with(value);
        let mut labels: Vec<&str> =
            tasks.iter().filter_map(|task| numbers::label(&task.path.filename)).filter(fits).collect();
        labels.dedup();
        return labels.into_iter().map(str::to_owned).collect();
    }
    let word = fold_word(value);
    let fits = |task: &&&WorkspaceDocument| {
        fold_word(task.title()).contains(&word) || fold_word(&task.path.filename).contains(&word)
    };
    tasks.iter().filter(fits).map(|task| task.path.full_stem().to_owned()).collect()
}

/// Those that begin with the value, then those that hold it.
fn fitting(names: impl IntoIterator<Item = String>, value: &str) -> Vec<String> {
    let value = fold_word(value);
    let (mut first, others): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|name| fold_word(name).starts_with(&value));
    first.extend(others.into_iter().filter(|name| fold_word(name).contains(&value)));
    first
}

#[cfg(test)]
mod tests {
    use super::super::workspace::tests::entry;
    use super::*;

    fn check(value: &str, expected: &[&str]) {
        let names = ["Año", "banano", "設定", "otro"].map(str::to_owned);
        assert_eq!(fitting(names, value), expected, "{value}");
    }

    #[test]
    fn names_are_found_without_case_and_accents() {
        check("", &["Año", "banano", "設定", "otro"]);
        check("ANO", &["Año", "banano"]);
        check("設", &["設定"]);
        check("定", &["設定"]);
        check("x", &[]);
    }

    #[test]
    fn tasks_are_found_by_number_and_by_word() {
        let entries = [
            entry("p/tasks/004-disenar.md", "# Task: Diseñar", 0),
            entry("p/tasks/041-x.md", "# Task: 設定を直す", 0),
            entry("p/tasks/free.md", "", 0),
            entry("p/plans/004-no.md", "# Diseñar", 0),
        ];
        let check = |value: &str, expected: &[&str]| assert_eq!(tasks(&entries, value), expected, "{value}");
        check("", &["004", "041"]);
        check("4", &["004", "041"]);
        check("00", &["004"]);
        check("0", &["004", "041"]);
        check("41", &["041"]);
        check("diseñ", &["004-disenar"]);
        check("設定", &["041-x"]);
        check("FREE", &["free"]);
    }
}
