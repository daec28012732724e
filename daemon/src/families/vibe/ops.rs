//! The verbs that only read: what was seen and the arguments come in, answers go out. Pure; the order of the checks is
//! the contract's.

use serde_json::{Value, json};

use super::arguments::{ListArgs, PlanArgs, ReadArgs};
use super::error::VibeError;
use super::layout::{DocumentPath, in_folder, names_meant, with_extension};
use super::looks::{self, Listed};
use super::metadata::Said;
use super::model::{Document, decoded, shown};
use super::plan::Plan;
use super::workspace::{Entry, Files, entries};
use crate::clock::Now;
use crate::families::need::{Below, FileAt, FileSeen, FilesSeen, Place, Unseen};
use crate::text::front;
use crate::text::hash::hash_of;
use crate::tools::Answer;

/// A file as it was seen.
pub type Seen = Result<FileSeen, Unseen>;
/// The first of several files as it was seen; none if none may be looked at.
pub type SeenFirst = Option<(usize, Seen)>;
/// Models as they were seen.
pub type SeenBelow = Result<Vec<Below<Document>>, Unseen>;
/// Models and other files as they were seen.
pub type SeenFiles = Result<FilesSeen<Document>, Unseen>;

/// Whether the project is there.
pub fn project_exists(project: &str, listed: Listed) -> Result<(), VibeError> {
    match listed {
        Ok(_) => Ok(()),
        Err(Unseen::Missing | Unseen::NoTree | Unseen::IsFile | Unseen::Special | Unseen::IsDirectory) => {
            Err(VibeError::ProjectNotFound { project: project.to_owned() })
        }
        Err(Unseen::Outside | Unseen::Link) => {
            Err(VibeError::path("project", project, "a link leads out of the workspace"))
        }
        Err(why) => Err(VibeError::unseen(project, why)),
    }
}

/// A file that must be there; the path is below its project.
pub fn file_exists(project: &str, path: &str, seen: Option<Seen>) -> Result<FileSeen, VibeError> {
    match seen.unwrap_or(Err(Unseen::Missing)) {
        Ok(seen) => Ok(seen),
        Err(Unseen::Missing | Unseen::NoTree | Unseen::IsFile | Unseen::IsDirectory) => {
            Err(VibeError::FileNotFound { project: project.to_owned(), path: path.to_owned() })
        }
        Err(Unseen::Outside | Unseen::Link) => {
            Err(VibeError::path("filename", path, "a link leads out of the workspace"))
        }
        Err(why) => Err(VibeError::unseen(format!("{project}/{path}"), why)),
    }
}

/// Models that may be missing because their directory is.
pub fn models(seen: SeenBelow) -> Result<Vec<Entry>, VibeError> {
    match seen {
        Ok(below) => Ok(entries(&below)),
        Err(Unseen::Missing | Unseen::NoTree | Unseen::IsFile) => Ok(Vec::new()),
        Err(why) => Err(VibeError::unseen("tasks", why)),
    }
}

/// The same for models and the files beside them.
pub fn files(seen: SeenFiles) -> Result<Files, VibeError> {
    match seen {
        Ok(seen) => Ok(Files::of(&seen)),
        Err(Unseen::Missing | Unseen::NoTree | Unseen::IsFile) => Ok(Files::default()),
        Err(why) => Err(VibeError::unseen("tasks", why)),
    }
}

/// A file that must be there under one of the names that may be meant: its place, which of the names, and its bytes.
pub fn found(target: &ReadArgs, seen: SeenFirst) -> Result<(DocumentPath, usize, FileSeen), VibeError> {
    let mut names = names_meant(&target.filename);
    let (which, seen) = match seen {
        Some((which, seen)) => (which.min(names.len() - 1), Some(seen)),
        None => (names.len() - 1, None),
    };
    let filename = names.swap_remove(which);
    let seen = file_exists(&target.project, &in_folder(&target.folder, &filename), seen)?;
    let at = DocumentPath { project: target.project.clone(), folder: target.folder.clone(), filename };
    Ok((at, which, seen))
}

/// The text of a file that is no document: all of it as it is, or nothing.
pub fn plain_text<'a>(at: &DocumentPath, seen: &'a FileSeen) -> Result<&'a str, VibeError> {
    let not_text = |_| VibeError::NotText { project: at.project.clone(), path: at.in_project() };
    str::from_utf8(&seen.bytes).map_err(not_text)
}

/// A whole document, or another file that is text.
pub fn read_doc((listed, seen): (Listed, SeenFirst), args: &ReadArgs, now: &Now) -> Result<Value, VibeError> {
    project_exists(&args.project, listed)?;
    looks::readable(args)?;
    let (at, _, seen) = found(args, seen)?;
    let (said, content) = said(&at, &seen)?;
    Ok(json!({
        "project": at.project,
        "folder": at.folder,
        "filename": at.filename,
        "path": at.path(),
        "metadata": said.metadata(&at, seen.identity.modified_ns, &now.zone).json(),
        "content": content,
        "hash": hash_of(&seen.bytes),
    }))
}

/// What a file says about itself, and its text. Only documents say anything.
fn said(at: &DocumentPath, seen: &FileSeen) -> Result<(Said, String), VibeError> {
    match at.is_document() {
        true => Ok((Document::of(&decoded(&seen.bytes)).said, shown(&seen.bytes))),
        false => Ok((Said::default(), plain_text(at, seen)?.to_owned())),
    }
}

/// The tasks that a caller wants.
pub fn wanted_tasks(seen: &SeenBelow, status: Option<&str>) -> Vec<Entry> {
    let all = seen.as_ref().map(|below| entries(below)).unwrap_or_default();
    all.into_iter().filter(|entry| status.is_none_or(|status| entry.status() == Some(status))).collect()
}

/// The files of those tasks, if their texts are wanted too.
pub fn task_texts(place: &Place, args: &ListArgs, seen: &SeenBelow) -> Vec<FileAt> {
    if !args.include_content {
        return Vec::new();
    }
    let path = |entry: &Entry| crate::disk::RelativePath::of_names(&entry.path.path());
    wanted_tasks(seen, args.status.as_deref()).iter().filter_map(path).map(|path| looks::file(place, path)).collect()
}

/// Tasks of one project or of all.
pub fn list_tasks(
    (listed, (seen, texts)): (Option<Listed>, (SeenBelow, Vec<Seen>)),
    args: &ListArgs,
    now: &Now,
) -> Result<Answer, VibeError> {
    if let (Some(project), Some(listed)) = (&args.project, listed) {
        project_exists(project, listed)?;
    }
    let wanted = wanted_tasks(&seen, args.status.as_deref());
    models(seen)?;
    let mut texts = texts.into_iter();
    let mut tasks = Vec::with_capacity(wanted.len());
    for entry in wanted {
        let metadata = entry.metadata(&now.zone);
        let mut task = json!({
            "project": entry.path.project,
            "path": entry.path.path(),
            "filename": entry.path.filename,
            "title": entry.title(),
            "status": metadata.status,
            "updated": metadata.updated.to_string(),
            "objective": entry.document.objective,
            "owner": metadata.owner,
            "tags": metadata.tags,
        });
        if args.include_content {
            // One that went while we looked is no task any more.
            let Some(Ok(text)) = texts.next() else { continue };
            task["content"] = shown(&text.bytes).into();
        }
        tasks.push(task);
    }
    Ok(Answer::object(json!({
        "project": args.project,
        "filter": { "status": args.status },
        "total": tasks.len(),
        "tasks": tasks,
    })))
}

/// Where a plan is.
pub fn plan_target(args: &PlanArgs) -> ReadArgs {
    ReadArgs { project: args.project.clone(), folder: "plans".to_owned(), filename: with_extension(&args.filename) }
}

/// A plan, and what it says about its tasks.
pub fn get_plan((listed, seen): (Listed, SeenFirst), args: &PlanArgs, now: &Now) -> Result<Answer, VibeError> {
    let target = plan_target(args);
    project_exists(&target.project, listed)?;
    looks::readable(&target)?;
    let parts = match found(&target, seen) {
        Ok((at, _, seen)) => {
            let (said, content) = said(&at, &seen)?;
            let metadata = said.metadata(&at, seen.identity.modified_ns, &now.zone);
            let metadata = json!({ "type": metadata.kind, "updated": metadata.updated.to_string() });
            let body = if at.is_document() { front::split(&content).body } else { 0 };
            let parsed = Plan::of(&content[body..]).json();
            Some((metadata, content, parsed, hash_of(&seen.bytes)))
        }
        Err(VibeError::FileNotFound { .. }) => None,
        Err(error) => return Err(error),
    };
    let at = DocumentPath { project: target.project, folder: target.folder, filename: target.filename };
    Ok(Answer::object(json!({
        "project": at.project,
        "filename": at.filename,
        "path": at.path(),
        "exists": parts.is_some(),
        "metadata": parts.as_ref().map(|(metadata, ..)| metadata),
        "content": parts.as_ref().map(|(_, content, ..)| content),
        "parsed": parts.as_ref().map(|(_, _, parsed, _)| parsed),
        "hash": parts.as_ref().map(|(.., hash)| hash),
    })))
}
