//! One MCP session over the frames of one connection.
//!
//! Raw JSON-RPC messages come in with their sequence numbers; rmcp answers them through our handler.
//! What rmcp does otherwise than our contracts ask is put right before a message reaches it.

/// Bytes → a message that rmcp can serve, or the answer to give instead.
pub mod decode;

/// Which era a request belongs to.
pub mod era;

/// What is in flight, what waits, and what is still owed.
pub mod ledger;

/// Frames on one side, rmcp's messages on the other.
pub mod transport;

/// rmcp's questions, answered from the families' tables.
pub mod handler;

/// The list of tools and the words that go with it.
pub mod listing;

/// Resources, prompts and their completions, served from the families' tables.
pub mod offers;

/// What sessions hear about without asking again.
pub mod notices;

/// The host's roots.
pub mod roots;

/// The same over HTTP.
pub mod http;

pub use transport::serve;
