//! Tasks, their contexts and decision records of a project, in Markdown that people edit as well: `.todo/`.
//!
//! `task.md` is never made anew: each tool changes the smallest span of lines, and everything else stays byte for
//! byte. A number that was given is not given again before all are, and then only one that nothing names any more. No
//! link is followed.

/// Ids, statuses, paths, limits.
pub mod model;

/// Words for how far something is.
pub mod statuses;

/// Lines with their places, and which of them are not to be read.
pub mod lines;

/// Text made comparable.
pub mod fold;

/// Text of `task.md` → tasks.
pub mod parse;

/// Tasks and records → text.
pub mod render;

/// The smallest edits of `task.md`.
pub mod splice;

/// The next number of a task and of a record.
pub mod ids;

/// Numbers that other worktrees have given.
pub mod worktrees;

/// Which ids a file names.
pub mod mentions;

/// A title as part of a file name.
pub mod slug;

pub mod adr;

/// Context files and their sections.
pub mod context;

/// Words in, what holds them out.
pub mod search;

/// What is made of all of it, for finding one's way.
pub mod index_file;

/// What the tools take.
pub mod arguments;

/// What the tools look at.
pub mod needs;

/// The verbs that change nothing.
pub mod ops;

/// The verbs that change tasks.
pub mod edits;

/// The verbs that change records and contexts.
pub mod records;

/// The table of tools.
pub mod tools;

/// The table of resources.
pub mod resources;

/// Tasks, contexts and records as items.
pub mod items;

/// What the shared search may know.
pub mod facts;

/// What can go wrong.
pub mod error;

#[cfg(test)]
mod random;

use std::path::Path;

use serde_json::{Map, Value};
use trellis_protocol::Failure;

use super::item::ItemFace;
use super::{ErrorFormat, Family, Notice, ToolNaming};
use crate::disk::{RelativePath, TreeLocation};
use crate::families::edit::{Edit, EditError};
use crate::families::error::CommonError;
use crate::families::{Resource, SessionContext, Tool, TwoPhase, two_phase};
use crate::trees::ChangeKind;
use error::TodoError;

#[derive(Debug)]
pub struct Todo;

impl Family for Todo {
    const NAME: &'static str = "todo";
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::Error;
    const TOOL_NAMING: ToolNaming = ToolNaming::Prefixed;
    const INSTRUCTION: &'static str =
        "the project's tasks in .todo/task.md, a context file per task, and decision records.";

    const PROJECT_MARKS: &'static [&'static str] = &[".todo"];

    fn tools() -> Vec<Tool> {
        tools::table()
    }

    fn read_only() -> Failure {
        TodoError::Common(CommonError::ReadOnly).into()
    }

    fn write_failure(path: &RelativePath, why: &EditError) -> Failure {
        TodoError::Common(CommonError::Write { file: error::named(path), why: why.clone() }).into()
    }

    fn trees(_: &SessionContext) -> Vec<TreeLocation> {
        vec![model::place(None)]
    }

    fn items() -> Option<ItemFace> {
        Some(items::FACE)
    }

    fn notices(path: &Path, kind: ChangeKind) -> Vec<Notice> {
        resources::notices(path, kind)
    }

    fn derived_files() -> Option<TwoPhase<Map<String, Value>, Edit>> {
        Some(two_phase(
            |arguments: &Map<String, Value>, _| {
                Ok(resources::index_look(arguments::project_argument(arguments).as_deref()))
            },
            |seen, _, _| Ok(resources::index_edit(seen)?),
        ))
    }

    fn resources() -> Vec<Resource> {
        resources::table()
    }
}
