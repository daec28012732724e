//! The verbs that write: what was seen and the arguments come in, an answer and an edit go out. Pure; the order of the
//! checks is the contract's, and nothing is in an edit before all of them have passed.

use std::path::PathBuf;

use serde_json::json;

use super::arguments::{CreateArgs, InitArgs, LogArgs, NewPlanArgs, ReadArgs, StatusArgs, TaskArgs, UpdateArgs};
use super::error::{VibeError, named};
use super::layout::{
    DocumentPath, FILE_LIMIT, FOLDERS, as_markdown, in_folder, is_markdown, new_name, project_path, readable_files,
    with_extension,
};
use super::model::{Document, decoded, in_place};
use super::needs::{self, ListingResult, ProjectListed};
use super::numbers;
use super::ops::{DocumentResult, FilesResult, FirstDocumentResult, file_exists, found, plain_text, project_exists};
use super::status_line::{changed, spliced};
use crate::clock::Now;
use crate::disk::{
    DirectoryEntry, EntryKind, FileContent, ReadError, RelativePath, ResolvedPath, SymlinkPolicy, TreeLocation,
};
use crate::families::Answer;
use crate::families::edit::Edit;
use crate::families::error::{ArgumentError, CommonError, NamedFile};
use crate::families::fields::Object;
use crate::text::file_names::fold_file_name;
use crate::text::front_matter;
use crate::text::hash::hash_of;

/// Where a call works: the tree, and what is in the project.
type ProjectFiles = (TreeLocation, ProjectListed);

/// A writing tool's result.
pub type WriteResult = Result<(Answer, Edit), VibeError>;
/// What was seen where a file goes: the file, and who lives beside it.
pub type TargetFiles = Option<(DocumentResult, ListingResult)>;

/// A new document.
pub fn create_doc(
    ((place, listed), root, around): (ProjectFiles, Option<ResolvedPath>, TargetFiles),
    args: &CreateArgs,
) -> WriteResult {
    let target = &args.target;
    project_exists(&target.project, listed)?;
    let path = needs::creatable(target)?;
    let at = document_path(target);
    may_have_front_matter(&at, args.frontmatter.as_ref())?;
    has_readable_block(&at, &args.content)?;
    absent(&at, around, "choose another name, or change the file with `update_doc`")?;
    let text = match &args.frontmatter {
        None => args.content.clone(),
        Some(frontmatter) => {
            let split = front_matter::split(&args.content);
            front_matter::merged(split.front.as_ref(), frontmatter, &args.content[split.body..])
        }
    };
    fits(&at, text.len())?;
    let answer = json!({
        "success": true,
        "path": at.path(),
        "absolute_path": absolute(&place, root, &at.path()),
        "indexed": at.is_document(),
    });
    let edit = Edit::nothing().create(place, path, SymlinkPolicy::FollowInsideTree, text.into_bytes());
    Ok((Answer::object(answer), edit))
}

/// Other text in a file.
pub fn update_doc(((place, listed), seen): (ProjectFiles, FirstDocumentResult), args: &UpdateArgs) -> WriteResult {
    let target = &args.target;
    project_exists(&target.project, listed)?;
    let mut paths = needs::changeable(target)?;
    let (at, which, seen) = found(target, seen)?;
    may_have_front_matter(&at, args.frontmatter.as_ref())?;
    has_readable_block(&at, &args.content)?;
    if !at.is_document() {
        // Who cannot have read it does not know what would be lost.
        plain_text(&at, &seen)?;
    }
    let previous = matching(&at, &seen, args.if_match.as_deref())?;
    let bytes = match &args.frontmatter {
        _ if !at.is_document() => args.content.clone().into_bytes(),
        None => behind_block(&seen.bytes, &args.content),
        Some(frontmatter) => {
            let current = decoded(&seen.bytes);
            let split = front_matter::split(&args.content);
            let base = split.front.or_else(|| front_matter::split(&current).front);
            front_matter::merged(base.as_ref(), frontmatter, &args.content[split.body..]).into_bytes()
        }
    };
    fits(&at, bytes.len())?;
    let answer = json!({
        "success": true,
        "path": at.path(),
        "previous_hash": previous,
        "new_hash": hash_of(&bytes),
        "indexed": at.is_document(),
    });
    let edit = replaced(place, paths.swap_remove(which), &seen, bytes);
    Ok((Answer::object(answer), edit))
}

/// The bytes of a document with another body. Its block stays in front as it is, unless the new text has its own.
fn behind_block(old: &[u8], content: &str) -> Vec<u8> {
    let (text, new) = (in_place(old), front_matter::split(content));
    let split = front_matter::split(&text);
    if new.front.is_some() || split.front.is_none() {
        return content.as_bytes().to_vec();
    }
    let mut bytes = old[..split.body].to_vec();
    if !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(&content.as_bytes()[new.body..]);
    bytes
}

/// Front matter that takes up far more than its length says is not written: it would count as text at once.
fn has_readable_block(at: &DocumentPath, content: &str) -> Result<(), VibeError> {
    if at.is_document() && front_matter::split(content).is_over_budget {
        return Err(ArgumentError::is("has front matter whose aliases or nesting go too far").of("content").into());
    }
    Ok(())
}

/// Only Markdown has front matter: a block in front of JSON would break it.
fn may_have_front_matter(at: &DocumentPath, frontmatter: Option<&Object>) -> Result<(), VibeError> {
    match frontmatter.filter(|frontmatter| !frontmatter.is_empty() && !at.is_document()) {
        None => Ok(()),
        Some(given) => {
            let error = ArgumentError::must_be("left out for a file that is not Markdown").of("frontmatter");
            Err(error.value(given.clone()).into())
        }
    }
}

/// A new task with the next number.
pub fn create_task(((place, listed), tasks): (ProjectFiles, Option<ListingResult>), args: &TaskArgs) -> WriteResult {
    project_exists(&args.project, listed)?;
    let directory = project_path(&args.project)?.join("tasks");
    let directory = directory.ok_or_else(|| VibeError::path("project", &args.project, "the path is too long"))?;
    let tasks = names_in(&directory, tasks)?;
    let number = numbers::padded(numbers::next(tasks.iter().map(|entry| entry.name.as_str())));
    let filename = format!("{number}-{}.md", args.task.slug());
    let path = directory.join(&filename);
    let path = path.ok_or_else(|| VibeError::path("project", &args.project, "the path is too long"))?;
    let at = DocumentPath { project: args.project.clone(), folder: "tasks".to_owned(), filename };
    let text = args.task.text();
    fits(&at, text.len())?;
    let answer = json!({
        "success": true,
        "task": { "number": number, "filename": at.filename, "path": at.path(), "status": args.task.status },
        "indexed": true,
    });
    let edit = Edit::nothing()
        .create(place.clone(), path, SymlinkPolicy::FollowInsideTree, text.into_bytes())
        .locked_directories(place, directory);
    Ok((Answer::object(answer), edit))
}

/// The name of the task that is meant, among those that are there.
pub fn task_name(args: &StatusArgs, tasks: Option<&ListingResult>) -> Result<String, VibeError> {
    let project = project_path(&args.project)?;
    if args.task.contains('/') {
        return Err(VibeError::path("task", &args.task, "it must be one name, without separators"));
    }
    readable_files(&project, "tasks", &args.task).map_err(|error| match error {
        VibeError::InvalidPath { given, why, .. } => VibeError::InvalidPath { field: "task", given, why },
        other => other,
    })?;
    let entries = tasks.and_then(|listed| listed.as_ref().ok()).map(Vec::as_slice).unwrap_or_default();
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).filter(|name| is_markdown(name)).collect();
    // A name that is not listed may still be a link, or spelt in another Unicode form.
    let found = numbers::find_task(&args.task, &args.project, &names)?;
    Ok(found.map_or_else(|| as_markdown(&args.task), str::to_owned))
}

/// How far a task is now.
pub fn update_task_status(
    ((place, listed), (tasks, seen)): (ProjectFiles, (Option<ListingResult>, Option<DocumentResult>)),
    args: &StatusArgs,
    now: &Now,
) -> WriteResult {
    project_exists(&args.project, listed)?;
    let filename = task_name(args, tasks.as_ref())?;
    let at = DocumentPath { project: args.project.clone(), folder: "tasks".to_owned(), filename };
    let seen = file_exists(&at.project, &at.in_project(), seen)?;
    matching(&at, &seen, args.if_match.as_deref())?;
    let text = in_place(&seen.bytes);
    let metadata = Document::of(&text).said.metadata(&at, seen.stamp.modified_ns, &now.zone);
    let answer = json!({
        "success": true,
        "task": {
            "filename": at.filename,
            "path": at.path(),
            "previous_status": metadata.status,
            "new_status": args.status,
        },
        "indexed": true,
    });
    let edit = match metadata.status.as_deref() == Some(&args.status) {
        true => Edit::nothing(),
        false => {
            let path = project_path(&at.project)?.join_path(&names_of(&at)?);
            replaced(place, path, &seen, spliced(&seen.bytes, &changed(&text, &args.status)))
        }
    };
    Ok((Answer::object(answer), edit))
}

/// Where `create_plan` writes.
pub fn plan_target(args: &NewPlanArgs) -> ReadArgs {
    ReadArgs { project: args.project.clone(), folder: "plans".to_owned(), filename: args.filename.clone() }
}

/// A plan, new or other than before.
pub fn create_plan(((place, listed), around): (ProjectFiles, TargetFiles), args: &NewPlanArgs) -> WriteResult {
    let target = plan_target(args);
    project_exists(&target.project, listed)?;
    let path = needs::creatable(&target)?;
    let at = document_path(&target);
    fits(&at, args.content.len())?;
    let answer = |action: &str| {
        let indexed = at.is_document();
        Answer::object(json!({ "success": true, "path": at.path(), "action": action, "indexed": indexed }))
    };
    let bytes = args.content.clone().into_bytes();
    match around {
        Some((Ok(seen), _)) => {
            matching(&at, &seen, args.if_match.as_deref())?;
            let edit = replaced(place, path, &seen, bytes);
            Ok((answer("updated"), edit))
        }
        around => {
            absent(&at, around, "choose another name for the plan")?;
            nothing_expected(&at, args.if_match.as_deref())?;
            let edit = Edit::nothing().create(place, path, SymlinkPolicy::FollowInsideTree, bytes);
            Ok((answer("created"), edit))
        }
    }
}

/// The session's note of today, new or longer than before.
pub fn log_session(
    ((place, listed), (today, around)): (ProjectFiles, (Now, TargetFiles)),
    args: &LogArgs,
) -> WriteResult {
    project_exists(&args.project, listed)?;
    let filename = needs::session_name(args, &today);
    let at = DocumentPath { project: args.project.clone(), folder: "sessions".to_owned(), filename };
    let path = project_path(&at.project)?.join_path(&names_of(&at)?);
    let answer = |action: &str| {
        let session = json!({ "filename": at.filename, "path": at.path(), "action": action });
        Answer::object(json!({ "success": true, "session": session, "indexed": true }))
    };
    let note = format!("{}\n", args.content.trim_end());
    match around {
        Some((Ok(seen), _)) => {
            matching(&at, &seen, args.if_match.as_deref())?;
            let mut bytes = without_ends(&seen.bytes).to_vec();
            bytes.extend_from_slice(b"\n\n---\n\n");
            bytes.extend_from_slice(note.as_bytes());
            fits(&at, bytes.len())?;
            let edit = replaced(place, path, &seen, bytes);
            Ok((answer("appended"), edit))
        }
        Some((Err(why @ ReadError::TooLarge { .. }), _)) => Err(VibeError::read_error(at.path(), why)),
        around => {
            absent(&at, around, "pass a `suffix` for another note")?;
            nothing_expected(&at, args.if_match.as_deref())?;
            fits(&at, note.len())?;
            let edit = Edit::nothing().create(place, path, SymlinkPolicy::FollowInsideTree, note.into_bytes());
            Ok((answer("created"), edit))
        }
    }
}

/// What `init_project` looks at: the project's directory, its files, and what is beside it.
pub type NewProjectSeen = (ListingResult, FilesResult, ListingResult);

/// Whether a crash cut off the making of a project: it has some of the folders and not a single file.
fn is_cut_off(entries: &[DirectoryEntry], files: &FilesResult) -> bool {
    let is_folder = |entry: &DirectoryEntry| {
        entry.kind == EntryKind::Directory && FOLDERS.iter().any(|(folder, ..)| *folder == entry.name)
    };
    let is_empty = files.as_ref().is_ok_and(|files| files.models.is_empty() && files.others.is_empty());
    is_empty && entries.iter().all(is_folder)
}

/// A new project with its folders.
pub fn init_project(
    (place, root, (listed, files, beside)): (TreeLocation, Option<ResolvedPath>, NewProjectSeen),
    args: &InitArgs,
) -> WriteResult {
    let project = project_name(&args.project)?;
    let exists = |project: &str| Err(VibeError::ProjectExists { project: project.to_owned() });
    let mut is_repeated = false;
    match listed {
        Ok(entries) if is_cut_off(&entries, &files) => is_repeated = true,
        Ok(_) | Err(ReadError::IsFile | ReadError::NotRegular | ReadError::OutsideTree | ReadError::SymlinkRefused) => {
            return exists(&args.project);
        }
        Err(ReadError::Missing | ReadError::TreeMissing) => {}
        Err(why) => return Err(VibeError::read_error(&args.project, why)),
    }
    let fold = fold_file_name(&args.project);
    let is_other = |entry: &&DirectoryEntry| !(is_repeated && entry.name == args.project);
    let beside = beside.unwrap_or_default();
    if let Some(other) = beside.iter().filter(is_other).find(|entry| fold_file_name(&entry.name) == fold) {
        return exists(&other.name);
    }
    let at = DocumentPath { project: args.project.clone(), folder: String::new(), filename: "status.md".to_owned() };
    let answer = json!({
        "success": true,
        "status": "initialized",
        "project": args.project,
        "path": args.project,
        "absolute_path": absolute(&place, root, &args.project),
        "folders": FOLDERS.map(|(folder, ..)| folder),
        "indexed": true,
    });
    let status = format!("# {}\n\nStatus: setup\n", args.project);
    let mut edit = Edit::nothing();
    for (folder, ..) in FOLDERS {
        edit = edit.directory(place.clone(), project.join_path(&names_of_folder(folder)?));
    }
    let edit =
        edit.create(place, project.join_path(&names_of(&at)?), SymlinkPolicy::FollowInsideTree, status.into_bytes());
    Ok((Answer::object(answer), edit))
}

/// A name that works for a project everywhere.
pub fn project_name(name: &str) -> Result<RelativePath, VibeError> {
    let wrong = || VibeError::InvalidProjectName { project: name.to_owned() };
    let fits = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_' | '.');
    let is_name = name.chars().all(fits) && !name.starts_with('.') && !name.ends_with('.');
    if !is_name || crate::text::file_names::check_portable(name).is_err() {
        return Err(wrong());
    }
    project_path(name).map_err(|_| wrong())
}

fn document_path(target: &ReadArgs) -> DocumentPath {
    let (project, folder) = (target.project.clone(), target.folder.clone());
    DocumentPath { project, folder, filename: with_extension(&target.filename) }
}

fn names_of(at: &DocumentPath) -> Result<RelativePath, VibeError> {
    let path = at.in_project();
    RelativePath::from_components(&path).ok_or_else(|| VibeError::path("filename", &path, "it is no plain name"))
}

fn names_of_folder(folder: &str) -> Result<RelativePath, VibeError> {
    RelativePath::from_components(folder).ok_or_else(|| VibeError::InvalidFolder { folder: folder.to_owned() })
}

/// Who lives in a directory; one that is not there yet is empty.
fn names_in(directory: &RelativePath, listed: Option<ListingResult>) -> Result<Vec<DirectoryEntry>, VibeError> {
    match listed.unwrap_or(Err(ReadError::Missing)) {
        Ok(entries) => Ok(entries),
        Err(ReadError::Missing | ReadError::TreeMissing) => Ok(Vec::new()),
        Err(why) => Err(VibeError::read_error(directory.as_str(), why)),
    }
}

/// Nothing may be where a file is to be made, neither under this name nor under one that some systems take for it.
fn absent(at: &DocumentPath, around: TargetFiles, hint: &'static str) -> Result<(), VibeError> {
    let exists = |path: String| Err(VibeError::FileExists { project: at.project.clone(), path, hint });
    let (seen, beside) = around.unwrap_or((Err(ReadError::Missing), Err(ReadError::Missing)));
    match seen {
        Ok(_) | Err(ReadError::IsDirectory | ReadError::NotRegular | ReadError::TooLarge { .. }) => {
            return exists(at.in_project());
        }
        Err(ReadError::Missing | ReadError::TreeMissing) => {}
        Err(why) => return Err(VibeError::read_error(at.path(), why)),
    }
    new_name(&at.filename)?;
    let fold = fold_file_name(&at.filename);
    match beside.unwrap_or_default().iter().find(|entry| fold_file_name(&entry.name) == fold) {
        Some(other) => exists(in_folder(&at.folder, &other.name)),
        None => Ok(()),
    }
}

/// The file's hash, if it is the one that the caller has read.
fn matching(at: &DocumentPath, seen: &FileContent, expected: Option<&str>) -> Result<String, VibeError> {
    let actual = hash_of(&seen.bytes);
    match expected.filter(|expected| !expected.eq_ignore_ascii_case(&actual)) {
        None => Ok(actual),
        Some(expected) => {
            let file = named(&at.project, at.in_project());
            Err(CommonError::Changed { file, expected: expected.to_owned(), actual: Some(actual) }.into())
        }
    }
}

/// A caller who has read a file does not want a new one.
fn nothing_expected(at: &DocumentPath, expected: Option<&str>) -> Result<(), VibeError> {
    match expected {
        None => Ok(()),
        Some(_) => Err(VibeError::FileNotFound { project: at.project.clone(), path: at.in_project() }),
    }
}

fn fits(at: &DocumentPath, size: usize) -> Result<(), VibeError> {
    let too_large = || CommonError::TooLarge { file: NamedFile::new("path", at.path()), size, limit: FILE_LIMIT };
    if size as u64 > FILE_LIMIT { Err(too_large().into()) } else { Ok(()) }
}

/// Nothing to change: the file is not touched, not even its time.
fn replaced(place: TreeLocation, path: RelativePath, seen: &FileContent, new: Vec<u8>) -> Edit {
    let edit = Edit::nothing();
    if new == seen.bytes { edit } else { edit.replace(place, path, SymlinkPolicy::FollowInsideTree, seen, new) }
}

/// Where something is for other programs: the workspace's real place, if it is there already.
pub fn absolute(place: &TreeLocation, root: Option<ResolvedPath>, path: &str) -> String {
    let given = match place {
        TreeLocation::Fixed(root) => root.clone(),
        TreeLocation::InProject { below, .. } => below.clone(),
    };
    let real: Option<PathBuf> = root.and_then(|found| match found.file {
        Ok((TreeLocation::Fixed(above), name)) => Some(above.join(name.as_path())),
        _ => None,
    });
    real.unwrap_or(given).join(path).to_string_lossy().into_owned()
}

/// Without line ends at the end.
fn without_ends(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    &bytes[..end]
}

#[cfg(test)]
mod tests {
    use trellis_protocol::failure::Coded as _;

    use super::*;

    fn check_name(name: &str, expected: Result<&str, &str>) {
        let seen = project_name(name);
        assert_eq!(seen.as_ref().map(RelativePath::as_str).map_err(|error| error.info().code), expected, "{name:?}");
    }

    #[test]
    fn projects_have_plain_names() {
        for name in ["vibeMCP", "a-b_c", "v1.2", "proyecto-ñ", "計画"] {
            check_name(name, Ok(name));
        }
        for name in
            ["", " ", ".", "..", ".x", "x.", "a b", "a/b", "../x", "a\\b", "a:b", "con", "a\0", &"x".repeat(201)]
        {
            check_name(name, Err("INVALID_PROJECT_NAME"));
        }
    }

    fn check_update(old: &[u8], content: &str, expected: &[u8]) {
        let seen = behind_block(old, content);
        assert_eq!(String::from_utf8_lossy(&seen), String::from_utf8_lossy(expected), "{content:?}");
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_block_stays_in_front_of_other_text() {
        check_update(b"---\n# mine\ntags:  [a]\n---\nold\n", "new\n", b"---\n# mine\ntags:  [a]\n---\nnew\n");
        let crlf = b"\xef\xbb\xbf---\r\nowner: ana\r\n...  \r\nold";
        check_update(crlf, "\u{feff}new", b"\xef\xbb\xbf---\r\nowner: ana\r\n...  \r\nnew");
        check_update(b"---\na: '\xff'\n---\nold\xfe", "new", b"---\na: '\xff'\n---\nnew");
        check_update(b"---\na: 1\n---", "new", b"---\na: 1\n---\nnew");
        check_update(b"---\na: 1\n---\nold", "", b"---\na: 1\n---\n");
        check_update(b"---\na: 1\n---\nold", "---\nb: 2\n---\nnew", b"---\nb: 2\n---\nnew");
        check_update(b"---\na: 1\n---\nold", "---\n---\nnew", b"---\n---\nnew");
        check_update(b"---\na: 1\n---\nold", "---\n\nnew", b"---\na: 1\n---\n---\n\nnew");
        check_update(b"---\nbroken\n---\nold", "new", b"new");
        check_update(b"old", "\u{feff}new", "\u{feff}new".as_bytes());
    }

    #[test]
    fn the_real_place_is_told_if_there_is_one() {
        let place = TreeLocation::Fixed("/link".into());
        let name = RelativePath::from_components("real").expect("a name");
        let found = ResolvedPath { which: 0, file: Ok((TreeLocation::Fixed("/srv".into()), name)) };
        assert_eq!(absolute(&place, Some(found), "p/x.md"), json!("/srv/real/p/x.md"));
        assert_eq!(absolute(&place, None, "p/x.md"), json!("/link/p/x.md"));
    }
}
