//! The verbs that change nothing: what was seen and the arguments come in, answers go out. Pure; the order of the
//! checks is the contract's.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use super::adr::Adr;
use super::arguments::{GetContext, ListAdrs, ListTasks, SearchContexts, SearchTasks};
use super::context::Context;
use super::error::TodoError;
use super::fold::Folded;
use super::ground::{self, Tasks, TreeSeen};
use super::index_file::slug_of;
use super::model::{ADRS, CONTEXTS, TaskId, adr_number, in_tree, shown, written, written_ns};
use super::parse::Task;
use super::search::{Field, Query, best};
use crate::families::need::{Below, Entry, FileSeen, Place, Unseen};
use crate::tools::Answer;

/// Orphans that are named one by one.
const NAMED: usize = 10;

/// All contexts, as a search sees them.
pub type ContextsSeen = Result<Vec<Below<Context>>, Unseen>;

/// All records.
pub type AdrsSeen = Result<Vec<Below<Adr>>, Unseen>;

/// The tasks, in the order of the file.
pub fn list_tasks(
    (tree, contexts): (TreeSeen, Result<Vec<Entry>, Unseen>),
    args: &ListTasks,
) -> Result<Answer, TodoError> {
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
    let mut answer = json!({ "tasks": items, "total_count": tasks.file.tasks.iter().filter(wanted).count() });
    // The tasks are worth telling, whatever is wrong with their contexts.
    let about_contexts = match contexts {
        Ok(contexts) => orphans(&tasks, &contexts),
        Err(Unseen::NoTree | Unseen::Missing) => orphans(&tasks, &[]),
        Err(why) => vec![ground::left_out(&in_tree(CONTEXTS), Some(&why))],
    };
    warned(&mut answer, tasks.warnings().into_iter().chain(about_contexts).collect());
    answer["hash"] = tasks.digest.map(|_| tasks.file.hash.clone()).into();
    Ok(Answer::object(answer))
}

/// Tasks without contexts, and contexts without tasks.
fn orphans(tasks: &Tasks, contexts: &[Entry]) -> Vec<String> {
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
pub fn warned(answer: &mut Value, warnings: Vec<String>) {
    if !warnings.is_empty() {
        answer["warnings"] = warnings.into();
    }
}

/// The tasks that hold all words of a query, best first.
pub fn search_tasks(
    (tree, contexts): (TreeSeen, Option<ContextsSeen>),
    args: &SearchTasks,
) -> Result<Answer, TodoError> {
    let tasks = Tasks::of(tree)?;
    let mut warnings = tasks.warnings();
    let contexts = match contexts {
        Some(seen) => readable(seen, &mut warnings)?,
        None => Vec::new(),
    };
    let by_id: HashMap<TaskId, &Folded> = contexts.iter().map(|(id, _, context)| (*id, &context.text)).collect();
    let query = asked(&args.query);
    let fields_of = |number: usize, task: &Task| {
        let searched = &tasks.file.searched()[number];
        let context = by_id.get(&task.id).copied();
        let title = args.fields.title.then_some(Field { text: &searched.title, weight: 1.0, whole: true });
        let content = args.fields.content.then_some(Field { text: &searched.content, weight: 0.7, whole: false });
        let context = context.map(|text| Field { text, weight: 0.5, whole: false });
        title.into_iter().chain(content).chain(context).collect::<Vec<Field<'_>>>()
    };
    let matches = tasks
        .file
        .tasks
        .iter()
        .enumerate()
        .filter_map(|(number, task)| query.as_ref()?.matches(number, &fields_of(number, task)));
    let (found, total) = best(matches.collect(), args.limit);
    let item = |found: &super::search::Match<usize>| {
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
    let mut answer = json!({ "results": found.iter().map(item).collect::<Vec<_>>(), "total_matches": total });
    warned(&mut answer, warnings);
    Ok(Answer::object(answer))
}

/// The contexts that hold all words of a query, best first; also those without a task.
pub fn search_contexts(
    (_, link, contexts): (Place, Result<bool, Unseen>, ContextsSeen),
    args: &SearchContexts,
) -> Result<Answer, TodoError> {
    ground::is_no_link(link)?;
    let mut warnings = Vec::new();
    let contexts = readable(contexts, &mut warnings)?;
    let query = asked(&args.query);
    let matches = contexts.iter().filter_map(|(id, path, context)| {
        let fields = [Field { text: &context.text, weight: 1.0, whole: true }];
        query.as_ref()?.matches((id, path, context), &fields)
    });
    let (found, total) = best(matches.collect(), args.limit);
    let item = |found: super::search::Match<(&TaskId, &String, &std::sync::Arc<Context>)>| {
        let (id, path, context) = found.of;
        json!({
            "task_id": id.to_string(),
            "match_score": found.score,
            "matched_content": query.as_ref().map(|query| query.excerpt(&context.text)),
            "file_path": path,
        })
    };
    let mut answer = json!({ "results": found.into_iter().map(item).collect::<Vec<_>>(), "total_matches": total });
    warned(&mut answer, warnings);
    Ok(Answer::object(answer))
}

/// Arguments have refused a query of blanks; one whose letters all fold away finds nothing.
fn asked(query: &str) -> Option<Query> {
    Query::of(query)
}

type Readable = Vec<(TaskId, String, std::sync::Arc<Context>)>;

/// What can be searched; what cannot is named.
fn readable(seen: ContextsSeen, warnings: &mut Vec<String>) -> Result<Readable, TodoError> {
    let mut readable = Vec::new();
    for Below { path, seen } in ground::there(seen, &in_tree(CONTEXTS))?.unwrap_or_default() {
        let id = path.way_and_name().1;
        let Some(id) = TaskId::of_context(id) else { continue };
        match seen {
            Ok(seen) if !seen.model.is_broken => readable.push((id, shown(&path), seen.model)),
            Ok(_) => warnings.push(ground::left_out(&path, None)),
            Err(why) => warnings.push(ground::left_out(&path, Some(&why))),
        }
    }
    Ok(readable)
}

/// A context file, whole.
pub fn get_context(
    (tree, context): (TreeSeen, Result<FileSeen, Unseen>),
    args: &GetContext,
) -> Result<Answer, TodoError> {
    let tasks = Tasks::of(tree)?;
    tasks.task(args.id)?;
    let path = args.id.context();
    let context = ground::there(context, &path)?.ok_or(TodoError::NoContext { id: args.id })?;
    let mut answer = json!({
        "task_id": args.id.to_string(),
        "content": ground::text(&context, &path)?,
        "file_path": shown(&path),
        "updated_at": written_ns(context.identity.modified_ns),
    });
    warned(&mut answer, tasks.warnings());
    answer["hash"] = ground::hash(&context).into();
    Ok(Answer::object(answer))
}

/// The records, by number.
pub fn list_adrs(
    (_, link, adrs): (Place, Result<bool, Unseen>, AdrsSeen),
    args: &ListAdrs,
) -> Result<Answer, TodoError> {
    ground::is_no_link(link)?;
    let (mut items, mut warnings, mut total) = (Vec::new(), Vec::new(), 0);
    for Below { path, seen } in ground::there(adrs, &in_tree(ADRS))?.unwrap_or_default() {
        let name = path.way_and_name().1;
        let seen = match seen {
            Ok(seen) if seen.model.not_text.is_none() => seen,
            Ok(_) => {
                warnings.push(ground::left_out(&path, None));
                continue;
            }
            Err(why) => {
                warnings.push(ground::left_out(&path, Some(&why)));
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
        let or_file =
            |told: Option<jiff::Timestamp>| told.map_or_else(|| written_ns(seen.identity.modified_ns), written);
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
    let mut answer = json!({ "adrs": items, "total_count": total });
    warned(&mut answer, warnings);
    Ok(Answer::object(answer))
}
