//! Every family that exists, one line each, and what a family is.
//!
//! A family is a folder: the files it serves, its tools, its errors. It computes on what was looked
//! at for it and returns answers; it knows nothing of MCP, sockets, disks or other families.

/// What a tool may ask to have looked at before it runs.
pub mod need;

/// Which project a call is about, and the words for when that cannot be told.
pub mod project;

/// What a tool wants done to files.
pub mod edit;

/// What search may know about files.
pub mod facts;

pub mod vibe;

pub mod todo;

pub mod vine;

pub mod vault;

pub mod board;

use serde_json::{Map, Value};
use trellis_protocol::Failure;

use edit::{Edit, Unwritable};
use facts::Documents;
use need::Place;

use crate::disk::RelativePath;
use crate::tools::{Halves, Prompt, Resource, Session, Tool};

/// All families, in the order in which their tools are listed.
pub fn all() -> Vec<Registered> {
    vec![
        Registered::of::<vibe::Vibe>(),
        Registered::of::<todo::Todo>(),
        Registered::of::<vine::Vine>(),
        Registered::of::<vault::Vault>(),
        Registered::of::<board::Board>(),
    ]
}

/// What every family says about itself.
pub trait Family {
    /// As in `--only NAME`.
    const NAME: &'static str;
    /// How its failures look on the wire.
    const ENVELOPE: Envelope;
    /// How its tools are called beside other families'.
    const IN_UNION: InUnion;
    /// One sentence for the instructions that a host reads first.
    const ABOUT: &'static str;
    /// Whether a URI of its scheme that names nothing is a wrong parameter in both eras.
    const STRICT_URIS: bool = false;
    /// Names below a directory that show that the family's files are kept there, which makes it a project; `*` in
    /// front stands for any beginning of a name.
    const PROJECT_MARKS: &'static [&'static str] = &[];

    /// The tools, in the order in which they are listed.
    fn tools() -> Vec<Tool>;

    /// What a call of a writing tool is answered in a read-only session.
    fn read_only() -> Failure;

    /// What a writing tool answers when its edit could not be carried out; families with codes of their
    /// own for this say so.
    fn unwritten(path: &RelativePath, why: &Unwritable) -> Failure {
        why.failure(path)
    }

    /// Whether a call depends on the host's roots, although its directory says what is worked on.
    fn needs_roots(_: &Map<String, Value>) -> bool {
        false
    }

    /// The trees that a session works with, to be watched while it lasts.
    fn trees(_: &Session) -> Vec<Place> {
        Vec::new()
    }

    /// The files of its trees that can be found by their words, if any.
    fn documents() -> Option<Documents> {
        None
    }

    /// What is written a moment after one of its writes was answered: files that are made from others and that
    /// nobody waits for. It gets the arguments of the call.
    fn afterwards() -> Option<Halves<Map<String, Value>, Edit>> {
        None
    }

    /// The resources, if it has any.
    fn resources() -> Vec<Resource> {
        Vec::new()
    }

    /// The prompts, if it has any.
    fn prompts() -> Vec<Prompt> {
        Vec::new()
    }
}

/// How a family's failures look on the wire; `present` has one function for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Envelope {
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
pub enum InUnion {
    /// The names say already whose they are.
    SameNames,
    /// The family's name and an underscore go in front.
    Prefixed,
}

/// A family as the rest of the program sees it: its tables, and no type of its own.
#[derive(Debug)]
pub struct Registered {
    /// As in `--only NAME`.
    pub name: &'static str,
    /// How its failures look on the wire.
    pub envelope: Envelope,
    /// How its tools are called beside other families'.
    pub in_union: InUnion,
    /// One sentence for the instructions.
    pub about: &'static str,
    /// Its tools.
    pub tools: Vec<Tool>,
    /// Its resources.
    pub resources: Vec<Resource>,
    /// Its prompts.
    pub prompts: Vec<Prompt>,
    /// What a call of a writing tool is answered in a read-only session.
    pub read_only: fn() -> Failure,
    /// What a writing tool answers when its edit could not be carried out.
    pub unwritten: fn(&RelativePath, &Unwritable) -> Failure,
    /// Whether a call depends on the host's roots.
    pub needs_roots: fn(&Map<String, Value>) -> bool,
    /// Whether a URI of its scheme that names nothing is a wrong parameter in both eras.
    pub strict_uris: bool,
    /// Names below a directory that make it a project.
    pub project_marks: &'static [&'static str],
    /// The trees that a session works with.
    pub trees: fn(&Session) -> Vec<Place>,
    /// The files of its trees that can be found by their words.
    pub documents: Option<Documents>,
    /// What is written a moment after one of its writes was answered.
    pub afterwards: Option<Halves<Map<String, Value>, Edit>>,
}

impl Registered {
    /// Reads a family's tables.
    pub fn of<F: Family>() -> Self {
        Self {
            name: F::NAME,
            envelope: F::ENVELOPE,
            in_union: F::IN_UNION,
            about: F::ABOUT,
            tools: F::tools(),
            resources: F::resources(),
            prompts: F::prompts(),
            read_only: F::read_only,
            unwritten: F::unwritten,
            needs_roots: F::needs_roots,
            strict_uris: F::STRICT_URIS,
            project_marks: F::PROJECT_MARKS,
            trees: F::trees,
            documents: F::documents(),
            afterwards: F::afterwards(),
        }
    }
}
