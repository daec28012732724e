//! The verbs that change tasks: what was seen and the arguments come in, an answer and an edit go out. Pure. Every
//! new text is read back before it is written: the task must be in it as it was meant, and all others as they were.

use std::sync::Arc;

use serde_json::json;

use super::arguments::{CreateTask, DeleteTask, Position, ReorderTask, UpdateTask};
use super::error::TodoError;
use super::ground::{self, CountedSeen, LINKS, Tasks, TreeSeen};
use super::ids::{self, Full, Numbers};
use super::lines::line_end;
use super::mentions::Mentions;
use super::model::{ADRS, CONTEXTS, NUMBERS, STATE_FILE, Status, TASK_FILE, TaskId, in_tree, shown, written};
use super::ops::warned;
use super::parse::{Task, TaskFile};
use super::render::{self, NewSubTask};
use super::resources::{self, changed_tasks};
use super::splice::{self, Beside};
use crate::clock::Now;
use crate::disk::Digest;
use crate::families::edit::Edit;
use crate::families::need::{Below, FileSeen, Model as _, Place, Unseen};
use crate::tools::{Answer, Notice};

/// The first line of a `task.md` that we make.
const TITLE: &str = "# Task\n";

/// What a writing tool gives.
pub type Edited = Result<(Answer, Edit), TodoError>;

/// Every file with the ids it names; not looked at as long as there is a next number.
pub type MentionsSeen = Option<Result<Vec<Below<Mentions>>, Unseen>>;

/// Whether a new task needs a number that is free again, and so to know which ones the files name.
pub fn needs_mentions((_, _, tasks): &TreeSeen, (state, contexts, _): &CountedSeen) -> bool {
    let state = state.as_ref().ok().map(|state| state.bytes.as_slice());
    let tasks = tasks.as_ref().map_or(&[][..], |tasks| &tasks.model.tasks);
    let contexts = contexts.as_ref().map_or(&[][..], Vec::as_slice);
    tasks.len() < usize::from(NUMBERS) && Numbers::of(state, tasks, contexts, &[]).are_given()
}

/// A new task with its context, the last of its category.
pub fn create(
    ((tree, counted), mentions): ((TreeSeen, CountedSeen), MentionsSeen),
    args: &CreateTask,
    now: &Now,
) -> Edited {
    let tasks = Tasks::of(tree)?;
    let (state, mut numbers) = numbers(&tasks.file, counted)?;
    let id = match (numbers.next_task(tasks.file.tasks.len()), mentions) {
        (Err(Full::Given), Some(mentions)) => free_number(&tasks.file, mentions)?,
        (next, _) => next.map_err(|why| TodoError::TasksFull { why })?,
    };
    let made;
    let file: &TaskFile = match tasks.digest {
        Some(_) => &tasks.file,
        None => {
            made = TaskFile::parse(TITLE);
            &made
        }
    };
    let block = render::block(id, &args.title, &args.subtasks, line_end(&file.text));
    let new = TaskFile::read(splice::insert(file, &args.category, &block).as_bytes());
    let meant = Meant {
        title: &args.title,
        status: Status::Todo,
        category: &args.category,
        subtasks: &args.subtasks,
        rank: None,
    };
    let new = verified(&tasks.file, new, id, Some(&meant))?;
    let created = written(now.at);
    let context = render::context(id, &args.description, &created);
    let edit = Edit::nothing().alone_in(tasks.place.clone(), in_tree(CONTEXTS)).create(
        tasks.place.clone(),
        id.context(),
        LINKS,
        context.into_bytes(),
    );
    let edit = tasks.replaced(stored(edit, &tasks.place, state.as_ref(), &numbers), new);
    let mut answer = json!({ "task_id": id.to_string(), "file_path": shown(&id.context()), "created_at": created });
    warned(&mut answer, tasks.warnings());
    let answer = changed_tasks(Answer::object(answer)).with_notice(Notice::ResourcesChanged);
    Ok((answer, edit))
}

/// A number that is free again. A file that cannot be read may name any, so there is none then.
fn free_number(tasks: &TaskFile, mentions: Result<Vec<Below<Mentions>>, Unseen>) -> Result<TaskId, TodoError> {
    let below = ground::there(mentions, &in_tree(TASK_FILE))?.unwrap_or_default();
    let mut files = Vec::with_capacity(below.len());
    for Below { path, seen } in &below {
        match seen {
            Ok(seen) => files.push((path, &*seen.model)),
            Err(why) => return Err(TodoError::Unseen { path: path.clone(), why: why.clone() }),
        }
    }
    ids::free_task(&tasks.tasks, &files).map_err(|why| TodoError::TasksFull { why })
}

/// What is remembered, and what is there.
fn numbers(tasks: &TaskFile, (state, contexts, adrs): CountedSeen) -> Result<(Option<FileSeen>, Numbers), TodoError> {
    let state = ground::there(state, &in_tree(STATE_FILE))?;
    let (contexts, adrs) = (ground::listed(contexts, CONTEXTS)?, ground::listed(adrs, ADRS)?);
    let numbers = Numbers::of(state.as_ref().map(|state| state.bytes.as_slice()), &tasks.tasks, &contexts, &adrs);
    Ok((state, numbers))
}

/// With what has to be remembered.
pub fn stored(edit: Edit, place: &Place, state: Option<&FileSeen>, numbers: &Numbers) -> Edit {
    let (place, path) = (place.clone(), in_tree(STATE_FILE));
    match (numbers.to_store(), state) {
        (None, _) => edit,
        (Some(new), Some(state)) => edit.replace(place, path, LINKS, state, new),
        (Some(new), None) => edit.create(place, path, LINKS, new),
    }
}

/// What a task shall be.
struct Meant<'a> {
    title: &'a str,
    status: Status,
    category: &'a str,
    subtasks: &'a [NewSubTask],
    /// Wherever it comes to stand, if none.
    rank: Option<usize>,
}

impl Meant<'_> {
    fn is(&self, task: &Task) -> bool {
        task.title == self.title
            && task.status == self.status
            && task.category == self.category
            && self.rank.is_none_or(|rank| task.rank == rank)
            && has_subtasks(task, self.subtasks)
    }
}

fn has_subtasks(task: &Task, subtasks: &[NewSubTask]) -> bool {
    task.subtasks.len() == subtasks.len()
        && task.subtasks.iter().zip(subtasks).all(|(old, new)| old.title == new.title && old.status == new.status)
}

/// The new text says what was meant, and of all other tasks what the old one said.
fn verified(old: &TaskFile, new: TaskFile, id: TaskId, meant: Option<&Meant<'_>>) -> Result<Arc<TaskFile>, TodoError> {
    let others = |task: &&Task| task.id != id;
    let same = old.tasks.iter().filter(others).map(said).eq(new.tasks.iter().filter(others).map(said));
    let is_meant = meant.is_none_or(|meant| new.task(id).is_some_and(|task| meant.is(task)));
    match same && is_meant {
        true => Ok(Arc::new(new)),
        // A line with the same id that stood below would stand above now, and be the task.
        false if old.duplicates.contains(&id) => Err(TodoError::Duplicate { id }),
        false => Err(TodoError::Unplaceable { path: in_tree(TASK_FILE) }),
    }
}

/// What a task says, wherever it stands.
fn said(task: &Task) -> (TaskId, &str, Status, &str, Vec<(&str, Status)>) {
    let subtasks = task.subtasks.iter().map(|subtask| (subtask.title.as_str(), subtask.status));
    (task.id, &task.title, task.status, &task.category, subtasks.collect())
}

/// Some other values for a task.
pub fn update(tree: TreeSeen, args: &UpdateTask, now: &Now) -> Edited {
    let tasks = Tasks::of(tree)?;
    let id = args.id;
    let old = tasks.task(id)?;
    tasks.is_still(args.if_match.as_ref())?;
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
    if let Some(subtasks) = args.subtasks.as_deref().filter(|subtasks| !has_subtasks(old, subtasks)) {
        change("subtasks", &|file, task| splice::set_subtasks(file, task, subtasks));
    }
    let mut answer = json!({ "task_id": id.to_string(), "updated_fields": fields, "updated_at": written(now.at) });
    warned(&mut answer, tasks.warnings());
    let answer = Answer::object(answer);
    if fields.is_empty() {
        return Ok((answer, Edit::nothing()));
    }
    let kept: Vec<NewSubTask> =
        old.subtasks.iter().map(|old| NewSubTask { title: old.title.clone(), status: old.status }).collect();
    let meant = Meant {
        title: args.title.as_deref().unwrap_or(&old.title),
        status: args.status.unwrap_or(old.status),
        category: args.category.as_deref().unwrap_or(&old.category),
        subtasks: args.subtasks.as_deref().unwrap_or(&kept),
        rank: None,
    };
    let new = verified(&tasks.file, TaskFile::read(text.as_bytes()), id, Some(&meant))?;
    Ok((changed_tasks(answer), tasks.replaced(Edit::nothing(), new)))
}

/// A task goes, and its context with it.
pub fn delete(
    (tree, context, counted): (TreeSeen, Result<FileSeen, Unseen>, CountedSeen),
    args: &DeleteTask,
    now: &Now,
) -> Edited {
    let tasks = Tasks::of(tree)?;
    let id = args.id;
    let task = tasks.task(id)?;
    tasks.is_still(args.if_match.as_ref())?;
    let context = ground::there(context, &id.context())?;
    let (state, numbers) = numbers(&tasks.file, counted)?;
    let new = TaskFile::read(splice::remove(&tasks.file, task).as_bytes());
    // A second line with the same id is the task from now on.
    let new = verified(&tasks.file, new, id, None)?;
    // The number must be remembered, or the next task would get it.
    let edit = stored(Edit::nothing(), &tasks.place, state.as_ref(), &numbers);
    let mut edit = tasks.replaced(edit, new);
    let mut deleted = Vec::new();
    if let Some(context) = context {
        edit = edit.remove(tasks.place.clone(), id.context(), LINKS, Digest::of(&context.bytes));
        deleted.push(shown(&id.context()));
    }
    let mut answer = json!({ "task_id": id.to_string(), "deleted_files": deleted, "deleted_at": written(now.at) });
    warned(&mut answer, tasks.warnings());
    let answer = resources::changed_context(changed_tasks(Answer::object(answer)), id);
    Ok((answer.with_notice(Notice::ResourcesChanged), edit))
}

/// A task moves in its category.
pub fn reorder(tree: TreeSeen, args: &ReorderTask, now: &Now) -> Edited {
    let tasks = Tasks::of(tree)?;
    let task = tasks.task(args.id)?;
    let reference = match args.position {
        Position::First | Position::Last => None,
        Position::Before(id) | Position::After(id) => {
            Some(tasks.file.task(id).ok_or(TodoError::ReferenceNotFound { id })?)
        }
    };
    if let Some(other) = reference.filter(|other| other.category != task.category) {
        return Err(TodoError::OtherCategory { id: other.id, category: other.category.clone() });
    }
    tasks.is_still(args.if_match.as_ref())?;
    let (old, at) = (task.rank, reference.map_or(0, |other| other.rank));
    let new_rank = match args.position {
        Position::First => 1,
        Position::Last => tasks.file.in_category(&task.category).count(),
        Position::Before(_) => at - usize::from(old < at),
        Position::After(_) => at + usize::from(at < old),
    };
    let mut answer = json!({
        "task_id": args.id.to_string(),
        "old_position": old,
        "new_position": new_rank,
        "updated_at": written(now.at),
    });
    warned(&mut answer, tasks.warnings());
    let answer = Answer::object(answer);
    if new_rank == old {
        return Ok((answer, Edit::nothing()));
    }
    let text = moved(&tasks.file, task, args.position);
    let kept: Vec<NewSubTask> =
        task.subtasks.iter().map(|old| NewSubTask { title: old.title.clone(), status: old.status }).collect();
    let Task { title, status, category, .. } = task;
    let meant = Meant { title, status: *status, category, subtasks: &kept, rank: Some(new_rank) };
    let new = verified(&tasks.file, TaskFile::read(text.as_bytes()), args.id, Some(&meant))?;
    Ok((changed_tasks(answer), tasks.replaced(Edit::nothing(), new)))
}

/// The block goes out of the text, and in again beside another.
fn moved(file: &TaskFile, task: &Task, position: Position) -> String {
    let rest = TaskFile::parse(&splice::remove(file, task));
    // Without the task, a line with the same id would pass for it.
    let mut others = rest.in_category(&task.category).filter(|other| other.id != task.id);
    let beside = match position {
        Position::First => others.next().map(Beside::Before),
        Position::Last => others.next_back().map(Beside::After),
        Position::Before(id) => rest.task(id).map(Beside::Before),
        Position::After(id) => rest.task(id).map(Beside::After),
    };
    beside.map_or_else(|| file.text.clone(), |beside| splice::place(&rest, beside, &splice::block(file, task)))
}

#[cfg(test)]
mod tests {
    use super::super::random::{IDENTITY, tree};
    use super::*;
    use crate::families::need::{Entry, EntryKind};

    fn check(tasks: &str, context: &str, state: &str, expected: bool) {
        let state = FileSeen { bytes: state.as_bytes().to_vec(), identity: IDENTITY };
        let contexts = vec![Entry { name: context.to_owned(), kind: EntryKind::File }];
        let counted = (Ok(state), Ok(contexts), Err(Unseen::Missing));
        assert_eq!(needs_mentions(&tree(tasks), &counted), expected, "{tasks} {context}");
    }

    #[test]
    fn what_files_name_matters_once_the_last_number_was_given() {
        check("", "", "", false);
        check("- [ ] a #T998", "T997.md", r#"{"last_task_number":998}"#, false);
        check("- [ ] a #T999", "", "", true);
        check("", "T999.md", "", true);
        check("", "", r#"{"last_task_number":999}"#, true);
        let full: String = (1..=NUMBERS).map(|number| format!("- [ ] a #T{number:03}\n")).collect();
        check(&full, "", "", false);
    }
}
