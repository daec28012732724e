//! The table of tools: name, sentences, what each needs to look at, and its op.

use super::arguments::{
    BatchArgs, BoardArgs, CreateArgs, DeleteArgs, GetArgs, ListArgs, MoveArgs, SearchArgs, UpdateArgs,
};
use super::bridge::{found, sought};
use super::{edits, ops};
use crate::families::need::RandomSeed;
use crate::families::{Tool, ToolEffect};

const ADDS: ToolEffect = ToolEffect::Writes { destructive: false, idempotent: false };
const CHANGES: ToolEffect = ToolEffect::Writes { destructive: true, idempotent: true };
const MOVES: ToolEffect = ToolEffect::Writes { destructive: false, idempotent: true };
const DELETES: ToolEffect = ToolEffect::Writes { destructive: true, idempotent: false };

/// Words that people use and the names have not.
const SEARCH_HINTS: [(&str, &str); 10] = [
    ("vbm_create_task", "kanban card new ticket add"),
    ("vbm_update_task", "kanban card edit priority"),
    ("vbm_move_task", "kanban card lane done start review"),
    ("vbm_delete_task", "kanban card remove"),
    ("vbm_get_task", "kanban card details"),
    ("vbm_list_tasks", "kanban cards lane"),
    ("vbm_search_tasks", "kanban cards find"),
    ("vbm_batch_create", "kanban cards many import tasks"),
    ("vbm_get_board", "kanban lanes overview"),
    ("vbm_get_stats", "kanban numbers count progress"),
];

/// All tools, in the order in which they are listed.
pub fn table() -> Vec<Tool> {
    Tool::all_found_by(rows(), &SEARCH_HINTS)
}

fn rows() -> Vec<Tool> {
    vec![
        Tool::write(
            ("vbm_create_task", "Create board task"),
            "Use this to put a new task on the project's kanban board. It goes to the end of `lane` (default backlog) \
             with `priority` medium unless you say otherwise. Returns the task with its id.",
            ADDS,
            |args: &CreateArgs, session| Ok((RandomSeed, sought(session, args.project_root.as_deref()))),
            |(chance, seen), args: &CreateArgs, now| Ok(edits::create(&found(seen)?, chance, args, now)?),
        ),
        Tool::write(
            ("vbm_update_task", "Update board task"),
            "Use this to change fields of a board task. Only the fields you send change; null clears estimatedHours or \
             assignee. Another `lane` moves the task to its end.",
            CHANGES,
            |args: &UpdateArgs, session| {
                args.changed()?;
                Ok(sought(session, args.project_root.as_deref()))
            },
            |seen, args: &UpdateArgs, now| Ok(edits::update(&found(seen)?, args, now)?),
        ),
        Tool::write(
            ("vbm_move_task", "Move board task"),
            "Use this to move a board task to the end of another lane. A `comment` is kept with the task. A task that \
             is in the lane already is left as it is.",
            MOVES,
            |args: &MoveArgs, session| Ok(sought(session, args.project_root.as_deref())),
            |seen, args: &MoveArgs, now| Ok(edits::relocate(&found(seen)?, args, now)?),
        ),
        Tool::write(
            ("vbm_delete_task", "Delete board task"),
            "Use this to remove a task from the board. Returns its last state.",
            DELETES,
            |args: &DeleteArgs, session| Ok(sought(session, args.project_root.as_deref())),
            |seen, args: &DeleteArgs, now| Ok(edits::delete(&found(seen)?, args, now)?),
        ),
        Tool::read(
            ("vbm_get_task", "Get board task"),
            "Use this to read one board task in full, with its comments.",
            |args: &GetArgs, session| Ok(sought(session, args.project_root.as_deref())),
            |seen, args: &GetArgs, _| Ok(ops::get(&found(seen)?.board, args)?),
        ),
        Tool::read(
            ("vbm_list_tasks", "List board tasks"),
            "Use this to see the tasks of the board, lane by lane. All filters must hold; `total` counts what matches \
             before `limit`.",
            |args: &ListArgs, session| Ok(sought(session, args.project_root.as_deref())),
            |seen, args: &ListArgs, _| Ok(ops::list(&found(seen)?.board, args)),
        ),
        Tool::read(
            ("vbm_search_tasks", "Search board tasks"),
            "Use this to find board tasks by words in title, description or tags. Every word must occur, in any letter \
             case; none is a pattern.",
            |args: &SearchArgs, session| Ok(sought(session, args.project_root.as_deref())),
            |seen, args: &SearchArgs, _| Ok(ops::search(&found(seen)?.board, args)),
        ),
        Tool::write(
            ("vbm_batch_create", "Create board tasks"),
            "Use this to put 1 to 100 new tasks on the board at once. All are created, or none if one is not valid; \
             the error names it, as in `tasks[3].title`.",
            ADDS,
            |args: &BatchArgs, session| Ok((RandomSeed, sought(session, args.project_root.as_deref()))),
            |(chance, seen), args: &BatchArgs, now| Ok(edits::batch(&found(seen)?, chance, args, now)?),
        ),
        Tool::read(
            ("vbm_get_board", "Get board"),
            "Use this to read the whole board: every lane with its tasks, and statistics. `hash` identifies its state \
             for `if_match`.",
            |args: &BoardArgs, session| Ok(sought(session, args.project_root.as_deref())),
            |seen, _: &BoardArgs, _| Ok(ops::whole(&found(seen)?.board)),
        ),
        Tool::read(
            ("vbm_get_stats", "Get board statistics"),
            "Use this to count the board's tasks by lane and priority, and sum up their estimated hours.",
            |args: &BoardArgs, session| Ok(sought(session, args.project_root.as_deref())),
            |seen, _: &BoardArgs, _| Ok(ops::stats(&found(seen)?.board)),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_short_and_the_table_is_lean() {
        let mut size = 0;
        for tool in table() {
            let first = tool.description.split(". ").next().unwrap_or_default();
            assert!(first.len() <= 120 && tool.description.len() <= 350, "{}", tool.name);
            assert!(tool.title.len() <= 30);
            size += tool.description.len() + serde_json::to_string(&tool.schema).expect("JSON").len();
        }
        assert!(size < 6_500, "{size} bytes of descriptions and schemas");
    }
}
