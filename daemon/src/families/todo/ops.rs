//! The verbs that change nothing: what was seen and the arguments come in, answers go out. Pure; the order of the
//! checks is the contract's.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use super::adr::Adr;
use super::arguments::{GetContext, ListAdrs, ListTasks, SearchContexts, SearchTasks};
use super::context::Context;
use super::error::TodoError;
use super::fold::Folded;
use super::index_file::slug_of;
use super::model::{ADRS, CONTEXTS, TaskId, adr_number, in_tree, shown, written, written_ns};
use super::needs::{self, EntriesSeen, FileSeen, Tasks, TodoFiles};
use super::parse::Task;
use super::search::{Query, SearchField, best};
use crate::disk::{DirectoryEntry, ModelInTree, ReadError, TreeLocation};
use crate::families::Answer;
use crate::text::hash::hash_of;

/// Orphans that are named one by one.
const NAMED: usize = 10;

/// All contexts, as a search sees them.
pub type ContextsSeen = Result<Vec<ModelInTree<Context>>, ReadError>;

pub type AdrsSeen = Result<Vec<ModelInTree<Adr>>, ReadError>;

/// The tasks, in the order of the file.
pub fn list_tasks((tree, contexts): (TodoFiles, EntriesSeen), args: &ListTasks) -> Result<Answer, TodoError> {
    let tasks = Tasks::of(tree)?;
    let wanted = |task: &&Task| {
        args.status.is_none_or(|status| status == task.status)
            && args.category.as_ref().is_none_or(|category| *category == task.category)
    };
    let item = |task: &Task| {
        json!({
            "task_id": task.id.to_string(),
            "title": task.title,
            "status": task.status.word(),
            "category": task.category,
            "subtasks_count": task.subtasks.len(),
            "priority": task.rank,
        })
    };
    let items: Vec<Value> = tasks.file.tasks.iter().filter(wanted).take(args.limit).map(item).collect();
    let answer = json!({ "tasks": items, "total_count": tasks.file.tasks.iter().filter(wanted).count() });
    // The tasks are worth telling, whatever is wrong with their contexts.
    let about_contexts = match contexts {
        Ok(contexts) => orphans(&tasks, &contexts),
        Err(ReadError::TreeMissing | ReadError::Missing) => orphans(&tasks, &[]),
        Err(why) => vec![needs::skip_reason(&in_tree(CONTEXTS), Some(&why))],
    };
    let mut answer = with_warnings(answer, tasks.warnings().into_iter().chain(about_contexts).collect());
    answer["hash"] = tasks.digest.map(|_| tasks.file.hash.clone()).into();
    Ok(Answer::object(answer))
}

/// Tasks without contexts, and contexts without tasks.
fn orphans(tasks: &Tasks, contexts: &[DirectoryEntry]) -> Vec<String> {
    let with_context: BTreeSet<TaskId> = contexts.iter().filter_map(|entry| TaskId::of_context(&entry.name)).collect();
    let with_task: BTreeSet<TaskId> = tasks.file.tasks.iter().map(|task| task.id).collect();
    let named = |what: &str, ids: Vec<&TaskId>| {
        let names: Vec<String> = ids.iter().take(NAMED).map(ToString::to_string).collect();
        let more = ids.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!ids.is_empty()).then(|| format!("{what}: {}{more}", names.join(", ")))
    };
    let without_context = named("tasks without a context file", with_task.difference(&with_context).collect());
    let without_task = named("context files without a task", with_context.difference(&with_task).collect());
    without_context.into_iter().chain(without_task).collect()
}

/// Adds warnings, if there are any.
pub fn with_warnings(mut answer: Value, warnings: Vec<String>) -> Value {
    if !warnings.is_empty() {
        answer["warnings"] = warnings.into();
    }
    answer
}

/// The tasks that hold all words of a query, best first.
pub fn search_tasks(
    (tree, contexts): (TodoFiles, Option<ContextsSeen>),
    args: &SearchTasks,
) -> Result<Answer, TodoError> {
    let tasks = Tasks::of(tree)?;
    let mut warnings = tasks.warnings();
    let contexts = match contexts {
        Some(seen) => readable(seen, &mut warnings)?,
        None => Vec::new(),
    };
    let by_id: HashMap<TaskId, &Folded> = contexts.iter().map(|(id, _, context)| (*id, &context.text)).collect();
    let query = Query::of(&args.query);
    let fields_of = |number: usize, task: &Task| {
        let searched = &tasks.file.searched()[number];
        let context = by_id.get(&task.id).copied();
        let title = args.fields.title.then_some(SearchField { text: &searched.title, memory_bytes: 1.0, whole: true });
        let content =
            args.fields.content.then_some(SearchField { text: &searched.content, memory_bytes: 0.7, whole: false });
        let context = context.map(|text| SearchField { text, memory_bytes: 0.5, whole: false });
        title.into_iter().chain(content).chain(context).collect::<Vec<SearchField<'_>>>()
    };
    let matches = tasks
        .file
        .tasks
        .iter()
        .enumerate()
        .filter_map(|(number, task)| query.as_ref()?.matches(number, &fields_of(number, task)));
    let (found, total) = best(matches.collect(), args.limit);
    let item = |found: &super::search::TextMatch<usize>| {
        let task = &tasks.file.tasks[found.of];
        let fields = fields_of(found.of, task);
        json!({
            "task_id": task.id.to_string(),
            "title": task.title,
            "status": task.status.word(),
            "category": task.category,
            "match_score": found.score,
            "matched_content": query.as_ref().map(|query| query.excerpt(fields[found.field].text)),
        })
    };
    let answer = json!({ "results": found.iter().map(item).collect::<Vec<_>>(), "total_matches": total });
    Ok(Answer::object(with_warnings(answer, warnings)))
}

/// The contexts that hold all words of a query, best first; also those without a task.
pub fn search_contexts(
    (_, link, contexts): (TreeLocation, Result<bool, ReadError>, ContextsSeen),
    args: &SearchContexts,
) -> Result<Answer, TodoError> {
    needs::refuse_symlink(link)?;
    let mut warnings = Vec::new();
    let contexts = readable(contexts, &mut warnings)?;
    let query = Query::of(&args.query);
    let matches = contexts.iter().filter_map(|(id, path, context)| {
        let fields = [SearchField { text: &context.text, memory_bytes: 1.0, whole: true }];
        query.as_ref()?.matches((id, path, context), &fields)
    });
    let (found, total) = best(matches.collect(), args.limit);
    let item = |found: super::search::TextMatch<(&TaskId, &String, &std::sync::Arc<Context>)>| {
        let (id, path, context) = found.of;
        json!({
            "task_id": id.to_string(),
            "match_score": found.score,
            "matched_content": query.as_ref().map(|query| query.excerpt(&context.text)),
            "file_path": path,
        })
    };
    let answer = json!({ "results": found.into_iter().map(item).collect::<Vec<_>>(), "total_matches": total });
    Ok(Answer::object(with_warnings(answer, warnings)))
}

type Readable = Vec<(TaskId, String, std::sync::Arc<Context>)>;

/// What can be searched; what cannot is named.
fn readable(seen: ContextsSeen, warnings: &mut Vec<String>) -> Result<Readable, TodoError> {
    let mut readable = Vec::new();
    for ModelInTree { path, seen } in needs::optional(seen, &in_tree(CONTEXTS))?.unwrap_or_default() {
        let id = path.split_parent().1;
        let Some(id) = TaskId::of_context(id) else { continue };
        match seen {
            Ok(seen) if !seen.model.is_broken => readable.push((id, shown(&path), seen.model)),
            other => warnings.push(needs::skip_reason(&path, other.err().as_ref())),
        }
    }
    Ok(readable)
}

/// A context file, whole.
pub fn get_context((tree, context): (TodoFiles, FileSeen), args: &GetContext) -> Result<Answer, TodoError> {
    let tasks = Tasks::of(tree)?;
    tasks.task(args.id)?;
    let path = args.id.context();
    let context = needs::optional(context, &path)?.ok_or(TodoError::NoContext { id: args.id })?;
    let answer = json!({
        "task_id": args.id.to_string(),
        "content": needs::text(&context, &path)?,
        "file_path": shown(&path),
        "updated_at": written_ns(context.stamp.modified_ns),
    });
    let mut answer = with_warnings(answer, tasks.warnings());
    answer["hash"] = hash_of(&context.bytes).into();
    Ok(Answer::object(answer))
}

/// The records, by number.
pub fn list_adrs(
    (_, link, adrs): (TreeLocation, Result<bool, ReadError>, AdrsSeen),
    args: &ListAdrs,
) -> Result<Answer, TodoError> {
    needs::refuse_symlink(link)?;
    let (mut items, mut warnings, mut total) = (Vec::new(), Vec::new(), 0);
    for ModelInTree { path, seen } in needs::optional(adrs, &in_tree(ADRS))?.unwrap_or_default() {
        let name = path.split_parent().1;
        let seen = match seen {
            Ok(seen) if seen.model.not_text.is_none() => seen,
            other => {
                warnings.push(needs::skip_reason(&path, other.err().as_ref()));
                continue;
            }
        };
        let adr = &seen.model;
        if args.status.is_some_and(|status| status != adr.status) {
            continue;
        }
        total += 1;
        if items.len() == args.limit {
            continue;
        }
        let or_file = |told: Option<jiff::Timestamp>| told.map_or_else(|| written_ns(seen.stamp.modified_ns), written);
        let mut item = json!({
            "adr_number": adr_number(name),
            "title": adr.title.as_deref().unwrap_or(slug_of(name)),
            "status": adr.status.word(),
            "created_at": or_file(adr.created),
            "updated_at": or_file(adr.updated),
        });
        if let Some(raw) = &adr.raw_status {
            item["raw_status"] = raw.as_str().into();
        }
        items.push(item);
    }
    let answer = json!({ "adrs": items, "total_count": total });
    Ok(Answer::object(with_warnings(answer, warnings)))
}
