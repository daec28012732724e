//! Schemas, revisions, surfaces and errors, over the real programs.
#![allow(clippy::disallowed_methods, reason = "tests make files and start programs")]

/// Which tools a host sees, under which names.
mod surfaces;

/// What the list of tools costs.
mod surface_size;

/// What every row of the list of tools must have.
mod tool_rows;

/// With a handshake, or with the version in each request.
mod revisions;

/// Lines that are no good messages.
mod malformed;

/// Good messages with bad parameters.
mod parameters;

/// Lines and answers of any size.
mod size_limits;

/// More requests at once than anybody works on.
mod request_limits;

/// Wrong arguments: which code they get, and which of several comes first.
mod arguments;

/// What a tool answers, good or bad.
mod results;

/// Resources and their templates, read and listed in pages.
mod resources;

/// Prompts, and the values that fit their arguments.
mod prompts;

/// What hosts hear about without asking again.
mod subscriptions;

/// How far a call has come, and taking it back.
mod progress;

/// Which trees a session sees.
mod session_trees;

/// What is told about the daemon, and what never is.
mod health;
