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
use crate::disk::{Digest, RelativePath};
use crate::families::edit::Edit;
use crate::families::need::{
    Carried, Entry, FileAt, FileSeen, IsLink, Links, ListingAt, Model as _, ModelAt, ModelSeen, ModelsBelow, Place,
    Unseen,
};
use crate::text::hash::hash_of;

/// No link is followed below `.todo`, wherever it leads.
pub const LINKS: Links = Links::Never;

/// The tree, whether it is a link, and its tasks.
pub type Tree = (Carried<Place>, IsLink, ModelAt<TaskFile>);

/// What looking at a tree gives.
pub type TreeSeen = (Place, Result<bool, Unseen>, Result<ModelSeen<TaskFile>, Unseen>);

/// What is needed to give out numbers: what is remembered, the contexts, the records.
pub type Counted = (FileAt, ListingAt, ListingAt);

/// What looking at them gives.
pub type CountedSeen = (Result<FileSeen, Unseen>, Result<Vec<Entry>, Unseen>, Result<Vec<Entry>, Unseen>);

/// The tree of a call.
pub fn tree(project_root: Option<&Path>) -> Tree {
    let place = place(project_root);
    let tasks = ModelAt::of(file(&place, in_tree(TASK_FILE)));
    (Carried(place.clone()), IsLink(place), tasks)
}

/// One file of a tree.
pub fn file(place: &Place, path: RelativePath) -> FileAt {
    FileAt { place: place.clone(), path, links: LINKS, size_limit: FILE_LIMIT }
}

/// One directory of a tree.
pub fn listing(place: &Place, name: &str) -> ListingAt {
    ListingAt { place: place.clone(), path: Some(in_tree(name)), links: LINKS }
}

/// What is needed to give out numbers.
pub fn counted(place: &Place) -> Counted {
    (file(place, in_tree(STATE_FILE)), listing(place, CONTEXTS), listing(place, ADRS))
}

/// All context files, as a search sees them.
pub fn contexts(place: &Place) -> ModelsBelow<Context> {
    let wanted = |name: &str| TaskId::of_context(name).is_some();
    let mut below = ModelsBelow::new(place.clone(), Some(in_tree(CONTEXTS)), wanted, FILE_LIMIT);
    below.links = LINKS;
    below
}

/// Every file of a tree, at any depth, as far as it is no hidden one.
pub fn mentions(place: &Place) -> ModelsBelow<Mentions> {
    let mut below = ModelsBelow::new(place.clone(), None, |_| true, FILE_LIMIT).down_to(usize::MAX);
    below.links = LINKS;
    below
}

/// All records.
pub fn adrs(place: &Place) -> ModelsBelow<Adr> {
    let wanted = |name: &str| adr_number(name).is_some();
    let mut below = ModelsBelow::new(place.clone(), Some(in_tree(ADRS)), wanted, FILE_LIMIT);
    below.links = LINKS;
    below
}

/// The tasks of a project.
#[derive(Debug)]
pub struct Tasks {
    /// Where they are.
    pub place: Place,
    /// As they were read.
    pub file: Arc<TaskFile>,
    /// Of which bytes; none if there is no file.
    pub digest: Option<Digest>,
}

impl Tasks {
    /// A project without a file has no tasks.
    pub fn of((place, link, tasks): TreeSeen) -> Result<Self, TodoError> {
        let path = in_tree(TASK_FILE);
        is_no_link(link)?;
        let Some(seen) = there(tasks, &path)? else {
            return Ok(Self { place, file: Arc::new(TaskFile::read(b"")), digest: None });
        };
        match seen.model.not_text {
            Some(at) => Err(TodoError::NotText { path, at }),
            None => Ok(Self { place, file: seen.model, digest: Some(seen.digest) }),
        }
    }

    /// The task with this id.
    pub fn task(&self, id: TaskId) -> Result<&super::parse::Task, TodoError> {
        self.file.task(id).ok_or(TodoError::TaskNotFound { id })
    }

    /// The file is still what the caller has read.
    pub fn is_still(&self, if_match: Option<&String>) -> Result<(), TodoError> {
        is_still(&in_tree(TASK_FILE), &self.file.hash, if_match)
    }

    /// An edit of the file, with what was read of it.
    pub fn replaced(&self, edit: Edit, new: Arc<TaskFile>) -> Edit {
        let (place, path, bytes) = (self.place.clone(), in_tree(TASK_FILE), new.text.clone().into_bytes());
        let edit = match self.digest {
            Some(digest) => edit.replace_digest(place, path, LINKS, digest, bytes),
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
pub fn is_no_link(link: Result<bool, Unseen>) -> Result<(), TodoError> {
    match link {
        Ok(false) => Ok(()),
        Ok(true) => Err(TodoError::LinkedTree),
        Err(why) => Err(TodoError::Unseen { path: in_tree(TASK_FILE), why }),
    }
}

/// The file has the hash that the caller has read, if he has.
pub fn is_still(path: &RelativePath, actual: &str, if_match: Option<&String>) -> Result<(), TodoError> {
    match if_match.filter(|expected| !expected.eq_ignore_ascii_case(actual)) {
        None => Ok(()),
        Some(expected) => {
            let (expected, actual) = (expected.clone(), actual.to_owned());
            Err(TodoError::Changed { path: path.clone(), expected, actual })
        }
    }
}

/// What was seen, or that there is nothing.
pub fn there<T>(seen: Result<T, Unseen>, path: &RelativePath) -> Result<Option<T>, TodoError> {
    match seen {
        Ok(seen) => Ok(Some(seen)),
        Err(Unseen::NoTree | Unseen::Missing) => Ok(None),
        Err(why) => Err(TodoError::Unseen { path: path.clone(), why }),
    }
}

/// What a directory holds; nothing if it is not there.
pub fn listed(seen: Result<Vec<Entry>, Unseen>, name: &str) -> Result<Vec<Entry>, TodoError> {
    Ok(there(seen, &in_tree(name))?.unwrap_or_default())
}

/// The text of a file that was seen.
pub fn text<'a>(seen: &'a FileSeen, path: &RelativePath) -> Result<&'a str, TodoError> {
    str::from_utf8(&seen.bytes).map_err(|error| TodoError::NotText { path: path.clone(), at: error.valid_up_to() })
}

/// The hash of a file that was seen.
pub fn hash(seen: &FileSeen) -> String {
    hash_of(&seen.bytes)
}

/// Why something below a directory is left out of an answer.
pub fn left_out(path: &RelativePath, why: Option<&Unseen>) -> String {
    let path = shown(path);
    match why {
        None => format!("{path} is not UTF-8 text"),
        Some(Unseen::TooLarge { .. }) => format!("{path} is too large"),
        Some(_) => format!("{path} cannot be read"),
    }
}
