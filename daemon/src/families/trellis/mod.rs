//! One memory over all families: items are listed and opened by their addresses, whatever file they are in.
//!
//! Arguments and the items of a moment come in, answers go out. It has no files of its own, and knows items only by
//! what every family says of its own.

/// Items as answers show them.
pub mod model;

/// Pages of a text.
pub mod pages;

/// What the tools take.
pub mod arguments;

/// Hits of one search over everything.
pub mod recall;

/// Lists of items.
pub mod ops;

/// One item alone.
pub mod open;

/// What was changed, newest first.
pub mod recent;

/// A change taken back.
pub mod undo;

/// Two texts, compared line by line.
pub mod difference;

/// One item taken or given back.
pub mod claim;

/// The table of tools.
pub mod tools;

/// Items as resources.
pub mod resources;

/// What can go wrong.
pub mod error;

use trellis_protocol::Failure;

use super::{ErrorFormat, Family, ToolNaming};
use crate::families::error::CommonError;
use crate::families::{AddressSpace, Tool};
use error::TrellisError;

#[derive(Debug)]
pub struct Trellis;

impl Family for Trellis {
    const NAME: &'static str = "trellis";
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::Error;
    const TOOL_NAMING: ToolNaming = ToolNaming::Prefixed;
    const INSTRUCTION: &'static str = "every task, decision, plan, note and card of all projects has an address: `recall` finds them by their words, `list` shows them, `open` reads one.";

    fn tools() -> Vec<Tool> {
        tools::table()
    }

    fn addresses() -> Option<AddressSpace> {
        Some(resources::addresses())
    }

    fn read_only() -> Failure {
        TrellisError::Common(CommonError::ReadOnly).into()
    }
}
