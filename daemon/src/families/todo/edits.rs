//! The verbs that change tasks: what was seen and the arguments come in, an answer and an edit go out. Pure. Every
//! new text is read back before it is written: the task must be in it as it was meant, and all others as they were.

use std::sync::Arc;

use serde_json::json;

use super::arguments::{CreateTask, DeleteTask, NewSubTask, Position, ReorderTask, UpdateTask};
use super::error::TodoError;
use super::ids::{self, IdCounters, IdsExhausted};
use super::lines::line_end;
use super::mentions::Mentions;
use super::model::{CONTEXTS, MAX_NUMBER, STATE_FILE, Status, TASK_FILE, TaskId, in_tree, shown, written};
use super::needs::{self, FileSeen, LINKS, NumberFiles, Tasks, TodoFiles};
use super::ops::with_warnings;
use super::parse::{Task, TaskFile};
use super::render;
use super::splice::{self, InsertAt};
use super::worktrees::{self, OtherTrees};
use crate::clock::Now;
use crate::disk::{Digest, FileContent, FileModel as _, ModelInTree, ReadError, TreeLocation};
use crate::families::Answer;
use crate::families::edit::Edit;

/// The first line of a `task.md` that we make.
const TITLE: &str = "# Task\n";

/// What a writing tool gives.
pub type WriteResult = Result<(Answer, Edit), TodoError>;

/// The ids that the files of a tree name.
pub type TreeMentions = Result<Vec<ModelInTree<Mentions>>, ReadError>;

/// Every file of every worktree with the ids it names; not looked at as long as there is a next number.
pub type MentionsResult = Option<Vec<TreeMentions>>;

/// What is needed to give out numbers, here and in other worktrees.
pub type NumberedFiles = ((TodoFiles, NumberFiles), OtherTrees);

/// Whether a new task needs a number that is free again, and so to know which ones the files name.
pub fn needs_mentions((((_, _, tasks), (state, contexts, _)), (_, others)): &NumberedFiles) -> bool {
    let state = state.as_ref().ok().map(|state| state.bytes.as_slice());
    let tasks = tasks.as_ref().map_or(&[][..], |tasks| &tasks.model.tasks);
    let contexts = contexts.as_ref().map_or(&[][..], Vec::as_slice);
    let counters = IdCounters::of(state, tasks, contexts, &[]).at_least(worktrees::highest(others));
    tasks.len() < usize::from(MAX_NUMBER) && counters.are_given()
}

/// A new task with its context, the last of its category.
pub fn create(
    (((tree, counted), (worktrees, others)), mentions): (NumberedFiles, MentionsResult),
    args: &CreateTask,
    now: &Now,
) -> WriteResult {
    let tasks = Tasks::of(tree)?;
    let (state, numbers) = numbers(&tasks.file, counted)?;
    let mut numbers = numbers.at_least(worktrees::highest(&others));
    let id = match (numbers.next_task(tasks.file.tasks.len()), mentions) {
        (Err(IdsExhausted::Given), Some(mentions)) => free_number(&tasks.file, mentions)?,
        (next, _) => next.map_err(|why| TodoError::TaskIdsExhausted { why })?,
    };
    let file = match tasks.digest {
        Some(_) => Arc::clone(&tasks.file),
        None => Arc::new(TaskFile::parse(TITLE)),
    };
    let block = render::block(id, &args.title, &args.subtasks, line_end(&file.text));
    let new = TaskFile::read(splice::insert(&file, &args.category, &block).as_bytes());
    let meant = (id, args.title.as_str(), Status::Todo, args.category.as_str(), pairs(&args.subtasks));
    let new = check_reparsed(&tasks.file, new, id, |new| new.map(comparable_fields) == Some(meant))?;
    let created = written(now.at);
    let context = render::context(id, &args.description, &created);
    let edit = worktrees::locked(Edit::nothing(), &worktrees);
    let edit = edit.locked_directories(tasks.place.clone(), in_tree(CONTEXTS));
    let edit = edit.create(tasks.place.clone(), id.context(), LINKS, context.into_bytes());
    let edit = tasks.replaced(with_counters(edit, &tasks.place, state.as_ref(), &numbers), new);
    let answer = json!({ "task_id": id.to_string(), "file_path": shown(&id.context()), "created_at": created });
    Ok((Answer::object(with_warnings(answer, tasks.warnings())), edit))
}

/// A number that is free again. A file that cannot be read may name any, so there is none then.
fn free_number(tasks: &TaskFile, mentions: Vec<TreeMentions>) -> Result<TaskId, TodoError> {
    let mut below = Vec::new();
    for mentions in mentions {
        below.extend(needs::optional(mentions, &in_tree(TASK_FILE))?.unwrap_or_default());
    }
    let files = below.iter().map(|ModelInTree { path, seen }| match seen {
        Ok(seen) => Ok((path, &*seen.model)),
        Err(why) => Err(TodoError::read_error(path, why.clone())),
    });
    let files = files.collect::<Result<Vec<_>, TodoError>>()?;
    ids::free_task(&tasks.tasks, &files).map_err(|why| TodoError::TaskIdsExhausted { why })
}

/// What is remembered, and what is there.
fn numbers(tasks: &TaskFile, files: NumberFiles) -> Result<(Option<FileContent>, IdCounters), TodoError> {
    let (state, contexts, adrs) = needs::number_files(files)?;
    let numbers = IdCounters::of(state.as_ref().map(|state| state.bytes.as_slice()), &tasks.tasks, &contexts, &adrs);
    Ok((state, numbers))
}

/// With what has to be remembered.
pub fn with_counters(edit: Edit, place: &TreeLocation, state: Option<&FileContent>, numbers: &IdCounters) -> Edit {
    let (place, path) = (place.clone(), in_tree(STATE_FILE));
    match numbers.changed_state() {
        None => edit,
        Some(new) => edit.create_or_replace(place, path, LINKS, state, new),
    }
}

/// The new text says what was meant, and of all other tasks what the old one said.
fn check_reparsed(
    old: &TaskFile,
    new: TaskFile,
    id: TaskId,
    is_meant: impl FnOnce(Option<&Task>) -> bool,
) -> Result<Arc<TaskFile>, TodoError> {
    let is_other = |task: &&Task| task.id != id;
    let others = new.tasks.iter().filter(is_other).map(comparable_fields);
    let same = old.tasks.iter().filter(is_other).map(comparable_fields).eq(others);
    match same && is_meant(new.task(id)) {
        true => Ok(Arc::new(new)),
        // A line with the same id that stood below would stand above now, and be the task.
        false if old.duplicates.contains(&id) => Err(TodoError::Duplicate { id }),
        false => Err(TodoError::NotReparsable { path: in_tree(TASK_FILE) }),
    }
}

/// What a task says, wherever it stands: id, title, status, category, sub-tasks.
type ComparableFields<'a> = (TaskId, &'a str, Status, &'a str, Vec<(&'a str, Status)>);

fn comparable_fields(task: &Task) -> ComparableFields<'_> {
    let subtasks = task.subtasks.iter().map(|subtask| (subtask.title.as_str(), subtask.status));
    (task.id, &task.title, task.status, &task.category, subtasks.collect())
}

fn pairs(subtasks: &[NewSubTask]) -> Vec<(&str, Status)> {
    subtasks.iter().map(|subtask| (subtask.title.as_str(), subtask.status)).collect()
}

/// Some other values for a task.
pub fn update(tree: TodoFiles, args: &UpdateTask, now: &Now) -> WriteResult {
    let tasks = Tasks::of(tree)?;
    let id = args.id;
    let old = tasks.task(id)?;
    let (.., old_subtasks) = comparable_fields(old);
    tasks.check_if_match(args.if_match.as_ref())?;
    let mut fields = Vec::new();
    let mut text = tasks.file.text.clone();
    let mut change = |field: &'static str, edit: &dyn Fn(&TaskFile, &Task) -> String| {
        let file = TaskFile::parse(&text);
        if let Some(task) = file.task(id) {
            text = edit(&file, task);
            fields.push(field);
        }
    };
    if let Some(title) = args.title.as_deref().filter(|title| *title != old.title) {
        change("title", &|file, task| splice::set_title(file, task, title));
    }
    if let Some(status) = args.status.filter(|status| *status != old.status) {
        change("status", &|file, task| splice::set_status(file, task, status));
    }
    if let Some(category) = args.category.as_deref().filter(|category| *category != old.category) {
        change("category", &|file, task| {
            let rest = TaskFile::parse(&splice::remove(file, task));
            splice::insert(&rest, category, &splice::block(file, task))
        });
    }
    if let Some(subtasks) = args.subtasks.as_deref().filter(|subtasks| pairs(subtasks) != old_subtasks) {
        change("subtasks", &|file, task| splice::set_subtasks(file, task, subtasks));
    }
    let answer = json!({ "task_id": id.to_string(), "updated_fields": fields, "updated_at": written(now.at) });
    let answer = Answer::object(with_warnings(answer, tasks.warnings()));
    if fields.is_empty() {
        return Ok((answer, Edit::nothing()));
    }
    let (title, category) =
        (args.title.as_ref().unwrap_or(&old.title), args.category.as_ref().unwrap_or(&old.category));
    let subtasks = args.subtasks.as_deref().map_or(old_subtasks, pairs);
    let meant = (id, title.as_str(), args.status.unwrap_or(old.status), category.as_str(), subtasks);
    let new = TaskFile::read(text.as_bytes());
    let new = check_reparsed(&tasks.file, new, id, |new| new.map(comparable_fields) == Some(meant))?;
    Ok((answer, tasks.replaced(Edit::nothing(), new)))
}

/// A task goes, and its context with it.
pub fn delete(
    (tree, context, counted): (TodoFiles, FileSeen, NumberFiles),
    args: &DeleteTask,
    now: &Now,
) -> WriteResult {
    let tasks = Tasks::of(tree)?;
    let id = args.id;
    let task = tasks.task(id)?;
    tasks.check_if_match(args.if_match.as_ref())?;
    let context = needs::optional(context, &id.context())?;
    let (state, numbers) = numbers(&tasks.file, counted)?;
    let new = TaskFile::read(splice::remove(&tasks.file, task).as_bytes());
    // A second line with the same id is the task from now on.
    let new = check_reparsed(&tasks.file, new, id, |_| true)?;
    // The number must be remembered, or the next task would get it.
    let edit = with_counters(Edit::nothing(), &tasks.place, state.as_ref(), &numbers);
    let mut edit = tasks.replaced(edit, new);
    let mut deleted = Vec::new();
    if let Some(context) = context {
        edit = edit.remove(tasks.place.clone(), id.context(), LINKS, Digest::of(&context.bytes));
        deleted.push(shown(&id.context()));
    }
    let answer = json!({ "task_id": id.to_string(), "deleted_files": deleted, "deleted_at": written(now.at) });
    Ok((Answer::object(with_warnings(answer, tasks.warnings())), edit))
}

/// A task moves in its category.
pub fn reorder(tree: TodoFiles, args: &ReorderTask, now: &Now) -> WriteResult {
    let tasks = Tasks::of(tree)?;
    let task = tasks.task(args.id)?;
    let reference = match args.position {
        Position::First | Position::Last => None,
        Position::Before(id) | Position::After(id) => {
            Some(tasks.file.task(id).ok_or(TodoError::ReferenceNotFound { id })?)
        }
    };
    if let Some(other) = reference.filter(|other| other.category != task.category) {
        return Err(TodoError::WrongCategory { id: other.id, category: other.category.clone() });
    }
    tasks.check_if_match(args.if_match.as_ref())?;
    let (old, at) = (task.rank, reference.map_or(0, |other| other.rank));
    let new_rank = match args.position {
        Position::First => 1,
        Position::Last => tasks.file.in_category(&task.category).count(),
        Position::Before(_) => at - usize::from(old < at),
        Position::After(_) => at + usize::from(at < old),
    };
    let (id, updated) = (args.id.to_string(), written(now.at));
    let answer = json!({ "task_id": id, "old_position": old, "new_position": new_rank, "updated_at": updated });
    let answer = Answer::object(with_warnings(answer, tasks.warnings()));
    if new_rank == old {
        return Ok((answer, Edit::nothing()));
    }
    let new = TaskFile::read(moved(&tasks.file, task, args.position).as_bytes());
    let is_moved = |new: &Task| new.rank == new_rank && comparable_fields(new) == comparable_fields(task);
    let new = check_reparsed(&tasks.file, new, args.id, |new| new.is_some_and(is_moved))?;
    Ok((answer, tasks.replaced(Edit::nothing(), new)))
}

/// The block goes out of the text, and in again beside another.
fn moved(file: &TaskFile, task: &Task, position: Position) -> String {
    let rest = TaskFile::parse(&splice::remove(file, task));
    // Without the task, a line with the same id would pass for it.
    let mut others = rest.in_category(&task.category).filter(|other| other.id != task.id);
    let beside = match position {
        Position::First => others.next().map(InsertAt::Before),
        Position::Last => others.next_back().map(InsertAt::After),
        Position::Before(id) => rest.task(id).map(InsertAt::Before),
        Position::After(id) => rest.task(id).map(InsertAt::After),
    };
    beside.map_or_else(|| file.text.clone(), |beside| splice::place(&rest, beside, &splice::block(file, task)))
}

#[cfg(test)]
mod tests {
    use super::super::random::{STAMP, tree};
    use super::*;
    use crate::disk::{DirectoryEntry, EntryKind, Worktrees};

    fn check(tasks: &str, context: &str, state: &str, expected: bool) {
        let state = FileContent { bytes: state.as_bytes().to_vec(), stamp: STAMP };
        let contexts = vec![DirectoryEntry { name: context.to_owned(), kind: EntryKind::File }];
        let counted = (Ok(state), Ok(contexts), Err(ReadError::Missing));
        let seen = ((tree(tasks), counted), (Worktrees::default(), Vec::new()));
        assert_eq!(needs_mentions(&seen), expected, "{tasks} {context}");
    }

    #[test]
    fn what_files_name_matters_once_the_last_number_was_given() {
        check("", "", "", false);
        check("- [ ] a #T998", "T997.md", r#"{"last_task_number":998}"#, false);
        check("- [ ] a #T999", "", "", true);
        check("", "T999.md", "", true);
        check("", "", r#"{"last_task_number":999}"#, true);
        let full: String = (1..=MAX_NUMBER).map(|number| format!("- [ ] a #T{number:03}\n")).collect();
        check(&full, "", "", false);
    }
}
