//! The table of tools: name, sentences, what each needs to look at, and its op.

use std::path::Path;

use super::arguments::{
    CreateAdr, CreateTask, DeleteTask, GetContext, ListAdrs, ListTasks, ReorderTask, SearchContexts, SearchTasks,
    UpdateAdr, UpdateContext, UpdateTask,
};
use super::edits::{self, NumberedFiles};
use super::model::{ADRS, CONTEXTS, in_tree, place};
use super::needs::{self, EntriesSeen};
use super::ops;
use super::records;
use super::worktrees;
use crate::disk::{ReadDirectory, ReadFile, TreeIsSymlink, TreeLocation};
use crate::families::need::{AndThen, Constant, Need};
use crate::families::{Tool, ToolEffect};

const ADDS: ToolEffect = ToolEffect::Writes { destructive: false, idempotent: false };
const CHANGES: ToolEffect = ToolEffect::Writes { destructive: true, idempotent: true };
const REMOVES: ToolEffect = ToolEffect::Writes { destructive: true, idempotent: false };

/// Words that people use and the names have not.
const SEARCH_HINTS: [(&str, &str); 12] = [
    ("create_task", "new work ticket add"),
    ("update_task", "done finish start rename status"),
    ("delete_task", "remove drop"),
    ("reorder_task", "priority sort move up down"),
    ("list_tasks", "open work what next"),
    ("search_tasks", "find work"),
    ("create_adr", "decision record architecture why chose"),
    ("update_adr_status", "decision accept deprecate supersede"),
    ("list_adrs", "decision records architecture"),
    ("update_context", "notes details progress of a task"),
    ("get_context", "notes details memory of a task"),
    ("search_contexts", "find notes details"),
];

/// All tools, in the order in which they are listed.
pub fn table() -> Vec<Tool> {
    Tool::all_with_long_results(Tool::all_found_by(rows(), &SEARCH_HINTS), &["get_context"])
}

fn rows() -> Vec<Tool> {
    vec![
        Tool::write(
            ("create_task", "Create task"),
            "Use this to add a main task to the project's .todo/task.md. It becomes the last one of its category and gets \
             the next id (T001 … T999, then one that nothing names any more) and a context file for notes.",
            ADDS,
            |args: &CreateTask, _| Ok(with_mentions(args.project_root.as_deref())),
            |seen, args: &CreateTask, now| Ok(edits::create(seen, args, now)?),
        ),
        Tool::write(
            ("update_task", "Update task"),
            "Use this to change a task's title, status, category or sub-tasks. Only what you pass changes; \
             `updated_fields` says what was different. Everything else in task.md stays as people wrote it.",
            CHANGES,
            |args: &UpdateTask, _| Ok(needs::tree(args.project_root.as_deref())),
            |seen, args: &UpdateTask, now| Ok(edits::update(seen, args, now)?),
        ),
        Tool::write(
            ("delete_task", "Delete task"),
            "Use this to remove a task and its context file. Its id is not given again before T999 was. To finish a \
             task, use `update_task` with status done instead.",
            REMOVES,
            |args: &DeleteTask, _| {
                let root = args.project_root.as_deref();
                let place = place(root);
                Ok((needs::tree(root), needs::file(&place, args.id.context()), needs::counted(&place)))
            },
            |seen, args: &DeleteTask, now| Ok(edits::delete(seen, args, now)?),
        ),
        Tool::write(
            ("reorder_task", "Reorder task"),
            "Use this to change a task's priority: its place among the tasks of its category, 1 being the highest. \
             Sub-tasks and notes move along.",
            CHANGES,
            |args: &ReorderTask, _| Ok(needs::tree(args.project_root.as_deref())),
            |seen, args: &ReorderTask, now| Ok(edits::reorder(seen, args, now)?),
        ),
        Tool::read(
            ("list_tasks", "List tasks"),
            "Use this to see the project's tasks in the order of task.md, all or by status and category. `priority` is \
             the place in the category; `total_count` counts before the limit; `hash` identifies task.md.",
            |args: &ListTasks, _| {
                let root = args.project_root.as_deref();
                Ok((needs::tree(root), needs::listing(&place(root), CONTEXTS)))
            },
            |seen, args: &ListTasks, _| Ok(ops::list_tasks(seen, args)?),
        ),
        Tool::read(
            ("search_tasks", "Search tasks"),
            "Use this to find tasks by words in their titles, sub-tasks and notes. Context files are searched, too, if \
             `search_in` names context. Every word must occur, in any language; best first.",
            |args: &SearchTasks, _| {
                let root = args.project_root.as_deref();
                Ok((needs::tree(root), args.fields.context.then(|| needs::contexts(&place(root)))))
            },
            |seen, args: &SearchTasks, _| Ok(ops::search_tasks(seen, args)?),
        ),
        Tool::write(
            ("create_adr", "Create decision record"),
            "Use this to record an architecture decision, so that others find out what was decided and why. Gets the \
             next number and a file in .todo/adr.",
            ADDS,
            |args: &CreateAdr, _| Ok(numbered(args.project_root.as_deref())),
            |seen, args: &CreateAdr, now| Ok(records::create_adr(seen, args, now)?),
        ),
        Tool::write(
            ("update_adr_status", "Update decision status"),
            "Use this when a recorded decision becomes accepted, deprecated or proposed again. Adds a line to the \
             record's history; the rest of the file stays.",
            CHANGES,
            |args: &UpdateAdr, _| {
                let place = place(args.project_root.as_deref());
                Ok((Constant(place.clone()), TreeIsSymlink(place.clone()), record(place, args.number)))
            },
            |seen, args: &UpdateAdr, now| Ok(records::update_adr(seen, args, now)?),
        ),
        Tool::read(
            ("list_adrs", "List decision records"),
            "Use this to see the project's decision records by number, all or by status.",
            |args: &ListAdrs, _| {
                let place = place(args.project_root.as_deref());
                Ok((Constant(place.clone()), TreeIsSymlink(place.clone()), needs::adrs(&place)))
            },
            |seen, args: &ListAdrs, _| Ok(ops::list_adrs(seen, args)?),
        ),
        Tool::write(
            ("update_context", "Update task context"),
            "Use this to keep what you learn about a task for the next session. Replaces the task's context file, or \
             adds to it with `append`; with `section`, only that section.",
            CHANGES,
            |args: &UpdateContext, _| Ok(with_context(args.project_root.as_deref(), args.id)),
            |seen, args: &UpdateContext, now| Ok(records::update_context(seen, args, now)?),
        ),
        Tool::read(
            ("get_context", "Get task context"),
            "Use this to read everything that was noted about a task. `hash` identifies the file's state.",
            |args: &GetContext, _| Ok(with_context(args.project_root.as_deref(), args.id)),
            |seen, args: &GetContext, _| Ok(ops::get_context(seen, args)?),
        ),
        Tool::read(
            ("search_contexts", "Search task contexts"),
            "Use this to find context files by their words, also those whose task is gone. Every word must occur, in \
             any language; best first.",
            |args: &SearchContexts, _| {
                let place = place(args.project_root.as_deref());
                Ok((Constant(place.clone()), TreeIsSymlink(place.clone()), needs::contexts(&place)))
            },
            |seen, args: &SearchContexts, _| Ok(ops::search_contexts(seen, args)?),
        ),
    ]
}

/// The tasks, and what is needed to give out numbers, here and in other worktrees.
fn numbered(project_root: Option<&Path>) -> impl Need<Output = NumberedFiles> + use<> {
    let place = place(project_root);
    ((needs::tree(project_root), needs::counted(&place)), worktrees::others(&place))
}

/// The same, and the ids that all files name if the last number was given.
fn with_mentions(root: Option<&Path>) -> impl Need<Output = (NumberedFiles, edits::MentionsResult)> + use<> {
    let place = place(root);
    AndThen(numbered(root), move |seen: &NumberedFiles| {
        let (_, (worktrees, _)) = seen;
        let trees = || std::iter::once(&place).chain(&worktrees.others).map(needs::mentions).collect::<Vec<_>>();
        edits::needs_mentions(seen).then(trees)
    })
}

/// The tasks, and the context of one.
fn with_context(project_root: Option<&Path>, id: super::model::TaskId) -> (needs::TodoNeed, ReadFile) {
    (needs::tree(project_root), needs::file(&place(project_root), id.context()))
}

/// The names of all records, and the one with this number if there is just one.
fn record(place: TreeLocation, number: u16) -> AndThen<ReadDirectory, impl FnOnce(&EntriesSeen) -> Option<ReadFile>> {
    AndThen(needs::listing(&place, ADRS), move |names: &EntriesSeen| {
        match records::with_number(names.as_ref().map_or(&[], Vec::as_slice), number).as_slice() {
            [name] => Some(needs::file(&place, in_tree(&format!("{ADRS}/{name}")))),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_short() {
        for tool in table() {
            let first = tool.description.split(". ").next().unwrap_or_default();
            assert!(first.len() < 120 && tool.description.len() <= 400, "{}", tool.name);
            assert!(first.starts_with("Use this "), "{}", tool.name);
            assert!(tool.title.len() <= 30);
        }
    }

    #[test]
    fn every_tool_takes_a_project() {
        let names: Vec<&str> = table().iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), 12);
        for tool in table() {
            assert!(tool.schema["properties"].get("project_root").is_some(), "{}", tool.name);
        }
    }

    #[test]
    fn the_table_is_cheap() {
        let bytes: usize = table()
            .iter()
            .map(|tool| tool.description.len() + serde_json::to_string(&tool.schema).expect("JSON").len())
            .sum();
        assert!(bytes <= 9_000, "{bytes} bytes");
    }
}
