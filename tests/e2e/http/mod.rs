//! The gateway as browsers, scripts and hosts meet it: real requests over real sockets.
//!
//! The modules hold the rules, a thought each.

/// When it listens, where, and what is said when it does not.
mod switches;

/// What there is at which path.
mod routes;

/// Which project a request is about.
mod project;

/// What a body may be.
mod bodies;

/// Host, origin, preflight.
mod pages;

/// Keys and tokens, good and bad.
mod credentials;

/// `trellisd http key`.
mod keys;

/// The document of all tools.
mod openapi;

/// MCP in both kinds of revisions.
mod mcp;

/// What one door writes, the others read.
mod all_interfaces;

/// The other families.
mod families;

/// The kanban board.
mod board;
