//! The registry: every tool, resource and prompt of every family, and what a session may see of them.
//!
//! MCP, HTTP and the command line all come through here, so there is one way to find a tool and one
//! way to run it.

/// A function in two halves: what to look at, and what to make of it.
pub mod halves;

/// A tool and its answer.
pub mod tool;

/// Resources and prompts: tables like the tools'.
pub mod offer;

/// URI templates, matched and filled.
pub mod uri;

/// What a tool may know about who is calling.
pub mod session;

/// Which tools a surface shows, and under which names.
pub mod catalogue;

/// One call, from name and arguments to answer or failure.
pub mod call;

pub use call::{Call, Caught, Request};
pub use catalogue::{Catalogue, Exposed, Found, Registry};
pub use halves::{Halves, halves};
pub use offer::{Argument, Contents, Listed, ListedOn, Partial, Prompt, PromptText, Resource};
pub use session::Session;
pub use tool::{Answer, Arguments, Body, Effect, Notice, Run, Tool};
