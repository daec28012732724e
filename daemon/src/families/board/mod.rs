//! A kanban board in one JSON file, the bridge file, which other programs read and write as well.
//!
//! Arguments come in; tasks go out, and edits of the file. What a tool does not mean to change keeps its value, be it
//! of a key that nobody here knows. A file that is no board is never taken for an empty one, so it is never
//! overwritten.

/// What a board is.
pub mod model;

/// Words for how far something is.
pub mod statuses;

/// JSON that stays as its writer wrote it.
pub mod json;

/// Bytes → board.
pub mod parse;

/// Board → bytes.
pub mod render;

/// Where the file is.
pub mod bridge;

/// What the tools take.
pub mod arguments;

/// The verbs that only look.
pub mod ops;

/// The verbs that change something.
pub mod edits;

/// The table of tools.
pub mod tools;

/// Tasks as items.
pub mod items;

/// What can go wrong.
pub mod error;

use trellis_protocol::Failure;

use super::item::ItemFace;
use super::{ErrorFormat, Family, ToolNaming};
use crate::disk::RelativePath;
use crate::families::Tool;
use crate::families::edit::EditError;
use crate::families::error::CommonError;
use error::BoardError;

#[derive(Debug)]
pub struct Board;

impl Family for Board {
    const NAME: &'static str = "board";
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::Numbered;
    const TOOL_NAMING: ToolNaming = ToolNaming::Own;
    const INSTRUCTION: &'static str = "the project's kanban board, tasks in lanes from backlog to done.";

    const PROJECT_MARKS: &'static [&'static str] = &[bridge::NAME, bridge::IN_STATE];

    fn tools() -> Vec<Tool> {
        tools::table()
    }

    fn items() -> Option<ItemFace> {
        Some(items::FACE)
    }

    fn read_only() -> Failure {
        BoardError::Common(CommonError::ReadOnly).into()
    }

    fn write_failure(path: &RelativePath, why: &EditError) -> Failure {
        let file = error::named(&bridge::name_of(path));
        BoardError::Common(CommonError::Write { file, why: why.clone() }).into()
    }
}
