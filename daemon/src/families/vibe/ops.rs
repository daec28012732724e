//! The verbs that only read: what was seen and the arguments come in, answers go out. Pure; the order of the checks is
//! the contract's.

use serde_json::{Value, json};

use super::arguments::{ListArgs, PlanArgs, ReadArgs};
use super::complete::projects;
use super::error::{VibeError, named};
use super::layout::{DocumentPath, in_folder, names_meant, with_extension};
use super::metadata::DeclaredMetadata;
use super::model::{Document, decoded, shown};
use super::needs::{self, ProjectListed};
use super::plan::Plan;
use super::workspace::{Files, WorkspaceDocument, entries};
use crate::clock::Now;
use crate::disk::{FileContent, FilesInTree, ModelInTree, ReadError, ReadFile, TreeLocation};
use crate::families::Answer;
use crate::families::error::CommonError;
use crate::text::front_matter;
use crate::text::hash::hash_of;
use crate::text::nearest::nearest_few;

/// A file as it was seen.
pub type DocumentResult = Result<FileContent, ReadError>;
/// The first of several files as it was seen; none if none may be looked at.
pub type FirstDocumentResult = Option<(usize, DocumentResult)>;

/// What a reading tool gets: the listing of the project, and the document.
type ReadOutput = (ProjectListed, FirstDocumentResult);
/// Models as they were seen.
pub type DocumentsResult = Result<Vec<ModelInTree<Document>>, ReadError>;
/// Models and other files as they were seen.
pub type FilesResult = Result<FilesInTree<Document>, ReadError>;

/// Names that may have been meant, at most.
const MAX_NEAREST: usize = 3;

/// Whether the project is there.
pub fn project_exists(project: &str, (listed, all): ProjectListed) -> Result<(), VibeError> {
    match listed {
        Ok(_) => Ok(()),
        Err(
            ReadError::Missing
            | ReadError::TreeMissing
            | ReadError::IsFile
            | ReadError::NotRegular
            | ReadError::IsDirectory,
        ) => {
            let all = all.map(projects).unwrap_or_default();
            let nearest = nearest_few(project, all.iter().map(String::as_str), MAX_NEAREST);
            let nearest = nearest.into_iter().map(str::to_owned).collect();
            Err(VibeError::ProjectNotFound { project: project.to_owned(), nearest })
        }
        Err(ReadError::OutsideTree | ReadError::SymlinkRefused) => {
            Err(VibeError::path("project", project, "a link leads out of the workspace"))
        }
        Err(why) => Err(VibeError::read_error(project, why)),
    }
}

/// A file that must be there; the path is below its project.
pub fn file_exists(project: &str, path: &str, seen: Option<DocumentResult>) -> Result<FileContent, VibeError> {
    match seen.unwrap_or(Err(ReadError::Missing)) {
        Ok(seen) => Ok(seen),
        Err(ReadError::Missing | ReadError::TreeMissing | ReadError::IsFile | ReadError::IsDirectory) => {
            Err(VibeError::FileNotFound { project: project.to_owned(), path: path.to_owned() })
        }
        Err(ReadError::OutsideTree | ReadError::SymlinkRefused) => {
            Err(VibeError::path("filename", path, "a link leads out of the workspace"))
        }
        Err(why) => Err(VibeError::read_error(format!("{project}/{path}"), why)),
    }
}

/// Models that may be missing because their directory is.
pub fn models(seen: DocumentsResult) -> Result<Vec<WorkspaceDocument>, VibeError> {
    match seen {
        Ok(below) => Ok(entries(&below)),
        Err(ReadError::Missing | ReadError::TreeMissing | ReadError::IsFile) => Ok(Vec::new()),
        Err(why) => Err(VibeError::read_error("tasks", why)),
    }
}

/// The same for models and the files beside them.
pub fn files(seen: FilesResult) -> Result<Files, VibeError> {
    match seen {
        Ok(seen) => Ok(Files::of(&seen)),
        Err(ReadError::Missing | ReadError::TreeMissing | ReadError::IsFile) => Ok(Files::default()),
        Err(why) => Err(VibeError::read_error("tasks", why)),
    }
}

/// A file that must be there under one of the names that may be meant: its place, which of the names, and its bytes.
pub fn found(target: &ReadArgs, seen: FirstDocumentResult) -> Result<(DocumentPath, usize, FileContent), VibeError> {
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
pub fn plain_text<'a>(at: &DocumentPath, seen: &'a FileContent) -> Result<&'a str, VibeError> {
    let file = || named(&at.project, at.in_project());
    str::from_utf8(&seen.bytes).map_err(|error| CommonError::NotText { file: file(), at: error.valid_up_to() }.into())
}

/// A whole document, or another file that is text.
pub fn read_doc((listed, seen): ReadOutput, args: &ReadArgs, now: &Now) -> Result<Value, VibeError> {
    project_exists(&args.project, listed)?;
    needs::readable(args)?;
    let (at, _, seen) = found(args, seen)?;
    document_json(&at, &seen, now)
}

/// A document with what it says about itself.
pub fn document_json(at: &DocumentPath, seen: &FileContent, now: &Now) -> Result<Value, VibeError> {
    let (said, content) = said(at, seen)?;
    Ok(json!({
        "project": at.project,
        "folder": at.folder,
        "filename": at.filename,
        "path": at.path(),
        "metadata": said.metadata(at, seen.stamp.modified_ns, &now.zone).json(),
        "content": content,
        "hash": hash_of(&seen.bytes),
    }))
}

/// What a file says about itself, and its text. Only documents say anything.
fn said(at: &DocumentPath, seen: &FileContent) -> Result<(DeclaredMetadata, String), VibeError> {
    match at.is_document() {
        true => Ok((Document::of(&decoded(&seen.bytes)).said, shown(&seen.bytes))),
        false => Ok((DeclaredMetadata::default(), plain_text(at, seen)?.to_owned())),
    }
}

/// The tasks that a caller wants.
pub fn wanted_tasks(seen: &DocumentsResult, status: Option<&str>) -> Vec<WorkspaceDocument> {
    let all = seen.as_ref().map(|below| entries(below)).unwrap_or_default();
    all.into_iter().filter(|entry| status.is_none_or(|status| entry.status() == Some(status))).collect()
}

/// The files of those tasks, if their texts are wanted too.
pub fn task_texts(place: &TreeLocation, args: &ListArgs, seen: &DocumentsResult) -> Vec<ReadFile> {
    if !args.include_content {
        return Vec::new();
    }
    let path = |entry: &WorkspaceDocument| crate::disk::RelativePath::from_components(&entry.path.path());
    wanted_tasks(seen, args.status.as_deref()).iter().filter_map(path).map(|path| needs::file(place, path)).collect()
}

/// Tasks of one project or of all.
pub fn list_tasks(
    (listed, (seen, texts)): (Option<ProjectListed>, (DocumentsResult, Vec<DocumentResult>)),
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
pub fn get_plan((listed, seen): ReadOutput, args: &PlanArgs, now: &Now) -> Result<Answer, VibeError> {
    let target = plan_target(args);
    project_exists(&target.project, listed)?;
    needs::readable(&target)?;
    let parts = match found(&target, seen) {
        Ok((at, _, seen)) => {
            let (said, content) = said(&at, &seen)?;
            let metadata = said.metadata(&at, seen.stamp.modified_ns, &now.zone);
            let metadata = json!({ "type": metadata.kind, "updated": metadata.updated.to_string() });
            let body = if at.is_document() { front_matter::split(&content).body } else { 0 };
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
