//! A workspace of Markdown documents in projects and folders: tasks, plans, session notes, reports and more.
//!
//! Names, texts and words come in; documents, figures, hits and edits for the disk go out. A task's number is given
//! once, a note is never overwritten, and bytes that a tool does not mean to change stay as they are.

/// Where things are in a workspace.
pub mod layout;

/// What a document says about itself.
pub mod metadata;

/// What is kept in memory of a document.
pub mod model;

/// Words for how far something is.
pub mod statuses;

/// The line `Status: x`.
pub mod status_line;

/// Lists in a text.
pub mod lists;

/// Title, objective, steps and the like.
pub mod sections;

/// What a plan says about its tasks.
pub mod plan;

/// A document in pieces for searching.
pub mod chunks;

/// What search may know about a document.
pub mod facts;

/// Documents as items.
pub mod items;

/// Numbers in the names of tasks.
pub mod numbers;

/// The text of a new task.
pub mod task_file;

/// Many documents at once.
pub mod workspace;

/// What the tools take.
pub mod arguments;

/// What a call has to look at.
pub mod needs;

/// The verbs that only read.
pub mod ops;

/// The verbs that write.
pub mod edits;

/// The tools that ask the index.
pub mod search;

/// The table of tools.
pub mod tools;

/// The URIs, and who is told about changes.
pub mod uris;

/// Values that fit what is being typed.
pub mod complete;

/// The table of resources.
pub mod resources;

/// The text of `project_briefing`.
pub mod briefing;

/// The text of `session_start`.
pub mod session_start;

/// The table of prompts.
pub mod prompts;

/// What can go wrong.
pub mod error;

use std::path::Path;

use trellis_protocol::Failure;

use super::facts::DocumentSource;
use super::item::ItemFace;
use super::{ErrorFormat, Family, Notice, ToolNaming};
use crate::disk::{RelativePath, TreeLocation};
use crate::families::edit::EditError;
use crate::families::error::{CommonError, NamedFile};
use crate::families::{Prompt, Resource, SessionContext, Tool};
use crate::trees::ChangeKind;
use error::VibeError;

#[derive(Debug)]
pub struct Vibe;

impl Family for Vibe {
    const NAME: &'static str = "vibe";
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::Success;
    const TOOL_NAMING: ToolNaming = ToolNaming::Prefixed;
    const INSTRUCTION: &'static str = "a workspace of Markdown documents (tasks, plans, session notes …) in projects: \
                                 search it, read and write documents, number tasks, log sessions.";

    fn tools() -> Vec<Tool> {
        tools::table()
    }

    fn trees(session: &SessionContext) -> Vec<TreeLocation> {
        vec![layout::place(session)]
    }

    fn documents() -> Option<DocumentSource> {
        Some(facts::DOCUMENTS)
    }

    fn items() -> Option<ItemFace> {
        Some(items::FACE)
    }

    fn notices(path: &Path, kind: ChangeKind) -> Vec<Notice> {
        uris::notices(path, kind)
    }

    fn resources() -> Vec<Resource> {
        resources::table()
    }

    fn prompts() -> Vec<Prompt> {
        prompts::table()
    }

    fn read_only() -> Failure {
        VibeError::Common(CommonError::ReadOnly).into()
    }

    fn write_failure(path: &RelativePath, why: &EditError) -> Failure {
        let file = NamedFile::new("path", path.as_str());
        VibeError::Common(CommonError::Write { file, why: why.clone() }).into()
    }
}
