//! A client, and one call of a tool: MCP, HTTP and the command line all come through here.
//!
//! A name and arguments come in, an answer or a failure goes out. Which tools there are, families say.

/// A connected client and its trees.
pub mod client;

/// One call, from name and arguments to answer or failure.
pub mod call;

pub use call::{CredentialsName, ToolCall, ToolError};
pub use client::ClientSession;
