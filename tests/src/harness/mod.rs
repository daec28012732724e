//! Real programs in a temporary home.
//!
//! A [`Home`] is a person's account for the length of a test: its own directories, its own daemon. A
//! [`Client`] is a host that talks MCP to a proxy. Waits have a reason and an end.

/// A small MCP client over a proxy's stdin and stdout.
pub mod client;

/// An account for the length of a test.
pub mod home;

/// A small HTTP client over a bare socket.
pub mod http;

/// The programs, built once per run with the profile of the test.
pub mod programs;

/// Waiting for a reason, never for a time.
pub mod wait;

/// Further worktrees of the project's repository.
mod worktree;

pub use client::Client;
pub use home::Home;
pub use http::HttpClient;
pub use wait::wait_until;
