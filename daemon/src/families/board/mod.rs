//! A kanban board in one JSON file, the bridge file, which other programs read and write as well.
//!
//! Arguments come in; tasks go out, and edits of the file. What a tool does not mean to change keeps its value, be it
//! of a key that nobody here knows. A file that is no board is never taken for an empty one, so it is never
//! overwritten.

/// What a board is.
pub mod model;

/// JSON that stays as its writer wrote it.
pub mod json;

/// Bytes → board.
pub mod parse;

/// Board → bytes.
pub mod render;

/// Where the file is.
pub mod bridge;

/// What each argument must be.
pub mod rules;

/// Arguments → values that keep their rules.
pub mod given;

/// What the tools take.
pub mod arguments;

/// The verbs that only look.
pub mod ops;

/// The verbs that change something.
pub mod edits;

/// The table of tools.
pub mod tools;

/// What can go wrong.
pub mod error;

use trellis_protocol::Failure;

use super::{Envelope, Family, InUnion};
use crate::disk::RelativePath;
use crate::families::edit::Unwritable;
use crate::tools::Tool;
use error::BoardError;

/// The family.
#[derive(Debug)]
pub struct Board;

impl Family for Board {
    const NAME: &'static str = "board";
    const ENVELOPE: Envelope = Envelope::Numbered;
    const IN_UNION: InUnion = InUnion::SameNames;
    const ABOUT: &'static str = "vbm_*: the project's kanban board, tasks in lanes from backlog to done.";

    const PROJECT_MARKS: &'static [&'static str] = &[bridge::NAME, bridge::IN_STATE];

    fn tools() -> Vec<Tool> {
        tools::table()
    }

    fn read_only() -> Failure {
        BoardError::ReadOnly.into()
    }

    fn unwritten(path: &RelativePath, why: &Unwritable) -> Failure {
        BoardError::Unwritten { file: bridge::name_of(path), why: why.clone() }.into()
    }
}
