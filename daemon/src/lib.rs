//! One daemon per user that keeps AI memory and tasks, in plain files, hot.
//!
//! The modules stand in the order in which data meets them; `docs/architecture.md` has the walks. What always holds:
//! - Files are the truth; everything in memory can be rebuilt from them, and only `disk` touches them.
//! - A file holds its whole old or its whole new bytes; what a tool does not mean to change stays byte for byte.
//! - A write is an edit that only `engine::commit` carries out, once; when it is acknowledged, every client reads it.
//! - A search finds what was saved before it began, by whomever.
//! - Families do not know each other, nor MCP, sockets, disks or clocks. A new one is a folder and a line.
//! - Wire types stay in `mcp`, `http` and `present`, which share one registry of tools.
//! - No call waits for another session's disk, and no input makes us panic for more than the call it came with.

/// Settings, each knowing its source.
pub mod config;

/// Time as an argument.
pub mod clock;

/// Random numbers for ids and names.
pub mod ids;

/// Mutexes by key.
pub(crate) mod locks;

/// Our own files in the state and cache directories.
pub(crate) mod state_files;

/// Which project a session works on, and those that are known.
pub mod projects;

/// The only module that reads or writes users' files.
pub mod disk;

/// Which trees are wanted, and what changes in them.
pub mod trees;

/// Rules about text that families share.
pub mod text;

/// Every family that exists.
pub mod families;

/// Facts in, hits out.
pub mod index;

/// Trees in, items out.
pub mod items;

/// What all sessions share: writes, answers, notifications, the feed.
pub mod engine;

/// A client, and one call of a tool.
pub mod tools;

/// Answers and failures, rendered for each interface.
pub mod present;

/// One MCP session over one connection.
pub mod mcp;

/// The local socket: accept, check the peer, shake hands, serve.
pub mod socket;

/// The same tools for browsers, scripts and hosts that speak HTTP.
pub mod http;

/// MCP's streamable HTTP transport, for the gateway.
pub mod mcp_over_http;

/// Arguments in, exit status out.
pub mod cli;
