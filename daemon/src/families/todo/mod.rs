//! Tasks, their contexts and decision records of a project, in Markdown that people edit as well: `.todo/`.
//!
//! `task.md` is never made anew: each tool changes the smallest span of lines, and everything else stays byte for
//! byte. A number that was given is not given again before all are, and then only one that nothing names any more. No
//! link is followed.

/// Ids, statuses, paths, limits.
pub mod model;

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

/// Which ids a file names.
pub mod mentions;

/// A title as part of a file name.
pub mod slug;

/// Decision records.
pub mod adr;

/// Context files and their sections.
pub mod context;

/// Words in, what holds them out.
pub mod search;

/// What is made of all of it, for finding one's way.
pub mod index_file;

/// Single values of arguments.
pub mod values;

/// What the tools take.
pub mod arguments;

/// What the tools look at.
pub mod ground;

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

/// What the shared search may know.
pub mod facts;

/// What can go wrong.
pub mod error;

#[cfg(test)]
mod random;

use serde_json::{Map, Value};
use trellis_protocol::Failure;

use super::facts::Documents;
use super::{Envelope, Family, InUnion};
use crate::disk::RelativePath;
use crate::families::edit::{Edit, Unwritable};
use crate::families::need::Place;
use crate::tools::{Halves, Resource, Session, Tool, halves};
use error::TodoError;

/// The family.
#[derive(Debug)]
pub struct Todo;

impl Family for Todo {
    const NAME: &'static str = "todo";
    const ENVELOPE: Envelope = Envelope::Error;
    const IN_UNION: InUnion = InUnion::Prefixed;
    const ABOUT: &'static str =
        "todo_*: the project's tasks in .todo/task.md, a context file per task, and decision records.";

    const PROJECT_MARKS: &'static [&'static str] = &[".todo"];

    fn tools() -> Vec<Tool> {
        tools::table()
    }

    fn read_only() -> Failure {
        TodoError::ReadOnly.into()
    }

    fn unwritten(path: &RelativePath, why: &Unwritable) -> Failure {
        TodoError::Unwritten { path: path.clone(), why: why.clone() }.into()
    }

    fn trees(session: &Session) -> Vec<Place> {
        model::trees(session)
    }

    fn documents() -> Option<Documents> {
        Some(Documents { wanted: facts::wanted, facts: facts::facts })
    }

    fn afterwards() -> Option<Halves<Map<String, Value>, Edit>> {
        Some(halves(
            |arguments: &Map<String, Value>, _| Ok(resources::index_look(values::project_root(arguments)?.as_deref())),
            |seen, _, _| Ok(resources::index_edit(seen)?),
        ))
    }

    fn resources() -> Vec<Resource> {
        resources::table()
    }
}
