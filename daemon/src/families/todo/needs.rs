//! What the tools look at, and what it means: nothing there is an empty project, everything else that cannot be
//! seen has its code. Nothing here touches a file.

use std::path::Path;
use std::sync::Arc;

use super::adr::Adr;
use super::context::Context;
use super::error::TodoError;
use super::mentions::Mentions;
use super::model::{ADRS, CONTEXTS, FILE_LIMIT, STATE_FILE, TASK_FILE, TaskId, adr_number, in_tree, place, shown};
use super::parse::TaskFile;
use crate::disk::{
    Digest, DirectoryEntry, FileContent, FileModel, LoadedModel, ReadDirectory, ReadError, ReadFile, ReadFileModel,
    ReadModelsInTree, RelativePath, SymlinkPolicy, TreeIsSymlink, TreeLocation,
};
use crate::families::edit::Edit;
use crate::families::need::Constant;

/// No link is followed below `.todo`, wherever it leads.
pub const LINKS: SymlinkPolicy = SymlinkPolicy::Refuse;

/// The tree, whether it is a link, and its tasks.
pub type TodoNeed = (Constant<TreeLocation>, TreeIsSymlink, ReadFileModel<TaskFile>);

/// What looking at a tree gives.
pub type TodoFiles = (TreeLocation, Result<bool, ReadError>, Result<LoadedModel<TaskFile>, ReadError>);

/// What is needed to give out numbers: what is remembered, the contexts, the records.
pub type NumberNeed = (ReadFile, ReadDirectory, ReadDirectory);

/// What looking at them gives.
pub type NumberFiles = (FileSeen, EntriesSeen, EntriesSeen);
/// A file as it was seen.
pub type FileSeen = Result<FileContent, ReadError>;
/// What is in a directory, as it was seen.
pub type EntriesSeen = Result<Vec<DirectoryEntry>, ReadError>;

/// The tree of a call.
pub fn tree(project_root: Option<&Path>) -> TodoNeed {
    let place = place(project_root);
    let tasks = ReadFileModel::of(file(&place, in_tree(TASK_FILE)));
    (Constant(place.clone()), TreeIsSymlink(place), tasks)
}

/// One file of a tree.
pub fn file(place: &TreeLocation, path: RelativePath) -> ReadFile {
    ReadFile { place: place.clone(), path, links: LINKS, size_limit: FILE_LIMIT }
}

/// One directory of a tree.
pub fn listing(place: &TreeLocation, name: &str) -> ReadDirectory {
    ReadDirectory { place: place.clone(), path: Some(in_tree(name)), links: LINKS }
}

/// What is needed to give out numbers.
pub fn counted(place: &TreeLocation) -> NumberNeed {
    (file(place, in_tree(STATE_FILE)), listing(place, CONTEXTS), listing(place, ADRS))
}

/// All context files, as a search sees them.
pub fn contexts(place: &TreeLocation) -> ReadModelsInTree<Context> {
    models(place, Some(CONTEXTS), |name| TaskId::of_context(name).is_some())
}

/// Every file of a tree, at any depth, as far as it is no hidden one.
pub fn mentions(place: &TreeLocation) -> ReadModelsInTree<Mentions> {
    models(place, None, |_| true).max_depth(usize::MAX)
}

pub fn adrs(place: &TreeLocation) -> ReadModelsInTree<Adr> {
    models(place, Some(ADRS), |name| adr_number(name).is_some())
}

fn models<M: FileModel>(place: &TreeLocation, name: Option<&str>, wanted: fn(&str) -> bool) -> ReadModelsInTree<M> {
    let mut models = ReadModelsInTree::new(place.clone(), name.map(in_tree), wanted, FILE_LIMIT);
    models.links = LINKS;
    models
}

/// The tasks of a project.
#[derive(Debug)]
pub struct Tasks {
    /// Where they are.
    pub place: TreeLocation,
    /// As they were read.
    pub file: Arc<TaskFile>,
    /// Of which bytes; none if there is no file.
    pub digest: Option<Digest>,
}

impl Tasks {
    /// A project without a file has no tasks.
    pub fn of((place, link, tasks): TodoFiles) -> Result<Self, TodoError> {
        let path = in_tree(TASK_FILE);
        refuse_symlink(link)?;
        let Some(seen) = optional(tasks, &path)? else {
            return Ok(Self { place, file: Arc::new(TaskFile::read(b"")), digest: None });
        };
        match seen.model.not_text {
            Some(at) => Err(TodoError::not_text(&path, at)),
            None => Ok(Self { place, file: seen.model, digest: Some(seen.digest) }),
        }
    }

    /// The task with this id.
    pub fn task(&self, id: TaskId) -> Result<&super::parse::Task, TodoError> {
        self.file.task(id).ok_or(TodoError::TaskNotFound { id })
    }

    /// The file is still what the caller has read.
    pub fn check_if_match(&self, if_match: Option<&String>) -> Result<(), TodoError> {
        check_if_match(&in_tree(TASK_FILE), &self.file.hash, if_match)
    }

    /// An edit of the file, with what was read of it.
    pub fn replaced(&self, edit: Edit, new: Arc<TaskFile>) -> Edit {
        let (place, path, bytes) = (self.place.clone(), in_tree(TASK_FILE), new.text.clone().into_bytes());
        let edit = match self.digest {
            Some(digest) => {
                let edit = edit.replace_digest(place, path, LINKS, digest, bytes);
                edit.expect_bytes(Some(self.file.text.clone().into()))
            }
            None => edit.create(place, path, LINKS, bytes),
        };
        edit.with_model(new)
    }

    /// What people should know about the file.
    pub fn warnings(&self) -> Vec<String> {
        self.file.duplicates.iter().map(|id| format!("duplicate id {id}")).collect()
    }
}

/// A tree that is itself a link is refused.
pub fn refuse_symlink(link: Result<bool, ReadError>) -> Result<(), TodoError> {
    match link {
        Ok(false) => Ok(()),
        Ok(true) => Err(TodoError::LinkedTree),
        Err(why) => Err(TodoError::read_error(&in_tree(TASK_FILE), why)),
    }
}

/// The file has the hash that the caller has read, if he has.
pub fn check_if_match(path: &RelativePath, actual: &str, if_match: Option<&String>) -> Result<(), TodoError> {
    match if_match.filter(|expected| !expected.eq_ignore_ascii_case(actual)) {
        None => Ok(()),
        Some(expected) => Err(TodoError::changed(path, expected, actual)),
    }
}

/// What was seen, or that there is nothing.
pub fn optional<T>(seen: Result<T, ReadError>, path: &RelativePath) -> Result<Option<T>, TodoError> {
    match seen {
        Ok(seen) => Ok(Some(seen)),
        Err(ReadError::TreeMissing | ReadError::Missing) => Ok(None),
        Err(why) => Err(TodoError::read_error(path, why)),
    }
}

/// What a directory holds; nothing if it is not there.
pub fn listed(seen: EntriesSeen, name: &str) -> Result<Vec<DirectoryEntry>, TodoError> {
    Ok(optional(seen, &in_tree(name))?.unwrap_or_default())
}

/// The counters' file if there is one, and what is in the two directories.
type NumberFilesRead = (Option<FileContent>, Vec<DirectoryEntry>, Vec<DirectoryEntry>);

/// What numbers are given by: what is remembered, and the names of contexts and records.
pub fn number_files((state, contexts, adrs): NumberFiles) -> Result<NumberFilesRead, TodoError> {
    Ok((optional(state, &in_tree(STATE_FILE))?, listed(contexts, CONTEXTS)?, listed(adrs, ADRS)?))
}

/// The text of a file that was seen.
pub fn text<'a>(seen: &'a FileContent, path: &RelativePath) -> Result<&'a str, TodoError> {
    str::from_utf8(&seen.bytes).map_err(|error| TodoError::not_text(path, error.valid_up_to()))
}

/// Why something below a directory is left out of an answer.
pub fn skip_reason(path: &RelativePath, why: Option<&ReadError>) -> String {
    let path = shown(path);
    match why {
        None => format!("{path} is not UTF-8 text"),
        Some(ReadError::TooLarge { .. }) => format!("{path} is too large"),
        Some(_) => format!("{path} cannot be read"),
    }
}
