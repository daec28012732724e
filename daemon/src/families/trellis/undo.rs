//! A change taken back: what its files held before comes back, if they hold what the change wrote. All files or none.

use serde_json::{Map, Value, json};

use super::arguments::UndoArgs;
use super::difference::{Compared, difference};
use super::error::{NotUndoable, TrellisError};
use crate::disk::{Digest, FileContent, ReadError, RelativePath, SymlinkPolicy, TreeLocation};
use crate::families::Answer;
use crate::families::changes::{MAX_ITEMS, TouchedItem, touched_items};
use crate::families::edit::Edit;
use crate::families::error::{CommonError, NamedFile};
use crate::families::feed::{FeedFile, FileChange, PastChange, PastFile, shown_change};
use crate::families::item_set::ItemSet;

/// A longer difference is cut.
const MAX_DIFF_CHARACTERS: usize = 4000;
const LINKS: SymlinkPolicy = SymlinkPolicy::Refuse;

/// One file of a change, and what undoing it means.
struct FileUndo<'a> {
    file: &'a FeedFile,
    past: &'a PastFile,
    now: Option<&'a FileContent>,
    at_origin: Option<&'a FileContent>,
    state: UndoState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UndoState {
    /// It holds what the change wrote.
    Ready,
    /// It is as it was before the change.
    Done,
    /// Somebody changed it since.
    Conflict,
}

impl<'a> FileUndo<'a> {
    fn of(file: &'a FeedFile, past: &'a PastFile) -> Result<Self, TrellisError> {
        let unreadable = |error: &ReadError| {
            let named = NamedFile { shown: "it".to_owned(), ..Default::default() };
            let reason = CommonError::Read { file: named, why: error.clone() }.to_string();
            TrellisError::Unreadable { uri: file.path.clone(), reason }
        };
        let (now, at_origin) = (past.now.as_ref(), past.at_origin.as_ref());
        let (now, at_origin) = (now.map_err(unreadable)?.as_ref(), at_origin.map_err(unreadable)?.as_ref());
        let digest = |content: Option<&FileContent>| content.map(|content| Digest::of(&content.bytes));
        let (there, origin) = (digest(now), digest(at_origin));
        // What is there if the change has just been made, and what was there before it.
        let (as_written, as_before) = match file.what {
            FileChange::Moved => {
                (there == file.new && origin.is_none(), there.is_none() && origin.is_some() && origin == file.old)
            }
            FileChange::Created => (there == file.new, there.is_none()),
            FileChange::Deleted => (there.is_none(), there.is_some() && there == file.old),
            FileChange::Changed => (there.is_some() && there == file.new, there.is_some() && there == file.old),
        };
        let state = match (as_before, as_written) {
            (true, _) => UndoState::Done,
            (_, true) => UndoState::Ready,
            _ => UndoState::Conflict,
        };
        Ok(Self { file, past, now, at_origin, state })
    }

    /// What the answer says was done.
    fn word(&self) -> &'static str {
        match self.file.what {
            FileChange::Changed => "restored",
            FileChange::Created => "removed",
            FileChange::Deleted => "recreated",
            FileChange::Moved => "moved",
        }
    }

    /// Where the old text comes to lie.
    fn old_path(&self) -> &str {
        self.file.from.as_deref().unwrap_or(&self.file.path)
    }

    fn compared(&self) -> Compared<'_> {
        let before = self.now.map_or(&[][..], |now| now.bytes.as_slice());
        let after = if self.file.what == FileChange::Created { &[][..] } else { self.old() };
        Compared { path: &self.file.path, before, after }
    }

    fn old(&self) -> &[u8] {
        self.past.old.as_deref().unwrap_or_default()
    }

    fn add_to(&self, edit: Edit) -> Result<Edit, TrellisError> {
        let unreadable =
            || TrellisError::Unreadable { uri: self.file.path.clone(), reason: "it has no place".to_owned() };
        let place = TreeLocation::Fixed(self.file.tree.as_str().into());
        let path = |path: &str| RelativePath::from_components(path).ok_or_else(unreadable);
        let remove = |edit: Edit| -> Result<Edit, TrellisError> {
            Ok(match self.now {
                Some(now) => edit.remove(place.clone(), path(&self.file.path)?, LINKS, Digest::of(&now.bytes)),
                None => edit,
            })
        };
        let restore = |edit: Edit, seen: Option<&FileContent>| -> Result<Edit, TrellisError> {
            let old = self.old().to_vec();
            let edit = edit.create_or_replace(place.clone(), path(self.old_path())?, LINKS, seen, old);
            Ok(edit.with_mode(self.file.old_mode))
        };
        match self.file.what {
            FileChange::Created => remove(edit),
            FileChange::Changed | FileChange::Deleted => restore(edit, self.now),
            FileChange::Moved => {
                let edit = restore(remove(edit)?, self.at_origin)?;
                Ok(edit.moving(path(&self.file.path)?, path(self.old_path())?))
            }
        }
    }
}

pub fn undo(past: Option<&PastChange>, set: &ItemSet, args: &UndoArgs) -> Result<(Answer, Edit), TrellisError> {
    let past = past.ok_or(TrellisError::ChangeNotFound { change: args.change })?;
    let change = past.entry.id;
    if past.entry.is_by_hand() {
        return Err(TrellisError::NotUndoable { change, why: NotUndoable::ByHand });
    }
    let files = past.entry.files.iter().zip(&past.files).map(|(file, past)| FileUndo::of(file, past));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let left: Vec<&FileUndo<'_>> = files.iter().filter(|file| file.state != UndoState::Done).collect();
    if left.is_empty() {
        let why = if past.undone_by.is_some() { NotUndoable::Undone } else { NotUndoable::NothingToDo };
        return Err(TrellisError::NotUndoable { change, why });
    }
    let is_expired = |file: &&&FileUndo<'_>| file.file.what != FileChange::Created && file.past.old.is_none();
    if let Some(file) = left.iter().find(is_expired) {
        return Err(TrellisError::Expired { change, path: file.file.path.clone() });
    }
    let compared: Vec<Compared<'_>> = left.iter().map(|file| file.compared()).collect();
    let diff = || difference(&compared, ("now", "after undo"), MAX_DIFF_CHARACTERS);
    let later: Vec<String> = past.later.iter().map(|later| shown_change(*later)).collect();
    let conflict = left.iter().find(|file| file.state == UndoState::Conflict);
    let shown_files: Vec<Value> =
        left.iter().map(|file| json!({ "path": file.file.path, "what": file.word() })).collect();
    if args.dry_run {
        let answer = json!({
            "dry_run": true, "undoes": shown_change(change), "conflict": conflict.is_some(), "diff": diff(),
            "later": later, "files": shown_files,
        });
        return Ok((Answer::object(answer), Edit::nothing()));
    }
    if let Some(file) = conflict.filter(|_| !args.force) {
        return Err(TrellisError::UndoConflict { change, path: file.file.path.clone(), later, diff: diff() });
    }
    let mut edit = left.iter().try_fold(Edit::nothing(), |edit, file| file.add_to(edit))?.naming_change();
    edit.undoes = Some(change);
    let family = past.entry.files.iter().find_map(|file| file.family.as_deref());
    edit.family = set.families.iter().map(|family| family.name).find(|name| Some(*name) == family);
    let items = touched_items(&past.entry, set);
    let mut answer = Map::new();
    answer.insert("undoes".to_owned(), shown_change(change).into());
    answer.insert("items".to_owned(), items.iter().take(MAX_ITEMS).map(TouchedItem::shown).collect());
    if items.len() > MAX_ITEMS {
        answer.insert("more".to_owned(), (items.len() - MAX_ITEMS).into());
    }
    answer.insert("files".to_owned(), shown_files.into());
    Ok((Answer::object(Value::from(answer)), edit))
}
