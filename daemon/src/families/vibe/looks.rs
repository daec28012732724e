//! The first halves of the tools: what a call has to look at. Checks that need no disk happen here, in the contract's
//! order; a name that is wrong is not looked at, and the second half says so once the project was found.

use super::arguments::{LogArgs, ReadArgs, StatusArgs, WriteArgs};
use super::error::VibeError;
use super::layout::{
    self, FILE_LIMIT, in_folder, is_document, new_file, place, project_path, readable_files, readable_folder,
    standard_folder, writable_files,
};
use super::model::Document;
use super::task_file::named;
use crate::clock::Now;
use crate::disk::RelativePath;
use crate::families::need::{
    Carried, Entry, FileAt, FilesBelow, FirstAt, FirstFileAt, Links, ListingAt, ModelsBelow, Place, Unseen,
};
use crate::tools::Session;

/// Deeper directories are not walked.
const DEPTH: usize = 24;

/// A listing as it was seen.
pub type Listed = Result<Vec<Entry>, Unseen>;

/// Where a call works: the tree, and the project in it.
pub type Ground = (Carried<Place>, ListingAt);
/// Where a file goes: the file itself, and who lives beside it; none if its name is wrong.
pub type Around = Option<(FileAt, ListingAt)>;

/// Refuses to write where the session's host has forbidden it.
pub fn may_write(session: &Session) -> Result<(), VibeError> {
    if layout::is_read_only(session) { Err(VibeError::ReadOnly) } else { Ok(()) }
}

/// The tree and a project in it.
pub fn ground(project: &str, session: &Session) -> Result<Ground, VibeError> {
    let (place, path) = (place(session), project_path(project)?);
    Ok((Carried(place.clone()), listing(&place, Some(path))))
}

/// One level of a directory.
pub fn listing(place: &Place, path: Option<RelativePath>) -> ListingAt {
    ListingAt { place: place.clone(), path, links: Links::Inside }
}

/// One file.
pub fn file(place: &Place, path: RelativePath) -> FileAt {
    FileAt { place: place.clone(), path, links: Links::Inside, size_limit: FILE_LIMIT }
}

/// The models of all documents of a project, or of all projects.
pub fn documents(place: &Place, project: Option<RelativePath>) -> ModelsBelow<Document> {
    let wanted = if project.is_some() { is_document_of_project } else { is_document };
    ModelsBelow::new(place.clone(), project, wanted, FILE_LIMIT).down_to(DEPTH)
}

/// The same, with the names of all other files beside them.
pub fn files(place: &Place, project: Option<RelativePath>) -> FilesBelow<Document> {
    FilesBelow(documents(place, project))
}

/// The models of a project's tasks, or of those of all projects.
pub fn tasks(place: &Place, project: Option<&RelativePath>) -> ModelsBelow<Document> {
    let directory = project.and_then(|project| project.join("tasks"));
    let wanted = if directory.is_some() { is_document_of_project } else { is_task };
    ModelsBelow::new(place.clone(), directory, wanted, FILE_LIMIT).down_to(DEPTH)
}

fn is_document_of_project(path: &str) -> bool {
    is_document(&format!("project/{path}"))
}

fn is_task(path: &str) -> bool {
    is_document(path) && path.split('/').nth(1) == Some("tasks") && path.matches('/').count() >= 2
}

/// Where the workspace really is.
pub fn real_root(place: &Place) -> FirstAt {
    match place {
        Place::Fixed(path) => FirstAt(vec![path.clone()]),
        Place::InProject { .. } => FirstAt(Vec::new()),
    }
}

/// The files that a reader may mean.
pub fn readable(target: &ReadArgs) -> Result<Vec<RelativePath>, VibeError> {
    let project = project_path(&target.project)?;
    readable_folder(&target.folder)?;
    readable_files(&project, &target.folder, &target.filename)
}

/// The files that a writer may mean who changes one.
pub fn changeable(target: &ReadArgs) -> Result<Vec<RelativePath>, VibeError> {
    writable_files(&writable_folder(target)?, &target.folder, &target.filename)
}

/// The file that a writer means who makes one.
pub fn creatable(target: &ReadArgs) -> Result<RelativePath, VibeError> {
    new_file(&writable_folder(target)?, &target.folder, &target.filename)
}

/// The project of a folder that may be written into.
fn writable_folder(target: &ReadArgs) -> Result<RelativePath, VibeError> {
    let project = project_path(&target.project)?;
    // What is no name at all is a wrong path; what is only no folder of ours is a wrong folder.
    readable_folder(&target.folder)?;
    layout::standard_folder_or_none(&target.folder)?;
    Ok(project)
}

/// The folder of a search.
pub fn searchable(folder: Option<&str>) -> Result<(), VibeError> {
    let Some(folder) = folder else { return Ok(()) };
    if !folder.is_empty() {
        readable_folder(folder)?;
    }
    standard_folder(folder)
}

/// What `read_doc` looks at.
pub fn reading(target: &ReadArgs, session: &Session) -> Result<(Ground, Option<FirstFileAt>), VibeError> {
    let ground = ground(&target.project, session)?;
    let file = readable(target).ok().map(|paths| first_file(&ground.0.0, paths));
    Ok((ground, file))
}

/// What `update_doc` looks at.
pub fn changing(target: &ReadArgs, session: &Session) -> Result<(Ground, Option<FirstFileAt>), VibeError> {
    may_write(session)?;
    let ground = ground(&target.project, session)?;
    let file = changeable(target).ok().map(|paths| first_file(&ground.0.0, paths));
    Ok((ground, file))
}

fn first_file(place: &Place, paths: Vec<RelativePath>) -> FirstFileAt {
    FirstFileAt(paths.into_iter().map(|path| file(place, path)).collect())
}

/// What a tool looks at that may make a file: the file, and who lives beside it.
pub fn making(target: &ReadArgs, session: &Session) -> Result<(Ground, Around), VibeError> {
    may_write(session)?;
    let ground = ground(&target.project, session)?;
    let around = creatable(target).ok().map(|path| around(&ground.0.0, path));
    Ok((ground, around))
}

fn around(place: &Place, path: RelativePath) -> (FileAt, ListingAt) {
    let above = path.ancestors().last().flatten();
    (file(place, path), listing(place, above))
}

/// The same for `create_doc`, which also says where the file really is.
pub fn creating(args: &WriteArgs, session: &Session) -> Result<((Ground, FirstAt), Around), VibeError> {
    let (ground, around) = making(&args.target, session)?;
    let root = real_root(&ground.0.0);
    Ok(((ground, root), around))
}

/// A project and the names of its tasks.
pub fn numbering(project: &str, session: &Session) -> Result<(Ground, Option<ListingAt>), VibeError> {
    may_write(session)?;
    let ground = ground(project, session)?;
    let tasks = project_path(project)?.join("tasks").map(|path| listing(&ground.0.0, Some(path)));
    Ok((ground, tasks))
}

/// The task that `update_task_status` means, once the names of all are known.
pub fn task_file(args: &StatusArgs, place: &Place, tasks: &Option<Listed>) -> Option<FileAt> {
    let filename = super::edits::task_name(args, tasks.as_ref()).ok()?;
    let path = project_path(&args.project).ok()?.join("tasks")?.join(&filename)?;
    Some(file(place, path))
}

/// The name of the session's note of today.
pub fn session_name(args: &LogArgs, now: &Now) -> String {
    let day = now.at.to_zoned(now.zone.clone()).date();
    match &args.suffix {
        Some(suffix) => format!("{day}-{}.md", named(suffix, "task")),
        None => format!("{day}.md"),
    }
}

/// That note, and who lives beside it.
pub fn session_file(args: &LogArgs, place: &Place, now: &Now) -> Around {
    let project = project_path(&args.project).ok()?;
    let path = RelativePath::of_names(&in_folder("sessions", &session_name(args, now)))?;
    Some(around(place, project.below(&path)))
}
