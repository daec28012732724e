//! Starts, kills, floods, deaf clients, strangers: what must not hurt.
#![allow(clippy::disallowed_methods, reason = "tests make files and start programs")]

/// Tests that need the whole machine take turns.
mod turns;

/// What the system says about a process.
mod process;

/// Hosts that keep calls in flight and book every answer.
mod load;

/// The socket without a proxy or without a daemon.
mod raw;

/// However many start it: one daemon.
mod starts;

/// A daemon that dies at work.
mod crash;

/// No daemon to be had.
mod refuse;

/// Builds of different age.
mod versions;

/// Bytes that are no protocol.
mod garbage;

/// Strangers and open directories.
mod security;

/// Paths that do not fit into a socket's address.
mod long_paths;

/// A daemon that leaves on purpose.
mod leaving;

/// A socket that a service manager opened.
mod inherited;

/// A host that leaves.
mod farewell;

/// Clients that flood, stall or do not listen.
mod slow;

/// Nobody wants anything.
mod idle;

/// The daemon's writing without its sockets.
mod writes_desk;

/// A write that ends at every place where a machine can end it.
mod writes_nth_call;

/// A watched vault, compared with the disk.
mod watch_eyes;

/// Tens of thousands of files come, change, move and go.
mod watch_storms;

/// Roots come and go.
mod watch_roots;

/// Odd names and odd trees.
mod watch_names;

/// The system allows no more watches.
mod watch_limits;

/// Whether everything has been seen, and what that costs.
mod watch_seen;

/// Projects outlive the daemon that learnt of them.
mod watch_known;

/// Hosts that write and book what was acknowledged.
mod writes_load;

/// A daemon that ends while hosts write.
mod writes_crash;

/// Somebody edits by hand what hosts write.
mod writes_beside_editor;

/// Flush, rename, flush, answer.
mod writes_order;

/// Two daemons on the same files.
mod writes_two_daemons;

/// Somebody meddles between two calls of a write.
mod writes_meddled;

/// Models that are taken at their word.
mod writes_trusted;

/// Slow, silent and greedy callers of the gateway.
mod http_slow;

/// Requests whose end is unsure, and bytes that are no request.
mod http_framing;

/// A gateway whose daemon leaves.
mod http_leaving;

/// Keys and texts that no log holds.
mod http_secrets;

/// A daemon that ends while tasks become plans of their own.
mod vine_crash;

/// The index is damaged, removed, killed.
mod index_damage;
