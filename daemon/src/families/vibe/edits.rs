//! The verbs that write: what was seen and the arguments come in, an answer and an edit go out. Pure; the order of the
//! checks is the contract's, and nothing is in an edit before all of them have passed.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::arguments::{InitArgs, LogArgs, NewPlanArgs, ReadArgs, StatusArgs, TaskArgs, WriteArgs};
use super::error::VibeError;
use super::layout::{
    DocumentPath, FILE_LIMIT, FOLDERS, as_markdown, in_folder, is_markdown, new_name, project_path, readable_files,
    with_extension,
};
use super::looks::{self, Listed};
use super::model::{Document, decoded, in_place};
use super::numbers;
use super::ops::{Seen, SeenFirst, file_exists, found, plain_text, project_exists};
use super::status_line::{changed, spliced};
use super::uris::{Change, told};
use crate::clock::Now;
use crate::disk::RelativePath;
use crate::families::edit::Edit;
use crate::families::need::{Entry, FileSeen, Found, Links, Place, Unseen};
use crate::text::front;
use crate::text::hash::hash_of;
use crate::text::names::folded;
use crate::tools::Answer;

/// A writing tool's result.
pub type Done = Result<(Answer, Edit), VibeError>;
/// What was seen where a file goes: the file, and who lives beside it.
pub type Around = Option<(Seen, Listed)>;

/// A new document.
pub fn create_doc(((place, listed), root, around): ((Place, Listed), Option<Found>, Around), args: &WriteArgs) -> Done {
    let target = &args.target;
    project_exists(&target.project, listed)?;
    let path = looks::creatable(target)?;
    let at = document_path(target);
    may_have_front_matter(&at, args)?;
    absent(&at, around, "choose another name, or change the file with `update_doc`")?;
    let text = match &args.frontmatter {
        None => args.content.clone(),
        Some(frontmatter) => {
            let split = front::split(&args.content);
            front::merged(split.front.as_ref(), frontmatter, &args.content[split.body..])
        }
    };
    fits(&at, text.len())?;
    let answer = json!({
        "success": true,
        "path": at.path(),
        "absolute_path": absolute(&place, root, &at.path()),
        "indexed": at.is_document(),
    });
    let edit = Edit::nothing().create(place, path, Links::Inside, text.into_bytes());
    Ok((told(Answer::object(answer), &at, Change::Appeared), edit))
}

/// Other text in a file.
pub fn update_doc(((place, listed), seen): ((Place, Listed), SeenFirst), args: &WriteArgs) -> Done {
    let target = &args.target;
    project_exists(&target.project, listed)?;
    let mut paths = looks::changeable(target)?;
    let (at, which, seen) = found(target, seen)?;
    may_have_front_matter(&at, args)?;
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
            let split = front::split(&args.content);
            let base = split.front.or_else(|| front::split(&current).front);
            front::merged(base.as_ref(), frontmatter, &args.content[split.body..]).into_bytes()
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
    Ok((told_if(&edit, Answer::object(answer), &at), edit))
}

/// The bytes of a document with another body. Its block stays in front as it is, unless the new text has its own.
fn behind_block(old: &[u8], content: &str) -> Vec<u8> {
    let (text, new) = (in_place(old), front::split(content));
    let split = front::split(&text);
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

/// Only Markdown has front matter: a block in front of JSON would break it.
fn may_have_front_matter(at: &DocumentPath, args: &WriteArgs) -> Result<(), VibeError> {
    let given = args.frontmatter.as_ref().filter(|frontmatter| !frontmatter.is_empty() && !at.is_document());
    given.map_or(Ok(()), |given| {
        let given = Value::Object(given.clone());
        Err(VibeError::argument("frontmatter", "left out for a file that is not Markdown", Some(&given)))
    })
}

/// A new task with the next number.
pub fn create_task(((place, listed), tasks): ((Place, Listed), Option<Listed>), args: &TaskArgs) -> Done {
    project_exists(&args.project, listed)?;
    let directory = project_path(&args.project)?.join("tasks");
    let directory = directory.ok_or_else(|| VibeError::path("project", &args.project, "the path is too long"))?;
    let tasks = names_in(&directory, tasks)?;
    let number = numbers::shown(numbers::next(tasks.iter().map(|entry| entry.name.as_str())));
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
    let edit = Edit::nothing().create(place.clone(), path, Links::Inside, text.into_bytes()).alone_in(place, directory);
    Ok((told(Answer::object(answer), &at, Change::Appeared), edit))
}

/// The name of the task that is meant, among those that are there.
pub fn task_name(args: &StatusArgs, tasks: Option<&Listed>) -> Result<String, VibeError> {
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
    let found = numbers::resolved(&args.task, &args.project, &names)?;
    Ok(found.map_or_else(|| as_markdown(&args.task), str::to_owned))
}

/// How far a task is now.
pub fn update_task_status(
    ((place, listed), (tasks, seen)): ((Place, Listed), (Option<Listed>, Option<Seen>)),
    args: &StatusArgs,
    now: &Now,
) -> Done {
    project_exists(&args.project, listed)?;
    let filename = task_name(args, tasks.as_ref())?;
    let at = DocumentPath { project: args.project.clone(), folder: "tasks".to_owned(), filename };
    let seen = file_exists(&at.project, &at.in_project(), seen)?;
    matching(&at, &seen, args.if_match.as_deref())?;
    let text = in_place(&seen.bytes);
    let metadata = Document::of(&text).said.metadata(&at, seen.identity.modified_ns, &now.zone);
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
            let path = project_path(&at.project)?.below(&names_of(&at)?);
            replaced(place, path, &seen, spliced(&seen.bytes, &changed(&text, &args.status)))
        }
    };
    Ok((told_if(&edit, Answer::object(answer), &at), edit))
}

/// Where `create_plan` writes.
pub fn plan_target(args: &NewPlanArgs) -> ReadArgs {
    ReadArgs { project: args.project.clone(), folder: "plans".to_owned(), filename: args.filename.clone() }
}

/// A plan, new or other than before.
pub fn create_plan(((place, listed), around): ((Place, Listed), Around), args: &NewPlanArgs) -> Done {
    let target = plan_target(args);
    project_exists(&target.project, listed)?;
    let path = looks::creatable(&target)?;
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
            Ok((told_if(&edit, answer("updated"), &at), edit))
        }
        around => {
            absent(&at, around, "choose another name for the plan")?;
            nothing_expected(&at, args.if_match.as_deref())?;
            let edit = Edit::nothing().create(place, path, Links::Inside, bytes);
            Ok((told(answer("created"), &at, Change::Appeared), edit))
        }
    }
}

/// The session's note of today, new or longer than before.
pub fn log_session(((place, listed), (today, around)): ((Place, Listed), (Now, Around)), args: &LogArgs) -> Done {
    project_exists(&args.project, listed)?;
    let filename = looks::session_name(args, &today);
    let at = DocumentPath { project: args.project.clone(), folder: "sessions".to_owned(), filename };
    let path = project_path(&at.project)?.below(&names_of(&at)?);
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
            Ok((told(answer("appended"), &at, Change::Changed), edit))
        }
        Some((Err(why @ Unseen::TooLarge { .. }), _)) => Err(VibeError::unseen(at.path(), why)),
        around => {
            absent(&at, around, "pass a `suffix` for another note")?;
            nothing_expected(&at, args.if_match.as_deref())?;
            fits(&at, note.len())?;
            let edit = Edit::nothing().create(place, path, Links::Inside, note.into_bytes());
            Ok((told(answer("created"), &at, Change::Appeared), edit))
        }
    }
}

/// A new project with its folders.
pub fn init_project(
    (place, root, (listed, beside)): (Place, Option<Found>, (Listed, Listed)),
    args: &InitArgs,
) -> Done {
    let project = project_name(&args.project)?;
    let exists = |project: &str| Err(VibeError::ProjectExists { project: project.to_owned() });
    match listed {
        Ok(_) | Err(Unseen::IsFile | Unseen::Special | Unseen::Outside | Unseen::Link) => return exists(&args.project),
        Err(Unseen::Missing | Unseen::NoTree) => {}
        Err(why) => return Err(VibeError::unseen(&args.project, why)),
    }
    let fold = folded(&args.project);
    if let Some(other) = beside.unwrap_or_default().iter().find(|entry| folded(&entry.name) == fold) {
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
        edit = edit.directory(place.clone(), project.below(&names_of_folder(folder)?));
    }
    let edit = edit.create(place, project.below(&names_of(&at)?), Links::Inside, status.into_bytes());
    Ok((told(Answer::object(answer), &at, Change::Appeared), edit))
}

/// A name that works for a project everywhere.
pub fn project_name(name: &str) -> Result<RelativePath, VibeError> {
    let wrong = || VibeError::InvalidProjectName { project: name.to_owned() };
    let fits = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_' | '.');
    let is_name = name.chars().all(fits) && !name.starts_with('.') && !name.ends_with('.');
    if !is_name || crate::text::names::check(name).is_err() {
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
    RelativePath::of_names(&path).ok_or_else(|| VibeError::path("filename", &path, "it is no plain name"))
}

fn names_of_folder(folder: &str) -> Result<RelativePath, VibeError> {
    RelativePath::of_names(folder).ok_or_else(|| VibeError::InvalidFolder { folder: folder.to_owned() })
}

/// Who lives in a directory; one that is not there yet is empty.
fn names_in(directory: &RelativePath, listed: Option<Listed>) -> Result<Vec<Entry>, VibeError> {
    match listed.unwrap_or(Err(Unseen::Missing)) {
        Ok(entries) => Ok(entries),
        Err(Unseen::Missing | Unseen::NoTree) => Ok(Vec::new()),
        Err(why) => Err(VibeError::unseen(directory.as_str(), why)),
    }
}

/// Nothing may be where a file is to be made, neither under this name nor under one that some systems take for it.
fn absent(at: &DocumentPath, around: Around, hint: &'static str) -> Result<(), VibeError> {
    let exists = |path: String| Err(VibeError::FileExists { project: at.project.clone(), path, hint });
    let (seen, beside) = around.unwrap_or((Err(Unseen::Missing), Err(Unseen::Missing)));
    match seen {
        Ok(_) | Err(Unseen::IsDirectory | Unseen::TooLarge { .. }) => return exists(at.in_project()),
        Err(Unseen::Special) => return exists(at.in_project()),
        Err(Unseen::Missing | Unseen::NoTree) => {}
        Err(why) => return Err(VibeError::unseen(at.path(), why)),
    }
    new_name(&at.filename)?;
    let fold = folded(&at.filename);
    match beside.unwrap_or_default().iter().find(|entry| folded(&entry.name) == fold) {
        Some(other) => exists(in_folder(&at.folder, &other.name)),
        None => Ok(()),
    }
}

/// The file's hash, if it is the one that the caller has read.
fn matching(at: &DocumentPath, seen: &FileSeen, expected: Option<&str>) -> Result<String, VibeError> {
    let actual = hash_of(&seen.bytes);
    match expected.filter(|expected| !expected.eq_ignore_ascii_case(&actual)) {
        None => Ok(actual),
        Some(expected) => Err(VibeError::Conflict {
            project: at.project.clone(),
            path: at.in_project(),
            expected: expected.to_owned(),
            actual,
        }),
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
    match size as u64 > FILE_LIMIT {
        true => Err(VibeError::TooLarge { path: at.path(), size, limit: FILE_LIMIT }),
        false => Ok(()),
    }
}

/// Nothing to change: the file is not touched, not even its time.
fn replaced(place: Place, path: RelativePath, seen: &FileSeen, new: Vec<u8>) -> Edit {
    match new == seen.bytes {
        true => Edit::nothing(),
        false => Edit::nothing().replace(place, path, Links::Inside, seen, new),
    }
}

fn told_if(edit: &Edit, answer: Answer, at: &DocumentPath) -> Answer {
    if edit.is_empty() { answer } else { told(answer, at, Change::Changed) }
}

/// Where something is for other programs: the workspace's real place, if it is there already.
pub fn absolute(place: &Place, root: Option<Found>, path: &str) -> Value {
    let given = match place {
        Place::Fixed(root) => root.clone(),
        Place::InProject { below, .. } => below.clone(),
    };
    let real: Option<PathBuf> = root.and_then(|found| match found.file {
        Ok((Place::Fixed(above), name)) => Some(above.join(name.as_path())),
        _ => None,
    });
    real.unwrap_or(given).join(path).to_string_lossy().into_owned().into()
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
        assert_eq!(seen.as_ref().map(RelativePath::as_str).map_err(|error| error.code()), expected, "{name:?}");
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
        let place = Place::Fixed("/link".into());
        let name = RelativePath::of_names("real").expect("a name");
        let found = Found { which: 0, file: Ok((Place::Fixed("/srv".into()), name)) };
        assert_eq!(absolute(&place, Some(found), "p/x.md"), json!("/srv/real/p/x.md"));
        assert_eq!(absolute(&place, None, "p/x.md"), json!("/link/p/x.md"));
    }
}
