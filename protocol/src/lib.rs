//! What the two programs agree on: how a proxy finds, greets and talks to the daemon.
//!
//! Environment and bytes come in, paths and messages go out. Nothing in this crate touches a file,
//! a clock or a process, so that both sides can trust it and a test can call all of it.

/// Which protocol numbers exist, and which pairs of builds may talk.
pub mod version;

/// Environment → the places of this user: state, cache, socket, lock.
pub mod endpoint;

/// What a session may see: families, single tools, read-only.
pub mod surface;

/// What travels on the socket: greeting, welcome, frames, control, farewell.
pub mod envelope;

/// Envelope ↔ bytes, with every length checked before anything is allocated.
pub mod codec;

/// How much one session may have under way.
pub mod limits;

/// Requests of the command line that are not MCP.
pub mod control;

/// The little that both sides read of a JSON-RPC message, and what they answer to a broken one.
pub mod message;

/// The one shape of every error.
pub mod failure;

pub use envelope::{Envelope, Frame, Hello, Reply, Resume, SessionKey};
pub use failure::{Coded, ErrorInfo, Failure, FailureKind};
pub use surface::Surface;
