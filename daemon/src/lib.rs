//! One daemon per user that keeps AI memory and tasks, in plain files, hot.
//!
//! The whole program is one line, and the modules below stand in its order:
//! watch → parse → store / index / graph → tools → mcp session → socket → proxy.
//!
//! What always holds:
//! - Files are the truth; everything in memory can be rebuilt from them, and only `disk` touches them.
//! - Families do not know each other, nor MCP, sockets, disks or clocks. A new one is a folder and a line.
//! - A tool has two pure halves: what to look at, and what to make of it.
//! - A read sees one snapshot; nothing on a request's way waits for another session's disk.
//! - Wire types stay in `mcp`, `http` and `present`. MCP, HTTP and the command line share one registry.
//! - No input makes us panic for more than the one call it came with.

/// Settings, each knowing its source.
pub mod config;

/// Time as an argument.
pub mod clock;

/// Numbers that nobody else has.
pub mod chance;

/// Roots in, batches of changes out.
pub mod watch;

/// The only door to the user's files.
pub mod disk;

/// Rules about text that families share.
pub mod text;

/// Every family that exists.
pub mod families;

/// Facts in, hits out.
pub mod index;

/// The registry: finding a tool and running it.
pub mod tools;

/// The only owner of the state.
pub mod engine;

/// Where answers and failures take a face.
pub mod present;

/// One MCP session over one connection.
pub mod mcp;

/// Accept, check, greet, serve.
pub mod socket;

/// The same tools for browsers, scripts and hosts that speak HTTP.
pub mod http;

/// Arguments in, exit status out.
pub mod cli;
