//! One MCP session over the frames of one connection.
//!
//! Raw JSON-RPC messages come in with their sequence numbers; rmcp answers them through our handler.
//! What rmcp does otherwise than our contracts ask is put right before a message reaches it.

/// Bytes → a message that rmcp can serve, or the answer to give instead.
pub mod decode;

/// Which revision a request belongs to.
pub mod revision;

/// Running, queued and unacknowledged requests.
pub mod requests;

/// Envelopes on one side, rmcp's messages on the other.
pub mod transport;

/// rmcp's questions, answered from the families' tables.
pub mod handler;

/// The tool list.
pub mod tool_list;

/// Resources, prompts and their completions, served from the families' tables.
pub mod resources;

/// Notifications to hosts.
pub mod notifications;

/// The host's roots.
pub mod roots;

pub use transport::serve;
