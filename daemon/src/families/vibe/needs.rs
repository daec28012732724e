//! The first phases of the tools: what a call has to read. Checks that need no disk happen here, in the contract's
//! order; a name that is wrong is not read, and the second phase says so once the project was found.

use super::arguments::{CreateArgs, LogArgs, ReadArgs, StatusArgs};
use super::error::VibeError;
use super::layout::{
    self, FILE_LIMIT, in_folder, is_document, new_file, place, project_path, readable_files, readable_folder,
    standard_folder, writable_files,
};
use super::model::Document;
use super::task_file::named;
use crate::clock::Now;
use crate::disk::{
    DirectoryEntry, FirstExisting, ReadDirectory, ReadError, ReadFile, ReadFilesInTree, ReadFirstFile,
    ReadModelsInTree, RelativePath, SymlinkPolicy, TreeLocation,
};
use crate::families::SessionContext;
use crate::families::error::CommonError;
use crate::families::need::{AndThen, Constant};

/// Deeper directories are not walked.
const MAX_LISTING_DEPTH: usize = 24;

/// A listing as it was seen.
pub type ListingResult = Result<Vec<DirectoryEntry>, ReadError>;

/// A project, and all of them if it is not there: one of those may have been meant.
pub type ProjectListing = AndThen<ReadDirectory, Box<dyn FnOnce(&ListingResult) -> Option<ReadDirectory>>>;
pub type ProjectListed = (ListingResult, Option<ListingResult>);

/// Where a call works: the tree, and the project in it.
pub type ProjectNeed = (Constant<TreeLocation>, ProjectListing);
/// The project, and the first of the files that may be meant; none if its name is wrong.
pub type FirstFileNeed = (ProjectNeed, Option<ReadFirstFile>);
/// Where a file goes: the file itself, and who lives beside it; none if its name is wrong.
pub type TargetNeed = Option<(ReadFile, ReadDirectory)>;

/// Refuses to write where the session's host has forbidden it.
pub fn may_write(session: &SessionContext) -> Result<(), VibeError> {
    if layout::is_read_only(session) { Err(CommonError::ReadOnly.into()) } else { Ok(()) }
}

/// The tree and a project in it.
pub fn ground(project: &str, session: &SessionContext) -> Result<ProjectNeed, VibeError> {
    let (place, path) = (place(session), project_path(project)?);
    Ok((Constant(place.clone()), project_listing(&place, path)))
}

/// Whether a project is there.
pub fn project_listing(place: &TreeLocation, project: RelativePath) -> ProjectListing {
    let all = listing(place, None);
    AndThen(listing(place, Some(project)), Box::new(move |seen: &ListingResult| seen.is_err().then_some(all)))
}

/// One level of a directory.
pub fn listing(place: &TreeLocation, path: Option<RelativePath>) -> ReadDirectory {
    ReadDirectory { place: place.clone(), path, links: SymlinkPolicy::FollowInsideTree }
}

pub fn file(place: &TreeLocation, path: RelativePath) -> ReadFile {
    ReadFile { place: place.clone(), path, links: SymlinkPolicy::FollowInsideTree, size_limit: FILE_LIMIT }
}

/// The models of all documents of a project, or of all projects.
pub fn documents(place: &TreeLocation, project: Option<RelativePath>) -> ReadModelsInTree<Document> {
    let wanted = if project.is_some() { is_document_of_project } else { is_document };
    ReadModelsInTree::new(place.clone(), project, wanted, FILE_LIMIT).max_depth(MAX_LISTING_DEPTH)
}

/// The same, with the names of all other files beside them.
pub fn files(place: &TreeLocation, project: Option<RelativePath>) -> ReadFilesInTree<Document> {
    ReadFilesInTree(documents(place, project))
}

/// The models of a project's tasks, or of those of all projects.
pub fn tasks(place: &TreeLocation, project: Option<&RelativePath>) -> ReadModelsInTree<Document> {
    let directory = project.and_then(|project| project.join("tasks"));
    let wanted = if directory.is_some() { is_document_of_project } else { is_task };
    ReadModelsInTree::new(place.clone(), directory, wanted, FILE_LIMIT).max_depth(MAX_LISTING_DEPTH)
}

fn is_document_of_project(path: &str) -> bool {
    is_document(&format!("project/{path}"))
}

fn is_task(path: &str) -> bool {
    is_document(path) && path.split('/').nth(1) == Some("tasks") && path.matches('/').count() >= 2
}

/// Where the workspace really is.
pub fn real_root(place: &TreeLocation) -> FirstExisting {
    match place {
        TreeLocation::Fixed(path) => FirstExisting(vec![path.clone()]),
        TreeLocation::InProject { .. } => FirstExisting(Vec::new()),
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
pub fn reading(target: &ReadArgs, session: &SessionContext) -> Result<FirstFileNeed, VibeError> {
    let ground = ground(&target.project, session)?;
    let file = readable(target).ok().map(|paths| first_file(&ground.0.0, paths));
    Ok((ground, file))
}

/// What `update_doc` looks at.
pub fn changing(target: &ReadArgs, session: &SessionContext) -> Result<FirstFileNeed, VibeError> {
    may_write(session)?;
    let ground = ground(&target.project, session)?;
    let file = changeable(target).ok().map(|paths| first_file(&ground.0.0, paths));
    Ok((ground, file))
}

fn first_file(place: &TreeLocation, paths: Vec<RelativePath>) -> ReadFirstFile {
    ReadFirstFile(paths.into_iter().map(|path| file(place, path)).collect())
}

/// What a tool looks at that may make a file: the file, and who lives beside it.
pub fn making(target: &ReadArgs, session: &SessionContext) -> Result<(ProjectNeed, TargetNeed), VibeError> {
    may_write(session)?;
    let ground = ground(&target.project, session)?;
    let around = creatable(target).ok().map(|path| around(&ground.0.0, path));
    Ok((ground, around))
}

fn around(place: &TreeLocation, path: RelativePath) -> (ReadFile, ReadDirectory) {
    let above = path.ancestors().last().flatten();
    (file(place, path), listing(place, above))
}

/// The same for `create_doc`, which also says where the file really is.
pub fn creating(
    args: &CreateArgs,
    session: &SessionContext,
) -> Result<((ProjectNeed, FirstExisting), TargetNeed), VibeError> {
    let (ground, around) = making(&args.target, session)?;
    let root = real_root(&ground.0.0);
    Ok(((ground, root), around))
}

/// A project and the names of its tasks.
pub fn numbering(project: &str, session: &SessionContext) -> Result<(ProjectNeed, Option<ReadDirectory>), VibeError> {
    may_write(session)?;
    let ground = ground(project, session)?;
    let tasks = project_path(project)?.join("tasks").map(|path| listing(&ground.0.0, Some(path)));
    Ok((ground, tasks))
}

/// The task that `update_task_status` means, once the names of all are known.
pub fn task_file(args: &StatusArgs, place: &TreeLocation, tasks: &Option<ListingResult>) -> Option<ReadFile> {
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
pub fn session_file(args: &LogArgs, place: &TreeLocation, now: &Now) -> TargetNeed {
    let project = project_path(&args.project).ok()?;
    let path = RelativePath::from_components(&in_folder("sessions", &session_name(args, now)))?;
    Some(around(place, project.join_path(&path)))
}
