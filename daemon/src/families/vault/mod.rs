//! Plain text files below one directory, the vault: listed, read in pieces, created, edited.
//!
//! Paths, line numbers and limits come in; text goes out with the place where it ends and where to go on, and edits for
//! the disk. A piece is never cut inside a line unless that line alone exceeds the limit, no link is followed, and
//! bytes that are no text are never shown as such.

/// What a vault is, where it is, and how much of it is shown at once.
pub mod model;

/// What the tools take, checked in the contract's order.
pub mod arguments;

/// Lines and pieces of a text.
pub mod lines;

pub mod ops;

/// The verbs that change something.
pub mod edits;

/// Places where a tool must not write.
pub mod reserved;

/// The table of tools.
pub mod tools;

/// Files as items.
pub mod items;

/// What can go wrong.
pub mod error;

use trellis_protocol::Failure;

use super::item::ItemFace;
use super::{ErrorFormat, Family, ToolNaming};
use crate::disk::{RelativePath, TreeLocation};
use crate::families::edit::EditError;
use crate::families::error::CommonError;
use crate::families::{SessionContext, Tool};
use error::VaultError;

#[derive(Debug)]
pub struct Vault;

impl Family for Vault {
    const NAME: &'static str = "vault";
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::ErrorAndTop;
    const TOOL_NAMING: ToolNaming = ToolNaming::Own;
    const INSTRUCTION: &'static str =
        "plain text files below one directory, found with vault_ls, read in pieces, created and edited.";

    const PROJECT_MARKS: &'static [&'static str] = &["vault"];

    fn tools() -> Vec<Tool> {
        tools::table()
    }

    fn trees(session: &SessionContext) -> Vec<TreeLocation> {
        vec![model::place(session, None)]
    }

    fn items() -> Option<ItemFace> {
        Some(items::FACE)
    }

    fn read_only() -> Failure {
        VaultError::Common(CommonError::ReadOnly).into()
    }

    fn write_failure(path: &RelativePath, why: &EditError) -> Failure {
        VaultError::Common(CommonError::Write { file: error::named(path), why: why.clone() }).into()
    }
}
