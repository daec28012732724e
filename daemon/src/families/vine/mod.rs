//! Task graphs in `.vine` files: read, searched, asked what can be done next, changed, put together.
//!
//! Paths, ids and operations come in; the graph's answers go out, and whole new texts for the disk. A plan is
//! rewritten in one canonical form, and only if the new text reads back as what was meant; a file that does not look
//! like a plan is never shown.

/// White space, lines and order as the format means them.
pub mod whitespace;

/// What a plan is.
pub mod model;

/// Words for how far something is.
pub mod statuses;

/// Its nodes, in blocks.
pub mod nodes;

/// The first line of a block.
pub mod header;

/// Text → graph.
pub mod parse;

/// Graph → text.
pub mod render;

/// Who needs whom, as numbers.
pub mod edges;

/// Whether a graph is sound.
pub mod validate;

/// Questions about a graph.
pub mod query;

/// What can be done next.
pub mod frontier;

/// A plan as it is kept in memory.
pub mod plan;

/// What a batch may ask for.
pub mod operations;

/// Operations on a graph.
pub mod apply;

/// A reference becomes the plan that it stands for.
pub mod expand;

/// What callers get to see.
pub mod answers;

/// From what a caller names to what may be on the disk.
pub mod paths;

/// What the tools take.
pub mod arguments;

pub mod ops;

/// The table of tools.
pub mod tools;

/// The format as texts to read.
pub mod resources;

/// Plans and their tasks as items.
pub mod items;

/// What can go wrong.
pub mod error;

/// What holds for any plan and any batch.
#[cfg(test)]
mod properties;

use serde_json::{Map, Value};
use trellis_protocol::Failure;

use super::item::ItemFace;
use super::{ErrorFormat, Family, ToolNaming};
use crate::disk::RelativePath;
use crate::families::edit::EditError;
use crate::families::{Resource, Tool};
use error::VineError;

#[derive(Debug)]
pub struct Vine;

impl Family for Vine {
    const NAME: &'static str = "vine";
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::Text;
    const TOOL_NAMING: ToolNaming = ToolNaming::Own;
    const UNKNOWN_URI_IS_INVALID_PARAMS: bool = true;
    const INSTRUCTION: &'static str = "plans as task graphs in .vine files: vine_next says what can start, vine_write \
                                 changes statuses, tasks and dependencies, vine_expand takes in another plan.";

    const PROJECT_MARKS: &'static [&'static str] = &["*.vine"];

    fn tools() -> Vec<Tool> {
        tools::table()
    }

    fn resources() -> Vec<Resource> {
        resources::table()
    }

    fn items() -> Option<ItemFace> {
        Some(items::FACE)
    }

    fn read_only() -> Failure {
        VineError::ReadOnly.into()
    }

    fn write_failure(path: &RelativePath, why: &EditError) -> Failure {
        VineError::Write { path: path.clone(), why: why.clone() }.into()
    }

    fn needs_roots(arguments: &Map<String, Value>) -> bool {
        arguments::names_relative_path(arguments)
    }
}
