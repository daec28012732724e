//! A family that exists only in tests: plays, recited and revised, with every kind of tool a test needs.
//!
//! Names of plays, line numbers and cues come in; lines, or waits that end with a cue, go out. What a revision
//! says it changed is told to whoever listens, and nothing else. Only the purses below `stage/` are files: two
//! of them are always written together.

/// The plays, and the URIs of plays and scenes.
pub mod model;

/// What the tools take.
pub mod arguments;

/// The verbs.
pub mod ops;

/// Purses, two at a time.
pub mod purses;

/// Who waits for which cue.
pub mod stage;

/// The table of tools.
pub mod tools;

/// The table of resources.
pub mod resources;

/// The table of prompts.
pub mod prompts;

/// What can go wrong.
pub mod error;

use trellis_protocol::Failure;
use trellisd::families::{Envelope, Family, InUnion};
use trellisd::tools::{Prompt, Resource, Tool};

use error::RehearsalError;

/// The family.
#[derive(Debug)]
pub struct Rehearsal;

impl Family for Rehearsal {
    const NAME: &'static str = "rehearsal";
    const ENVELOPE: Envelope = Envelope::Error;
    const IN_UNION: InUnion = InUnion::Prefixed;
    const ABOUT: &'static str = "plays that are rehearsed, recited with recite and revised with revise.";

    fn tools() -> Vec<Tool> {
        tools::table()
    }

    fn read_only() -> Failure {
        RehearsalError::ReadOnly.into()
    }

    fn resources() -> Vec<Resource> {
        resources::table()
    }

    fn prompts() -> Vec<Prompt> {
        prompts::table()
    }
}
