//! Every family that exists, one line each, and what a family is.
//!
//! A family is a folder: the files it serves, its tools, its errors. It computes on what was looked
//! at for it and returns answers; it knows nothing of MCP, sockets, disks or other families.

/// What a tool may ask to have looked at before it runs.
pub mod need;

/// What a tool wants done to files.
pub mod edit;

pub mod vault;

use trellis_protocol::Failure;

use edit::Unwritable;
use need::Place;

use crate::disk::RelativePath;
use crate::tools::{Prompt, Resource, Session, Tool};

/// All families, in the order in which their tools are listed.
pub fn all() -> Vec<Registered> {
    vec![Registered::of::<vault::Vault>()]
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

    /// The tools, in the order in which they are listed.
    fn tools() -> Vec<Tool>;

    /// What a call of a writing tool is answered in a read-only session.
    fn read_only() -> Failure;

    /// What a writing tool answers when its edit could not be carried out; families with codes of their
    /// own for this say so.
    fn unwritten(path: &RelativePath, why: &Unwritable) -> Failure {
        why.failure(path)
    }

    /// The trees that a session works with, to be watched while it lasts.
    fn trees(_: &Session) -> Vec<Place> {
        Vec::new()
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
    /// `{"error": {code, name, message, data, hint}}` with a number for a code.
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
    /// The trees that a session works with.
    pub trees: fn(&Session) -> Vec<Place>,
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
            trees: F::trees,
        }
    }
}
