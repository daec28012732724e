//! Every family that exists, one line each, and what a family is.
//!
//! A family is a folder: the files it serves, its tools, its errors. It computes on what was looked
//! at for it and returns answers; it knows nothing of MCP, sockets, disks or other families.

/// What a tool may ask to have looked at before it runs.
pub mod need;

/// What a tool wants done to files.
pub mod edit;

/// What was changed, when and by whom.
pub mod feed;

/// Changes and the items that they are about.
pub mod changes;

/// What search may know about files.
pub mod facts;

/// One search over the items of all families.
pub mod recall;

/// What all families share: items.
pub mod item;

/// Addresses of items, read and written.
pub mod address;

/// The items of several trees at one moment.
pub mod item_set;

/// Who is on which item.
pub mod claim;

/// Words for how far something is.
pub mod statuses;

/// What replaced what, and what points where, as texts say it.
pub mod references;

/// Arguments: a table per tool gives schema, reader and refusals.
pub mod fields;

/// What arguments take in several families.
pub mod shapes;

/// What goes wrong in every family in the same way.
pub mod error;

/// A tool and its answer.
pub mod tool;

/// An operation in two phases: what to read, and what to compute from it.
pub mod two_phase;

/// Resources and prompts: tables like the tools'.
pub mod resource;

/// URI templates, matched and filled.
pub mod uri;

/// What a tool may know about who is calling.
pub mod session;

/// How far a long call has come, and whether it is still wanted.
pub mod progress;

/// Which tools a surface shows, and under which names.
pub mod catalogue;

pub mod vibe;

pub mod todo;

pub mod vine;

pub mod vault;

pub mod board;

pub mod trellis;

#[cfg(test)]
mod codes;

use std::path::Path;

use serde_json::{Map, Value};
use trellis_protocol::Failure;

pub use catalogue::{Catalogue, FoundTool, ListedTool, Registry, ToolLookup};
use edit::{Edit, EditError};
use facts::DocumentSource;
use item::ItemFace;
pub use progress::{ProgressReporter, ProgressStep};
pub use resource::{
    AddressSpace, AddressTemplate, CompletionRequest, ListedOn, Prompt, PromptArgument, PromptText, Resource,
    ResourceContent, ResourceEntry,
};
pub use session::SessionContext;
pub use tool::{Answer, Arguments, Body, Tool, ToolEffect, ToolRun};
pub use two_phase::{TwoPhase, two_phase};

use crate::disk::{RelativePath, TreeLocation};
use crate::trees::ChangeKind;

/// All families, in the order in which their tools are listed.
const ALL: &[FamilyEntry] = &[
    FamilyEntry::of::<trellis::Trellis>(),
    FamilyEntry::of::<vibe::Vibe>(),
    FamilyEntry::of::<todo::Todo>(),
    FamilyEntry::of::<vine::Vine>(),
    FamilyEntry::of::<vault::Vault>(),
    FamilyEntry::of::<board::Board>(),
];

/// All families with their tables.
pub fn all() -> Vec<FamilyDescriptor> {
    ALL.iter().map(|family| (family.descriptor)()).collect()
}

/// Names and faces of the families that have items, in the order of all. No tool is made for this, so that tools can
/// ask for it while they are made.
pub fn with_items() -> impl Iterator<Item = (&'static str, ItemFace)> {
    ALL.iter().filter_map(|family| Some((family.name, (family.items)()?)))
}

/// A family in the list of all, before its tables are read.
struct FamilyEntry {
    name: &'static str,
    items: fn() -> Option<ItemFace>,
    descriptor: fn() -> FamilyDescriptor,
}

impl FamilyEntry {
    const fn of<F: Family>() -> Self {
        Self { name: F::NAME, items: F::items, descriptor: FamilyDescriptor::of::<F> }
    }
}

/// What every family says about itself.
pub trait Family {
    /// As in `--only NAME`.
    const NAME: &'static str;
    /// How its failures look on the wire.
    const ERROR_FORMAT: ErrorFormat;
    /// How its tools are called beside other families'.
    const TOOL_NAMING: ToolNaming;
    /// One sentence for the instructions that a host reads first.
    const INSTRUCTION: &'static str;
    /// Whether a URI of its scheme that names nothing is a wrong parameter in both kinds of revisions.
    const UNKNOWN_URI_IS_INVALID_PARAMS: bool = false;
    /// Names below a directory that show that the family's files are kept there, which makes it a project; `*` in
    /// front stands for any beginning of a name.
    const PROJECT_MARKS: &'static [&'static str] = &[];

    /// The tools, in the order in which they are listed.
    fn tools() -> Vec<Tool>;

    /// What a call of a writing tool is answered in a read-only session.
    fn read_only() -> Failure;

    /// What a writing tool answers when its edit could not be carried out; families with codes of their
    /// own for this say so.
    fn write_failure(path: &RelativePath, why: &EditError) -> Failure {
        why.failure(path)
    }

    /// Whether a call depends on the host's roots, although its directory says what is worked on.
    fn needs_roots(_: &Map<String, Value>) -> bool {
        false
    }

    /// The trees that a session works with, to be watched while it lasts.
    fn trees(_: &SessionContext) -> Vec<TreeLocation> {
        Vec::new()
    }

    /// The files of its trees that can be found by their words, if any.
    fn documents() -> Option<DocumentSource> {
        None
    }

    /// Its items, if its files hold any.
    fn items() -> Option<ItemFace> {
        None
    }

    /// Who should hear of a changed file of one of its trees, by its path from the root.
    fn notices(_: &Path, _: ChangeKind) -> Vec<Notice> {
        Vec::new()
    }

    /// What is written a moment after one of its writes was answered: files that are made from others and that
    /// nobody waits for. It gets the arguments of the call.
    fn derived_files() -> Option<TwoPhase<Map<String, Value>, Edit>> {
        None
    }

    /// The resources, if it has any.
    fn resources() -> Vec<Resource> {
        Vec::new()
    }

    /// Addresses that are read as resources besides, if it knows any.
    fn addresses() -> Option<AddressSpace> {
        None
    }

    /// The prompts, if it has any.
    fn prompts() -> Vec<Prompt> {
        Vec::new()
    }
}

/// Something that sessions may have asked to hear about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Notice {
    /// The resource with this URI changed.
    Updated(String),
    /// There are other resources than before.
    ListChanged,
}

impl Notice {
    /// What is told of a file: of these URIs, and of the list if the file came or went.
    pub fn of(uris: impl IntoIterator<Item = String>, kind: ChangeKind) -> Vec<Self> {
        let is_listed = matches!(kind, ChangeKind::Created | ChangeKind::Removed);
        uris.into_iter().map(Self::Updated).chain(is_listed.then_some(Self::ListChanged)).collect()
    }
}

/// How a family's failures look on the wire; `present` has one function for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorFormat {
    /// The message alone, as text.
    Text,
    /// `{"error": {code, message, details}}`
    Error,
    /// The same, with `code` and `message` repeated at the top.
    ErrorAndTop,
    /// `{"success": false, "error": {…}}`
    Success,
    /// `{"success": false, "error": {code, name, message, data, hint}}` with a number for a code.
    Numbered,
}

/// How a family's tools are called beside other families'.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolNaming {
    /// The names say already whose they are.
    Own,
    /// The family's name and an underscore go in front.
    Prefixed,
}

/// A family as the rest of the program sees it: its tables, without its type.
#[derive(Debug)]
pub struct FamilyDescriptor {
    /// As in `--only NAME`.
    pub name: &'static str,
    /// How its failures look on the wire.
    pub error_format: ErrorFormat,
    /// How its tools are called beside other families'.
    pub tool_naming: ToolNaming,
    /// One sentence for the instructions.
    pub about: &'static str,
    pub tools: Vec<Tool>,
    pub resources: Vec<Resource>,
    pub prompts: Vec<Prompt>,
    /// Addresses that are read as resources besides.
    pub addresses: Option<AddressSpace>,
    /// What a call of a writing tool is answered in a read-only session.
    pub read_only: fn() -> Failure,
    /// What a writing tool answers when its edit could not be carried out.
    pub write_failure: fn(&RelativePath, &EditError) -> Failure,
    /// Whether a call depends on the host's roots.
    pub needs_roots: fn(&Map<String, Value>) -> bool,
    /// Whether a URI of its scheme that names nothing is a wrong parameter in both kinds of revisions.
    pub unknown_uri_is_invalid_params: bool,
    /// Names below a directory that make it a project.
    pub project_marks: &'static [&'static str],
    /// The trees that a session works with.
    pub trees: fn(&SessionContext) -> Vec<TreeLocation>,
    /// The files of its trees that can be found by their words.
    pub documents: Option<DocumentSource>,
    /// Its items, if its files hold any.
    pub items: Option<ItemFace>,
    /// Who should hear of a changed file.
    pub notices: fn(&Path, ChangeKind) -> Vec<Notice>,
    /// What is written a moment after one of its writes was answered.
    pub derived_files: Option<TwoPhase<Map<String, Value>, Edit>>,
}

impl FamilyDescriptor {
    /// Reads a family's tables.
    pub fn of<F: Family>() -> Self {
        Self {
            name: F::NAME,
            error_format: F::ERROR_FORMAT,
            tool_naming: F::TOOL_NAMING,
            about: F::INSTRUCTION,
            tools: F::tools(),
            resources: F::resources(),
            prompts: F::prompts(),
            addresses: F::addresses(),
            read_only: F::read_only,
            write_failure: F::write_failure,
            needs_roots: F::needs_roots,
            unknown_uri_is_invalid_params: F::UNKNOWN_URI_IS_INVALID_PARAMS,
            project_marks: F::PROJECT_MARKS,
            trees: F::trees,
            documents: F::documents(),
            items: F::items(),
            notices: F::notices,
            derived_files: F::derived_files(),
        }
    }
}
